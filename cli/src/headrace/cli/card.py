"""Plans and transfers as people read them. Every text from outside passes through `visible`."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headrace.client import models as m
from headrace.client.origins import added, origin_lines
from headrace.client.text import (
    about,
    before_deletes,
    bit_rate,
    byte_size,
    deleting,
    deletions,
    duration,
    plural,
    same_already,
    sentence,
    stays,
    time_of,
    visible,
)

SHORT_DIGEST: Final = 12
"""Characters of a digest that people compare."""
MAX_NAMES: Final = 5

_OUTCOME_STYLE: Final = {"allowed": "green", "confirm": "yellow", "approve": "yellow", "denied": "red"}
_PROOFS = {
    "session": "",
    "password": ", with a password, a passkey or a new sign-in at the provider",
    "passkey": ", with a passkey in the console",
}
_OUTCOME_WORDS: Final = {
    "allowed": "allowed",
    "confirm": "allowed once it is confirmed",
    "approve": "allowed once it is approved",
    "denied": "denied",
}

_DANGER_WORDS: Final = {
    "overwrite": "files at the destination are replaced",
    "delete_extraneous": "files at the destination are deleted",
    "delete_source": "files at the source are deleted after they are copied",
    "verify_none": "what arrives is not verified",
    "encryption_off": "the data travels unencrypted",
    "root_source": "the source is a whole endpoint",
}


_NONE_NOW: Final = {
    "overwrite": "files that differ at the destination would be replaced; none differs now",
    "delete_extraneous": "what only the destination has would be deleted; now it has nothing of its own",
}


def plan_card(plan: m.Plan) -> RenderableType:
    """Return the card of a plan: what, from where to where, what it touches, what policy says."""
    grid = _grid()
    if plan.words:
        by = f", through {visible(plan.agent)}" if plan.agent else ""
        grid.add_row("asked", Text(f"“{visible(plan.words)}” ({visible(plan.requester_name or plan.requester)}{by})"))
    _add_origins(grid, plan)
    if plan.intent is not None:
        grid.add_row("from", Text(visible(plan.intent.source), style="bold"))
        grid.add_row("to", Text(visible(plan.intent.destination), style="bold"))
        _add_project(grid, plan.intent.project)
        starts = plan.starts or plan.intent.start
        if starts is not None:
            grid.add_row("starts", Text(local_time(starts), style="bold"))
        _add_times(grid, plan.hours, plan.intent.deadline)
    if plan.probe is not None:
        most = f"{byte_size(plan.probe.max_bytes)} or {plan.probe.max_seconds} s each"
        grid.add_row("measures", Text(f"four legs of at most {most}; nothing is left there", style="bold"))
    elif plan.survey is not None:
        does = "copies" if plan.intent is not None and plan.intent.action != "move" else "moves"
        _add_survey(grid, plan.survey, does, plan.decision.keep_days if plan.decision else None)
    if time := time_of(plan):
        grid.add_row("time", Text(visible(time)))
    for name, said in _quality_rows(plan):
        grid.add_row(name, Text(visible(said)))
    _add_verdict(grid, plan)
    for note in plan.notes:
        grid.add_row(Text("note", style="dim"), Text(visible(note), style="dim"))
    if plan.digest:
        until = f", may run until {local_time(plan.expires)}" if plan.expires else ""
        grid.add_row("digest", f"{plan.digest[:SHORT_DIGEST]}...{until}")
    sentence = Text(visible(plan.canonical_sentence), style="italic") if plan.canonical_sentence else None
    title = Text(f" plan {visible(plan.id)}: {plan.state} ")
    body: list[RenderableType] = [sentence, Text()] if sentence is not None else []
    return Panel(Group(*body, grid), title=title, title_align="left", border_style="cyan", expand=False)


def _add_origins(grid: Table, plan: m.Plan) -> None:
    """Say where the slots come from, first of all what an assistant added."""
    words = "not in the words" if plan.words else "without words of the person"
    for slot in added(plan):
        grid.add_row(Text("ADDED", style="bold yellow"), Text(f"{slot} (by the assistant, {words})", style="yellow"))
    for slot, said in origin_lines(plan, "model"):
        grid.add_row(Text("MODEL", style="bold yellow"), Text(f"{slot}: {said}", style="yellow"))
    for slot, said in origin_lines(plan, "said"):
        grid.add_row(Text("said", style="dim"), Text(f"{slot}: {said}", style="dim"))
    if typed := [slot for slot, _ in origin_lines(plan, "typed")]:
        grid.add_row(Text("typed", style="dim"), Text(", ".join(typed), style="dim"))


def _add_verdict(grid: Table, plan: m.Plan) -> None:
    """Add what speaks against the plan, what policy says, and what comes next."""
    kept = plan.decision.keep_days if plan.decision else None
    for danger in plan.danger:
        words = _NONE_NOW[danger] if _is_idle(danger, plan.survey) else _DANGER_WORDS.get(danger, visible(danger))
        if kept is not None and danger in {"delete_extraneous", "delete_source"}:
            words = words.replace("are deleted", f"go to the trash for {plural(kept, 'day')}")
        grid.add_row(Text("beware", style="red"), Text(words, style="red"))
    for refusal in plan.refusals:
        grid.add_row(Text("refused", style="red"), Text(f"{visible(refusal.message)} ({visible(refusal.rule)})"))
    if plan.decision is not None:
        _add_decision(grid, plan)
    for warning in plan.warnings:
        grid.add_row(Text("beware", style="yellow"), Text(visible(warning), style="yellow"))
    if plan.state_reason and not plan.refusals:
        grid.add_row(Text("stopped", style="red"), Text(visible(plan.state_reason), style="red"))
    # What stopped it, and what it warns of, stands above, once.
    step = plan.next_step.message
    for said in (sentence(plan.state_reason) if plan.state_reason else "", *plan.warnings):
        step = " ".join(step.replace(said, "").split()) if said else step
    if step or plan.next_step.message:
        grid.add_row("next", Text(visible(step or plan.next_step.message), style="bold"))


def _is_idle(danger: str, survey: m.SurveyCounts | None) -> bool:
    """Whether a danger is allowed for, and nothing is there that it would touch."""
    counted = {"overwrite": "overwrites", "delete_extraneous": "deletes"}.get(danger)
    return survey is not None and counted is not None and not getattr(survey, counted)


def _add_survey(grid: Table, survey: m.SurveyCounts, does: str, kept: int | None) -> None:
    """Add what it `does` with files, and what is replaced and deleted; `kept` are the days that a trash keeps that."""
    # Symlinks are among the files, and folders are not.
    also = [f"{survey.symlinks:,} of them symlinks"] if survey.symlinks else []
    also += [f"and {plural(survey.directories, 'folder')}"] if survey.directories else []
    inside = f" ({', '.join(also)})" if also else ""
    grid.add_row(does, Text(f"{plural(survey.files, 'file')}, {byte_size(survey.bytes)}{inside}", style="bold"))
    if survey.identical_files:
        grid.add_row("identical", f"{plural(survey.identical_files, 'file')} already there, skipped")
    if survey.excluded_files:
        grid.add_row("left out", f"{plural(survey.excluded_files, 'file')} by the filters")
    if survey.conflicts:
        names = _names(survey.conflicts_sample, survey.conflicts)
        meets = "meets" if survey.conflicts == 1 else "meet"
        text = f"{plural(survey.conflicts, 'file')} {meets} something different at the destination, which stays{names}"
        grid.add_row(Text("conflicts", style="yellow"), Text(text, style="yellow"))
    if survey.overwrites:
        lost = f"{plural(survey.overwrites, 'file')} ({byte_size(survey.overwritten_bytes)}) at the destination"
        names = _names(survey.overwrites_sample, survey.overwrites)
        text = f"{lost} will be replaced; the content there now is lost{names}"
        grid.add_row(Text("REPLACES", style="bold red"), Text(text, style="red"))
    if survey.deletes:
        lost = f"{plural(survey.deletes, 'entry')} ({byte_size(survey.deleted_bytes)}) at the destination"
        fate = "be deleted, which nothing undoes" if kept is None else f"go to the trash, kept {plural(kept, 'day')}"
        text = f"{lost} will {fate}{_names(survey.deletes_sample, survey.deletes)}"
        grid.add_row(Text("DELETES", style="bold red"), Text(text, style="red"))


def alternative(other: m.Alternative) -> str:
    """Say what policy would say of another request."""
    return f"{visible(other.words)}: {_OUTCOME_WORDS[other.outcome]}"


def _add_decision(grid: Table, plan: m.Plan) -> None:
    decision = plan.decision
    if decision is None:
        return
    grid.add_row("policy", Text(_OUTCOME_WORDS[decision.outcome], style=_OUTCOME_STYLE[decision.outcome]))
    grid.add_row("why", Text(visible(decision.why)))
    if decision.rules:
        grid.add_row("rules", Text(", ".join(visible(rule.id) for rule in decision.rules)))
    for other in decision.alternatives:
        grid.add_row("instead", Text(alternative(other)))
    for need in plan.needs:
        until = f", good until {local_time(need.until)}" if need.until else ""
        kind, by = need.kind, visible(need.by)
        grid.add_row("needs", Text(f"{kind} by {by}{_PROOFS[need.proof]}: {need.given} of {need.count} given{until}"))
    for approval in plan.approvals:
        reason = f": {visible(approval.reason)}" if approval.reason else ""
        grid.add_row("", Text(f"{approval.verdict} by {visible(approval.person)}{reason}"))


def transfer_card(transfer: m.Transfer) -> RenderableType:
    """Return the card of a transfer: where it stands, what is safe, what went wrong."""
    grid = _grid()
    progress = transfer.progress
    grid.add_row("from", Text(visible(transfer.source), style="bold"))
    grid.add_row("to", Text(visible(transfer.destination), style="bold"))
    _add_project(grid, transfer.project)
    reason = f" ({visible(transfer.state_reason)})" if transfer.state_reason else ""
    grid.add_row("state", Text(f"{transfer.state}{reason}", style=state_style(transfer.state)))
    if transfer.starts is not None and transfer.started is None:
        grid.add_row("starts", local_time(transfer.starts))
    _add_times(grid, transfer.hours, transfer.deadline, late=_late(transfer))
    for name, said, style in _promised_rows(transfer):
        grid.add_row(name, Text(visible(said), style=style))
    same = f" ({same})" if (same := same_already(progress.files_identical, progress.identical_by)) else ""
    grid.add_row("files", f"{progress.files_done:,} of {progress.files_total:,}{same}")
    grid.add_row("safe", stays(progress) if transfer.state == m.TransferState.CANCELED else _bytes(progress))
    for name, said in _speed_rows(transfer):
        grid.add_row(name, Text(visible(said)))
    for name, said, style in _left_rows(progress):
        grid.add_row(Text(name, style=style), Text(said, style=style))
    if transfer.error is not None:
        grid.add_row(Text("error", style="red"), Text(f"{visible(transfer.error.detail)} [{transfer.error.code}]"))
    if transfer.next_step.kind in {"retry", "resume", "plan_again"} or transfer.state == m.TransferState.WAITING:
        grid.add_row("next", Text(visible(transfer.next_step.message), style="bold"))
    if transfer.receipt:
        grid.add_row("receipt", visible(transfer.receipt))
    grid.add_row("plan", Text(f"{visible(transfer.plan)}  {transfer.plan_digest[:SHORT_DIGEST]}..."))
    title = Text(f" transfer {visible(transfer.id)} ")
    return Panel(grid, title=title, title_align="left", border_style="cyan", expand=False)


def _speed_rows(transfer: m.Transfer) -> Iterator[tuple[str, str]]:
    """Say how fast it is, when it ends, and what it may not exceed."""
    progress = transfer.progress
    if progress.rate_bps or progress.eta_s is not None:
        eta = progress.eta_s, progress.eta_low_s, progress.eta_high_s
        left = f", {about(eta[0], *eta[1:])} left{before_deletes(transfer)}" if eta[0] is not None else ""
        yield "rate", f"{bit_rate(progress.rate_bps)}{left}"
    elif progress.average_bps:
        yield "average", bit_rate(progress.average_bps)
    if ends := ends_line(transfer.ends):
        yield "ends", ends
    if transfer.rate_ceiling_bps:
        of_plan = transfer.plan_rate_ceiling_bps
        own = f" (its plan allows {bit_rate(of_plan)})" if of_plan and of_plan != transfer.rate_ceiling_bps else ""
        yield "ceiling", f"{bit_rate(transfer.rate_ceiling_bps)}{own}"


def _add_project(grid: Table, project: str | None) -> None:
    if project is not None:
        grid.add_row("project", Text(visible(project), style="bold"))


def _late(transfer: m.Transfer) -> str:
    """Say by how much a transfer comes late, or came; empty where its deadline is not at risk."""
    if not transfer.deadline_at_risk:
        return ""
    late = f"about {duration(transfer.deadline_late_s)} " if transfer.deadline_late_s else ""
    if transfer.ended is not None:
        return f"it ended {late}later"
    if transfer.deadline is not None and transfer.deadline <= datetime.now(UTC):
        return "has passed"
    return f"at risk: it would come {late}late" if late else "at risk"


def _add_times(grid: Table, hours: m.RunHours | None, deadline: datetime | None, *, late: str = "") -> None:
    """Add the hours in which alone it runs, and when it is to be done."""
    if hours is not None:
        grid.add_row("hours", f"{hours.opens}-{hours.closes} ({visible(hours.zone)})")
    if deadline is not None:
        said = f" ({late})" if late else ""
        grid.add_row("done by", Text(f"{local_time(deadline)}{said}", style="red" if late else ""))


def ends_line(ends: m.ExpectedEnd | None) -> str:
    """Say when a transfer is expected to end, as a range; empty where nobody knows."""
    if ends is None:
        return ""
    said = f"; {ends.said}" if ends.said else ""
    if ends.likely is None:
        return f"{local_time(ends.earliest)} at the earliest{said}"
    latest = local_time(ends.latest) if ends.latest else "a time that its hours do not reach"
    return f"about {local_time(ends.likely)} ({local_time(ends.earliest)} to {latest}){said}"


def state_style(state: m.TransferState) -> str:
    """Return the colour of a state; the word says it as well."""
    match state:
        case m.TransferState.COMPLETE:
            return "green"
        case m.TransferState.PARTIAL | m.TransferState.WAITING | m.TransferState.PAUSED:
            return "yellow"
        case m.TransferState.FAILED | m.TransferState.CANCELED:
            return "red"
        case m.TransferState.QUEUED | m.TransferState.RUNNING:
            return "cyan"


def _quality_rows(plan: m.Plan) -> Iterator[tuple[str, str]]:
    quality = plan.quality
    if quality is not None and (quality.links or quality.calendar or quality.qos_class != "bulk"):
        yield "class", quality_of(quality)
    if tuning := tuning_of(plan.tuning):
        yield "set", tuning
    for quota in plan.quotas:
        for said in quota_rows(quota):
            yield "quota", f"{quota.of} {quota.subject}: {said} used"


def _promised_rows(transfer: m.Transfer) -> Iterator[tuple[str, str, str]]:
    if tuning := tuning_of(transfer.tuning):
        yield "set", tuning, ""
    if transfer.deadline_note:
        yield "", transfer.deadline_note, "red"
    if transfer.progress.share is not None:
        yield "share", share_of(transfer.progress.share), ""


def _left_rows(progress: m.Progress) -> Iterator[tuple[str, str, str]]:
    if progress.files_failed:
        yield "failed", plural(progress.files_failed, "file"), "red"
    if deletes := deleting(progress) or deletions(progress.deleted, to_trash=progress.deleted_to_trash):
        yield "deleted", deletes, ""
    if progress.sources_kept:
        yield "stay", f"{plural(progress.sources_kept, 'source')} (the receipt says why)", "yellow"


_LEVELS: Final[Mapping[m.TuningLevel, str]] = {
    "transfer": "for this transfer",
    "pair": "for these two endpoints",
    "site": "for the site",
}


def tuning_of(tuning: m.EffectiveTuning) -> str:
    """Say which streams and units are set, and where; empty when the nodes choose both."""
    said = []
    if tuning.streams is not None:
        said.append(f"{plural(tuning.streams.value, 'stream')} {_LEVELS[tuning.streams.level]}")
    if tuning.unit_bytes is not None:
        size = tuning.unit_bytes.value
        exact = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
        said.append(f"units of {exact} {_LEVELS[tuning.unit_bytes.level]}")
    return ", ".join(said)


def share_of(share: m.TransferShare) -> str:
    """Say what a transfer is entitled to of links, and takes."""
    entitled = "no cap" if share.entitled_bps is None else f"entitled to {bit_rate(share.entitled_bps)}"
    guaranteed = f", {bit_rate(share.guaranteed_bps)} guaranteed" if share.guaranteed_bps else ""
    if share.kept_later:
        guaranteed += ", and more later, in time for its deadline: earlier ones go first"
    takes = f"{guaranteed}, takes {bit_rate(share.actual_bps)}"
    return f"class {share.qos_class} on {', '.join(share.links)}: {entitled}{takes}"


def quality_of(quality: m.PlannedQuality) -> str:
    """Say of which class a plan is, why, over which links and in whose hours it runs."""
    over = f", over {', '.join(quality.links)}" if quality.links else ""
    opens = f", open from {local_time(quality.opens)}" if quality.opens is not None else ""
    when = f"; only in the hours of {quality.calendar}{opens}" if quality.calendar else ""
    return f"{quality.qos_class}{over}: {quality.why}{when}"


def quota_rows(quota: m.QuotaUse) -> list[str]:
    """Say each limit of a quota with what of it is used."""
    rows = []
    if quota.bytes_a_day is not None:
        rows.append(f"{byte_size(quota.bytes_used)} of {byte_size(quota.bytes_a_day)} today")
    if quota.files_a_day is not None:
        rows.append(f"{quota.files_used:,} of {plural(quota.files_a_day, 'file')} today")
    if quota.transfers is not None:
        rows.append(f"{quota.transfers_used:,} of {plural(quota.transfers, 'transfer')} at once")
    return rows


def local_time(moment: datetime | None) -> str:
    """Return a time in this machine's zone, which it names, to the minute where it has no seconds."""
    if moment is None:
        return ""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z" if moment.second else "%Y-%m-%d %H:%M %Z")


