"""Links, classes and calendars of the site: versions, as of the policy, held against what uses them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.policy.calendars import Calendar, Hours, Together
from headrace.api.policy.links import Path, path_of
from headrace.api.policy.qos_rules import BUILT_IN, STANDING, problems_of, read
from headrace.api.policy.share_texts import refused_by_nodes
from headrace.api.policy.version_log import Called, VersionLog
from headrace.api.store import Tx
from headrace.api.store.tables_site import EndpointNameRow, NodeRow, PolicyRow, QosRow
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.client import models as m
from headrace.guardrails import Decision, OpenHours, PolicySet, lowest_qos

_log = logging.getLogger(__name__)

_OF_PRIORITY: Final = dict(zip(("low", "normal", "high"), STANDING, strict=True))
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class InForce:
    """What is in force: a document, and how its parts are found."""

    document: m.QosDocument
    version: str = ""
    published: datetime | None = None
    classes: dict[str, m.QosClass] = field(init=False)
    calendars: dict[str, Calendar] = field(init=False)

    def __post_init__(self) -> None:
        """Index it."""
        object.__setattr__(self, "classes", {one.name: one for one in self.document.classes})
        object.__setattr__(self, "calendars", {one.name: Calendar(one.name, one) for one in self.document.calendars})

    @property
    def order(self) -> tuple[str, ...]:
        """Names of its classes, the lowest first."""
        return tuple(self.classes)

    def calendar_of(self, qos_class: str) -> Calendar | None:
        """Return in whose hours alone transfers of a class run."""
        found = self.classes.get(qos_class)
        return self.calendars.get(found.calendar) if found is not None and found.calendar else None

    def hours_of(self, qos_class: str, own: Hours | None) -> Together:
        """Return in which hours a transfer runs: its own and those of its class together."""
        parts: tuple[Hours | None, ...] = (own, self.calendar_of(qos_class))
        return Together(tuple(one for one in parts if one is not None))

    def never_open(self, qos_class: str, own: Hours | None, at: datetime) -> str:
        """Say that hours never open from `at` on, so that nothing would ever run in them; empty when they do."""
        if self.hours_of(qos_class, own).opening(at) is not None:
            return ""
        calendar = self.calendar_of(qos_class)
        if own is None or (calendar is not None and calendar.opening(at) is None):
            return f"{calendar} of the class `{qos_class}` does not open any more"
        return f"its hours, {own}, and {calendar} of its class `{qos_class}` are never open together"

    def require_open(self, qos_class: str, own: Hours | None, at: datetime) -> None:
        """Refuse hours that never open."""
        never = self.never_open(qos_class, own, at)
        if never:
            said = f"{never}, so it would never run; ask for other hours, or for another class"
            raise ServiceError(Code.HOURS_NEVER_OPEN, said, fields=("window",))

    def rank(self, qos_class: str) -> int:
        """Return where transfers of a class stand in line: a class of the site's own as the one of all sites below."""
        order = self.order
        at = order.index(qos_class) if qos_class in self.classes else order.index("bulk")
        return sum(at >= order.index(name) for name in STANDING[1:]) - 1

    def class_of(self, decision: Decision, priority: m.Priority) -> tuple[str, str]:
        """Return the class of a plan, and why: the lowest that policy names, and no higher than what was asked for.

        Who asks for a normal priority gets a class of the site's own as policy gives it.
        """
        given = self._given(decision)
        rules = sorted({rule for name, rule in decision.qos_rules if name == given and rule})
        asked = _OF_PRIORITY[priority]
        takes = given if given not in STANDING and priority != "low" else lowest_qos([given, asked], self.order)
        if takes != given:
            return takes, f"priority {priority} was asked for; policy gives up to `{given}`{_by(rules)}"
        return takes, f"policy gives it{_by(rules)}" if rules else "no rule names another"

    def gives(self, decision: Decision) -> tuple[str, ...]:
        """Return the classes that a transfer may have by this decision: what policy gives, and what is lower."""
        return self.order[: self.order.index(self._given(decision)) + 1]

    def _given(self, decision: Decision) -> str:
        given = lowest_qos([name for name, _ in decision.qos_rules], self.order)
        return given if given in self.classes else "bulk"


