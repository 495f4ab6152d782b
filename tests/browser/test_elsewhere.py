"""Signing in and out at the site's provider, through its own pages."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import httpx2
import pytest
from demo.stage import HEADRACE
from playwright.sync_api import Page, expect
from tests.browser.house import Caller, House, open_house
from tests.servers.directory import PASSWORD as DIRECTORY_PASSWORD
from tests.servers.directory import Domain
from tests.servers.headrace import Person
from tests.servers.provider import PASSWORD, OpenIdProvider


@pytest.fixture(scope="module")
def house(provider: OpenIdProvider, domain: Domain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A site whose staff, by the provider, are requesters, and so is a group of its directory."""
    folder = tmp_path_factory.mktemp("house")
    known = {
        "oidc_issuers": str(provider.declared(folder, device_sign_in=True)),
        "directories": str(domain.declared(folder)),
        "directory_poll_s": "1",
    }
    with open_house(
        folder, settings={**{name: str(file) for name, file in known.items()}, "directory_poll_s": "1"}
    ) as opened:
        here = f"{opened.url}/api/v1/sign-in/corp"
        provider.client(
            "headrace", opened.url, "corp",
            post_logout_redirect_uris=[f"{opened.url}/sign-in"],
            backchannel_logout_uri=f"{here}/back-channel-logout",
            backchannel_logout_session_required=True,
            grant_types=["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
        )  # fmt: skip
        provider.person("pia", name="Pia Grün", groups=["staff"])
        provider.person("nik", name="Nik", groups=["visitors"])
        users = {"issuer": "ad:corp.test", "group": domain.sid("xfer-users"), "roles": ["requester"]}
        opened.bind({"issuer": provider.url, "group": "staff", "roles": ["requester"]}, users)
        opened.friends = (provider.url,)
        yield opened
    shutil.rmtree(folder, ignore_errors=True)


def sign_in(page: Page, user: str) -> None:
    page.get_by_role("link", name="Sign in with Corporate account").click()
    fill_in(page, user)


def fill_in(page: Page, user: str) -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Secret").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()


def test_somebody_signs_in_at_the_provider_sees_what_the_role_allows_and_signs_out_there_too(house: House) -> None:
    page = house.page(None, "/requests")
    sign_in(page, "pia")
    expect(page.get_by_role("heading", level=1, name="Requests")).to_be_visible()
    expect(page.get_by_role("link", name="People")).to_have_attribute("aria-disabled", "true")
    [first] = [one["value"] for one in page.context.cookies() if one.get("name") == "headrace"]

    page.goto(house.url + "/sign-in")
    page.get_by_role("link", name="Sign in with Corporate account").click()
    page.get_by_role("button", name="Pia Grün").click()
    assert me(house, str(first)) == HTTPStatus.OK
    page.get_by_role("menuitem", name="Sign out").click()
    page.get_by_role("button", name="Sign out here, too").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert me(house, str(first)) == HTTPStatus.UNAUTHORIZED


def test_somebody_of_the_directory_signs_in_with_its_password_and_sees_what_the_role_allows(
    house: House, domain: Domain
) -> None:
    page = house.page(None, "/sign-in")
    expect(page.get_by_text("name@domain or DOMAIN\\name")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("CORP\\alice")
    page.get_by_label("Password", exact=True).fill("not the password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Password", exact=True).fill(DIRECTORY_PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("button", name="alice@corp.test")).to_be_visible()
    expect(page.get_by_role("link", name="People")).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_role("link", name="New transfer")).not_to_have_attribute("aria-disabled", "true")
    page.goto(house.url + "/account")
    expect(page.get_by_role("row", name="the site's directory")).to_contain_text("this one")
    expect(page.get_by_label("Your password now")).to_have_count(0)
    domain.enable("alice", enabled=False)
    try:
        # The service looks every second here.
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    finally:
        domain.enable("alice", enabled=True)


def test_the_command_line_signs_in_through_a_browser_of_any_device(house: House, tmp_path: Path) -> None:
    person = Person("pia", house.url, tmp_path)
    command = [str(HEADRACE), "login", "--provider", "corp"]
    environment = {**os.environ, **person.environment}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as login:
        assert login.stderr is not None
        shown = re.search(r"Open (\S+) in a browser; the code is (\S+)", login.stderr.readline())
        assert shown is not None
        page = house.page(None, "/sign-in")
        page.goto(shown[1])
        expect(page.get_by_text(shown[2])).to_be_visible()
        page.get_by_role("button", name="It is mine").click()
        fill_in(page, "pia")
        expect(page.get_by_text("Signed in on the other device")).to_be_visible()
        assert login.wait(30) == 0
    assert "Pia Grün" in person.run("whoami").out
    told = person.run("token", "create", "pipeline", "--scope", "transfer:read")
    assert f"Do this in the console: {house.url}" in told.err


def test_somebody_from_a_provider_proves_consent_by_signing_in_there_once_more(house: House) -> None:
    page = house.page(None, "/tokens")
    sign_in(page, "pia")
    page.get_by_role("button", name="Make a token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("pipeline")
    dialog.get_by_role("button", name="Make a token").click()
    with page.expect_popup() as opened:
        dialog.get_by_role("link", name="Sign in once more with Corporate account").click()
    fill_in(opened.value, "pia")
    expect(dialog.get_by_text("hrt_")).to_be_visible()
    expect(opened.value.get_by_text("The page where you began knows.")).to_be_visible()


def test_somebody_from_a_provider_confirms_a_plan_by_signing_in_there_once_more(house: House) -> None:
    (house.archive / "proven").mkdir()
    (house.archive / "proven" / "frame-000.mrc").write_bytes(b"an older one")
    page = house.page(None, "/requests")
    sign_in(page, "pia")
    expect(page.get_by_role("heading", level=1, name="Requests")).to_be_visible()
    [secret] = [one["value"] for one in page.context.cookies() if one.get("name") == "headrace"]
    pia = Caller(house.url, str(secret))
    plan = pia.plan("copy krios1:/run42/frames to archive:/proven, overwrite")
    page.goto(f"{house.url}/plans/{plan}")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Confirm this plan").click()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Sign in once more with Corporate account").click()
    fill_in(opened.value, "pia")
    expect(page.get_by_text("Confirmed.")).to_be_visible()
    page.get_by_role("button", name="Start the transfer").click()
    expect(page.get_by_role("main").get_by_text("Complete", exact=True).first).to_be_visible()


def test_who_has_no_role_here_is_told_so(house: House) -> None:
    page = house.page(None, "/sign-in")
    sign_in(page, "nik")
    expect(page.get_by_role("alert")).to_contain_text("You have no role here yet")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def me(house: House, secret: str) -> int:
    return httpx2.get(f"{house.url}/api/v1/me", headers={"authorization": f"Bearer {secret}"}).status_code
