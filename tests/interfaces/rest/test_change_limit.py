"""Somebody who asks in a loop fills neither the audit chain nor the way of others."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.interfaces.rest.test_http import HOST, browser, code_of
from tests.servers.site import Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS, large_set

from headrace.api.app.web import create_app
from headrace.api.audit.chain import Wanted
from headrace.api.http.guard import Origins
from headrace.api.permissions import ACCESS, COUNTED, STOPS
from headrace.api.settings import Settings
from headrace.client import models as m

MOST = 6


async def noted(site: Site, *kinds: str) -> list[m.AuditEvent]:
    page = await site.use_cases.audit.events(Wanted(kinds=kinds), after=0, limit=1000)
    return page.items


@pytest.mark.anyio
async def test_who_pauses_and_resumes_in_a_loop_is_refused_with_when_and_noted_once(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(changes_per_minute_of_one=MOST)) as site:
        await site.start_both()
        large_set(site)
        slow = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set", rate_limit_bps=SLOW_BPS))
        secret, _ = await site.ada.token("transfer:read", "transfer:run")
        async with browser(site, authorization=f"Bearer {secret}") as client:
            address = f"/transfers/{slow.id}/control"
            for _ in range(MOST):
                assert (await client.post(address, json={"action": "pause"})).status_code == 200
                assert (await client.post(address, json={"action": "resume"})).status_code == 200
            for _ in range(20):
                answer = await client.post(address, json={"action": "resume"})
                assert code_of(answer) == (429, "too_many_changes")
                wait = int(answer.headers["retry-after"])
                assert 1 <= wait <= 60
                assert f"this token made {MOST} calls within a minute" in answer.json()["detail"]
                assert f"Try again in {wait} s" in answer.json()["detail"]
            asked = [event.detail["event"] for event in await noted(site, "transfer_changed")]
            assert asked.count("asked_run") == MOST
            assert [event.detail for event in await noted(site, "changes_limited")] == [{"most": str(MOST)}]
            assert (await client.get(f"/transfers/{slow.id}")).status_code == 200, "looking is not counted"
            assert (await client.post(address, json={"action": "pause"})).status_code == 200, "nor is what stops"
            await site.ada.port.control(slow.id, m.ControlRequest(action="resume"))
            site.clock.shift += timedelta(seconds=61)
            assert code_of(await client.post(address, json={"action": "resume"})) == (409, "transfer_state")


@pytest.mark.anyio
async def test_sessions_one_token_and_all_tokens_of_a_person_each_have_their_own_limit(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(changes_per_minute_of_one=MOST)) as site:
        await site.start_both()
        bob = await site.person("bob", "requester")
        tokens = [(await site.ada.token("transfer:read", "transfer:plan"))[1] for _ in range(3)]
        for port in tokens[:2]:
            for _ in range(MOST):
                await port.browse("lab", "/")
        with refused("too_many_changes"):
            await tokens[0].browse("lab", "/")
        with refused("too_many_changes") as told:
            await tokens[2].browse("lab", "/")
        assert f"the tokens of its owner made {2 * MOST} calls" in told.value.problem.detail
        for _ in range(MOST - len(tokens) - 1):
            await site.ada.port.browse("lab", "/")
        with refused("too_many_changes") as told:
            await site.ada.port.browse("lab", "/")
        assert "your sessions made" in told.value.problem.detail
        await bob.port.browse("lab", "/")


@pytest.mark.anyio
async def test_each_call_that_is_no_reading_is_counted_or_stops_something(quiet_site: Site) -> None:
    routes = create_app(quiet_site.service.gate, Origins.of(f"http://{HOST}")).openapi()["paths"]
    changing = {
        operation["operationId"]
        for operations in routes.values()
        for method, operation in operations.items()
        if method != "get"
    }
    questions = {"interpret", "check_policy", "simulate_policy", "who_may", "check_qos", "guided_rules"}
    assert set(ACCESS) >= COUNTED | STOPS
    assert not COUNTED & STOPS
    assert (changing & set(ACCESS)) - questions == (COUNTED | STOPS) - {"browse"}
