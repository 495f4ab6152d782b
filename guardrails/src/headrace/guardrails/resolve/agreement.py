"""Words and typed slots of one request: what the words carry, and what must be asked because the two differ."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, cast

from headrace.guardrails.intents.answer import Interpretation, Question
from headrace.guardrails.intents.origins import Said
from headrace.guardrails.intents.text import in_words, shown
from headrace.guardrails.intents.values import Intent, Location, Slots, default_conflict_rule
from headrace.guardrails.resolve.control_requests import NO_ACTION
from headrace.guardrails.resolve.situation import MISSING, NO_PLAN

if TYPE_CHECKING:
    from collections.abc import Iterator


_FILLED_BY_SLOTS = frozenset(doubt.message for doubt in (MISSING["source"], MISSING["destination"], NO_ACTION, NO_PLAN))
"""Questions for what words leave out, which typed slots answer."""
_DEFAULTS: dict[str, object] = {
    "priority": "normal",
    "encryption": True,
    "verify": "default",
    "delete_source": False,
    "delete_extraneous": False,
}
_ORDERLESS = ("include", "exclude", "preserve")


def disagreements(answer: Interpretation, typed: Intent, changed: Intent | None = None) -> tuple[Question, ...]:
    """Ask about what words and typed slots do not say alike, and about words that are not understood.

    `typed` is the whole request by its slots, resolved; `changed` is the whole request by its words, where these
    change an earlier plan.
    """
    open_still = tuple(one for one in answer.questions if one.words is not None or one.message not in _FILLED_BY_SLOTS)
    differing = [one for one in (*answer.said, *_unspoken(answer)) if not _agrees(one, typed, changed)]
    if any(one.slot == "delete_source" for one in differing):
        # "never delete", and a move: one question, quoting the words that matter.
        differing = [one for one in differing if one.slot != "action" or typed.action not in ("copy", "move")]
    unlike = tuple(_question(one, typed, changed) for one in differing)
    return (*open_still, *unlike, *_other_orders(answer, typed))


def _unspoken(answer: Interpretation) -> Iterator[Said]:
    """Give what was read without knowing from which words: it is held against the slots as well."""
    known = {one.slot for one in answer.said}
    read = answer.intent.changes or answer.intent
    for field in fields(Slots):
        value = getattr(read, field.name)
        if value not in (None, ()) and field.name not in known:
            yield Said(field.name, value, ())


def _agrees(said: Said, typed: Intent, changed: Intent | None) -> bool:
    return _value(said.slot, _wanted(said, changed), typed) == _value(said.slot, _typed(said.slot, typed), typed)


def _wanted(said: Said, changed: Intent | None) -> object:
    return said.value if changed is None else _typed(said.slot, changed)


def _typed(slot: str, intent: Intent) -> object:
    return intent.action == "move" if slot == "delete_source" else getattr(intent, slot)


def _value(slot: str, value: object, typed: Intent) -> object:
    """Give a value so that two ways to write the same compare as equal; nothing stands for the default."""
    if value is None:
        return default_conflict_rule(typed.action) if slot == "on_conflict" else _DEFAULTS.get(slot)
    if slot in _ORDERLESS:
        return frozenset(cast("tuple[str, ...]", value)) or None
    return str(value) if isinstance(value, Location) else value


def _question(said: Said, typed: Intent, changed: Intent | None) -> Question:
    words = ", ".join(quote.text for quote in said.quotes) or None
    slot = in_words(said.slot)
    told = f"`{shown(words)}` for {slot}" if words else f"{_told(_wanted(said, changed))} for {slot}"
    given = _typed(said.slot, typed)
    instead = "leave that out" if given in (None, ()) else f"say {_told(given)}"
    message = f"the words say {told}, and the fields beside them {instead}: say which of the two holds"
    only = said.quotes[0] if len(said.quotes) == 1 else None
    return Question(said.slot, message, words, start=only.start if only else None, end=only.end if only else None)


def _other_orders(answer: Interpretation, typed: Intent) -> Iterator[Question]:
    """Ask about words that ask for something else as a whole: several steps, a transfer that exists, another action."""
    asked = answer.intent
    spoken = any(one.slot == "action" for one in answer.said)
    if asked.then:
        yield Question("then", "the words ask for several steps: plan them one by one")
    elif asked.target is not None and asked.target.id is not None:
        yield Question(
            "target", f"the words are about `{asked.target.id}`, and the fields beside them ask for a new transfer"
        )
    elif asked.action not in (None, typed.action, "modify") and not spoken:
        message = (
            f"the words ask for `{asked.action}`, and the fields beside them for `{typed.action}`: say which holds"
        )
        yield Question("action", message)


def _told(value: object) -> str:
    if value is None or value == ():
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{shown(', '.join(map(str, value)) if isinstance(value, tuple) else str(value))}`"
