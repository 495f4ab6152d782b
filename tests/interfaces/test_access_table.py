"""Every call of the port, for every kind of caller, compared with the committed table `access_table.toml`.

Answers are `refused: CODE`, or what came back: `names` (of files below an endpoint with the label `names=restricted`),
`redacted` (the same answer without them), for lists `own` or `all` (of other people, too) before it, else `ok`. Of
`changes`: whose plans and transfers, and which kinds.
"""

import inspect
import os
import tomllib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.servers.calls import About, arguments
from tests.servers.site import Person, Site, digest_of, settled, started_site

from headrace.api.access.acting import Acting
from headrace.api.permissions import ACCESS
from headrace.client import Headrace, HeadraceError
from headrace.client import models as m

TABLE = Path(__file__).parent / "access_table.toml"
NAME = "patient-"
CALLERS = ("person", "agent", "other_agent", "operator", "stranger")
HEAD = """\
# What comes back of every call of the port. `person` asked for what is looked at, `agent` is an assistant of this
# person that planned it itself, `other_agent` one that did not, `stranger` another requester. Written by
# HEADRACE_WRITE_GOLDEN=1 pytest tests/interfaces/test_access_table.py; review each change.
"""
APPROVALS = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("second-person")
@reason("overwriting needs a second person")
@obligation("approval:approver:1")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { context.overwrites > 0 };
"""


@dataclass(frozen=True)
class Work:
    """What somebody asked for: a transfer that ended in part, and a plan that waits for an approval."""

    ended: m.Plan
    waiting: m.Plan
    transfer: m.Transfer


@dataclass(frozen=True)
class Target:
    """A caller, and whose work the caller looks at."""

    name: str
    port: Acting
    work: Work


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with started_site(tmp_path) as site:
        await site.start_both()
        proposed = await site.ada.port.propose_policy(m.PolicyText(text=APPROVALS))
        second = await site.person("second", "policy_admin")
        await second.port.publish_policy(proposed.version)
        yield site


async def planned(port: Acting, source: str, destination: str, conflict: str | None = None) -> m.Plan:
    slots = {"action": "copy", "source": source, "destination": destination, "on_conflict": conflict}
    asked = await port.create_plan(m.PlanRequest(intent=m.TransferIntent.model_validate(slots)))
    return await settled(port, asked)


async def work_of(site: Site, port: Acting, name: str) -> Work:
    """Move a folder in which one name can't arrive, and plan an overwrite."""
    for number, content in ((7, "arrives"), (8, "does not arrive")):
        (site.lab / name).mkdir(exist_ok=True)
        (site.lab / name / f"{NAME}{number}.dat").write_text(content)
    (site.archive / name / f"{NAME}8.dat").mkdir(parents=True)
    ended = await planned(port, f"lab:/{name}", f"archive:/{name}")
    transfer = await port.submit(m.SubmitRequest(plan_digest=digest_of(ended)))
    transfer = await port.transfer(transfer.id, wait_s=20)
    assert transfer.state is m.TransferState.PARTIAL, transfer.summary
    for root, content in ((site.lab, "new"), (site.archive, "older")):
        (root / f"{name}-again").mkdir()
        (root / f"{name}-again" / f"{NAME}9.dat").write_text(content)
    waiting = await planned(port, f"lab:/{name}-again", f"archive:/{name}-again", "overwrite")
    assert waiting.next_step.kind == "approve", waiting
    return Work(ended, waiting, transfer)


async def targets(site: Site) -> dict[str, Target]:
    pia = await site.person("pia", "requester")
    scopes = ("transfer:read", "transfer:plan", "transfer:run")
    _, agent = await pia.token(*scopes, agent="helper")
    _, other = await pia.token(*scopes, agent="other")
    operator = (await site.person("oli", "operator")).port
    stranger = (await site.person("sam", "requester")).port
    mine, its = await work_of(site, pia.port, "pia"), await work_of(site, agent, "helper")
    await work_of(site, stranger, "sam")
    held = await site.ada.port.halt(m.HaltRequest(scope="everything", reason="for the changes that this makes"))
    await site.ada.port.release_halt(held.id)
    await restrict(site, site.ada)
    return {
        "person": Target("pia", pia.port, mine),
        "agent": Target("pia", agent, its),
        "other_agent": Target("pia", other, mine),
        "operator": Target("oli", operator, mine),
        "stranger": Target("sam", stranger, mine),
    }


async def restrict(site: Site, admin: Person) -> None:
    await admin.port.update_endpoint("lab", m.EndpointUpdate(labels={"names": "restricted"}))
    assert (await site.ada.port.endpoints())[1].labels == {"names": "restricted"}


def about(work: Work) -> About:
    ended, waiting = work.ended, work.waiting
    return About(plan=ended.id, waiting=waiting.id, digest=digest_of(waiting), transfer=work.transfer.id)


