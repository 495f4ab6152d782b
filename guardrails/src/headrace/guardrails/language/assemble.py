"""Puts chosen spans into steps, and words that no span owns into questions about a slot."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Refusal
from headrace.guardrails.intents.draft import Doubt, Draft, Fact, Leftover, Place, Step
from headrace.guardrails.language.clauses import NO_REQUEST
from headrace.guardrails.language.grammar import words_of
from headrace.guardrails.language.phrases import UNKNOWN_MARK
from headrace.guardrails.language.scope import FILTERS
from headrace.guardrails.language.units import is_rate_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.language.lattice import Chosen
    from headrace.guardrails.language.phrases import Item

_TRANSFERS = frozenset({"copy", "sync", "move", "stream"})
_PLACES = {slot: slot for slot in ("source", "destination")} | dict.fromkeys(("at", "place", "for"), "source")
# Facts between a verb and its object do not end the object ("copy last night's cryo-EM run").
_TRANSPARENT = frozenset(
    {"modified_after", "modified_before", "include", "it", "all", "noun", "marker", "select", "state"}
)
# Courtesy that could as well be the rest of a path with spaces ("/my data").
_NOUNS = frozenset({"nouns", "articles", "what it is", "how much it is", "transfers", "one transfer"})
# Unknown words before one of these say which data is meant ("the lysozyme dataset").
_CONTENT = frozenset({"nouns", "what it is", "how much it is", "transfers", "state"})
_ENGLISH = "only English is understood"
_WHY = {**{f"opens_{kind}": message for kind, message in NO_REQUEST.items()}, "foreign_word": _ENGLISH}
_MESSAGES = {
    "bypasses_policy": "no request may go round policy, approval or checks: leave that out",
    "claims_role": "who you are comes from how you signed in, never from the words: leave that out",
}


@dataclass(slots=True)
class _Steps:
    """The steps so far; facts after a "then" wait until a verb shows that a new step began."""

    steps: list[Step] = field(default_factory=lambda: [Step()])
    waiting: list[Fact] | None = None
    refusals: list[Refusal] = field(default_factory=list)
    condition: Fact | None = None
    again: set[int] = field(default_factory=set)

    def add(self, fact: Fact) -> None:
        """Add a fact to the step that it belongs to."""
        if fact.slot != "step":
            self.condition = None
        if fact.slot == "refuse":
            rule = str(fact.value)
            self.refusals.append(Refusal(rule, _MESSAGES[rule], fact.words))
        elif fact.slot == "step":
            self._settle()
            self.waiting = []
            self.condition = fact if fact.value == "condition" else None
            if self.condition and not self.steps[-1].has("action", *_PLACES):
                self._ask_condition()
        elif fact.slot == "there":
            if self.waiting is None:
                self._settle()
                self.waiting = []
            self.waiting.append(fact)
        elif fact.slot == "action" and self._begins(fact):
            if self.waiting is None and fact.value in {known.value for known in self.steps[-1].of("action")}:
                self.again.add(len(self.steps))
            self.steps.append(Step((*(self.waiting or ()), fact)))
            self.waiting = None
        elif self.waiting is not None:
            self.waiting.append(fact)
        else:
            self._extend(fact)

    def _begins(self, fact: Fact) -> bool:
        """Say whether a verb starts a new step: the step has one already, and more than that."""
        step = self.steps[-1]
        if not step.has("action"):
            return False
        own = {(known.first, known.last) for known in step.of("action")}
        more = any(known.slot not in ("action", "marker") for known in step.facts)
        return more and (fact.first, fact.last) not in own

    def _extend(self, *facts: Fact) -> None:
        step = self.steps[-1]
        self.steps[-1] = replace(step, facts=(*step.facts, *facts))

    def _settle(self) -> None:
        if not self.waiting:
            return
        waiting, self.waiting = self.waiting, None
        actions, slots = self.steps[-1].of("action"), {fact.slot for fact in waiting}
        again = not slots.isdisjoint(_PLACES) and self.steps[-1].has("destination")
        if "destination" in slots and (again or (actions and "there" in slots)):
            # "and from there to C", "2) C to D": one more step of the same kind.
            self.steps.append(Step((*actions[-1:], *waiting)))
        else:
            self._extend(*(_doubted_later(fact, after=self.steps[-1]) for fact in waiting))

    def leave(self, leftover: Leftover) -> None:
        """Add words that nothing owns to the step that they stand in."""
        step = self.steps[-1]
        self.steps[-1] = replace(step, leftovers=(*step.leftovers, leftover))

    def _ask_condition(self) -> None:
        # Words before it that nothing owns ("email me when it's done") are asked about already.
        if self.condition and not self.steps[-1].leftovers:
            self.leave(Leftover("start", self.condition.words, why=NO_REQUEST["condition"]))
        self.condition = None

    def done(self) -> Draft:
        """Give the finished draft."""
        self._settle()
        if self.condition:
            self._ask_condition()
        for number in sorted(self.again, reverse=True):
            self._join_again(number)
        return Draft(tuple(self.steps), tuple(self.refusals))

    def _join_again(self, number: int) -> None:
        """Join an order that says the same of "it" to the step before: "A has to be on B, please copy it"."""
        before, step = self.steps[number - 1 : number + 1]
        if step.has("it") and not step.leftovers and not step.has(*_PLACES, "more") and before.has("destination"):
            rest = (fact for fact in step.facts if fact.slot not in ("action", "it"))
            self.steps[number - 1 : number + 1] = [replace(before, facts=(*before.facts, *rest))]


def _doubted_later(fact: Fact, after: Step) -> Fact:
    """Doubt a choice of files that is to come later, without a transfer of its own: "afterwards only *.log"."""
    if fact.slot == "place" and after.has("place") and not after.has("destination"):
        return replace(fact, value=Doubt(f"`{fact.words}`: say what goes where"))
    if fact.slot not in FILTERS or isinstance(fact.value, Doubt):
        return fact
    return replace(fact, value=Doubt(f"`{fact.words}`: say whether it holds from the start, or for another transfer"))


@dataclass(slots=True)
class _Cursor:
    """Which slot unowned words would be about, at a point of the text."""

    slot: str = "action"
    cue: Fact | None = None
    last: int = -1
    place: Fact | None = None


def assemble(
    chosen: Sequence[Chosen],
    leftover: Sequence[Item],
    words_of: Callable[[int, int], str],
) -> Draft:
    """Build the draft of a request from its spans, in the order of the text."""
    steps = _Steps()
    cursor = _Cursor()
    pieces: list[Chosen | _Group] = [*chosen, *_groups(leftover)]
    pieces.sort(key=lambda piece: piece.first)
    for number, piece in enumerate(pieces):
        if isinstance(piece, _Group):
            words = words_of(piece.first, piece.last)
            following = pieces[number + 1] if number + 1 < len(pieces) else None
            if _is_rest_of_path(cursor, piece, following):
                _extend_path(steps, cursor, words_of(cursor.place.first, piece.last) if cursor.place else "")
            else:
                cue = cursor.cue.words if cursor.cue else None
                steps.leave(Leftover(_slot_at(cursor, piece, following), words, cue, _why(words)))
            cursor.cue = None
        else:
            _follow(piece, cursor, steps)
    if cursor.cue is not None:
        steps.leave(Leftover(str(cursor.cue.value), cursor.cue.words))
    return steps.done()


@dataclass(frozen=True, slots=True)
class _Group:
    """Unowned words that stand together."""

    items: tuple[Item, ...]

    @property
    def first(self) -> int:
        """The first token."""
        return self.items[0].first

    @property
    def last(self) -> int:
        """One past the last token."""
        return self.items[-1].last


def runs_of(leftover: Sequence[Item]) -> list[tuple[int, int]]:
    """Give the token ranges of unowned words that stand together."""
    return [(group.first, group.last) for group in _groups(leftover)]


def _groups(leftover: Sequence[Item]) -> list[_Group]:
    groups: list[_Group] = []
    for item in leftover:
        if groups and groups[-1].last == item.first:
            groups[-1] = _Group((*groups[-1].items, item))
        else:
            groups.append(_Group((item,)))
    return groups


def _why(words: str) -> str:
    """Say what kind of clause unowned words open, if that helps: a condition, a question, another language."""
    said = f"{words.lower()} ".replace("\u2019", "'")
    for kind, message in _WHY.items():
        if any(said.startswith(f"{opening} ") for opening in words_of(kind)):
            return message
    return "" if words.isascii() or not any(letter.isalpha() and not letter.isascii() for letter in words) else _ENGLISH


def _slot_at(cursor: _Cursor, group: _Group, following: Chosen | _Group | None) -> str:
    if any(is_rate_unit(item.text) for item in group.items):
        return "rate_limit_bps"
    if cursor.cue is not None:
        return str(cursor.cue.value)
    unheard = all(item.symbol.startswith(UNKNOWN_MARK) for item in group.items)
    if unheard and following and following.first == group.last and getattr(following, "name", "") in _CONTENT:
        return "which"
    # Unknown words right after a location may belong to a path with spaces.
    first = group.items[0]
    unknown = first.symbol.startswith((UNKNOWN_MARK, "<")) and any(letter.isalnum() for letter in first.text)
    if cursor.place is not None and cursor.last == group.first and unknown:
        return _PLACES[cursor.place.slot]
    return cursor.slot


def _follow(piece: Chosen, cursor: _Cursor, steps: _Steps) -> None:
    """Take in a chosen span, and note what unowned words after it would be about."""
    if _clings(piece, cursor):
        place = cursor.place
        steps.leave(Leftover(_PLACES[place.slot] if place else "action", piece.words))
        return
    if not piece.facts:
        if piece.words in (".", ";", "!", "?"):
            cursor.slot = "action"
        _dangle(cursor, steps, closes=piece.words in (",", ".", ";", ":", "!", "?", ")"))
        cursor.place = None
        return
    fact = piece.facts[0]
    if fact.slot == "cue":
        _dangle(cursor, steps, closes=True)
        cursor.cue, cursor.place = fact, None
        return
    if cursor.cue is not None and any(one.slot == cursor.cue.value for one in piece.facts):
        cursor.cue = None
    _dangle(cursor, steps, closes=fact.slot not in ("place", "source", "destination"))
    for one in piece.facts:
        steps.add(one)
    slots = {one.slot for one in piece.facts}
    if "action" in slots:
        value = next(one.value for one in piece.facts if one.slot == "action")
        if isinstance(value, str):
            cursor.slot = "source" if value in _TRANSFERS else "target"
    elif (slots & set(_PLACES) and cursor.slot == "source") or (not slots <= _TRANSPARENT and cursor.slot != "target"):
        cursor.slot = "action"
    placed = [one for one in piece.facts if one.slot in _PLACES and isinstance(one.value, Place)]
    cursor.place = placed[-1] if placed else None
    cursor.last = piece.last


def _clings(piece: Chosen, cursor: _Cursor) -> bool:
    """Say whether a plain noun or article stands right after a path: it may be part of the path."""
    place = cursor.place
    if place is None or cursor.last != piece.first or not isinstance(place.value, Place) or place.value.literal:
        return False
    if place.value.path is None:
        return False
    nothing = not piece.facts or {fact.slot for fact in piece.facts} <= {"noun", "named"}
    return nothing and piece.name in _NOUNS and piece.words[:1].isalnum()


def _dangle(cursor: _Cursor, steps: _Steps, *, closes: bool) -> None:
    """Ask about a cue word that nothing followed."""
    if cursor.cue is None or not closes:
        return
    steps.leave(Leftover(str(cursor.cue.value), cursor.cue.words))
    cursor.cue = None


def _is_rest_of_path(cursor: _Cursor, group: _Group, following: Chosen | _Group | None) -> bool:
    """Say whether words are the end of a path with spaces, in a sentence that is not English."""
    return (
        cursor.place is not None
        and cursor.last == group.first
        and not isinstance(following, _Group)
        and following is not None
        and following.name == "place in another language"
        and following.first == group.last
    )


def _extend_path(steps: _Steps, cursor: _Cursor, words: str) -> None:
    fact = cursor.place
    if fact is None or not isinstance(fact.value, Place) or fact.value.path is None:
        return
    _, _, path = words.rpartition(fact.value.path)
    longer = replace(fact.value, words=words, path=fact.value.path + path)
    step = steps.steps[-1]
    facts = tuple(replace(one, value=longer) if one is fact else one for one in step.facts)
    steps.steps[-1] = replace(step, facts=facts)
