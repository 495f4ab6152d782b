"""Commands about places: health, endpoints, browse, nodes; and the site's policy."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.cli import completion
from headrace.cli.card import age, local_time
from headrace.cli.command import Command, Json, Yes, agreed, note_obstacles, proven, run, say_proposed
from headrace.cli.exits import Exit
from headrace.cli.moving import why
from headrace.cli.tables import table
from headrace.cli.whom import MOST
from headrace.client import HeadraceError, whole_list
from headrace.client import models as m
from headrace.client.text import byte_size, plural, visible

_INVITE: Final = "If nobody else may publish, an administrator invites one: headrace invite NAME --role policy_admin"
"""What whoever proposes alone does next."""
_NO_NODE: Final = (
    "Nothing can be planned or moved until one is: `headrace nodes` lists those that are away, `headrace serve --root` "
    "exports a folder of the service's host, and `headrace node-token NAME` lets another host join."
)
"""What it means that no node is attached, which is no fault of the service."""
_FRESH: Final = timedelta(minutes=2)
"""Nodes say what is free every minute: what is older comes from one of the release before, or from one that hangs."""
PAGE = 1000
"""Names asked for at a time."""
_RELEASED: Final = (
    "To go on: remove the file `halt` in the service's data folder if there is one (a restored copy starts with it); "
    "otherwise `headrace halts` names the halt, and an operator runs `headrace release HALT`."
)
"""How what halts everything ends."""


def health(*, json: Json = False) -> None:
    """Say whether the service can work, and what is wrong; ends with 1 when it is degraded or halted."""

    def work(command: Command) -> Exit:
        found = command.wait(command.headrace.health())
        nodes = f"{found.nodes_attached or 'no'} {'nodes are' if found.nodes_attached > 1 else 'node is'} attached"
        if found.halted:
            command.out.say(f"The service (version {found.version}) is up, and everything is halted; {nodes}.")
            command.out.say(f"Why: {visible(found.halted)}. Nothing is planned or started. {_RELEASED}")
        else:
            command.out.say(f"The service (version {found.version}) is {found.status}; {nodes}.")
        if not found.nodes_attached:
            command.out.say(_NO_NODE)
        if found.nodes_away:
            command.out.say(f"Away: {', '.join(found.nodes_away)} (`headrace nodes` says since when).")
        rows = ((c.code, visible(c.sentence), visible(c.what_to_do), local_time(c.since)) for c in found.causes)
        if found.causes:
            command.out.show(table(("code", "what", "what to do", "since"), rows))
        elif found.status != "ok":
            command.out.say("Operators, administrators and auditors are told why.")
        command.out.document(found)
        return Exit.DONE if found.status == "ok" and not found.halted else Exit.FAILED

    run(work, as_json=json)


endpoints = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="List the places data can be in: name them as ENDPOINT:/PATH; label one.",
)


@endpoints.callback()
def endpoints_list(
    ctx: typer.Context,
    *,
    find: Annotated[
        str, typer.Option(metavar="TEXT", help="Only those with this text in an id, an alias, the root or the node.")
    ] = "",
    label: Annotated[
        str, typer.Option(metavar="NAME[=VALUE]", help="Only those with this label, like site=north.")
    ] = "",
    node: Annotated[
        str,
        typer.Option(
            metavar="NODE", help="Only those of this node (name, id or key).", autocompletion=completion.nodes
        ),
    ] = "",
    json: Json = False,
) -> None:
    """List the places data can be in: name them as ENDPOINT:/PATH; label one."""
    if ctx.invoked_subcommand is not None:
        return

    def work(command: Command) -> None:
        read = partial(command.headrace.endpoints, limit=MOST, q=find, label=label, node=node)
        found = command.wait(whole_list(read))
        rows = (
            (
                e.id,
                ", ".join(e.aliases),
                e.access,
                "online" if e.online else "offline",
                _free(e),
                "; ".join(_labelled(e)),
            )
            for e in found
        )
        if found:
            command.out.show(table(("endpoint", "also", "access", "state", "free", "labels"), rows))
            command.out.note("`free` is as of when each node said so last: a plan measures it anew.")
        elif find or label or node:
            command.out.say("There are no such endpoints.")
        else:
            command.out.say(
                "There are no endpoints that you may see. A node that joins brings its roots: see `headrace nodes`."
            )
        command.out.document(found)

    run(work, as_json=json)


@endpoints.command("label")
def endpoints_label(
    place: Annotated[
        str,
        typer.Argument(
            metavar="ENDPOINT[:/PATH]",
            help="An endpoint's id or alias, or a folder of it.",
            autocompletion=completion.endpoints,
        ),
    ],
    labels: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Labels to set.")] = None,
    *,
    remove: Annotated[list[str] | None, typer.Option(metavar="KEY", help="Labels to remove; again for more.")] = None,
    json: Json = False,
) -> None:
    """Set and remove labels of an endpoint or a folder, which policy decides on, in your own session; others stay."""
    endpoint, _, path = place.partition(":")
    path = path.rstrip("/")
    pairs = [label.partition("=") for label in labels or ()]
    bad = next((key for key, equals, value in pairs if not (key and equals and value)), None)
    if bad is not None:
        message = f"`{bad}` is not a label: write KEY=VALUE"
        raise typer.BadParameter(message)
    if not pairs and not remove:
        message = "give a label as KEY=VALUE, or --remove KEY"
        raise typer.BadParameter(message)

    def work(command: Command) -> None:
        those = command.wait(whole_list(partial(command.headrace.endpoints, limit=MOST, q=endpoint)))
        known = next((e for e in those if endpoint in {e.id, *e.aliases}), None)
        had: Mapping[str, str] = {}
        if known is not None:
            had = known.folder_labels.get(path, {}) if path else known.labels
        wanted = {key: value for key, value in had.items() if key not in (remove or ())}
        wanted |= {key: value for key, _, value in pairs}
        # Others may give other keys at once: what was read has to be what is changed.
        read = (known.version or None) if known is not None else None
        update = (
            m.EndpointUpdate(folder_labels={path: wanted}, version=read)
            if path
            else m.EndpointUpdate(labels=wanted, version=read)
        )
        changed = proven(command, update, partial(command.headrace.update_endpoint, known.id if known else endpoint))
        now = changed.folder_labels.get(path, {}) if path else changed.labels
        where = f"{changed.id}:{path}" if path else changed.id
        command.out.say(f"Labels of {visible(where)}: {visible(_written(now) or 'none')}")
        command.out.document(changed)

    run(work, as_json=json)


@endpoints.command("remove")
def endpoints_remove(
    endpoint: Annotated[
        str,
        typer.Argument(metavar="ENDPOINT", help="An endpoint's id or alias.", autocompletion=completion.endpoints),
    ],
    *,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Forget an endpoint whose node exports its root no longer, with its labels: its names are free again."""

    def work(command: Command) -> Exit:
        if not yes and not agreed(command.out, f"Remove {endpoint} for good?"):
            return Exit.NEEDS_YES
        removed = proven(command, m.Proven(), partial(command.headrace.remove_endpoint, endpoint))
        command.out.say(f"Endpoint {visible(removed.id)} is removed.")
        command.out.document(removed)
        return Exit.DONE

    run(work, as_json=json)


