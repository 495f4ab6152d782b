"""Commands that plan and run: ask, copy, sync, move, plan, plans, submit, confirm, approve, why."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.cli import completion
from headrace.cli import flags as f
from headrace.cli.card import SHORT_DIGEST, alternative, local_time, plan_card
from headrace.cli.command import Command, Json, agreed, proven, run
from headrace.cli.emptiness import say_why_empty
from headrace.cli.exits import Exit, exit_of_failed
from headrace.cli.files import Force, new_file, require_free
from headrace.cli.planning import (
    Wishes,
    answered,
    confirmed,
    decided,
    ran_before,
    submitted,
    surveyed,
    without_command,
)
from headrace.cli.tables import table
from headrace.cli.transfers import TransferName, diagnose
from headrace.client import login
from headrace.client import models as m

_IS_PLAN: Final = re.compile(r"pl_[A-Za-z0-9_-]+|[0-9a-f]{64}")
_IS_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_TYPED_WORDS: Final = 3

_APPROVERS: Final = "An administrator can invite another approver: headrace invite NAME --role approver"
PlanName = Annotated[
    str,
    typer.Argument(
        metavar="PLAN",
        help="A plan's id, a unique beginning of it, or its digest.",
        autocompletion=completion.plans,
    ),
]


def ask(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS...", help="What should be where, in a sentence.", autocompletion=completion.words
        ),
    ],
    *,
    project: f.ForProject = None,
    yes: f.Yes = False,
    wait: f.Wait = True,
    json: Json = False,
) -> None:
    """Ask in a sentence: see the plan and what policy says, answer questions, run it, follow it."""

    def work(command: Command) -> Exit:
        request = m.PlanRequest(words=without_command(" ".join(words)), timezone=f.zone(), project=project)
        return decided(command, answered(command, request), Wishes(yes, wait))

    run(work, as_json=json)


def _mover(action: f.Action, *, help: str) -> Callable[..., None]:  # noqa: A002 - as typer names it
    @f.flagged
    def command(  # noqa: PLR0913 - what every mover takes
        source: Annotated[
            str,
            typer.Argument(help="endpoint:/path of a file or a folder's content.", autocompletion=completion.places),
        ],
        destination: Annotated[
            str,
            typer.Argument(
                help="endpoint:/path; a trailing slash means 'into this folder'.", autocompletion=completion.places
            ),
        ],
        *,
        flags: f.Flags,
        yes: f.Yes = False,
        wait: f.Wait = True,
        json: Json = False,
    ) -> None:
        request = flags.request(action, source, destination)
        run(lambda command: decided(command, answered(command, request), Wishes(yes, wait)), as_json=json)

    command.__doc__ = help
    return command


copy = _mover(
    "copy",
    help="Copy a file or a folder's content. Identical files are skipped; different ones fail (--on-conflict).",
)
sync = _mover(
    "sync", help="Make the destination hold what the source holds; --delete removes what the source no longer has."
)
move = _mover("move", help="Copy, then delete each source file once its copy is verified at rest.")


@f.flagged
def plan(
    request: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS | copy|sync|move SOURCE DESTINATION | PLAN",
            help="A sentence, a typed transfer with the flags of `copy`, or an earlier plan's id or digest.",
            autocompletion=completion.requests,
        ),
    ],
    *,
    flags: f.Flags,
    document: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the sealed plan there.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show what a request would do, without running it."""
    typed = None
    if len(request) == _TYPED_WORDS and f.is_action(request[0]):
        action, source, destination = request
        typed = flags.request(action, source, destination)  # type: ignore[arg-type]  # is_action

    def work(command: Command) -> Exit:
        require_free(document, force=force)
        if typed is not None:
            found = answered(command, typed)
        elif len(request) == 1 and _IS_PLAN.fullmatch(request[0]):
            found = surveyed(command, command.wait(command.headrace.plan(request[0])))
        else:
            words = without_command(" ".join(request))
            found = answered(command, m.PlanRequest(words=words, timezone=f.zone(), project=flags.project))
        return _shown(command, found, document, force=force)

    run(work, as_json=json)


