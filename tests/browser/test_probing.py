"""A probe between two endpoints, asked for where an administrator looks at endpoints and nodes."""

from playwright.sync_api import expect
from tests.browser.house import ADMIN, House

LONG_MS = 60_000


def test_an_administrator_probes_the_way_between_two_endpoints_and_sees_what_each_leg_carries(house: House) -> None:
    target = house.archive / "probed"
    target.mkdir()
    page = house.page(ADMIN, "/endpoints")
    page.get_by_role("button", name="Probe a way").click()
    form = page.get_by_role("dialog")
    form.get_by_role("combobox", name="Source").select_option("krios1")
    form.get_by_role("textbox", name="What is read there").fill("/run42")
    plan = form.get_by_role("button", name="Plan the probe")
    expect(plan).to_have_attribute("aria-description", "Choose the destination's endpoint.")
    form.get_by_role("combobox", name="Destination").select_option("archive")
    form.get_by_role("textbox", name="Folder that is written below").fill("/probed")
    form.get_by_role("textbox", name="Most that each leg moves").fill("2 TiB")
    expect(plan).to_have_attribute("aria-description", "A leg moves 1 MiB to 1 TiB.")
    form.get_by_role("textbox", name="Most that each leg moves").fill("8 MiB")
    plan.click()
    expect(page.get_by_text("four legs of at most 8.38 MB")).to_be_visible(timeout=LONG_MS)
    page.get_by_role("button", name="Start the probe").click(timeout=LONG_MS)
    measured = page.get_by_role("group", name="What the probe measured")
    for leg in ("memory to memory", "storage to memory", "memory to storage", "storage to storage"):
        row = measured.get_by_role("row").filter(has=page.get_by_role("cell", name=leg, exact=True))
        expect(row).to_contain_text("b/s", timeout=LONG_MS)
        expect(row).to_contain_text("MB in ")
    expect(page.get_by_role("region", name="What the probe measured")).to_contain_text("this may be chance")
    assert list(target.iterdir()) == []

    page.get_by_role("button", name="Run again").click(timeout=LONG_MS)
    expect(page.get_by_text("Only measures: four legs")).to_be_visible(timeout=LONG_MS)
    page.go_back()
    page.get_by_role("button", name="Change and run").click(timeout=LONG_MS)
    again = page.get_by_role("dialog")
    expect(again.get_by_role("combobox", name="Source")).to_have_value("krios1")
    expect(again.get_by_role("textbox", name="Most that each leg moves")).to_have_value("8 MiB")


def test_who_may_ask_for_nothing_is_told_so_where_probes_are_asked_for(house: House) -> None:
    page = house.page("otto", "/endpoints")
    expect(page.get_by_role("button", name="Probe a way")).to_have_attribute(
        "aria-description", "Only requesters may ask for transfers. An administrator can give you the role."
    )
