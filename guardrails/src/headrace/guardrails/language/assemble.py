"""Puts chosen spans into steps, and words that no span owns into questions about a slot."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Refusal
from headrace.guardrails.intents.draft import Doubt, Draft, Fact, Leftover, Place, Step
from headrace.guardrails.language.clauses import NO_REQUEST
from headrace.guardrails.language.grammar import TRANSFERS
from headrace.guardrails.language.phrases import UNKNOWN_MARK, listed, table
from headrace.guardrails.language.scope import FILTERS
from headrace.guardrails.language.spans import Chosen, runs_of
from headrace.guardrails.language.units import is_rate_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.guardrails.language.phrases import Item

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
    verbs: set[tuple[int, int]] = field(default_factory=set)
    """Where the verbs of the last step stand."""
    says_more: bool = False
    """Whether the last step has more than its verbs."""

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
            self._open(*(self.waiting or ()), fact)
            self.waiting = None
        elif self.waiting is not None:
            self.waiting.append(fact)
        else:
            self._extend(fact)

    def _begins(self, fact: Fact) -> bool:
        """Say whether a verb starts a new step: the step has one already, and more than that."""
        return bool(self.verbs) and self.says_more and (fact.first, fact.last) not in self.verbs

    def _open(self, *facts: Fact) -> None:
        self.steps.append(Step())
        self.verbs, self.says_more = set(), False
        self._extend(*facts)

    def _extend(self, *facts: Fact) -> None:
        step = self.steps[-1]
        self.steps[-1] = replace(step, facts=(*step.facts, *facts))
        self.verbs |= {(fact.first, fact.last) for fact in facts if fact.slot == "action"}
        self.says_more = self.says_more or any(fact.slot not in ("action", "marker") for fact in facts)

    def _settle(self) -> None:
        if not self.waiting:
            return
        waiting, self.waiting = self.waiting, None
        actions, slots = self.steps[-1].of("action"), {fact.slot for fact in waiting}
        again = not slots.isdisjoint(_PLACES) and self.steps[-1].has("destination")
        if "destination" in slots and (again or (actions and "there" in slots)):
            # "and from there to C", "2) C to D": one more step of the same kind.
            self._open(*actions[-1:], *waiting)
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
        return Draft(tuple(part for step in self.steps for part in _parted(step)), tuple(self.refusals))

    def _join_again(self, number: int) -> None:
        """Join an order that says the same of "it" to the step before: "A has to be on B, please copy it"."""
        before, step = self.steps[number - 1 : number + 1]
        if step.has("it") and not step.leftovers and not step.has(*_PLACES, "more") and before.has("destination"):
            rest = (fact for fact in step.facts if fact.slot not in ("action", "it"))
            self.steps[number - 1 : number + 1] = [replace(before, facts=(*before.facts, *rest))]


def _parted(step: Step) -> tuple[Step, ...]:
    """Make "pause it until 06:00" two steps: the pause, and going on then."""
    until = step.of("goes_on")
    if not until:
        return (step,)
    facts = tuple(fact for fact in step.facts if fact.slot != "goes_on")
    resumed = replace(until[0], slot="action", value="resume")
    return replace(step, facts=facts), Step((resumed, *(replace(fact, slot="start") for fact in until)))


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


def assemble(chosen: Sequence[Chosen], leftover: Sequence[Item], words_of: Callable[[int, int], str]) -> Draft:
    """Build the draft of a request from its spans, in the order of the text."""
    steps, cursor = _Steps(), _Cursor()
    pieces: list[Chosen | Sequence[Item]] = [*chosen, *runs_of(leftover)]
    pieces.sort(key=_first)
    for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
        if isinstance(piece, Chosen):
            _follow(piece, cursor, steps)
            continue
        words = words_of(piece[0].first, piece[-1].last)
        after = following if isinstance(following, Chosen) and following.first == piece[-1].last else None
        place = cursor.place if cursor.last == piece[0].first else None
        if place and after and after.name == "place in another language":
            _extend_path(steps, place, words_of(place.first, piece[-1].last))
        else:
            cue = cursor.cue.words if cursor.cue else None
            steps.leave(Leftover(_slot_at(cursor, place, piece, after), words, cue, _why(words)))
        cursor.cue = None
    _dangle(cursor, steps)
    return steps.done()


def _first(piece: Chosen | Sequence[Item]) -> int:
    return piece.first if isinstance(piece, Chosen) else piece[0].first


@cache
def _openings() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Give how clauses may open, and of what kind they are then, by the first word."""
    openings = table("clause") | table("sentence") | dict.fromkeys(listed("foreign_word"), _ENGLISH)
    found: dict[str, list[tuple[str, str]]] = {}
    for opening, kind in openings.items():
        found.setdefault(opening.partition(" ")[0], []).append((opening, kind))
    return found


