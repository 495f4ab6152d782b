"""The kill switch in the console: a page that lists, halts and releases, and a banner while everything is halted."""

import re

from playwright.sync_api import expect
from tests.browser.house import House


def test_an_operator_halts_an_endpoint_and_everything_and_releases_both(house: House) -> None:
    operator = house.page("otto", "/halts")
    expect(operator.get_by_text("Nothing is halted")).to_be_visible()
    operator.get_by_role("button", name="Halt something").click()
    dialog = operator.get_by_role("dialog")
    go = dialog.get_by_role("button", name="Halt it")
    expect(go).to_have_attribute("aria-description", "Name what to halt.")
    dialog.get_by_label("Which one").fill("archive")
    expect(go).to_have_attribute("aria-description", re.compile("Give a reason"))
    dialog.get_by_label("Reason").fill("a disk is exchanged")
    go.click()
    row = operator.get_by_role("row").filter(has_text="a disk is exchanged")
    expect(row).to_contain_text("archive")
    expect(row).to_contain_text("otto")

    operator.get_by_role("button", name="Halt something").click()
    dialog.get_by_label("What").select_option("everything")
    expect(dialog.get_by_label("Which one")).to_have_count(0)
    dialog.get_by_label("Reason").fill("water in the hall")
    go.click()
    expect(operator.get_by_role("alert").filter(has_text="halted everything: water in the hall")).to_be_visible()
    requester = house.page("ada", "/transfers")
    banner = requester.get_by_role("alert").filter(has_text="halted everything: water in the hall")
    expect(banner).to_be_visible()

    for reason in ("water in the hall", "a disk is exchanged"):
        halted = operator.get_by_role("row").filter(has_text=reason)
        halted.get_by_role("button", name="Release").click()
        dialog.get_by_role("button", name="Release").click()
        expect(halted).to_have_count(0)
    expect(operator.get_by_text("Nothing is halted")).to_be_visible()
    requester.reload()
    requester.get_by_role("heading", name="Transfers").wait_for()
    expect(banner).to_have_count(0)


def test_the_file_in_the_data_folder_is_listed_and_can_not_be_released_in_the_console(house: House) -> None:
    file = house.stage.folder / "service" / "halt"
    file.write_text("by hand")
    auditor = house.page("otto", "/halts")
    release = auditor.get_by_role("row").filter(has_text="by hand").get_by_role("button", name="Release")
    expect(release).to_have_attribute("aria-description", re.compile("remove it there"))
    file.unlink()
    expect(auditor.get_by_text("Nothing is halted")).to_be_visible()


def test_who_may_not_halt_is_told_who_may(house: House) -> None:
    page = house.page("ada", "/transfers")
    entry = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Halts")
    expect(entry).to_have_attribute("aria-disabled", "true")


def test_operators_are_told_what_is_wrong_and_requesters_are_not(house: House) -> None:
    for name in ("otto", "ada"):  # whoever signs in writes to the audit log
        house.page(name)
    with house.store() as store:
        store.execute("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END")
    try:
        operator = house.page("otto", "/transfers")
        banner = operator.get_by_role("alert").filter(has_text="The service is degraded")
        expect(banner).to_contain_text("headrace audit verify", timeout=60_000)
        requester = house.page("ada", "/transfers")
        expect(requester.get_by_role("alert").filter(has_text="The audit log can't be written")).to_be_visible()
    finally:
        with house.store() as store:
            store.execute("DROP TRIGGER full")
