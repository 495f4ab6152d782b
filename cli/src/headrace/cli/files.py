"""Files that commands write: one that is there is replaced only when somebody says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]


def require_free(path: Path | None, *, force: bool) -> None:
    """Refuse a path where something is, before anything is asked for."""
    if path is not None and path.is_file() and not force:
        raise _taken(path)


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Open a file for writing; a new one is gone again when the block fails. Pipes and devices take what comes."""
    fresh = not force and (path.is_file() or not path.exists())
    try:
        file = path.open("xb" if fresh else "wb")
    except FileExistsError as error:
        raise _taken(path) from error
    with file:
        try:
            yield file
        except BaseException:
            if fresh:
                path.unlink(missing_ok=True)
            raise


def _taken(path: Path) -> typer.BadParameter:
    return typer.BadParameter(f"{path} is there already: name another file, or give --force")
