"""Decides and reads off the event loop: a decision evaluates rules for each place in a folder, a text may be long."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 2


class Deciding:
    """Few threads in which decisions are made; further ones wait in line, and the event loop goes on.

    Of each person one decision at a time is made or stands in that line: who asks for many plans of folders that many
    rules name waits for them, and others wait for one of these at most in each thread.
    """

    def __init__(self, name: str) -> None:
        """Name the threads; they begin with the first decision."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=name)
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    async def run(self, person: str, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Do what decides on a request of this person, or reads one, in one of the threads."""
        turn = self._turns.setdefault(person, asyncio.Lock())
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))
