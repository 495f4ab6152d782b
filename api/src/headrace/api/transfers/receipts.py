"""Receipts: made from the nodes' signed statements once these are verified, and signed by the service."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from sqlalchemy import or_, select

from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.signing.signer import Signer
from headrace.api.store import Tx
from headrace.api.store.tables_work import ReceiptRow, TransferRow
from headrace.api.transfers.run_state import End
from headrace.client import models as m
from headrace.guardrails import Document, Ended, JsonObject, ReleasedPlan, SealError, sized, verify

_CHUNK_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Made:
    """A receipt that was made, and what its destination node signed: counts of the last attempt."""

    id: str
    summary: str
    files: int
    identical: int
    failed: int
    bytes: int


class Receipts:
    """Makes and finds receipts."""

    def __init__(self, core: Core, signer: Signer) -> None:
        """Keep receipts in the store; their file lists lie in the data folder."""
        self._core = core
        self._signer = signer

    async def make(self, tx: Tx, transfer: TransferRow, plan: ReleasedPlan | None, end: End) -> Made:
        """Verify the statements and sign a receipt; raises `statement_invalid` and stores nothing when one is wrong."""
        if plan is None or transfer.started is None or transfer.ended is None:
            raise _invalid(transfer.id, "the transfer was never released")
        statements = [_checked(text, transfer) for text in end.statements]
        destination = _one(transfer, statements, "destination", transfer.destination_node)
        source = [statement for statement in statements if statement["role"] == "source"]
        if transfer.source_node != transfer.destination_node or source:
            _one(transfer, statements, "source", transfer.source_node)
        if destination["outcome"] != end.outcome:
            raise _invalid(transfer.id, f"it says `{destination['outcome']}`, and the attempt ended `{end.outcome}`")
        if end.files_list is None or await asyncio.to_thread(_sha256, end.files_list) != destination["list_digest"]:
            raise _invalid(transfer.id, "its list of files is missing or is not the one that was signed")
        seconds = max(1, round((transfer.ended - transfer.started) / timedelta(seconds=1)))
        files, size = int(str(destination["files"])), int(str(destination["bytes"]))
        ended = Ended(
            transfer=transfer.id,
            outcome=end.outcome,
            files=files,
            bytes=size,
            seconds=seconds,
            verified=str(destination["verified"]),
            statements=end.statements,
        )
        document = await self._signer.receipt(tx, transfer, plan, ended)
        counts = {name: int(str(destination[name])) for name in ("files", "identical", "failed", "bytes")}
        made = Made(
            str(document.fields()["id"]),
            f"{end.outcome}: {files:,} files, {sized(size)}, in {seconds} s, verified {destination['verified']}.",
            **counts,
        )
        row = ReceiptRow(
            id=made.id,
            transfer=transfer.id,
            plan_digest=transfer.plan_digest,
            created=transfer.ended,
            document=document.text,
            summary=made.summary,
            files_list=str(end.files_list.relative_to(self._core.settings.data)),
        )
        tx.add(row)
        await tx.flush()
        return made

    async def find(self, receipt: str) -> ReceiptRow:
        """Return a receipt by its id, or the newest of a transfer's id."""
        query = select(ReceiptRow).where(or_(ReceiptRow.id == receipt, ReceiptRow.transfer == receipt))
        async with self._core.database.read() as tx:
            row = await tx.scalar(query.order_by(ReceiptRow.created.desc()).limit(1))
        if row is None:
            raise unknown_receipt(receipt)
        return row

    async def files(self, row: ReceiptRow) -> AsyncGenerator[bytes]:
        """Yield the receipt's list of files in chunks of at most 256 KiB."""
        path = self._core.settings.data / row.files_list
        if not path.is_file():
            raise ServiceError(Code.NO_FILE_LIST, f"the list of files of receipt `{row.id}` is no longer kept here")
        with path.open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
                yield chunk


def receipt_view(row: ReceiptRow) -> m.Receipt:
    """Show a receipt."""
    return m.Receipt(
        id=row.id,
        transfer=row.transfer,
        plan_digest=row.plan_digest,
        created=row.created,
        document=row.document,
        summary=row.summary,
    )


def unknown_receipt(receipt: str) -> ServiceError:
    """Make the refusal for a receipt that is not there, or not the caller's."""
    return ServiceError(
        Code.UNKNOWN_RECEIPT, f"there is no receipt `{receipt[:80]}`; a transfer has one once it is complete or partial"
    )


def _checked(text: str, transfer: TransferRow) -> JsonObject:
    """Return the body of a statement that one of the transfer's nodes signed about this very attempt."""
    try:
        statement: Document = verify(text, "statement", [transfer.source_node, transfer.destination_node])
        fields = statement.fields()
        verify(text, "statement", [str(fields["node"])])
    except SealError as error:
        raise _invalid(transfer.id, str(error)) from error
    about = {"plan_digest": transfer.plan_digest, "transfer": transfer.id, "attempt": str(transfer.attempt)}
    for name, value in about.items():
        if fields.get(name) != value:
            raise _invalid(transfer.id, f"its `{name}` is not this transfer's")
    return fields


def _one(transfer: TransferRow, statements: list[JsonObject], role: str, node: str) -> JsonObject:
    found = [statement for statement in statements if statement["role"] == role]
    if len(found) != 1 or found[0]["node"] != node:
        raise _invalid(transfer.id, f"the {role} node has not signed exactly one")
    return found[0]


def _invalid(transfer: str, why: str) -> ServiceError:
    return ServiceError(
        Code.STATEMENT_INVALID,
        f"the nodes' statement about `{transfer}` can't be trusted ({why}), so there is no receipt; "
        "look at the nodes before you use the data",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