def plans(  # noqa: PLR0913 - one parameter a flag
    *,
    awaiting_me: Annotated[
        bool, typer.Option("--awaiting-me", help="Others' plans that wait for your approval.")
    ] = False,
    state: Annotated[
        list[m.PlanState] | None, typer.Option(help="Only those in this state. May be given again.")
    ] = None,
    endpoint: f.Endpoint = "",
    label: f.Label = "",
    person: f.Person = "",
    agent: f.Agent = "",
    project: f.Project = "",
    find: f.Find = "",
    since: f.Since = None,
    until: f.Until = None,
    oldest: f.Oldest = False,
    after: f.After = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    json: Json = False,
) -> None:
    """List your plans (or a person's), newest first, or those that wait for your approval."""

    def work(command: Command) -> Exit | None:
        narrowed = command.headrace.plans(
            states=state or (),
            awaiting_me=awaiting_me,
            endpoint=endpoint,
            label=label,
            person=person,
            agent=agent,
            project=project,
            search=find,
            since=since,
            until=until,
            order="oldest" if oldest else "newest",
            limit=limit,
            after=after,
        )
        found = command.wait(narrowed)
        rows = (
            (
                p.id,
                p.transfer_state or p.state,
                p.requester_name or p.requester,
                local_time(p.created),
                p.next_step.message,
                p.canonical_sentence or p.words or "",
            )
            for p in found
        )
        if found:
            command.out.show(table(("plan", "state", "asked by", "made", "next", "what"), rows))
        elif awaiting_me:
            command.out.say("No other person's plan waits for your approval.")
        else:
            command.out.say(
                "There are no such plans. To make one: headrace ask 'copy ENDPOINT:/PATH to ENDPOINT:/PATH'"
            )
        if found.next is not None:
            command.out.note(f"There are more: --after {found.next}")
        command.out.document(found)
        return None if found else say_why_empty(command, endpoint=endpoint, label=label, person=person)

    run(work, as_json=json)


def submit(
    digest: Annotated[
        str, typer.Argument(metavar="DIGEST", help="A plan's digest (or id).", autocompletion=completion.plans)
    ],
    *,
    wait: f.Wait = True,
    json: Json = False,
) -> None:
    """Run exactly the plan with this digest. It runs once: submitted again, it says how that went."""

    def work(command: Command) -> Exit:
        found = surveyed(command, command.wait(command.headrace.plan(digest)))
        if found.transfer is not None:
            return ran_before(command, found.transfer, wait=wait)
        if _IS_DIGEST.fullmatch(digest):
            return submitted(command, digest, wait=wait)
        return decided(command, found, Wishes(yes=True, wait=wait))

    run(work, as_json=json)


def again(  # noqa: PLR0913 - one parameter a flag
    transfer: TransferName,
    *,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help="From there instead.", autocompletion=completion.places),
    ] = None,
    destination: Annotated[
        str | None,
        typer.Option("--to", metavar="PLACE", help="To there instead.", autocompletion=completion.places),
    ] = None,
    yes: f.Yes = False,
    wait: f.Wait = True,
    json: Json = False,
) -> None:
    """Ask for the same as an earlier transfer once more, as a new plan: from or to somewhere else if you say so."""

    def work(command: Command) -> Exit:
        before = command.wait(command.headrace.plan(command.wait(command.headrace.transfer(transfer)).plan))
        if before.intent is None:
            command.out.note(
                f"Plan {before.id} of that transfer does not say what was asked for: ask in a sentence, or with flags.",
                "red",
            )
            return Exit.FAILED
        intent, passed = for_now(before.intent, datetime.now(UTC))
        changed = {"source": source or intent.source, "destination": destination or intent.destination}
        intent = intent.model_copy(update=changed)
        if passed:
            command.out.note(f"Its {' and '.join(passed)} passed, and is left out: name another if you need one.")
        request = m.PlanRequest(intent=intent, timezone=f.zone(), probe=before.probe, tuning=before.tuning.own())
        return decided(command, answered(command, request), Wishes(yes, wait))

    run(work, as_json=json)


def for_now(intent: m.TransferIntent, now: datetime) -> tuple[m.TransferIntent, list[str]]:
    """Return what was asked for without its times that have passed, and what these were."""
    passed = [name for name in ("start", "deadline") if (at := getattr(intent, name)) is not None and at <= now]
    return intent.model_copy(update=dict.fromkeys(passed)), passed


def drop(plan: PlanName, *, json: Json = False) -> None:
    """Give up a plan of yours that has not started, or that asks something you no longer want answered."""

    def work(command: Command) -> None:
        after = command.wait(command.headrace.drop_plan(plan))
        command.out.say(f"Plan {after.id} was dropped; it can't start any more.")
        command.out.document(after)

    run(work, as_json=json)


def confirm(plan: PlanName, *, json: Json = False) -> None:
    """Give your own yes to a plan that replaces or deletes; only in a terminal, signed in as yourself."""

    def work(command: Command) -> Exit:
        found = command.wait(command.headrace.plan(plan))
        command.out.show(plan_card(found))
        if not found.digest:
            command.out.note(f"Plan {found.id} is {found.state}: there is nothing to confirm.")
            command.out.document(found)
            return Exit.FAILED
        against = _against(found, "confirm")
        if against is not None:
            # Of what nobody may confirm the next step says more than why this caller may not.
            nobody = found.next_step.kind == "none"
            reason = found.next_step.message if nobody else f"You can't confirm this plan: {against.rstrip('.')}."
            command.out.note(reason, "red")
            command.out.document(found)
            if nobody:
                return Exit.NEEDS_YES
            if login.token()[1] is None:
                return Exit.REFUSED
            command.out.note(f"Signed in as yourself: unset HEADRACE_TOKEN; headrace confirm {found.id}")
            return Exit.NOT_SIGNED_IN
        after = confirmed(command, found)
        command.out.document(after or found)
        if after is None:
            return Exit.NEEDS_YES
        command.out.say(f"Confirmed. To run it: headrace submit {found.digest}")
        return Exit.DONE

    run(work, as_json=json)


