"""The figures that monitoring reads say what is the case, and nothing about people and their data."""

import re
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Never

import httpx2
import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import OperationalError
from tests.servers.site import Site, started_site
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until_durable

from headrace.api.access.health import FRESH, Health
from headrace.api.app.web import create_app
from headrace.api.authority_key import KeyTrouble
from headrace.api.http.guard import Origins
from headrace.api.http.operation import create_operation_app
from headrace.api.jobs.port import JobTrouble
from headrace.api.policy.versions import Policies
from headrace.api.settings import Settings
from headrace.api.signing.signer import Signer
from headrace.api.store import Database
from headrace.api.store.tables_work import PlanRow
from headrace.api.store.words import remedy, trouble_in_words
from headrace.api.store_trouble import Trouble
from headrace.client import models as m

HOST = "127.0.0.1:8470"


async def figures(site: Site) -> dict[str, float]:
    """All figures, each under its name with labels."""
    lines = (await site.use_cases.metrics.text()).decode().splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


async def asked(site: Site, path: str) -> httpx2.Response:
    transport = httpx2.ASGITransport(create_operation_app(site.use_cases.metrics))
    async with httpx2.AsyncClient(transport=transport, base_url="http://any.name:9470") as client:
        return await client.get(path)


@pytest.mark.anyio
async def test_a_transfer_is_counted_with_its_bytes_and_names_nobody(site: Site) -> None:
    small_set(site)
    before = await figures(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))
    after = await figures(site)
    moved = after["headrace_transfer_bytes_total"] - before["headrace_transfer_bytes_total"]
    assert moved == ended.progress.bytes_durable > 0
    for state in ("running", "complete"):
        name = f'headrace_changes_total{{kind="transfer",state="{state}"}}'
        assert (before[name], after[name] >= 1) == (0, True)
    assert after['headrace_transfers{state="running"}'] == 0
    text = (await site.use_cases.metrics.text()).decode()
    for told in ("ada", "set", ended.id, ended.plan, str(site.folder)):
        assert not re.search(rf"\b{re.escape(told)}\b", text), told


@pytest.mark.anyio
async def test_a_node_that_went_away_is_told_by_its_name(site: Site) -> None:
    assert (await figures(site))['headrace_node_attached{node="left"}'] == 1
    await site.stop_node("left")
    found = await figures(site)
    assert found['headrace_node_attached{node="left"}'] == 0
    assert found['headrace_node_attached{node="right"}'] == 1


@pytest.mark.anyio
async def test_what_can_not_be_written_is_not_ready_and_figures_are_told_all_the_same(quiet_site: Site) -> None:
    assert (await asked(quiet_site, "/ready")).json() == {"ready": True, "reasons": [], "said": []}
    async with quiet_site.service.whole.core.database.write() as tx:
        await tx.execute(text("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END"))
    quiet_site.clock.shift += FRESH
    answer = await asked(quiet_site, "/ready")
    told = answer.json()
    assert (answer.status_code, told["ready"]) == (HTTPStatus.SERVICE_UNAVAILABLE, False)
    assert told["reasons"] == ["audit_unwritable"]
    url = quiet_site.service.whole.core.database.url
    assert trouble_in_words(url, Trouble.FULL, "written") in told["said"][0]
    assert remedy(url, Trouble.FULL) in told["said"][0]
    assert (await asked(quiet_site, "/live")).status_code == HTTPStatus.OK
    found = (await asked(quiet_site, "/metrics")).text
    assert "\nheadrace_ready 0.0\n" in found
    assert '\nheadrace_health_cause{code="audit_unwritable"} 1.0\n' in found


@pytest.mark.anyio
async def test_who_shuts_down_is_not_ready(quiet_site: Site) -> None:
    quiet_site.service.whole.core.broker.close()
    assert (await asked(quiet_site, "/ready")).json()["reasons"] == ["shutting_down"]


@pytest.mark.anyio
async def test_requests_are_counted_by_the_pattern_of_their_route_and_never_by_what_strangers_make_up(
    quiet_site: Site,
) -> None:
    app = create_app(quiet_site.service.gate, Origins.of(f"http://{HOST}"))
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        await client.get("/api/v1/plans/pl_strange")
        await client.request("MADEUP", "/api/v1/health")
        await client.get("/api/v1/strange")
        await client.get("/api/v1/transfers/tr_strange?wait_s=1")
        await client.post("/mcp", json={})
    counts = {name for name in await figures(quiet_site) if name.startswith("headrace_http_request_seconds_count")}
    assert not any("strange" in name or "MADEUP" in name for name in counts)
    labels = {re.search(r'method="(\w+)",route="([^"]*)"', name).groups() for name in counts}  # type: ignore[union-attr]
    assert {("GET", "/plans/{plan}"), ("other", "/health"), ("POST", "/mcp")} <= labels
    assert ("GET", "/transfers/{transfer}") not in labels, "how long somebody wants to wait says nothing"


@pytest.mark.anyio
async def test_the_public_address_has_no_figures(quiet_site: Site) -> None:
    app = create_app(quiet_site.service.gate, Origins.of(f"http://{HOST}"))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=f"http://{HOST}") as client:
        for path in ("/metrics", "/api/v1/metrics"):
            assert "headrace_ready" not in (await client.get(path)).text


