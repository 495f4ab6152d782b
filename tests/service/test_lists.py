"""Lists of a store with many rows: each finds exactly what fits, in order, and none reads what does not."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import URL, Engine, event, select, update
from tests.servers.filled import GROUP, Filling, fill
from tests.servers.site import Person, Site, started_site
from tests.service.refusals import refused
from tests.service.test_listing import moved

from headrace.api.access.acting import Acting
from headrace.api.planning import found
from headrace.api.planning.plan_ways import Rights
from headrace.api.planning.whose import Narrowed
from headrace.api.settings import Settings
from headrace.api.store.address import dialect_of, store_url
from headrace.api.store.base import Base
from headrace.api.store.tables_work import NOT_PROMISED
from headrace.api.transfers.ways import ways_to
from headrace.client import models as m

pytestmark = pytest.mark.anyio

TABLES: Final = Base.metadata.tables
LONG: Final = {
    "plans",
    "transfers",
    "transfer_events",
    "transfer_approvers",
    "audit",
    "approvals",
    "attempts",
    "receipts",
}
"""Tables that grow with every transfer."""
LISTED: Final = {"plans", "transfers", "transfer_events", "transfer_approvers", "audit"}
"""Those that lists are read from, page by page; of the others, a page needs what belongs to its rows."""
List = Callable[[Acting], Awaitable[object]]
PEOPLE: Final = 6


@pytest.fixture
async def filled(each_store: URL, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    plain = each_store.set(drivername="postgresql").render_as_string(hide_password=False)
    folder = tmp_path / "site"
    folder.mkdir()
    settings = Settings(database="" if each_store.get_backend_name() == "sqlite" else plain)
    async with started_site(folder, settings) as site:
        await site.start_both()
        await moved(site, "set")
        await site.service.close()
        given = {"transfers": 120, **getattr(request, "param", {})}
        filling = Filling(until=site.clock(), people=PEOPLE, endpoints=6, open_plans=20, **given)
        await asyncio.to_thread(fill, store_of(site), filling)
        await site.restart()
        yield site


def store_of(site: Site) -> URL:
    return store_url(site.settings.database, site.settings.data)


def rows(site: Site, table: str) -> list[Mapping[str, Any]]:
    """Every row of a table, in the order of the list of everything."""
    found = TABLES[table]
    order = ("at", "sequence") if table == "audit" else ("created", "id")
    with dialect_of(store_of(site)).reading_engine(store_of(site)).connect() as connection:
        query = select(found).order_by(*(found.c[name] for name in order))
        return [dict(row) for row in connection.execute(query).mappings()]


async def all_of(page: Callable[[str | None], Awaitable[m.Page[Any]]]) -> list[Any]:
    """Every item of a list, page by page."""
    found, after = [], None
    while True:
        one = await page(after)
        found += one.items
        if one.next is None:
            return found
        after = one.next


async def overseer(site: Site) -> Person:
    return await site.person("olga", "operator", "auditor", "admin")


async def steward(site: Site) -> Person:
    """Somebody who sees what needed the approval of `GROUP`, and has no transfers."""
    stewart = await site.person("stewart", "requester", "approver")
    await site.ada.port.update_person(stewart.principal.id, m.PersonUpdate(groups=[GROUP]))
    return Person(site, await site.use_cases.people.of_session(stewart.secret), stewart.secret)


NARROWED: Final[Sequence[Mapping[str, Any]]] = (
    {},
    {"states": ["failed"]},
    {"states": ["failed", "partial", "complete"]},
    {"endpoint": "E1"},
    {"endpoint": "e1", "states": ["failed", "complete"]},
    {"label": "site=north"},
    {"label": "site", "states": ["complete"]},
    {"person": "Person 2"},
    {"person": "person 2", "states": ["failed", "complete"]},
    {"person": "person 2", "endpoint": "e0"},
    {"agent": "claude"},
    {"agent": "claude", "endpoint": "e0"},
    {"project": "cryo-em"},
    {"project": "cryo-em", "states": ["failed", "complete"]},
    {"project": "cryo-em", "person": "person 2"},
    {"project": "cryo-em", "endpoint": "e0", "agent": "claude"},
    {"project": "Cryo-EM"},
    {"endpoint": "e1", "label": "site=north"},
    {"endpoint": "nowhere"},
    {"person": "nobody"},
    {"label": "site=south"},
)


def endpoint_of(name: str) -> str:
    """The key of an endpoint `e0` to `e5`."""
    return f"ep_e{int(name[1:]):031x}" if name[1:].isdigit() else "none"


def fits(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """The same question, asked of one row."""
    ends = {row["source_endpoint"], row["destination_endpoint"]}
    north = {f"ep_e{number:031x}" for number in (0, 4)}
    return (
        ("states" not in wanted or row["state"] in wanted["states"])
        and ("agent" not in wanted or row["agent"] == wanted["agent"])
        and ("project" not in wanted or row["project"] == wanted["project"])
        and ("person" not in wanted or (row["requester"], wanted["person"].casefold()) == (f"pn_{2:032x}", "person 2"))
        and ("endpoint" not in wanted or endpoint_of(wanted["endpoint"]) in ends)
        and ("label" not in wanted or (bool(ends & north) and wanted["label"] != "site=south"))
    )


@pytest.mark.timeout(300)
async def test_every_list_of_transfers_finds_what_fits_and_may_be_seen_in_order(filled: Site) -> None:
    olga, stewart = await overseer(filled), await steward(filled)
    kept, plans = rows(filled, "transfers"), {row["id"]: row for row in rows(filled, "plans")}
    needing = [row for row in kept if plans[row["plan"]]["obligations"]]
    assert needing
    adas = [row for row in kept if row["requester"] == filled.ada.principal.id]
    _, assistant = await filled.ada.token("transfer:read", agent="claude")
    of_claude = [row for row in adas if row["agent"] == "claude"]
    for port, theirs in ((olga.port, kept), (filled.ada.port, adas), (stewart.port, needing), (assistant, of_claude)):
        for wanted in NARROWED:
            for order in ("newest", "oldest"):

                async def page(after: str | None) -> m.Page[Any]:
                    return await port.transfers(**wanted, order=order, limit=30, after=after)  # noqa: B023 - at once

                expected = [row["id"] for row in theirs if fits(row, wanted)]
                found = [one.id for one in await all_of(page)]
                assert found == (expected if order == "oldest" else expected[::-1]), (wanted, order)
            narrowed = {name: value for name, value in wanted.items() if name != "states"}
            counted = await port.transfer_counts(**narrowed)
            assert counted.exact
            assert counted.total == sum(fits(row, narrowed) for row in theirs), wanted


async def test_a_list_shows_of_each_transfer_what_is_shown_of_it_alone(filled: Site) -> None:
    now, transfers = filled.clock(), TABLES["transfers"]
    paused = {"state": "paused", "wish": "pause", "paused_since": now, "ended": None, "receipt": None, "error": None}
    hours = m.RunHours(opens="22:00", closes="06:00", zone="UTC").model_dump_json()
    changed: dict[str, Mapping[str, Any]] = {
        row["id"]: {**(paused if number % 2 else {}), "deadline": deadline, "promised": promised, "hours": own}
        for number, (row, (deadline, promised, own)) in enumerate(
            zip(
                rows(filled, "transfers"),
                product(
                    (None, now - timedelta(hours=1), now + timedelta(days=2)), (None, now, NOT_PROMISED), (None, hours)
                ),
                strict=False,
            )
        )
    }
    await filled.service.close()
    with dialect_of(store_of(filled)).whole_engine(store_of(filled)).begin() as connection:
        for transfer, values in changed.items():
            connection.execute(update(transfers).where(transfers.c.id == transfer).values(**values))
    await filled.restart()
    olga = await overseer(filled)
    listed = {one.id: one for one in await all_of(lambda after: olga.port.transfers(limit=200, after=after))}
    assert any(listed[transfer].deadline_at_risk for transfer in changed)
    for transfer in changed:
        assert listed[transfer] == await olga.port.transfer(transfer)


@pytest.mark.timeout(200)
async def test_a_list_shows_of_each_plan_what_is_shown_of_it_alone(filled: Site) -> None:
    olga = await overseer(filled)
    _, assistant = await filled.ada.token("transfer:read", agent="claude")
    for port, person in ((olga.port, "person 2"), (filled.ada.port, ""), (assistant, "")):
        listed = await all_of(lambda after: port.plans(person=person, limit=200, after=after))  # noqa: B023 - at once
        assert listed
        alone = [await port.plan(one.id) for one in listed]
        assert listed == [one.model_copy(update={"document": None}) for one in alone]


@pytest.mark.timeout(200)
async def test_every_list_of_plans_finds_what_fits_and_may_be_seen_in_order(filled: Site) -> None:
    olga, stewart = await overseer(filled), await steward(filled)
    kept = rows(filled, "plans")
    person_2 = [row for row in kept if row["requester"] == f"pn_{2:032x}"]
    cases: list[tuple[Acting, Mapping[str, Any], list[Mapping[str, Any]]]] = [
        (olga.port, {}, []),
        (olga.port, {"person": "person 2"}, person_2),
        (
            olga.port,
            {"person": "person 2", "endpoint": "e0"},
            [row for row in person_2 if fits(row, {"endpoint": "e0"})],
        ),
        (
            olga.port,
            {"person": "person 2", "project": "cryo-em"},
            [row for row in person_2 if row["project"] == "cryo-em"],
        ),
        (olga.port, {"person": "nobody"}, []),
        (stewart.port, {"person": "person 2"}, [row for row in person_2 if row["obligations"]]),
        (filled.ada.port, {}, [row for row in kept if row["requester"] == filled.ada.principal.id]),
        (filled.ada.port, {"person": "person 2"}, []),
    ]
    for port, wanted, theirs in cases:
        for order in ("newest", "oldest"):

            async def page(after: str | None) -> m.Page[Any]:
                return await port.plans(**wanted, order=order, limit=40, after=after)  # noqa: B023 - at once

            expected = [row["id"] for row in theirs]
            assert [one.id for one in await all_of(page)] == (expected if order == "oldest" else expected[::-1])
    waiting = await all_of(lambda after: stewart.port.plans(awaiting_me=True, limit=7, after=after))
    open_now = {row["id"] for row in kept if row["obligations"] and row["expires"] > filled.clock()}
    # All of them were made at the same time: their ids tell the order.
    assert [one.id for one in waiting] == sorted(open_now, reverse=True)
    assert (await stewart.port.plan_counts()).awaiting_me == len(open_now)


MANY: Final = 101
"""Endpoints with one label: as a source and as a destination they are more than a statement takes ways."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("filled", [{"seldom": MANY, "seldom_every": 2}], indirect=True)
async def test_a_label_of_more_endpoints_than_a_statement_takes_ways_finds_what_fits_in_order(filled: Site) -> None:
    olga = await overseer(filled)
    kept = rows(filled, "transfers"), rows(filled, "plans")

    def far(row: Mapping[str, Any]) -> bool:
        return any(row[end].startswith("ep_s") for end in ("source_endpoint", "destination_endpoint"))

    cases: Sequence[Mapping[str, Any]] = (
        {},
        {"states": ["failed", "complete"]},
        {"person": "person 2"},
        {"agent": "claude"},
    )
    for wanted in cases:
        await _finds(partial(olga.port.transfers, label="site=far", **wanted), kept[0], far, wanted)
    both = partial(olga.port.transfers, endpoint="e0", label="site=far")
    await _finds(both, kept[0], far, {"endpoint": "e0"})
    theirs = partial(olga.port.plans, label="site=far", person="person 2")
    await _finds(theirs, kept[1], far, {"person": "person 2"})
    word = next(row for row in kept[0] if far(row))["source"].rpartition("/")[2]
    await _finds(
        partial(olga.port.transfers, label="site=far", search=word), kept[0], lambda row: word in row["source"], {}
    )
    counted = await olga.port.transfer_counts(label="site=far")
    assert (counted.exact, counted.total) == (True, sum(far(row) for row in kept[0]))


