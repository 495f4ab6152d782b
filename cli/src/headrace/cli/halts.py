"""Halts at the command line: halt, release, halts."""

from collections.abc import Mapping
from typing import Annotated

import typer

from headrace.cli import completion
from headrace.cli.card import local_time
from headrace.cli.command import Command, Json, misused, run
from headrace.cli.exits import Exit
from headrace.cli.tables import table
from headrace.client import models as m
from headrace.client.text import visible

Reason = Annotated[str, typer.Option(help="Why; everybody whose work waits reads it.")]


_SUBJECT: Mapping[str, str] = {
    "transfer": "ID",
    "person": "NAME",
    "agent": "NAME",
    "endpoint": "NAME",
    "node": "NAME",
}


def halt(
    scope: Annotated[
        m.HaltScope, typer.Argument(metavar="SCOPE", help="everything, transfer, person, agent, endpoint or node.")
    ],
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT", help="Its id or name; none for everything.", autocompletion=completion.subjects
        ),
    ] = "",
    *,
    reason: Reason,
    json: Json = False,
) -> None:
    """Halt something: what runs of it stops within 2 s and waits, and nothing of it starts, until it is released."""

    def work(command: Command) -> Exit | None:
        if bool(subject) == (scope == "everything"):
            wanted = (
                "everything takes no subject"
                if subject
                else f"say which {scope}: headrace halt {scope} {_SUBJECT[scope]}"
            )
            return misused(command.out, f"headrace: {wanted}")
        made = command.wait(command.headrace.halt(m.HaltRequest(scope=scope, subject=subject, reason=reason)))
        command.out.say(f"Halted: {_what(made)}. To release it: headrace release {made.id}")
        command.out.document(made)
        return None

    run(work, as_json=json)


def release(
    halt: Annotated[
        str,
        typer.Argument(
            metavar="HALT",
            help="Its id (`headrace halts`), or a unique beginning.",
            autocompletion=completion.halts,
        ),
    ],
    *,
    json: Json = False,
) -> None:
    """Release a halt: what waited for it goes on."""

    def work(command: Command) -> None:
        command.wait(command.headrace.release_halt(halt))
        command.out.say("Released.")
        command.out.document({"released": halt})

    run(work, as_json=json)


def halts(*, json: Json = False) -> None:
    """List what is halted, by whom and why."""

    def work(command: Command) -> None:
        found = command.wait(command.headrace.halts())
        rows = ((h.id, _what(h), h.reason, h.person_name or h.person or "", local_time(h.at)) for h in found)
        if found:
            command.out.show(table(("halt", "what", "why", "by", "since"), rows))
        else:
            command.out.say("Nothing is halted.")
        command.out.document(found)

    run(work, as_json=json)


def _what(one: m.Halt) -> str:
    return f"{one.scope} {visible(one.subject_name)}".strip()
