"""Signing in at a provider on another device (RFC 8628): for the command line, which has no browser that comes back.

The service is the provider's client; the command line gets a signed text that stands for the sign-in, and asks with it.
Nobody is signed in by it who does not type the code at the provider, but whoever talks a person into that gets the
session: so it is off unless a site turns it on.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts
from headrace.auth.oidc_claims import vouched
from headrace.auth.oidc_code_flow import SIGN_IN_LIMIT
from headrace.auth.oidc_issuers import is_secure
from headrace.auth.oidc_provider import Provider, ProviderFailed, Providers, TokenRefused
from headrace.auth.oidc_sign_in import OidcSignIn
from headrace.auth.secret_forms import Pepper
from headrace.auth.sessions import SignedIn
from headrace.auth.throttle import Limit, Throttle, network_of

BEGIN_LIMIT: Final = Limit(30, timedelta(minutes=15))
"""Sign-ins that one network begins."""
INTERVAL_S: Final = 5
"""Between two questions, unless the provider wants more."""
MAX_INTERVAL_S: Final = 60
SLOWER_S: Final = 5
"""By how much longer a provider is left alone from each time on that it says `slow_down` (RFC 8628, 3.5)."""
MAX_WAITING: Final = 10_000
"""Sign-ins whose last question is remembered."""
_MAX_TEXT: Final = 1000
_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_PURPOSE: Final = "device"


@dataclass(frozen=True, slots=True)
class DeviceBegun:
    """What a person is shown (`uri`, `user_code`; `whole_uri` has both), and what the command line asks with."""

    uri: str
    whole_uri: str | None
    user_code: str
    interval_s: int
    kept: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    issuer: str
    code: str = field(repr=False)
    interval_s: int
    until: float
    begun: float = 0


class OidcDevice:
    """Signs people in at providers where they type a code."""

    def __init__(
        self,
        providers: Providers,
        sign_in: OidcSignIn,
        pepper: Pepper,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
    ) -> None:
        """`steady` measures waits, however the clock is set."""
        self._providers = providers
        self._sign_in = sign_in
        self._pepper = pepper
        self._clock = clock
        self._steady = steady
        self._throttle = Throttle()
        self._asked: OrderedDict[str, tuple[datetime, int]] = OrderedDict()
        """By code: when the provider was asked last, and how many seconds it is left alone then."""

    async def begin(self, issuer: str, address: str) -> DeviceBegun:
        """Begin a sign-in. Raises `not_found`, `too_many_attempts`, `provider_failed`."""
        provider = self._provider(issuer)
        wait = self._throttle.attempt({f"network:{network_of(address)}": BEGIN_LIMIT}, self._steady())
        if wait is not None:
            raise TooManyAttempts(int(wait.total_seconds()) + 1, about=f"{issuer}, from {network_of(address)}")
        begun = self._clock()
        try:
            given = await provider.device_codes()
            uri, user_code, code = (_text(given, key) for key in ("verification_uri", "user_code", "device_code"))
            whole = _text(given, "verification_uri_complete") if "verification_uri_complete" in given else None
            if not is_secure(uri) or (whole is not None and not is_secure(whole)):
                message = "`verification_uri` is not an https URL"
                raise ProviderFailed(message)  # noqa: TRY301 - one way out for all that the provider answers
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        interval, lasts = _seconds(given, "interval", INTERVAL_S), _seconds(given, "expires_in", 600)
        interval_s = min(max(interval, INTERVAL_S), MAX_INTERVAL_S)
        until = self._clock() + min(timedelta(seconds=lasts), SIGN_IN_LIMIT)
        waiting = _Waiting(
            issuer=issuer, code=code, interval_s=interval_s, until=until.timestamp(), begun=begun.timestamp()
        )
        return DeviceBegun(uri, whole, user_code, interval_s, self._pepper.seal(_PURPOSE, asdict(waiting)))

    async def ask(self, issuer: str, kept: str) -> SignedIn | None:
        """Ask whether the person has signed in there; `None`: not yet.

        Raises `not_found`, `sign_in_expired`, `sign_in_refused`, `no_role`, `provider_failed`.
        """
        provider, waiting = self._provider(issuer), self._open(kept, issuer)
        if not self._may_ask(waiting):
            return None
        try:
            granted = await provider.exchange(grant_type=_GRANT, device_code=waiting.code)
            found = vouched(await provider.verified(granted.id_token), provider.issuer, None, self._clock())
        except TokenRefused as error:
            if error.code == "slow_down":
                self._slow_down(waiting)
            if error.code in {"authorization_pending", "slow_down"}:
                return None
            code = AuthCode.SIGN_IN_EXPIRED if error.code == "expired_token" else AuthCode.SIGN_IN_REFUSED
            raise AuthError(code, f"{issuer}: {error}") from error
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        begun = datetime.fromtimestamp(waiting.begun, UTC)
        return await self._sign_in.arrive(replace(found, refresh_token=granted.refresh_token, begun=begun))

    def _provider(self, issuer: str) -> Provider:
        provider = self._providers.named(issuer)
        if not provider.issuer.device_sign_in:
            raise AuthError(
                AuthCode.NOT_FOUND,
                "This provider signs nobody in at a terminal; an administrator allows it by `device_sign_in = true`.",
            )
        return provider

    def _may_ask(self, waiting: _Waiting) -> bool:
        """Whether the provider may be asked now: its interval has passed, whoever asks how often."""
        now = self._steady()
        last, interval_s = self._asked.get(waiting.code, (None, waiting.interval_s))
        if last is not None and now < last + timedelta(seconds=interval_s):
            return False
        self._asked[waiting.code] = now, interval_s
        self._asked.move_to_end(waiting.code)
        while len(self._asked) > MAX_WAITING:
            self._asked.popitem(last=False)
        return True

    def _slow_down(self, waiting: _Waiting) -> None:
        asked, interval_s = self._asked.get(waiting.code, (self._steady(), waiting.interval_s))
        self._asked[waiting.code] = asked, min(interval_s + SLOWER_S, MAX_INTERVAL_S)

    def _open(self, kept: str, issuer: str) -> _Waiting:
        fields = self._pepper.unseal(_PURPOSE, kept)
        if fields is None:
            raise AuthError(AuthCode.SIGN_IN_EXPIRED, "no sign-in on another device is under way")
        waiting = _Waiting(**fields)
        if waiting.issuer != issuer or self._clock().timestamp() >= waiting.until:
            raise AuthError(AuthCode.SIGN_IN_EXPIRED, "the sign-in on another device began too long ago, or elsewhere")
        return waiting


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_TEXT or not value.isprintable():
        message = f"`{key}` of the answer is not a text of one line"
        raise ProviderFailed(message)
    return value


def _seconds(given: Mapping[str, object], key: str, default: int) -> int:
    value = given.get(key, default)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
