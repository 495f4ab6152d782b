"""Routes: words, plans, confirmations, approvals."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query

from headrace.api.http.identity import Id, LastId, Port
from headrace.api.paging import AFTER_PLACE, MAX_LONG_PAGE, MAX_PAGE
from headrace.client import models as m
from headrace.client.port import Order

router = APIRouter(tags=["plans"])

Since = Annotated[m.AwareMoment | None, Query(description="only what was made then or later")]
Until = Annotated[m.AwareMoment | None, Query(description="only what was made before")]
OfEndpoint = Annotated[str, Query(max_length=120, description="only those from or to this endpoint (id or alias)")]
OfLabel = Annotated[
    str, Query(max_length=250, description="only those from or to an endpoint with this label: `name=value`, or a name")
]
OfPerson = Annotated[str, Query(max_length=200, description="only those of this person (id or name)")]
OfAgent = Annotated[str, Query(max_length=120, description="only those that this assistant planned")]
OfProject = Annotated[str, Query(max_length=120, description="only those for this project")]


def several(states: type[StrEnum]) -> object:
    """Declare a parameter that takes several states."""
    one = "|".join(states)
    return Query(pattern=f"^(({one})(,({one}))*)?$", max_length=200, description="several, with commas between")


PlanStates = Annotated[str, several(m.PlanState)]
ShortPage = Annotated[int, Query(ge=1, le=MAX_PAGE)]
LongPage = Annotated[int, Query(ge=1, le=MAX_LONG_PAGE)]
AfterPlace = Annotated[str | None, Query(pattern=AFTER_PLACE, max_length=40, description="`next` of the page before")]
"""Where a page of a list that is a file goes on."""
Wait = Annotated[float, Query(ge=0, le=30, description="wait at most so many seconds for it to settle")]


@router.post("/interpretations")
async def interpret(port: Port, body: m.InterpretRequest) -> m.Interpretation:
    """Read words without planning; nothing is listed or moved."""
    return await port.interpret(body)


@router.post("/plans", status_code=202)
async def create_plan(port: Port, body: m.PlanRequest) -> m.Plan:
    """Start planning; answers at once, usually in state `surveying`."""
    return await port.create_plan(body)


@router.get("/plans")
async def plans(  # noqa: PLR0913 - one parameter each filter
    port: Port,
    state: m.PlanState | None = None,
    *,
    states: PlanStates = "",
    awaiting_me: bool = False,
    endpoint: OfEndpoint = "",
    label: OfLabel = "",
    person: OfPerson = "",
    agent: OfAgent = "",
    project: OfProject = "",
    search: Annotated[str, Query(max_length=200, description="words, each in an id, the words or the sentence")] = "",
    since: Since = None,
    until: Until = None,
    order: Order = "newest",
    limit: ShortPage = 50,
    after: LastId = None,
) -> m.Page[m.Plan]:
    """List the caller's plans (or a person's that the caller may see), or others' that wait for the caller."""
    return await port.plans(
        state=state,
        states=states.split(",") if states else [],
        awaiting_me=awaiting_me,
        endpoint=endpoint,
        label=label,
        person=person,
        agent=agent,
        project=project,
        search=search,
        since=since,
        until=until,
        order=order,
        limit=limit,
        after=after,
    )


@router.get("/plans/counts")
async def plan_counts(port: Port) -> m.PlanCounts:
    """Count the plans that wait for the caller's approval, and the caller's own that could still start."""
    return await port.plan_counts()


@router.get("/plans/{plan}")
async def plan(port: Port, plan: Id, *, wait_s: Wait = 0, document: bool = False) -> m.Plan:
    """Return a plan by id or digest, with its sealed document when asked for."""
    return await port.plan(plan, wait_s=wait_s, document=document)


@router.post("/plans/{plan}/confirmations")
async def confirm_plan(port: Port, plan: Id, body: m.Confirmation) -> m.Plan:
    """Give or decline the requester's own yes; needs an interactive session."""
    return await port.confirm_plan(plan, body)


@router.post("/plans/{plan}/approvals")
async def approve_plan(port: Port, plan: Id, body: m.Approval) -> m.Plan:
    """Give or refuse another person's yes; needs an interactive session."""
    return await port.approve_plan(plan, body)


@router.post("/plans/{plan}/drop")
async def drop_plan(port: Port, plan: Id) -> m.Plan:
    """Give up the caller's own plan that has not started."""
    return await port.drop_plan(plan)


@router.get("/plans/{plan}/why")
async def why(port: Port, plan: Id) -> m.Decision:
    """Explain the decision on a plan, with its rules."""
    return await port.why(plan)


@router.get("/plans/{plan}/losses")
async def losses(
    port: Port, plan: Id, *, how: m.LossKind | None = None, after: AfterPlace = None, limit: LongPage = 200
) -> m.LossPage:
    """List what a plan replaces at its destination, then what it deletes there, name by name; nothing is moved."""
    return await port.losses(plan, how=how, after=after, limit=limit)
