"""Quality of service at the command line: quotas; links, classes and calendars, and what transfers get by them."""

import difflib
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from headrace.cli import completion
from headrace.cli.card import local_time, quota_rows
from headrace.cli.command import Command, Json, note_obstacles, proven, run, say_proposed
from headrace.cli.exits import Exit
from headrace.cli.quantities import as_flag, moment_ahead
from headrace.cli.tables import table
from headrace.cli.transfers import Reason, TransferName, control
from headrace.cli.whom import MOST
from headrace.client import HeadraceError, whole_list
from headrace.client import models as m
from headrace.client.text import bit_rate, plural, visible

qos = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Show quotas; show, check, propose and publish links, classes and calendars.",
)
QosFile = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="TOML text.")]
Note = Annotated[str, typer.Option(help="What changed, for the record.")]


def _ahead_or_none(text: str) -> datetime | Literal[""]:
    # An argument without a value would be one that was left out.
    return "" if text == "none" else moment_ahead(text, datetime.now().astimezone())


@qos.callback()
def quotas(ctx: typer.Context, *, json: Json = False) -> None:
    """Show the quotas that concern you, and those of places; operators, auditors and administrators see all."""
    if ctx.invoked_subcommand is not None:
        return

    def work(command: Command) -> None:
        found = command.wait(whole_list(partial(command.headrace.quotas, limit=MOST)))
        if not found:
            command.out.say("No quota concerns you.")
        else:
            rows = (
                (f"{one.of} {one.subject}", said, local_time(one.renews)) for one in found for said in quota_rows(one)
            )
            command.out.show(table(("quota of", "used", "next day"), rows))
        command.out.document(found)

    run(work, as_json=json)


@qos.command("show")
def qos_show(*, json: Json = False) -> None:
    """Show the links, classes and calendars in force, and what transfers get of links now."""

    def work(command: Command) -> None:
        found = command.wait(command.headrace.qos())
        document = found.document
        command.out.say(f"Version {found.version}, in force since {local_time(found.published)}.")
        if document.links:
            links = map(_link_row, document.links)
            command.out.show(table(("link", "capacity", "nodes", "to"), links))
        classes = (_class_row(one, found.given_by.get(one.name, [])) for one in document.classes)
        command.out.show(table(("class", "weight", "priority", "on links", "runs in", "given by rules"), classes))
        if document.calendars:
            calendars = (
                (one.name, "open" if found.calendars_open.get(one.name) else "closed", _hours(one), one.zone)
                for one in document.calendars
            )
            command.out.show(table(("calendar", "now", "hours", "zone"), calendars))
        if found.unknown_nodes:
            names = ", ".join(found.unknown_nodes)
            command.out.note(f"No node has these names any more, so links do not count them: {names}")
        if document.links:
            shares = [(f"{use.link}, {use.way}", one) for use in found.use for one in use.transfers]
            if shares:
                command.out.show(
                    table(("link", "transfer", "class", "guaranteed", "entitled", "takes"), map(_share_row, shares))
                )
            else:
                command.out.say("Nothing runs over a link now.")
        command.out.document(found)

    run(work, as_json=json)


def _link_row(one: m.QosLink) -> tuple[str, ...]:
    return one.name, _rate(one.rate_bps), ", ".join(one.nodes), ", ".join(one.peers)


def _class_row(one: m.QosClass, rules: Sequence[m.Rule]) -> tuple[str, ...]:
    links, given = "; ".join(map(_on_link, one.links)), ", ".join(rule.id for rule in rules)
    return one.name, str(one.weight), str(one.priority), links, one.calendar or "any hour", given


def _on_link(own: m.QosClassLink) -> str:
    floor = f", at least {bit_rate(own.floor_bps)}" if own.floor_bps else ""
    ceiling = f", at most {bit_rate(own.ceiling_bps)}" if own.ceiling_bps is not None else ""
    return f"{own.link}{floor}{ceiling}"


def _share_row(share: tuple[str, m.TransferShare]) -> tuple[str, ...]:
    link, one = share
    guaranteed = bit_rate(one.guaranteed_bps) if one.guaranteed_bps else ""
    entitled, takes = _rate(one.entitled_bps), bit_rate(one.actual_bps)
    return link, one.transfer or "another's", one.qos_class, guaranteed, entitled, takes


def _rate(rate_bps: int | None) -> str:
    return "no cap" if rate_bps is None else bit_rate(rate_bps)


def _hours(calendar: m.QosCalendar) -> str:
    hours = "; ".join(f"{' '.join(one.days)} {one.opens} to {one.closes}" for one in calendar.hours)
    closed = f", not on {plural(len(calendar.closed), 'day')}" if calendar.closed else ""
    return f"{hours}{closed}"


@qos.command("class")
def qos_class(
    transfer: TransferName,
    name: Annotated[
        str,
        typer.Argument(metavar="CLASS", help="As `headrace qos show` lists them.", autocompletion=completion.classes),
    ],
    *,
    reason: Reason = "",
    json: Json = False,
) -> None:
    """Give a transfer another class while it runs or waits; never a higher one than policy gives it."""
    control(transfer, lambda: m.ControlRequest(action="set_class", qos_class=name, reason=reason), as_json=json)


