"""Who is calling through which door."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from headrace.api.permissions import require
from headrace.auth import Principal


class Door(StrEnum):
    """How a call came in; observed by the service, never claimed by the caller."""

    API = "api"
    """An API token."""
    CLI = "cli"
    """A person's session without a browser."""
    CONSOLE = "console"
    """A person's session in a browser (cookie)."""
    MCP = "mcp"
    """An assistant: the MCP server inside this service, or any token that names one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A verified principal at one door."""

    principal: Principal
    door: Door
    on_host: bool = False
    """Whether the call came from the host that the service runs on: only there does a bare path mean `local`."""
    again: Callable[[], Awaitable[Principal]] | None = None
    """Verifies the secret that came with the call once more; raises when it counts no longer."""
    address: str = ""
    """From which network address the call came, where that is known."""

    async def renewed(self, method: str) -> Self:
        """Return the caller with the rights of now, for calls that take long; raises when `method` is not theirs."""
        if self.again is None:
            return self
        principal = await self.again()
        require(principal, method)
        return replace(self, principal=principal)


_current: ContextVar[Caller | None] = ContextVar("current caller", default=None)


@contextmanager
def acting(caller: Caller) -> Iterator[None]:
    """Let `current_caller` answer `caller` inside the block."""
    token = _current.set(caller)
    try:
        yield
    finally:
        _current.reset(token)


_address: ContextVar[str] = ContextVar("current address", default="")


@contextmanager
def coming_from(address: str) -> Iterator[None]:
    """Let `current_address` answer `address` inside the block."""
    token = _address.set(address)
    try:
        yield
    finally:
        _address.reset(token)


def current_address() -> str:
    """From which network address somebody is signing in; empty outside of signing in."""
    return _address.get()


def current_caller() -> Caller | None:
    """Who the running call acts for; for the audit events of the people store, whose port knows no callers."""
    return _current.get()
