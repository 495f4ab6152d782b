"""The exported heads of the audit chain: a file of signed lines, which can be kept on another machine."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from headrace.api.durable import sync_folder, write_whole
from headrace.guardrails import SealError, Signs, seal, utc_text, verify

_HEAD_TYPE = "audit-head"
_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Head:
    """One exported state of the chain."""

    sequence: int
    hash: str
    at: str = field(default="", compare=False)
    """When it was signed."""


class HeadsFile:
    """The exported heads: one sealed document a line."""

    def __init__(
        self, path: Path, key: Signs, former: Collection[str] = (), require: Callable[[], None] = lambda: None
    ) -> None:
        """Append to `path`, signing with `key`; heads of `former` keys count as well.

        `require` raises `OSError` where the file's folder is not the one that it lies in.
        """
        self._path = path
        self._require = require
        self._key = key
        self._keys = (key.public, *former)
        self._exported: Head | None = None
        self._exported = self.last()

    def append(self, sequence: int, hash_: str, at: datetime) -> None:
        """Append a head and sync the file, unless it is the one exported last."""
        head = Head(sequence, hash_)
        if head == self._exported:
            return
        self._require()
        _append_line(self._path, self.signed(sequence, hash_, at))
        self._exported = head

    def signed(self, sequence: int, hash_: str, at: datetime) -> str:
        """Return the line of a head."""
        return seal(_HEAD_TYPE, {"sequence": str(sequence), "hash": hash_, "at": utc_text(at)}, self._key).text

    def last(self) -> Head | None:
        """Return the newest head that is known: in the file, or exported by this process if that is newer."""
        found = last_head(self._path, self._keys)
        known = [head for head in (found, self._exported) if head is not None]
        return max(known, key=lambda head: head.sequence, default=None)


def last_head(path: Path, keys: Collection[str]) -> Head | None:
    """Read the newest exported head signed by one of `keys` (`ed25519:...`): the last line of the file that verifies.

    Reads from the end, so that it takes as long for a file of years. Lines that don't verify (torn by a crash, or
    tampered with) prove nothing and are skipped.
    """
    if not path.exists():
        return None
    for line in _lines_from_the_end(path):
        head = head_of(line, keys)
        if head is not None:
            return head
    return None


def head_of(line: bytes, keys: Collection[str]) -> Head | None:
    """Read the head on a line; `None` if it is none that is signed by one of `keys`."""
    try:
        fields = verify(line.decode("utf-8", "replace"), _HEAD_TYPE, keys).fields()
    except SealError:
        return None
    return Head(int(str(fields["sequence"])), str(fields["hash"]), str(fields.get("at", "")))


def _lines_from_the_end(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, last first, reading one block at a time."""
    with path.open("rb") as file:
        at = file.seek(0, os.SEEK_END)
        rest = b""
        while at:
            size = min(_BLOCK_BYTES, at)
            at -= size
            file.seek(at)
            rest, *lines = (file.read(size) + rest).split(b"\n")
            yield from filter(None, reversed(lines))
        if rest:
            yield rest


def _append_line(path: Path, line: str) -> None:
    new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        write_whole(descriptor, b"\n" * torn + line.encode() + b"\n")
    finally:
        os.close(descriptor)
    if new:
        sync_folder(path.parent)
