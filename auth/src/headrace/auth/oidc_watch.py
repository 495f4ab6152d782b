"""Asks OpenID Connect providers whether people are still there, with the refresh tokens of their sign-ins."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.leavers import Brake, Looked, as_of, loses
from headrace.auth.oidc_claims import Vouched, vouched
from headrace.auth.oidc_provider import ABOUT_THE_SERVICE, Granted, Provider, ProviderFailed, Providers, TokenRefused
from headrace.auth.secret_forms import Pepper
from headrace.auth.store import IdentityRecord, IdentityStore, every_identity

AT_ONCE: Final = 8
"""Questions that one provider gets at the same time."""
PATIENCE_S: Final = 10
"""For how long one question waits: an answer that comes too late may hold the only token that still counts."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """What came of asking about one person: whether anything has changed, why nobody knows, and whether it answered.

    An answer that is about this service and not about the person is none. `loss` is the identity as it would be, when
    that takes something from its person.
    """

    changed: bool = False
    loss: IdentityRecord | None = None
    unknown: str | None = None
    answered: bool = True


class OidcWatch:
    """Brings the identities of providers with `watch_people` up to date.

    Whose refresh token such a provider does not take any more (`invalid_grant`) is gone, until they sign in there
    again. Whatever else it answers, or if it does not, everybody stays as they are. What people get is applied with
    each answer, what they lose at the end of the look (`Brake`). Where it gives another token each time, the new one is
    stored before anything else, also when the service stops meanwhile.
    """

    def __init__(
        self,
        providers: Providers,
        identities: IdentityStore,
        brake: Brake,
        pepper: Pepper,
        clock: Callable[[], datetime],
    ) -> None:
        """Keep refresh tokens in `identities`, encrypted by `pepper`."""
        self._watched = {one.url: providers.named(one.id) for one in providers.issuers if one.watch_people}
        self._identities = identities
        self._brake = brake
        self._pepper = pepper
        self._clock = clock
        self._given: dict[tuple[str, str], tuple[str, str]] = {}
        """By issuer and subject: the grant that was used, and the one that was given for it and is not stored yet."""

    @property
    def issuers(self) -> Sequence[str]:
        """Whom anybody asks; each is asked by itself, so that none waits for another."""
        return tuple(self._watched)

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

    async def look(self, issuer: str) -> Looked:
        """Ask one provider once about everybody of whom something is kept."""
        await self._store_what_was_given(issuer)
        provider, everyone = self._watched[issuer], [one async for one in every_identity(self._identities)]
        mine = [one for one in everyone if one.issuer == issuer and one.grant is not None]
        answers: list[_Heard] = []
        for at in range(0, len(mine), AT_ONCE):
            heard = await self._ask_about(provider, mine[at : at + AT_ONCE])
            answers += heard
            if not any(one.answered for one in heard):
                break  # it is away; each further question would cost as much time
        losses = [one.loss for one in answers if one.loss is not None]
        held, why = await self._brake.held(issuer, everyone, losses)
        lost = [await self._lose(one) for one in losses if one.person not in held]
        troubles = [why] if why else []
        if unknown := [one.unknown for one in answers if one.unknown is not None]:
            troubles.append(f"nobody knows who has left {issuer}: {unknown[0]}")
        return Looked(any(lost) or any(one.changed for one in answers), tuple(troubles))

    async def _lose(self, after: IdentityRecord) -> bool:
        """Note what somebody loses, unless they have signed in since they were asked about; answers whether it was."""
        assert after.grant is not None  # noqa: S101 - nobody else is asked about
        if after.gone is not None:
            return await self._identities.lapse(after.issuer, after.subject, after.grant, self._clock())
        return await self._identities.renew(after.issuer, after.subject, after.groups, self._clock(), grant=after.grant)

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
                return _Heard(unknown=str(error), answered=error.code not in ABOUT_THE_SERVICE)
            return _Heard(loss=as_of(one, None, self._clock()))
        except ProviderFailed as error:
            return _Heard(unknown=str(error), answered=False)
        try:
            kept = await self._keep(one, granted)
            return await self._brought_up_to_date(provider, replace(one, grant=kept), granted)
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

    async def _store_what_was_given(self, issuer: str) -> None:
        """Store what could not be stored when it came; until it is, nobody is asked about."""
        for given_by, subject in list(self._given):
            if given_by == issuer:
                await self._store_given(issuer, subject)

    async def _store_given(self, issuer: str, subject: str) -> None:
        former, hidden = self._given[issuer, subject]
        await self._identities.keep_grant(issuer, subject, former, hidden)
        del self._given[issuer, subject]

    async def _brought_up_to_date(self, provider: Provider, one: IdentityRecord, granted: Granted) -> _Heard:
        """Note the groups of an ID token as at a sign-in (without the claim it names none)."""
        if granted.id_token is None:
            return _Heard()
        found = vouched(await provider.verified(granted.id_token), provider.issuer, None, self._clock())
        if found.subject != one.subject:
            message = "an ID token of somebody else"
            raise TokenRefused(message)
        if found.groups == one.groups:
            return _Heard()
        after = as_of(one, found.groups, self._clock())
        if loses(one, after):
            return _Heard(loss=after)
        return _Heard(
            await self._identities.renew(one.issuer, one.subject, found.groups, self._clock(), grant=one.grant)
        )


def _place(issuer: str, subject: str) -> str:
    return f"refresh token of {subject} at {issuer}"