def _free(endpoint: m.Endpoint) -> str:
    """Say what is free, and since when that is known where it is not from now."""
    if endpoint.free_bytes is None:
        return ""
    free = byte_size(endpoint.free_bytes)
    fresh = endpoint.free_at is None or datetime.now(UTC) - endpoint.free_at < _FRESH
    return free if fresh else f"{free}, {age(endpoint.free_at)}"


def _labelled(endpoint: m.Endpoint) -> Iterator[str]:
    """Write an endpoint's labels, and those of its folders behind their paths."""
    if endpoint.labels:
        yield _written(endpoint.labels)
    yield from (f"{path}: {_written(labels)}" for path, labels in sorted(endpoint.folder_labels.items()))


def _written(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def browse(
    place: Annotated[str, typer.Argument(metavar="ENDPOINT:/PATH", help="A folder.", autocompletion=completion.places)],
    *,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many names.")] = 1000,
    after: Annotated[str | None, typer.Option(metavar="NAME", help="Go on after this name.")] = None,
    json: Json = False,
) -> None:
    """List one folder of an endpoint."""
    endpoint, colon, path = place.partition(":")
    if not colon:
        message = f"`{place}` does not name a place: write ENDPOINT:/PATH"
        raise typer.BadParameter(message)

    def work(command: Command) -> None:
        page = command.wait(command.headrace.browse(endpoint, path or "/", after=after, limit=min(limit, PAGE)))
        entries = list(page)
        while page.next is not None and len(entries) < limit:
            want = min(limit - len(entries), PAGE)
            page = command.wait(command.headrace.browse(endpoint, path or "/", after=page.next, limit=want))
            entries += page
        if page.names_withheld:
            command.out.say(f"{plural(page.count, 'entry')}; policy withholds their names.")
        rows = (
            (f"{e.name}/" if e.kind == "dir" else e.name, e.kind, byte_size(e.size_bytes), local_time(e.modified))
            for e in entries
        )
        if not entries and not page.names_withheld:
            command.out.say("No more names follow." if after else "The folder is empty.")
        command.out.show(table(("name", "kind", "size", "changed"), rows))
        if page.next is not None:
            command.out.note("There are more: give --limit, or --after with the last name.")
        command.out.document(page.model_copy(update={"items": entries}))

    run(work, as_json=json)


nodes = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="List the nodes; drain, undrain or revoke one."
)
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="A node's id or name.", autocompletion=completion.nodes)]


