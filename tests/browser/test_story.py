"""The whole story in a browser, from a sentence to a receipt."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.house import ADMIN, NARROW, NO_SETTINGS, PASSWORD, WIDE, House, leave_old_copies, prove

SETTINGS = NO_SETTINGS
LONG_MS = 60_000
TABS = 80
DIGEST = re.compile(r"^[0-9a-f]{64}$")


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", NARROW)], ids=["light-wide", "dark-narrow"])
def test_a_sentence_is_asked_back_planned_confirmed_approved_watched_and_proved(
    house: House, theme: str, size: tuple[int, int]
) -> None:
    synced = house.archive / f"synced-{theme}"
    leave_old_copies(synced, 30)
    ada = house.page("ada", "/new", theme=theme, size=size)
    plan_in_words(ada, synced.name)

    expect(ada.get_by_text("Needs approval")).to_be_visible(timeout=LONG_MS)
    expect(ada.get_by_text("What will be lost", exact=True)).to_be_visible()
    expect(ada.get_by_text("30 names").first).to_be_visible()
    start = ada.get_by_role("button", name="Start the transfer")
    expect(start).to_have_attribute("aria-disabled", "true")
    ada.get_by_role("checkbox", name="I have read what will be lost").check()
    ada.get_by_role("button", name="Confirm this plan").click()
    prove(ada, "Confirm this plan")
    expect(ada.get_by_text("Confirmed.")).to_be_visible()
    expect(start).to_have_attribute("aria-description", re.compile("needs another person's approval"))
    digest = ada.locator("code").filter(has_text=DIGEST).inner_text()

    bob = house.page("bob", "/approvals", theme=theme, size=size)
    expect(bob.get_by_role("article", name="Plan of ada")).to_contain_text(digest)
    bob.get_by_label("Reason").fill("the old copies are on tape")
    bob.get_by_role("checkbox", name="I have read what will be lost").check()
    bob.get_by_role("button", name="Approve", exact=True).click()
    prove(bob, "Approve")
    expect(bob.get_by_text("Nothing waits for you")).to_be_visible()

    expect(start).not_to_have_attribute("aria-disabled", "true", timeout=LONG_MS)
    expect(ada.get_by_text("Approved by bob")).to_be_visible()
    start.click()
    expect(ada.get_by_role("img", name="Rate over time")).to_be_visible(timeout=LONG_MS)
    expect(ada.get_by_role("main").get_by_text("Complete", exact=True)).to_be_visible(timeout=LONG_MS)
    ada.get_by_role("tab", name="Receipt").click()
    expect(ada.get_by_role("link", name="Download the receipt")).to_be_visible()
    expect(ada.get_by_text(digest).first).to_be_visible()
    assert not list(synced.glob("old-*"))
    assert (synced / "frames" / "frame-001.mrc").read_bytes() == b"\x01" * 10_000


def plan_in_words(page: Page, folder: str) -> None:
    words = page.get_by_label("What should be where?")
    words.fill("sync krios1:/run42 to archive, delete what is gone at the source, overwrite, no faster than 80 Mb/s")
    question = page.get_by_role("group", name="Question: to")
    expect(question).to_be_visible()
    make = page.get_by_role("button", name="Make the plan")
    expect(make).to_have_attribute("aria-description", "Answer the questions first.")
    question.get_by_role("textbox").fill(f"archive:/{folder}")
    question.get_by_role("button", name="Use").click()
    expect(page.get_by_label("How it was read")).to_contain_text(f"archive:/{folder}")
    make.click()


def test_the_whole_story_with_the_keyboard_alone(house: House) -> None:
    leave_old_copies(house.archive / "typed", 30)
    ada = house.page(None, "/sign-in")
    expect(ada.get_by_label("Name")).to_be_focused()
    keys = ada.keyboard
    keys.type("ada")
    keys.press("Tab")
    keys.type(PASSWORD)
    keys.press("Enter")
    expect(ada.get_by_role("heading", name="Transfers")).to_be_visible()
    keys.press("Control+k")
    expect(ada.get_by_role("dialog").get_by_label("Go to a page")).to_be_focused()
    keys.type("new tr")
    keys.press("Enter")
    tab_to(ada, ada.get_by_label("What should be where?"))
    keys.type("sync krios1:/run42/frames to archive, delete what is gone at the source, overwrite")
    answer = ada.get_by_role("group", name="Question: to").get_by_role("textbox")
    answer.wait_for()
    tab_to(ada, answer)
    keys.type("archive:/typed")
    keys.press("Enter")
    expect(ada.get_by_label("How it was read")).to_contain_text("archive:/typed")
    press(ada, ada.get_by_role("button", name="Make the plan"))
    expect(ada.get_by_text("Needs approval")).to_be_visible(timeout=LONG_MS)
    press(ada, ada.get_by_role("checkbox", name="I have read what will be lost"), "Space")
    press(ada, ada.get_by_role("button", name="Confirm this plan"))
    prove_by_keyboard(ada, "Confirm this plan")
    expect(ada.get_by_text("Confirmed.")).to_be_visible()

    bob = house.page("bob", "/approvals")
    tab_to(bob, bob.get_by_label("Reason"))
    bob.keyboard.type("seen")
    press(bob, bob.get_by_role("checkbox", name="I have read what will be lost"), "Space")
    press(bob, bob.get_by_role("button", name="Approve", exact=True))
    prove_by_keyboard(bob, "Approve")
    expect(bob.get_by_text("Nothing waits for you")).to_be_visible()

    start = ada.get_by_role("button", name="Start the transfer")
    expect(start).not_to_have_attribute("aria-disabled", "true", timeout=LONG_MS)
    press(ada, start)
    expect(ada.get_by_role("main").get_by_text("Complete", exact=True)).to_be_visible(timeout=LONG_MS)
    tab_to(ada, ada.get_by_role("tab", name="Summary"))
    for _ in range(6):
        keys.press("ArrowRight")
    expect(ada.get_by_role("tab", name="Receipt")).to_be_focused()
    expect(ada.get_by_role("link", name="Download the receipt")).to_be_visible()


def tab_to(page: Page, goal: Locator) -> None:
    """Press Tab until `goal` has the focus; everything must be within reach, from wherever one is."""
    expect(goal).to_be_visible()
    for _ in range(TABS):
        if goal.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    message = f"{goal} can't be reached with the Tab key"
    raise AssertionError(message)


def prove_by_keyboard(page: Page, button: str) -> None:
    tab_to(page, page.get_by_label("Your password, for this and nothing else"))
    page.keyboard.type(PASSWORD)
    press(page, page.get_by_role("button", name=button, exact=True))


def press(page: Page, goal: Locator, key: str = "Enter") -> None:
    tab_to(page, goal)
    page.keyboard.press(key)


def test_a_refusal_names_its_rule_and_plans_nothing(house: House) -> None:
    page = house.page("ada", "/new")
    page.get_by_label("What should be where?").fill("move krios1:/run42 to archive:/moved and skip the approval")
    expect(page.get_by_role("alert")).to_contain_text("rule:")
    expect(page.get_by_role("button", name="Make the plan")).to_have_attribute("aria-disabled", "true")


def test_the_form_and_the_panes_ask_for_the_same_plan(house: House) -> None:
    page = house.page("ada", "/new?view=browse")
    source = page.get_by_role("region", name="Source")
    source.get_by_role("combobox", name="Source").select_option("krios1")
    source.get_by_role("button", name="Folder run42").click()
    expect(source.get_by_role("button", name="Choose movie.tiff")).to_be_visible()
    source.get_by_role("button", name="Choose movie.tiff").click()
    destination = page.get_by_role("region", name="Destination")
    destination.get_by_role("combobox", name="Destination").select_option("archive")
    destination.get_by_role("button", name="Copy into this folder").click()
    page.get_by_text("Form", exact=True).click()
    expect(page.get_by_role("textbox", name="Source")).to_have_value("krios1:/run42/movie.tiff")
    page.get_by_role("textbox", name="Destination").fill("archive:/by-form/")
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_text("Nothing is overwritten or deleted.").first).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text("Allowed", exact=True)).to_be_visible()


def test_names_from_storage_are_shown_as_text_with_unseen_characters_visible(house: House) -> None:
    page = house.page("ada", "/new?view=browse")
    pane = page.get_by_role("region", name="Source")
    pane.get_by_role("combobox", name="Source").select_option("krios1")
    pane.get_by_role("button", name="Folder run42").click()
    pane.get_by_role("button", name="Folder frames").click()
    expect(pane.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
    assert page.locator("main img").count() == 0
    pane.get_by_role("group", name="What is in").evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(pane.get_by_text("turn")).to_contain_text("around.mrc")
    assert "\u202e" not in pane.inner_text()
    expect(pane.get_by_text("not-utf8-%FF.mrc")).to_be_visible()


def test_a_running_transfer_is_slowed_paused_resumed_and_canceled_with_a_reason(house: House) -> None:
    page = house.page("ada", "/new?words=copy krios1:/run42/movie.tiff to archive:/steered/, no faster than 4 Mb/s")
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Start the transfer").click(timeout=LONG_MS)
    page.get_by_role("button", name="Change the rate").click()
    page.get_by_role("dialog").get_by_label("No faster than").fill("2 Mbit/s")
    page.get_by_role("button", name="Set the rate").click()
    expect(page.get_by_text("2.00 Mb/s")).to_be_visible()
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("dialog").get_by_label("Reason").fill("beam time")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("beam time").first).to_be_visible()
    expect(page.get_by_role("main").get_by_text("Paused", exact=True).first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("main").get_by_text("Running", exact=True)).to_be_visible(timeout=LONG_MS)
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_label("Reason").fill("wrong folder")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("main").get_by_text("Canceled", exact=True).first).to_be_visible(timeout=LONG_MS)
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_text("wrong folder").first).to_be_visible()
    assert not (house.archive / "steered" / "movie.tiff").exists()


def test_files_that_failed_are_named_with_their_reason_and_tried_again(house: House) -> None:
    other = house.archive / "clash" / "frame-007.mrc"
    other.parent.mkdir()
    other.write_bytes(b"something else")
    page = house.page("ada", "/new?words=copy krios1:/run42/frames to archive:/clash")
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Start the transfer").click(timeout=LONG_MS)
    expect(page.get_by_role("main").get_by_text("Partly done", exact=True).first).to_be_visible(timeout=LONG_MS)
    page.get_by_role("tab", name="Files and failures").click()
    failed = page.get_by_role("row").filter(has_text="frame-007.mrc")
    expect(failed).to_contain_text("destination_exists")
    expect(failed).to_contain_text("Not without a change")
    other.unlink()
    page.get_by_role("button", name="Retry failed files").click()
    expect(page.get_by_role("main").get_by_text("Complete", exact=True)).to_be_visible(timeout=LONG_MS)
    assert other.read_bytes() == b"\x07" * 10_000
    expect(page.get_by_text("No file has failed")).to_be_visible()
    expect(failed).to_have_count(0)


def test_a_node_that_dies_and_returns_is_seen_while_the_pages_are_open(house: House) -> None:
    nodes = house.page("otto", "/endpoints")
    row = nodes.get_by_role("row").filter(has_text="dtn-b").filter(has_text="Drain")
    expect(row.get_by_text("Attached")).to_be_visible()
    transfer = house.page("ada", "/new?words=copy krios1:/run42/movie.tiff to archive:/cut/, no faster than 16 Mb/s")
    transfer.get_by_role("button", name="Make the plan").click()
    transfer.get_by_role("button", name="Start the transfer").click(timeout=LONG_MS)
    expect(transfer.get_by_role("img", name="Rate over time")).to_be_visible(timeout=LONG_MS)
    house.stage.kill("dtn-b")
    expect(row.get_by_text("Away")).to_be_visible(timeout=LONG_MS)
    expect(transfer.get_by_role("main").get_by_text("Waiting", exact=True).first).to_be_visible(timeout=LONG_MS)
    house.stage.node("dtn-b", "run")
    expect(row.get_by_text("Attached")).to_be_visible(timeout=LONG_MS)
    expect(transfer.get_by_role("main").get_by_text("Complete", exact=True)).to_be_visible(timeout=LONG_MS)
    assert (house.archive / "cut" / "movie.tiff").read_bytes() == (house.source / "run42" / "movie.tiff").read_bytes()


def test_a_password_is_asked_for_only_when_a_person_can_be_invited(house: House) -> None:
    page = house.page(ADMIN, "/people")
    page.get_by_role("button", name="Invite a person").click()
    dialog = page.get_by_role("dialog")
    name, make = dialog.get_by_role("textbox", name="Name"), dialog.get_by_role("button", name="Make the link")
    password = dialog.get_by_label("Your password, for this and nothing else")
    name.fill("Ada")
    make.click()
    expect(dialog.get_by_text("Somebody has this name already")).to_be_visible()
    expect(password).to_have_count(0)
    name.fill("dina")
    make.click()
    password.fill(PASSWORD)
    make.click()
    expect(dialog.locator("code")).to_be_visible()
