"""Fills a store with what a site makes in years: copies of one real transfer, made by several people."""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import URL, Connection, Table, select

from headrace.api.store.address import dialect_of
from headrace.api.store.base import Base
from headrace.client import models as m
from headrace.guardrails import Link, link, utc_text

_TABLES = Base.metadata.tables
_AT_ONCE: Final = 2000
_STATES: Final = (("complete", 0.93), ("failed", 0.03), ("partial", 0.02), ("canceled", 0.02))
_AGENTS: Final = ("claude", "nightly")
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
    open_plans: int = 200
    """Plans of the last day that wait for the approval of `GROUP`."""
    days: int = 365
    seed: int = 1


@dataclass(frozen=True, slots=True)
class _Template:
    """The rows that are copied."""

    plan: Mapping[str, Any]
    transfer: Mapping[str, Any]
    person: Mapping[str, Any]
    endpoint: Mapping[str, Any]


def fill(url: URL, filling: Filling) -> None:
    """Copy the newest transfer in the store at `url`, which nobody else writes to meanwhile."""
    chance = random.Random(filling.seed)  # noqa: S311 - nothing secret
    with dialect_of(url).whole_engine(url).begin() as connection:
        template = _template(connection)
        people = [template.person["id"], *(f"pn_{number:032x}" for number in range(filling.people))]
        _insert(
            connection,
            "people",
            (
                {**template.person, "id": id_, "name": f"person {n}", "name_key": f"person {n}", "password_hash": None}
                for n, id_ in enumerate(people[1:])
            ),
        )
        endpoints = list(_endpoints(connection, template, filling.endpoints))
        made = [_made(chance, filling, number, people, endpoints) for number in range(filling.transfers)]
        for part in _parts(made):
            _insert(connection, "plans", (_plan(template, one) for one in part))
            _insert(connection, "transfers", (_transfer(template, one) for one in part))
            _insert(connection, "transfer_events", (row for one in part for row in _history(one, filling.events_each)))
            _insert(
                connection,
                "transfer_approvers",
                (
                    {"name": GROUP, "created": one["created"], "transfer": one["transfer"]}
                    for one in part
                    if one["obligations"]
                ),
            )
        waiting = [_made(chance, filling, -number, people, endpoints) for number in range(filling.open_plans)]
        _insert(connection, "plans", (_open_plan(template, filling, one) for one in waiting))
        _chain(connection, made, filling.events_each)
    _analyse(url)


def _template(connection: Connection) -> _Template:
    def one(table: str, key: str, value: object) -> dict[str, Any]:
        found = _TABLES[table]
        return dict(connection.execute(select(found).where(found.c[key] == value)).mappings().one())

    transfers = _TABLES["transfers"]
    newest = dict(connection.execute(select(transfers).order_by(transfers.c.created.desc()).limit(1)).mappings().one())
    plan = one("plans", "id", newest["plan"])
    return _Template(
        plan, newest, one("people", "id", newest["requester"]), one("endpoints", "pk", newest["source_endpoint"])
    )


def _endpoints(connection: Connection, template: _Template, count: int) -> Iterator[str]:
    """Make endpoints `e0`, `e1`, ..., of which every fourth has the label `site=north`."""
    for number in range(count):
        pk = f"ep_{number:032x}"
        labels = '{"site":"north"}' if number % 4 == 0 else "{}"
        _insert(connection, "endpoints", [{**template.endpoint, "pk": pk, "root": f"e{number}", "labels": labels}])
        _insert(
            connection,
            "endpoint_names",
            [{"name_key": f"e{number}", "name": f"e{number}", "endpoint": pk, "main": True}],
        )
        yield pk


def _made(
    chance: random.Random, filling: Filling, number: int, people: Sequence[str], endpoints: Sequence[str]
) -> dict[str, Any]:
    """Choose what sets a transfer apart: few people and endpoints have most of them."""
    key = f"{chance.getrandbits(128):032x}"
    back = timedelta(days=filling.days) * (filling.transfers - number) / max(1, filling.transfers)
    return {
        "key": key,
        "plan": f"pl_{key}",
        "transfer": f"tr_{key}",
        "digest": hashlib.sha256(key.encode()).hexdigest(),
        "requester": people[int(len(people) * chance.random() ** 2)],
        "agent": chance.choice(_AGENTS) if chance.random() < 0.1 else None,
        "source": endpoints[int(len(endpoints) * chance.random() ** 2)],
        "destination": endpoints[int(len(endpoints) * chance.random() ** 2)],
        "state": chance.choices([state for state, _ in _STATES], [weight for _, weight in _STATES])[0],
        "created": filling.until - back,
        "obligations": (f"approval:{GROUP}:1",) if chance.random() < 0.02 else (),
    }


