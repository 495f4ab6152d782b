"""Sizes, rates and times as people write them in flags. What could mean two things is refused, never guessed."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final, TypeVar

import typer

from headrace.client.models import MAX_RATE_BPS, MAX_SIZE_BYTES

_PREFIXES: Final = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
    "Ei": 2**60,
}
_PREFIX: Final = r"(?P<prefix>[kKMGTPE]?|[KMGTPE]i)"
_NUMBER: Final = r"(?P<number>[0-9]+(?:\.[0-9]+)?)"
_SIZE: Final = re.compile(rf"{_NUMBER} ?{_PREFIX}(?P<unit>B|bytes?)")
_RATE: Final = re.compile(rf"{_NUMBER} ?{_PREFIX}(?P<unit>b|bit|B)(?:/s|ps)")
_AGE: Final = re.compile(r"(?P<number>[0-9]+) ?(?P<unit>s|min|minutes?|h|hours?|d|days?|w|weeks?)")
_CLOCK_TIMES: Final = re.compile(r"((?:[01][0-9]|2[0-3]):[0-5][0-9]) ?- ?((?:[01][0-9]|2[0-3]):[0-5][0-9])")
_AGE_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""By the first letter; `5m` alone could be months."""

T = TypeVar("T")


def size_bytes(text: str) -> int:
    """Read `512`, `10MB`, `1.5 GiB` as bytes. Raises ValueError that shows how to write it."""
    if re.fullmatch(r"[0-9]{1,19}", text):
        return _bounded(Fraction(text), text, "size", MAX_SIZE_BYTES)
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        message = f"`{text}` is not a size: write bytes, or a number with B, kB, MB, GiB and so on, like 10MB"
        raise ValueError(message)
    return _bounded(Fraction(match["number"]) * _PREFIXES[match["prefix"]], text, "size", MAX_SIZE_BYTES)


def rate_bps(text: str) -> int:
    """Read `5Gb/s`, `600MB/s`, `2 Gbit/s` as bits per second; b is bit, B is byte. Raises ValueError."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        message = f"`{text}` is not a rate: write b for bits or B for bytes and `/s`, like 5Gb/s or 600MB/s"
        raise ValueError(message)
    bits = 8 if match["unit"] == "B" else 1
    value = _bounded(Fraction(match["number"]) * _PREFIXES[match["prefix"]] * bits, text, "rate", MAX_RATE_BPS)
    if value == 0:
        message = "a rate of 0 moves nothing: to stop for a while, use `headrace pause`"
        raise ValueError(message)
    return value


def moment(text: str, now: datetime) -> datetime:
    """Read an age (`90min`, `12h`, `2d`, `1w`) before `now`, a date, or a time; without a zone it is local time."""
    if (match := _AGE.fullmatch(text.strip())) is not None:
        return (now - timedelta(seconds=int(match["number"]) * _AGE_UNITS[match["unit"][0]])).replace(microsecond=0)
    try:
        read = datetime.fromisoformat(text.strip())
        return (read if read.tzinfo is not None else read.astimezone()).astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        message = f"`{text}` is not a time: write an age like 2d, 12h or 30min, or 2026-11-25 or 2026-11-25T14:30"
        raise ValueError(message) from error


def moment_ahead(text: str, now: datetime) -> datetime:
    """Read a length of time from `now` on (`90min`, `12h`, `2d`), or a time; without a zone it is local time."""
    if (match := _AGE.fullmatch(text.strip())) is not None:
        # To the second, as people read it on the card.
        return (now + timedelta(seconds=int(match["number"]) * _AGE_UNITS[match["unit"][0]])).replace(microsecond=0)
    try:
        ahead = moment(text, now)
    except ValueError as error:
        message = f"`{text}` is not a time ahead: write 30min, 12h or 2d from now on, or 2026-11-25 or 2026-11-25T14:30"
        raise ValueError(message) from error
    if ahead <= now:
        message = f"`{text}` is past: write a time ahead, or 30min, 12h or 2d from now on"
        raise ValueError(message)
    return ahead


def clock_times(text: str) -> str:
    """Read hours of the day, and return them as `22:00-05:00`. Raises ValueError."""
    match = _CLOCK_TIMES.fullmatch(text.strip())
    if match is None or match[1] == match[2]:
        message = f"`{text}` are not hours of the day: write two different clock times, like 22:00-05:00"
        raise ValueError(message)
    return f"{match[1]}-{match[2]}"


def span_s(text: str) -> int:
    """Read `90min`, `12h`, `30d` as seconds. Raises ValueError."""
    match = _AGE.fullmatch(text.strip())
    if match is None:
        message = f"`{text}` is not a length of time: write s, min, h, d or w, like 12h or 30d"
        raise ValueError(message)
    return int(match["number"]) * _AGE_UNITS[match["unit"][0]]


def as_flag(read: Callable[[str], T]) -> Callable[[str | T], T]:
    """Make a reader fit for a flag: its ValueError becomes a usage error, and a default, already read, stays."""

    def parser(given: str | T) -> T:
        if not isinstance(given, str):
            return given
        try:
            return read(given)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return parser


def _bounded(value: Fraction, text: str, what: str, most: int) -> int:
    if value.denominator != 1 or value > most:
        of_what = "bytes" if what == "size" else "bits a second"
        whole = value.denominator == 1
        such = "2B" if what == "size" else "2b/s"
        wrong = (
            f"is more than the most, {most:,} {of_what}"
            if whole
            else f"is not a whole number of {of_what}: round it, like `{such}`"
        )
        message = f"`{text}` {wrong}"
        raise ValueError(message)
    return int(value)
