"""Event streams (SSE): events as they come, and a comment while it is quiet."""

import asyncio
from collections.abc import AsyncIterator

from headrace.client import HeadraceError
from headrace.client import models as m

Event = m.TransferEvent | m.Change
_HEARTBEAT = b": still here\n\n"


async def event_stream(
    events: AsyncIterator[Event], heartbeat_s: float, first: Event | None = None
) -> AsyncIterator[bytes]:
    """Write events, `first` before the others; kept ones carry their sequence as the id that a client resumes after.

    A refusal on the way (the watcher's rights have ended) ends the stream: who asks again is told why.
    """
    pending: asyncio.Future[Event] | None = None
    try:
        if first is not None:
            yield _written(first)
        while True:
            pending = pending or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({pending}, timeout=heartbeat_s)
            if not done:
                yield _HEARTBEAT
                continue
            finished, pending = pending, None
            try:
                yield _written(finished.result())
            except (StopAsyncIteration, HeadraceError):
                return
    finally:
        if pending is not None:
            pending.cancel()


def _written(event: Event) -> bytes:
    number = "" if event.kind == m.TransferEventKind.PROGRESS else f"id: {event.sequence}\n"
    return f"event: {event.kind}\n{number}data: {event.model_dump_json()}\n\n".encode()
