"""A plan as an assistant sees it: what would happen, what policy says, and what comes next."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from headrace.client import models as m
from headrace.client.origins import added, origin_text
from headrace.client.text import byte_size, plural, quoted, sentence, time_of, visible
from headrace.mcp_server.own_tools import by_tools, told
from headrace.mcp_server.views import RuleView, Summary, TransferView, View

MAX_SAMPLE: Final = 10
"""Names shown of each list on a plan card."""


class QuestionView(View):
    """Something to ask the person; never to be guessed."""

    slot: str
    message: str
    choices: list[str]


class Counts(View):
    """What the plan would touch."""

    files: int
    bytes: int
    identical_files: int
    excluded_files: int
    conflicts: int
    overwrites: int
    overwritten_bytes: int
    deletes: int
    deleted_bytes: int
    sample: list[str]
    overwrites_sample: list[str]
    deletes_sample: list[str]
    conflicts_sample: list[str]

    @classmethod
    def of(cls, survey: m.SurveyCounts) -> "Counts":
        """Show a survey's counts with short samples."""
        shown = survey.model_dump(include=set(cls.model_fields))
        for name, value in shown.items():
            if isinstance(value, list):
                shown[name] = [visible(path, 300) for path in value[:MAX_SAMPLE]]
        return cls.model_validate(shown)


_HOW: Final[dict[str, str]] = {
    "wait": "Call explain_plan with its id.",
    "answer": "Ask the person these questions, then call plan_transfer with the full answer and its id as `answers`.",
    "submit": "Call submit_plan with its digest when the person wants it to run.",
    "follow": "Call transfer_status.",
    "plan_again": "Tell the person why.",
    "none": "Tell the person why; do not look for a way around.",
}
"""What an assistant does about a step; the step itself is the service's to say."""
_WITHOUT_REASON: Final = {"plan_again": "Plan it again.", "none": "It can't run as it is."}
"""Steps whose message repeats why a plan can't run, without that."""


class NeedView(View):
    """Something that people must give before the plan may start."""

    kind: Literal["confirmation", "approval"]
    by: str
    count: int
    given: int

    @classmethod
    def of(cls, need: m.Need) -> "NeedView":
        """Show a need."""
        return cls(kind=need.kind, by=visible(need.by), count=need.count, given=need.given)


class OriginView(View):
    """Where a slot of a plan comes from."""

    slot: str
    origin: m.Origin
    said: Annotated[str, Field(description="The same in words, quoting the person's.")]


class PlanCard(View):
    """A plan: what would happen, what policy says, and what comes next."""

    summary: Summary
    next_step: m.NextStepKind
    how: Annotated[str, Field(description="How the next step is taken, and by whom.")]
    plan_id: str
    state: m.PlanState
    state_reason: str
    digest: Annotated[str | None, Field(description="What submit_plan takes; it stands for exactly this plan.")]
    action: str | None
    source: str | None
    destination: str | None
    project: str | None
    canonical_sentence: str | None
    origins: Annotated[
        list[OriginView], Field(description="Where each slot that somebody gave comes from; all else is a default.")
    ]
    added: Annotated[
        list[str], Field(description="What you added and the person's words do not carry: tell the person.")
    ]
    counts: Counts | None
    eta_s: int | None
    estimate: m.Estimate | None
    outcome: Literal["allowed", "confirm", "approve", "denied"] | None
    rules: list[RuleView]
    questions: list[QuestionView]
    refusals: list[RuleView]
    danger: list[str]
    notes: list[str]
    warnings: Annotated[list[str], Field(description="What stands against it if nothing changes: tell the person.")]
    needs: list[NeedView]
    expires: datetime | None
    transfer_id: str | None

    @classmethod
    def of(cls, plan: m.Plan, where: str) -> "PlanCard":
        """Show a plan; `where` says where a person confirms or approves it."""
        how = _how(plan, where)
        intent, decision = plan.intent, plan.decision
        return cls(
            summary=f"{_summary(plan)} {_how(plan, where, reason=not _reason_is_said(plan))}",
            next_step=plan.next_step.kind,
            how=how,
            plan_id=plan.id,
            state=plan.state,
            state_reason=told(plan.state_reason),
            digest=plan.digest,
            action=intent.action if intent else None,
            source=visible(intent.source) if intent else None,
            destination=visible(intent.destination) if intent else None,
            project=visible(intent.project) if intent and intent.project else None,
            canonical_sentence=visible(plan.canonical_sentence) if plan.canonical_sentence else None,
            origins=[
                OriginView(slot=visible(one.slot), origin=one.origin, said=origin_text(one, plan.agent))
                for one in plan.origins
                if one.origin != "assumed"
            ],
            added=added(plan),
            counts=Counts.of(plan.survey) if plan.survey else None,
            eta_s=plan.eta_s,
            estimate=plan.estimate,
            outcome=decision.outcome if decision else None,
            rules=[RuleView(id=visible(r.id), reason=visible(r.reason)) for r in decision.rules] if decision else [],
            questions=[
                QuestionView(
                    slot=q.slot, message=told(q.message), choices=[visible(c.label or c.value) for c in q.choices]
                )
                for q in plan.questions
            ],
            refusals=[RuleView(id=visible(r.rule), reason=told(r.message)) for r in plan.refusals],
            danger=[visible(danger) for danger in plan.danger],
            notes=[told(note) for note in plan.notes],
            warnings=[told(warning) for warning in plan.warnings],
            needs=[NeedView.of(need) for need in plan.needs],
            expires=plan.expires,
            transfer_id=plan.transfer,
        )


