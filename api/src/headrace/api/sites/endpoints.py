"""Endpoints: names of roots. A name belongs to one (node key, root) for good; no other node can take it over."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Row, and_, bindparam, delete, func, or_, select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.paging import page_of
from headrace.api.sites.endpoint_pages import Sought, labels_text, searched
from headrace.api.sites.nodes import Nodes
from headrace.api.store import Tx, after_commit
from headrace.api.store.tables_site import AuditRow, EndpointNameRow, EndpointRow, HaltRow, NodeRow
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.store.ways import any_of
from headrace.auth import Limit, Scope, Throttle
from headrace.client import models as m
from headrace.client.text import plural
from headrace.engine import NodeAttached, NodeRoot
from headrace.guardrails import (
    Access,
    digest,
    endpoint_name_fault,
    new_id,
    path_text,
    read_path,
    shown,
)

MOST_OF_NODE: Final = 512
"""Most endpoints of one node, with those whose roots it has no longer: twice as many as it has roots."""
MOST_AN_HOUR: Final = 512
"""How many endpoints of one node are made, or get another access, in an hour; each is an event of the audit log."""
_HOUR: Final = timedelta(hours=1)
_RUNNING: Final = (m.TransferState.QUEUED, m.TransferState.RUNNING, m.TransferState.WAITING, m.TransferState.PAUSED)
_TRIED_AGAIN: Final = (m.TransferState.PARTIAL, m.TransferState.FAILED)
_LABEL = re.compile(r"[A-Za-z0-9][\w.@ /-]{0,119}")


@dataclass(frozen=True, slots=True)
class Known:
    """An endpoint as the registry holds it."""

    id: str
    aliases: tuple[str, ...]
    node_key: str
    node_name: str
    root: str
    access: Access
    labels: Mapping[str, str]
    folder_labels: Mapping[str, Mapping[str, str]]

    def is_named(self, name: str) -> bool:
        """Whether `name` is its id or an alias, whatever the case."""
        return name.casefold() in {known.casefold() for known in (self.id, *self.aliases)}


@dataclass(frozen=True, slots=True)
class Labelled:
    """What policy knows of an endpoint itself."""

    id: str
    labels: Mapping[str, str]
    folder_labels: Mapping[str, Mapping[str, str]]


@dataclass(slots=True)
class _Left:
    """How many roots of a node that attached are left out by the limits."""

    without_room: int = 0
    waiting: int = 0

    @property
    def reason(self) -> str:
        """Say it; nothing when none is."""
        said = []
        if self.without_room:
            said.append(
                f"{plural(self.without_room, 'root')} of it {'has' if self.without_room == 1 else 'have'} no endpoint: "
                f"a node has at most {MOST_OF_NODE}, with those whose roots it exports no longer"
            )
        if self.waiting:
            said.append(
                f"{plural(self.waiting, 'root')} of it {'waits' if self.waiting == 1 else 'wait'} for an endpoint or a "
                f"changed access: at most {MOST_AN_HOUR} endpoints of a node are made or changed in an hour"
            )
        return "; ".join(said)

    @property
    def what_to_do(self) -> str:
        """Say what ends it."""
        remove = "an administrator removes endpoints that are not needed (`headrace endpoints remove ENDPOINT`)"
        wait = "that is tried again every hour"
        return f"{remove}, and {wait}" if self.without_room else wait


class _Changing(NamedTuple):
    """What an update of an endpoint changes: `names` with the id first, or none; `folder_labels` of all folders."""

    row: EndpointRow
    known: Known
    names: Sequence[str]
    folder_labels: Mapping[str, Mapping[str, str]] | None


_ENDPOINTS = (
    select(EndpointRow, NodeRow.name)
    .join(NodeRow, NodeRow.key == EndpointRow.node_key)
    .where(NodeRow.state != "revoked")
)
_LABELS = (
    select(EndpointRow.node_key, EndpointRow.root, EndpointRow.labels, EndpointRow.folder_labels, EndpointNameRow.name)
    .join(EndpointNameRow, EndpointNameRow.endpoint == EndpointRow.pk)
    .join(NodeRow, NodeRow.key == EndpointRow.node_key)
    .where(
        EndpointRow.node_key.in_(bindparam("nodes", expanding=True)), EndpointNameRow.main, NodeRow.state != "revoked"
    )
)
_NAMES = select(EndpointNameRow.endpoint, EndpointNameRow.name).order_by(
    EndpointNameRow.main.desc(), EndpointNameRow.name
)


_CHANGED = select(func.max(AuditRow.sequence)).where(
    AuditRow.kind.in_(
        [
            m.AuditKind.ENDPOINT_MADE.value,
            m.AuditKind.ENDPOINT_CHANGED.value,
            m.AuditKind.ENDPOINT_REMOVED.value,
            m.AuditKind.NODE_JOINED.value,
            m.AuditKind.NODE_REVOKED.value,
            m.AuditKind.NODE_KEY_ROTATED.value,
            m.AuditKind.NODE_REMOVED.value,
        ]
    )
)
"""The newest event of those of which the registry is another after each: whichever process changed it, it wrote one."""


class Endpoints:
    """The registry of endpoints."""

    def __init__(self, core: Core, nodes: Nodes) -> None:
        """Name the roots of `nodes`."""
        self._core = core
        self._nodes = nodes
        self._changes = Throttle()
        self._read: tuple[int | None, tuple[Known, ...]] | None = None

    async def registry(self, tx: Tx) -> tuple[Known, ...]:
        """Every endpoint whose node was not revoked, by id; the same object as long as nothing of it has changed.

        `tx` has not changed it either: its own events are written when it ends.
        """
        # Before the rows: what changes between the two is read again.
        changed = await tx.scalar(_CHANGED)
        if self._read is None or self._read[0] != changed:
            self._read = changed, await self._registry(tx)
        return self._read[1]

    async def _registry(self, tx: Tx) -> tuple[Known, ...]:
        rows = (await tx.execute(_ENDPOINTS)).all()
        names: dict[str, list[str]] = {}
        for name in await tx.execute(_NAMES):
            names.setdefault(name.endpoint, []).append(name.name)
        known = (_known(row, node_name, names[row.pk]) for row, node_name in rows)
        return tuple(sorted(known, key=lambda endpoint: endpoint.id))

    async def labels(self, tx: Tx, nodes: Sequence[str]) -> dict[tuple[str, str], Labelled]:
        """Return the id and labels that the endpoints of these nodes (by key) have now, by node and root."""
        found = await tx.execute(_LABELS, {"nodes": nodes})
        return {
            (node, root): Labelled(name, json.loads(labels), json.loads(folders))
            for node, root, labels, folders, name in found
        }

    async def find(self, tx: Tx, name: str) -> Known:
        """Return the endpoint with this id or alias, or refuse."""
        named = select(EndpointNameRow.endpoint).where(EndpointNameRow.name_key == name.casefold())
        found = (await tx.execute(_ENDPOINTS.where(EndpointRow.pk.in_(named)))).one_or_none()
        if found is not None:
            names = await tx.execute(_NAMES.where(EndpointNameRow.endpoint == found[0].pk))
            return _known(*found, [one.name for one in names])
        raise ServiceError(
            Code.UNKNOWN_ENDPOINT,
            f"there is no endpoint `{shown(name)}`; list them with `headrace endpoints`",
            fields=("endpoint",),
        )

    async def pk(self, tx: Tx, known: Known) -> str:
        """Return the key that an endpoint keeps whatever it is named."""
        query = select(EndpointRow.pk).where(EndpointRow.node_key == known.node_key, EndpointRow.root == known.root)
        return (await tx.scalars(query)).one()

    async def on_attached(self, event: NodeAttached) -> timedelta | None:
        """Make an endpoint for every root of an enrolled node that has none yet, and note changed access.

        Returns how long to wait until what the limits leave out is looked at again.
        """
        left = _Left()
        async with self._core.database.write() as tx:
            node = await tx.scalar(select(NodeRow).where(NodeRow.key == event.node))
            if node is None or node.state == "revoked":
                return None
            of_node = select(EndpointRow).where(EndpointRow.node_key == event.node)
            existing = {row.root: row for row in await tx.scalars(of_node)}
            for root in event.roots:
                row = existing.get(root.name)
                if row is None and len(existing) >= MOST_OF_NODE:
                    left.without_room += 1
                elif (row is None or row.access != root.access) and not self._counted(node):
                    left.waiting += 1
                elif row is None:
                    existing[root.name] = await self._make(tx, node, root)
                elif row.access != root.access:
                    await self._change_access(tx, row, root.access)
        self._nodes.on_left_out(event.node, left.reason, left.what_to_do)
        return _HOUR if left.reason else None

    def _counted(self, node: NodeRow) -> bool:
        """Count an endpoint of a node that is made or changed, unless there are too many in this hour."""
        limits = {f"endpoints:{node.id}": Limit(MOST_AN_HOUR, _HOUR)}
        return self._changes.attempt(limits, self._core.steady()) is None

    async def _change_access(self, tx: Tx, row: EndpointRow, access: Access) -> None:
        row.access = access
        await self._core.audit.append(tx, m.AuditKind.ENDPOINT_CHANGED, subject=row.pk, detail={"access": access})
        known = EndpointNameRow.endpoint == row.pk, EndpointNameRow.main
        name = (await tx.scalars(select(EndpointNameRow.name).where(*known))).one()
        await self._core.outbox.write(tx, m.ChangeKind.ENDPOINT, name, "changed")

    async def page(self, caller: Caller, sought: Sought, *, after: str | None, limit: int) -> m.Page[m.Endpoint]:
        """List endpoints by id, whatever the case, after the one with the id `after`, which need not be there any more.

        Each with whether its node is attached; names of folders only for who may give them labels.
        """
        principal = caller.principal
        told = principal.agent is None and principal.may(Scope.POLICY_WRITE)
        async with self._core.database.read() as tx:
            rows = (await tx.execute(sought.rows(after, limit + 1))).all()
            names: dict[str, list[str]] = {}
            theirs = _NAMES.where(EndpointNameRow.endpoint.in_(any_of([row.pk for row in rows])))
            for name in await tx.execute(theirs):
                names.setdefault(name.endpoint, []).append(name.name)
        # A version is a digest, by which labels could be guessed.
        shown = [self._view(_known(row, row.node_name, names[row.pk]), told=told) for row in rows]
        return page_of(shown, limit, lambda endpoint: endpoint.id)

    async def meant(self, name: str) -> tuple[str, str]:
        """Return the key of the endpoint with this id or alias, and all it stands for, for a yes about it alone."""
        async with self._core.database.read() as tx:
            known = await self.find(tx, name)
            pk = await self.pk(tx, known)
            return pk, f"{pk} {known.id} {known.node_key} {known.root}"

    async def check_updating(self, endpoint: str, update: m.EndpointUpdate) -> None:
        """Refuse what `update` would refuse, before a proof is asked for."""
        async with self._core.database.read() as tx:
            await self._changing(tx, endpoint, update)

    async def update(self, caller: Caller, endpoint: str, update: m.EndpointUpdate) -> m.Endpoint:
        """Rename an endpoint, or replace its aliases or labels, or those of some folders; `endpoint` is its key."""
        async with self._core.database.write() as tx:
            row, known, names, folder_labels = await self._changing(tx, endpoint, update)
            if names:
                await _rename(tx, row, names, known.node_name)
            if update.labels is not None:
                row.labels = labels_text(update.labels)
            if folder_labels is not None:
                row.folder_labels = json.dumps(folder_labels, sort_keys=True)
            given = update.model_dump(mode="json", exclude_none=True, include={"id", "aliases"})
            detail = {"endpoint": known.id, **given}
            detail = {key: str(value) for key, value in detail.items()} | {"labels": row.labels}
            if folder_labels is not None:
                detail["folder_labels"] = row.folder_labels
            await self._core.audit.append(
                tx, m.AuditKind.ENDPOINT_CHANGED, caller=caller, subject=row.pk, detail=detail
            )
            # Under both ids when it was renamed: who watches the old one finds it gone.
            for name in dict.fromkeys((known.id, update.id or known.id)):
                await self._core.outbox.write(tx, m.ChangeKind.ENDPOINT, name, "changed")
            after_commit(tx, self._core.reactions.tell)
            return self._view(await self.find(tx, update.id or known.id))

    async def check_removing(self, endpoint: str) -> None:
        """Refuse what `remove` would refuse, before a proof is asked for."""
        async with self._core.database.read() as tx:
            await self._removable(tx, endpoint)

    async def remove(self, caller: Caller, endpoint: str) -> m.Endpoint:
        """Forget an endpoint that its node has no longer, so that its names are free; `endpoint` is its key."""
        async with self._core.database.write() as tx:
            row, known = await self._removable(tx, endpoint)
            detail = {
                "endpoint": known.id,
                "node": known.node_name,
                "key": known.node_key,
                "root": known.root,
                "aliases": str(list(known.aliases)),
                "labels": row.labels,
                "folder_labels": row.folder_labels,
            }
            await self._core.audit.append(
                tx, m.AuditKind.ENDPOINT_REMOVED, caller=caller, subject=row.pk, detail=detail
            )
            await self._core.outbox.write(tx, m.ChangeKind.ENDPOINT, known.id, "removed")
            await tx.execute(delete(EndpointNameRow).where(EndpointNameRow.endpoint == row.pk))
            await tx.delete(row)
            after_commit(tx, self._core.reactions.tell)
            return self._view(known)

    async def _removable(self, tx: Tx, endpoint: str) -> tuple[EndpointRow, Known]:
        """Return an endpoint that nothing needs any more, or refuse."""
        row, known = await self._row(tx, endpoint)
        live = self._nodes.attached(known.node_key)
        if live is None:
            used = (
                f"its node `{known.node_name}` is not attached, so nobody knows whether it still exports the root "
                f"`{known.root}`; start it, or revoke and remove the node (`headrace ca`)"
            )
        elif known.root in {*(root.name for root in live.roots), *(root.name for root in live.missing_roots)}:
            used = (
                f"its node `{known.node_name}` still exports the root `{known.root}`; run `headrace-node root remove "
                f"{known.root}` on its host first"
            )
        else:
            used = await self._use(tx, row.pk)
        if used:
            raise ServiceError(Code.ENDPOINT_IN_USE, f"`{shown(known.id)}` can't be removed: {used}")
        return row, known

    async def _use(self, tx: Tx, endpoint: str) -> str:
        """Say what may still start at an endpoint, or holds it; nothing when it is free."""
        now = self._core.clock()
        tried_again = func.coalesce(TransferRow.ended, TransferRow.started, TransferRow.created) > now - timedelta(
            seconds=self._core.settings.retry_valid_s
        )
        may_run = or_(TransferRow.state.in_(_RUNNING), and_(TransferRow.state.in_(_TRIED_AGAIN), tried_again))
        at = TransferRow.source_endpoint == endpoint, TransferRow.destination_endpoint == endpoint
        transfer = await tx.scalar(select(TransferRow.id).where(or_(*at), may_run).limit(1))
        if transfer is not None:
            return f"the transfer `{transfer}` may still start there; cancel it first"
        at = PlanRow.source_endpoint == endpoint, PlanRow.destination_endpoint == endpoint
        may_start = PlanRow.unstarted.is_(True), PlanRow.state == m.PlanState.READY, PlanRow.expires > now
        plan = await tx.scalar(select(PlanRow.id).where(or_(*at), *may_start).limit(1))
        if plan is not None:
            return f"the plan `{plan}` may still start there; drop it (`headrace drop {plan}`) or wait until it expires"
        halt = select(HaltRow.id).where(HaltRow.scope == "endpoint", HaltRow.subject == endpoint)
        if await tx.scalar(halt) is not None:
            return "it is halted; release that first (`headrace halts`)"
        return ""

    async def _row(self, tx: Tx, endpoint: str) -> tuple[EndpointRow, Known]:
        """Return an endpoint by its key, or refuse."""
        row = await tx.get(EndpointRow, endpoint)
        if row is None:
            raise ServiceError(Code.UNKNOWN_ENDPOINT, "the endpoint is gone; list them with `headrace endpoints`")
        main = select(EndpointNameRow.name).where(EndpointNameRow.endpoint == row.pk, EndpointNameRow.main)
        return row, await self.find(tx, (await tx.scalars(main)).one())

    async def _changing(self, tx: Tx, endpoint: str, update: m.EndpointUpdate) -> _Changing:
        """Return what an update changes, or refuse it."""
        if update.labels is not None:
            _check_labels(update.labels)
        folders = None if update.folder_labels is None else _folders(update.folder_labels)
        row, known = await self._row(tx, endpoint)
        if update.version is not None and update.version != _version(known):
            raise ServiceError(
                Code.ENDPOINT_CHANGED,
                f"somebody changed names or labels of `{shown(known.id)}` meanwhile; look at them and try again",
                fields=("version",),
            )
        names: tuple[str, ...] = ()
        if update.id is not None or update.aliases is not None:
            names = (update.id or known.id, *(known.aliases if update.aliases is None else update.aliases))
            await _require_free(tx, row, names)
        return _Changing(row, known, names, None if folders is None else _with(row.folder_labels, folders))

    async def _make(self, tx: Tx, node: NodeRow, root: NodeRoot) -> EndpointRow:
        taken = set(await tx.scalars(select(EndpointNameRow.name_key)))
        fits = [
            name
            for name in (root.name, f"{node.name}-{root.name}", f"{node.name}-{root.name}-{node.id[-8:]}")
            if name.casefold() not in taken and _name_fault(name) is None
        ]
        name = fits[0] if fits else f"endpoint-{node.id[-8:]}-{len(taken)}"
        row = EndpointRow(
            pk=new_id("ep"),
            node_key=node.key,
            root=root.name,
            access=root.access,
            labels="{}",
            created=self._core.clock(),
            name_key=name.casefold(),
            searched=searched((name,), root.name, node.name),
        )
        tx.add(row)
        await tx.flush()
        tx.add(EndpointNameRow(name_key=name.casefold(), name=name, endpoint=row.pk, main=True))
        await self._core.outbox.write(tx, m.ChangeKind.ENDPOINT, name, "made")
        await self._core.audit.append(
            tx,
            m.AuditKind.ENDPOINT_MADE,
            subject=row.pk,
            detail={"endpoint": name, "node": node.name, "key": node.key, "root": root.name, "access": root.access},
        )
        return row

    def _view(self, known: Known, *, told: bool = True) -> m.Endpoint:
        """Show an endpoint, with the labels of folders for who may be `told` them."""
        live = self._nodes.attached(known.node_key)
        online = live is not None and any(root.name == known.root for root in live.roots)
        space = self._nodes.space(known.node_key, known.root) if online else None
        return m.Endpoint(
            id=known.id,
            aliases=list(known.aliases),
            node=known.node_name,
            root=known.root,
            access=known.access,
            labels=dict(known.labels),
            folder_labels={path: dict(labels) for path, labels in known.folder_labels.items()} if told else {},
            version=_version(known) if told else "",
            online=online,
            free_bytes=space.free_bytes if space else None,
            total_bytes=space.total_bytes if space else None,
            free_at=space.at if space else None,
        )


async def _require_free(tx: Tx, row: EndpointRow, names: Sequence[str]) -> None:
    """Refuse names that this endpoint can't have."""
    keys = [name.casefold() for name in names]
    if len(set(keys)) != len(keys):
        raise ServiceError(Code.INVALID_REQUEST, "an endpoint's id and aliases are all different", fields=("aliases",))
    for name in names:
        fault = _name_fault(name)
        if fault:
            raise ServiceError(
                Code.INVALID_REQUEST, f"`{shown(name)}` can't name an endpoint: {fault}", fields=("id", "aliases")
            )
    others = select(EndpointNameRow.name).where(EndpointNameRow.name_key.in_(keys), EndpointNameRow.endpoint != row.pk)
    if await tx.scalar(others.limit(1)) is not None:
        raise ServiceError(
            Code.NAME_TAKEN, "one of these names belongs to another endpoint; choose another", fields=("id", "aliases")
        )


