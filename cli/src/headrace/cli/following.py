"""Following a transfer to its end: a progress bar on a terminal, lines elsewhere, and what did not arrive."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from headrace.cli.card import standing, state_style
from headrace.cli.command import Command
from headrace.cli.exits import Exit, exit_of_end
from headrace.cli.probed import show_probed
from headrace.cli.tables import table
from headrace.client import END_STATES
from headrace.client import models as m
from headrace.client.text import (
    about,
    before_deletes,
    between,
    bit_rate,
    byte_size,
    deleting,
    deletions,
    duration,
    plural,
    same_already,
    stays,
    visible,
)

MAX_FAILED_SHOWN: Final = 20
_NEVER_COPIED: Final = "source_unsupported"
"""The code of sockets, pipes and devices: no retry helps, whatever is moved out of the way."""
_MEANWHILE: Final[dict[str, str]] = {
    m.TransferEventKind.STARTED: "running",
    m.TransferEventKind.ATTEMPT: "running",
    m.TransferEventKind.ATTEMPT_ENDED: "ending",
}
"""What the bar says after events that carry no state: of several at once, only the last does."""
_STYLES: Final[dict[str, str]] = {
    m.TransferEventKind.DEADLINE_AT_RISK: "yellow",
    m.TransferEventKind.DEADLINE_SAFE: "green",
    m.TransferEventKind.DEADLINE_MISSED: "red",
}
"""Events that stand out."""
LINE_EVERY_S: Final = 10
"""Without a terminal, progress is a line at most this often."""


def follow(command: Command, transfer: m.Transfer, *, after: int = 0) -> m.Transfer:
    """Show a transfer until it ends and return how it ended, with the events after `after`. Ctrl-C ends only that."""
    seen = [transfer]
    command.on_interrupt = lambda: _left(command, seen[0])
    if transfer.state in END_STATES:
        return transfer
    command.wait(_show(command, transfer, seen, after))
    return seen[0]


def ended(command: Command, transfer: m.Transfer) -> Exit:
    """Say how a transfer ended, with the files that did not arrive, and return the exit code."""
    if transfer.probe:
        return show_probed(command, transfer)
    progress = transfer.progress
    done = f"{_there(progress)}{_took(transfer)}"
    gone = deletions(progress.deleted, to_trash=progress.deleted_to_trash)
    done += f"; {gone}" if gone else ""
    command.out.say(f"Transfer {transfer.id} is {transfer.state}: {done}.", state_style(transfer.state))
    if transfer.error is not None:
        command.out.say(f"{transfer.error.detail} [{transfer.error.code}]", "red")
    if progress.sources_kept:
        command.out.say(f"Sources that stay: {progress.sources_kept:,}. The receipt says why.", "yellow")
    if transfer.receipt:
        command.out.say(f"Receipt {transfer.receipt}: headrace receipts get {transfer.id} -o receipt.json")
    if transfer.state == m.TransferState.CANCELED:
        command.out.say(f"To ask for the same once more: headrace again {transfer.id}")
    if progress.files_failed or transfer.state == m.TransferState.PARTIAL:
        failed = command.wait(command.headrace.failed_files(transfer.id, limit=MAX_FAILED_SHOWN))
        show_failed(command, transfer, failed, more=progress.files_failed > len(failed))
    command.out.document(transfer)
    return exit_of_end(transfer)


def _there(progress: m.Progress) -> str:
    copied = (
        f"{byte_size(progress.bytes_durable)} copied" if progress.files_identical else byte_size(progress.bytes_durable)
    )
    same = f" ({same})" if (same := same_already(progress.files_identical, progress.identical_by)) else ""
    return f"{plural(progress.files_done, 'file')}{same}, {copied}"


def _took(transfer: m.Transfer) -> str:
    """Say how long its attempts took, and how long it was from start to end, where that is more."""
    if transfer.active_s is None:
        return ""
    whole = (transfer.ended - transfer.started).total_seconds() if transfer.started and transfer.ended else 0
    waits = f" ({duration(whole)} from its start to its end)" if whole >= transfer.active_s + 1 else ""
    return f" in {duration(transfer.active_s)}{waits}"


def show_failed(command: Command, transfer: m.Transfer, failed: m.Page[m.FailedFile], *, more: bool) -> None:
    """List files that did not arrive, and the one command that sends them again."""
    if not failed:
        command.out.say(_none_failed(transfer))
        return
    command.out.show(table(("did not arrive", "why", "code"), ((f.path, f.message, f.error) for f in failed)))
    for code, advice in dict.fromkeys((one.error, one.advice) for one in failed if one.advice):
        command.out.say(f"{code}: {advice}")
    if more:
        command.out.say(f"There are more: headrace failed {transfer.id}")
    if transfer.state not in END_STATES:
        command.out.say(f"That is of an attempt before: the transfer is {_now(transfer)} and has not ended.")
    elif transfer.next_step.kind == "plan_again":
        command.out.say(transfer.next_step.message, "bold")
        helped = more or any(one.error != _NEVER_COPIED for one in failed)
        if helped and any(one.action == "retry" and one.allowed for one in transfer.allowed_actions):
            command.out.say(f"Once that is gone: headrace retry {transfer.id}", "bold")
    elif all(one.retry for one in failed):
        command.out.say(f"After that, to send only these again: headrace retry {transfer.id}", "bold")
    else:
        command.out.say(f"A retry sends those again that it can help: headrace retry {transfer.id}", "bold")


def _now(transfer: m.Transfer) -> str:
    reason = f" ({visible(transfer.state_reason)})" if transfer.state_reason else ""
    return f"{standing(transfer)}{reason}"


def _none_failed(transfer: m.Transfer) -> str:
    """Say what it means that no file is listed, which is no word of what arrived unless the transfer is complete."""
    arrived = f"{transfer.progress.files_done:,} of {plural(transfer.progress.files_total, 'file')} arrived"
    match transfer.state:
        case m.TransferState.COMPLETE:
            return "Every file arrived."
        case m.TransferState.FAILED:
            why = f" {transfer.error.detail} [{transfer.error.code}]" if transfer.error else ""
            return f"The transfer failed as a whole, and no file by itself: {arrived}.{why}"
        case m.TransferState.CANCELED:
            return f"The transfer was canceled, and no file failed by itself: {arrived}."
        case m.TransferState.PARTIAL:
            return (
                f"{arrived}, and no list says which did not. The receipt says what did: headrace status {transfer.id}"
            )
        case m.TransferState.QUEUED | m.TransferState.RUNNING | m.TransferState.WAITING | m.TransferState.PAUSED:
            so_far = "no file has failed so far"
            if transfer.progress.files_failed:
                so_far = f"{plural(transfer.progress.files_failed, 'file')} failed so far, listed when its attempt ends"
            return f"The transfer is {_now(transfer)} and has not ended: {arrived}, {so_far}."


async def _later(events: AsyncIterator[m.TransferEvent], after: int) -> AsyncIterator[m.TransferEvent]:
    """Pass kept events on that come after one; progress, which is not kept, always."""
    async for event in events:
        if event.kind == m.TransferEventKind.PROGRESS or event.sequence > after:
            yield event


async def _show(command: Command, transfer: m.Transfer, seen: list[m.Transfer], after: int) -> None:
    async with aclosing(command.headrace.watch(transfer.id)) as all_events:
        events = _later(all_events, after)
        if command.out.aside.is_terminal:
            await _bar(command, events, seen)
        else:
            await _lines(command, events, seen)


async def _bar(command: Command, events: AsyncIterator[m.TransferEvent], seen: list[m.Transfer]) -> None:
    columns = (
        *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn()),
        *(_Durable(), _Rate(), _Left(), _Files(), _Deleted()),
    )
    with Progress(*columns, console=command.out.aside, transient=True) as bar:
        shown = bar.add_task(seen[0].state, transfer=seen[0])
        async for event in events:
            if event.transfer is not None:
                seen[0] = event.transfer
                progress = event.transfer.progress
                bar.update(
                    shown,
                    description=event.transfer.state,
                    total=progress.bytes_total or None,
                    completed=progress.bytes_durable,
                    transfer=event.transfer,
                )
            elif event.kind in _MEANWHILE:
                bar.update(shown, description=_MEANWHILE[event.kind])
            if event.kind != "progress" and event.message:
                # In one line, so that a command in it can be copied.
                style = _STYLES.get(event.kind, "dim")
                bar.console.print(Text(visible(event.message), style=style), soft_wrap=True)


async def _lines(command: Command, events: AsyncIterator[m.TransferEvent], seen: list[m.Transfer]) -> None:
    last_line_at = None
    async for event in events:
        if event.transfer is not None:
            seen[0] = event.transfer
        if event.kind != "progress":
            if event.message:
                command.out.note(event.message, _STYLES.get(event.kind, ""))
        elif last_line_at is None or (event.at - last_line_at).total_seconds() >= LINE_EVERY_S:
            last_line_at = event.at
            command.out.note(progress_line(seen[0]))


def counted_line(transfer: m.Transfer) -> str:
    """Return one line of how far a transfer is; not how fast, which changes with whatever was just asked of it."""
    progress = transfer.progress
    if transfer.state == m.TransferState.CANCELED:
        return f"{standing(transfer)}, {stays(progress)}"
    safe = f"{byte_size(progress.bytes_durable)} of {byte_size(progress.bytes_total)} safe"
    return f"{standing(transfer)}, {safe}, {progress.files_done:,} of {plural(progress.files_total, 'file')}"


def progress_line(transfer: m.Transfer) -> str:
    """Return one line of progress: what is safe, how fast, how long still."""
    progress = transfer.progress
    parts = [counted_line(transfer)]
    if transfer.state == m.TransferState.RUNNING:
        parts.append(bit_rate(progress.rate_bps))
    if progress.eta_s is not None:
        left = about(progress.eta_s, progress.eta_low_s, progress.eta_high_s)
        parts.append(f"{left} left{before_deletes(transfer)}")
    elif transfer.state == m.TransferState.RUNNING and progress.limiter and not progress.rate_bps:
        # Without a rate nobody can say how long it takes; why nothing moves can be said.
        parts.append(progress.limiter)
    if deletes := deleting(progress):
        parts.append(deletes)
    return ", ".join(parts)


def _left(command: Command, transfer: m.Transfer) -> None:
    name = transfer.id
    if transfer.state == m.TransferState.PAUSED:
        how = f"is paused and can go on where it stopped: headrace resume {name}"
    elif transfer.state in END_STATES:
        how = f"is {transfer.state}: headrace status {name}"
    else:
        how = f"goes on without this terminal: headrace watch {name}, or stop it: headrace cancel {name}"
    command.out.note(f"Transfer {name} {how}")
    command.out.document(transfer)


class _Cell(ProgressColumn):
    """A column made from the task's transfer."""

    def render(self, task: Task) -> Text:
        """Render the cell."""
        return Text(self.text(task.fields["transfer"]), style="cyan")

    def text(self, transfer: m.Transfer) -> str:
        """Return the cell's text."""
        raise NotImplementedError


class _Durable(_Cell):
    def text(self, transfer: m.Transfer) -> str:
        progress = transfer.progress
        return f"{byte_size(progress.bytes_durable)} of {byte_size(progress.bytes_total)} safe"


class _Rate(_Cell):
    def text(self, transfer: m.Transfer) -> str:
        return bit_rate(transfer.progress.rate_bps)


class _Left(_Cell):
    def text(self, transfer: m.Transfer) -> str:
        progress = transfer.progress
        low_s, high_s = progress.eta_low_s, progress.eta_high_s
        if progress.eta_s is None or low_s is None or high_s is None:
            return ""
        return f"{between(low_s, high_s)} left{before_deletes(transfer)}"


class _Files(_Cell):
    def text(self, transfer: m.Transfer) -> str:
        progress = transfer.progress
        failed = f", {progress.files_failed:,} failed" if progress.files_failed else ""
        return f"{progress.files_done:,}/{progress.files_total:,} files{failed}"


class _Deleted(_Cell):
    def text(self, transfer: m.Transfer) -> str:
        return deleting(transfer.progress)
