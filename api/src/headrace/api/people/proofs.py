"""A yes that proves a person: a proof comes with what is agreed to, in one request, so one proof is for one thing.

A session's secret is a bearer secret: any program of the account can use it. What it can't do is type the password, or
touch the passkey. A passkey signs the digest of the very request that it comes with.
"""

from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Literal, cast

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.settings import Settings
from headrace.auth import (
    BY_PASSKEY,
    Assertion,
    AuthCode,
    Authenticator,
    AuthError,
    Challenge,
    Principal,
    ProviderChallenge,
)
from headrace.client import models as m
from headrace.guardrails import Document, canonical

ProofKind = Literal["session", "password", "passkey", "provider"]

_NEEDED = "prove that this is you: a session alone is not enough here"
_HOW = {
    ("password",): f"type your password to {_NEEDED}",
    ("passkey",): f"use your passkey to {_NEEDED}",
    ("password", "passkey"): f"use your passkey or type your password to {_NEEDED}",
    ("provider",): f"sign in at your provider once more, in the console, to {_NEEDED}",
}
_NO_PASSKEY = "this needs a passkey, and you have none: add one on the page of your account in the console"
_NO_WAY = (
    "this needs a proof, and you have none to give: neither a password nor a passkey here, nor a session that began at "
    "a provider of this site; sign in again, or let somebody do this who has one"
)
_REFUSED = frozenset({AuthCode.PROOF_REFUSED, AuthCode.PASSKEY_REFUSED, AuthCode.PROVIDER_PROOF_REFUSED})


_MADE_HERE: Final = object()


