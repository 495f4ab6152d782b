"""Reads what stands for itself: quoted strings, locations, URLs, endpoint names, globs, ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Place
from headrace.guardrails.language.grammar import KNOWN
from headrace.guardrails.language.phrases import Item, listed
from headrace.guardrails.language.units import is_unit
from headrace.guardrails.language.zones import is_zone_name
from headrace.guardrails.resolve.dot_names import is_ending
from headrace.guardrails.resolve.endpoint_names import deceives, find_endpoint, same_but_for_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.language.tokens import Token

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9_]{0,31}(?:\.[A-Za-z0-9_]{1,8})?")
_FILE_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,7}")
_HEX_ID = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{2,40}", re.IGNORECASE)
_LONG_ID = re.compile(r"tr_[A-Za-z0-9]{1,60}")
_DATE = re.compile(r"\d{1,4}/\d{1,2}(?:/\d{1,4})?", re.ASCII)
_LEADING_NUMBER = re.compile(r"[\d.,]+", re.ASCII)
_BRACKETS = dict.fromkeys("([{", "<open>") | dict.fromkeys(")]}", "<close>")
_SHORTEST_ID = 2
_SHORTEST_UNKNOWN_ID = 6
_QUANTITY = re.compile(r"\d+(?:[bdgkmhpstw]|e\d+)", re.IGNORECASE | re.ASCII)
_ABSOLUTE = ("/", "~", "$", "\\", "..")


class Names:
    """What a reader of atoms knows: the registry, and ids that may be named."""

    def __init__(self, context: Context) -> None:
        """Sort the names of `context`."""
        self.context = context
        self.of_the_last_plan = _basenames(context)
        self._lists: dict[int, int] = {}

    def width_at(self, tokens: Sequence[Token], at: int) -> tuple[int, str, str] | None:
        """Find the longest endpoint name that starts here: tokens, name, rest after a colon."""
        best: tuple[int, str, str] | None = None
        registry = self.context.registry
        for width in registry.widths:
            piece = tokens[at : at + width]
            if len(piece) < width or any(token.kind != "word" for token in piece):
                break
            written = " ".join(token.value for token in piece)
            for spelled, _ in registry.having(written.partition(":")[0]):
                found = _named(written, spelled) if spelled.count(" ") + 1 == width else None
                if found:
                    best = (width, *found)
                    break
        return best

    def end_names(self, tokens: Sequence[Token], at: int) -> bool:
        """Say whether a word is how names end, and no name: "files ending in _tmp.mrc or _raw.mrc"."""
        first = at
        while first not in self._lists and first and _is_listed(tokens[first - 1]):
            first -= 1
        # Where the list begins that a word stands in, so that a long one is gone through once.
        first = self._lists[at] = self._lists.get(first, first)
        ends = listed("names_end_in")
        return first > 1 and tokens[first - 1].word in ends and tokens[first - 2].word in listed("names_end")


def _is_listed(token: Token) -> bool:
    return token.word in listed("joins_names") or bool(_FILE_NAME.fullmatch(token.value))


def _named(written: str, spelled: str) -> tuple[str, str] | None:
    """Split a name of the registry's spelling from what follows it after a colon."""
    name, colon, rest = written.partition(":")
    return (name, colon + rest) if same_but_for_case(name, spelled) else None


def read_atoms(tokens: Sequence[Token], context: Context) -> list[Item]:
    """Give one item for each token, or for the tokens of an endpoint's name with spaces."""
    names = Names(context)
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        width, item = _atom(tokens, at, names)
        items.append(item)
        at += width
    return items


def _atom(tokens: Sequence[Token], at: int, names: Names) -> tuple[int, Item]:
    token = tokens[at]
    if token.kind == "quoted":
        return 1, _item("<quoted>", token, at, _quoted(token, names) or token.value)
    if token.kind == "mark":
        bracket = _BRACKETS.get(token.value)
        return 1, Item(bracket or token.value, at, at + 1, token.text, token.value if bracket else None)
    if named := names.width_at(tokens, at):
        return _endpoint(tokens, at, named)
    return 1, _single(tokens, at, names)


def _item(symbol: str, token: Token, at: int, value: Place | str) -> Item:
    if isinstance(value, Place):
        symbol = _symbol_of(value)
    return Item(symbol, at, at + 1, token.text, value)


def _symbol_of(place: Place) -> str:
    if place.url is not None or (place.name is not None and place.path is not None):
        return "<loc>"
    if place.name is not None:
        return "<ep>"
    return "<path>" if (place.path or "").startswith(_ABSOLUTE) or place.literal else "<rel>"


def _endpoint(tokens: Sequence[Token], at: int, named: tuple[int, str, str]) -> tuple[int, Item]:
    width, name, rest = named
    words = " ".join(token.text for token in tokens[at : at + width])
    path = rest[1:] or None
    place = Place(words, name, path)
    if rest == ":":
        # "krios1:" with nothing after it: the colon is left to be asked about.
        place = Place(words, name, "")
    return width, Item(_symbol_of(place), at, at + width, words, place)


def _quoted(token: Token, names: Names) -> Place | None:
    """Read a quoted location; quoted text that is none stays a literal string."""
    value = token.value
    name, colon, rest = value.partition(":")
    if _URL.match(value):
        return Place(token.text, url=value, literal=True)
    if value.startswith("/"):
        return Place(token.text, path=value, literal=True)
    if find_endpoint(value, names.context):
        return Place(token.text, name=value, literal=True)
    plain = name and not any(character.isspace() for character in name)
    if colon and (find_endpoint(name, names.context) or (plain and rest.startswith("/"))):
        return Place(token.text, name, rest, literal=True)
    return None


