"""Commands that follow and steer: status, watch, pause, resume, cancel, retry, rate, failed, receipts."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli import completion
from headrace.cli import flags as f
from headrace.cli.card import age, local_time, marked, safe_there, transfer_card
from headrace.cli.command import Command, Json, run
from headrace.cli.emptiness import say_why_empty
from headrace.cli.exits import Exit, exit_of_end
from headrace.cli.files import Force, new_file, require_free
from headrace.cli.following import counted_line, ended, follow, show_failed
from headrace.cli.quantities import as_flag, rate_bps
from headrace.cli.tables import table
from headrace.client import END_STATES
from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size, duration, sentence

TransferName = Annotated[
    str,
    typer.Argument(
        metavar="TRANSFER",
        help="A transfer's id, or a unique beginning of it.",
        autocompletion=completion.transfers,
    ),
]
_LINES = 20
_WIDTH = 40
Reason = Annotated[str, typer.Option(help="For the record.")]


def status(  # noqa: PLR0913 - one parameter a flag
    transfer: Annotated[
        str | None,
        typer.Argument(metavar="[TRANSFER]", help="Without it: your transfers.", autocompletion=completion.transfers),
    ] = None,
    *,
    state: Annotated[
        list[m.TransferState] | None, typer.Option(help="List only those in this state. May be given again.")
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
    """Show how a transfer stands, or list the transfers that you may see, newest first."""

    def one(command: Command, name: str) -> None:
        found = command.wait(command.headrace.transfer(name))
        command.out.show(transfer_card(found))
        if found.progress.files_failed:
            command.out.say(f"Which files: headrace failed {found.id}")
        command.out.document(found)

    def many(command: Command) -> Exit | None:
        found = command.wait(
            command.headrace.transfers(
                states=state or (),
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
        )
        rows = (
            (
                t.id,
                marked(t),
                "a probe" if t.probe else safe_there(t),
                t.source,
                t.destination,
                age(t.created),
            )
            for t in found
        )
        if found:
            command.out.show(table(("transfer", "state", "safe", "from", "to", "made"), rows))
        else:
            command.out.say("There are no such transfers. `headrace plans` lists what was asked for and has not begun.")
        if found.next is not None:
            command.out.note(f"There are more: --after {found.next}")
        command.out.document(found)
        return None if found else say_why_empty(command, endpoint=endpoint, label=label, person=person)

    run(lambda command: one(command, transfer) if transfer else many(command), as_json=json)


def diagnose(transfer: TransferName, *, json: Json = False) -> None:
    """Say what limits a transfer now, or what limited its last attempt, with the evidence and what to do."""

    def work(command: Command) -> None:
        found = command.wait(command.headrace.diagnose(transfer))
        over = f" (measured over {found.measured_s:g} s)" if found.measured_s else ""
        measured = found.measured_s and found.limit is not m.Limit.NOT_RUNNING
        when = "in its last attempt, " if measured and not found.live else ""
        verdict = f"{when}{found.said}{over}"
        # What limits nothing, or nobody knows, has no name to begin with.
        command.out.say(sentence(verdict) if found.limit is m.Limit.UNKNOWN else f"{found.limit}: {verdict}")
        if found.evidence:
            command.out.show(table(("evidence", ""), ((one.name, _figure(one)) for one in found.evidence)))
        for line in found.remedy:
            command.out.say(f"What helps: {line}")
        command.out.document(found)

    run(work, as_json=json)


def _figure(one: m.Evidence) -> str:
    match one.unit:
        case "b/s":
            return bit_rate(int(one.value))
        case "B":
            return byte_size(int(one.value))
        case "s":
            return duration(one.value)
        case _:
            return f"{one.value:g} {one.unit}".strip()


def throughput(  # noqa: PLR0913 - one parameter a flag
    transfer: Annotated[
        str | None,
        typer.Argument(metavar="[TRANSFER]", help="Its id, or a beginning of it.", autocompletion=completion.transfers),
    ] = None,
    *,
    node: Annotated[
        str | None,
        typer.Option(metavar="NODE", help="A node instead: the last hour of it.", autocompletion=completion.nodes),
    ] = None,
    sent: Annotated[bool, typer.Option("--sent", help="With --node: what it sent, not what it received.")] = False,
    since: f.Since = None,
    until: f.Until = None,
    json: Json = False,
) -> None:
    """Show how fast a transfer or a node was over time."""
    if (transfer is None) == (node is None):
        message = "give a transfer, or --node NODE"
        raise typer.BadParameter(message)

    def work(command: Command) -> None:
        port = command.headrace
        if node is not None:
            direction: m.Direction = "sent" if sent else "received"
            found = command.wait(port.node_throughput(node, direction=direction, since=since, until=until))
        else:
            found = command.wait(port.throughput(transfer or "", since=since, until=until))
        shown = _together(found.samples)
        most = max((rate for _, rate, _ in shown), default=0)
        rows = (
            (at.astimezone().strftime("%Y-%m-%d %H:%M:%S"), byte_size(moved), bit_rate(rate), _bar(rate, most))
            for at, rate, moved in shown
        )
        command.out.show(table(("from", "moved", "rate", ""), rows))
        command.out.document(found)

    run(work, as_json=json)


def _together(samples: list[m.ThroughputSample]) -> list[tuple[datetime, int, int]]:
    """Return times, rates and bytes in as few lines as a screen holds: neighbours are added up."""
    each = -(-len(samples) // _LINES) or 1
    parts = [samples[begin : begin + each] for begin in range(0, len(samples), each)]
    return [
        (part[0].at, sum(one.rate_bps for one in part) // len(part), sum(one.bytes for one in part)) for part in parts
    ]


def _bar(rate: int, most: int) -> str:
    return "#" * (rate * _WIDTH // most if most else 0)


def watch(transfer: TransferName, *, json: Json = False) -> None:
    """Follow a transfer to its end; with --json, one event a line."""

    async def lines(command: Command, name: str) -> m.Transfer | None:
        last = None
        async for event in command.headrace.watch(name):
            command.out.line(event)
            last = event.transfer or last
        return last

    def work(command: Command) -> Exit:
        found = command.wait(command.headrace.transfer(transfer))
        if not json:
            return ended(command, follow(command, found))
        command.on_interrupt = lambda: command.out.note(f"Transfer {found.id} goes on: headrace watch {found.id}")
        return exit_of_end(command.wait(lines(command, found.id)) or found)

    run(work, as_json=json)


def pause(transfer: TransferName, *, reason: Reason = "", json: Json = False) -> None:
    """Pause a transfer; what is safe stays safe."""
    control(transfer, lambda: m.ControlRequest(action="pause", reason=reason), as_json=json)


def resume(transfer: TransferName, *, reason: Reason = "", json: Json = False) -> None:
    """Let a paused transfer go on where it stopped."""
    control(transfer, lambda: m.ControlRequest(action="resume", reason=reason), as_json=json)


def cancel(transfer: TransferName, *, reason: Reason = "", json: Json = False) -> None:
    """Stop a transfer for good; files that are complete stay, what has come of others is removed."""
    control(transfer, lambda: m.ControlRequest(action="cancel", reason=reason), as_json=json)


def retry(
    transfer: TransferName,
    *,
    reason: Reason = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow it to its end.")] = True,
    json: Json = False,
) -> None:
    """Try again: the failed files of a partial transfer, or all of a failed one; what is there already is skipped."""

    def work(command: Command) -> Exit:
        asked = m.ControlRequest(action="retry", reason=reason)
        last = command.wait(command.headrace.transfer_events(transfer, limit=1, order="newest"))
        again = command.wait(command.headrace.control(transfer, asked))
        if wait:
            before = max((event.sequence for event in last), default=0)
            return ended(command, follow(command, again, after=before))
        command.out.say(f"Transfer {again.id} is {again.state}: headrace watch {again.id}")
        command.out.document(again)
        return Exit.DONE

    run(work, as_json=json)


def _rate_or_none(text: str) -> int:
    return 0 if text == "none" else rate_bps(text)


def rate(
    transfer: TransferName,
    ceiling: Annotated[
        int,
        typer.Argument(parser=as_flag(_rate_or_none), metavar="RATE", help="Like 5Gb/s, or none for the plan's own."),
    ],
    *,
    json: Json = False,
) -> None:
    """Change the rate ceiling of a transfer while it runs; never above what its plan allows (`headrace status`)."""
    control(transfer, lambda: m.ControlRequest(action="set_rate", rate_bps=ceiling or None), as_json=json)


def failed(
    transfer: TransferName,
    *,
    after: Annotated[str | None, typer.Option(metavar="PLACE", help="Go on with the next page.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 200,
    json: Json = False,
) -> None:
    """List the files that did not arrive, why, and the one command that sends them again."""

    def work(command: Command) -> Exit:
        found = command.wait(command.headrace.transfer(transfer))
        files = command.wait(command.headrace.failed_files(found.id, after=after, limit=limit))
        if files or after is None:
            show_failed(command, found, files, more=False)
        else:
            command.out.say("No more files follow on this page.")
        if files.next is not None:
            command.out.say(f"The next page: headrace failed {found.id} --after {files.next}")
        command.out.document(files)
        if files:
            return Exit.PARTIAL
        # Only what has ended otherwise than complete is a failure: what still runs was asked about, not followed.
        return exit_of_end(found) if found.state in END_STATES and after is None else Exit.DONE

    run(work, as_json=json)


receipts = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Get receipts and their file lists.")
ReceiptName = Annotated[
    str,
    typer.Argument(
        metavar="RECEIPT",
        help="A receipt's id, or its transfer's, or a unique beginning of it.",
        autocompletion=completion.receipts,
    ),
]
File = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write there.")]


@receipts.command("get")
def receipts_get(receipt: ReceiptName, *, output: File = None, force: Force = False, json: Json = False) -> None:
    """Get the signed document; `headrace receipt verify FILE` checks it without the service."""

    def work(command: Command) -> None:
        require_free(output, force=force)
        found = command.wait(command.headrace.receipt(receipt))
        if output is not None:
            with new_file(output, force=force) as file:
                file.write(found.document.encode())
            command.out.say(f"Receipt {found.id} saved in {output}: {_check_of(found, output)}")
        elif not json:
            command.out.say(found.summary or f"Receipt {found.id} of transfer {found.transfer}, {age(found.created)}.")
            command.out.say(f"To save it: headrace receipts get {found.id} -o receipt.json")
        _say_earlier(command, found)
        if found.key_replaced:
            command.out.note(f"It was signed with {found.key}, which this service has replaced with another key since.")
        command.out.document(found)

    run(work, as_json=json)


def _say_earlier(command: Command, receipt: m.Receipt) -> None:
    """Say where the files are that arrived before a retry, which sent only those that had failed."""
    if receipt.earlier:
        command.out.note(
            "It holds only the files that the retry sent. Those that had arrived before are in "
            f"{', '.join(receipt.earlier)}: headrace receipts get and files take these ids."
        )


def _check_of(receipt: m.Receipt, file: Path) -> str:
    """Return the command that checks a receipt with the key that signed it, as far as the service names that."""
    if not receipt.key:
        return (
            "the service does not name the key that signed it. Check it with a key that you noted: headrace receipt "
            f"verify {file} --key KEY"
        )
    return f"headrace receipt verify {file} --key {receipt.key}"


@receipts.command("files")
def receipts_files(
    receipt: ReceiptName,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Write there.")] = Path("files.jsonl"),
    force: Force = False,
    json: Json = False,
) -> None:
    """Save the list of every file with its BLAKE3, whose digest the receipt holds."""

    async def save(command: Command) -> int:
        count = 0
        with new_file(output, force=force) as file:
            async for chunk in command.headrace.receipt_files(receipt):
                count += file.write(chunk)
        return count

    def work(command: Command) -> None:
        require_free(output, force=force)
        found = command.wait(command.headrace.receipt(receipt))
        count = command.wait(save(command))
        command.out.say(f"{byte_size(count)} saved in {output}")
        _say_earlier(command, found)
        command.out.document({"file": str(output), "bytes": count, "receipt": found.id, "earlier": found.earlier})

    run(work, as_json=json)


def control(transfer: str, asked: Callable[[], m.ControlRequest], *, as_json: bool) -> None:
    """Steer a transfer, and say how it stands then; what `asked` refuses is a mistake in the command."""

    def work(command: Command) -> None:
        request = asked()
        after = command.wait(command.headrace.control(transfer, request))
        # What was asked for is done at the next unit or batch, so the state may still be the one before.
        command.out.say(f"{_asked(request.action, after)} Now: {counted_line(after)}.")
        if after.deadline_at_risk and after.state not in END_STATES:
            command.out.say(f"Its deadline is at risk: {after.deadline_note}.")
        if after.state not in END_STATES:
            command.out.say(_NEXT[request.action].format(after.id), "dim")
        command.out.document(after)

    run(work, as_json=as_json)


def _asked(action: m.ControlAction, after: m.Transfer) -> str:
    """Say what was asked for, with what holds from now on."""
    match action:
        case "set_rate":
            limit = (
                f"runs at most at {bit_rate(after.rate_ceiling_bps)}" if after.rate_ceiling_bps else "has no ceiling"
            )
            return f"It {limit} from now on."
        case "set_class":
            return f"It has the class `{after.qos_class}` from now on."
        case "set_deadline":
            until = f"is to be done by {local_time(after.deadline)}" if after.deadline else "has no deadline"
            return f"It {until} from now on."
        case _:
            return f"{_ASKED[action]} was asked for."


_ASKED: dict[m.ControlAction, str] = {
    "pause": "Pause",
    "resume": "Resume",
    "cancel": "Cancel",
    "retry": "Another try",
}
_NEXT: dict[m.ControlAction, str] = {
    "pause": "To go on: headrace resume {}",
    "resume": "To follow it: headrace watch {}",
    "cancel": "To see it end: headrace watch {}",
    "set_rate": "To follow it: headrace watch {}",
    "set_class": "To follow it: headrace watch {}",
    "set_deadline": "To follow it: headrace watch {}",
}