@nodes.callback()
def nodes_list(ctx: typer.Context, *, json: Json = False) -> None:
    """List the nodes."""
    if ctx.invoked_subcommand is not None:
        return

    def work(command: Command) -> None:
        found = command.wait(whole_list(partial(command.headrace.nodes, limit=MOST)))
        rows = (
            (n.name, n.id, n.state, ", ".join(n.roots), str(n.running_transfers), age(n.last_seen), n.detail)
            for n in found
        )
        if found:
            command.out.show(table(("node", "id", "state", "roots", "running", "seen", ""), rows))
        else:
            command.out.say("No node has joined. To let a host join: headrace node-token NAME")
        command.out.document(found)

    run(work, as_json=json)


@nodes.command("drain")
def nodes_drain(node: NodeName, *, json: Json = False) -> None:
    """Give a node no new work; what runs there goes on."""
    _drain(node, drain=True, as_json=json)


@nodes.command("undrain")
def nodes_undrain(node: NodeName, *, json: Json = False) -> None:
    """Give a drained node work again."""
    _drain(node, drain=False, as_json=json)


policy = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Check, propose, publish and list policies.")
PolicyFile = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="Cedar text.")]
Note = Annotated[str, typer.Option(help="What changed, for the record.")]


@policy.command("list")
def policy_list(*, json: Json = False) -> None:
    """List the policy's versions."""

    def work(command: Command) -> None:
        found = command.wait(whole_list(command.headrace.policies))
        rows = (_policy_row(p) for p in found)
        command.out.show(table(("version", "state", "author", "published by", "made", "note"), rows))
        note_obstacles(command, found)
        command.out.document(found)

    run(work, as_json=json)


def _policy_row(version: m.PolicyVersion) -> tuple[str, ...]:
    author = version.author_name or version.author
    publisher = version.publisher_name or version.publisher or ""
    return version.version, version.state, author, publisher, local_time(version.created), version.note


@policy.command("show")
def policy_show(
    version: Annotated[str | None, typer.Argument(help="Default: the active one.")] = None, *, json: Json = False
) -> None:
    """Show a version's text."""

    def work(command: Command) -> Exit | None:
        for found in command.wait(whole_list(command.headrace.policies)):
            if found.version == version or (version is None and found.state == "active"):
                for line in found.text.splitlines():
                    command.out.say(line)
                command.out.document(found)
                return Exit.DONE
        detail = f"There is no policy version {version or 'that is active'}: see `headrace policy list`."
        raise HeadraceError(m.Problem(title="Not found", status=404, code="unknown_policy", detail=detail))

    run(work, as_json=json)


