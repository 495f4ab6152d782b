"""Decides off the event loop: one decision on a folder evaluates the rules once for each place in it that they name."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 2


class Deciding:
    """Few threads in which decisions are made; further ones wait in line, and the event loop goes on."""

    def __init__(self, name: str) -> None:
        """Name the threads; they begin with the first decision."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=name)

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Do what decides, in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))
