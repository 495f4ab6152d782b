"""Whose turn it is: nobody holds up others by coming often, and strangers hold up nobody who is known."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from headrace.auth import (
    Authenticator,
    AuthError,
    MemoryPeopleStore,
    Pepper,
    PersonRecord,
    Principal,
    Role,
    TooManyAttempts,
)
from headrace.auth.directory import Account, DirectoryConfig, DirectoryRefused, LookedUp, Refusal
from headrace.auth.places import Places
from headrace.auth.turns import OF_ALL, OF_ONE, Turns


class Work:
    """Comes for turns, and says who has had one, in their order."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.begun: list[str] = []
        self.refused: list[str] = []
        self.may_end = asyncio.Event()

    async def come(self, whose: str, network: str | None = None, *, known: bool = False) -> None:
        turn = self.turns.of_person(whose, network) if known else self.turns.of_strangers(whose)
        try:
            async with turn:
                self.begun.append(whose)
                await self.may_end.wait()
        except TooManyAttempts:
            self.refused.append(whose)


@asynccontextmanager
async def working(at_once: int, strangers: int, *come: tuple[str, bool | str]) -> AsyncIterator[Work]:
    """Let strangers (`False`) come, and people by their session (`True`) or in a network."""
    work = Work(Turns(at_once, strangers))
    async with asyncio.TaskGroup() as tasks:
        for whose, known in come:
            network = known if isinstance(known, str) else None
            tasks.create_task(work.come(whose, network, known=known is not False))
        await _settle()
        yield work
        work.may_end.set()


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.anyio
async def test_a_known_person_waits_for_no_stranger() -> None:
    flood = [("stranger", False)] * 200
    async with working(4, 2, *flood, ("other", False), ("ada", True), ("bea", True)) as work:
        assert sorted(work.begun) == ["ada", "bea", "other", "stranger"]
        assert work.refused == ["stranger"] * (200 - 1 - OF_ONE), "past the limit at once"


@pytest.mark.anyio
async def test_strangers_of_one_network_come_behind_those_of_another_that_waits() -> None:
    async with working(1, 1, *[("flood", False)] * 10, ("other", False), ("third", False)) as work:
        assert work.begun == ["flood"]
    assert work.begun[:4] == ["flood", "other", "third", "flood"] or work.begun[:4] == [
        "flood",
        "flood",
        "other",
        "third",
    ]
    assert len(work.begun) == 12


@pytest.mark.anyio
async def test_one_person_has_one_turn_at_a_time() -> None:
    async with working(4, 2, *[("ada", True)] * 5, ("bea", True)) as work:
        assert sorted(work.begun) == ["ada", "bea"]
    assert work.begun.count("ada") == 5


@pytest.mark.anyio
async def test_when_all_places_are_taken_the_network_with_most_of_them_gives_way() -> None:
    networks = OF_ALL // OF_ONE
    flood = [(f"flood{number}", False) for number in range(networks) for _ in range(OF_ONE)]
    async with working(2, 1, ("first", False), *flood, ("newcomer", False)) as work:
        assert work.begun == ["first"]
        assert len(work.refused) == 1
        assert work.refused[0].startswith("flood")
    assert "newcomer" in work.begun


@pytest.mark.anyio
async def test_one_person_has_a_small_share_of_the_places_however_many_networks_are_theirs() -> None:
    flood = [("eve", f"2001:db8:0:{number:x}::/64") for number in range(2 * OF_ALL)]
    others = [(f"person{number}", True) for number in range(OF_ALL - 8)]
    async with working(4, 2, *flood, *others, ("bob", "10.0.0.1"), ("bob", True)) as work:
        assert work.begun[:1] == ["eve"]
        assert "bob" not in work.refused
        assert set(work.refused) == {"eve"}
    assert work.begun.count("eve") < 1 + OF_ONE, "she gave way to others"
    assert work.begun.count("bob") == 2


