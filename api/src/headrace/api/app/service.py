"""The service without a door: its life from start to close, the hub's events, and acting for principals."""

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from headrace.api.access.acting import Acting
from headrace.api.access.gate import Gate
from headrace.api.app.compose import Whole, compose
from headrace.api.audit.chain import Kind
from headrace.api.caller import Door
from headrace.api.clock import Clock, utc_now
from headrace.api.errors import ServiceError
from headrace.api.settings import Settings
from headrace.api.store import Database
from headrace.api.store.migrate import migrate
from headrace.auth import Principal
from headrace.engine import (
    AttemptEnded,
    AttemptProgress,
    EngineError,
    Hub,
    HubEvent,
    JoinRequested,
    NodeAttached,
    NodeDetached,
)

_log = logging.getLogger(__name__)

_PRIVATE = 0o700


class Service:
    """One running service."""

    def __init__(self, settings: Settings, whole: Whole, public_url: str) -> None:
        """Use `Service.start`."""
        self.settings = settings
        self.public_url = public_url
        self._whole = whole
        self._use_cases = whole.use_cases
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, settings: Settings, *, public_url: str, clock: Clock = utc_now) -> Self:
        """Open (or make) the data folder, update the store, listen for nodes, and take up what was under way."""
        settings = replace(settings, data=settings.data.resolve())
        _private_folder(settings.data)
        path = settings.data / "headrace.sqlite"
        await asyncio.to_thread(migrate, path)
        async with AsyncExitStack() as opened:
            database = Database(path)
            opened.push_async_callback(database.close)
            hub = await Hub.start(
                listen=settings.hub_listen, state_dir=str(settings.data / "hub"), max_nodes=settings.max_nodes
            )
            opened.push_async_callback(hub.close)
            service = cls(settings, compose(settings, clock, database, hub, public_url), public_url)
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
        """End cleanly: watchers are told, what is under way is taken up by the next start."""
        self._whole.core.broker.close()
        await self._use_cases.planner.close()
        await self._use_cases.executor.close()
        await self._use_cases.tidying.close()
        await self._whole.core.hub.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(OSError):
            await self._use_cases.audit.export_head()
        self._use_cases.audit.close()
        await self._whole.core.database.close()

    async def _take_up(self) -> None:
        do = self._use_cases
        await do.audit.require_whole()
        async with self._whole.core.database.write() as tx:
            await do.audit.append(tx, Kind.SERVICE_STARTED)
        await do.policies.load()
        await do.nodes.enroll_known()
        await do.planner.take_up()
        await do.executor.take_up()
        self._tasks = [
            asyncio.create_task(self._follow_hub(), name="hub events"),
            asyncio.create_task(self._export_heads(), name="audit heads"),
        ]

    async def _follow_hub(self) -> None:
        """Pass on the hub's events in order, until it is closed."""
        while (event := await self._whole.core.hub.next_event()) is not None:
            try:
                await self._on(event)
            except (ServiceError, EngineError):
                _log.exception("an event of the hub could not be handled")

    async def _on(self, event: HubEvent) -> None:
        do = self._use_cases
        match event:
            case JoinRequested():
                await do.nodes.on_join(event)
            case NodeAttached():
                # Its endpoints first: whoever sees it attached finds them.
                await do.endpoints.on_attached(event)
                await do.nodes.on_attached(event)
                do.executor.on_nodes_changed()
                do.tidying.on_attached(event.node)
            case NodeDetached():
                await do.nodes.on_detached(event.node)
                do.executor.on_nodes_changed()
            case AttemptProgress():
                if do.executor.on_progress(event):
                    self._whole.core.broker.notify(event.transfer)
            case AttemptEnded():
                do.executor.on_ended(event)

    async def _export_heads(self) -> None:
        while True:
            await asyncio.sleep(self.settings.audit_head_s)
            try:
                await self._use_cases.audit.export_head()
            except OSError:
                _log.exception("the audit chain's head could not be exported")


def _private_folder(path: Path) -> None:
    """Make the data folder, for this account only."""
    path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    path.chmod(_PRIVATE)
