"""Signing in with a name and a password, and choosing the password with a one-time link."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, ParamSpec, TypeVar

from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts
from headrace.auth.passwords import (
    check_name,
    check_new,
    check_password,
    fold,
    hash_password,
    needs_rehash,
    password_fits,
)
from headrace.auth.places import Places
from headrace.auth.principal import Principal
from headrace.auth.secret_forms import Pepper, invitation_person
from headrace.auth.sessions import BY_PASSWORD, Sessions, Shown, SignedIn
from headrace.auth.store import (
    Grounds,
    InvitationRecord,
    NameTaken,
    PeopleStore,
    PersonRecord,
    active_person,
    everybody,
)
from headrace.auth.throttle import Limit, Throttle, network_of
from headrace.auth.turns import LineFull, Turns

MAX_HASHES_AT_ONCE: Final = 4
MAX_OF_STRANGERS: Final = 2
"""Of these: the others are for people in networks where they signed in before, for proofs, and for those invited."""
PAIR_LIMIT: Final = Limit(10, timedelta(minutes=15))
"""A name from one network; proofs of one person that were wrong."""
KNOWN_LIMIT: Final = Limit(100, timedelta(minutes=15))
"""A name from a network where its person signed in before: others may share the address, as behind a proxy."""
NETWORK_LIMIT: Final = Limit(200, timedelta(minutes=15))
PERSON_LIMIT: Final = Limit(100, timedelta(minutes=15))
LINK_LIMIT: Final = Limit(10, timedelta(minutes=15))
"""Passwords that are judged for one link, from wherever: to judge one may take half a second."""
PROOF_LIMIT: Final = Limit(300, timedelta(minutes=15))
"""Proofs of one person, right ones too: each takes its time of a processor."""
CHANGE_LIMIT: Final = Limit(10, timedelta(minutes=15))
"""Changes of one person's password, by whoever knows it: to judge a new one may take half a second."""
T = TypeVar("T")
P = ParamSpec("P")


