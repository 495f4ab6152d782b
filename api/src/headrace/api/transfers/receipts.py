"""Receipts: made from the nodes' signed statements once these are verified, and signed by the service."""

import asyncio
import hashlib
import json
import re
import shlex
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import or_, select

from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.signing.signer import Signer
from headrace.api.store import Tx
from headrace.api.store.base import Base
from headrace.api.store.tables_work import AttemptRow, ReceiptRow, TransferRow
from headrace.api.transfers.run_state import MAX_COUNT, End, Run, stored
from headrace.client import models as m
from headrace.client.text import copied_and_same, deletions, duration, plural, same_already
from headrace.guardrails import TRASH, Document, Ended, JsonObject, ReleasedPlan, SealCode, SealError, sized, verify

_CHUNK_BYTES = 1 << 18
_FOLDER = re.compile(r"\d{4}-\d\d-\d\d-[A-Za-z0-9_-]{1,64}")
_COUNTS = ("files", "bytes", "identical", "failed", "deleted", "resent_bytes")
"""What a destination signs in numbers."""
_STAY = {
    m.KeptReason.CHANGED: "changed after the copy",
    m.KeptReason.DIFFERS: "not the same as at the destination",
    m.KeptReason.UNPROVEN: "not shown to be at the destination",
    m.KeptReason.STOPPED: "left when the transfer was stopped",
    m.KeptReason.FAILED: "could not be deleted",
}
_INSERT = Base.metadata.tables[ReceiptRow.__tablename__].insert()


@dataclass(frozen=True, slots=True)
class Checked:
    """What the destination node signed about the last attempt, once all that is signed has been verified."""

    end: End
    destination: JsonObject
    files_list: Path
    kept: tuple[m.KeptSources, ...] = ()
    """Sources of a move that stay although they have arrived, as their node signed it."""
    trash: tuple[tuple[str, str], ...] = ()
    """The end at which deletes went to a trash, and the folder of this transfer there, as its node signed it."""

    def count(self, name: str) -> int:
        """Return a signed count."""
        return int(str(self.destination[name]))


@dataclass(frozen=True, slots=True)
class Totals:
    """What a transfer did in all, by the nodes' signed statements alone."""

    files: int
    """Files that are at the destination: copied, or the same there already."""
    bytes: int
    """Bytes of those that were copied."""
    identical: int
    """Of the files, those that were there already, the same."""
    failed: int
    resent: int
    """Bytes that the last attempt sent again."""
    by_checksum: bool = False
    """Whether what was there already was read, to be the same; if not, only its size and time were compared."""
    kept: tuple[m.KeptSources, ...] = ()
    """Sources of a move that stay although they have arrived."""
    deleted: int = 0
    """Files and folders that were deleted at the destination."""
    to_trash: bool = False
    """Whether what was deleted, there or at the source of a move, lies in the trash."""
    moves: bool = False
    """Whether what has arrived was deleted at its source, but for what was kept there."""
    changed: int = 0
    """Files that changed after they were listed, and arrived as they were later."""
    bytes_before: int = 0
    """Of the bytes, those that earlier attempts copied, which an attempt for failed files alone does not count."""

    def final(self, counted: m.Progress, resent_before: int, for_good: int) -> m.Progress:
        """Return the progress that stays: signed counts; what failed for good, and how large, the node counted."""
        # Not by what was durable: that counts what a node has thrown away of a file that it gave up.
        arrived = max(0, min(counted.bytes_durable, self.bytes - self.bytes_before))
        left = max(0, counted.bytes_total - arrived) if self.failed else 0
        kept = stored(sum(kept.count for kept in self.kept))
        return m.Progress(
            files_total=self.files + self.failed,
            files_done=self.files,
            files_identical=self.identical,
            identical_by=self._identical_by,
            files_failed=self.failed,
            deleted=self.deleted,
            deleted_to_trash=self.to_trash,
            sources_deleted=max(0, self.files - kept) if self.moves else 0,
            files_failed_for_good=min(self.failed, for_good),
            bytes_total=self.bytes + left,
            bytes_received=self.bytes,
            bytes_durable=self.bytes,
            bytes_failed=left,
            resent_bytes=stored(resent_before + self.resent),
            sources_kept=kept,
            at=counted.at,
        )

    @property
    def _identical_by(self) -> Literal["size-mtime", "checksum"] | None:
        if not self.identical:
            return None
        return "checksum" if self.by_checksum else "size-mtime"

    def sentence(self, outcome: str, took: str, verified: str) -> str:
        """Say what is there, and how it came there."""
        same = same_already(self.identical, self._identical_by)
        parts = copied_and_same(self.files - self.identical, sized(self.bytes), same, verified)
        if self.failed:
            parts.append(f"{self.failed:,} did not arrive")
        if self.deleted:
            parts.append(deletions(self.deleted, to_trash=self.to_trash))
        stay = ", ".join(f"{kept.count:,} {_STAY[kept.reason]}" for kept in self.kept)
        if self.changed:
            parts.append(
                f"{self.changed:,} changed after the plan or while being copied, and came in the later form: "
                "the receipt names what changed"
            )
        there = f"{outcome}: {plural(self.files, 'file')} there ({'; '.join(parts)}), {took}."
        return f"{there} Sources that stay: {stay}." if stay else there


