"""`headrace serve` on PostgreSQL, as a process."""

import os
import subprocess
from contextlib import aclosing
from pathlib import Path

import pytest
from demo.stage import HEADRACE
from tests.interfaces.rest import test_process
from tests.interfaces.rest.test_process import environment, first_admin, restarted, second_start, start
from tests.servers.postgres import Postgres
from tests.servers.stores import postgres

from headrace.client import HttpHeadrace
from headrace.client import models as m

__all__ = ["postgres"]


def keep_in(monkeypatch: pytest.MonkeyPatch, database: str) -> None:
    kept = {**environment(), "HEADRACE_DATABASE": database}
    monkeypatch.setattr(test_process, "environment", lambda: kept)


def audited(data: Path) -> subprocess.CompletedProcess[str]:
    command = [str(HEADRACE), "audit", "verify", "--data", str(data)]
    kept = test_process.environment()
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=kept)


@pytest.mark.anyio
@pytest.mark.timeout(180)
async def test_a_service_that_was_killed_goes_on_with_what_ran(
    tmp_path: Path,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep_in(monkeypatch, postgres.database())
    running = start(tmp_path)
    secret = await first_admin(running)
    (tmp_path / "lab" / "a.bin").write_bytes(content := os.urandom(4 << 20))
    wish = {"action": "copy", "source": "lab:/a.bin", "destination": "archive:/b.bin", "rate_limit_bps": 16_000_000}
    async with HttpHeadrace(running.url, secret) as headrace:
        planned = await headrace.create_plan(m.PlanRequest.model_validate({"intent": wish}))
        plan = await headrace.plan(planned.id, wait_s=20)
        assert plan.digest is not None, plan.summary
        transfer = await headrace.submit(m.SubmitRequest(plan_digest=plan.digest))
        async with aclosing(headrace.watch(transfer.id)) as events:
            async for event in events:
                if event.transfer is not None and event.transfer.progress.bytes_received:
                    break
        running.process.kill()
        running.process.wait(20)
    assert running.process.stdout is not None
    running.process.stdout.close()
    with restarted(running) as again:
        async with HttpHeadrace(again.url, secret) as headrace:
            ended = await headrace.transfer(transfer.id, wait_s=30)
        assert ended.state is m.TransferState.COMPLETE, ended.summary
        assert (tmp_path / "archive" / "b.bin").read_bytes() == content
        other = second_start(tmp_path)
        assert (other.returncode, "Traceback" in other.stderr) == (1, False), other.stderr
    assert not (tmp_path / "data" / "headrace.sqlite").exists()
    checked = audited(tmp_path / "data")
    assert (checked.returncode, checked.stdout.startswith("intact")) == (0, True), checked.stderr


def test_a_database_that_is_away_at_the_start_is_named_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_in(monkeypatch, f"postgresql://ada:hunter2@/site?host={tmp_path}")
    refused = second_start(tmp_path)
    assert refused.returncode == 1
    for words in ("can't be reached", "/site", "see that HEADRACE_DATABASE names it"):
        assert words in refused.stderr, refused.stderr
    assert "hunter2" not in refused.stderr
    assert "Traceback" not in refused.stderr
