"""Answers that stream: what a port yields, as it comes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

from anyio import CancelScope
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from headrace.client import HeadraceError
from headrace.client import models as m

Event = m.TransferEvent | m.Change
_HEARTBEAT = b": still here\n\n"


class Streamed(StreamingResponse):
    """An answer that lets go of its source when it ends, also when its reader goes away in the middle.

    Otherwise that happens when garbage is collected, for the parts of the source in any order.
    """

    def __init__(self, source: AsyncGenerator[Any], body: AsyncGenerator[bytes], media_type: str) -> None:
        """Stream `body`, which reads `source`."""
        super().__init__(body, media_type=media_type, headers={"x-accel-buffering": "no"})
        self._kept = (source, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, then close body and source."""
        async with AsyncExitStack() as closed:
            for one in self._kept:
                closed.push_async_callback(_close, one)
            await super().__call__(scope, receive, send)


def event_stream(events: AsyncGenerator[Event], heartbeat_s: float, first: Event) -> Streamed:
    """Stream events (SSE), `first` before the others, and a comment while it is quiet.

    Kept events carry their sequence as the id that a client resumes after. A refusal on the way (the watcher's rights
    have ended) ends the stream: who asks again is told why.
    """
    return Streamed(events, _lines(events, heartbeat_s, first), "text/event-stream")


def chunks(source: AsyncGenerator[bytes], first: bytes, media_type: str) -> Streamed:
    """Stream what a source yields, `first` before the rest."""

    async def body() -> AsyncGenerator[bytes]:
        yield first
        async for chunk in source:
            yield chunk

    return Streamed(source, body(), media_type)


async def _lines(events: AsyncGenerator[Event], heartbeat_s: float, first: Event) -> AsyncGenerator[bytes]:
    pending: asyncio.Future[Event] | None = None
    try:
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
            with CancelScope(shield=True):
                await asyncio.wait({pending})


async def _close(stream: AsyncGenerator[Any]) -> None:
    """Close it although the answer was cancelled."""
    with CancelScope(shield=True):
        await stream.aclose()


def _written(event: Event) -> bytes:
    number = "" if event.kind == m.TransferEventKind.PROGRESS else f"id: {event.sequence}\n"
    return f"event: {event.kind}\n{number}data: {event.model_dump_json()}\n\n".encode()
