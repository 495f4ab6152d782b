"""Where each slot of a plan comes from: on the card, under the seal, in the audit log, the receipt and for policy."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.servers.site import Site, settled
from tests.service.test_consent import publish

from headrace.api.access.acting import Acting
from headrace.api.planning.redaction import WITHHELD, redacted
from headrace.api.store.tables_work import PlanRow
from headrace.client import models as m
from headrace.client.origins import added
from headrace.guardrails import default_policy_text, verify

pytestmark = pytest.mark.anyio

POLICIES = (Path(__file__).parents[2] / "docs" / "policy.md").read_text("utf-8")
ASSISTANT_DELETES = POLICIES.partition("```cedar\n")[2].partition("```")[0]
"""The rule of the guide: a move whose delete an assistant added needs an approval."""
WORDS = "copy lab:/set to archive:/set, skip *.tmp"
TYPED: dict[str, Any] = {"action": "copy", "source": "lab:/set", "destination": "archive:/set", "exclude": ["*.tmp"]}


def one_file(site: Site) -> None:
    (site.lab / "set").mkdir(exist_ok=True)
    (site.lab / "set" / "a.txt").write_text("a")


async def planned(port: Acting, words: str | None = WORDS, plan: str | None = None, **slots: Any) -> m.Plan:  # noqa: ANN401
    """Plan with words, and with typed slots if any are given."""
    changes = m.Changes(**slots) if slots and plan else None
    intent = m.TransferIntent(**slots) if slots and plan is None else None
    request = m.PlanRequest(words=words, plan=plan, intent=intent, changes=changes)
    return await settled(port, await port.create_plan(request))


async def helper(site: Site) -> Acting:
    _, agent = await site.ada.token("transfer:read", "transfer:plan", "transfer:run", agent="helper")
    return agent


def origins(plan: m.Plan) -> dict[str, str]:
    return {one.slot: one.origin for one in plan.origins if one.origin != "assumed"}


def words_of(plan: m.Plan, slot: str) -> list[str]:
    [found] = [one for one in plan.origins if one.slot == slot]
    return [quote.text for quote in found.words]


async def test_each_slot_of_a_plan_in_words_is_said_with_its_words(site: Site) -> None:
    one_file(site)
    plan = await planned(site.ada.port, f"{WORDS}, at most 5 Gb/s")
    assert plan.state is m.PlanState.READY, plan.summary
    said = dict.fromkeys(("action", "source", "destination", "exclude", "rate_limit_bps"), "said")
    assert origins(plan) == said
    assert words_of(plan, "rate_limit_bps") == ["at most 5 Gb/s"]
    assert {one.slot for one in plan.origins if one.origin == "assumed"} >= {"priority", "verify", "delete_source"}


async def test_what_a_person_types_is_typed_and_what_an_assistant_types_is_the_assistants(site: Site) -> None:
    one_file(site)
    slots = ("action", "source", "destination", "exclude")
    assert origins(await planned(site.ada.port, None, **TYPED)) == dict.fromkeys(slots, "typed")
    assert origins(await planned(await helper(site), None, **TYPED)) == dict.fromkeys(slots, "assistant")


async def test_a_slot_that_the_words_do_not_carry_is_added_by_the_assistant(site: Site) -> None:
    one_file(site)
    plan = await planned(await helper(site), WORDS, **TYPED, rate_limit_bps=2_000_000, on_conflict="skip")
    assert plan.state is m.PlanState.READY, plan.summary
    said = dict.fromkeys(("action", "source", "destination", "exclude"), "said")
    assert origins(plan) == {**said, "rate_limit_bps": "assistant", "on_conflict": "assistant"}


@pytest.mark.parametrize(
    ("words", "slots", "slot"),
    [
        (f"{WORDS}, never delete anything", {"action": "move"}, "delete_source"),
        (WORDS, {"source": "lab:/other"}, "source"),
        (f"{WORDS}, at most 1 Gb/s", {"rate_limit_bps": 2_000_000_000}, "rate_limit_bps"),
        (WORDS, {"exclude": []}, "exclude"),
        (f"{WORDS}, unless the beam is on", {}, "action"),
        ("cancel it", {}, "action"),
    ],
)
async def test_what_words_and_slots_do_not_say_alike_is_asked_and_nothing_is_listed(
    site: Site, words: str, slots: dict[str, Any], slot: str
) -> None:
    plan = await planned(await helper(site), words, **(TYPED | slots))
    assert plan.state is m.PlanState.ASK
    assert slot in {question.slot for question in plan.questions}
    assert (plan.survey, plan.digest, plan.origins) == (None, None, [])


async def test_words_that_are_refused_stop_typed_slots_too(site: Site) -> None:
    plan = await planned(await helper(site), f"{WORDS} and bypass the policy", **TYPED)
    assert plan.state is m.PlanState.DENIED


async def test_a_changed_plan_keeps_where_the_other_slots_came_from(site: Site) -> None:
    one_file(site)
    agent = await helper(site)
    first = await planned(agent, WORDS, **TYPED, rate_limit_bps=2_000_000)
    second = await planned(agent, "also skip *.bak", plan=first.id, exclude=["*.tmp", "*.bak"], on_conflict="skip")
    assert second.state is m.PlanState.READY, second.summary
    found = {one.slot: one for one in second.origins}
    assert words_of(second, "exclude") == ["skip *.bak"]
    assert (found["source"].origin, found["source"].plan) == ("said", first.id)
    assert (found["rate_limit_bps"].origin, found["on_conflict"].origin) == ("assistant", "assistant")
    third = await planned(agent, "no faster than 1 Gb/s", plan=second.id)
    assert origins(third)["rate_limit_bps"] == "said"
    assert next(one.plan for one in third.origins if one.slot == "source") == first.id


async def test_what_an_assistant_takes_back_is_not_what_nobody_gave(site: Site) -> None:
    one_file(site)
    assistant = await helper(site)
    before = await planned(assistant)
    changed = await planned(assistant, None, before.id, exclude=[])
    assert origins(changed) == {**dict.fromkeys(("action", "source", "destination"), "said"), "exclude": "assistant"}
    assert added(changed) == ["names left out: none"]
    again = await planned(assistant, None, changed.id, priority="low")
    assert origins(again)["exclude"] == "assistant"


async def test_a_change_whose_words_and_slots_differ_is_asked_about(site: Site) -> None:
    one_file(site)
    first = await planned(site.ada.port)
    second = await planned(site.ada.port, "also skip *.bak", plan=first.id, exclude=["*.bak"])
    assert second.state is m.PlanState.ASK
    assert [question.slot for question in second.questions] == ["exclude"]


async def test_the_seal_the_audit_log_and_the_receipt_say_where_slots_come_from(site: Site) -> None:
    one_file(site)
    agent = await helper(site)
    plan = await planned(agent, WORDS, **TYPED, rate_limit_bps=2_000_000_000)
    shown = await agent.plan(plan.id, document=True)
    assert shown.document is not None
    key = (await site.ada.port.health()).key
    sealed = verify(shown.document, "plan", [key]).fields()["origins"]
    assert isinstance(sealed, dict)
    assert {slot: one["origin"] for slot, one in sealed.items()} == {one.slot: one.origin for one in plan.origins}
    assert sealed["exclude"]["words"] == [{"start": "31", "end": "41", "text": "skip *.tmp"}]
    [decided] = [one for one in await site.audited("decided") if one.subject == plan.id]
    assert decided.detail["origins"] == "assistant: rate_limit_bps; said: action source destination exclude"
    transfer = await agent.submit(m.SubmitRequest(plan_digest=plan.digest or ""))
    ended = await site.ada.end_of(transfer)
    receipt = await agent.receipt(ended.id)
    assert verify(receipt.document, "receipt", [key]).fields()["origins"] == sealed


async def test_policy_can_ask_for_more_when_the_assistant_added_the_delete(site: Site) -> None:
    one_file(site)
    await publish(site, default_policy_text() + ASSISTANT_DELETES)
    agent = await helper(site)
    moved = {"action": "move", "source": "lab:/set", "destination": "archive:/set"}
    added = await planned(agent, None, **moved)
    assert added.decision is not None
    assert (added.decision.outcome, added.decision.rules[0].id) == ("approve", "assistant-deletes")
    [fact] = [one for one in added.decision.facts if one.name == "origins"]
    assert fact.value == "assistant: action, delete_source, destination, source"
    said = await planned(agent, "move lab:/set to archive:/set", **moved)
    assert said.decision is not None
    assert said.decision.outcome == "confirm"


async def test_a_plan_of_an_earlier_version_is_still_shown_and_changed(site: Site) -> None:
    one_file(site)
    agent = await helper(site)
    plan = await planned(agent, f"{WORDS}, at most 1 Gb/s")
    async with site.service.whole.core.database.write() as tx:
        row = await tx.get(PlanRow, plan.id)
        assert row is not None
        row.card = plan.model_copy(update={"origins": []}).model_dump_json()
    assert (await agent.plan(plan.id)).origins == []
    changed = await planned(agent, "also skip *.bak", plan=plan.id)
    assert (origins(changed)["exclude"], origins(changed)["rate_limit_bps"]) == ("said", "assistant")


async def test_another_assistant_is_not_told_withheld_names_by_the_words_that_say_them(site: Site) -> None:
    one_file(site)
    plan = await planned(site.ada.port, "copy lab:/set to archive:/set, skip patient-7.tmp")
    assert "patient-7" in str(plan.origins)
    for endpoint in ("lab", "archive"):
        await site.ada.port.update_endpoint(endpoint, m.EndpointUpdate(labels={"names": "restricted"}))
    _, agent = await site.ada.token("transfer:read", "transfer:read:all", agent="other")
    shown = await agent.plan(plan.id)
    assert origins(shown) == origins(plan)
    assert "patient-7" not in shown.model_dump_json()


async def test_another_assistant_reads_no_withheld_name_in_any_part_of_a_plan_of_somebody_else(site: Site) -> None:
    """Places, words, filters, questions, losses, and the sealed document, which is the whole plan."""
    for folder in (site.lab / "patient-7", site.archive / "patient-7"):
        folder.mkdir()
    (site.lab / "patient-7" / "patient-7.dat").write_text("new")
    (site.archive / "patient-7" / "patient-7.dat").write_text("older")
    words = "sync lab:/patient-7 to archive:/patient-7, only patient-7*, skip patient-7.tmp"
    plan = await planned(site.ada.port, words)
    asks = await planned(site.ada.port, f"{words}, patient-7 at 10 gig")
    assert (plan.state, asks.state) == (m.PlanState.READY, m.PlanState.ASK), (plan.summary, asks.summary)
    _, other = await site.ada.token("transfer:read", "transfer:read:all", agent="other")
    [told, _] = [await other.plan(one.id, document=True) for one in (plan, asks)]
    assert told.document is not None
    assert "patient-7" in told.document
    assert told.intent is not None
    assert (told.intent.include, told.intent.exclude) == (["patient-7*"], ["patient-7.tmp"])
    for endpoint in ("lab", "archive"):
        await site.ada.port.update_endpoint(endpoint, m.EndpointUpdate(labels={"names": "restricted"}))
    for one in (plan, asks):
        assert "patient-7" in (await site.ada.port.plan(one.id, document=True)).model_dump_json()
        shown = await other.plan(one.id, document=True)
        assert "patient-7" not in shown.model_dump_json()
        assert (shown.names_withheld, shown.document, shown.questions) == (True, None, [])
        assert (shown.state, shown.digest) == (one.state, one.digest)
    assert "patient-7" not in "".join([one.model_dump_json() for one in await other.plans()])


def filled(name: str) -> m.Plan:
    """Make a plan that has a name wherever names of places and words can stand."""
    place, moment = f"archive:/{name}", datetime(2026, 11, 26, tzinfo=UTC)
    counts = {field: 1 for field, info in m.SurveyCounts.model_fields.items() if info.is_required()}
    samples = {key: [name] for key in ("sample", "overwrites_sample", "deletes_sample", "conflicts_sample")}
    told = f"patient data stays, and {place} is part of this"
    given = {
        "id": "pl_1", "state": "denied", "requester": "pn_ada", "created": moment, "document": name, "words": name,
        "intent": {"action": "copy", "source": place, "destination": place, "include": [name], "exclude": [name]},
        "canonical_sentence": name, "state_reason": told, "summary": name, "notes": [name, "Identical files stay."],
        "survey": {**counts, **samples}, "questions": [{"slot": "source", "message": name, "words": name}],
        "origins": [{"slot": "source", "origin": "said", "words": [{"start": 0, "end": 1, "text": name}]}],
        "refusals": [{"rule": "access", "message": name, "words": name}],
        "decision": {"outcome": "denied", "policy_version": "v1", "why": told,
                     "rules": [{"id": "phi", "reason": told}, {"id": "big", "reason": "too large"}],
                     "alternatives": [{"words": f"without `{name}`", "outcome": "allowed"},
                                      {"words": "with at most 5 GB", "outcome": "allowed"}]},
        "next_step": {"kind": "none", "message": f"It can't run as it is. {told}"},
        "approvals": [{"person": "bea", "verdict": "refused", "reason": name, "at": moment, "expires": moment}],
        "quotas": [{"of": "destination", "subject": place, "bytes_a_day": 9, "renews": moment},
                   {"of": "person", "subject": "pn_ada", "bytes_a_day": 9, "renews": moment}],
        "warnings": [f"0 B of 9 B a day are left of the quota of destination `{place}`.", "It is late."],
    }  # fmt: skip
    return m.Plan.model_validate(given)


def test_no_part_of_a_plan_of_somebody_else_keeps_a_name_and_what_is_no_name_stays() -> None:
    shown = redacted(filled("patient-7"), own=False)
    assert "patient-7" not in shown.model_dump_json()
    assert (shown.document, shown.words, shown.questions, shown.notes) == (None, None, [], [])
    assert shown.decision is not None
    assert [(rule.id, rule.reason) for rule in shown.decision.rules] == [("phi", WITHHELD), ("big", "too large")]
    assert [one.words for one in shown.decision.alternatives] == ["with at most 5 GB"]
    assert [one.subject for one in shown.quotas] == ["archive:/…", "pn_ada"]
    assert shown.warnings == [WITHHELD, "It is late."]
    assert shown.survey is not None
    assert (shown.survey.files, shown.survey.sample) == (1, [])


def test_of_its_own_plan_an_assistant_keeps_its_words_and_places_and_gets_no_name_that_was_found() -> None:
    plan = filled("patient-7")
    shown = redacted(plan, own=True)
    for part in ("words", "intent", "canonical_sentence", "questions", "quotas", "origins", "decision"):
        assert getattr(shown, part) == getattr(plan, part)
    assert shown.survey is not None
    assert (shown.survey.sample, shown.survey.deletes_sample, shown.survey.overwrites_sample) == ([], [], [])
    assert (shown.refusals[0].message, shown.summary) == (WITHHELD, WITHHELD)


@pytest.mark.parametrize(
    ("words", "verify"),
    [
        ("verify afterwards", "at-rest"),
        ("check every file after the copy", "at-rest"),
        ("verified", "default"),
        ("with checksums", "default"),
    ],
)
async def test_who_wants_files_verified_afterwards_has_them_read_back(site: Site, words: str, verify: str) -> None:
    one_file(site)
    plan = await planned(site.ada.port, f"copy lab:/set to archive:/set, {words}")
    assert plan.intent is not None, plan.questions
    assert plan.intent.verify == verify
    assert any("read back at rest" in note for note in plan.notes) == (verify == "at-rest")
    assert origins(plan)["verify" if "verify" in origins(plan) else "verification"] == "said"
