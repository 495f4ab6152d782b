"""Signing out at a provider: a browser goes there to end its session, and the provider says here that one has ended."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.oidc_claims import LEEWAY_S, require_claims, text_of
from headrace.auth.oidc_issuers import Issuer
from headrace.auth.oidc_provider import ProviderFailed, Providers, Signed, TokenRefused
from headrace.auth.store import PeopleStore

LOGOUT_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
MAX_AGE: Final = timedelta(minutes=5)
"""From the making of a logout token to its use."""
MAX_USED: Final = 10_000
"""Logout tokens that are remembered until they are too old to be used again, of all providers."""


class OidcSignOut:
    """Ends sessions that began at a provider, together with those there."""

    def __init__(
        self, providers: Providers, public_url: str, store: PeopleStore, clock: Callable[[], datetime]
    ) -> None:
        """Let providers send browsers back to the sign-in page of `public_url`."""
        self._providers = providers
        self._public_url = public_url
        self._store = store
        self._clock = clock
        self._used: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    async def url(self, issuer: str | None) -> str | None:
        """Return where a browser ends its session at an issuer (a URL), or `None` where it can't."""
        provider = self._providers.at(issuer)
        if provider is None:
            return None
        try:
            endpoint = (await provider.discovered()).end_session_endpoint
        except ProviderFailed:
            return None
        back = {"client_id": provider.issuer.client_id, "post_logout_redirect_uri": f"{self._public_url}/sign-in"}
        return f"{endpoint}?{urlencode(back)}" if endpoint else None

    async def told(self, issuer: str, token: str) -> int:
        """End the sessions that a provider says have ended there (OpenID Connect Back-Channel Logout 1.0).

        Returns how many. Raises `not_found`, `sign_in_refused`, `provider_failed`.
        """
        provider = self._providers.named(issuer)
        try:
            sid, subject, used = self._checked(await provider.verified(token), provider.issuer)
        except TokenRefused as error:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"{issuer}: a logout token: {error}") from error
        except ProviderFailed as error:
            raise AuthError(AuthCode.PROVIDER_FAILED, str(error)) from error
        try:
            return await self._store.delete_sessions_at(
                provider.issuer.url, sid=sid, subject=None if sid else subject, now=self._clock()
            )
        except BaseException:
            # Nothing has ended: the provider may say it again.
            self._used.pop(used, None)
            raise

    def _checked(self, token: Signed, issuer: Issuer) -> tuple[str | None, str | None, tuple[str, str]]:
        """Return the session and the subject that a logout token names, and its own name; raises `TokenRefused`."""
        now, claims = self._clock(), token.claims
        if token.typ not in {"", "jwt", "logout+jwt"}:
            message = f"`typ` is `{token.typ[:50]}`"
            raise TokenRefused(message)
        require_claims(claims, issuer, [issuer.client_id], now, jti={"essential": True})
        events = claims.get("events")
        if not isinstance(events, Mapping) or LOGOUT_EVENT not in events or "nonce" in claims:
            message = "no token of a logout"
            raise TokenRefused(message)
        sid = text_of(claims, "sid") if "sid" in claims else None
        subject = text_of(claims, "sub") if "sub" in claims else None
        if sid is None and subject is None:
            message = "neither `sid` nor `sub`"
            raise TokenRefused(message)
        return sid, subject, self._use((issuer.url, text_of(claims, "jti")), claims["iat"], now)

    def _use(self, token: tuple[str, str], made: object, now: datetime) -> tuple[str, str]:
        """Refuse a token that is old or was used; what is too old to be used need not be remembered."""
        assert isinstance(made, int | float)  # noqa: S101 - checked with the other claims
        until = datetime.fromtimestamp(made, UTC) + MAX_AGE if 0 <= made <= now.timestamp() + LEEWAY_S else now
        while self._used and next(iter(self._used.values())) <= now:
            self._used.popitem(last=False)
        if until <= now or token in self._used or len(self._used) >= MAX_USED:
            message = "used before, or too old"
            raise TokenRefused(message)
        self._used[token] = now + MAX_AGE + timedelta(seconds=LEEWAY_S)
        return token
