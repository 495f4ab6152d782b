"""The legs of a probe, in the order in which its attempts measure them."""

import json
from typing import Final

from headrace.api.policy.quota_rules import Used
from headrace.client import models as m
from headrace.guardrails import Medium

LEGS: Final[dict[m.LegName, tuple[Medium, Medium]]] = {
    "memory_to_memory": ("memory", "memory"),
    "storage_to_memory": ("storage", "memory"),
    "memory_to_storage": ("memory", "storage"),
    "storage_to_storage": ("storage", "storage"),
}
"""What each reads from and writes to."""
NAMES: Final = tuple(LEGS)


def leg_of(probe: str | None) -> tuple[Medium, Medium] | None:
    """Return what the next attempt of a stored probe reads from and writes to; nothing for what is no probe."""
    return None if probe is None else LEGS[NAMES[len(json.loads(probe))]]


def most_of(max_bytes: int, max_files: int, *, probe: bool) -> Used:
    """Return what a transfer with these ceilings takes at most; a probe takes them for each of its legs."""
    legs = len(LEGS) if probe else 1
    return Used(legs * max_bytes, legs * max_files, 1)
