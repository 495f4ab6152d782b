"""Asks OpenID Connect providers whether people are still there, with the refresh tokens of their sign-ins."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headrace.auth.directory_watch import Looked
from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.oidc_claims import Vouched, vouched
from headrace.auth.oidc_provider import Granted, Provider, ProviderFailed, Providers, TokenRefused
from headrace.auth.secret_forms import Pepper
from headrace.auth.store import IdentityRecord, IdentityStore, every_identity

AT_ONCE: Final = 8
"""Questions that one provider gets at the same time."""
PATIENCE_S: Final = 10
"""For how long one question waits: an answer that comes too late may hold the only token that still counts."""
_ABOUT_THE_SERVICE: Final = frozenset({"invalid_client", "unauthorized_client", "unsupported_grant_type"})
"""Answers of RFC 6749 (5.2) that everybody's token would get."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """What came of asking about one person: whether anything has changed, why nobody knows, and whether it answered.

    An answer that is about this service and not about the person is none.
    """

    changed: bool = False
    unknown: str | None = None
    answered: bool = True


class OidcWatch:
    """Brings the identities of providers with `watch_people` up to date.

    Whose refresh token such a provider does not take any more (`invalid_grant`) is gone, until they sign in there
    again. Whatever else it answers, or if it does not, everybody stays as they are. Where it gives another token each
    time, the new one is stored before anything else, also when the service stops meanwhile.
    """

    def __init__(
        self, providers: Providers, identities: IdentityStore, pepper: Pepper, clock: Callable[[], datetime]
    ) -> None:
        """Keep refresh tokens in `identities`, encrypted by `pepper`."""
        self._providers = [providers.named(one.id) for one in providers.issuers if one.watch_people]
        self._watched = {one.issuer.url for one in self._providers}
        self._identities = identities
        self._pepper = pepper
        self._clock = clock
        self._given: dict[tuple[str, str], tuple[str, str]] = {}
        """By issuer and subject: the grant that was used, and the one that was given for it and is not stored yet."""

    def __bool__(self) -> bool:
        """Whether anybody is asked."""
        return bool(self._providers)

    def grant_of(self, found: Vouched) -> str | None:
        """Return what is kept of a sign-in, to ask with later; `None` where nobody is asked.

        Raises `sign_in_refused` for a sign-in at a watched provider that nobody could ask about.
        """
        if found.issuer not in self._watched:
            return None
        if found.refresh_token is None:
            reason = f"{found.issuer} gave no refresh token, and `watch_people` is on"
            raise AuthError(AuthCode.SIGN_IN_REFUSED, reason)
        return self._pepper.hide(_place(found.issuer, found.subject), found.refresh_token)

    def grant_again(self, found: Vouched) -> str | None:
        """Return what is kept of one more sign-in of somebody who is here; `None` if nothing can be, or need be."""
        return self.grant_of(found) if found.refresh_token is not None else None

    async def look(self) -> Looked:
        """Ask once about everybody of whom something is kept."""
        await self._store_what_was_given()
        changed = False
        away: list[str] = []
        known = [one async for one in every_identity(self._identities)] if self._providers else []
        for provider in self._providers:
            mine = [one for one in known if one.issuer == provider.issuer.url and one.grant is not None]
            unknown: list[str] = []
            for at in range(0, len(mine), AT_ONCE):
                heard = await self._ask_about(provider, mine[at : at + AT_ONCE])
                changed |= any(one.changed for one in heard)
                unknown += [one.unknown for one in heard if one.unknown is not None]
                if not any(one.answered for one in heard):
                    break  # it is away; each further question would cost as much time
            if unknown:
                away.append(f"nobody knows who has left {provider.issuer.url}: {unknown[0]}")
        return Looked(changed, tuple(away))

    async def _ask_about(self, provider: Provider, some: Sequence[IdentityRecord]) -> list[_Heard]:
        """Ask about some people at once; what the provider gives is kept even if this is cancelled."""
        asked = asyncio.gather(*(self._look_at(provider, one) for one in some), return_exceptions=True)
        try:
            ended = await asyncio.shield(asked)
        except asyncio.CancelledError:
            await asyncio.wait([asked])
            raise
        for one in ended:
            if isinstance(one, BaseException):
                raise one
        return [one for one in ended if not isinstance(one, BaseException)]

    async def _look_at(self, provider: Provider, one: IdentityRecord) -> _Heard:
        assert one.grant is not None  # noqa: S101 - nobody else is looked at
        token = self._pepper.reveal(_place(one.issuer, one.subject), one.grant)
        try:
            if token is None:
                message = "what is kept of the sign-in can't be read"
                raise TokenRefused(message, code="invalid_grant")  # noqa: TRY301 - one way out
            granted = await provider.exchange(PATIENCE_S, grant_type="refresh_token", refresh_token=token)
        except TokenRefused as error:
            if error.code != "invalid_grant":
                return _Heard(unknown=str(error), answered=error.code not in _ABOUT_THE_SERVICE)
            return _Heard(await self._identities.lapse(one.issuer, one.subject, one.grant, self._clock()))
        except ProviderFailed as error:
            return _Heard(unknown=str(error), answered=False)
        try:
            kept = await self._keep(one, granted)
            return _Heard(await self._brought_up_to_date(provider, one, kept, granted))
        except (TokenRefused, ProviderFailed) as error:
            return _Heard(unknown=str(error))

    async def _keep(self, one: IdentityRecord, granted: Granted) -> str:
        """Keep the token that takes the place of the one that was used, if there is one; returns what is kept."""
        assert one.grant is not None  # noqa: S101 - nobody else is looked at
        place = _place(one.issuer, one.subject)
        if granted.refresh_token is None or granted.refresh_token == self._pepper.reveal(place, one.grant):
            return one.grant
        hidden = self._pepper.hide(place, granted.refresh_token)
        self._given[one.issuer, one.subject] = one.grant, hidden
        await self._store_given(one.issuer, one.subject)
        return hidden

    async def _store_what_was_given(self) -> None:
        """Store what could not be stored when it came; until it is, nobody is asked about."""
        for issuer, subject in list(self._given):
            await self._store_given(issuer, subject)

    async def _store_given(self, issuer: str, subject: str) -> None:
        former, hidden = self._given[issuer, subject]
        await self._identities.keep_grant(issuer, subject, former, hidden)
        del self._given[issuer, subject]

    async def _brought_up_to_date(self, provider: Provider, one: IdentityRecord, kept: str, granted: Granted) -> bool:
        """Note the groups of an ID token as at a sign-in (without the claim it names none); whether they changed."""
        if granted.id_token is None:
            return False
        found = vouched(await provider.verified(granted.id_token), provider.issuer, None, self._clock())
        if found.subject != one.subject:
            message = "an ID token of somebody else"
            raise TokenRefused(message)
        if found.groups == one.groups:
            return False
        return await self._identities.renew(one.issuer, one.subject, found.groups, self._clock(), grant=kept)


def _place(issuer: str, subject: str) -> str:
    return f"refresh token of {subject} at {issuer}"
