"""A yes that proves a person: a proof comes with what is agreed to, in one request, so one proof is for one thing.

A session's secret is a bearer secret: any program of the account can use it. What it can't do is type the password, or
touch the passkey. A passkey signs the digest of the very request that it comes with.
"""

from collections.abc import Mapping
from typing import Final, Literal, cast

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.settings import Settings
from headrace.auth import CHALLENGE_LIMIT, Assertion, AuthCode, Authenticator, AuthError, Challenge, Principal
from headrace.client import models as m
from headrace.guardrails import canonical

ProofKind = Literal["session", "password", "passkey", "provider"]

_NEEDED = "prove that this is you: a session alone is not enough here"
_HOW = {
    ("password",): f"type your password to {_NEEDED}",
    ("passkey",): f"use your passkey to {_NEEDED}",
    ("password", "passkey"): f"use your passkey or type your password to {_NEEDED}",
}
_NO_PASSKEY = "this needs a passkey, and you have none: add one on the page of your account in the console"
_AT_A_PROVIDER = (
    "this needs a passkey, or the password of an account here, as a proof, and you have signed in at a provider: add a "
    "passkey on the page of your account right after you have signed in, or let somebody do this who has one"
)
_SIGN_IN_AGAIN = "sign in again first: a passkey is added within five minutes of a sign-in"
_REFUSED = frozenset({AuthCode.PROOF_REFUSED, AuthCode.PASSKEY_REFUSED})


_MADE_HERE: Final = object()


class Proof:
    """What proves that a person means one request; only `Proofs` makes one, after it has checked it.

    `agreed` is the exact request; `kind` in the words of the audit, `factors` in those of RFC 8176; `evidence` is what
    others can check again: what a passkey signed.
    """

    __slots__ = ("agreed", "evidence", "factors", "kind", "person", "session")

    def __init__(  # noqa: PLR0913 - what it says
        self,
        made_here: object,
        *,
        kind: ProofKind,
        person: str,
        session: bool,
        agreed: str,
        factors: frozenset[str],
        evidence: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse to be made by anything but `Proofs`."""
        if made_here is not _MADE_HERE:
            raise TypeError("only `Proofs` makes a proof")  # noqa: EM101, TRY003 - said once, here
        self.kind, self.person, self.session, self.agreed, self.factors = kind, person, session, agreed, factors
        self.evidence = evidence or {}


class Proofs:
    """Checks that the person of a session is there, where the site wants that (`HEADRACE_CONSENT_PROOF`)."""

    def __init__(self, core: Core, authenticator: Authenticator) -> None:
        """Check passwords and passkeys with `authenticator`."""
        self._core = core
        self._auth = authenticator

    async def of(self, caller: Caller, action: str, subject: str, request: m.Proven) -> Proof:
        """Return what proves that the caller means this request (`action`: the port's method; `subject`: its argument).

        Raises `proof_needed`, and what `prove` of passwords and passkeys does. A proof that is given is checked, also
        where none is wanted.
        """
        return await self._at_least(strength_of(self._core.settings), caller, action, subject, request)

    async def to_add_a_passkey(self, caller: Caller, request: m.Proven) -> Proof:
        """Return what proves that the caller is there, who adds a passkey: always more than a session.

        For the first one, of somebody who has signed in at a provider and has no password here, the sign-in itself
        counts while it is fresh. Where passkeys are wanted, a further one takes a passkey.
        """
        principal, wanted = caller.principal, strength_of(self._core.settings)
        has_one = bool(await self._auth.passkeys.of(principal))
        if principal.method == "oidc" and request == m.Proven() and not has_one:
            if self._core.clock() >= principal.authenticated_at + CHALLENGE_LIMIT:
                raise ServiceError(Code.PROOF_NEEDED, _SIGN_IN_AGAIN)
            what = _agreed("begin_passkey", principal.id, request)
            return _proof("provider", principal, what, principal.factors)
        least: m.ProofStrength = "passkey" if has_one and wanted == "passkey" else "password"
        return await self._at_least(least, caller, "begin_passkey", principal.id, request)

    async def _at_least(
        self, least: m.ProofStrength, caller: Caller, action: str, subject: str, request: m.Proven
    ) -> Proof:
        principal, what = caller.principal, _agreed(action, subject, request)
        try:
            if request.passkey is not None:
                await self._auth.passkeys.prove(principal, what, assertion(request.passkey))
                evidence = request.passkey.model_dump(mode="json")
                return _proof("passkey", principal, what, frozenset({"mfa", "passkey", "pop"}), evidence)
            if request.password is not None and least != "passkey":
                await self._auth.prove(principal, request.password)
                return _proof("password", principal, what, frozenset({"pwd"}))
        except AuthError as error:
            if error.code in _REFUSED:
                async with self._core.database.write() as tx:
                    await self._core.audit.append(
                        tx,
                        m.AuditKind.PROOF_FAILED,
                        caller=caller,
                        subject=principal.id,
                        detail={"reason": str(error)},
                    )
            raise
        if least == "session":
            return _proof("session", principal, what, principal.factors)
        raise await self._needed(least, caller, what)

    async def _needed(self, least: m.ProofStrength, caller: Caller, what: str) -> ServiceError:
        principal = caller.principal
        challenge = await self._auth.passkeys.ask(principal, what) if principal.session else None
        ways: list[m.ProofWay] = []
        if least != "passkey" and await self._auth.takes_password(principal):
            ways.append("password")
        if challenge is not None:
            ways.append("passkey")
        if not ways:
            why = _NO_PASSKEY if least == "passkey" else _AT_A_PROVIDER
            return ServiceError(Code.PROOF_NEEDED, why)
        wanted = m.ProofWanted(ways=ways, passkey=challenge_view(challenge) if challenge else None)
        return ServiceError(Code.PROOF_NEEDED, _HOW[tuple(ways)], proof=wanted)


def _proof(
    kind: ProofKind, by: Principal, agreed: str, factors: frozenset[str], evidence: Mapping[str, str] | None = None
) -> Proof:
    return Proof(
        _MADE_HERE, kind=kind, person=by.id, session=by.session, agreed=agreed, factors=factors, evidence=evidence
    )


def challenge_view(challenge: Challenge) -> m.PasskeyChallenge:
    """Show a challenge."""
    return m.PasskeyChallenge(
        challenge=challenge.challenge,
        kept=challenge.kept,
        party=challenge.party.id,
        origin=challenge.party.origin,
        passkeys=list(challenge.passkeys),
        expires=challenge.until,
    )


def assertion(given: m.PasskeyAnswer) -> Assertion:
    """Take what a browser gave."""
    return Assertion(**given.model_dump())


def _agreed(action: str, subject: str, request: m.Proven) -> str:
    """Return what a proof is for: the exact request, but for the proof."""
    said = request.model_dump(mode="json", exclude={"password", "passkey"})
    return canonical({"action": action, "subject": subject, "request": said}).decode()


def strength_of(settings: Settings) -> m.ProofStrength:
    """Return what comes with consent at least (`HEADRACE_CONSENT_PROOF`)."""
    return cast("m.ProofStrength", settings.consent_proof)
