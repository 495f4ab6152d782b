"""Links, classes and calendars: versions by two people, bad input, the class of a plan, its hours, what it gets."""

import asyncio
import json
from datetime import datetime, timedelta
from itertools import count

import pytest
from sqlalchemy import update
from tests.pure.api.qos_texts import BAD, LINKED, ON_LINK, STANDING
from tests.servers.site import Person, Site
from tests.service.refusals import refused
from tests.service.test_consent import publish
from tests.service.test_hours import MINUTE, at, before_a_minute, move_to
from tests.service.test_metrics import asked
from tests.service.test_policy_places import EVERYTHING
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until, until_durable

from headrace.api.planning import admission
from headrace.api.policy.links import Moving, Path
from headrace.api.policy.share_texts import refused_by_nodes, share_text
from headrace.api.store.tables_site import QosRow
from headrace.api.transfers.scheduler import Scheduler
from headrace.client import HeadraceError
from headrace.client import models as m
from headrace.client.text import utc
from headrace.engine import AttemptProgress


async def put_in_force(site: Site, text: str) -> m.QosVersion:
    """Propose and publish by two people."""
    proposed = await site.ada.port.propose_qos(m.QosText(text=text))
    second = await site.person(f"linker {proposed.version}", "policy_admin")
    return await second.port.publish_qos(proposed.version)


async def promised(site: Site, name: str, within_s: float) -> m.Transfer:
    """Copy the set to a place of its own, by a deadline."""
    deadline = (site.clock() + timedelta(seconds=within_s)).isoformat()
    return await site.ada.submit(await site.ada.plan("lab:/set", f"archive:/{name}", deadline=deadline))


async def problems(site: Site, text: str) -> list[tuple[str, str]]:
    checked = await site.ada.port.check_qos(m.QosText(text=text))
    assert checked.valid == (not checked.problems)
    return [(one.where, one.message) for one in checked.problems]


@pytest.mark.anyio
async def test_a_new_site_has_the_classes_that_every_site_has_and_no_links(quiet_site: Site) -> None:
    found = await quiet_site.ada.port.qos()
    assert (found.version, found.document.links, found.use) == ("1", [], [])
    assert [one.name for one in found.document.classes] == ["background", "bulk", "priority"]
    [version] = await quiet_site.ada.port.qos_versions()
    assert (version.state, version.author, version.document) == ("active", "headrace", found.document)


@pytest.mark.anyio
async def test_a_second_person_puts_a_version_in_force_and_it_takes_two_to_go_back(site: Site) -> None:
    ada, pia = site.ada, await site.person("pia", "policy_admin")
    proposed = await ada.port.propose_qos(m.QosText(text=LINKED, note="the uplink"))
    assert (proposed.version, proposed.state, proposed.author_name) == ("2", "proposed", "ada")
    assert (await ada.port.qos()).version == "1"
    with refused("publish_own_qos") as info:
        await ada.port.publish_qos("2")
    assert "pia" in info.value.problem.detail
    assert (await pia.port.publish_qos("2")).state == "active"
    found = await ada.port.qos()
    assert (found.version, [one.name for one in found.document.links]) == ("2", ["uplink"])
    back = await ada.port.publish_qos("1")
    assert (back.version, back.state, back.note) == ("3", "proposed", "back to version 1")
    with refused("publish_own_qos"):
        await ada.port.publish_qos("3")
    assert (await pia.port.publish_qos("3")).state == "active"
    with refused("qos_state"):
        await pia.port.publish_qos("3")
    with refused("unknown_qos"):
        await pia.port.publish_qos("9")
    assert [event.subject for event in await site.audited("qos_published")] == ["1", "2", "3"]
    assert [event.subject for event in await site.audited("qos_proposed")] == ["2", "3"]
    await site.restart()
    assert [one.state for one in await ada.port.qos_versions()] == ["active", "retired", "retired"]
    assert (await ada.port.qos()).version == "3"


@pytest.mark.anyio
async def test_each_bad_text_is_refused_with_what_where_and_what_to_do(site: Site) -> None:
    assert await problems(site, LINKED) == []
    for what, (text, where, said) in BAD.items():
        found = await problems(site, text)
        assert any(at_ == where and said in message for at_, message in found), (what, found)
        assert all(";" in message for _, message in found), (what, found)
        with refused("qos_invalid"):
            await site.ada.port.propose_qos(m.QosText(text=text))
    assert len(await site.ada.port.qos_versions()) == 1