async def _rename(tx: Tx, row: EndpointRow, names: Sequence[str], node: str) -> None:
    """Give an endpoint these names, of which the first is its id; nobody else writes meanwhile, so they stay free."""
    await tx.execute(delete(EndpointNameRow).where(EndpointNameRow.endpoint == row.pk))
    tx.add_all(
        EndpointNameRow(name_key=name.casefold(), name=name, endpoint=row.pk, main=name == names[0]) for name in names
    )
    row.name_key, row.searched = names[0].casefold(), searched(names, row.root, node)
    await tx.flush()


def _known(row: EndpointRow | Row[*tuple[Any, ...]], node_name: str, names: list[str]) -> Known:
    labels, folders = json.loads(row.labels), json.loads(row.folder_labels)
    return Known(names[0], tuple(names[1:]), row.node_key, node_name, row.root, row.access, labels, folders)


def _version(known: Known) -> str:
    """Return what is another after each change of an endpoint's names and labels."""
    folders = {path: dict(labels) for path, labels in known.folder_labels.items()}
    stands = {
        "id": known.id,
        "aliases": sorted(known.aliases),
        "labels": dict(known.labels),
        "folder_labels": folders,
    }
    # Not in canonical form, which takes three times as long: a page has a thousand, and nobody else makes one.
    return digest(json.dumps(stands, sort_keys=True).encode())


