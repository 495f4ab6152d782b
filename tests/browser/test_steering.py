"""Steering transfers, alone and several at once, and seeing what became of them."""

import re

from playwright.sync_api import Locator, Page, expect
from tests.browser.house import NARROW, SESSIONS_SUFFICE, WIDE, House, leave_old_copies

LONG_MS = 60_000
SETTINGS = {**SESSIONS_SUFFICE, "away_limit_s": "2"}
MOVIE = "copy krios1:/run42/movie.tiff to archive:/steering/"
SLOW = "no faster than 1 Mb/s"
MANY = 120
EVENTS = 210


def test_an_operator_slows_pauses_and_cancels_the_transfer_of_somebody_else(house: House) -> None:
    transfer = house.people["ada"].run(f"{MOVIE}operated/, {SLOW}", until="running")
    page = house.page("otto", f"/transfers/{transfer}")
    page.get_by_role("button", name="Change the rate").click()
    page.get_by_role("dialog").get_by_label("No faster than").fill("0.5 Mb/s")
    page.get_by_role("button", name="Set the rate").click()
    expect(page.get_by_text("500 kb/s")).to_be_visible()
    steer(page, "Pause", "beam time")
    expect(state(page, "Paused")).to_be_visible(timeout=LONG_MS)
    steer(page, "Cancel", "not ours")
    expect(state(page, "Canceled")).to_be_visible(timeout=LONG_MS)


def test_an_approver_sees_but_is_not_offered_to_steer_the_transfer_of_somebody_else(house: House) -> None:
    ada, bob = house.people["ada"], house.people["bob"]
    leave_old_copies(house.archive / "watched", 30)
    words = f"sync krios1:/run42 to archive:/watched, delete what is gone at the source, overwrite, {SLOW}"
    plan = ada.call("GET", f"/plans/{ada.plan(words)}")
    ada.call("POST", f"/plans/{plan['id']}/confirmations", {"digest": plan["digest"]})
    bob.call("POST", f"/plans/{plan['id']}/approvals", {"digest": plan["digest"], "verdict": "approved"})
    transfer = str(ada.call("POST", "/transfers", {"plan_digest": plan["digest"]})["id"])
    ada.until(transfer, "running")
    page = house.page("gil", f"/transfers/{transfer}")
    for verb in ("Pause", "Change the rate", "Cancel"):
        button = page.get_by_role("button", name=verb, exact=True)
        expect(button).to_have_attribute("aria-description", "only the requester or an operator steers a transfer")
    ada.call("POST", f"/transfers/{transfer}/control", {"action": "cancel", "reason": "seen"})


def test_a_failed_transfer_is_tried_again_and_completes(house: House) -> None:
    page = house.page("ada", f"/new?words={MOVIE}failed/")
    page.get_by_role("button", name="Make the plan").click()
    start = page.get_by_role("button", name="Start the transfer")
    expect(start).not_to_have_attribute("aria-disabled", "true", timeout=LONG_MS)
    house.stage.kill("dtn-b")
    try:
        start.click()
        expect(state(page, "Failed")).to_be_visible(timeout=LONG_MS)
        expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    finally:
        house.stage.node("dtn-b", "run")
        house.until_nodes_are_attached()
    page.get_by_role("button", name="Try again", exact=True).click()
    expect(state(page, "Complete")).to_be_visible(timeout=LONG_MS)
    film = house.source / "run42" / "movie.tiff"
    assert (house.archive / "steering" / "failed" / "movie.tiff").read_bytes() == film.read_bytes()


def test_what_did_not_arrive_is_never_a_hundred_percent(house: House) -> None:
    (house.archive / "partly").mkdir()
    (house.archive / "partly" / "movie.tiff").write_bytes(b"another film of the same name")
    transfer = house.people["ada"].run("copy krios1:/run42 to archive:/partly", until="partial")
    page = house.page("ada", "/transfers?find=partly")
    row = page.get_by_role("row").filter(has_text="Partly done")
    expect(row).to_contain_text(re.compile(r"\d %"))
    expect(row).not_to_contain_text("100 %")
    page.goto(f"{house.url}/transfers/{transfer}")
    expect(state(page, "Partly done")).to_be_visible()
    expect(page.get_by_role("region", name="Progress")).not_to_contain_text("100 %")


