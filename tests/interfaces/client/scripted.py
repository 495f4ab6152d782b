"""A service that misbehaves on purpose: real sockets, one scripted answer a request."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(value: object, status: str = "200 OK", kind: str = "application/json", more: tuple[str, ...] = ()) -> Answer:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()

    async def write(writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
        writer.write("\r\n".join((*head, "Connection: close", "", "")).encode() + body)

    return write


def problem(code: str, status: int) -> Answer:
    content = {"title": code, "status": status, "code": code, "detail": f"said by the service: {code}"}
    return answer(content, f"{status} Refused", "application/problem+json")


def stream(*events: tuple[int, object]) -> Answer:
    """Send these events as an event stream, then close the connection without a word."""
    return answer(_lines(events), kind="text/event-stream")


def stream_that_stays(*events: tuple[int, object]) -> Answer:
    """Send these events and keep the stream open."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + _lines(events))
        await writer.drain()
        await say_nothing(writer)

    return write


def _lines(events: tuple[tuple[int, object], ...]) -> bytes:
    return "".join(f"id: {number}\nevent: any\ndata: {json.dumps(value)}\n\n" for number, value in events).encode()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close the connection without an answer."""
    writer.transport.abort()


async def say_nothing(writer: asyncio.StreamWriter) -> None:
    """Keep the connection and never answer."""
    await writer.wait_closed()


@dataclass
class Script:
    """Answers to give, in order; a request beyond them gets 500."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    _serving: list[asyncio.Task[None] | None] = field(default_factory=list)
    """The loop itself forgets a connection whose client has left, and with it who still waits there."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.current_task())
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.seen.append(Seen(method, path, headers, body))
            give = self.answers.pop(0) if self.answers else problem("script_over", 500)
            await give(writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@contextmanager
def scripted_service() -> Iterator[Script]:
    """A scripted service on a port of its own, in a thread of its own."""
    loop = asyncio.new_event_loop()
    made = Script("")
    server = loop.run_until_complete(asyncio.start_server(made.serve, "127.0.0.1", 0))
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def stop() -> None:
        server.close()
        current = asyncio.current_task()
        # A connection that was just taken gets its task later than now.
        await asyncio.sleep(0)
        while others := asyncio.all_tasks() - {current}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    try:
        yield made
    finally:
        # Also when the test fails: the thread would keep the whole process.
        asyncio.run_coroutine_threadsafe(stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
