"""What stands before every HTTP request: host, origin, limits of size and time, security headers. Plain ASGI."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.api.errors import Code
from headrace.api.http.answers import UNSAFE_METHODS, problem_response
from headrace.api.http.heads import with_own_cookies, wrong_head
from headrace.api.problems import make, problem_of

MAX_UNKNOWN_BODY: Final = 32_768
"""Bytes of a body that are read before it is known who sends it, or that come without their number: parsing costs time
of the one thread that answers everybody."""

_PORT = re.compile(r":\d+$")

NO_PERMISSIONS = ", ".join(f"{name}=()" for name in ("camera", "geolocation", "microphone", "payment", "usb"))
"""No page of this service asks for any of these."""

_CLOSE = {"connection": "close"}
"""Said with a refusal of a body that has not come in whole: what follows of it is not read."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "permissions-policy": NO_PERMISSIONS,
}
"""Set on every answer that does not set them itself."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Under which hosts (`host:port`) and origins (`scheme://host:port`) this service is reached.

    `tls` is whether browsers reach it by https, be it at this process or at a proxy before it; `proxied` is whether
    requests come through such a proxy, so that their addresses are the proxy's.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    tls: bool
    proxied: bool = False

    @classmethod
    def of(cls, public_url: str, *own_urls: str, proxied: bool = False) -> "Origins":
        """Make them from how browsers reach the service, and how it is reached directly (`scheme://host[:port]`)."""
        urls = [url.lower() for url in (public_url, *own_urls)]
        hosts = frozenset(form.partition("://")[2] for url in urls for form in _forms(url))
        origins = frozenset(form for url in urls for form in _forms(url))
        return cls(hosts, origins, tls=urls[0].startswith("https:"), proxied=proxied)


def _forms(url: str) -> tuple[str, str]:
    """Return an origin as given, and without or with its default port: clients write either."""
    port = ":443" if url.startswith("https:") else ":80"
    if _PORT.search(url):
        return url, url.removesuffix(port)
    return url, url + port


class Guard:
    """Refuses wrong hosts and origins, large heads, large and slow bodies; limits time until the answer begins.

    Adds headers to every answer, and passes on no cookie of another service.
    """

    def __init__(  # noqa: PLR0913 - its limits
        self,
        app: ASGIApp,
        *,
        origins: Origins,
        check_sender: Callable[[Scope], Awaitable[None]] | None,
        max_body_bytes: int,
        receive_s: float,
        timeout_s: float,
    ) -> None:
        """Guard `app`: a body comes in within `receive_s`, and the answer begins within `timeout_s`.

        `check_sender` raises unless a request comes from somebody who is signed in: only they send what is not small.
        `None` where requests are passed on and nothing is parsed: who answers them checks that.
        """
        self._app = app
        self._origins = origins
        self._check_sender = check_sender
        self._max_body_bytes = max_body_bytes
        self._receive_s = receive_s
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = wrong_head(scope)
        if refusal is not None:
            await problem_response(refusal, _CLOSE)(scope, receive, self._with_headers(send))
            return
        scope = with_own_cookies(scope)
        headers = Headers(scope=scope)
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if host not in self._origins.hosts:
            detail = "this service is not reached under that host name; its operator sets HEADRACE_PUBLIC_URL"
            await problem_response(make(Code.WRONG_HOST, detail))(scope, receive, self._with_headers(send))
        elif origin is not None and scope["method"] in UNSAFE_METHODS and origin.lower() not in self._origins.origins:
            detail = "pages of another site may not act here"
            await problem_response(make(Code.WRONG_ORIGIN, detail))(scope, receive, self._with_headers(send))
        else:
            await self._limited(scope, receive, self._with_headers(send))

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        limit = asyncio.timeout(self._timeout_s)

        async def once_begun(message: Message) -> None:
            nonlocal begun
            if not begun:
                begun = True
                limit.reschedule(None)  # streams may go on for as long as they like
            await send(message)

        try:
            async with limit:
                try:
                    most = await self._most_of(scope)
                except Exception as error:  # noqa: BLE001 - whatever it is, `problem_of` knows what is said of it
                    await _read_on(self._counted(receive, self._max_body_bytes))
                    await problem_response(problem_of(error, changes=scope["method"] in UNSAFE_METHODS))(
                        scope, receive, send
                    )
                    return
                await self._app(scope, self._counted(receive, most), once_begun)
        except TimeoutError:
            if begun:
                raise
            detail = f"the service did not answer within {self._timeout_s:.0f} s; try again"
            await problem_response(make(Code.REQUEST_TIMEOUT, detail))(scope, receive, send)

    async def _most_of(self, scope: Scope) -> int:
        """Return how many bytes of a body are read; raises what a stranger with a large one is refused with."""
        headers = Headers(scope=scope)
        said = headers.get("content-length", "")
        if "transfer-encoding" in headers or not said.isdecimal() or int(said) <= MAX_UNKNOWN_BODY:
            return min(MAX_UNKNOWN_BODY, self._max_body_bytes)
        if int(said) <= self._max_body_bytes and self._check_sender is not None:
            await self._check_sender(scope)
        return self._max_body_bytes

    def _counted(self, receive: Receive, most: int) -> Receive:
        """Stop reading a body that grows too large, whatever its length was said to be, or that comes too slowly."""
        seen = 0
        limit: float | None = asyncio.get_running_loop().time() + self._receive_s

        async def counted() -> Message:
            nonlocal seen, limit
            try:
                async with asyncio.timeout_at(limit):
                    message = await receive()
            except TimeoutError as error:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, headers=_CLOSE) from error
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, headers=_CLOSE)
            if not message.get("more_body", False):
                limit = None  # what comes next is the end of the connection, whenever that is
            return message

        return counted

    def _with_headers(self, send: Send) -> Send:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if self._origins.tls:
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        return with_headers


async def _read_on(receive: Receive) -> None:
    """Read a body and forget it, so that whoever sends it reads the answer."""
    while (await receive()).get("more_body", False):
        pass
