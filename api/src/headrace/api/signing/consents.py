"""Consent as a signed statement: who agreed to exactly which request, when, and by which proof.

A statement is sealed only of a `Proof`, which only `people.proofs` makes after it has checked it, or of what the
signer's own process has checked itself. The signer counts
statements, never rows: whoever writes to the database moves, alters and invents none. A no needs no statement.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow
from headrace.guardrails import (
    Approval,
    Confirmation,
    Document,
    Json,
    JsonObject,
    SealError,
    Signs,
    new_id,
    seal,
    utc_text,
    utc_time,
    verify,
)

TYPE: Final = "consent"
PUBLISH: Final = "publish_policy"
_CONFIRMED, _APPROVED = ("confirm_plan", "confirmed"), ("approve_plan", "approved")
_ADOPTED: Final = "policy"
"""Type of a document that lets a policy decide which nobody published here: a new site's first, and one of before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under what an approval is given: it counts for this requester, under this policy version, until it expires.

    `roles` and `groups` are the approver's at that moment.
    """

    requester: str
    policy_version: str
    expires: datetime
    roles: Collection[str]
    groups: Collection[str]


class Proved(Protocol):
    """A proof that was checked: a `Proof` of `people.proofs`, or what a signer of its own has checked itself."""

    @property
    def kind(self) -> str: ...  # noqa: D102 - as in `Proof`, all of them
    @property
    def person(self) -> str: ...  # noqa: D102
    @property
    def session(self) -> bool: ...  # noqa: D102
    @property
    def agreed(self) -> str: ...  # noqa: D102
    @property
    def evidence(self) -> Mapping[str, str]: ...  # noqa: D102


def consent_body(proof: Proved, terms: Terms | None, now: datetime) -> JsonObject:
    """Write the body of a statement; seal as type `consent`."""
    body: dict[str, Json] = {
        "id": new_id("cs"),
        "person": proof.person,
        "session": proof.session,
        "agreed": proof.agreed,
        "proof": {"kind": proof.kind, **proof.evidence},
        "at": utc_text(now),
    }
    if terms is not None:
        body["terms"] = {
            "requester": terms.requester,
            "policy_version": terms.policy_version,
            "expires": utc_text(terms.expires),
            "roles": sorted(terms.roles),
            "groups": sorted(terms.groups),
        }
    return body


def confirmation_of(row: ConfirmationRow | None, keys: Collection[str]) -> Confirmation | None:
    """Return what the requester agreed to, if a statement that one of `keys` signed says so."""
    if row is None or row.verdict != "confirmed":
        return None
    said = _said(row.statement, keys, _CONFIRMED)
    if said is None or said.digest != row.digest:
        return None
    return Confirmation(person=said.person, digest=said.digest, session=said.session)


def approval_of(row: ApprovalRow, approver: PersonRow, keys: Collection[str], *, starts: bool) -> Approval | None:
    """Return what an approver agreed to, if a signed statement says so; the digest in it names the plan.

    To start, an approver counts with the roles and groups of now; what runs goes on with those of then.
    """
    said = _said(row.statement, keys, _APPROVED)
    if said is None or said.terms is None or said.person != row.approver:
        return None
    terms = said.terms
    return Approval(
        person=said.person,
        digest=said.digest,
        policy_version=terms.policy_version,
        requester=terms.requester,
        session=said.session,
        expires=min(terms.expires, row.expires),
        roles=frozenset(approver.roles if starts else terms.roles),
        groups=frozenset(approver.groups if starts else terms.groups),
    )


def confirmation_in(statement: str, keys: Collection[str]) -> Confirmation | None:
    """Return what a requester agreed to, with nothing but the statement in hand."""
    said = _said(statement, keys, _CONFIRMED)
    return None if said is None else Confirmation(person=said.person, digest=said.digest, session=said.session)


def approval_in(statement: str, keys: Collection[str]) -> Approval | None:
    """Return what an approver agreed to, with nothing but the statement in hand."""
    said = _said(statement, keys, _APPROVED)
    if said is None or (terms := said.terms) is None:
        return None
    return Approval(
        person=said.person,
        digest=said.digest,
        session=said.session,
        requester=terms.requester,
        policy_version=terms.policy_version,
        expires=terms.expires,
        roles=frozenset(terms.roles),
        groups=frozenset(terms.groups),
    )


def adopted(version: str, text_digest: str, now: datetime, key: Signs) -> Document:
    """Seal that a policy decides: the first of a new site, or one of before there were statements."""
    return seal(_ADOPTED, {"version": version, "digest": text_digest, "at": utc_text(now)}, key)


def says_policy(statement: str, version: str, text_digest: str, keys: Collection[str]) -> bool:
    """Whether one of `keys` signed that somebody published this text under this number, or that it was adopted."""
    for type_ in (TYPE, _ADOPTED):
        try:
            fields = verify(statement, type_, keys).fields()
        except SealError:
            continue
        if type_ == _ADOPTED:
            return (fields["version"], fields["digest"]) == (version, text_digest)
        agreed = json.loads(str(fields["agreed"]))
        return (agreed["action"], agreed["subject"]) == (PUBLISH, f"{version} {text_digest}")
    return False


@dataclass(frozen=True, slots=True)
class _Said:
    person: str
    session: bool
    digest: str
    terms: Terms | None


def _said(statement: str, keys: Collection[str], wanted: tuple[str, str]) -> _Said | None:
    """Read a statement that is signed, and that is of this action with this verdict."""
    if not statement:
        return None
    try:
        fields = verify(statement, TYPE, keys).fields()
    except SealError:
        return None
    agreed = json.loads(str(fields["agreed"]))
    request = agreed["request"]
    if (agreed["action"], request["verdict"]) != wanted:
        return None
    return _Said(str(fields["person"]), fields["session"] is True, str(request["digest"]), _terms(fields.get("terms")))


def _terms(said: Json) -> Terms | None:
    if not isinstance(said, Mapping):
        return None
    roles, groups = said["roles"], said["groups"]
    return Terms(
        requester=str(said["requester"]),
        policy_version=str(said["policy_version"]),
        expires=utc_time(str(said["expires"])),
        roles=tuple(map(str, roles)) if isinstance(roles, list) else (),
        groups=tuple(map(str, groups)) if isinstance(groups, list) else (),
    )
