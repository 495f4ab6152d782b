"""Signing in at a real OpenID provider: what comes back is checked, and what it gives is what an admin bound."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from tests.servers.provider import PASSWORD, SECRET, OpenIdProvider, open_provider, walk
from tests.servers.site import Person, Site, started_site
from tests.service.test_transfers import small_set

from headrace.api.app.web import create_app
from headrace.api.http.guard import Origins
from headrace.api.settings import Settings
from headrace.auth.oidc_provider import ProviderFailed
from headrace.client import models as m

PUBLIC = "http://127.0.0.1"
HERE = f"{PUBLIC}/api/v1/sign-in"
GONE_ON = "/sign-in?arrived=true&next=%2Fplans"
pytestmark = pytest.mark.anyio


@dataclass
class Visitor:
    """A browser of somebody's, at the service in this process."""

    client: httpx2.AsyncClient

    async def begin(self, issuer: str = "corp", path: str = "/plans") -> str:
        """Begin a sign-in, and return where the provider's page is."""
        answer = await self.client.get(f"{HERE}/{issuer}", params={"next": path})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    async def come_back(self, given: Mapping[str, str], issuer: str = "corp") -> httpx2.Response:
        """Come back from the provider with its answer."""
        return await self.client.get(f"{HERE}/{issuer}/callback", params=dict(given))

    async def sign_in(self, user: str, issuer: str = "corp") -> httpx2.Response:
        return await self.come_back(walk(await self.begin(issuer), f"{HERE}/{issuer}/callback", user), issuer)

    async def me(self) -> m.Me:
        return m.Me.model_validate_json((await self.client.get(f"{PUBLIC}/api/v1/me")).text)


@asynccontextmanager
async def visitor(site: Site) -> AsyncIterator[Visitor]:
    app = create_app(site.service.gate, Origins.of(PUBLIC))
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC) as client:
        yield Visitor(client)


def refusal(answer: httpx2.Response) -> str:
    """The code with which a browser is sent back to the sign-in page, and without a session."""
    assert answer.status_code == 303, answer.text
    assert "headrace=" not in answer.headers.get("set-cookie", "").replace("headrace-sign-in=", "")
    to = urlsplit(answer.headers["location"])
    assert (to.netloc, to.path) == ("", "/sign-in")
    [code] = parse_qs(to.query)["refused"]
    return code


@pytest.fixture
async def site(tmp_path: Path, provider: OpenIdProvider) -> AsyncIterator[Site]:
    """A site that lets staff of the provider sign in: each is a requester."""
    provider.client("headrace", PUBLIC, "corp")
    provider.person("pia", name="Pia Grün", email="pia@corp.test", groups=["staff", "physics"])
    async with started_site(tmp_path, Settings(oidc_issuers=str(provider.declared(tmp_path)))) as opened:
        await bind(opened, provider, "staff", "requester")
        yield opened


async def bind(site: Site, provider: OpenIdProvider, group: str, *roles: str) -> None:
    bindings = [m.GroupBinding(issuer=provider.url, group=group, roles=list(roles), groups=["lab"])] if roles else []
    await site.bind(*bindings)


async def test_somebody_signs_in_at_a_provider_and_has_what_their_groups_give(
    site: Site, provider: OpenIdProvider
) -> None:
    async with visitor(site) as pia:
        ways = m.SignInWays.model_validate_json((await pia.client.get(HERE)).text)
        assert ways.providers == [m.Provider(id="corp", name="Corporate account")]
        answer = await pia.sign_in("pia")
        assert (answer.status_code, answer.headers["location"]) == (303, GONE_ON)
        [session] = [one for one in answer.headers.get_list("set-cookie") if one.startswith("headrace=")]
        assert "HttpOnly" in session
        assert "SameSite=strict" in session
        me = await pia.me()
        assert (me.name, me.roles, me.session) == ("Pia Grün", ["requester"], True)
    [arrived] = await site.audited("person_arrived")
    assert (arrived.detail["subject"], arrived.detail["groups"]) == ("pia", "lab")
    signed_in = (await site.audited("signed_in"))[-1]
    assert (signed_in.person, signed_in.detail["method"]) == (me.id, "oidc")
    assert (signed_in.detail["factors"], signed_in.detail["issuer"]) == ("otp pwd", provider.url)
    assert signed_in.detail["address"] == "127.0.0.1"