@dataclass(frozen=True, slots=True)
class Made:
    """A receipt that was made."""

    id: str
    summary: str


class Receipts:
    """Makes and finds receipts."""

    def __init__(self, core: Core, signer: Signer) -> None:
        """Keep receipts in the store; their file lists lie in the data folder."""
        self._core = core
        self._signer = signer

    async def check(self, run: Run, end: End) -> Checked:
        """Verify the statements and the list of files; raises `statement_invalid` when one is wrong.

        It takes as long as the list is long: call it outside a transaction.
        """
        statements = [_checked(text, run) for text in end.statements]
        destination = _one(run, statements, "destination", run.destination_node)
        source = [statement for statement in statements if statement["role"] == "source"]
        if run.source_node != run.destination_node or source:
            _one(run, statements, "source", run.source_node)
        if destination["outcome"] != end.outcome:
            raise _invalid(run.transfer, f"it says `{destination['outcome']}`, and the attempt ended `{end.outcome}`")
        for name in _COUNTS:
            if not 0 <= _count(destination, name) <= MAX_COUNT:
                raise _invalid(run.transfer, f"its `{name}` is not a count")
        if end.files_list is None or await _sha256(end.files_list) != destination["list_digest"]:
            raise _invalid(run.transfer, "its list of files is missing or is not the one that was signed")
        kept = [one for statement in source for one in _kept(run.transfer, statement)]
        trash = [found for statement in statements if (found := _trash(run.transfer, statement))]
        return Checked(end, destination, end.files_list, tuple(kept), tuple(trash))

    async def make(self, tx: Tx, transfer: TransferRow, plan: ReleasedPlan, checked: Checked, totals: Totals) -> Made:
        """Sign a receipt over what was checked."""
        end = checked.end
        if transfer.started is None or transfer.ended is None:
            raise _invalid(transfer.id, "the transfer never began")
        seconds = max(1, round((transfer.ended - transfer.started) / timedelta(seconds=1)))
        files, size, verified = checked.count("files"), checked.count("bytes"), str(checked.destination["verified"])
        ended = Ended(
            transfer=transfer.id,
            outcome=end.outcome,
            files=files,
            bytes=size,
            seconds=seconds,
            verified=verified,
            statements=end.statements,
        )
        document = await self._signer.receipt(tx, transfer, plan, ended)
        summary = totals.sentence(end.outcome, await _took(tx, transfer, transfer.started, transfer.ended), verified)
        summary += f" It was for the project {plan.project}." if plan.project else ""
        ends = {"source": transfer.source, "destination": transfer.destination}
        summary += "".join(f" {_brings_back(ends[end], folder)}" for end, folder in checked.trash)
        if earlier := await earlier_receipts(tx, transfer, transfer.ended):
            summary += f" {_holds(transfer.attempt, checked, earlier)}"
        row = {
            "id": str(document.fields()["id"]),
            "transfer": transfer.id,
            "plan_digest": transfer.plan_digest,
            "created": transfer.ended,
            "document": document.text,
            "summary": summary,
            "files_list": str(checked.files_list.relative_to(self._core.settings.data)),
        }
        await tx.execute(_INSERT, row)
        return Made(str(row["id"]), summary)

    async def find(self, receipt: str) -> ReceiptRow | None:
        """Return a receipt by its id, or the newest of a transfer's id, if there is one."""
        query = select(ReceiptRow).where(or_(ReceiptRow.id == receipt, ReceiptRow.transfer == receipt))
        async with self._core.database.read() as tx:
            return await tx.scalar(query.order_by(ReceiptRow.created.desc()).limit(1))

    async def files(self, row: ReceiptRow) -> AsyncGenerator[bytes]:
        """Yield the receipt's list of files in chunks of at most 256 KiB."""
        path = self._core.settings.data / row.files_list
        if not path.is_file():
            raise ServiceError(Code.NO_FILE_LIST, f"the list of files of receipt `{row.id}` is no longer kept here")
        with path.open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
                yield chunk


