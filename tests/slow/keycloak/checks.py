"""Signing in at Keycloak, leaving it, its access tokens and its keys."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from tests.interfaces.rest.test_proof_at_provider import FROM_HERE, TOKENS, WISH, answer_of, asked, gone_there, refusal
from tests.interfaces.rest.test_sign_in_elsewhere import HERE, PUBLIC, Visitor, visitor
from tests.servers.private import private
from tests.servers.site import Site, started_site
from tests.slow.keycloak.server import Browser, Keycloak, keycloak_running

from headrace.api.clock import utc_now
from headrace.api.people.secret_file import read_secret
from headrace.api.settings import Settings
from headrace.auth import AuthError, read_issuers
from headrace.auth.oidc_check import check_issuer
from headrace.client import models as m

BACK = f"{HERE}/corp/callback"
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def keycloak() -> Iterator[Keycloak]:
    with keycloak_running() as running:
        running.make_realm(PUBLIC)
        for name in ("pia", "rob", "zoe"):
            running.person(name, "staff")
        running.person("eve")
        yield running


def declared(folder: Path, keycloak: Keycloak) -> Path:
    private(folder / "client.secret", "of a client in a test")
    file = folder / "issuers.toml"
    file.write_text(
        f'[[issuer]]\nid = "corp"\nname = "Keycloak"\nurl = "{keycloak.url}"\nclient_id = "headrace"\n'
        'client_secret_file = "client.secret"\nwatch_people = true\naccess_tokens = true\n'
        "untyped_access_tokens = true\n"
    )
    return file


@pytest.fixture
async def site(tmp_path: Path, keycloak: Keycloak) -> AsyncIterator[Site]:
    """A site whose staff comes from Keycloak; who has left is asked for by hand."""
    wanted = Settings(oidc_issuers=str(declared(tmp_path, keycloak)), directory_poll_s=100_000)
    async with started_site(tmp_path, wanted) as opened:
        await opened.bind(m.GroupBinding(issuer=keycloak.url, group="staff", roles=["requester"]))
        yield opened


async def sign_in(browser: Visitor, name: str) -> str:
    """Sign in, and return the session's secret; empty when there is none."""
    await browser.come_back(Browser(name).walk(await browser.begin(), BACK))
    return browser.client.cookies.get("headrace") or ""


async def is_here(site: Site, secret: str) -> bool:
    try:
        await site.use_cases.people.of_session(secret)
    except AuthError:
        return False
    return True


async def test_staff_signs_in_and_a_stranger_does_not(site: Site) -> None:
    async with visitor(site) as pia, visitor(site) as eve:
        secret = await sign_in(pia, "pia")
        assert (await pia.me()).roles == ["requester"]
        assert not await sign_in(eve, "eve")
        out = await site.use_cases.people.sign_out(secret, "127.0.0.1")
        assert out.elsewhere is not None
        assert httpx2.get(out.elsewhere, timeout=60).headers["location"] == f"{PUBLIC}/sign-in"


async def test_roles_of_the_realm_give_what_is_bound_to_them(tmp_path: Path, keycloak: Keycloak) -> None:
    file = declared(tmp_path, keycloak)
    file.write_text(f'{file.read_text()}groups_claim = "realm_access.roles"\n')
    keycloak.person("mia", "staff")
    async with started_site(tmp_path, Settings(oidc_issuers=str(file), directory_poll_s=100_000)) as site:
        await site.bind(m.GroupBinding(issuer=keycloak.url, group="mover", roles=["requester"]))
        async with visitor(site) as mia:
            assert not await sign_in(mia, "mia")
            keycloak.give_role("mia", "mover")
            secret = await sign_in(mia, "mia")
            assert (await mia.me()).roles == ["requester"]
            await site.use_cases.people.ask_provider(keycloak.url)
            assert await is_here(site, secret)


async def test_who_is_disabled_there_or_loses_the_group_is_out_here(site: Site, keycloak: Keycloak) -> None:
    people = site.use_cases.people
    async with visitor(site) as one, visitor(site) as other, visitor(site) as third:
        pia, rob, zoe = [await sign_in(b, n) for b, n in ((one, "pia"), (other, "rob"), (third, "zoe"))]
        for _ in range(2):
            await people.ask_provider(keycloak.url)
            assert [await is_here(site, secret) for secret in (pia, rob, zoe)] == [True] * 3
        keycloak.enable("pia", enabled=False)
        keycloak.leave("zoe", "staff")
        await people.ask_provider(keycloak.url)
        assert [await is_here(site, secret) for secret in (pia, rob, zoe)] == [False, True, False]
        keycloak.enable("pia", enabled=True)
        assert await is_here(site, await sign_in(one, "pia"))


async def test_a_proof_takes_the_password_again_and_a_sign_in_of_before_proves_nothing(
    tmp_path: Path, keycloak: Keycloak
) -> None:
    wanted = Settings(oidc_issuers=str(declared(tmp_path, keycloak)), directory_poll_s=100_000)
    async with started_site(tmp_path, wanted, proof="password") as site:
        await site.bind(m.GroupBinding(issuer=keycloak.url, group="staff", roles=["requester"]))
        async with visitor(site) as rob:
            there = Browser("rob")
            await rob.come_back(there.walk(await rob.begin(), BACK))
            # Who is signed in there need not sign in again, unless it is for a proof.
            await rob.come_back(there.walk(await rob.begin(), BACK))
            assert ((await rob.me()).name, there.passwords) == ("Rob Test", 1)
            challenge = await asked(rob)
            to = (await gone_there(rob, challenge)).headers["location"]
            answer = answer_of(await rob.come_back(there.walk(to, BACK)), challenge)
            assert there.passwords == 2
            made = await rob.client.post(TOKENS, json={**WISH, "provider": answer}, headers=FROM_HERE)
            assert made.status_code == 201, made.text
            # A minute later, Keycloak is asked to let in whoever is signed in.
            site.clock.shift += timedelta(minutes=1)
            to = (await gone_there(rob, await asked(rob))).headers["location"]
            for asks in ("prompt=login", "max_age=0"):
                assert asks in to
                to = to.replace(asks, "")
            assert refusal(await rob.come_back(there.walk(to, BACK))) == "provider_proof_refused"
            assert there.passwords == 2
        [failed] = await site.audited("proof_failed")
        assert failed.detail["reason"].startswith("The provider did not ask you to sign in anew")


async def test_an_access_token_counts_with_its_scopes_and_an_id_token_does_not(site: Site, keycloak: Keycloak) -> None:
    async with visitor(site) as rob:
        await sign_in(rob, "rob")
    given = keycloak.tokens_of("rob", "openid transfer:read")
    principal = await site.use_cases.people.of_token(given["access_token"])
    assert (principal.agent, principal.session, set(principal.scopes)) == ("notebook", False, {"transfer:read"})
    with pytest.raises(AuthError):
        await site.use_cases.people.of_token(given["id_token"])


async def test_a_key_that_is_new_there_is_known_here_ten_seconds_later(site: Site, keycloak: Keycloak) -> None:
    async with visitor(site) as rob:
        assert await sign_in(rob, "rob")
        keycloak.rotate()
        site.clock.shift += timedelta(seconds=10)
        assert await is_here(site, await sign_in(rob, "rob"))


async def test_the_check_of_a_configuration_finds_nothing_wrong(tmp_path: Path, keycloak: Keycloak) -> None:
    [issuer] = read_issuers(declared(tmp_path, keycloak), read_secret)
    found = [one async for one in check_issuer(issuer, PUBLIC, utc_now)]
    assert [one.said for one in found if not one.good] == []
