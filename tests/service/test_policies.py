import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import update
from tests.servers.site import Site, digest_of, settled
from tests.service.refusals import refused
from tests.service.test_consent import plan_to_approve, publish

from headrace.api.planning import policy_questions
from headrace.api.policy.qos_rules import BUILT_IN
from headrace.api.store.tables_site import IdentityRow, PersonRow, PolicyRow
from headrace.client import Headrace
from headrace.client import models as m
from headrace.guardrails import check_policy

OPEN = """
@id("anybody")
@reason("anybody may do anything")
permit (principal, action, resource);
"""


@pytest.mark.anyio
async def test_a_new_site_has_the_default_policy_as_version_1(quiet_site: Site) -> None:
    [version] = await quiet_site.ada.port.policies()
    assert (version.version, version.state, version.author) == ("1", "active", "headrace")
    assert "overwrites-need-confirmation" in version.text


@pytest.mark.anyio
async def test_a_second_person_publishes_and_it_takes_two_to_go_back(quiet_site: Site) -> None:
    ada, pia = quiet_site.ada, await quiet_site.person("pia", "policy_admin")
    proposed = await ada.port.propose_policy(m.PolicyText(text=OPEN, note="for a day"))
    assert (proposed.version, proposed.state, proposed.author_name) == ("2", "proposed", "ada")
    with refused("publish_own_policy") as info:
        await ada.port.publish_policy("2")
    assert "pia" in info.value.problem.detail
    published = await pia.port.publish_policy("2")
    assert (published.state, published.publisher) == ("active", pia.principal.id)
    assert (published.author_name, published.publisher_name) == ("ada", "pia")
    assert [one.state for one in await ada.port.policies()] == ["active", "retired"]
    back = await ada.port.publish_policy("1")
    assert (back.version, back.state, back.note) == ("3", "proposed", "back to version 1")
    assert [one.state for one in await ada.port.policies()] == ["proposed", "active", "retired"]
    with refused("publish_own_policy"):
        await ada.port.publish_policy("3")
    assert (await pia.port.publish_policy("3")).state == "active"
    with refused("policy_state"):
        await ada.port.publish_policy("3")
    await quiet_site.restart()
    assert [one.state for one in await ada.port.policies()] == ["active", "retired", "retired"]


@dataclass(frozen=True)
class Versions:
    """Texts that two people put in force, by the port of each."""

    propose: Callable[[Headrace, str], Awaitable[m.PolicyVersion]]
    publish: Callable[[Headrace, str], Awaitable[m.PolicyVersion]]
    withdraw: Callable[[Headrace, str], Awaitable[m.PolicyVersion]]
    listed: Callable[[Headrace], Awaitable[m.Page[m.PolicyVersion] | m.Page[m.QosVersion]]]
    text: str
    state: str


@pytest.fixture(params=["policy", "qos"])
def versions(request: pytest.FixtureRequest) -> Versions:
    if request.param == "policy":
        return Versions(
            propose=lambda port, text: port.propose_policy(m.PolicyText(text=text)),
            publish=lambda port, version: port.publish_policy(version),
            withdraw=lambda port, version: port.withdraw_policy(version),
            listed=lambda port: port.policies(),
            text=OPEN,
            state="policy_state",
        )
    return Versions(
        propose=lambda port, text: port.propose_qos(m.QosText(text=text)),
        publish=lambda port, version: port.publish_qos(version),
        withdraw=lambda port, version: port.withdraw_qos(version),
        listed=lambda port: port.qos_versions(),
        text=BUILT_IN,
        state="qos_state",
    )


@pytest.mark.anyio
@pytest.mark.parametrize("agent", ["helper", None])
async def test_what_a_token_proposes_is_a_draft_until_a_person_proposes_it(
    quiet_site: Site, versions: Versions, agent: str | None
) -> None:
    pia, eve = [await quiet_site.person(name, "policy_admin") for name in ("pia", "eve")]
    _, token = await pia.token("policy:write", "transfer:read", agent=agent)
    draft = await versions.propose(token, versions.text)
    assert "proposed with a token" in draft.against
    for person in (eve, pia):
        with refused(versions.state) as info:
            await versions.publish(person.port, draft.version)
        assert "propose it again in your own session" in info.value.problem.detail
    assert (await versions.listed(eve.port))[0].against == draft.against
    adopted = await versions.propose(pia.port, draft.text)
    assert adopted.against == ""
    assert (await versions.publish(eve.port, adopted.version)).state == "active"


