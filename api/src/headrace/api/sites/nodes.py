"""Nodes: how they join, whether they are attached, and whether they may be given work."""

import hashlib
import logging
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import bindparam, func, or_, select, update

from headrace.api.caller import Caller
from headrace.api.clock_doubt import Votes
from headrace.api.core import Core
from headrace.api.errors import AuditUnwritable, Code, ServiceError
from headrace.api.paging import page_of
from headrace.api.settings import ANY_HOST
from headrace.api.sites import node_keys
from headrace.api.sites.node_host import host_of
from headrace.api.sites.other_hosts import elsewhere, is_loopback, only_there
from headrace.api.sites.strange_nodes import StrangeNode, StrangeNodes
from headrace.api.store import Database, Tx, after_commit
from headrace.api.store.beginnings import begun_by
from headrace.api.store.tables_site import JoinTokenRow, NodeRow
from headrace.client import models as m
from headrace.client.text import plural
from headrace.engine import JoinRequested, NodeAttached, NodeRoot, NodeSpace, RootSpace
from headrace.guardrails import MAX_CLOCK_SKEW_MS, new_id

_log = logging.getLogger(__name__)

SAID_CLOCK_SKEW_MS = 5_000
_CLOCK_SKEW = "clock_skew"
"""The engine's code of a refusal."""
"""A clock further away is named in the table of nodes."""

NODES = "nodes"
"""The broker's subject for nodes that come and go."""

_SECRET_BYTES = 32
_BY_KEY = select(NodeRow).where(NodeRow.key.in_(bindparam("of_keys", expanding=True)))
_SEEN = update(NodeRow).where(NodeRow.key.in_(bindparam("of_keys", expanding=True))).values(last_seen=bindparam("now"))
PRESENT_S: Final = 60
"""How often it is noted which nodes are attached."""
_REFUSED_AGAIN = timedelta(hours=1)
"""How often the same refusal of the same node is audited at most."""


@dataclass(frozen=True, slots=True)
class RefusedNode:
    """Why a node may not attach, and since when."""

    code: str
    reason: str
    since: datetime
    audited: datetime | None
    address: str

    def __str__(self) -> str:
        """Say it as people see it."""
        return f"refused: {self.reason}, since {self.since:%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class StateTrouble:
    """Why a node could not use its own state folder when it was to work last, and since when."""

    reason: str
    since: datetime

    def __str__(self) -> str:
        """Say it as people see it."""
        return f"it can't use its state folder, since {self.since:%Y-%m-%d %H:%M:%S} UTC: {self.reason}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the limits on endpoints leave out of a node's roots, and since when."""

    reason: str
    what_to_do: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Space:
    """What was free below a root when its node measured it last, and when that was said."""

    free_bytes: int
    total_bytes: int
    at: datetime


_IDS: Final = "nd_"
"""What the ids of nodes begin with."""


async def enrolled_keys(database: Database) -> Sequence[str]:
    """Return the keys of all nodes that joined before and were not revoked."""
    return [key for (key,) in await database.ask(select(NodeRow.key).where(NodeRow.state != "revoked"))]


