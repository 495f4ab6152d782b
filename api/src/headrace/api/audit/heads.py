"""The audit chain as files: the exported heads, and checking a database without a running service."""

import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headrace.client import models as m
from headrace.guardrails import SealError, SigningKey, digest, seal, utc_text, verify, verify_chain

_HEAD_TYPE = "audit-head"


@dataclass(frozen=True, slots=True)
class Head:
    """One exported state of the chain."""

    sequence: int
    hash: str


class HeadsFile:
    """The exported heads: one sealed document a line."""

    def __init__(self, path: Path, key: SigningKey) -> None:
        """Append to `path`, signing with `key`."""
        self._path = path
        self._key = key
        self._exported = self.last()

    def append(self, sequence: int, hash_: str, at: datetime) -> None:
        """Append a head and sync the file, unless it is the one exported last."""
        head = Head(sequence, hash_)
        if head == self._exported:
            return
        body = {"sequence": str(sequence), "hash": hash_, "at": utc_text(at)}
        _append_line(self._path, seal(_HEAD_TYPE, body, self._key).text)
        self._exported = head

    def last(self) -> Head | None:
        """Return the newest head in the file."""
        return last_head(self._path, self._key.public)


def last_head(path: Path, key: str) -> Head | None:
    """Read the newest exported head signed by `key` (`ed25519:...`).

    Lines that don't verify (torn by a crash, or tampered with) prove nothing and are skipped.
    """
    newest: Head | None = None
    if path.exists():
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    fields = verify(line.rstrip("\n"), _HEAD_TYPE, [key]).fields()
                except SealError:
                    continue
                head = Head(int(str(fields["sequence"])), str(fields["hash"]))
                newest = head if newest is None or head.sequence >= newest.sequence else newest
    return newest


def verify_file(database: Path, head: Head | None) -> m.AuditVerdict:
    """Check the chain in the SQLite file `database`: links, hashes, search columns, and the exported `head`."""
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)
    altered: list[int] = []
    try:
        verdict = verify_chain(_records(connection, altered), head.hash if head else None)
    finally:
        connection.close()
    broken_at, detail = verdict.broken_at, verdict.detail
    if altered and (broken_at is None or altered[0] <= broken_at):
        broken_at, detail = altered[0], f"the stored hash or search columns of event {altered[0]} were altered"
    return m.AuditVerdict(
        intact=broken_at is None,
        events=verdict.events,
        head=verdict.head,
        broken_at=broken_at,
        detail=detail or "every link fits, and the last exported head is on the chain",
    )


def _records(connection: sqlite3.Connection, altered: list[int]) -> Iterator[bytes]:
    """Yield the chain's records; the first event whose columns disagree with its record goes to `altered`."""
    rows = connection.execute("SELECT sequence, kind, person, body, hash FROM audit ORDER BY sequence")
    for sequence, kind, person, body, hash_ in rows:
        record = str(body).encode()
        if not altered and (digest(record) != hash_ or _columns(record) != (str(sequence), kind, person)):
            altered.append(int(sequence))
        yield record


def _columns(record: bytes) -> tuple[object, object, object] | None:
    try:
        event = json.loads(record)
        return event["sequence"], event["kind"], event["person"]
    except (ValueError, KeyError, TypeError):
        return None


def _append_line(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, b"\n" * torn + line.encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
