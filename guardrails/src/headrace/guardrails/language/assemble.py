"""Puts chosen spans into steps, and words that no span owns into questions about a slot."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Refusal
from headrace.guardrails.intents.draft import Draft, Fact, Leftover, Place, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.language.lattice import Chosen
    from headrace.guardrails.language.phrases import Item

_TRANSFERS = frozenset({"copy", "sync", "move", "stream"})
_PLACES = {"source": "source", "destination": "destination", "at": "source", "place": "source"}
# Facts between a verb and its object do not end the object ("copy last night's cryo-EM run").
_TRANSPARENT = frozenset(
    {"modified_after", "modified_before", "include", "it", "all", "noun", "marker", "select", "state"}
)
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

    def add(self, fact: Fact) -> None:
        """Add a fact to the step that it belongs to."""
        if fact.slot == "refuse":
            rule = str(fact.value)
            self.refusals.append(Refusal(rule, _MESSAGES[rule], fact.words))
        elif fact.slot == "step":
            self._settle()
            self.waiting = []
        elif fact.slot == "action" and self._begins(fact):
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
        return any((known.first, known.last) not in own for known in step.facts) and (
            (fact.first, fact.last) not in own
        )

    def _extend(self, *facts: Fact) -> None:
        step = self.steps[-1]
        self.steps[-1] = replace(step, facts=(*step.facts, *facts))

    def _settle(self) -> None:
        if self.waiting:
            waiting, self.waiting = self.waiting, None
            self._extend(*waiting)

    def leave(self, leftover: Leftover) -> None:
        """Add words that nothing owns to the step that they stand in."""
        step = self.steps[-1]
        self.steps[-1] = replace(step, leftovers=(*step.leftovers, leftover))

    def done(self) -> Draft:
        """Give the finished draft."""
        self._settle()
        return Draft(tuple(self.steps), tuple(self.refusals))


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
                steps.leave(Leftover(_slot_at(cursor, piece), words, cursor.cue.words if cursor.cue else None))
            cursor.cue = None
        else:
            _follow(piece, cursor, steps)
    if cursor.cue is not None:
        steps.leave(Leftover(str(cursor.cue.value), cursor.cue.words))
    return steps.done()


@dataclass(frozen=True, slots=True)
class _Group:
    """Unowned words that stand together."""

    first: int
    last: int


def _groups(leftover: Sequence[Item]) -> list[_Group]:
    groups: list[_Group] = []
    for item in leftover:
        if groups and groups[-1].last == item.first:
            groups[-1] = _Group(groups[-1].first, item.last)
        else:
            groups.append(_Group(item.first, item.last))
    return groups


def _slot_at(cursor: _Cursor, group: _Group) -> str:
    if cursor.cue is not None:
        return str(cursor.cue.value)
    if cursor.place is not None and cursor.last == group.first:
        return _PLACES[cursor.place.slot]
    return cursor.slot


def _follow(piece: Chosen, cursor: _Cursor, steps: _Steps) -> None:
    """Take in a chosen span, and note what unowned words after it would be about."""
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
