"""Fills a store with what a site makes in years: copies of one real transfer, made by several people.

The store copies the long rows itself, and its indexes are made after that. A store whose filling failed is of no use.
"""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    URL,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    Text,
    event,
    func,
    insert,
    literal,
    null,
    select,
    text,
    true,
)

from headrace.api.sites.endpoint_pages import labels_text, searched
from headrace.api.store.address import dialect_of
from headrace.api.store.base import Base
from headrace.client import models as m
from headrace.guardrails import canonical, utc_text

_TABLES = Base.metadata.tables
_FILLED: Final = ("plans", "plan_approvers", "transfers", "transfer_events", "transfer_approvers", "audit")
_AT_ONCE: Final = 20_000
_STATES: Final = (("complete", 0.93), ("failed", 0.03), ("partial", 0.02), ("canceled", 0.02))
_AGENTS: Final = ("claude", "nightly")
_QUICK: Final = {
    "sqlite": (
        "PRAGMA journal_mode = OFF",
        "PRAGMA synchronous = OFF",
        "PRAGMA cache_size = -2000000",
        "PRAGMA temp_store = MEMORY",
    ),
    "postgresql": ("SET session_replication_role = replica", "SET maintenance_work_mem = '1GB'"),
}
"""What lets each store take rows without a way back, and without looking for what they refer to."""
GROUP: Final = "stewards"
"""Whose approval one plan in fifty needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """How much there is; everything was made in the `days` before `until`."""

    transfers: int
    until: datetime
    events_each: int = 10
    """Half of them in the transfer's history, half in the audit chain."""
    people: int = 50
    endpoints: int = 20
    seldom: int = 0
    """Endpoints beside these, with a label of their own."""
    seldom_every: int = 50_000
    """Of so many transfers one comes from one of them, or goes to one."""
    idle: int = 0
    """Endpoints of no transfer, `i0` and on, spread over `nodes`; each has the label `rack` of fifty of them."""
    nodes: int = 0
    """Nodes that are away, `node 0` and on."""
    idle_people: int = 0
    """People who have asked for nothing."""
    tokens: int = 0
    """API tokens of the people, made one after the other."""
    open_plans: int = 200
    """Plans of the last day that wait for the approval of `GROUP`."""
    days: int = 365
    seed: int = 1


_PROJECTS: Final = dict.fromkeys("012", "cryo-em") | {"3": "tomography"}
"""Which project something is for, by the last digit of its key; most are for none."""


class _One(NamedTuple):
    """What sets a transfer apart; times are as the store keeps them."""

    plan: str
    transfer: str
    digest: str
    requester: str
    agent: str | None
    source: str
    destination: str
    project: str | None
    place: str
    """Where in both endpoints."""
    state: str
    obligations: str
    created: str
    ended: str
    expires: str
    submitted: int
    """1, or 0 for a plan alone."""


_MADE: Final = Table(
    "made",
    MetaData(),
    *(Column(name, Integer if name == "submitted" else Text) for name in _One._fields),
    prefixes=["TEMPORARY"],
)


