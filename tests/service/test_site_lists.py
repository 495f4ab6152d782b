"""Lists of what a site consists of (endpoints, nodes, tokens): their pages joined are the whole, whatever happens."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import URL, text
from tests.servers.filled import Filling, fill
from tests.servers.site import Site, started_site
from tests.service.refusals import refused
from tests.service.test_listing import moved
from tests.service.test_lists import steps_of, store_of, told

from headrace.api.access.acting import Acting
from headrace.api.settings import Settings
from headrace.api.store.address import dialect_of, store_url
from headrace.api.store.migrate import migrate
from headrace.client import models as m
from headrace.client import whole_list

pytestmark = pytest.mark.anyio

ROOTS: Final = ("alpha", "Beta", "gamma", "Delta", "raw-1", "raw-2", "raw-10")


def settings_of(store: URL) -> Settings:
    plain = store.set(drivername="postgresql").render_as_string(hide_password=False)
    return Settings(database="" if store.get_backend_name() == "sqlite" else plain)


@pytest.fixture
async def site(each_store: URL, tmp_path: Path) -> AsyncIterator[Site]:
    """A site with nine endpoints of three nodes."""
    async with started_site(tmp_path, settings_of(each_store)) as site:
        await site.start_both()
        await with_roots(site, "third", ROOTS)
        yield site


async def with_roots(site: Site, node: str, roots: Sequence[str]) -> None:
    """Let a node join whose roots become endpoints of these names."""
    folder = site.folder / f"of {node}"
    folder.mkdir()
    await site.start_node(node, [(root, str(folder), "read") for root in roots])


async def ids(port: Acting, **narrowed: str) -> list[str]:
    return [one.id for one in await whole_list(partial(port.endpoints, limit=2, **narrowed))]


# -- endpoints --


async def test_pages_of_endpoints_joined_are_the_whole_at_every_limit(site: Site) -> None:
    port = site.ada.port
    whole = (await port.endpoints()).items
    assert sorted(one.id for one in whole) == sorted(["lab", "archive", *ROOTS])
    for limit in range(1, len(whole) + 2):
        assert (await whole_list(partial(port.endpoints, limit=limit))).items == whole, limit
        first = await port.endpoints(limit=limit)
        assert (first.items, first.next is None) == (whole[:limit], limit >= len(whole))
    for limit in (0, 1001):
        with refused("invalid_request"):
            await port.endpoints(limit=limit)


@pytest.mark.parametrize("each_store", ["sqlite"], indirect=True)
async def test_endpoints_are_listed_by_id_whatever_the_case(site: Site) -> None:
    names = {"lab", "archive", *ROOTS}
    assert await ids(site.ada.port) == sorted(names, key=str.casefold)
    await site.ada.port.update_endpoint("alpha", m.EndpointUpdate(id="Microscope"))
    assert await ids(site.ada.port) == sorted(names - {"alpha"} | {"Microscope"}, key=str.casefold)


async def test_what_is_there_all_the_while_is_listed_once_while_endpoints_come_are_renamed_and_go(site: Site) -> None:
    port, before = site.ada.port, await ids(site.ada.port)
    page = await port.endpoints(limit=3)
    found = [one.id for one in page]
    await with_roots(site, "fourth", ["aaa", "zzz"])
    # The very one after which the list goes on has another name now.
    assert page.next is not None
    await port.update_endpoint(page.next, m.EndpointUpdate(id="aab"))
    await site.stop_node("right")
    [right] = [one for one in await port.nodes() if one.name == "right"]
    await port.revoke_node(right.id)
    while page.next is not None:
        page = await port.endpoints(limit=3, after=page.next)
        found += [one.id for one in page]
    assert [one for one in found if one in before and one != "archive"] == [one for one in before if one != "archive"]
    assert len(found) == len(set(found))
    assert "zzz" in found
    assert "aaa" not in found, "its place was passed"
    assert "archive" not in await ids(port), "of a node that was revoked"


async def test_a_place_that_no_page_named_is_one_in_the_order_of_ids(site: Site) -> None:
    port, whole = site.ada.port, await ids(site.ada.port)
    for made_up in ("GAMMA", "", "nobody's", "\u00e9", "%", "'; DROP TABLE endpoints; --", "zzzz"):
        page = await port.endpoints(after=made_up)
        listed = [one.id for one in page]
        assert listed == whole[len(whole) - len(listed) :], "the end of the list"
        assert page.next is None
    assert [one.id for one in await port.endpoints(after="GAMMA")] == whole[whole.index("gamma") + 1 :]
    assert [one.id for one in await port.endpoints(after="")] == whole
    assert (await port.endpoints(after="zzzz")).items == []


async def test_a_text_is_found_in_ids_aliases_roots_and_names_of_nodes(site: Site) -> None:
    port = site.ada.port
    await port.update_endpoint("gamma", m.EndpointUpdate(id="Microscope 3", aliases=["kriosÄ", "c%_d"]))
    fits: Mapping[str, Sequence[str]] = {
        "MICRO": ["Microscope 3"],
        "scope 3": ["Microscope 3"],
        " scope 3 ": ["Microscope 3"],
        "kriosä": ["Microscope 3"],
        "gam": ["Microscope 3"],
        "raw-1": ["raw-1", "raw-10"],
        "aw-": ["raw-1", "raw-10", "raw-2"],
        "Third": sorted(["Microscope 3", *(one for one in ROOTS if one != "gamma")]),
        "right": ["archive"],
        "c%_d": ["Microscope 3"],
        "%": ["Microscope 3"],
        "_": ["Microscope 3"],
        "nothing like it": [],
    }
    for asked, expected in fits.items():
        assert sorted(await ids(port, q=asked)) == sorted(expected), asked
    await port.update_endpoint("microscope 3", m.EndpointUpdate(aliases=[]))
    assert await ids(port, q="krios") == [], "its names of before find it no longer"
    assert await ids(port, q="  ") == await ids(port)


async def test_endpoints_of_a_node_are_listed_by_its_name_id_or_key(site: Site) -> None:
    port = site.ada.port
    [third] = [one for one in await port.nodes() if one.name == "third"]
    for named in (third.name, third.id, third.key):
        assert sorted(await ids(port, node=named)) == sorted(ROOTS)
    assert await ids(port, node="thi") == []
    assert sorted(await ids(port, node="third", q="raw")) == ["raw-1", "raw-10", "raw-2"]
    assert await ids(port, node="left", q="raw") == []


LABELS: Final[Mapping[str, Mapping[str, str]]] = {
    "alpha": {"site": "north", "class": "open"},
    "Beta": {"site": "north-east"},
    "gamma": {"websites": "north"},
    "Delta": {"site": "gr\u00f6\u00dfe"},
    "raw-1": {"gr\u00f6\u00dfe": "site"},
    "raw-2": {"n": "site", "site": "n"},
}


async def test_labels_are_matched_as_in_lists_of_transfers(site: Site) -> None:
    def fits(labels: Mapping[str, str], wanted: str) -> bool:
        name, is_value, value = wanted.partition("=")
        return labels.get(name) == value if is_value else name in labels

    port = site.ada.port
    for endpoint, labels in LABELS.items():
        await port.update_endpoint(endpoint, m.EndpointUpdate(labels=dict(labels)))
        await moved_to_lab(site, endpoint)
    asked = ["site", "site=north", "site=North", "Site", "sit", "ite", "site=nort", "site=orth", "site=", "=north", "="]
    asked += [
        "site=gr\u00f6\u00dfe",
        "gr\u00f6\u00dfe",
        "gr\u00f6\u00dfe=site",
        "n",
        "n=site",
        "north",
        'site": "north',
    ]
    asked += ["class=open", "site=%", "site=n_rth", "site\\", "site=north=", "nothing"]
    for wanted in asked:
        expected = sorted(endpoint for endpoint, labels in LABELS.items() if fits(labels, wanted))
        assert sorted(await ids(port, label=wanted)) == expected, wanted
        sources = {plan.intent.source.partition(":")[0] for plan in await port.plans(label=wanted) if plan.intent}
        assert sorted(sources) == expected, wanted
    assert await ids(port, label="site", q="beta") == ["Beta"]


async def moved_to_lab(site: Site, endpoint: str) -> None:
    """Plan a copy from it."""
    await site.ada.plan(f"{endpoint}:/", "lab:/from-there")


# -- nodes --


async def test_pages_of_nodes_joined_are_the_whole_at_every_limit_while_one_goes(site: Site) -> None:
    port = site.ada.port
    whole = (await port.nodes()).items
    assert [one.name for one in whole] == ["left", "right", "third"]
    for limit in (1, 2, 3, 4):
        assert [one.id for one in await whole_list(partial(port.nodes, limit=limit))] == [one.id for one in whole]
    first = await port.nodes(limit=1)
    assert first.next is not None
    await port.revoke_node(first[0].id)
    await port.remove_node(first[0].id)
    assert [one.name for one in await port.nodes(after=first.next)] == ["right", "third"]
    assert [one.name for one in await port.nodes(after="made up")] == ["right", "third"]
    with refused("invalid_request"):
        await port.nodes(limit=1001)


# -- tokens --


async def test_pages_of_tokens_joined_are_the_whole_at_every_limit_while_some_are_made_and_revoked(
    each_store: URL, tmp_path: Path
) -> None:
    async with started_site(tmp_path, settings_of(each_store)) as site:
        bea, ada = await site.person("bea", "requester"), site.ada
        for _ in range(3):
            await bea.token("transfer:read")
            await ada.token("transfer:read")
        everybodys = partial(ada.port.tokens, everybody=True)
        whole, own = [one.id for one in await everybodys()], [one.id for one in await ada.port.tokens()]
        assert (len(whole), len(own)) == (6, 3)
        for limit in range(1, 8):
            assert [one.id for one in await whole_list(partial(everybodys, limit=limit))] == whole
            assert [one.id for one in await whole_list(partial(ada.port.tokens, limit=limit))] == own
        page = await everybodys(limit=2)
        await ada.port.revoke_token(page[1].id)
        await ada.port.revoke_token(page[0].id)
        await bea.token("transfer:read")
        rest = [one.id for one in await whole_list(partial(everybodys, limit=2, after=page.next))]
        assert (rest[:-1], rest[-1] in whole) == (whole[2:], False)
        assert page.next is not None
        for made_up in ("1", "", whole[3], page.next.replace("T", " "), page.next.replace("20", "99-", 1), "~" * 90):
            for port in (ada.port, bea.port):
                with refused("invalid_request"):
                    await port.tokens(after=made_up)
        with refused("not_allowed"):
            await bea.port.tokens(everybody=True, after=page.next)
        assert {one.person for one in await bea.port.tokens(after=page.next)} == {bea.principal.id}


async def test_tokens_made_at_the_same_time_are_each_listed_once(each_store: URL, tmp_path: Path) -> None:
    async with started_site(tmp_path, settings_of(each_store)) as site:
        bea = await site.person("bea", "requester")
        await bea.token("transfer:read")
        store = site.use_cases.people._auth.tokens._store  # noqa: SLF001 - no clock makes two at once
        [first] = await store.tokens_of_all()
        at_once = [replace(first, id=f"{number:016}", hash=f"{number:064}") for number in range(5)]
        for one in at_once:
            await store.add_token(one)
        read = partial(site.ada.port.tokens, everybody=True)
        whole = [one.id for one in await read()]
        assert len(whole) == 6
        for limit in (1, 2, 5):
            assert [one.id for one in await whole_list(partial(read, limit=limit))] == whole


# -- what a page costs --


@pytest.mark.timeout(300)
async def test_a_page_costs_no_more_where_there_are_a_hundred_times_as_many(tmp_path: Path) -> None:
    """In steps of SQLite's machine, whatever the load; after a change, too, when nothing that is kept is good."""
    steps = dict[int, list[int]]()
    for idle in (60, 6_000):
        folder = tmp_path / str(idle)
        folder.mkdir()
        async with started_site(folder, Settings()) as site:
            await site.start_both()
            await moved(site, "set")
            await site.service.close()
            few = Filling(transfers=2, until=site.clock(), people=2, endpoints=2, open_plans=2, tokens=idle, nodes=3)
            await asyncio.to_thread(fill, store_of(site), replace(few, idle=idle))
            await site.restart()
            port = (await site.person("olga", "admin")).port
            await port.create_token(m.TokenRequest(name="t", scopes=["transfer:read"]))
            calls = [
                partial(port.endpoints, limit=50),
                partial(port.endpoints, limit=50, after="i17"),
                partial(port.endpoints, limit=50, q="i"),
                partial(port.tokens, everybody=True, limit=50),
            ]
            steps[idle] = [await cost_of(site, call) for call in calls]
    for small, large in zip(steps[60], steps[6_000], strict=True):
        assert large <= 2 * small, steps


