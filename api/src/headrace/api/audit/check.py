"""Checking the audit chain: of a store that no service has open, and of a running service, off its event loop."""

import asyncio
import json
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event
from typing import Final

from sqlalchemy import URL, Connection, String, func, select, type_coerce

from headrace.api.audit.heads import Head, HeadsFile
from headrace.api.clock import Clock
from headrace.api.errors import Code, ServiceError
from headrace.api.store.address import dialect_of
from headrace.api.store.base import Base
from headrace.api.store.tables_site import AuditRow
from headrace.client import models as m
from headrace.guardrails import ChainVerdict, digest, verify_chain

CHECKPOINT_FOR = timedelta(hours=24)
"""For so long, events that this process found whole are not read again, unless a full check is asked for."""
COUNTED: Final = 20_000
"""A short check counts so many of the events that were checked before, the next check the next ones, all in turn.

Counting ten million takes many seconds; events that are gone elsewhere are noticed by a later check, or the full one.
"""
_ROWS = Base.metadata.tables[AuditRow.__tablename__].c


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The events up to `sequence` (whose hash is `hash`) were found whole at `at`."""

    sequence: int
    hash: str
    at: datetime


class Checks:
    """Checks of one service's chain: in a thread of their own, at most one full and one short check at a time.

    Whoever asks while a check runs gets its answer. A short check reads only what came after the last checkpoint,
    and that the checkpoint itself is still there, with some of the events before it: others each time.
    """

    def __init__(self, url: URL, heads: HeadsFile, clock: Clock) -> None:
        """Check the store at `url` against `heads`."""
        self._url = url
        self._heads = heads
        self._clock = clock
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="audit check")
        self._closing = Event()
        self._running: dict[bool, asyncio.Task[m.AuditVerdict]] = {}
        self._checkpoint: Checkpoint | None = None
        self._counted = 0
        """Up to which event short checks have counted those that were checked before."""

    async def verdict(self, *, full: bool) -> m.AuditVerdict:
        """Check the chain; `full` reads it from the first event on, whatever was checked before."""
        running = self._running.get(full)
        if running is None:
            running = self._running[full] = asyncio.create_task(self._check(full=full), name="audit check")
            running.add_done_callback(lambda _: self._running.pop(full))
        # The check goes on for others, and for the next who asks, when this caller goes away.
        return await asyncio.shield(running)

    def close(self) -> None:
        """End the checks that run, with a refusal."""
        self._closing.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _check(self, *, full: bool) -> m.AuditVerdict:
        began = self._clock()
        since = self._checkpoint
        if full or (since is not None and not since.at <= began < since.at + CHECKPOINT_FOR):
            since = None
        loop = asyncio.get_running_loop()
        verdict = await loop.run_in_executor(self._threads, self._read, since)
        if not verdict.intact:
            self._checkpoint = None  # every check is a full one, until one finds all whole
            return verdict
        self._checkpoint = Checkpoint(verdict.events, verdict.head, since.at if since else began)
        if since is not None:
            self._counted = self._counted + COUNTED if self._counted + COUNTED < since.sequence else 0
        return verdict

    def _read(self, since: Checkpoint | None) -> m.AuditVerdict:
        head, stopped = self._heads.last(), self._closing.is_set
        return verify_store(self._url, head, since=since, counted=self._counted, stopped=stopped)


def verify_store(
    url: URL,
    head: Head | None,
    *,
    since: Checkpoint | None = None,
    counted: int = 0,
    stopped: Callable[[], bool] = lambda: False,
) -> m.AuditVerdict:
    """Check the chain in the store at `url`: links, hashes, search columns, and the exported `head`.

    With `since`, only that checkpoint, what came after it, and that the `COUNTED` events after `counted` are there;
    when one of them is not, all. Raises `shutting_down` soon after `stopped` says so.
    """
    altered: list[int] = []
    exported = head is not None
    with dialect_of(url).reading_engine(url).connect() as connection:
        if since is not None and not _holds(connection, since, counted):
            return verify_store(url, head, stopped=stopped)
        if since is not None and head is not None and head.sequence <= since.sequence:
            head = None if _hash_of(connection, head.sequence) == head.hash else head
        checked = (since.sequence, since.hash) if since else None
        # Closed at once where the chain breaks: PostgreSQL keeps what was not read for an open cursor.
        with closing(_records(connection, since.sequence if since else 0, altered, stopped)) as records:
            verdict = verify_chain(records, head.hash if head else None, checked=checked)
    return _verdict(verdict, altered, since, exported=exported)


def knows(url: URL, head: Head) -> bool:
    """Whether the store at `url` holds the event that an exported head names: a store of another service does not."""
    with dialect_of(url).reading_engine(url).connect() as connection:
        return _hash_of(connection, head.sequence) == head.hash


def _verdict(verdict: ChainVerdict, altered: list[int], since: Checkpoint | None, *, exported: bool) -> m.AuditVerdict:
    broken_at, detail = verdict.broken_at, verdict.detail
    if altered and (broken_at is None or altered[0] <= broken_at):
        broken_at, detail = altered[0], f"the stored hash or search columns of event {altered[0]} were altered"
    return m.AuditVerdict(
        intact=broken_at is None,
        events=verdict.events,
        head=verdict.head,
        broken_at=broken_at,
        checked_before=since.sequence if since else 0,
        checked_at=since.at if since else None,
        detail=detail or _what_fits(verdict.events, exported=exported),
    )


def _what_fits(events: int, *, exported: bool) -> str:
    """Say what an intact chain was checked against: without a head nobody knows whether its end is missing."""
    if exported:
        return "every link fits, and the last exported head is on the chain"
    fits = "every link fits" if events else "there is no event, though each service writes some at its first start"
    return (
        f"{fits}; no exported head was there to compare with, so events may be missing at the end (with --data, "
        "--heads names heads that were kept elsewhere)"
    )


def _holds(connection: Connection, point: Checkpoint, counted: int) -> bool:
    """Whether the events up to a checkpoint still seem to be there: the last one's hash, and the number of some."""
    until = min(counted + COUNTED, point.sequence)
    count = connection.scalar(select(func.count()).where(_ROWS.sequence > counted, _ROWS.sequence <= until))
    return count == until - counted and _hash_of(connection, point.sequence) == point.hash


def _hash_of(connection: Connection, sequence: int) -> str | None:
    return connection.scalar(select(_ROWS.hash).where(_ROWS.sequence == sequence))


def _records(
    connection: Connection, after: int, altered: list[int], stopped: Callable[[], bool]
) -> Generator[bytes, None, None]:
    """Yield the chain's records; the first event whose columns disagree with its record goes to `altered`."""
    at = type_coerce(_ROWS.at, String)
    found = select(_ROWS.sequence, at, _ROWS.kind, _ROWS.person, _ROWS.subject, _ROWS.body, _ROWS.hash)
    with connection.execute(found.where(_ROWS.sequence > after).order_by(_ROWS.sequence)) as rows:
        for sequence, at, kind, person, subject, body, hash_ in rows:
            if stopped():
                raise ServiceError(Code.SHUTTING_DOWN, "the service ends; check again when it is back")
            record = str(body).encode()
            searched = (str(sequence), at, kind, person, subject)
            if not altered and (digest(record) != hash_ or _search_columns(record) != searched):
                altered.append(int(sequence))
            yield record


def _search_columns(record: bytes) -> tuple[object, ...] | None:
    try:
        event = json.loads(record)
        return tuple(event[name] for name in ("sequence", "at", "kind", "person", "subject"))
    except (ValueError, KeyError, TypeError):
        return None
