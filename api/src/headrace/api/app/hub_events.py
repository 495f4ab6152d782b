"""Follows the hub's events in order. Whatever goes wrong with one of them, the next is heard.

What needs the store (a node that comes or goes, a join) becomes a job, which is tried again until it is done; the
newest news of a node is what counts. What does not (progress, an attempt's end) is noted at once.
"""

import asyncio
import logging
from collections import deque
from datetime import datetime, timedelta

from headrace.api.access.use_cases import UseCases
from headrace.api.core import Core
from headrace.api.events.broker import progress_of
from headrace.api.jobs.port import Task
from headrace.api.sites.strange_nodes import StrangeNode
from headrace.api.store_trouble import log_trouble
from headrace.engine import (
    AttemptEnded,
    AttemptProgress,
    EngineError,
    HubEvent,
    JoinRequested,
    NodeAttached,
    NodeDetached,
    NodeRefused,
    NodeSpace,
)

_log = logging.getLogger(__name__)

_NODE = "node"
_JOIN = "join"
_REFUSED = "refused"
_PAUSE_S = 1.0


class HubEvents:
    """Hears what the nodes say."""

    def __init__(self, core: Core, use_cases: UseCases) -> None:
        """Pass events on to `use_cases`."""
        self._core = core
        self._do = use_cases
        self._news: dict[str, NodeAttached | NodeDetached] = {}
        self._joins: dict[str, JoinRequested] = {}
        self._refused: dict[str, NodeRefused] = {}
        core.jobs.add(Task(_NODE, self._on_node, max_retry_s=5))
        core.jobs.add(Task(_JOIN, self._on_join, max_retry_s=5))
        core.jobs.add(Task(_REFUSED, self._on_refused, max_retry_s=5))

    async def follow(self) -> None:
        """Hear events until the hub is closed."""
        waiting: deque[HubEvent] = deque()
        while True:
            try:
                if not waiting:
                    waiting.extend(await self._core.hub.next_events())
                    if not waiting:
                        return
                self.take(waiting.popleft())
            except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001 - the loop's boundary; a panic of the engine is no `Exception`
                log_trouble(_log, "an event of the hub could not be handled", error)
                await asyncio.sleep(_PAUSE_S)

    def take(self, event: HubEvent) -> None:
        """Note an event, or leave it to a job."""
        match event:
            case JoinRequested():
                self._joins[event.request] = event
                self._core.jobs.wake(_JOIN, event.request)
            case NodeAttached() | NodeDetached():
                self._news[event.node] = event
                self._core.jobs.wake(_NODE, event.node)
            case NodeSpace():
                self._do.nodes.on_space(event)
            case NodeRefused():
                # Anybody can make keys and be refused: only nodes that have joined are worth a look into the store.
                if self._do.nodes.has_joined(event.node):
                    self._refused[event.node] = event
                    self._core.jobs.wake(_REFUSED, event.node)
                else:
                    self._do.nodes.strange.note(event.code, StrangeNode(event.node, event.address, event.reason))
            case AttemptProgress():
                if self._do.scheduler.on_progress(event):
                    self._core.broker.notify(progress_of(event.transfer))
            case AttemptEnded():
                self._do.scheduler.on_ended(event)

    async def _on_node(self, key: str) -> datetime | None:
        event = self._news.get(key)
        if event is None:
            return None
        wait: timedelta | None = None
        if isinstance(event, NodeAttached):
            # Its endpoints first: whoever sees it attached finds them.
            wait = await self._do.endpoints.on_attached(event)
            await self._do.nodes.on_attached(event)
            self._do.cleanup.wake()
            self._do.trashes.wake(key)
        else:
            await self._do.nodes.on_detached(key)
        if self._news.get(key) is event and wait is None:
            del self._news[key]
        self._do.scheduler.on_nodes_changed(key)
        return None if wait is None else self._core.clock() + wait

    async def _on_refused(self, key: str) -> datetime | None:
        event = self._refused.get(key)
        if event is not None:
            await self._do.nodes.on_refused(event.node, event.code, event.reason, event.address)
            if self._refused.get(key) is event:
                del self._refused[key]
        return None

    async def _on_join(self, request: str) -> datetime | None:
        event = self._joins.get(request)
        if event is not None:
            try:
                await self._do.nodes.on_join(event)
            except EngineError as error:
                _log.info("node %s went away before its join was answered: %s", event.node, error)
            self._joins.pop(request, None)
        return None
