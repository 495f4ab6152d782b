"""The `headrace` command: it finds its subcommands in installed packages and loads only the one that is called."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from headrace.cli.plugins import Deferred, installed

_USAGE: Final = 2
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
        "probe",
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


_UNDO: Final = (
    "there is no undo. To stop a transfer that runs: headrace cancel TRANSFER; what has arrived stays. Files that were "
    "replaced or deleted are gone, unless the storage keeps snapshots, or policy keeps what is deleted in a trash: "
    "then headrace receipts get TRANSFER says where, and which command brings it back. Before a plan runs, headrace "
    "losses PLAN names what it would replace or delete, and headrace drop PLAN gives it up"
)
_DELETE: Final = (
    "no command deletes by itself. What is at a destination and no longer at the source goes with "
    "headrace sync SOURCE DESTINATION --delete, once its plan is confirmed"
)
INSTEAD: Final = {
    **dict.fromkeys(("undo", "revert", "rollback"), _UNDO),
    **dict.fromkeys(("rm", "delete", "remove"), _DELETE),
    **dict.fromkeys(
        ("transfer", "rsync", "rclone", "scp"),
        "to copy: headrace copy SOURCE DESTINATION; to make the destination hold what the source holds: headrace sync "
        "SOURCE DESTINATION; without a service, over ssh: headrace cp SOURCE DESTINATION",
    ),
    "mkdir": "a transfer makes the folders that it needs",
    **dict.fromkeys(("verify", "check"), "to check a receipt: headrace receipt verify FILE"),
    **dict.fromkeys(("history", "tasks", "jobs"), "to list transfers: headrace status; plans: headrace plans"),
    **dict.fromkeys(
        ("stop", "kill", "abort"),
        "to stop a transfer: headrace cancel TRANSFER; to let it wait: headrace pause TRANSFER",
    ),
    "ls": "to list places: headrace endpoints; a folder: headrace browse ENDPOINT:/PATH; transfers: headrace status",
    "list": "to list transfers: headrace status; plans: headrace plans; places: headrace endpoints",
    "mv": "to move: headrace move SOURCE DESTINATION",
    "passkeys": "to list your passkeys: headrace people passkeys",
    "password": "to change your password: headrace people password",
    "users": "to list people: headrace people",
    "help": "for all commands: headrace --help; for one: headrace COMMAND --help",
    "version": "for the version: headrace --version",
}
"""What to do instead of commands that people try and that there are not."""

_TRY_OUT: Final = "to see what would happen: headrace plan copy SOURCE DESTINATION (or sync, or move)"
_WHOLE: Final = "a folder is copied with all that it holds, times, permissions and symlinks; leave the option out"
INSTEAD_OF_OPTIONS: Final = {
    **dict.fromkeys(("--dry-run", "-n"), _TRY_OUT),
    **dict.fromkeys(("-r", "-R", "-a", "--recursive", "--archive"), _WHOLE),
    **dict.fromkeys(("--progress", "-P", "-v"), "progress is shown at a terminal; leave the option out"),
    **dict.fromkeys(("--bwlimit", "--limit-rate"), "to limit the rate: --rate 500Mb/s"),
    **dict.fromkeys(("--ignore-existing", "--skip-existing"), "to leave files that differ: --on-conflict skip"),
    **dict.fromkeys(("--update", "-u"), "to replace older files only: --on-conflict newer"),
    **dict.fromkeys(("--overwrite", "--force", "-f"), "to replace files that differ: --on-conflict overwrite"),
}
"""What to do instead of options of other programs that copy, which people try at commands that move data."""
_MOVERS: Final = frozenset({"copy", "sync", "move", "ask", "plan"})


class _Commands(TyperGroup):
    """The installed commands, grouped in the help."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(**settings)
        self.commands.update({plugin.name: Deferred(plugin) for plugin in installed()})

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401 - click's
        """Read the command line up to the command."""
        self._given = list(args)
        with self._documented():
            return super().make_context(info_name, args, parent, **extra)

    @contextmanager
    def _documented(self) -> Iterator[None]:
        """Write wrong usage as the command's one JSON document, too, where `--json` is among what was typed."""
        try:
            yield
        except TyperException as error:
            option = getattr(error, "option_name", "")
            if option in INSTEAD_OF_OPTIONS and not _MOVERS.isdisjoint(self._given):
                error.message = f"There is no option {option}: {INSTEAD_OF_OPTIONS[option]}."
                vars(error)["possibilities"] = None  # options that are written nearly so
            if error.exit_code == _USAGE:
                self._document(error.format_message())
            raise

    @property
    def _as_json(self) -> bool:
        return "--json" in takewhile(lambda one: one != "--", self._given)

    def _document(self, detail: str) -> None:
        if not self._as_json:
            return
        from headrace.client.models import Problem  # noqa: PLC0415 - keeps imports out of `--help`

        typer.echo(Problem.of_usage(detail).model_dump_json(indent=2))

    def resolve_command(self, ctx: Any, args: Any) -> Any:  # noqa: ANN401 - click's
        """Find the command; for one that people expect here, say what there is instead."""
        if args and not ctx.resilient_parsing and args[0] not in self.commands and args[0] in INSTEAD:
            said = f"There is no command `{args[0]}`: {INSTEAD[args[0]]}."
            typer.echo(f"headrace: {said}", err=True)
            self._document(said)
            raise typer.Exit(_USAGE)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - click's
        """Run the command; wrong usage is told to programs as well, and so is what a service refuses to any command."""
        try:
            with self._documented():
                return self._invoke(ctx)
        except (TyperException, typer.Exit):
            raise
        except Exception as error:
            from headrace.client import HeadraceError  # noqa: PLC0415 - keeps imports out of `--help`

            if not isinstance(error, HeadraceError):
                raise
            from headrace.cli.command import Out, tell  # noqa: PLC0415

            raise typer.Exit(tell(Out(as_json=self._as_json), error)) from error

    def _invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - click's
        """Run the command; a value that does not fit its option is told in our words, not in those of a library."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            told = getattr(error.__cause__, "errors", None)
            if told is None:
                # Of what is missing its name alone says too little to go on with.
                error.message = error.message or getattr(error.param, "help", None) or ""
                raise
            from headrace.client.mistakes import in_words  # noqa: PLC0415 - keeps imports out of `--help`

            [first, *_] = told(include_url=False)
            given = f"`{first['input']}`: it " if isinstance(first.get("input"), str) else ""
            error.message = f"{given}{in_words(first)}"
            raise

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
    """Run the command line, or complete it where the shell asks for that."""
    from os import environ  # noqa: PLC0415 - keeps one import out of `--help`

    if environ.get("_HEADRACE_COMPLETE", "").startswith("complete_"):
        from headrace.cli.completion import complete  # noqa: PLC0415 - most runs are none

        complete(lambda: app(prog_name="headrace"))
    app(prog_name="headrace")
