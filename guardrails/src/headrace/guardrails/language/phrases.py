"""Phrases: patterns over words and recognised values, and the rules made of them.

A pattern is words separated by spaces. `(a|b c)` is a choice, `[a|b]` may be missing, `{name}` a
named group, `*` after a choice lets it come up to ten times, `<kind>` is a recognised value such as
`<rate>`, `<any>` one word that no phrase knows, `<name>` such a word with a capital letter, and `<word>`
one word of any kind, whose text is the value. So `{no} faster than <rate>` reads "no faster than 2 Gb/s".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.guardrails.intents.draft import Value

UNKNOWN_MARK = "~"
CAPITAL_MARK = "^"
SENTENCE_ENDS = frozenset({".", "?", "!", ";", "<end>"})
_PIECE = re.compile(r"<[a-z]+>|\{[a-z_.0-9]+\}|[()\[\]|]|[^\s()\[\]{}|]+")
_MOST_TIMES = 10
_KIND = re.compile(r"<[a-z]+>")
_MOST_NEEDS = 4
_VALUE = TypeVar("_VALUE")
_WORDS = {
    "<any>": rf"{UNKNOWN_MARK}[^ ]+",
    "<name>": rf"{UNKNOWN_MARK}{re.escape(CAPITAL_MARK)}[^ ]+",
    "<word>": rf"(?:{UNKNOWN_MARK}[^ ]+|[a-z0-9][a-z0-9_.'-]*)",
    # Of background: an unknown word that is neither an adverb of manner nor a name of data, one that says "is", too.
    "<thing>": rf"{UNKNOWN_MARK}{re.escape(CAPITAL_MARK)}?[a-z][a-z-]+(?<!ly)(?<!'s)",
    "<its>": rf"{UNKNOWN_MARK}{re.escape(CAPITAL_MARK)}?[a-z][a-z-]+'s",
    "<code>": rf"{UNKNOWN_MARK}{re.escape(CAPITAL_MARK)}?(?:[a-z]+-?|#)[0-9]+(?:-[0-9]+)*",
    "<handle>": rf"{UNKNOWN_MARK}@[a-z][a-z0-9_.-]*",
}

KNOWN_WORDS: set[str] = set()
GROUPS: dict[str, str] = {}
"""The named groups of the grammar; `{state}` is all of `{state.failed}`, `{state.running}` and so on."""


@dataclass(frozen=True, slots=True)
class Item:
    """One position of the lattice: a word, or a value that some tokens were recognised as."""

    symbol: str
    first: int
    last: int
    text: str
    value: Value | None = None


def plain_word(item: Item) -> str:
    """Give the word of an item, whether or not a phrase knows it."""
    return item.symbol.removeprefix(UNKNOWN_MARK).removeprefix(CAPITAL_MARK)


@dataclass(frozen=True, slots=True)
class Hit:
    """A phrase found: the items it covers and the words it matched."""

    items: tuple[Item, ...]
    line: str
    words: str

    def all(self, kind: type[_VALUE]) -> list[_VALUE]:
        """Give the recognised values of a kind, in order."""
        return [item.value for item in self.items if isinstance(item.value, kind)]

    def one(self, kind: type[_VALUE]) -> _VALUE:
        """Give the only value of a kind; the pattern guarantees that there is one."""
        return self.all(kind)[0]

    def says(self, *groups: str) -> bool:
        """Say whether a word of one of these groups is among the words of the phrase."""
        return any(item.symbol in listed(*groups) for item in self.items)

    def members(self, group: str) -> tuple[str, ...]:
        """Give the members of a group whose words are in the phrase, in the order of the grammar."""
        said = f" {self.line}"
        return tuple(dict.fromkeys(one for words, one in table(group).items() if f" {words} " in said))

    def last_member(self, group: str) -> str:
        """Give the member of a group that is said last; the pattern guarantees that there is one."""
        said = f" {self.line}"
        return max((said.rfind(f" {words} "), one) for words, one in table(group).items())[1]

    def first_member(self, group: str) -> str:
        """Give the member of a group that is said first; the pattern guarantees that there is one."""
        said = f" {self.line}"
        found = ((said.find(f" {words} "), one) for words, one in table(group).items())
        return min(one for one in found if one[0] >= 0)[1]

    @property
    def first(self) -> int:
        """The first token."""
        return self.items[0].first

    @property
    def last(self) -> int:
        """One past the last token."""
        return self.items[-1].last


Reading = tuple[str, "Value"]


@dataclass(frozen=True)
class Rule:
    """A recogniser of phrases: what its words look like and which slots they fill.

    It can only match where each of `needs` has one of its words or values, so most rules are never even compiled.
    """

    name: str
    expression: str
    needs: tuple[frozenset[str], ...]
    make: Callable[[Hit], Sequence[Reading]]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.expression)


def choices(source: str) -> list[str]:
    """Give the choices of a pattern that has no groups: "a|b c" is "a" and "b c"."""
    return [" ".join(choice.split()) for choice in source.split("|")]


def members(group: str) -> list[str]:
    """Give the names of a group's members, in the order of the grammar."""
    return [name.partition(".")[2] for name in GROUPS if name.startswith(f"{group}.")]