@policy.command("check")
def policy_check(file: PolicyFile, *, json: Json = False) -> None:
    """Check a policy text; nothing is stored."""

    def work(command: Command) -> Exit:
        checked = command.wait(command.headrace.check_policy(m.PolicyText(text=file.read_text(encoding="utf-8"))))
        for problem in checked.problems:
            where = f" at {problem.start}" if problem.start is not None else ""
            rule = f" in {problem.rule}" if problem.rule else ""
            command.out.say(f"{problem.severity}{rule}{where}: {problem.message}")
        for lacking in checked.suggested:
            command.out.say(f"No example shows that {lacking.rule} holds." + (" Add:" if lacking.lines else ""))
            for line in lacking.lines:
                command.out.say(f"  {line}")
        command.out.say("It can be published." if checked.valid else "It cannot be published.")
        command.out.document(checked)
        return Exit.DONE if checked.valid else Exit.FAILED

    run(work, as_json=json)


@policy.command("test")
def policy_test(file: PolicyFile, *, json: Json = False) -> None:
    """Run the examples of a policy text one by one; nothing is stored."""

    def work(command: Command) -> Exit:
        checked = command.wait(command.headrace.check_policy(m.PolicyText(text=file.read_text(encoding="utf-8"))))
        rows = (("FAILS" if one.failure else "holds", one.line, one.failure or "") for one in checked.examples)
        command.out.show(table(("", "example", "why"), rows))
        if not checked.examples:
            command.out.note("It has no examples, or can't be read: see `headrace policy check FILE`.")
        command.out.document(checked)
        return Exit.DONE if checked.valid else Exit.FAILED

    run(work, as_json=json)


@policy.command("guide")
def policy_guide(
    need: Annotated[str | None, typer.Argument(help="What the rule is for; without it, needs are listed.")] = None,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="What the need asks for.")
    ] = None,
    *,
    beside: Annotated[
        Path | None,
        typer.Option("--for", metavar="FILE", exists=True, dir_okay=False, help="Text to add to; default: the active."),
    ] = None,
    json: Json = False,
) -> None:
    """Write the rule of a common need with its examples, to be added to a policy text; nothing is stored."""
    pairs = [value.partition("=") for value in values or ()]
    bad = next((name for name, equals, _ in pairs if not (name and equals)), None)
    if bad is not None:
        message = f"`{bad}` is not a value: write NAME=VALUE"
        raise typer.BadParameter(message)

    def work(command: Command) -> None:
        needs = command.wait(command.headrace.policy_needs())
        if need is None:
            rows = (
                (one.name, one.title, " ".join(f"{asks.name}={asks.example}" for asks in one.asks)) for one in needs
            )
            command.out.show(table(("need", "what it says", "values, for example"), rows))
            command.out.document(needs)
            return
        given = {name: value for name, _, value in pairs}
        wanted = next((one for one in needs if one.name == need), None)
        for asks in wanted.asks if wanted is not None and command.out.interactive else ():
            if asks.name not in given:
                given[asks.name] = typer.prompt(f"{asks.name} ({asks.question}, such as {asks.example})", err=True)
        text = beside.read_text(encoding="utf-8") if beside is not None else None
        made = command.wait(command.headrace.guided_rules(m.GuidedRequest(need=need, values=given, text=text)))
        for line in made.text.splitlines():
            command.out.say(line)
        command.out.note(
            "To put it in force: headrace policy show > site.cedar; add these lines at its end, where they are not "
            "there yet; headrace policy check site.cedar; headrace policy propose site.cedar"
        )
        for warning in made.warnings:
            command.out.note(f"Warning: {warning}.")
        for line in made.contradicts:
            command.out.note(f"An example of the text no longer holds with this; change or remove it: {line}")
        command.out.document(made)

    run(work, as_json=json)


