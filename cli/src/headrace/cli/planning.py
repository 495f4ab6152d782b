"""From a request to a running transfer: plan, questions, decision, the person's yes, submit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import typer
from rich.text import Text

from headrace.cli.card import SHORT_DIGEST, local_time, plan_card
from headrace.cli.command import PROOF_REFUSED, Command, proven
from headrace.cli.exits import Exit, exit_of_end, exit_of_failed
from headrace.cli.flags import flag_of
from headrace.cli.following import ended, follow
from headrace.client import END_STATES, HeadraceError
from headrace.client import models as m
from headrace.client.text import visible

MAX_ROUNDS: Final = 8
"""Rounds of questions before a person is asked to write a new sentence."""
WAIT_S: Final = 2.0
_NOT_PROVEN: Final = frozenset({PROOF_REFUSED, "too_many_attempts"})
"""Codes that end a confirmation for want of the right password: the plan waits on."""

_VERBS: Final = frozenset({"copy", "sync", "move", "mirror"})

_CUES: Final = {"source": "from", "destination": "to", "rate_limit_bps": "at", "exclude": "except", "include": "only"}
"""Words that lead a missing part of a sentence in."""
_CUE: Final = re.compile(
    r"(?:(?:start|finish|starting|finishing) )?"
    r"(?:from|to|into|onto|at|by|before|after|since|until|on|between|every|except|only)\b|--[a-z-]+\b",
    re.IGNORECASE,
)
"""What may lead a part of a sentence in."""
_COMMAND: Final = re.compile(r"\s*(?:[$#%>]\s+)?headrace\s+(?:ask|plan)\s+(.+?)\s*", re.DOTALL)
"""A line of the shell that somebody pasted where a sentence belongs, and its arguments."""
_QUOTES: Final = {"'": "'", '"': '"', "\N{LEFT SINGLE QUOTATION MARK}": "\N{RIGHT SINGLE QUOTATION MARK}",
                  "\N{LEFT DOUBLE QUOTATION MARK}": "\N{RIGHT DOUBLE QUOTATION MARK}"}  # fmt: skip
_ENDS_WITH_CUE: Final = re.compile(rf"(?:^|\s)(?:{_CUE.pattern})\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Wishes:
    """What the person said about this run."""

    yes: bool
    wait: bool


def planned(command: Command, request: m.PlanRequest) -> m.Plan:
    """Plan a request and wait until planning is done, however long the survey takes."""
    plan = command.wait(command.headrace.create_plan(request))
    return surveyed(command, plan)


def surveyed(command: Command, plan: m.Plan) -> m.Plan:
    """Wait for a plan to leave `surveying`, telling how far it is."""
    command.on_interrupt = lambda: command.out.note(
        f"Interrupted; nothing was started. Look again: headrace plan {plan.id}"
    )
    with command.out.aside.status(Text("reading the request")) as status:
        while plan.state == m.PlanState.SURVEYING:
            plan = command.wait(command.headrace.plan(plan.id, wait_s=WAIT_S))
            status.update(Text(visible(plan.next_step.message) or "surveying"))
    return plan


def answered(command: Command, request: m.PlanRequest) -> m.Plan:
    """Plan a request; on a terminal, ask the person what was not understood and plan the fuller sentence."""
    plan = planned(command, request)
    for _ in range(MAX_ROUNDS):
        if plan.state != m.PlanState.ASK or not plan.questions or not command.out.interactive or request.words is None:
            break
        question = first_of(plan.questions)
        given = _answer(command, question, request.words)
        pasted = without_command(given)
        whole = pasted != given or _whole(given, request.words)
        words = pasted if whole else reworded(request.words, question, given)
        command.out.note(f"Reading: {words}", "italic")
        request = request.model_copy(update={"words": words, "answers": plan.id})
        plan = planned(command, request)
    return plan


def without_command(text: str) -> str:
    """Return the sentence of a pasted `headrace ask '...'`, without the command and its quotes; other text as it is."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return text
    said = found[1]
    closing = _QUOTES.get(said[0])
    quoted = closing is not None and said.endswith(closing) and closing not in said[1:-1]
    return (said[1:-1].strip() if quoted else said) or text