async def test_signing_in_again_brings_the_groups_of_now_to_the_same_person(
    site: Site, provider: OpenIdProvider
) -> None:
    provider.person("rob", name="Rob", groups=["staff"])
    async with visitor(site) as rob, visitor(site) as elsewhere:
        await rob.sign_in("rob")
        first = await rob.me()
        provider.person("rob", name="Rob B", groups=[])
        assert refusal(await elsewhere.sign_in("rob")) == "no_role"
        again = await rob.me()
    assert (again.id, again.name, first.roles, again.roles) == (first.id, "Rob B", ["requester"], [])


async def test_a_group_that_is_renamed_there_gives_nothing_until_its_new_name_is_bound(
    site: Site, provider: OpenIdProvider
) -> None:
    provider.person("ren", name="Ren", groups=["staff"])
    async with visitor(site) as ren, visitor(site) as again:
        await ren.sign_in("ren")
        me = await ren.me()
        provider.person("ren", name="Ren", groups=["colleagues"])
        assert refusal(await again.sign_in("ren")) == "no_role"
        await site.bind(m.GroupBinding(issuer=provider.url, group="colleagues", roles=["viewer"]))
        await again.sign_in("ren")
        assert ((await again.me()).id, (await again.me()).roles) == (me.id, ["viewer"])


async def test_roles_of_a_provider_give_what_is_bound_to_them(tmp_path: Path, provider: OpenIdProvider) -> None:
    provider.client("headrace", PUBLIC, "corp")
    provider.person("mia", name="Mia", groups=["staff"], realm_access={"roles": ["mover"]})
    scopes = ["openid", "profile", "roles"]
    declared = provider.declared(tmp_path, groups_claim="realm_access.roles", scopes=scopes)
    async with started_site(tmp_path, Settings(oidc_issuers=str(declared))) as site, visitor(site) as mia:
        await bind(site, provider, "staff", "approver")
        assert refusal(await mia.sign_in("mia")) == "no_role"
        await bind(site, provider, "mover", "requester")
        await mia.sign_in("mia")
        assert (await mia.me()).roles == ["requester"]


async def test_two_people_with_one_mail_address_and_one_name_are_two_people(
    site: Site, provider: OpenIdProvider
) -> None:
    for subject in ("kim", "kim-too"):
        provider.person(subject, name="Kim", email="kim@corp.test", groups=["staff"])
    async with visitor(site) as one, visitor(site) as other:
        await one.sign_in("kim")
        await other.sign_in("kim-too")
        found = await one.me(), await other.me()
    assert {who.name for who in found} == {"Kim"}
    assert len({who.id for who in found}) == 2


async def test_whoever_has_no_role_here_is_refused_and_not_stored(site: Site, provider: OpenIdProvider) -> None:
    provider.person("nik", name="Nik", groups=["visitors"])
    before = await site.ada.port.people()
    async with visitor(site) as nik:
        assert refusal(await nik.sign_in("nik")) == "no_role"
    assert await site.ada.port.people() == before


async def test_a_person_disabled_here_is_refused_though_the_provider_vouches(site: Site) -> None:
    async with visitor(site) as pia:
        await pia.sign_in("pia")
        me = await pia.me()
        await site.ada.port.disable_person(me.id)
        assert refusal(await pia.sign_in("pia")) == "sign_in_refused"
    [failed] = await site.audited("sign_in_failed")
    assert (failed.subject, failed.detail["reason"]) == (me.id, f"person {me.id} is disabled")


async def test_a_sign_in_ends_only_in_the_browser_that_began_it_and_once(site: Site) -> None:
    async with visitor(site) as pia, visitor(site) as mallory:
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        assert refusal(await mallory.come_back(given)) == "sign_in_expired"
        await mallory.begin()
        assert refusal(await mallory.come_back(given)) == "sign_in_expired"
        assert (await pia.come_back(given)).headers["location"] == GONE_ON
        assert refusal(await pia.come_back(given)) == "sign_in_expired"


