"""API tokens: made by a person in a session, for pipelines and assistants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headrace.auth.accounts import need_admin
from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.passwords import check_name
from headrace.auth.principal import TOKEN_SCOPES, Principal, Scope, scopes_of
from headrace.auth.secret_forms import Pepper, make_token, token_id
from headrace.auth.store import MAX_TOKENS_A_PERSON, PeopleStore, TokenRecord, TooMany, require_active
from headrace.auth.uses import TOUCH_EVERY, Uses

_FULL = f"There are {MAX_TOKENS_A_PERSON} tokens already; revoke one first."


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWish:
    """An API token to be made: good for `valid`, for the assistant `agent` if it is one's.

    `owner` is the id of a service account; without it the token is its maker's own.
    """

    name: str
    scopes: frozenset[Scope]
    valid: timedelta
    agent: str | None = None
    owner: str | None = None


class Tokens:
    """Makes, knows and revokes API tokens."""

    def __init__(self, store: PeopleStore, clock: Callable[[], datetime], pepper: Pepper, uses: Uses) -> None:
        """`clock` answers aware UTC times."""
        self._store = store
        self._clock = clock
        self._pepper = pepper
        self._uses = uses

    async def principal(self, secret: str) -> Principal:
        """Answer whose API token this is and for which agent; raises `not_signed_in`. Never a session."""
        id_, now = token_id(secret), self._clock()
        found = await self._store.whose_token(id_) if id_ else None
        if found is None:
            raise AuthError(AuthCode.NOT_SIGNED_IN, "malformed token" if id_ is None else f"unknown token {id_}")
        record, person = found
        if not self._pepper.fits(secret, record.hash):
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"wrong secret for token {record.id}")
        if now >= record.expires:
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"token {record.id} has expired")
        require_active(person)
        if record.last_used is None or now >= record.last_used + TOUCH_EVERY:
            self._uses.note(record.id, lambda: self._store.touch_token(record.id, now))
        return Principal(
            id=person.id,
            name=person.name,
            kind=person.kind,
            local=person.local,
            roles=person.roles,
            scopes=record.scopes & scopes_of(person.roles) & TOKEN_SCOPES,
            groups=person.groups,
            method="token",
            session=False,
            authenticated_at=now,
            agent=record.agent,
            token=record.id,
            token_made_by=record.made_by,
        )

    async def make(self, by: Principal, wish: TokenWish) -> tuple[TokenRecord, str]:
        """Make an API token of at most its owner's scopes: its record and secret.

        An admin makes those of service accounts, nobody those of other people. Raises `not_allowed`, `not_found`,
        `name_refused`.

        The names of tokens and assistants are held to the rule of people's names: they are shown where people decide.
        """
        wish = await self.check_making(by, wish)
        owner = wish.owner or by.id
        made, now = make_token(), self._clock()
        record = TokenRecord(
            id=made.id,
            hash=self._pepper.hash(made.text),
            person=owner,
            name=wish.name,
            scopes=wish.scopes,
            created=now,
            expires=now + wish.valid,
            agent=wish.agent,
            made_by=None if owner == by.id else by.id,
        )
        try:
            kept = await self._store.add_token(record)
        except TooMany as error:
            raise AuthError(AuthCode.NOT_ALLOWED, _FULL) from error
        if not kept:
            raise AuthError(AuthCode.NOT_ALLOWED, "Whose token this would be was disabled meanwhile.")
        return record, made.text

    async def check_making(self, by: Principal, wish: TokenWish) -> TokenWish:
        """Refuse what `make` would refuse, before a proof is asked for; answers the wish with its names as kept."""
        if not by.session:
            raise AuthError(AuthCode.NOT_ALLOWED, "Tokens are made in a person's own session, never with a token.")
        owner = wish.owner or by.id
        own = by.scopes if owner == by.id else await self._scopes_of_service(by, owner)
        if not wish.scopes or not wish.scopes <= own & TOKEN_SCOPES:
            beyond = ", ".join(sorted(wish.scopes - (own & TOKEN_SCOPES)))
            whose = "your own scopes" if owner == by.id else "the scopes of its account"
            might = ", ".join(scope for scope in Scope if scope in own & TOKEN_SCOPES)
            raise AuthError(
                AuthCode.NOT_ALLOWED, f"A token holds some of {whose} ({might}), and not {beyond or 'none of them'}."
            )
        agent = None if wish.agent is None else check_name(wish.agent)
        named = replace(wish, name=check_name(wish.name), agent=agent)
        if len(await self._store.tokens_of(owner)) >= MAX_TOKENS_A_PERSON:
            raise AuthError(AuthCode.NOT_ALLOWED, _FULL)
        return named

    async def _scopes_of_service(self, by: Principal, owner: str) -> frozenset[Scope]:
        need_admin(by)
        record = await self._store.person(owner)
        if record is None or record.kind != "service" or record.state != "active":
            raise AuthError(AuthCode.NOT_FOUND, "There is no such service account.")
        return scopes_of(record.roles)

    async def of(
        self, by: Principal, *, after: tuple[datetime, str] | None = None, limit: int = MAX_TOKENS_A_PERSON
    ) -> Sequence[TokenRecord]:
        """List at most `limit` of one's own tokens, oldest first, after a time and id if these are given."""
        own = await self._store.tokens_of(by.id)
        return [one for one in own if after is None or (one.created, one.id) > after][:limit]

    async def of_all(
        self, by: Principal, *, after: tuple[datetime, str] | None = None, limit: int = 10_000
    ) -> Sequence[TokenRecord]:
        """List at most `limit` of everybody's tokens, as one's own; raises `not_allowed`."""
        if Scope.ADMIN not in by.scopes:
            raise AuthError(AuthCode.NOT_ALLOWED, "Only an admin sees the tokens of others.")
        return await self._store.tokens_of_all(after=after, limit=limit)

    async def revoke(self, by: Principal, token: str) -> TokenRecord:
        """Revoke one's own token, or as an admin anybody's; raises `not_found`."""
        record = await self._store.token(token)
        if record is None or (record.person != by.id and Scope.ADMIN not in by.scopes):
            raise AuthError(AuthCode.NOT_FOUND, "There is no such token: `headrace token list` names them.")
        await self._store.delete_token(token)
        return record
