"""The authority: what signs with the authority key, in this process or in one of its own (`headrace signer`).

Plans, permits, receipts and heads of the audit chain are signed as they are written. A ticket and a statement of
consent are not: they are made from what they stand on, so that a signer of its own can check that itself.
"""

from dataclasses import dataclass
from typing import ClassVar

from headrace.api.authority_key import AuthorityKey
from headrace.api.people.proofs import Proof
from headrace.api.signing.consents import TYPE as CONSENT
from headrace.api.signing.consents import Terms, consent_body
from headrace.guardrails import Attempt, Document, ReleasedPlan, seal, ticket_body


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a ticket stands on: the sealed plan, and the statements of its confirmation and approvals."""

    document: str
    confirmation: str
    approvals: tuple[str, ...]


class Authority(AuthorityKey):
    """Signs in this process, where whoever asks has checked what is signed."""

    apart: ClassVar[bool] = False
    """Whether the key is in another process, which checks the grounds of a ticket itself."""
    remedy: ClassVar[str] = "put the token, its module or the file of its PIN right; what waits goes on by itself"
    """What an operator does while it can't sign."""

    @property
    def policy(self) -> str | None:
        """By which version of the policy an authority that is apart decides; `None` where nobody can say."""
        return None

    def consent(self, proof: Proof, terms: Terms | None) -> Document:
        """Seal what a person has proven to agree to."""
        return seal(CONSENT, consent_body(proof, terms, self._clock()), self)

    def ticket(self, plan: ReleasedPlan, attempt: Attempt, grounds: Grounds | None) -> Document:
        """Seal a ticket for one attempt; `grounds` are for an authority that is apart."""
        del grounds
        return seal("ticket", ticket_body(plan, attempt, self._clock()), self)

    def publish(self, proof: Proof, text: str) -> Document:
        """Let the authority know by which policy it decides from now on (in this process it asks), and seal who did."""
        del text
        return self.consent(proof, None)
