"""`headrace backup`, `headrace restore` and `headrace move-store`: a service in one file, and its store elsewhere.

A backup is a tar file: what it is (`backup.json`), the heads of the audit chain, the store as a SQLite file (whatever
it is kept in), and what else the service put into its data folder, save what counts for one process only
(`data_folder.py`). The heads are taken first, then the store at one moment, then the rest, so that the store knows
every head, and every list that it names is there.
"""

import errno
import io
import json
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from sqlalchemy import URL, func, select
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.app.data_lock import DataLock
from headrace.api.audit.check import knows, verify_store
from headrace.api.audit.heads import Head, last_head
from headrace.api.authority_key import key_chain
from headrace.api.clock import utc_now
from headrace.api.command_end import stop
from headrace.api.data_folder import (
    AUTHORITY_KEY,
    COPIED,
    HALT,
    HEADS,
    MOVED_STORE,
    NEXT_AUTHORITY_KEY,
    STORE,
    is_known,
)
from headrace.api.durable import file_in_words, sync_folder
from headrace.api.errors import CannotStart
from headrace.api.key_chain import KeyChain
from headrace.api.settings import SettingError
from headrace.api.store.address import dialect_of, missing_store, shown, store_url
from headrace.api.store.copy import copy_store, require_empty
from headrace.api.store.migrate import migrate
from headrace.api.store.tables_site import AuditRow
from headrace.api.store_trouble import Trouble, said_by, trouble_of
from headrace.client.models import AuditVerdict
from headrace.client.text import plural
from headrace.guardrails import SealError, SigningKey, utc_text

_FACTS: Final = "backup.json"
_FORMAT: Final = 1
_FACTS_WITHIN: Final = 2
"""`backup.json` is the first file of a backup; of those that this program made at first, the second."""
_LAID_OUT: Final = COPIED | {_FACTS, HEADS, STORE}
_PRIVATE: Final = 0o700
_NAMED: Final = 5
"""So many files that are not in a backup are named."""

_Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")]
_Data = Annotated[Path, typer.Option(help="The service's data folder.")]


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it holds keys.")],
    data: _Data,
    *,
    as_json: _Json = False,
) -> None:
    """Write a service (store, keys, lists) into one file, also while it runs."""
    _said("backup", lambda: _backup(file, data), as_json=as_json, about={"file": str(file), "data": str(data)})


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `headrace backup`.")],
    data: _Data,
    heads: Annotated[Path | None, typer.Option(help="Heads of the audit chain that were kept elsewhere.")] = None,
    *,
    as_json: _Json = False,
) -> None:
    """Lay out a service from its backup, halted; the store goes where HEADRACE_DATABASE says."""
    _said("restore", lambda: _restore(file, data, heads), as_json=as_json, about={"file": str(file), "data": str(data)})


def move_store(data: _Data, *, as_json: _Json = False) -> None:
    """Move a service's store from its SQLite file into the PostgreSQL database that HEADRACE_DATABASE names."""
    _said("move-store", lambda: _move_store(data), as_json=as_json, about={"data": str(data)})


