"""Links, classes and calendars in the console: proposed, published by somebody else, seen at work; and one transfer."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect
from tests.browser.house import NO_SETTINGS, PASSWORD, House
from tests.browser.looks import QOS

SETTINGS = NO_SETTINGS
"""Publishing takes a proof."""
LONG_MS = 60_000


def write(page: Page, text: str) -> None:
    """Put a text in the place of what the editor holds."""
    page.get_by_role("textbox", name="Links, classes and calendars").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def test_a_second_person_publishes_links_with_a_proof_and_transfers_show_their_share(house: House) -> None:
    bob = house.page("bob", "/qos?edit=true")
    write(bob, QOS.replace('nodes = ["dtn-a"]', 'nodes = ["lost"]').replace("weight = 10\n", "weight = 0\n"))
    bob.get_by_role("button", name="Check with the service").click()
    expect(bob.get_by_text("This text can't be published")).to_be_visible()
    expect(bob.get_by_text("class bulk: weight")).to_be_visible()
    write(bob, QOS)
    bob.get_by_label("Note").fill("the uplink of the microscopes")
    bob.get_by_role("button", name="Check with the service").click()
    expect(bob.get_by_text("The text is valid.")).to_be_visible()
    bob.get_by_role("button", name="Propose", exact=True).click()
    publish = bob.get_by_role("button", name="Publish")
    expect(publish).to_have_attribute("aria-description", "Somebody else must publish what you wrote.")

    cleo = house.page("cleo", "/qos")
    expect(cleo.get_by_text("No link yet")).to_be_visible()
    cleo.get_by_role("row").filter(has_text="Proposed").get_by_role("link").click()
    cleo.get_by_role("button", name="Publish").click()
    dialog = cleo.get_by_role("dialog")
    dialog.get_by_role("button", name="Publish").click()
    dialog.get_by_label("Your password, for this and nothing else").fill(PASSWORD)
    dialog.get_by_role("button", name="Publish").click()
    expect(cleo.get_by_text("is in force.")).to_be_visible()
    cleo.get_by_role("link", name="Back to what is in force").click()
    expect(cleo.get_by_role("heading", name="Link uplink")).to_be_visible()
    expect(cleo.get_by_role("row").filter(has_text="background")).to_contain_text("in nights")
    expect(cleo.get_by_role("region", name="nights")).to_contain_text("Europe/Berlin")

    transfer = house.people["ada"].run(
        "copy krios1:/run42/movie.tiff to archive:/shared/, no faster than 1 Mb/s", until="running"
    )
    otto = house.page("otto", "/qos")
    row = otto.get_by_role("group", name="Out of uplink: shares").get_by_role("row").filter(has_text="bulk")
    expect(row).to_have_count(1)
    expect(row.get_by_role("img")).to_be_visible()
    row.get_by_role("link").click()
    card = otto.get_by_role("region", name="Class and share")
    expect(card).to_contain_text("uplink")
    card.get_by_role("button", name="Change the class").click()
    dialog = otto.get_by_role("dialog")
    dialog.get_by_label("Class", exact=True).select_option("priority")
    dialog.get_by_role("button", name="Set the class").click()
    expect(dialog.get_by_text("policy gives this transfer up to the class")).to_be_visible()
    dialog.get_by_label("Class", exact=True).select_option("background")
    dialog.get_by_role("button", name="Set the class").click()
    expect(otto.get_by_text("The class is changed.")).to_be_visible()
    expect(card).to_contain_text("background")
    house.people["ada"].call("POST", f"/transfers/{transfer}/control", {"action": "cancel", "reason": "seen"})
    house.people["ada"].until(transfer, "canceled")


def test_the_streams_and_stages_of_a_transfer_are_shown_and_its_deadline_is_set(house: House) -> None:
    ada = house.people["ada"]
    transfer = ada.run("copy krios1:/run42/movie.tiff to archive:/measured/, no faster than 1 Mb/s", until="running")
    page = house.page("ada", f"/transfers/{transfer}?tab=streams")
    sent = page.get_by_role("group", name="Sent by the source")
    expect(sent.get_by_role("row")).not_to_have_count(1, timeout=LONG_MS)
    expect(page.get_by_role("group", name="Received by the destination")).to_be_visible()
    page.get_by_role("tab", name="Stages").click()
    tightest = page.get_by_role("row").filter(has_text="Tightest")
    expect(tightest).to_contain_text("Wait for its ceiling", timeout=LONG_MS)
    page.get_by_role("tab", name="Summary").click()
    page.get_by_role("button", name="Change the deadline").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("To be done by").fill("2020-01-01T10:00")
    dialog.get_by_role("button", name="Set the deadline").click()
    expect(dialog.get_by_text("deadline_infeasible")).to_be_visible()
    later = datetime.now(UTC) + timedelta(days=30)
    dialog.get_by_label("To be done by").fill(f"{later:%Y-%m-%d}T10:00")
    dialog.get_by_role("button", name="Set the deadline").click()
    expect(page.get_by_text("The deadline is changed.")).to_be_visible()
    expect(page.get_by_role("region", name="Class and share")).to_contain_text(f"{later:%Y-%m-%d}")
    ada.call("POST", f"/transfers/{transfer}/control", {"action": "cancel", "reason": "seen"})
