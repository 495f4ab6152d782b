"""Following a transfer over HTTP: an event stream that reconnects, or polling where streams do not get through."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Final, Protocol, TypeVar

import httpx2
from pydantic import ValidationError

from headrace.client.models import END_STATES, Page, Transfer, TransferEvent, TransferEventKind
from headrace.client.port import HeadraceError
from headrace.client.wire import Code, Wire, segment

RECONNECT_DELAYS_S: Final = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Pauses between reconnects while nothing arrives (about 30 s: a service restart); then the error is raised."""
STREAMS_WITHOUT_EVENTS: Final = 2
"""So many streams in a row that bring nothing while plain calls work, and polling takes over."""
POLL_S: Final = 2.0

_NO_LEADER: Final = "no_leader"
"""Said while none of the service's processes leads."""
_ON_THE_WAY: Final = frozenset({Code.SERVICE_UNREACHABLE, Code.SERVICE_TIMEOUT, Code.UNEXPECTED_ANSWER, _NO_LEADER})

T = TypeVar("T")


class Source(Protocol):
    """The calls that following needs."""

    async def transfer(self, transfer: str, *, wait_s: float = 0) -> Transfer:
        """As in the port."""
        ...

    async def transfer_events(
        self, transfer: str, *, after: str | None = None, limit: int = 200
    ) -> Page[TransferEvent]:
        """As in the port."""
        ...


async def follow(wire: Wire, source: Source, transfer: str) -> AsyncGenerator[TransferEvent]:
    """Yield events until the transfer ends; the last one carries the transfer in its end state."""
    following = _Following(wire, source, transfer)
    while not following.ended:
        events = following.poll() if following.empty_streams >= STREAMS_WITHOUT_EVENTS else following.stream()
        async with aclosing(events):
            async for event in events:
                yield event


class _Following:
    """Where one follower stands: the last kept event seen, and how its streams fared."""

    def __init__(self, wire: Wire, source: Source, transfer: str) -> None:
        self._wire = wire
        self._source = source
        self._transfer = transfer
        self._after = 0
        self._failures = 0
        self.empty_streams = 0
        self.ended = False

    async def stream(self) -> AsyncGenerator[TransferEvent]:
        """Yield what one event stream brings; at its end, find out whether the transfer ended, too."""
        brought_events = False
        try:
            async with self._wire.events(
                f"transfers/{segment(self._transfer)}/watch", last_event_id=self._after
            ) as source:
                async for received in source:
                    event = TransferEvent.model_validate_json(received.data, extra="ignore")
                    brought_events = True
                    yield self._seen(event)
                    if self.ended:
                        return
        except HeadraceError as error:
            if error.problem.code not in _ON_THE_WAY:
                raise
        except (httpx2.SSEError, ValidationError):
            pass  # a proxy's page, or half an event: asking plainly below tells
        await asyncio.sleep(RECONNECT_DELAYS_S[0])
        self.empty_streams = 0 if brought_events else self.empty_streams + 1
        async with aclosing(self._catch_up(wait_s=0)) as missed:
            async for event in missed:
                yield event

    async def poll(self) -> AsyncGenerator[TransferEvent]:
        """Yield what happened since the last event, and the progress now, about every `POLL_S` seconds."""
        async with aclosing(self._catch_up(wait_s=POLL_S)) as events:
            async for event in events:
                yield event

    async def _catch_up(self, *, wait_s: float) -> AsyncGenerator[TransferEvent]:
        current = await self._patiently(lambda: self._source.transfer(self._transfer, wait_s=wait_s))
        ended = current.state in END_STATES
        while missed := await self._patiently(
            lambda: self._source.transfer_events(self._transfer, after=str(self._after), limit=200)
        ):
            for event in missed:
                yield self._seen(event)
        if self.ended or (not ended and not wait_s):
            return
        at = current.ended or current.progress.at or current.started or current.created
        kind = TransferEventKind(current.state) if ended else TransferEventKind.PROGRESS
        yield self._seen(
            TransferEvent(sequence=self._after, at=at, kind=kind, message=current.summary, transfer=current)
        )

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a plain call, waiting for the service to come back as long as `RECONNECT_DELAYS_S` allows."""
        while True:
            try:
                answer = await call()
            except HeadraceError as error:
                if error.problem.code not in _ON_THE_WAY or self._failures >= len(RECONNECT_DELAYS_S):
                    raise
                await asyncio.sleep(RECONNECT_DELAYS_S[self._failures])
                self._failures += 1
            else:
                self._failures = 0
                return answer

    def _seen(self, event: TransferEvent) -> TransferEvent:
        if event.kind != TransferEventKind.PROGRESS:
            self._after = max(self._after, event.sequence)
        self.ended = event.transfer is not None and event.transfer.state in END_STATES
        return event
