import asyncio
import hashlib
import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.servers.site import Site, settled, started_site
from tests.service.refusals import refused
from tests.service.test_consent import publish

from headrace.api.planning import words
from headrace.api.settings import Settings
from headrace.api.store.tables_work import PlanRow
from headrace.client import models as m
from headrace.guardrails import shown, verify
from headrace.guardrails.intents import Context, Interpretation
from headrace.guardrails.language import interpret


def one_file(site: Site, text: str = "a") -> None:
    (site.lab / "set").mkdir(exist_ok=True)
    (site.lab / "set" / "a.txt").write_text(text)


@pytest.mark.anyio
async def test_a_copy_is_planned_with_its_counts_and_decision(site: Site) -> None:
    one_file(site, "four")
    plan = await site.ada.plan("lab:/set", "archive:/set")
    assert plan.state is m.PlanState.READY, plan.summary
    assert plan.survey is not None
    assert (plan.survey.files, plan.survey.bytes, plan.survey.overwrites, plan.survey.deletes) == (1, 4, 0, 0)
    assert plan.decision is not None
    assert plan.decision.outcome == "allowed"
    assert (await site.ada.port.why(plan.id)).why == plan.decision.why


@pytest.mark.anyio
async def test_invariant_2_the_digest_is_the_sealed_documents(site: Site) -> None:
    one_file(site)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    shown = await site.ada.port.plan(plan.id, document=True)
    assert shown.document is not None
    sealed = verify(shown.document, "plan", [(await site.ada.port.health()).key])
    assert sealed.digest == plan.digest == hashlib.sha256(sealed.body).hexdigest()
    assert sealed.fields()["canonical_sentence"] == plan.canonical_sentence
    assert (await site.ada.port.plan(sealed.digest)).id == plan.id


@pytest.mark.anyio
async def test_words_become_the_same_plan_as_slots(site: Site) -> None:
    one_file(site)
    plan = await site.ada.ask("copy lab:/set to archive:/set, skip *.tmp, at most 5 Gb/s")
    assert plan.state is m.PlanState.READY, plan.summary
    assert plan.intent is not None
    assert (plan.intent.exclude, plan.intent.rate_limit_bps) == (["*.tmp"], 5_000_000_000)
    assert plan.canonical_sentence is not None
    again = await site.ada.ask(plan.canonical_sentence)
    assert again.intent == plan.intent


@pytest.mark.anyio
async def test_what_is_not_understood_is_asked_back_and_nothing_is_listed(site: Site) -> None:
    plan = await site.ada.ask("copy lab:/set to archiv:/set")
    assert plan.state is m.PlanState.ASK
    [question] = plan.questions
    assert question.slot == "destination"
    assert plan.survey is None
    assert plan.digest is None


@pytest.mark.anyio
async def test_a_follow_up_makes_a_new_plan_with_a_new_digest(site: Site) -> None:
    one_file(site)
    first = await site.ada.plan("lab:/set", "archive:/set", compare="checksum")
    by_words = await site.ada.ask("also skip *.bak", plan=first.id)
    assert by_words.state is m.PlanState.READY, by_words.summary
    assert by_words.intent is not None
    assert (by_words.intent.exclude, by_words.intent.compare) == (["*.bak"], "checksum")
    request = m.PlanRequest(plan=by_words.digest, changes=m.Changes(exclude_add=["*.tmp"], rate_limit_bps=8_000_000))
    by_slots = await settled(site.ada.port, await site.ada.port.create_plan(request))
    assert by_slots.intent is not None
    assert (by_slots.intent.exclude, by_slots.intent.rate_limit_bps) == (["*.bak", "*.tmp"], 8_000_000)
    assert len({first.digest, by_words.digest, by_slots.digest}) == 3


@pytest.mark.anyio
async def test_a_plan_that_preserves_nothing_says_so_and_a_follow_up_keeps_it(site: Site) -> None:
    one_file(site)
    first = await site.ada.plan("lab:/set", "archive:/set", preserve=[])
    assert "Modification times and permissions are not kept." in first.notes
    again = await site.ada.ask("also skip *.bak", plan=first.id)
    assert again.state is m.PlanState.READY, again.summary
    assert again.intent is not None
    assert (again.intent.exclude, again.intent.preserve) == (["*.bak"], [])
    assert first.intent is not None
    asked = m.TransferIntent.model_validate(first.intent.model_dump())
    said = await site.ada.port.interpret(m.InterpretRequest(intent=asked))
    assert (said.transfer, said.canonical_sentence) == (asked, None)


