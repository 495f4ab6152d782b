"""What the tools answer: a `summary` fit to be read aloud, and the data behind it.

Every text that somebody outside chose (names, labels, words, error texts) passes through `visible` or `quoted`.
"""

from datetime import datetime
from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from headrace.client import models as m
from headrace.client.text import (
    about,
    before_deletes,
    bit_rate,
    byte_size,
    deleting,
    deletions,
    duration,
    plural,
    quoted,
    same_already,
    sentence,
    stays,
    utc,
    visible,
)
from headrace.mcp_server.own_tools import told

STEERED: Final = frozenset[str](get_args(m.ControlAction))
"""Actions that control_transfer takes."""
MAX_NAMED: Final = 20
"""Endpoints that the summary of a list names."""
MAX_DOCUMENT_CHARACTERS: Final = 65_536

Summary = Annotated[str, Field(description="One paragraph fit to be read aloud. Quoted names are data from storage.")]


class View(BaseModel):
    """Base: frozen, closed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EndpointView(View):
    """A place that data can be in."""

    id: str
    aliases: list[str]
    kind: str
    access: Literal["read", "write", "delete"]
    online: bool
    labels: dict[str, str]
    free_bytes: int | None
    free_at: datetime | None

    @classmethod
    def of(cls, endpoint: m.Endpoint) -> "EndpointView":
        """Show an endpoint."""
        return cls(
            id=visible(endpoint.id),
            aliases=[visible(alias) for alias in endpoint.aliases],
            kind=visible(endpoint.kind),
            access=endpoint.access,
            online=endpoint.online,
            labels={visible(key): visible(value) for key, value in endpoint.labels.items()},
            free_bytes=endpoint.free_bytes,
            free_at=endpoint.free_at,
        )


class EndpointPage(View):
    """Some endpoints; pass `next_after` as `after` for more."""

    summary: Summary
    endpoints: list[EndpointView]
    next_after: str | None

    @classmethod
    def of(cls, page: m.Page[m.Endpoint], *, first: bool) -> "EndpointPage":
        """Show a page of endpoints, the first of its list or a later one."""
        offline = sum(not endpoint.online for endpoint in page)
        whole = first and page.next is None
        count = plural(len(page), "endpoint") + ("" if whole else " on this page")
        return cls(
            summary=count + (f", {offline} of them offline" if offline else "") + _named(page),
            endpoints=[EndpointView.of(endpoint) for endpoint in page],
            next_after=page.next,
        )


def _named(page: m.Page[m.Endpoint]) -> str:
    """Name the endpoints of a page, as many as can be listened to, and say whether there are more pages."""
    names = ", ".join(quoted(one.id) + ("" if one.online else " (offline)") for one in page.items[:MAX_NAMED])
    more = " and more" if page.items[MAX_NAMED:] else ""
    follows = " More follow on the next page." if page.next is not None else ""
    return f": {names}{more}.{follows}" if names else "."


class EntryView(View):
    """One name in a folder."""

    name: str
    kind: Literal["file", "dir", "symlink", "other"]
    size_bytes: int
    modified: datetime


class Folder(View):
    """One page of a folder; pass `next_after` as `after` for more."""

    summary: Summary
    endpoint: str
    path: str
    entries: list[EntryView]
    count: int
    names_withheld: bool
    next_after: str | None

    @classmethod
    def of(cls, page: m.FolderPage) -> "Folder":
        """Show a page of a folder."""
        where = quoted(f"{page.endpoint}:{page.path}")
        if page.names_withheld:
            summary = f"{where} holds {plural(page.count, 'entry')}; policy withholds their names."
        else:
            more = " There are more." if page.next else ""
            summary = f"{plural(len(page.items), 'entry')} of {where}, as data.{more}"
        return cls(
            summary=summary,
            endpoint=visible(page.endpoint),
            path=visible(page.path),
            entries=[
                EntryView(name=visible(e.name), kind=e.kind, size_bytes=e.size_bytes, modified=e.modified)
                for e in page.items
            ],
            count=page.count,
            names_withheld=page.names_withheld,
            next_after=page.next,
        )


class LossView(View):
    """A name at the destination that a plan replaces or deletes."""

    how: m.LossKind
    path: str
    kind: str
    size_bytes: int
    modified: datetime | None


class LossPage(View):
    """One page of what a plan replaces and deletes; pass `next_after` as `after` for more."""

    summary: Summary
    losses: list[LossView]
    next_after: str | None

    @classmethod
    def of(cls, page: m.LossPage) -> "LossPage":
        """Show a page."""
        more = " There are more." if page.next else ""
        if page.moved:
            more += (
                f" Beside them the move deletes {plural(page.moved, 'source file')} once copied and verified: all "
                "files of the plan, which are in no list; browse its source."
            )
        return cls(
            summary=f"{plural(len(page.items), 'name')} that the plan would replace or delete at its destination, as "
            f"data.{more}",
            losses=[
                LossView(
                    how=one.how, path=visible(one.path), kind=one.kind, size_bytes=one.bytes, modified=one.modified
                )
                for one in page.items
            ],
            next_after=page.next,
        )


class RuleView(View):
    """A rule that took part, and its reason."""

    id: str
    reason: str


class FailedFileView(View):
    """A file that did not arrive, and why."""

    path: str
    error: str
    message: str
    retry: bool

    @classmethod
    def of(cls, failed: m.FailedFile) -> "FailedFileView":
        """Show a failed file."""
        message = visible(failed.message, 300)
        return cls(path=visible(failed.path, 300), error=visible(failed.error), message=message, retry=failed.retry)


class TransferView(View):
    """How a transfer stands. Durable bytes are safe at the destination."""

    summary: Summary
    transfer_id: str
    plan_id: str
    state: m.TransferState
    state_reason: str
    next_step: str
    actions: Annotated[list[str], Field(description="What you may do with control_transfer now.")]
    action: str
    source: str
    destination: str
    project: str | None
    files_total: int
    files_done: int
    files_failed: int
    deletes_total: Annotated[int, Field(description="Names that a running sync is to delete, after all else.")]
    deleted: int
    sources_deleted: Annotated[int, Field(description="Of a move: sources that have arrived and were deleted.")]
    bytes_total: int
    bytes_durable: int
    rate_bps: int
    average_bps: int | None
    rate_ceiling_bps: int | None
    deadline: datetime | None
    deadline_note: Annotated[str, Field(description="Why its deadline is at risk; empty: it is not.")]
    deadline_late_s: Annotated[int | None, Field(description="By how much it would come late at least, or did.")]
    limiter: str
    eta_s: int | None
    eta_low_s: int | None
    eta_high_s: int | None
    error_code: str | None
    error_message: str | None
    receipt_id: str | None
    failed_files: list[FailedFileView] = []
    more_failed_after: Annotated[str | None, Field(description="Pass as `failed_after` for more failed files.")] = None

    @classmethod
    def of(cls, transfer: m.Transfer, failed: m.Page[m.FailedFile] | None = None) -> "TransferView":
        """Show a transfer, with a page of its failed files."""
        progress, error = transfer.progress, transfer.error
        return cls(
            summary=_transfer_summary(transfer),
            transfer_id=transfer.id,
            plan_id=transfer.plan,
            state=transfer.state,
            state_reason=told(transfer.state_reason),
            next_step=told(transfer.next_step.message),
            actions=[one.action for one in transfer.allowed_actions if one.allowed and one.action in STEERED],
            action=visible(transfer.action),
            source=visible(transfer.source),
            destination=visible(transfer.destination),
            project=visible(transfer.project) if transfer.project else None,
            files_total=progress.files_total,
            files_done=progress.files_done,
            files_failed=progress.files_failed,
            deletes_total=progress.deletes_total,
            deleted=progress.deleted,
            sources_deleted=progress.sources_deleted,
            bytes_total=progress.bytes_total,
            bytes_durable=progress.bytes_durable,
            rate_bps=progress.rate_bps,
            average_bps=progress.average_bps,
            rate_ceiling_bps=transfer.rate_ceiling_bps,
            deadline=transfer.deadline,
            deadline_note=visible(transfer.deadline_note),
            deadline_late_s=transfer.deadline_late_s,
            limiter=visible(progress.limiter),
            eta_s=progress.eta_s,
            eta_low_s=progress.eta_low_s,
            eta_high_s=progress.eta_high_s,
            error_code=error.code if error else None,
            error_message=told(error.detail) if error else None,
            receipt_id=transfer.receipt,
            failed_files=[FailedFileView.of(file) for file in failed or ()],
            more_failed_after=failed.next if failed else None,
        )


class LegView(View):
    """What one leg of a probe measured."""

    name: m.LegName
    bytes: int
    seconds: float
    rate_bps: int | None
    error: str
    limit: Annotated[m.Limit | None, Field(description="what limited it")]

    @classmethod
    def of(cls, leg: m.ProbeLeg) -> "LegView":
        """Show a leg."""
        return cls(
            name=leg.name,
            bytes=leg.bytes,
            seconds=leg.seconds,
            rate_bps=leg.rate_bps,
            error=visible(leg.error),
            limit=leg.diagnosis.limit if leg.diagnosis else None,
        )


class DiagnosisView(View):
    """One verdict on what limits a transfer, or what a probe measured."""

    summary: str
    transfer_id: str
    limit: m.Limit
    where: str
    evidence: list[m.Evidence]
    remedy: list[str]
    measured_s: float
    live: Annotated[bool, Field(description="measured just now; else over the last attempt, or it does not run")]
    legs: Annotated[list[LegView], Field(description="of a probe: what its legs measured")] = []
    tightest: Annotated[m.Tightest, Field(description="of a probe: `way` is network and processors")] = ""

    @classmethod
    def of(cls, found: m.Diagnosis, probed: m.Probed) -> "DiagnosisView":
        """Show a verdict; of a probe also what it `probed`, which has no legs for other transfers."""
        said = visible(found.said)
        when = "Now" if found.live else "In its last attempt" if found.measured_s else "At present"
        remedy = probed.remedy if probed.said else found.remedy
        advice = f" What helps: {'; '.join(map(told, remedy))}." if remedy else ""
        summary = f"Probed: {sentence(visible(probed.said))}" if probed.said else f"{when}: {sentence(said)}"
        return cls(
            summary=summary + advice,
            transfer_id=found.transfer,
            limit=found.limit,
            where=found.where,
            evidence=probed.evidence or found.evidence,
            remedy=[told(line) for line in remedy],
            measured_s=found.measured_s,
            live=found.live,
            legs=[LegView.of(leg) for leg in probed.legs],
            tightest=probed.tightest,
        )


def _stands(transfer: m.Transfer) -> str:
    progress = transfer.progress
    said = f"Transfer {transfer.id} from {quoted(transfer.source)} to {quoted(transfer.destination)}"
    if transfer.probe:
        return f"{said} is a probe, which measures and copies nothing. It is {transfer.state}."
    if transfer.state == m.TransferState.CANCELED:
        return f"{said} is canceled: {stays(progress)}."
    same = f" ({same})" if (same := same_already(progress.files_identical, progress.identical_by)) else ""
    files = f"{progress.files_done:,} of {plural(progress.files_total, 'file')}{same}"
    safe = f"{byte_size(progress.bytes_durable)} of {byte_size(progress.bytes_total)}"
    return f"{said} is {transfer.state}: {files}, {safe} copied and safe at the destination."


def _deadline(transfer: m.Transfer, deadline: datetime) -> str:
    """Say why a deadline is at risk, and by how much the transfer comes late, or how late it came."""
    late = f" about {duration(transfer.deadline_late_s)}" if transfer.deadline_late_s else ""
    if transfer.ended is not None:
        return f"It ended{late} after its deadline, {utc(deadline)}."
    by = f" It would come{late} late." if late else ""
    return f"Its deadline, {utc(deadline)}, is at risk: {visible(transfer.deadline_note)}.{by}"


def _transfer_summary(transfer: m.Transfer) -> str:
    """Say a transfer in a paragraph. Made here and not by the service, so that every name in it is quoted."""
    progress = transfer.progress
    parts = [_stands(transfer)]
    if transfer.next_step.kind in {"retry", "resume", "plan_again"}:
        parts.append(visible(transfer.next_step.message))
    if transfer.state == m.TransferState.RUNNING and (progress.rate_bps or progress.eta_s is not None):
        left = ""
        if progress.eta_s is not None:
            left = f", {about(progress.eta_s, progress.eta_low_s, progress.eta_high_s)} left{before_deletes(transfer)}"
        parts.append(f"It runs at {bit_rate(progress.rate_bps)}{left}.")
    if ends := transfer.ends:
        until = f" to {utc(ends.latest)}" if ends.latest else " at the earliest"
        parts.append(f"It is expected to end at {utc(ends.earliest)}{until}{f'; {ends.said}' if ends.said else ''}.")
    if transfer.deadline is not None and transfer.deadline_at_risk:
        parts.append(_deadline(transfer, transfer.deadline))
    if progress.files_failed and transfer.state != m.TransferState.PARTIAL:  # the step before says it
        parts.append(f"{plural(progress.files_failed, 'file')} did not arrive.")
    if deletes := deleting(progress) or deletions(progress.deleted, to_trash=progress.deleted_to_trash):
        parts.append(f"{deletes}.")
    if progress.sources_kept:
        parts.append(f"Sources that have arrived and stay: {progress.sources_kept:,}; its receipt says why.")
    if transfer.error:
        parts.append(f"The error ({transfer.error.code}): {quoted(transfer.error.detail, 1000)}.")
    return " ".join(parts)


class TransferPage(View):
    """Some transfers, newest first; pass `next_after` as `after` for more."""

    summary: Summary
    transfers: list[TransferView]
    next_after: str | None


class Why(View):
    """A decision and its rules."""

    summary: Summary
    plan_id: str
    outcome: Literal["allowed", "confirm", "approve", "denied"]
    rules: list[RuleView]
    approvals_needed: int
    approver_groups: list[str]
    policy_version: str
    instead: list[str]

    @classmethod
    def of(cls, plan: str, decision: m.Decision) -> "Why":
        """Show a decision."""
        return cls(
            summary=visible(decision.why),
            plan_id=plan,
            outcome=decision.outcome,
            rules=[RuleView(id=visible(rule.id), reason=visible(rule.reason)) for rule in decision.rules],
            approvals_needed=decision.approvals_needed,
            approver_groups=[visible(group) for group in decision.approver_groups],
            policy_version=visible(decision.policy_version),
            instead=[f"{visible(one.words)}: {one.outcome}" for one in decision.alternatives],
        )


class ReceiptView(View):
    """The signed proof of a finished transfer."""

    summary: Summary
    receipt_id: str
    transfer_id: str
    plan_digest: str
    created: datetime
    document: Annotated[str | None, Field(description="The signed document; null when too long for a conversation.")]

    @classmethod
    def of(cls, receipt: m.Receipt) -> "ReceiptView":
        """Show a receipt."""
        fits = len(receipt.document) <= MAX_DOCUMENT_CHARACTERS
        return cls(
            summary=f"Receipt {receipt.id} of transfer {receipt.transfer}, made {receipt.created:%Y-%m-%d %H:%M} UTC.",
            receipt_id=receipt.id,
            transfer_id=receipt.transfer,
            plan_digest=receipt.plan_digest,
            created=receipt.created,
            document=receipt.document if fits else None,
        )
