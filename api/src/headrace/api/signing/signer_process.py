"""The signer in a process of its own: what it signs, and what it checks itself before.

It trusts the service's account with nothing that a person's yes stands for. A statement of consent is sealed of a
passkey's answer that it has verified, with a passkey that its owner has accepted. A ticket is sealed for a plan that
the policy it knows allows, with the statements that this policy asks for, for one transfer. What it takes from the
service are facts: who has which role, which root an endpoint is, and what a survey found.
"""

import json
import logging
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from headrace.api.authority_key import PROBE, AuthorityKey
from headrace.api.clock import Clock
from headrace.api.errors import Code, KeyUnusable, ServiceError
from headrace.api.signing.consents import PUBLISH, Terms, approval_in, confirmation_in, consent_body
from headrace.api.signing.consents import TYPE as CONSENT
from headrace.api.signing.signer_state import KnownPasskey, SignerState, StateUnusable
from headrace.api.signing.signer_wire import (
    SIGNED_AS_WRITTEN,
    Answer,
    Hello,
    MakeConsent,
    MakeTicket,
    ProofOf,
    SignBody,
    TakePolicy,
)
from headrace.auth import CHALLENGE_LIMIT, Agreed, Assertion, AuthCode, AuthError, RelyingParty, check_agreed
from headrace.guardrails import (
    Attempt,
    Filters,
    GuardrailError,
    Json,
    JsonObject,
    PolicySet,
    ReleasedPlan,
    Submission,
    asks_no_more,
    digest,
    filters_record,
    redecide,
    release,
    seal,
    ticket_body,
    why,
    written_obligations,
)

_log = logging.getLogger(__name__)

_FACTS_OF_PLAN: Final = ("max_files", "max_bytes", "on_conflict")
_RELEASED_FOR: Final = timedelta(days=90)
"""From the first ticket of a plan to its last."""
_UNREADABLE: Final = "the sealed plan, or a statement of consent to it, can't be read; plan again"
_FORGED: Final = "the plan does not tell policy what it tells the nodes; plan again"


@dataclass(frozen=True, slots=True)
class _Checked:
    """A passkey's answer that was verified here."""

    person: str
    agreed: str
    evidence: Mapping[str, str]
    kind: str = "passkey"
    session: bool = True


