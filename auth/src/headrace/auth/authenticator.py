"""Every way to say who is calling, joined on one store of people and of identities."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from headrace.auth.accounts import Accounts
from headrace.auth.directory import Directory
from headrace.auth.directory_sign_in import DirectorySignIn
from headrace.auth.directory_watch import DirectoryWatch
from headrace.auth.issuer_watch import IssuerWatch
from headrace.auth.leavers import Brake
from headrace.auth.oidc_access import OidcTokens
from headrace.auth.oidc_code_flow import CodeFlow
from headrace.auth.oidc_device import OidcDevice
from headrace.auth.oidc_issuers import Issuer
from headrace.auth.oidc_proof import OidcProof, ProvenThere
from headrace.auth.oidc_provider import Providers
from headrace.auth.oidc_sign_in import Arrived, OidcSignIn
from headrace.auth.oidc_sign_out import OidcSignOut
from headrace.auth.oidc_watch import OidcWatch
from headrace.auth.passkeys import Passkeys
from headrace.auth.password_sign_in import PasswordSignIn
from headrace.auth.places import Places
from headrace.auth.principal import Principal
from headrace.auth.rights import Rights
from headrace.auth.secret_forms import Pepper
from headrace.auth.sessions import Lifetimes, Sessions, SignedIn
from headrace.auth.store import IdentityStore, PasskeyStore, PeopleStore
from headrace.auth.tokens import Tokens
from headrace.auth.uses import Uses


class Authenticator:
    """Answers who is calling. Every answer is made from the store's present state: a change holds at the next call."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it joins
        self,
        store: PeopleStore,
        identities: IdentityStore,
        passkeys: PasskeyStore,
        clock: Callable[[], datetime],
        pepper: Pepper,
        lifetimes: Lifetimes | None = None,
        *,
        steady: Callable[[], datetime] | None = None,
        issuers: Sequence[Issuer] = (),
        public_url: str = "",
        directories: Sequence[Directory] = (),
        unnoted: Callable[[Exception], None] | None = None,
    ) -> None:
        """`clock` answers aware UTC times; `steady` measures for how long tries count, however the clock is set.

        `issuers` are the providers at which people sign in, who come back to `public_url`. `unnoted` logs why
        a use of a session or token could not be noted.
        """
        lifetimes = lifetimes or Lifetimes()
        self._uses = Uses(unnoted)
        self.accounts = Accounts(store, clock, pepper, lifetimes.bootstrap)
        self.rights = Rights(store, identities, clock)
        self.sessions = Sessions(store, clock, pepper, lifetimes, self._uses)
        self.tokens = Tokens(store, clock, pepper, self._uses)
        places = Places(store, pepper, clock)
        self.passwords = PasswordSignIn(store, self.sessions, places, pepper, clock, steady or clock)
        self.passkeys = Passkeys(passkeys, store, self.sessions, pepper, clock, steady or clock, public_url)
        self.providers = Providers(issuers, steady or clock)
        self.issuer_watch = IssuerWatch(directories, self.providers, clock, steady or clock)
        self._flow = CodeFlow(self.providers, public_url, pepper, clock, steady or clock)
        brake = Brake(store, identities)
        self.oidc_watch = OidcWatch(self.providers, identities, brake, pepper, clock)
        self.oidc = OidcSignIn(self._flow, self.oidc_watch, identities, self.sessions, clock)
        self.oidc_proof = OidcProof(self._flow, self.oidc_watch, self.providers, identities, passkeys, pepper, clock)
        self.oidc_device = OidcDevice(self.providers, self.oidc, pepper, clock, steady or clock)
        self.oidc_sign_out = OidcSignOut(self.providers, public_url, store, clock)
        self.oidc_tokens = OidcTokens(self.providers, public_url, store, identities, clock)
        self._directories = DirectorySignIn(directories, identities, self.sessions, places, clock, steady or clock)
        self.directory_watch = DirectoryWatch(directories, identities, brake, clock)
        self._people = store

    @property
    def directory_issuers(self) -> Sequence[str]:
        """The issuers of the site's directories."""
        return self.directory_watch.issuers

    async def sign_in(self, name: str, password: str, address: str) -> SignedIn:
        """Sign in who has this name here, or else in a directory of the site; raises what both do."""
        if self._directories.serves(name) and await self._people.person_named(name) is None:
            return await self._directories.sign_in(name, password, address)
        return await self.passwords.sign_in(name, password, address)

    async def come_back(self, issuer: str, kept: str, answer: Mapping[str, str], address: str) -> Arrived | ProvenThere:
        """End a browser's round to a provider: a sign-in, or a proof; raises what `CodeFlow.finish` and both do."""
        under_way, found = await self._flow.finish(issuer, kept, answer, address)
        if under_way.proof:
            return await self.oidc_proof.given(under_way.proof, found)
        return Arrived(await self.oidc.arrive(found), under_way.next)

    async def prove(self, by: Principal, password: str) -> None:
        """Check once more that the person of a session is there; raises what `prove` of where they signed in does."""
        if self._directories.vouches_for(by):
            await self._directories.prove(by, password)
        else:
            await self.passwords.prove(by, password)

    async def takes_password(self, by: Principal) -> bool:
        """Whether the person of a session has a password that `prove` can check."""
        person = await self._people.person(by.id)
        return self._directories.vouches_for(by) or (person is not None and person.password_hash is not None)

    async def settle(self) -> None:
        """Wait until the uses that were noted so far are written."""
        await self._uses.settle()

    async def close(self) -> None:
        """Write what is to be noted, and end."""
        await self._uses.settle()
        self.passwords.close()
        self._directories.close()
        await self.providers.close()