def test_whatever_a_text_may_say_is_taken_by_nodes() -> None:
    most = {"link": "uplink", "floor_bps": 10**14, "ceiling_bps": 10**14}
    first = {"name": "background", "weight": 1000, "priority": 7, "dscp": 63, "congestion_control": "a" * 15}
    names = ["background", "bulk", "priority", *(f"c{'x' * 60}{number}" for number in range(10, 71))]
    classes = [{"links": [{"link": "uplink"}], "name": name} for name in names]
    document = m.QosDocument.model_validate(
        {
            "links": [{"name": "uplink", "rate_bps": m.MAX_RATE_BPS, "rest_percent": 90, "nodes": ["left"]}],
            "classes": [classes[0] | first | {"links": [most]}, *classes[1:]],
        }
    )
    assert list(refused_by_nodes(document)) == []
    own = document.classes[0].links[0].model_copy(update={"floor_bps": 10**14 + 1})
    above = document.classes[0].model_copy(update={"congestion_control": "a" * 16, "links": [own]})
    wrong = document.model_copy(update={"classes": [above, *document.classes[1:]]})
    assert [where for where, _ in refused_by_nodes(wrong)] == ["link `uplink`", "class `background`"]


def test_nodes_are_told_whose_guarantee_comes_first() -> None:
    document = m.QosDocument(links=[m.QosLink(name="uplink", rate_bps=9, nodes=["left"])], classes=[])
    moving = Moving("tr_1", "bulk", "L", "R", Path(("uplink",)), order=7)
    assert json.loads(share_text(document, moving))["order"] == 7


@pytest.mark.anyio
async def test_a_deadline_at_risk_because_of_a_higher_priority_says_so(site: Site) -> None:
    slow_s = large_set(site, files=128) * 8 / (2 * SLOW_BPS)
    text = LINKED.replace("80_000_000", str(2 * SLOW_BPS)).replace('"priority"\n', '"priority"\npriority = 1\n')
    await put_in_force(site, text)
    await publish(site, EVERYTHING.replace("@reason", '@qos("priority") @reason', 1))
    deadline = (site.clock() + timedelta(seconds=1.6 * slow_s)).isoformat()
    promised = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/one", deadline=deadline))
    await until_durable(site, promised)
    urgent = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/two", priority="high"))
    assert urgent.qos_class == "priority"
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(promised.id):
            shown = event.transfer
            if (
                shown is not None
                and "a higher priority, floors of other classes or the ceiling of its class" in shown.deadline_note
            ):
                assert shown.deadline_at_risk
                break
    for one in (promised, urgent):
        await site.ada.port.control(one.id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(one)


@pytest.mark.anyio
async def test_what_a_deadline_needs_is_worked_out_more_often_near_it(site: Site) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, LINKED)
    deadline = site.clock() + timedelta(seconds=3 * slow_s)
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline.isoformat(), rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)

    async def needed_when_left(seconds: float) -> int:
        site.clock.shift += deadline - timedelta(seconds=seconds) - site.clock()
        await site.use_cases.shares.renew()
        [shown] = (await site.ada.port.qos()).use[0].transfers
        return shown.needed_bps

    first, second = await needed_when_left(12), await needed_when_left(8)
    assert 0 < first < second, "4 s later, though less than 10 s have passed"
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))


@pytest.mark.anyio
async def test_what_a_deadline_needs_is_worked_out_anew_though_the_clock_was_set_back(site: Site) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, LINKED)
    deadline = (site.clock() + timedelta(seconds=3 * slow_s)).isoformat()
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline, rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    [before] = (await site.ada.port.qos()).use[0].transfers
    site.clock.jump -= timedelta(seconds=30)
    site.clock.shift += timedelta(seconds=11)
    await site.use_cases.shares.renew()
    [after] = (await site.ada.port.qos()).use[0].transfers
    assert 0 < after.needed_bps < before.needed_bps
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_version_whose_node_left_meanwhile_is_not_published(site: Site) -> None:
    proposed = await site.ada.port.propose_qos(m.QosText(text=LINKED))
    second = await site.person("pia", "policy_admin")
    await site.ada.port.revoke_node("left")
    with refused("qos_invalid") as info:
        await second.port.publish_qos(proposed.version)
    assert "there is no node `left`" in info.value.problem.detail


