"""A fresh sign-in at the provider proves one request of somebody who has neither a password nor a passkey here."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from sqlalchemy import update
from tests.interfaces.rest.test_sign_in_elsewhere import HERE, PUBLIC, Visitor, bind, visitor
from tests.servers.device import Device
from tests.servers.provider import OpenIdProvider, walk
from tests.servers.site import PASSWORD, Site, started_site

from headrace.api.settings import Settings
from headrace.api.store.tables_site import IdentityRow
from headrace.client import models as m

WISH: dict[str, object] = {"name": "pipeline", "scopes": ["transfer:read"]}
TOKENS = f"{PUBLIC}/api/v1/tokens"
FROM_HERE = {"origin": PUBLIC}
pytestmark = pytest.mark.anyio


@pytest.fixture
async def strict(tmp_path: Path, provider: OpenIdProvider) -> AsyncIterator[Site]:
    """A site that wants a proof, whose staff signs in at the provider."""
    provider.client("headrace", PUBLIC, "corp")
    for name in ("pia", "rob"):
        provider.person(name, name=name, groups=["staff"])
    settings = Settings(oidc_issuers=str(provider.declared(tmp_path)))
    async with started_site(tmp_path, settings, proof="password") as site:
        await bind(site, provider, "staff", "requester")
        yield site


async def said(pia: Visitor, wish: dict[str, object], **proof: object) -> m.Problem:
    """Why a request is refused."""
    answer = await pia.client.post(TOKENS, json={**wish, **proof}, headers=FROM_HERE)
    assert answer.is_error, answer.text
    return m.Problem.model_validate_json(answer.text)


async def asked(pia: Visitor, wish: dict[str, object] = WISH) -> m.ProviderChallenge:
    """The proof that the service asks for."""
    problem = await said(pia, wish)
    assert (problem.code, problem.proof is not None) == ("proof_needed", True)
    assert problem.proof is not None
    assert problem.proof.ways == ["provider"]
    assert problem.proof.provider is not None
    return problem.proof.provider


async def gone_there(pia: Visitor, challenge: m.ProviderChallenge) -> httpx2.Response:
    return await pia.client.get(f"{HERE}/{challenge.provider}", params={"proof": challenge.kept})


async def came_back(pia: Visitor, challenge: m.ProviderChallenge, user: str = "pia") -> httpx2.Response:
    to = (await gone_there(pia, challenge)).headers["location"]
    return await pia.come_back(walk(to, f"{HERE}/corp/callback", user))


def answer_of(back: httpx2.Response, challenge: m.ProviderChallenge) -> str:
    to = urlsplit(back.headers["location"])
    assert (to.netloc, to.path, parse_qs(to.query)) == ("", "/proven", {"id": [challenge.id]})
    assert "headrace=" not in back.headers.get("set-cookie", "").replace("headrace-sign-in=", "")
    return to.fragment


def refusal(back: httpx2.Response) -> str:
    to = urlsplit(back.headers["location"])
    assert (to.netloc, to.path, to.fragment) == ("", "/proven", "")
    [code] = parse_qs(to.query)["refused"]
    return code


async def test_a_fresh_sign_in_at_the_provider_proves_the_very_request_that_it_was_asked_for(strict: Site) -> None:
    async with visitor(strict) as pia:
        await pia.sign_in("pia")
        challenge = await asked(pia)
        to = parse_qs(urlsplit((await gone_there(pia, challenge)).headers["location"]).query)
        assert (to["prompt"], to["max_age"]) == (["login"], ["0"])
        answer = answer_of(await came_back(pia, challenge), challenge)
        other = await said(pia, {**WISH, "scopes": ["transfer:plan"]}, provider=answer)
        assert other.code == "provider_proof_refused"
        made = await pia.client.post(TOKENS, json={**WISH, "provider": answer}, headers=FROM_HERE)
        assert made.status_code == 201, made.text
        assert (await said(pia, WISH, provider=answer)).code == "provider_proof_refused"
    assert [one.detail["reason"] for one in await strict.audited("proof_failed")] == [
        "This proof was given for something else.",
        "This proof was used already; each is for one thing.",
    ]


async def test_a_proof_begins_and_counts_in_its_own_session_only(strict: Site) -> None:
    async with visitor(strict) as pia, visitor(strict) as elsewhere, visitor(strict) as nobody:
        await pia.sign_in("pia")
        await elsewhere.sign_in("pia")
        challenge = await asked(pia)
        assert refusal(await gone_there(elsewhere, challenge)) == "provider_proof_refused"
        assert refusal(await gone_there(nobody, challenge)) == "not_signed_in"
        forged = challenge.model_copy(update={"kept": "x" + challenge.kept})
        assert refusal(await gone_there(pia, forged)) == "provider_proof_refused"
        answer = answer_of(await came_back(pia, challenge), challenge)
        assert (await said(elsewhere, WISH, provider=answer)).code == "provider_proof_refused"
        assert (await said(pia, WISH, provider=challenge.kept)).code == "provider_proof_refused"


async def test_who_signs_in_for_a_proof_as_somebody_else_proves_nothing(strict: Site) -> None:
    async with visitor(strict) as rob, visitor(strict) as pia:
        await rob.sign_in("rob")
        await pia.sign_in("pia")
        assert refusal(await came_back(pia, await asked(pia), "rob")) == "provider_proof_refused"
        me = await pia.me()
    [failed] = await strict.audited("proof_failed")
    assert (failed.subject, failed.detail["reason"]) == (
        me.id,
        "Somebody else signed in there; sign in there as yourself.",
    )


async def test_a_sign_in_of_before_proves_nothing_though_the_provider_vouches(
    strict: Site, provider: OpenIdProvider
) -> None:
    async with visitor(strict) as pia:
        await pia.sign_in("pia")
        long_ago = strict.clock() - timedelta(minutes=4)
        provider.person_who_signed_in("pia", at=int(long_ago.timestamp()))
        assert refusal(await came_back(pia, await asked(pia))) == "provider_proof_refused"
    [failed] = await strict.audited("proof_failed")
    assert failed.detail["reason"].startswith("The provider did not ask you to sign in anew")


async def test_an_identity_that_was_put_under_another_person_proves_where_a_provider_may_and_no_passkey(
    strict: Site, provider: OpenIdProvider
) -> None:
    async with visitor(strict) as pia, visitor(strict) as rob:
        await pia.sign_in("pia")
        await rob.sign_in("rob")
        me, wish = await pia.me(), {**WISH, "name": "robs"}
        async with strict.service.whole.core.database.write() as tx:
            mine = update(IdentityRow).where(IdentityRow.issuer == provider.url, IdentityRow.subject == "rob")
            await tx.execute(mine.values(person=me.id))
        await rob.sign_in("rob")
        assert (await rob.me()).id == me.id
        challenge = await asked(rob, wish)
        answer = answer_of(await came_back(rob, challenge, "rob"), challenge)
        made = await rob.client.post(TOKENS, json={**wish, "provider": answer}, headers=FROM_HERE)
        assert made.status_code == 201, made.text
        # No event says that an administrator linked it.
        assert await strict.audited("identity_linked") == []
        strict.settings = replace(strict.settings, consent_proof="passkey")
        await strict.restart()
    async with visitor(strict) as passkeys:
        await passkeys.sign_in("rob")
        problem = await said(passkeys, WISH)
        assert (problem.code, problem.proof) == ("proof_needed", None)


async def test_a_proof_of_a_provider_is_over_after_five_minutes(strict: Site) -> None:
    async with visitor(strict) as pia:
        await pia.sign_in("pia")
        challenge = await asked(pia)
        answer = answer_of(await came_back(pia, challenge), challenge)
        strict.clock.shift += timedelta(minutes=5)
        assert (await said(pia, WISH, provider=answer)).detail == "That took longer than five minutes; begin again."
        assert refusal(await gone_there(pia, challenge)) == "provider_proof_refused"


async def test_a_site_may_want_a_way_of_signing_in_for_proofs(tmp_path: Path, provider: OpenIdProvider) -> None:
    provider.client("headrace", PUBLIC, "corp")
    provider.person("pia", name="Pia", groups=["staff"])
    file = provider.declared(tmp_path, proof_acr=["phr", "phrh"])
    async with started_site(tmp_path, Settings(oidc_issuers=str(file)), proof="password") as site:
        await bind(site, provider, "staff", "requester")
        async with visitor(site) as pia:
            await pia.sign_in("pia")
            challenge = await asked(pia)
            to = parse_qs(urlsplit((await gone_there(pia, challenge)).headers["location"]).query)
            assert to["acr_values"] == ["phr phrh"]
            provider.person_who_signed_in("pia", acr="pwd")
            assert refusal(await came_back(pia, challenge)) == "provider_proof_refused"
            provider.person_who_signed_in("pia", acr="phrh")
            assert answer_of(await came_back(pia, challenge), challenge)


async def test_who_has_a_passkey_is_asked_for_that_and_adds_the_first_one_by_a_fresh_sign_in(strict: Site) -> None:
    async with visitor(strict) as pia:
        await pia.sign_in("pia")
        principal = await strict.use_cases.people.of_session(pia.client.cookies["headrace"])
        begin = f"{PUBLIC}/api/v1/passkeys/challenge"
        refused = await pia.client.post(begin, json={}, headers=FROM_HERE)
        problem = m.Problem.model_validate_json(refused.text)
        assert problem.proof is not None
        assert problem.proof.provider is not None
        challenge = problem.proof.provider
        answer = answer_of(await came_back(pia, challenge), challenge)
        begun = await pia.client.post(begin, json={"provider": answer}, headers=FROM_HERE)
        port = strict.service.acting_for(principal)
        await port.add_passkey(Device().create(m.PasskeyChallenge.model_validate_json(begun.text)))
        problem = await said(pia, WISH)
        assert problem.proof is not None
        assert (problem.proof.ways, problem.proof.provider) == (["passkey"], None)


async def test_where_only_passkeys_count_a_sign_in_at_the_provider_does_not(strict: Site) -> None:
    async with visitor(strict) as pia:
        await pia.sign_in("pia")
        challenge = await asked(pia)
        answer = answer_of(await came_back(pia, challenge), challenge)
        strict.settings = replace(strict.settings, consent_proof="passkey")
        await strict.restart()
    async with visitor(strict) as again:
        await again.sign_in("pia")
        problem = await said(again, WISH, provider=answer)
        assert (problem.code, problem.proof) == ("proof_needed", None)
        assert PASSWORD not in problem.detail
