"""The flags of a typed transfer: `copy`, `sync`, `move`, and `plan` for all three."""

from dataclasses import dataclass
from datetime import datetime
from os import environ
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from pydantic import ValidationError

from headrace.cli.quantities import as_flag, moment, rate_bps, size_bytes
from headrace.client import models as m

Action = Literal["copy", "sync", "move"]
OnConflictChoice = Literal["fail", "skip", "overwrite", "newer"]
VerifyChoice = Literal["default", "in-transit", "at-rest", "blake3"]

_GLOB = "`*.tmp` fits names anywhere, `raw/*.mrc` paths, `logs/` a folder. May be given again."
_TIME = "An age (12h, 2d), a date, or a time; local when it names no zone."


def _moment(text: str) -> datetime:
    return moment(text, datetime.now().astimezone())


Include = Annotated[list[str] | None, typer.Option(metavar="GLOB", help=f"Only what fits. {_GLOB}")]
Exclude = Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Leave out what fits.")]
MinSize = Annotated[int | None, typer.Option(parser=as_flag(size_bytes), metavar="SIZE", help="Like 10MB or 1GiB.")]
MaxSize = Annotated[int | None, typer.Option(parser=as_flag(size_bytes), metavar="SIZE", help="Like 50GB.")]
NewerThan = Annotated[datetime | None, typer.Option(parser=as_flag(_moment), metavar="TIME", help=_TIME)]
OlderThan = Annotated[datetime | None, typer.Option(parser=as_flag(_moment), metavar="TIME", help=_TIME)]
OnConflict = Annotated[
    OnConflictChoice | None, typer.Option(help="What to do with files that differ at the destination. [default: fail]")
]
Checksum = Annotated[bool, typer.Option("--checksum", help="Compare contents, not size and time.")]
Delete = Annotated[bool, typer.Option("--delete", help="With sync: delete what is gone at the source.")]
Rate = Annotated[int | None, typer.Option(parser=as_flag(rate_bps), metavar="RATE", help="Ceiling, like 5Gb/s.")]
Verify = Annotated[VerifyChoice, typer.Option(help="How what arrives is checked.")]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask 'Run it?'. Never stands for a confirmation that policy wants.")
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the transfer to its end.")]


@dataclass(frozen=True)
class Flags:
    """What the flags said; names as in `TransferIntent`."""

    include: list[str] | None
    exclude: list[str] | None
    min_size_bytes: int | None
    max_size_bytes: int | None
    modified_after: datetime | None
    modified_before: datetime | None
    on_conflict: OnConflictChoice | None
    checksum: bool
    delete: bool
    rate_limit_bps: int | None
    verify: VerifyChoice

    def intent(self, action: Action, source: str, destination: str) -> m.TransferIntent:
        """Return the typed request; raises a usage error for flags that do not fit together."""
        if self.delete and action != "sync":
            message = "--delete belongs to sync"
            raise typer.BadParameter(message)
        try:
            return m.TransferIntent(
                action=action,
                source=source,
                destination=destination,
                include=self.include or [],
                exclude=self.exclude or [],
                min_size_bytes=self.min_size_bytes,
                max_size_bytes=self.max_size_bytes,
                modified_after=self.modified_after,
                modified_before=self.modified_before,
                on_conflict=self.on_conflict,
                compare="checksum" if self.checksum else "size-mtime",
                delete_extraneous=self.delete,
                rate_limit_bps=self.rate_limit_bps,
                verify=self.verify,
            )
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            message = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
            raise typer.BadParameter(message) from error


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
