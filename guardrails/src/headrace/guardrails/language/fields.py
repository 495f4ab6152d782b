"""Fields of forms: a label before `:` or `=` or in brackets becomes one word, the name of its group in the grammar."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact
from headrace.guardrails.language.grammar import pattern_of
from headrace.guardrails.language.phrases import listed, members
from headrace.guardrails.language.scope import FIELD, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item
    from headrace.guardrails.language.spans import Chosen

_SEPARATORS = frozenset({":", "="})
# What a field may follow: the end of another, a bullet, a bracket.
_STARTS = frozenset({".", ";", ",", "-", ":", "?", "!", "<open>", "<close>", "and", "with"})
_NAMES = frozenset({"<glob>", "<file>"})
_LONGEST = 6
_SEVERAL = 2


@cache
def _labels() -> re.Pattern[str]:
    """Compile the labels when they are needed first: that takes a quarter of a second."""
    return re.compile(
        "|".join(
            f"(?P<{name}>{pattern_of(f'[{{label_before}}] [{{label_before}}] ({{label.{name}}}) [{{label_after}}]')})"
            # "Requested by" is who asks, not a deadline.
            for name in sorted(members("label"), key=lambda name: name != "note")
        )
    )


def label_of(words: str) -> str:
    """Give the name of the group that a label belongs to, or nothing."""
    match = _labels().fullmatch(f"{re.sub('[_-]', ' ', words)} ")
    return (match.lastgroup or "") if match else ""


def labelled(items: Sequence[Item]) -> list[Item]:
    """Write each label of a field as one word and a colon, however it is spelled."""
    result: list[Item] = []
    in_form = False
    for at, item in enumerate(items):
        closes = item.symbol == "<close>" and item.text == "]"
        label = (
            _before(result, in_form=in_form, bracket=closes, assigned=item.symbol == "=")
            if closes or item.symbol in _SEPARATORS
            else None
        )
        if item.symbol == ":" and result and result[-1].symbol == ":" and items[at - 1].symbol == "<close>":
            result[-1] = replace(result[-1], last=item.last)
        elif label is not None:
            first, name = label
            result[first:] = [
                replace(result[first], symbol=name, last=item.first, text=name),
                replace(item, symbol=":", value=None),
            ]
            in_form = True
        else:
            result.append(item)
    return result


def apart(chosen: Sequence[Chosen]) -> list[Chosen]:
    """Ask of what transfer a form is that holds options and nothing else."""
    fields = [span for span in chosen if span.name.startswith(FIELD)]
    if len(fields) < _SEVERAL or not all(span.slots <= OPTIONS for span in chosen):
        return list(chosen)
    doubt = Doubt("say what these are options of: a new transfer with source and destination, or one that exists")
    one = fields[0]
    asked = replace(one, facts=(*one.facts, Fact("action", doubt, one.words, one.first, one.last)))
    return [asked if span is one else span for span in chosen]


def _before(items: Sequence[Item], *, in_form: bool, bracket: bool, assigned: bool) -> tuple[int, str] | None:
    """Give where the label that ends here begins, and its name: the longest one that opens a field."""
    for first in range(max(0, len(items) - _LONGEST), len(items)):
        opened = first > 0 and items[first - 1].symbol == "<open>" and items[first - 1].text == "["
        starts = first == 0 or in_form or items[first - 1].symbol in _STARTS or items[first - 1].value is not None
        # "copy src=krios1:/a": one word before such a mark is a label wherever it stands.
        starts = starts or (assigned and first == len(items) - 1)
        if any(item.value is not None for item in items[first:]) or not (opened if bracket else starts):
            continue
        behind_names = first > 0 and items[first - 1].symbol in _NAMES and not in_form
        if behind_names and first == len(items) - 1 and items[first].symbol in listed("ends_names"):
            continue
        if name := label_of(" ".join(item.symbol for item in items[first:])):
            return first - bracket, name
    return None
