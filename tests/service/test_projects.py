"""The project that a request names: sealed with its plan, decided about, counted, and shown to the end."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import URL, update
from tests.servers.site import Site, settled, started_site
from tests.service.refusals import refused
from tests.service.test_consent import differing_files, publish
from tests.service.test_policy_places import EVERYTHING
from tests.service.test_transfers import SLOW_BPS, large_set, small_set

from headrace.api.settings import Settings
from headrace.api.store.tables_work import PlanRow
from headrace.client import HeadraceError
from headrace.client import models as m

QUOTAS = """
[[quota]]
of = "project"
subject = "*"
transfers = 1

[[quota]]
of = "project"
subject = "tomography"
files_a_day = 2
"""
ITS_GROUP = """
@id("cryo-em-is-its-groups")
@reason("transfers for cryo-em are its group's")
forbid (principal, action == Action::"copy", resource)
when { context has project && context.project == "cryo-em" }
unless { principal in Group::"cryo-em" };
"""
CONFIRMED = """
@id("overwrites")
@reason("files are overwritten")
@obligation("confirmation")
forbid (principal, action == Action::"copy", resource)
when { context.overwrites > 0 };
"""

pytestmark = pytest.mark.anyio


def with_quotas(tmp_path: Path) -> Settings:
    file = tmp_path / "quotas.toml"
    file.write_text(QUOTAS)
    return Settings(quotas=str(file))


@pytest.fixture
async def counted(tmp_path: Path) -> AsyncIterator[Site]:
    async with started_site(tmp_path, with_quotas(tmp_path)) as site:
        await site.start_both()
        yield site


def sealed_project(document: str) -> object:
    return json.loads(json.loads(document)["body"])["project"]


def origin(plan: m.Plan) -> str:
    return next(one.origin for one in plan.origins if one.slot == "project")


async def test_a_project_beside_words_is_on_the_plan_the_transfer_and_the_receipt(site: Site) -> None:
    small_set(site)
    asked = m.PlanRequest(words="copy lab:/set to archive:/copy", project="cryo-em")
    plan = await settled(site.ada.port, await site.ada.port.create_plan(asked))
    assert plan.intent is not None
    assert (plan.intent.project, origin(plan)) == ("cryo-em", "typed")
    document = (await site.ada.port.plan(plan.id, document=True)).document
    assert document is not None
    assert sealed_project(document) == "cryo-em"
    transfer = await site.ada.submit(plan)
    assert transfer.project == "cryo-em"
    ended = await site.ada.end_of(transfer)
    receipt = await site.ada.port.receipt(ended.id)
    assert sealed_project(receipt.document) == "cryo-em"
    assert "for the project cryo-em" in receipt.summary
    events = await (await site.person("aud", "auditor")).port.audit(person=site.ada.principal.id, limit=200)
    told = [one for one in events if one.kind in {"decided", "submitted"} and "cryo-em" in json.dumps(one.detail)]
    assert {one.kind for one in told} == {"decided", "submitted"}
    [listed] = (await site.ada.port.transfers(project="cryo-em")).items
    assert (listed.id, listed.project) == (transfer.id, "cryo-em")
    assert [one.id for one in await site.ada.port.plans(project="cryo-em")] == [plan.id]
    assert not (await site.ada.port.plans(project="other")).items


async def test_a_change_keeps_the_project_and_names_another(site: Site) -> None:
    small_set(site)
    first = await site.ada.plan("lab:/set", "archive:/copy", project="cryo-em")
    _, helper = await site.ada.token("transfer:read", "transfer:plan", "transfer:read:all", agent="helper")
    changed = await helper.create_plan(m.PlanRequest(plan=first.id, words="also skip *.tmp"))
    changed = await settled(helper, changed)
    assert changed.intent is not None
    assert (changed.intent.project, origin(changed)) == ("cryo-em", "typed"), "who named it stays said"
    other = await helper.create_plan(m.PlanRequest(plan=first.id, words="also skip *.tmp", project="tomography"))
    other = await settled(helper, other)
    assert other.intent is not None
    assert (other.intent.project, origin(other)) == ("tomography", "assistant")
    none = await site.ada.plan("lab:/set", "archive:/copy")
    assert none.intent is not None
    assert (none.intent.project, origin(none)) == (None, "assumed")


async def test_an_answer_is_for_the_project_of_what_was_asked(site: Site) -> None:
    small_set(site)
    asked = await site.ada.port.create_plan(m.PlanRequest(words="copy lab:/set to nowhere:/copy", project="cryo-em"))
    asked = await settled(site.ada.port, asked)
    assert asked.state is m.PlanState.ASK, asked.summary
    answer = m.PlanRequest(words="copy lab:/set to archive:/copy", answers=asked.id)
    plan = await settled(site.ada.port, await site.ada.port.create_plan(answer))
    assert plan.intent is not None
    assert plan.intent.project == "cryo-em"


async def test_a_request_that_names_two_projects_is_refused(site: Site) -> None:
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/copy", project="cryo-em")
    with refused("invalid_request"):
        await site.ada.port.create_plan(m.PlanRequest(intent=intent, project="tomography"))


async def test_policy_says_who_may_name_which_project(site: Site) -> None:
    small_set(site)
    await publish(site, EVERYTHING + ITS_GROUP)
    denied = await site.ada.plan("lab:/set", "archive:/copy", project="cryo-em")
    assert denied.decision is not None
    assert [rule.id for rule in denied.decision.rules] == ["cryo-em-is-its-groups"]
    assert (await site.ada.plan("lab:/set", "archive:/copy")).state is m.PlanState.READY
    nia = await site.person("nia", "requester")
    await site.ada.port.update_person(nia.principal.id, m.PersonUpdate(groups=["cryo-em"]))
    nia = replace(nia, principal=await site.use_cases.people.of_session(nia.secret))
    plan = await nia.plan("lab:/set", "archive:/copy", project="cryo-em")
    assert plan.state is m.PlanState.READY, plan.summary
    # Who has left the group by the time of the ticket names it no more.
    await site.ada.port.update_person(nia.principal.id, m.PersonUpdate(groups=[]))
    with refused("denied_by_policy"):
        await nia.submit(plan)


async def test_invariant_2_what_was_confirmed_for_a_project_runs_for_it_whatever_the_store_says(counted: Site) -> None:
    differing_files(counted)
    await publish(counted, EVERYTHING + CONFIRMED)
    plan = await counted.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite", project="cryo-em")
    plan = await counted.ada.confirm(plan)
    card = plan.model_copy(update={"intent": plan.intent and plan.intent.model_copy(update={"project": "other"})})
    async with counted.service.whole.core.database.write() as tx:
        altered = {"project": "other", "card": card.model_dump_json()}
        await tx.execute(update(PlanRow).where(PlanRow.id == plan.id).values(**altered))
    transfer = await counted.ada.submit(plan)
    assert transfer.project == "cryo-em"
    held = {one.subject for one in await counted.ada.port.quotas() if one.of == "project"}
    operator = await counted.person("oli", "operator")
    held |= {one.subject for one in await operator.port.quotas() if one.of == "project"}
    assert "other" not in held
    receipt = await counted.ada.port.receipt((await counted.ada.end_of(transfer)).id)
    assert sealed_project(receipt.document) == "cryo-em"


async def test_of_two_of_a_project_at_once_one_takes_what_is_left(each_store: URL, tmp_path: Path) -> None:
    is_sqlite = each_store.drivername == "sqlite"
    database = "" if is_sqlite else each_store.set(drivername="postgresql").render_as_string(hide_password=False)
    folder = tmp_path / "site"
    folder.mkdir()
    async with started_site(folder, replace(with_quotas(tmp_path), database=database)) as site:
        await site.start_both()
        large_set(site)
        nia = await site.person("nia", "requester")
        people = [site.ada, nia, site.ada]
        plans = [
            await person.plan("lab:/set", f"archive:/{number}", rate_limit_bps=SLOW_BPS, project="cryo-em")
            for number, person in enumerate(people)
        ]
        submitted = (person.submit(plan) for person, plan in zip(people, plans, strict=True))
        answers = await asyncio.gather(*submitted, return_exceptions=True)
        started = [one for one in answers if isinstance(one, m.Transfer)]
        over = [one.problem for one in answers if isinstance(one, HeadraceError)]
        assert (len(started), {one.code for one in over}) == (1, {"quota_exceeded"})
        assert all("the quota of project `cryo-em`" in one.detail for one in over)
        other = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/other", rate_limit_bps=SLOW_BPS))
        for one in (started[0], other):
            starter = nia if one.requester == nia.principal.id else site.ada
            await starter.port.control(one.id, m.ControlRequest(action="cancel"))
            await starter.end_of(one)


async def test_a_quota_of_a_project_is_shown_before_it_is_hit(counted: Site) -> None:
    small_set(counted)
    plan = await counted.ada.plan("lab:/set", "archive:/copy", project="tomography")
    [shown] = [one for one in plan.quotas if one.of == "project"]
    assert (shown.subject, shown.files_a_day, shown.files_used) == ("tomography", 2, 0)
    assert "the quota of project `tomography`" in plan.warnings[0]
    with refused("quota_exceeded"):
        await counted.ada.submit(plan)
    eve = await counted.person("eve", "requester")
    assert {one.subject for one in await eve.port.quotas()} == {"tomography"}, "anybody may name it"