def _now(flip: m.PolicyFlip) -> str:
    return "may be listed" if flip.only_listed else flip.now


@policy.command("simulate")
def policy_simulate(file: PolicyFile, *, json: Json = False) -> None:
    """List the earlier plans that a policy text would have decided otherwise; nothing is stored."""

    def work(command: Command) -> None:
        text = m.PolicyText(text=file.read_text(encoding="utf-8"))
        found = command.wait(command.headrace.simulate_policy(text))
        rows = ((f.plan, f.requester_name or "", f.sentence, f"{f.was} -> {_now(f)}", f.why) for f in found.flips)
        command.out.show(table(("plan", "requester", "request", "decision", "why"), rows))
        listed = f" {found.only_listed:,} of them may only be listed then: the transfer itself was not decided."
        changed = f"{found.flipped:,} of the newest {found.replayed:,} decisions would change."
        if found.replayed:
            command.out.say(changed + (listed if found.only_listed else ""))
        else:
            command.out.say("There is no earlier decision to compare with, so this says nothing of the text.")
        command.out.document(found)

    run(work, as_json=json)


@policy.command("who")
def policy_who(
    action: Annotated[str, typer.Argument(help="browse, copy, sync or move.")],
    source: Annotated[
        str | None,
        typer.Option("--from", help="Location; any endpoint if left out.", autocompletion=completion.places),
    ] = None,
    destination: Annotated[
        str | None,
        typer.Option("--to", help="Location; any endpoint if left out.", autocompletion=completion.places),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """List who may do something under the active policy: `headrace policy who copy --to archive:/phi`."""

    def work(command: Command) -> None:
        asked = m.WhoMayRequest.model_validate({"action": action, "source": source, "destination": destination})
        found = command.wait(command.headrace.who_may(asked))
        rows = ((one.name, one.outcome, "; ".join(rule.reason for rule in one.rules)) for one in found)
        command.out.show(table(("person", "outcome", "because"), rows))
        if not found:
            command.out.say("Nobody may.")
        command.out.document(found)

    run(work, as_json=json)


policy.command("explain")(why)


@policy.command("propose")
def policy_propose(file: PolicyFile, *, note: Note = "", json: Json = False) -> None:
    """Store a policy text as a proposed version."""

    def work(command: Command) -> None:
        text = m.PolicyText(text=file.read_text(encoding="utf-8"), note=note)
        made = command.wait(command.headrace.propose_policy(text))
        say_proposed(command, made, "headrace policy publish")
        command.out.note(_INVITE)
        command.out.document(made)

    run(work, as_json=json)


@policy.command("withdraw")
def policy_withdraw(version: Annotated[str, typer.Argument()], *, json: Json = False) -> None:
    """Take your own proposal back, in your own session: nobody publishes it any more."""

    def work(command: Command) -> None:
        made = command.wait(command.headrace.withdraw_policy(version))
        command.out.say(f"Policy {made.version} is {made.state}.")
        command.out.document(made)

    run(work, as_json=json)


@policy.command("publish")
def policy_publish(version: Annotated[str, typer.Argument()], *, json: Json = False) -> None:
    """Make a version that another person proposed active; an earlier one is proposed again."""

    def work(command: Command) -> None:
        made = proven(command, m.Proven(), partial(command.headrace.publish_policy, version))
        command.out.say(f"Policy {made.version} is {made.state}.")
        if made.state == "proposed":
            command.out.note(f"It takes effect when another person runs: headrace policy publish {made.version}")
        command.out.document(made)

    run(work, as_json=json)


def _drain(node: str, *, drain: bool, as_json: bool) -> None:
    def work(command: Command) -> None:
        _node(command, command.wait(command.headrace.drain_node(node, drain=drain)))

    run(work, as_json=as_json)


def _node(command: Command, node: m.Node) -> None:
    command.out.say(f"Node {node.name} is {node.state}.")
    command.out.document(node)