@cache
def table(group: str) -> dict[str, str]:
    """Give the member that each choice of a group belongs to; a group without members has itself alone."""
    named = {f"{group}.{one}": one for one in members(group)} or {group: ""}
    return {choice: one for name, one in named.items() for choice in choices(GROUPS[name])}


@cache
def listed(*groups: str) -> frozenset[str]:
    """Give the choices of some groups that hold no other."""
    return frozenset(choice for group in groups for choice in table(group))


@cache
def _endings(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(listed(*(f"ending.{kind}" for kind in kinds)))


def ends(word: str, *kinds: str) -> bool:
    """Say whether a word ends as words of one of these kinds do: `past` is "copied", `lasting` is "copying"."""
    return word.endswith(_endings(kinds))


@cache
def _by_first_word(group: str) -> dict[str, list[tuple[list[str], str]]]:
    found: dict[str, list[tuple[list[str], str]]] = {}
    for choice, member in sorted(table(group).items(), key=lambda one: -one[0].count(" ")):
        words = choice.split(" ")
        found.setdefault(words[0], []).append((words, member))
    return found


def phrase_at(items: Sequence[Item], at: int, group: str) -> tuple[int, str]:
    """Find the longest choice of a group that stands here: how many items it takes (0: none), and its member."""
    for words, member in _by_first_word(group).get(plain_word(items[at]), ()) if at < len(items) else ():
        if [plain_word(item) for item in items[at : at + len(words)]] == words:
            return len(words), member
    return 0, ""


def word_at(items: Sequence[Item], at: int) -> str:
    """Give the word at a position, or nothing where a value or the end is."""
    return items[at].symbol if 0 <= at < len(items) and items[at].value is None else ""


def text_of(items: Sequence[Item], first: int, last: int) -> str:
    """Give the text of some items."""
    return " ".join(item.text for item in items[first:last])


@cache
def _macro(name: str) -> _Part:
    """Read a named group once."""
    words = GROUPS.get(name) or "|".join(GROUPS[f"{name}.{one}"] for one in members(name))
    if not words:
        message = f"no such group: {name}"
        raise ValueError(message)
    part, _ = _sequence(_PIECE.findall(words), 0)
    return part


def read_phrase(source: str) -> tuple[str, tuple[frozenset[str], ...]]:
    """Turn a pattern into a regular expression; its words become known words.

    Gives the expression, and sets of words and values of which it needs one each.
    """
    pieces = _PIECE.findall(source)
    whole, rest = _sequence(pieces, 0)
    if rest != len(pieces):
        message = f"unbalanced phrase: {source}"
        raise ValueError(message)
    return rf"(?:(?<= )|^){whole.text}", whole.needs


@dataclass(frozen=True, slots=True)
class _Part:
    """A compiled piece of a pattern: its expression, its length, and what it needs: one of each set."""

    text: str
    length: int
    needs: tuple[frozenset[str], ...] = ()


def _sequence(pieces: list[str], at: int) -> tuple[_Part, int]:
    """Compile up to a closing bracket or the end; the alternatives are split at `|`."""
    choices: list[list[_Part]] = [[]]
    while at < len(pieces) and pieces[at] not in (")", "]"):
        piece = pieces[at]
        if piece == "|":
            choices.append([])
        elif piece == "(":
            inner, at = _sequence(pieces, at + 1)
            choices[-1].append(inner)
        elif piece == "[":
            inner, at = _sequence(pieces, at + 1)
            choices[-1].append(_Part(f"{inner.text}?", inner.length))
        elif piece == "*":
            choices[-1].append(_Part(f"(?:{choices[-1].pop().text}){{0,{_MOST_TIMES}}}", 1))
        else:
            choices[-1].append(_word(piece))
        at += 1
    # Python's regular expressions take the first alternative that fits, and longest wins here.
    joined = sorted((_joined(parts) for parts in choices), key=lambda part: -part.length)
    text = f"(?:{'|'.join(part.text for part in joined)})"
    if len(joined) == 1:
        return _Part(text, joined[0].length, joined[0].needs), at
    # Each choice needs something: then the whole needs one of the rarest things of each.
    rarest = [min(part.needs, key=len) for part in joined if part.needs]
    needs = (frozenset().union(*rarest),) if len(rarest) == len(joined) else ()
    return _Part(text, joined[0].length, needs), at


def _joined(parts: list[_Part]) -> _Part:
    needs = sorted({need for part in parts for need in part.needs}, key=lambda need: (len(need), sorted(need)))
    return _Part("".join(part.text for part in parts), sum(part.length for part in parts), tuple(needs[:_MOST_NEEDS]))


def _word(piece: str) -> _Part:
    if piece.startswith("{"):
        return _macro(piece[1:-1])
    if piece == "<plain>":
        return _Part(rf"(?!(?:{'|'.join(listed('reaches'))}) )~?\^?[a-z][a-z0-9'_-]* ", 1)
    if piece in _WORDS:
        return _Part(f"{_WORDS[piece]} ", 1)
    if _KIND.fullmatch(piece):
        return _Part(f"{piece} ", 1, (frozenset({piece}),))
    KNOWN_WORDS.add(piece)
    return _Part(f"{re.escape(piece)} ", 1, (frozenset({piece}),))


def rule(name: str, make: Callable[[Hit], Sequence[Reading]], *sources: str) -> list[Rule]:
    """Rules for phrases whose slots are worked out from the words."""
    return [Rule(name, *read_phrase(source), make) for source in sources]


class Line:
    """The items of a request as one line of symbols that phrases are matched against."""

    def __init__(self, items: Sequence[Item], words: Callable[[int, int], str]) -> None:
        """Lay out `items`; `words` gives the person's words of a token range."""
        self.items = tuple(items)
        self.words = words
        self._index: dict[int, int] = {}
        offset = 0
        for number, item in enumerate(self.items):
            self._index[offset] = number
            offset += len(item.symbol) + 1
        self._index[offset] = len(self.items)
        self.text = "".join(f"{item.symbol} " for item in self.items)
        self._symbols = frozenset(item.symbol for item in self.items)

    def sentences(self) -> Iterator[tuple[int, int]]:
        """Give the token range of each sentence, without the mark that ends it."""
        start = 0
        for item in self.items:
            if item.symbol in SENTENCE_ENDS:
                if start < item.first:
                    yield start, item.first
                start = item.last

    def hits(self, found: Rule) -> Iterator[Hit]:
        """Find every place where a rule's phrase stands."""
        if any(self._symbols.isdisjoint(need) for need in found.needs):
            return
        position = 0
        while position < len(self.text) and (match := found.pattern.search(self.text, position)):
            # On from the next item, not from the end: phrases of one rule may overlap.
            position = self.text.index(" ", match.start()) + 1 if match.start() < len(self.text) else match.end() + 1
            if match.end() > match.start():
                items = self.items[self._index[match.start()] : self._index[match.end()]]
                yield Hit(items, match[0], self.words(items[0].first, items[-1].last))