def _name_fault(name: str) -> str | None:
    if not name.strip() or name != name.strip() or ":" in name or "/" in name:
        return "a name neither begins nor ends with a space and holds no `:` or `/`"
    return endpoint_name_fault(name)


def _folders(given: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the labels of folders by path as it is written everywhere; raises the rails about paths."""
    found: dict[str, dict[str, str]] = {}
    for path, labels in given.items():
        _check_labels(labels, "folder_labels")
        components = read_path(path)
        if not components:
            raise ServiceError(
                Code.INVALID_REQUEST,
                "`/` is the endpoint itself; give that its labels as `labels`",
                fields=("folder_labels",),
            )
        found.setdefault(path_text(components), {}).update(labels)
    return found


def _with(known: str, changed: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Return the stored labels of folders with those of some in their place: others may change others at once."""
    merged = {path: labels for path, labels in {**json.loads(known), **changed}.items() if labels}
    if len(merged) > m.MAX_LABELLED_FOLDERS:
        message = f"{len(merged)} folders would have labels of their own, and an endpoint has {m.MAX_LABELLED_FOLDERS}"
        raise ServiceError(
            Code.INVALID_REQUEST, f"{message}; label a folder that holds them", fields=("folder_labels",)
        )
    return merged


def _check_labels(labels: Mapping[str, str], field: str = "labels") -> None:
    for text in (*labels.keys(), *labels.values()):
        if not _LABEL.fullmatch(text):
            raise ServiceError(
                Code.INVALID_REQUEST,
                f"`{shown(text)}` can't be part of a label; use letters, digits and `_.@ /-`, first a letter or digit",
                fields=(field,),
            )