OWN = LINKED + '[[class]]\nname = "instrument"\nweight = 40\n' + ON_LINK
INSTRUMENT = EVERYTHING.replace("@reason", '@qos("instrument") @reason', 1)


@pytest.mark.anyio
async def test_policy_names_classes_of_the_site_and_the_card_says_which_rule_gives_it(site: Site) -> None:
    small_set(site)
    with refused("policy_invalid") as info:
        await site.ada.port.propose_policy(m.PolicyText(text=INSTRUMENT))
    assert "names a class that there is not" in info.value.problem.detail
    await put_in_force(site, OWN)
    await publish(site, INSTRUMENT)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    assert plan.quality is not None
    assert (plan.quality.qos_class, plan.quality.links) == ("instrument", ["uplink"])
    assert plan.quality.why.startswith("policy gives it (rule `")
    assert "Its class is instrument, over uplink" in " ".join(plan.notes)
    low = await site.ada.plan("lab:/set", "archive:/low", priority="low")
    assert low.quality is not None
    assert (low.quality.qos_class, low.quality.why.startswith("priority low was asked for")) == ("background", True)


@pytest.mark.anyio
async def test_a_class_that_policy_plans_or_transfers_use_is_not_removed(site: Site) -> None:
    large_set(site)
    await put_in_force(site, OWN)
    await publish(site, INSTRUMENT)
    plan = await site.ada.plan("lab:/set", "archive:/one", rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/two", rate_limit_bps=SLOW_BPS))
    [(where, by_policy), (_, by_work)] = await problems(site, LINKED)
    assert where == "class `instrument`"
    assert "policy names it (`@qos` of `" in by_policy
    assert plan.id in by_work
    assert transfer.id in by_work
    await publish(site, EVERYTHING)
    await site.ada.port.drop_plan(plan.id)
    [(_, by_work)] = await problems(site, LINKED)
    assert plan.id not in by_work
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    assert await problems(site, LINKED) == []


@pytest.mark.anyio
async def test_a_transfer_waits_for_the_hours_of_its_class_and_goes_on_as_they_return(site: Site) -> None:
    large_set(site)
    shuts = before_a_minute(site)
    days = "days = " + str(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]).replace("'", '"')
    hours = f'[[calendar.hours]]\n{days}\nopens = "{at(shuts + MINUTE)}"\ncloses = "{at(shuts)}"\n'
    nights = f'[[calendar]]\nname = "nights"\n{hours}'
    await put_in_force(site, STANDING.format('calendar = "nights"\n') + nights)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS)
    assert plan.quality is not None
    assert plan.quality.calendar == "nights"
    assert plan.quality.opens is not None
    assert "It runs only while the calendar nights is open" in " ".join(plan.notes)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    move_to(site, shuts, transfer)
    waits = await until(site, transfer, "waiting", reason="the hours of its class `bulk`")
    assert waits.goes_on == shuts + MINUTE
    assert (await site.ada.port.qos()).calendars_open == {"nights": False}
    move_to(site, shuts + MINUTE, transfer)
    await until(site, transfer, "running")
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    assert (await site.ada.end_of(transfer)).attempt == 2


@pytest.mark.anyio
async def test_other_hours_of_a_class_let_what_waits_for_them_go_on_at_once(site: Site) -> None:
    small_set(site)
    now = site.clock()
    tomorrow = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")[(now + timedelta(days=3)).weekday()]
    shut = f'[[calendar]]\nname = "nights"\n[[calendar.hours]]\ndays = ["{tomorrow}"]\n'
    await put_in_force(site, STANDING.format('calendar = "nights"\n') + shut)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    waits = await until(site, transfer, "queued", reason="the hours of its class")
    assert waits.goes_on is not None
    await put_in_force(site, STANDING.format(""))
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_others_see_that_something_runs_over_a_link_and_not_what(site: Site) -> None:
    large_set(site)
    await put_in_force(site, LINKED)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    sent, received = (await site.ada.port.qos()).use
    assert [(one.transfer, one.qos_class, one.entitled_bps) for one in sent.transfers] == [
        (transfer.id, "bulk", 80_000_000)
    ]
    assert (sent.way, received.way, received.transfers) == ("out", "in", [])
    rob = await site.person("rob", "requester")
    assert [one.transfer for one in (await rob.port.qos()).use[0].transfers] == [""]
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    assert (await site.ada.port.qos()).use[0].transfers == []


