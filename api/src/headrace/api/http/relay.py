"""Passes requests on to the process that leads, for the other processes of a site; and lets them in there.

What a request says is passed on as it is, but for what holds for one connection only. Host and origin were checked
where it came in (`Guard`); the leader is asked under the name that the site has for everybody.
"""

import asyncio
import hmac
import json
import logging
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import httpx2
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.api.errors import Code
from headrace.api.http.answers import PROBLEM_TYPE, problem_response, refusal_of
from headrace.api.problems import make

_log = logging.getLogger(__name__)

PROBE: Final = "/peer"
"""Answered by a leader to those who know its secret, and to nobody else."""
TAKEOVER_S: Final = 20.0
"""How long a request waits for another process to lead."""
_SECRET: Final = b"headrace-peer"
_CLIENT: Final = b"headrace-client"
_OF_ONE_CONNECTION: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
_NOT_PASSED_ON: Final = _OF_ONE_CONNECTION | {
    b"host", b"origin", b"content-length", b"x-forwarded-for", b"x-forwarded-proto", _SECRET, _CLIENT,
}  # fmt: skip
_NOT_PASSED_BACK: Final = _OF_ONE_CONNECTION | {b"date", b"server"}
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Asked again when nobody knows whether they were answered."""
RawHeaders = list[tuple[bytes, bytes]]
_CONNECT_S: Final = 2.0
_PROBE_S: Final = 3.0
"""How long who asks whether the leader answers waits for it."""
_AGAIN_S: Final = 0.1
_NOT_ASKED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""The request has reached nobody."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The leader, as the others see it."""

    url: str
    trusted: ssl.SSLContext
    secret: str = field(repr=False)
    name: str = "a process"
    """For people."""
    pid: int | None = None
    """Of a process on this host."""

    @property
    def is_this(self) -> bool:
        """Whether it is this very process."""
        return self.pid == os.getpid()

    @property
    def has_ended(self) -> bool:
        """Whether it was a process on this host, and is there no more."""
        if self.pid is None:
            return False
        try:
            os.kill(self.pid, 0)  # sends nothing
        except ProcessLookupError:
            return True
        except OSError:
            return False  # another account's
        return False


class Relay:
    """The application of a process that does not lead."""

    def __init__(
        self,
        leader: Callable[[], Peer | None],
        public_url: str,
        origins: Iterable[str],
        answer_s: float,
        why_nobody: Callable[[], str] = str,
    ) -> None:
        """Ask whomever `leader` names, under the site's name, for `origins` that are the site's own.

        A leader that says nothing for `answer_s` more than it may is gone, whatever its host says. `why_nobody` says
        to everybody why nobody leads (", because ..."), as far as that is known here.
        """
        self._why_nobody = why_nobody
        self._leader = leader
        self._public_url = public_url
        self._origins = frozenset(origins)
        self._silence_s = answer_s + _CONNECT_S
        self._peer: Peer | None = None
        self._transport: httpx2.AsyncHTTPTransport | None = None
        self._looking: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back; who goes away ends it."""
        try:
            body = await _body(receive)
        except HTTPException as error:  # what the guard refuses
            await refusal_of(error)(scope, receive, send)
            return
        if body is None:
            return
        gone = asyncio.ensure_future(_gone(receive))
        passing = asyncio.ensure_future(self._pass_on(scope, body, receive, send))
        try:
            await asyncio.wait({gone, passing}, return_when=asyncio.FIRST_COMPLETED)
            if passing.done():
                passing.result()
        finally:
            gone.cancel()
            passing.cancel()
            await asyncio.gather(gone, passing, return_exceptions=True)

    async def reaches_leader(self) -> bool:
        """Whether the leader answers now."""
        return not await self.why_not_reached()

    async def why_not_reached(self) -> str:
        """Say why the leader does not answer; empty when it does. Takes a few seconds at most."""
        peer = self._leader()
        if peer is None:
            return "no process has led this site yet, or the data folder that names it can't be read"
        try:
            async with asyncio.timeout(_PROBE_S):
                answer = await self._ask("GET", PROBE.encode(), [], b"")
                await answer.aclose()
        except (httpx2.TransportError, TimeoutError) as error:
            if peer.is_this:
                return "no process of this site leads now: the one that led it last no longer leads"
            if peer.has_ended and not isinstance(error, TimeoutError):
                return f"{peer.name} led the site last, and has ended; another process leads as soon as one can"
            said = f"does not answer within {_PROBE_S:.0f} s" if isinstance(error, TimeoutError) else "can't be reached"
            return (
                f"{peer.name} led the site last, and {said} at {peer.url}; if it stands still, end it (`kill -9`), and "
                "another process takes over"
            )
        if answer.status_code == httpx2.codes.NO_CONTENT:
            return ""
        return f"{peer.name} led the site last, and what answers at {peer.url} is another program"

    async def close(self) -> None:
        """Close the connections to the leader, and look for none any more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await self._disconnect()

    async def _disconnect(self) -> None:
        transport, self._transport, self._peer = self._transport, None, None
        if transport is not None:
            await transport.aclose()

    async def _pass_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        limit = asyncio.get_running_loop().time() + TAKEOVER_S
        target, headers = _target(scope), self._headers(scope)
        while True:
            try:
                answer = await self._ask(scope["method"], target, headers, body)
                refusal = await _refusal(answer)
                if refusal is None or not _says_it_ends(refusal) or (peer := self._leader()) is None or peer.is_this:
                    break
                await answer.aclose()
                did_nothing = True  # it did nothing, and whoever leads next will
            except httpx2.TransportError as error:
                did_nothing = isinstance(error, _NOT_ASKED)
                if not did_nothing and scope["method"] not in _SAFE:
                    _log.warning("the leader went away while it worked on a request: %s", error)
                    await problem_response(make(Code.UNANSWERED, _UNANSWERED))(scope, receive, send)
                    return
            left_s = limit - asyncio.get_running_loop().time()
            if left_s <= 0:
                await problem_response(make(Code.NO_LEADER, self._nobody()))(scope, receive, send)
                return
            await (self._leader_answers(left_s) if did_nothing else asyncio.sleep(_AGAIN_S))
        try:
            kept = [(name, value) for name, value in answer.headers.raw if name.lower() not in _NOT_PASSED_BACK]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
            async for part in answer.aiter_raw() if refusal is None else _one(refusal):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except httpx2.TransportError:
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                raise  # so that nobody takes a part for the whole
            # Whoever watches asks again, and hears what they have missed.
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()

    async def _ask(self, method: str, target: bytes, headers: RawHeaders, body: bytes) -> httpx2.Response:
        """Ask the leader; raises `TransportError`."""
        peer = self._leader()
        if peer is None:
            message = "nobody is known to lead"
            raise httpx2.ConnectError(message)
        transport, former = self._transport, None
        if transport is None or peer != self._peer:
            # Each request has a connection of its own: none is used in the instant in which the leader closes it.
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
            transport, former = httpx2.AsyncHTTPTransport(peer.trusted, trust_env=False, limits=limits), transport
            self._transport, self._peer = transport, peer  # before anything is waited for: the next one uses it, too
        if former is not None:
            await former.aclose()
        request = httpx2.Request(
            method,
            httpx2.URL(peer.url, raw_path=target),
            headers=[*headers, (_SECRET, peer.secret.encode())],
            content=body,
            extensions={
                "timeout": {"connect": _CONNECT_S, "pool": _CONNECT_S, "read": self._silence_s, "write": _CONNECT_S}
            },
        )
        return await transport.handle_async_request(request)

    async def _leader_answers(self, limit_s: float) -> None:
        """Wait until a leader answers, at most so long. One asks for all who wait.

        Many that each asked would take the time that this process needs to lead.
        """
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="look for a leader")
        await asyncio.wait({self._looking}, timeout=limit_s)

    async def _look(self) -> None:
        limit = asyncio.get_running_loop().time() + TAKEOVER_S
        while True:
            await asyncio.sleep(_AGAIN_S)
            if await self.reaches_leader() or asyncio.get_running_loop().time() >= limit:
                return

    def _nobody(self) -> str:
        return f"no process of this site leads at the moment{self._why_nobody()}, and nothing was done; try again later"

    def _headers(self, scope: Scope) -> RawHeaders:
        headers = [(name, value) for name, value in scope["headers"] if name not in _NOT_PASSED_ON]
        headers.append((b"host", self._public_url.partition("://")[2].encode()))
        origin = Headers(scope=scope).get("origin")
        if origin is not None:
            headers.append((b"origin", (self._public_url if origin.lower() in self._origins else origin).encode()))
        if scope["client"]:
            headers.append((_CLIENT, str(scope["client"][0]).encode()))
        return headers