def _single(tokens: Sequence[Token], at: int, names: Names) -> Item:  # noqa: PLR0911
    token = tokens[at]
    value = token.value
    place = _place(token, names)
    if place is not None and not _is_plain(tokens, at):
        return _item("", token, at, place)
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if glob := _glob(value, of_files=following in listed("of_files")):
        return _item("<glob>", token, at, glob)
    if value.endswith(("'s", "\u2019s")) and find_endpoint(value[:-2], names.context):
        return _item("<ep>", token, at, Place(token.text, value[:-2]))
    if value.endswith(("'s", "\u2019s")) and _is_id(value[:-2], names.context):
        return _item("<idof>", token, at, value[:-2].removeprefix("#"))
    if _is_id(value, names.context):
        return _item("<id>", token, at, value.removeprefix("#"))
    if value in names.of_the_last_plan:
        return _item("<ref>", token, at, value)
    if _FILE_NAME.fullmatch(value) and token.word not in listed("no_file_name"):
        ends = names.end_names(tokens, at)
        return _item("<glob>" if ends else "<file>", token, at, f"*{value}" if ends else value)
    return Item(token.word, at, at + 1, token.value)


def _is_plain(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a slash or tilde in a word makes no path: units, dates, zones, "and/or", "~3 TB"."""
    value = tokens[at].value
    if tokens[at + 1 : at + 2] and tokens[at + 1].start == tokens[at].end and tokens[at + 1].value[:1].isdigit():
        # "~3 TB" is about as much.
        return True
    rest = _LEADING_NUMBER.sub("", value, count=1) if value[0].isdigit() else value
    if value.lower() in listed("per_time"):
        before = tokens[at - 1].value if at else ""
        return is_unit(_LEADING_NUMBER.sub("", before, count=1))
    return (
        is_unit(rest) or _DATE.fullmatch(value) is not None or is_zone_name(value) or value.lower() in listed("no_path")
    )


def _place(token: Token, names: Names) -> Place | None:
    value = token.value
    if _URL.match(value) and find_endpoint(value.split(":")[0], names.context) is None:
        return Place(token.text, url=value)
    if value.startswith(("/", "\\", "~", "$", "./", "../")) or value in (".", ".."):
        return Place(token.text, path=value) if len(value) > 1 or value in "/~\\" else None
    name, colon, rest = value.partition(":")
    if colon and name and rest and _is_location(name, rest):
        return Place(token.text, name, rest)
    if "\\" in value or ("/" in value[:-1] and "*" not in value and not value.startswith("-")):
        return Place(token.text, path=value)
    if not value.isascii() and deceives(value, names.context) and _imitates(value, names.context):
        return Place(token.text, name=value)
    return None


def _is_location(name: str, rest: str) -> bool:
    if rest[0] in "/~$\\":
        return True
    return ("/" in rest or "\\" in rest) and not name[0].isdigit() and not rest[0].isdigit()


def _imitates(value: str, context: Context) -> bool:
    """Say whether a word without a path is an endpoint's name but for its odd characters."""
    plain = [character for character in value.lower() if character.isascii()]
    return any(
        len(plain) >= 2  # noqa: PLR2004 (one letter is like anything)
        and abs(len(spelled) - len(value)) <= 1
        and all(character in spelled.lower() for character in plain)
        for known in context.endpoints
        for spelled in known.names
    )


def _glob(value: str, *, of_files: bool = False) -> str | None:
    if value.startswith("-") or ":" in value or "=" in value:
        return None
    if _EXTENSION.fullmatch(value):
        # ".git" is a name, ".tmp" an ending; resolution asks about the ones that are neither for sure.
        return f"*{value}" if of_files or is_ending(value) else value
    if "*" in value or ("?" in value[:-1]) or ("[" in value and "]" in value):
        return value
    if value.endswith("/") and len(value) > 1 and value.lower() not in listed("no_path"):
        return value
    if value.endswith("?") and any(character in value for character in "._"):
        return value
    return None


def _basenames(context: Context) -> set[str]:
    """Give the last names of the last plan's paths: "how is run42 doing" means that plan; "10" and "at" are words."""
    if context.last is None:
        return set()
    paths = (context.last.source, context.last.destination)
    names = (path.rstrip("/").rpartition("/")[2] for path in paths)
    return {name for name in names if name and not name.isdigit() and name.lower() not in KNOWN}


def _is_id(value: str, context: Context) -> bool:
    text = value.removeprefix("#").lower()
    rest = _LEADING_NUMBER.sub("", text, count=1)
    if _QUANTITY.fullmatch(text) or rest in listed("half") or (rest != text and is_unit(rest)):
        return False
    if len(text) >= _SHORTEST_UNKNOWN_ID and _HEX_ID.fullmatch(text):
        return True
    if _LONG_ID.fullmatch(value.removeprefix("#")):
        return True
    # A number or a word is what it is, whichever transfers there happen to be: "at 10 gig", "to be copied".
    if not value.startswith("#") and (text.isdigit() or text.isalpha()) and len(text) < _SHORTEST_UNKNOWN_ID:
        return False
    return len(text) >= _SHORTEST_ID and any(known.id.lower().startswith(text) for known in context.transfers)
