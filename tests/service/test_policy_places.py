"""What a policy says of places and of requests, held on real nodes."""

import asyncio
import os
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import cedarpy
import pytest
from pydantic import ValidationError
from tests.servers.site import WAIT_S, Site, settled
from tests.service.refusals import refused
from tests.service.test_consent import publish

from headrace.api.caller import Door
from headrace.api.policy.deciding import Deciding
from headrace.client import models as m
from headrace.client.port import HeadraceError

EVERYTHING = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
"""
NO_PHI = """
@id("phi-stays")
@reason("patient data stays")
forbid (principal, action == Action::"copy", resource)
when { resource.source in Endpoint::"lab" && resource.source.within.contains("/set/phi") };
"""


def patients(site: Site) -> None:
    for name in ("set/a.txt", "set/phi/p1.txt", "set/phi/deep/p2.txt"):
        (site.lab / name).parent.mkdir(parents=True, exist_ok=True)
        (site.lab / name).write_text(name)


@pytest.mark.anyio
@pytest.mark.parametrize("source", ["lab:/set/phi/deep", "lab:/set/phi", "lab:/set", "lab:/"])
async def test_a_protected_folder_is_not_copied_with_what_contains_it(site: Site, source: str) -> None:
    patients(site)
    await publish(site, EVERYTHING + NO_PHI)
    plan = await site.ada.plan(source, "archive:/copy/")
    assert plan.state is m.PlanState.DENIED, plan.summary
    assert plan.decision is not None
    assert [rule.id for rule in plan.decision.rules] == ["phi-stays"]


@pytest.mark.anyio
async def test_a_denied_plan_says_what_would_be_allowed_and_that_is(site: Site) -> None:
    patients(site)
    await publish(site, EVERYTHING + NO_PHI)
    denied = await site.ada.port.why((await site.ada.plan("lab:/", "archive:/copy/")).id)
    assert [(one.words, one.outcome) for one in denied.alternatives] == [("without `set/phi`", "allowed")]
    plan = await site.ada.plan("lab:/", "archive:/copy/", exclude=["set/phi"])
    assert (plan.state, plan.decision and plan.decision.alternatives) == (m.PlanState.READY, [])


@pytest.mark.anyio
async def test_what_contains_a_protected_folder_is_copied_without_it(site: Site) -> None:
    patients(site)
    await publish(site, EVERYTHING + NO_PHI)
    plan = await site.ada.plan("lab:/set", "archive:/copy/", exclude=["phi"])
    transfer = await site.ada.submit(plan)
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert sorted(path.name for path in (site.archive / "copy").rglob("*")) == ["a.txt", "set"]


@pytest.mark.anyio
async def test_a_folder_that_becomes_protected_starts_no_more(site: Site) -> None:
    patients(site)
    await publish(site, EVERYTHING)
    start = site.clock() + timedelta(days=1)
    queued = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", start=start))
    await publish(site, EVERYTHING + NO_PHI)
    site.clock.shift += timedelta(days=1)
    site.use_cases.scheduler.wake(queued.id)
    ended = await site.ada.end_of(queued)
    assert ended.state is m.TransferState.FAILED, ended.summary
    assert not (site.archive / "copy").exists()


@pytest.mark.anyio
async def test_hours_are_those_of_the_start(site: Site) -> None:
    patients(site)
    start = site.clock() + timedelta(days=2)
    text = '@id("day") @reason("only on that day") forbid (principal, action == Action::"copy", resource) '
    await publish(site, EVERYTHING + text + f"unless {{ context.weekday == {start.isoweekday()} }};")
    today = await site.ada.plan("lab:/set", "archive:/copy")
    assert today.state is m.PlanState.DENIED, today.summary
    later = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", start=start))
    assert later.state is m.TransferState.QUEUED


@pytest.mark.anyio
async def test_policies_tell_a_session_from_a_token_and_see_how_files_are_replaced(site: Site) -> None:
    patients(site)
    text = '@id("s") @reason("people only") forbid (principal, action == Action::"plan", resource) '
    text += "unless { context.session };"
    text += '@id("o") @reason("never over others") forbid (principal, action == Action::"copy", resource) '
    text += 'when { context.on_conflict == "overwrite" || context.rate_limit_bps > 1000000 };'
    await publish(site, EVERYTHING + text)
    assert (await site.ada.plan("lab:/set", "archive:/copy")).state is m.PlanState.READY
    for slots in ({"on_conflict": "overwrite"}, {"rate_limit_bps": 2_000_000}):
        assert (await site.ada.plan("lab:/set", "archive:/copy", **slots)).state is m.PlanState.DENIED
    _, pipeline = await site.ada.token("transfer:read", "transfer:plan")
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/copy")
    asked = await pipeline.create_plan(m.PlanRequest(intent=intent))
    assert (await pipeline.plan(asked.id, wait_s=30)).state is m.PlanState.DENIED


@pytest.mark.anyio
async def test_whatever_token_looks_into_a_folder_is_no_session_to_policies(site: Site) -> None:
    patients(site)
    text = '@id("s") @reason("people only") forbid (principal, action == Action::"browse", resource) '
    await publish(site, EVERYTHING + text + "unless { context.session };")
    assert (await site.ada.port.browse("lab", "/")).items
    secret, pipeline = await site.ada.token("transfer:read", "transfer:plan")
    with refused("denied_by_policy"):
        await pipeline.browse("lab", "/")
    # An access token of a provider ends in the same principal, but for its method.
    theirs = replace(await site.use_cases.people.of_token(secret), method="oidc")
    with refused("denied_by_policy"):
        await site.service.acting_for(theirs, Door.API).browse("lab", "/")


@pytest.mark.anyio
async def test_policies_tell_a_session_and_each_kind_of_token_and_see_a_deadline(site: Site) -> None:
    patients(site)
    kinds = ("token", "service-token", "assistant-token")
    rules = "".join(
        f"""@id("by-{kind}") @reason("by {kind}") @obligation("approval:approver:1")
        forbid (principal, action == Action::"copy", resource) when {{ context.credential == "{kind}" }};"""
        for kind in kinds
    )
    late = """@id("in-haste") @reason("done within an hour") forbid (principal, action == Action::"copy", resource)
        when { context has deadline && context.deadline.durationSince(context.start) < duration("1h") };"""
    await publish(site, EVERYTHING + rules + late)
    scopes = ("transfer:read", "transfer:plan", "transfer:run")
    robot = await site.ada.port.create_service_account(m.ServiceAccountRequest(name="nightly", roles=["requester"]))
    made = await site.ada.port.create_token(m.TokenRequest(name="nightly", scopes=list(scopes), person=robot.id))
    robots = site.service.acting_for(await site.use_cases.people.of_token(made.secret or ""), Door.API)
    ports = {
        "token": (await site.ada.token(*scopes))[1],
        "service-token": robots,
        "assistant-token": (await site.ada.token(*scopes, agent="helper"))[1],
    }
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/copy/")
    for kind in kinds:
        plan = await settled(ports[kind], await ports[kind].create_plan(m.PlanRequest(intent=intent)))
        assert plan.decision is not None, plan.summary
        assert [rule.id for rule in plan.decision.rules] == [f"by-{kind}"]
    now = site.clock()
    assert (await site.ada.plan("lab:/set", "archive:/copy/", deadline=now + timedelta(hours=2))).needs == []
    hasty = await site.ada.plan("lab:/set", "archive:/copy/", deadline=now + timedelta(minutes=50))
    assert hasty.decision is not None, hasty.summary
    assert [rule.id for rule in hasty.decision.rules] == ["in-haste"]


@pytest.mark.anyio
async def test_a_move_of_most_of_a_folder_needs_its_requesters_yes_whatever_the_policy_says(site: Site) -> None:
    await publish(site, EVERYTHING)
    for number in range(11):
        (site.lab / "set" / str(number)).mkdir(parents=True)
        (site.lab / "set" / str(number) / "a.txt").write_text("a")
    few = await site.ada.plan("lab:/set", "archive:/copy/", "move", include=["[0-4]/*"])
    assert (few.state, few.needs) == (m.PlanState.READY, []), few.summary
    whole = await site.ada.plan("lab:/set", "archive:/copy/", "move")
    assert whole.decision is not None, whole.summary
    assert (whole.decision.outcome, [rule.id for rule in whole.decision.rules]) == ("confirm", ["headrace-large-moves"])
    with refused("needs_confirmation"):
        await site.ada.submit(whole)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.confirm(whole)))
    assert ended.state is m.TransferState.COMPLETE, ended.summary


PHI_STAYS = """@id("phi-stays") @reason("patient data stays") forbid (principal, action == Action::"copy", resource)
    when { resource.source.labels.contains("class=phi") };"""


@pytest.mark.anyio
async def test_a_folder_with_a_label_is_not_copied_with_what_contains_it_and_one_that_gets_it_starts_no_more(
    site: Site,
) -> None:
    patients(site)
    await publish(site, EVERYTHING + PHI_STAYS)
    before = await site.ada.plan("lab:/", "archive:/copy/")
    assert before.needs == [], before.summary
    labels = {"/set//phi/": {"class": "phi"}}
    changed = await site.ada.port.update_endpoint("lab", m.EndpointUpdate(folder_labels=labels))
    assert changed.folder_labels == {"/set/phi": {"class": "phi"}}
    for place in ("lab:/set/phi/deep", "lab:/set/phi", "lab:/set", "lab:/"):
        plan = await site.ada.plan(place, "archive:/copy/")
        assert plan.decision is not None, plan.summary
        assert [rule.id for rule in plan.decision.rules] == ["phi-stays"]
    assert (await site.ada.plan("lab:/set", "archive:/copy/", exclude=["phi"])).state is m.PlanState.READY
    with refused("denied_by_policy") as told:
        await site.ada.submit(before)
    assert "phi-stays" in str(told.value)
    events = await site.audited("endpoint_changed")
    assert events[-1].detail["folder_labels"] == '{"/set/phi": {"class": "phi"}}'


@pytest.mark.anyio
async def test_labels_of_folders_are_told_to_who_may_give_them_and_names_there_to_no_assistant(site: Site) -> None:
    patients(site)
    labels = {"/set/phi": {"names": "restricted"}}
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(folder_labels=labels))
    told = {one.id: one.folder_labels for one in await site.ada.port.endpoints()}
    assert told == {"lab": labels, "archive": {}}
    _, helper = await site.ada.token("transfer:read", "transfer:plan", "policy:write", agent="helper")
    bob = await site.person("bob", "requester")
    for port in (helper, bob.port):
        assert all(one.folder_labels == {} for one in await port.endpoints())
    assert (await helper.browse("lab", "/set")).names_withheld is False
    for path in ("/set/phi", "/set/phi/deep"):
        page = await helper.browse("lab", path)
        assert (page.items, page.count, page.names_withheld) == ([], 2 if path == "/set/phi" else 1, True)
    for place, withheld in (("lab:/set", True), ("lab:/set/phi/deep", True), ("lab:/set/a.txt", False)):
        intent = m.TransferIntent(action="copy", source=place, destination="archive:/copy/")
        plan = await settled(helper, await helper.create_plan(m.PlanRequest(intent=intent)))
        assert plan.survey is not None, plan.summary
        assert (plan.names_withheld, plan.survey.sample == []) == (withheld, withheld)


@pytest.mark.anyio
async def test_who_labels_one_folder_changes_no_other_that_somebody_labels_at_once(quiet_site: Site) -> None:
    await quiet_site.start_node("left", [("lab", str(quiet_site.lab), "delete")])
    update = quiet_site.ada.port.update_endpoint
    await asyncio.gather(
        *(update("lab", m.EndpointUpdate(folder_labels={path: {"class": "phi"}})) for path in ("/a", "/b"))
    )
    changed = await update("lab", m.EndpointUpdate(folder_labels={"/a": {}, "/c": {"class": "x"}}))
    assert changed.folder_labels == {"/b": {"class": "phi"}, "/c": {"class": "x"}}
    many = {f"/{number}": {"a": "b"} for number in range(99)}
    with refused("invalid_request") as told:
        await update("lab", m.EndpointUpdate(folder_labels=many))
    assert "101 folders" in told.value.problem.detail


@pytest.mark.anyio
async def test_of_two_people_who_change_labels_of_one_folder_at_once_the_second_is_told(quiet_site: Site) -> None:
    await quiet_site.start_node("left", [("lab", str(quiet_site.lab), "delete")])
    port = quiet_site.ada.port
    [read] = await port.endpoints()

    async def give(**labels: str) -> m.Endpoint:
        return await port.update_endpoint("lab", m.EndpointUpdate(folder_labels={"/a": labels}, version=read.version))

    done = await asyncio.gather(give(first="x"), give(second="x"), return_exceptions=True)
    [kept] = [one for one in done if isinstance(one, m.Endpoint)]
    [refusal] = [one for one in done if isinstance(one, HeadraceError)]
    assert (refusal.problem.code, refusal.problem.status) == ("endpoint_changed", 409)
    [now] = await port.endpoints()
    assert (now.folder_labels, now.version) == (kept.folder_labels, kept.version)
    for change in ({"labels": {"a": "b"}}, {"aliases": ["other"]}, {"id": "renamed"}):
        [before] = await port.endpoints()
        update = m.EndpointUpdate.model_validate({**change, "version": before.version})
        changed = await port.update_endpoint(before.id, update)
        with refused("endpoint_changed"):
            await port.update_endpoint(changed.id, update)
    bob = await quiet_site.person("bob", "requester")
    assert [one.version for one in await bob.port.endpoints()] == [""]


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/", "raw", "/a/../b", "~x"])
async def test_only_a_folder_of_the_endpoint_can_have_labels_of_its_own(quiet_site: Site, path: str) -> None:
    await quiet_site.start_node("left", [("lab", str(quiet_site.lab), "delete")])
    with pytest.raises(HeadraceError, match=r"."):
        await quiet_site.ada.port.update_endpoint("lab", m.EndpointUpdate(folder_labels={path: {"a": "b"}}))
    with pytest.raises(ValidationError, match="at most 100"):
        m.EndpointUpdate(folder_labels={f"/{number}": {"a": "b"} for number in range(101)})


@pytest.mark.anyio
async def test_nothing_of_a_plan_or_a_transfer_is_decided_in_the_event_loop(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    patients(site)
    await publish(site, EVERYTHING)
    loops, asked, original = threading.current_thread(), list[bool](), cedarpy.is_authorized

    def noted(*request: Any) -> object:  # noqa: ANN401 - what Cedar is asked
        asked.append(threading.current_thread() is loops)
        return original(*request)

    monkeypatch.setattr(cedarpy, "is_authorized", noted)
    plan = await site.ada.plan("lab:/set", "archive:/copy/")
    planned = len(asked)
    assert planned >= 4
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert len(asked) > planned
    assert not any(asked)


@pytest.mark.anyio
async def test_who_asks_for_many_decisions_at_once_keeps_no_thread_from_others() -> None:
    deciding, held = Deciding("of a test"), threading.Event()
    many = [asyncio.create_task(deciding.run("ada", held.wait)) for _ in range(9)]
    try:
        await asyncio.sleep(0)
        assert await asyncio.wait_for(deciding.run("bob", lambda: "decided"), WAIT_S) == "decided"
        assert not any(one.done() for one in many)
    finally:
        held.set()
        assert all(await asyncio.gather(*many))


@pytest.mark.anyio
async def test_an_assistant_that_reads_what_others_planned_is_told_no_places_that_rules_name(site: Site) -> None:
    patients(site)
    await publish(site, EVERYTHING + NO_PHI)
    denied = await site.ada.plan("lab:/set", "archive:/copy/")
    _, helper = await site.ada.token("transfer:read", "transfer:read:all", "transfer:plan", agent="helper")
    found = [await helper.plan(denied.id), await helper.why(denied.id), *await helper.plans()]
    assert not any("phi`" in one.model_dump_json() or "/phi" in one.model_dump_json() for one in found)
    told = await helper.why(denied.id)
    assert ([rule.id for rule in told.rules], told.alternatives) == (["phi-stays"], [])
    # Of its own it is told what it may list.
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/copy/")
    own = await settled(helper, await helper.create_plan(m.PlanRequest(intent=intent)))
    assert "lab:/set/phi is part of this" in own.summary
    # An assistant of somebody else that has the same name is another one.
    olga = await site.person("olga", "operator")
    _, namesake = await olga.token("transfer:read", "transfer:read:all", agent="helper")
    assert "/phi" not in (await namesake.plan(own.id)).model_dump_json()


FILTERED = """
@id("assistants-small")
@reason("assistants copy files of at most 1 kB")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { principal has agent }
unless { resource has max_size_bytes && resource.max_size_bytes <= 1000 };

