"""A hub with an authority, and nodes that joined it, all in this process over loopback."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pytest

from headrace.engine import (
    AttemptEnded,
    AttemptProgress,
    Hub,
    HubEvent,
    JoinRequested,
    Node,
    NodeAttached,
    NodeDetached,
    Survey,
)
from headrace.guardrails import SigningKey, canonical, seal, utc_text

LIMIT_S = 60
SECRET = "one-time"  # noqa: S105 - the tests' own
NO_LIST = {"count": "0", "digest": sha256(b"").hexdigest()}
Body = dict[str, Any]
Event = TypeVar("Event", JoinRequested, NodeAttached, NodeDetached, AttemptProgress, AttemptEnded)


@dataclass
class TestNode:
    """A node and the folder of its root `data`."""

    __test__ = False
    node: Node
    root: Path

    @property
    def key(self) -> str:
        return self.node.key


@dataclass
class Site:
    """Everything of a small installation, below one folder."""

    folder: Path
    hub: Hub
    authority: SigningKey
    nodes: list[TestNode] = field(default_factory=list)
    seen: list[HubEvent] = field(default_factory=list)
    waiting: deque[HubEvent] = field(default_factory=deque)

    async def next(self, kind: type[Event], fits: Callable[[Event], bool] = lambda _: True) -> Event:
        """Return the next event of this kind that fits; others are remembered in `seen`."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                if not self.waiting:
                    self.waiting.extend(await self.hub.next_events())
                assert self.waiting, "the hub is closed"
                event = self.waiting.popleft()
                self.seen.append(event)
                if isinstance(event, kind) and fits(event):
                    return event

    async def node(self, name: str, *, data_listen: str = "127.0.0.1:0") -> TestNode:
        """Start a node that joins; its root may be read, written and deleted in."""
        root = self.folder / name
        root.mkdir(exist_ok=True)
        start = Node.start(
            state_dir=str(self.folder / f"{name}-state"),
            name=name,
            roots=[("data", str(root), "delete")],
            data_listen=data_listen,
            join_token=self.hub.join_token(secret=SECRET),
        )
        node, _ = await asyncio.gather(start, self._welcome())
        await self.next(NodeAttached, lambda event: event.node == node.key)
        self.nodes.append(TestNode(node, root))
        return self.nodes[-1]

    async def _welcome(self) -> None:
        request = await self.next(JoinRequested)
        assert request.secret == SECRET
        await self.hub.answer_join(request.request, accepted=True, authority=self.authority.public)

    def folder_of(self, transfer: str, end: str) -> str:
        path = self.folder / f"{transfer}-{end}"
        path.mkdir(exist_ok=True)
        return str(path)

    def permit(self, node: TestNode) -> str:
        body = {
            "id": "pm_1",
            "person": "ada",
            "node": node.key,
            "root": "data",
            "path": [],
            "max_entries": "1000000",
            "max_seconds": "60",
            **validity(timedelta(minutes=10)),
            **RESERVED,
        }
        return seal("permit", body, self.authority).text

    def ticket(self, transfer: str, execution: Body, attempt: int = 1, minutes: float = 15, **changes: object) -> str:
        body = {
            "id": f"tk_{transfer}_{attempt}",
            "plan_digest": sha256(canonical(execution)).hexdigest(),
            "transfer": transfer,
            "attempt": str(attempt),
            "shard": {"fence": "1", "number": "0"},
            "person": "ada",
            "source_node": execution["source"]["node"],
            "destination_node": execution["destination"]["node"],
            "execution": execution,
            "rate_ceiling_bps": None,
            "only_failed": False,
            **validity(timedelta(minutes=minutes)),
            **RESERVED,
            **changes,
        }
        return seal("ticket", body, self.authority).text

    async def plan(
        self, transfer: str, source: TestNode, destination: TestNode, /, **rules: object
    ) -> tuple[Body, Survey]:
        """Survey what a draft would touch and return the execution that was surveyed."""
        draft = execution(source, destination, **rules)
        survey = await self.hub.survey(
            source_permit=self.permit(source),
            destination_permit=self.permit(destination),
            execution=canonical(draft).decode(),
            lists_dir=self.folder_of(transfer, "lists"),
        )
        found = {
            "overwrites": {"count": str(survey.overwrites), "digest": survey.overwrites_digest},
            "deletes": {"count": str(survey.deletes), "digest": survey.deletes_digest},
        }
        return draft | found, survey

    async def start(self, transfer: str, ticket: str, share: str = "") -> None:
        lists, results = self.folder_of(transfer, "lists"), self.folder_of(transfer, "results")
        await self.hub.start_attempt(ticket=ticket, lists_dir=lists, result_dir=results, share=share)

    async def ended(self, transfer: str) -> AttemptEnded:
        return await self.next(AttemptEnded, lambda event: event.transfer == transfer)

    def last_progress(self, transfer: str) -> AttemptProgress:
        """Return what was told last; before an end, that is what the destination had counted then."""
        return [event for event in self.seen if isinstance(event, AttemptProgress) and event.transfer == transfer][-1]

    async def run(self, transfer: str, source: TestNode, destination: TestNode, /, **rules: object) -> AttemptEnded:
        """Survey, start, and wait for the end."""
        surveyed, _ = await self.plan(transfer, source, destination, **rules)
        await self.start(transfer, self.ticket(transfer, surveyed))
        return await self.ended(transfer)


RESERVED = {"site": "", "project": "", "local_account": ""}


def validity(length: timedelta) -> Body:
    now = datetime.now(UTC)
    return {"not_before": utc_text(now), "expires": utc_text(now + length)}


def execution(source: TestNode, destination: TestNode, /, **rules: object) -> Body:
    """A copy of everything below the source's root to below the destination's."""
    filters: Body = {"include": [], "exclude": [], "min_size": None, "max_size": None}
    filters |= {"modified_after_ns": None, "modified_before_ns": None}
    return {
        "action": "copy",
        "source": {"node": source.key, "root": "data", "path": []},
        "destination": {"node": destination.key, "root": "data", "path": []},
        "filters": filters,
        "on_conflict": "fail",
        "compare": "size-mtime",
        "preserve": ["mode", "mtime"],
        "verify": "in-transit",
        "checksums": [],
        "encryption": "required",
        "delete_source": False,
        "delete_extraneous": False,
        "max_files": "1000000",
        "max_bytes": str(1 << 40),
        "max_entries": "1000000",
        "overwrites": NO_LIST,
        "deletes": NO_LIST,
        "rate_ceiling_bps": None,
        "qos_class": "bulk",
        **rules,
    }


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    hub = await Hub.start(listen="127.0.0.1:0", state_dir=str(tmp_path / "hub"))
    site = Site(tmp_path, hub, SigningKey.from_seed(bytes(32)))
    yield site
    for node in site.nodes:
        await node.node.close()
    await hub.close()