def _backup(file: Path, data: Path) -> str:
    source = _store_of(data)
    chain = _chain_of(data)
    _require_there(source, data)
    if file.exists():
        message = f"`{file}` is there already; name another file"
        raise FileExistsError(message)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with (
            os.fdopen(descriptor, "wb") as raw,
            tarfile.open(fileobj=raw, mode="w:gz", compresslevel=1, dereference=True) as tar,
            tempfile.TemporaryDirectory(dir=file.parent, prefix=".headrace-backup-") as name,
        ):
            folder = Path(name)
            with suppress(FileNotFoundError):
                shutil.copy2(data / HEADS, folder / HEADS)
            copy = store_url("", folder)
            rows = copy_store(source, copy)
            _require_its_own(copy, last_head(folder / HEADS, chain.keys), source, data)
            events = _events(copy)
            facts = {"format": _FORMAT, "made": utc_text(utc_now()), "events": events, "rows": rows}
            (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
            tar.add(folder / _FACTS, _FACTS)
            with suppress(FileNotFoundError):
                tar.add(folder / HEADS, HEADS)
            tar.add(folder / STORE, STORE)
            _add_files(tar, data)
            held = frozenset(tar.getnames())
        with file.open("rb") as written:
            os.fsync(written.fileno())
        sync_folder(file.parent)
    except BaseException:
        file.unlink()
        raise
    said = f"`{file}` holds `{shown(source)}` ({rows:,} rows, {events:,} audit events), the lists and "
    return said + _keys_in(data, chain, held) + _not_of_the_service(data, file)


def _add_files(tar: tarfile.TarFile, data: Path) -> None:
    for top in sorted(COPIED):
        for path in (data / top, *sorted((data / top).rglob("*"))):
            with suppress(FileNotFoundError):  # it is not there, or was removed meanwhile
                tar.add(path, path.relative_to(data).as_posix(), recursive=False)


def _keys_in(data: Path, chain: KeyChain, held: frozenset[str]) -> str:
    """Say which keys a backup with files of these names holds, and what has to be kept beside it."""
    more = unread = ""
    for name in sorted(held & {AUTHORITY_KEY, NEXT_AUTHORITY_KEY}):
        try:
            # Whoever may read the file in the folder: everybody who has the backup reads the one in there.
            public = SigningKey.from_pem((data / name).read_bytes(), data / name).public
        except (OSError, SealError):
            unread = unread or f"`{name}`"
            continue
        if public == chain.public:
            return "all keys: keep it safe"
        if public in chain.keys:
            more += f". `{name}` in the backup is {public}, which came before: nodes may still obey it"
    if unread:
        return (
            f"the keys in `{data}`: keep it safe. {unread} is in it and can't be read as a key here, so it may be the "
            f"authority key {chain.public}: whoever has such a backup can sign as the service"
        )
    return (
        f"the keys in `{data}`: keep it safe. The authority key {chain.public} is not there (HEADRACE_AUTHORITY_KEY or "
        f"`headrace signer` has it), so it is not in the backup: see to it that it is kept apart{more}"
    )


def _not_of_the_service(data: Path, file: Path) -> str:
    """Say what else lies in the data folder and is not in a backup."""
    others = sorted(path.name for path in data.iterdir() if not is_known(path.name) and not _same(path, file))
    named = ", ".join(f"`{name}`" for name in others[:_NAMED])
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return f". Not in it, because the service did not put it into `{data}`: {named}{more}" if others else ""


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)


def _restore(file: Path, data: Path, heads: Path | None) -> str:
    if data.exists() and any(data.iterdir()):
        message = f"`{data}` is not empty; give a folder that is, and move it to its place when all is well"
        raise FileExistsError(message)
    if heads is not None and not heads.is_file():
        message = f"there is no file `{heads}`; --heads names the heads of the audit chain that were kept elsewhere"
        raise FileNotFoundError(message)
    with _opened(file) as packed:
        made = _facts(packed, file)["made"]
        target = _store_of(data)
        if target != store_url("", data):
            require_empty(target)
        absent = not data.exists()
        data.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        data.chmod(_PRIVATE)
        try:
            # Within the folder, which may be a volume; what fails leaves it as empty as it was.
            with tempfile.TemporaryDirectory(dir=data, prefix=".headrace-restore-") as name:
                said = _laid_out(packed, Path(name), data, target, heads, made)
        except BaseException:
            if absent:
                data.rmdir()
            raise
    return f"{said}. The service is halted: look at what ran after that, then remove `{data / HALT}`"


def _laid_out(  # noqa: PLR0913, PLR0917 - what there is and where it goes
    packed: tarfile.TarFile, folder: Path, data: Path, target: URL, heads: Path | None, made: str
) -> str:
    members = [member for member in packed if member.name.split("/", 1)[0] in _LAID_OUT]
    packed.extractall(folder, members, filter="data")
    (folder / _FACTS).unlink()
    unpacked = store_url("", folder)
    chain = key_chain(folder)
    if chain is None:
        message = "the backup does not say which authority key it belongs to"
        raise CannotStart(message)
    migrate(unpacked)
    head = last_head(folder / HEADS, chain.keys)
    verdict = _whole(unpacked, head)
    lost = "" if heads is None else f"; {_later(heads, chain, verdict.events)}"
    reason = f"restored from a backup of {made}: what happened after it is not known here"
    (folder / HALT).write_text(reason + "\n", encoding="utf-8")
    placed: list[Path] = []
    try:
        # A service that finds some of it starts halted, or, without its store, not at all.
        for path in sorted(folder.iterdir(), key=lambda path: (path.name != HALT, path.name == STORE)):
            if path.name == STORE and target != store_url("", data):
                sync_folder(data)
                copy_store(unpacked, target)
                _whole(target, head)
            else:
                path.rename(data / path.name)
                placed.append(path)
        sync_folder(data)
    except BaseException:
        for path in placed:
            (data / path.name).rename(path)
        raise
    return f"restored to `{shown(target)}` as it was at {made}: {verdict.events:,} audit events{lost}"


