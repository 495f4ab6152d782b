"""Which keys belong to the site: `headrace ca`, and `headrace node-token`."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headrace.cli import completion
from headrace.cli.card import local_time
from headrace.cli.command import Command, Json, Yes, agreed, proven, run
from headrace.cli.exits import Exit
from headrace.cli.plugins import GROUP, Deferred, installed
from headrace.cli.quantities import as_flag, span_s
from headrace.cli.tables import table
from headrace.cli.whom import MOST
from headrace.client import HeadraceError, whole_list
from headrace.client import models as m


class _Keys(TyperGroup):
    """What is asked of the service, and what other packages add."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(**settings)
        self.commands.update({plugin.name: Deferred(plugin) for plugin in installed(f"{GROUP}.ca")})


ca = typer.Typer(
    cls=_Keys,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The keys of the site: list, issue, rotate, revoke, remove.",
)
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="Its name, id or key.", autocompletion=completion.nodes)]
Valid = Annotated[
    int,
    typer.Option(
        parser=as_flag(span_s), metavar="TIME", show_default=False, help="How long it is good, like 2d. [default: 1 h]"
    ),
]


@ca.command("list")
def ca_list(*, json: Json = False) -> None:
    """List every node's key, with the SPKI pin by which other tools know it."""

    def work(command: Command) -> None:
        found = command.wait(whole_list(partial(command.headrace.nodes, limit=MOST)))
        rows = ((n.name, n.state, n.key, n.pin, local_time(n.enrolled) if n.enrolled else "") for n in found)
        if found:
            command.out.show(table(("node", "state", "key", "pin", "since"), rows))
        else:
            command.out.say("No node has joined. To let a host join: headrace ca issue NAME")
        command.out.document(found)

    run(work, as_json=json)


@ca.command("issue")
def issue(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the node.")],
    *,
    valid: Valid = 3600,
    json: Json = False,
) -> None:
    """Make a one-time token with which a node may join, and the lines to run on its host."""

    def work(command: Command) -> None:
        request = m.JoinTokenRequest(name=name, valid_s=valid)
        _show(command, proven(command, request, command.headrace.create_join_token))

    run(work, as_json=json)


@ca.command("rotate")
def rotate(node: NodeName, *, valid: Valid = 3600, json: Json = False) -> None:
    """Make a one-time token with which a node takes another key; its name and endpoints stay.

    The key from before is refused, and what runs under it stops, when the new one joins: drain the node first.
    """

    def work(command: Command) -> None:
        request = m.RotationRequest(valid_s=valid)
        _show(command, proven(command, request, partial(command.headrace.rotate_node, node)))

    run(work, as_json=json)


@ca.command("revoke")
def revoke(node: NodeName, *, yes: Yes = False, json: Json = False) -> None:
    """End a node's membership: it is refused at once, and what runs there stops."""
    _end(node, "Revoke", lambda command: partial(command.headrace.revoke_node, node), yes=yes, as_json=json)


@ca.command("remove")
def remove(node: NodeName, *, yes: Yes = False, json: Json = False) -> None:
    """Forget a revoked node: its name and its endpoints' names are free again, its key stays refused."""
    _end(node, "Remove", lambda command: partial(command.headrace.remove_node, node), yes=yes, as_json=json)


def _end(
    node: str,
    verb: str,
    call: Callable[[Command], Callable[[m.Proven], Coroutine[Any, Any, m.Node]]],
    *,
    yes: bool,
    as_json: bool,
) -> None:
    def work(command: Command) -> Exit:
        known = command.wait(whole_list(partial(command.headrace.nodes, limit=MOST)))
        if all(node not in {one.id, one.name, one.key} for one in known):
            detail = f"There is no node `{node}`: `headrace ca list` names them."
            raise HeadraceError(m.Problem(title="Not found", status=404, code="unknown_node", detail=detail))
        if not yes and not agreed(command.out, f"{verb} {node} for good?"):
            return Exit.NEEDS_YES
        after = proven(command, m.Proven(), call(command))
        command.out.say(f"Node {after.name} is {'removed' if verb == 'Remove' else after.state}.")
        command.out.document(after)
        return Exit.DONE

    run(work, as_json=as_json)


def _show(command: Command, token: m.JoinToken) -> None:
    join, *later = token.commands
    command.out.secret(f"Run this on the node's host before {local_time(token.expires)} (shown once):", join)
    command.out.note(
        "Before you run it, replace NAME by a name for the folder, /path by the folder, HOST by the name of that host."
    )
    for line in later:
        command.out.note("The node is attached while that runs. After a restart of the host or the node, run:")
        command.out.say(line)
    if token.only_here:
        command.out.note(token.only_here, "yellow")
    command.out.document(token)