@pytest.mark.anyio
async def test_a_proposal_that_another_version_has_overtaken_is_proposed_again(
    quiet_site: Site, versions: Versions
) -> None:
    ada, pia = quiet_site.ada, await quiet_site.person("pia", "policy_admin")
    mistaken, better = [await versions.propose(ada.port, versions.text) for _ in range(2)]
    await versions.publish(pia.port, better.version)
    with refused(versions.state) as info:
        await versions.publish(pia.port, mistaken.version)
    assert f"as a change of version {better.version}, which is in force now" in info.value.problem.detail
    again = await versions.propose(ada.port, mistaken.text)
    assert (await versions.publish(pia.port, again.version)).state == "active"
    back = await versions.publish(pia.port, better.version)
    assert (back.state, back.author, back.against) == ("proposed", pia.principal.id, "")


@pytest.mark.anyio
@pytest.mark.parametrize("end", ["disabled", "demoted", "no row"])
async def test_what_somebody_proposed_ends_with_their_right_to_propose(
    quiet_site: Site, versions: Versions, end: str
) -> None:
    ada, pia = quiet_site.ada, await quiet_site.person("pia", "policy_admin")
    eve = await quiet_site.person("eve", "policy_admin")
    proposed, kept = await versions.propose(pia.port, versions.text), await versions.propose(ada.port, versions.text)
    match end:
        case "disabled":
            await ada.port.disable_person(pia.principal.id)
        case "demoted":
            await ada.port.update_person(pia.principal.id, m.PersonUpdate(roles=["viewer"]))
        case _:
            # Whatever became of the person: what is stored of them when it is published tells.
            async with quiet_site.service.whole.core.database.write() as tx:
                await tx.execute(update(PersonRow).where(PersonRow.id == pia.principal.id).values(roles=["viewer"]))
    with refused(versions.state) as info:
        await versions.publish(eve.port, proposed.version)
    said = "may not propose any more" if end == "no row" else "was withdrawn"
    assert said in info.value.problem.detail
    assert (await versions.publish(eve.port, kept.version)).state == "active"


@pytest.mark.anyio
async def test_an_author_withdraws_a_proposal_and_nobody_else_does(quiet_site: Site, versions: Versions) -> None:
    ada, pia = quiet_site.ada, await quiet_site.person("pia", "policy_admin")
    proposed = await versions.propose(ada.port, versions.text)
    with refused("forbidden"):
        await versions.withdraw(pia.port, proposed.version)
    assert (await versions.withdraw(ada.port, proposed.version)).state == "withdrawn"
    with refused(versions.state):
        await versions.withdraw(ada.port, proposed.version)
    with refused(versions.state) as info:
        await versions.publish(pia.port, proposed.version)
    assert "was withdrawn" in info.value.problem.detail
    assert (await versions.listed(ada.port))[0].state == "withdrawn"
    [event] = await quiet_site.audited(versions.state.replace("state", "withdrawn"))
    assert (event.person, event.subject) == (ada.principal.id, proposed.version)


@pytest.mark.anyio
async def test_a_version_whose_examples_no_longer_hold_is_not_published(quiet_site: Site) -> None:
    pia = await quiet_site.person("pia", "policy_admin")
    await quiet_site.ada.port.propose_policy(m.PolicyText(text=OPEN))
    await pia.port.publish_policy("2")
    await quiet_site.ada.port.propose_policy(m.PolicyText(text=OPEN + OPEN.replace("anybody", "somebody")))
    broken = OPEN + '// example denied {"action": "copy"}'
    async with quiet_site.service.whole.core.database.write() as tx:
        await tx.execute(update(PolicyRow).where(PolicyRow.number.in_([1, 3])).values(text=broken))
    for version in ("1", "3"):
        with refused("policy_invalid") as info:
            await pia.port.publish_policy(version)
        assert "this example must be denied" in info.value.problem.detail
    assert (await pia.port.policies())[-2].state == "active"


@pytest.mark.anyio
async def test_alone_one_is_told_to_invite_a_second_person(quiet_site: Site) -> None:
    await quiet_site.ada.port.propose_policy(m.PolicyText(text=OPEN))
    with refused("publish_own_policy") as info:
        await quiet_site.ada.port.publish_policy("2")
    assert "invite" in info.value.problem.detail


