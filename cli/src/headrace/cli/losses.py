"""The command `losses`: what a plan would replace and delete, name by name, without running it."""

from typing import Annotated

import typer

from headrace.cli.card import local_time
from headrace.cli.command import Command, Json, run
from headrace.cli.moving import PlanName
from headrace.cli.tables import table
from headrace.client import models as m
from headrace.client.text import byte_size, plural, visible


def losses(
    plan: PlanName,
    *,
    how: Annotated[m.LossKind | None, typer.Option(help="Only what is replaced, or only what is deleted.")] = None,
    after: Annotated[str | None, typer.Option(metavar="PLACE", help="Go on with the next page.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 200,
    json: Json = False,
) -> None:
    """List each name at the destination that a plan replaces or deletes; nothing is moved."""

    def work(command: Command) -> None:
        found = command.wait(command.headrace.losses(plan, how=how, after=after, limit=limit))
        if not found and after is None:
            command.out.say("It replaces and deletes nothing at its destination.")
        else:
            kept = _kept(command, plan) if any(one.how == "deleted" for one in found) else None
            command.out.show(
                table(("what", "kind", "size", "last changed", "name"), (_row(one, kept) for one in found))
            )
        if found.moved:
            files = (
                f"{plural(found.moved, 'source file')}, {'each' if found.moved > 1 else 'it'} once its copy is verified"
            )
            command.out.say(
                f"The move deletes {files}: all files of the plan. This list does not hold them: headrace browse "
                "lists the source."
            )
        if found.next is not None:
            only = f" --how {how}" if how else ""
            command.out.note(f"There are more: headrace losses {plan}{only} --after {found.next}")
        command.out.document(found)

    run(work, as_json=json)


def _kept(command: Command, plan: str) -> int | None:
    """Return how many days a trash keeps what the plan deletes; nothing when it is gone at once."""
    decision = command.wait(command.headrace.plan(plan)).decision
    return decision.keep_days if decision is not None else None


def _row(loss: m.Loss, kept: int | None) -> tuple[str, ...]:
    size = byte_size(loss.bytes) if loss.kind == "file" else ""
    how = f"to the trash for {plural(kept, 'day')}" if loss.how == "deleted" and kept is not None else loss.how
    return how, loss.kind, size, local_time(loss.modified) if loss.modified else "", visible(loss.path)