def _plan(template: _Template, one: Mapping[str, Any]) -> dict[str, Any]:
    made = {
        **template.plan,
        "id": one["plan"],
        "digest": one["digest"],
        "requester": one["requester"],
        "agent": one["agent"],
        "source_endpoint": one["source"],
        "destination_endpoint": one["destination"],
        "obligations": one["obligations"],
        "created": one["created"],
        "expires": one["created"] + timedelta(days=1),
    }
    made["card"] = template.plan["card"].replace(template.plan["id"], one["plan"])
    return made


def _open_plan(template: _Template, filling: Filling, one: Mapping[str, Any]) -> dict[str, Any]:
    created = filling.until - timedelta(minutes=10)
    made = _plan(template, {**one, "created": created, "obligations": (f"approval:{GROUP}:1",)})
    return {**made, "expires": filling.until + timedelta(hours=20)}


def _transfer(template: _Template, one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **template.transfer,
        "id": one["transfer"],
        "plan": one["plan"],
        "plan_digest": one["digest"],
        "state": one["state"],
        "requester": one["requester"],
        "agent": one["agent"],
        "source_endpoint": one["source"],
        "destination_endpoint": one["destination"],
        "source": f"e{int(one['source'][3:], 16)}:/data/{one['key'][:6]}",
        "destination": f"e{int(one['destination'][3:], 16)}:/data/{one['key'][:6]}",
        "created": one["created"],
        "started": one["created"],
        "ended": one["created"] + timedelta(minutes=1),
        "receipt": None,
        "tidied": True,
    }


def _history(one: Mapping[str, Any], events_each: int) -> Iterator[dict[str, Any]]:
    for sequence in range(1, events_each // 2 + 1):
        at = one["created"] + timedelta(seconds=sequence)
        kind = m.TransferEventKind.QUEUED.value
        yield {"transfer": one["transfer"], "sequence": sequence, "at": at, "kind": kind, "message": "as before"}


def _chain(connection: Connection, made: Sequence[Mapping[str, Any]], events_each: int) -> None:
    """Append events to the audit chain, as whole as any."""
    audit = _TABLES["audit"]
    newest = select(audit.c.sequence, audit.c.body, audit.c.hash).order_by(audit.c.sequence.desc()).limit(1)
    row = connection.execute(newest).one()
    last = Link(row.sequence, row.body.encode(), row.hash)
    kinds = (m.AuditKind.SUBMITTED, m.AuditKind.TRANSFER_CHANGED)
    for part in _parts(made):
        rows = []
        for one in part:
            for number in range(events_each // 2):
                kind, at = kinds[min(number, 1)], one["created"] + timedelta(seconds=number)
                last = link(
                    last,
                    {
                        "at": utc_text(at),
                        "kind": kind.value,
                        "person": one["requester"],
                        "agent": one["agent"],
                        "door": None,
                        "subject": one["transfer"],
                        "detail": {},
                    },
                )
                rows.append(
                    {"sequence": last.sequence, "at": at, "kind": kind.value, "person": one["requester"]}
                    | {"subject": one["transfer"], "body": last.record.decode(), "hash": last.hash}
                )
        _insert(connection, "audit", rows)


def _parts(made: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    for begin in range(0, len(made), _AT_ONCE):
        yield made[begin : begin + _AT_ONCE]


def _insert(connection: Connection, table: str, rows: "Iterator[dict[str, Any]] | Sequence[dict[str, Any]]") -> None:
    found: Table = _TABLES[table]
    values = list(rows)
    if values:
        connection.execute(found.insert(), values)


def _analyse(url: URL) -> None:
    """Let PostgreSQL count, which it does by itself a while after so many rows; SQLite decides without."""
    if url.get_backend_name() == "postgresql":
        with dialect_of(url).whole_engine(url).begin() as connection:
            connection.exec_driver_sql("ANALYZE")
