"""Routes: what changes."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from headrace.api.http.identity import Port, Sequence, gate_of
from headrace.api.http.streams import event_stream

router = APIRouter(tags=["events"])


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def changes(
    request: Request,
    port: Port,
    after: Annotated[Sequence | None, Query(description="begin after this number; else with what happens now")] = None,
    last_event_id: Annotated[Sequence | None, Header()] = None,
) -> StreamingResponse:
    """Stream what changes: `event` is the kind, `id` the number to resume after, `data` a Change."""
    begin = after if last_event_id is None else last_event_id
    found = port.changes(after=begin)
    first = await anext(found)  # what stands against it is refused before the answer begins
    return event_stream(found, gate_of(request).settings.heartbeat_s, first)
