"""Spans: stretches of words that a phrase owns, and what they fill."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact
from headrace.guardrails.language.phrases import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.guardrails.intents.draft import Value
    from headrace.guardrails.language.phrases import Item


@dataclass(frozen=True)
class Chosen:
    """A span that won, and what it fills; courtesy fills nothing."""

    name: str
    facts: tuple[Fact, ...]
    words: str
    first: int
    last: int
    symbols: str = ""
    """Its words as phrases see them, slips mended; a space behind each."""

    @cached_property
    def slots(self) -> frozenset[str]:
        """The slots that it fills."""
        return frozenset(fact.slot for fact in self.facts)

    @cached_property
    def spoken(self) -> str:
        """Its words as phrases spell them."""
        return self.words.lower().replace("\u2019", "'")

    @property
    def opening(self) -> str:
        """The first word, be it a conjunction; empty if it is spoken of a value alone."""
        return self.spoken.partition(" ")[0]

    @property
    def closing(self) -> str:
        """The last word."""
        return self.spoken.rpartition(" ")[2]

    @cached_property
    def first_word(self) -> str:
        """The first word that is no conjunction, without a mark behind it."""
        words = (word.rstrip(",;:") or word for word in self.spoken.split())
        return next((word for word in words if word not in listed("opens_a_part")), "")

    @property
    def is_certain(self) -> bool:
        """Whether it fills something, and nothing of it is a doubt."""
        return bool(self.facts) and not any(isinstance(fact.value, Doubt) for fact in self.facts)

    def says(self, slot: str, value: Value) -> bool:
        """Say whether it fills a slot with a value."""
        return slot in self.slots and any(fact.slot == slot and fact.value == value for fact in self.facts)

    def doubted(self, message: str) -> Chosen:
        """Ask about everything that it fills; what its words say on their face is kept with the question."""
        doubt = Doubt(f"`{self.words}`: {message}")
        return replace(self, facts=tuple(asked(fact, doubt) for fact in self.facts))


def asked(fact: Fact, doubt: Doubt) -> Fact:
    """Give a fact with a doubt in place of its value."""
    reading = fact.value if isinstance(fact.value, str | bool) else None
    return replace(fact, value=replace(doubt, reading=reading))


def owners(spans: Iterable[Chosen]) -> dict[int, Chosen]:
    """Give the span that owns each token."""
    return {token: span for span in spans for token in range(span.first, span.last)}


def within(spans: Iterable[Chosen], first: int, last: int) -> list[Chosen] | None:
    """Give the spans that stand in a range of tokens; nothing if one reaches over its ends."""
    inside = [span for span in spans if span.first < last and first < span.last]
    return inside if all(first <= span.first and span.last <= last for span in inside) else None


def runs_of(items: Iterable[Item]) -> list[list[Item]]:
    """Give the items that stand together."""
    runs: list[list[Item]] = []
    for item in items:
        if runs and runs[-1][-1].last == item.first:
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def in_order(spans: Iterable[Chosen], *more: Chosen) -> list[Chosen]:
    """Give spans in the order of the text."""
    return sorted((*spans, *more), key=lambda span: span.first)


def next_fact(spans: Sequence[Chosen]) -> Chosen | None:
    """Give the first span that fills something."""
    return next((span for span in spans if span.facts), None)
