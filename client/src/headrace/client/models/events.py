"""Every kind of event: what is kept of a transfer, what is told of changes, and what the audit chain records.

A kind is declared here and nowhere else; nothing else can be written. docs/events.md is made from this file.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from pydantic import Field

from headrace.client.models.base import Count, Model
from headrace.client.models.plans import PlanState
from headrace.client.models.transfers import Transfer, TransferState


class _Kind(StrEnum):
    """A kind of event with what it says (`about`) and the names in its `detail` (`fields`)."""

    _value_: str
    about: str
    fields: frozenset[str]

    def __new__(cls, value: str, about: str = "", fields: str = "") -> Self:
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.about = about
        kind.fields = frozenset(fields.split())
        return kind


class TransferEventKind(_Kind):
    """What an entry of a transfer's history is about; a later service may know more kinds.

    Those that are named as a state say that the transfer has come into it, or stays in it for another reason.
    """

    QUEUED = "queued", "it was submitted or is tried again, and waits for its turn"
    RUNNING = "running", "it runs, or runs on for another reason"
    WAITING = "waiting", "it waits: for a node, for its next try, or until an operator releases it"
    PAUSED = "paused", "it is paused"
    COMPLETE = "complete", "everything has arrived and is verified"
    PARTIAL = "partial", "it ended, and some files did not arrive"
    FAILED = "failed", "it ended without its result"
    CANCELED = "canceled", "it was stopped for good"
    STARTED = "started", "its first attempt began"
    ATTEMPT = "attempt", "a further attempt began"
    ATTEMPT_ENDED = "attempt_ended", "an attempt ended, and how"
    ASKED_RUN = "asked_run", "somebody asked for it to go on"
    ASKED_PAUSE = "asked_pause", "somebody asked for a pause"
    ASKED_CANCEL = "asked_cancel", "somebody asked for its end"
    RATE = "rate", "somebody set another ceiling of its rate"
    CLASS = "class", "somebody gave it another class"
    DEADLINE = "deadline", "somebody set another deadline, or took it away"
    DEADLINE_AT_RISK = "deadline_at_risk", "its deadline is at risk: why, and by how much it would come late"
    DEADLINE_SAFE = "deadline_safe", "its deadline, which was at risk, is safe again"
    DEADLINE_MISSED = "deadline_missed", "its deadline has passed, and it had not ended"
    RETRY = "retry", "somebody asked for another try"
    PROGRESS = "progress", "how far it is; only streamed, never kept"


class ChangeKind(_Kind):
    """What `GET /events` tells of; a later service may know more kinds."""

    PLAN = "plan", "a plan came into a state, or somebody said yes or no to it"
    TRANSFER = "transfer", "an entry was added to a transfer's history; `state` is the transfer's"
    NODE = "node", "a node joined, came, went, or is given no more work"
    ENDPOINT = "endpoint", "an endpoint appeared or was removed, or its names, labels or access changed"
    POLICY = "policy", "a version of the policy came into a state"
    QOS = "qos", "a version of links, classes and calendars came into a state"
    HALT = "halt", "an operator halted something, or released it"
    NOW = "now", "the first message of a stream: its number is the one to begin after; no change"
    RELOAD = "reload", "changes were missed, because they are no longer kept: read everything anew; no change"


CHANGE_STATES: Final[Mapping[ChangeKind, tuple[str, ...]]] = {
    ChangeKind.PLAN: (*PlanState, "confirmed", "declined", "approved", "refused"),
    ChangeKind.TRANSFER: tuple(TransferState),
    ChangeKind.NODE: ("enrolled", "attached", "detached", "draining", "revoked", "removed"),
    ChangeKind.ENDPOINT: ("made", "changed", "removed"),
    ChangeKind.POLICY: ("proposed", "active", "retired", "withdrawn"),
    ChangeKind.QOS: ("proposed", "active", "retired", "withdrawn"),
    ChangeKind.HALT: ("halted", "released"),
}
"""The states that a change of each kind can say."""


class AuditKind(_Kind):
    """What a link of the audit chain records."""

    SERVICE_STARTED = (
        "service_started",
        "the service started; `weaker`: which protection of the last start it has lost with a setting",
        "weaker",
    )
    REMOVED_OLD = (
        "removed_old",
        "so many plans, lists and transfers were removed that are kept no longer",
        "plans lists transfers",
    )
    SIGNED_IN = "signed_in", "a person signed in", "address method factors issuer"
    SIGN_IN_FAILED = "sign_in_failed", "somebody was turned away at the sign-in", "address reason"
    PROOF_FAILED = (
        "proof_failed",
        "somebody gave a wrong proof in a person's session, or at the provider for it, from `address`",
        "address reason",
    )
    CONSENTED = (
        "consented",
        "a person agreed to a request, before it was done; `statement` is the whole signed statement",
        "action proof statement",
    )
    PASSKEY_ADDED = "passkey_added", "a person added a passkey", "passkey name"
    PASSKEY_REMOVED = "passkey_removed", "a passkey was removed, by its person or an administrator", "passkey name"
    SIGNED_OUT = (
        "signed_out",
        "a session was ended: by its person, an administrator, or the provider `issuer`",
        "address issuer",
    )
    INVITED = "invited", "a person was invited", "name roles"
    SERVICE_ACCOUNT_MADE = "service_account_made", "a service account was made", "name roles"
    INVITATION_ACCEPTED = "invitation_accepted", "an invited person chose a password", "name address"
    INVITED_AGAIN = "invited_again", "a person in this state got a new one-time link", "name state"
    PASSWORD_CHANGED = "password_changed", "a person replaced the password; other sessions ended", "name"
    PERSON_DISABLED = "person_disabled", "a person was disabled", "name"
    PERSON_ENABLED = "person_enabled", "a disabled person may act again", "name"
    PERSON_SUSPENDED = (
        "person_suspended",
        "an identity of a person is no longer; sessions, tokens and approvals not used yet are gone",
        "name cause",
    )
    PERSON_BACK = "person_back", "a suspended person may act again", "name cause"
    PERSON_ARRIVED = (
        "person_arrived",
        "somebody signed in for the first time, and became a person by the groups of an identity",
        "name roles groups issuer subject",
    )
    PERSON_RENAMED = (
        "person_renamed",
        "a person has another name at the issuer that they come from, and so here",
        "name name_before issuer subject",
    )
    RIGHTS_CHANGED = "rights_changed", "a person's roles or groups changed, and why", "name roles groups cause"
    IDENTITY_LINKED = "identity_linked", "an identity was made a person's", "name issuer subject"
    IDENTITY_UNLINKED = "identity_unlinked", "an identity is nobody's any more", "name issuer subject"
    GROUP_BOUND = "group_bound", "what a group of an issuer gives was changed", "issuer group roles groups"
    GROUPS_PROPOSED = "groups_proposed", "an administrator proposed what groups of issuers give", "bindings digest"
    GROUPS_WITHDRAWN = "groups_withdrawn", "what was proposed that groups of issuers give is not proposed any more"
    GROUPS_PUBLISHED = "groups_published", "another administrator let groups of issuers give it", "author digest"
    TOKEN_MADE = "token_made", "an API token was made", "name scopes agent owner"
    TOKEN_REVOKED = "token_revoked", "an API token was revoked"
    JOIN_TOKEN_MADE = (
        "join_token_made",
        "a one-time token was made with which a node may join, or the node `replaces` may take another key",
        "name replaces",
    )
    NODE_JOINED = "node_joined", "a node joined", "name key"
    NODE_REFUSED = "node_refused", "a node that wanted to join or attach was refused", "reason"
    NODE_DRAINED = "node_drained", "a node gets no more work", "name"
    NODE_UNDRAINED = "node_undrained", "a node gets work again", "name"
    NODE_REVOKED = "node_revoked", "a node's membership ended", "name"
    NODE_KEY_ROTATED = "node_key_rotated", "another key took the place of a node's", "name key former_key"
    NODE_REMOVED = "node_removed", "a revoked node was forgotten; its key stays refused", "name key"
    AUTHORITY_KEY_BEGUN = (
        "authority_key_begun",
        "an authority key signs that comes after no other: at the first start, after `--new`, or files were put back",
        "former",
    )
    AUTHORITY_KEY_ROTATED = (
        "authority_key_rotated",
        "another authority key signs, and nodes learn it; the former one counts until `until`",
        "former since until",
    )
    AUTHORITY_KEY_ENDED = "authority_key_ended", "the time of a former authority key is over", "next"
    HUB_KEY_NEXT = (
        "hub_key_next",
        "nodes learn the hub's next key, made at `since`; the hub answers with the former one until `until`",
        "former since until",
    )
    HUB_KEY_TAKEN = "hub_key_taken", "the hub answers with this key, and with the former one no more", "former"
    ENDPOINT_MADE = "endpoint_made", "an endpoint was made of a node's root", "endpoint node key root access"
    ENDPOINT_CHANGED = (
        "endpoint_changed",
        "an endpoint's names, labels or access changed",
        "endpoint id aliases labels folder_labels access",
    )
    ENDPOINT_REMOVED = (
        "endpoint_removed",
        "an endpoint was forgotten whose node exports its root no longer",
        "endpoint node key root aliases labels folder_labels",
    )
    HALTED = "halted", "an operator halted something", "scope subject name reason"
    HALT_RELEASED = "halt_released", "an operator released something", "scope subject name"
    CHANGES_LIMITED = (
        "changes_limited",
        "a person's sessions or a token (the subject) made more calls in a minute than are taken (`most`)",
        "most",
    )
    BROWSED = "browsed", "somebody listed a folder", "policy_version rules"
    BROWSE_DENIED = "browse_denied", "somebody was refused to list a folder", "policy_version rules"
    ASKED = (
        "asked",
        "somebody asked for a plan, with these words or slots",
        "answers words intent plan changes timezone project probe tuning",
    )
    DECIDED = "decided", "policy decided on a plan", "outcome rules policy_version digest origins project"
    PLANNING_ENDED = (
        "planning_ended",
        "planning ended in this state; which language model was asked about the words, and what came of it",
        "state summary model",
    )
    CONFIRMED = (
        "confirmed",
        "the requester said yes to a digest, by which proof and signed statement",
        "digest proof statement",
    )
    DECLINED = "declined", "the requester said no to a digest", "digest"
    DROPPED = "dropped", "the requester gave up a plan, or answered its questions", ""
    APPROVED = (
        "approved",
        "another person said yes to a digest, by which proof and signed statement",
        "digest policy_version requester nonce reason proof statement",
    )
    APPROVAL_REFUSED = (
        "approval_refused",
        "another person said no to a digest",
        "digest policy_version requester nonce reason",
    )
    SUBMITTED = "submitted", "a plan was submitted, and became a transfer", "plan digest project"
    TICKETED = "ticketed", "a ticket was signed", "ticket attempt plan_digest expires"
    TRANSFER_CHANGED = "transfer_changed", "an entry was added to a transfer's history", "event state attempt message"
    RECEIPT_MADE = "receipt_made", "a receipt was signed", "transfer"
    POLICY_PROPOSED = "policy_proposed", "a version of the policy was proposed", "digest"
    POLICY_WITHDRAWN = "policy_withdrawn", "a proposed version of the policy was withdrawn by its author", "digest"
    POLICY_PUBLISHED = "policy_published", "a version of the policy was published", "digest note statement"
    QOS_PROPOSED = "qos_proposed", "a version of links, classes and calendars was proposed", "digest"
    QOS_WITHDRAWN = (
        "qos_withdrawn",
        "a proposed version of links, classes and calendars was withdrawn by its author",
        "digest",
    )
    QOS_PUBLISHED = "qos_published", "a version of links, classes and calendars was published", "digest note proof"


class TransferEvent(Model):
    """One entry of a transfer's history; also what `watch` streams (`kind` `progress` is not kept)."""

    sequence: Count
    at: datetime
    kind: str
    message: str
    transfer: Transfer | None = None


class Change(Model):
    """Something changed: a plan, transfer, node, endpoint, policy, QoS or halt. Read it for what it is now.

    Kind `now` begins a stream that has no past; `reload` says that changes were missed. `state` says what happened: a
    state of the plan, transfer or version (policy, QoS), or confirmed, declined, approved or refused (plan); enrolled,
    attached, detached, draining, revoked or removed (node); made or changed (endpoint); halted or released (halt).
    """

    sequence: Count
    at: datetime
    kind: str
    subject: str = ""
    state: str = ""


class AuditEvent(Model):
    """One link of the audit chain."""

    sequence: Count
    at: datetime
    kind: str
    person: str | None = None
    person_name: str | None = Field(default=None, description="the name now; not part of the link")
    agent: str | None = None
    door: str | None = None
    subject: str | None = None
    detail: dict[str, str] = {}
    previous: str
    hash: str