@pytest.mark.anyio
async def test_a_policy_is_checked_before_it_is_kept(quiet_site: Site) -> None:
    port = quiet_site.ada.port
    good, bad = await port.check_policy(m.PolicyText(text=OPEN)), await port.check_policy(m.PolicyText(text="permit"))
    assert (good.valid, [rule.id for rule in good.rules]) == (True, ["anybody"])
    assert (bad.valid, bool(bad.problems)) == (False, True)
    with refused("policy_invalid"):
        await port.propose_policy(m.PolicyText(text="permit"))
    assert len(await port.policies()) == 1


@pytest.mark.anyio
async def test_people_of_one_name_are_told_apart_by_the_provider_that_gave_it(site: Site) -> None:
    ada, pia = site.ada, await site.person("pia", "policy_admin", "approver", "requester")
    plan = await plan_to_approve(site)
    await pia.port.approve_plan(plan.id, m.Approval(digest=digest_of(plan), verdict="approved"))
    async with site.service.whole.core.database.write() as tx:
        elsewhere = update(PersonRow).where(PersonRow.id == pia.principal.id)
        await tx.execute(elsewhere.values(name="ada", name_key=f"identity:{pia.principal.id}"))
        tx.add(
            IdentityRow(
                issuer="https://login.example", subject="7", person=pia.principal.id, name="ada", groups=(),
                created=site.clock(), seen=site.clock(),
            )
        )  # fmt: skip
    assert [one.person for one in (await ada.port.plan(plan.id)).approvals] == ["ada (https://login.example)"]
    found = {one.name for one in await ada.port.who_may(m.WhoMayRequest(destination="archive:/"))}
    assert {"ada", "ada (https://login.example)"} <= found
    proposed = await ada.port.propose_policy(m.PolicyText(text=OPEN, note=""))
    with refused("publish_own_policy") as info:
        await ada.port.publish_policy(proposed.version)
    assert "ada (https://login.example)" in info.value.problem.detail


@pytest.mark.anyio
async def test_only_who_may_propose_has_a_text_checked(quiet_site: Site) -> None:
    vera = await quiet_site.person("vera", "viewer")
    with refused("forbidden"):
        await vera.port.check_policy(m.PolicyText(text=OPEN))


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["9", "0", "-1", "one", "1; DROP TABLE policies", "\u0661"])
async def test_an_unknown_version_is_not_published(quiet_site: Site, version: str) -> None:
    with refused("unknown_policy"):
        await quiet_site.ada.port.publish_policy(version)


NO_ARCHIVE = """
@id("no-archive")
@reason("the archive is closed to pipelines")
forbid (principal, action == Action::"copy", resource)
when { resource.destination in Endpoint::"archive" };
"""


@pytest.mark.anyio
async def test_a_simulation_lists_each_stored_decision_that_a_text_would_change(site: Site) -> None:
    (site.lab / "a").mkdir()
    allowed = await site.ada.plan("lab:/a", "archive:/a")
    await site.ada.plan("lab:/a", "lab:/b")
    await publish(site, OPEN + NO_ARCHIVE)
    denied = await site.ada.plan("lab:/a", "archive:/c")
    stricter = await site.ada.port.simulate_policy(m.PolicyText(text=OPEN + NO_ARCHIVE))
    assert (stricter.replayed, stricter.flipped) == (3, 1)
    assert [(one.plan, one.was, one.now) for one in stricter.flips] == [(allowed.id, "allowed", "denied")]
    assert "no-archive" in stricter.flips[0].why
    milder = await site.ada.port.simulate_policy(m.PolicyText(text=OPEN))
    assert [(one.plan, one.was, one.now) for one in milder.flips] == [(denied.id, "denied", "allowed")]
    assert len(await site.ada.port.policies()) == 2
    with refused("policy_invalid"):
        await site.ada.port.simulate_policy(m.PolicyText(text="permit"))


