"""Phrases: patterns over words and recognised values, and the rules made of them.

A pattern is words separated by spaces. `(a|b c)` is a choice, `[a|b]` may be missing, `{name}` a
named group, `*` after a choice lets it come up to ten times, `<kind>` is a recognised value such as
`<rate>`, `<any>` one word that no phrase knows, `<name>` such a word with a capital letter, and `<word>`
one word of any kind, whose text is the value. So `{no} faster than <rate>` reads "no faster than 2 Gb/s".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, reduce
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.guardrails.intents.draft import Value

UNKNOWN_MARK = "~"
CAPITAL_MARK = "^"
_MARKS = (UNKNOWN_MARK, CAPITAL_MARK)
SENTENCE_ENDS = frozenset({".", "?", "!", ";", "<end>"})
_PIECE = re.compile(r"<[a-z]+>|\{[a-z_.0-9]+\}|[()\[\]|]|[^\s()\[\]{}|]+")
_MOST_TIMES = 10
_KIND = re.compile(r"<[a-z]+>")
_MOST_NEEDS = 4
_ANYTHING = f"{UNKNOWN_MARK}*"
_MOST_OPENINGS = 8192
_STRETCH = 16
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
    return word_of(item.symbol)


def word_of(symbol: str) -> str:
    """Give the word that a symbol stands for."""
    return symbol.removeprefix(UNKNOWN_MARK).removeprefix(CAPITAL_MARK) if symbol[:1] in _MARKS else symbol


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

    It is only tried where its phrase may begin and a line has what it needs, so most rules are never even compiled.
    """

    name: str
    phrase: Phrase
    make: Callable[[Hit], Sequence[Reading]]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.phrase.text)


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
        if len(words) == 1 or [plain_word(item) for item in items[at : at + len(words)]] == words:
            return len(words), member
    return 0, ""


def word_at(items: Sequence[Item], at: int) -> str:
    """Give the word at a position, or nothing where a value or the end is."""
    return items[at].symbol if 0 <= at < len(items) and items[at].value is None else ""


def text_of(items: Sequence[Item], first: int, last: int) -> str:
    """Give the text of some items."""
    return " ".join(item.text for item in items[first:last])


@dataclass(frozen=True, slots=True)
class Opening:
    """How a phrase may begin: what its first item may be, and its second; and how many items it may have, 2 for more.

    `UNKNOWN_MARK` stands for any word that no phrase knows, `_ANYTHING` for any item.
    """

    first: frozenset[str] = frozenset()
    second: frozenset[str] = frozenset()
    lengths: frozenset[int] = frozenset({0})

    def then(self, after: Opening) -> Opening:
        """Go on with another piece."""
        first, second = self.first, self.second
        if 1 in self.lengths:
            second |= after.first
        if 0 in self.lengths:
            first, second = first | after.first, second | after.second
        return Opening(first, second, frozenset(min(one + two, 2) for one in self.lengths for two in after.lengths))

    def either(self, other: Opening) -> Opening:
        """Begin as one of two."""
        return Opening(self.first | other.first, self.second | other.second, self.lengths | other.lengths)

    def begins(self, first: str) -> bool:
        """Say whether a phrase may begin with an item."""
        return first in self.first or _ANYTHING in self.first

    def goes_on(self, second: str) -> bool:
        """Say whether a phrase may end after its first item, or go on with another one."""
        return 1 in self.lengths or second in self.second or _ANYTHING in self.second


_NOTHING = Opening()


def opening_of(symbol: str) -> str:
    """Give what an item is among openings: all words that no phrase knows are the same there."""
    return UNKNOWN_MARK if symbol.startswith(UNKNOWN_MARK) else symbol


@dataclass(frozen=True, slots=True)
class Phrase:
    """A compiled pattern: its expression, its length, what it needs (one of each set), and how it may begin.

    `most` is how many items it may have at most.
    """

    text: str
    length: int
    most: int
    needs: tuple[frozenset[str], ...] = ()
    opening: Opening = _NOTHING


