"""Events of the hub are followed whatever goes wrong with one of them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.app import hub_events
from headrace.api.app.hub_events import HubEvents
from headrace.engine import HubEvent


class Panic(BaseException):
    """What a panic of the engine is in Python: no `Exception`."""


class PanickingHub:
    """A hub whose next events are a panic, and then its end; a real one can't be made to panic."""

    def __init__(self) -> None:
        self.asked = 0

    async def next_events(self) -> list[HubEvent]:
        self.asked += 1
        if self.asked == 1:
            raise Panic
        return []


@pytest.mark.anyio
async def test_a_panic_of_the_engine_does_not_end_the_following_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_events, "_PAUSE_S", 0)
    hub = PanickingHub()
    core: Any = SimpleNamespace(hub=hub, jobs=SimpleNamespace(add=lambda _: None))
    use_cases: Any = None
    events = HubEvents(core, use_cases)
    async with asyncio.timeout(10):
        await events.follow()
    assert hub.asked == 2