@pytest.mark.anyio
async def test_a_plan_that_was_denied_at_listing_is_never_said_to_be_allowed(site: Site) -> None:
    (site.lab / "a").mkdir()
    hidden = OPEN + NO_ARCHIVE.replace('"copy"', '"browse"').replace("resource.destination", "resource")
    await publish(site, hidden.replace("resource in", "principal has agent && resource in"))
    _, agent = await site.ada.token("transfer:read", "transfer:plan", agent="helper")
    intent = m.TransferIntent(action="copy", source="lab:/a", destination="archive:/a")
    denied = await settled(agent, await agent.create_plan(m.PlanRequest(intent=intent)))
    assert denied.decision is not None
    assert denied.decision.outcome == "denied"
    said = {one.words: one.outcome for one in denied.decision.alternatives}
    note = "(to be listed; the transfer itself was not decided)"
    assert said == {f"asked by the person, without an assistant {note}": "allowed"}
    found = await site.ada.port.simulate_policy(m.PolicyText(text=OPEN))
    assert (found.flipped, found.only_listed) == (1, 1)
    [flip] = found.flips
    assert flip.only_listed
    assert flip.why.endswith("Its places may be listed; the transfer itself was not decided.")


@pytest.mark.anyio
async def test_a_simulation_lists_the_newest_plans_first_and_counts_those_that_it_does_not_list(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site.lab / "a").mkdir()
    made = []
    for number in range(3):
        made.append((await site.ada.plan("lab:/a", f"archive:/{number}")).id)
        site.clock.shift += timedelta(seconds=1)
    found = await site.ada.port.simulate_policy(m.PolicyText(text=OPEN + NO_ARCHIVE))
    assert [one.plan for one in found.flips] == made[::-1]
    monkeypatch.setattr(policy_questions, "LISTED", 2)
    found = await site.ada.port.simulate_policy(m.PolicyText(text=OPEN + NO_ARCHIVE))
    assert (found.replayed, found.flipped, [one.plan for one in found.flips]) == (3, 3, made[:0:-1])


@pytest.mark.anyio
async def test_a_simulation_tells_an_assistant_no_names(site: Site) -> None:
    (site.lab / "secret-name").mkdir()
    await site.ada.plan("lab:/secret-name", "archive:/a")
    _, agent = await site.ada.token("policy:write", agent="helper")
    found = await agent.simulate_policy(m.PolicyText(text=OPEN + NO_ARCHIVE))
    assert found.flipped == 1
    assert "secret-name" not in found.model_dump_json()


@pytest.mark.anyio
async def test_who_may_do_what_is_answered_for_every_active_person(site: Site) -> None:
    bob, eve = await site.person("bob", "requester"), await site.person("eve", "viewer")
    gone = await site.person("gone", "requester")
    await site.ada.port.disable_person(gone.principal.id)
    found = {one.name: one for one in await site.ada.port.who_may(m.WhoMayRequest(destination="archive:/phi"))}
    assert {name: one.outcome for name, one in found.items()} == {"ada": "allowed", "bob": "allowed", "eve": "denied"}
    assert (found["bob"].person, found["eve"].person) == (bob.principal.id, eve.principal.id)
    moves = await site.ada.port.who_may(m.WhoMayRequest(action="move", source="lab:/a", destination="archive:/a"))
    assert [(one.name, one.outcome) for one in moves] == [("ada", "confirm"), ("bob", "confirm"), ("eve", "denied")]
    looks = await site.ada.port.who_may(m.WhoMayRequest(action="browse", source="lab:/"))
    assert [one.name for one in looks if one.outcome == "allowed"] == ["ada", "bob"]
    with refused("invalid_request"):
        await site.ada.port.who_may(m.WhoMayRequest(action="browse", destination="lab:/"))
    with refused("unknown_endpoint"):
        await site.ada.port.who_may(m.WhoMayRequest(source="nowhere:/"))


HIDDEN = """
@id("hidden")
@reason("nobody looks into phi")
forbid (principal, action == Action::"browse", resource)
when { resource.within.contains("/phi") };
"""


@pytest.mark.anyio
async def test_who_may_do_what_counts_the_groups_that_people_are_in(site: Site) -> None:
    bob, eve = await site.person("bob", "requester"), await site.person("eve", "requester")
    await publish(site, OPEN.replace("(principal,", '(principal in Group::"em-lab",'))
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PersonRow).where(PersonRow.id == bob.principal.id).values(groups=["em-lab", "others"]))
        await tx.execute(update(PersonRow).where(PersonRow.id == eve.principal.id).values(groups=["others"]))
    found = await site.ada.port.who_may(m.WhoMayRequest(source="lab:/a", destination="archive:/a"))
    outcomes = {one.name: one.outcome for one in found}
    assert (outcomes["bob"], outcomes["eve"], outcomes["ada"]) == ("allowed", "denied", "denied")


