"""Statements and headings beside a request, known by their shape and by what they hold.

A statement has a subject that is neither the data nor the transfer, and a verb of its own that says what was or is. A
heading is of nouns, names and numbers. The words of both are unknown to the phrases of a request, or listed in
`grammar/background.txt` as saying nothing of a transfer. None of them is an operator, a value, or a word that could
reach the order (`{reaches}`): a clause with one is asked about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Place, When
from headrace.guardrails.language.phrases import (
    CAPITAL_MARK,
    UNKNOWN_MARK,
    ends,
    listed,
    phrase_at,
    plain_word,
    word_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_REACHES = listed("reaches")
_OF_THE_REQUEST = listed("of_the_request")
_PLAIN = listed("plain", "occasion")
PLAIN_NOUNS = listed("plain.noun")
_ADVERBS = listed("plain.adverb")
_PREDICATES = _ADVERBS | {*listed("plain.adjective")}
_PLAIN_OF_ONE, _READY = listed("plain_of_one"), listed("readiness")
_PEOPLE = listed("person")
_LITTLE = listed("plain.little")
_BE, _HAVE = listed("verb_of.being"), listed("verb_of.having")
_WAS = listed("verb_of.before")
_WILL = listed("verb_of.future")
_BEGINS = listed("launch", "verb_of.ending")
_THINGS_APART = listed("thing_apart")
_ACTORS = listed("actor")
_DESCRIBES = listed("describes_a_thing")
_PAST, _NOW = listed("verb_of.past"), listed("verb_of.present")
_VERBS = _BE | _HAVE | _PAST | _NOW
_DETERMINERS = listed("determiner.any")
_PRONOUNS = listed("stands_for_data")
_DATA = _OF_THE_REQUEST - _PRONOUNS
_ARTICLES = listed("article")
_DEMONSTRATIVES = listed("determiner.near")
_LINKS = listed("plain.link")
_SPOILS = listed("spoils")
_WHERE = frozenset({"at", "in", "on", "near"})
_SMALL = 2
_BY_NUMBER = listed("place_by_number")
_NUMBERED = listed("numbered")
_OPENS_HEADING = listed("opens_heading")
_NO_HEADING = listed("no_heading")
_SIZES = listed("size_of_data")
_DIGITS = re.compile(r"[0-9]+")
_TIME_VALUES = frozenset({"<when>", "<whens>", "<dur>", "<day>", "<clock>"})
_NUMBERS = re.compile(r"<num>|~\^?[a-z]*[-.]?[0-9][a-z0-9._/-]*|~\^?[a-z]+[-_][a-z0-9_-]*[0-9]|[a-z]")
_UNKNOWN = re.compile(r"~\^?[a-z][a-z'-]*")
_PLURAL = re.compile(r"[^']*[^siu']s")
_AT, _CLOCK = listed("before_an_hour"), listed("of_a_clock")
_SHORT, _SHORT_OR_OWNER = listed("short_verb.sure"), listed("short_verb.unsure")
_SPEAKER, _DONE = listed("speaker"), listed("verb_of.done")
_GREETINGS = listed("calls")
_OPENS = listed("calls", "runs_on", "opens_background", "after_background")


@dataclass(frozen=True, slots=True)
class Beside:
    """What the rest of a request says: is it about one transfer, to be resumed, timed, its places, is it all behind."""

    of_one: bool
    resumes: bool
    timed: bool
    places: str
    opens: bool


def tells(clause: Sequence[Item], beside: Beside) -> bool:
    """Say whether a clause is a statement of what was or is, of something other than the data and the transfer."""
    items = _without_asides(clause)
    items = items[phrase_at(items, 0, "announces")[0] :]
    while items and plain_word(items[0]) in _OPENS and not (len(items) > 1 and plain_word(items[1]) in _VERBS):
        items = [] if len(items) > 1 and plain_word(items[1]) in _ADVERBS and items[0].symbol == "as" else items[1:]
    words = [plain_word(item) for item in items]
    # "I was about to" ends in the middle.
    verb = None if words[-1:] and words[-1] in listed("says_more") else _verb_of(items, words)
    if verb is None or sum(item.symbol == "<id>" for item in items) > beside.of_one:
        return False
    subject, rest = words[:verb], words[verb:]
    times = [item.symbol in _TIME_VALUES for item in items]
    if not _is_timely(clause, items, words, verb, own=beside.timed):
        return False
    described = [_describes_a_thing(words, at) for at in range(len(words))]
    known = [time or apart or _is_plain(item) for time, apart, item in zip(times, described, items, strict=True)]
    known[verb] = known[verb] or words[verb] in _WILL
    if beside.of_one:
        down = beside.resumes and "<ep>" in subject and not _SPOILS.isdisjoint(rest)
        return not down and all(one or _is_plain_of_one(item) for one, item in zip(known, items, strict=True))
    if _is_of_all_data(items, words, verb, beside):
        return True
    if _is_of_a_part(items[:verb], rest, beside.places):
        return False
    return all(known) and _is_apart(items[: verb or 1]) and _says_no_wish(subject, rest, items[verb:])


def _is_timely(clause: Sequence[Item], items: Sequence[Item], words: Sequence[str], verb: int, *, own: bool) -> bool:
    """Say whether a time that is told is none of the order: it is past, or the order has one of its `own`."""
    times = [item.symbol in _TIME_VALUES for item in items]
    hour = any(one in _AT and after.symbol == "<num>" for one, after in zip(words, items[1:], strict=False))
    past = (
        words[verb] in _PAST or ends(words[verb], "past") or words[verb] in _WAS or not _DONE.isdisjoint(words[verb:])
    )
    if plain_word(clause[0]) in listed("opens_since") and any(times):
        return False
    days = [item.value for item in items if item.symbol in _TIME_VALUES]
    by_people = not _PEOPLE.isdisjoint(words[:verb]) or _does_something(items, words)
    if words[verb] not in _BE | _HAVE and by_people and not hour:
        own = own or all(isinstance(day, When) and not day.clock for day in days)
    return (
        _CLOCK.isdisjoint(words[:verb])
        and not any(times[:verb])
        and (own or not hour)
        and (own or past or not any(times))
    )


def _is_of_a_part(subject: Sequence[Item], rest: Sequence[str], places: str) -> bool:
    """Say whether a subject may be a part of the data: lane 3 of what is no lane 3 as a whole, or what was spoiled."""
    words = [plain_word(item) for item in subject]
    paths = {str(int(number)) for number in _DIGITS.findall(re.sub(r"\S+:", "", places))}
    small = [at for at, item in enumerate(subject) if item.symbol == "<num>" and len(item.text) <= _SMALL]
    numbered = any(
        str(int(subject[at].text)) not in paths and f"{words[at - 1]}{subject[at].text}:" not in places.lower()
        for at in small
        if subject[at].text.isdigit() and words[at - 1] not in _BY_NUMBER
    )
    # "The uplink at the hut is slow" is of the uplink, "the plates of the hut" may be of all that there are.
    placed = next((at for at, word in enumerate(words) if at and word in _WHERE and words[at - 1] in PLAIN_NOUNS), None)
    head = words[:placed]
    unknown = bool(head) and head[-1] not in _PLAIN and head[-1] != "<ep>"
    named = not _DATA.isdisjoint(words) and any(f"{UNKNOWN_MARK}{CAPITAL_MARK}" in item.symbol for item in subject)
    return numbered or named or (unknown and rest[0] in _BE and not _SPOILS.isdisjoint(rest[1:2]))


def _is_of_all_data(items: Sequence[Item], words: Sequence[str], verb: int, beside: Beside) -> bool:
    """Say whether a statement is of the data as a whole, and says no wish: "it's huge", "the scans are done"."""
    subject, rest = words[:verb], words[verb:]
    base, short, _ = rest[0].partition("'")
    subject = [*subject, base] if short else subject
    if len(subject) == 1 and subject[0] in _PRONOUNS and (short or rest[0] in _BE):
        return _describes(items[verb + 1 :])
    if short or rest[0] not in _BE | _HAVE:
        return False
    told = [word for word in rest[1:] if word not in _READY]
    if beside.opens and len(told) <= 1 and _is_run_as_a_whole(subject, beside.places):
        # News before an order; behind it, "the run is flattened" may be a wish.
        return all(ends(word, "past", "lasting") and word not in _REACHES | _SPOILS for word in told)
    return not told and _names_data(subject) and not _is_of_a_part(items[:verb], rest, beside.places)


def _is_run_as_a_whole(subject: Sequence[str], places: str) -> bool:
    """Say whether a subject is a run, or data with a number that the places name."""
    numbered = bool(subject) and bool(_NUMBERS.fullmatch(f"{UNKNOWN_MARK}{subject[-1]}"))
    whole = subject[-1:] == ["run"] or (numbered and subject[-1].upper() in places.upper())
    return whole and (_REACHES | _PREDICATES | _LINKS | {"as"}).isdisjoint(subject)


def _describes(predicate: Sequence[Item]) -> bool:
    """Say whether words say what data is as a whole: "huge", "the calibration set", "for the thesis"."""
    words = [plain_word(item) for item in predicate]
    while words and words[0] in _ADVERBS:
        words = words[1:]
    known = all(_is_plain(item) or plain_word(item) in _DATA - _REACHES for item in predicate)
    if words[-2:-1] == ["for"] and words[-1] in _LITTLE:
        words = words[:-2]
    if not words or not known:
        return False
    named = words[0] in _DETERMINERS or words[0] in _LINKS or words[-1] in _DATA
    return _SIZES.issuperset(words) or (named and words[-1] not in _LITTLE)


def _names_data(subject: Sequence[str]) -> bool:
    """Say whether a subject is data as a whole: "the scans of the plates", but not "the first five scans"."""
    nouns = [word for word in subject if word not in _DETERMINERS | _LITTLE]
    whole = not any(word in _REACHES or word in _PREDICATES or _NUMBERS.fullmatch(word) for word in nouns)
    return whole and bool(nouns) and nouns[0] in _DATA


def _is_plain_of_one(item: Item) -> bool:
    """Say whether a word may be told beside an order about one transfer that there is."""
    word = plain_word(item)
    return item.symbol == "<id>" or word in _PLAIN_OF_ONE or word in _OF_THE_REQUEST - _REACHES


def _without_asides(clause: Sequence[Item]) -> list[Item]:
    """Leave out what a clause says in brackets, if it closes them: the name of a thing."""
    items, depth = [], 0
    for item in clause:
        depth += item.symbol == "<open>"
        if not depth or not (item.symbol in ("<open>", "<close>") or plain_word(item) in _DATA or _is_plain(item)):
            items.append(item)
        depth -= item.symbol == "<close>"
    return items if not depth else list(clause)


def may_tell(item: Item) -> bool:
    """Say whether a word may be the verb of a statement, or somebody who does something: no other clause tells."""
    word = plain_word(item)
    return "'" in word or word in _VERBS or word in _WILL or word in _ACTORS or ends(word, "past")


def _verb_of(items: Sequence[Item], words: Sequence[str]) -> int | None:
    """Give where the verb of a statement stands; what opens with a verb is an order."""
    for at, word in enumerate(words):
        if _is_short(words, at):
            return at
        if word in _BE | _HAVE and words[at - 1 : at] == ["to"]:
            # "Has to have been completed", "to be done by then" say what is wanted.
            return None
        regular = ends(word, "past") and (word in _PLAIN_OF_ONE or items[at].symbol.startswith(UNKNOWN_MARK))
        if at and (word in _VERBS or word in _WILL or regular) and words[at - 1] not in _ARTICLES:
            return at
    return 1 if _does_something(items, words) else None


def _does_something(items: Sequence[Item], words: Sequence[str]) -> bool:
    """Say whether somebody does what no list knows to a thing that one knows: "we vacate the old building"."""
    who, thing = words[:1], words[3:]
    acts = bool(thing) and items[1].symbol.startswith(UNKNOWN_MARK)
    return (
        acts
        and who[0] in _ACTORS
        and not ends(words[1], "of_manner")
        and words[2] in _ARTICLES
        and all(word in _THINGS_APART | _DESCRIBES or word.startswith("<") for word in thing)
    )


def _is_short(words: Sequence[str], at: int) -> bool:
    """Say whether a word holds its verb: "we're", "tape's back", but not "Anna's budget"."""
    base, mark, verb = words[at].partition("'")
    after = words[at + 1] if at + 1 < len(words) else ""
    said = after in _PREDICATES or after in _LITTLE or ends(after, "past", "lasting")
    return (
        bool(mark) and (verb in _SHORT or (verb in _SHORT_OR_OWNER and (base in _DETERMINERS or said))) and bool(after)
    )


def _is_plain(item: Item) -> bool:
    """Say whether a word says nothing of a transfer: listed so, or unknown to every phrase and no adverb of manner."""
    return _is_plain_symbol(item.symbol, is_place=isinstance(item.value, Place))


@lru_cache(maxsize=4096)
def _is_plain_symbol(symbol: str, *, is_place: bool) -> bool:
    word = word_of(symbol)
    if word in _REACHES:
        return False
    if "'" in word and word.partition("'")[0] in _PLAIN:
        return True
    if word in _PLAIN or word in _PEOPLE or word in _VERBS or _NUMBERS.fullmatch(symbol):
        return True
    if is_place:
        return symbol == "<ep>"
    return bool(_UNKNOWN.fullmatch(symbol)) and not ends(word, "of_manner")


def _describes_a_thing(words: Sequence[str], at: int) -> bool:
    """Say whether a word says which thing is meant that is none of the data: "the old building"."""
    return words[at] in _DESCRIBES and at + 1 < len(words) and words[at + 1] in PLAIN_NOUNS - _DATA


def _is_apart(subject: Sequence[Item]) -> bool:
    """Say whether a subject is something other than the data, the transfer, and what Anna did to either."""
    words = [plain_word(item).partition("'")[0] for item in subject]
    return _OF_THE_REQUEST.isdisjoint(words) and not _opens_order(words)


def _opens_order(words: Sequence[str]) -> bool:
    """Say whether a bare word stands before an article: "blur the faces" is an order."""
    return len(words) > 1 and words[0] not in _PLAIN and words[1] in _DETERMINERS


def _says_no_wish(subject: Sequence[str], rest: Sequence[str], items: Sequence[Item]) -> bool:
    """Say whether what is told has no place for a requirement: no modal, no part of the data, no one who does it."""
    verb, after = rest[0], [word for word in rest[1:] if word not in _LINKS]
    if verb in _WILL:
        # What others will do, and to nothing of the data: "I will think about it" is a doubt.
        others = bool(subject) and (subject[-1] in _PEOPLE or subject[-1] in PLAIN_NOUNS)
        return others and _BEGINS.isdisjoint(rest) and _PRONOUNS.isdisjoint(rest) and not _is_about_data(items[1:])
    if any(_stands_alone(rest, at) for at in range(1, len(rest))):
        return False
    if ("to" in rest[1:2] and rest[2:3] and rest[2] not in _DETERMINERS) or "going to" in " ".join(rest):
        return False
    head = subject[-1] if subject else ""
    marked = bool({*subject} & (_DETERMINERS | _PEOPLE)) or any(_NUMBERS.fullmatch(f"~{word}") for word in subject)
    of_things = bool(_PLURAL.fullmatch(head)) and head not in _PLAIN and head not in _PEOPLE
    told = [word for word in after if word not in _PREDICATES and word not in _LITTLE]
    if verb in _BE or "'" in verb:
        known = all(word in _PLAIN for word in subject)
        state = not told or ends(told[0], "lasting") or told[0] in _PLAIN
        state = state or (not of_things and (known or rest[1] in _DETERMINERS | _PREDICATES))
        ours = "'" in verb or head in _SPEAKER
        return state and (ours or not _is_about_data(items[1:]))
    if verb in _HAVE:
        done = bool(after) and (after[0] in _PREDICATES or after[0] in _DONE or ends(after[0], "past"))
        ours = head in _SPEAKER or head in _PLAIN
        return (done or ours) and not _is_about_data(items[1:])
    regular = verb not in _PAST and verb not in _NOW
    return not (regular and not marked) and not of_things and not _is_about_data(items[1:])


def _stands_alone(words: Sequence[str], at: int) -> bool:
    """Say whether a word stands for the data, and neither behind "for" nor before a noun: "it", but not "this week"."""
    before_noun = words[at] in _DEMONSTRATIVES and words[at + 1 : at + 2] and words[at + 1] in _PLAIN
    return words[at] in _PRONOUNS and words[at - 1] not in _LINKS and not before_noun


def _is_about_data(items: Sequence[Item]) -> bool:
    """Say whether an object may be a part of the data: several of something that no list calls harmless."""
    return any(
        item.symbol.startswith(UNKNOWN_MARK) and _PLURAL.fullmatch(plain_word(item)) and plain_word(item) not in _PEOPLE
        for item in items
    ) or not _OF_THE_REQUEST.isdisjoint(plain_word(item) for item in items if plain_word(item) not in _DEMONSTRATIVES)


def heads(items: Sequence[Item], at: int, end: int, *, goes_on: bool) -> bool:
    """Say whether a clause is a heading of the order after it: nouns, names and numbers before a colon or dash.

    It `goes_on` behind its comma if a colon follows in the sentence, and no place before that.
    """
    mark, clause = items[end], [item for item in _without_asides(items[at:end]) if item.symbol != ","]
    clause = clause[:-1] if clause and plain_word(clause[-1]) in _GREETINGS else clause
    words = [plain_word(item) for item in clause]
    numbered = any(_NUMBERS.fullmatch(item.symbol) and item.text.lower() != "a" for item in clause)
    opener = phrase_at(clause, 0, "opens_purpose")[0]
    ends_so = mark.symbol in (":", "-", ";", ".", "!") or (mark.symbol == "," and goes_on)
    if words and words[0] in _OPENS_HEADING:
        clause, words = clause[1:], words[1:]
    if opener:
        clause, words = clause[opener:], words[opener:]
        several = any(item.symbol.startswith(UNKNOWN_MARK) and _PLURAL.fullmatch(plain_word(item)) for item in clause)
        several = several or any(_PLURAL.fullmatch(word) for word in words if word in _DATA)
        ends_so = mark.symbol in (":", ",", "-") and not several and _PEOPLE.isdisjoint(words)
    said = _DATA | _NUMBERED
    known = [_is_plain(item) or plain_word(item) in said or (numbered and item.symbol == "<dur>") for item in clause]
    says_more = (mark.symbol == ":" or len(words) == 1) and not _NO_HEADING.isdisjoint(words)
    if not clause or not ends_so or not all(known) or says_more:
        return False
    verbs = any(
        word in _VERBS or (word not in _PLAIN and ("'" in word or ends(word, "past", "lasting"))) for word in words
    )
    nouns = [word for word in words if word not in _LITTLE and word not in _PREDICATES]
    # "Cluster: ..." heads an order; "done: ..." may take it back.
    named = words[0] in PLAIN_NOUNS and clause[0].symbol.startswith(UNKNOWN_MARK)
    alone = len(words) == 1 and words[0] in _PLAIN and not named
    opens = (
        not alone
        and not _opens_order(words)
        and words[0] not in _LINKS
        and (words[0] in PLAIN_NOUNS or words[0] not in _ADVERBS)
    )
    return opens and not verbs and bool(nouns) and words[-1] not in _LITTLE