async def earlier_receipts(tx: Tx, transfer: TransferRow, until: datetime) -> list[str]:
    """Return the receipts of a transfer from before a time that hold what a retry of failed files did not send again.

    A node's statement about a move speaks of all attempts.
    """
    if not transfer.only_failed or transfer.action == "move":
        return []
    of = ReceiptRow
    query = select(of.id).where(of.transfer == transfer.id, of.created < until).order_by(of.created)
    return list(await tx.scalars(query))


def _holds(attempt: int, checked: Checked, earlier: Sequence[str]) -> str:
    """Say which files a receipt holds that is not of all."""
    files = plural(checked.count("files") + checked.count("identical"), "file")
    return f"This receipt holds the {files} of attempt {attempt}; those of earlier attempts: {', '.join(earlier)}."


async def _took(tx: Tx, transfer: TransferRow, started: datetime, ended: datetime) -> str:
    """Say how long the attempts took, and how long it was to the end: between them it waited, or a person did."""
    whole_s = span_s(started, ended)
    if transfer.attempt == 1:
        return f"in {duration(whole_s)}"
    of = AttemptRow
    spans = await tx.execute(select(of.started, of.ended).where(of.transfer == transfer.id))
    active_s = sum(span_s(began, until or ended) for began, until in spans)
    return f"in {duration(active_s)} ({duration(whole_s)} from its start to its end)"


def span_s(started: datetime, ended: datetime) -> float:
    """Return the seconds between two times; none when the clock was set back."""
    return max(0.0, (ended - started).total_seconds())


async def totals_of(tx: Tx, transfer: TransferRow, plan: ReleasedPlan, checked: Checked) -> Totals:
    """Add up what is signed: an attempt speaks of all before it, but a retry of a copy's failed files only of these."""
    before: list[JsonObject] = []
    if transfer.only_failed and not plan.execution["delete_source"]:
        partial = select(AttemptRow.statements).where(
            AttemptRow.transfer == transfer.id,
            AttemptRow.outcome == "partial",
            AttemptRow.number < transfer.attempt,
        )
        for texts in await tx.scalars(partial):
            nodes = [transfer.source_node, transfer.destination_node]
            statements = [verify(text, "statement", nodes).fields() for text in texts.split("\n")]
            before += [one for one in statements if one["role"] == "destination"]
    return Totals(
        files=checked.count("files") + checked.count("identical") + _sum(before, "files") + _sum(before, "identical"),
        bytes=checked.count("bytes") + _sum(before, "bytes"),
        identical=checked.count("identical") + _sum(before, "identical"),
        failed=checked.count("failed"),
        resent=checked.count("resent_bytes"),
        # A move deletes no source on the word of its date: it reads what is there already.
        by_checksum=plan.execution["compare"] == "checksum" or bool(plan.execution["delete_source"]),
        kept=checked.kept,
        deleted=checked.count("deleted") + _sum(before, "deleted"),
        to_trash=bool(checked.trash),
        moves=bool(plan.execution["delete_source"]),
        changed=changed_in([*before, checked.destination]),
        bytes_before=_sum(before, "bytes"),
    )


def require_whole_move(transfer: TransferRow, plan: ReleasedPlan, totals: Totals) -> None:
    """Refuse a receipt that would leave out what an earlier attempt of a move has moved: its sources are gone.

    A node's statement speaks of all attempts as long as the node has its state.
    """
    survey = plan.fields["survey"]
    planned = int(str(survey["files"])) if isinstance(survey, dict) else 0
    said = totals.files + totals.failed
    if transfer.attempt > 1 and plan.execution["delete_source"] and said < planned:
        raise ServiceError(
            Code.MOVE_UNPROVEN,
            f"attempt {transfer.attempt} of the move `{transfer.id}` found {said:,} of the {planned:,} files of its "
            "plan, and no node has signed what became of the others in an earlier attempt, so there is no receipt; "
            "compare source and destination with the plan",
        )


def changed_in(statements: Iterable[JsonObject]) -> int:
    """Count the names that statements say have changed, each once, in however many; a node names the first only."""
    said = (one.get("changed", []) for one in statements)
    return len({str(name) for names in said if isinstance(names, list) for name in names})


def _count(statement: JsonObject, name: str) -> int:
    """Return a signed count; -1 for what is none."""
    try:
        return int(str(statement[name]))
    except (KeyError, ValueError):
        return -1


def _kept(transfer: str, statement: JsonObject) -> list[m.KeptSources]:
    """Return what a source's statement says of files that stay; one of a copy, or of an older node, says nothing."""
    said = statement.get("sources_kept", [])
    if not isinstance(said, list):
        raise _invalid(transfer, "its `sources_kept` is not a list")
    fields = m.KeptSources.model_fields
    try:
        return [m.KeptSources.model_validate({name: kept[name] for name in fields}) for kept in said]
    except (KeyError, TypeError, ValueError) as error:
        raise _invalid(transfer, "its `sources_kept` can't be read") from error