@pytest.mark.anyio
async def test_words_for_something_else_are_no_plan(site: Site) -> None:
    plan = await site.ada.ask("list my transfers")
    assert (plan.state, [one.slot for one in plan.questions]) == (m.PlanState.ASK, ["action"])


@pytest.mark.anyio
async def test_who_has_many_long_texts_read_keeps_nobody_else_waiting(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    mal, held, original = await site.person("mal", "requester"), threading.Event(), interpret

    def slow(text: str, context: Context) -> Interpretation:
        if text == "slow":
            held.wait()
        return original(text, context)

    monkeypatch.setattr(words, "interpret", slow)
    # More than the threads of the event loop's own pool.
    long = [asyncio.create_task(mal.port.interpret(m.InterpretRequest(text="slow"))) for _ in range(40)]
    try:
        await asyncio.sleep(0)
        reading = site.ada.port.interpret(m.InterpretRequest(text="copy lab:/set to archive:/set"))
        assert (await asyncio.wait_for(reading, 20)).outcome == "intent"
        assert not any(one.done() for one in long)
    finally:
        held.set()
        await asyncio.gather(*long)


@pytest.mark.anyio
async def test_words_are_read_without_planning(site: Site) -> None:
    read = await site.ada.port.interpret(m.InterpretRequest(text="move lab:/set to archive:/set"))
    assert (read.outcome, read.action, read.danger) == ("intent", "move", ["delete_source"])
    assert read.transfer is not None
    assert read.transfer.source == "lab:/set"
    assert (await site.ada.port.plans()).items == []


@pytest.mark.anyio
async def test_an_intent_is_said_in_words_that_read_back_to_it(site: Site) -> None:
    port = site.ada.port
    typed = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/set/", rate_limit_bps=8_000_000)
    said = await port.interpret(m.InterpretRequest(intent=typed))
    assert said.canonical_sentence is not None
    assert (await port.interpret(m.InterpretRequest(text=said.canonical_sentence))).transfer == typed
    unknown = await port.interpret(m.InterpretRequest(intent=typed.model_copy(update={"source": "nowhere:/set"})))
    assert (unknown.outcome, unknown.transfer) == ("ask", None)
    assert "nowhere:/set" in (unknown.canonical_sentence or "")
    for neither_or_both in (m.InterpretRequest(), m.InterpretRequest(text="copy a to b", intent=typed)):
        with refused("invalid_request"):
            await port.interpret(neither_or_both)


@pytest.mark.anyio
async def test_invariant_3_an_unknown_endpoint_means_no(site: Site) -> None:
    plan = await site.ada.plan("lab:/set", "nowhere:/set")
    assert plan.state in {m.PlanState.ASK, m.PlanState.DENIED}
    assert plan.digest is None


@pytest.mark.anyio
async def test_invariant_3_a_node_that_is_away_means_no(site: Site) -> None:
    await site.stop_node("right")
    plan = await site.ada.plan("lab:/set", "archive:/set")
    assert (plan.state, plan.refusals[0].rule) == (m.PlanState.FAILED, "node_away")


@pytest.mark.anyio
async def test_rails_refuse_before_anything_is_listed(site: Site) -> None:
    plan = await site.ada.plan("lab:/", "archive:/all", action="move")
    assert (plan.state, plan.refusals[0].rule) == (m.PlanState.DENIED, "move_of_root")
    assert plan.survey is None


@pytest.mark.anyio
async def test_a_repetition_that_cannot_be_kept_is_refused_in_plain_words(site: Site) -> None:
    plan = await site.ada.plan("lab:/set", "archive:/set", "copy", repeat="FREQ=DAILY;BYHOUR=22;BYMINUTE=0")
    assert plan.state is m.PlanState.DENIED
    assert "a transfer can't be repeated by itself yet" in plan.refusals[0].message


@pytest.mark.anyio
async def test_policy_denies_before_anything_is_listed(site: Site) -> None:
    await publish(site, NO_ARCHIVE)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    assert plan.state is m.PlanState.DENIED
    assert plan.decision is not None
    assert [rule.id for rule in plan.decision.rules] == ["closed"]
    assert plan.survey is None
    with refused("denied_by_policy"):
        await site.ada.port.browse("archive", "/")
    assert [event.subject for event in await site.audited("browse_denied")] == ["archive:/"]


@pytest.mark.anyio
async def test_asking_for_less_priority_gives_the_lower_class(site: Site) -> None:
    one_file(site)
    classes = {}
    for priority in ("low", "normal", "high"):
        plan = await site.ada.plan("lab:/set", "archive:/set", priority=priority)
        assert plan.decision is not None, plan.summary
        classes[priority] = plan.decision.qos_class
    assert classes == {"low": "background", "normal": "bulk", "high": "bulk"}


@pytest.mark.anyio
async def test_a_plan_cut_off_by_a_crash_is_taken_up_again(site: Site) -> None:
    one_file(site)
    plan = await site.ada.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/set"))
    # What a crash right after the request leaves: the request, and nothing of the survey.
    await site.restart()
    shown = await settled(site.ada.port, plan)
    assert (shown.state, shown.words) == (m.PlanState.READY, plan.words), shown.summary
    assert shown.survey is not None
    assert shown.survey.files == 1


@pytest.mark.anyio
async def test_a_plan_that_nobody_works_on_is_found(site: Site) -> None:
    one_file(site)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PlanRow).values(state="surveying"))
    site.service.whole.core.jobs.wake("sweep plans", "")
    assert (await settled(site.ada.port, plan)).state is m.PlanState.READY


