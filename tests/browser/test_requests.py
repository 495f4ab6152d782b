"""What a request waits for: found again, decided by others, not moved under the pointer, and said to be over."""

import re

from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.house import House, leave_old_copies

LONG_MS = 60_000
BOTH = """
@id("both")
@reason("copies to the vault are meant, and seen by somebody else")
@obligation("confirmation;approval:approver:1")
forbid (principal, action == Action::"copy", resource)
when { resource.destination.within.contains("/vault") };
"""


def test_how_long_a_plan_takes_is_said_from_what_was_moved_before_and_unknown_until_then(house: House) -> None:
    ada = house.people["ada"]
    page = house.page("ada", f"/plans/{ada.plan('copy krios1:/run42 to archive:/eta/')}")
    expect(figure(page, "Takes about")).to_contain_text("not known yet")
    ada.run("copy krios1:/run42 to archive:/eta-1/", until="complete")
    page = house.page("ada", f"/plans/{ada.plan('copy krios1:/run42 to archive:/eta-2/')}")
    expect(figure(page, "Takes about")).to_contain_text(
        re.compile(r"\d+ (ms|s|min) to .*, from the last transfer between")
    )


def test_a_request_that_waits_is_found_again_and_started_when_it_was_approved(house: House) -> None:
    plan = wait_for_approval(house, "found")
    page = house.page("ada", "/transfers")
    expect(page.get_by_label(re.compile(r"of yours (is|are) open"))).to_be_visible()
    page.get_by_role("link", name="Requests").click()
    row = page.get_by_role("row").filter(has_text=plan)
    expect(row).to_contain_text("Needs approval")
    expect(row).to_contain_text("It needs")
    approve(house, "bob", plan)
    expect(row).to_contain_text("It can be submitted.", timeout=LONG_MS)
    row.get_by_role("link").first.click()
    page.get_by_role("button", name="Start the transfer").click()
    expect(page.get_by_role("main").get_by_text("Complete", exact=True).first).to_be_visible(timeout=LONG_MS)


def test_a_plan_that_comes_in_moves_nothing_and_the_click_lands_on_the_plan_that_was_read(house: House) -> None:
    first = wait_for_approval(house, "first")
    page = house.page("bob", "/approvals")
    button = page.get_by_role("button", name="Approve", exact=True)
    expect(button).to_have_attribute("aria-description", "Tick that you have read it first.")
    page.get_by_role("checkbox", name="I have read what will be lost").check()
    expect(button).not_to_have_attribute("aria-disabled", "true")
    before = button.bounding_box()
    second = wait_for_approval(house, "second")
    expect(page.get_by_role("button", name="1 new plan waits: show it")).to_be_visible(timeout=LONG_MS)
    assert before is not None
    assert button.bounding_box() == before
    expect(page.get_by_role("article")).to_contain_text("archive:/first")
    button.click()
    expect(page.get_by_text("Approved.", exact=True)).to_be_visible()
    done = page.get_by_role("status").filter(has_text="You approved this plan")
    expect(done).to_contain_text("Nothing more is asked of you")
    expect(done.get_by_role("link", name="Transfers")).to_be_visible()
    verdicts = {one: house.people["ada"].call("GET", f"/plans/{one}")["approvals"] for one in (first, second)}
    assert len(list_of(verdicts[first])) == 1
    assert list_of(verdicts[second]) == []
    page.get_by_role("button", name="1 new plan waits: show it").click()
    expect(page.get_by_role("article")).to_contain_text("archive:/second")


def test_a_plan_that_needs_both_asks_for_both_although_nothing_is_lost(house: House) -> None:
    text = house.people["bob"].texts("/policies")[0] + BOTH
    version = house.people["bob"].call("POST", "/policies", {"text": text, "note": "the vault"})["version"]
    house.people["cleo"].call("POST", f"/policies/{version}/publish")
    plan = house.people["ada"].plan("copy krios1:/run42/frames to archive:/vault/")
    page = house.page("ada", f"/plans/{plan}")
    start = page.get_by_role("button", name="Start the transfer")
    expect(start).to_have_attribute("aria-description", re.compile("needs your own confirmation first"))
    needs = page.get_by_role("list", name="What this plan needs from people")
    expect(needs).to_contain_text(re.compile("Confirmation by you: 0 of 1 given"))
    page.get_by_role("checkbox", name="I have read this plan").check()
    page.get_by_role("button", name="Confirm this plan").click()
    expect(needs).to_contain_text(re.compile("Confirmation by you: 1 of 1 given, valid until"))
    expect(start).to_have_attribute("aria-description", re.compile("needs another person's approval first"))
    approve(house, "bob", plan)
    expect(start).not_to_have_attribute("aria-disabled", "true", timeout=LONG_MS)
    with house.store() as store:
        store.execute("update approvals set expires = '2020-01-01T00:00:00.000Z' where plan = ?", (plan,))
    expect(needs).to_contain_text(re.compile("Approval by .*: 0 of 1 given"), timeout=LONG_MS)
    expect(start).to_have_attribute("aria-disabled", "true")