def _by(rules: list[str]) -> str:
    return f" ({'rule' if len(rules) == 1 else 'rules'} {', '.join(f'`{rule}`' for rule in rules)})" if rules else ""


class QosVersions(VersionLog[QosRow, InForce]):
    """Versions of links, classes and calendars."""

    _words = Called(
        what="QoS",
        proposed=m.AuditKind.QOS_PROPOSED,
        withdrawn=m.AuditKind.QOS_WITHDRAWN,
        published=m.AuditKind.QOS_PUBLISHED,
        change=m.ChangeKind.QOS,
        unknown=Code.UNKNOWN_QOS,
        state=Code.QOS_STATE,
        own=Code.PUBLISH_OWN_QOS,
        listed_by="headrace qos history",
        shown_by="headrace qos text",
        proposed_by="headrace qos propose",
    )

    def __init__(self, core: Core) -> None:
        """Keep versions in the store."""
        super().__init__(core, QosRow)
        self._told: list[Callable[[], None]] = []
        self._unreadable = ""

    @property
    def in_force(self) -> InForce:
        """What holds now; where the stored text can't be read (`unreadable`), what a new site has."""
        return self._active or _BUILT_IN

    @property
    def unreadable(self) -> str:
        """Why what is in force is not known; nothing is planned or started then. Empty when all is well."""
        return self._unreadable

    def require_readable(self) -> None:
        """Refuse what needs to know what is in force, when the store can't be read."""
        if self._unreadable:
            said = f"{self._unreadable}, so nothing new is planned or started; operators see why (`headrace health`)"
            raise ServiceError(Code.QOS_UNREADABLE, said)

    def class_names(self) -> frozenset[str]:
        """Return the names of the classes in force."""
        return frozenset(self.in_force.classes)

    def listen(self, told: Callable[[], None]) -> None:
        """Call `told` when another version comes in force."""
        self._told.append(told)

    async def load(self) -> None:
        """Load the version in force; a new site gets the classes that every site has."""
        await super().load()
        async with self._core.database.read() as tx:
            row = await tx.scalar(select(QosRow).where(QosRow.state == "active"))
        self._unreadable = ""
        if row is not None and self._active is None:
            self._unreadable = f"version {row.number} of links, classes and calendars, which is in force, can't be read"
            _log.error("%s: %s", self._unreadable, "; ".join(one.message for one in _problems(row.text)[:_MOST_NAMED]))
        if row is not None and self._active is not None:
            self._active = InForce(self._active.document, str(row.number), row.published)

    def _first(self) -> tuple[str, str]:
        return BUILT_IN, "the classes that every site has"

    def _read(self, text: str) -> InForce | None:
        found = read(text)
        return InForce(found) if isinstance(found, m.QosDocument) else None

    async def path(self, tx: Tx, source: str, destination: str) -> Path:
        """Return over which links it goes from one node to another, by key."""
        document = self.in_force.document
        return path_of(document, await node_keys(tx), source, destination) if document.links else Path()

    async def versions(self, after: int) -> m.Page[m.QosVersion]:
        """List versions, newest first, from the newest (`after` 0) or the one before `after`; raises nothing."""
        rows, further = await self._page(after)
        return m.Page(items=[await _view(row, against) for row, against in rows], next=further)

    async def check(self, text: m.QosText) -> m.QosCheck:
        """Say whether a text could be published now."""
        found = await asyncio.to_thread(read, text.text)
        async with self._core.database.read() as tx:
            document, problems = await _checked(tx, found, self._core.clock())
        return m.QosCheck(valid=not problems, problems=problems, document=document)

    async def propose(self, caller: Caller, text: m.QosText) -> m.QosVersion:
        """Store a text that could be published as a version that a second person may publish."""
        found = await asyncio.to_thread(read, text.text)
        async with self._core.database.write() as tx:
            document = await _require(tx, found, self._core.clock())
            row = await self._store(tx, caller, text.text, text.note)
            against = await self._against(tx, row)
        return _shown(row, document, against)

    async def withdraw(self, caller: Caller, version: str) -> m.QosVersion:
        """Take a proposal of the caller's back."""
        async with self._core.database.write() as tx:
            row = await self._withdraw(tx, caller, version)
            against = await self._against(tx, row)
        return await _view(row, against)

    async def check_publishing(self, caller: Caller, version: str, agreed: str) -> None:
        """Refuse what `publish` would refuse, before a proof is asked for."""
        text = await self._text(version)
        found = await asyncio.to_thread(read, text)
        async with self._core.database.read() as tx:
            await self._to_publish(tx, caller, version, agreed, text)
            await _require(tx, found, self._core.clock())

    async def publish(self, caller: Caller, version: str, agreed: str, proof: str) -> m.QosVersion:
        """Put a version in force whose text has the digest `agreed`; its author can't. It is checked again."""
        text = await self._text(version)
        found = await asyncio.to_thread(read, text)
        async with self._core.database.write() as tx:
            row = await self._to_publish(tx, caller, version, agreed, text)
            document = await _require(tx, found, self._core.clock())
            if row.state == "retired":
                row = await self._store(tx, caller, text, f"back to version {version}")
            else:
                now = InForce(document, version, self._core.clock())
                await self._activate(tx, caller, row, now, {"proof": proof}, self._hold)
        return _shown(row, document)

    def _hold(self, now: InForce) -> None:
        self._active, self._unreadable = now, ""
        self._core.reactions.tell()
        for told in self._told:
            told()


