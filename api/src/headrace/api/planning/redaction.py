"""Names that assistants are not told: those below an endpoint, or a folder of one, with the label `names=restricted`.

`withheld` decides it, `redacted` leaves them out of whatever is shown. Counts, sizes, states and codes stay. Of what
another assistant or the person planned (a token with `transfer:read:all`), the places and words are left out as well:
they are names, too, and not ones that this assistant was told or chose.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Final, TypeVar

from headrace.api.caller import Caller
from headrace.api.planning.locations import asker_of, at
from headrace.api.sites.endpoints import Endpoints, Known
from headrace.api.sites.halts import PlanEnd, ends_of
from headrace.api.store import Tx
from headrace.api.store.documents import stored
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.client import models as m
from headrace.guardrails import IS_PART, Refused, ResolvedEndpoint, names_withheld

WITHHELD: Final = "The details hold names that are withheld from assistants; the requester sees them."
_PATH: Final = "…"
_PLACES_TOLD: Final = (IS_PART, "without `")
"""What stands at a place in a reason, and in what would be allowed instead."""
_T = TypeVar("_T", m.Plan, m.Transfer, m.TransferEvent, m.FailedFile)


class Redaction:
    """Knows below which endpoints names are withheld from a caller."""

    def __init__(self, endpoints: Endpoints) -> None:
        """Look at the labels that endpoints have now."""
        self._endpoints = endpoints

    async def withheld(self, tx: Tx, caller: Caller, plans: Sequence[PlanRow]) -> list[bool]:
        """Say of each plan whether its names are withheld from the caller; what can't be found out is."""
        if caller.principal.agent is None:
            return [False] * len(plans)
        known = await self._endpoints.registry(tx)
        asker = asker_of(caller.principal)
        return [
            (not is_own(caller, plan) and tells_places(plan.card))
            or any(
                place is None or names_withheld(asker, place, below=True)
                for place in _places(plan, known, own=is_own(caller, plan))
            )
            for plan in plans
        ]


def tells_places(text: str) -> bool:
    """Whether a text of a decision names places that rules name.

    They were told to who asked. A person may list what an assistant may not, which so is told of none of them.
    """
    return any(mark in text for mark in _PLACES_TOLD)


def is_own(caller: Caller, row: PlanRow | TransferRow) -> bool:
    """Whether the caller planned it itself, and so knows its words and places.

    Assistants of two people may have one name.
    """
    return (row.requester, row.agent) == (caller.principal.id, caller.principal.agent)


@singledispatch
def _redact(shown: object, *, own: bool) -> object:
    raise TypeError(type(shown), own)


def redacted(shown: _T, *, own: bool) -> _T:
    """Leave the names from storage out of what is shown; and places and words, unless they are the assistant's own."""
    found = _redact(shown, own=own)
    assert isinstance(found, type(shown))  # noqa: S101 - each of the functions below answers its own kind
    return found


@_redact.register
def _plan(plan: m.Plan, *, own: bool) -> m.Plan:
    decided = not own and any(map(tells_places, (plan.state_reason, plan.next_step.message)))
    unclear = decided or bool(plan.refusals) or plan.state is m.PlanState.FAILED
    update: dict[str, object] = {
        "names_withheld": True,
        "survey": plan.survey and plan.survey.model_copy(update={sample: [] for sample in _SAMPLES}),
        "refusals": [m.Refusal(rule=one.rule, message=WITHHELD) for one in plan.refusals],
        "approvals": [one.model_copy(update={"reason": ""}) for one in plan.approvals],
    }
    if unclear:
        update |= {
            "summary": WITHHELD,
            "state_reason": WITHHELD,
            "next_step": plan.next_step.model_copy(update={"message": WITHHELD}),
        }
    if not own:
        kept = {quota.subject for quota in plan.quotas if quota.of == "destination"}
        update |= {
            "words": None,
            "quotas": [
                one.model_copy(update={"subject": _place(one.subject)}) if one.subject in kept else one
                for one in plan.quotas
            ],
            "warnings": [WITHHELD if any(place in said for place in kept) else said for said in plan.warnings],
            "canonical_sentence": None,
            "origins": [one.model_copy(update={"words": []}) for one in plan.origins],
            "questions": [],
            "notes": [],
            "summary": WITHHELD,
            "document": None,
            "decision": plan.decision and _decision(plan.decision),
            "intent": plan.intent
            and plan.intent.model_copy(
                update={
                    "source": _place(plan.intent.source),
                    "destination": _place(plan.intent.destination),
                    "include": [],
                    "exclude": [],
                }
            ),
        }
    return plan.model_copy(update=update)


