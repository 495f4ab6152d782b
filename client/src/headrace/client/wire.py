"""One HTTP exchange with the service: address, secret, timeouts, retries, limits, and errors as `HeadraceError`."""

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from typing import Final, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter, ValidationError

from headrace.client.models import Model, Problem
from headrace.client.port import HeadraceError

CONNECT_TIMEOUT_S: Final = 5.0
READ_TIMEOUT_S: Final = 30.0
"""How long an answer may stay silent; a call that waits (`wait_s`) adds its own wait."""
STREAM_SILENCE_S: Final = 30.0
"""How much longer an event stream may stay silent; the service sends a comment at least every 15 s."""
RETRY_DELAYS_S: Final = (0.2, 0.8)
"""Pauses before the second and third try of a call that changes nothing. Other calls are tried once."""
MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024

_GATEWAY_TROUBLE: Final = frozenset({502, 503, 504})
_HOW_TO_REACH: Final = "Start one with `headrace serve`, or name another with --service URL or HEADRACE_SERVICE."

T = TypeVar("T")
Query = Mapping[str, str | int | float | bool | None]


class Code(StrEnum):
    """Codes of errors that the client makes, because no service answered. The service's own are in docs/errors.md."""

    SERVICE_UNREACHABLE = "service_unreachable"
    SERVICE_TIMEOUT = "service_timeout"
    SERVICE_UNTRUSTED = "service_untrusted"
    SERVICE_INSECURE = "service_insecure"
    UNEXPECTED_ANSWER = "unexpected_answer"
    BAD_NAME = "bad_name"
    SESSION_FILE = "session_file"


def failure(code: Code, detail: str) -> HeadraceError:
    """Make the error of a call that the service never answered; status 503 stands for 'nobody there'."""
    return HeadraceError(Problem(title=code.value.replace("_", " "), status=503, code=code.value, detail=detail))


@dataclass(frozen=True)
class _Exchange:
    """One request as it will be sent."""

    method: str
    path: str
    body: Model | None = None
    query: Query = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0

    @property
    def silence_s(self) -> float:
        """How long the answer may stay silent."""
        return READ_TIMEOUT_S + self.wait_s


class _Trouble(Exception):  # noqa: N818 - never leaves this module; its `error` does
    """Trouble on the way that may be gone at the next try."""

    def __init__(self, error: HeadraceError) -> None:
        super().__init__(str(error))
        self.error = error


