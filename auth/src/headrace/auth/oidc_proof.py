"""A fresh sign-in at the provider as a proof, for people who have neither a password nor a passkey here.

The nonce of that sign-in is SHA-256("headrace/consent/v1" || digest of what is agreed to || random id), so the
provider's ID token is for that one thing. It begins in the browser that has the person's session, and what it proves
goes to that browser alone: good for that one thing, once, until five minutes after it was asked for.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.oidc_claims import LEEWAY_S, Vouched
from headrace.auth.oidc_code_flow import Begun, CodeFlow
from headrace.auth.oidc_issuers import Issuer
from headrace.auth.oidc_provider import Providers
from headrace.auth.oidc_watch import OidcWatch
from headrace.auth.passkeys import CHALLENGE_LIMIT, CONSENT_DOMAIN, agreed
from headrace.auth.principal import Principal
from headrace.auth.secret_forms import Pepper
from headrace.auth.store import IdentityStore, PasskeyStore

_ASKED: Final = "proof asked of a provider"
_GIVEN: Final = "proof given by a provider"


class _Why(StrEnum):
    """Why a sign-in at a provider proves nothing, in words for whoever signed in."""

    NOT_ASKED = "This service has not asked you for this proof in this session; begin again."
    TOO_LATE = "That took longer than five minutes; begin again."
    SOMEBODY_ELSE = "Somebody else signed in there; sign in there as yourself."
    NOT_FRESH = "The provider did not ask you to sign in anew, or does not say when you did; ask an administrator."
    WEAK = "You signed in there in a way that proves too little here; use the one that your site asks for."
    OTHER_REQUEST = "This proof was given for something else."
    REPLAYED = "This proof was used already; each is for one thing."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChallenge:
    """What a browser takes to its provider: `kept`, until then. `id` tells one proof from another."""

    issuer: Issuer
    id: str
    kept: str = field(repr=False)
    until: datetime


@dataclass(frozen=True, slots=True)
class ProvenThere:
    """A sign-in at a provider that proves something: `answer` goes with the request that it is for."""

    id: str
    answer: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    id: str
    what: str
    person: str
    session: str
    issuer: str
    until: float

    @property
    def nonce(self) -> str:
        hashed = hashlib.sha256(CONSENT_DOMAIN + bytes.fromhex(self.what) + self.id.encode()).digest()
        return base64.urlsafe_b64encode(hashed).decode("ascii").rstrip("=")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    asked: str
    issuer: str
    subject: str
    auth_time: int
    acr: str
    factors: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshSignIn:
    """What a proof shows: `factors` of that sign-in, and `evidence`: who signed in where, when and for which nonce."""

    factors: frozenset[str]
    evidence: Mapping[str, str]


class OidcProof:
    """Has people sign in anew at their provider, and takes what that proves."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it stands on
        self,
        flow: CodeFlow,
        watch: OidcWatch,
        providers: Providers,
        identities: IdentityStore,
        nonces: PasskeyStore,
        pepper: Pepper,
        clock: Callable[[], datetime],
    ) -> None:
        """Note in `nonces` which proofs were used; `watch` looks after the people of `identities`."""
        self._flow = flow
        self._watch = watch
        self._providers = providers
        self._identities = identities
        self._nonces = nonces
        self._pepper = pepper
        self._clock = clock

    def ask(self, by: Principal, what: str) -> ProviderChallenge | None:
        """Return with what the person of a session proves to mean `what`; `None` unless it began at a provider."""
        provider = self._providers.at(by.issuer) if by.session and by.method == "oidc" else None
        if provider is None:
            return None
        until = self._clock() + CHALLENGE_LIMIT
        asked = _Asked(
            id=secrets.token_urlsafe(24),
            what=_digest(by, what),
            person=by.id,
            session=by.session_id or "",
            issuer=provider.issuer.id,
            until=until.timestamp(),
        )
        return ProviderChallenge(
            issuer=provider.issuer, id=asked.id, kept=self._pepper.seal(_ASKED, asdict(asked)), until=until
        )

    async def begin(self, by: Principal, issuer: str, kept: str) -> Begun:
        """Send the browser of a session to sign in for a proof. Raises `provider_proof_refused`, `provider_failed`."""
        asked = self._asked(kept)
        if (asked.person, asked.session, asked.issuer) != (by.id, by.session_id, issuer):
            raise _refused(_Why.NOT_ASKED, by.id)
        wanted = self._providers.named(issuer).issuer.proof_acr
        ways = {"acr_values": " ".join(wanted)} if wanted else {}
        return await self._flow.begin(issuer, nonce=asked.nonce, proof=kept, prompt="login", max_age="0", **ways)

    async def given(self, kept: str, found: Vouched) -> ProvenThere:
        """Take who has signed in for a proof. Raises `provider_proof_refused`."""
        identity = await self._identities.identity(found.issuer, found.subject)
        grant = self._watch.grant_again(found)
        if identity is not None and identity.gone is None and grant is not None:
            # Whatever it proves: the provider may not take the token of the sign-in before any more.
            await self._identities.keep_grant(found.issuer, found.subject, identity.grant, grant)
        asked = self._asked(kept)
        if identity is None or identity.person != asked.person or identity.gone is not None:
            raise _refused(_Why.SOMEBODY_ELSE, asked.person)
        begun = datetime.fromtimestamp(asked.until, UTC) - CHALLENGE_LIMIT
        if not found.says_when or found.at < begun - timedelta(seconds=LEEWAY_S):
            raise _refused(_Why.NOT_FRESH, asked.person)
        wanted = self._providers.named(asked.issuer).issuer.proof_acr
        if wanted and found.acr not in wanted:
            raise _refused(_Why.WEAK, asked.person)
        given = _Given(
            asked=kept,
            issuer=found.issuer,
            subject=found.subject,
            auth_time=int(found.at.timestamp()),
            acr=found.acr or "",
            factors=" ".join(sorted(found.factors)),
        )
        return ProvenThere(asked.id, self._pepper.seal(_GIVEN, asdict(given)))

    async def prove(self, by: Principal, what: str, answer: str) -> FreshSignIn:
        """Check that the person of a session has signed in anew for `what`, and use that up.

        Raises `provider_proof_refused`, `not_allowed`.
        """
        if not by.session:
            raise AuthError(AuthCode.NOT_ALLOWED, "A proof is a person's, in their own session.")
        fields = self._pepper.unseal(_GIVEN, answer)
        if fields is None:
            raise _refused(_Why.NOT_ASKED, by.id)
        given = _Given(**fields)
        asked = self._asked(given.asked)
        if (asked.person, asked.session) != (by.id, by.session_id):
            raise _refused(_Why.NOT_ASKED, by.id)
        if asked.what != _digest(by, what):
            raise _refused(_Why.OTHER_REQUEST, by.id)
        now = self._clock()
        if not await self._nonces.use_nonce(asked.id, now, now + CHALLENGE_LIMIT):
            raise _refused(_Why.REPLAYED, by.id)
        evidence = {
            "issuer": given.issuer,
            "subject": given.subject,
            "auth_time": str(given.auth_time),
            "acr": given.acr,
            "id": asked.id,
            "nonce": asked.nonce,
        }
        return FreshSignIn(factors=frozenset(given.factors.split()), evidence=evidence)

    def _asked(self, kept: str) -> _Asked:
        """Read what was asked for not long ago. Raises `provider_proof_refused`."""
        fields = self._pepper.unseal(_ASKED, kept)
        if fields is None:
            raise _refused(_Why.NOT_ASKED)
        asked = _Asked(**fields)
        if self._clock().timestamp() >= asked.until:
            raise _refused(_Why.TOO_LATE, asked.person)
        return asked


def _digest(by: Principal, what: str) -> str:
    return hashlib.sha256(agreed(by.id, what).encode()).hexdigest()


def _refused(why: _Why, person: str | None = None) -> AuthError:
    return AuthError(AuthCode.PROVIDER_PROOF_REFUSED, why, person=person)
