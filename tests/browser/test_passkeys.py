"""Passkeys in a real browser, with Chromium's own authenticator: added, signed in with, and consent proven with."""

import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect
from tests.browser.house import ADMIN, PASSWORD, House, leave_old_copies, open_house

WORDS = "sync krios1:/run42/frames to archive:/proven, delete what is gone at the source, overwrite"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A site that takes passkeys only for consent, once its people are there."""
    folder = tmp_path_factory.mktemp("house")
    with open_house(folder) as opened:
        opened.kill_the_service()
        opened.settings = {"consent_proof": "passkey"}
        opened.bring_the_service_back()
        # An address is no relying party: for passkeys the service is reached by a name.
        opened.url = f"http://localhost:{urlsplit(opened.url).port}"
        yield opened
    shutil.rmtree(folder, ignore_errors=True)


def add_a_device(page: Page) -> None:
    """Give a browser an authenticator that knows its user."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def add_a_passkey(page: Page) -> None:
    """Add one on the page of the account, with the password as its proof."""
    page.get_by_label("Name of a new passkey").fill("laptop")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_label("Your password, for this and nothing else").fill(PASSWORD)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("The passkey laptop is added.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="laptop")).to_be_visible()


def test_people_add_passkeys_sign_in_with_them_and_confirm_and_approve_with_them(house: House) -> None:
    leave_old_copies(house.archive / "proven", 30)
    plan = house.people["ada"].plan(WORDS)
    ada = house.page("ada", "/account")
    add_a_device(ada)
    add_a_passkey(ada)
    ada.get_by_role("button", name="Use one in this session").click()
    expect(ada.get_by_text("This session counts as one with a passkey.")).to_be_visible()
    expect(ada.get_by_role("button", name="Use one in this session")).to_have_count(0)
    ada.get_by_role("button", name="ada").click()
    ada.get_by_role("menuitem", name="Sign out").click()
    ada.get_by_role("button", name="Use a passkey").click()
    expect(ada.get_by_role("button", name="ada")).to_be_visible()

    ada.goto(f"{house.url}/plans/{plan}")
    ada.get_by_role("checkbox").check()
    ada.get_by_role("button", name="Confirm this plan").click()
    expect(ada.get_by_text("Prove that this is you", exact=True)).to_be_visible()
    expect(ada.get_by_label("Your password, for this and nothing else")).to_have_count(0)
    ada.get_by_role("button", name="Use a passkey").click()
    expect(ada.get_by_text("Confirmed.")).to_be_visible()

    bob = house.page("bob", "/account")
    add_a_device(bob)
    add_a_passkey(bob)
    bob.goto(f"{house.url}/plans/{plan}")
    bob.get_by_role("checkbox").check()
    bob.get_by_role("button", name="Approve", exact=True).click()
    bob.get_by_role("button", name="Use a passkey").click()
    expect(bob.get_by_text("Approved.")).to_be_visible()
    ada.reload()
    ada.get_by_role("button", name="Start the transfer").click()
    expect(ada.get_by_role("main").get_by_text("Complete", exact=True).first).to_be_visible()

    ada.goto(f"{house.url}/account")
    ada.get_by_role("button", name="Remove", exact=True).click()
    ada.get_by_role("dialog").get_by_role("button", name="Remove").click()
    ada.get_by_role("dialog").get_by_role("button", name="Use a passkey").click()
    # Her session began with it, and ends with it.
    expect(ada.get_by_role("heading", name="Sign in")).to_be_visible()
    assert house.people["ada"].get("/passkeys") == []


def test_an_administrator_removes_a_lost_passkey_on_the_page_of_its_person(house: House) -> None:
    vera = house.page("vera", "/account")
    add_a_device(vera)
    add_a_passkey(vera)
    root = house.page(ADMIN, "/account")
    add_a_device(root)
    add_a_passkey(root)
    root.goto(f"{house.url}/people")
    root.get_by_role("link", name="vera").click()
    lost = root.get_by_role("region", name="Passkeys")
    lost.get_by_role("row", name="laptop").get_by_role("button", name="Remove", exact=True).click()
    root.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    root.get_by_role("dialog").get_by_role("button", name="Use a passkey").click()
    expect(lost.get_by_text("This person has no passkey.")).to_be_visible()
    assert house.people["vera"].get("/passkeys") == []


def test_at_another_address_the_console_says_where_passkeys_work(house: House) -> None:
    page = house.page(None, "/sign-in")
    page.goto(house.proxy.url + "/sign-in")
    button = page.get_by_role("button", name="Use a passkey")
    expect(button).to_have_attribute("aria-description", f"Passkeys work at {house.url} only.")
    house.complaints.clear()