class SignerRules:
    """Answers requests."""

    def __init__(self, key: AuthorityKey, state: SignerState, party: RelyingParty, clock: Clock) -> None:
        """Sign with `key`; passkeys are those of `party`."""
        self._key = key
        self._state = state
        self._party = party
        self._clock = clock
        self._parsed: tuple[str, PolicySet | None] = ("", None)
        self._writable = False
        """Whether the state took the last write; not known before the first."""

    def answer(self, request: Hello | SignBody | MakeConsent | MakeTicket | TakePolicy) -> Answer:
        """Do what is asked, or say why not."""
        try:
            self._require_writable(request)
            return self._answer_or_refuse(request)
        except StateUnusable as error:
            self._writable = False
            _log.warning("nothing is signed: %s", error)
            return Answer(public=self._key.public, code=Code.KEY_UNUSABLE, detail=str(error))

    def _require_writable(self, request: Hello | SignBody | MakeConsent | MakeTicket | TakePolicy) -> None:
        """Try a small write for a probe, and for whatever is to be signed after a write failed.

        A plan needs no write and its ticket does: were the plan signed, the service would take that for the end of
        the trouble.
        """
        probe = isinstance(request, SignBody) and request.type == PROBE
        if probe or not (self._writable or isinstance(request, Hello)):
            self._state.measure()
            self._writable = True

    def _answer_or_refuse(self, request: Hello | SignBody | MakeConsent | MakeTicket | TakePolicy) -> Answer:
        try:
            return self._answer(request)
        except KeyUnusable as error:
            return self._said(code=error.code, detail=error.why)
        except AuthError as error:
            return self._said(code=error.code, detail=error.reason)
        except (ServiceError, GuardrailError) as error:
            return self._said(code=str(error.code), detail=str(error.args[0]))
        except (LookupError, TypeError, ValueError):
            # What somebody made up, and no fault of the signer's, which would count as away without an answer.
            _log.warning("a request holds what can't be read", exc_info=True)
            return self._said(code=Code.PLAN_ALTERED, detail=_UNREADABLE)

    def _answer(self, request: Hello | SignBody | MakeConsent | MakeTicket | TakePolicy) -> Answer:
        match request:
            case Hello():
                return self._said().model_copy(update={"successions": self._key.chain.documents})
            case SignBody():
                if request.type not in SIGNED_AS_WRITTEN:
                    raise ServiceError(Code.FORBIDDEN, f"a `{request.type}` is not signed as it is written")
                signature = self._key.sign(request.type, request.body.encode())
                self._note_end(request)
                return self._said(signature=signature)
            case MakeConsent():
                return self._said(document=self._consent(request))
            case MakeTicket():
                return self._said(document=self._ticket(request))
            case TakePolicy():
                statement = self._take_policy(request)
                return self._said(document=statement)

    def _said(self, **what: str) -> Answer:
        policies = self._policies()
        return Answer(public=self._key.public, policy=policies.version if policies else "", **what)

    def _note_end(self, signed: SignBody) -> None:
        """Sign no more tickets for a plan once the receipt says that all of it is there."""
        if signed.type != "receipt":
            return
        said = _mapping(json.loads(signed.body))
        if said["outcome"] == "complete":
            self._state.complete(str(said["plan_digest"]))

    # -- consent --

    def _consent(self, asked: MakeConsent) -> str:
        checked, _ = self._checked(asked.proved)
        terms = None if asked.terms is None else Terms(**dict(asked.terms))
        return seal(CONSENT, consent_body(checked, terms, self._clock()), self._key).text

    def _checked(self, proved: ProofOf) -> tuple[_Checked, KnownPasskey]:
        """Verify a passkey's answer with a key that the owner has accepted, and use it up."""
        given, now = proved.passkey, self._clock()
        known = self._state.passkey(given.id)
        if known is None or not known.accepted:
            offered = KnownPasskey(id=given.id, person=proved.person, public_key=proved.public_key)
            if not self._state.offer(offered):
                raise ServiceError(
                    AuthCode.PASSKEY_REFUSED,
                    "the signer does not know this passkey, and too many wait there to be accepted; whoever runs it "
                    "accepts or removes some (`headrace signer passkeys`); then do this again",
                )
            raise ServiceError(
                AuthCode.PASSKEY_REFUSED,
                "the signer does not know this passkey yet; whoever runs it accepts it there "
                f"(`headrace signer accept -- {given.id[:16]}`); then do this again",
            )
        if known.person != proved.person:
            raise ServiceError(AuthCode.PASSKEY_REFUSED, "this passkey is another person's at the signer")
        agreed = self._agreed(proved, known)
        if not now < agreed.until <= now + CHALLENGE_LIMIT:
            raise ServiceError(AuthCode.PASSKEY_REFUSED, "that took longer than five minutes; begin again")
        if not self._state.use(known.id, agreed.sign_count, agreed.nonce, now, agreed.until):
            raise ServiceError(AuthCode.PASSKEY_REFUSED, "this answer was used already; begin again")
        return _Checked(proved.person, proved.agreed, given.model_dump(mode="json")), known

    def _agreed(self, proved: ProofOf, known: KnownPasskey) -> Agreed:
        try:
            key = urlsafe_b64decode(known.public_key)
        except (NotBase64, ValueError) as error:
            raise ServiceError(AuthCode.PASSKEY_REFUSED, "the passkey's key can't be read") from error
        return check_agreed(self._party, proved.person, proved.agreed, Assertion(**proved.passkey.model_dump()), key)

    # -- policy --

    def _policies(self) -> PolicySet | None:
        text = self._state.policy()
        if self._parsed[0] != text:
            parsed = PolicySet.parse(text)
            self._parsed = (text, parsed if isinstance(parsed, PolicySet) else None)
        return self._parsed[1]

    def _take_policy(self, asked: TakePolicy) -> str:
        # The service has run its examples, which may take long; here it has to be one that can be decided by.
        if not isinstance(PolicySet.parse(asked.text), PolicySet):
            raise ServiceError(Code.POLICY_INVALID, "the signer does not take this text for a policy")
        checked, known = self._checked(asked.proved)
        agreed = json.loads(checked.agreed)
        said = agreed["action"], str(agreed["subject"]).partition(" ")[2]
        if said != (PUBLISH, digest(asked.text.encode())):
            raise ServiceError(AuthCode.PASSKEY_REFUSED, "this proof was given for something else")
        if not known.publishes:
            raise ServiceError(
                AuthCode.PASSKEY_REFUSED,
                "this passkey publishes no policy at the signer; whoever runs it says otherwise with "
                f"`headrace signer accept --publishes -- {known.id[:16]}`",
            )
        statement = seal(CONSENT, consent_body(checked, None, self._clock()), self._key).text
        self._state.take_policy(asked.text)
        return statement

    # -- tickets --

    def _ticket(self, asked: MakeTicket) -> str:
        now, policies = self._clock(), self._policies()
        before = self._state.released(asked.digest)
        keys = self._key.accepted(starts=before is None)
        if before is not None and before[0] != asked.transfer:
            raise ServiceError(Code.PLAN_ALTERED, f"this plan was released for transfer `{before[0]}`; plan again")
        if self._state.is_complete(asked.digest):
            raise ServiceError(Code.TRANSFER_STATE, "the receipt of this plan says that all of it is there; plan again")
        if before is not None and now >= before[1] + _RELEASED_FOR:
            raise ServiceError(Code.TRANSFER_STATE, f"this plan began {_RELEASED_FOR.days} days ago; plan again")
        submission = Submission(
            document=asked.document,
            digest=asked.digest,
            confirmation=confirmation_in(asked.confirmation, keys),
            approvals=tuple(
                one for one in (approval_in(statement, keys) for statement in asked.approvals) if one is not None
            ),
            started=before[1] if before else None,
        )
        plan = release(submission, keys=keys, policies=policies, now=now)
        _require_same_facts(plan)
        decision_of_plan = _mapping(plan.fields["decision"])
        decision = redecide(policies, str(decision_of_plan["context"]))
        if decision.outcome == "denied":
            raise ServiceError(Code.DENIED_BY_POLICY, why(decision))
        if not asks_no_more(decision.obligations, written_obligations(decision_of_plan["obligations"])):
            raise ServiceError(Code.NEEDS_CONFIRMATION, f"{why(decision)} The plan does not ask for that; plan again.")
        attempt = Attempt(
            transfer=asked.transfer,
            number=asked.number,
            only_failed=asked.only_failed,
            rate_ceiling_bps=asked.rate_ceiling_bps,
            leg=asked.leg,
        )
        ticket = seal("ticket", ticket_body(plan, attempt, now), self._key)
        if before is None:
            self._state.release(asked.digest, asked.transfer, now)
        return ticket.text


