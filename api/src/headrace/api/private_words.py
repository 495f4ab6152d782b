"""What people write for people: why they paused, canceled, retried, slowed down, refused or halted something.

It is always told in quotes after a colon, as in `paused by ada: “the beam is off”`. Assistants are told what happened
and by whom, by text and by codes, and never these words: they may be private, and they may read like instructions.
"""

import re
from typing import Final, TypeVar

from headrace.client import models as m

_QUOTED: Final = re.compile(r": “[^”]*(?:”|\Z)")
"""A quotation that does not end was cut off on its way, as by a node that keeps only the beginning of a reason."""
_T = TypeVar("_T", m.Plan, m.Transfer, m.TransferEvent, m.Problem, m.Health)
_TEXTS: Final = ("state_reason", "summary", "message", "detail")


def because(said: str, reason: str) -> str:
    """Say what happened and why, in a person's own words; nothing when they gave none."""
    words = reason.replace("”", '"')
    return f"{said}: “{words}”" if words else said


def without_private_words(shown: _T) -> _T:
    """Leave out of what an assistant is shown what people wrote for people."""
    texts = {name: _QUOTED.sub("", getattr(shown, name)) for name in _TEXTS if name in type(shown).model_fields}
    match shown:
        case m.Plan():
            more: dict[str, object] = {
                "next_step": _step(shown.next_step),
                "allowed_actions": [_action(one) for one in shown.allowed_actions],
                "refusals": [
                    one.model_copy(update={"message": _QUOTED.sub("", one.message)}) for one in shown.refusals
                ],
                "approvals": [one.model_copy(update={"reason": ""}) for one in shown.approvals],
            }
        case m.Transfer():
            more = {
                "next_step": _step(shown.next_step),
                "allowed_actions": [_action(one) for one in shown.allowed_actions],
                "error": without_private_words(shown.error) if shown.error else None,
            }
        case m.TransferEvent():
            more = {"transfer": without_private_words(shown.transfer) if shown.transfer else None}
        case m.Health():
            more = {"halted": shown.halted and "an operator has halted everything"}
        case _:
            more = {}
    return shown.model_copy(update=texts | more)


def _step(step: m.NextStep) -> m.NextStep:
    return step.model_copy(update={"message": _QUOTED.sub("", step.message)})


def _action(action: m.AllowedAction) -> m.AllowedAction:
    return action.model_copy(update={"reason": _QUOTED.sub("", action.reason)})
