"""Asking for a transfer: what is planned is what was typed, whichever way it was typed."""

import json
import re
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect
from tests.browser.house import Caller, House

LONG_MS = 60_000


def test_two_panes_copy_into_the_chosen_folder_and_say_where_it_will_be(house: House) -> None:
    kept = house.archive / "2026"
    kept.mkdir()
    (kept / "sibling.mrc").write_bytes(b"stays")
    page = house.page("ada", "/new?view=browse")
    source, destination = (page.get_by_role("region", name=name) for name in ("Source", "Destination"))
    source.get_by_role("combobox", name="Source").select_option("krios1")
    source.get_by_role("button", name="Choose run42").click()
    destination.get_by_role("combobox", name="Destination").select_option("archive")
    destination.get_by_role("button", name="Choose 2026").click()
    expect(destination.get_by_role("status").filter(has_text="Will be")).to_have_text("Will be archive:/2026/run42")
    make_and_start(page)
    assert (kept / "run42" / "movie.tiff").is_file()
    assert (kept / "sibling.mrc").read_bytes() == b"stays"
    assert not (kept / "movie.tiff").exists()


def test_a_file_is_copied_into_the_opened_folder_under_its_own_name(house: House) -> None:
    (house.archive / "films").mkdir()
    page = house.page("ada", "/new?view=browse")
    source, destination = (page.get_by_role("region", name=name) for name in ("Source", "Destination"))
    source.get_by_role("combobox", name="Source").select_option("krios1")
    source.get_by_role("button", name="Folder run42").click()
    source.get_by_role("button", name="Choose movie.tiff").click()
    destination.get_by_role("combobox", name="Destination").select_option("archive")
    destination.get_by_role("button", name="Folder films").click()
    destination.get_by_role("button", name="Copy into this folder").click()
    expect(destination.get_by_role("status").filter(has_text="Will be")).to_have_text(
        "Will be archive:/films/movie.tiff"
    )
    make_and_start(page)
    assert (house.archive / "films" / "movie.tiff").is_file()


def test_a_limit_that_can_not_be_read_stops_the_plan_and_the_readmes_spelling_is_read(house: House) -> None:
    page = house.page("ada", "/new?view=form")
    page.get_by_role("textbox", name="Source").fill("krios1:/run42")
    page.get_by_role("textbox", name="Destination").fill("archive:/limits/")
    rate = page.get_by_role("textbox", name="No faster than")
    make = page.get_by_role("button", name="Make the plan")
    rate.fill("3 gigs")
    expect(make).to_have_attribute("aria-description", "The rate can't be read: correct or clear it first.")
    rate.fill("3 Gb/s")
    page.get_by_text("More choices").click()
    page.get_by_role("textbox", name="Files of at least").fill("many")
    expect(make).to_have_attribute("aria-description", "A size can't be read: correct or clear it first.")
    page.get_by_role("textbox", name="Files of at least").fill("1 kB")
    after = page.get_by_label("Changed after")
    after.click()
    page.keyboard.type("11")
    page.get_by_role("textbox", name="Source").click()
    expect(make).to_have_attribute("aria-description", "A date is not whole: fill it in or clear it first.")
    after.fill("2020-01-02T03:04")
    make.click()
    plan = page.get_by_role("region", name="Plan", exact=True)
    expect(plan).to_contain_text("3 Gb/s", timeout=LONG_MS)
    expect(plan).to_contain_text("2020-01-02")
    expect(plan).to_contain_text("1 kB")


def test_a_plan_of_other_words_can_not_be_started_until_the_words_are_its_own_again(house: House) -> None:
    page = house.page("ada", "/new?words=copy krios1:/run42/movie.tiff to archive:/stale/")
    words = page.get_by_label("What should be where?")
    page.get_by_role("button", name="Make the plan").click()
    start = page.get_by_role("button", name="Start the transfer")
    expect(start).not_to_have_attribute("aria-disabled", "true", timeout=LONG_MS)
    made = page.url
    words.fill("copy krios1:/run42 to archive:/stale/")
    expect(page.get_by_role("alert")).to_contain_text("This plan was made from other words")
    expect(start).to_have_attribute("aria-description", re.compile("made from other words"))
    expect(page).not_to_have_url(re.compile("plan="))
    words.fill("copy krios1:/run42/movie.tiff to archive:/stale/")
    expect(start).not_to_have_attribute("aria-disabled", "true")
    expect(page).to_have_url(made)
    page.get_by_text("Form", exact=True).click()
    page.get_by_role("textbox", name="Destination").fill("archive:/elsewhere/")
    expect(start).to_have_attribute("aria-description", re.compile("made from other words"))


def test_an_address_with_the_words_of_one_plan_and_the_id_of_another_starts_nothing(house: House) -> None:
    plan = house.people["ada"].plan("copy krios1:/run42 to archive:/hidden/")
    page = house.page("ada", f"/new?words={quote('copy krios1:/run42/movie.tiff to archive:/shown/')}&plan={plan}")
    start = page.get_by_role("button", name="Start the transfer")
    expect(start).to_have_attribute("aria-description", re.compile("made from other words"))


