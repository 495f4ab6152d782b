"""From what somebody sent to a typed intent: slots as they are, changes to an earlier plan, or words."""

from dataclasses import dataclass

from pydantic import ValidationError

from headrace.api.core import Core
from headrace.api.endpoints import Endpoints
from headrace.api.errors import Code, ServiceError
from headrace.client import models as m


@dataclass(frozen=True, slots=True)
class Reading:
    """What was understood: an intent, or the questions and refusals that stand before one."""

    intent: m.TransferIntent | None
    questions: tuple[m.Question, ...] = ()
    refusals: tuple[m.Refusal, ...] = ()
    danger: tuple[str, ...] = ()


class Words:
    """Reads requests."""

    def __init__(self, core: Core, endpoints: Endpoints) -> None:
        """Read what names the endpoints of the registry."""
        self._core = core
        self._endpoints = endpoints

    async def read(self, request: m.PlanRequest, before: m.Plan | None) -> Reading:
        """Read a request to plan; `before` is the earlier plan that a follow-up is about."""
        if request.intent is not None:
            return Reading(request.intent)
        if request.changes is not None:
            return Reading(changed(_intent_of(before), request.changes))
        raise ServiceError(Code.NOT_SUPPORTED_YET, "sentences can't be read yet; send an `intent`", fields=("words",))

    async def interpret(self, request: m.InterpretRequest, before: m.Plan | None) -> m.Interpretation:
        """Read words."""
        raise ServiceError(Code.NOT_SUPPORTED_YET, "sentences can't be read yet", fields=("text",))


def changed(intent: m.TransferIntent, changes: m.Changes) -> m.TransferIntent:
    """Apply a patch to an intent: fields that are given replace, `_add` fields add; the result is checked anew."""
    given = changes.model_dump(exclude_none=True, exclude={"include_add", "exclude_add", "delete_source"})
    merged = intent.model_dump() | given
    merged["include"] = [*merged["include"], *changes.include_add]
    merged["exclude"] = [*merged["exclude"], *changes.exclude_add]
    if changes.delete_source is not None:
        merged["action"] = "move" if changes.delete_source else "copy" if intent.action == "move" else intent.action
    try:
        return m.TransferIntent.model_validate(merged)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise ServiceError(
            Code.INVALID_REQUEST, f"the change to `{where}` does not fit: {error.errors()[0]['msg']}", fields=(where,)
        ) from error


def sentence_of(intent: m.TransferIntent) -> str:
    """Write the intent as a sentence that reads back to the same intent."""
    return f"{intent.action} {intent.source} to {intent.destination}"


def _intent_of(before: m.Plan | None) -> m.TransferIntent:
    if before is None or before.intent is None:
        raise ServiceError(
            Code.PLAN_NOT_READY,
            "the earlier plan holds no complete request to change; say the whole request",
            fields=("plan",),
        )
    return before.intent
