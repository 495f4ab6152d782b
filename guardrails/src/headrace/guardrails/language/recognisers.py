"""All recognisers together, and the words that they know."""

from __future__ import annotations

from headrace.guardrails.language import (
    actions,
    controls,
    courtesy,
    deletes,
    filters,
    flags,
    followups,
    foreign,
    options,
    places,
    rates,
    refusals,
    schedules,
    steps,
)
from headrace.guardrails.language.clock import CLOCK_WORDS
from headrace.guardrails.language.cues import CUES
from headrace.guardrails.language.days import DAY_WORDS
from headrace.guardrails.language.lengths import LENGTH_WORDS
from headrace.guardrails.language.numbers import NUMBER_WORDS
from headrace.guardrails.language.phrases import KNOWN_WORDS
from headrace.guardrails.language.units import UNIT_WORDS
from headrace.guardrails.language.zones import ZONE_WORDS

# Earlier rules win when two spans of the same length fill different slots in a harmless way.
RULES = (
    *refusals.RULES,
    *flags.RULES,
    *places.RULES,
    *deletes.RULES,
    *options.RULES,
    *rates.RULES,
    *filters.RULES,
    *schedules.RULES,
    *actions.RULES,
    *controls.RULES,
    *followups.RULES,
    *steps.RULES,
    *foreign.RULES,
    *CUES,
    *courtesy.RULES,
)

KNOWN = frozenset(KNOWN_WORDS | CLOCK_WORDS | DAY_WORDS | LENGTH_WORDS | NUMBER_WORDS | UNIT_WORDS | ZONE_WORDS)