def test_several_are_steered_at_once_and_each_that_refuses_is_named(house: House) -> None:
    ada = house.people["ada"]
    running = [ada.run(f"{MOVIE}bulk-{number}/, {SLOW}", until="running") for number in range(3)]
    page = house.page("ada", "/transfers?find=bulk-")
    expect(page.get_by_role("row")).to_have_count(4)
    page.get_by_label(f"Choose {running[0]}").click()
    page.get_by_label(f"Choose {running[2]}").click(modifiers=["Shift"])
    expect(page.get_by_text("3 chosen")).to_be_visible()
    page.get_by_label("Choose all that are shown").click()
    expect(page.get_by_text("3 chosen")).to_have_count(0)
    page.get_by_label("Choose all that are shown").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    ada.call("POST", f"/transfers/{running[1]}/control", {"action": "pause", "reason": "earlier"})
    page.get_by_role("dialog").get_by_label("Reason").fill("beam time")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    report = page.get_by_role("alert").filter(has_text="did not take this")
    expect(report).to_contain_text(running[1])
    expect(report).to_contain_text("paused already")
    expect(report).not_to_contain_text(running[0])
    expect(page.get_by_text("1 chosen")).to_be_visible()
    for transfer in running:
        ada.until(transfer, "paused")
    page.get_by_label("Choose all that are shown").click()
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_text("3 transfers resumed.")).to_be_visible()
    for transfer in running:
        ada.call("POST", f"/transfers/{transfer}/control", {"action": "cancel", "reason": "seen"})


def test_what_has_ended_is_run_again_as_it_was_or_changed_first(house: House) -> None:
    transfer = house.people["ada"].run("copy krios1:/run42/movie.tiff to archive:/again/one/", until="complete")
    page = house.page("ada", f"/transfers/{transfer}")
    expect(page).to_have_title(re.compile("^Complete · Copy krios1:/run42/movie.tiff"))
    page.get_by_role("button", name="Change and run").click()
    destination = page.get_by_role("textbox", name="Destination")
    expect(destination).to_have_value("archive:/again/one/")
    destination.fill("archive:/again/two/")
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Start and ask another").click(timeout=LONG_MS)
    expect(page.get_by_text("The transfer has started.")).to_be_visible()
    expect(destination).to_have_value("archive:/again/two/")
    second = house.people["ada"].get("/transfers?search=again/two")[0]["id"]
    house.people["ada"].until(str(second), "complete")
    page.goto(f"{house.url}/transfers?find=again")
    page.get_by_label("Choose all that are shown").click()
    page.get_by_role("button", name="Run again").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(page.get_by_text("2 transfers planned again")).to_be_visible()
    page.goto(f"{house.url}/transfers/{transfer}")
    page.get_by_role("button", name="Run again").click()
    page.get_by_role("button", name="Start the transfer").click(timeout=LONG_MS)
    expect(state(page, "Complete")).to_be_visible(timeout=LONG_MS)


def test_streams_that_were_set_are_set_again_and_seen(house: House) -> None:
    ada = house.people["ada"]
    intent = {"action": "copy", "source": "krios1:/run42/movie.tiff", "destination": "archive:/tuned/"}
    plan = ada.call("POST", "/plans", {"intent": intent, "tuning": {"streams": 3, "unit_bytes": 1 << 20}})
    ready = ada.call("GET", f"/plans/{plan['id']}?wait_s=30")
    transfer = str(ada.call("POST", "/transfers", {"plan_digest": ready["digest"]})["id"])
    ada.until(transfer, "complete")
    page = house.page("ada", f"/transfers/{transfer}")
    page.get_by_role("button", name="Run again").click()
    expect(page).to_have_url(re.compile("/plans/"))
    expect(page.get_by_text("3, set for this transfer")).to_be_visible(timeout=LONG_MS)
    page.goto(f"{house.url}/transfers/{transfer}")
    page.get_by_role("button", name="Change and run").click()
    expect(page.get_by_role("textbox", name="Streams")).to_have_value("3")
    expect(page.get_by_role("textbox", name="Unit of large files")).to_have_value("1 MiB")
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_text("3, set for this transfer")).to_be_visible(timeout=LONG_MS)


