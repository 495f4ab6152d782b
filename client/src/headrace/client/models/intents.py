"""What is asked for: a request in words or in typed slots, and how its words were read."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from headrace.client.models.base import Count, Handle, Location, Model, Words, Zone


class Changes(Model):
    """Slots of a follow-up: a patch to an earlier plan (`exclude_add` adds, `exclude` replaces)."""

    source: Location | None = None
    destination: Location | None = None
    include: list[str] | None = None
    exclude: list[str] | None = None
    include_add: list[str] = []
    exclude_add: list[str] = []
    min_size_bytes: Count | None = None
    max_size_bytes: Count | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    start: datetime | None = None
    deadline: datetime | None = None
    window: tuple[str, str] | None = None
    repeat: str | None = None
    rate_limit_bps: Count | None = None
    priority: Literal["low", "normal", "high"] | None = None
    encryption: bool | None = None
    verify: str | None = None
    on_conflict: Literal["skip", "overwrite", "fail", "newer"] | None = None
    delete_source: bool | None = None
    delete_extraneous: bool | None = None
    preserve: list[str] | None = None


class TransferIntent(Model):
    """What somebody asked for, in typed slots; the API's form of a copy, sync or move."""

    action: Literal["copy", "sync", "move"]
    source: Location = Field(description="`endpoint:/path`")
    destination: Location = Field(description="`endpoint:/path`; a trailing slash means 'into this folder'")
    include: list[str] = Field(default=[], max_length=100)
    exclude: list[str] = Field(default=[], max_length=100)
    min_size_bytes: Count | None = None
    max_size_bytes: Count | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    start: datetime | None = None
    deadline: datetime | None = None
    window: tuple[str, str] | None = None
    repeat: str | None = None
    rate_limit_bps: Annotated[int, Field(gt=0)] | None = None
    priority: Literal["low", "normal", "high"] = "normal"
    encryption: bool = True
    verify: Literal["default", "in-transit", "at-rest", "blake3", "sha256", "sha1", "md5", "crc32c", "none"] = "default"
    on_conflict: Literal["skip", "overwrite", "fail", "newer"] | None = None
    compare: Literal["size-mtime", "checksum"] = "size-mtime"
    delete_extraneous: bool = False
    preserve: list[Literal["timestamps", "permissions", "symlinks", "xattrs"]] = [
        "timestamps",
        "permissions",
        "symlinks",
    ]


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
