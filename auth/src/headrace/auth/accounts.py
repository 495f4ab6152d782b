"""The people of a service, as administrators see them: invited, listed, disabled."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.passwords import check_name
from headrace.auth.principal import BOOTSTRAP_ROLES, SERVICE_ROLES, Principal, Role, Scope
from headrace.auth.secret_forms import Pepper, make_invitation
from headrace.auth.store import (
    InvitationRecord,
    LastAdmin,
    NameTaken,
    PeopleStore,
    PersonRecord,
    everybody,
    is_nameless,
)

_TAKEN = (
    "Somebody has this name already; choose another. Whose invitation was lost or has expired gets a new one with "
    "`headrace people reinvite NAME`."
)


class Accounts:
    """Makes and changes people and service accounts: always in an admin's own session, never with a token."""

    def __init__(
        self, store: PeopleStore, clock: Callable[[], datetime], pepper: Pepper, bootstrap_valid: timedelta
    ) -> None:
        """`clock` answers aware UTC times; the first admin's link is good for `bootstrap_valid`."""
        self._store = store
        self._clock = clock
        self._pepper = pepper
        self._bootstrap_valid = bootstrap_valid

    async def bootstrap(self, *, recover: bool = False) -> str | None:
        """Make the one-time secret for the first admin, or `None` when there is an active one. Older links die.

        Nobody stays of them: whom such a link was for has no name yet.

        `recover`: also when there is one, for the owner of the data, whom no admin can help.
        """
        people = [one async for one in everybody(self._store)]
        for person in people:
            if is_nameless(person):
                await self._store.forget_nameless(person.id)
        if not recover and any(person.state == "active" and Role.ADMIN in person.roles for person in people):
            return None
        person_id = new_person_id()
        _, secret = await self._invite(person_id, person_id, BOOTSTRAP_ROLES, self._bootstrap_valid)
        return secret

    async def invite(
        self, by: Principal, name: str, roles: frozenset[Role], valid: timedelta
    ) -> tuple[PersonRecord, str]:
        """Invite a person: the record and the one-time secret of the link. Raises `not_allowed`, `name_refused`."""
        name = await self.check_inviting(by, name, roles)
        return await self._invite(new_person_id(), name, roles, valid, by)

    async def check_inviting(self, by: Principal, name: str, roles: frozenset[Role]) -> str:
        """Refuse what `invite` would refuse, before a proof is asked for; answers the name as it is kept."""
        need_admin(by)
        if not roles:
            raise AuthError(AuthCode.NOT_ALLOWED, "A person needs at least one role.")
        return await self._free(name)

    async def make_service(self, by: Principal, name: str, roles: frozenset[Role]) -> PersonRecord:
        """Make an account that owns tokens of pipelines and never signs in. Raises `not_allowed`, `name_refused`."""
        record = PersonRecord(
            id=new_person_id(),
            name=await self.check_making_service(by, name, roles),
            roles=roles,
            granted_roles=roles,
            state="active",
            created=self._clock(),
            kind="service",
        )
        await self._add(record)
        return record

    async def check_making_service(self, by: Principal, name: str, roles: frozenset[Role]) -> str:
        """Refuse what `make_service` would refuse, before a proof is asked for; answers the name as it is kept."""
        need_admin(by)
        check_service_roles(roles)
        if not roles:
            raise AuthError(AuthCode.NOT_ALLOWED, "A service account needs at least one role.")
        return await self._free(name)

    async def invite_again(self, by: Principal, person: str, valid: timedelta) -> tuple[PersonRecord, str]:
        """Give a person a new one-time link: to join, to come back, or to choose another password.

        Older links die. Until it is used, nothing else changes for somebody active. Raises `not_allowed`, `not_found`.
        """
        known = await self.check_inviting_again(by, person)
        made, now = make_invitation(person), self._clock()
        invitation = InvitationRecord(
            hash=self._pepper.hash(made.text), person=person, created=now, expires=now + valid, made_by=by.id
        )
        return await self._store.renew_invitation(invitation) or known, made.text

    async def check_inviting_again(self, by: Principal, person: str, elsewhere: Sequence[str] = ()) -> PersonRecord:
        """Refuse what `invite_again` would refuse, before a proof is asked for; `elsewhere`: where they are known."""
        need_admin(by)
        if person == by.id:
            raise AuthError(AuthCode.NOT_ALLOWED, "This is you; change your password instead.")
        known = await self._store.person(person)
        if known is None:
            raise AuthError(AuthCode.NOT_FOUND, "There is no such person.")
        if known.kind == "service":
            raise AuthError(AuthCode.NOT_ALLOWED, "A service account never signs in; make another one.")
        if not known.local and elsewhere:
            where = " and ".join(elsewhere)
            raise AuthError(AuthCode.NOT_ALLOWED, f"Their password is kept at {where}: they change it there.")
        if not known.local or known.name == known.id:
            raise AuthError(AuthCode.NOT_ALLOWED, "This person has no name to sign in with here; invite them by one.")
        return known

    async def people(self, by: Principal, *, after: str | None = None, limit: int = 10_000) -> Sequence[PersonRecord]:
        """List at most `limit` people, oldest first, after one of them if one is named; raises `not_allowed`."""
        if Scope.ADMIN not in by.scopes:
            raise AuthError(AuthCode.NOT_ALLOWED, "Only an admin sees all people.")
        return await self._store.people(after=after, limit=limit)

    async def disable(self, by: Principal, person: str) -> PersonRecord:
        """Disable a person: their sessions and tokens die at once. Raises `not_allowed`, `not_found`."""
        need_admin(by)
        if by.id == person:
            raise AuthError(AuthCode.NOT_ALLOWED, "You can't disable yourself; ask another admin.")
        with an_admin_stays():
            disabled = await self._store.disable(person)
        if disabled is None:
            raise AuthError(AuthCode.NOT_FOUND, "There is no such person.")
        return disabled

    async def _invite(
        self, person: str, name: str, roles: frozenset[Role], valid: timedelta, by: Principal | None = None
    ) -> tuple[PersonRecord, str]:
        made, now = make_invitation(person), self._clock()
        record = PersonRecord(id=person, name=name, roles=roles, granted_roles=roles, state="invited", created=now)
        invitation = InvitationRecord(
            hash=self._pepper.hash(made.text),
            person=person,
            created=now,
            expires=now + valid,
            made_by=by.id if by else None,
        )
        await self._add(record, invitation)
        return record, made.text

    async def _free(self, name: str) -> str:
        """Answer a name as it is kept; raises `name_refused`, also if it is somebody's."""
        kept = check_name(name)
        if await self._store.person_named(kept) is not None:
            raise AuthError(AuthCode.NAME_REFUSED, _TAKEN)
        return kept

    async def _add(self, record: PersonRecord, invitation: InvitationRecord | None = None) -> None:
        try:
            await self._store.add_person(record, invitation)
        except NameTaken as error:
            raise AuthError(AuthCode.NAME_REFUSED, _TAKEN) from error


def check_service_roles(roles: frozenset[Role]) -> None:
    """Refuse roles that a service account can't have; raises `not_allowed`."""
    if beyond := ", ".join(sorted(roles - SERVICE_ROLES)):
        raise AuthError(AuthCode.NOT_ALLOWED, f"A service account never is {beyond}: that is for people.")


def need_admin(by: Principal) -> None:
    """Demand an admin in their own session; raises `not_allowed`."""
    if Scope.ADMIN not in by.scopes or not by.session:
        raise AuthError(
            AuthCode.NOT_ALLOWED,
            "Only an administrator may do this, in their own session: ask one, or sign in as one. A token does not do.",
        )


@contextmanager
def an_admin_stays() -> Iterator[None]:
    """Refuse a change that takes the last administrator away; raises `not_allowed`."""
    try:
        yield
    except LastAdmin as error:
        raise AuthError(
            AuthCode.NOT_ALLOWED, "Nobody would administrate this service any more; make another admin first."
        ) from error


def new_person_id() -> str:
    """Make the id of a new person."""
    return f"pn_{secrets.token_hex(16)}"
