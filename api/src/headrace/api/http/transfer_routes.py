"""Routes: transfers, their events, receipts."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from headrace.api.http.identity import Id, LastId, Port, Sequence, gate_of
from headrace.api.http.plan_routes import (
    AfterPlace,
    LongPage,
    OfAgent,
    OfEndpoint,
    OfLabel,
    OfPerson,
    OfProject,
    ShortPage,
    Since,
    Until,
    Wait,
    several,
)
from headrace.api.http.streams import chunks, event_stream
from headrace.api.paging import AFTER_NUMBER
from headrace.client import models as m
from headrace.client.port import Order

router = APIRouter(tags=["transfers"])

After = Annotated[str | None, Query(pattern=AFTER_NUMBER, description="`next` of the page before")]
States = Annotated[str, several(m.TransferState)]
Search = Annotated[str, Query(max_length=200, description="words, each part of an id, a place or the requester's name")]
From = Annotated[m.AwareMoment | None, Query(description="where the range begins")]
To = Annotated[m.AwareMoment | None, Query(description="where it ends; no later than now")]


@router.post("/transfers", status_code=201)
async def submit(port: Port, body: m.SubmitRequest) -> m.Transfer:
    """Run a ready plan named by its digest; again, it answers with the transfer there is."""
    return await port.submit(body)


@router.get("/transfers")
async def transfers(  # noqa: PLR0913 - one parameter each filter
    port: Port,
    *,
    state: m.TransferState | None = None,
    states: States = "",
    endpoint: OfEndpoint = "",
    label: OfLabel = "",
    person: OfPerson = "",
    agent: OfAgent = "",
    project: OfProject = "",
    search: Search = "",
    since: Since = None,
    until: Until = None,
    order: Order = "newest",
    limit: ShortPage = 50,
    after: LastId = None,
) -> m.Page[m.Transfer]:
    """List the transfers that the caller may see, newest first, or in the order `oldest`."""
    return await port.transfers(
        state=state,
        states=states.split(",") if states else [],
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


@router.get("/transfers/counts")
async def transfer_counts(  # noqa: PLR0913 - one parameter each filter
    port: Port,
    *,
    endpoint: OfEndpoint = "",
    label: OfLabel = "",
    person: OfPerson = "",
    agent: OfAgent = "",
    project: OfProject = "",
    search: Search = "",
    since: Since = None,
    until: Until = None,
) -> m.TransferCounts:
    """Count the transfers that the caller may see, by state; exact up to 1,000."""
    return await port.transfer_counts(
        endpoint=endpoint,
        label=label,
        person=person,
        agent=agent,
        project=project,
        search=search,
        since=since,
        until=until,
    )


@router.get("/transfers/{transfer}")
async def transfer(port: Port, transfer: Id, *, wait_s: Wait = 0) -> m.Transfer:
    """Return a transfer by id or unique prefix of its id."""
    return await port.transfer(transfer, wait_s=wait_s)


@router.post("/transfers/{transfer}/control")
async def control(port: Port, transfer: Id, body: m.ControlRequest) -> m.Transfer:
    """Pause, resume or cancel a transfer, try it again, or change its rate."""
    return await port.control(transfer, body)


@router.get("/transfers/{transfer}/events")
async def transfer_events(
    port: Port, transfer: Id, *, after: After = None, limit: LongPage = 200, order: Order = "oldest"
) -> m.Page[m.TransferEvent]:
    """List kept events in order; with `order=newest` from the last (or the one before `after`) backwards."""
    return await port.transfer_events(transfer, after=after, limit=limit, order=order)


@router.get(
    "/transfers/{transfer}/watch",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def watch(
    request: Request, port: Port, transfer: Id, last_event_id: Annotated[Sequence, Header()] = 0
) -> StreamingResponse:
    """Stream events and progress until the transfer ends: `event` is the kind, `data` a TransferEvent."""
    found = port.watch(transfer, after=last_event_id)
    first = await anext(found)  # what stands against watching is refused before the answer begins
    return event_stream(found, gate_of(request).settings.heartbeat_s, first)


@router.get("/transfers/{transfer}/diagnosis")
async def diagnose(port: Port, transfer: Id) -> m.Diagnosis:
    """Say what limits a transfer now, or what limited its last attempt."""
    return await port.diagnose(transfer)


@router.get("/transfers/{transfer}/measured")
async def measured(port: Port, transfer: Id) -> m.Measured:
    """Show what both nodes measured of a transfer's data connections and stages: now, or over its last attempt."""
    return await port.measured(transfer)


@router.get("/transfers/{transfer}/probe")
async def probed(port: Port, transfer: Id) -> m.Probed:
    """Show what a probe has measured: the rates of its legs, and which stage is the tightest."""
    return await port.probed(transfer)


@router.get("/transfers/{transfer}/throughput")
async def throughput(port: Port, transfer: Id, *, since: From = None, until: To = None) -> m.Throughput:
    """Show how fast a transfer was over time: from its start to its end or now, unless a range is given."""
    return await port.throughput(transfer, since=since, until=until)


@router.get("/transfers/{transfer}/failed")
async def failed_files(
    port: Port, transfer: Id, *, after: AfterPlace = None, limit: LongPage = 200
) -> m.Page[m.FailedFile]:
    """List files that did not arrive."""
    return await port.failed_files(transfer, after=after, limit=limit)


@router.get("/receipts/{receipt}")
async def receipt(port: Port, receipt: Id) -> m.Receipt:
    """Return a receipt by its id or its transfer's id."""
    return await port.receipt(receipt)


@router.get(
    "/receipts/{receipt}/files",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def receipt_files(port: Port, receipt: Id) -> StreamingResponse:
    """Stream the per-file list whose digest the receipt's statements hold, one JSON object a line."""
    found = await port.receipt(receipt)
    listed = port.receipt_files(found.id)
    first = await anext(listed, b"")  # a missing list is refused before the answer begins
    return chunks(listed, first, "application/x-ndjson")