async def test_a_code_is_of_no_use_with_another_sign_in_of_the_same_browser(site: Site) -> None:
    async with visitor(site) as pia:
        stolen = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        later = await pia.begin()
        state = parse_qs(urlsplit(later).query)["state"][0]
        assert refusal(await pia.come_back({**stolen, "state": state})) == "sign_in_refused"


async def test_what_the_browser_keeps_of_a_sign_in_cannot_be_changed(site: Site) -> None:
    async with visitor(site) as pia:
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        kept = pia.client.cookies["headrace-sign-in"]
        for changed in ("x" + kept, kept[:-1] + ("0" if kept[-1] != "0" else "1"), kept.partition(".")[0], "." * 3000):
            answer = await pia.client.get(
                f"{HERE}/corp/callback", params=given, headers={"cookie": f"headrace-sign-in={changed}"}
            )
            assert refusal(answer) == "sign_in_expired"


async def test_a_sign_in_that_began_ten_minutes_ago_is_over(site: Site) -> None:
    async with visitor(site) as pia:
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        site.clock.shift += timedelta(minutes=10)
        assert refusal(await pia.come_back(given)) == "sign_in_expired"


async def test_an_answer_of_another_issuer_is_refused(site: Site) -> None:
    async with visitor(site) as pia:
        for changed in ({"iss": "https://evil.example"}, {"iss": ""}):
            given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
            assert refusal(await pia.come_back({**given, **changed})) == "sign_in_refused"
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        del given["iss"]
        assert refusal(await pia.come_back(given)) == "sign_in_refused"


async def test_an_answer_that_says_something_twice_or_without_end_is_refused(site: Site) -> None:
    async with visitor(site) as pia:
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        twice = httpx2.QueryParams([*given.items(), ("code", "another")])
        assert refusal(await pia.client.get(f"{HERE}/corp/callback", params=twice)) == "sign_in_refused"
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        assert refusal(await pia.come_back({**given, "code": "x" * 6000})) == "sign_in_refused"


async def test_a_person_who_says_no_at_the_provider_is_back_without_a_session(
    site: Site, provider: OpenIdProvider
) -> None:
    async with visitor(site) as pia:
        state = parse_qs(urlsplit(await pia.begin()).query)["state"][0]
        answer = await pia.come_back({"error": "access_denied", "state": state, "iss": provider.url})
        assert refusal(answer) == "sign_in_refused"


async def test_a_sign_in_goes_on_at_no_other_site(site: Site) -> None:
    async with visitor(site) as pia:
        for path in ("//evil.example", "/\\evil.example", "https://evil.example", "/a\nb", "/a\n", "", "/ x"):
            answer = await pia.client.get(f"{HERE}/corp", params={"next": path})
            assert m.Problem.model_validate_json(answer.text).code == "not_allowed"


async def test_an_unknown_provider_is_not_found(site: Site) -> None:
    async with visitor(site) as pia:
        for address in (f"{HERE}/nowhere", f"{HERE}/nowhere/callback?code=x&state=y"):
            answer = await pia.client.get(address)
            assert "not_found" in answer.text + answer.headers.get("location", "")


async def test_each_provider_answers_for_itself_alone(tmp_path: Path, provider: OpenIdProvider) -> None:
    provider.client("headrace", PUBLIC, "corp")
    provider.person("pia", name="Pia", groups=["staff"])
    file = provider.declared(tmp_path)
    other = file.read_text().replace('"corp"', '"other"').replace(provider.url, "http://127.0.0.1:9")
    file.write_text(f"{file.read_text()}\n{other}")
    async with started_site(tmp_path, Settings(oidc_issuers=str(file))) as site, visitor(site) as pia:
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        assert refusal(await pia.come_back(given, "other")) == "sign_in_expired"