def _trash(transfer: str, statement: JsonObject) -> tuple[str, str] | None:
    """Return at which end a node moved deletes to its trash, and into which folder; nothing where it said none."""
    folder = statement.get("trash")
    if folder is None:
        return None
    if not isinstance(folder, str) or not _FOLDER.fullmatch(folder) or not folder.endswith(f"-{transfer}"):
        raise _invalid(transfer, "its `trash` is not a folder of this transfer")
    return str(statement["role"]), folder


def _brings_back(place: str, folder: str) -> str:
    """Say where what was deleted at a place is, until when, and with which command it comes back."""
    endpoint, _, path = place.partition(":")
    # With the path `/` it ends in a slash, and so goes into the root and not into a folder of its own there.
    kept = f"{endpoint}:/{TRASH}/{folder}{path}"
    command = shlex.join(("headrace", "copy", kept, place))
    return f"What was deleted at {endpoint} is kept in its trash until {folder[:10]}: `{command}` brings it back."


def _kept_in(row: ReceiptRow) -> list[m.KeptSources]:
    """Return the same of a receipt, whose statements were verified when it was made."""
    if "sources_kept" not in row.document:
        return []
    statements = [_body(text) for text in _body(row.document)["statements"]]
    return [one for statement in statements for one in _kept(row.transfer, statement)]


def _body(document: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(json.loads(document)["body"])
    return body


def _sum(statements: list[JsonObject], name: str) -> int:
    return sum(int(str(statement[name])) for statement in statements)


def receipt_view(row: ReceiptRow, keys: Sequence[str], earlier: list[str]) -> m.Receipt:
    """Show a receipt, which of the service's `keys`, the newest first, signed it, and those of earlier attempts."""
    key = next((key for key in keys if _is_signed(row.document, key)), "")
    return m.Receipt(
        id=row.id,
        transfer=row.transfer,
        plan_digest=row.plan_digest,
        created=row.created,
        document=row.document,
        summary=row.summary,
        key=key,
        key_replaced=key in keys[1:],
        sources_kept=_kept_in(row),
        earlier=earlier,
    )


def _is_signed(document: str, key: str) -> bool:
    try:
        verify(document, "receipt", [key])
    except SealError:
        return False
    return True


def unknown_receipt(receipt: str) -> ServiceError:
    """Make the refusal for a receipt that is not there, or not the caller's."""
    return ServiceError(
        Code.UNKNOWN_RECEIPT, f"there is no receipt `{receipt[:80]}`; a transfer has one once it is complete or partial"
    )


def _checked(text: str, run: Run) -> JsonObject:
    """Return the body of a statement that one of the transfer's nodes signed about this very attempt."""
    try:
        node, statement = _signed_by(text, run.nodes)
    except SealError as error:
        raise _invalid(run.transfer, str(error)) from error
    fields = statement.fields()
    if fields.get("node") != node:
        raise _invalid(run.transfer, "it speaks of another node than the one that signed it")
    about = {"plan_digest": run.plan_digest, "transfer": run.transfer, "attempt": str(run.attempt)}
    for name, value in about.items():
        if fields.get(name) != value:
            raise _invalid(run.transfer, f"its `{name}` is not this transfer's")
    return fields


def _signed_by(text: str, nodes: Sequence[str]) -> tuple[str, Document]:
    """Return which of these nodes signed a statement, and the statement."""
    *others, last = nodes
    for node in others:
        try:
            return node, verify(text, "statement", [node])
        except SealError as error:
            if error.code != SealCode.UNKNOWN_SIGNER:
                raise
    return last, verify(text, "statement", [last])


def _one(run: Run, statements: list[JsonObject], role: str, node: str) -> JsonObject:
    found = [statement for statement in statements if statement["role"] == role]
    if len(found) != 1 or found[0]["node"] != node:
        raise _invalid(run.transfer, f"the {role} node has not signed exactly one")
    return found[0]


def _invalid(transfer: str, why: str) -> ServiceError:
    return ServiceError(
        Code.STATEMENT_INVALID,
        f"the nodes' statement about `{transfer}` can't be trusted ({why}), so there is no receipt; "
        "look at the nodes before you use the data",
    )


async def _sha256(path: Path) -> str:
    """Hash a file: a long one in a thread, which takes longer to begin than a short one to hash."""
    with path.open("rb") as file:
        first = file.read(_CHUNK_BYTES)
        digest = hashlib.sha256(first)
        if len(first) == _CHUNK_BYTES:
            await asyncio.to_thread(hashlib.file_digest, file, lambda: digest)
        return digest.hexdigest()