@pytest.mark.anyio
async def test_who_proves_who_they_are_waits_for_no_second_try_of_whoever_is_everywhere() -> None:
    flood = [("eve", f"10.0.0.{number}") for number in range(OF_ONE)]
    async with working(1, 1, ("first", True), *flood, ("bob", True)) as work:
        assert work.begun == ["first"]
    assert work.begun[:3] == ["first", "eve", "bob"]


@pytest.mark.anyio
async def test_of_one_person_the_network_with_most_places_gives_way_to_their_session() -> None:
    flood = [("ada", "10.0.0.9")] * (OF_ONE + 1)
    async with working(4, 2, *flood) as work:
        session = Work(work.turns)
        session.may_end.set()
        proof = asyncio.create_task(session.come("ada", known=True))
        await _settle()
        assert (work.refused, session.refused) == (["ada"], [])
        work.may_end.set()
        await proof
    assert session.begun == ["ada"]


@pytest.mark.anyio
async def test_names_that_are_known_in_one_network_hold_up_nobody_elsewhere() -> None:
    flood = [(f"person{number}", "10.0.0.9") for number in range(OF_ALL + 1)]
    async with working(1, 1, *flood, ("ada", "10.0.0.1"), ("bea", True)) as work:
        assert len(work.refused) == 2
        assert all(one.startswith("person") for one in work.refused)
    assert {"ada", "bea"} <= set(work.begun)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "flood",
    [
        [f"2001:db8:1:{number:x}::/64" for number in range(OF_ALL + 2)],
        [f"198.51.100.{number}" for number in range(OF_ALL + 2)],
        [f"127.{number}.0.1" for number in range(OF_ALL + 2)],
    ],
    ids=["a /48 of IPv6", "a /24 of IPv4", "the addresses of this host"],
)
async def test_a_site_of_many_networks_gives_way_to_another_and_takes_turns_with_it(flood: list[str]) -> None:
    strangers = [(one, False) for one in flood]
    async with working(1, 1, *strangers, ("192.0.2.1", False), ("2001:db8:2:1::/64", False)) as work:
        assert len(work.begun) == 1
        assert len(work.refused) == 1 + 2, "one too many, and one for each who came from elsewhere"
        assert set(work.refused) <= set(flood)
    assert set(work.begun[1:4]) >= {"192.0.2.1", "2001:db8:2:1::/64"}


@pytest.mark.anyio
async def test_whoever_goes_away_right_before_their_turn_or_their_refusal_takes_nobody_with_them() -> None:
    work = Work(Turns(1, 1))
    holds, waits, last = (asyncio.create_task(work.come(whose)) for whose in ("holds", "waits", "last"))
    await _settle()
    work.may_end.set()
    waits.cancel()
    await asyncio.gather(holds, last)
    assert work.begun == ["holds", "last"]
    with pytest.raises(asyncio.CancelledError):
        await waits


@pytest.mark.anyio
async def test_who_goes_away_gives_the_turn_or_the_place_to_others() -> None:
    work = Work(Turns(1, 1))
    holds, waits = (asyncio.create_task(work.come(whose)) for whose in ("holds", "waits"))
    await _settle()
    waits.cancel()
    last = asyncio.create_task(work.come("last"))
    await _settle()
    assert work.begun == ["holds"]
    holds.cancel()
    await _settle()
    assert work.begun == ["holds", "last"]
    last.cancel()
    await asyncio.gather(holds, waits, last, return_exceptions=True)


class SlowDirectory:
    """A domain that answers when it is told to, and says how many it is asked about at once."""

    config = DirectoryConfig(
        domain="corp.example.org", netbios="CORP", suffixes=frozenset(), servers=(), ca="", account="", secret="",
        base="", timeout_s=5, connections=8, waiting=200, attempts=9, attempts_window_s=600,
    )  # fmt: skip

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = asyncio.Event()

    async def find(self, name: str) -> Account:
        self.asked.append(name)
        await self.answers.wait()
        raise DirectoryRefused(Refusal.UNKNOWN)

    async def check(self, account: Account, password: str) -> None:
        raise AssertionError((account, password))

    async def look_up(self, subjects: Collection[str]) -> LookedUp:
        self.asked += subjects
        await self.answers.wait()
        return LookedUp({}, dict.fromkeys(subjects, "slow"))

    async def now(self) -> datetime:
        return datetime(2026, 11, 25, tzinfo=UTC)

    def close(self) -> None:
        pass


