"""Who may do what: granted to a person, bound to a group of an issuer, and carried by linked identities."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from headrace.auth.accounts import an_admin_stays, check_service_roles, need_admin
from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.grants import by_group, with_rights
from headrace.auth.principal import Principal, Role, Scope
from headrace.auth.store import (
    GroupBinding,
    GroupProposal,
    IdentityRecord,
    IdentityStore,
    PeopleStore,
    PersonRecord,
    StaysOut,
    every_identity,
    everybody,
)

_MAX_NAMED = 5
_GONE = "This is not proposed any more; look again at what is."
_YOURSELF = "This would take the role of an admin from yourself; ask another admin."


@dataclass(frozen=True, slots=True)
class RightsChange:
    """A person whose rights a change of bindings changes."""

    before: PersonRecord
    after: PersonRecord


class Rights:
    """Changes what people may do. Every change is an admin's, in their own session; nobody demotes themselves."""

    def __init__(self, people: PeopleStore, identities: IdentityStore, clock: Callable[[], datetime]) -> None:
        """`clock` answers aware UTC times."""
        self._people = people
        self._identities = identities
        self._clock = clock

    async def identities_of(self, by: Principal, *people: str) -> Sequence[IdentityRecord]:
        """List who these people are elsewhere; raises `not_allowed`."""
        _may_see(by)
        return await self._identities.identities_of(*people)

    async def grant(
        self, by: Principal, person: str, roles: frozenset[Role] | None, groups: frozenset[str] | None
    ) -> PersonRecord:
        """Replace what is granted to a person (`None`: as it is). Raises `not_allowed`, `not_found`."""
        await self.check_granting(by, person, roles, groups)
        with an_admin_stays():
            granted = await self._identities.grant(person, roles, groups)
        return granted or await self._known(person)

    async def check_granting(
        self, by: Principal, person: str, roles: frozenset[Role] | None, groups: frozenset[str] | None
    ) -> None:
        """Refuse what `grant` would refuse, before a proof is asked for. Raises `not_allowed`, `not_found`."""
        need_admin(by)
        known = await self._known(person)
        _check_groups(groups or frozenset())
        if known.kind == "service":
            check_service_roles(roles or frozenset())
        if person == by.id and roles is not None and Role.ADMIN in known.granted_roles - roles:
            raise AuthError(AuthCode.NOT_ALLOWED, _YOURSELF)

    async def enable(self, by: Principal, person: str) -> PersonRecord:
        """Let somebody disabled, who signs in elsewhere or never, act again. Raises `not_allowed`, `not_found`.

        Their sessions, tokens and passkeys stay ended. Who has a name of their own here gets a one-time link instead.
        """
        await self.check_enabling(by, person)
        return await self._identities.enable(person) or await self._known(person)

    async def check_enabling(self, by: Principal, person: str) -> None:
        """Refuse what `enable` would refuse, before a proof is asked for. Raises `not_allowed`, `not_found`."""
        need_admin(by)
        known = await self._known(person)
        if known.state != "disabled":
            raise AuthError(AuthCode.NOT_ALLOWED, f"This person is {known.state}, not disabled.")
        if known.kind == "person" and known.local and known.name != known.id:
            raise AuthError(
                AuthCode.NOT_ALLOWED,
                f"Their password is gone: give them a new one-time link with `headrace people reinvite {person}`.",
            )

    async def bindings(self, by: Principal) -> Sequence[GroupBinding]:
        """List what groups give; raises `not_allowed`."""
        _may_see(by)
        return await self._identities.bindings()

    async def preview(self, by: Principal, bindings: Sequence[GroupBinding]) -> Sequence[RightsChange]:
        """Answer whose rights would be others with these bindings; raises `not_allowed`."""
        _may_see(by)
        bound = by_group(bindings)
        theirs = defaultdict[str, list[IdentityRecord]](list)
        async for identity in every_identity(self._identities):
            theirs[identity.person].append(identity)
        changes = []
        async for person in everybody(self._people):
            after = with_rights(person, theirs[person.id], bound)
            if after != person:
                changes.append(RightsChange(person, after))
        return changes

    async def proposal(self, by: Principal) -> GroupProposal | None:
        """Return what is proposed that groups give; raises `not_allowed`."""
        _may_see(by)
        return await self._identities.proposal()

    async def propose(self, by: Principal, bindings: Sequence[GroupBinding]) -> GroupProposal | None:
        """Propose what all groups give, for another admin to publish, in place of what was proposed before.

        What holds already withdraws that, and is no proposal. Raises `not_allowed`.
        """
        need_admin(by)
        for one in bindings:
            _check_groups(one.groups)
        if len(by_group(bindings)) < len(bindings):
            raise AuthError(AuthCode.NOT_ALLOWED, "A group of an issuer is bound once; say all that it gives there.")
        if by_group(bindings) == by_group(await self._identities.bindings()):
            await self._identities.propose(None)
            return None
        made = f"gp_{secrets.token_hex(8)}"
        proposal = GroupProposal(id=made, author=by.id, created=self._clock(), bindings=tuple(bindings))
        await self._identities.propose(proposal)
        return await self._identities.proposal()

    async def publish(self, by: Principal, proposal: str, digest: str) -> Sequence[RightsChange]:
        """Let groups give what somebody else has proposed, by id and digest, and answer whose rights changed.

        Raises `not_allowed`, `not_found`.
        """
        changes = await self.check_publishing(by, proposal, digest)
        with an_admin_stays():
            if not await self._identities.publish(proposal):
                raise AuthError(AuthCode.NOT_FOUND, _GONE)
        return changes

    async def check_publishing(self, by: Principal, proposal: str, digest: str) -> Sequence[RightsChange]:
        """Answer whose rights a proposal would change that `by` may publish; raises what `publish` does."""
        need_admin(by)
        proposed = await self._identities.proposal()
        if proposed is None or (proposed.id, proposed.digest) != (proposal, digest):
            raise AuthError(AuthCode.NOT_FOUND, _GONE)
        if proposed.author == by.id:
            raise AuthError(AuthCode.NOT_ALLOWED, await self._somebody_else(by))
        changes = await self.preview(by, proposed.bindings)
        if any(one.before.id == by.id and Role.ADMIN not in one.after.roles for one in changes):
            raise AuthError(AuthCode.NOT_ALLOWED, _YOURSELF)
        return changes

    async def _somebody_else(self, by: Principal) -> str:
        admins = [one async for one in everybody(self._people) if one.state == "active" and Role.ADMIN in one.roles]
        able = sorted(one.name for one in admins if one.id != by.id)[:_MAX_NAMED]
        whom = f"ask {', '.join(able)}" if able else "invite one with `headrace invite NAME --role admin`"
        return f"You proposed this, so another administrator publishes it: {whom}."

    async def link(self, by: Principal, person: str, issuer: str, subject: str) -> PersonRecord:
        """Make an identity a person's; whose it was loses it, and their sessions. Raises `not_allowed`, `not_found`."""
        await self.check_linking(by, person, issuer, subject)
        with an_admin_stays(), _who_is_disabled_stays_out():
            linked = await self._identities.link(person, issuer, subject, self._clock())
        return linked or await self._known(person)

    async def check_linking(self, by: Principal, person: str, issuer: str, subject: str) -> None:
        """Refuse what `link` would refuse, before a proof is asked for. Raises `not_allowed`, `not_found`."""
        need_admin(by)
        known = await self._identities.identity(issuer, subject)
        if known is not None and known.person == by.id:
            raise AuthError(AuthCode.NOT_ALLOWED, "This identity is your own; ask another admin.")
        await self._known(person)
        if known is not None and known.person != person and (await self._known(known.person)).state == "disabled":
            with _who_is_disabled_stays_out():
                raise StaysOut

    async def unlink(self, by: Principal, person: str, issuer: str, subject: str) -> PersonRecord:
        """Take an identity from a person, whose sessions end. Raises `not_allowed`, `not_found`.

        The identity of somebody disabled stays theirs.
        """
        need_admin(by)
        if person == by.id:
            raise AuthError(AuthCode.NOT_ALLOWED, "This identity is your own; ask another admin.")
        known = await self._identities.identity(issuer, subject)
        if known is None or known.person != person:
            raise AuthError(AuthCode.NOT_FOUND, "This person has no such identity.")
        with an_admin_stays(), _who_is_disabled_stays_out():
            left = await self._identities.unlink(issuer, subject)
        return left or await self._known(person)

    async def _known(self, person: str) -> PersonRecord:
        record = await self._people.person(person)
        if record is None:
            raise AuthError(AuthCode.NOT_FOUND, "There is no such person.")
        return record


@contextmanager
def _who_is_disabled_stays_out() -> Iterator[None]:
    """Refuse what takes an identity from somebody disabled: its holder would come back as somebody else."""
    try:
        yield
    except StaysOut as error:
        raise AuthError(
            AuthCode.NOT_ALLOWED, "Whose identity this is is disabled, and stays out by it; enable them first."
        ) from error


def _may_see(by: Principal) -> None:
    if Scope.ADMIN not in by.scopes:
        raise AuthError(AuthCode.NOT_ALLOWED, "Only an admin sees all people.")


def _check_groups(groups: frozenset[str]) -> None:
    """Refuse a group with the name of a role: who reads a policy must not take one for the other."""
    if mistaken := sorted(groups & set(Role)):
        raise AuthError(
            AuthCode.NOT_ALLOWED, f"`{mistaken[0]}` is a role; give it as one, or name the group otherwise."
        )
