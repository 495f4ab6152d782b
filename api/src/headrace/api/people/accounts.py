"""People as the doors see them: signing in, invitations, API tokens. The rules are `auth`'s."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError

from headrace.api.caller import Caller, acting, coming_from
from headrace.api.core import Core
from headrace.api.data_folder import BOOTSTRAP_LINK
from headrace.api.durable import place_in_words, sync_folder
from headrace.api.errors import Code, ServiceError
from headrace.api.paging import Moment, page_of
from headrace.api.people.issuers import check_bindings, check_link, issuers_here
from headrace.api.people.proofs import Proofs, assertion, challenge_view
from headrace.api.store_trouble import Trouble, trouble_of
from headrace.auth import (
    TOKEN_SCOPES,
    Arrived,
    AuthCode,
    Authenticator,
    AuthError,
    Begun,
    DirectoryAway,
    GroupBinding,
    IdentityRecord,
    PersonRecord,
    Principal,
    ProvenThere,
    ProviderFailed,
    RightsChange,
    Role,
    Scope,
    SignedIn,
    TokenRecord,
    TokenWish,
    is_access_token,
)
from headrace.client import models as m

_log = logging.getLogger(__name__)

LEAVERS = "look who has left "
"""How the work is called that looks for leavers; the issuer follows."""
_AGAIN = timedelta(days=3)
_REFUSED = frozenset(
    {
        AuthCode.SIGN_IN_REFUSED,
        AuthCode.INVITATION_REFUSED,
        AuthCode.NO_ROLE,
        AuthCode.PASSWORD_EXPIRED,
        AuthCode.PROVIDER_PROOF_REFUSED,
        AuthCode.TOO_MANY_ATTEMPTS,
    }
)
"""What is audited of those who want to come in."""
_Named = TypeVar("_Named", Role, Scope)


class People:
    """Local people of one service."""

    def __init__(self, core: Core, authenticator: Authenticator, proofs: Proofs, public_url: str) -> None:
        """Sign people in with `authenticator`; links lead to `public_url`."""
        self._proofs = proofs
        self._core = core
        self._auth = authenticator
        self._public_url = public_url

    # -- before there is a principal --

    async def sign_in(self, request: m.SignIn, address: str) -> m.Session:
        """Start a session; a refused try is audited, too (tries at a person are throttled)."""
        try:
            with coming_from(address):
                return _session(await self._auth.sign_in(request.name, request.password, address))
        except AuthError as error:
            if error.code in _REFUSED:
                await self._refused(error, address)
            raise

    def ask_passkey(self) -> m.PasskeyChallenge:
        """Return the challenge with which a passkey signs in."""
        return challenge_view(self._auth.passkeys.ask_to_sign_in())

    async def sign_in_by_passkey(self, given: m.PasskeyAnswer, address: str) -> m.Session:
        """Start a session with a passkey; a refused try is audited."""
        async with self._arriving(address):
            return _session(await self._auth.passkeys.sign_in(assertion(given), address))

    async def invited(self, request: m.InvitationLook, address: str) -> m.Invited:
        """Say whom a one-time link invites."""
        return m.Invited(name=await self._auth.passwords.invited(request.token, address))

    async def accept_invitation(self, request: m.AcceptInvitation, address: str) -> m.Session:
        """Redeem a one-time link and start a session; a link that is refused is audited."""
        async with self._arriving(address):
            accepted = await self._auth.passwords.accept_invitation(
                request.token, request.password, request.name, address
            )
        # What waited for this account was canceled with it.
        self._core.reactions.tell()
        await asyncio.to_thread(self._remove_used_link, request.token)
        return _session(accepted)

    def _remove_used_link(self, token: str) -> None:
        """Remove the file of the first administrator's link, or of one who recovers, once that link was used."""
        path = self._core.settings.data / BOOTSTRAP_LINK
        try:
            if path.read_text(encoding="utf-8").strip().endswith(f"#{token}"):
                path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("the one-time link was used, and its file can't be removed: %s", place_in_words(error))

    def ways(self) -> m.SignInWays:
        """Say at which providers people may sign in."""
        return m.SignInWays(
            providers=[
                m.Provider(id=one.id, name=one.name, device=one.device_sign_in) for one in self._auth.providers.issuers
            ],
            passkeys=party.origin if (party := self._auth.passkeys.party) else None,
            directory=bool(self._auth.directory_issuers),
        )

    async def begin_at(self, provider: str, path: str) -> Begun:
        """Begin a sign-in at a provider that goes on at a path of this service."""
        return await self._auth.oidc.begin(provider, path)

    async def begin_proof_at(self, secret: str, provider: str, kept: str) -> Begun:
        """Begin a fresh sign-in at a provider that proves something, in the browser of a session."""
        return await self._auth.oidc_proof.begin(await self.of_session(secret), provider, kept)

    async def come_back(
        self, provider: str, kept: str, answer: Mapping[str, str], address: str
    ) -> tuple[m.Session, str] | ProvenThere:
        """Take whom a provider sends back: start a session and say where it goes on, or return what that proves.

        A refusal is audited.
        """
        async with self._arriving(address):
            back = await self._auth.come_back(provider, kept, answer, address)
        return (_session(back.signed_in), back.next) if isinstance(back, Arrived) else back

    @asynccontextmanager
    async def _arriving(self, address: str) -> AsyncIterator[None]:
        try:
            with coming_from(address):
                yield
        except AuthError as error:
            if error.code in _REFUSED:
                await self._refused(error, address)
            raise

    async def begin_on_device(self, provider: str, address: str) -> m.DeviceSignIn:
        """Begin a sign-in at a provider, on another device."""
        async with self._arriving(address):
            begun = await self._auth.oidc_device.begin(provider, address)
        return m.DeviceSignIn(
            uri=begun.uri,
            whole_uri=begun.whole_uri,
            user_code=begun.user_code,
            interval_s=begun.interval_s,
            kept=begun.kept,
        )

    async def ask_device(self, provider: str, kept: str, address: str) -> m.DeviceAnswer:
        """Start a session of somebody who has signed in on another device; a refusal is audited."""
        async with self._arriving(address):
            signed_in = await self._auth.oidc_device.ask(provider, kept)
        return m.DeviceAnswer(session=_session(signed_in) if signed_in else None)

    async def sign_out(self, secret: str, address: str) -> m.SignedOut:
        """End a session, and say where its provider ends its own."""
        with coming_from(address):
            ended = await self._auth.sessions.end(secret)
        return m.SignedOut(elsewhere=await self._auth.oidc_sign_out.url(ended.issuer if ended else None))

    def check_provider(self, provider: str) -> None:
        """Raise `not_found` unless there is such a provider."""
        self._auth.providers.named(provider)

    async def signed_out_at(self, provider: str, token: str, address: str) -> None:
        """End the sessions that a provider says have ended there; a refused token is audited."""
        try:
            await self._auth.oidc_sign_out.told(provider, token)
        except AuthError as error:
            if error.code is AuthCode.SIGN_IN_REFUSED:
                await self._refused(error, address)
            raise

    async def close(self) -> None:
        """Write which sessions and tokens were used, and end."""
        await self._auth.close()

    def looks_for_leavers(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        """Name each directory and watched provider, with what looks there for who has left: none waits for another."""
        for issuer in self._auth.directory_watch.issuers:
            yield issuer, partial(self.look_for_leavers, issuer)
        for issuer in self._auth.oidc_watch.issuers:
            yield issuer, partial(self.ask_provider, issuer)

    def looks_at_issuers(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        """Name each directory and provider, with what looks whether people can sign in there."""
        for issuer in self._auth.issuer_watch.issuers:
            yield issuer, partial(self._auth.issuer_watch.look, issuer)

    async def look_for_leavers(self, issuer: str) -> None:
        """See who has left a directory or its groups; what they have running is looked at again.

        Raises `DirectoryAway` when something is not known or was not done, after the rest was: health tells it.
        """
        with _noted_leavers(issuer):
            looked = await self._auth.directory_watch.look(issuer)
        if looked.changed:
            self._core.reactions.tell()
        if looked.troubles:
            raise DirectoryAway(*looked.troubles)

    async def ask_provider(self, issuer: str) -> None:
        """See who has left a provider or its groups; what they have running is looked at again.

        Raises `ProviderFailed` when something is not known or was not done, after the rest was: health tells it.
        """
        with _noted_leavers(issuer):
            looked = await self._auth.oidc_watch.look(issuer)
        if looked.changed:
            self._core.reactions.tell()
        if looked.troubles:
            raise ProviderFailed("; ".join(looked.troubles))

    async def of_session(self, secret: str) -> Principal:
        """Return whose session this is."""
        return await self._auth.sessions.principal(secret)

    async def of_token(self, secret: str, resource: str = "") -> Principal:
        """Return whose API token this is, or whose access token of a provider for this service's `resource`."""
        if is_access_token(secret):
            return await self._auth.oidc_tokens.principal(secret, resource)
        return await self._auth.tokens.principal(secret)

    @property
    def token_issuers(self) -> Sequence[str]:
        """The providers whose access tokens count here."""
        return [issuer.url for issuer in self._auth.oidc_tokens.issuers]

    async def seal_passwords_of_before(self, marker: Path) -> None:
        """Seal what a version without seals wrote, once in the life of a data folder: `marker` says that it was done.

        The marker is no row: whoever only writes to the database can't have another hash sealed.
        """
        if await asyncio.to_thread(marker.exists):
            return
        await self._auth.passwords.seal_those_of_before()
        await asyncio.to_thread(marker.touch, mode=0o600)
        await asyncio.to_thread(sync_folder, marker.parent)

    async def bootstrap_link(self, *, recover: bool = False) -> str | None:
        """Make the one-time link for the first admin, or `None` when there is one (`recover`: also then)."""
        secret = await self._auth.accounts.bootstrap(recover=recover)
        return self._link(secret) if secret else None

    async def _refused(self, error: AuthError, address: str) -> None:
        proof = error.code is AuthCode.PROVIDER_PROOF_REFUSED
        kind = m.AuditKind.PROOF_FAILED if proof else m.AuditKind.SIGN_IN_FAILED
        detail = {"address": address, "reason": error.reason}
        if error.person is None or error.code is AuthCode.TOO_MANY_ATTEMPTS:
            # A name that nobody has may be a password in the wrong field: it is not kept. Who is throttled may try on
            # as often as they like.
            await self._core.strangers.refused(kind, address=address, subject=error.person or "", detail=detail)
            return
        async with self._core.database.write() as tx:
            await self._core.audit.append(tx, kind, subject=error.person, detail=detail)

    # -- for somebody --

    def me(self, caller: Caller) -> m.Me:
        """Say who is calling."""
        return me(caller.principal).model_copy(update={"console": self._public_url})

    async def page(self, caller: Caller, *, after: str | None, limit: int) -> m.Page[m.Person]:
        """List people, oldest first, after one of them if one is named."""
        found = await self._auth.accounts.people(caller.principal, after=after, limit=limit + 1)
        theirs = await self._identities(caller, *(one.id for one in found))
        return page_of([_person(record, theirs) for record in found], limit, lambda person: person.id)

    async def invite(self, caller: Caller, request: m.InvitationRequest) -> m.Invitation:
        """Invite a person; the link is shown once."""
        roles = frozenset(_one_of(Role, role, "roles") for role in request.roles)
        valid = timedelta(seconds=request.valid_s)
        check = self._auth.accounts.check_inviting(caller.principal, request.name, roles)
        await self._proofs.of(caller, "invite", "", request, check)
        with acting(caller):
            invited, secret = await self._auth.accounts.invite(caller.principal, request.name, roles, valid)
        return m.Invitation(
            link=self._link(secret), name=invited.name, roles=sorted(invited.roles), expires=invited.created + valid
        )

    async def create_service_account(self, caller: Caller, request: m.ServiceAccountRequest) -> m.Person:
        """Make a service account."""
        roles = frozenset(_one_of(Role, role, "roles") for role in request.roles)
        check = self._auth.accounts.check_making_service(caller.principal, request.name, roles)
        await self._proofs.of(caller, "create_service_account", "", request, check)
        with acting(caller):
            made = await self._auth.accounts.make_service(caller.principal, request.name, roles)
            return _person(made, {})

    async def invite_again(self, caller: Caller, person: str, proof: m.Proven) -> m.Invitation:
        """Give a person a new one-time link, shown once."""
        elsewhere = sorted({one.issuer for one in (await self._identities(caller, person)).get(person, ())})
        check = self._auth.accounts.check_inviting_again(caller.principal, person, elsewhere)
        await self._proofs.of(caller, "invite_again", person, proof, check)
        with acting(caller):
            known, secret = await self._auth.accounts.invite_again(caller.principal, person, _AGAIN)
        expires = self._core.clock() + _AGAIN
        return m.Invitation(link=self._link(secret), name=known.name, roles=sorted(known.roles), expires=expires)

    async def change_password(self, caller: Caller, change: m.PasswordChange) -> None:
        """Replace one's own password."""
        async with self._proofs.refusals_audited(caller):
            with acting(caller):
                await self._auth.passwords.change(caller.principal, change.password, change.new_password)

    async def sessions(self, caller: Caller, person: str | None) -> list[m.OpenSession]:
        """List one's own sessions, or a person's."""
        return [
            m.OpenSession(
                id=one.id,
                created=one.created,
                expires=one.expires,
                last_used=one.last_used,
                method=one.method,
                current=one.id == caller.principal.session_id,
            )
            for one in await self._auth.sessions.of(caller.principal, person)
        ]

    async def end_session(self, caller: Caller, session: str, person: str | None) -> None:
        """End one of one's own sessions, or of a person's."""
        with acting(caller):
            await self._auth.sessions.end_one(caller.principal, session, person)

    async def disable(self, caller: Caller, person: str) -> m.Person:
        """Disable a person; what this person has running is looked at again."""
        with self._changing(caller):
            disabled = await self._auth.accounts.disable(caller.principal, person)
            return _person(disabled, await self._identities(caller, disabled.id))

    async def enable(self, caller: Caller, person: str, proof: m.Proven) -> m.Person:
        """Let somebody disabled act again."""
        check = self._auth.rights.check_enabling(caller.principal, person)
        await self._proofs.of(caller, "enable_person", person, proof, check)
        with self._changing(caller):
            enabled = await self._auth.rights.enable(caller.principal, person)
            return _person(enabled, await self._identities(caller, enabled.id))

    async def update(self, caller: Caller, person: str, update: m.PersonUpdate) -> m.Person:
        """Replace what is granted to a person; what this person has running is looked at again."""
        roles = None if update.roles is None else frozenset(_one_of(Role, role, "roles") for role in update.roles)
        groups = None if update.groups is None else frozenset(update.groups)
        check = self._auth.rights.check_granting(caller.principal, person, roles, groups)
        await self._proofs.of(caller, "update_person", person, update, check)
        with self._changing(caller):
            granted = await self._auth.rights.grant(caller.principal, person, roles, groups)
            return _person(granted, await self._identities(caller, granted.id))

    async def link(self, caller: Caller, person: str, link: m.IdentityLink) -> m.Person:
        """Make an identity this person's."""
        check_link(link, issuers_here(self._auth))
        check = self._auth.rights.check_linking(caller.principal, person, link.issuer, link.subject)
        await self._proofs.of(caller, "link_identity", person, link, check)
        with self._changing(caller):
            linked = await self._auth.rights.link(caller.principal, person, link.issuer, link.subject)
            return _person(linked, await self._identities(caller, linked.id))

    async def unlink(self, caller: Caller, person: str, link: m.IdentityLink) -> m.Person:
        """Take an identity from this person."""
        with self._changing(caller):
            left = await self._auth.rights.unlink(caller.principal, person, link.issuer, link.subject)
            return _person(left, await self._identities(caller, left.id))

    async def group_bindings(self, caller: Caller) -> m.GroupBindings:
        """List what groups give and what is proposed."""
        return await self._bindings(caller)

    async def propose_groups(self, caller: Caller, request: m.GroupBindingsRequest) -> m.GroupBindings:
        """Propose what groups give, or say whose rights that would change."""
        bindings = [
            GroupBinding(
                issuer=one.issuer,
                group=one.group,
                roles=frozenset(_one_of(Role, role, "bindings") for role in one.roles),
                groups=frozenset(one.groups),
            )
            for one in request.bindings
        ]
        present = await self._bindings(caller)
        known = [*present.bindings, *(present.proposed.bindings if present.proposed else ())]
        check_bindings(bindings, {(one.issuer, one.group) for one in known}, present.issuers)
        changes = await self._auth.rights.preview(caller.principal, bindings)
        if not request.dry_run:
            with acting(caller):
                await self._auth.rights.propose(caller.principal, bindings)
        return await self._bindings(caller, changes)

    async def publish_groups(self, caller: Caller, proposal: str, proof: m.Proven) -> m.GroupBindings:
        """Let groups give what another administrator has proposed."""
        proposed = await self._auth.rights.proposal(caller.principal)
        agreed = proposed.digest if proposed else ""
        check = self._auth.rights.check_publishing(caller.principal, proposal, agreed)
        await self._proofs.of(caller, "publish_group_bindings", f"{proposal} {agreed}", proof, check)
        with self._changing(caller):
            changes = await self._auth.rights.publish(caller.principal, proposal, agreed)
        return await self._bindings(caller, changes)

    async def _bindings(self, caller: Caller, changes: Sequence[RightsChange] = ()) -> m.GroupBindings:
        rights, by = self._auth.rights, caller.principal
        proposed = await rights.proposal(by)
        shown = (
            None
            if proposed is None
            else m.GroupProposal(
                id=proposed.id,
                author=proposed.author,
                author_name=proposed.author_name,
                created=proposed.created,
                bindings=list(map(_binding, proposed.bindings)),
                changes=list(map(_change, await rights.preview(by, proposed.bindings))),
            )
        )
        bindings = list(map(_binding, await rights.bindings(by)))
        here = issuers_here(self._auth)
        return m.GroupBindings(bindings=bindings, changes=list(map(_change, changes)), proposed=shown, issuers=here)

    @contextmanager
    def _changing(self, caller: Caller) -> Iterator[None]:
        """Change a person's rights as the caller; what this person has running is looked at again."""
        try:
            with acting(caller):
                yield
        finally:
            # Also when the caller has gone meanwhile: what was begun is stored whole before that is told here.
            self._core.reactions.tell()

    async def _identities(self, caller: Caller, *people: str) -> Mapping[str, Sequence[IdentityRecord]]:
        theirs = defaultdict[str, list[IdentityRecord]](list)
        for identity in await self._auth.rights.identities_of(caller.principal, *people):
            theirs[identity.person].append(identity)
        return theirs

    async def tokens(self, caller: Caller, *, everybody: bool, after: str | None, limit: int) -> m.Page[m.Token]:
        """List one's own tokens, or everybody's, oldest first."""
        tokens, place = self._auth.tokens, Moment.read(after)
        listed = tokens.of_all if everybody else tokens.of
        found = await listed(caller.principal, after=(place.at, place.id) if place else None, limit=limit + 1)
        page = page_of(found, limit, lambda record: Moment(record.created, record.id))
        return m.Page(items=[_token(record) for record in page], next=page.next)

    async def create_token(self, caller: Caller, request: m.TokenRequest) -> m.Token:
        """Make a token; its secret is shown once."""
        wish = TokenWish(
            name=request.name,
            scopes=frozenset(_one_of(Scope, scope, "scopes", TOKEN_SCOPES) for scope in request.scopes),
            valid=timedelta(seconds=request.valid_s),
            agent=request.agent,
            owner=request.person,
        )
        check = self._auth.tokens.check_making(caller.principal, wish)
        await self._proofs.of(caller, "create_token", "", request, check)
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
        groups=sorted(principal.groups),
        method=principal.method,
        factors=sorted(principal.factors),
        issuer=principal.issuer,
    )


@contextmanager
def _noted_leavers(issuer: str) -> Iterator[None]:
    """Say of a look that the store keeps from its end what that means for who has left."""
    try:
        yield
    except SQLAlchemyError as error:
        trouble = trouble_of(error)
        raise ServiceError(
            Code.STORE_FULL if trouble is Trouble.FULL else Code.STORE_FAILED,
            f"who has left {issuer} may be known and could not be suspended, because the service's store can't be "
            f"used: {trouble}. They go on until it can; {trouble.remedy}",
        ) from error


def _session(signed_in: SignedIn) -> m.Session:
    return m.Session(secret=signed_in.secret, expires=signed_in.expires, me=me(signed_in.principal))


def _person(record: PersonRecord, identities: Mapping[str, Sequence[IdentityRecord]]) -> m.Person:
    return m.Person(
        id=record.id,
        name=record.name,
        roles=sorted(record.roles),
        groups=sorted(record.groups),
        granted_roles=sorted(record.granted_roles),
        granted_groups=sorted(record.granted_groups),
        state=record.state,
        kind=record.kind,
        created=record.created,
        identities=[
            m.Identity(
                issuer=one.issuer,
                subject=one.subject,
                name=one.name,
                groups=sorted(one.groups),
                seen=one.seen,
                gone=one.gone,
            )
            for one in identities.get(record.id, ())
        ],
    )


def _binding(one: GroupBinding) -> m.GroupBinding:
    return m.GroupBinding(issuer=one.issuer, group=one.group, roles=sorted(one.roles), groups=sorted(one.groups))


def _change(one: RightsChange) -> m.RightsChange:
    return m.RightsChange(
        person=one.before.id,
        name=one.before.name,
        roles_before=sorted(one.before.roles),
        roles=sorted(one.after.roles),
        groups_before=sorted(one.before.groups),
        groups=sorted(one.after.groups),
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
        person=record.person,
        made_by=record.made_by,
        secret=secret,
    )


def _one_of(kind: type[_Named], name: str, field: str, may: Collection[_Named] | None = None) -> _Named:
    """Return what is called so; only what `may` be chosen is named as known."""
    try:
        return kind(name)
    except ValueError as error:
        known = ", ".join(one for one in kind if may is None or one in may)
        raise ServiceError(
            Code.INVALID_REQUEST, f"`{name[:60]}` is unknown; known are {known}", fields=(field,)
        ) from error