def test_a_refused_plan_says_so_to_its_requester_and_leaves_the_inbox_of_the_others(house: House) -> None:
    plan = wait_for_approval(house, "refused")
    ada, gil = house.page("ada", f"/plans/{plan}"), house.page("gil", f"/approvals?plan={plan}")
    expect(gil.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    bob = house.page("bob", f"/approvals?plan={plan}")
    refuse = bob.get_by_role("button", name="Refuse")
    expect(refuse).to_have_attribute("aria-description", "Give a reason for refusing.")
    bob.get_by_label("Reason").fill("the tape is full")
    refuse.click()
    expect(bob.get_by_text("Refused. It can't start any more")).to_be_visible()
    over = ada.get_by_role("alert").filter(has_text="This plan can't start any more")
    expect(over).to_contain_text("the tape is full", timeout=LONG_MS)
    expect(ada.get_by_text("Can't start", exact=True)).to_be_visible()
    expect(ada.get_by_role("button", name="Start the transfer")).to_have_count(0)
    expect(gil.get_by_role("button", name="Approve", exact=True)).to_have_count(0, timeout=LONG_MS)
    ada.get_by_role("link", name="Ask for it again").click()
    expect(ada.get_by_label("What should be where?")).to_have_value(re.compile("archive:/refused"))


def test_a_request_is_found_by_its_words_and_day_and_dropped_when_nobody_wants_it(house: House) -> None:
    ada = house.people["ada"]
    plan = str(ada.call("POST", "/plans", {"words": "copy krios1:/run42 over to nowhere"})["id"])
    ada.call("GET", f"/plans/{plan}?wait_s=30")
    page = house.page("ada", "/requests")
    page.get_by_label("Find").fill("nowhere run42")
    row = page.get_by_role("row").filter(has_text=plan)
    expect(row).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_label("Until").fill("2020-01-31")
    expect(page.get_by_text("No request matches")).to_be_visible()
    expect(page).to_have_url(re.compile("until=2020-01-31"))
    page.get_by_label("Until").fill("")
    row.get_by_role("link").first.click()
    page.get_by_role("button", name="Drop this request").click()
    expect(page.get_by_text("Dropped", exact=True).first).to_be_visible()
    assert ada.call("GET", f"/plans/{plan}")["state"] == "dropped"


def test_words_that_rest_after_a_page_was_left_take_nobody_back_to_it(house: House) -> None:
    ada = house.people["ada"]
    plan = str(ada.call("POST", "/plans", {"words": "copy krios1:/run42 over to nowhere, left"})["id"])
    ada.call("GET", f"/plans/{plan}?wait_s=30")
    page = house.page("ada", "/requests")
    link = page.get_by_role("row").filter(has_text=plan).get_by_role("link").first
    expect(link).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**/api/v1/plans/{plan}*", hold)
    page.clock.install()
    page.get_by_label("Find").fill("nowhere")
    link.click()
    expect(page).to_have_url(re.compile(f"/plans/{plan}$"))
    page.clock.run_for(1000)
    expect(page).to_have_url(re.compile(f"/plans/{plan}$"))
    for route in held:
        route.continue_()
    page.unroute_all()
    expect(page.get_by_role("button", name="Drop this request")).to_be_visible()
    assert held


def test_a_requester_declines_their_own_plan(house: House) -> None:
    plan = house.people["ada"].plan(sync_to(house, "declined"))
    page = house.page("ada", f"/plans/{plan}")
    page.get_by_role("button", name="Decline this plan").click()
    expect(page.get_by_role("alert").filter(has_text="This plan can't start any more")).to_be_visible()


def test_a_requester_gives_up_a_plan_that_could_start(house: House) -> None:
    plan = house.people["ada"].plan("copy krios1:/run42/movie.tiff to archive:/given-up/")
    page = house.page("ada", f"/plans/{plan}")
    page.get_by_role("button", name="Drop this request").click()
    expect(page.get_by_text("Dropped. It waits for nobody any more.")).to_be_visible()
    assert house.people["ada"].call("GET", f"/plans/{plan}")["state"] == "dropped"


def figure(page: Page, term: str) -> Locator:
    return page.get_by_role("region", name="Plan", exact=True).locator("dl > div").filter(has_text=term)


def list_of(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def sync_to(house: House, folder: str) -> str:
    leave_old_copies(house.archive / folder, 30)
    return f"sync krios1:/run42/frames to archive:/{folder}, delete what is gone at the source, overwrite"


def wait_for_approval(house: House, folder: str) -> str:
    """Have a plan of ada's that she has confirmed and that waits for an approver."""
    ada = house.people["ada"]
    plan = ada.call("GET", f"/plans/{ada.plan(sync_to(house, folder))}")
    ada.call("POST", f"/plans/{plan['id']}/confirmations", {"digest": plan["digest"]})
    return str(plan["id"])


def approve(house: House, person: str, plan: str) -> None:
    digest = house.people["ada"].call("GET", f"/plans/{plan}")["digest"]
    house.people[person].call("POST", f"/plans/{plan}/approvals", {"digest": digest, "verdict": "approved"})