def test_words_and_form_follow_each_other_and_survive_a_reload(house: House) -> None:
    page = house.page("ada", "/new")
    words = page.get_by_label("What should be where?")
    words.fill("copy krios1:/run42 to archive:/both/, no faster than 3 Gb/s")
    words.press("End")
    words.press_sequentially(", skip *.tmp")
    page.get_by_text("Form", exact=True).click()
    leave_out = page.get_by_role("textbox", name="Leave out")
    expect(leave_out).to_have_value("*.tmp")
    page.get_by_role("textbox", name="Destination").fill("archive:/by-form/")
    page.get_by_text("Words", exact=True).click()
    expect(words).to_have_value(re.compile(r"archive:/by-form/.*"))
    expect(words).to_have_value(re.compile(r"\*\.tmp"))
    page.get_by_text("Form", exact=True).click()
    leave_out.fill("*.tmp\n*.bak")
    expect(page).to_have_url(re.compile("bak"))
    page.reload()
    expect(leave_out).to_have_value("*.tmp\n*.bak")
    expect(page.get_by_role("textbox", name="Destination")).to_have_value("archive:/by-form/")
    expect(page.get_by_role("textbox", name="No faster than")).to_have_value(re.compile("3.00 Gb/s"))


def test_new_words_from_the_palette_and_back_are_taken_on_the_same_page(house: House) -> None:
    page = house.page("ada", "/new?words=copy krios1:/run42 to archive:/first/")
    words = page.get_by_label("What should be where?")
    expect(words).to_have_value("copy krios1:/run42 to archive:/first/")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog").get_by_role("textbox")
    palette.fill("copy krios1:/run42 to archive:/second/")
    palette.press("Enter")
    expect(words).to_have_value("copy krios1:/run42 to archive:/second/")
    page.go_back()
    expect(words).to_have_value("copy krios1:/run42 to archive:/first/")


def test_enter_while_an_input_method_composes_makes_no_plan(house: House) -> None:
    asked = "copy krios1:/run42/movie.tiff to archive:/composed/"
    page = house.page("ada", f"/new?words={asked}")
    words = page.get_by_label("What should be where?")
    expect(page.get_by_role("button", name="Make the plan")).not_to_have_attribute("aria-disabled", "true")
    words.press("Control+End")
    method = page.context.new_cdp_session(page)
    method.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    expect(words).to_have_value(f"{asked}に")
    page.keyboard.press("Enter")
    # With nothing being composed, Enter is meant.
    method.send("Input.imeSetComposition", {"text": "", "selectionStart": 0, "selectionEnd": 0})
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"{asked}に/2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Plan", exact=True)).to_contain_text("composed/に/2", timeout=LONG_MS)
    made = [one["words"] for one in house.people["ada"].get("/plans")]
    assert [one for one in made if "composed" in str(one)] == [f"{asked}に/2"]


def test_enter_right_after_the_last_key_makes_the_plan_of_exactly_these_words(house: House) -> None:
    page = house.page("ada", "/new")
    words = page.get_by_label("What should be where?")
    words.press_sequentially("copy krios1:/run42/movie.tiff to archive:/hasty/")
    words.press("Enter")
    plan = page.get_by_role("region", name="Plan", exact=True)
    expect(plan).to_contain_text("archive:/hasty", timeout=LONG_MS)
    words.fill("")
    page.keyboard.insert_text("copy krios1:/run42/movie.tiff to archive:/pasted/")
    page.keyboard.press("Enter")
    expect(plan).to_contain_text("archive:/pasted", timeout=LONG_MS)
    words.fill("")
    page.keyboard.insert_text("copy krios1:/run42 to somewhere")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name=re.compile("^Question")).first).to_be_visible()
    assert plans(house, "somewhere") == 0


def test_a_plan_that_asks_back_is_answered_where_it_is_found_again(house: House) -> None:
    plan = house.people["ada"].call("POST", "/plans", {"words": "copy krios1:/run42/movie.tiff"})["id"]
    page = house.page("ada", f"/plans/{plan}")
    question = page.get_by_role("group", name="Question: to")
    question.get_by_role("textbox").fill("archive:/answered/")
    question.get_by_role("button", name="Use").click()
    expect(page.get_by_label("What should be where?")).to_have_value(
        "copy krios1:/run42/movie.tiff to archive:/answered/"
    )
    make_and_start(page)
    assert house.people["ada"].call("GET", f"/plans/{plan}")["state"] == "dropped"


def test_escape_leaves_the_palette(house: House) -> None:
    page = house.page("ada", "/requests")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog")
    palette.get_by_role("textbox").fill("transfers")
    page.keyboard.press("Escape")
    expect(palette).to_have_count(0)


def plans(house: House, words: str) -> int:
    return json.dumps(house.people["ada"].get("/plans")).count(words)


def make_and_start(page: Page) -> None:
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Start the transfer").click(timeout=LONG_MS)
    expect(state(page, "Complete")).to_be_visible(timeout=LONG_MS)


def state(page: Page, word: str) -> Locator:
    return page.get_by_role("main").get_by_text(word, exact=True).first


def test_what_an_assistant_added_to_the_words_stands_out_on_the_plan(house: House) -> None:
    ada = house.people["ada"]
    scopes = ["transfer:read", "transfer:plan"]
    token = ada.call("POST", "/tokens", {"name": "chat", "scopes": scopes, "agent": "claude"})["secret"]
    places = {"source": "krios1:/run42/movie.tiff", "destination": "archive:/told/"}
    slots = {"action": "copy", **places, "rate_limit_bps": 2_000_000_000}
    words = "copy krios1:/run42/movie.tiff to archive:/told/"
    plan = Caller(ada.url, str(token)).call("POST", "/plans", {"words": words, "intent": slots})["id"]
    page = house.page("ada", f"/plans/{plan}")
    added = page.get_by_role("alert", name="Added by the assistant claude, not in the words")
    expect(added.get_by_role("listitem")).to_have_text(["no faster than: 2.00 Gb/s"])
    page.get_by_text("Where each part comes from").click()
    told = page.get_by_role("list", name="Where each part comes from")
    expect(told).to_contain_text("from: krios1:/run42/movie.tiff, from the words “krios1:/run42/movie.tiff”")