class Nodes:
    """Enrolment and live state of the site's nodes."""

    def __init__(self, core: Core, authority: str) -> None:
        """Serve the nodes of the hub; those that join accept tickets by the key `authority`."""
        self._core = core
        self._authority = authority
        self._attached: dict[str, NodeAttached] = {}
        self._announced: dict[str, datetime] = {}
        self._spaces: dict[str, dict[str, Space]] = {}
        self._joined: set[str] = set()
        self._names: dict[str, str] = {}
        self._refused: dict[str, RefusedNode] = {}
        self._state_troubles: dict[str, StateTrouble] = {}
        self._left_out: dict[str, LeftOut] = {}
        self.strange = StrangeNodes(core.clock)
        core.jobs.every("note which nodes are attached", PRESENT_S, self.note_present)

    # -- live state (kept from the hub's events) --

    async def learn_known(self) -> None:
        """Learn which nodes joined before: those that were not revoked may attach already (`enrolled_keys`)."""
        async with self._core.database.read() as tx:
            for key, name in await tx.execute(select(NodeRow.key, NodeRow.name)):
                self._joined.add(key)
                self._names[key] = name

    def has_joined(self, key: str) -> bool:
        """Whether a node with this key joined once; it may be revoked."""
        return key in self._joined

    async def on_refused(self, key: str, code: str, reason: str, address: str = "") -> None:
        """Note why a node was refused; the audit log has it when the reason is another, or an hour old."""
        now, before = self._core.clock(), self._refused.get(key)
        same = before is not None and before.code == code
        audited = before.audited if before is not None and same else None
        due = audited is None or now - audited >= _REFUSED_AGAIN
        refused = RefusedNode(
            code=code,
            reason=reason,
            since=before.since if before is not None and same else now,
            audited=now if due else audited,
            address=address,
        )
        async with self._core.database.write() as tx:
            row = await tx.scalar(select(NodeRow).where(NodeRow.key == key))
            if row is None:
                return
            row.last_seen = now
            if row.state == "revoked":
                self.strange.note(code, StrangeNode(key, address, reason, row.name))
            after_commit(tx, lambda: self._note_refused(key, refused))
            if due:
                detail = {"reason": f"{code}: {reason}"}
                await self._core.audit.append(tx, m.AuditKind.NODE_REFUSED, subject=row.id, detail=detail)
                await self._core.outbox.write(tx, m.ChangeKind.NODE, row.id, "detached")

    def _note_refused(self, key: str, refused: RefusedNode) -> None:
        self._refused[key] = refused
        self._core.broker.notify(NODES)

    def refused(self, key: str) -> RefusedNode | None:
        """Return why the node was refused when it last asked, unless it has attached since."""
        return self._refused.get(key)

    async def on_attached(self, event: NodeAttached) -> None:
        """Note that an enrolled node attached, or changed its roots; one that is not ours is not noted."""
        async with self._core.database.write() as tx:
            row = await tx.scalar(select(NodeRow).where(NodeRow.key == event.node))
            if row is None or row.state == "revoked":
                return
            row.version, row.last_seen = event.version, self._core.clock()
            name = row.name
            after_commit(tx, lambda: self._note(event, name))
            await self._core.outbox.write(tx, m.ChangeKind.NODE, row.id, "attached")

    async def on_detached(self, key: str) -> None:
        """Note that a node's control stream ended."""
        self._attached.pop(key, None)
        self._left_out.pop(key, None)
        self._spaces.pop(key, None)
        self._core.broker.notify(NODES)
        async with self._core.database.write() as tx:
            row = await tx.scalar(select(NodeRow).where(NodeRow.key == key))
            if row is not None:
                row.last_seen = self._core.clock()
                await self._core.outbox.write(tx, m.ChangeKind.NODE, row.id, "detached")

    async def note_present(self) -> None:
        """Keep that nodes are attached: of a service that dies, the next one says since when they are away."""
        if self._attached:
            async with self._core.database.write() as tx:
                await tx.execute(_SEEN, {"of_keys": list(self._attached), "now": self._core.clock()})

    def on_space(self, event: NodeSpace) -> None:
        """Note what an attached node says is free below its roots now."""
        if event.node in self._attached:
            self._measured(event.node, event.roots)
            self._core.broker.notify(NODES)

    def _measured(self, key: str, roots: Sequence[NodeRoot | RootSpace]) -> None:
        spaces, now = self._spaces.setdefault(key, {}), self._core.clock()
        spaces |= {root.name: Space(root.free_bytes, root.total_bytes, now) for root in roots}

    def space(self, key: str, root: str) -> Space | None:
        """Return what is free below a root of an attached node, as it said last; nothing where it can't tell."""
        space = self._spaces.get(key, {}).get(root)
        return space if space is not None and space.total_bytes else None

    def announced(self, key: str) -> datetime | None:
        """Return when a node attached here, or last told of its roots."""
        return self._announced.get(key)

    def _note(self, event: NodeAttached, name: str) -> None:
        before = self._attached.get(event.node)
        self._attached[event.node], self._names[event.node] = event, name
        # What is told again because a clock changed was not measured anew.
        known = self._spaces.get(event.node, {})
        self._measured(event.node, [root for root in event.roots if not _is_as(root, known.get(root.name))])
        self._announced[event.node] = self._core.clock()
        if before is None or before.data_addresses != event.data_addresses:
            self._say_unreached(event.node)
        self._refused.pop(event.node, None)
        self.strange.forget(event.node)
        self._core.broker.notify(NODES)

    def _say_unreached(self, came: str) -> None:
        """Write to the log which nodes others elsewhere can't reach, when one attaches that makes it matter."""
        for key, live in self._attached.items():
            new = key == came or elsewhere(self._attached[came].data_addresses)
            if new and only_there(live.data_addresses) and self._has_others_elsewhere(key):
                _log.warning("%s", self._unreached(key, live))

    def on_state_failed(self, key: str, reason: str) -> str:
        """Note as its last word that a node could not use its own state folder; returns that with the node's name."""
        before = self._state_troubles.get(key)
        self._state_troubles[key] = StateTrouble(reason, before.since if before else self._core.clock())
        self._core.broker.notify(NODES)
        return f"node `{self._names.get(key, key)}`: {reason}"

    def on_worked(self, *keys: str) -> None:
        """Note that these nodes worked: what was said of their state folders is over."""
        for key in keys:
            if self._state_troubles.pop(key, None) is not None:
                self._core.broker.notify(NODES)

    def state_trouble(self, key: str) -> StateTrouble | None:
        """Return why a node can't use its state folder, if that was its last word."""
        return self._state_troubles.get(key)

    def on_left_out(self, key: str, reason: str, what_to_do: str) -> None:
        """Note what is left out of a node's roots, or that nothing is (no reason); the node writes it to its log."""
        before = self._left_out.pop(key, None)
        if reason:
            since = before.since if before else self._core.clock()
            self._left_out[key] = LeftOut(reason, what_to_do, since)
        if reason and (before is None or before.reason != reason):
            _log.warning("node `%s`: %s; %s", self._names.get(key, key), reason, what_to_do)
            self._core.hub.notice(node=key, text=f"{reason}; {what_to_do}")

    def left_out(self, key: str) -> LeftOut | None:
        """Return what is left out of a node's roots, if anything is."""
        return self._left_out.get(key)

    def attached(self, key: str) -> NodeAttached | None:
        """Return the node's last announcement while it is attached."""
        return self._attached.get(key)

    @property
    def names(self) -> Mapping[str, str]:
        """Names of nodes by their keys: what people call those that errors name by key."""
        return self._names

    @property
    def attached_keys(self) -> frozenset[str]:
        """Keys of the nodes that are attached."""
        return frozenset(self._attached)

    @property
    def clock_skews_ms(self) -> list[int]:
        """How far the clock of each attached node is ahead of the service's."""
        return [live.clock_skew_ms for live in self._attached.values()]

    def clock_votes(self) -> Votes:
        """Count what the clocks of nodes say of this host's; a node on this host goes by the same clock."""
        live = self._attached.values()
        agree = sum(abs(one.clock_skew_ms) <= MAX_CLOCK_SKEW_MS and elsewhere(one.data_addresses) for one in live)
        away = sum(abs(one.clock_skew_ms) > MAX_CLOCK_SKEW_MS for one in live)
        return Votes(agree, away + sum(one.code == _CLOCK_SKEW for one in self._refused.values()))

    @property
    def attached_count(self) -> int:
        """How many nodes are attached."""
        return len(self._attached)

    async def absence(self, tx: Tx, key: str) -> str:
        """Say why a node can't be reached now; empty when it is attached. A revoked or unknown one is refused."""
        if key in self._attached:
            return ""
        try:
            await self.require_usable(tx, key)
        except ServiceError as error:
            if error.code in {Code.NODE_REVOKED, Code.UNKNOWN_NODE}:
                raise
            return error.detail
        return ""

    async def require_usable(self, tx: Tx, *keys: str) -> dict[str, NodeAttached]:
        """Return the live state of each of these nodes by its key, or refuse: the first that may not be given work."""
        rows = {row.key: row for row in await tx.scalars(_BY_KEY, {"of_keys": keys})}
        for key in set(keys) - set(rows):
            former = await node_keys.retired(tx, key)
            if former is not None:
                raise ServiceError(
                    Code.NODE_REVOKED,
                    f"node `{former.node_name}` had the key `{key}` until {former.at:%Y-%m-%d %H:%M} UTC; plan again",
                )
        return {key: self._usable(key, rows.get(key)) for key in keys}

    def _usable(self, key: str, row: NodeRow | None) -> NodeAttached:
        if row is None:
            raise ServiceError(
                Code.UNKNOWN_NODE, f"no node with key `{key}` has joined; list them with `headrace nodes`"
            )
        if row.state == "revoked":
            raise ServiceError(
                Code.NODE_REVOKED,
                f"node `{row.name}` was revoked; remove it with `headrace ca remove`, and let it join with a new token "
                "and another key",
            )
        if row.state == "draining":
            raise ServiceError(
                Code.NODE_DRAINING,
                f"node `{row.name}` is draining and takes no new work; ask an operator when it is back",
            )
        live = self._attached.get(key)
        if live is None:
            refused = self._refused.get(key)
            raise ServiceError(
                Code.NODE_AWAY,
                f"node `{row.name}` is not attached: it was {refused}"
                if refused
                else f"node `{row.name}` is not attached; start `headrace-node run` on its host, or wait for it",
            )
        if abs(live.clock_skew_ms) > MAX_CLOCK_SKEW_MS:
            raise ServiceError(
                Code.NODE_CLOCK_SKEWED,
                f"the clock of node `{row.name}` is {_apart(live.clock_skew_ms)}; at most "
                f"{MAX_CLOCK_SKEW_MS // 1000} s are allowed: set up time synchronisation on both",
            )
        return live

    # -- joining --

    async def check_joining(self, request: m.JoinTokenRequest) -> None:
        """Refuse what `create_join_token` would refuse, before a proof is asked for."""
        async with self._core.database.read() as tx:
            await self._require_free_name(tx, request.name)

    async def check_rotating(self, node: str) -> None:
        """Refuse what `rotate` would refuse, before a proof is asked for."""
        async with self._core.database.read() as tx:
            await self._rotating(tx, node)

    async def create_join_token(self, caller: Caller | None, request: m.JoinTokenRequest) -> m.JoinToken:
        """Make a one-time token with which one node may join under `request.name`."""
        async with self._core.database.write() as tx:
            await self._require_free_name(tx, request.name)
            return await self._make_token(tx, caller, request.name, request.valid_s)

    async def rotate(self, caller: Caller, node: str, request: m.RotationRequest) -> m.JoinToken:
        """Make a one-time token with which this node takes another key."""
        async with self._core.database.write() as tx:
            row = await self._rotating(tx, node)
            return await self._make_token(tx, caller, row.name, request.valid_s, replaces=row.id)

    async def _rotating(self, tx: Tx, node: str) -> NodeRow:
        row = await self._row(tx, node)
        if row.state == "revoked":
            raise ServiceError(
                Code.NODE_REVOKED, f"node `{row.name}` was revoked; remove it, and let it join with a new token"
            )
        return row

    async def _make_token(
        self, tx: Tx, caller: Caller | None, name: str, valid_s: int, *, replaces: str | None = None
    ) -> m.JoinToken:
        now, secret, token_id = self._core.clock(), secrets.token_urlsafe(_SECRET_BYTES), new_id("jt")
        expires = now + timedelta(seconds=valid_s)
        tx.add(
            JoinTokenRow(
                id=token_id,
                name=name,
                secret_hash=_hash(secret),
                made_by=caller.principal.id if caller else None,
                created=now,
                expires=expires,
                replaces=replaces,
            )
        )
        detail = {"name": name} | ({"replaces": replaces} if replaces else {})
        await self._core.audit.append(tx, m.AuditKind.JOIN_TOKEN_MADE, caller=caller, subject=token_id, detail=detail)
        hub = self._core.hub
        token = hub.join_token(secret=secret, address=self._core.settings.hub_told(hub.address))
        join = (
            f"headrace-node join {token} --name {shlex.quote(name)} --root NAME=/path:write "
            "--data-listen 0.0.0.0:8472 --data-advertise HOST:8472"
        )
        commands = [join, "headrace-node run"]
        return m.JoinToken(token=token, name=name, expires=expires, commands=commands, only_here=self._only_here())

    def _only_here(self) -> str:
        """Say what stands against nodes on other hosts, or nothing."""
        at = self._core.settings.hub_told(self._core.hub.address)
        host = at.rpartition(":")[0]
        if host in ANY_HOST:
            return (
                f"Only this host reaches the service at {at}, which names no host. Start it with `--hub-advertise "
                "HOST:PORT`, HOST being this host's name for the others, and make another token."
            )
        if is_loopback(host):
            return (
                f"Only this host reaches the service at {at}. For nodes on other hosts, start it with `--hub-listen "
                "0.0.0.0:8471 --hub-advertise HOST:8471`, HOST being this host's name there (a unit: "
                "`HEADRACE_HUB_LISTEN` and `HEADRACE_HUB_ADVERTISE` in its settings), and make another token."
            )
        return " ".join(self._unreached(key, live) for key, live in self._attached.items() if self._is_own(key, live))

    def _is_own(self, key: str, live: NodeAttached) -> bool:
        """Whether this is the service's own node, and no node elsewhere can be told where it takes data."""
        return self._names.get(key) == self._core.settings.node_name and only_there(live.data_addresses)

    def _unreached(self, key: str, live: NodeAttached) -> str:
        """Say that a node takes data where its own host alone can bring it, and what to do."""
        own = self._is_own(key, live)
        what = "start the service" if own else "start it"
        unit = " (a unit: `HEADRACE_NODE_DATA_LISTEN` in its settings)" if own else ""
        return (
            f"Node `{self._names.get(key, key)}` takes data at {', '.join(live.data_addresses)}, where only its own "
            f"host reaches it: {what} with `--data-listen ADDRESS:8472`{unit}, ADDRESS being one of its host that the "
            "others reach."
        )

    def _has_others_elsewhere(self, key: str) -> bool:
        return any(one != key and elsewhere(live.data_addresses) for one, live in self._attached.items())

    async def on_join(self, event: JoinRequested) -> None:
        """Judge a join request and answer it."""
        try:
            reason = await self._judge_join(event)
        except AuditUnwritable as error:
            reason = error.detail
        accepted = not reason
        if accepted:
            self._joined.add(event.node)
            self._core.hub.enroll(event.node)
        authority = self._authority if accepted else ""
        await self._core.hub.answer_join(event.request, accepted=accepted, reason=reason, authority=authority)

    async def _judge_join(self, event: JoinRequested) -> str:
        """Return why a node may not join, or nothing: its token is used up in one update, good for one node only."""
        now = self._core.clock()
        good = (
            JoinTokenRow.secret_hash == _hash(event.secret),
            or_(JoinTokenRow.used_at.is_(None), JoinTokenRow.used_by == event.node),
            JoinTokenRow.expires > now,
        )
        # Looked at first: whoever reaches the hub can ask as often as they like, and a refusal takes nobody's turn.
        async with self._core.database.read() as tx:
            reason = await self._join_problem(tx, await tx.scalar(select(JoinTokenRow).where(*good)), event)
        if reason:
            detail = {"reason": reason}
            await self._core.strangers.refused(m.AuditKind.NODE_REFUSED, subject=event.node, detail=detail)
            return reason
        async with self._core.database.write() as tx:
            used = await tx.scalar(
                update(JoinTokenRow).where(*good).values(used_at=now, used_by=event.node).returning(JoinTokenRow)
            )
            reason = await self._join_problem(tx, used, event)
            if used is None or reason:
                await self._core.audit.append(
                    tx, m.AuditKind.NODE_REFUSED, subject=event.node, detail={"reason": reason}
                )
                return reason
            known = await tx.scalar(select(NodeRow).where(NodeRow.key == event.node))
            if known is None and used.replaces is not None:
                await self._take_over(tx, used.replaces, event.node)
            elif known is None:
                node_id = new_id("nd")
                tx.add(NodeRow(id=node_id, name=used.name, key=event.node, state="enrolled", enrolled=now))
                await self._core.audit.append(
                    tx, m.AuditKind.NODE_JOINED, subject=node_id, detail={"name": used.name, "key": event.node}
                )
                await self._core.outbox.write(tx, m.ChangeKind.NODE, node_id, "enrolled")
        return ""

    async def _take_over(self, tx: Tx, node: str, key: str) -> None:
        """Let the key that joined take the place of the node's key, which is shut out at once."""
        row = (await tx.scalars(select(NodeRow).where(NodeRow.id == node))).one()
        name, old = row.name, row.key
        await node_keys.take_over(tx, self._core, row, key)
        detail = {"name": name, "key": key, "former_key": old}
        await self._core.audit.append(tx, m.AuditKind.NODE_KEY_ROTATED, subject=node, detail=detail)
        await self._core.outbox.write(tx, m.ChangeKind.NODE, node, "enrolled")
        after_commit(tx, lambda: self._shut_out(old))

    async def _join_problem(self, tx: Tx, token: JoinTokenRow | None, event: JoinRequested) -> str:
        if token is None:
            return "the join token is unknown, used up or expired; ask an operator for a new one"
        if await node_keys.retired(tx, event.node) is not None:
            return "this key was taken from a node; remove the state folder to make a new one"
        known = await tx.scalar(select(NodeRow).where(NodeRow.key == event.node))
        if token.replaces is not None:
            return await self._rotation_problem(tx, token, known)
        if known is not None:
            return (
                "this node was revoked; remove its state folder to make a new key" if known.state == "revoked" else ""
            )
        return await self._newcomer_problem(tx, token, event.name)

    async def _newcomer_problem(self, tx: Tx, token: JoinTokenRow, name: str) -> str:
        """Return why the site takes no further node of this token's name, or this one not by that."""
        if name != token.name:
            return f"this token is for a node named `{token.name}`: join with `--name {token.name}`"
        if await tx.scalar(select(NodeRow.id).where(NodeRow.name == token.name)):
            return f"a node named `{token.name}` has joined meanwhile; ask an operator for a token with another name"
        count = await tx.scalar(select(func.count()).select_from(NodeRow).where(NodeRow.state != "revoked"))
        if (count or 0) >= self._core.settings.max_nodes:
            return f"this site holds at most {plural(self._core.settings.max_nodes, 'node')} (HEADRACE_MAX_NODES)"
        return ""

    async def _rotation_problem(self, tx: Tx, token: JoinTokenRow, known: NodeRow | None) -> str:
        """Return why a token of a rotation is not good for whoever has the key of `known`."""
        if known is not None:
            # The answer to the first try may have been lost: the same key asks again.
            again = known.id == token.replaces and token.used_by == known.key and known.state != "revoked"
            return "" if again else "this key belongs to a node already; the token is for a new one"
        replaced = await tx.scalar(select(NodeRow).where(NodeRow.id == token.replaces))
        if replaced is None or replaced.state == "revoked":
            return f"the node `{token.name}` was revoked or removed meanwhile; ask an operator for a new token"
        return ""

    async def _require_free_name(self, tx: Tx, name: str) -> None:
        if await tx.scalar(select(NodeRow.id).where(NodeRow.name == name)):
            raise ServiceError(
                Code.NAME_TAKEN,
                f"a node named `{name}` has joined already; choose another name, or, if that node has lost its state "
                f"folder, make it a new token with `headrace ca rotate {name}`",
                fields=("name",),
            )

    # -- for people --

    async def away(self) -> Sequence[str]:
        """Name the nodes that have joined, were not revoked, and are not attached now."""
        joined = select(NodeRow.name, NodeRow.key).where(NodeRow.state != "revoked").order_by(NodeRow.name)
        async with self._core.database.read() as tx:
            return [name for name, key in await tx.execute(joined) if key not in self._attached]

    async def page(self, running: dict[str, int], *, after: str | None, limit: int) -> m.Page[m.Node]:
        """List nodes by name, after the name `after`, with their live state; `running` counts transfers by node key.

        So many may join (`max_nodes`), but those that were revoked stay until somebody removes them.
        """
        query = select(NodeRow).order_by(NodeRow.name).limit(limit + 1)
        if after is not None:
            query = query.where(NodeRow.name > after)
        async with self._core.database.read() as tx:
            shown = [self._view(row, running.get(row.key, 0)) for row in await tx.scalars(query)]
        return page_of(shown, limit, lambda node: node.name)

    async def host(self, node: str, to: str | None) -> m.NodeHost:
        """Ask a node what its host is like, and for its route to the IP address `to`."""
        async with self._core.database.read() as tx:
            row = await self._row(tx, node)
        if row.state == "revoked":
            raise ServiceError(Code.NODE_REVOKED, f"node `{row.name}` was revoked; the service asks it nothing")
        return await host_of(self._core.hub, row, to)

    async def drain(self, caller: Caller, node: str, running: dict[str, int], *, drain: bool) -> m.Node:
        """Stop giving new work to a node, or start again; `running` counts transfers by node key."""
        async with self._core.database.write() as tx:
            row = await self._row(tx, node)
            if row.state == "revoked":
                raise ServiceError(Code.NODE_REVOKED, f"node `{row.name}` was revoked; it takes no work anyway")
            row.state = "draining" if drain else "enrolled"
            kind = m.AuditKind.NODE_DRAINED if drain else m.AuditKind.NODE_UNDRAINED
            await self._core.audit.append(tx, kind, caller=caller, subject=row.id, detail={"name": row.name})
            await self._core.outbox.write(tx, m.ChangeKind.NODE, row.id, row.state)
            after_commit(tx, self._core.reactions.tell)
            return self._view(row, running.get(row.key, 0))

    async def revoke(self, caller: Caller, node: str, running: dict[str, int]) -> m.Node:
        """End a node's membership for good; what runs there, counted by node key in `running`, stops."""
        async with self._core.database.write() as tx:
            row = await self._row(tx, node)
            row.state = "revoked"
            await self._core.audit.append(
                tx, m.AuditKind.NODE_REVOKED, caller=caller, subject=row.id, detail={"name": row.name}
            )
            await self._core.outbox.write(tx, m.ChangeKind.NODE, row.id, row.state)
            after_commit(tx, lambda: self._shut_out(row.key))
        return self._view(row, running.get(row.key, 0))

    async def remove(self, caller: Caller, node: str) -> m.Node:
        """Forget a revoked node, so that its name and those of its endpoints are free; its key stays refused."""
        async with self._core.database.write() as tx:
            row = await self._removable(tx, node)
            detail = {"name": row.name, "key": row.key}
            await self._core.audit.append(tx, m.AuditKind.NODE_REMOVED, caller=caller, subject=row.id, detail=detail)
            await self._core.outbox.write(tx, m.ChangeKind.NODE, row.id, "removed")
            view = self._view(row, 0)
            await node_keys.remove(tx, self._core, row)
            return view

    async def check_removing(self, node: str) -> None:
        """Refuse what `remove` would refuse, before a proof is asked for."""
        async with self._core.database.read() as tx:
            await self._removable(tx, node)

    async def _removable(self, tx: Tx, node: str) -> NodeRow:
        row = await self._row(tx, node)
        if row.state != "revoked":
            raise ServiceError(Code.NODE_NOT_REVOKED, f"node `{row.name}` is a member; revoke it first, then remove it")
        return row

    def _shut_out(self, key: str) -> None:
        """Cut off a node that was revoked."""
        self._core.hub.revoke(key)
        self._attached.pop(key, None)
        self._core.reactions.tell()

    async def meant(self, node: str) -> tuple[str, str]:
        """Return the id of a node by its id, name or key, and all three, for a yes that is about this one alone."""
        async with self._core.database.read() as tx:
            row = await self._row(tx, node)
            return row.id, f"{row.id} {row.name} {row.key}"

    async def key_of(self, tx: Tx, node: str) -> tuple[str, str]:
        """Return the key and the name of a node by its id, name or key."""
        row = await self._row(tx, node)
        return row.key, row.name

    async def _row(self, tx: Tx, node: str) -> NodeRow:
        row = await tx.scalar(select(NodeRow).where(or_(NodeRow.id == node, NodeRow.name == node, NodeRow.key == node)))
        if row is None and node.startswith(_IDS):  # a name that nobody has is not the beginning of an id
            row = await begun_by(
                tx, select(NodeRow), NodeRow.id, node, prefix=_IDS, things="nodes", unknown=Code.UNKNOWN_NODE
            )
        if row is None:
            raise ServiceError(Code.UNKNOWN_NODE, f"no node `{node}`; list them with `headrace nodes`")
        return row

    def _view(self, row: NodeRow, running: int) -> m.Node:
        live = self._attached.get(row.key)
        state = row.state if row.state in {"draining", "revoked"} else "attached" if live else "detached"
        return m.Node(
            id=row.id,
            name=row.name,
            key=row.key,
            pin=node_keys.pin_of(row.key),
            enrolled=row.enrolled,
            version=row.version,
            state=state,
            detail=self._detail(row.key, live),
            roots=[root.name for root in live.roots] if live else [],
            data_addresses=list(live.data_addresses) if live else [],
            accepts_connections=live.accepts_connections if live else True,
            last_seen=self._core.clock() if live else row.last_seen,
            running_transfers=running,
        )

    def _detail(self, key: str, live: NodeAttached | None) -> str:
        """Say what is wrong with a node, in the table of nodes."""
        if live is None:
            return str(self._refused.get(key, ""))
        said = []
        if abs(live.clock_skew_ms) > SAID_CLOCK_SKEW_MS:
            without_work = ", so it gets no work" if abs(live.clock_skew_ms) > MAX_CLOCK_SKEW_MS else ""
            said.append(f"its clock is {_apart(live.clock_skew_ms)}{without_work}")
        if (trouble := self._state_troubles.get(key)) is not None:
            said.append(str(trouble))
        if (left := self._left_out.get(key)) is not None:
            said.append(f"{left.reason}; {left.what_to_do}")
        if only_there(live.data_addresses) and self._has_others_elsewhere(key):
            said.append(self._unreached(key, live))
        said += [f"its root `{root.name}` can't be opened: {root.reason}" for root in live.missing_roots]
        return "; ".join(said)


def _is_as(root: NodeRoot, known: Space | None) -> bool:
    return known is not None and (root.free_bytes, root.total_bytes) == (known.free_bytes, known.total_bytes)


def _apart(skew_ms: int) -> str:
    return f"{abs(skew_ms) / 1000:.0f} s {'ahead of' if skew_ms > 0 else 'behind'} the service's"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
