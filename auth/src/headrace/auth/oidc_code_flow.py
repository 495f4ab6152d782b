"""One round of a browser to an OpenID Connect provider and back: the code flow with PKCE.

What a round needs until its end (state, nonce, verifier, issuer, what it is for) is kept by the browser that began it,
in a cookie that this service has sealed: nobody can end another's round, strangers who begin many push out none, and a
restart in between loses none.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts
from headrace.auth.oidc_claims import Vouched, vouched
from headrace.auth.oidc_provider import Provider, ProviderFailed, Providers, TokenRefused
from headrace.auth.secret_forms import Pepper
from headrace.auth.throttle import Limit, Throttle, network_of

SIGN_IN_LIMIT: Final = timedelta(minutes=10)
"""For a round to a provider, from its beginning here to its end here."""
FAILED_LIMIT: Final = Limit(200, timedelta(minutes=15))
"""Rounds of one network that ended without a person."""
_PURPOSE: Final = "sign-in"


@dataclass(frozen=True, slots=True)
class Begun:
    """A round that has begun: where the browser goes, and what it keeps until it is back."""

    url: str
    kept: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """A round that has not ended. It goes on at the path `next`, or proves what `proof` asks for."""

    issuer: str
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    until: float
    next: str = ""
    proof: str = ""


class CodeFlow:
    """Sends browsers to the providers of this site, and takes their answers."""

    def __init__(
        self,
        providers: Providers,
        public_url: str,
        pepper: Pepper,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
    ) -> None:
        """Let providers send browsers back to `public_url`; `steady` measures for how long tries count."""
        self._providers = providers
        self._public_url = public_url
        self._pepper = pepper
        self._clock = clock
        self._steady = steady
        self._throttle = Throttle()

    async def begin(
        self,
        issuer: str,
        *,
        nonce: str | None = None,
        path: str = "",
        proof: str = "",
        **more: str,
    ) -> Begun:
        """Begin a round (`more`: parameters of the request). Raises `not_found`, `provider_failed`."""
        provider = self._providers.named(issuer)
        under_way = UnderWay(
            issuer=issuer,
            state=secrets.token_urlsafe(32),
            nonce=nonce or secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            next=path,
            proof=proof,
            until=(self._clock() + SIGN_IN_LIMIT).timestamp(),
        )
        try:
            url = await provider.authorization_url(
                state=under_way.state,
                verifier=under_way.verifier,
                redirect_uri=redirect_uri(self._public_url, issuer),
                nonce=under_way.nonce,
                **more,
            )
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        return Begun(url, self._pepper.seal(_PURPOSE, asdict(under_way)))

    async def finish(self, issuer: str, kept: str, answer: Mapping[str, str], address: str) -> tuple[UnderWay, Vouched]:
        """End a round with what the browser kept and with the provider's answer: say for what it was, and who came.

        Raises `not_found`, `sign_in_expired`, `provider_failed`, `too_many_attempts`, and for what the provider does
        not vouch for `sign_in_refused`, or `provider_proof_refused` where it was to prove something.
        """
        provider = self._providers.named(issuer)
        under_way = self._open(kept, issuer, answer.get("state", ""))
        # Each try is a request to the provider: made-up codes of one network are some, and then none.
        tried = f"network:{network_of(address)}"
        wait = self._throttle.attempt({tried: FAILED_LIMIT}, self._steady())
        if wait is not None:
            raise TooManyAttempts(int(wait.total_seconds()) + 1, about=f"{issuer}, from {network_of(address)}")
        try:
            await _require_issuer(provider, answer)
            granted = await provider.exchange(
                grant_type="authorization_code",
                code=_code(answer),
                code_verifier=under_way.verifier,
                redirect_uri=redirect_uri(self._public_url, issuer),
            )
            found = vouched(await provider.verified(granted.id_token), provider.issuer, under_way.nonce, self._clock())
        except TokenRefused as error:
            code = AuthCode.PROVIDER_PROOF_REFUSED if under_way.proof else AuthCode.SIGN_IN_REFUSED
            raise AuthError(code, f"{issuer}: {error}") from error
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        self._throttle.take_back(tried)
        begun = datetime.fromtimestamp(under_way.until, UTC) - SIGN_IN_LIMIT
        return under_way, replace(found, refresh_token=granted.refresh_token, begun=begun)

    def _open(self, kept: str, issuer: str, state: str) -> UnderWay:
        """Open what a browser kept; raises `sign_in_expired` for whatever is not this round's."""
        fields = self._pepper.unseal(_PURPOSE, kept)
        if fields is None:
            raise AuthError(AuthCode.SIGN_IN_EXPIRED, "no sign-in is under way in this browser")
        under_way = UnderWay(**fields)
        if under_way.issuer != issuer or not secrets.compare_digest(under_way.state.encode(), state.encode()):
            raise AuthError(AuthCode.SIGN_IN_EXPIRED, "another sign-in is under way in this browser")
        if self._clock().timestamp() >= under_way.until:
            raise AuthError(AuthCode.SIGN_IN_EXPIRED, "the sign-in began too long ago")
        return under_way


def redirect_uri(public_url: str, issuer: str) -> str:
    """Return the address that a provider must know: each has one of its own, so none can answer for another."""
    return f"{public_url}/api/v1/sign-in/{issuer}/callback"


async def _require_issuer(provider: Provider, answer: Mapping[str, str]) -> None:
    """Refuse an answer of another provider (RFC 9207); raises `TokenRefused`, `ProviderFailed`."""
    named = answer.get("iss")
    if named is None and not (await provider.discovered()).says_issuer:
        return
    if named != provider.issuer.url:
        message = f"the answer is of the issuer `{str(named)[:200]}`"
        raise TokenRefused(message)


def _code(answer: Mapping[str, str]) -> str:
    if "code" not in answer:
        message = f"the provider answers `{answer.get('error', 'nothing')[:100]}`"
        raise TokenRefused(message)
    return answer["code"]
