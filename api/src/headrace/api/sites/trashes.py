"""Letting nodes empty their trashes, by a time that nobody doubts: what is removed from one is gone for good.

A node is asked when it attaches and once an hour, and not while the clock of this host may be ahead: a node on the same
host goes by the same clock.
"""

import logging
from datetime import datetime, timedelta
from typing import Final

from headrace.api.core import Core
from headrace.api.jobs.port import Task
from headrace.api.sites.nodes import Nodes
from headrace.engine import EngineError

_log = logging.getLogger(__name__)

_EMPTY: Final = "empty trash"
_AGAIN: Final = timedelta(hours=1)


class Trashes:
    """Asks the nodes that are attached."""

    def __init__(self, core: Core, nodes: Nodes) -> None:
        """Ask the nodes of the hub."""
        self._core = core
        self._nodes = nodes
        core.jobs.add(Task(_EMPTY, self.empty))

    def wake(self, key: str) -> None:
        """Ask a node that has attached."""
        self._core.jobs.wake(_EMPTY, key)

    async def empty(self, key: str) -> datetime | None:
        """Ask a node, unless the time is doubted; says when to ask it again: the job."""
        if self._nodes.attached(key) is None:
            return None
        now = self._core.clock()
        if self._core.doubt.look() is None:
            try:
                await self._core.hub.empty_trash(node=key, until_ms=int(now.timestamp() * 1000))
            except EngineError as error:
                _log.info("node `%s` has not emptied its trashes yet: %s", self._nodes.names.get(key, key), error)
        return now + _AGAIN