@pytest.mark.anyio
async def test_transfers_that_wait_are_counted_by_state(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/later")
    await site.stop_node("right")
    transfer = await site.ada.submit(plan)
    assert transfer.state in {m.TransferState.QUEUED, m.TransferState.WAITING}
    found = await figures(site)
    assert sum(value for name, value in found.items() if name.startswith("headrace_transfers{")) == 1
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))


@pytest.mark.anyio
async def test_what_runs_is_told_with_its_rate_and_node_and_what_waits_for_a_slot_with_its_number(
    tmp_path: Path,
) -> None:
    async with started_site(tmp_path, Settings(transfer_concurrency=1)) as site:
        await site.start_both()
        large_set(site)
        plans = [
            await site.ada.plan("lab:/set", f"archive:/{number}", rate_limit_bps=4 * SLOW_BPS) for number in range(2)
        ]
        first = await site.ada.submit(plans[0])
        await until_durable(site, first)
        second = await site.ada.submit(plans[1])
        found = await figures(site)
        assert found["headrace_transfers_in_line"] == 1
        assert (found['headrace_transfers{state="running"}'], found['headrace_transfers{state="queued"}']) == (1, 1)
        assert (found['headrace_node_running{node="left"}'], found['headrace_node_running{node="right"}']) == (1, 1)
        progress = site.use_cases.scheduler.progress(first.id)
        assert progress is not None
        assert (await figures(site))["headrace_transfer_rate_bytes"] == pytest.approx(progress.rate_bps / 8, rel=0.5)
        for transfer in (second, first):
            await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))


@pytest.mark.anyio
async def test_clocks_failing_work_and_surveys_are_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    core = site.service.whole.core

    troubles = {subject: JobTrouble("always fails", subject, "no", core.clock(), 1) for subject in ("a", "b")}
    monkeypatch.setattr(type(core.jobs), "troubles", troubles)
    small_set(site)
    await site.ada.plan("lab:/set", "archive:/set")
    async with core.database.write() as tx:
        await tx.execute(update(PlanRow).values(state=m.PlanState.SURVEYING))
    monkeypatch.setattr(site.use_cases.nodes, "attached", lambda _key: SimpleNamespace(clock_skew_ms=2500))
    monkeypatch.setattr(Health, "causes", no_causes)
    found = await figures(site)
    assert found['headrace_work_failing{task="always fails"}'] == 2
    assert found["headrace_plans_surveying"] == 1
    assert found['headrace_node_clock_skew_seconds{node="left"}'] == 2.5


async def no_causes(_self: Health) -> list[m.HealthCause]:
    return []


@pytest.mark.anyio
async def test_without_a_policy_or_a_store_that_can_be_read_it_says_so(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Policies, "active", None)
        assert (await asked(quiet_site, "/ready")).json()["reasons"] == ["policy_missing"]
    with monkeypatch.context() as patched:
        patched.setattr(Database, "read", unreadable)
        found = await figures(quiet_site)
        assert found["headrace_transfers_in_line"] == 0
        assert not [name for name in found if name.startswith(("headrace_node", "headrace_transfers{"))]


def unreadable(*_: object) -> Never:
    trouble = Exception("disk I/O error")
    msg = "SELECT"
    raise OperationalError(msg, {}, trouble)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("part", "state", "code"),
    [
        ("key_trouble", KeyTrouble(datetime(2026, 11, 27, tzinfo=UTC), "the token is gone"), "key_unusable"),
        ("other_policy", "7", "policy_differs"),
        ("unproven_policy", "3", "policy_unproven"),
    ],
)
async def test_who_can_start_nothing_is_not_ready_and_says_why_as_health_does(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch, part: str, state: object, code: str
) -> None:
    monkeypatch.setattr(Signer, part, state)
    if part == "unproven_policy":
        monkeypatch.setattr(Policies, "active", None)
        monkeypatch.setattr(quiet_site.use_cases.policies, "unproven", state)
    told = (await asked(quiet_site, "/ready")).json()
    assert (told["ready"], told["reasons"]) == (False, [code])
    [cause] = [one for one in (await quiet_site.ada.port.health()).causes if one.code == code]
    assert told["said"] == [f"{cause.sentence}; {cause.what_to_do}"]


@pytest.mark.anyio
async def test_a_call_whose_store_is_away_is_answered_and_not_logged_whole_by_the_server_as_well(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(quiet_site.service.gate, Origins.of(f"http://{HOST}"))
    known = {"authorization": f"Bearer {quiet_site.ada.secret}"}
    monkeypatch.setattr(Database, "read", unreadable)
    monkeypatch.setattr(Database, "look", unreadable)
    monkeypatch.setattr(Database, "ask", unreadable)
    # The transport raises what the application lets through, which a server logs with its traceback.
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url=f"http://{HOST}", headers=known
    ) as client:
        answer = await client.get("/api/v1/nodes")
    assert answer.json()["code"] == "store_failed"


@pytest.mark.anyio
async def test_halts_are_figures_by_what_they_halt_and_so_is_the_file(quiet_site: Site) -> None:
    assert (await figures(quiet_site))['headrace_halts{scope="everything"}'] == 0
    operator = await quiet_site.person("oli", "operator")
    await operator.port.halt(m.HaltRequest(scope="person", subject="ada", reason="away"))
    (quiet_site.settings.data / "halt").write_text("restored\n")
    found = await figures(quiet_site)
    assert (found['headrace_halts{scope="person"}'], found['headrace_halts{scope="everything"}']) == (1, 1)
