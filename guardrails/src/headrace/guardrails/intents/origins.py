"""Where each slot of a plan comes from: who said it, in which words, or that nobody did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias


class OriginKind(StrEnum):
    """Where the value of a slot comes from."""

    SAID = "said"
    """The words of the request carry it."""
    TYPED = "typed"
    """A person gave it as a typed slot."""
    ASSUMED = "assumed"
    """Nobody gave it: Headrace's default."""
    ASSISTANT = "assistant"
    """An assistant gave it as a typed slot, and the person's words do not carry it."""
    MODEL = "model"
    """The words carry it, if a language model of the service is right that others are background."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch of a request, with its place in it in code points."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """What words say of one slot (in the names of `Intent`): the value, None for its default, and which words."""

    slot: str
    value: object
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a slot's value comes from; the words are those of the earlier plan `plan`, if that is set."""

    kind: OriginKind
    quotes: tuple[Quote, ...] = ()
    plan: str | None = None


Origins: TypeAlias = Mapping[str, Origin]
"""Slots in the names of `SLOTS`; one that is left out is assumed."""

SLOTS: Final = (
    "action",
    "source",
    "destination",
    "include",
    "exclude",
    "min_size_bytes",
    "max_size_bytes",
    "modified_after",
    "modified_before",
    "start",
    "deadline",
    "window",
    "repeat",
    "rate_limit_bps",
    "priority",
    "encryption",
    "verify",
    "on_conflict",
    "compare",
    "delete_source",
    "delete_extraneous",
    "preserve",
    "project",
)
"""The slots of a plan that have an origin."""
SPELLED: Final[Mapping[str, str]] = {"min_size": "min_size_bytes", "max_size": "max_size_bytes"}
"""Slots of `Intent` that plans call otherwise."""


def kinds_of(origins: Origins) -> dict[str, str]:
    """Give the origin of every slot, by its name."""
    return {slot: (origins[slot].kind if slot in origins else OriginKind.ASSUMED).value for slot in SLOTS}
