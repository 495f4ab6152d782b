"""An authority in a process of its own, `headrace signer`, as the service sees it: over its Unix socket."""

import socket
import time
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Final

from pydantic import ValidationError

from headrace.api.authority_key import KeyTrouble
from headrace.api.clock import Clock
from headrace.api.errors import CannotStart, Code, KeyUnusable, ServiceError
from headrace.api.key_chain import KeyChain
from headrace.api.people.proofs import Proof
from headrace.api.signing.authority import Authority, Grounds
from headrace.api.signing.consents import Terms
from headrace.api.signing.signer_wire import (
    Answer,
    Hello,
    MakeConsent,
    MakeTicket,
    ProofOf,
    SignBody,
    TakePolicy,
    TermsOf,
    receive,
    send,
)
from headrace.client import models as m
from headrace.guardrails import Attempt, Document, ReleasedPlan, verify

_PATIENCE_S: Final = 2.0
"""How long an answer may take; the service waits meanwhile."""
_LEFT_ALONE_S: Final = 20.0
"""How long a signer that did not answer in time is not asked again: it holds up the service for 2 s of 22."""
_LATE: Final = "it did not answer in time"
_FRESH_S: Final = 10.0
"""How old an answer may be to say by which policy the signer decides."""
_PROOF: Final = {"id", "client_data", "authenticator_data", "signature", "kept"}


class Line:
    """Asks a signer, with one connection for each request. It is started again without anybody's doing."""

    def __init__(self, path: Path) -> None:
        """Ask at `path`; raises `CannotStart` when nobody answers there."""
        self._path = path
        self._left_alone_until = 0.0
        self._heard = 0.0
        self.public = ""
        try:
            hello = self.ask(Hello())
        except KeyUnusable as error:
            message = f"{error.why}; start it first (`headrace signer run`), or correct HEADRACE_SIGNER"
            raise CannotStart(message) from error
        self.public, self.successions = hello.public, hello.successions

    def sign(self, type: str, body: bytes) -> str:  # noqa: A002 - the word of the format
        """Have a body signed as it is written; raises `KeyUnusable`."""
        return self.ask(SignBody(type=type, body=body.decode())).signature

    def ask(self, request: Hello | SignBody | MakeConsent | MakeTicket | TakePolicy) -> Answer:
        """Ask; raises `KeyUnusable` when there is no answer, `ServiceError` for a refusal."""
        if time.monotonic() < self._left_alone_until:
            raise KeyUnusable(self._about(_LATE))
        try:
            with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
                connection.settimeout(_PATIENCE_S)
                connection.connect(str(self._path))
                send(connection, request)
                answer = Answer.model_validate_json(receive(connection, _PATIENCE_S))
        except TimeoutError:
            self._left_alone_until = time.monotonic() + _LEFT_ALONE_S
            raise KeyUnusable(self._about(_LATE)) from None
        except (OSError, ValidationError) as error:
            raise KeyUnusable(self._about(getattr(error, "strerror", None) or str(error))) from error
        if self.public and answer.public != self.public:
            raise KeyUnusable(
                self._about(
                    f"it has another key than before, {answer.public}: when that was rotated, start the service again"
                )
            )
        if answer.code == Code.KEY_UNUSABLE:
            raise KeyUnusable(self._about(answer.detail))
        self.policy, self._heard = answer.policy, time.monotonic()
        if answer.code:
            raise ServiceError(answer.code, answer.detail)
        return answer

    def policy_now(self) -> str:
        """Return the version of the policy by which the signer decides, at most ten seconds old; `KeyUnusable`."""
        if time.monotonic() >= self._heard + _FRESH_S:
            self.ask(Hello())
        return self.policy

    def _about(self, why: str) -> str:
        return f"the signer at `{self._path}` can't be used: {why}"


class SignerProcess(Authority):
    """The authority of a signer of its own."""

    apart: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "look at the signer on its host: `systemctl status headrace-signer`, the disk of its state folder, its socket, "
        "and its token if it has one; what waits goes on by itself"
    )

    def __init__(self, line: Line, clock: Clock, chain: KeyChain | None) -> None:
        """Ask over `line`, which has the newest key of `chain`."""
        super().__init__(line, clock, chain)
        self._line = line

    @property
    def trouble(self) -> KeyTrouble | None:
        """As in `AuthorityKey`; a signer is tried before one fails, because it can end while nothing is signed."""
        self._try()
        return self._trouble

    @property
    def policy(self) -> str | None:
        """As in `Authority`."""
        try:
            # Not watched: a signer that says its policy may still be unable to sign.
            return self._line.policy_now()
        except KeyUnusable:
            return None

    def consent(self, proof: Proof, terms: Terms | None) -> Document:
        """As in `Authority`; the signer checks the passkey's answer itself."""
        asked = MakeConsent(proved=_proved(proof), terms=None if terms is None else _terms(terms))
        return self._document("consent", asked)

    def ticket(self, plan: ReleasedPlan, attempt: Attempt, grounds: Grounds | None) -> Document:
        """As in `Authority`; the signer checks the grounds itself."""
        if grounds is None:
            raise TypeError("a signer of its own wants grounds")  # noqa: EM101, TRY003 - said once, here
        asked = MakeTicket(
            document=grounds.document,
            digest=plan.digest,
            confirmation=grounds.confirmation,
            approvals=grounds.approvals,
            transfer=attempt.transfer,
            number=attempt.number,
            only_failed=attempt.only_failed,
            rate_ceiling_bps=attempt.rate_ceiling_bps,
            leg=attempt.leg,
        )
        return self._document("ticket", asked)

    def publish(self, proof: Proof, text: str) -> Document:
        """As in `Authority`; the signer checks the proof, and decides by the policy from then on."""
        return self._document("consent", TakePolicy(proved=_proved(proof), text=text))

    def _document(self, type_: str, asked: MakeConsent | MakeTicket | TakePolicy) -> Document:
        return verify(self._watched(lambda: self._line.ask(asked)).document, type_, [self.public])


def _terms(terms: Terms) -> TermsOf:
    return TermsOf(
        requester=terms.requester,
        policy_version=terms.policy_version,
        expires=terms.expires,
        roles=sorted(terms.roles),
        groups=sorted(terms.groups),
    )


def _proved(proof: Proof) -> ProofOf:
    if proof.kind != "passkey":
        raise ServiceError(Code.PROOF_NEEDED, "the signer of this site counts passkeys only: use one")
    answer = {name: value for name, value in proof.evidence.items() if name in _PROOF}
    return ProofOf(
        person=proof.person,
        agreed=proof.agreed,
        passkey=m.PasskeyAnswer.model_validate(answer),
        public_key=proof.evidence["public_key"],
    )