def approve(
    plan: PlanName,
    *,
    refuse: Annotated[bool, typer.Option("--refuse", help="Say no instead.")] = False,
    reason: Annotated[str, typer.Option(help="For the requester and the record.")] = "",
    json: Json = False,
) -> None:
    """Approve (or refuse) another person's plan; only in a terminal, signed in as yourself."""

    def work(command: Command) -> Exit:
        found = command.wait(command.headrace.plan(plan))
        command.out.show(plan_card(found))
        wanted: m.PlanAction = "refuse" if refuse else "approve"
        against = _against(found, wanted)
        if against is not None:
            command.out.note(f"You can't {wanted} this plan: {against.rstrip('.')}. {_APPROVERS}", "red")
            command.out.document(found)
            return Exit.REFUSED
        if not found.digest or not command.out.interactive:
            state = "" if found.digest else f"Plan {found.id} is {found.state}. "
            command.out.note(
                f"{state}An approval is given to a ready plan, by a person in a terminal or in the console."
            )
            command.out.document(found)
            return Exit.NEEDS_YES
        verb = "Refuse" if refuse else "Approve"
        if not agreed(
            command.out, f"{verb} plan {found.digest[:SHORT_DIGEST]} of {found.requester_name or found.requester}?"
        ):
            return Exit.NEEDS_YES
        word = m.Approval(digest=found.digest, verdict="refused" if refuse else "approved", reason=reason)
        after = proven(command, word, partial(command.headrace.approve_plan, found.id), page=f"/plans/{found.id}")
        command.out.say(f"{'Refused' if refuse else 'Approved'}. {after.next_step.message}")
        if not refuse:
            command.out.note(f"To see later whether it runs: headrace plan {after.id}")
        command.out.document(after)
        return Exit.DONE

    run(work, as_json=json)


def _against(plan: m.Plan, action: m.PlanAction) -> str | None:
    """Return why the caller may not do this to a plan."""
    return next((one.reason for one in plan.allowed_actions if one.action == action and not one.allowed), None)


def why(
    what: Annotated[
        str,
        typer.Argument(
            metavar="PLAN|TRANSFER",
            help="A plan's id or digest, or a transfer's id.",
            autocompletion=completion.plans_and_transfers,
        ),
    ],
    *,
    json: Json = False,
) -> None:
    """Explain what policy says of a plan: rules, facts, what would be allowed instead; or what limits a transfer."""
    if what.startswith("tr_"):
        diagnose(what, json=json)
        return

    def work(command: Command) -> None:
        decision = command.wait(command.headrace.why(what))
        doubled = decision.why.lower().startswith(f"{decision.outcome}:")
        command.out.say(decision.why if doubled else f"{decision.outcome}: {decision.why}")
        command.out.show(table(("rule", "reason"), ((rule.id, rule.reason) for rule in decision.rules)))
        if decision.facts:
            command.out.show(table(("fact", "was"), ((fact.name, fact.value) for fact in decision.facts)))
        for other in decision.alternatives:
            command.out.say(f"Instead, {alternative(other)}.")
        command.out.say(f"Policy version {decision.policy_version}.", "dim")
        command.out.document(decision)

    run(work, as_json=json)


def _shown(command: Command, plan: m.Plan, document: Path | None, *, force: bool) -> Exit:
    command.out.show(plan_card(plan))
    if document is not None and plan.digest:
        sealed = command.wait(command.headrace.plan(plan.id, document=True)).document or ""
        with new_file(document, force=force) as file:
            file.write(sealed.encode())
        command.out.note(f"Sealed plan saved in {document}")
    if plan.next_step.kind == "submit":
        command.out.note(f"To run exactly this plan: headrace submit {plan.digest}")
    for question in plan.questions:
        command.out.note(question.message)
    command.out.document(plan)
    match plan.state:
        case m.PlanState.READY:
            return Exit.FAILED if plan.next_step.kind == "plan_again" else Exit.DONE
        case m.PlanState.ASK:
            return Exit.ASKED_BACK
        case m.PlanState.DENIED:
            return Exit.REFUSED
        case m.PlanState.SURVEYING | m.PlanState.FAILED | m.PlanState.EXPIRED | m.PlanState.DROPPED:
            command.out.note(plan.summary)
            return exit_of_failed(plan)
