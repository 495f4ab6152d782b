"""The audit chain: every event is canonical JSON that holds the hash of the one before it; storing is not done here."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.guardrails.seal.documents import JsonObject, canonical

FIRST: Final = "0" * 64
"""What the first event of a chain names as the one before it."""
MAX_EVENT_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Link:
    """One event of a chain: its exact bytes and their hash (lower-case hex SHA-256)."""

    sequence: int
    record: bytes
    hash: str


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """Whether a chain is whole. `head` is the last good hash; `broken_at` the sequence at which it stops being so."""

    intact: bool
    events: int
    head: str
    broken_at: int | None = None
    detail: str = ""


def link(previous: Link | None, event: JsonObject) -> Link:
    """Append `event` after `previous` (`None` begins a chain); adds `sequence` (from 1, as text) and `previous`.

    Raises `SealError` when the event can't be written, and `ValueError` when it is larger than 64 KiB or names one of
    those fields itself: nothing may happen that can't be written down.
    """
    sequence = 1 if previous is None else previous.sequence + 1
    if not {"sequence", "previous"}.isdisjoint(event):
        raise ValueError(event)
    record = canonical({**event, "sequence": str(sequence), "previous": FIRST if previous is None else previous.hash})
    if len(record) > MAX_EVENT_BYTES:
        raise ValueError(len(record))
    return Link(sequence, record, hashlib.sha256(record).hexdigest())


def verify_chain(
    records: Iterable[bytes], head: str | None = None, *, checked: tuple[int, str] | None = None
) -> ChainVerdict:
    """Check a chain's records, and that it ends at (or goes on beyond) an exported `head`.

    The records begin after `checked`, the sequence and hash up to which the chain was found whole before (without it:
    at the first). Reads one record at a time. Without `head`, events cut off at the end can't be noticed.
    """
    sequence, previous = checked or (0, FIRST)
    seen = head is None or head == previous
    for record in records:
        fields = _fields(record)
        if fields is None or (fields.get("previous"), fields.get("sequence")) != (previous, str(sequence + 1)):
            return ChainVerdict(
                intact=False,
                events=sequence,
                head=previous,
                broken_at=sequence + 1,
                detail=f"event {sequence + 1} does not follow the one before it",
            )
        sequence, previous = sequence + 1, hashlib.sha256(record).hexdigest()
        seen = seen or previous == head
    if not seen:
        detail = "the chain does not hold the exported head: events are missing or were changed"
        return ChainVerdict(intact=False, events=sequence, head=previous, broken_at=sequence + 1, detail=detail)
    return ChainVerdict(intact=True, events=sequence, head=previous)


def _fields(record: bytes) -> Mapping[str, object] | None:
    if len(record) > MAX_EVENT_BYTES:
        return None
    try:
        value: object = json.loads(record)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