class PeerDoor:
    """Lets other processes of the site in, with what they pass on, and nobody else."""

    def __init__(self, app: ASGIApp, secret: str, scheme: str) -> None:
        """Give `app` the requests of those who know `secret`; people reach the site by `scheme`."""
        self._app = app
        self._secret = secret.encode()
        self._scheme = scheme

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        said = dict(scope["headers"])
        if not hmac.compare_digest(said.get(_SECRET, b""), self._secret):
            await problem_response(make(Code.FORBIDDEN, "only processes of this site ask here"))(scope, receive, send)
            return
        if scope["path"] == PROBE:
            await send({"type": "http.response.start", "status": httpx2.codes.NO_CONTENT, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        client = said.get(_CLIENT)
        headers = [(name, value) for name, value in scope["headers"] if name not in {_SECRET, _CLIENT}]
        passed = {
            "headers": headers,
            "scheme": self._scheme,
            "client": (client.decode("latin-1"), 0) if client else None,
        }
        await self._app({**scope, **passed}, receive, send)


class Switch:
    """An application that stands for another one: each request goes to the one that it stands for when it comes in."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand for `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        await self.app(scope, receive, send)


_UNANSWERED: Final = (
    "the process that worked on this request ended before it answered; see whether it was done before you try again"
)


def _target(scope: Scope) -> bytes:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path + b"?" + scope["query_string"] if scope["query_string"] else path


async def _body(receive: Receive) -> bytes | None:
    """Read a body, whose size the guard limits; nothing when the client goes away before its end."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _refusal(answer: httpx2.Response) -> bytes | None:
    """Read the whole body of an answer that refuses for the moment; nothing of any other."""
    if answer.status_code != httpx2.codes.SERVICE_UNAVAILABLE or answer.headers.get("content-type") != PROBLEM_TYPE:
        return None
    return b"".join([part async for part in answer.aiter_raw()])


def _says_it_ends(refusal: bytes) -> bool:
    try:
        return bool(json.loads(refusal)["code"] == Code.SHUTTING_DOWN)
    except (ValueError, KeyError, TypeError):
        return False


async def _one(part: bytes) -> AsyncIterator[bytes]:
    yield part


async def _gone(receive: Receive) -> None:
    """Wait until the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
