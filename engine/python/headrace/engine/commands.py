"""Subcommands of `headrace` that the engine brings: each is the `headrace-node` program's, in this process."""

from typing import Any, Final

import typer

from headrace.engine._native import main

_PASS_ON: Final[dict[str, Any]] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    # `--help` is the native command line's to answer, and `--`, too.
    "help_option_names": [],
    "allow_interspersed_args": False,
}


def node(ctx: typer.Context) -> None:
    """Run a node on this machine: join a service, export folders."""
    raise typer.Exit(main(ctx.args))


def cp(ctx: typer.Context) -> None:
    """Copy between your own machines over ssh, or on this one, without a service."""
    raise typer.Exit(main(["cp", *ctx.args]))


def keygen(ctx: typer.Context) -> None:
    """Make the personal key that `cp` signs with."""
    raise typer.Exit(main(["keygen", *ctx.args]))


def receipt(ctx: typer.Context) -> None:
    """Check a transfer's receipt, without the service."""
    raise typer.Exit(main(["receipt", *ctx.args]))


def lab(ctx: typer.Context) -> None:
    """Join hosts on this machine by long, slow and lossy paths, and run programs in them."""
    raise typer.Exit(main(["lab", *ctx.args]))


for _command in (node, cp, keygen, receipt, lab):
    setattr(_command, "context_settings", _PASS_ON)  # noqa: B010 - functions have no such attribute that mypy knows