@cache
def _macro(name: str) -> Phrase:
    """Read a named group once."""
    words = GROUPS.get(name) or "|".join(GROUPS[f"{name}.{one}"] for one in members(name))
    if not words:
        message = f"no such group: {name}"
        raise ValueError(message)
    part, _ = _sequence(_PIECE.findall(words), 0)
    return part


def read_phrase(source: str) -> Phrase:
    """Turn a pattern into a regular expression; its words become known words."""
    pieces = _PIECE.findall(source)
    whole, rest = _sequence(pieces, 0)
    if rest != len(pieces):
        message = f"unbalanced phrase: {source}"
        raise ValueError(message)
    # What it begins with need not be looked for where it may begin.
    needs = tuple(need for need in whole.needs if not whole.opening.first <= need)
    return replace(whole, needs=needs)


def _sequence(pieces: list[str], at: int) -> tuple[Phrase, int]:
    """Compile up to a closing bracket or the end; the alternatives are split at `|`."""
    choices: list[list[Phrase]] = [[]]
    while at < len(pieces) and pieces[at] not in (")", "]"):
        piece = pieces[at]
        if piece == "|":
            choices.append([])
        elif piece == "(":
            inner, at = _sequence(pieces, at + 1)
            choices[-1].append(inner)
        elif piece == "[":
            inner, at = _sequence(pieces, at + 1)
            choices[-1].append(replace(inner, text=f"{inner.text}?", needs=(), opening=inner.opening.either(_NOTHING)))
        elif piece == "*":
            choices[-1].append(_repeated(choices[-1].pop()))
        else:
            choices[-1].append(_word(piece))
        at += 1
    # Python's regular expressions take the first alternative that fits, and longest wins here.
    joined = sorted((_joined(parts) for parts in choices), key=lambda part: -part.length)
    text = f"(?:{'|'.join(part.text for part in joined)})"
    if len(joined) == 1:
        return replace(joined[0], text=text), at
    # Each choice needs something: then the whole needs one of the rarest things of each.
    rarest = [min(part.needs, key=len) for part in joined if part.needs]
    needs = (frozenset().union(*rarest),) if len(rarest) == len(joined) else ()
    opening = reduce(Opening.either, (part.opening for part in joined))
    return Phrase(text, joined[0].length, max(part.most for part in joined), needs, opening), at


def _joined(parts: list[Phrase]) -> Phrase:
    needs = sorted({need for part in parts for need in part.needs}, key=lambda need: (len(need), sorted(need)))
    opening = reduce(Opening.then, (part.opening for part in parts), _NOTHING)
    text, length = "".join(part.text for part in parts), sum(part.length for part in parts)
    return Phrase(text, length, sum(part.most for part in parts), tuple(needs[:_MOST_NEEDS]), opening)


def _repeated(part: Phrase) -> Phrase:
    once = part.opening.either(_NOTHING)
    return Phrase(f"(?:{part.text}){{0,{_MOST_TIMES}}}", 1, part.most * _MOST_TIMES, opening=once.then(once))


def _word(piece: str) -> Phrase:
    if piece.startswith("{"):
        return _macro(piece[1:-1])
    if piece == "<plain>":
        return _of_one(rf"(?!(?:{'|'.join(listed('reaches'))}) )~?\^?[a-z][a-z0-9'_-]*", _ANYTHING)
    if piece in _WORDS:
        return _of_one(_WORDS[piece], _ANYTHING if piece == "<word>" else UNKNOWN_MARK)
    if not _KIND.fullmatch(piece):
        KNOWN_WORDS.add(piece)
    return replace(_of_one(re.escape(piece), opening_of(piece)), needs=(frozenset({piece}),))


def _of_one(expression: str, opens: str) -> Phrase:
    return Phrase(f"{expression} ", 1, 1, opening=Opening(frozenset({opens}), lengths=frozenset({1})))


def rule(name: str, make: Callable[[Hit], Sequence[Reading]], *sources: str) -> list[Rule]:
    """Rules for phrases whose slots are worked out from the words."""
    return [Rule(name, read_phrase(source), make) for source in sources]


