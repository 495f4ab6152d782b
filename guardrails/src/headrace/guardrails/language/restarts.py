"""Restarts: "cancel 7f3a21, uh, pause it" is one order said anew, not two in a row. Which one holds is asked."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Choice, Interpretation, Question
from headrace.guardrails.intents.values import TRANSFER_ACTIONS, Intent
from headrace.guardrails.language.canonical import canonical_sentence
from headrace.guardrails.language.phrases import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.intents.draft import Step
    from headrace.guardrails.intents.values import Target
    from headrace.guardrails.language.spans import Chosen
    from headrace.guardrails.resolve.request import Resolved

_NO_OBJECT = frozenset({"marker", "turn", "confirm", "retract", "polarity", "step"})
_QUESTIONS = ("status", "list")
_ON_GOING = ("cancel", "pause", "resume", "modify")
_WHICH = "two orders about the same, or one said anew: say which of them holds"
_STOPS = ("cancel", "pause")
# "Copy A to B. Cancel it." stops what has not begun.
_NEVER_STARTED = "say whether to plan it at all, or when to stop it"
_ENDED = "what is cancelled can't be paused, resumed or changed: say which of these orders holds"


def settled(
    resolved: Resolved, steps: Sequence[Step], chosen: Sequence[Chosen], words: Callable[[int, int], str]
) -> Interpretation:
    """Give the answer with each order that was said twice once, and a question where a later one may replace it."""
    answer, intents = resolved.answer, _with_targets(resolved.intents)
    if answer.outcome == "refuse" or "action" in answer.ask:
        return answer
    questions: list[Question] = []
    cancelled: dict[Target, int] = {}
    kept = list(resolved.intents[:1])
    for at in range(1, len(intents)):
        last, after = intents[at - 1 : at + 1]
        if last.action == "cancel" and last.target:
            cancelled.setdefault(last.target, at - 1)
        joint = _joint(chosen, *_gap(steps[at - 1], steps[at]))
        if joint != "row" and last == after:
            continue
        kept.append(resolved.intents[at])
        ended = cancelled.get(after.target) if after.target and after.action in _ON_GOING else None
        earlier = at - 1 if ended is None else ended
        before = intents[earlier]
        if message := _ENDED if ended is not None else _doubt(joint, before, after, timed=steps[at].has("start")):
            stretch = words(_first(steps[earlier]), _last(steps[at]))
            offered = () if answer.questions else _choices(before, after)
            questions.append(Question("action", message, stretch, offered))
    if questions:
        return replace(answer, outcome="ask", intent=_common(intents), questions=(*answer.questions, *questions))
    if len(kept) < len(intents):
        return replace(answer, intent=replace(answer.intent, then=tuple(kept[1:])))
    return answer


def _with_targets(intents: Sequence[Intent]) -> list[Intent]:
    """Name the transfer of each order: without one, a later order is about that of the order before it."""
    named: list[Intent] = []
    for intent in intents:
        of_a_transfer = intent.action not in TRANSFER_ACTIONS and named
        named.append(replace(intent, target=intent.target or named[-1].target) if of_a_transfer else intent)
    return named


def _doubt(joint: str, before: Intent, after: Intent, *, timed: bool) -> str:
    """Say why the later of two orders may not be one more (`timed`: it has a time of its own); nothing if it is."""
    later = timed and after.action not in TRANSFER_ACTIONS
    if before.action in TRANSFER_ACTIONS and after.action in _STOPS and after.target is None and not timed:
        return _NEVER_STARTED
    replaces = _is_same(before, after) and not later and after.action not in _QUESTIONS
    return _WHICH if joint == "turn" or (joint == "list" and replaces) else ""


def _is_same(before: Intent, after: Intent) -> bool:
    """Say whether two orders are about the same transfer, or the same way from place to place."""
    if after.action in TRANSFER_ACTIONS:
        ends = (before.source, before.destination)
        return None not in ends and ends == (after.source, after.destination)
    return before.action in TRANSFER_ACTIONS or (before.target is not None and before.target == after.target)


def _gap(before: Step, after: Step) -> tuple[int, int]:
    """Give the tokens between the last thing that an order says and the verb of the next."""
    end = max(fact.last for fact in before.facts if fact.slot not in _NO_OBJECT)
    return end, min((fact.first for fact in after.of("action")), default=end)


def _joint(chosen: Sequence[Chosen], end: int, start: int) -> str:
    """Tell how two orders are joined: in a `row`, as items of a `list`, or by words that `turn` from the first."""
    at = bisect_left(chosen, end, key=lambda span: span.first)
    between = list(takewhile(lambda span: span.last <= start, chosen[at:]))
    said = {word for span in between for word in span.words.lower().replace(",", " ").split()}
    if at and chosen[at - 1].last == end:
        said |= {*chosen[at - 1].words.lower().split()[-1:]}
    if not said.isdisjoint(listed("one_after_the_other")) or any(
        fact.slot == "step" for span in between for fact in span.facts
    ):
        return "row"
    return "turn" if not said.isdisjoint(listed("filler", "hesitation")) else "list"


def _first(step: Step) -> int:
    return min(fact.first for fact in step.facts)


def _last(step: Step) -> int:
    return max(fact.last for fact in step.facts)


def _choices(*intents: Intent) -> tuple[Choice, ...]:
    sentences = [canonical_sentence(intent) for intent in intents]
    return tuple(Choice(sentence, sentence) for sentence in sentences)


def _common(intents: Sequence[Intent]) -> Intent:
    """Give what every order says alike: the places or the transfer that they are about."""
    first = intents[0]

    def agreed(slot: str) -> bool:
        return all(getattr(intent, slot) == getattr(first, slot) for intent in intents)

    return Intent(**{slot: getattr(first, slot) for slot in ("source", "destination", "target") if agreed(slot)})
