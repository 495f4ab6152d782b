"""Passkeys (WebAuthn): a key on a person's device that signs one challenge, for one thing, at one address.

A challenge is SHA-256("headrace/consent/v1" || digest of what is agreed to || nonce). What a browser sends back is good
for that one thing, once, for five minutes. `py_webauthn` verifies it; counters and used nonces are the store's.
"""

import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from webauthn import verify_authentication_response, verify_registration_response

from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts
from headrace.auth.principal import BY_PASSKEY_FACTORS, Principal, Scope
from headrace.auth.secret_forms import Pepper
from headrace.auth.sessions import Sessions, Shown, SignedIn
from headrace.auth.store import (
    MAX_PASSKEYS,
    Grounds,
    PasskeyRecord,
    PasskeyStore,
    PeopleStore,
    TooMany,
    active_person,
)
from headrace.auth.throttle import Limit, Throttle, network_of

CHALLENGE_LIMIT: Final = timedelta(minutes=5)
"""For a proof, from the question to the answer."""
TRY_LIMIT: Final = Limit(100, timedelta(minutes=15))
"""Answers of one person, or of one network for one passkey at the sign-in, that could not be verified."""
BY_PASSKEY: Final = Shown(method="passkey", factors=BY_PASSKEY_FACTORS)
CONSENT_DOMAIN: Final = b"headrace/consent/v1"
"""What the hash behind every proof begins with."""
_SIGN_IN: Final = "sign in"
_FULL: Final = f"You have {MAX_PASSKEYS} passkeys; remove one first."
_NONE: Final = "There is no such passkey."


class _Why(StrEnum):
    """Why an answer proves nothing, in words for whoever gave it."""

    NO_PASSKEY = "The answer of this device could not be verified."
    NOT_ENROLLED = "This passkey was altered in the store, or never added here; remove it, and tell an administrator."
    KNOWN = "This answer was used already, or this passkey is known; begin again."
    NOT_YOURS = "This passkey is not one of yours here."
    UNVERIFIED = "The answer of this passkey could not be verified."
    REPLAYED = "This proof was used already; each is for one thing."
    NOT_ASKED = "This proof was given for something else, or this service has not asked for it; begin again."
    TOO_LATE = "That took longer than five minutes; begin again."
    UNREADABLE = "What the browser says of this proof can't be read."
    OTHER_DIGEST = "This proof was given for something else."
    COUNTER = "The counter of this passkey went back: a copy of it may be in use; remove it."
    OTHER_ORIGIN = "This proof was given at another address than the one at which passkeys work here."