def test_that_a_transfer_has_ended_is_told_on_every_other_page(house: House) -> None:
    ada = house.people["ada"]
    transfer = ada.run(f"{MOVIE}elsewhere/, {SLOW}", until="running")
    page = house.page("ada")
    with page.expect_response(re.compile("states=queued")) as asked:
        page.goto(f"{house.url}/requests")
    assert transfer in asked.value.text()
    ada.call("POST", f"/transfers/{transfer}/control", {"action": "cancel", "reason": "seen"})
    told = page.get_by_role("status").filter(has_text="archive:/steering/elsewhere/")
    expect(told).to_contain_text("Canceled: krios1:/run42/movie.tiff", timeout=LONG_MS)


def test_the_palette_finds_transfers_by_their_words(house: House) -> None:
    transfer = house.people["ada"].run("copy krios1:/run42/movie.tiff to archive:/haystack/straw/", until="complete")
    page = house.page("ada", "/requests")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("textbox").fill("haystack/straw")
    page.get_by_role("dialog").get_by_role("option", name="archive:/haystack/straw").click()
    expect(page).to_have_url(re.compile(transfer))


def test_on_a_phone_the_lists_are_cards_with_nothing_cut_off(house: House) -> None:
    house.people["ada"].run("copy krios1:/run42/movie.tiff to archive:/pocket/", until="complete")
    page = house.page("ada", "/transfers")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    for path, name in (("/transfers", "Transfers"), ("/requests", "Requests")):
        page.goto(f"{house.url}{path}")
        card = page.get_by_role("region", name=name)
        expect(card.get_by_text("Complete").first).to_be_in_viewport()
        assert card.evaluate("one => one.scrollWidth - one.clientWidth") == 0


def test_the_start_of_a_long_plan_is_in_sight_without_scrolling(house: House) -> None:
    (house.archive / "long" / "run42").mkdir(parents=True)
    (house.archive / "long" / "run42" / "movie.tiff").write_bytes(b"another film of the same name")
    plan = house.people["ada"].plan("copy krios1:/run42 to archive:/long/, overwrite, keep permissions")
    page = house.page("ada", f"/plans/{plan}")
    page.set_viewport_size({"width": WIDE[0], "height": 500})
    expect(page.get_by_role("button", name="Start the transfer")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("region", name="Next")).to_contain_text("1 file")


def test_find_looks_through_all_transfers_and_the_numbers_are_of_all(house: House) -> None:
    ada = house.people["ada"]
    ada.run("copy krios1:/run42/frames/frame-001.mrc to archive:/needle/", until="complete")
    hay = ada.run("copy krios1:/run42/frames/frame-002.mrc to archive:/hay/", until="complete")
    house.multiply(hay, MANY)
    page = house.page("ada", "/transfers?state=complete")
    expect(page.get_by_role("row")).to_have_count(101)
    expect(page.get_by_text(re.compile(r"^12\d transfers$"))).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="needle")).to_have_count(0)
    page.get_by_label("Find").fill("needle")
    expect(page.get_by_role("row").filter(has_text="archive:/needle")).to_be_visible()
    expect(page.get_by_text("1 transfer", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("find=needle"))


def test_the_newest_events_come_first_and_the_oldest_can_be_reached(house: House) -> None:
    ada = house.people["ada"]
    transfer = ada.run(f"{MOVIE}events/, {SLOW}", until="running")
    for number in range(EVENTS):
        ada.call("POST", f"/transfers/{transfer}/control", {"action": "set_rate", "rate_bps": 500_000 + 1000 * number})
    page = house.page("ada", f"/transfers/{transfer}?tab=events")
    table = page.get_by_role("region", name="Events")
    expect(table.get_by_role("row").nth(1)).to_contain_text(f"{500 + EVENTS - 1} kb/s")
    expect(table).not_to_contain_text("the plan was submitted")
    page.get_by_role("button", name="Show older events").click()
    expect(table.get_by_text("the plan was submitted")).to_be_visible()
    ada.call("POST", f"/transfers/{transfer}/control", {"action": "cancel", "reason": "the last word"})
    expect(table.get_by_role("row").filter(has_text="the last word").first).to_be_visible(timeout=LONG_MS)


def steer(page: Page, verb: str, reason: str) -> None:
    page.get_by_role("button", name=verb, exact=True).click()
    page.get_by_role("dialog").get_by_label("Reason").fill(reason)
    page.get_by_role("dialog").get_by_role("button", name=verb).click()


def state(page: Page, word: str) -> Locator:
    return page.get_by_role("main").get_by_text(word, exact=True).first