@pytest.mark.anyio
@pytest.mark.parametrize("end", ["source", "destination"])
async def test_nobody_may_copy_what_they_may_not_look_into(site: Site, end: str) -> None:
    await publish(site, OPEN + HIDDEN)
    asked = {"source": "lab:/a", "destination": "archive:/a"}
    for place, outcome in (("lab:/phi", "denied"), ("lab:/open", "allowed")):
        found = await site.ada.port.who_may(m.WhoMayRequest.model_validate({**asked, end: place}))
        assert {one.outcome for one in found if one.name == "ada"} == {outcome}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("end", "archive", "lab", "mildest"),
    [
        ("source", "denied", "allowed", "allowed"),
        ("source", "approve", "confirm", "confirm"),
        ("destination", "confirm", "denied", "confirm"),
        ("destination", "denied", "denied", "denied"),
    ],
)
async def test_an_end_that_a_question_leaves_open_is_the_endpoint_with_the_mildest_answer(
    site: Site, end: str, archive: str, lab: str, mildest: str
) -> None:
    asks = {"denied": "", "confirm": '@obligation("confirmation")', "approve": '@obligation("approval:approver:1")'}
    text = OPEN
    for endpoint, outcome in (("archive", archive), ("lab", lab)):
        if outcome in asks:
            text += f"""@id("{endpoint}") @reason("r") {asks[outcome]}
                forbid (principal, action == Action::"copy", resource)
                when {{ resource.{end} in Endpoint::"{endpoint}" }};"""
    await publish(site, text)
    other = {"source": "destination", "destination": "source"}[end]
    found = await site.ada.port.who_may(m.WhoMayRequest.model_validate({other: "lab:/a"}))
    assert {one.outcome for one in found} == {mildest}


@pytest.mark.anyio
async def test_a_check_says_of_each_example_whether_it_holds(quiet_site: Site) -> None:
    lines = ['// example allowed {"action": "copy"}', '// example denied {"action": "move"}']
    checked = await quiet_site.ada.port.check_policy(m.PolicyText(text="\n".join([OPEN, *lines])))
    assert [one.line for one in checked.examples] == lines
    assert [one.failure is None for one in checked.examples] == [True, False]
    assert not checked.valid


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("/raw/phi/", "/raw/phi"),
        ("/raw//phi", "/raw/phi"),
        ("/raw/./phi", "/raw/phi"),
        ("/raw/x/../phi", "/raw/phi"),
        ("/raw/100%", "/raw/100%25"),
        ("/raw/%2f", "/raw/%252f"),
        ("/raw/a\\nb", "/raw/a%0Ab"),
        ("/.headrace-trash/2026-12-27-tr_1/phi", "/phi"),
    ],
)
async def test_a_path_that_no_folder_lies_within_is_a_problem(quiet_site: Site, written: str, instead: str) -> None:
    def text(path: str) -> str:
        return OPEN + NO_ARCHIVE.replace('destination in Endpoint::"archive"', f'source.within.contains("{path}")')

    checked = await quiet_site.ada.port.check_policy(m.PolicyText(text=text(written)))
    assert not checked.valid
    [problem] = [one for one in checked.problems if one.severity == "error"]
    assert problem.rule == "no-archive"
    assert f": write `{instead}`" in problem.message
    assert (await quiet_site.ada.port.check_policy(m.PolicyText(text=text(instead)))).valid


@pytest.mark.anyio
async def test_a_check_suggests_examples_for_a_place_that_none_shows(quiet_site: Site) -> None:
    text = OPEN + NO_ARCHIVE.replace('in Endpoint::"archive"', '.within.contains("/phi")').replace("n .w", "n.w")
    checked = await quiet_site.ada.port.check_policy(m.PolicyText(text=text))
    [lacking] = checked.suggested
    assert lacking.rule == "no-archive"
    assert [line.partition("destination:")[2] for line in lacking.lines] == ['/phi"}', '/"}']
    more = await quiet_site.ada.port.check_policy(m.PolicyText(text="\n".join([text, *lacking.lines])))
    assert (more.valid, more.suggested, len(more.examples)) == (True, [], 2)