def by_passkey(passkey: str) -> Shown:
    """Say that somebody has shown this passkey; what begins with it ends with it."""
    return replace(BY_PASSKEY, grounds=Grounds(passkey=passkey))


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """For whom passkeys are made: the host name `id`, and the one `origin` at which they are used."""

    id: str
    origin: str

    @classmethod
    def of(cls, public_url: str) -> "RelyingParty | None":
        """Make it of how browsers reach the service; an address of a network is no relying party.

        The loopback address is reached as `localhost`, too, and that is one.
        """
        parts = urlsplit(public_url.lower())
        host = parts.hostname or ""
        try:
            if not ip_address(host).is_loopback:
                return None
            host = "localhost"
        except ValueError:
            if not host:
                return None
        usual = {"http": 80, "https": 443}.get(parts.scheme)
        port = f":{parts.port}" if parts.port not in {None, usual} else ""
        return cls(host, f"{parts.scheme}://{host}{port}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What a passkey signs, for one of `passkeys` (empty: for any); `kept` comes back with the answer."""

    challenge: str
    kept: str
    party: RelyingParty
    until: datetime
    passkeys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What `navigator.credentials.get` gave, its bytes in base64url, with what was kept."""

    id: str
    client_data: str = field(repr=False)
    authenticator_data: str = field(repr=False)
    signature: str = field(repr=False)
    kept: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation:
    """What `navigator.credentials.create` gave, its bytes in base64url, with what was kept."""

    id: str
    client_data: str = field(repr=False)
    attestation_object: str = field(repr=False)
    kept: str = field(repr=False)


class Passkeys:
    """Adds passkeys to people, and checks what these sign."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it stands on
        self,
        store: PasskeyStore,
        people: PeopleStore,
        sessions: Sessions,
        pepper: Pepper,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
        public_url: str,
    ) -> None:
        """`steady` measures for how long tries count; `public_url` decides for whom passkeys are made."""
        self._store = store
        self._people = people
        self._sessions = sessions
        self._pepper = pepper
        self._clock = clock
        self._steady = steady
        self._throttle = Throttle()
        self.party = RelyingParty.of(public_url)

    async def of(self, by: Principal, person: str | None = None) -> Sequence[PasskeyRecord]:
        """List one's own passkeys, or as an admin somebody's; raises `not_found`."""
        return await self._store.passkeys_of(_whose(by, person))

    async def remove(self, by: Principal, passkey: str, person: str | None = None) -> None:
        """Remove one of one's own passkeys, or as an admin somebody's; raises `not_found`."""
        if not await self._store.remove_passkey(_whose(by, person), passkey):
            raise AuthError(AuthCode.NOT_FOUND, _NONE)

    async def check_removing(self, by: Principal, passkey: str, person: str | None = None) -> None:
        """Refuse what `remove` would refuse, before a proof is asked for; raises `not_found`."""
        if not any(one.id == passkey for one in await self.of(by, person)):
            raise AuthError(AuthCode.NOT_FOUND, _NONE)

    async def begin_enrolment(self, by: Principal) -> Challenge:
        """Begin to add a passkey; `passkeys` of the answer are those that the person has.

        Raises `not_allowed`, and `not_found` where there can be no passkeys.
        """
        return self._ask(_enrolling(by), await self.check_enrolment(by))

    async def check_enrolment(self, by: Principal) -> Sequence[PasskeyRecord]:
        """Refuse what `begin_enrolment` would refuse, before a proof is asked for; answers what the person has."""
        if not by.session:
            raise AuthError(AuthCode.NOT_ALLOWED, "Passkeys are a person's, in their own session.")
        theirs = await self._store.passkeys_of(by.id)
        if len(theirs) >= MAX_PASSKEYS:
            raise AuthError(AuthCode.NOT_ALLOWED, _FULL)
        self._needed()
        return theirs

    async def enrol(self, by: Principal, name: str, given: Attestation) -> PasskeyRecord:
        """Add a passkey. Raises `passkey_refused`, `too_many_attempts`."""
        tried = self._count(f"proof:{by.id}")
        nonce, expected = self._expected(_enrolling(by), given.kept)
        _check_client(self._needed(), given.client_data, expected)
        credential = _credential(given.id, clientDataJSON=given.client_data, attestationObject=given.attestation_object)
        try:
            verified = verify_registration_response(
                credential=credential,
                expected_challenge=expected,
                expected_rp_id=self._needed().id,
                expected_origin=self._needed().origin,
                require_user_verification=True,
            )
        except Exception as error:
            raise _refused(_Why.NO_PASSKEY) from error
        record = PasskeyRecord(
            id=given.id,
            person=by.id,
            name=name,
            public_key=verified.credential_public_key,
            sign_count=verified.sign_count,
            created=self._clock(),
            seal=self._pepper.hash(_enrolled(by.id, given.id, verified.credential_public_key)),
        )
        try:
            kept = await self._store.add_passkey(record, nonce, self._clock() + CHALLENGE_LIMIT)
        except TooMany as error:
            raise AuthError(AuthCode.NOT_ALLOWED, _FULL) from error
        if not kept:
            raise _refused(_Why.KNOWN)
        self._throttle.forget(tried)
        return record

    async def ask(self, by: Principal, what: str) -> Challenge | None:
        """Return the challenge with which a person's passkey agrees to `what`; `None` if there is none to sign it."""
        theirs = await self._store.passkeys_of(by.id)
        return self._ask(agreed(by.id, what), theirs) if theirs and self.party else None

    async def prove(self, by: Principal, what: str, given: Assertion) -> PasskeyRecord:
        """Check that a person's passkey agrees to `what`. Raises `passkey_refused`, `too_many_attempts`."""
        if not by.session:
            raise AuthError(AuthCode.NOT_ALLOWED, "A proof is a person's, in their own session.")
        tried = self._count(f"proof:{by.id}")
        await active_person(self._people, by.id)
        passkey = await self._verified(agreed(by.id, what), given, by.id)
        self._throttle.forget(tried)
        return passkey

    def ask_to_sign_in(self) -> Challenge:
        """Return the challenge with which anybody's passkey signs in. Raises `not_found`."""
        return self._ask(_SIGN_IN, ())

    async def sign_in(self, given: Assertion, address: str) -> SignedIn:
        """Sign in with a passkey. Raises `sign_in_refused`, `too_many_attempts`.

        Who comes from a provider or a directory signs in there, which is then asked: their passkeys prove consent.
        """
        tried = None
        try:
            self._expected(_SIGN_IN, given.kept)
            theirs = await self._store.passkey(given.id)
            if theirs is not None:
                # Passkeys that strangers make up count for nobody; a real one counts for one network.
                network = network_of(address)
                about = f"a passkey of person {theirs.person}, from {network}"
                tried = self._count(f"passkey:{network} {given.id}", about, theirs.person)
            passkey = await self._verified(_SIGN_IN, given, None)
        except TooManyAttempts:
            raise
        except AuthError as error:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, error.reason, person=error.person) from error
        person = await self._people.person(passkey.person)
        if person is None or person.state != "active" or not person.local:
            why = "is not active" if person is None or person.local else "signs in elsewhere"
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"person {passkey.person} {why}", person=passkey.person)
        if tried is not None:
            self._throttle.forget(tried)
        return await self._sessions.begin(person, by_passkey(passkey.id))

    async def _verified(self, what: str, given: Assertion, person: str | None) -> PasskeyRecord:
        """Check what a passkey signed, and use it up; `person`: whose it must be."""
        nonce, expected = self._expected(what, given.kept)
        passkey = await self._store.passkey(given.id)
        if passkey is None or person not in {None, passkey.person}:
            raise _refused(_Why.NOT_YOURS, person)
        if not self._pepper.fits(_enrolled(passkey.person, passkey.id, passkey.public_key), passkey.seal):
            raise _refused(_Why.NOT_ENROLLED, passkey.person)
        count = _asserted(self._needed(), given, expected, passkey.public_key, passkey.person)
        now = self._clock()
        match await self._store.use_passkey(passkey.id, count, nonce, now, now + CHALLENGE_LIMIT):
            case "replayed":
                raise _refused(_Why.REPLAYED, passkey.person)
            case "counter":
                raise _refused(_Why.COUNTER, passkey.person)
            case "good":
                return passkey

    def _ask(self, what: str, passkeys: Sequence[PasskeyRecord]) -> Challenge:
        until = self._clock() + CHALLENGE_LIMIT
        nonce = f"{secrets.token_urlsafe(24)}.{int(until.timestamp())}"
        return Challenge(
            challenge=_encoded(_challenge(what, nonce)),
            kept=f"{nonce}.{self._pepper.hash(_sealed(what, nonce))}",
            party=self._needed(),
            until=until,
            passkeys=tuple(one.id for one in passkeys),
        )

    def _expected(self, what: str, kept: str) -> tuple[str, bytes]:
        """Return the nonce of a challenge that this service made for `what` not long ago, and that challenge."""
        nonce, _, seal = kept.rpartition(".")
        if not self._pepper.fits(_sealed(what, nonce), seal):
            raise _refused(_Why.NOT_ASKED)
        if self._clock() >= _until(nonce):
            raise _refused(_Why.TOO_LATE)
        return nonce, _challenge(what, nonce)

    def _needed(self) -> RelyingParty:
        if self.party is None:
            raise AuthError(
                AuthCode.NOT_FOUND,
                "Passkeys need a host name: an administrator sets HEADRACE_PUBLIC_URL to one instead of an address.",
            )
        return self.party

    def _count(self, key: str, about: str = "", person: str | None = None) -> str:
        wait = self._throttle.attempt({key: TRY_LIMIT}, self._steady())
        if wait is not None:
            raise TooManyAttempts(int(wait.total_seconds()) + 1, about=about, person=person)
        return key


