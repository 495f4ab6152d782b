"""Quotas of a site: which there are (`HEADRACE_QUOTAS`), whom each concerns, and what stands against one more transfer.

A quota limits what counts under one key, such as `group:cryo` or `destination:archive:/raw`: bytes and files in the
site's day, and transfers that have not ended. With the subject `*`, each person (assistant, group, project, endpoint)
has one.
An assistant is one person's: its name alone would be anybody's who makes a token for it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import ceil
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, model_validator

from headrace.api.settings import SettingError
from headrace.api.tables_file import read_tables
from headrace.auth import fold
from headrace.client import models as m
from headrace.client.text import byte_size, plural

EACH: Final = "*"
MOST_QUOTAS: Final = 1000
_MOST = Annotated[int, Field(ge=1, le=(1 << 62) - 1)]


class Quota(BaseModel):
    """One `[[quota]]`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    of: Literal["person", "group", "agent", "project", "endpoint", "destination"]
    subject: Annotated[str, Field(min_length=1, max_length=1000)]
    bytes_a_day: _MOST | None = None
    files_a_day: _MOST | None = None
    transfers: _MOST | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.bytes_a_day is None and self.files_a_day is None and self.transfers is None:
            message = "give `bytes_a_day`, `files_a_day` or `transfers`"
            raise ValueError(message)
        if self.of == "destination" and ":/" not in self.subject:
            message = f"`{self.subject}` is not `endpoint:/path`"
            raise ValueError(message)
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    quota: Annotated[list[Quota], Field(min_length=1, max_length=MOST_QUOTAS)]


def read_quotas(file: str) -> tuple[Quota, ...]:
    """Read the site's quotas; none without a file. Raises `SettingError` that says what is wrong where."""
    if not file:
        return ()
    quotas = tuple(read_tables("HEADRACE_QUOTAS", Path(file), _File).quota)
    names = [(one.of, _compared(one)) for one in quotas]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        message = f"`HEADRACE_QUOTAS`: `{file}`: the {twice[0][0]} `{twice[0][1]}` has two quotas; join them"
        raise SettingError(message)
    return quotas


@dataclass(frozen=True, slots=True)
class Whose:
    """Whom and what a transfer concerns. Without places: whoever asks what there is."""

    person: str
    name: str
    """As which this service alone knows the person; empty for whoever brought the name along: it may be anybody's."""
    agent: str | None
    groups: Collection[str]
    source: str = ""
    destination: str = ""
    project: str = ""

    def subjects(self, of: str) -> tuple[str, ...]:
        """Return the subjects of a kind; a person goes by id here, and an assistant belongs to one."""
        match of:
            case "person":
                return (self.person,)
            case "agent":
                return (f"{self.person}/{self.agent}",) if self.agent else ()
            case "group":
                return tuple(sorted(self.groups))
            case "project":
                return (self.project,) if self.project else ()
            case "endpoint":
                ends = (text.partition(":")[0] for text in (self.source, self.destination) if text)
                return tuple(dict.fromkeys(ends))
            case _:
                return ()


@dataclass(frozen=True, slots=True)
class Limit:
    """A quota as it concerns somebody: what counts under its key."""

    quota: Quota
    key: str
    name: str = ""
    """A person's name, where it is one of this service; an assistant's without its person."""

    @property
    def subject(self) -> str:
        """Whose it is, without the kind."""
        return self.key.partition(":")[2]


def limits_of(quotas: Collection[Quota], whose: Whose) -> tuple[Limit, ...]:
    """Return the limits that concern a transfer; of one subject its own quota stands before that of each."""
    return tuple(_limits(quotas, whose))


def _limits(quotas: Collection[Quota], whose: Whose) -> Iterator[Limit]:
    own = {(one.of, _compared(one)) for one in quotas}
    for quota in quotas:
        if quota.of == "destination":
            # What is copied to a folder above may put files there.
            if within(whose.destination, quota.subject) or within(quota.subject, whose.destination):
                yield Limit(quota, f"destination:{quota.subject}")
            continue
        for subject in whose.subjects(quota.of):
            name = _name(quota.of, subject, whose.name)
            names = {subject, fold(name) if quota.of == "person" else name}
            has_own = any((quota.of, one) in own for one in names)
            if _compared(quota) in names or (quota.subject == EACH and not has_own):
                yield Limit(quota, f"{quota.of}:{subject}", name)


