"""One provider over the network: its discovery document, its keys, its token endpoint. All of it has limits."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar

import httpx2
from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped] # it says no types
from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped] # it says no types
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.oidc_issuers import Issuer, is_secure

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
"""Signatures by a key pair only: a token can't be signed with what everybody can read (`none`, RS256 as HS256)."""
FRESH_FOR: Final = timedelta(minutes=10)
"""For how long the discovery document and the keys are used without asking again."""
STALE_FOR: Final = timedelta(hours=1)
"""For how long the keys are used while the provider does not answer."""
LEAST_WAIT: Final = timedelta(seconds=10)
"""Between two requests for one document, whoever asks for whatever key."""
TIMEOUT_S: Final = 5
MAX_ANSWER_BYTES: Final = 1_048_576
MAX_TOKEN: Final = 16_384
_MEANS: Final = {
    "invalid_client": "`client_id` or its secret is wrong, or the client is gone there",
    "invalid_scope": "it does not give this client what `scopes` names, such as `offline_access`",
    "unauthorized_client": "the client may not do this there: allow it the grant, such as `refresh_token`",
    "unsupported_grant_type": "it does not have this grant, such as `refresh_token`",
}
"""Answers of RFC 6749 (5.2), for the log and the health."""
ABOUT_THE_SERVICE: Final = frozenset({"invalid_client", "unauthorized_client", "unsupported_grant_type"})
"""Those that everybody's code or token would get."""
AWAY_FOR: Final = timedelta(minutes=5)
REFUSED_FOR: Final = timedelta(days=1)
"""For how long a failed exchange says that nobody can sign in, when no other one says anything."""

_log = logging.getLogger(__name__)
_Document = TypeVar("_Document")


class ProviderFailed(Exception):  # noqa: N818 - says what is the case
    """The provider can't be reached, or what it answers can't be used; the message is for the log."""


class TokenRefused(Exception):  # noqa: N818 - says what is the case
    """A token that is not what it must be; the message is for the log and never holds the token.

    `code` is what the provider calls the reason, when it refused to make one.
    """

    def __init__(self, message: str, *, code: str = "") -> None:
        """Say why."""
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What a provider says of itself (OpenID Connect Discovery 1.0), as far as it is used here."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    says_issuer: bool
    """Whether every answer of the authorization endpoint names the issuer (RFC 9207)."""
    end_session_endpoint: str | None = None
    device_authorization_endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Signed:
    """A token whose signature is the provider's, and whose claims nobody has looked at yet."""

    typ: str
    claims: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Granted:
    """What a provider gave for a grant: an ID token that nobody has looked at yet, and how to ask again."""

    id_token: str | None = field(repr=False)
    refresh_token: str | None = field(repr=False)