def _whole(answer: str, words: str) -> bool:
    """Whether an answer is a whole request, which begins as the one before did or with what is to be done."""
    verb, *rest = answer.split() or [""]
    return len(rest) > 1 and verb.casefold() in {*_VERBS, *(word.casefold() for word in words.split()[:1])}


def first_of(questions: Sequence[m.Question]) -> m.Question:
    """Choose what to ask: one at a time, about given words first, since an answer often settles others as well."""
    return next((question for question in questions if question.words), questions[0])


def reworded(words: str, question: m.Question, answer: str) -> str:
    """Put an answer in the place of the words asked about, or at the end; the result is a sentence like any other.

    The cue that led the replaced words in ("to", "at") is kept when the answer brings none of its own.
    """
    if question.words == words:
        return answer
    if question.slot == "action" and not question.words:
        return f"{answer} {words}"
    if not question.words or question.words not in words:
        cue = "" if _CUE.match(answer) else _CUES.get(question.slot, "")
        return f"{words} {cue} {answer}" if cue else f"{words} {answer}"
    before, about, after = words.partition(question.words)
    if question.start is not None and words[question.start : question.end] == question.words:
        before, after = words[: question.start], words[question.end :]
    led_in = _CUE.match(about)
    if led_in and not _CUE.match(answer):
        answer = f"{led_in.group()} {answer}"
    elif question.slot == "rate_limit_bps" and not _ENDS_WITH_CUE.search(before) and not _CUE.match(answer):
        answer = f"at {answer}"  # the words asked about were a whole phrase, such as "use 40% of the link"
    return f"{before}{answer}{after}"


def decided(command: Command, plan: m.Plan, wishes: Wishes) -> Exit:
    """Show a plan and, if it may run and is wanted, run it; returns the exit code."""
    command.out.show(plan_card(plan))
    if plan.next_step.kind == "confirm" and plan.next_step.by == "you":
        after = confirmed(command, plan)
        if after is None:
            command.out.document(plan)
            return Exit.NEEDS_YES
        plan = after
    elif (
        plan.next_step.kind == "submit" and plan.next_step.by == "you" and not wishes.yes and not _wanted(command, plan)
    ):
        return Exit.NEEDS_YES
    match plan.next_step.kind:
        case "answer":
            return _asked_back(command, plan)
        case "submit" if plan.next_step.by == "you":
            return submitted(command, _digest(plan), wait=wishes.wait)
        case "confirm" | "approve":
            command.out.note(visible(plan.next_step.message))
            if any(need.kind == "approval" and need.given < need.count for need in plan.needs):
                command.out.note(f"Approvers: headrace approve {plan.id}")
            if plan.next_step.kind == "confirm":
                # A token confirms nothing: its person does, in a session of their own.
                command.out.note(f"To confirm it, signed in and without HEADRACE_TOKEN: headrace confirm {plan.id}")
            command.out.note(f"To run it then: headrace submit {_digest(plan)}")
            ended_with = Exit.NEEDS_YES
        case "follow":
            command.out.note(f"{visible(plan.next_step.message)} Look: headrace watch {plan.transfer}")
            ended_with = Exit.DONE
        case _:
            command.out.note(visible(plan.next_step.message), "red")
            ended_with = _stopped(plan)
    command.out.document(plan)
    return ended_with


def _stopped(plan: m.Plan) -> Exit:
    """Return the exit code of a plan that its caller can't start."""
    if plan.state == m.PlanState.DENIED:
        return Exit.REFUSED
    if plan.next_step.kind == "submit":
        return Exit.REFUSED
    waits = plan.next_step.kind == "none" and any(need.given < need.count for need in plan.needs)
    return Exit.NEEDS_YES if waits else exit_of_failed(plan)


