"""Asks OpenID Connect providers whether people are still there, with the refresh tokens of their sign-ins."""

import asyncio
from collections.abc import Callable
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


class OidcWatch:
    """Brings the identities of providers with `watch_people` up to date.

    Whose refresh token such a provider does not take any more (`invalid_grant`) is gone, until they sign in there
    again. Whatever else it answers, or if it does not, everybody stays as they are.
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

    async def look(self) -> Looked:
        """Ask once about everybody of whom something is kept."""
        changed = False
        away: list[str] = []
        known = [one async for one in every_identity(self._identities)] if self._providers else []
        for provider in self._providers:
            mine = [one for one in known if one.issuer == provider.issuer.url and one.grant is not None]
            for at in range(0, len(mine), AT_ONCE):
                some = mine[at : at + AT_ONCE]
                looked = await asyncio.gather(*(self._look_at(provider, one) for one in some))
                changed |= any(one.changed for one in looked)
                failed = [said for one in looked for said in one.away]
                if failed and not away:
                    away.append(f"nobody knows who has left {provider.issuer.url}: {failed[0]}")
                if len(failed) == len(some):
                    break  # it is away; each further question would cost as much time
        return Looked(changed, tuple(away))

    async def _look_at(self, provider: Provider, one: IdentityRecord) -> Looked:
        assert one.grant is not None  # noqa: S101 - nobody else is looked at
        token = self._pepper.reveal(_place(one.issuer, one.subject), one.grant)
        try:
            if token is None:
                message = "what is kept of the sign-in can't be read"
                raise TokenRefused(message, code="invalid_grant")  # noqa: TRY301 - one way out
            granted = await provider.exchange(grant_type="refresh_token", refresh_token=token)
            await self._keep(one, granted)
            return Looked(await self._brought_up_to_date(provider, one, granted), ())
        except TokenRefused as error:
            if error.code != "invalid_grant":
                return Looked(changed=False, away=(str(error),))
            return Looked(await self._identities.lapse(one.issuer, one.subject, one.grant, self._clock()), ())
        except ProviderFailed as error:
            return Looked(changed=False, away=(str(error),))

    async def _keep(self, one: IdentityRecord, granted: Granted) -> None:
        """Keep the token that takes the place of the one that was used, if there is one."""
        assert one.grant is not None  # noqa: S101 - nobody else is looked at
        if granted.refresh_token is None:
            return
        place = _place(one.issuer, one.subject)
        if granted.refresh_token != self._pepper.reveal(place, one.grant):
            hidden = self._pepper.hide(place, granted.refresh_token)
            await self._identities.keep_grant(one.issuer, one.subject, one.grant, hidden)

    async def _brought_up_to_date(self, provider: Provider, one: IdentityRecord, granted: Granted) -> bool:
        """Note the groups of an ID token as at a sign-in (without the claim it names none); whether they changed."""
        if granted.id_token is None:
            return False
        found = vouched(await provider.verified(granted.id_token), provider.issuer, None, self._clock())
        if found.subject != one.subject:
            message = "an ID token of somebody else"
            raise TokenRefused(message)
        if found.groups == one.groups:
            return False
        await self._identities.renew(one.issuer, one.subject, found.groups, self._clock())
        return True


def _place(issuer: str, subject: str) -> str:
    return f"refresh token of {subject} at {issuer}"
