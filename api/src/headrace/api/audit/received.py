"""Checking what another host has received of the audit chain: its log file, without the service."""

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from headrace.api.audit.heads import Head, head_of
from headrace.client import models as m
from headrace.guardrails import verify_chain

_EVENT: Final = re.compile(rb'\{"event":(\{.*\}),"hash":"([0-9a-f]{64})"\}\s*$')
_HASH_BYTES: Final = 32


class _Received:
    """The events of some lines, in order; what was sent twice is the same twice."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.first = 0
        """The number of the first event; 0 before there is one."""
        self.before = ""
        """What the first event says that the hash of the one before it is."""
        self._hashes = bytearray()
        self.head: Head | None = None
        """The newest head of the key."""
        self.altered: int | None = None
        """An event whose hash is not its own, or that was received in two forms."""

    @property
    def last(self) -> int:
        return self.first + len(self._hashes) // _HASH_BYTES - 1

    def hash_of(self, sequence: int) -> str:
        at = (sequence - self.first) * _HASH_BYTES
        return self._hashes[at : at + _HASH_BYTES].hex()

    def records(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            found = _EVENT.search(line)
            if found is None:
                self._look_for_a_head(line)
                continue
            record, said = found[1], found[2].decode()
            try:
                fields = json.loads(record)
                sequence, previous = int(fields["sequence"]), str(fields["previous"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            made = sha256(record)
            if not self.first:
                self.first, self.before = sequence, previous
            again = self.first <= sequence <= self.last
            if made.hexdigest() != said or (again and self.hash_of(sequence) != said):
                self.altered = sequence if self.altered is None else min(self.altered, sequence)
            if not again:
                self._hashes += made.digest()
                yield record

    def _look_for_a_head(self, line: bytes) -> None:
        head = head_of(line[line.find(b"{") :].strip(), [self._key])
        if head is not None and (self.head is None or head.sequence > self.head.sequence):
            self.head = head


def verify_received(lines: Iterable[bytes], key: str) -> m.AuditVerdict:
    """Check the events that a host has received, one message a line: none is missing, altered, or there in two forms.

    `key` (`ed25519:...`) is whose signed heads count: the newest must be on the chain. The first event may be any.
    """
    received = _Received(key)
    records = received.records(lines)
    opening = next(records, None)
    if opening is None:
        return _verdict(received, None, "there is no event of an audit chain in it")
    whole = _with_first(opening, records)
    verdict = verify_chain(whole, checked=(received.first - 1, received.before))
    if received.altered is not None:
        return _verdict(received, received.altered, f"event {received.altered} was altered, or there are two of it")
    if not verdict.intact:
        return _verdict(received, verdict.broken_at, verdict.detail)
    return _verdict(received, *_by_its_head(received))


def _by_its_head(received: _Received) -> tuple[int | None, str]:
    """Return what the newest head says of the end: which event is wrong, if one is, and a sentence."""
    head = received.head
    if head is None:
        return received.last + 1, "no head signed by that key is there, so the end may be cut off"
    if head.sequence >= received.first and received.hash_of(head.sequence) != head.hash:
        if head.sequence > received.last:
            return received.last + 1, f"a signed head says that there are {head.sequence:,} events"
        return head.sequence, f"event {head.sequence} is not the one of the signed head"
    return None, f"every link fits from event {received.first} on, and the last signed head is on the chain"


def _with_first(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


def _verdict(received: _Received, broken_at: int | None, detail: str) -> m.AuditVerdict:
    return m.AuditVerdict(
        intact=broken_at is None and received.first > 0,
        events=max(received.last, 0),
        head=received.hash_of(received.last) if received.first else "",
        broken_at=broken_at if received.first else 1,
        checked_before=max(received.first - 1, 0),
        detail=detail,
    )