@pytest.mark.anyio
async def test_strangers_leave_connections_to_a_directory_for_those_who_are_known() -> None:
    directory, store, pepper = SlowDirectory(), MemoryPeopleStore(), Pepper(b"p" * 32)
    now = datetime(2026, 11, 25, tzinfo=UTC)
    door = Authenticator(store, store, store, lambda: now, pepper, directories=[directory])
    await Places(store, pepper, lambda: now).keep("ad:corp.example.org ada@corp.example.org", "10.0.0.1", "pn_ada")

    async def sign_in(name: str, address: str) -> None:
        with pytest.raises(AuthError):
            await door.sign_in(f"{name}@corp.example.org", "a password", address)

    async with asyncio.TaskGroup() as tasks:
        for number in range(40):
            tasks.create_task(sign_in(f"nobody{number}", f"192.0.2.{number}"))
        await _settle()
        assert len(directory.asked) == directory.config.connections // 2
        tasks.create_task(sign_in("ada", "10.0.0.1"))
        await _settle()
        assert directory.asked[-1] == "ada@corp.example.org"
        directory.answers.set()
    assert len(directory.asked) == 41


@pytest.mark.anyio
async def test_one_account_of_a_directory_asks_one_question_at_a_time_from_wherever() -> None:
    directory, store, pepper = SlowDirectory(), MemoryPeopleStore(), Pepper(b"p" * 32)
    now = datetime(2026, 11, 25, tzinfo=UTC)
    door = Authenticator(store, store, store, lambda: now, pepper, directories=[directory])
    places = Places(store, pepper, lambda: now)
    for who, address in [("bea", "10.0.0.1"), *(("ada", f"192.0.2.{number}") for number in range(12))]:
        await places.keep(f"ad:corp.example.org {who}@corp.example.org", address, f"pn_{who}")

    async def sign_in(name: str, address: str) -> None:
        with pytest.raises(AuthError):
            await door.sign_in(f"{name}@corp.example.org", "a password", address)

    async with asyncio.TaskGroup() as tasks:
        for number in range(12):
            tasks.create_task(sign_in("ada", f"192.0.2.{number}"))
        tasks.create_task(sign_in("bea", "10.0.0.1"))
        await _settle()
        assert directory.asked == ["ada@corp.example.org", "bea@corp.example.org"]
        directory.answers.set()
    assert len(directory.asked) == 13


@pytest.mark.anyio
async def test_one_session_of_a_directory_asks_one_question_at_a_time() -> None:
    directory, store, pepper = SlowDirectory(), MemoryPeopleStore(), Pepper(b"p" * 32)
    now, issuer = datetime(2026, 11, 25, tzinfo=UTC), SlowDirectory.config.issuer
    door = Authenticator(store, store, store, lambda: now, pepper, directories=[directory])
    roles = frozenset({Role.VIEWER})
    await store.add_person(PersonRecord(id="pn_ada", name="ada", roles=roles, state="active", created=now))
    await store.link("pn_ada", issuer, "ada", now)
    ada = Principal(
        id="pn_ada", name="ada", kind="person", roles=roles, scopes=frozenset(), groups=frozenset(),
        method="directory", session=True, authenticated_at=now, issuer=issuer,
    )  # fmt: skip

    async def prove() -> None:
        with pytest.raises(AuthError):
            await door.prove(ada, "a password")

    async with asyncio.TaskGroup() as tasks:
        for _ in range(12):
            tasks.create_task(prove())
        await _settle()
        assert directory.asked == ["ada"]
        directory.answers.set()
    assert len(directory.asked) == 12
