"""Where the slots of a plan come from, in words for people: one home for the terminal and for assistants."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size, visible

SLOT_NAMES: Final = {
    "action": "action",
    "source": "from",
    "destination": "to",
    "include": "only these names",
    "exclude": "names left out",
    "min_size_bytes": "smallest file",
    "max_size_bytes": "largest file",
    "modified_after": "changed since",
    "modified_before": "changed before",
    "start": "start",
    "deadline": "done by",
    "window": "hours",
    "repeat": "repetition",
    "rate_limit_bps": "rate limit",
    "priority": "priority",
    "encryption": "encryption",
    "verify": "verification",
    "on_conflict": "files that differ at the destination",
    "compare": "comparison",
    "delete_source": "delete the source",
    "delete_extraneous": "delete what the source does not hold",
    "preserve": "metadata kept",
    "project": "project",
}
"""What people call the slots."""


def added(plan: m.Plan) -> list[str]:
    """Name what no person said or typed, each with its value: `rate limit: 2.00 Gb/s`."""
    return [f"{_name(one.slot)}: {_value(plan, one.slot)}" for one in plan.origins if one.origin == "assistant"]


def origin_lines(plan: m.Plan, origin: m.Origin) -> Iterator[tuple[str, str]]:
    """Give the slots of one origin, each with where it comes from: `from the words: “skip *.tmp”`."""
    return ((_name(one.slot), origin_text(one, plan.agent)) for one in plan.origins if one.origin == origin)


def origin_text(origin: m.SlotOrigin, agent: str | None = None) -> str:
    """Say where a slot comes from."""
    match origin.origin:
        case "said":
            words = ", ".join(f"“{visible(quote.text, 200)}”" for quote in origin.words)
            return f"from the words of the earlier plan: {words}" if origin.plan else f"from the words: {words}"
        case "typed":
            return "typed"
        case "assumed":
            return "Headrace's default"
        case "assistant":
            return f"added by the assistant{f' {visible(agent)}' if agent else ''}, not in the words"
        case "model":
            words = ", ".join(f"“{visible(quote.text, 200)}”" for quote in origin.words)
            return f"from the words: {words}, if a language model is right that others are background"


def _name(slot: str) -> str:
    return SLOT_NAMES.get(slot, visible(slot))


def _value(plan: m.Plan, slot: str) -> str:
    if slot == "delete_source":
        return "yes" if plan.intent is not None and plan.intent.action == "move" else "no"
    value = getattr(plan.intent, slot, None)
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return bit_rate(value) if slot == "rate_limit_bps" else byte_size(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="minutes")
    return visible(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value), 300)