_BUILT_IN: Final = InForce(m.QosDocument(classes=[m.QosClass(name=name) for name in STANDING]))


async def node_keys(tx: Tx) -> dict[str, str]:
    """Return the keys of nodes by name."""
    rows = await tx.execute(select(NodeRow.name, NodeRow.key).where(NodeRow.state != "revoked"))
    return {row.name: row.key for row in rows}


Read = m.QosDocument | list[m.QosProblem]
"""A text that was read, or what is wrong with it."""


async def _require(tx: Tx, found: Read, now: datetime) -> m.QosDocument:
    """Return what could be published now; refuse another with its first problem."""
    document, problems = await _checked(tx, found, now)
    if document is None or problems:
        first = problems[0]
        where = f"{first.where}: " if first.where else ""
        more = f" ({len(problems)} problems; `headrace qos check FILE` lists them)" if len(problems) > 1 else ""
        raise ServiceError(Code.QOS_INVALID, f"{where}{first.message}{more}", fields=("text",))
    return document


async def _checked(tx: Tx, read_: Read, now: datetime) -> tuple[m.QosDocument | None, list[m.QosProblem]]:
    if not isinstance(read_, m.QosDocument):
        return None, read_
    document, found = read_, problems_of(read_)
    if not found:
        found = [m.QosProblem(where=where, message=message) for where, message in refused_by_nodes(document)]
    unknown = [*await _unknown_nodes(tx, document), *await _unknown_endpoints(tx, document)]
    found += [m.QosProblem(where=where, message=message) for where, message in unknown]
    classes = frozenset(one.name for one in document.classes)
    missed = [*await _missed_by_policy(tx, classes), *await _missed_by_work(tx, classes, now)]
    found += [m.QosProblem(where=f"class `{name}`", message=said) for name, said in missed]
    found += [] if found else [one async for one in _never_open(tx, InForce(document), now)]
    return document, found


async def _unknown_nodes(tx: Tx, document: m.QosDocument) -> list[tuple[str, str]]:
    known = set(await tx.scalars(select(NodeRow.name).where(NodeRow.state != "revoked")))
    return [
        (f"link `{link.name}`: nodes", f"there is no node `{name}`; `headrace nodes` lists them")
        for link in document.links
        for name in dict.fromkeys([*link.nodes, *link.peers])
        if name not in known
    ]


