"""Probing the way between two places: what carries how much, and what is the tightest stage."""

from typing import Annotated, Final

import typer
from pydantic import ValidationError

from headrace.cli import completion
from headrace.cli import flags as f
from headrace.cli.command import Json, run
from headrace.cli.planning import Wishes, answered, decided
from headrace.cli.quantities import as_flag, rate_bps, size_bytes
from headrace.client import models as m

_BOUNDS: Final = m.ProbeBounds()


def probe(  # noqa: PLR0913 - one parameter a flag
    source: Annotated[
        str, typer.Argument(help="endpoint:/path of a file or folder that is read.", autocompletion=completion.places)
    ],
    destination: Annotated[
        str, typer.Argument(help="endpoint:/path of a folder; nothing is left there.", autocompletion=completion.places)
    ],
    *,
    seconds: Annotated[int, typer.Option(min=1, max=600, help="Longest time of each of four legs.")] = (
        _BOUNDS.max_seconds
    ),
    size: Annotated[
        int,
        typer.Option(
            parser=as_flag(size_bytes),
            metavar="SIZE",
            show_default=False,
            help="Most that each leg moves, like 500GB. [default: 4 GiB]",
        ),
    ] = _BOUNDS.max_bytes,
    rate_limit_bps: Annotated[
        int | None, typer.Option("--rate", parser=as_flag(rate_bps), metavar="RATE", help="Ceiling, like 5Gb/s.")
    ] = None,
    project: f.ForProject = None,
    yes: f.Yes = False,
    wait: f.Wait = True,
    json: Json = False,
) -> None:
    """Measure the way between two places, by itself and with the storage of each side; nothing is left there."""
    intent = f.Flags(rate_limit_bps=rate_limit_bps, project=project).intent("copy", source, destination)
    try:
        bounds = m.ProbeBounds(max_seconds=seconds, max_bytes=size)
    except ValidationError:
        message = "a leg moves 1 MiB to 1 TiB"
        raise typer.BadParameter(message, param_hint="--size") from None
    request = m.PlanRequest(intent=intent, probe=bounds, timezone=f.zone())
    run(lambda command: decided(command, answered(command, request), Wishes(yes, wait)), as_json=json)