def _decision(decision: m.Decision) -> m.Decision:
    """Leave out which places decided; which rules did, and what is asked, stays."""
    rules = [
        m.Rule(id=rule.id, reason=WITHHELD if tells_places(rule.reason) else rule.reason) for rule in decision.rules
    ]
    kept = [one for one in decision.alternatives if not tells_places(one.words)]
    why = WITHHELD if tells_places(decision.why) else decision.why
    return decision.model_copy(update={"rules": rules, "alternatives": kept, "why": why})


@_redact.register
def _transfer(transfer: m.Transfer, *, own: bool) -> m.Transfer:
    # What nodes say of an error may name files.
    error = transfer.error and transfer.error.model_copy(update={"detail": WITHHELD})
    spoken = transfer.state in {m.TransferState.QUEUED, m.TransferState.PAUSED, m.TransferState.CANCELED}
    spoken = spoken and (own or not tells_places(transfer.state_reason))
    reason = transfer.state_reason if spoken or not transfer.state_reason else WITHHELD
    update: dict[str, object] = {
        "names_withheld": True,
        "error": error,
        "state_reason": reason,
        "next_step": transfer.next_step if spoken else transfer.next_step.model_copy(update={"message": reason}),
        "summary": f"The {transfer.action} is {transfer.state}. {reason}".strip(),
    }
    if not own:
        update |= {
            "source": _place(transfer.source),
            "destination": _place(transfer.destination),
            "canonical_sentence": "",
        }
    return transfer.model_copy(update=update)


@_redact.register
def _event(event: m.TransferEvent, *, own: bool) -> m.TransferEvent:
    transfer = event.transfer and _transfer(event.transfer, own=own)
    return event.model_copy(update={"message": event.message and WITHHELD, "transfer": transfer})


@_redact.register
def _failed(failed: m.FailedFile, *, own: bool) -> m.FailedFile:  # noqa: ARG001 - one form for all kinds
    return failed.model_copy(update={"path": "", "message": WITHHELD})


_SAMPLES: Final = ("sample", "overwrites_sample", "deletes_sample", "conflicts_sample")


def _place(location: str) -> str:
    endpoint, _, _ = location.partition(":")
    return f"{endpoint}:/{_PATH}"


def _places(plan: PlanRow, known: Sequence[Known], *, own: bool) -> list[ResolvedEndpoint | None]:
    """Return the folders that a plan is about as they are now, `None` for one whose endpoint is gone."""
    if plan.document is not None:
        return [_found(end, known) for end in ends_of(plan.document)] or [None]
    card = stored(m.Plan, plan.card)
    if card.intent is None:
        # Words that are not understood may name any place; the assistant that said them knows them.
        return [] if own else [at(one, "/") for one in known]
    locations = [location.partition(":") for location in (card.intent.source, card.intent.destination)]
    found = [(next((one for one in known if one.is_named(name)), None), path) for name, _, path in locations]
    return [_at(one, path) if one else None for one, path in found]


def _found(end: PlanEnd, known: Sequence[Known]) -> ResolvedEndpoint | None:
    one = next((one for one in known if (one.node_key, one.root) == (end.node, end.root)), None)
    return replace(at(one, "/"), path=end.path) if one else None


def _at(known: Known, path: str) -> ResolvedEndpoint:
    """Return the place at a path; of one that can't be read, the whole endpoint."""
    try:
        return at(known, path)
    except Refused:
        return at(known, "/")