async def _unknown_endpoints(tx: Tx, document: m.QosDocument) -> list[tuple[str, str]]:
    known = set(await tx.scalars(select(EndpointNameRow.name).where(EndpointNameRow.main)))
    return [
        (
            f"pair `{pair.source} to {pair.destination}`",
            f"there is no endpoint `{name}`; `headrace endpoints` lists them",
        )
        for pair in document.pairs
        for name in dict.fromkeys([pair.source, pair.destination])
        if name not in known
    ]


async def _never_open(tx: Tx, held: InForce, now: datetime) -> AsyncIterator[m.QosProblem]:
    """Find calendars that do not open any more, and what has not ended and would never run in its class's hours."""
    for name, calendar in held.calendars.items():
        if calendar.opening(now) is None:
            said = "it never opens again; give other hours, or fewer days on which it is closed"
            yield m.QosProblem(where=f"calendar `{name}`", message=said)
    query = select(TransferRow.id, TransferRow.qos_class, TransferRow.hours).where(
        TransferRow.state.in_(m.OPEN_STATES), TransferRow.hours.is_not(None)
    )
    never: dict[str, list[str]] = {}
    for row in await tx.execute(query.order_by(TransferRow.id)):
        own = OpenHours.read(json.loads(row.hours))
        if held.hours_of(row.qos_class, own).opening(now) is None:
            never.setdefault(row.qos_class, []).append(f"`{row.id}`")
    for name, transfers in never.items():
        said = f"{_few(transfers)} would never run: its calendar and their own hours are never open together"
        yield m.QosProblem(where=f"class `{name}`: calendar", message=f"{said}; give other hours, or cancel them")


async def _missed_by_policy(tx: Tx, classes: frozenset[str]) -> list[tuple[str, str]]:
    text = await tx.scalar(select(PolicyRow.text).where(PolicyRow.state == "active"))
    policies = PolicySet.parse(text) if text else None
    if not isinstance(policies, PolicySet):
        return []
    used: dict[str, list[str]] = {}
    for rule in policies.rules:
        if rule.qos_class is not None and rule.qos_class not in classes:
            used.setdefault(rule.qos_class, []).append(f"`{rule.id}`")
    return [
        (name, f"policy names it (`@qos` of {_few(rules)}); keep the class, or publish another policy first")
        for name, rules in sorted(used.items())
    ]


async def _missed_by_work(tx: Tx, classes: frozenset[str], now: datetime) -> list[tuple[str, str]]:
    running = await tx.execute(
        select(TransferRow.qos_class, TransferRow.id)
        .where(TransferRow.state.in_(m.OPEN_STATES), TransferRow.qos_class.not_in(classes))
        .order_by(TransferRow.id)
    )
    planned = await tx.execute(
        select(PlanRow.qos_class, PlanRow.id)
        .where(PlanRow.state == m.PlanState.READY, PlanRow.unstarted.is_(True), PlanRow.expires > now)
        .where(PlanRow.qos_class.not_in(classes))
        .order_by(PlanRow.id)
    )
    used: dict[str, list[str]] = {}
    for name, what in [*running, *planned]:
        used.setdefault(name, []).append(f"`{what}`")
    return [
        (name, f"{_few(what)} use it; keep the class until they have ended, or cancel or drop them")
        for name, what in sorted(used.items())
    ]


def _problems(text: str) -> list[m.QosProblem]:
    found = read(text)
    return found if isinstance(found, list) else []


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


async def _view(row: QosRow, against: str) -> m.QosVersion:
    found = await asyncio.to_thread(read, row.text)
    return _shown(row, found if isinstance(found, m.QosDocument) else m.QosDocument(), against)


def _shown(row: QosRow, document: m.QosDocument, against: str = "") -> m.QosVersion:
    return m.QosVersion(
        version=str(row.number),
        state=row.state,
        author=row.author,
        author_name=row.author_name,
        publisher=row.publisher,
        publisher_name=row.publisher_name,
        note=row.note,
        created=row.created,
        published=row.published,
        text=row.text,
        document=document,
        against=against,
    )
