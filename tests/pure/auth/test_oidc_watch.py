"""Asking a provider whether people are still there: what ends their time here, and what does not."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.conformance.identity_store_conformance import bind
from tests.pure.auth.documents import NOW, Answer, Documents, OwnClock, claims, issuer_at, served, signed

from headrace.auth import Authenticator, AuthError, GroupBinding, MemoryPeopleStore, Pepper, Role, SignedIn, memory
from headrace.auth.leavers import FEW, Looked
from headrace.auth.oidc_claims import Vouched
from headrace.auth.oidc_watch import AT_ONCE

OF_A_LEAVER = "of a leaver"
GONE = (400, {"error": "invalid_grant"})
GIVEN = {"access_token": "x", "token_type": "Bearer"}
pytestmark = pytest.mark.anyio


def staff_of(issuer: str, subject: str = "pia", token: str | None = "first") -> Vouched:  # noqa: S107
    return Vouched(
        issuer=issuer, subject=subject, name=subject, groups=frozenset({"staff"}), factors=frozenset(), at=NOW,
        says_when=True, sid=None, acr=None, refresh_token=token,
    )  # fmt: skip


class Desk:
    """A service at which staff of a provider are viewers, and which asks the provider about them."""

    def __init__(self, documents: Documents) -> None:
        self.documents, self.clock, self.store = documents, OwnClock(), MemoryPeopleStore()
        self.open(b"p" * 32)

    def open(self, *keys: bytes) -> None:
        declared = replace(issuer_at(self.documents.url), watch_people=True)
        self.door = Authenticator(self.store, self.store, self.store, self.clock, Pepper(*keys), issuers=[declared])

    async def arrive(self, subject: str = "pia", token: str | None = "first") -> SignedIn:  # noqa: S107
        return await self.door.oidc.arrive(staff_of(self.documents.url, subject, token))

    async def look(self) -> Looked:
        return await self.door.oidc_watch.look(self.documents.url)

    def answer(self, **changed: Any) -> None:  # noqa: ANN401 - JSON
        answer = {"access_token": "x", "token_type": "Bearer", **changed}
        self.documents.answers["/token"] = (200, answer)

    async def is_here(self, session: SignedIn) -> bool:
        try:
            await self.door.sessions.principal(session.secret)
        except AuthError:
            return False
        return True


@pytest.fixture
async def desk(anew: Documents) -> AsyncIterator[Desk]:
    found = Desk(anew)
    await bind(found.store, GroupBinding(issuer=anew.url, group="staff", roles=frozenset({Role.VIEWER})))
    yield found
    await found.door.close()


async def test_whom_the_provider_lets_in_no_more_is_out_until_they_sign_in_there_again(desk: Desk) -> None:
    session = await desk.arrive()
    desk.answer()
    looked = await desk.look()
    assert (looked.changed, looked.troubles, await desk.is_here(session)) == (False, (), True)
    desk.documents.answers["/token"] = GONE
    assert (await desk.look()).changed
    assert not await desk.is_here(session)
    asked = len(desk.documents.posted)
    assert not (await desk.look()).changed
    assert len(desk.documents.posted) == asked
    assert await desk.is_here(await desk.arrive(token="second"))  # noqa: S106


@pytest.mark.parametrize("answer", [(503, {}), (401, {"error": "invalid_client"}), (200, {"id_token": "no JWT"})])
async def test_nobody_is_out_while_the_provider_does_not_say_so(desk: Desk, answer: tuple[int, Any]) -> None:
    session = await desk.arrive()
    desk.documents.answers["/token"] = answer
    looked = await desk.look()
    assert looked.troubles[0].startswith(f"nobody knows who has left {desk.documents.url}: ")
    assert (looked.changed, await desk.is_here(session)) == (False, True)


@pytest.mark.parametrize(
    ("code", "meaning"),
    [("invalid_scope", "`offline_access`"), ("invalid_client", "`client_id`"), ("unauthorized_client", "the grant")],
)
async def test_a_refusal_that_is_about_the_service_says_what_it_means(desk: Desk, code: str, meaning: str) -> None:
    await desk.arrive()
    desk.documents.answers["/token"] = (400, {"error": code})
    [said] = (await desk.look()).troubles
    assert f": {code} (" in said
    assert meaning in said


async def test_the_token_that_takes_the_place_of_the_last_one_is_kept_and_none_is_readable(desk: Desk) -> None:
    await desk.arrive()
    kept = (await desk.store.identities())[0].grant
    desk.answer(refresh_token="second")  # noqa: S106
    await desk.look()
    again = (await desk.store.identities())[0].grant
    assert kept is not None
    assert again not in {None, kept}
    assert "first" not in kept
    assert "first" not in repr(await desk.store.identities())


@pytest.mark.parametrize("none", [None, []])
async def test_the_groups_of_now_are_those_of_the_id_token_that_comes_with_the_answer(
    desk: Desk, none: list[str] | None
) -> None:
    session = await desk.arrive()
    desk.answer()
    assert not (await desk.look()).changed
    desk.answer(id_token=signed(claims(desk.documents, nonce=None)))
    assert not (await desk.look()).changed
    assert await desk.is_here(session)
    desk.answer(id_token=signed(claims(desk.documents, nonce=None, groups=["staff"], sub="rob")))
    assert (await desk.look()).troubles
    desk.answer(id_token=signed(claims(desk.documents, nonce=None, groups=none)))
    assert (await desk.look()).changed
    assert not await desk.is_here(session)


async def test_a_sign_in_about_which_nobody_could_ask_is_refused(desk: Desk) -> None:
    with pytest.raises(AuthError) as refused:
        await desk.arrive(token=None)
    assert refused.value.code == "sign_in_refused"
    assert "gave no refresh token" in refused.value.reason


async def test_what_is_kept_can_be_read_after_a_rotation_and_ends_its_sign_in_when_its_key_is_gone(desk: Desk) -> None:
    session = await desk.arrive()
    desk.answer()
    desk.open(b"q" * 32, b"p" * 32)
    assert (await desk.look()).troubles == ()
    assert await desk.is_here(session)
    desk.open(b"q" * 32)
    assert (await desk.look()).changed
    assert (await desk.store.identities())[0].gone is not None


async def test_what_is_kept_of_one_person_asks_for_nobody_else(desk: Desk) -> None:
    await desk.arrive()
    rob = await desk.arrive("rob")
    pia = (await desk.store.identities())[0].grant
    stolen = (await desk.store.identities())[1].grant
    assert pia is not None
    assert stolen is not None
    await desk.store.keep_grant(desk.documents.url, "rob", stolen, pia)
    desk.answer()
    assert (await desk.look()).changed
    assert not await desk.is_here(rob)


async def test_everybody_is_asked_about_and_a_provider_that_is_away_hears_eight_questions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MAX_PEOPLE", 5)
    for number in range(2 * AT_ONCE + 1):
        await desk.arrive(f"one{number}")
    for answer in ((503, {}), (401, {"error": "invalid_client"})):
        desk.documents.answers["/token"] = answer
        desk.documents.posted.clear()
        await desk.look()
        assert desk.documents.posted.count("/token") == AT_ONCE
    last = await desk.arrive("zoe", token=OF_A_LEAVER)
    desk.documents.answers["/token"] = lambda fields: GONE if fields["refresh_token"] == OF_A_LEAVER else (200, GIVEN)
    assert (await desk.look()).changed
    assert not await desk.is_here(last)


async def test_a_provider_that_takes_nobodys_token_any_more_ends_nobodys_work(desk: Desk) -> None:
    here = [await desk.arrive(f"one{number}") for number in range(FEW + 1)]
    desk.documents.answers["/token"] = GONE
    looked = await desk.look()
    assert (looked.changed, [await desk.is_here(one) for one in here]) == (False, [True] * len(here))
    [said] = looked.troubles
    assert said.startswith(f"by what {desk.documents.url} answers now, 6 of 6 people would lose all access at once: o")
    assert "disable them (`headrace people disable`) or unbind their group" in said
    # It is true: an administrator disables one of them, and the others are few.
    await desk.store.disable(here[0].principal.id)
    looked = await desk.look()
    assert (looked.changed, looked.troubles) == (True, ())
    assert not any([await desk.is_here(one) for one in here])


@pytest.mark.parametrize(("leavers", "stay"), [(6, False), (7, True)])
async def test_at_most_a_tenth_of_many_people_may_go_in_one_look(desk: Desk, leavers: int, *, stay: bool) -> None:
    tokens = [OF_A_LEAVER] * leavers + ["first"] * (60 - leavers)
    here = [await desk.arrive(f"one{number}", token) for number, token in enumerate(tokens)]
    desk.documents.answers["/token"] = lambda fields: GONE if fields["refresh_token"] == OF_A_LEAVER else (200, GIVEN)
    looked = await desk.look()
    assert [await desk.is_here(one) for one in here[:leavers]] == [stay] * leavers
    assert (looked.changed, bool(looked.troubles)) == (not stay, stay)


async def test_a_provider_that_names_nobodys_group_any_more_ends_nobodys_work_until_the_group_is_unbound(
    desk: Desk,
) -> None:
    subjects = [f"one{number}" for number in range(FEW + 1)]
    here = [await desk.arrive(subject, token=subject) for subject in subjects]

    def answer(fields: Mapping[str, str]) -> Answer:
        renamed = claims(desk.documents, nonce=None, sub=fields["refresh_token"], groups=["employees"])
        return 200, {**GIVEN, "id_token": signed(renamed)}

    desk.documents.answers["/token"] = answer
    looked = await desk.look()
    assert "6 of 6 people would lose all access" in looked.troubles[0]
    assert (looked.changed, [await desk.is_here(one) for one in here]) == (False, [True] * len(here))
    await bind(desk.store, GroupBinding(issuer=desk.documents.url, group="others", roles=frozenset({Role.VIEWER})))
    looked = await desk.look()
    assert (looked.changed, looked.troubles) == (True, ())
    assert {tuple(one.groups) for one in await desk.store.identities()} == {("employees",)}


async def test_one_provider_is_asked_while_another_has_not_answered(anew: Documents) -> None:
    answering = threading.Event()

    def slow(_: Mapping[str, str]) -> Answer:
        answering.wait(30)
        return 200, GIVEN

    with served() as other:
        store = MemoryPeopleStore()
        issuers = [
            replace(issuer_at(anew.url), watch_people=True),
            replace(issuer_at(other.url), id="other", watch_people=True),
        ]
        door = Authenticator(store, store, store, OwnClock(), Pepper(b"p" * 32), issuers=issuers)
        for one in issuers:
            await bind(store, GroupBinding(issuer=one.url, group="staff", roles=frozenset({Role.VIEWER})))
            await door.oidc.arrive(staff_of(one.url))
        anew.answers["/token"], other.answers["/token"] = slow, GONE
        waiting = asyncio.create_task(door.oidc_watch.look(anew.url))
        assert (await door.oidc_watch.look(other.url)).changed
        answering.set()
        await waiting
        await door.close()


async def test_people_about_whom_the_provider_says_neither_keep_nobody_else_in(desk: Desk) -> None:
    for number in range(AT_ONCE):
        await desk.arrive(f"asked{number}", token="of somebody who must agree first")  # noqa: S106
    leaver = await desk.arrive("zoe", token=OF_A_LEAVER)

    def answer(fields: Mapping[str, str]) -> Answer:
        return GONE if fields["refresh_token"] == OF_A_LEAVER else (400, {"error": "interaction_required"})

    desk.documents.answers["/token"] = answer
    looked = await desk.look()
    assert looked.changed
    assert "interaction_required" in looked.troubles[0]
    assert not await desk.is_here(leaver)


async def test_a_token_that_comes_while_the_service_stops_is_kept(desk: Desk) -> None:
    await desk.arrive()
    asked, answered = threading.Event(), threading.Event()

    def answer(_: Mapping[str, str]) -> Answer:
        asked.set()
        answered.wait(30)
        return 200, {"access_token": "x", "token_type": "Bearer", "refresh_token": "second"}

    desk.documents.answers["/token"] = answer
    looking = asyncio.create_task(desk.look())
    await asyncio.to_thread(asked.wait)
    looking.cancel()
    await asyncio.sleep(0)
    answered.set()
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert await next_token(desk) == "second"


async def test_a_token_that_could_not_be_stored_is_stored_before_anybody_is_asked_about_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.arrive("pia")
    await desk.arrive("rob")
    given = iter(range(100))
    desk.documents.answers["/token"] = lambda _: (
        200,
        {"access_token": "x", "token_type": "Bearer", "refresh_token": f"given{next(given)}"},
    )

    async def full(*_: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(desk.store, "keep_grant", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                await desk.look()
        assert desk.documents.posted.count("/token") == 2
    assert await next_token(desk) in {"given0", "given1"}


async def test_what_an_older_sign_in_says_takes_nothing_from_one_that_came_meanwhile(desk: Desk) -> None:
    await desk.arrive()
    [known] = await desk.store.identities()
    session = await desk.arrive(token="second")  # noqa: S106
    assert not await desk.store.renew(desk.documents.url, "pia", frozenset(), NOW, grant=known.grant)
    assert await desk.is_here(session)


async def test_everyone_who_does_not_answer_is_named(anew: Documents) -> None:
    with served() as other:
        store = MemoryPeopleStore()
        issuers = [
            replace(issuer_at(anew.url), watch_people=True),
            replace(issuer_at(other.url), id="other", watch_people=True),
        ]
        door = Authenticator(store, store, store, OwnClock(), Pepper(b"p" * 32), issuers=issuers)
        for one in issuers:
            await bind(store, GroupBinding(issuer=one.url, group="staff", roles=frozenset({Role.VIEWER})))
            await door.oidc.arrive(staff_of(one.url))
        for one in issuers:
            [said] = (await door.oidc_watch.look(one.url)).troubles
            assert said.startswith(f"nobody knows who has left {one.url}: ")
        assert set(door.oidc_watch.issuers) == {anew.url, other.url}
        await door.close()


async def next_token(desk: Desk) -> str:
    """Look once more, and return with which token the provider was asked about the first person."""
    tokens: list[str] = []

    def answer(fields: Mapping[str, str]) -> Answer:
        tokens.append(fields["refresh_token"])
        return 200, {"access_token": "x", "token_type": "Bearer"}

    desk.documents.answers["/token"] = answer
    await desk.look()
    return tokens[0]
