"""Reads the grammar from its files: named groups of words, and rules that say what phrases mean.

A file holds lines of three kinds; an indented line goes on with the one before it, and `#` begins a comment:

    {most} = at most|no more than              a group; {state} stands for {state.failed}, {state.running} ... together
    rate limit -> rate_limit_bps = <amount>    a rule: its name, and what its phrases mean
      - {most} <rate>                          one of its phrases, written as `phrases` says

A meaning is `nothing`, or parts between semicolons:

    slot = word            that word; true, false, "" and [a, b] are values, too; `words` is what the person wrote
    slot = <place 2>       the second value of a kind in the phrase: place, when, amount, length, hours; or <names>
    slot = {level}         the member of the group whose words are there: high for {level.high}; {level*} is all of
                           them, {level^} the one that is said first, {level!} the one that is said last
    slot ? message         a doubt, which becomes a question; `{words}` are the person's; `?(high)` is its plain reading
    @function argument     what code works out: a function of `meanings`
"""

from __future__ import annotations

import re
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Amount, Doubt, Hours, Length, Place, When
from headrace.guardrails.language.meanings import MEANINGS, names_of
from headrace.guardrails.language.phrases import (
    GROUPS,
    KNOWN_WORDS,
    Hit,
    Phrase,
    Reading,
    Rule,
    Rules,
    choices,
    listed,
    members,
    read_phrase,
    rule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.guardrails.intents.draft import Value

    Meaning = Callable[[Hit], Sequence[Reading]]

# Of two readings of one span that differ, all slots are asked about; where one fills nothing, the earlier holds.
FILES = (
    "lexicon", "refusals", "forms", "flags", "places", "deletes", "options", "rates", "filters", "schedules", "actions",
    "controls", "followups", "steps", "foreign", "cues", "courtesy", "slips", "values", "closed",
)  # fmt: skip
_KINDS: dict[str, type] = {
    "place": Place,
    "when": When,
    "amount": Amount,
    "length": Length,
    "hours": Hours,
}
_GROUP = re.compile(r"\{(?P<name>[\w.,/-]+)\} = (?P<words>.*)")
_DOUBT = re.compile(r"(?P<slot>\w+) \?(?:\((?P<reading>\w+)\))? (?P<message>.*)")
_VALUE = re.compile(r"<(?P<kind>[a-z]+)(?: (?P<which>\d|last))?>")
_PARTS = re.compile(r"; (?=@|\w+ [=?])")
_MEMBER = re.compile(r"\{(?P<group>[a-z_]+)(?P<many>[*^!]?)\}")


def lines_of(text: str) -> Iterator[str]:
    """Give the lines with what goes on with each."""
    whole = ""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith("   "):
            if line.lstrip().startswith("- "):
                message = f"a phrase begins with two blanks and `- `, and what goes on with a line with none: {line}"
                raise ValueError(message)
            whole = f"{whole} {line.strip()}"
            continue
        if whole:
            yield whole
        whole = line.strip()
    if whole:
        yield whole


VALUES: list[str] = []
"""The groups whose words are parts of values."""

_Written = tuple[str, "Meaning", list[str]]


def _read(name: str) -> list[_Written]:
    """Read one file: define its groups, and give its rules as they are written."""
    text = (resources.files("headrace.guardrails.language") / "grammar" / f"{name}.txt").read_text("utf-8")
    found: list[_Written] = []
    for line in lines_of(text):
        if match := _GROUP.fullmatch(line):
            _define(match["name"], match["words"])
            if name == "values":
                VALUES.append(match["name"])
        elif line.startswith("- "):
            found[-1][2].append(line[2:])
        else:
            title, _, meaning = line.partition(" -> ")
            found.append((title, _meaning(meaning), []))
    return found


def _define(name: str, words: str) -> None:
    head = name.partition(".")[0]
    if name in GROUPS or (head != name and head in GROUPS) or (head == name and members(name)):
        message = f"two groups are called {name}"
        raise ValueError(message)
    GROUPS[name] = words


def _meaning(source: str) -> Meaning:
    parts = [_part(part.strip()) for part in _PARTS.split(source) if part.strip() != "nothing"]
    return lambda hit: [reading for part in parts for reading in part(hit)]


def _part(source: str) -> Meaning:
    if source.startswith("@"):
        name, _, argument = source[1:].partition(" ")
        made = MEANINGS[name]
        return partial(made, argument) if argument else made
    if match := _DOUBT.fullmatch(source):
        return partial(_doubt, match["slot"], match["message"], match["reading"])
    slot, _, value = source.partition(" = ")
    if not value:
        message = f"no meaning: {source}"
        raise ValueError(message)
    return _assigned(slot, value)


def _assigned(slot: str, value: str) -> Meaning:
    if value == "words":
        return lambda hit: ((slot, hit.words),)
    if value == "<names>":
        return lambda hit: ((slot, names_of(hit)),)
    if match := _VALUE.fullmatch(value):
        kind, at = _KINDS[match["kind"]], match["which"]
        which = -1 if at == "last" else int(at or 1) - 1
        return lambda hit: ((slot, hit.all(kind)[which]),)
    if match := _MEMBER.fullmatch(value):
        return partial(_member, slot, match["group"], match["many"])
    plain = _plain(value)
    return lambda _hit: ((slot, plain),)


def _plain(value: str) -> Value:
    if value in ("true", "false"):
        return value == "true"
    if value.startswith("["):
        return tuple(value.strip("[]").split(", "))
    return value.strip('"')


def _doubt(slot: str, message: str, reading: str | None, hit: Hit) -> Sequence[Reading]:
    said = None if reading is None else reading == "true" if reading in ("true", "false") else reading
    return ((slot, Doubt(message.replace("{words}", hit.words), reading=said)),)


def _member(slot: str, group: str, many: str, hit: Hit) -> Sequence[Reading]:
    """Give a slot the member of a group that the words name, or with `*` all of them."""
    said = {"^": hit.first_member, "!": hit.last_member}.get(many)
    found = (said(group),) if said else hit.members(group)
    return ((slot, found if many == "*" else found[0]),) if found or many == "*" else ()


def _rules(*files: str) -> Iterator[Rule]:
    """Make the rules of some files, once every group of them is known."""
    for title, meaning, phrases in [written for name in files for written in _read(name)]:
        yield from rule(title, meaning, *phrases)


RULES = Rules(tuple(_rules(*FILES)))
_OF_PHRASES = frozenset(KNOWN_WORDS)
_OF_VALUES = frozenset(
    word for group in VALUES for choice in choices(GROUPS[group]) for word in choice.split() if len(word) > 1
)
KNOWN = _OF_PHRASES | _OF_VALUES | listed("turns_round", "zone_abbreviation")
"""The words that the reader knows: those of phrases, and those of numbers, units and times."""
BACKGROUND = Rules(tuple(_rules("background", "harmless")))
"""Rules of whole clauses beside a request, with words of their own; those of `RULES` are parts of a request."""
BACKGROUND_WORDS = frozenset(KNOWN_WORDS).union(listed("reaches", "of_the_request")) - _OF_PHRASES
OPENS_A_VALUE = listed("article").union(choice.split()[0] for group in VALUES for choice in choices(GROUPS[group]))
"""The words that a number, an amount or a time may begin with, unless it begins with digits."""


def phrase_of(source: str) -> Phrase:
    """Read a phrase that is looked for outside a line, such as a label; its words stay unknown."""
    known = set(KNOWN_WORDS)
    phrase = read_phrase(source)
    KNOWN_WORDS.intersection_update(known)
    return phrase


def pattern_of(source: str) -> str:
    """Give the expression of a phrase that is looked for outside a line."""
    return phrase_of(source).text


def heads_of(*groups: str) -> frozenset[str]:
    """Give the first words of the choices of some groups."""
    words: set[str] = set()
    for group in groups:
        depth, choice = 0, ""
        for letter in f"{GROUPS[group].replace('{not}', '(' + GROUPS['not'] + ')')}|":
            depth += {"(": 1, ")": -1}.get(letter, 0)
            choice += letter
            if letter == "|" and not depth:
                heads = choice[: choice.find(")")] if choice.strip().startswith("(") else choice.split("(")[0]
                words |= {one.strip(" (").split(" ")[0] for one in heads.rstrip("|").split("|")}
                choice = ""
    return frozenset(word for word in words if word.replace("'", "").isalpha())


TRANSFERS = ("copy", "sync", "move", "stream")
ACTION_OF = {verb: action for action in TRANSFERS for verb in listed(f"verb.{action}")}