_MARKS: Final[Mapping[str, str]] = {"": "", "at_risk": ", deadline at risk", "missed": ", deadline missed"}


def marked(transfer: m.Transfer) -> str:
    """Return the state of a transfer for a list, with what was told last of its deadline while that lies ahead of it.

    And for good where it was missed.
    """
    told = transfer.deadline_told
    return standing(transfer) + (_MARKS[told] if told == "missed" or transfer.ended is None else "")


def standing(transfer: m.Transfer) -> str:
    """Return the state of a transfer, and when one that waits for its time starts."""
    waits = (
        transfer.state == m.TransferState.QUEUED and transfer.starts is not None and transfer.starts > datetime.now(UTC)
    )
    return f"{transfer.state}, starts {local_time(transfer.starts)}" if waits else str(transfer.state)


def safe_there(transfer: m.Transfer) -> str:
    """Say what is at the destination: files when nothing had to be copied or it was canceled, else bytes."""
    progress = transfer.progress
    if transfer.state == m.TransferState.CANCELED or (not progress.bytes_total and progress.files_total):
        return f"{progress.files_done:,} of {plural(progress.files_total, 'file')}"
    return _bytes(progress)


def _bytes(progress: m.Progress) -> str:
    return f"{byte_size(progress.bytes_durable)} of {byte_size(progress.bytes_total)}"


def age(moment: datetime | None) -> str:
    """Return how long ago a time was."""
    return f"{duration((datetime.now(UTC) - moment).total_seconds())} ago" if moment is not None else "never"


def _names(sample: Sequence[str], count: int) -> str:
    shown = [visible(name, 200) for name in sample[:MAX_NAMES]]
    more = f" and {count - len(shown):,} more" if count > len(shown) else ""
    return f": {', '.join(shown)}{more}" if shown else ""


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid
