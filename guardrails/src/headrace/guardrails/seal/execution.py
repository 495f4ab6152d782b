"""The execution part of a plan: exactly what the nodes are told, carried verbatim by every ticket."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, Self

from headrace.guardrails.seal.documents import Json, JsonObject

Action = Literal["copy", "sync", "move"]
OnConflict = Literal["skip", "overwrite", "fail", "newer"]
Compare = Literal["size-mtime", "checksum"]
Verify = Literal["in-transit", "at-rest"]
Encryption = Literal["required", "off"]

GROWTH_PERCENT: Final = 5
"""How far a source that stays may outgrow its survey, in percent of files and of bytes."""
MIN_GROWTH_FILES: Final = 16
MIN_GROWTH_BYTES: Final = 64 << 20
MIN_GROWTH_ENTRIES: Final = 64
"""A small survey may grow by these at least, or one late log file would stop it."""
NO_LIST_DIGEST: Final = hashlib.sha256(b"").hexdigest()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TransferEnd:
    """A path below a root of a node; `node` is its public key, `path` holds escaped components."""

    node: str
    root: str
    path: tuple[str, ...]

    def to_body(self) -> JsonObject:
        """Its form in sealed documents."""
        return {"node": self.node, "root": self.root, "path": self.path}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which files take part. Sizes are bytes, inclusive; times nanoseconds since 1970, and `before` is exclusive."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    min_size: int | None = None
    max_size: int | None = None
    modified_after_ns: int | None = None
    modified_before_ns: int | None = None

    def to_body(self) -> JsonObject:
        """Its form in sealed documents."""
        return {
            "include": self.include,
            "exclude": self.exclude,
            "min_size": _decimal(self.min_size),
            "max_size": _decimal(self.max_size),
            "modified_after_ns": _decimal(self.modified_after_ns),
            "modified_before_ns": _decimal(self.modified_before_ns),
        }

    @classmethod
    def read(cls, body: JsonObject) -> Self:
        """Read the form in sealed documents; raises `LookupError`, `TypeError` or `ValueError`."""
        return cls(
            include=_globs(body["include"]),
            exclude=_globs(body["exclude"]),
            min_size=_whole(body["min_size"]),
            max_size=_whole(body["max_size"]),
            modified_after_ns=_whole(body["modified_after_ns"]),
            modified_before_ns=_whole(body["modified_before_ns"]),
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """That a plan only measures, in legs: nothing is left at its destination. The ceilings hold for each leg."""

    max_seconds: int
    """After which a leg stops, from its first byte."""

    def to_body(self) -> JsonObject:
        """Its form in sealed documents."""
        return {"max_seconds": str(self.max_seconds)}


@dataclass(frozen=True, slots=True)
class Trash:
    """That what a plan deletes is moved to the trash of its root, and kept there."""

    keep_days: int
    """For so many days at least."""

    def to_body(self) -> JsonObject:
        """Its form in sealed documents."""
        return {"keep_days": str(self.keep_days)}


@dataclass(frozen=True, slots=True)
class ListDigest:
    """How many names an overwrite or delete list holds, and the SHA-256 of its file."""

    count: int = 0
    digest: str = NO_LIST_DIGEST

    def to_body(self) -> JsonObject:
        """Its form in sealed documents."""
        return {"count": str(self.count), "digest": self.digest}


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What nodes carry out. A draft before the survey has zeros as ceilings.

    `max_files` and `max_bytes` limit what is copied, `max_entries` all names that the source may bring.
    Rates are bits per second. `checksums` stays empty until the engine can compute more than BLAKE3.
    """

    action: Action
    source: TransferEnd
    destination: TransferEnd
    filters: Filters
    on_conflict: OnConflict
    compare: Compare
    preserve: tuple[str, ...]
    verify: Verify
    encryption: Encryption
    delete_source: bool
    delete_extraneous: bool
    max_files: int = 0
    max_bytes: int = 0
    max_entries: int = 0
    overwrites: ListDigest = ListDigest()
    deletes: ListDigest = ListDigest()
    rate_ceiling_bps: int | None = None
    qos_class: str = "bulk"
    checksums: tuple[str, ...] = ()
    probe: Probe | None = None
    trash: Trash | None = None

    def to_body(self) -> JsonObject:
        """Its form in plans and tickets (INTERFACES section 1); only a probe has the field `probe`.

        Only a plan whose deletes are kept has the field `trash`.
        """
        measures: JsonObject = {} if self.probe is None else {"probe": self.probe.to_body()}
        keeps: JsonObject = {} if self.trash is None else {"trash": self.trash.to_body()}
        return {
            **measures,
            **keeps,
            "action": self.action,
            "source": self.source.to_body(),
            "destination": self.destination.to_body(),
            "filters": self.filters.to_body(),
            "on_conflict": self.on_conflict,
            "compare": self.compare,
            "preserve": self.preserve,
            "verify": self.verify,
            "checksums": self.checksums,
            "encryption": self.encryption,
            "delete_source": self.delete_source,
            "delete_extraneous": self.delete_extraneous,
            "max_files": str(self.max_files),
            "max_bytes": str(self.max_bytes),
            "max_entries": str(self.max_entries),
            "overwrites": self.overwrites.to_body(),
            "deletes": self.deletes.to_body(),
            "rate_ceiling_bps": _decimal(self.rate_ceiling_bps),
            "qos_class": self.qos_class,
        }

    @property
    def is_deleting(self) -> bool:
        """Whether it may delete anything."""
        return self.delete_source or self.delete_extraneous

    def keeping(self, days: int | None) -> Self:
        """Keep what it deletes for so many days, if it deletes and policy says so."""
        return replace(self, trash=Trash(days)) if days is not None and self.is_deleting else self

    def probing(self, max_files: int, max_bytes: int, max_seconds: int) -> Self:
        """Only measure: legs of at most so many files, bytes and seconds."""
        return replace(
            self,
            max_files=max_files,
            max_bytes=max_bytes,
            max_entries=max_files + MIN_GROWTH_ENTRIES,
            probe=Probe(max_seconds),
        )

    def surveyed(self, counts: "SurveyCounts") -> Self:
        """Set the ceilings and the list digests that the survey found.

        What deletes its source may not grow: it would take and delete there what nobody had seen who consented.
        """
        # Nodes count the folder itself, too, which no survey lists.
        names = counts.source_entries + (counts.source_kind == "dir")
        return replace(
            self,
            max_files=grown_files(counts.files, moves=self.delete_source),
            max_bytes=grown_bytes(counts.bytes, moves=self.delete_source),
            max_entries=names if self.delete_source else _ceiling(counts.source_entries, MIN_GROWTH_ENTRIES),
            overwrites=ListDigest(counts.overwrites, counts.overwrites_digest),
            deletes=ListDigest(counts.deletes, counts.deletes_digest),
        )