def confirmed(command: Command, plan: m.Plan) -> m.Plan | None:
    """Ask the person to confirm exactly this plan; None when they decline or nobody is there to ask."""
    digest = _digest(plan)
    if not command.out.interactive:
        command.out.note(
            f"This needs your own confirmation: run `headrace confirm {plan.id}` in a terminal, or use the console."
        )
        return None
    said_yes = typer.confirm(f"Confirm plan {digest[:SHORT_DIGEST]} with what it replaces or deletes?", err=True)
    verdict = m.Confirmation(digest=digest, verdict="confirmed" if said_yes else "declined")
    try:
        after = proven(command, verdict, partial(command.headrace.confirm_plan, plan.id), page=f"/plans/{plan.id}")
    except HeadraceError as error:
        if error.problem.code in _NOT_PROVEN:
            command.out.note(f"Nothing was started; the plan still waits: `headrace confirm {plan.id}`")
        raise
    if not said_yes:
        command.out.note(
            "Nothing was started. You declined this plan, so it can't run any more: ask again if you want it."
        )
        return None
    return after


def _asked_back(command: Command, plan: m.Plan) -> Exit:
    for question in plan.questions:
        command.out.note(_question(question, plan.words))
        for choice in question.choices:
            command.out.note(f"  - {choice.value}: {choice.label}" if choice.label else f"  - {choice.value}")
    again = "Ask again, with the answer in the sentence." if plan.words else _run_again(plan)
    command.out.note(f"Nothing was started. {again}")
    command.out.document(plan)
    return Exit.ASKED_BACK


def _run_again(plan: m.Plan) -> str:
    """Say as which arguments of a command with flags to answer: there is no sentence to answer in."""
    asked = dict.fromkeys(flag_of(question.slot) for question in plan.questions)
    named = " and ".join(one for one in asked if one)
    return f"Run the command again, with the answer {f'as {named}' if named else 'in it'}."


def submitted(command: Command, digest: str, *, wait: bool) -> Exit:
    """Run the plan with this digest, and follow the transfer if wanted."""
    transfer = command.wait(command.headrace.submit(m.SubmitRequest(plan_digest=digest)))
    if not wait:
        command.out.say(f"Transfer {transfer.id} is {transfer.state}: headrace watch {transfer.id}")
        command.out.document(transfer)
        return Exit.DONE
    command.out.note(f"Transfer {transfer.id}")
    return ended(command, follow(command, transfer))


def ran_before(command: Command, name: str, *, wait: bool) -> Exit:
    """Say of a plan that was submitted before how that went, or follow it if it goes on; nothing is started."""
    transfer = command.wait(command.headrace.transfer(name))
    if transfer.state in END_STATES:
        command.out.say(
            f"This plan has already run, as {transfer.id} (ended {local_time(transfer.ended)}: {transfer.state}); "
            f"nothing was started. To ask for the same once more: headrace again {transfer.id}"
        )
        command.out.document(transfer)
        return exit_of_end(transfer)
    command.out.say(f"This plan already runs, as {transfer.id}; nothing new was started.")
    if wait:
        return ended(command, follow(command, transfer))
    command.out.document(transfer)
    return Exit.DONE


def _wanted(command: Command, plan: m.Plan) -> bool:
    if command.out.interactive and typer.confirm("Run it?", default=True, err=True):
        return True
    how = "" if command.out.interactive else " There is no terminal to ask at; `--yes` runs what needs no confirmation."
    command.out.note(f"Not started.{how} To run exactly this plan: headrace submit {_digest(plan)}")
    command.out.document(plan)
    return False


def _digest(plan: m.Plan) -> str:
    return plan.digest or ""


def _question(question: m.Question, words: str | None) -> str:
    """Say a question, and which of the person's own `words` it is about, unless that is all of them."""
    about = f" (“{question.words}”)" if words and question.words and question.words != words else ""
    return f"{question.message}{about}"


def _answer(command: Command, question: m.Question, words: str) -> str:
    command.out.note(_question(question, words), "bold")
    for number, choice in enumerate(question.choices, start=1):
        label = f" - {choice.label}" if choice.label and choice.label != choice.value else ""
        command.out.note(f"  {number}. {choice.value}{label}")
    hint = "a number, words, or the whole sentence again" if question.choices else "or the whole sentence again"
    command.out.note("Ctrl-C ends this; nothing is started.", "dim")
    while True:
        given = str(typer.prompt(f"Your answer ({hint})", err=True)).strip()
        if not given.isdecimal() or not question.choices:
            return given
        if 1 <= int(given) <= len(question.choices):
            return question.choices[int(given) - 1].value
        command.out.note(f"There is no choice {visible(given)}.")