def limit_of(quotas: Collection[Quota], key: str, name: str = "") -> Limit | None:
    """Return the limit of what counts under a key; a person's quota goes by id or `name`, as in `Whose`."""
    of, _, subject = key.partition(":")
    name = _name(of, subject, name)
    found = {_compared(one): one for one in quotas if one.of == of}
    quota = found.get(subject) or found.get(fold(name) if of == "person" else name) or found.get(EACH)
    return Limit(quota, key, name) if quota else None


def _name(of: str, subject: str, person: str) -> str:
    """Return by which name, beside the subject itself, a quota may go."""
    return person if of == "person" else subject.rpartition("/")[2] if of == "agent" else ""


def _compared(quota: Quota) -> str:
    """Return the subject of a quota as it is compared."""
    return fold(quota.subject) if quota.of == "person" else quota.subject


def within(place: str, folder: str) -> bool:
    """Whether a place is a folder or lies in it; nothing does where none is given."""
    return bool(place and folder) and (place == folder or place.startswith(folder.rstrip("/") + "/"))


@dataclass(frozen=True, slots=True)
class Used:
    """What counts under a key."""

    bytes: int = 0
    files: int = 0
    transfers: int = 0


@dataclass(frozen=True, slots=True)
class Against:
    """What stands against a transfer, and from when on it does not any more, if that is known."""

    said: str
    passes: datetime | None

    def passes_after_s(self, now: datetime) -> int | None:
        """Return after how many whole seconds it passes, at least one; `None` if that is not known."""
        return None if self.passes is None else max(1, ceil((self.passes - now) / timedelta(seconds=1)))


def against(limit: Limit, used: Used, wanted: Used, renews: datetime) -> Against | None:
    """Say what stands against a transfer that may move as much as `wanted`; nothing when it fits.

    What is more than a whole day's quota never passes, and when transfers end is not known.
    """
    quota, whose = limit.quota, f"the quota of {limit.quota.of} `{limit.name or limit.subject}`"
    day = f"it renews at {renews:%Y-%m-%d %H:%M} UTC"
    if quota.bytes_a_day is not None and used.bytes + wanted.bytes > quota.bytes_a_day:
        left = max(0, quota.bytes_a_day - used.bytes)
        has = f"{byte_size(left)} of {byte_size(quota.bytes_a_day)} a day are left of {whose}"
        advice = _advice(wanted.bytes, quota.bytes_a_day)
        said = f"{has}, and this plan may move {byte_size(wanted.bytes)}; {day}. {advice}"
        return Against(said, renews if wanted.bytes <= quota.bytes_a_day else None)
    if quota.files_a_day is not None and used.files + wanted.files > quota.files_a_day:
        left = max(0, quota.files_a_day - used.files)
        is_left = "is left" if left == 1 else "are left"
        has = f"{left:,} of {plural(quota.files_a_day, 'file')} a day {is_left} of {whose}"
        said = f"{has}, and this plan may move {wanted.files:,}; {day}. {_advice(wanted.files, quota.files_a_day)}"
        return Against(said, renews if wanted.files <= quota.files_a_day else None)
    if quota.transfers is not None and used.transfers + wanted.transfers > quota.transfers:
        has_not = "has" if used.transfers == 1 else "have"
        of_it = f"{plural(used.transfers, 'transfer')} under {whose}"
        has = f"{of_it} {has_not} not ended, and {quota.transfers} may be at once"
        return Against(f"{has}; submit again when one has ended", None)
    return None


def _advice(wanted: int, most: int) -> str:
    return "Ask for less at a time" if wanted > most else "Ask for less, or start it then"


def renewal(day: str, zone: str) -> datetime:
    """Return when the site's next day begins."""
    after = date.fromisoformat(day) + timedelta(days=1)
    return datetime.combine(after, time(), ZoneInfo(zone)).astimezone(UTC)


def quota_use(limit: Limit, used: Used, renews: datetime) -> m.QuotaUse:
    """Show how much of a quota is used."""
    quota = limit.quota
    return m.QuotaUse(
        of=quota.of,
        subject=limit.subject,
        bytes_a_day=quota.bytes_a_day,
        bytes_used=used.bytes,
        files_a_day=quota.files_a_day,
        files_used=used.files,
        transfers=quota.transfers,
        transfers_used=used.transfers,
        renews=renews,
    )
