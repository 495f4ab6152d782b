"""Signing in at an OpenID Connect provider: the code flow with PKCE.

What a sign-in needs until its end (state, nonce, verifier, issuer, where to go on) is kept by the browser that began
it, in a cookie that this service has signed: nobody can end another's sign-in, strangers who begin many push out none,
and a restart in between loses none.
"""

import base64
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Final

from headrace.auth.accounts import new_person_id
from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts
from headrace.auth.oidc_claims import Vouched, vouched
from headrace.auth.oidc_provider import Provider, ProviderFailed, Providers, TokenRefused
from headrace.auth.secret_forms import Pepper
from headrace.auth.sessions import Sessions, Shown, SignedIn
from headrace.auth.store import Arrival, IdentityStore
from headrace.auth.throttle import Limit, Throttle, network_of

SIGN_IN_LIMIT: Final = timedelta(minutes=10)
"""For a sign-in at a provider, from its beginning here to its end here."""
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,500}")
"""A path of this service: no browser takes it for an address elsewhere."""
FAILED_LIMIT: Final = Limit(200, timedelta(minutes=15))
"""Sign-ins of one network that ended without a person."""
_MAX_KEPT: Final = 2000


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that has begun: where the browser goes, and what it keeps until it is back."""

    url: str
    kept: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A sign-in that has ended well: the session, and the path where the person wanted to go."""

    signed_in: SignedIn
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnderWay:
    issuer: str
    state: str
    nonce: str
    verifier: str
    next: str
    until: float


class OidcSignIn:
    """Signs people in at the providers of this site."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it stands on
        self,
        providers: Providers,
        public_url: str,
        identities: IdentityStore,
        sessions: Sessions,
        pepper: Pepper,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
    ) -> None:
        """Let providers send browsers back to `public_url`; `steady` measures for how long tries count."""
        self._providers = providers
        self._public_url = public_url
        self._identities = identities
        self._sessions = sessions
        self._pepper = pepper
        self._clock = clock
        self._steady = steady
        self._throttle = Throttle()

    async def begin(self, issuer: str, path: str) -> Begun:
        """Begin a sign-in that goes on at `path`. Raises `not_found`, `not_allowed`, `provider_failed`."""
        provider = self._providers.named(issuer)
        if _LOCAL_PATH.fullmatch(path) is None:
            raise AuthError(AuthCode.NOT_ALLOWED, "A sign-in goes on at a path of this service, and nowhere else.")
        under_way = _UnderWay(
            issuer=issuer,
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            next=path,
            until=(self._clock() + SIGN_IN_LIMIT).timestamp(),
        )
        try:
            url = await provider.authorization_url(
                state=under_way.state,
                verifier=under_way.verifier,
                redirect_uri=redirect_uri(self._public_url, issuer),
                nonce=under_way.nonce,
            )
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        return Begun(url, self._seal(under_way))

    async def finish(self, issuer: str, kept: str, answer: Mapping[str, str], address: str) -> Arrived:
        """End a sign-in with what the browser kept and with the provider's answer to it.

        Raises `not_found`, `sign_in_expired`, `sign_in_refused`, `no_role`, `provider_failed`, `too_many_attempts`.
        """
        provider = self._providers.named(issuer)
        under_way = self._open(kept, issuer, answer.get("state", ""))
        # Each try is a request to the provider: made-up codes of one network are some, and then none.
        tried = f"network:{network_of(address)}"
        wait = self._throttle.attempt({tried: FAILED_LIMIT}, self._steady())
        if wait is not None:
            raise TooManyAttempts(int(wait.total_seconds()) + 1)
        try:
            await _require_issuer(provider, answer)
            token = await provider.id_token(
                grant_type="authorization_code",
                code=_code(answer),
                code_verifier=under_way.verifier,
                redirect_uri=redirect_uri(self._public_url, issuer),
            )
            found = vouched(await provider.verified(token), provider.issuer, under_way.nonce, self._clock())
        except TokenRefused as error:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"{issuer}: {error}") from error
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        self._throttle.take_back(tried)
        return Arrived(await self.arrive(found), under_way.next)

    async def arrive(self, found: Vouched) -> SignedIn:
        """Begin a session of somebody whom a provider vouches for. Raises `sign_in_refused`, `no_role`."""
        arrival = Arrival(issuer=found.issuer, subject=found.subject, name=found.name, groups=found.groups)
        person = await self._identities.arrive(arrival, new_person_id(), self._clock())
        if person.state != "active":
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"person {person.id} is {person.state}", person=person.id)
        if not person.roles:
            raise AuthError(AuthCode.NO_ROLE, f"`{found.subject}` of {found.issuer} has no role here")
        shown = Shown(method="oidc", factors=found.factors, at=found.at, issuer=found.issuer, sid=found.sid)
        return await self._sessions.begin(person, shown)

    def _seal(self, under_way: _UnderWay) -> str:
        payload = base64.urlsafe_b64encode(json.dumps(asdict(under_way)).encode()).decode("ascii")
        return f"{payload}.{self._pepper.hash(_sealed(payload))}"

    def _open(self, kept: str, issuer: str, state: str) -> _UnderWay:
        """Open what a browser kept; raises `sign_in_expired` for whatever is not this sign-in's."""
        payload, _, seal = kept.partition(".")
        if len(kept) > _MAX_KEPT or not self._pepper.fits(_sealed(payload), seal):
            raise AuthError(AuthCode.SIGN_IN_EXPIRED, "no sign-in is under way in this browser")
        under_way = _UnderWay(**json.loads(base64.urlsafe_b64decode(payload)))
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


def _sealed(payload: str) -> str:
    """Return what is hashed: nothing else that this key hashes begins so."""
    return f"sign-in:{payload}"