def _why(words: str) -> str:
    """Say what kind of clause unowned words open, if that helps: a condition, a question, another language."""
    said = f"{words.lower()} ".replace("\u2019", "'")
    kinds = [kind for opening, kind in _openings().get(said.partition(" ")[0], ()) if said.startswith(f"{opening} ")]
    if not words.isascii() and any(letter.isalpha() and not letter.isascii() for letter in words):
        kinds.append(_ENGLISH)
    if not kinds and not listed("of_streams").isdisjoint(said.split()):
        kinds.append("streams")
    return NO_REQUEST.get(kinds[0], _ENGLISH if _ENGLISH in kinds else "") if kinds else ""


def _slot_at(cursor: _Cursor, place: Fact | None, run: Sequence[Item], after: Chosen | None) -> str:
    if any(is_rate_unit(item.text) for item in run):
        return "rate_limit_bps"
    if cursor.cue is not None:
        return str(cursor.cue.value)
    if after and after.name in _CONTENT and all(item.symbol.startswith(UNKNOWN_MARK) for item in run):
        return "which"
    # Unknown words right after a location may belong to a path with spaces.
    unknown = run[0].symbol.startswith((UNKNOWN_MARK, "<")) and any(letter.isalnum() for letter in run[0].text)
    return _PLACES[place.slot] if place and unknown else cursor.slot


def _follow(piece: Chosen, cursor: _Cursor, steps: _Steps) -> None:  # noqa: C901
    """Take in a chosen span, and note what unowned words after it would be about."""
    if _clings(piece, cursor):
        steps.leave(Leftover(_PLACES[cursor.place.slot] if cursor.place else "action", piece.words))
        return
    if not piece.facts:
        if piece.words in (".", ";", "!", "?"):
            cursor.slot = "action"
        if piece.words in (",", ".", ";", ":", "!", "?", ")"):
            _dangle(cursor, steps)
        cursor.place = None
        return
    if piece.facts[0].slot == "cue":
        _dangle(cursor, steps)
        cursor.cue, cursor.place = piece.facts[0], None
        return
    if cursor.cue is not None and cursor.cue.value in piece.slots:
        cursor.cue = None
    if piece.facts[0].slot not in ("place", "source", "destination"):
        _dangle(cursor, steps)
    for one in piece.facts:
        steps.add(one)
    if "action" in piece.slots:
        value = next(one.value for one in piece.facts if one.slot == "action")
        if isinstance(value, str):
            cursor.slot = "source" if value in TRANSFERS else "target"
    elif (piece.slots & set(_PLACES) and cursor.slot == "source") or (
        not piece.slots <= _TRANSPARENT and cursor.slot != "target"
    ):
        cursor.slot = "action"
    placed = [one for one in piece.facts if one.slot in _PLACES and isinstance(one.value, Place)]
    cursor.place = placed[-1] if placed else None
    cursor.last = piece.last


def _clings(piece: Chosen, cursor: _Cursor) -> bool:
    """Say whether a plain noun or article stands right after a path: it may be part of the path."""
    place = cursor.place.value if cursor.place and cursor.last == piece.first else None
    if not isinstance(place, Place) or place.literal or place.path is None:
        return False
    return piece.slots <= {"noun", "named"} and piece.name in _NOUNS and piece.words[:1].isalnum()


def _dangle(cursor: _Cursor, steps: _Steps) -> None:
    """Ask about a cue word that nothing followed."""
    if cursor.cue is not None:
        steps.leave(Leftover(str(cursor.cue.value), cursor.cue.words))
        cursor.cue = None


def _extend_path(steps: _Steps, fact: Fact, words: str) -> None:
    """Take words for the end of a path with spaces, in a sentence that is not English."""
    if isinstance(fact.value, Place) and fact.value.path is not None:
        path = fact.value.path + words.rpartition(fact.value.path)[2]
        longer = replace(fact, value=replace(fact.value, words=words, path=path))
        step = steps.steps[-1]
        steps.steps[-1] = replace(step, facts=tuple(longer if one is fact else one for one in step.facts))