@pytest.mark.anyio
async def test_a_plan_whose_request_was_not_kept_whole_fails_and_says_so(site: Site) -> None:
    one_file(site)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PlanRow).values(state="surveying", request=None))
    await site.restart()
    shown = await settled(site.ada.port, plan)
    assert (shown.state, shown.refusals[0].rule) == (m.PlanState.FAILED, "interrupted")
    assert "Plan again" in shown.summary


@pytest.mark.anyio
async def test_an_old_plan_shows_as_expired(site: Site) -> None:
    one_file(site)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    site.clock.shift = timedelta(hours=25)
    assert (await site.ada.port.plan(plan.id)).state is m.PlanState.EXPIRED
    assert [one.id for one in await site.ada.port.plans(state="expired")] == [plan.id]
    assert (await site.ada.port.plans(state="ready")).items == []


@pytest.mark.anyio
async def test_a_plan_that_was_started_is_neither_open_nor_expired(site: Site) -> None:
    one_file(site)
    port, plan = site.ada.port, await site.ada.plan("lab:/set", "archive:/set")
    assert (await port.plan_counts()).mine_open == 1
    await site.ada.end_of(await site.ada.submit(plan))
    assert (await port.plan_counts()).mine_open == 0
    site.clock.shift += timedelta(hours=25)
    assert [one.id for one in await port.plans(states=["ready"])] == [plan.id]
    assert not (await port.plans(states=["expired"])).items


@pytest.mark.anyio
async def test_plans_are_paged_newest_first(quiet_site: Site) -> None:
    made = [(await quiet_site.ada.ask(f"list transfers {number}")).id for number in range(5)]
    first = await quiet_site.ada.port.plans(limit=2)
    rest = await quiet_site.ada.port.plans(limit=3, after=first[-1].id)
    assert [plan.id for plan in (*first, *rest)] == made[::-1]


@pytest.mark.anyio
async def test_invariant_6_too_many_plans_at_once_are_refused(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(plan_queue=2)) as site:
        port, request = site.ada.port, m.PlanRequest(words="copy a:/b to c:/d")
        with refused("busy"):
            await asyncio.gather(*(port.create_plan(request) for _ in range(20)))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "request_",
    [
        m.PlanRequest(),
        m.PlanRequest(plan="pl_1"),
        m.PlanRequest(changes=m.Changes()),
        m.PlanRequest(words="x", changes=m.Changes()),
    ],
)
async def test_a_request_has_one_of_its_forms(quiet_site: Site, request_: m.PlanRequest) -> None:
    with refused("invalid_request"):
        await quiet_site.ada.port.create_plan(request_)


@pytest.mark.anyio
async def test_a_folder_is_listed_and_restricted_names_are_withheld_from_agents(site: Site) -> None:
    one_file(site)
    page = await site.ada.port.browse("lab", "/set")
    assert [(entry.name, entry.kind, entry.size_bytes) for entry in page.items] == [("a.txt", "file", 1)]
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(labels={"names": "restricted"}))
    _, agent = await site.ada.token("transfer:read", "transfer:plan", agent="helper")
    withheld = await agent.browse("lab", "/set")
    assert (withheld.items, withheld.count, withheld.names_withheld) == ([], 1, True)
    assert [entry.name for entry in (await site.ada.port.browse("lab", "/set")).items] == ["a.txt"]


