"""The end of a session, in every tab; and what is shown only once."""

import re

from playwright.sync_api import Page, expect
from tests.browser.house import ADMIN, PASSWORD, House


def test_a_session_that_ends_is_noticed_while_the_page_is_open_and_leads_back(house: House) -> None:
    page = house.page("ada", "/transfers?find=movie")
    expect(page.get_by_role("heading", name="Transfers")).to_be_visible()
    house.end_sessions("ada")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(page, "ada")
    expect(page).to_have_url(re.compile(r"/transfers\?find=movie$"))
    expect(page.get_by_label("Find")).to_have_value("movie")


def test_signing_out_in_one_tab_empties_every_other_and_back_brings_nothing(house: House) -> None:
    one = house.page(None, "/sign-in")
    sign_in(one, "ada")
    expect(one.get_by_role("heading", name="Transfers")).to_be_visible()
    other = one.context.new_page()
    other.goto(house.url + "/tokens")
    expect(other.get_by_role("heading", name="API tokens")).to_be_visible()
    other.get_by_role("link", name="Policies").click()
    expect(other.get_by_role("heading", name="Policies")).to_be_visible()
    one.get_by_role("button", name="ada").click()
    one.get_by_role("menuitem", name="Sign out").click()
    for page in (one, other):
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    other.go_back()
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(other.get_by_text("ada")).to_have_count(0)


def test_a_person_ends_all_other_sessions_and_changes_the_password(house: House) -> None:
    elsewhere, here = house.page(None, "/sign-in"), house.page(None, "/sign-in")
    for page in (elsewhere, here):
        sign_in(page, "vera")
        expect(page.get_by_role("button", name="vera")).to_be_visible()
    here.get_by_role("button", name="vera").click()
    here.get_by_role("menuitem", name="Your account").click()
    here.get_by_role("button", name="End all others").click()
    here.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
    expect(here.get_by_text("Signed out there.")).to_be_visible()
    expect(elsewhere.get_by_role("heading", name="Sign in")).to_be_visible()
    here.get_by_label("Your password now").fill(PASSWORD)
    here.get_by_label("Your new password").fill(f"{PASSWORD} and more")
    here.get_by_role("button", name="Change the password").click()
    expect(here.get_by_text("The password is changed")).to_be_visible()
    sign_in(elsewhere, "vera")
    expect(elsewhere.get_by_role("alert")).to_be_visible()


def test_another_person_in_one_tab_is_that_person_in_all_of_them(house: House) -> None:
    one = house.page(None, "/sign-in")
    sign_in(one, "ada")
    expect(one.get_by_role("button", name="ada")).to_be_visible()
    other = one.context.new_page()
    other.goto(house.url + "/sign-in")
    sign_in(other, "bob")
    for page in (one, other):
        expect(page.get_by_role("button", name="bob")).to_be_visible()
        expect(page.get_by_role("button", name="ada")).to_have_count(0)


def test_a_secret_that_is_shown_once_stays_until_it_is_said_to_be_saved(house: House) -> None:
    page = house.page(ADMIN, "/transfers")
    page.get_by_role("link", name="People").click()
    page.get_by_role("button", name="Invite a person").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("dina")
    dialog.get_by_role("button", name="Make the link").click()
    link = dialog.locator("code").inner_text()
    page.keyboard.press("Escape")
    page.mouse.click(5, 5)
    page.evaluate("history.back()")
    expect(dialog.get_by_text(link)).to_be_visible()
    expect(dialog.get_by_role("button", name="Close")).to_have_attribute(
        "aria-description", re.compile("saved it first")
    )
    dialog.get_by_role("checkbox", name="I have saved it").check()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    expect(page).to_have_url(re.compile("/people$"))
    assert link not in page.content()


def test_copied_is_not_said_for_ever(house: House) -> None:
    page = house.page("ada", "/tokens")
    page.get_by_role("button", name="Make a token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("clip")
    dialog.get_by_role("button", name="Make a token").click()
    copy = dialog.get_by_role("button", name="Copy: Token secret")
    copy.click()
    expect(copy).to_have_text("Copied")
    expect(copy).to_have_text("Copy")


def sign_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
