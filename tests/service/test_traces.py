"""Traces say what becomes of a request, to a real receiver, and nothing about people and their data."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from importlib import util
from pathlib import Path
from typing import Final

import httpx2
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from tests.servers.otlp import Receiver, otlp_receiver, said
from tests.servers.ports import free_port
from tests.servers.site import Site, started_site
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until_durable

from headrace.api.app.compose import read_files
from headrace.api.app.web import create_app
from headrace.api.clock import utc_now
from headrace.api.http.guard import Origins
from headrace.api.settings import SettingError, Settings
from headrace.api.tracing import Traces
from headrace.client import models as m

pytestmark = pytest.mark.anyio

HOST: Final = "127.0.0.1:8470"
CALLER: Final = "0af7651916cd43dd8448eb211c80319c"
"""The trace of a program that calls."""


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    with otlp_receiver() as running:
        yield running


@pytest.fixture
async def traced(tmp_path: Path, receiver: Receiver) -> AsyncIterator[Site]:
    async with started_site(tmp_path, Settings(otlp_traces=receiver.url)) as started:
        await started.start_both()
        yield started


def program(site: Site) -> httpx2.AsyncClient:
    """A program that calls as ada, within a trace of its own."""
    transport = httpx2.ASGITransport(create_app(site.service.gate, Origins.of(f"http://{HOST}")))
    headers = {"authorization": f"Bearer {site.ada.secret}", "traceparent": f"00-{CALLER}-b7ad6b7169203331-01"}
    return httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}/api/v1", headers=headers, timeout=30)


def linked(span: Span, call: Span) -> bool:
    return [(link.trace_id, link.span_id) for link in span.links] == [(call.trace_id, call.span_id)]


async def test_one_trace_tells_of_a_request_from_its_plan_to_the_end_of_its_transfer(
    traced: Site, receiver: Receiver
) -> None:
    small_set(traced)
    intent = {"action": "copy", "source": "lab:/set", "destination": "archive:/set-of-a-trace"}
    async with program(traced) as client:
        made = (await client.post("/plans", json={"intent": intent})).json()
        ready = (await client.get(f"/plans/{made['id']}?wait_s=20")).json()
        submitted = (await client.post("/transfers", json={"plan_digest": ready["digest"]})).json()
        ended = (await client.get(f"/transfers/{submitted['id']}?wait_s=20")).json()
    assert ended["state"] == "complete"
    [transfer] = receiver.wait_for("transfer")
    [attempt] = receiver.wait_for("attempt")
    [plan], [decision], [submission] = map(receiver.wait_for, ("plan", "decision", "submission"))
    [planned], [started] = map(receiver.wait_for, ("POST /plans", "POST /transfers"))
    of_request = (plan, decision, submission, transfer, attempt)
    assert {span.trace_id for span in of_request} == {plan.trace_id}
    assert [span.parent_span_id for span in of_request] == [b"", *3 * [plan.span_id], transfer.span_id]
    assert len({span.span_id for span in of_request}) == 5
    assert (linked(plan, planned), linked(submission, started), linked(transfer, started)) == (True, True, True)
    assert {planned.trace_id.hex(), started.trace_id.hex()} == {CALLER}
    assert [said(span) for span in of_request] == [
        {"headrace.plan": made["id"], "headrace.state": "ready"},
        {
            "headrace.plan": made["id"],
            "headrace.outcome": "allowed",
            "headrace.policy_version": ready["decision"]["policy_version"],
        },
        {"headrace.transfer": ended["id"]},
        {"headrace.transfer": ended["id"], "headrace.state": "complete", "headrace.attempts": "1"},
        {"headrace.transfer": ended["id"], "headrace.attempt": "1"},
    ]
    assert said(started) == {
        "http.request.method": "POST", "http.route": "/transfers", "http.response.status_code": str(201),
    }  # fmt: skip
    begins = [span.start_time_unix_nano for span in of_request]
    assert begins == sorted(begins)
    assert transfer.start_time_unix_nano < attempt.end_time_unix_nano <= transfer.end_time_unix_nano


async def test_a_trace_holds_no_words_no_paths_and_nobodys_name(traced: Site, receiver: Receiver) -> None:
    small_set(traced)
    async with program(traced) as client:
        await client.post("/plans", json={"words": "copy lab:/set to archive:/secret-place"})
        await client.get("/endpoints/lab/browse?path=/secret-place")
        await client.get("/secret-place")
        await client.request("SECRET-PLACE", "/plans")
    await traced.ada.end_of(await traced.ada.submit(await traced.ada.plan("lab:/set", "archive:/secret-place")))
    receiver.wait_for("transfer")
    receiver.wait_for("GET other")
    sent = b"".join(receiver.bodies)
    for told in ("secret-place", "SECRET-PLACE", "set", str(traced.folder), traced.ada.secret, "lab", "archive"):
        assert told.encode() not in sent, told
    # Ids of random hexadecimal digits spell this name now and then.
    assert b"ada" not in re.sub(rb"[0-9a-f]{16,}", b"", sent)


async def test_a_restart_goes_on_in_the_same_trace(traced: Site, receiver: Receiver) -> None:
    large_set(traced)
    plan = await traced.ada.plan("lab:/set", "archive:/large", rate_limit_bps=SLOW_BPS)
    transfer = await traced.ada.submit(plan)
    await until_durable(traced, transfer)
    await traced.restart()
    await traced.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await traced.ada.end_of(transfer)
    [ended], [planned] = receiver.wait_for("transfer"), receiver.wait_for("plan")
    assert (ended.trace_id, ended.parent_span_id) == (planned.trace_id, planned.span_id)
    assert said(ended)["headrace.state"] == "canceled"


def test_what_failed_is_marked_so_and_a_retry_has_a_span_of_its_own(receiver: Receiver) -> None:
    traces, now = Traces(receiver.url), utc_now()
    for event in ("failed", "retry", "complete"):
        now += timedelta(seconds=1)
        traces.note(now, m.AuditKind.TRANSFER_CHANGED, "tr_1", {"event": event, "attempt": "1"})
    traces.close()
    failed, complete = receiver.named("transfer")
    assert (failed.status.code, complete.status.code) == (Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET)
    assert (failed.trace_id, failed.span_id != complete.span_id) == (complete.trace_id, True)


async def test_a_receiver_that_is_away_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    async with started_site(tmp_path, Settings(otlp_traces=f"http://127.0.0.1:{free_port()}/v1/traces")) as site:
        await site.start_both()
        small_set(site)
        ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))
        assert ended.state is m.TransferState.COMPLETE


def test_without_the_setting_nothing_of_it_is_loaded() -> None:
    script = "import sys, headrace.api.app.serve; print([name for name in sys.modules if 'opentelemetry.sdk' in name])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"


def test_a_service_that_shall_send_traces_and_can_not_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    find = util.find_spec
    monkeypatch.setattr(
        "headrace.api.app.compose.find_spec", lambda name: None if name == "opentelemetry.sdk" else find(name)
    )
    with pytest.raises(SettingError, match=r"pip install 'headrace-api\[traces\]'"):
        read_files(Settings(otlp_traces="https://traces.example.org/v1/traces"))