class Provider:
    """Asks one provider, and remembers what it said."""

    def __init__(self, issuer: Issuer, steady: Callable[[], datetime]) -> None:
        """`steady` measures how old an answer is, however the clock is set. Nothing is asked yet."""
        self.issuer = issuer
        self._steady = steady
        self.date: str | None = None
        """What the last answer said the time was."""
        self._trouble: tuple[datetime, timedelta, str] | None = None
        """When an exchange failed for a reason that no person has, for how long that counts, and what it was."""
        self._client: AsyncOAuth2Client | None = None
        self._discovered = _Remembered(self._discover, steady)
        self._keys = _Remembered(self._fetch_keys, steady)

    async def close(self) -> None:
        """End its connections."""
        if self._client is not None:
            await self._client.aclose()

    async def document(self) -> Mapping[str, object]:
        """Ask for the discovery document anew; raises `ProviderFailed`."""
        return await self._json(f"{self.issuer.url.rstrip('/')}/.well-known/openid-configuration")

    async def keys(self) -> KeySet:
        """Return the provider's keys; raises `ProviderFailed`."""
        return await self._keys.get()

    async def discovered(self) -> Discovered:
        """Return what the provider says of itself; raises `ProviderFailed`."""
        return await self._discovered.get()

    async def authorization_url(self, *, state: str, verifier: str, redirect_uri: str, **more: str) -> str:
        """Return where a browser signs in; raises `ProviderFailed`."""
        endpoint = (await self.discovered()).authorization_endpoint
        scope = " ".join(self.issuer.scopes)
        url, _ = self._http().create_authorization_url(
            endpoint, state=state, code_verifier=verifier, redirect_uri=redirect_uri, scope=scope, **more
        )
        return str(url)

    @property
    def trouble(self) -> tuple[datetime, str] | None:
        """Since when (by the steady clock) exchanges fail whoever the person is, and why; `None` if they do not."""
        if self._trouble is None:
            return None
        since, lasts, said = self._trouble
        return (since, said) if self._steady() < since + lasts else None

    async def exchange(self, patience_s: float = TIMEOUT_S, **grant: str) -> Granted:
        """Exchange what was granted: a code and what belongs to it, or the refresh token of before.

        An answer counts if it comes within `patience_s` seconds. Raises `ProviderFailed`, `TokenRefused` with the
        provider's code.
        """
        endpoint = (await self.discovered()).token_endpoint
        try:
            async with asyncio.timeout(patience_s):
                answer = await self._http().fetch_token(endpoint, timeout=patience_s, **grant)
        except OAuthError as error:
            code = str(error.error)[:100]
            meaning = f" ({_MEANS[code]})" if code in _MEANS else ""
            message = f"the provider does not exchange what was granted: {code}{meaning}"
            refused = code in ABOUT_THE_SERVICE
            self._trouble = (self._steady(), REFUSED_FOR, message) if refused else None
            raise TokenRefused(message, code=code) from error
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            message = f"{endpoint}: {_said(error, patience_s)}"
            self._trouble = self._steady(), AWAY_FOR, message
            raise ProviderFailed(message) from error
        self._trouble = None
        token, again = answer.get("id_token"), answer.get("refresh_token")
        return Granted(
            id_token=token if isinstance(token, str) else None,
            refresh_token=again if isinstance(again, str) and 0 < len(again) <= MAX_TOKEN else None,
        )

    async def device_codes(self) -> dict[str, object]:
        """Ask for the codes of a sign-in on another device (RFC 8628); raises `ProviderFailed`."""
        endpoint = (await self.discovered()).device_authorization_endpoint
        if endpoint is None:
            message = "the discovery document has no `device_authorization_endpoint`"
            raise ProviderFailed(message)
        http, scope = self._http(), " ".join(self.issuer.scopes)
        data = {"client_id": self.issuer.client_id, "scope": scope}
        auth = http.client_auth(http.token_endpoint_auth_method)
        return await self._json(endpoint, method="POST", data=data, auth=auth)

    async def verified(self, token: str | None) -> Signed:
        """Verify the signature of a token, and nothing else; raises `ProviderFailed`, `TokenRefused` (for `None`, too).

        A key that is not known is asked for once, and then not again for ten seconds.
        """
        if token is None:
            message = "the provider gave no ID token"
            raise TokenRefused(message)
        if not 0 < len(token) <= MAX_TOKEN:
            message = f"a token of {len(token)} characters"
            raise TokenRefused(message)
        try:
            try:
                found = jwt.decode(token, await self._keys.get(), algorithms=ALGORITHMS)
            except InvalidKeyIdError:
                found = jwt.decode(token, await self._keys.get(again=True), algorithms=ALGORITHMS)
        except (JoseError, ValueError) as error:
            message = f"{type(error).__name__}: {error}"[:200]
            raise TokenRefused(message) from error
        return Signed(typ=str(found.header.get("typ", "")).lower().removeprefix("application/"), claims=found.claims)

    async def _discover(self) -> Discovered:
        document = await self.document()
        if document.get("issuer") != self.issuer.url:
            message = f"the discovery document is of the issuer `{str(document.get('issuer'))[:200]}`"
            raise ProviderFailed(message)

        def url(name: str) -> str | None:
            value = document.get(name)
            if value is not None and not (isinstance(value, str) and is_secure(value)):
                message = f"`{name}` of the discovery document is not an https URL"
                raise ProviderFailed(message)
            return value

        def needed(name: str) -> str:
            value = url(name)
            if value is None:
                message = f"the discovery document has no `{name}`"
                raise ProviderFailed(message)
            return value

        return Discovered(
            authorization_endpoint=needed("authorization_endpoint"),
            token_endpoint=needed("token_endpoint"),
            jwks_uri=needed("jwks_uri"),
            says_issuer=document.get("authorization_response_iss_parameter_supported") is True,
            end_session_endpoint=url("end_session_endpoint"),
            device_authorization_endpoint=url("device_authorization_endpoint"),
        )

    async def _fetch_keys(self) -> KeySet:
        url = (await self.discovered()).jwks_uri
        try:
            return KeySet.import_key_set(await self._json(url))  # type: ignore[arg-type] # it checks the form itself
        except (JoseError, ValueError, KeyError, TypeError) as error:
            message = f"{url}: the keys can't be used: {type(error).__name__}"
            raise ProviderFailed(message) from error

    async def _json(self, url: str, method: str = "GET", **request: Any) -> dict[str, object]:  # noqa: ANN401 - the client's
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await self._http().request(
                    method, url, withhold_token=True, headers={"accept": "application/json"}, **request
                )
            self.date = answer.headers.get("date")
            document = json.loads(answer.raise_for_status().content)
        except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as error:
            message = f"{url}: {_said(error, TIMEOUT_S)}"
            raise ProviderFailed(message) from error
        if not isinstance(document, dict):
            message = f"{url}: no JSON object"
            raise ProviderFailed(message)
        return document

    def _http(self) -> AsyncOAuth2Client:
        """Return the client. It knows no scopes: it would ask for all of them with each refresh (RFC 6749, 6)."""
        if self._client is None:
            issuer = self.issuer
            try:
                tls = ssl.create_default_context(cafile=issuer.ca_file)
            except OSError as error:
                message = f"`ca_file` `{issuer.ca_file}` can't be used: {error}"
                raise ProviderFailed(message) from error
            self._client = AsyncOAuth2Client(
                issuer.client_id,
                issuer.client_secret,
                code_challenge_method="S256",
                transport=_Bounded(httpx2.AsyncHTTPTransport(verify=tls, limits=httpx2.Limits(max_connections=10))),
                follow_redirects=False,
                timeout=TIMEOUT_S,
            )
        return self._client