@dataclass(frozen=True, slots=True)
class Agreed:
    """What a passkey said yes to: good until `until`, once (`nonce`), with the counter that it gave."""

    nonce: str
    until: datetime
    sign_count: int


def check_agreed(party: RelyingParty, person: str, what: str, given: Assertion, public_key: bytes) -> Agreed:
    """Check that the passkey with this COSE key agrees to `what` for `person`, with nothing but the answer in hand.

    Whether the answer is in time and was used before is the caller's to say. Raises `passkey_refused`.
    """
    nonce = given.kept.rpartition(".")[0]
    try:
        until = _until(nonce)
    except (ValueError, OverflowError, OSError) as error:
        raise _refused(_Why.UNREADABLE) from error
    count = _asserted(party, given, _challenge(agreed(person, what), nonce), public_key, person)
    return Agreed(nonce, until, count)


def _until(nonce: str) -> datetime:
    return datetime.fromtimestamp(int(nonce.rpartition(".")[2]), UTC)


def _asserted(party: RelyingParty, given: Assertion, expected: bytes, public_key: bytes, person: str) -> int:
    """Return the counter of an answer that this key signed for this challenge."""
    _check_client(party, given.client_data, expected)
    credential = _credential(
        given.id,
        clientDataJSON=given.client_data,
        authenticatorData=given.authenticator_data,
        signature=given.signature,
    )
    try:
        verified = verify_authentication_response(
            credential=credential,
            expected_challenge=expected,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=0,  # the store compares it when it writes the new one
            require_user_verification=True,
        )
    except Exception as error:
        raise _refused(_Why.UNVERIFIED, person) from error
    return verified.new_sign_count


