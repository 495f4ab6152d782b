"""Checking what another host has received of the audit chain: its log file, without the service.

Anybody who can write to that log can put lines into it, and a line may be there twice or late. What counts is the chain
that leads back from the newest head that the service's key has signed.
"""

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from headrace.api.audit.heads import Head, head_of
from headrace.client import models as m

_EVENT: Final = re.compile(rb'\{"event":(\{.*\}),"hash":"([0-9a-f]{64})"\}\s*$')
_RESTORED: Final = (
    ". If the service was restored from a backup, the copy went on there with other events: check the lines before "
    "line {line} by themselves, and those from line {line} on. If it was not, one of the two forms was altered"
)
_MOST: Final = 2**63 - 1
_Link = tuple[bytes, bytes]
"""The hash of the event before it, and its own."""


def verify_received(lines: Iterable[bytes], key: str) -> m.AuditVerdict:
    """Check the events that a host has received, one message a line: none is missing, altered, or there in two forms.

    `key` (`ed25519:...`) is whose signed heads count. The events may begin anywhere in the chain; what came after the
    last head is told, and not vouched for. Needs about 300 bytes of memory for each event.
    """
    links, altered, again, head = _read(lines, key)
    if head is None:
        return _verdict(1, "no head signed by that key is there, so nothing vouches for what is")
    first, wanted = head.sequence + 1, bytes.fromhex(head.hash)
    while (link := _with_hash(links.get(first - 1, ()), wanted)) is not None:
        first, wanted = first - 1, link[0]
    if first > head.sequence or any(sequence < first for sequence in links):
        return _verdict(first - 1, f"event {first - 1} is missing, or was altered", head)
    odd = {one for one in altered | {one for one, found in links.items() if len(found) > 1} if one <= head.sequence}
    if odd:
        at = min(odd)
        said = f"event {at} is there in two forms"
        said += ", one of them altered" if at in altered else _RESTORED.format(line=again[at])
        return _verdict(at, said, head)
    later = sum(sequence > head.sequence for sequence in links)
    said = f"every link fits from event {first} to {head.sequence}, whose head was signed at {head.at}"
    if later:
        said += f"; {later:,} events came after it, for which no head vouches yet"
    return m.AuditVerdict(intact=True, events=head.sequence, head=head.hash, checked_before=first - 1, detail=said)


def _read(
    lines: Iterable[bytes], key: str
) -> tuple[dict[int, tuple[_Link, ...]], set[int], dict[int, int], Head | None]:
    """Return the links by the number of their event, the numbers of altered events, and the newest head.

    Before that head: in which line the second form of an event is first there.
    """
    links: dict[int, tuple[_Link, ...]] = {}
    again: dict[int, int] = {}
    altered: set[int] = set()
    newest: Head | None = None
    for number, line in enumerate(lines, 1):
        found = _EVENT.search(line)
        if found is None:
            head = head_of(line[line.find(b"{") :].strip(), [key])
            if head is not None and (newest is None or head.sequence >= newest.sequence):
                newest = head
            continue
        try:
            fields = json.loads(found[1])
            sequence, previous = int(fields["sequence"]), bytes.fromhex(fields["previous"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if not 1 <= sequence <= _MOST:
            continue
        own = sha256(found[1])
        if own.hexdigest() != found[2].decode():
            altered.add(sequence)
        elif (previous, own.digest()) not in links.get(sequence, ()):
            if sequence in links:
                again.setdefault(sequence, number)
            links[sequence] = (*links.get(sequence, ()), (previous, own.digest()))
    return links, altered, again, newest


def _with_hash(links: Iterable[_Link], wanted: bytes) -> _Link | None:
    return next((link for link in links if link[1] == wanted), None)


def _verdict(broken_at: int, detail: str, head: Head | None = None) -> m.AuditVerdict:
    events, hash_ = (head.sequence, head.hash) if head else (0, "")
    return m.AuditVerdict(intact=False, events=events, head=hash_, broken_at=broken_at, detail=detail)
