"""The flags of a typed transfer: `copy`, `sync`, `move`, and `plan` for all three."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from functools import wraps
from inspect import Parameter, Signature, signature
from os import environ
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import typer
from pydantic import ValidationError

from headrace.cli import completion
from headrace.cli.quantities import as_flag, clock_times, moment, moment_ahead, rate_bps, size_bytes
from headrace.cli.spoken import mistake
from headrace.client import models as m

Action = Literal["copy", "sync", "move"]
VerifyChoice = Literal["default", "in-transit", "at-rest", "blake3"]

_NO_SLOTS = {"checksum", *m.Tuning.model_fields}
_GLOB = "`*.tmp` matches names anywhere, `raw/*.mrc` paths, `logs/` a folder. May be given again."
_TIME = "An age (12h, 2d), a date, or a time; local when it names no zone."


def _moment(text: str) -> datetime:
    return moment(text, datetime.now().astimezone())


def _ahead(text: str) -> datetime:
    return moment_ahead(text, datetime.now().astimezone())


Endpoint = Annotated[
    str, typer.Option(metavar="ENDPOINT", help="Only from or to it.", autocompletion=completion.endpoints)
]
Label = Annotated[
    str, typer.Option(metavar="NAME[=VALUE]", help="Only from or to endpoints with this label, like site=north.")
]
Person = Annotated[
    str,
    typer.Option(
        metavar="PERSON", help="Only what this person (name or id) asked for.", autocompletion=completion.people
    ),
]
Agent = Annotated[str, typer.Option(metavar="NAME", help="Only what this assistant planned.")]
Oldest = Annotated[bool, typer.Option("--oldest", help="The oldest first.")]
Find = Annotated[str, typer.Option(metavar="WORDS", help="Only what holds each of these words, in any order.")]
Since = Annotated[datetime | None, typer.Option(parser=as_flag(_moment), metavar="TIME", help=f"From then on. {_TIME}")]
Until = Annotated[datetime | None, typer.Option(parser=as_flag(_moment), metavar="TIME", help="Before then.")]
After = Annotated[str | None, typer.Option(metavar="ID", help="The last id of the page before.")]
Project = Annotated[
    str, typer.Option(metavar="NAME", help="Only what is for this project.", autocompletion=completion.projects)
]
ForProject = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="For which project: policy says who may name which.",
        autocompletion=completion.projects,
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask 'Run it?'. Never stands for a confirmation that policy wants.")
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the transfer to its end.")]


@dataclass(frozen=True, kw_only=True)
class Flags:
    """The flags of a typed transfer: a field here is a flag of `copy`, `sync`, `move` and `plan`.

    Fields are named as in `TransferIntent`, but for `checksum` and those of `Tuning`.
    """

    include: Annotated[list[str] | None, typer.Option(metavar="GLOB", help=f"Only names that match. {_GLOB}")] = None
    exclude: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Leave out names that match.")] = None
    min_size_bytes: Annotated[
        int | None,
        typer.Option(
            "--min-size",
            parser=as_flag(size_bytes),
            metavar="SIZE",
            help="Only files of at least this size, like 10MB or 1GiB.",
        ),
    ] = None
    max_size_bytes: Annotated[
        int | None,
        typer.Option(
            "--max-size", parser=as_flag(size_bytes), metavar="SIZE", help="Only files of at most this size, like 50GB."
        ),
    ] = None
    modified_after: Annotated[
        datetime | None,
        typer.Option(
            "--newer-than", parser=as_flag(_moment), metavar="TIME", help=f"Only files changed since then. {_TIME}"
        ),
    ] = None
    modified_before: Annotated[
        datetime | None,
        typer.Option(
            "--older-than", parser=as_flag(_moment), metavar="TIME", help=f"Only files changed before then. {_TIME}"
        ),
    ] = None
    on_conflict: Annotated[
        m.OnConflict | None,
        typer.Option(help="What to do with files that differ at the destination. [default: fail]"),
    ] = None
    checksum: Annotated[bool, typer.Option("--checksum", help="Compare contents, not size and time.")] = False
    delete_extraneous: Annotated[
        bool, typer.Option("--delete", help="With sync: delete at the destination what the source no longer has.")
    ] = False
    rate_limit_bps: Annotated[
        int | None, typer.Option("--rate", parser=as_flag(rate_bps), metavar="RATE", help="Ceiling, like 5Gb/s.")
    ] = None
    start: Annotated[
        datetime | None,
        typer.Option(parser=as_flag(_ahead), metavar="TIME", help="When to start: in 12h, or at a time."),
    ] = None
    window: Annotated[
        str | None,
        typer.Option(parser=as_flag(clock_times), metavar="HOURS", help="Run only then, by your clock: 22:00-05:00."),
    ] = None
    deadline: Annotated[
        datetime | None,
        typer.Option("--by", parser=as_flag(_ahead), metavar="TIME", help="When to be done: in 12h, or by a time."),
    ] = None
    streams: Annotated[int | None, typer.Option(min=1, max=64, help="Data connections. [default: as many as help]")] = (
        None
    )
    unit_bytes: Annotated[
        int | None,
        typer.Option(
            "--unit",
            parser=as_flag(size_bytes),
            metavar="SIZE",
            help="Cut large files into pieces of this size: 1MiB, 16MiB.",
        ),
    ] = None
    verify: Annotated[
        VerifyChoice, typer.Option(help="Check what arrives on its way, or read it back at rest, too.")
    ] = "default"
    project: ForProject = None

    def intent(self, action: Action, source: str, destination: str) -> m.TransferIntent:
        """Return the typed request; raises a usage error for flags that do not fit together."""
        if self.delete_extraneous and action != "sync":
            message = "--delete belongs to sync"
            raise typer.BadParameter(message)
        given = {name: value for name, value in vars(self).items() if value is not None and name not in _NO_SLOTS}
        if self.window is not None:
            given["window"] = tuple(self.window.split("-"))
        given["compare"] = "checksum" if self.checksum else "size-mtime"
        with _usage_errors():
            return m.TransferIntent(action=action, source=source, destination=destination, **given)

    def request(self, action: Action, source: str, destination: str) -> m.PlanRequest:
        """Return the request for a plan; raises a usage error for flags that do not fit together."""
        intent = self.intent(action, source, destination)
        with _usage_errors():
            tuning = m.Tuning(streams=self.streams, unit_bytes=self.unit_bytes)
        return m.PlanRequest(intent=intent, timezone=zone(), tuning=None if tuning == m.Tuning() else tuning)


def _option(annotated: Any, name: str) -> str:  # noqa: ANN401 - an annotation
    """Return how the flag of a field is written."""
    # Typer keeps the first name of an option where its default would be.
    names = [name for info in get_args(annotated)[1:] for name in (info.default, *(info.param_decls or ()))]
    named = [name for name in names if isinstance(name, str) and name.startswith("--")]
    return named[0] if named else f"--{name.replace('_', '-')}"


_OPTIONS: Final = {one.name: _option(one.type, one.name) for one in fields(Flags)}
"""The flag of each field."""


def flag_of(field: str) -> str:
    """Return how a field of a request is typed at a command with flags; empty for what no argument says."""
    return field.upper() if field in {"source", "destination"} else _OPTIONS.get(field, "")


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise typer.BadParameter(mistake(error, _OPTIONS)[1]) from None


def flagged(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all flags; it takes them as one: its parameter `flags`."""
    own = signature(command, eval_str=True).parameters.values()
    flags = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type) for one in fields(Flags)
    ]

    @wraps(command)
    def flat(**given: Any) -> None:  # noqa: ANN401 - what its signature says
        told = Flags(**{one.name: given.pop(one.name) for one in flags})
        command(**given, flags=told)

    parameters = [one for one in own if one.name != "flags"]
    before = [one for one in parameters if one.kind is not Parameter.KEYWORD_ONLY]
    after = [one for one in parameters if one.kind is Parameter.KEYWORD_ONLY]
    flat.__signature__ = Signature([*before, *flags, *after])  # type: ignore[attr-defined]  # what typer reads
    flat.__annotations__ = {one.name: one.annotation for one in (*before, *flags, *after)}
    return flat


def is_action(word: str) -> bool:
    """Whether a word is one of the typed actions."""
    return word in get_args(Action)


def zone() -> str | None:
    """Return this machine's IANA zone if it can be told, so that "tomorrow at 6" means the person's."""
    named = environ.get("TZ", "").removeprefix(":")
    if "/" in named or named == "UTC":
        return named
    try:
        _, found, name = str(Path("/etc/localtime").readlink()).partition("zoneinfo/")
    except OSError:
        return None
    return name if found else None