class Proof:
    """What proves that a person means one request; only `Proofs` makes one, after it has checked it.

    `agreed` is the exact request; `kind` in the words of the audit, `factors` in those of RFC 8176; `evidence` is what
    others can check again: what a passkey signed and its key, or who signed in where and when.
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

    def __init__(
        self, core: Core, authenticator: Authenticator, public_url: str, state: Callable[[Proof], Document | None]
    ) -> None:
        """Check passwords, passkeys and sign-ins with `authenticator`; browsers reach this service at `public_url`.

        `state` seals the statement of a proof.
        """
        self._core = core
        self._state = state
        self._auth = authenticator
        self._origin = public_url

    async def of(self, caller: Caller, action: str, subject: str, request: m.Proven, check: Awaitable[object]) -> Proof:
        """Return what proves that the caller means this request (`action`: the port's method; `subject`: its argument).

        `check` is awaited first, and refuses what can't be done anyhow: nobody is asked for a proof of that, nor is one
        used up. It looks only; whoever does it then looks again, when nobody else can write.

        Raises `proof_needed`, and what `prove` of passwords and passkeys does. A proof that is given is checked, also
        where none is wanted. The signed statement of it is in the audit chain before anything is done for it.
        """
        return await self._stated(caller, action, await self.unstated(caller, action, subject, request, check))

    async def unstated(
        self, caller: Caller, action: str, subject: str, request: m.Proven, check: Awaitable[object]
    ) -> Proof:
        """As `of`, for those who have the statement sealed themselves and keep it with what it is about."""
        await check
        return await self._at_least(strength_of(self._core.settings), caller, action, subject, request)

    async def about_passkeys(
        self, caller: Caller, action: str, subject: str, request: m.Proven, check: Awaitable[object]
    ) -> Proof:
        """Return what proves that the caller is there, who adds or removes a passkey: always more than a session.

        Where passkeys are wanted, who has one uses it. `check`: as in `of`.
        """
        await check
        wanted, has_one = strength_of(self._core.settings), bool(await self._auth.passkeys.of(caller.principal))
        least: m.ProofStrength = "passkey" if has_one and wanted == "passkey" else "password"
        return await self._stated(caller, action, await self._at_least(least, caller, action, subject, request))

    async def by_passkey(self, caller: Caller, action: str, subject: str, request: m.Proven) -> Proof:
        """Return a passkey's proof that the caller means this request, whatever the site wants."""
        return await self._at_least("passkey", caller, action, subject, request)

    async def _stated(self, caller: Caller, action: str, proof: Proof) -> Proof:
        statement = self._state(proof)
        detail = {"action": action, "proof": proof.kind, "statement": statement.text if statement else ""}
        async with self._core.database.write() as tx:
            await self._core.audit.append(tx, m.AuditKind.CONSENTED, caller=caller, subject=proof.person, detail=detail)
        return proof

    async def _at_least(
        self, least: m.ProofStrength, caller: Caller, action: str, subject: str, request: m.Proven
    ) -> Proof:
        principal, what = caller.principal, _agreed(action, subject, request)
        async with self.refusals_audited(caller):
            if request.passkey is not None:
                used = await self._auth.passkeys.prove(principal, what, assertion(request.passkey))
                key = urlsafe_b64encode(used.public_key).decode("ascii")
                evidence = request.passkey.model_dump(mode="json") | {"public_key": key}
                return _proof("passkey", principal, what, BY_PASSKEY.factors, evidence)
            if request.password is not None and least != "passkey":
                await self._auth.prove(principal, request.password)
                return _proof("password", principal, what, frozenset({"pwd"}))
            if request.provider is not None and least != "passkey":
                found = await self._auth.oidc_proof.prove(principal, what, request.provider)
                return _proof("provider", principal, what, found.factors, found.evidence)
        if least == "session":
            return _proof("session", principal, what, principal.factors)
        raise await self._needed(least, caller, what)

    @asynccontextmanager
    async def refusals_audited(self, caller: Caller) -> AsyncIterator[None]:
        """Audit each proof that is refused meanwhile: somebody else may hold the session. Tries are throttled."""
        try:
            yield
        except AuthError as error:
            if error.code in _REFUSED:
                who, detail = caller.principal.id, {"address": caller.address, "reason": str(error)}
                async with self._core.database.write() as tx:
                    await self._core.audit.append(
                        tx, m.AuditKind.PROOF_FAILED, caller=caller, subject=who, detail=detail
                    )
            raise

    async def _needed(self, least: m.ProofStrength, caller: Caller, what: str) -> ServiceError:
        principal = caller.principal
        challenge = await self._auth.passkeys.ask(principal, what) if principal.session else None
        ways: list[m.ProofWay] = []
        if least != "passkey" and await self._auth.takes_password(principal):
            ways.append("password")
        if challenge is not None:
            ways.append("passkey")
        # Whoever has one of these keeps to it: a session left open at the provider is then of no use to others.
        elsewhere = None if ways or least == "passkey" else self._auth.oidc_proof.ask(principal, what)
        if elsewhere is not None:
            ways.append("provider")
        if not ways:
            return ServiceError(Code.PROOF_NEEDED, _NO_PASSKEY if least == "passkey" else _NO_WAY)
        wanted = m.ProofWanted(
            ways=ways,
            passkey=challenge_view(challenge) if challenge else None,
            provider=self._elsewhere_view(elsewhere) if elsewhere else None,
        )
        return ServiceError(Code.PROOF_NEEDED, _HOW[tuple(ways)], proof=wanted)

    def _elsewhere_view(self, asked: ProviderChallenge) -> m.ProviderChallenge:
        return m.ProviderChallenge(
            provider=asked.issuer.id,
            name=asked.issuer.name,
            origin=self._origin,
            id=asked.id,
            kept=asked.kept,
            expires=asked.until,
        )


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
    said = request.model_dump(mode="json", exclude={"password", "passkey", "provider"})
    return canonical({"action": action, "subject": subject, "request": said}).decode()


def strength_of(settings: Settings) -> m.ProofStrength:
    """Return what comes with consent at least (`HEADRACE_CONSENT_PROOF`)."""
    return cast("m.ProofStrength", settings.consent_proof)
