"""Answers that stream, as their source sees them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from headrace.api.http.streams import Event, chunks, event_stream
from headrace.client import models as m

NOW = m.Change(sequence=7, at=datetime(2026, 11, 26, tzinfo=UTC), kind=m.ChangeKind.NOW)
HEARTBEATS_S = {"it sends what happens": 60.0, "it is quiet": 0.0}


class Source:
    """Yields one event, or another again and again, and knows whether it was closed."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.closed = False

    async def events(self) -> AsyncGenerator[Event]:
        try:
            while True:
                if self.quiet:
                    await asyncio.Event().wait()
                yield NOW
        finally:
            await asyncio.sleep(0)
            self.closed = True

    async def parts(self) -> AsyncGenerator[bytes]:
        async with aclosing(self.events()) as events:
            async for event in events:
                yield event.kind.encode()


async def read_and_leave(answer: Any, *, version: str) -> None:  # noqa: ANN401 - an answer
    """Read two messages and go away, as a server that knows this version of ASGI says it."""
    gone, seen = asyncio.Event(), 0

    async def receive() -> dict[str, str]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            gone.set()
            if version == "2.4":
                raise OSError
            await asyncio.Event().wait()

    with suppress(Exception):
        await answer({"type": "http", "asgi": {"spec_version": version}, "method": "GET"}, receive, send)


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["2.3", "2.4"])
@pytest.mark.parametrize("state", sorted(HEARTBEATS_S))
async def test_an_answer_has_let_go_of_its_source_when_its_reader_went_away(state: str, version: str) -> None:
    source = Source(quiet=state == "it is quiet")
    await read_and_leave(event_stream(source.events(), HEARTBEATS_S[state], NOW), version=version)
    assert source.closed


@pytest.mark.anyio
async def test_a_list_has_let_go_of_its_source_when_its_reader_went_away() -> None:
    source = Source(quiet=False)
    listed = source.parts()
    await read_and_leave(chunks(listed, await anext(listed), "application/x-ndjson"), version="2.3")
    assert source.closed