def _check_client(party: RelyingParty, client_data: str, expected: bytes) -> None:
    """Say in words what the library would only say in its own; it checks the same once more."""
    try:
        said = json.loads(_decoded(client_data))
        challenge, origin = _decoded(str(said["challenge"])), said["origin"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _refused(_Why.UNREADABLE) from error
    if origin != party.origin:
        raise _refused(_Why.OTHER_ORIGIN)
    if challenge != expected:
        raise _refused(_Why.OTHER_DIGEST)


def _whose(by: Principal, person: str | None) -> str:
    if person is None or person == by.id:
        return by.id
    if Scope.ADMIN not in by.scopes:
        raise AuthError(AuthCode.NOT_FOUND, "There is no such person.")
    return person


def agreed(person: str, what: str) -> str:
    """Return what a person's proof is for: `what` is agreed to by this person and nobody else."""
    return f"agree {person} {what}"


def _enrolling(by: Principal) -> str:
    return f"enrol {by.id} {by.session_id}"


def _challenge(what: str, nonce: str) -> bytes:
    return hashlib.sha256(CONSENT_DOMAIN + hashlib.sha256(what.encode()).digest() + nonce.encode()).digest()


def _sealed(what: str, nonce: str) -> str:
    """Return what is hashed, so that a challenge counts only for what it was made for."""
    return f"passkey:{hashlib.sha256(what.encode()).hexdigest()}:{nonce}"


def _enrolled(person: str, passkey: str, public_key: bytes) -> str:
    return f"enrolled:{person}:{passkey}:{public_key.hex()}"


def _credential(passkey: str, **response: str) -> str:
    """Return the JSON in which the library takes what a browser gave."""
    return json.dumps({"id": passkey, "rawId": passkey, "type": "public-key", "response": response})


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError(text[:20]) from error


def _refused(reason: _Why, person: str | None = None) -> AuthError:
    return AuthError(AuthCode.PASSKEY_REFUSED, reason, person=person)