async def set_class(site: Site, transfer: m.Transfer, name: str | None) -> m.Transfer:
    return await site.ada.port.control(transfer.id, m.ControlRequest(action="set_class", qos_class=name))


async def set_deadline(site: Site, transfer: m.Transfer, deadline: datetime | None) -> m.Transfer:
    return await site.ada.port.control(transfer.id, m.ControlRequest(action="set_deadline", deadline=deadline))


@pytest.mark.anyio
async def test_a_transfer_that_runs_gets_another_class_and_never_a_higher_one_than_policy_gives(site: Site) -> None:
    large_set(site)
    await put_in_force(site, OWN)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    assert transfer.qos_class == "bulk"
    with refused("class_above_policy") as above:
        await set_class(site, transfer, "priority")
    assert "up to the class `bulk`" in above.value.problem.detail
    with refused("unknown_class"):
        await set_class(site, transfer, "gold")
    with refused("unknown_class"):
        await set_class(site, transfer, None)
    assert (await set_class(site, transfer, "background")).qos_class == "background"
    assert [one.qos_class for one in (await site.ada.port.qos()).use[0].transfers] == ["background"]

    await publish(site, INSTRUMENT)
    given = (await site.ada.port.qos()).given_by
    assert ([bool(rules) for rules in given.values()], list(given)) == (
        [False, False, False, True],
        ["background", "bulk", "priority", "instrument"],
    )
    assert (await set_class(site, transfer, "instrument")).qos_class == "instrument"
    [*_, last] = [one for one in await site.ada.port.transfer_events(transfer.id) if one.kind == "class"]
    assert last.message == "its class is `instrument` from now on"
    await site.restart()
    assert (await site.ada.port.transfer(transfer.id)).qos_class == "instrument"
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    with refused("transfer_state"):
        await set_class(site, transfer, "bulk")


@pytest.mark.anyio
async def test_a_transfer_that_runs_waits_when_the_hours_of_its_new_class_are_over(site: Site) -> None:
    large_set(site)
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    later = days[(site.clock() + timedelta(days=3)).weekday()]
    shut = f'[[calendar]]\nname = "nights"\n[[calendar.hours]]\ndays = ["{later}"]\n'
    classes = STANDING.format("").replace('"background"\n', '"background"\ncalendar = "nights"\n')
    await put_in_force(site, classes + shut)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    await set_class(site, transfer, "background")
    await until(site, transfer, "waiting", reason="the hours of its class `background`")
    with refused("deadline_infeasible"):
        await set_deadline(site, transfer, site.clock() + timedelta(days=1))
    await set_class(site, transfer, "bulk")
    await until(site, transfer, "running")
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_transfer_that_runs_gets_another_deadline_that_can_be_kept_for_what_is_left(site: Site) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, LINKED)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    late = (site.clock() + timedelta(seconds=3 * slow_s)).replace(microsecond=0)
    assert (await set_deadline(site, transfer, late)).deadline == late
    with refused("deadline_infeasible") as past:
        await set_deadline(site, transfer, site.clock() - timedelta(minutes=1))
    assert "is to be done by" in past.value.problem.detail
    with refused("deadline_infeasible") as soon:
        await set_deadline(site, transfer, site.clock() + timedelta(seconds=1))
    assert "at the earliest" in soon.value.problem.detail
    assert (await site.ada.port.transfer(transfer.id)).deadline is not None
    [share] = (await site.ada.port.qos()).use[0].transfers
    assert share.needed_bps == share.guaranteed_bps > 0
    assert (await set_deadline(site, transfer, None)).deadline is None
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


NO_DEADLINES = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("no-deadlines")
@reason("nobody here may ask for a deadline")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { context has deadline };

