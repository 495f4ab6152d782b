"""Text from outside, fit to be shown: nothing in it can steer a terminal, a reader's eye or a model's attention."""

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
"""Unicode categories with no glyph of their own, or one that moves others: controls, bidi, zero-width, odd spaces."""


def visible(text: str, limit: int = 1000) -> str:
    r"""Return `text` on one line with every unseen character written `\u{XXXX}`, cut to about `limit` characters.

    A plain space stays. What is cut off is told by its length. A backslash is doubled when something had to be
    escaped, so that a name that merely looks escaped can be told from one that is.
    """
    kept = text[:limit]
    if not all(_is_seen(character) for character in kept):
        kept = "".join(_escaped(character) for character in kept)
    return kept + _cut_off(text, limit)


def quoted(text: str, limit: int = 200) -> str:
    r"""Return `text` in double quotes, visible, with inner `"` and `\` escaped, so that its end cannot be forged."""
    kept = "".join('\\"' if character == '"' else _escaped(character) for character in text[:limit])
    return f'"{kept}"{_cut_off(text, limit)}'


def _cut_off(text: str, limit: int) -> str:
    return f" (and {len(text) - limit} more characters)" if len(text) > limit else ""


def _is_seen(character: str) -> bool:
    return character == " " or unicodedata.category(character) not in _UNSEEN


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    return character if _is_seen(character) else f"\\u{{{ord(character):04X}}}"


def byte_size(count: int) -> str:
    """Return a number of bytes for people, in decimal units: `1.72 GB`."""
    return _scaled(count, ("B", "kB", "MB", "GB", "TB", "PB", "EB"))


def bit_rate(bits_per_s: int) -> str:
    """Return a rate for people, in decimal units: `9.41 Gb/s`."""
    return _scaled(bits_per_s, ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"))


def duration(seconds: float) -> str:
    """Return a length of time for people, in its two largest units: `1 h 5 min`."""
    whole = max(0, round(seconds))
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    parts = [
        f"{whole % above // size} {name}" for above, (size, name) in zip((10**12, 86400, 3600, 60), units, strict=True)
    ]
    first = next((index for index, part in enumerate(parts) if not part.startswith("0 ")), len(parts) - 1)
    return " ".join(part for part in parts[first : first + 2] if not part.startswith("0 ")) or "0 s"


def plural(count: int, noun: str) -> str:
    """Return `1 file`, `2,000 files`, `3 entries`."""
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else many}"


def _scaled(value: int, units: tuple[str, ...]) -> str:
    scaled, index = float(value), 0
    while scaled >= 999.5 and index < len(units) - 1:  # noqa: PLR2004 - three significant digits
        scaled, index = scaled / 1000, index + 1
    if index == 0:
        return f"{value} {units[0]}"
    digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0  # noqa: PLR2004
    return f"{scaled:.{digits}f} {units[index]}"
