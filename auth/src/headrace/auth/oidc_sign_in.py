"""Signing in at an OpenID Connect provider: a round there and back begins a session."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headrace.auth.accounts import new_person_id
from headrace.auth.errors import AuthCode, AuthError, no_role
from headrace.auth.oidc_claims import Vouched
from headrace.auth.oidc_code_flow import Begun, CodeFlow
from headrace.auth.oidc_watch import OidcWatch
from headrace.auth.sessions import Sessions, Shown, SignedIn
from headrace.auth.store import Arrival, Grounds, IdentityStore

_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,500}")
"""A path of this service: no browser takes it for an address elsewhere."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A sign-in that has ended well: the session, and the path where the person wanted to go."""

    signed_in: SignedIn
    next: str


class OidcSignIn:
    """Signs people in at the providers of this site."""

    def __init__(
        self,
        flow: CodeFlow,
        watch: OidcWatch,
        identities: IdentityStore,
        sessions: Sessions,
        clock: Callable[[], datetime],
    ) -> None:
        """Begin `sessions` of the people of `identities`, whom `watch` looks after."""
        self._flow = flow
        self._watch = watch
        self._identities = identities
        self._sessions = sessions
        self._clock = clock

    async def begin(self, issuer: str, path: str) -> Begun:
        """Begin a sign-in that goes on at `path`. Raises `not_found`, `not_allowed`, `provider_failed`."""
        if _LOCAL_PATH.fullmatch(path) is None:
            raise AuthError(AuthCode.NOT_ALLOWED, "A sign-in goes on at a path of this service, and nowhere else.")
        return await self._flow.begin(issuer, path=path)

    async def arrive(self, found: Vouched) -> SignedIn:
        """Begin a session of somebody whom a provider vouches for. Raises `sign_in_refused`, `no_role`."""
        arrival = Arrival(
            issuer=found.issuer,
            subject=found.subject,
            name=found.name,
            groups=found.groups,
            grant=self._watch.grant_of(found),
        )
        person = await self._identities.arrive(arrival, new_person_id(), self._clock())
        if person.state != "active":
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"person {person.id} is {person.state}", person=person.id)
        if not person.roles:
            raise no_role(found.issuer, found.subject, found.groups)
        shown = Shown(
            method="oidc",
            factors=found.factors,
            at=found.at,
            issuer=found.issuer,
            sid=found.sid,
            grounds=Grounds(identity=(found.issuer, found.subject), begun=found.begun or found.at),
        )
        return await self._sessions.begin(person, shown)