class SurveyLike(Protocol):
    """What the engine's survey answers; its `Survey` fits."""

    source_kind: Literal["file", "dir", "symlink"]
    files: int
    bytes: int
    source_entries: int
    directories: int
    symlinks: int
    identical_files: int
    excluded_files: int
    skipped_special: int
    conflicts: int
    overwrites: int
    overwritten_bytes: int
    overwrites_digest: str
    deletes: int
    deleted_bytes: int
    deletes_digest: str
    destination_files: int
    destination_free_bytes: int
    case_collisions: int
    largest_file_bytes: int
    destination_exists: bool


def _share_percent(part: int, whole: int) -> int:
    return min(100, -(-100 * part // max(1, whole))) if part else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyCounts:
    """What the plan would touch, as the survey counted it."""

    source_kind: Literal["file", "dir", "symlink"]
    files: int
    bytes: int
    source_entries: int = 0
    directories: int = 0
    symlinks: int = 0
    identical_files: int = 0
    excluded_files: int = 0
    skipped_special: int = 0
    conflicts: int = 0
    overwrites: int = 0
    overwritten_bytes: int = 0
    overwrites_digest: str = NO_LIST_DIGEST
    deletes: int = 0
    deleted_bytes: int = 0
    deletes_digest: str = NO_LIST_DIGEST
    destination_files: int = 0
    destination_free_bytes: int
    case_collisions: int = 0
    largest_file_bytes: int = 0
    destination_exists: bool = False

    @classmethod
    def of(cls, survey: SurveyLike) -> Self:
        """Copy the counts of an engine survey."""
        return cls(**{name: getattr(survey, name) for name in cls.__dataclass_fields__})

    @property
    def delete_share_percent(self) -> int:
        """Share of the destination's files that would vanish, rounded up; 100 when it is said to hold none."""
        return _share_percent(self.deletes, self.destination_files)

    @property
    def overwrite_share_percent(self) -> int:
        """Share of the destination's files that would be replaced, rounded up; 100 when it is said to hold none."""
        return _share_percent(self.overwrites, self.destination_files)

    @property
    def moved_files(self) -> int:
        """Source files that a move deletes: those that it copies, and those that are there already."""
        return self.files + self.identical_files

    @property
    def move_share_percent(self) -> int:
        """Share of what a move found at its source that it would delete there, rounded up."""
        return _share_percent(self.moved_files, self.moved_files + self.conflicts + self.excluded_files)

    def to_body(self) -> JsonObject:
        """Its form in sealed plans: counts as decimal strings."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
            for name, value in values.items()
        }


def grown_files(count: int, *, moves: bool) -> int:
    """Return how many files may be copied where a survey found so many: no more where their sources are deleted."""
    return count if moves else _ceiling(count, MIN_GROWTH_FILES)


def grown_bytes(count: int, *, moves: bool) -> int:
    """Return how many bytes may be copied where a survey found so many: no more where their sources are deleted."""
    return count if moves else _ceiling(count, MIN_GROWTH_BYTES)


def nanoseconds(moment: datetime) -> int:
    """Nanoseconds since 1970 of an aware time, exact."""
    since = moment - _EPOCH
    return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def _decimal(value: int | None) -> str | None:
    return None if value is None else str(value)


def _whole(text: Json) -> int | None:
    return None if text is None else int(str(text))


def _globs(value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(value)
    return tuple(map(str, value))


def _ceiling(count: int, least: int) -> int:
    """Add `GROWTH_PERCENT` (rounded up) to a count, or `least` if that is more."""
    return count + max(least, -(-count * GROWTH_PERCENT // 100))
