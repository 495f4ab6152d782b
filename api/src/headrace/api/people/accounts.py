"""People as the doors see them: signing in, invitations, API tokens. The rules are `auth`'s."""

from datetime import timedelta
from typing import TypeVar

from headrace.api.caller import Caller, acting, coming_from
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.auth import (
    AuthCode,
    Authenticator,
    AuthError,
    PersonRecord,
    Principal,
    Role,
    Scope,
    SignedIn,
    TokenRecord,
    TokenWish,
)
from headrace.client import models as m

_Named = TypeVar("_Named", Role, Scope)


class People:
    """Local people of one service."""

    def __init__(self, core: Core, authenticator: Authenticator, public_url: str) -> None:
        """Sign people in with `authenticator`; links lead to `public_url`."""
        self._core = core
        self._auth = authenticator
        self._public_url = public_url

    # -- before there is a principal --

    async def sign_in(self, request: m.SignIn, address: str) -> m.Session:
        """Start a session; a refused try is audited, too (tries at a person are throttled)."""
        try:
            with coming_from(address):
                return _session(await self._auth.passwords.sign_in(request.name, request.password, address))
        except AuthError as error:
            if error.code is AuthCode.SIGN_IN_REFUSED:
                await self._refused(error, address)
            raise

    async def accept_invitation(self, request: m.AcceptInvitation, address: str) -> m.Session:
        """Redeem a one-time link and start a session."""
        with coming_from(address):
            accepted = await self._auth.passwords.accept_invitation(
                request.token, request.password, request.name, address
            )
        return _session(accepted)

    async def sign_out(self, secret: str, address: str) -> None:
        """End a session."""
        with coming_from(address):
            await self._auth.sessions.end(secret)

    async def close(self) -> None:
        """Write which sessions and tokens were used, and end."""
        await self._auth.close()

    async def of_session(self, secret: str) -> Principal:
        """Return whose session this is."""
        return await self._auth.sessions.principal(secret)

    async def of_token(self, secret: str) -> Principal:
        """Return whose API token this is."""
        return await self._auth.tokens.principal(secret)

    async def bootstrap_link(self) -> str | None:
        """Make the one-time link for the first admin, or `None` when there is one."""
        secret = await self._auth.accounts.bootstrap()
        return self._link(secret) if secret else None

    async def _refused(self, error: AuthError, address: str) -> None:
        kind, detail = m.AuditKind.SIGN_IN_FAILED, {"address": address, "reason": error.reason}
        if error.person is None:
            # A name that nobody has may be a password in the wrong field: it is not kept.
            await self._core.strangers.refused(kind, address=address, detail=detail)
            return
        async with self._core.database.write() as tx:
            await self._core.audit.append(tx, kind, subject=error.person, detail=detail)

    # -- for somebody --

    def me(self, caller: Caller) -> m.Me:
        """Say who is calling."""
        return me(caller.principal)

    async def everybody(self, caller: Caller) -> list[m.Person]:
        """List everybody."""
        return [_person(record) for record in await self._auth.accounts.people(caller.principal)]

    async def invite(self, caller: Caller, request: m.InvitationRequest) -> m.Invitation:
        """Invite a person; the link is shown once."""
        roles = frozenset(_one_of(Role, role, "roles") for role in request.roles)
        valid = timedelta(seconds=request.valid_s)
        with acting(caller):
            invited, secret = await self._auth.accounts.invite(caller.principal, request.name, roles, valid)
        return m.Invitation(
            link=self._link(secret), name=invited.name, roles=sorted(invited.roles), expires=invited.created + valid
        )

    async def disable(self, caller: Caller, person: str) -> m.Person:
        """Disable a person; what this person has running is looked at again."""
        try:
            with acting(caller):
                return _person(await self._auth.accounts.disable(caller.principal, person))
        finally:
            # Also when the caller has gone meanwhile: what was begun is stored whole before that is told here.
            self._core.reactions.tell()

    async def tokens(self, caller: Caller) -> list[m.Token]:
        """Return one's own tokens."""
        return [_token(record) for record in await self._auth.tokens.of(caller.principal)]

    async def create_token(self, caller: Caller, request: m.TokenRequest) -> m.Token:
        """Make a token; its secret is shown once."""
        wish = TokenWish(
            name=request.name,
            scopes=frozenset(_one_of(Scope, scope, "scopes") for scope in request.scopes),
            valid=timedelta(seconds=request.valid_s),
            agent=request.agent,
        )
        with acting(caller):
            record, secret = await self._auth.tokens.make(caller.principal, wish)
        return _token(record, secret)

    async def revoke_token(self, caller: Caller, token: str) -> None:
        """End a token."""
        with acting(caller):
            await self._auth.tokens.revoke(caller.principal, token)

    def _link(self, secret: str) -> str:
        # After `#`, so that it is never sent to a server or written to its log.
        return f"{self._public_url}/accept#{secret}"


def me(principal: Principal) -> m.Me:
    """Show a principal."""
    return m.Me(
        id=principal.id,
        name=principal.name,
        roles=sorted(principal.roles),
        scopes=sorted(principal.scopes),
        session=principal.session,
        agent=principal.agent,
    )


def _session(signed_in: SignedIn) -> m.Session:
    return m.Session(secret=signed_in.secret, expires=signed_in.expires, me=me(signed_in.principal))


def _person(record: PersonRecord) -> m.Person:
    return m.Person(
        id=record.id, name=record.name, roles=sorted(record.roles), state=record.state, created=record.created
    )


def _token(record: TokenRecord, secret: str | None = None) -> m.Token:
    return m.Token(
        id=record.id,
        name=record.name,
        scopes=sorted(record.scopes),
        agent=record.agent,
        created=record.created,
        expires=record.expires,
        last_used=record.last_used,
        secret=secret,
    )


def _one_of(kind: type[_Named], name: str, field: str) -> _Named:
    try:
        return kind(name)
    except ValueError as error:
        known = ", ".join(kind)
        raise ServiceError(
            Code.INVALID_REQUEST, f"`{name[:60]}` is unknown; known are {known}", fields=(field,)
        ) from error
