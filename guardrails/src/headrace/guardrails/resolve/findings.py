"""What resolving one step has found so far: values, questions, refusals, dangers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Question, Refusal
from headrace.guardrails.intents.draft import Doubt

if TYPE_CHECKING:
    from headrace.guardrails.intents.draft import Fact
    from headrace.guardrails.intents.values import Location

DANGERS: tuple[tuple[str, tuple[object, ...], str], ...] = (
    ("delete_source", (True,), "delete_source"),
    ("delete_extraneous", (True,), "delete_extraneous"),
    ("on_conflict", ("overwrite", "newer"), "overwrite"),
    ("verify", ("none",), "verify_none"),
    ("encryption", (False,), "encryption_off"),
)
"""Slots whose values a confirmation must show, and what it calls them."""


@dataclass(slots=True)
class Findings:
    """Collects the outcome of one step; asking about a slot takes its value away."""

    values: dict[str, object] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    danger: set[str] = field(default_factory=set)
    placed: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    """The facts that each end was read from."""
    leading: list[Question] = field(default_factory=list)
    """The questions that are asked before all others."""

    def ask(self, slot: str, doubt: Doubt, words: str | None = None) -> None:
        """Ask about a slot, once for the same words."""
        if name := _danger(slot, doubt.reading):
            self.danger.add(name)
        question = Question(slot, doubt.message, words, doubt.choices)
        if question not in self.questions:
            self.questions.append(question)
        if doubt.leads:
            self.leading.append(question)

    def withdraw(self, slot: str, words: str) -> None:
        """Ask no more about a slot for these words: another question says more."""
        self.questions = [one for one in self.questions if (one.slot, one.words) != (slot, words)]

    def put(self, slot: str, value: object, words: str | None = None) -> None:
        """Take a value, a doubt or a refusal for a slot; None is nothing."""
        if isinstance(value, Doubt):
            self.ask(slot, value, words)
        elif isinstance(value, Refusal):
            self.refusals.append(value)
        elif value is not None:
            self.values[slot] = value

    def asked(self) -> set[str]:
        """Give the slots that have a question."""
        return {question.slot for question in self.questions}

    def certain(self) -> dict[str, object]:
        """Give the values of the slots that nothing is asked about."""
        asked = self.asked()
        return {slot: value for slot, value in self.values.items() if slot not in asked}

    def note_dangers(self, source: Location | None) -> None:
        """Note what a confirmation must show, whether or not something is still asked."""
        self.danger |= {name for slot, value in self.values.items() if (name := _danger(slot, value))}
        if source is not None and not source.path.strip("/."):
            self.danger.add("root_source")


def _danger(slot: str, value: object) -> str | None:
    """Name the danger of a value, if it is one."""
    for dangerous, values, name in DANGERS:
        if slot == dangerous and any(value is one or (isinstance(one, str) and value == one) for one in values):
            return name
    return None