async def cost_of(site: Site, call: Any) -> int:  # noqa: ANN401 - a call of the port
    with told() as statements:
        await call()
    return sum(steps_of(store_of(site), *one) for one in statements)


# -- stores of before --


def test_endpoints_of_before_are_listed_and_found_after_an_upgrade(tmp_path: Path) -> None:
    url = store_url("", tmp_path)
    migrate(url, "0043")
    with dialect_of(url).whole_engine(url).begin() as connection:
        node = "(id, name, key, state, version, enrolled) VALUES ('nd_1', 'Left', 'k', 'enrolled', '', '')"
        connection.execute(text("INSERT INTO nodes " + node))
        made = "(pk, node_key, root, access, labels, created) VALUES (:pk, 'k', :root, 'read', '{}', '')"
        made = "INSERT INTO endpoints " + made
        named = "INSERT INTO endpoint_names (name_key, name, endpoint, main) VALUES (:key, :name, :pk, :main)"
        for pk, root, names in (("ep_1", "Lab", ("Lab", "Bench")), ("ep_2", "raw", ("Archive",))):
            connection.execute(text(made), {"pk": pk, "root": root})
            for name in names:
                values = {"key": name.casefold(), "name": name, "pk": pk, "main": name == names[0]}
                connection.execute(text(named), values)
    migrate(url)
    with dialect_of(url).reading_engine(url).connect() as connection:
        found = connection.execute(text("SELECT pk, name_key, searched FROM endpoints ORDER BY name_key")).all()
    assert [tuple(row) for row in found] == [
        ("ep_2", "archive", "archive\nraw\nleft"),
        ("ep_1", "lab", "lab\nbench\nlab\nleft"),
    ]