// example allowed {"action": "copy"}
"""


@pytest.mark.anyio
async def test_a_deadline_that_policy_denies_is_not_set_afterwards_nor_one_that_nobody_could_mean(site: Site) -> None:
    large_set(site)
    await publish(site, NO_DEADLINES)
    far = site.clock() + timedelta(days=100)
    assert (await site.ada.plan("lab:/set", "archive:/copy", deadline=far)).state is m.PlanState.DENIED
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    with refused("denied_by_policy") as denied:
        await set_deadline(site, transfer, far)
    assert "nobody here may ask for a deadline" in denied.value.problem.detail
    assert (await site.ada.port.transfer(transfer.id)).deadline is None
    with refused("not_supported_yet") as too_far:
        await set_deadline(site, transfer, site.clock() + timedelta(days=400))
    assert "at most 366 days ahead" in too_far.value.problem.detail
    assert (await set_deadline(site, transfer, None)).deadline is None
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_deadline_that_was_set_is_what_policy_decides_from_then_on(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    await set_deadline(site, transfer, site.clock() + timedelta(days=1))
    await site.ada.port.control(transfer.id, m.ControlRequest(action="pause"))
    await until(site, transfer, "paused")
    await publish(site, NO_DEADLINES)
    await site.ada.port.control(transfer.id, m.ControlRequest(action="resume"))
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.FAILED, ended.summary
    assert ended.error is not None
    assert ended.error.code == "denied_by_policy"


@pytest.mark.anyio
async def test_hours_that_never_open_together_are_refused_wherever_they_would_meet(site: Site) -> None:
    large_set(site)
    shuts = before_a_minute(site)
    days = "days = " + str(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]).replace("'", '"')

    def calendar(begins: datetime, ends: datetime) -> str:
        return f'[[calendar]]\nname = "n"\n[[calendar.hours]]\n{days}\nopens = "{at(begins)}"\ncloses = "{at(ends)}"\n'

    early, late = calendar(shuts - 2 * MINUTE, shuts), calendar(shuts, shuts + 2 * MINUTE)
    classes = STANDING.format("").replace('"background"\n', '"background"\ncalendar = "n"\n')
    await put_in_force(site, classes + late)
    window = (at(shuts - 2 * MINUTE), at(shuts))
    plan = await site.ada.plan("lab:/set", "archive:/low", window=window, priority="low")
    assert [one.rule for one in plan.refusals] == ["hours_never_open"]
    assert "are never open together, so it would never run" in plan.summary
    ready = await site.ada.plan("lab:/set", "archive:/copy", window=window, rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(ready)
    with refused("hours_never_open"):
        await set_class(site, transfer, "background")
    await put_in_force(site, classes + early)
    low = await site.ada.plan("lab:/set", "archive:/low", window=window, priority="low", rate_limit_bps=SLOW_BPS)
    await set_class(site, transfer, "background")
    [(where, said)] = await problems(site, classes + late)
    assert where == "class `background`: calendar"
    assert f"`{transfer.id}` would never run" in said
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    await put_in_force(site, classes + late)
    with refused("hours_never_open"):
        await site.ada.submit(low)


@pytest.mark.anyio
async def test_while_the_version_in_force_cannot_be_read_nothing_begins_and_health_says_so(site: Site) -> None:
    large_set(site)
    await put_in_force(site, LINKED.replace("80_000_000", str(SLOW_BPS)))
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    waits = await site.ada.plan("lab:/set", "archive:/other")
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(QosRow).where(QosRow.state == "active").values(text="[[link"))
    await site.restart()
    causes = {one.code: one for one in (await site.ada.port.health()).causes}
    assert "version 2 of links, classes and calendars" in causes[m.HealthCode.QOS_UNREADABLE].sentence
    assert (await asked(site, "/ready")).json()["reasons"] == ["qos_unreadable"]
    with refused("qos_unreadable"):
        await site.ada.submit(waits)
    assert (await site.ada.plan("lab:/set", "archive:/third")).state is m.PlanState.FAILED
    # What ran goes on, over the links that its nodes know.
    await until(site, transfer, "running")
    await put_in_force(site, STANDING.format(""))
    assert (await asked(site, "/ready")).json()["ready"]
    assert m.HealthCode.QOS_UNREADABLE not in {one.code for one in (await site.ada.port.health()).causes}
    await site.ada.submit(waits)
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_a_check_names_the_deadlines_that_a_text_would_break(site: Site) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    text = LINKED.replace("80_000_000", str(2 * SLOW_BPS))
    await put_in_force(site, text)
    deadline = (site.clock() + timedelta(seconds=0.9 * slow_s)).isoformat()
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline))

    async def broken(text: str) -> list[tuple[str, str]]:
        checked = await site.ada.port.check_qos(m.QosText(text=text))
        assert checked.valid
        return [(one.where, one.message) for one in checked.warnings]

    assert await broken(text.replace(str(2 * SLOW_BPS), str(3 * SLOW_BPS))) == []
    [(where, said)] = await broken(text.replace(str(2 * SLOW_BPS), "1_000_000"))
    assert where == f"transfer `{transfer.id}`"
    assert transfer.deadline is not None
    assert f"its deadline, {utc(transfer.deadline)}, needs" in said
    assert said.endswith("and 1.00 Mb/s of uplink would be left for it")
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_names_of_nodes_that_there_are_no_more_are_told(site: Site) -> None:
    await put_in_force(site, LINKED)
    assert (await site.ada.port.qos()).unknown_nodes == []
    await site.ada.port.revoke_node("left")
    await site.use_cases.shares.renew()
    assert (await site.ada.port.qos()).unknown_nodes == ["left"]


@pytest.mark.anyio
async def test_a_deadline_before_the_hours_of_a_class_open_is_infeasible(site: Site) -> None:
    small_set(site)
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    later = days[(site.clock() + timedelta(days=3)).weekday()]
    shut = f'[[calendar]]\nname = "nights"\n[[calendar.hours]]\ndays = ["{later}"]\n'
    await put_in_force(site, STANDING.format('calendar = "nights"\n') + shut)
    deadline = (site.clock() + timedelta(days=1)).isoformat()
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline)
    assert [one.rule for one in plan.refusals] == ["deadline_infeasible"]
    assert "it may not run before" in plan.summary


@pytest.mark.anyio
async def test_nodes_hold_a_transfer_to_its_link_and_its_diagnosis_says_so_until_the_link_is_wider(site: Site) -> None:
    large_set(site)
    await put_in_force(site, LINKED.replace("80_000_000", str(SLOW_BPS)))
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    await until_durable(site, transfer)
    found = await site.ada.port.diagnose(transfer.id)
    async with asyncio.timeout(60):
        async for _ in site.ada.port.watch(transfer.id):
            found = await site.ada.port.diagnose(transfer.id)
            if found.limit is m.Limit.SHARE:
                break
    assert "as class `bulk` on `uplink`" in found.said
    assert "share" in {stage.name for stage in (await site.ada.port.measured(transfer.id)).source.stages}
    assert {one.name: one.value for one in found.evidence}["entitled to"] == SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", "100_000_000_000"))
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_nodes_hold_a_transfer_to_the_ceiling_of_its_class_and_its_diagnosis_calls_it_that(site: Site) -> None:
    large_set(site)
    await put_in_force(site, LINKED.replace('"uplink" }', f'"uplink", ceiling_bps = {SLOW_BPS} }}'))
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    await until_durable(site, transfer)
    found = await site.ada.port.diagnose(transfer.id)
    async with asyncio.timeout(60):
        async for _ in site.ada.port.watch(transfer.id):
            found = await site.ada.port.diagnose(transfer.id)
            if found.limit in {m.Limit.CEILING, m.Limit.SHARE}:
                break
    assert found.said == "the ceiling of its class `bulk` on `uplink`, 8.00 Mb/s, holds it back"
    assert found.limit is m.Limit.CEILING
    assert "ceiling_bps" in " ".join(found.remedy)
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    after = await site.ada.port.diagnose(transfer.id)
    assert (after.limit, after.live) == (m.Limit.CEILING, False), after.said


@pytest.mark.anyio
async def test_a_deadline_that_a_link_cannot_hold_beside_others_is_infeasible_and_says_who_would_give_way(
    site: Site,
) -> None:
    # So long that what planning takes on a busy machine is little of it.
    slow_s = large_set(site, files=256) * 8 / SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(2 * SLOW_BPS)))

    async def planned(person: Person, name: str, slow: float, rate: int | None = None) -> m.Plan:
        """Plan a copy that is to be done after a part of the time that a slow one takes."""
        deadline = (site.clock() + timedelta(seconds=slow * slow_s)).isoformat()
        return await person.plan("lab:/set", f"archive:/{name}", deadline=deadline, rate_limit_bps=rate)

    alone = await planned(site.ada, "one", 1.2, SLOW_BPS)
    assert alone.state is m.PlanState.READY, alone.summary
    assert "what that needs of uplink is set aside for it" in " ".join(alone.notes)
    same = await planned(site.ada, "two", 0.65)
    too_soon = await planned(site.ada, "three", 0.4)
    assert [one.rule for one in too_soon.refusals] == ["deadline_infeasible"]
    assert "which is not there for it, also without what was promised to others" in too_soon.summary
    first = await site.ada.submit(alone)
    later = await planned(site.ada, "four", 0.65)
    assert [one.rule for one in later.refusals] == ["deadline_infeasible"]
    assert f"`{first.id}` would have to make room for it" in later.summary
    assert "at the earliest" in later.summary
    # What was planned before the other had its promise is asked again when it is submitted.
    with refused("deadline_infeasible"):
        await site.ada.submit(same)
    rob = await site.person("rob", "requester")
    others = await planned(rob, "five", 0.65)
    assert "1 transfer of others would have to make room for it" in others.summary
    assert first.id not in others.summary
    in_time = await planned(site.ada, "six", 1.1)
    assert in_time.state is m.PlanState.READY, in_time.summary
    await site.ada.port.control(first.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(first)
    assert (await planned(site.ada, "seven", 0.65)).state is m.PlanState.READY


@pytest.mark.anyio
async def test_of_two_deadlines_that_do_not_fit_together_and_are_submitted_at_once_one_is_promised(site: Site) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(2 * SLOW_BPS)))
    deadline = (site.clock() + timedelta(seconds=0.75 * slow_s)).isoformat()
    plans = [await site.ada.plan("lab:/set", f"archive:/{name}", deadline=deadline) for name in ("one", "two")]
    assert [plan.state for plan in plans] == [m.PlanState.READY] * 2
    answers = await asyncio.gather(*(site.ada.submit(plan) for plan in plans), return_exceptions=True)
    [refusal] = [one for one in answers if not isinstance(one, m.Transfer)]
    assert isinstance(refusal, HeadraceError)
    assert refusal.problem.code == "deadline_infeasible"
    for one in answers:
        if isinstance(one, m.Transfer):
            await site.ada.port.control(one.id, m.ControlRequest(action="cancel"))
            await site.ada.end_of(one)


@pytest.mark.anyio
async def test_who_is_resumed_or_tried_again_stands_behind_what_was_promised_meanwhile_and_is_told_so(
    site: Site,
) -> None:
    slow_s = large_set(site, files=256) * 8 / SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(2 * SLOW_BPS)))

    async def control(transfer: m.Transfer, action: m.ControlAction) -> None:
        await site.ada.port.control(transfer.id, m.ControlRequest(action=action))

    async def said(transfer: m.Transfer) -> str:
        return [one.message for one in await site.ada.port.transfer_events(transfer.id) if "by ada" in one.message][-1]

    first = await promised(site, "one", 0.65 * slow_s)
    await control(first, "pause")
    await until(site, first, "paused")
    await control(first, "resume")
    assert "not promised" not in await said(first)
    await control(first, "pause")
    await until(site, first, "paused")
    second = await promised(site, "two", 0.75 * slow_s)
    await control(first, "resume")
    assert "is not promised any more: " in await said(first)
    assert f"`{second.id}` would have to make room for it" in await said(first)
    await until(site, first, "running")
    await site.use_cases.shares.renew()
    shares = {one.transfer: one for one in (await site.ada.port.qos()).use[0].transfers}
    assert shares[second.id].guaranteed_bps == shares[second.id].needed_bps
    assert shares[first.id].guaranteed_bps < shares[first.id].needed_bps
    for one in (first, second):
        await control(one, "cancel")
        await site.ada.end_of(one)


@pytest.mark.anyio
async def test_the_earliest_deadline_goes_first_and_a_later_one_that_is_kept_so_is_not_at_risk(site: Site) -> None:
    slow_s = large_set(site, files=128) * 8 / SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(2 * SLOW_BPS)))

    # Together they need more than the link now, and no more than it carries until the later one.
    late, early = await promised(site, "late", 1.4 * slow_s), await promised(site, "early", 0.75 * slow_s)
    await until(site, early, "running")
    async with asyncio.timeout(60):
        async for event in site.ada.port.watch(late.id):
            shown = event.transfer
            if shown is None or shown.progress.share is None or shown.deadline is None:
                continue
            left, share = (shown.deadline - site.clock()).total_seconds(), shown.progress.share
            still = shown.progress.bytes_total - shown.progress.bytes_durable
            if share.guaranteed_bps < share.needed_bps and shown.progress.rate_bps * left < 8 * still:
                assert share.kept_later
                assert not shown.deadline_at_risk
                break
        else:
            pytest.fail("it ended before its present rate said that it ends late")
    shares = {one.transfer: one for one in (await site.ada.port.qos()).use[0].transfers}
    assert shares[early.id].guaranteed_bps == shares[early.id].needed_bps
    for one in (late, early):
        await site.ada.port.control(one.id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(one)


@pytest.mark.anyio
async def test_a_rate_that_is_lifted_takes_no_promise_from_who_was_given_one_meanwhile(site: Site) -> None:
    slow_s = large_set(site, files=128) * 8 / SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(2 * SLOW_BPS)))

    async def set_rate(transfer: m.Transfer, rate_bps: int | None) -> str:
        await site.ada.port.control(transfer.id, m.ControlRequest(action="set_rate", rate_bps=rate_bps))
        return [one.message for one in await site.ada.port.transfer_events(transfer.id) if "it runs" in one.message][-1]

    first = await promised(site, "first", 0.8 * slow_s)
    assert "is not promised any more" not in await set_rate(first, 100_000)
    assert "is not promised any more" not in await set_rate(first, None)
    await set_rate(first, 100_000)
    lowered = await site.ada.port.transfer(first.id)
    assert (lowered.deadline_at_risk, "at 100 kb/s take" in lowered.deadline_note) == (True, True)
    second = await promised(site, "second", 0.9 * slow_s)
    assert "is not promised any more: " in await set_rate(first, None)
    lifted = await site.ada.port.transfer(first.id)
    assert (lifted.deadline_at_risk, "not promised any more" in lifted.deadline_note) == (True, True)
    await until(site, second, "running")
    await site.use_cases.shares.renew()
    shares = {one.transfer: one for one in (await site.ada.port.qos()).use[0].transfers}
    assert shares[second.id].guaranteed_bps == shares[second.id].needed_bps
    assert shares[first.id].guaranteed_bps < shares[first.id].needed_bps
    for one in (first, second):
        await site.ada.port.control(one.id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(one)


@pytest.mark.anyio
async def test_a_deadline_is_not_judged_within_a_transaction_however_often_promises_change(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_set(site)
    await put_in_force(site, LINKED)
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=(site.clock() + timedelta(days=1)).isoformat())
    changes = count()
    monkeypatch.setattr(admission, "_promises", lambda *_: asyncio.sleep(0, ((next(changes),),)))
    with refused("busy"):
        await site.ada.submit(plan)
    monkeypatch.undo()
    transfer = await site.ada.submit(plan)
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


class Lie:
    """What a node says, but how much there is to do."""

    def __init__(self, event: AttemptProgress, bytes_total: int) -> None:
        self._event, self._bytes_total = event, bytes_total

    def __getattr__(self, name: str) -> object:
        return self._bytes_total if name == "bytes_total" else getattr(self._event, name)


def let_nodes_say(monkeypatch: pytest.MonkeyPatch, bytes_total: int) -> None:
    believed = Scheduler.on_progress

    def lied(self: Scheduler, event: AttemptProgress) -> bool:
        return believed(self, Lie(event, bytes_total))  # type: ignore[arg-type]

    monkeypatch.setattr(Scheduler, "on_progress", lied)


@pytest.mark.anyio
async def test_a_node_that_lies_low_about_what_is_left_buys_no_deadline(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(SLOW_BPS)))
    let_nodes_say(monkeypatch, 1)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(transfer.id):
            if event.transfer is not None and event.transfer.progress.bytes_total == 1:
                break
    with refused("deadline_infeasible"):
        await set_deadline(site, transfer, site.clock() + timedelta(seconds=0.5 * slow_s))
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_node_that_says_there_is_more_to_do_takes_no_more_of_a_link_than_its_plan_may(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = large_set(site)
    await put_in_force(site, LINKED)
    let_nodes_say(monkeypatch, 1 << 62)
    slow_s = total * 8 / SLOW_BPS
    deadline = (site.clock() + timedelta(seconds=2 * slow_s)).isoformat()
    plan = await site.ada.plan("lab:/set", "archive:/one", deadline=deadline, rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    shown = await until_durable(site, transfer)
    # A plan lets a small set grow by 64 MiB.
    assert total <= shown.progress.bytes_total <= total + (64 << 20)
    assert (await site.ada.plan("lab:/set", "archive:/two", deadline=deadline)).state is m.PlanState.READY
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_of_two_who_publish_at_once_one_is_told_that_it_is_in_force_already(site: Site) -> None:
    proposed = await site.ada.port.propose_qos(m.QosText(text=LINKED))
    others = [await site.person(name, "policy_admin") for name in ("pia", "pol")]
    answers = await asyncio.gather(*(one.port.publish_qos(proposed.version) for one in others), return_exceptions=True)
    assert sorted(isinstance(one, m.QosVersion) for one in answers) == [False, True]
