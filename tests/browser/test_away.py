"""What the console does while the service, the way to it, or a page's data is gone."""

import re

from playwright.sync_api import Page, expect
from tests.browser.house import House

LONG_MS = 60_000
TABS = 8
MOVIE = "copy krios1:/run42/movie.tiff to archive:/away/"


def test_a_killed_service_behind_a_proxy_is_said_with_the_datas_age_and_the_page_is_fresh_after(house: House) -> None:
    page = house.page("ada", "/transfers")
    expect(page.get_by_text("No transfer yet")).to_be_visible()
    house.kill_the_service()
    banner = page.get_by_role("alert").filter(has_text="What you see is")
    expect(banner).to_contain_text(re.compile(r"What you see is \d+ s old \(from \d\d:\d\d:\d\d\)"), timeout=LONG_MS)
    age = seconds(banner.inner_text())
    expect(banner).not_to_contain_text(f"is {age} s old")
    assert seconds(banner.inner_text()) > age
    house.bring_the_service_back()
    house.people["ada"].run(f"{MOVIE}fresh/", until="complete")
    expect(banner).to_have_count(0, timeout=LONG_MS)
    expect(page.get_by_role("row").filter(has_text="archive:/away/fresh")).to_be_visible(timeout=LONG_MS)


def test_a_page_that_could_not_be_loaded_is_loaded_when_the_service_is_back(house: House) -> None:
    first, second = (house.people["ada"].plan(f"{MOVIE}again-{number}/") for number in (1, 2))
    page = house.page("ada", "/transfers")
    open_by_id(page, first)
    expect(page.get_by_role("region", name="Plan", exact=True)).to_be_visible()
    house.kill_the_service()
    open_by_id(page, second)
    expect(page.get_by_role("heading", name="This page can't be shown")).to_be_visible(timeout=LONG_MS)
    house.bring_the_service_back()
    expect(page.get_by_role("region", name="Plan", exact=True)).to_contain_text("again-2", timeout=LONG_MS)


def test_a_page_that_was_refused_is_loaded_by_try_again(house: House) -> None:
    first, second = (house.people["ada"].plan(f"{MOVIE}refused-{number}/") for number in (1, 2))
    page = house.page("ada", "/transfers")
    open_by_id(page, first)
    expect(page.get_by_role("region", name="Plan", exact=True)).to_be_visible()
    page.route(f"**/plans/{second}", lambda route: route.fulfill(status=429, body="too many requests"))
    open_by_id(page, second)
    expect(page.get_by_role("heading", name="This page can't be shown")).to_be_visible()
    page.unroute(f"**/plans/{second}")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("region", name="Plan", exact=True)).to_contain_text("refused-2")


def test_a_running_transfer_is_followed_again_after_the_service_was_away(house: House) -> None:
    transfer = house.people["ada"].run(f"{MOVIE}followed/, no faster than 2 Mb/s", until="running")
    page = house.page("ada", f"/transfers/{transfer}")
    graph = page.get_by_role("img", name="Rate over time")
    expect(graph).to_be_visible(timeout=LONG_MS)
    house.kill_the_service()
    expect(page.get_by_role("alert").filter(has_text="What you see is")).to_be_visible(timeout=LONG_MS)
    house.bring_the_service_back()
    with page.expect_response(lambda seen: seen.url.endswith(f"{transfer}/watch") and seen.ok, timeout=LONG_MS):
        expect(page.get_by_role("alert").filter(has_text="What you see is")).to_have_count(0, timeout=LONG_MS)
    house.people["ada"].call("POST", f"/transfers/{transfer}/control", {"action": "cancel", "reason": "seen"})
    expect(page.get_by_role("main").get_by_text("Canceled", exact=True).first).to_be_visible()


def test_many_tabs_on_running_transfers_leave_room_for_requests(house: House) -> None:
    transfer = house.people["ada"].run(f"{MOVIE}tabs/, no faster than 1 Mb/s", until="running")
    first = house.page("ada", f"/transfers/{transfer}")
    tabs = [first, *(first.context.new_page() for _ in range(TABS - 1))]
    for tab in tabs:
        tab.goto(f"{house.url}/transfers/{transfer}")
        expect(tab.get_by_role("main").get_by_text("Running", exact=True)).to_be_visible()
    first.get_by_role("button", name="Cancel", exact=True).click()
    first.get_by_role("dialog").get_by_label("Reason").fill("enough")
    first.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    for tab in tabs:
        expect(tab.get_by_role("main").get_by_text("Canceled", exact=True).first).to_be_visible()


def test_a_connection_that_says_nothing_is_said_to_be_gone(house: House) -> None:
    page = house.page("ada", "/tokens")
    expect(page.get_by_role("heading", name="API tokens")).to_be_visible()
    house.proxy.silent = True
    banner = page.get_by_role("alert").filter(has_text="What you see is")
    expect(banner).to_be_visible(timeout=LONG_MS)
    house.proxy.silent = False
    expect(banner).to_have_count(0, timeout=LONG_MS)


def open_by_id(page: Page, plan: str) -> None:
    page.get_by_role("button", name="Find").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(plan)
    page.keyboard.press("Enter")


def seconds(banner: str) -> int:
    found = re.search(r"is (\d+) s old", banner)
    assert found is not None, banner
    return int(found[1])