async def test_people_of_two_providers_with_one_subject_are_two_and_no_providers_answer_counts_for_the_other(
    tmp_path: Path, provider: OpenIdProvider
) -> None:
    with open_provider() as partner:
        issuers = {"corp": provider, "partner": partner}
        for name, one in issuers.items():
            one.client("headrace", PUBLIC, name)
            one.person("pia", name=f"Pia of {name}", groups=["staff"])
        declared = [one.declared(tmp_path, name).read_text() for name, one in issuers.items()]
        file = tmp_path / "issuers.toml"
        file.write_text("".join(declared))
        async with started_site(tmp_path, Settings(oidc_issuers=str(file))) as site:
            await bind(site, provider, "staff", "requester")
            async with visitor(site) as pia, visitor(site) as other:
                await pia.sign_in("pia")
                # The same group, at another provider.
                assert refusal(await other.sign_in("pia", "partner")) == "no_role"
                await site.bind(
                    *(m.GroupBinding(issuer=one.url, group="staff", roles=["requester"]) for one in issuers.values())
                )
                await other.sign_in("pia", "partner")
                mine, theirs = await pia.me(), await other.me()
                assert mine.id != theirs.id
                assert (mine.name, theirs.name) == ("Pia of corp", "Pia of partner")
                given = walk(await other.begin("partner"), f"{HERE}/partner/callback", "pia")
                assert refusal(await other.come_back(given, "corp")) == "sign_in_expired"


async def test_a_provider_that_is_away_is_said_and_whoever_is_signed_in_goes_on(
    tmp_path: Path, provider: OpenIdProvider
) -> None:
    file = provider.declared(tmp_path)
    file.write_text(file.read_text().replace(provider.url, "http://127.0.0.1:9"))
    async with started_site(tmp_path, Settings(oidc_issuers=str(file))) as site, visitor(site) as pia:
        assert refusal(await pia.client.get(f"{HERE}/corp")) == "provider_failed"
        assert (await site.ada.port.me()).name == "ada"


async def test_people_of_a_provider_work_on_while_it_is_away(tmp_path: Path) -> None:
    with ExitStack() as ending:
        gone = ending.enter_context(open_provider())
        gone.client("headrace", PUBLIC, "corp", grant_types=["authorization_code", "refresh_token"])
        gone.person("pia", name="Pia", groups=["staff"])
        declared = gone.declared(tmp_path, watch_people=True)
        async with started_site(tmp_path, Settings(oidc_issuers=str(declared))) as site, visitor(site) as browser:
            await site.start_both()
            await bind(site, gone, "staff", "requester")
            await browser.sign_in("pia")
            secret = browser.client.cookies["headrace"]
            pia = Person(site, await site.use_cases.people.of_session(secret), secret)
            token, _ = await pia.token("transfer:read")
            small_set(site)
            ending.close()
            with pytest.raises(ProviderFailed, match="connection"):
                await site.use_cases.people.ask_provider(gone.url)
            assert (await browser.me()).roles == ["requester"]
            ended = await pia.end_of(await pia.submit(await pia.plan("lab:/set", "archive:/set")))
            assert ended.state is m.TransferState.COMPLETE
            assert (await site.use_cases.people.of_token(token)).id == pia.principal.id
            assert await site.audited("person_suspended") == []


async def test_a_key_that_the_provider_has_since_made_is_asked_for(site: Site, provider: OpenIdProvider) -> None:
    async with visitor(site) as pia:
        await pia.sign_in("pia")
        provider.administrate("rotate", drop=True)
        site.clock.shift += timedelta(minutes=1)
        assert (await pia.sign_in("pia")).headers["location"] == GONE_ON


async def test_no_secret_of_a_sign_in_is_in_a_log_or_in_the_audit(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with visitor(site) as pia:
        given = walk(await pia.begin(), f"{HERE}/corp/callback", "pia")
        kept = pia.client.cookies["headrace-sign-in"]
        await pia.come_back(given)
        await pia.come_back(given)
        session = pia.client.cookies["headrace"]
    audited = "".join(event.model_dump_json() for event in await site.audited("signed_in"))
    ours = "".join(record.getMessage() for record in caplog.records if record.name.startswith("headrace"))
    for secret in (given["code"], kept, session, SECRET, PASSWORD):
        assert secret not in audited + ours
