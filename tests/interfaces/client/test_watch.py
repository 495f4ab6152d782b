from typing import Any

import pytest
from tests.interfaces.client.scripted import Answer, Script, answer, hang_up, problem, stream

from headrace.client import HeadraceError, HttpHeadrace, watch, wire
from headrace.client import models as m

pytestmark = pytest.mark.anyio

AT = "2026-11-25T14:30:00Z"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "RETRY_DELAYS_S", (0.0, 0.0))
    monkeypatch.setattr(watch, "RECONNECT_DELAYS_S", (0.0, 0.0, 0.0))


def transfer(state: str) -> dict[str, Any]:
    return {
        "id": "tr_1", "plan": "pl_1", "plan_digest": "0" * 64, "state": state, "requester": "anna", "action": "copy",
        "source": "a:/x", "destination": "b:/x", "created": AT,
    }  # fmt: skip


def event(sequence: int, kind: str = "note", state: str | None = None) -> dict[str, Any]:
    carried = transfer(state) if state else None
    return {"sequence": sequence, "at": AT, "kind": kind, "message": f"event {sequence}", "transfer": carried}


def kept(*events: dict[str, Any]) -> Answer:
    return answer({"items": events})


async def watched(script: Script) -> list[m.TransferEvent]:
    async with HttpHeadrace(script.url) as port:
        return [event async for event in port.watch("tr_1")]


async def test_events_come_until_the_transfer_ends(script: Script) -> None:
    script.answers = [stream((1, event(1)), (2, event(2, "ended", "complete")), (3, event(3)))]
    seen = await watched(script)
    assert [event.sequence for event in seen] == [1, 2]
    assert script.seen[0].headers["accept"] == "text/event-stream"


async def test_a_broken_stream_is_taken_up_after_the_last_event(script: Script) -> None:
    script.answers = [
        stream((1, event(1)), (2, event(2))),
        answer(transfer("running")),
        kept(),
        stream((3, event(3, "ended", "complete"))),
    ]
    assert [event.sequence for event in await watched(script)] == [1, 2, 3]
    assert "last-event-id" not in script.seen[0].headers
    assert script.seen[-1].headers["last-event-id"] == "2"


async def test_progress_does_not_move_the_place_to_go_on_from(script: Script) -> None:
    script.answers = [
        stream((1, event(1)), (1, event(9, "progress", "running"))),
        answer(transfer("running")),
        kept(),
        stream((2, event(2, "ended", "failed"))),
    ]
    await watched(script)
    assert script.seen[-1].headers["last-event-id"] == "1"


async def test_an_end_that_the_stream_missed_is_found(script: Script) -> None:
    script.answers = [stream((1, event(1))), answer(transfer("partial")), kept(event(2)), kept()]
    seen = await watched(script)
    assert [event.sequence for event in seen] == [1, 2, 2]
    assert seen[-1].transfer is not None
    assert seen[-1].transfer.state == m.TransferState.PARTIAL


async def test_a_restarting_service_is_waited_for(script: Script) -> None:
    script.answers = [
        stream((1, event(1))),
        *[hang_up] * 6,
        answer(transfer("running")),
        kept(),
        stream((2, event(2, "ended", "complete"))),
    ]
    assert [event.sequence for event in await watched(script)] == [1, 2]


async def test_a_service_that_stays_away_is_an_error_in_the_end(script: Script) -> None:
    script.answers = [stream((1, event(1))), *[hang_up] * 50]
    with pytest.raises(HeadraceError) as caught:
        await watched(script)
    assert caught.value.problem.code == "service_unreachable"


async def test_where_streams_do_not_get_through_polling_takes_over(script: Script) -> None:
    page = answer(b"<html>no streams here</html>", kind="text/html")
    script.answers = [
        page, answer(transfer("running")), kept(),
        page, answer(transfer("running")), kept(),
        answer(transfer("running")), kept(event(1)), kept(),
        answer(transfer("complete")), kept(event(2, "ended", "complete")), kept(),
    ]  # fmt: skip
    seen = await watched(script)
    assert [(event.sequence, event.kind) for event in seen] == [(1, "note"), (1, "progress"), (2, "ended")]
    assert sum(request.path.endswith("/watch") for request in script.seen) == 2
    assert any("wait_s=2" in request.path for request in script.seen)


async def test_an_unknown_transfer_is_said_at_once(script: Script) -> None:
    script.answers = [problem("unknown_transfer", 404)]
    with pytest.raises(HeadraceError) as caught:
        await watched(script)
    assert caught.value.problem.code == "unknown_transfer"
    assert len(script.seen) == 1
