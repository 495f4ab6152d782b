"""`headrace backup`, `headrace restore` and `headrace move-store`: a service in one file, and its store elsewhere.

A backup is a tar file: what it is (`backup.json`), the store as a SQLite file (whatever it is kept in), and the data
folder's other files. The heads of the audit chain are taken first, then the store at one moment, then the rest, so
that the store knows every head, and every list that it names is there.
"""

import json
import os
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from sqlalchemy import URL, func, select
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.app.data_lock import DataLock
from headrace.api.audit.check import verify_store
from headrace.api.audit.heads import last_head
from headrace.api.authority_key import key_chain
from headrace.api.clock import utc_now
from headrace.api.data_folder import BOOTSTRAP_LINK, HALT, HEADS, LOCK, MOVED_STORE, STORE
from headrace.api.durable import sync_folder
from headrace.api.errors import CannotStart
from headrace.api.settings import SettingError
from headrace.api.store.address import dialect_of, shown, store_url
from headrace.api.store.copy import copy_store
from headrace.api.store.migrate import migrate
from headrace.api.store.tables_site import AuditRow
from headrace.api.store_trouble import said_by
from headrace.guardrails import SealError, utc_text

_FACTS: Final = "backup.json"
_FORMAT: Final = 1
_LEFT_OUT: Final = frozenset({LOCK, BOOTSTRAP_LINK, HEADS})
_FAILED: Final = 1

_Data = Annotated[Path, typer.Option(help="The service's data folder.")]


def backup(file: Annotated[Path, typer.Argument(help="The file to write; it holds keys.")], data: _Data) -> None:
    """Write a service (store, keys, lists) into one file, also while it runs."""
    _said(lambda: _backup(file, data))


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `headrace backup`.")],
    data: _Data,
    heads: Annotated[Path | None, typer.Option(help="Heads of the audit chain that were kept elsewhere.")] = None,
) -> None:
    """Lay out a service from its backup, halted; the store goes where HEADRACE_DATABASE says."""
    _said(lambda: _restore(file, data, heads))


def move_store(data: _Data) -> None:
    """Move a service's store from its SQLite file into the PostgreSQL database that HEADRACE_DATABASE names."""
    _said(lambda: _move_store(data))