def fill(url: URL, filling: Filling, tell: Callable[[str], object] = lambda _: None) -> None:
    """Copy the newest transfer in the store at `url`, which nobody else writes to meanwhile; says how far it is."""
    with _quick_engine(url).begin() as connection:
        indexes = [index for table in _FILLED for index in _TABLES[table].indexes]
        for index in indexes:
            index.drop(connection)
        people, endpoints, seldom = _templates(connection, filling)
        _MADE.create(connection)
        chance = random.Random(filling.seed)  # noqa: S311 - nothing secret
        apart = filling.until - timedelta(days=filling.days)
        step = timedelta(days=filling.days) / max(1, filling.transfers)
        chain = _Chain(connection)
        for begin in range(0, filling.transfers, _AT_ONCE):
            numbers = range(begin, min(begin + _AT_ONCE, filling.transfers))
            times = [apart + step * number for number in numbers]
            part = [_made(chance, created, people, endpoints) for created in times]
            part = [_seldom(filling, seldom, *one) for one in zip(numbers, part, strict=True)] if seldom else part
            _copy(connection, part)
            events = range(filling.events_each // 2)
            _load(connection, _TABLES["transfer_events"], _history(part, times, events))
            _load(connection, _TABLES["audit"], chain.links(part, times, events))
            tell(f"{numbers.stop:,} of {filling.transfers:,} transfers")
        open_ = [_open(_made(chance, filling.until, people, endpoints), filling) for _ in range(filling.open_plans)]
        _copy(connection, open_)
        for index in indexes:
            index.create(connection)
        tell(f"{len(indexes)} indexes")
    _analyse(url)


def _quick_engine(url: URL) -> Engine:
    engine = dialect_of(url).whole_engine(url)

    @event.listens_for(engine, "connect")
    def _hurry(connection: Any, _entry: object) -> None:  # noqa: ANN401 - the driver's
        for setting in _QUICK[url.get_backend_name()]:
            connection.execute(setting)
        connection.commit()

    return engine


def _templates(connection: Connection, filling: Filling) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Put the rows that are copied into tables of their own; return the people, endpoints and seldom used ones."""
    transfers = _TABLES["transfers"]
    newest = connection.execute(select(transfers).order_by(transfers.c.created.desc()).limit(1)).mappings().one()
    for table, id_ in (("plans", newest["plan"]), ("transfers", newest["id"])):
        kept = text(f"CREATE TEMPORARY TABLE one_of_{table} AS SELECT * FROM {table} WHERE id = '{id_}'")  # noqa: S608
        connection.execute(kept)
    one = _one(connection, "people", "id", newest["requester"])
    everybody = [f"pn_{number:032x}" for number in range(filling.people + filling.idle_people)]
    named = ({"id": id_, "name": f"person {n}", "name_key": f"person {n}"} for n, id_ in enumerate(everybody))
    _insert(connection, "people", [{**one, **name, "password_hash": None} for name in named])
    people = everybody[: filling.people]
    _tokens(connection, filling, people)
    endpoint = _one(connection, "endpoints", "pk", newest["source_endpoint"])
    node = _one(connection, "nodes", "key", endpoint["node_key"])
    used = _endpoints(connection, endpoint, node, [f"e{number}" for number in range(filling.endpoints)], every=4)
    seldom = [f"s{number}" for number in range(filling.seldom)]
    _idle(connection, filling, endpoint, node)
    return [one["id"], *people], used, _endpoints(connection, endpoint, node, seldom, site="far")


def _one(connection: Connection, table: str, key: str, value: object) -> dict[str, Any]:
    found = _TABLES[table]
    return dict(connection.execute(select(found).where(found.c[key] == value)).mappings().one())


def _endpoints(  # noqa: PLR0913 - what differs between them
    connection: Connection,
    template: Mapping[str, Any],
    node: Mapping[str, Any],
    names: Sequence[str],
    *,
    site: str = "north",
    every: int = 1,
) -> Sequence[str]:
    """Make endpoints of a node, of which each so many-th has the label of the site; return their keys."""
    labels = [labels_text({"site": site}) if number % every == 0 else "{}" for number in range(len(names))]
    made = [_endpoint(template, node, number, name) for number, name in enumerate(names)]
    _insert(connection, "endpoints", [{**one, "labels": text} for one, text in zip(made, labels, strict=True)])
    _insert(connection, "endpoint_names", list(map(_name, made)))
    return [one["pk"] for one in made]


def _endpoint(template: Mapping[str, Any], node: Mapping[str, Any], number: int, name: str) -> dict[str, Any]:
    own = {"pk": f"ep_{name[0]}{number:031x}", "node_key": node["key"], "root": name, "name_key": name}
    return {**template, **own, "searched": searched((name,), name, node["name"])}


def _name(endpoint: Mapping[str, Any]) -> dict[str, Any]:
    return {"name_key": endpoint["root"], "name": endpoint["root"], "endpoint": endpoint["pk"], "main": True}


def _idle(connection: Connection, filling: Filling, template: Mapping[str, Any], node: Mapping[str, Any]) -> None:
    """Make nodes that are away, and what is spread over them."""
    numbers = range(filling.nodes)
    away: list[Mapping[str, Any]] = [
        {**node, "id": f"nd_{n:032x}", "name": f"node {n}", "key": f"ed25519:{n:042}A"} for n in numbers
    ]
    _insert(connection, "nodes", away)
    places = away or [node]
    made = [_endpoint(template, places[n % len(places)], n, f"i{n}") for n in range(filling.idle)]
    racked = ({**one, "labels": labels_text({"rack": f"rack {n // 50}"})} for n, one in enumerate(made))
    _insert(connection, "endpoints", list(racked))
    _insert(connection, "endpoint_names", list(map(_name, made)))


def _tokens(connection: Connection, filling: Filling, people: Sequence[str]) -> None:
    times = (filling.until - timedelta(seconds=number) for number in range(filling.tokens, 0, -1))
    made = [
        {
            "id": f"{number:016}",
            "hash": f"{number:064}",
            "person": people[number % len(people)],
            "name": f"pipeline {number}",
            "scopes": ("transfer:read",),
            "created": at,
            "expires": at + timedelta(days=400),
        }
        for number, at in enumerate(times)
    ]
    _insert(connection, "tokens", made)


def _seldom(filling: Filling, seldom: Sequence[str], number: int, one: _One) -> _One:
    """Let some come from, or go to, an endpoint that is seldom used."""
    turn, rest = divmod(number, filling.seldom_every)
    if rest:
        return one
    chosen = seldom[turn * 7 % len(seldom)]
    return one._replace(source=chosen) if turn % 2 else one._replace(destination=chosen)


def _made(chance: random.Random, created: datetime, people: Sequence[str], endpoints: Sequence[str]) -> _One:
    """Choose what sets a transfer apart: few people and endpoints have most of them."""
    key = f"{chance.getrandbits(128):032x}"
    return _One(
        plan=f"pl_{key}",
        transfer=f"tr_{key}",
        digest=hashlib.sha256(key.encode()).hexdigest(),
        requester=people[int(len(people) * chance.random() ** 2)],
        agent=chance.choice(_AGENTS) if chance.random() < 0.1 else None,
        source=endpoints[int(len(endpoints) * chance.random() ** 2)],
        destination=endpoints[int(len(endpoints) * chance.random() ** 2)],
        project=_PROJECTS.get(key[-1]),
        place=f":/data/{key[:6]}",
        state=chance.choices([state for state, _ in _STATES], [weight for _, weight in _STATES])[0],
        obligations=f"approval:{GROUP}:1" if chance.random() < 0.02 else "",
        created=utc_text(created),
        ended=utc_text(created + timedelta(minutes=1)),
        expires=utc_text(created + timedelta(days=1)),
        submitted=1,
    )


def _open(one: _One, filling: Filling) -> _One:
    """Make of it a plan that waits."""
    created, expires = filling.until - timedelta(minutes=10), filling.until + timedelta(hours=20)
    return one._replace(
        created=utc_text(created), expires=utc_text(expires), obligations=f"approval:{GROUP}:1", submitted=0
    )


def _copy(connection: Connection, part: Sequence[_One]) -> None:
    """Copy plans and transfers as `part` says."""
    connection.execute(_MADE.delete())
    _load(connection, _MADE, part)
    made = _MADE.c
    both = {
        "digest": made.digest,
        "requester": made.requester,
        "agent": made.agent,
        "project": made.project,
        "source_endpoint": made.source,
        "destination_endpoint": made.destination,
        "created": made.created,
    }
    plan = _template_of("plans")
    card = func.replace(plan.c.card, plan.c.id, made.plan)
    plans = {**both, "id": made.plan, "obligations": made.obligations, "expires": made.expires, "card": card}
    plans["unstarted"] = made.submitted == 0
    _copy_rows(connection, plan, plans, submitted=(0, 1))
    transfers = {
        **both,
        "id": made.transfer,
        "plan": made.plan,
        "plan_digest": made.digest,
        "state": made.state,
        "source": _name_of(made.source) + made.place,
        "destination": _name_of(made.destination) + made.place,
        "started": made.created,
        "ended": made.ended,
        "receipt": null(),
        "tidied": true(),
    }
    _copy_rows(connection, _template_of("transfers"), transfers, submitted=(1,))
    of_plans = select(literal(GROUP), made.requester, made.created, made.plan).where(made.obligations != "")
    names = ("name", "requester", "created", "plan")
    connection.execute(insert(_TABLES["plan_approvers"]).from_select(names, of_plans))
    approvers = select(literal(GROUP), made.created, made.transfer).where(made.obligations != "", made.submitted == 1)
    connection.execute(insert(_TABLES["transfer_approvers"]).from_select(("name", "created", "transfer"), approvers))


@cache
def _template_of(table: str) -> Table:
    return Table(f"one_of_{table}", MetaData(), *(Column(one.name, one.type) for one in _TABLES[table].columns))


def _name_of(endpoint: ColumnElement[str]) -> ColumnElement[str]:
    """Return `e7` of the key of that endpoint."""
    names = select(_TABLES["endpoint_names"].c.name).where(_TABLES["endpoint_names"].c.endpoint == endpoint)
    return names.scalar_subquery()


def _copy_rows(
    connection: Connection, template: Table, changed: Mapping[str, Any], *, submitted: Sequence[int]
) -> None:
    table = _TABLES[template.name.removeprefix("one_of_")]
    names = [column.name for column in table.columns]
    rows = select(*(changed.get(name, template.c[name]) for name in names)).join_from(template, _MADE, true())
    connection.execute(insert(table).from_select(names, rows.where(_MADE.c.submitted.in_(submitted))))


def _history(part: Sequence[_One], times: Sequence[datetime], events: range) -> Iterator[tuple[object, ...]]:
    kind = m.TransferEventKind.QUEUED.value
    for one, created in zip(part, times, strict=True):
        for number in events:
            yield one.transfer, number + 1, utc_text(created + timedelta(seconds=number)), kind, "as before"


class _Chain:
    """Appends events to the audit chain, as whole as any."""

    def __init__(self, connection: Connection) -> None:
        """Go on after the last event there."""
        audit = _TABLES["audit"]
        newest = select(audit.c.sequence, audit.c.hash).order_by(audit.c.sequence.desc()).limit(1)
        self._sequence, self._hash = connection.execute(newest).one()

    def links(self, part: Sequence[_One], times: Sequence[datetime], events: range) -> Iterator[tuple[object, ...]]:
        kinds = (m.AuditKind.SUBMITTED.value, m.AuditKind.TRANSFER_CHANGED.value)
        for one, created in zip(part, times, strict=True):
            for number in events:
                kind, at = kinds[min(number, 1)], utc_text(created + timedelta(seconds=number))
                self._sequence += 1
                record = _record(kind, one.agent) % (at, one.requester, self._hash, self._sequence, one.transfer)
                self._hash = hashlib.sha256(record.encode()).hexdigest()
                yield self._sequence, at, kind, one.requester, one.transfer, record, self._hash


@cache
def _record(kind: str, agent: str | None) -> str:
    """Return an event of the chain with `%s` for what differs, in the order of canonical JSON."""
    differs = dict.fromkeys(("at", "person", "previous", "sequence", "subject"), "%s")
    return canonical({**differs, "kind": kind, "agent": agent, "door": None, "detail": {}}).decode()


def _insert(connection: Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(_TABLES[table].insert(), rows)


def _load(connection: Connection, table: Table, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert rows that have the columns of `table` in its order, by the store's quickest way."""
    raw: Any = connection.connection.dbapi_connection
    into = f"{table.name} ({', '.join(column.name for column in table.columns)})"
    if connection.dialect.name == "postgresql":
        with raw.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    raw.executemany(f"INSERT INTO {into} VALUES ({', '.join('?' * len(table.columns))})", rows)  # noqa: S608


def _analyse(url: URL) -> None:
    """Let PostgreSQL count, which it does by itself a while after so many rows; SQLite decides without."""
    if url.get_backend_name() == "postgresql":
        with dialect_of(url).whole_engine(url).begin() as connection:
            connection.exec_driver_sql("ANALYZE")