@pytest.mark.anyio
async def test_looking_into_what_is_no_folder_says_so_with_what_is_near(site: Site) -> None:
    one_file(site)
    with refused("unknown_folder") as nothing:
        await site.ada.port.browse("lab", "/sett")
    assert str(nothing.value.args[0]) == "there is nothing at `lab:/sett`; near it: `lab:/set`. Correct the path"
    with refused("unknown_folder") as deep:
        await site.ada.port.browse("lab", "/nope/at/all")
    assert str(deep.value.args[0]) == "there is nothing at `lab:/nope/at/all`. Correct the path"
    with refused("unknown_folder") as file:
        await site.ada.port.browse("lab", "/set/a.txt")
    assert str(file.value.args[0]).startswith("`lab:/set/a.txt` is not a folder")


NO_ARCHIVE = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("closed")
@reason("the archive is closed")
forbid (principal, action == Action::"browse", resource in Endpoint::"archive");
"""


@pytest.mark.anyio
async def test_questions_count_as_open_until_they_are_dropped_answered_or_a_day_old(site: Site) -> None:
    one_file(site)
    port = site.ada.port

    async def open_plans() -> int:
        return (await port.plan_counts()).mine_open

    dropped = await site.ada.ask("copy lab:/set to archiv:/set")
    assert (dropped.state, await open_plans()) == (m.PlanState.ASK, 1)
    after = await port.drop_plan(dropped.id)
    assert (after.state, after.state_reason, await open_plans()) == (m.PlanState.DROPPED, "It was dropped.", 0)
    await site.audited("dropped")

    asked = await site.ada.ask("copy lab:/set to archiv:/set")
    request = m.PlanRequest(words="copy lab:/set to archive:/set", answers=asked.id)
    answer = await settled(port, await port.create_plan(request))
    assert (answer.state, (await port.plan(asked.id)).state) == (m.PlanState.READY, m.PlanState.DROPPED)
    assert await open_plans() == 1
    await port.drop_plan(answer.id)
    with refused("plan_not_ready"):
        await port.submit(m.SubmitRequest(plan_digest=answer.digest or ""))

    await site.ada.ask("copy lab:/set to archiv:/set")
    assert await open_plans() == 1
    site.clock.shift += timedelta(hours=25)
    assert await open_plans() == 0
    [old] = await port.plans(state="expired")
    assert old.state_reason == "Its questions were not answered in time."


@pytest.mark.anyio
async def test_only_a_plan_of_ones_own_is_dropped_or_answered(site: Site) -> None:
    asked = await site.ada.ask("copy lab:/set to archiv:/set")
    bob = await site.person("bob", "requester")
    with refused("unknown_plan"):
        await bob.port.drop_plan(asked.id)
    with refused("unknown_plan"):
        await bob.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/set", answers=asked.id))
    oli = await site.person("oli", "operator", "requester")
    await oli.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/set", answers=asked.id))
    assert (await site.ada.port.plan(asked.id)).state is m.PlanState.ASK


@pytest.mark.anyio
async def test_plans_are_found_by_words_in_any_order_and_by_time(site: Site) -> None:
    one_file(site)
    first = await site.ada.plan("lab:/set", "archive:/first")
    site.clock.shift += timedelta(hours=2)
    second = await site.ada.ask("copy lab:/set to archive:/second")
    between = second.created - timedelta(hours=1)
    port = site.ada.port
    assert [one.id for one in await port.plans(search="FIRST copy")] == [first.id]
    assert [one.id for one in await port.plans(search="first second")] == []
    assert [one.id for one in await port.plans(since=between)] == [second.id]
    assert [one.id for one in await port.plans(until=between)] == [first.id]
    _, agent = await site.ada.token("transfer:read", "transfer:read:all", agent="helper")
    assert [one.id for one in await agent.plans(search="second")] == []
    assert [one.id for one in await agent.plans(search=second.id)] == [second.id]


@pytest.mark.anyio
async def test_a_plan_that_will_end_in_part_says_so_and_later_how_it_ended(site: Site) -> None:
    one_file(site)
    (site.archive / "set" / "a.txt").mkdir(parents=True)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    [warning] = plan.warnings
    assert warning.startswith(
        "1 file will not arrive: the destination holds something else under its name. Plan again "
    )
    assert "`--on-conflict overwrite`" in warning
    assert plan.warnings[0] in plan.next_step.message
    skipping = await site.ada.plan("lab:/set", "archive:/set", on_conflict="skip")
    assert skipping.warnings == []
    ended = await site.ada.end_of(await site.ada.submit(plan))
    after = await site.ada.port.plan(plan.id)
    assert (after.transfer_state, after.transfer_ended) == (m.TransferState.PARTIAL, ended.ended)
    assert after.next_step.message == f"It ended: partial (transfer {ended.id})."
    assert after.warnings == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("copy lab:/set to archive:/set every night at 2am", "a transfer can't be repeated by itself yet"),
        ("copy lab:/set to archive:/set at 2099-01-01 06:00 UTC", "a start may lie at most 7 days ahead: before "),
        ("copy lab:/set to archive:/set by 2099-01-01 06:00 UTC", "a deadline may lie at most 366 days ahead: before "),
    ],
)
async def test_what_cannot_be_done_is_said_when_the_words_are_read(site: Site, words: str, said: str) -> None:
    read = await site.ada.port.interpret(m.InterpretRequest(text=words))
    assert (read.outcome, read.transfer) == ("refuse", None), read
    assert said in read.refusals[0].message
    plan = await site.ada.ask(words)
    assert plan.state is m.PlanState.DENIED
    assert plan.next_step.message.count("Refused") == 0
    assert plan.next_step.message.startswith("It can't run as it is. A ")


@pytest.mark.anyio
async def test_a_mistyped_path_is_named_as_it_was_written_with_what_is_near(site: Site) -> None:
    for name in ("run09", "run10", "other"):
        (site.lab / name).mkdir()
    plan = await site.ada.plan("lab:/runn09", "archive:/set")
    assert plan.state is m.PlanState.FAILED
    said = "there is nothing at `lab:/runn09`; near it: `lab:/run09`"
    assert plan.summary.startswith(said), plan.summary
    assert "ed25519" not in plan.summary
    assert plan.next_step.message.startswith("There is nothing at ")
    assert plan.next_step.message.endswith("Correct the path. Plan it again.")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("cancel all my transfers", "`headrace cancel TRANSFER` or the transfer's page; an operator stops all at once"),
        ("show me my failed transfers", "`headrace status TRANSFER`"),
    ],
)
async def test_an_order_about_transfers_is_told_the_command_that_carries_it_out(
    site: Site, words: str, command: str
) -> None:
    plan = await site.ada.ask(words)
    assert plan.state is m.PlanState.ASK
    assert command in plan.questions[0].message, plan.questions


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("raw", "listed", "pattern"),
    [
        (b"new\nline.txt", "new%0Aline.txt", "new*line.txt"),
        (b"bad\xff.txt", "bad%FF.txt", "bad*.txt"),
        ("back\u202e[1].txt".encode(), "back\\u{202E}[1].txt", "back*1*.txt"),
    ],
)
async def test_a_name_that_nobody_can_type_is_taken_by_the_pattern_that_its_refusal_says(
    site: Site, raw: bytes, listed: str, pattern: str
) -> None:
    folder = site.lab / "odd"
    folder.mkdir()
    (folder / os.fsdecode(raw)).write_text("odd")
    (folder / "100%.txt").write_text("plain")
    [odd] = [one.name for one in (await site.ada.port.browse("lab", "/odd")).items if one.name != "100%25.txt"]
    assert shown(odd) == listed
    plan = await site.ada.plan(f"lab:/odd/{listed}", "archive:/set")
    said = f"There is nothing at `lab:/odd/{listed}`. Listings show a name so that lies there"
    assert plan.next_step.message.startswith(said), plan.next_step.message
    assert f"Take it from the folder `lab:/odd/` with the pattern `{pattern}`" in plan.next_step.message
    taken = await site.ada.plan("lab:/odd/", "archive:/set", include=[pattern])
    assert taken.survey is not None
    assert taken.survey.files == 1


@pytest.mark.anyio
async def test_what_is_near_is_written_so_that_it_can_be_typed(site: Site) -> None:
    (site.lab / "100%.txt").write_text("plain")
    plan = await site.ada.plan("lab:/10%.txt", "archive:/set")
    said = "There is nothing at `lab:/10%.txt`; near it: `lab:/100%.txt`. Correct the path"
    assert plan.next_step.message.startswith(said), plan.next_step.message
    assert (await site.ada.plan("lab:/100%.txt", "archive:/set")).state is m.PlanState.READY


@pytest.mark.anyio
async def test_a_typed_request_that_becomes_no_plan_has_a_sentence_for_lists(site: Site) -> None:
    for source, state in (("lab:/not-there", m.PlanState.FAILED), ("nowhere:/set", m.PlanState.ASK)):
        plan = await site.ada.plan(source, "archive:/set", exclude=["*.tmp"])
        assert (plan.state, plan.digest) == (state, None)
        assert plan.canonical_sentence == f'copy "{source}" to "archive:/set", skip "*.tmp"'
        listed = await site.ada.port.plans(search=f"{source} archive:/set")
        assert [one.id for one in listed] == [plan.id]
    words = await site.ada.ask("copy nowhere:/set to archive:/set")
    assert words.canonical_sentence is None, "words are their own sentence"