def _backup(file: Path, data: Path) -> str:
    source = _store_of(data)
    if key_chain(data) is None:
        message = f"`{data}` holds no service; --data is the folder that `headrace serve --data` was given"
        raise FileNotFoundError(message)
    if file.exists():
        message = f"`{file}` is there already; name another file"
        raise FileExistsError(message)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with (
            os.fdopen(descriptor, "wb") as raw,
            tarfile.open(fileobj=raw, mode="w:gz", compresslevel=1) as tar,
            tempfile.TemporaryDirectory(dir=file.parent, prefix=".headrace-backup-") as name,
        ):
            folder = Path(name)
            with suppress(FileNotFoundError):
                tar.add(data / HEADS, HEADS)
            copy = store_url("", folder)
            rows, events = copy_store(source, copy), _events(copy)
            facts = {"format": _FORMAT, "made": utc_text(utc_now()), "events": events, "rows": rows}
            (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
            tar.add(folder / _FACTS, _FACTS)
            tar.add(folder / STORE, STORE)
            _add_files(tar, data)
        with file.open("rb") as written:
            os.fsync(written.fileno())
        sync_folder(file.parent)
    except BaseException:
        file.unlink()
        raise
    return f"`{file}` holds `{shown(source)}` ({rows:,} rows, {events:,} audit events) and the keys: keep it safe"


def _add_files(tar: tarfile.TarFile, data: Path) -> None:
    for path in sorted(data.rglob("*")):
        name = path.relative_to(data)
        if name.parts[0] in _LEFT_OUT or name.parts[0].startswith(STORE):
            continue
        with suppress(FileNotFoundError):  # removed meanwhile
            tar.add(path, name.as_posix(), recursive=False)


def _restore(file: Path, data: Path, heads: Path | None) -> str:
    if data.exists() and any(data.iterdir()):
        message = f"`{data}` is not empty; give a folder that is, and move it to its place when all is well"
        raise FileExistsError(message)
    try:
        packed = tarfile.open(file, "r:gz")  # noqa: SIM115 - closed below
    except tarfile.ReadError as error:
        message = f"`{file}` is no backup: it was not made by `headrace backup`, or is cut off"
        raise CannotStart(message) from error
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with packed as tar:
        tar.extractall(data, filter="data")
    facts = _facts(data / _FACTS)
    unpacked, target = store_url("", data), _store_of(data)
    migrate(unpacked)
    if target != unpacked:
        copy_store(unpacked, target)
        Path(unpacked.database or "").unlink()
    chain = key_chain(data)
    if chain is None:
        message = "the backup says of no authority key whose it is"
        raise CannotStart(message)
    verdict = verify_store(target, last_head(data / HEADS, chain.keys))
    if not verdict.intact:
        message = f"the audit chain of the backup is broken at event {verdict.broken_at}: {verdict.detail}"
        raise CannotStart(message)
    (data / _FACTS).unlink()
    reason = f"restored from a backup of {facts['made']}: what happened after it is not known here"
    (data / HALT).write_text(reason + "\n", encoding="utf-8")
    later = last_head(heads, chain.keys) if heads is not None else None
    lost = max(0, later.sequence - verdict.events) if later is not None else None
    told = "" if lost is None else f"; {lost:,} later audit events are lost"
    return (
        f"restored to `{shown(target)}` as it was at {facts['made']}: {verdict.events:,} audit events{told}. The "
        f"service is halted: look at what ran after that, then remove `{data / HALT}`"
    )


def _move_store(data: Path) -> str:
    source, target = store_url("", data), _store_of(data)
    if target == source:
        message = "HEADRACE_DATABASE is not set; it names the PostgreSQL database that the store goes into"
        raise SettingError(message)
    file = Path(source.database or "")
    if not file.is_file():
        message = f"there is no `{file}`; --data is the folder that `headrace serve --data` was given"
        raise FileNotFoundError(message)
    lock = DataLock.take(data)
    try:
        migrate(source)
        rows = copy_store(source, target)
        if _events(target) != _events(source) or not verify_store(target, None).intact:
            message = f"the audit chain in `{shown(target)}` is not the one in `{file}`, which is as it was"
            raise CannotStart(message)
        kept = file.with_name(MOVED_STORE)
        file.rename(kept)
        sync_folder(data)
    finally:
        lock.release()
    return (
        f"{rows:,} rows are in `{shown(target)}` now, and the file is kept as `{kept}`; start the service with "
        "HEADRACE_DATABASE"
    )


def _store_of(data: Path) -> URL:
    return store_url(os.environ.get("HEADRACE_DATABASE", ""), data)


def _events(url: URL) -> int:
    with dialect_of(url).reading_engine(url).connect() as connection:
        return connection.scalar(select(func.count()).select_from(AuditRow)) or 0


def _facts(path: Path) -> Any:  # noqa: ANN401 - a JSON document
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError) as error:
        message = "the file is no backup of `headrace backup`"
        raise CannotStart(message) from error
    if facts["format"] != _FORMAT:
        message = f"the backup has form {facts['format']}, and this program reads {_FORMAT}: use the one that made it"
        raise CannotStart(message)
    return facts


def _said(act: Callable[[], str]) -> None:
    try:
        typer.echo(act())
    except SQLAlchemyError as error:
        _stop(f"the store can't be used: {said_by(error)}")
    except (OSError, tarfile.TarError, SealError, SettingError, CannotStart) as error:
        _stop(str(error))


def _stop(message: str) -> NoReturn:
    typer.echo(f"headrace: {message}", file=sys.stderr)
    raise typer.Exit(_FAILED)
