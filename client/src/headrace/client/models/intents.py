"""What is asked for: a request in words or in typed slots, and how its words were read."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field

from headrace.client.models.base import (
    ClockTime,
    Count,
    Globs,
    Handle,
    Location,
    Model,
    Moment,
    ProjectName,
    Rate,
    Recurrence,
    Size,
    Words,
    Zone,
)

Priority = Literal["low", "normal", "high"]
Verify = Literal["default", "in-transit", "at-rest", "blake3", "sha256", "sha1", "md5", "crc32c", "none"]
OnConflict = Literal["skip", "overwrite", "fail", "newer"]
Compare = Literal["size-mtime", "checksum"]
Preserve = Literal["timestamps", "permissions", "symlinks", "xattrs"]
Origin = Literal["said", "typed", "assumed", "assistant", "model"]
"""Said in the words; typed by a person; assumed: Headrace's default; added by the assistant, or by a model."""
Preserved = Annotated[list[Preserve], Field(max_length=20)]


class Changes(Model):
    """Slots of a follow-up: a patch to an earlier plan (`exclude_add` adds, `exclude` replaces)."""

    source: Location | None = None
    destination: Location | None = None
    include: Globs | None = None
    exclude: Globs | None = None
    include_add: Globs = []
    exclude_add: Globs = []
    min_size_bytes: Size | None = None
    max_size_bytes: Size | None = None
    modified_after: Moment | None = None
    modified_before: Moment | None = None
    start: Moment | None = None
    deadline: Moment | None = None
    window: tuple[ClockTime, ClockTime] | None = None
    repeat: Recurrence | None = None
    rate_limit_bps: Rate | None = None
    priority: Priority | None = None
    encryption: bool | None = None
    verify: Verify | None = None
    on_conflict: OnConflict | None = None
    compare: Compare | None = None
    delete_source: bool | None = None
    delete_extraneous: bool | None = None
    preserve: Preserved | None = None
    project: ProjectName | None = None


class TransferIntent(Model):
    """What somebody asked for, in typed slots; the API's form of a copy, sync or move."""

    # A field here is an option of a transfer. tests/pure/test_options.py names every other place that it needs.
    action: Literal["copy", "sync", "move"]
    source: Location = Field(description="`endpoint:/path`")
    destination: Location = Field(description="`endpoint:/path`; a trailing slash means 'into this folder'")
    include: Globs = Field(default=[], description="globs of which a file must match one; none: every file")
    exclude: Globs = Field(default=[], description="globs of which a file must match none")
    min_size_bytes: Size | None = Field(default=None, description="smallest size, inclusive")
    max_size_bytes: Size | None = Field(default=None, description="largest size, inclusive")
    modified_after: Moment | None = Field(default=None, description="earliest modification time, inclusive")
    modified_before: Moment | None = Field(default=None, description="modification times from here on are left out")
    start: Moment | None = Field(default=None, description="when to start")
    deadline: Moment | None = Field(default=None, description="when to be done")
    window: tuple[ClockTime, ClockTime] | None = Field(default=None, description="hours of the day in which to run")
    repeat: Recurrence | None = Field(default=None, description="recurrence rule (RRULE)")
    rate_limit_bps: Rate | None = Field(default=None, description="ceiling in bits per second")
    priority: Priority = Field(default="normal", description="whose turn comes first")
    encryption: bool = Field(default=True, description="whether the bytes are encrypted on their way")
    verify: Verify = Field(
        default="default", description="how what arrives is verified; default: a move at rest, else in transit"
    )
    on_conflict: OnConflict | None = Field(
        default=None, description="files that differ at the destination; default: a sync overwrites them, else `fail`"
    )
    compare: Compare = Field(default="size-mtime", description="when two files count as the same")
    delete_extraneous: bool = Field(default=False, description="whether a sync deletes what the source does not hold")
    preserve: Preserved = Field(
        default=["timestamps", "permissions", "symlinks"], description="what of a file's metadata is kept"
    )
    project: ProjectName | None = Field(
        default=None, description="the project that it is for: policy decides who may name which, and quotas count it"
    )


class RunHours(Model):
    """Hours of each day in which alone a transfer runs; over midnight when it closes earlier than it opens."""

    opens: str = Field(description="`22:00`")
    closes: str = Field(description="`05:00`; not part of the hours")
    zone: str = Field(description="IANA zone of these times")


class PlannedIntent(TransferIntent):
    """What a plan was made for: read without today's limits, so that plans of earlier versions stay readable."""

    include: list[str] = []
    exclude: list[str] = []
    min_size_bytes: int | None = None
    max_size_bytes: int | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    start: datetime | None = None
    deadline: datetime | None = None
    window: tuple[str, str] | None = None
    repeat: str | None = None
    rate_limit_bps: int | None = None
    preserve: list[Preserve] = ["timestamps", "permissions", "symlinks"]
    project: str | None = None

    @classmethod
    def of(cls, intent: TransferIntent) -> Self:
        """Keep what was asked for."""
        return cls.model_validate(intent.model_dump())


class Choice(Model):
    """One answer that would settle a question."""

    value: str
    label: str


class Question(Model):
    """Something that was not understood, is missing, or has several readings."""

    slot: str
    message: str
    words: str | None = None
    start: int | None = None
    """Where these words stand in the text, in code points; None when they stand in several places or in none."""
    end: int | None = None
    choices: list[Choice] = []


class Refusal(Model):
    """A rule that stopped the request, and the words that met it."""

    rule: str
    message: str
    words: str = ""


class Span(Model):
    """Which words became what; offsets count code points of the person's text."""

    start: Count
    end: Count
    text: str
    slot: str
    reading: str


class Quote(Model):
    """A stretch of a request; offsets count code points."""

    start: Count
    end: Count
    text: str


class SlotOrigin(Model):
    """Where the value of one slot of a plan comes from."""

    slot: str = Field(description="a field of the intent, or `delete_source`")
    origin: Origin
    words: list[Quote] = Field(default=[], description="the words that carry it")
    plan: str | None = Field(default=None, description="the earlier plan whose request holds these words")


class InterpretRequest(Model):
    """Words to read, or an intent to put into words: exactly one. `plan` is the handle that "it" and "last" stand for.

    Nothing is listed or moved.
    """

    text: Words | None = None
    intent: TransferIntent | None = None
    plan: Handle | None = None
    timezone: Zone | None = Field(default=None, description="IANA zone of the person; default: the site's")


class Interpretation(Model):
    """How the words were read: `slots` say it to people, and `transfer` is the typed intent."""

    outcome: Literal["intent", "ask", "refuse"]
    action: str | None = None
    transfer: TransferIntent | None = Field(
        default=None, description="set when the words ask for a complete copy, sync or move"
    )
    slots: dict[str, str] = Field(default={}, description="slot -> reading, for people")
    questions: list[Question] = []
    refusals: list[Refusal] = []
    danger: list[str] = []
    spans: list[Span] = []
    canonical_sentence: str | None = None