class Rules:
    """Rules in their order, filed by how their phrases may begin."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """File `rules`."""
        self._rules = rules
        self.most = max(one.phrase.most for one in rules)
        """How many items a phrase of them may have."""
        self._filed: dict[str, list[tuple[int, Rule]]] = {}
        for number, one in enumerate(rules):
            opening = one.phrase.opening.first
            for first in {_ANYTHING} if _ANYTHING in opening else opening:
                self._filed.setdefault(first, []).append((number, one))
        # Of the rules alone, so that what one request asked holds for all others.
        self.beginning = lru_cache(maxsize=_MOST_OPENINGS)(self._beginning)

    def __iter__(self) -> Iterator[Rule]:
        """Go through the rules in their order."""
        return iter(self._rules)

    def _beginning(self, first: str, second: str) -> tuple[tuple[int, Rule], ...]:
        """Give the rules, each with its number, whose phrases may begin with two items (see `opening_of`)."""
        filed = [*self._filed.get(first, ()), *self._filed.get(_ANYTHING, ())]
        return tuple((number, one) for number, one in filed if one.phrase.opening.goes_on(second))


class Line:
    """The items of a request as one line of symbols that phrases are matched against."""

    def __init__(self, items: Sequence[Item], words: Callable[[int, int], str]) -> None:
        """Lay out `items`; `words` gives the person's words of a token range."""
        self.items = tuple(items)
        self.words = words
        self._offsets = [0, *accumulate(len(item.symbol) + 1 for item in self.items)]
        self._openings = [*(opening_of(item.symbol) for item in self.items), ""]
        self.text = "".join(f"{item.symbol} " for item in self.items)
        self._nearby: dict[tuple[int, int], frozenset[str]] = {}

    def sentences(self) -> Iterator[tuple[int, int]]:
        """Give the token range of each sentence, without the mark that ends it."""
        start = 0
        for item in self.items:
            if item.symbol in SENTENCE_ENDS:
                if start < item.first:
                    yield start, item.first
                start = item.last

    def hits(self, rules: Rules) -> list[tuple[Rule, Hit]]:
        """Find every place where a phrase of some rules stands, in the order of the rules; phrases may overlap."""
        found = [(number, at, one) for at in range(len(self.items)) for number, one in self._beginning(rules, at)]
        found.sort(key=itemgetter(0))
        return [(one, hit) for _, at, one in found if (hit := self._hit(one, at))]

    def beginning(self, rules: Rules, at: int) -> list[Rule]:
        """Give the rules whose phrases may begin at an item."""
        return [one for _, one in self._beginning(rules, at)]

    def is_whole(self, found: Rule, at: int, end: int) -> bool:
        """Say whether some items are a phrase of a rule, with nothing left over."""
        return found.pattern.fullmatch(self.text, self._offsets[at], self._offsets[end]) is not None

    def _beginning(self, rules: Rules, at: int) -> Iterator[tuple[int, Rule]]:
        nearby = self._symbols_from(at // _STRETCH, rules.most)
        for number, one in rules.beginning(self._openings[at], self._openings[at + 1]):
            for need in one.phrase.needs:
                if nearby.isdisjoint(need):
                    break
            else:
                yield number, one

    def _symbols_from(self, stretch: int, most: int) -> frozenset[str]:
        """Give the symbols that a phrase may have that begins in a stretch of items."""
        if (stretch, most) not in self._nearby:
            first = stretch * _STRETCH
            self._nearby[stretch, most] = frozenset(item.symbol for item in self.items[first : first + _STRETCH + most])
        return self._nearby[stretch, most]

    def _hit(self, found: Rule, at: int) -> Hit | None:
        """Find the phrase of a rule at an item."""
        match = found.pattern.match(self.text, self._offsets[at])
        if match is None or not match[0]:
            return None
        items = self.items[at : at + match[0].count(" ")]
        return Hit(items, match[0], self.words(items[0].first, items[-1].last))
