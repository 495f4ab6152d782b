"""The service without a door: its life from start to close, the hub's events, and acting for principals."""

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from sqlalchemy import URL
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.access.acting import Acting
from headrace.api.access.gate import Gate
from headrace.api.app.compose import Whole, compose, read_files
from headrace.api.app.data_lock import DataLock
from headrace.api.app.last_start import keep_for_next_start, lost_since_last_start
from headrace.api.caller import Door
from headrace.api.clock import Clock, steady, utc_now
from headrace.api.data_folder import AUTHORITY_CHAIN, AUTHORITY_KEY, HEADS, HUB, PASSWORDS_SEALED, PEPPER
from headrace.api.errors import CannotStart, KeyUnusable
from headrace.api.settings import Settings
from headrace.api.sites.nodes import enrolled_keys
from headrace.api.store import Database
from headrace.api.store.address import missing_store, shown, store_url
from headrace.api.store.copy import in_use
from headrace.api.store.database import SMALL_WRITE
from headrace.api.store.migrate import migrate
from headrace.auth import Principal
from headrace.client import models as m
from headrace.engine import Hub

_PRIVATE = 0o700
_log = logging.getLogger(__name__)


class Service:
    """One running service."""

    def __init__(self, settings: Settings, whole: Whole, public_url: str, lock: DataLock) -> None:
        """Use `Service.start`."""
        self.settings = settings
        self.public_url = public_url
        self._whole = whole
        self._lock = lock
        self._use_cases = whole.use_cases
        self._following: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def start(
        cls, settings: Settings, *, public_url: str, clock: Clock = utc_now, waits: Clock | None = None
    ) -> Self:
        """Open (or make) the data folder, update the store, listen for nodes, and take up what was under way.

        `clock` tells the time; `waits` measures waits.
        """
        settings = replace(settings, data=settings.data.resolve())
        _private_folder(settings.data)
        url = store_url(settings.database, settings.data)
        async with AsyncExitStack() as opened:
            lock = DataLock.take(settings.data)
            opened.callback(lock.release)
            read_files(settings)
            await asyncio.to_thread(_require_its_store, url, settings.data)
            await asyncio.to_thread(migrate, url)
            database = Database(url, clock, alone=True)
            opened.push_async_callback(database.close)
            # A store that takes no changes fails the start before nodes are listened to.
            async with database.write() as tx:
                await tx.execute(SMALL_WRITE)
            # Nodes that were attached to another process dial already. One that is not known yet would be told to join
            # anew, pause for longer after each refusal, and stand in the audit log as refused.
            hub = await Hub.start(
                listen=settings.hub_listen,
                state_dir=str(settings.data / HUB),
                max_nodes=settings.max_nodes,
                enrolled=await enrolled_keys(database),
            )
            opened.push_async_callback(hub.close)
            service = cls(
                settings,
                compose(settings, (clock, waits or steady(clock)), database, hub, public_url),
                public_url,
                lock,
            )
            await service._take_up()
            opened.pop_all()
        return service

    @property
    def gate(self) -> Gate:
        """What the interfaces get of the service."""
        return Gate(self._use_cases, self.settings, self.public_url)

    def acting_for(self, principal: Principal, door: Door = Door.API, *, on_host: bool = False) -> Acting:
        """Return the port `Headrace`, bound to a verified principal at one door (`on_host`: from this very host)."""
        return self.gate.acting_for(principal, door, on_host=on_host)

    @property
    def whole(self) -> Whole:
        """The service's parts."""
        return self._whole

    async def close(self) -> None:
        """End cleanly: watchers are told, what is under way is taken up by the next start. Closing again is nothing."""
        if self._closed:
            return
        self._closed = True
        core = self._whole.core
        core.broker.close()
        await core.jobs.close()
        await core.hub.close()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        with suppress(OSError, KeyUnusable, SQLAlchemyError):
            await self._use_cases.audit.export_head()
        self._use_cases.audit.close()
        await self._use_cases.people.close()
        if self._use_cases.traces is not None:
            await asyncio.to_thread(self._use_cases.traces.close)
        if self._use_cases.model is not None:
            await self._use_cases.model.close()
        await core.database.close()
        self._lock.release()

    async def _take_up(self) -> None:
        do, core = self._use_cases, self._whole.core
        # First: what nodes that have attached meanwhile say is heard by their names.
        await do.nodes.learn_known()
        await do.audit.require_whole()
        # Before this start is noted, and anything that is removed because of its age.
        await asyncio.to_thread(core.doubt.begin, do.audit.latest)
        lost = lost_since_last_start(self.settings)
        for said in lost:
            _log.warning("%s", said)
        async with core.database.write() as tx:
            await do.audit.append(tx, m.AuditKind.SERVICE_STARTED, detail={"weaker": "; ".join(lost)} if lost else {})
        keep_for_next_start(self.settings)
        await self._whole.key_notes.write()
        await do.people.seal_passwords_of_before(self.settings.data / PASSWORDS_SEALED)
        await do.qos.load()
        await do.policies.load()
        await do.submissions.parts.signer.require_proven_policy()
        await do.scheduler.take_up()
        await core.jobs.start()
        self._following = asyncio.create_task(self._whole.hub_events.follow(), name="hub events")


def _require_its_store(url: URL, data: Path) -> None:
    """Refuse a folder whose service wrote to another store, or none to this one, before anything is made in it."""
    heads = data / HEADS
    if heads.exists() and heads.stat().st_size and (missing := missing_store(url, data)):
        message = f"{missing}. To begin with an empty store, move `{heads.name}` away"
        raise CannotStart(message)
    if not any((data / name).exists() for name in (PEPPER, AUTHORITY_CHAIN, AUTHORITY_KEY)) and in_use(url):
        message = (
            f"`{data}` is not the folder of this database: `{shown(url)}` is in use, and its keys are not here; give "
            "the service's folder with --data (is it mounted?), or lay it out from a backup"
        )
        raise CannotStart(message)


def _private_folder(path: Path) -> None:
    """Make the data folder, for this account only."""
    path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    path.chmod(_PRIVATE)
