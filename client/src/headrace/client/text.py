"""Text from outside, fit to be shown: nothing in it can steer a terminal, a reader's eye or a model's attention."""

import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from headrace.client.models import Plan, Progress, Transfer

_TABLE: Final = json.loads(resources.files(__package__).joinpath("characters.json").read_text(encoding="utf-8"))
"""The table that every language of the project shares: conformance/text/characters.json."""
_BYTE_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_VOWELS: Final = frozenset("aeiou")
_RATE_UNITS: Final = ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s")


def _one_of(ranges: str) -> str:
    """Make a character class of `0000-001F 00AD`."""
    bounds = (part.split("-") for part in ranges.split())
    return "[" + "".join("-".join(rf"\U{int(bound, 16):08x}" for bound in pair) for pair in bounds) + "]"


_MARK: Final = _one_of(_TABLE["marks"])
_ERROR_NUMBER: Final = re.compile(r" \(os error [0-9]+\)")
_UNSEEN: Final = re.compile(f"{_one_of(_TABLE['unseen'])}|(?<={_MARK}{{{_TABLE['max_marks']}}}){_MARK}")


def utc(moment: "datetime") -> str:
    """Return a moment that is in UTC, to the minute where it has no seconds."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment.second else f"{moment:%Y-%m-%d %H:%M} UTC"


def visible(text: str, limit: int = 1000) -> str:
    r"""Return `text` on one line with every unseen character written `\u{202E}`, cut to about `limit` characters.

    A plain space stays. What is cut off is told by its length. Showing twice changes nothing.
    """
    return _UNSEEN.sub(_escaped, text[:limit]) + _cut_off(text, limit)


def quoted(text: str, limit: int = 200) -> str:
    r"""Return `text` in double quotes, visible, with inner `"` and `\` escaped, so that its end cannot be forged."""
    kept = text[:limit].replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_UNSEEN.sub(_escaped, kept)}"{_cut_off(text, limit)}'


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):04X}}}"


def _cut_off(text: str, limit: int) -> str:
    return f" (and {len(text) - limit} more characters)" if len(text) > limit else ""


def byte_size(count: int) -> str:
    """Return a number of bytes for people, in decimal units, rounded down: `1.71 GB`."""
    return _scaled(count, _BYTE_UNITS)


def bit_rate(bits_per_s: int) -> str:
    """Return a rate for people, in decimal units, rounded down: `9.41 Gb/s`."""
    return _scaled(bits_per_s, _RATE_UNITS)


def duration(seconds: float) -> str:
    """Return a length of time for people, in its two largest units, rounded down: `1 h 5 min`, `250 ms`."""
    if 0.001 <= seconds < 1:  # noqa: PLR2004 - one millisecond to one second
        return f"{int(seconds * 1000)} ms"
    whole = max(0, int(seconds))
    amounts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    first = next((index for index, (amount, _) in enumerate(amounts) if amount), len(amounts) - 1)
    return " ".join(f"{amount} {unit}" for amount, unit in amounts[first : first + 2] if amount) or "0 s"


def about(likely_s: float, low_s: float | None = None, high_s: float | None = None) -> str:
    """Return a length of time that is not known exactly: `about 5 min (4 min to 7 min)`."""
    likely = f"about {duration(likely_s)}" if likely_s else "under 1 s"
    return likely if low_s is None or high_s is None else f"{likely} ({between(low_s, high_s)})"


def between(low_s: float, high_s: float) -> str:
    """Return a range of time: `4 min to 7 min`, `under 1 s to 2 s`; never from none to none."""
    return f"{duration(low_s) if low_s else 'under 1 s'} to {duration(max(1, high_s))}"


def time_of(plan: "Plan") -> str:
    """Say how long a plan may take, or that this is not known; nothing of one that moves nothing or can't start."""
    found = plan.estimate
    if found is not None:
        return f"{about(found.likely_s, found.low_s, found.high_s)}, {found.said}"
    if plan.eta_s is not None:
        return f"at most {duration(plan.eta_s)}" if plan.probe is not None else about(plan.eta_s)
    if plan.survey is None or plan.probe is not None or plan.digest is None:
        return ""
    return "not known yet: nothing that says so was moved here before"


def plural(count: int, noun: str) -> str:
    """Return `1 file`, `2,000 files`, `3 entries`, `30 days`."""
    many = noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in _VOWELS else noun + "s"
    return f"{count:,} {noun if count == 1 else many}"


def same_already(count: int, by: str | None) -> str:
    """Say why files count as there that were not copied, or nothing: without a checksum none was read."""
    if not count:
        return ""
    if by == "checksum":
        return f"{count:,} {'has' if count == 1 else 'have'} the same checksum already"
    if by is None:
        return f"{count:,} the same already"
    return f"{count:,} taken as the same by size and time, not read"


def stays(progress: "Progress") -> str:
    """Say what is left at the destination of a canceled transfer: whole files, however much had come of others."""
    whole = f"{progress.files_done:,} of {plural(progress.files_total, 'file')} stay"
    return whole if progress.files_done == progress.files_total else f"{whole}, what had come of others is removed"


def copied_and_same(copied: int, size: str, same: str, how: str = "") -> list[str]:
    """Say what was copied, and verified (`how`) with it, and what was the `same`: only what was copied is verified."""
    verified = f" and verified {how}".rstrip() if copied else ""
    return [f"{copied:,} copied{verified}, {size}", *([same] if same else ())]


def deletions(count: int, *, to_trash: bool) -> str:
    """Say what was deleted at a destination, files and folders together; empty when nothing was."""
    if not count:
        return ""
    return f"{plural(count, 'entry')} {'moved to the trash' if to_trash else 'deleted'} at the destination"


def deleting(progress: "Progress") -> str:
    """Say how far a running transfer is with what it deletes; empty when it deletes nothing, or no source yet."""
    gone = "moved to the trash" if progress.deleted_to_trash else "deleted"
    if progress.deletes_total:
        return f"{progress.deleted:,} of {plural(progress.deletes_total, 'entry')} {gone} at the destination"
    if progress.sources_deleted:
        return f"{progress.sources_deleted:,} of {plural(progress.files_total, 'source')} {gone}"
    return ""


def before_deletes(transfer: "Transfer") -> str:
    """Return what is to be said behind the time that is left: it knows no deletes before they begin."""
    progress = transfer.progress
    if transfer.action == "move":
        return "" if progress.sources_deleted else " before it deletes its sources"
    return " before it deletes" if progress.deletes_total and not progress.deleted else ""


def sentence(text: str) -> str:
    """Return a text with a capital first and a full stop last."""
    said = text[:1].upper() + text[1:]
    return said if not said or said.endswith((".", "!", "?")) else f"{said}."


def without_number(message: str) -> str:
    """Return a node's message without the number of the system's error, whose words it has as well."""
    return _ERROR_NUMBER.sub("", message)


def _scaled(value: int, units: tuple[str, ...]) -> str:
    """Three digits and the unit that fits, rounded down."""
    index = min((len(str(max(0, value))) - 1) // 3, len(units) - 1)
    step = 1000**index
    decimals = max(0, 3 - len(str(value // step))) if index else 0
    fraction = f".{value % step * 10**decimals // step:0{decimals}d}" if decimals else ""
    return f"{value // step}{fraction} {units[index]}"
