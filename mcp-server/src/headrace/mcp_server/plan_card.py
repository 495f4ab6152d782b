"""A plan as an assistant sees it: what would happen, what policy says, and what comes next."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from headrace.client import models as m
from headrace.client.text import byte_size, plural, quoted, visible
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


_STOPPED = {
    m.PlanState.EXPIRED: "It is too old to run: plan it again.",
    m.PlanState.DENIED: "It cannot run. Tell the person why; do not look for a way around.",
    m.PlanState.FAILED: "Planning failed: tell the person what is said here.",
}

NextStep = Literal["submit", "wait", "ask the person", "person confirms", "others approve", "nothing"]


class PlanCard(View):
    """A plan: what would happen, what policy says, and what comes next."""

    summary: Summary
    next_step: NextStep
    how: Annotated[str, Field(description="How the next step is taken, and by whom.")]
    plan_id: str
    state: m.PlanState
    digest: Annotated[str | None, Field(description="What submit_plan takes; it stands for exactly this plan.")]
    action: str | None
    source: str | None
    destination: str | None
    canonical_sentence: str | None
    counts: Counts | None
    eta_s: int | None
    outcome: Literal["allowed", "confirm", "approve", "denied"] | None
    rules: list[RuleView]
    questions: list[QuestionView]
    refusals: list[RuleView]
    danger: list[str]
    notes: list[str]
    confirmed: bool
    approvals_given: int
    approvals_needed: int
    expires: datetime | None
    transfer_id: str | None

    @classmethod
    def of(cls, plan: m.Plan, where: str) -> "PlanCard":
        """Show a plan; `where` says where a person confirms or approves it."""
        step, how = next_step(plan, where)
        intent, decision = plan.intent, plan.decision
        return cls(
            summary=f"{_summary(plan)} {how}",
            next_step=step,
            how=how,
            plan_id=plan.id,
            state=plan.state,
            digest=plan.digest,
            action=intent.action if intent else None,
            source=visible(intent.source) if intent else None,
            destination=visible(intent.destination) if intent else None,
            canonical_sentence=visible(plan.canonical_sentence) if plan.canonical_sentence else None,
            counts=Counts.of(plan.survey) if plan.survey else None,
            eta_s=plan.eta_s,
            outcome=decision.outcome if decision else None,
            rules=[RuleView(id=visible(r.id), reason=visible(r.reason)) for r in decision.rules] if decision else [],
            questions=[
                QuestionView(
                    slot=q.slot, message=visible(q.message), choices=[visible(c.label or c.value) for c in q.choices]
                )
                for q in plan.questions
            ],
            refusals=[RuleView(id=visible(r.rule), reason=visible(r.message)) for r in plan.refusals],
            danger=[visible(danger) for danger in plan.danger],
            notes=[visible(note) for note in plan.notes],
            confirmed=plan.confirmed,
            approvals_given=sum(a.verdict == "approved" for a in plan.approvals),
            approvals_needed=decision.approvals_needed if decision else 0,
            expires=plan.expires,
            transfer_id=plan.transfer,
        )


def next_step(plan: m.Plan, where: str) -> tuple[NextStep, str]:
    """Say what comes next for a plan, and how; never that an assistant may confirm or approve."""
    if plan.state == m.PlanState.SURVEYING:
        return "wait", f"Still looking ({plan.surveyed_entries:,} entries so far): call explain_plan with its id."
    if plan.state == m.PlanState.ASK:
        return "ask the person", "Ask the person these questions, then call plan_transfer with the full answer."
    if plan.state == m.PlanState.READY and not plan.transfer:
        return _ready_step(plan, where)
    return "nothing", f"It already runs as transfer {plan.transfer}." if plan.transfer else _STOPPED[plan.state]


def _ready_step(plan: m.Plan, where: str) -> tuple[NextStep, str]:
    outcome = plan.decision.outcome if plan.decision else "denied"
    given = sum(approval.verdict == "approved" for approval in plan.approvals)
    if outcome == "denied":
        return "nothing", _STOPPED[m.PlanState.DENIED]
    if outcome == "approve" and plan.decision is not None and given < plan.decision.approvals_needed:
        by = " or ".join(quoted(group) for group in plan.decision.approver_groups) or "an approver"
        missing = plan.decision.approvals_needed - given
        return "others approve", (
            f"It needs {plural(missing, 'more approval')} by {by}, who give them {where}; nobody can give one here."
        )
    if outcome != "allowed" and not plan.confirmed:
        return "person confirms", (
            f"The person must confirm it themselves, {where}; it cannot be confirmed here. Then call submit_plan."
        )
    return "submit", "Call submit_plan with its digest when the person wants it to run."


def _summary(plan: m.Plan) -> str:
    """Say a plan in a paragraph. Made here and not by the service, so that every name in it is quoted."""
    if plan.questions:
        return " ".join(visible(question.message) for question in plan.questions)
    if plan.refusals:
        return " ".join(visible(refusal.message) for refusal in plan.refusals)
    reads = f" reads {quoted(plan.canonical_sentence, 2000)}" if plan.canonical_sentence else f" is {plan.state}"
    parts = [f"Plan {plan.id}{reads}."]
    if plan.survey is not None:
        parts.append(_touches(plan.survey))
    if plan.decision is not None:
        parts.append(f"Policy: {plan.decision.outcome}, because {quoted(plan.decision.why, 1000)}.")
    if plan.state == m.PlanState.FAILED and plan.summary:
        parts.append(f"It failed: {quoted(plan.summary, 1000)}.")
    return " ".join(parts)


def _touches(survey: m.SurveyCounts) -> str:
    said = [f"It moves {plural(survey.files, 'file')}, {byte_size(survey.bytes)}"]
    if survey.identical_files:
        said.append(f"skips {plural(survey.identical_files, 'file')} that are there already")
    if survey.conflicts:
        said.append(f"leaves {plural(survey.conflicts, 'file')} that differ at the destination as they are")
    if survey.overwrites:
        said.append(f"replaces {plural(survey.overwrites, 'file')}, whose present content is lost")
    if survey.deletes:
        said.append(f"deletes {plural(survey.deletes, 'entry')} at the destination, which are lost")
    return ", ".join(said) + "."


class Submitted(View):
    """Whether the plan now runs."""

    summary: Summary
    started: bool
    plan: PlanCard
    transfer: TransferView | None