async def answer(target: Target, method: str) -> str:
    """Make the call and say in a word what came back."""
    try:
        given = getattr(target.port, method)(**arguments(method, about(target.work)))
        if method == "changes":
            return await told(target, given)
        found: object = [item async for item in given] if isinstance(given, AsyncIterator) else await awaited(given)
        if method == "create_plan":
            found = await settled(target.port, found)  # type: ignore[arg-type]  # a plan
    except HeadraceError as error:
        return f"refused: {error.problem.code}"
    return described(target.name, found)


async def told(target: Target, given: AsyncGenerator[m.Change]) -> str:
    """Read the changes up to the one that all may see and that comes last, of the restricted endpoint."""
    people, kinds = set[str | None](), set[str]()
    async with aclosing(given):
        async for one in given:
            if one.kind == "plan":
                people.add((await target.port.plan(one.subject)).requester_name)
            elif one.kind == "transfer":
                people.add((await target.port.transfer(one.subject)).requester_name)
            kinds.add(one.kind)
            if (one.kind, one.state) == ("endpoint", "changed"):
                break
    whose = "none" if not people else "own" if people == {target.name} else "all"
    return f"{whose}, {' '.join(sorted(kinds - {'now'}))}"


async def awaited(given: object) -> object:
    assert isinstance(given, Awaitable)
    return await given


def described(caller: str, found: object) -> str:
    items = found if isinstance(found, list) else [found]
    text = "".join(one.model_dump_json() if isinstance(one, BaseModel) else str(one) for one in items)
    said = (
        "names" if NAME in text else "redacted" if "withheld from" in text or '"names_withheld":true' in text else "ok"
    )
    people = {getattr(one, "requester_name", None) for one in items} - {None}
    if isinstance(found, list) and people:
        return f"{'own' if people == {caller} else 'all'}, {said}"
    return said


def written(table: dict[str, dict[str, str]]) -> str:
    rows = (
        f"\n[{method}]\n" + "".join(f'{caller} = "{said}"\n' for caller, said in row.items())
        for method, row in table.items()
    )
    return HEAD + "".join(rows)


def test_every_method_of_the_port_has_a_row() -> None:
    methods = {name for name, _ in inspect.getmembers(Headrace, inspect.isfunction) if not name.startswith("_")}
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    assert set(table) == methods == set(ACCESS)
    assert all(tuple(row) == CALLERS for row in table.values())


@pytest.mark.anyio
async def test_invariant_1_what_each_caller_gets_of_each_call_is_as_the_table_says(site: Site) -> None:
    who = await targets(site)
    found = {method: {caller: await answer(who[caller], method) for caller in CALLERS} for method in ACCESS}
    if os.environ.get("HEADRACE_WRITE_GOLDEN"):
        TABLE.write_text(written(found), encoding="utf-8")
    assert found == tomllib.loads(TABLE.read_text(encoding="utf-8"))


def test_no_row_of_the_table_lets_an_assistant_read_a_restricted_name() -> None:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    told = {
        (method, caller)
        for method, row in table.items()
        for caller in ("agent", "other_agent")
        if "names" in row[caller].removeprefix("refused: names_withheld")
    }
    assert not told
    assert sum("redacted" in row["agent"] or "withheld" in row["agent"] for row in table.values()) >= 10


@pytest.mark.anyio
async def test_what_the_table_only_refuses_succeeds_for_somebody_who_may(site: Site) -> None:
    ada, bea, oli = site.ada, await site.person("bea", "approver"), await site.person("oli", "operator")
    pia, admin = await site.person("pia", "requester"), await site.person("pol", "policy_admin")
    work = await work_of(site, pia.port, "pia")
    approval = m.Approval(digest=digest_of(work.waiting), verdict="approved")
    await bea.port.approve_plan(work.waiting.id, approval)
    run = await pia.port.submit(m.SubmitRequest(plan_digest=digest_of(work.waiting)))
    assert (await pia.port.transfer(run.id, wait_s=20)).state is m.TransferState.COMPLETE
    held = await oli.port.halt(m.HaltRequest(scope="everything", reason="maintenance"))
    assert await oli.port.halts() == [held]
    (site.lab / "later").mkdir()
    (site.lab / "later" / "a.dat").write_text("a")
    await oli.port.release_halt(held.id)
    later = await pia.plan("lab:/later", "archive:/later", start=site.clock() + timedelta(days=1))
    waits = await pia.submit(later)
    canceled = await oli.port.control(waits.id, m.ControlRequest(action="cancel"))
    assert canceled.wish == "cancel"
    text = m.PolicyText(text=APPROVALS.replace("approval:approver:1", "confirmation"))
    assert (await admin.port.check_policy(text)).valid
    before = len(await admin.port.policies())
    proposed = await admin.port.propose_policy(text)
    assert len(await pia.port.policies()) == before + 1
    await ada.port.publish_policy(proposed.version)
    (site.lab / "pia-again" / f"{NAME}9.dat").write_text("newer still")
    asks = await planned(pia.port, "lab:/pia-again", "archive:/pia-again", "overwrite")
    assert (await pia.confirm(asks)).confirmed