@id("settled")
@reason("what leaves the instrument was last changed a day ago")
forbid (principal, action == Action::"plan", resource)
when { resource.source in Endpoint::"lab" }
unless { resource has modified_before && context.start.durationSince(resource.modified_before) >= duration("1d") };
"""


@pytest.mark.anyio
async def test_a_follow_up_that_changes_a_filter_is_decided_with_it_and_nodes_hold_to_it(site: Site) -> None:
    day = timedelta(days=1)
    now = site.clock()
    for name, size, age in (("small", 1000, 2 * day), ("large", 1001, 2 * day), ("fresh", 1000, day / 2)):
        (site.lab / "set").mkdir(exist_ok=True)
        (site.lab / "set" / name).write_bytes(b"x" * size)
        os.utime(site.lab / "set" / name, times=((now - age).timestamp(),) * 2)
    await publish(site, EVERYTHING + FILTERED)
    _, helper = await site.ada.token("transfer:read", "transfer:plan", "transfer:run", agent="helper")

    async def planned(request: m.PlanRequest) -> m.Plan:
        return await settled(helper, await helper.create_plan(request))

    def denied_by(plan: m.Plan) -> list[str]:
        assert (plan.state, plan.decision is None) == (m.PlanState.DENIED, False), plan.summary
        return [rule.id for rule in plan.decision.rules] if plan.decision else []

    bare = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/copy")
    first = await planned(m.PlanRequest(intent=bare))
    # Nothing was listed.
    assert (denied_by(first), first.survey) == (["settled"], None)
    said = (await helper.why(first.id)).alternatives
    assert ["taking only files last changed before" in one.words for one in said] == [True]
    old = await planned(m.PlanRequest(plan=first.id, changes=m.Changes(modified_before=now - day)))
    assert denied_by(old) == ["assistants-small"]
    assert [one.words for one in (await helper.why(old.id)).alternatives][:1] == [
        "taking only files of at most 1.00 kB (1,000 bytes)"
    ]
    wide = await planned(m.PlanRequest(plan=old.id, changes=m.Changes(max_size_bytes=1001)))
    assert denied_by(wide) == ["assistants-small"]
    narrow = await planned(m.PlanRequest(plan=wide.id, changes=m.Changes(max_size_bytes=1000)))
    assert narrow.state is m.PlanState.READY, narrow.summary
    again = await planned(m.PlanRequest(plan=narrow.id, changes=m.Changes(modified_before=now)))
    assert denied_by(again) == ["settled"]
    # What grows or comes after the plan is left out by the nodes.
    (site.lab / "set" / "late").write_bytes(b"x")
    (site.lab / "set" / "later").write_bytes(b"x" * 1001)
    ended = await site.ada.end_of(await helper.submit(m.SubmitRequest(plan_digest=narrow.digest or "")))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert [path.name for path in (site.archive / "copy").iterdir()] == ["small"]


@pytest.mark.anyio
async def test_a_time_without_a_zone_is_refused_in_words_and_not_by_policy(site: Site) -> None:
    patients(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", modified_before=datetime(2026, 11, 1))  # noqa: DTZ001 - what is refused
    assert plan.state is m.PlanState.DENIED
    assert "has no zone; write one" in plan.summary
