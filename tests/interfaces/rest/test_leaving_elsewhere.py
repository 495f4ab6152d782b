"""Who leaves a real OpenID provider, or signs out there, has left here; a provider that is away lets nobody leave."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.interfaces.rest.test_sign_in_elsewhere import PUBLIC, Visitor, bind, visitor
from tests.servers.provider import OpenIdProvider
from tests.servers.site import Person, Site, started_site
from tests.service.refusals import refused
from tests.service.test_consent import plan_to_approve
from tests.service.test_transfers import SLOW_BPS, large_set, until

from headrace.api.settings import Settings
from headrace.auth import AuthError

pytestmark = pytest.mark.anyio


@pytest.fixture
async def watching(tmp_path: Path, provider: OpenIdProvider) -> AsyncIterator[Site]:
    """A site that asks the provider each second who is still there; its staff may ask for and approve transfers."""
    provider.client("headrace", PUBLIC, "corp", grant_types=["authorization_code", "refresh_token"])
    for name in ("pia", "rob", "zoe"):
        provider.person(name, name=name.title(), groups=["staff"])
    declared = provider.declared(tmp_path, watch_people=True)
    async with started_site(tmp_path, Settings(oidc_issuers=str(declared), directory_poll_s=1)) as opened:
        await opened.start_both()
        await bind(opened, provider, "staff", "requester", "approver")
        yield opened


@pytest.fixture
async def ungranted(tmp_path: Path, provider: OpenIdProvider) -> AsyncIterator[Site]:
    """A site that asks for `offline_access`, which the provider does not give without a question to the person."""
    provider.client("headrace", PUBLIC, "corp", grant_types=["authorization_code", "refresh_token"])
    scopes = ["openid", "profile", "email", "groups", "offline_access"]
    declared = provider.declared(tmp_path, watch_people=True, scopes=scopes)
    async with started_site(tmp_path, Settings(oidc_issuers=str(declared))) as opened:
        await bind(opened, provider, "staff", "requester")
        yield opened


async def test_who_leaves_is_seen_where_the_provider_did_not_give_every_scope(
    ungranted: Site, provider: OpenIdProvider
) -> None:
    people = ungranted.use_cases.people
    provider.person("uma", name="Uma", groups=["staff"])
    async with visitor(ungranted) as browser:
        uma = await person(ungranted, browser, "uma")
        await people.ask_provider(provider.url)
        assert (await people.of_session(uma.secret)).id == uma.principal.id
        provider.administrate("people", id="uma")
        await people.ask_provider(provider.url)
        with pytest.raises(AuthError):
            await people.of_session(uma.secret)


async def person(site: Site, browser: Visitor, name: str) -> Person:
    await browser.sign_in(name)
    secret = browser.client.cookies["headrace"]
    return Person(site, await site.use_cases.people.of_session(secret), secret)


async def test_who_is_disabled_at_the_provider_loses_sessions_tokens_approvals_and_what_runs(
    watching: Site, provider: OpenIdProvider
) -> None:
    people = watching.use_cases.people
    async with visitor(watching) as one, visitor(watching) as other:
        pia, rob = await person(watching, one, "pia"), await person(watching, other, "rob")
        secret, _ = await pia.token("transfer:read")
        large_set(watching)
        (watching.lab / "set").rename(watching.lab / "large")
        plan = await plan_to_approve(watching)
        await pia.approve(plan)
        running = await pia.submit(await pia.plan("lab:/large", "archive:/copy", rate_limit_bps=SLOW_BPS))
        operator = await watching.person("otto", "operator")
        ada, watching.ada = watching.ada, operator
        await until(watching, running, "running")
        provider.administrate("people", id="pia")
        ended = await operator.end_of(running)
        assert ended.error is not None
        assert ended.error.code == "requester_inactive"
        assert "no longer active: suspended since 20" in ended.error.detail
        assert ended.error.detail.endswith(f" UTC, by what {provider.url} says")
        with pytest.raises(AuthError):
            await people.of_session(pia.secret)
        with pytest.raises(AuthError):
            await people.of_token(secret)
        with refused("needs_approval"):
            await ada.submit(plan)
        assert (await people.of_session(rob.secret)).id == rob.principal.id
        [suspended] = await watching.audited("person_suspended")
        assert (suspended.subject, suspended.detail["cause"]) == (pia.principal.id, f"what {provider.url} says")
        provider.person("pia", name="Pia", groups=["staff"])
        assert (await person(watching, one, "pia")).principal.id == pia.principal.id
        with refused("needs_approval"):
            await ada.submit(plan)


async def test_who_loses_the_groups_at_the_provider_loses_what_they_gave(
    watching: Site, provider: OpenIdProvider
) -> None:
    async with visitor(watching) as browser:
        zoe = await person(watching, browser, "zoe")
        await watching.use_cases.people.ask_provider(provider.url)
        assert (await zoe.port.me()).roles
        provider.person("zoe", name="Zoe", groups=[])
        await watching.use_cases.people.ask_provider(provider.url)
        with pytest.raises(AuthError):
            await watching.use_cases.people.of_session(zoe.secret)
    [changed] = [one for one in await watching.audited("rights_changed") if one.subject == zoe.principal.id]
    assert (changed.detail["roles"], changed.detail["cause"]) == ("", f"what {provider.url} says")


async def test_what_runs_of_somebody_who_loses_the_last_role_by_a_sign_in_says_when_and_by_what(
    watching: Site, provider: OpenIdProvider
) -> None:
    provider.person("ivy", name="Ivy", groups=["staff"])
    async with visitor(watching) as browser:
        ivy = await person(watching, browser, "ivy")
        large_set(watching)
        running = await ivy.submit(await ivy.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
        watching.ada = await watching.person("otto", "operator")
        await until(watching, running, "running")
        provider.person("ivy", name="Ivy", groups=[])
        await browser.sign_in("ivy")
        ended = await watching.ada.end_of(running)
    assert ended.error is not None
    assert ended.error.code == "denied_by_policy"
    assert "The person who asked is without a role since 20" in ended.error.detail
    by = (f"the groups that {provider.url} named at a sign-in", f"what {provider.url} says")
    assert ended.error.detail.endswith(tuple(f", by {one}." for one in by))
