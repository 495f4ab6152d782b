"""How the commands of this package end when they can't do what they are asked for."""

from typing import Final, NoReturn

import typer

from headrace.api.durable import file_in_words
from headrace.client.models import Problem

FAILED: Final = 1
USAGE: Final = 2


def stop(command: str, why: str | Exception, code: int = FAILED, *, as_json: bool) -> NoReturn:
    """Say what stands against `headrace COMMAND`, and under `--json` in one document, too; end with `code`."""
    said = file_in_words(why) if isinstance(why, OSError) else str(why)
    typer.echo(f"headrace {command}: {said}", err=True)
    if as_json:
        problem = Problem.of_usage(said) if code == USAGE else Problem.of_failure(said)
        typer.echo(problem.model_dump_json(indent=2))
    raise typer.Exit(code)
