"""Names from outside: how they are shown to people, and how paths are written.

A path is a list of components. In text a component is escaped: bytes that are not UTF-8, control characters and `%` are
written `%XX` (upper-case hex, one per byte); nothing is normalised. Everything that came from storage or from a caller
and is shown to people goes through `shown`: it is data, never markup, never an instruction.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from importlib import resources
from typing import Final

MAX_SHOWN: Final = 300
"""Characters that `shown` keeps unless told otherwise."""

_WRITTEN_TOGETHER: Final = frozenset({"CJK", "HANGUL", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
_ESCAPE: Final = re.compile(r"%([0-9A-F]{2})")
_BYTE_UNITS: Final = ("kB", "MB", "GB", "TB", "PB", "EB")


def _one_of(ranges: str) -> str:
    """Make a character class of `0000-001F 00AD`."""
    bounds = (part.split("-") for part in ranges.split())
    return "[" + "".join("-".join(rf"\U{int(bound, 16):08x}" for bound in pair) for pair in bounds) + "]"


# The table that every language of the project shares: conformance/text/characters.json.
_TABLE: Final = json.loads(resources.files(__package__).joinpath("characters.json").read_text(encoding="utf-8"))
_MARK: Final = _one_of(_TABLE["marks"])
_HIDDEN: Final = re.compile(_one_of(_TABLE["unseen"]))
_UNSEEN: Final = f"{_one_of(_TABLE['unseen'])}|(?<={_MARK}{{{_TABLE['max_marks']}}}){_MARK}"
_EACH: Final = re.compile(f"({_UNSEEN})|.", re.DOTALL)


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    r"""Text from outside, fit to be shown or read to people.

    Control, bidirectional, zero-width and otherwise invisible characters, odd spaces and piled-up combining marks are
    written `\u{202E}`; longer than `limit` (at least 3) is cut with `…`. Ordinary text, of any script, stays as it is.
    Showing twice changes nothing.
    """
    pieces = [f"\\u{{{ord(each[1]):04X}}}" if each[1] else each[0] for each in _EACH.finditer(text[: limit + 1])]
    if len(text) <= limit and sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    kept = 0
    for count, piece in enumerate(pieces):
        kept += len(piece)
        if kept > limit - 1:
            return "".join(pieces[:count]) + "…"
    return "".join(pieces)


def folded(text: str) -> str:
    """Write what some storage takes for the same name alike: case, compatibility forms, what is not seen, ends."""
    for _ in range(3):  # until nothing changes any more
        text = unicodedata.normalize("NFKC", _HIDDEN.sub("", text)).casefold()
    return text.rstrip(". ")


def escape_component(raw: bytes) -> str:
    """Write one component's bytes as text; every byte string has exactly one spelling."""
    pieces: list[str] = []
    for character in raw.decode("utf-8", "surrogateescape"):
        if character == "%" or unicodedata.category(character) in {"Cc", "Cs"}:
            pieces.extend(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
        else:
            pieces.append(character)
    return "".join(pieces)


def unescape_component(text: str) -> bytes:
    """Bytes of one escaped component; raises `ValueError` for any spelling that `escape_component` does not write."""
    raw = b"".join(
        bytes.fromhex(piece) if index % 2 else piece.encode("utf-8") for index, piece in enumerate(_ESCAPE.split(text))
    )
    if escape_component(raw) != text:
        raise ValueError(text)
    return raw


def path_text(components: Iterable[str]) -> str:
    """Write escaped components as `/a/b`; the root itself is `/`."""
    return "/" + "/".join(components)


def ancestors(components: tuple[str, ...]) -> tuple[str, ...]:
    """Every prefix of a path, from `/` to the path itself (what policies call `within`)."""
    return tuple(path_text(components[:length]) for length in range(len(components) + 1))


def human_bytes(count: int) -> str:
    """Write a byte count for people, in decimal units with three digits, rounded down: `1.71 GB`."""
    if count < 1000:  # noqa: PLR2004 - the decimal step
        return f"{count} B"
    unit = min((len(str(count)) - 1) // 3, len(_BYTE_UNITS))
    step = 1000**unit
    decimals = max(0, 3 - len(str(count // step)))
    whole, rest = divmod(count, step)
    fraction = f".{rest * 10**decimals // step:0{decimals}d}" if decimals else ""
    return f"{whole}{fraction} {_BYTE_UNITS[unit - 1]}"


def sized(count: int) -> str:
    """Write a byte count both human and exact: `1.71 GB (1,717,986,918 bytes)`."""
    return f"{human_bytes(count)} ({count:,} bytes)" if count >= 1000 else counted(count, "byte")  # noqa: PLR2004


def in_words(slot: str) -> str:
    """Name a slot as a sentence for people does."""
    return _IN_WORDS[slot.removeprefix("add_").removeprefix("drop_")]


_IN_WORDS: Final = {
    "action": "the action",
    "source": "the source",
    "destination": "the destination",
    "include": "the list of names to take",
    "exclude": "the list of names to leave out",
    "min_size": "the smallest size",
    "max_size": "the largest size",
    "modified_after": "the earliest time of change",
    "modified_before": "the latest time of change",
    "start": "the start",
    "deadline": "the deadline",
    "window": "the daily time window",
    "repeat": "the repetition",
    "rate_limit_bps": "the rate limit",
    "priority": "the priority",
    "encryption": "the encryption",
    "verify": "the verification",
    "on_conflict": "what happens to different files at the destination",
    "delete_source": "the deletion of the source",
    "delete_extraneous": "the deletion of what the source does not hold",
    "preserve": "the metadata to keep",
    "target": "which transfer is meant",
    "then": "the step after it",
}


def counted(count: int, noun: str) -> str:
    """Write a count with its noun: `1 file`, `20,000 files`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def endpoint_name_fault(name: str) -> str | None:
    """Why `name` may not name an endpoint, or `None`.

    A name that only looks like another is refused: zero-width, bidirectional and control characters, full-width and
    other compatibility forms, and letters of more than one script (one Cyrillic letter in a Latin name). Names in one
    script, with accents, digits and punctuation, are fine.
    """
    if name != shown(name, limit=max(3, len(name))):
        return "it holds invisible or direction-changing characters"
    if unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFC", name):
        return "it holds full-width or other look-alike forms of ordinary characters"
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in name if letter.isalpha()}
    if len(scripts) > 1 and not scripts <= _WRITTEN_TOGETHER:
        return f"it mixes letters of several scripts ({', '.join(sorted(scripts)).lower()})"
    return None