def _later(heads: Path, chain: KeyChain, events: int) -> str:
    """Say how many events heads that were kept elsewhere know of beyond those of a backup, and up to when they know."""
    last = last_head(heads, chain.keys)
    if last is None:
        message = f"`{heads}` holds no head that this service signed; give the file of heads that was kept elsewhere"
        raise CannotStart(message)
    later = max(0, last.sequence - events)
    known = (
        f"{plural(later, 'later audit event')} {'is' if later == 1 else 'are'}" if later else "no later audit event is"
    )
    until = f"up to {last.at}, when the newest of these heads was written"
    return f"{known} known to be lost {until}; what came after it is not known"


def _whole(url: URL, head: Head | None) -> AuditVerdict:
    verdict = verify_store(url, head)
    if not verdict.intact:
        message = f"the audit chain of the backup is broken at event {verdict.broken_at}: {verdict.detail}"
        raise CannotStart(message)
    return verdict


def _move_store(data: Path) -> str:
    source, target = store_url("", data), _store_of(data)
    if target == source:
        message = "HEADRACE_DATABASE is not set; it names the PostgreSQL database that the store goes into"
        raise SettingError(message)
    chain = _chain_of(data)
    file = Path(source.database or "")
    if not file.is_file():
        message = f"there is no `{file}`, so there is no store to move out of it"
        raise FileNotFoundError(message)
    lock = DataLock.take(data)
    try:
        require_empty(target)
        migrate(source)
        _require_its_own(source, last_head(data / HEADS, chain.keys), source, data)
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


def _chain_of(data: Path) -> KeyChain:
    chain = key_chain(data)
    if chain is None:
        message = f"`{data}` holds no service; --data is the folder that `headrace serve --data` was given"
        raise FileNotFoundError(message)
    return chain


def _require_there(source: URL, data: Path) -> None:
    if (missing := missing_store(source, data)) is not None:
        raise FileNotFoundError(missing)


def _require_its_own(copy: URL, head: Head | None, source: URL, data: Path) -> None:
    """Refuse a store of another service or of another time than the heads in the data folder."""
    if head is not None and not knows(copy, head):
        message = (
            f"`{shown(source)}` is not the store of `{data}`, or an old one: it does not hold audit event "
            f"{head.sequence}, which `{data / HEADS}` names; set HEADRACE_DATABASE as the service has it"
        )
        raise CannotStart(message)


def _opened(file: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(file, "r:gz")
    except tarfile.ReadError as error:
        message = f"`{file}` is not a backup: `headrace backup` did not make it, or it is cut off"
        raise CannotStart(message) from error


def _facts(packed: tarfile.TarFile, file: Path) -> Any:  # noqa: ANN401 - a JSON document
    try:
        [found] = [member for member in islice(packed, _FACTS_WITHIN) if member.name == _FACTS]
        facts = json.load(packed.extractfile(found) or io.BytesIO())
        format_ = facts["format"]
    except (LookupError, TypeError, ValueError) as error:
        message = f"`{file}` is not a backup that `headrace backup` made"
        raise CannotStart(message) from error
    if format_ != _FORMAT:
        message = f"the backup has form {format_}, and this program reads {_FORMAT}: use the one that made it"
        raise CannotStart(message)
    return facts


def _said(command: str, act: Callable[[], str], *, as_json: bool, about: dict[str, str]) -> None:
    """Act and say what was done; under `--json` in one document, with the files that it is `about`."""
    try:
        said = act()
    except SQLAlchemyError as error:
        full = f"; {_make_room(about)}, or on the store's disk" if trouble_of(error) is Trouble.FULL else ""
        stop(command, f"the store can't be used: {said_by(error)}{full}", as_json=as_json)
    except (EOFError, zlib.error) as error:
        stop(command, f"the backup is cut off or damaged ({error}): give a whole one", as_json=as_json)
    except OSError as error:
        no_room = error.filename is None and error.errno in {errno.ENOSPC, errno.EDQUOT}
        stop(command, f"the disk is full: {_make_room(about)}" if no_room else file_in_words(error), as_json=as_json)
    except (tarfile.TarError, SealError, SettingError, CannotStart) as error:
        stop(command, error, as_json=as_json)
    typer.echo(json.dumps({**about, "said": said}, ensure_ascii=False) if as_json else said)


def _make_room(about: dict[str, str]) -> str:
    return f"make room where {' or '.join(f'`{name}`' for name in about.values())} lies"
