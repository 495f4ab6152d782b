"""What interpreting gives back: an intent, questions, or refusals, with the words behind each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from headrace.guardrails.intents.origins import Quote, Said
    from headrace.guardrails.intents.values import Intent


@dataclass(frozen=True, slots=True)
class Span:
    """Some words and how they were read; `start` and `end` count code points of the text."""

    start: int
    end: int
    text: str
    slot: str
    reading: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer to a question: the words to write, and what they would mean."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Question:
    """Something that is missing or has several readings.

    `words` is what it is about, if any, and `start` and `end` are where these words stand in the text, in code
    points; None when they stand in several places or in none.
    """

    slot: str
    message: str
    words: str | None = None
    choices: tuple[Choice, ...] = ()
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that no answer can make right: the rule, why, and the words."""

    rule: str
    message: str
    words: str


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The reading of one request.

    With `ask` the intent holds what is certain nevertheless; with `refuse` it is empty. `danger`
    lists what a confirmation must show, sorted. `said` names the words behind each slot, of a request of one step;
    nothing of a slot that is asked about. `left_out` are the words that a language model took for background, and
    `by_model` the slots that rest on that.
    """

    outcome: Literal["intent", "ask", "refuse"]
    intent: Intent
    questions: tuple[Question, ...] = ()
    danger: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    said: tuple[Said, ...] = ()
    left_out: tuple[Quote, ...] = ()
    by_model: frozenset[str] = frozenset()

    @property
    def ask(self) -> tuple[str, ...]:
        """The slots that are asked about, sorted, each once."""
        return tuple(sorted({question.slot for question in self.questions}))

    def to_json(self) -> dict[str, object]:
        """Give the scored form: outcome, intent, ask, danger."""
        return {
            "outcome": self.outcome,
            "intent": self.intent.to_json(),
            "ask": list(self.ask),
            "danger": list(self.danger),
        }
