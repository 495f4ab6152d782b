"""Signing in with a name and a password of the site's directory."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from headrace.auth.accounts import new_person_id
from headrace.auth.directory import Account, Directory, DirectoryAway, DirectoryConfig, DirectoryRefused, TypedName
from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts, no_role
from headrace.auth.passwords import fold
from headrace.auth.places import Places
from headrace.auth.principal import Principal
from headrace.auth.sessions import Sessions, Shown, SignedIn
from headrace.auth.store import Arrival, Grounds, IdentityStore, PersonRecord
from headrace.auth.throttle import Limit, Throttle, network_of
from headrace.auth.turns import LineFull, Turns

NAME_LIMIT: Final = Limit(10, timedelta(minutes=15))
"""A name from one network."""
NETWORK_LIMIT: Final = Limit(200, timedelta(minutes=15))
SHARES: Final = 3
"""What a directory lets somebody try is shared out: where they signed in before, everywhere else, and for proofs."""
_NO_GUESS: Final = frozenset({AuthCode.DIRECTORY_AWAY, AuthCode.NO_ROLE, AuthCode.PASSWORD_EXPIRED})
"""Refusals that are no wrong password: nothing was checked, or the password was right and its person is told so."""
_MOST_MET: Final = 10_000


class DirectorySignIn:
    """Signs people of the site's directories in, fewer times than it takes to have their accounts locked there."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it joins
        self,
        directories: Sequence[Directory],
        identities: IdentityStore,
        sessions: Sessions,
        places: Places,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
    ) -> None:
        """`clock` answers aware UTC times; `steady` measures for how long tries count, however the clock is set."""
        self._directories = directories
        self._identities = identities
        self._sessions = sessions
        self._places = places
        self._clock = clock
        self._steady = steady
        self._throttle = Throttle()
        self._turns = {one.config.issuer: _turns(one.config) for one in directories}
        self._met: OrderedDict[str, Account] = OrderedDict()
        """By issuer and name as it was typed, whose it was: what is throttled is not looked up any more."""

    def serves(self, name: str) -> bool:
        """Whether this is a name of a directory."""
        return self._of_name(name) is not None

    def vouches_for(self, by: Principal) -> bool:
        """Whether somebody has signed in at a directory."""
        return any(one.config.issuer == by.issuer for one in self._directories)

    async def sign_in(self, name: str, password: str, address: str) -> SignedIn:
        """Sign somebody in from a network address.

        Raises `sign_in_refused`, `no_role`, `password_expired`, `directory_away`, `too_many_attempts`.
        Who is not known becomes a person when a group of theirs gives a role.
        """
        directory = self._of_name(name)
        if directory is None:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, "unknown name")
        network = network_of(address)
        who, tried = f"{directory.config.issuer} {fold(name)}", f"name:{network}:{fold(name)}"
        known = await self._places.known(who, network)
        limits = {tried: NAME_LIMIT} if known else {tried: NAME_LIMIT, f"network:{network}": NETWORK_LIMIT}
        await self._count(limits, directory, self._met.get(who), network)
        try:
            async with self._turn(directory, who, network, known=known):
                async with self._answered(directory):
                    account = await directory.find(name)
                self._note_met(who, account)
                share = _share("known" if known else "new", directory.config, account.subject)
                await self._count(share, directory, account, network)
                limits |= share
                await self._check(directory, account, password)
            person = await self._arrived(directory, account)
        except AuthError as error:
            if error.code in _NO_GUESS or isinstance(error, LineFull):
                self._take_back(limits)
            raise
        self._throttle.forget(tried)
        # A guesser's other attempts still count.
        self._take_back(limits.keys() - {tried})
        begun = await self._sessions.begin(person, _by_directory(directory, account))
        await self._places.keep(who, network, person.id)
        return begun

    async def prove(self, by: Principal, password: str) -> None:
        """Check once more that the person of a session is there, by the password in the directory of the session.

        Raises `not_allowed`, `proof_refused`, `password_expired`, `directory_away`, `too_many_attempts`.
        """
        if not by.session:
            raise AuthError(AuthCode.NOT_ALLOWED, "A proof is a person's, in their own session.")
        directory = next(one for one in self._directories if one.config.issuer == by.issuer)
        issuer = directory.config.issuer
        mine = [one.subject for one in await self._identities.identities_of(by.id) if one.issuer == issuer]
        async with self._turns[issuer].of_person(min(mine, default=by.id)):
            await self._prove(directory, mine, by, password)

    def close(self) -> None:
        """End."""
        for directory in self._directories:
            directory.close()

    async def _prove(self, directory: Directory, mine: Sequence[str], by: Principal, password: str) -> None:
        issuer = directory.config.issuer
        async with self._answered(directory):
            looked = await directory.look_up(mine)
            if not looked.found and looked.unknown:
                raise DirectoryAway(*looked.unknown.values())
        found = looked.found
        if not found:
            raise AuthError(AuthCode.PROOF_REFUSED, f"{issuer}: person {by.id} is there no longer", person=by.id)
        account = found[min(found)]
        share = _share("proof", directory.config, account.subject)
        await self._count(share, directory, account, "a session")
        try:
            await self._check(directory, account, password)
        except AuthError as error:
            if error.code in _NO_GUESS:
                self._take_back(share)
            if error.code is AuthCode.SIGN_IN_REFUSED:
                raise AuthError(AuthCode.PROOF_REFUSED, error.reason, person=by.id) from error
            raise
        self._take_back(share)

    def _of_name(self, name: str) -> Directory | None:
        typed = TypedName.read(name)
        return next((one for one in self._directories if typed and typed.fits(one.config)), None)

    def _turn(self, directory: Directory, who: str, network: str, *, known: bool) -> AbstractAsyncContextManager[None]:
        """Return the turn of a sign-in: strangers leave connections for everybody else, and each person has one."""
        turns = self._turns[directory.config.issuer]
        if not known:
            return turns.of_strangers(network)
        met = self._met.get(who)
        return turns.of_person(met.subject if met else who, network)

    async def _check(self, directory: Directory, account: Account, password: str) -> None:
        async with self._answered(directory, account.subject):
            await directory.check(account, password)
            if account.refusal is not None:
                raise DirectoryRefused(account.refusal)

    async def _arrived(self, directory: Directory, account: Account) -> PersonRecord:
        issuer = directory.config.issuer
        arrival = Arrival(issuer=issuer, subject=account.subject, name=account.name, groups=account.groups)
        person = await self._identities.arrive(arrival, new_person_id(), self._clock())
        if person.state != "active":
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"person {person.id} is {person.state}", person=person.id)
        if not person.roles:
            raise no_role(issuer, account.name, account.groups)
        return person

    @asynccontextmanager
    async def _answered(self, directory: Directory, subject: str | None = None) -> AsyncIterator[None]:
        """Say what a directory has answered in the words of signing in."""
        issuer = directory.config.issuer
        try:
            yield
        except DirectoryAway as error:
            raise AuthError(AuthCode.DIRECTORY_AWAY, str(error)) from error
        except DirectoryRefused as error:
            known = await self._identities.identity(issuer, subject) if subject else None
            again = error.reason.asks_for_another_password
            code = AuthCode.PASSWORD_EXPIRED if again else AuthCode.SIGN_IN_REFUSED
            person = known.person if known else None
            raise AuthError(code, f"{issuer}: {error.reason}", person=person) from error

    async def _count(
        self, limits: dict[str, Limit], directory: Directory, account: Account | None, network: str
    ) -> None:
        """Count a try, or refuse it; the log says whose account it is, if that is known, and where the try is from."""
        wait = self._throttle.attempt(limits, self._steady())
        if wait is None:
            return
        issuer = directory.config.issuer
        known = await self._identities.identity(issuer, account.subject) if account else None
        whose = account.name if account else "a name that was not looked up"
        raise TooManyAttempts(
            int(wait.total_seconds()) + 1,
            about=f"{issuer}: {whose}, from {network}",
            person=known.person if known else None,
        )

    def _note_met(self, who: str, account: Account) -> None:
        self._met[who] = account
        self._met.move_to_end(who)
        while len(self._met) > _MOST_MET:
            self._met.popitem(last=False)

    def _take_back(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._throttle.take_back(key)


def _turns(config: DirectoryConfig) -> Turns:
    """Give strangers half of the connections, and each person one turn; a directory limits itself how many wait."""
    return Turns(config.connections + config.waiting, max(1, config.connections // 2))


def _share(kind: str, config: DirectoryConfig, subject: str) -> dict[str, Limit]:
    """Return what of an account's tries in the directory is for this kind of them."""
    limit = Limit(max(1, config.attempts // SHARES), timedelta(seconds=config.attempts_window_s))
    return {f"{kind}:{config.issuer}:{subject}": limit}


def _by_directory(directory: Directory, account: Account) -> Shown:
    issuer = directory.config.issuer
    grounds = Grounds(identity=(issuer, account.subject))
    return Shown(method="directory", factors=frozenset({"pwd"}), issuer=issuer, grounds=grounds)