@qos.command("deadline")
def qos_deadline(
    transfer: TransferName,
    by: Annotated[
        datetime | None,
        typer.Argument(parser=as_flag(_ahead_or_none), metavar="TIME", help="In 12h, by a time, or none."),
    ],
    *,
    reason: Reason = "",
    json: Json = False,
) -> None:
    """Set another deadline for what is left of a transfer, or take it away; one that can't be kept is refused."""
    control(transfer, lambda: m.ControlRequest(action="set_deadline", deadline=by or None, reason=reason), as_json=json)


@qos.command("history")
def qos_history(*, json: Json = False) -> None:
    """List the versions of links, classes and calendars."""

    def work(command: Command) -> None:
        found = command.wait(whole_list(command.headrace.qos_versions))
        rows = (
            (
                one.version,
                one.state,
                one.author_name or one.author,
                one.publisher_name or one.publisher or "",
                local_time(one.created),
                one.note,
            )
            for one in found
        )
        command.out.show(table(("version", "state", "author", "published by", "made", "note"), rows))
        note_obstacles(command, found)
        command.out.document(found)

    run(work, as_json=json)


@qos.command("text")
def qos_text(
    version: Annotated[str | None, typer.Argument(help="Default: the one in force.")] = None, *, json: Json = False
) -> None:
    """Write a version's text, to be changed and proposed."""

    def work(command: Command) -> None:
        found = _version(command, version)
        for line in found.text.splitlines():
            command.out.say(line)
        command.out.document(found)

    run(work, as_json=json)


@qos.command("diff")
def qos_diff(
    version: Annotated[str, typer.Argument(help="A version.")],
    against: Annotated[str | None, typer.Argument(help="Another; default: the one in force.")] = None,
    *,
    json: Json = False,
) -> None:
    """Show what a version changes."""

    def work(command: Command) -> None:
        new, old = _version(command, version), _version(command, against)
        names = f"version {old.version}", f"version {new.version}"
        lines = list(difflib.unified_diff(old.text.splitlines(), new.text.splitlines(), *names, lineterm=""))
        for line in lines:
            command.out.say(line)
        if not lines:
            command.out.say("They are the same.")
        command.out.document({"old": old.version, "new": new.version, "lines": lines})

    run(work, as_json=json)


def _version(command: Command, version: str | None) -> m.QosVersion:
    for found in command.wait(whole_list(command.headrace.qos_versions)):
        if found.version == version or (version is None and found.state == "active"):
            return found
    detail = f"There is no version {version or 'in force'}: see `headrace qos history`."
    raise HeadraceError(m.Problem(title="Not found", status=404, code="unknown_qos", detail=detail))


@qos.command("check")
def qos_check(file: QosFile, *, json: Json = False) -> None:
    """Check links, classes and calendars; nothing is stored."""

    def work(command: Command) -> Exit:
        checked = command.wait(command.headrace.check_qos(m.QosText(text=file.read_text(encoding="utf-8"))))
        for problem in checked.problems:
            where = f"{problem.where}: " if problem.where else ""
            command.out.say(visible(f"{where}{problem.message}", 1000))
        _warn(command, checked)
        command.out.say("It can be published." if checked.valid else "It cannot be published.")
        command.out.document(checked)
        return Exit.DONE if checked.valid else Exit.FAILED

    run(work, as_json=json)


def _warn(command: Command, checked: m.QosCheck) -> None:
    """Say which deadlines a text would break."""
    if checked.warnings:
        command.out.note("These deadlines can be kept now, and could not be kept with this text:")
    for one in checked.warnings:
        command.out.note(visible(f"{one.where}: {one.message}" if one.where else one.message, 1000))


@qos.command("propose")
def qos_propose(file: QosFile, *, note: Note = "", json: Json = False) -> None:
    """Store links, classes and calendars as a proposed version."""

    def work(command: Command) -> None:
        text = m.QosText(text=file.read_text(encoding="utf-8"), note=note)
        made = command.wait(command.headrace.propose_qos(text))
        say_proposed(command, made, "headrace qos publish")
        command.out.document(made)

    run(work, as_json=json)


@qos.command("withdraw")
def qos_withdraw(version: Annotated[str, typer.Argument()], *, json: Json = False) -> None:
    """Take your own proposal back, in your own session: nobody publishes it any more."""

    def work(command: Command) -> None:
        made = command.wait(command.headrace.withdraw_qos(version))
        command.out.say(f"Version {made.version} of links, classes and calendars is {made.state}.")
        command.out.document(made)

    run(work, as_json=json)


@qos.command("publish")
def qos_publish(version: Annotated[str, typer.Argument()], *, json: Json = False) -> None:
    """Put a version in force that another person proposed; an earlier one is proposed again."""

    def work(command: Command) -> None:
        found = _version(command, version)
        _warn(command, command.wait(command.headrace.check_qos(m.QosText(text=found.text))))
        made = proven(command, m.Proven(), partial(command.headrace.publish_qos, version))
        command.out.say(f"Version {made.version} of links, classes and calendars is {made.state}.")
        if made.state == "proposed":
            command.out.note(f"It takes effect when another person runs: headrace qos publish {made.version}")
        command.out.document(made)

    run(work, as_json=json)