@pytest.mark.anyio
async def test_every_version_is_listed_and_no_answer_holds_more_texts_than_a_client_takes(quiet_site: Site) -> None:
    longest, count = 150_000, 60
    await quiet_site.ada.port.propose_policy(m.PolicyText(text=OPEN))
    async with quiet_site.service.whole.core.database.write() as tx:
        proposed = await tx.get_one(PolicyRow, 2)
        rest = {"state": "retired", "author": proposed.author, "digest": "", "note": "", "created": proposed.created}
        for number in range(3, count + 1):
            tx.add(PolicyRow(number=number, text="x" * longest, **rest))
    page = await quiet_site.ada.port.policies()
    found, sizes = list(page), [sum(len(one.text) for one in page)]
    while page.next is not None:
        page = await quiet_site.ada.port.policies(after=page.next)
        found += page
        sizes.append(sum(len(one.text) for one in page))
    assert [one.version for one in found] == [str(number) for number in range(count, 0, -1)]
    assert len(sizes) > 1
    assert max(sizes) <= 4_000_000


def checking_waits(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    """Let the check of a policy wait: it says that it began, and goes on when it is told."""
    began, go_on = Event(), Event()

    def checked_later(text: str) -> object:
        began.set()
        assert go_on.wait(30), "nothing happened meanwhile"
        return check_policy(text)

    monkeypatch.setattr("headrace.api.policy.versions.check_policy", checked_later)
    return began, go_on


@pytest.mark.anyio
async def test_nobody_who_writes_waits_until_the_examples_of_a_policy_have_run(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    pia = await quiet_site.person("pia", "policy_admin")
    proposed = await quiet_site.ada.port.propose_policy(m.PolicyText(text=OPEN))
    began, written = checking_waits(monkeypatch)
    publishing = asyncio.ensure_future(pia.port.publish_policy(proposed.version))
    await asyncio.to_thread(began.wait, 30)
    await quiet_site.ada.port.create_token(m.TokenRequest(name="meanwhile", scopes=["transfer:read"]))
    written.set()
    assert (await publishing).state == "active"


@pytest.mark.anyio
async def test_a_text_that_changed_while_its_examples_ran_is_not_published(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    pia = await quiet_site.person("pia", "policy_admin")
    proposed = await quiet_site.ada.port.propose_policy(m.PolicyText(text=OPEN))
    began, changed = checking_waits(monkeypatch)
    publishing = asyncio.ensure_future(pia.port.publish_policy(proposed.version))
    await asyncio.to_thread(began.wait, 30)
    async with quiet_site.service.whole.core.database.write() as tx:
        await tx.execute(update(PolicyRow).where(PolicyRow.number == int(proposed.version)).values(text=f"{OPEN}\n"))
    changed.set()
    with refused("wrong_digest"):
        await publishing


@pytest.mark.anyio
async def test_the_guide_makes_rules_that_can_be_added_to_the_active_policy_or_a_text(quiet_site: Site) -> None:
    port = quiet_site.ada.port
    needs = {need.name: [one.name for one in need.asks] for need in await port.policy_needs()}
    assert needs["group-writes"] == ["place", "group"]
    assert len(needs) >= 10
    [active] = await port.policies()
    asked = m.GuidedRequest(need="group-writes", values={"place": "archive:/phi", "group": 'the "lab"'})
    made = await port.guided_rules(asked)
    assert made.contradicts == []
    checked = await port.check_policy(m.PolicyText(text=f"{active.text}\n{made.text}"))
    assert (checked.valid, made.rules[0] in {rule.id for rule in checked.rules}) == (True, True)
    alone = await port.guided_rules(asked.model_copy(update={"text": OPEN}))
    assert (await port.check_policy(m.PolicyText(text=OPEN + alone.text))).valid
    with refused("invalid_request") as told:
        await port.guided_rules(asked.model_copy(update={"values": {"place": "archive:/phi"}}))
    assert list(told.value.problem.fields or ()) == ["group"]


@pytest.mark.anyio
async def test_the_guide_warns_of_an_endpoint_that_policy_does_not_know_by_that_name(quiet_site: Site) -> None:
    await quiet_site.start_node("left", [("lab", str(quiet_site.lab), "delete")])
    port = quiet_site.ada.port
    await port.update_endpoint("lab", m.EndpointUpdate(aliases=["bench"]))
    for name, said in (("lab", None), ("bench", "`lab`"), ("labb", "did you mean `lab`"), ("other", "no endpoint")):
        made = await port.guided_rules(m.GuidedRequest(need="no-writes", values={"place": f"{name}:/raw"}))
        assert [said is not None and said in one for one in made.warnings] == ([] if said is None else [True]), name