async def _finds(
    list_: Callable[..., Awaitable[m.Page[Any]]],
    kept: Sequence[Mapping[str, Any]],
    besides: Callable[[Mapping[str, Any]], bool],
    wanted: Mapping[str, Any],
) -> None:
    """Say that a list has each row that fits, in pages of several lengths and both orders."""
    expected = [row["id"] for row in kept if besides(row) and fits(row, wanted)]
    assert expected
    for limit in (7, 50):
        for order in ("newest", "oldest"):
            found = [one.id for one in await all_of(lambda after: list_(order=order, limit=limit, after=after))]  # noqa: B023 - at once
            assert found == (expected if order == "oldest" else expected[::-1]), (wanted, order, limit)


async def test_events_of_several_kinds_of_a_person_and_a_time_come_in_the_order_of_time(filled: Site) -> None:
    aud = (await overseer(filled)).port
    kept = rows(filled, "audit")
    middle = kept[len(kept) // 2]["at"]
    for wanted, kinds, person in (
        ({"kinds": ["submitted", "transfer_changed"]}, {"submitted", "transfer_changed"}, None),
        ({"kinds": ["submitted"], "person": "person 2"}, {"submitted"}, f"pn_{2:032x}"),
        ({"person": "person 2"}, None, f"pn_{2:032x}"),
        ({"since": middle}, None, None),
        ({"until": middle, "kind": "submitted"}, {"submitted"}, None),
    ):
        expected = [
            row["sequence"]
            for row in kept
            if (kinds is None or row["kind"] in kinds)
            and (person is None or row["person"] == person)
            and ("since" not in wanted or row["at"] >= middle)
            and ("until" not in wanted or row["at"] < middle)
        ]
        for order in ("newest", "oldest"):

            async def page(after: str | None) -> m.Page[Any]:
                return await aud.audit(**wanted, order=order, limit=300, after=after)  # noqa: B023 - at once

            found = [int(one.sequence) for one in await all_of(page)]
            assert found == (expected if order == "oldest" else expected[::-1]), (wanted, order)
    assert (await filled.use_cases.audit.verify(full=True)).intact


async def test_a_state_that_there_is_not_is_refused_by_name(quiet_site: Site) -> None:
    with refused("invalid_request") as refusal:
        await quiet_site.ada.port.plans(states=["nearly"])
    assert "known states are surveying" in str(refusal.value)


@pytest.mark.timeout(300)
async def test_who_has_a_thousand_groups_sees_what_waits_for_one_of_them(filled: Site) -> None:
    stewart = await steward(filled)
    groups = frozenset({f"group {number}" for number in range(1_000)}) | stewart.principal.groups
    many = Person(filled, replace(stewart.principal, groups=groups), stewart.secret)
    for order in ("newest", "oldest"):
        one, other = [
            [
                [row.id for row in (await who.port.transfers(order=order, limit=100)).items],
                [row.id for row in (await who.port.plans(person="person 2", order=order)).items],
            ]
            for who in (stewart, many)
        ]
        assert one == other
        assert all(one)
    counted = [await who.port.transfer_counts() for who in (stewart, many)]
    assert counted[0] == counted[1]
    [plan, *_], [transfer, *_] = (await many.port.plans(person="person 2")).items, (await many.port.transfers()).items
    assert (await many.port.plan(plan.id)).id == plan.id
    assert (await many.port.transfer(transfer.id)).id == transfer.id


# -- what the store does for a list --


def test_a_label_is_looked_up_once_for_each_endpoint_and_end() -> None:
    olga = Rights(person="pn_1", agent=None, reads_all=False, oversees=True, approves_as=frozenset())
    labelled = Narrowed(ends=(("ep_1", "ep_2", "ep_3"),))
    assert len(ways_to(olga, labelled, ())) == 3 * 2
    assert len(ways_to(olga, labelled, (m.TransferState.FAILED, m.TransferState.PARTIAL))) == 3 * 2 * 2


def test_a_label_of_many_endpoints_is_one_way_for_each_end_and_state_and_looks_for_each_endpoint() -> None:
    olga = Rights(person="pn_1", agent=None, reads_all=False, oversees=True, approves_as=frozenset())
    labelled = Narrowed(ends=(tuple(f"ep_{number}" for number in range(1_000)),))
    for states in ((), (m.TransferState.FAILED, m.TransferState.PARTIAL)):
        ways = ways_to(olga, labelled, states)
        assert len(ways) == 2 * max(1, len(states))
        assert all(way.each is not None and len(way.each.values) == 1_000 for way in ways)


@contextmanager
def told() -> Iterator[list[tuple[str, Any]]]:
    """Note the statements that read from the store inside the block."""
    noted: list[tuple[str, Any]] = []

    def before(*arguments: Any) -> None:  # noqa: ANN401 - SQLAlchemy's
        _, _, statement, parameters, *_ = arguments
        # The newest link of the audit chain is read by duties beside.
        if statement.startswith("SELECT") and not statement.startswith("SELECT audit.sequence, audit.body, audit.hash"):
            noted.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", before)
    try:
        yield noted
    finally:
        event.remove(Engine, "before_cursor_execute", before)


def reads_of(store: URL, statement: str, parameters: Any) -> Iterator[str]:  # noqa: ANN401 - the driver's
    """What a statement reads of long tables without looking for it, or sorts, by the store's own word."""
    with dialect_of(store).reading_engine(store).connect() as connection:
        explained = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    siblings: dict[int, list[str]] = {}
    for _, parent, _, detail in explained:
        siblings.setdefault(parent, []).append(detail)
    for details in siblings.values():
        reads = [one for one in details if one.startswith(("SCAN ", "SEARCH ")) and one.split()[1] in LONG]
        yield from (one for one in reads if one.startswith("SCAN "))
        if any("B-TREE FOR" in one and "ORDER BY" in one for one in details):
            yield from (f"SORT {one}" for one in reads if one.split()[1] in LISTED)


def transfers(wanted: Mapping[str, Any], port: Acting) -> Awaitable[object]:
    return port.transfers(**wanted)


def counts(wanted: Mapping[str, Any], port: Acting) -> Awaitable[object]:
    return port.transfer_counts(**wanted)


LISTS: Final[Mapping[str, List]] = {
    **{f"transfers {dict(one)}": partial(transfers, one) for one in NARROWED[1:]},
    **{f"counts {dict(one)}": partial(counts, one) for one in NARROWED[2:] if "states" not in one},
    "plans of a person": lambda port: port.plans(person="person 2"),
    "plans of a person by state": lambda port: port.plans(person="person 2", states=["ready", "expired", "failed"]),
    "own plans": lambda port: port.plans(),
    "plans of a person for a project": lambda port: port.plans(person="person 2", project="cryo-em"),
    "own plans for a project, by state": lambda port: port.plans(project="cryo-em", states=["ready", "expired"]),
    "own plans by state": lambda port: port.plans(states=["ready", "expired"]),
    "own plans, oldest": lambda port: port.plans(order="oldest"),
    "own plans by word": lambda port: port.plans(search="data"),
    "plan counts": lambda port: port.plan_counts(),
    "events of a kind": lambda port: port.audit(kind="submitted", order="newest"),
    "events of kinds and a person": lambda port: port.audit(kinds=["submitted", "decided"], person="person 2"),
    "events about a subject": lambda port: port.audit(subject="tr_1"),
}
"""Lists of which each read goes by an index."""
WHOLE: Final[Mapping[str, List]] = {
    "transfers": lambda port: port.transfers(),
    "transfers, oldest": lambda port: port.transfers(order="oldest"),
    "transfers by word": lambda port: port.transfers(search="data"),
    "counts": lambda port: port.transfer_counts(),
    "events": lambda port: port.audit(),
    "events, newest": lambda port: port.audit(order="newest"),
    "people": lambda port: port.people(),
}
"""Lists of everything: they walk along an index in their order, as far as the page goes."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("each_store", ["sqlite"], indirect=True)
async def test_no_list_scans_or_sorts_a_long_table(filled: Site) -> None:
    olga, stewart = await overseer(filled), await steward(filled)
    transfer = rows(filled, "transfers")[5]["id"]
    details: dict[str, List] = {
        "transfer": lambda port: port.transfer(transfer),
        "transfer by the beginning of its id": lambda port: port.transfer(transfer[:20]),
        "history": lambda port: port.transfer_events(transfer, order="newest"),
        "plan": lambda port: port.plan(transfer.replace("tr_", "pl_")),
    }
    inbox: dict[str, List] = {
        "inbox": lambda port: port.plans(awaiting_me=True),
        "counts": lambda port: port.plan_counts(),
    }
    cases = [(olga.port, name, one, False) for name, one in {**LISTS, **details}.items()]
    cases += [(olga.port, name, one, True) for name, one in WHOLE.items()]
    cases += [(filled.ada.port, name, one, False) for name, one in LISTS.items() if "event" not in name]
    cases += [(filled.ada.port, name, one, False) for name, one in WHOLE.items() if "transfers" in name]
    cases += [
        (stewart.port, name, one, False)
        for name, one in {**LISTS, **WHOLE, **inbox}.items()
        if "ev" not in name and name != "people"
    ]
    for port, name, one, whole in cases:
        with told() as statements:
            await one(port)
        assert statements
        for statement, parameters in statements:
            for read in reads_of(store_of(filled), statement, parameters):
                along = read.startswith("SCAN") and whole and ("created" in read or "audit" in read)
                few = read.startswith("SORT") and ("state_unstarted_expires" in read or "id=?" in read)
                assert along or few, (name, read, statement)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("each_store", ["sqlite"], indirect=True)
async def test_for_whom_an_open_plan_waits_is_told_by_an_index_alone(filled: Site) -> None:
    stewart = await steward(filled)
    inbox: tuple[List, ...] = (lambda port: port.plans(awaiting_me=True), lambda port: port.plan_counts())
    for one in inbox:
        with told() as statements:
            await one(stewart.port)
        limited = [(statement, parameters) for statement, parameters in statements if "LIMIT" in statement]
        reads = {read for one in limited for read in searches_of(store_of(filled), *one) if "expires>?" in read}
        assert {read.partition(" (")[0] for read in reads} == {
            "SEARCH plans USING COVERING INDEX ix_plans_state_unstarted_expires"
        }


def searches_of(store: URL, statement: str, parameters: Any) -> list[str]:  # noqa: ANN401 - the driver's
    """By which indexes a statement finds plans, by the store's own word."""
    with dialect_of(store).reading_engine(store).connect() as connection:
        explained = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    return [detail for _, _, _, detail in explained if detail.startswith("SEARCH plans ")]


def steps_of(store: URL, statement: str, parameters: Any) -> int:  # noqa: ANN401 - the driver's
    """How many hundreds of steps of SQLite's machine a statement takes; it takes some ten for a row that it passes."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    with closing(sqlite3.connect(store.database or "")) as connection:
        connection.set_progress_handler(count, 100)
        connection.execute(statement, parameters).fetchall()
    return counted


@pytest.mark.timeout(300)
@pytest.mark.parametrize("each_store", ["sqlite"], indirect=True)
@pytest.mark.parametrize("filled", [{"transfers": 6000}], indirect=True)
async def test_what_fits_is_found_without_passing_all_that_does_not(
    filled: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "LOOKED_AT_FIRST", 50)
    rare = rows(filled, "transfers")[7]["source"].rpartition("/")[2]
    olga, stewart = await overseer(filled), await steward(filled)
    otto = await filled.person("otto", "approver")
    _, assistant = await filled.ada.token("transfer:read", agent="scribe")
    cases: dict[str, tuple[Acting, List]] = {
        "own transfers of an endpoint that has one": (filled.ada.port, lambda port: port.transfers(endpoint="lab")),
        "own transfers of it that failed": (
            filled.ada.port,
            lambda port: port.transfers(endpoint="lab", states=["failed", "partial"]),
        ),
        "counts of an endpoint that has one": (filled.ada.port, lambda port: port.transfer_counts(endpoint="lab")),
        "own plans of an endpoint that has one": (filled.ada.port, lambda port: port.plans(endpoint="lab")),
        "own plans of it that may start": (
            filled.ada.port,
            lambda port: port.plans(endpoint="lab", states=["ready", "expired"]),
        ),
        "transfers of an assistant that planned none": (assistant, lambda port: port.transfers()),
        "counts of an assistant that planned none": (assistant, lambda port: port.transfer_counts()),
        "plans of an assistant that planned none": (assistant, lambda port: port.plans()),
        "plans of an assistant that planned none, two states": (
            assistant,
            lambda port: port.plans(states=["ready", "expired"]),
        ),
        "a person's plans, for who may approve none": (otto.port, lambda port: port.plans(person="ada")),
        "a person's open plans, for who may approve none": (
            otto.port,
            lambda port: port.plans(person="ada", states=["ready", "expired"]),
        ),
        "an assistant's transfers of an endpoint": (
            olga.port,
            lambda port: port.transfers(agent="claude", endpoint="lab"),
        ),
        "transfers of a project that has none": (olga.port, lambda port: port.transfers(project="quartz")),
        "counts of a project that has none": (olga.port, lambda port: port.transfer_counts(project="quartz")),
        "a project's transfers of an endpoint": (
            olga.port,
            lambda port: port.transfers(project="quartz", endpoint="e1", states=["complete"]),
        ),
        "own transfers of a project that has none": (filled.ada.port, lambda port: port.transfers(project="quartz")),
        "own plans of a project that has none": (
            filled.ada.port,
            lambda port: port.plans(project="quartz", states=["ready", "expired"]),
        ),
        "own plans that may start or have expired": (
            filled.ada.port,
            lambda port: port.plans(states=["ready", "expired"]),
        ),
        "own plans that have expired": (filled.ada.port, lambda port: port.plans(states=["expired"])),
        "own plan counts": (filled.ada.port, lambda port: port.plan_counts()),
        "own transfers of no endpoint": (filled.ada.port, lambda port: port.transfers(endpoint="nowhere")),
        "own transfers of no label": (filled.ada.port, lambda port: port.transfers(label="site=south")),
        "counts of no endpoint": (filled.ada.port, lambda port: port.transfer_counts(endpoint="nowhere")),
        "transfers by a word that an old one holds": (olga.port, lambda port: port.transfers(search=rare)),
        "the oldest transfers by it": (olga.port, lambda port: port.transfers(search=rare, order="oldest")),
        "counts of it": (olga.port, lambda port: port.transfer_counts(search=rare)),
        "own transfers by it": (filled.ada.port, lambda port: port.transfers(search=rare)),
        "own plans by a word that none holds": (filled.ada.port, lambda port: port.plans(search="quartz")),
        "inbox": (stewart.port, lambda port: port.plans(awaiting_me=True)),
        "counts of the inbox": (stewart.port, lambda port: port.plan_counts()),
    }
    for name, (port, one) in cases.items():
        with told() as statements:
            await one(port)
        taken = sum(steps_of(store_of(filled), statement, parameters) for statement, parameters in statements)
        # Ada has 2,400 of them, which take 300 to pass; and 16 are made in a day.
        assert taken < 150, (name, taken)