class Wire:
    """A connection pool to one service, with one secret (or none)."""

    def __init__(
        self, url: str, secret: str | None = None, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        """Prepare for the service at `url`; nothing is sent yet.

        Raises HeadraceError `service_insecure` when `url` would carry a secret in the clear to another host, and
        `service_untrusted` when what SSL_CERT_FILE names holds no certificate.
        """
        self.url = url.rstrip("/")
        parsed = _parse(self.url)
        local = is_loopback(parsed.host)
        self._in_the_clear = parsed.scheme == "http" and not local
        if secret:
            self.require_privacy()
        self._client = httpx2.AsyncClient(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {secret}"} if secret else {},
            limits=httpx2.Limits(max_connections=20, max_keepalive_connections=5),
            follow_redirects=False,
            # Made here, as what does not trust the environment ignores its certificates, too.
            verify=True if transport or (local and parsed.scheme == "http") else _trusted(self.url),
            trust_env=not local,  # a proxy for the world is no way to this host
            transport=transport,
        )

    def require_privacy(self) -> None:
        """Refuse, with HeadraceError `service_insecure`, to send a secret in the clear to another host."""
        if self._in_the_clear:
            raise failure(
                Code.SERVICE_INSECURE,
                f"`{self.url}` is not encrypted and not on this host, so no password or token is sent there. "
                "Use an https:// address.",
            )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def get(self, answer: type[T], path: str, *, query: Query | None = None, wait_s: float = 0) -> T:
        """Ask for something; tried again after trouble on the way, since it changes nothing."""
        exchange = _Exchange("GET", path, query=query or {}, wait_s=wait_s)
        for delay_s in RETRY_DELAYS_S:
            try:
                return await self._call(answer, exchange)
            except _Trouble:
                await asyncio.sleep(delay_s)
        return await self._call_once(answer, exchange)

    async def post(self, answer: type[T], path: str, body: Model | None = None) -> T:
        """Ask for something to be done, once."""
        return await self._call_once(answer, _Exchange("POST", path, body=body))

    async def post_for_nothing(self, path: str, body: Model | None = None) -> None:
        """Ask for something to be done, once; the answer has no content."""
        async with self._untroubled(_Exchange("POST", path, body=body)):
            pass

    async def patch(self, answer: type[T], path: str, body: Model) -> T:
        """Ask for something to be changed, once."""
        return await self._call_once(answer, _Exchange("PATCH", path, body=body))

    async def delete(self, path: str) -> None:
        """Ask for something to be removed, once; the answer has no content."""
        async with self._untroubled(_Exchange("DELETE", path)):
            pass

    @asynccontextmanager
    async def events(
        self, path: str, *, last_event_id: int = 0, query: Query | None = None
    ) -> AsyncIterator[httpx2.EventSource]:
        """Open an event stream (one try); raises HeadraceError when it cannot be opened or breaks."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if last_event_id:
            headers["Last-Event-ID"] = str(last_event_id)
        async with self._untroubled(
            _Exchange("GET", path, query=query or {}, headers=headers, wait_s=STREAM_SILENCE_S)
        ) as response:
            yield httpx2.EventSource(response)

    async def chunks(self, path: str) -> AsyncGenerator[bytes]:
        """Yield the content of `path` in chunks, however long it is (one try)."""
        async with self._untroubled(_Exchange("GET", path)) as response:
            async for chunk in response.aiter_bytes():
                yield chunk

    async def _call_once(self, answer: type[T], exchange: _Exchange) -> T:
        try:
            return await self._call(answer, exchange)
        except _Trouble as trouble:
            raise trouble.error from trouble.__cause__

    async def _call(self, answer: type[T], exchange: _Exchange) -> T:
        async with self._exchange(exchange) as response:
            content = await self._content(response)
        try:
            return TypeAdapter(answer).validate_json(content, extra="ignore")
        except ValidationError as error:
            raise self._unknown_form(error) from error

    @asynccontextmanager
    async def _untroubled(self, exchange: _Exchange) -> AsyncIterator[httpx2.Response]:
        try:
            async with self._exchange(exchange) as response:
                yield response
        except _Trouble as trouble:
            raise trouble.error from trouble.__cause__

    @asynccontextmanager
    async def _exchange(self, exchange: _Exchange) -> AsyncIterator[httpx2.Response]:
        """Send one request; every way it can break leaves as `_Trouble` (a retry may help) or `HeadraceError`."""
        content, headers = None, dict(exchange.headers)
        if exchange.body is not None:
            content = exchange.body.model_dump_json(exclude_unset=True)
            headers["Content-Type"] = "application/json"
        try:
            async with self._client.stream(
                exchange.method,
                exchange.path,
                content=content,
                headers=headers,
                params={name: _spelled(value) for name, value in exchange.query.items() if value is not None},
                timeout=httpx2.Timeout(exchange.silence_s, connect=CONNECT_TIMEOUT_S),
            ) as response:
                if not response.is_success:
                    raise self._refused(response, await self._content(response))
                yield response
        except httpx2.SSEError:
            raise
        except httpx2.ConnectError as error:
            raise self._not_connected(error) from error
        except httpx2.ConnectTimeout as error:
            raise _Trouble(self._unreachable(f"no answer within {CONNECT_TIMEOUT_S:.0f} s")) from error
        except httpx2.TimeoutException as error:
            raise _Trouble(self._timed_out(exchange)) from error
        except httpx2.TransportError as error:
            raise _Trouble(self._unreachable(f"the connection broke: {_named(error)}")) from error
        except httpx2.RequestError as error:
            what = f"answered with content that cannot be read ({_named(error)})"
            raise self._unexpected(what) from error

    async def _content(self, response: httpx2.Response) -> bytes:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > MAX_ANSWER_BYTES:
                what = f"answered with more than {MAX_ANSWER_BYTES} bytes"
                raise self._unexpected(what)
        return bytes(content)

    def _refused(self, response: httpx2.Response, content: bytes) -> HeadraceError | _Trouble:
        try:
            return HeadraceError(Problem.model_validate_json(content, extra="ignore"))
        except ValidationError:
            error = self._unexpected(f"answered {response.status_code} {response.reason_phrase}")
            return _Trouble(error) if response.status_code in _GATEWAY_TROUBLE else error

    def _not_connected(self, error: httpx2.ConnectError) -> HeadraceError | _Trouble:
        reason = _root(error)
        if not isinstance(reason, ssl.SSLError):
            return _Trouble(self._unreachable(_named(reason)))
        if not isinstance(reason, ssl.SSLCertVerificationError):
            return failure(
                Code.SERVICE_UNREACHABLE,
                f"what listens at `{self.url}` does not speak TLS as this client does ({_of_tls(reason)}). "
                "If it speaks plain http, as `headrace serve` does on this host, write http:// instead; else look at "
                "the port.",
            )
        return failure(
            Code.SERVICE_UNTRUSTED,
            f"the certificate of `{self.url}` is not trusted ({_named(reason)}). "
            "If your site has its own authority, name its file in SSL_CERT_FILE.",
        )

    def _unreachable(self, why: str) -> HeadraceError:
        return failure(
            Code.SERVICE_UNREACHABLE, f"no Headrace service answers at `{self.url}` ({why}). {_HOW_TO_REACH}"
        )

    def _timed_out(self, exchange: _Exchange) -> HeadraceError:
        after = (
            "Try again."
            if exchange.method == "GET"
            else "The request may or may not have been carried out: look with `headrace status` before trying again."
        )
        return failure(Code.SERVICE_TIMEOUT, f"`{self.url}` sent nothing for {exchange.silence_s:.0f} s. {after}")

    def _unknown_form(self, error: ValidationError) -> HeadraceError:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "its start"
        return self._unexpected(f"answered in a form this client does not know (at {where}: {first['msg']})")

    def _unexpected(self, what: str) -> HeadraceError:
        return failure(
            Code.UNEXPECTED_ANSWER,
            f"`{self.url}` {what}. Is that a Headrace service of about this version (`headrace --version`), "
            "and is nothing rewriting its answers on the way?",
        )


def segment(name: str) -> str:
    """Quote one path segment; raises HeadraceError `bad_name` for a name that cannot be one."""
    if name in {"", ".", ".."}:
        raise failure(Code.BAD_NAME, f"`{name}` can't be an id or a name.")
    return quote(name, safe="")


def _parse(url: str) -> httpx2.URL:
    if "://" not in url:
        whole = f"{'http' if is_loopback(url.rpartition(':')[0] or url) else 'https'}://{url}"
        raise failure(Code.SERVICE_UNREACHABLE, f"`{url}` does not say how to talk to the service: write `{whole}`.")
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise failure(Code.SERVICE_UNREACHABLE, f"`{url}` is not an address ({error}). {_HOW_TO_REACH}") from error
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise failure(Code.SERVICE_UNREACHABLE, f"`{url}` is not an http:// or https:// address. {_HOW_TO_REACH}")
    return parsed


def _trusted(url: str) -> ssl.SSLContext:
    """Return whose certificates count: those of SSL_CERT_FILE or SSL_CERT_DIR, else this system's."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        file = os.environ.get("SSL_CERT_FILE", "")
        why = _of_tls(error) if isinstance(error, ssl.SSLError) else _named(error)
        raise failure(
            Code.SERVICE_UNTRUSTED,
            f"no certificate of `{url}` can be checked: SSL_CERT_FILE names `{file}`, which can't be used ({why}). "
            "Name a file of certificates in PEM form there, or unset it.",
        ) from error


def is_loopback(host: str) -> bool:
    """Whether only this host can reach an address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _spelled(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _root(error: BaseException) -> BaseException:
    """Return the first cause, which names what the operating system said."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _of_tls(error: ssl.SSLError) -> str:
    return (error.reason or "it broke off").replace("_", " ").lower()


def _named(error: BaseException) -> str:
    # An SSLError's number is the library's own, and no error of the operating system.
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno is not None:
        return (os.strerror(error.errno) if error.errno > 0 else error.strerror or str(error)).lower()
    return str(error) or type(error).__name__