def _require_same_facts(plan: ReleasedPlan) -> None:
    """Hold what policy was told against what the nodes are told: both are the service's words."""
    record = _mapping(json.loads(str(_mapping(plan.fields["decision"])["context"])))
    told, does, survey = _mapping(record["context"]), plan.execution, _mapping(plan.fields["survey"])
    asked, filters = _mapping(record["resource"]), filters_record(Filters.read(_mapping(does["filters"])))
    moved = int(str(survey["files"])) + int(str(survey["identical_files"])) if does["delete_source"] else 0
    pairs: list[tuple[Json, Json]] = [
        (record["action"], does["action"]),
        (_mapping(record["caller"])["person"], plan.requester),
        (_mapping(record["caller"])["agent"], plan.fields["agent"]),
        (does["delete_source"], does["action"] == "move"),
        (told["overwrites"], _mapping(does["overwrites"])["count"]),
        (told["deletes"], _mapping(does["deletes"])["count"]),
        (told["moved_files"], str(moved)),
        (told["encrypted"], does["encryption"] == "required"),
        (told["verification"], does["verify"]),
        (told.get("rate_limit_bps", "0"), does["rate_ceiling_bps"] or "0"),
        (told.get("origins"), _kinds(plan.fields.get("origins"))),
        *((told.get(name, does[name]), does[name]) for name in _FACTS_OF_PLAN),
        *((_mapping(asked[end])["path"], _mapping(does[end])["path"]) for end in ("source", "destination")),
        # A record of an earlier form has none of them, or globs alone, and a policy that reads the others denies it.
        *((asked[name], filters[name]) for name in filters if name in asked),
    ]
    if any(left != right for left, right in pairs):
        raise ServiceError(Code.PLAN_ALTERED, _FORGED)


def _kinds(origins: Json) -> Json:
    """Give the origin of each slot of a plan; plans before 2026-11-24 have none, and policy was told none."""
    return None if origins is None else {slot: _mapping(one)["origin"] for slot, one in _mapping(origins).items()}


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ServiceError(Code.PLAN_ALTERED, _UNREADABLE)
    return value
