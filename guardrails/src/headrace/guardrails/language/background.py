"""Background: clauses beside a request that say how things are, why, or who wants it. They own their words, no more.

It stands from mark to mark, beside an
order that is whole without it. It is a statement or a heading (`statements.py`), a name below a letter, or a phrase of
`grammar/background.txt`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Place, When
from headrace.guardrails.language.grammar import BACKGROUND, BACKGROUND_WORDS, KNOWN, TRANSFERS
from headrace.guardrails.language.phrases import (
    CAPITAL_MARK,
    SENTENCE_ENDS,
    UNKNOWN_MARK,
    Line,
    ends,
    listed,
    phrase_at,
    plain_word,
)
from headrace.guardrails.language.spans import Chosen, in_order, owners
from headrace.guardrails.language.statements import PLAIN_NOUNS, Beside, heads, may_tell, tells
from headrace.guardrails.resolve.dot_names import is_ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.intents.draft import Value
    from headrace.guardrails.language.phrases import Item, Rule

_ENDS = frozenset({",", ".", ";", "!", "?", ":", "<open>", "<close>", "<end>", "-"})
_GOES_ON = listed("after_background")
# What a span inside may fill without saying what is to be done; an endpoint may be named as the place of something.
_SAYS_NOTHING = frozenset({"step", "noun", "it", "marker", "cue", "turn", "start", "at", "place"})
_ASKED_OF_ONE = frozenset({"cancel", "pause", "resume", "status", "list"})
_STOPS = frozenset({"cancel", "pause"})
_DOES = frozenset(TRANSFERS)
_ACTIONS = _ASKED_OF_ONE | _DOES | {"modify", "confirm"}
_TIMES = frozenset({"start", "deadline", "window"})
_MAX_ITEMS = 24
_MAX_NAMES = 10
_CLOSINGS = listed("closing_word")
_TITLES = listed("title")
_RUNS_ON = listed("runs_on")
_OPENERS = _RUNS_ON | {*listed("opens_background", "or_else")}
_GREETINGS = listed("calls")
_ARTICLES = listed("article")
_INITIALS = re.compile(r"[A-Z]{2}")
_NAME = re.compile(r"[A-Z][a-z]{1,11}")
_PART = re.compile(r"[^\W\d_]{2,}")
_SLASHED = re.compile(r"/[A-Z][a-z]{1,11}")
_NO_HEADING = frozenset({"background after a time", "background of secrecy before an order"})
# What an order says for some kinds of background to be told of it: why it has a limit, or leaves nothing behind.
_TOLD_OF = {
    "background of a limit": frozenset({"rate_limit_bps", "window", "priority", "streams", "start", "pause"}),
    "background of a move": frozenset({"move", "delete_source"}),
    "background of a day": frozenset(TRANSFERS),
    "background of secrecy": frozenset({"encryption"}),
    "background of secrecy before an order": frozenset({"encryption"}),
}
# What a span inside may fill besides in some kinds, each of whose words is listed: `_ANYTHING` is what it likes.
_ANYTHING = "anything"
_FILLS = {
    "background, word by word": _ANYTHING,
    "background of a limit": _ANYTHING,
    "background of a move": _ANYTHING,
    "background of a day": _ANYTHING,
    "background of a start": _ANYTHING,
    "background of secrecy": _ANYTHING,
    "background of secrecy before an order": _ANYTHING,
    "background of news before an order": _ANYTHING,
    "background with a time": _ANYTHING,
    "background after a time": frozenset({"action"}),  # "after that"
    "background of others": frozenset({"include", "modified_after"}),  # "since others ..."
    "background before an order": frozenset({"unsure"}),  # "night shift report: ..."
}
_WORD_BY_WORD = frozenset(kind for kind, slots in _FILLS.items() if slots == _ANYTHING)
_BEFORE_AN_ORDER = frozenset(kind for kind in (*_FILLS, *_TOLD_OF) if kind.endswith("before an order"))
_NOTES = listed("field_of_notes")
_SELECTIONS = listed("selection")
_AND = listed("opens_a_joined")
_WANTS = listed("wants_it_there")
_IT = listed("it_alone")


@dataclass(frozen=True, slots=True)
class _Text:
    """The items of a request: what the span of each says, and whether it is a time, unknown, or within a span."""

    items: Sequence[Item]
    line: Line
    """As phrases of background know them."""
    ends: Sequence[bool]
    """Where a clause may end."""
    goes_on: Sequence[bool]
    """Where a colon follows in the sentence, and no place before it."""
    waits: Sequence[bool]
    """Where an order is made to wait for what is said there."""
    points: int
    """Where words point back to a time last; -1 for nowhere."""
    said: Sequence[frozenset[Value]]
    first_said: int
    """Where something is said first."""
    ordered: Sequence[frozenset[Value]]
    """What the last order before an item says."""
    tells: Sequence[bool]
    """Where a word may make a statement of its clause."""
    timed: Sequence[bool]
    unknown: Sequence[bool]
    inside: Sequence[bool]
    times_said: Counter[Value]
    times: int
    starts: bool
    """Whether a start is said."""
    places: str

    def beside(self, at: int, end: int) -> Beside | None:
        """Give what stands beside a clause; nothing if the clause says what to do, or nothing else does."""
        inside = Counter(value for one in self.said[at:end] for value in one)
        rest = self.times_said - inside if inside else self.times_said
        orders = _ACTIONS & rest.keys()
        does = [n for n in range(at, end) if self.said[n] & _DOES] if inside else []
        if not rest or any(plain_word(self.items[n]) not in PLAIN_NOUNS for n in does):
            return None
        of_one = bool(orders) and orders <= _ASKED_OF_ONE
        which = any(plain_word(item) in _SELECTIONS for item in self.items[at:end])
        if of_one and (which or (at and "select" in self.said[at - 1])):
            return None  # "The largest transfer to archive chokes us, pause that one" says which.
        timed = self.times > sum(self.timed[at:end])
        return Beside(of_one, "resume" in orders, timed, self.places, opens=at <= self.first_said)

    def says(self, slots: frozenset[str], at: int, end: int) -> bool:
        """Say whether anything but a clause says one of these."""
        return any(one & slots for one in (*self.said[:at], *self.said[end:]))


@lru_cache(2)
def _parts_of(places: str) -> frozenset[str]:
    """Return the parts of the names of all endpoints, as people write them; the same for each request."""
    return frozenset(form for name in _PART.findall(places) for form in (name.lower(), name.upper(), name.title()))


def with_background(chosen: list[Chosen], line: Line, places: str) -> list[Chosen]:
    """Give the spans with each clause of background as one that fills nothing, if anything else says what to do.

    `places` are the names of all endpoints: no part of one signs a letter.
    """
    items, owner = line.items, owners(chosen)
    owned = [owner.get(item.first) for item in items]
    said = [_said(span) for span in owned]
    timed = [span is not None and any(fact.slot in _TIMES for fact in span.facts) for span in owned]
    unknown = [span is None or any(fact.slot == "purpose" for fact in span.facts) for span in owned]
    inside = [span is not None and span.first < item.first for span, item in zip(owned, items, strict=True)]
    waits, points = (
        [phrase_at(items, at, group)[0] > 0 for at in range(len(items))] for group in ("depends", "points")
    )
    text = _Text(
        items=items,
        line=Line([_as_background(item) for item in items], line.words),
        ends=[_ends_a_clause(item) for item in items],
        goes_on=_before_colons(items),
        waits=waits,
        points=max((at for at, one in enumerate(points) if one), default=-1),
        said=said,
        first_said=next((at for at, one in enumerate(said) if one), len(items)),
        ordered=_last_orders(said),
        tells=[may_tell(item) for item in items],
        timed=timed,
        unknown=unknown,
        inside=inside,
        times_said=Counter(value for one in said for value in one),
        times=sum(timed),
        starts=any(span is not None and "start" in span.slots and span.is_certain for span in owned),
        places=" ".join(item.text for item in items if isinstance(item.value, Place)),
    )
    goals = {_name(fact.value) for span in chosen for fact in span.facts if fact.slot == "destination"} - {""}
    goals = goals if any(one & {*TRANSFERS} for one in said) else set()
    locations = (item.text for item in items if item.symbol == "<loc>")
    taken = _parts_of(places) | frozenset(_PART.findall(" ".join(locations)))
    stopped = any(one & _STOPS for one in said)
    passed: list[Sequence[Item]] = [items[at : at + 1] for at in range(len(items)) if _opens_postscript(items, at)]
    letter = items[: next((at for at in range(len(items)) if _opens_postscript(items, at)), len(items))]
    signed = _last_words(letter, _MAX_NAMES + 1)
    # "Have a nice weekend! Uwe": a name may stand behind whatever closes a letter.
    thanked = [
        span is not None and span.name == "thanks" and span.last == item.last
        for span, item in zip(owned, items, strict=True)
    ]
    at, told_until = 0 if any(said) else len(items), 0
    while at < len(items):
        end = _signature(letter, at, taken, closed=thanked[at - 1]) if signed <= at < len(letter) else None
        # "Our scratch is full and jobs fail": news goes on behind its "and".
        goes_on = 0 < told_until == at and plain_word(items[at]) in _AND
        if end := end or _end_of(text, at) or (_end_of(text, at + 1, opens=True) if goes_on else None):
            # A mark that belongs to the last word's span goes with it: "so that we have a copy - ...".
            span = owner.get(items[end - 1].first)
            while end < len(items) and span and items[end].symbol in _ENDS and items[end].first < span.last:
                end += 1
            # "archive is full" beside a copy to archive is asked about.
            clause = items[at:end]
            contradicts = stopped and _wants_it(clause)  # "cancel b2d810, Anna needs it"
            told = goals.isdisjoint(_name(item.value) for item in clause) and not contradicts
            if told and not _speaks_of_another(clause, said[:at]):
                # "7f3a21 eats the link, pause it": the transfer that is named stays named.
                named = next((n for n in range(at, end) if items[n].symbol == "<id>"), end)
                passed += [items[at:named], items[named + 1 : end]]
                told_until = end
        at = end or at + 1
    return _passed_over(chosen, passed, line)


def _before_colons(items: Sequence[Item]) -> list[bool]:
    """Say of each item whether a colon follows in its sentence, and no place before that."""
    follows, found = False, []
    for item in reversed(items):
        follows = item.symbol == ":" or (follows and item.symbol != "." and not isinstance(item.value, Place))
        found.append(follows)
    return found[::-1]


def _last_orders(said: Sequence[frozenset[Value]]) -> list[frozenset[Value]]:
    """Give for each item what the last order before it says."""
    last: frozenset[Value] = frozenset()
    orders = []
    for one in said:
        orders.append(last)
        last = one if one & _ACTIONS else last
    return orders


def _last_words(items: Sequence[Item], count: int) -> int:
    """Give where the last `count` words begin: a letter is signed there, or not at all."""
    words = [at for at, item in enumerate(items) if item.symbol not in _ENDS]
    return words[-count - 1] + 1 if len(words) > count else 0


def _speaks_of_another(clause: Sequence[Item], before: Sequence[frozenset[Value]]) -> bool:
    """Say whether news names a transfer that "it" need not mean: "cancel it, b2d810 is slow", "b2d810 is fine, ..."."""
    if all(item.symbol != "<id>" for item in clause):
        return False
    ordered = any(one & _ACTIONS for one in before)
    return ordered or not listed("for_it").isdisjoint(map(plain_word, clause))


def _wants_it(clause: Sequence[Item]) -> bool:
    """Say whether news wants what the request stops: "we need b2d810, cancel it", but not "we no longer need it"."""
    words = [plain_word(item) for item in clause]
    thing = [item.symbol == "<id>" or word in _IT for item, word in zip(clause, words, strict=True)]
    # "We need that network" is of the network.
    of_a_noun = [word in PLAIN_NOUNS for word in [*words[1:], ""]]
    wanted = any(word in _WANTS and thing[at] and not of_a_noun[at] for at, word in enumerate(words[:-1], start=1))
    return wanted and listed("wants_nothing").isdisjoint(words)


def _passed_over(chosen: Sequence[Chosen], clauses: Sequence[Sequence[Item]], line: Line) -> list[Chosen]:
    """Give the spans with one that fills nothing in place of those in a clause, if none reaches over its ends."""
    kept, passed = {span.first: span for span in chosen}, []
    owner = owners(chosen)
    for first, last in ((clause[0].first, clause[-1].last) for clause in clauses if clause):
        inside = {span.first: span.last for at in range(first, last) if (span := owner.get(at))}
        if all(first <= opens and closes <= last for opens, closes in inside.items()):
            for opens in inside:
                del kept[opens]
            passed.append(Chosen("background", (), line.words(first, last), first, last))
    return in_order(kept.values(), *passed)


def _name(value: Value | None) -> str:
    return (value.name or "").lower() if isinstance(value, Place) else ""


def _said(span: Chosen | None) -> frozenset[Value]:
    """Give what a span says of the request: the action that it orders, or the slots that it fills."""
    facts = () if span is None else span.facts
    orders = {fact.value for fact in facts if fact.slot == "action" and isinstance(fact.value, str)}
    return frozenset(
        orders or {fact.slot for fact in facts if fact.slot not in _SAYS_NOTHING and fact.value != "heard"}
    )


def _opens_postscript(items: Sequence[Item], at: int) -> bool:
    """Say whether a letter goes on behind its signature here: "PS: skip *.tmp"."""
    opens = 0 < at < len(items) - 1 and items[at - 1].symbol in SENTENCE_ENDS
    return opens and f"{items[at].text}{items[at + 1].symbol}".lower() in listed("postscript")


def _signature(items: Sequence[Item], at: int, taken: frozenset[str], *, closed: bool = False) -> int | None:
    """Give the end of the names or initials at the end of a letter: "Kind regards, Dr. A. Novak", "/Erik".

    A single word that is `taken`, as a part of a place's name, is nobody's: "Anna" is no part of "/home/anna".
    """
    opens_line = at > 0 and items[at - 1].symbol in SENTENCE_ENDS
    behind = at > 0 and (closed or plain_word(items[at - 1]) in _CLOSINGS)
    words = [item for item in items[at:] if item.symbol not in _ENDS] if opens_line or behind else []
    is_taken = [item.text.lstrip("/") in taken for item in words]
    if not words or is_taken == [True]:
        return None
    if opens_line and _signs(items, at, words) and not any(is_taken):
        return len(items)
    closes = opens_line and plain_word(items[at]) in listed("closing_word.apart")
    if not closes and not behind:
        return None
    if closes and at + 1 < len(items):
        return _signature(items, at + 1, taken)
    names = [_is_called_so(item) or _is_initials(item) for item in words]
    plain = [item.symbol == "<num>" or plain_word(item) in _TITLES for item in words]
    alone = plain_word(items[at - 1]) in _CLOSINGS - listed("closing_word.longer")
    if alone and sum(item.symbol.startswith(UNKNOWN_MARK) for item in words) == 1:
        names = [name or item.symbol.startswith(UNKNOWN_MARK) for name, item in zip(names, words, strict=True)]
    if (len(words) == 1 and _says_how(words[0])) or any(item.text in listed("no_names") for item in words):
        return None
    signed = any(names) and len(names) <= _MAX_NAMES and all(map(max, names, plain))
    return len(items) if signed else None


def _is_called_so(item: Item) -> bool:
    """Say whether a word is written as a name, and known as no word, or as a month: "Jan"."""
    month = item.value is None and item.text.istitle() and plain_word(item) in listed("month_or_name")
    return month or item.symbol.startswith(f"{UNKNOWN_MARK}{CAPITAL_MARK}")


def _is_initials(item: Item) -> bool:
    word, letters = plain_word(item), len(item.text)
    short = letters <= len("JR") or (letters == len("JRR") and word not in KNOWN)
    return item.value is None and item.text.isupper() and short and word not in listed("no_initials")


def _signs(items: Sequence[Item], at: int, last: Sequence[Item]) -> bool:
    """Say whether the end is a name alone: "/Erik", or below a letter or behind a dash "Erik" or initials."""
    if len(last) == 1 and _SLASHED.fullmatch(last[0].text):
        # Beside two whole locations it is no third.
        places = sum(item.symbol == "<loc>" for item in items[:at])
        return places == len(("from", "to")) and last[0].text[1:].lower() not in KNOWN | listed("reaches")
    dashed, letter = items[at].symbol == "-", plain_word(items[0]) in listed("greets")
    if not dashed and (not letter or items[at - 1].text):
        return False
    called = [item.symbol.startswith(f"{UNKNOWN_MARK}{CAPITAL_MARK}") and _is_name(item) for item in last]
    initials = len(last) == 1 and bool(_INITIALS.fullmatch(last[0].text))
    means_more = initials and (plain_word(last[0]) in listed("no_initials", "title") or is_ending(last[0].text))
    return (1 <= len(last) <= len(("given", "family")) and all(called)) or (initials and not means_more)


def _is_name(item: Item) -> bool:
    """Say whether a word may be what somebody is called, and says not how something is done."""
    return bool(_NAME.fullmatch(item.text)) and not _says_how(item)


def _says_how(item: Item) -> bool:
    word = plain_word(item)
    adverbial = ends(word, "past", "lasting", "of_manner", "of_a_quality") and word not in listed("called_so")
    return adverbial or word in listed("reaches", "of_the_request", "treats_data")


def _end_of(text: _Text, at: int, *, opens: bool = False) -> int | None:
    """Give the end of the longest clause of background that starts here."""
    items, said = text.items, text.said
    opens = opens or at == 0 or items[at - 1].symbol in _ENDS or plain_word(items[at - 1]) in _GREETINGS
    if text.inside[at] or (not opens and plain_word(items[at]) not in _OPENERS):
        return None
    limit = min(at + _MAX_ITEMS, len(items) - 1)
    runs_on = plain_word(items[at]) in _RUNS_ON or items[at].text.startswith("@")
    ends = [
        end
        for end in range(at + 1, limit + 1)
        # "As per the freeze plan": behind an article nothing is ordered.
        if text.ends[end] or (runs_on and said[end] & _ACTIONS and plain_word(items[end - 1]) not in _ARTICLES)
    ]
    if not ends:
        return None
    before = text.first_said < at
    stopped = not _ASKED_OF_ONE.isdisjoint(text.ordered[at])
    kinds = {"background", "background, word by word", "background with a time", "background of others"}
    kinds |= set() if before else _BEFORE_AN_ORDER - _TOLD_OF.keys()
    # "By 18:00, the purge runs after that": what comes after a time; without one, it may be what comes after the copy.
    kinds |= {"background after a time"} if before and text.times else set()
    # "In 15 minutes, I have to close the files": without the time, that would say when it starts.
    kinds |= {"background of a start"} if before and text.starts else set()
    kinds |= {"background of a control"} if stopped else set()
    # A field that says why holds no more; "i hit the wrong one, sorry" takes nothing back.
    told = plain_word(items[at]) in _NOTES and items[at + 1].symbol == ":"
    phrases = text.line.beginning(BACKGROUND, at)
    depends, may_head = _depends(items, at), not before
    kinds -= _WORD_BY_WORD if depends else set()
    for end in reversed(ends):
        if _waits(text, at, end):
            continue
        is_a = _kinds_of(text, phrases, at, end)
        # "we need them for the logbook" names all of the data, so that its purpose chooses none of it.
        purposeful = not before or "background, needed for" in is_a
        told_of = is_a & _TOLD_OF.keys() - (_WORD_BY_WORD if depends else set())
        told_of -= _BEFORE_AN_ORDER if before else set()
        kinds |= {kind for kind in told_of if text.says(_TOLD_OF[kind], at, end)}
        if (purposeful and before) or not kinds.isdisjoint(is_a):
            silent = _ACTIONS | ({"purpose"} if purposeful else set()) | ({"retract"} if stopped else set())
            silent |= {"select", "state", "copy"} if told else set()
            filled = [_FILLS[kind] for kind in is_a & kinds & _FILLS.keys()]
            silent = silent.union(*(slots for slots in filled if slots != _ANYTHING))
            if _ANYTHING in filled or all(one <= silent for one in said[at:end]):
                return end
        may_tell_it = any(text.tells[at:end])
        if depends or not (may_tell_it or may_head) or not any(text.unknown[at:end]):
            continue
        beside = text.beside(at, end)
        if beside and may_tell_it and tells(items[at:end], beside):
            return end
        if beside and may_head and heads(items, at, end, goes_on=text.goes_on[end]):
            return end
    return None


def _kinds_of(text: _Text, phrases: Sequence[Rule], at: int, end: int) -> set[str]:
    """Give the kinds of background that a clause is as a whole."""
    symbols = frozenset(item.symbol for item in text.line.items[at:end])
    fit = (one for one in phrases if not any(map(symbols.isdisjoint, one.phrase.needs)))
    is_a = {one.name for one in fit if text.line.is_whole(one, at, end)}
    # "We show it tomorrow" is news, "we show it at 18:00" may be the deadline.
    if any(isinstance(item.value, When) and item.value.clock for item in text.items[at:end]):
        is_a.discard("background of a day")
    # "The migration starts after that: move A to B" announces an order, and "open data: A to B" may say what of it.
    return is_a - _NO_HEADING if text.items[end].symbol == ":" else is_a


def _waits(text: _Text, at: int, end: int) -> bool:
    """Say whether an order waits for what a clause says: "fyi, once the beam is back", "he left at 5. After that"."""
    return any(text.waits[at:end]) or (text.points >= end and any(text.timed[at:end]))


def _depends(items: Sequence[Item], at: int) -> bool:
    """Say whether a clause opens as a condition does: "once the beam is back" says when, not how things are."""
    # "Just as the beam is back" may seem to begin with its second word, "and once it is" does.
    last = at + 1 if plain_word(items[at]) in _OPENERS else at
    openings = range(max(at - 1, 0), last + 1)
    return any(opening + phrase_at(items, opening, "clause")[0] > max(opening, at) for opening in openings)


def _as_background(item: Item) -> Item:
    """Give an item as phrases of background see it, which know more words than those of a request, and percentages."""
    if item.symbol == "<qty>" and item.text.lstrip("0123456789., ").lower() in listed("percent"):
        return replace(item, symbol="<percent>")
    return replace(item, symbol=word) if (word := plain_word(item)) in BACKGROUND_WORDS else item


def _ends_a_clause(item: Item) -> bool:
    return item.symbol in _ENDS or plain_word(item) in _GOES_ON