def _how(plan: m.Plan, where: str, *, reason: bool = True) -> str:
    """Say what comes next, and how; never that an assistant may confirm or approve. Without `reason`: not why."""
    step = plan.next_step
    said = told(step.message) if reason else _WITHOUT_REASON[step.kind]
    if step.kind in {"confirm", "approve"}:
        return f"{said} That is done {where}; nobody can do it here. Then call submit_plan."
    return f"{said} {_HOW[step.kind]}" if step.kind in _HOW else said


def _reason_is_said(plan: m.Plan) -> bool:
    """Whether the summary of a plan says already why it can't run, which its next step says, too."""
    denied = bool(plan.refusals) or (plan.decision is not None and plan.decision.outcome == "denied")
    failed = plan.state == m.PlanState.FAILED and bool(plan.summary)
    return plan.next_step.kind in _WITHOUT_REASON and (failed or (plan.state == m.PlanState.DENIED and denied))


def _summary(plan: m.Plan) -> str:
    """Say a plan in a paragraph. Made here and not by the service, so that every name in it is quoted."""
    if plan.questions:
        return " ".join(dict.fromkeys(sentence(told(question.message)) for question in plan.questions))
    if plan.refusals:
        return " ".join(dict.fromkeys(told(refusal.message) for refusal in plan.refusals))
    for_project = f" It is for the project {quoted(project)}." if (project := _project(plan)) else ""
    reads = f" reads {quoted(plan.canonical_sentence, 2000)}" if plan.canonical_sentence else f" is {plan.state}"
    parts = [f"Plan {plan.id}{reads}.{for_project}"]
    if plan.words and (own := added(plan)):
        parts.append(f"Added by the assistant, not in the person's words: {'; '.join(quoted(one) for one in own)}.")
    if plan.probe is not None:
        most = f"{byte_size(plan.probe.max_bytes)} or {plan.probe.max_seconds} s each"
        parts.append(f"It only measures, in four legs of at most {most}, and leaves nothing at the destination.")
    elif plan.survey is not None:
        parts.append(_touches(plan))
    if time := time_of(plan):
        parts.append(f"How long it may take: {time}.")
    if plan.decision is not None:
        parts.append(f"Policy: {plan.decision.outcome}, because {quoted(plan.decision.why, 1000)}.")
        parts += [f"It would be {one.outcome} {quoted(one.words, 200)}." for one in plan.decision.alternatives]
    if plan.state == m.PlanState.FAILED and plan.summary:
        parts.append(f"It failed: {quoted(by_tools(plan.summary), 1000)}.")
    return " ".join(parts)


def _project(plan: m.Plan) -> str | None:
    return plan.intent.project if plan.intent else None


def _touches(plan: m.Plan) -> str:
    survey, kept = plan.survey, plan.decision.keep_days if plan.decision else None
    if survey is None:
        return ""
    does = "copies" if plan.intent is not None and plan.intent.action != "move" else "moves"
    said = [f"It {does} {plural(survey.files, 'file')}, {byte_size(survey.bytes)}"]
    if survey.identical_files:
        said.append(f"skips {plural(survey.identical_files, 'file')} found there already")
    if survey.conflicts:
        said.append(f"leaves as it is what the destination has in the place of {plural(survey.conflicts, 'file')}")
    if survey.overwrites:
        said.append(f"replaces {plural(survey.overwrites, 'file')}, whose present content is lost")
    if survey.deletes:
        deleted = f"{plural(survey.deletes, 'entry')} at the destination"
        said.append(
            f"deletes {deleted} for good"
            if kept is None
            else f"moves {deleted} to the trash, kept {plural(kept, 'day')}"
        )
    return ", ".join(said) + "."


class Submitted(View):
    """Whether the plan now runs."""

    summary: Summary
    started: bool
    plan: PlanCard
    transfer: TransferView | None