class PasswordSignIn:
    """Signs local people in, a limited number of times."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it joins
        self,
        store: PeopleStore,
        sessions: Sessions,
        places: Places,
        pepper: Pepper,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
    ) -> None:
        """`clock` answers aware UTC times; `steady` measures for how long tries count, however the clock is set."""
        self._store = store
        self._sessions = sessions
        self._places = places
        self._pepper = pepper
        self._clock = clock
        self._steady = steady
        self._throttle = Throttle()
        self._turns = Turns(MAX_HASHES_AT_ONCE, MAX_OF_STRANGERS)
        self._hashing = ThreadPoolExecutor(MAX_HASHES_AT_ONCE, thread_name_prefix="passwords")

    def close(self) -> None:
        """End."""
        self._hashing.shutdown(wait=False, cancel_futures=True)

    async def sign_in(self, name: str, password: str, address: str) -> SignedIn:
        """Sign a local person in from a network address; raises `sign_in_refused`, `too_many_attempts`.

        Networks of strangers take turns, and known people wait for none of them. What others try, at this name from
        elsewhere or at other names from this network, does not shut a person out of a network from which they signed
        in before.
        """
        network = network_of(address)
        person = await self._store.person_named(name)
        pair, whole = f"pair:{network}:{fold(name)}", f"network:{network}"
        known = person is not None and await self._places.known(person.id, network)
        limits = {pair: KNOWN_LIMIT if known else PAIR_LIMIT}
        if not known:
            limits[whole] = NETWORK_LIMIT
            if person is not None:
                # Only people who exist: names that strangers make up can't push them out.
                limits[f"person:{person.id}"] = PERSON_LIMIT
        self._count(limits, f"{f'person {person.id}' if person else 'unknown name'}, from {network}", person)
        stored = self._opened(person) if person and person.state == "active" else None
        turn = self._turns.of_person(person.id, network) if person and known else self._turns.of_strangers(network)
        fresh = None
        async with self._uncounted_if_full(limits), turn:
            fits = await self._in_thread(password_fits, password, stored)
            if fits and person and stored and needs_rehash(stored):
                fresh = await self._hash(person.id, password)
        if person is None:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, "unknown name")
        if stored is None:
            state = "altered in the store" if person.password_hash and person.state == "active" else person.state
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"person {person.id} is {state}", person=person.id)
        if not fits:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"wrong password for person {person.id}", person=person.id)
        kept = person.password_hash or ""
        if fresh is not None:
            kept = fresh if await self._store.set_password_hash(person.id, kept, fresh) else kept
        self._throttle.forget(pair)
        # Many people may share an address, and all of them may sign in; a guesser's other attempts still count.
        for key in limits.keys() - {pair}:
            self._throttle.take_back(key)
        begun = await self._sessions.begin(person, _by_password(kept))
        await self._places.keep(person.id, network, person.id)
        return begun

    async def accept_invitation(self, token: str, password: str, name: str | None, address: str) -> SignedIn:
        """Accept an invitation with a password of one's own, and sign in.

        `name` is needed for the bootstrap link, whose person has none yet, and ignored otherwise. Raises
        `invitation_refused`, `name_refused`, `PasswordRefused`, `too_many_attempts`.
        """
        now, network = self._clock(), network_of(address)
        hashed, person = await self._invited(token, network)
        nameless = person.name == person.id
        if nameless and name is None:
            raise AuthError(AuthCode.NAME_REFUSED, "Choose the name that you will sign in with.")
        chosen = check_name(name) if nameless and name is not None else person.name
        # Looking at the link counts nothing and forgets nothing.
        tried = f"accept:{hashed}"
        self._count({tried: LINK_LIMIT})
        async with self._uncounted_if_full([tried]), self._turns.of_person(person.id):
            await self._in_thread(check_password, password, chosen)
            chosen_hash = await self._hash(person.id, password)
        try:
            active = await self._store.redeem(hashed, chosen, chosen_hash, now)
        except NameTaken as error:
            raise AuthError(AuthCode.NAME_REFUSED, "Somebody has this name already; choose another.") from error
        if active is None:
            raise AuthError(AuthCode.INVITATION_REFUSED, f"the invitation of person {person.id} was used meanwhile")
        self._throttle.forget(tried)
        begun = await self._sessions.begin(active, _by_password(active.password_hash))
        await self._places.keep(active.id, network, active.id)
        return begun

    async def invited(self, token: str, address: str) -> str | None:
        """Return the name of whom a link invites, `None` for who is to choose one.

        Raises `invitation_refused`, `too_many_attempts`.
        """
        _, person = await self._invited(token, network_of(address))
        return None if person.name == person.id else person.name

    async def _invited(self, token: str, network: str) -> tuple[str, PersonRecord]:
        """Return an invitation's hash and its person."""
        invitation = await self._invitation(token) if invitation_person(token) else None
        person = await self._store.person(invitation.person) if invitation else None
        if invitation is None:
            # What strangers make up counts for their network; who holds a link is not held up by it.
            self._count({f"network:{network}": NETWORK_LIMIT})
        if invitation is None or person is None or self._clock() >= invitation.expires:
            raise AuthError(AuthCode.INVITATION_REFUSED, "unknown, used or expired invitation")
        return invitation.hash, person

    async def _invitation(self, token: str) -> InvitationRecord | None:
        """Find an invitation, if it is the person's to whom the link was given."""
        for hashed in self._pepper.hashes(token):
            invitation = await self._store.invitation(hashed)
            if invitation is not None and invitation.person == invitation_person(token):
                return invitation
        return None

    async def prove(self, by: Principal, password: str) -> None:
        """Check once more that the person of a session is there, by the password.

        Raises `not_allowed`, `proof_refused`, `too_many_attempts`.
        """
        if not by.session:
            raise AuthError(AuthCode.NOT_ALLOWED, "A proof is a person's, in their own session.")
        # A key of its own: who holds a stolen session guesses no faster, and shuts nobody out of signing in.
        tried = f"proof:{by.id}"
        limits = {tried: PAIR_LIMIT, f"proofs:{by.id}": PROOF_LIMIT}
        self._count(limits)
        person = await active_person(self._store, by.id)
        async with self._uncounted_if_full(limits), self._turns.of_person(by.id):
            fits = await self._in_thread(password_fits, password, self._opened(person))
        if not fits:
            raise AuthError(AuthCode.PROOF_REFUSED, f"wrong password for person {person.id}", person=person.id)
        self._throttle.forget(tried)

    async def change(self, by: Principal, password: str, new: str) -> None:
        """Replace one's own password; one's other sessions end.

        Raises `PasswordRefused`, `not_allowed`, and what `prove` raises.
        """
        if by.issuer is not None:
            raise AuthError(
                AuthCode.NOT_ALLOWED, "Your password is not kept here; change it where you sign in with it."
            )
        former = (await active_person(self._store, by.id)).password_hash or ""
        tried = f"change:{by.id}"
        self._count({tried: CHANGE_LIMIT})
        async with self._uncounted_if_full([tried]):
            await self.prove(by, password)
            check_new(new, password)
            async with self._turns.of_person(by.id):
                await self._in_thread(check_password, new, by.name)
                fresh = await self._hash(by.id, new)
        if not await self._store.replace_password(by.id, former, fresh, keep=by.session_id or ""):
            raise AuthError(AuthCode.NOT_ALLOWED, "Your password was replaced meanwhile; sign in with the other one.")

    def _count(self, limits: dict[str, Limit], about: str = "", person: PersonRecord | None = None) -> None:
        wait = self._throttle.attempt(limits, self._steady())
        if wait is not None:
            raise TooManyAttempts(int(wait.total_seconds()) + 1, about=about, person=person.id if person else None)

    async def seal_those_of_before(self) -> None:
        """Seal the passwords of a store that a version without seals wrote; to be done once, and never again."""
        async for person in everybody(self._store):
            if person.password_hash is not None and " " not in person.password_hash:
                sealed = self._sealed(person.id, person.password_hash)
                await self._store.set_password_hash(person.id, person.password_hash, sealed)

    async def _hash(self, person: str, password: str) -> str:
        return self._sealed(person, await self._in_thread(hash_password, password))

    def _sealed(self, person: str, hashed: str) -> str:
        """Seal a person's hash with the service's own key: whoever only writes to the store makes none that counts."""
        return f"{hashed} {self._pepper.hash(_of(person, hashed))}"

    def _opened(self, person: PersonRecord) -> str | None:
        """Return a person's hash, if it is the one that was sealed for this person."""
        hashed, _, seal = (person.password_hash or "").partition(" ")
        return hashed if self._pepper.fits(_of(person.id, hashed), seal) else None

    @asynccontextmanager
    async def _uncounted_if_full(self, counted: Iterable[str]) -> AsyncIterator[None]:
        """Count no try of somebody who gets no turn: nothing was checked."""
        try:
            yield
        except LineFull:
            for key in counted:
                self._throttle.take_back(key)
            raise

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Hash in threads that nothing else waits for, in one's turn."""
        return await asyncio.get_running_loop().run_in_executor(self._hashing, partial(work, *args, **kwargs))


def _of(person: str, hashed: str) -> str:
    """Return what is sealed: nothing else that this key hashes begins so."""
    return f"password:{person}:{hashed}"


def _by_password(hashed: str | None) -> Shown:
    return replace(BY_PASSWORD, grounds=Grounds(password_hash=hashed))
