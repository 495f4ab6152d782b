"""Whose turn it is: nobody holds up others by coming often, and strangers hold up nobody who is known."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from headrace.auth import Authenticator, AuthError, MemoryPeopleStore, Pepper, TooManyAttempts
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

    async def come(self, whose: str, *, known: bool = False) -> None:
        try:
            async with self.turns.turn(whose, known=known):
                self.begun.append(whose)
                await self.may_end.wait()
        except TooManyAttempts:
            self.refused.append(whose)


@asynccontextmanager
async def working(at_once: int, strangers: int, *come: tuple[str, bool]) -> AsyncIterator[Work]:
    work = Work(Turns(at_once, strangers))
    async with asyncio.TaskGroup() as tasks:
        for whose, known in come:
            tasks.create_task(work.come(whose, known=known))
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
    await Places(store, pepper, lambda: now).keep("ad:corp.example.org ada@corp.example.org", "10.0.0.1")

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