class Providers:
    """The providers of one site."""

    def __init__(self, issuers: Sequence[Issuer], steady: Callable[[], datetime]) -> None:
        """`steady` measures how old an answer is. Nothing is asked yet."""
        self.issuers = tuple(issuers)
        self._by_id = {issuer.id: Provider(issuer, steady) for issuer in issuers}
        self._by_url = {provider.issuer.url: provider for provider in self._by_id.values()}

    def named(self, issuer: str) -> Provider:
        """Return a provider by its id here; raises `not_found`."""
        if issuer not in self._by_id:
            there = ", ".join(f"`{one}`" for one in self._by_id)
            known = f"the providers of this site are {there}" if there else "this site has none"
            raise AuthError(AuthCode.NOT_FOUND, f"There is no such provider: {known}.")
        return self._by_id[issuer]

    def at(self, url: str | None) -> Provider | None:
        """Return a provider by what it calls itself, or `None`."""
        return self._by_url.get(url) if url else None

    async def close(self) -> None:
        """End the connections to all of them."""
        for provider in self._by_id.values():
            await provider.close()


class _Remembered(Generic[_Document]):
    """One document of a provider: asked for by one caller at a time, when it is old or somebody needs a newer one."""

    def __init__(self, fetch: Callable[[], Awaitable[_Document]], steady: Callable[[], datetime]) -> None:
        self._fetch = fetch
        self._steady = steady
        self._lock = asyncio.Lock()
        self._known: tuple[datetime, _Document] | None = None
        self._asked: datetime | None = None
        self._failed: ProviderFailed | None = None

    async def get(self, *, again: bool = False) -> _Document:
        """Return the document (`again`: a newer one, if it may be asked for); raises `ProviderFailed`."""
        async with self._lock:
            now = self._steady()
            old = self._known is None or now >= self._known[0] + FRESH_FOR
            if (old or again) and (self._asked is None or now >= self._asked + LEAST_WAIT):
                self._asked = now
                try:
                    self._known, self._failed = (now, await self._fetch()), None
                except ProviderFailed as error:
                    _log.warning("a provider of identities can't be used: %s", error)
                    self._failed = error
            if self._known is None or now >= self._known[0] + STALE_FOR:
                raise ProviderFailed(*(self._failed.args if self._failed else ("nothing is known of it yet",)))
            return self._known[1]


def _said(error: Exception, patience_s: float) -> str:
    """Say what went wrong; many an error of a network has no words of its own."""
    late = isinstance(error, TimeoutError | httpx2.TimeoutException)
    words = str(error) or (f"no answer within {patience_s:g} s" if late else "")
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class _Bounded(httpx2.AsyncBaseTransport):
    """Ends an answer that grows too large."""

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._transport.handle_async_request(request)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)  # noqa: S101 - the transport is asynchronous
        answer.stream = _BoundedStream(answer.stream)
        return answer

    async def aclose(self) -> None:
        await self._transport.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > MAX_ANSWER_BYTES:
                message = f"an answer of more than {MAX_ANSWER_BYTES} bytes"
                raise httpx2.ReadError(message)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
