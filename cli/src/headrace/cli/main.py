"""The `headrace` command: it finds its subcommands in installed packages and loads only the one that is called."""

from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from headrace.cli.plugins import Deferred, installed

SECTIONS: Final = {
    "Move data": (
        "ask",
        "copy",
        "sync",
        "move",
        "plan",
        "plans",
        "submit",
        "again",
        "drop",
        "confirm",
        "approve",
        "why",
        "losses",
        "cp",
    ),
    "Follow and steer": (
        "status",
        "watch",
        "diagnose",
        "throughput",
        "pause",
        "resume",
        "cancel",
        "retry",
        "rate",
        "failed",
        "receipts",
        "receipt",
    ),
    "Places": ("endpoints", "browse", "nodes", "node-token", "ca", "node"),
    "People": ("login", "logout", "whoami", "invite", "people", "token"),
    "Run and govern": (
        "serve",
        "policy",
        "halt",
        "release",
        "halts",
        "qos",
        "health",
        "doctor",
        "lab",
        "sweep",
        "audit",
        "auth",
        "secrets",
        "signer",
        "backup",
        "restore",
        "move-store",
        "mcp",
        "interpret",
        "keygen",
    ),
}
"""How `headrace --help` groups commands; those of packages it does not know come last."""


class _Commands(TyperGroup):
    """The installed commands, grouped in the help."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(**settings)
        self.commands.update({plugin.name: Deferred(plugin) for plugin in installed()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - click's
        """Write one section of commands after the other."""
        named = {name for names in SECTIONS.values() for name in names}
        more = tuple(name for name in self.commands if name not in named)
        width = max((len(name) for name in self.commands), default=0)
        for title, names in (*SECTIONS.items(), ("More", more)):
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(formatter.width - width - 6))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


app = typer.Typer(
    name="headrace",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A sentence is enough: headrace ask 'copy run42 from krios1:/raw to archive:/2026'. See docs/cli.md.",
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer's
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - only when asked

        typer.echo(version("headrace-cli"))
        raise typer.Exit


@app.callback()
def root(
    *,
    service: Annotated[
        str | None, typer.Option(metavar="URL", help="The service to talk to. [env: HEADRACE_SERVICE]")
    ] = None,
    version: Annotated[  # noqa: ARG001 - acts by its callback
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Headrace moves data between storage sites: planned, checked by policy, verified."""
    if service:
        # In the environment, so that commands of every package, which share no code with this one, see it.
        from os import environ  # noqa: PLC0415 - keeps one import out of `--help`

        environ["HEADRACE_SERVICE"] = service


def main() -> None:
    """Run the command line."""
    app(prog_name="headrace")
