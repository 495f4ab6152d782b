"""A search finds what few rows hold however old it is, on either store, and by an index that is right at all times."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from demo.stage import REPOSITORY
from sqlalchemy import URL, create_engine, text
from tests.servers.filled import Filling, fill
from tests.servers.site import Site, started_site
from tests.service.refusals import refused
from tests.service.test_listing import moved
from tests.service.test_lists import overseer, rows, store_of, told

from headrace.api.planning import found
from headrace.api.settings import Settings
from headrace.api.store.text_index import MADE_ON_POSTGRESQL, is_indexed

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

ODD: Final = ('e1:/ra%re_Réunion/it\'s "q"', "e2:/back\\slash/ÆØÅ-x", "e3:/*.AbC/'OR 1=1--", "e4:/日本語/run(7)")
"""Places with what a pattern, a phrase or a statement might take for its own, and with letters beyond ASCII."""

WHEN: Final = ("new", "changed", "gone")


@pytest.fixture
async def aged(each_store: URL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """A site whose oldest transfers go from odd places; a search looks at few rows before and beside the index."""
    plain = each_store.set(drivername="postgresql").render_as_string(hide_password=False)
    settings = Settings(database="" if each_store.get_backend_name() == "sqlite" else plain)
    (tmp_path / "site").mkdir()
    async with started_site(tmp_path / "site", settings) as site:
        await site.start_both()
        await moved(site, "set")
        await site.service.close()
        filling = Filling(transfers=120, until=site.clock(), people=4, endpoints=6, open_plans=5)
        await asyncio.to_thread(fill, store_of(site), filling)
        oldest = rows(site, "transfers")[: len(ODD)]
        for row, place in zip(oldest, ODD, strict=True):
            write(site, "UPDATE transfers SET source = :place WHERE id = :id", place=place, id=row["id"])
            words = f"copy {place} to archive:/old"
            write(site, "UPDATE plans SET words = :words WHERE id = :id", words=words, id=row["plan"])
        monkeypatch.setattr(found, "LOOKED_AT_FIRST", 10)
        monkeypatch.setattr(found, "LOOKED_AT", 20)
        await site.restart()
        yield site


def write(site: Site, statement: str, **values: object) -> None:
    """Change the store without the service."""
    engine = create_engine(store_of(site))
    with engine.begin() as connection:
        connection.execute(text(statement), values)
    engine.dispose()


def holds(row: Mapping[str, Any], word: str) -> bool:
    """The same question, asked of one row: letters of ASCII are alike, large or small."""

    def small(text: str) -> str:
        return "".join(letter.lower() if letter.isascii() else letter for letter in text)

    return row["id"].startswith(small(word)) or any(small(word) in small(row[end]) for end in ("source", "destination"))


async def test_what_few_rows_hold_is_found_and_counted_however_old_it_is(aged: Site) -> None:
    olga, oldest = await overseer(aged), rows(aged, "transfers")[: len(ODD)]
    for at, word in enumerate(("RE_Réunion", "back\\slash", "*.abc/'OR", "run(7)")):
        assert [one.id for one in await olga.port.transfers(search=word)] == [oldest[at]["id"]], word
        counted = await olga.port.transfer_counts(search=word)
        assert (counted.total, counted.exact) == (1, True)
    for word, fit in (
        ("run%7)", 0),
        ("backslash", 0),
        ("réunion it's", 1),
        ("it's q\" réunion", 1),
        ("réunion data", 1),
    ):
        assert len(await olga.port.transfers(search=word)) == fit, word
    assert [one.id for one in await olga.port.transfers(search="run(7)", until=oldest[1]["created"])] == []
    assert [one.id for one in await olga.port.transfers(search="slash", states=[oldest[1]["state"]])]


async def test_a_search_finds_just_what_holds_its_words_or_says_that_many_do(
    aged: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = 6
    monkeypatch.setattr(found, "FEW", few)
    olga, everything, chance = await overseer(aged), rows(aged, "transfers"), random.Random(7)  # noqa: S311 - the same in every run
    whole = 0
    for _ in range(150):
        row = chance.choice(everything[:30])
        text = chance.choice((row["source"], row["destination"], row["id"]))
        begin = 0 if text == row["id"] else chance.randrange(len(text))
        word = text[begin : begin + chance.randrange(3, 12)].split()
        if not word:
            continue
        fit = [one["id"] for one in reversed(everything) if holds(one, word[0])]
        if len(fit) <= few and is_indexed(word[0]) and not "tr_".startswith(word[0].lower()):
            whole += 1
            assert [one.id for one in await olga.port.transfers(search=word[0], limit=200)] == fit, word
        else:
            with refused("search_too_wide"):
                await olga.port.transfers(search=word[0], limit=200)
    assert whole > 30


async def test_the_index_follows_every_change_of_what_it_holds(aged: Site) -> None:
    olga, oldest = await overseer(aged), rows(aged, "transfers")[0]
    await aged.service.close()
    write(aged, "UPDATE transfers SET destination = 'e5:/quartz' WHERE id = :id", id=oldest["id"])
    await aged.restart()
    assert [one.id for one in await olga.port.transfers(search="quartz")] == [oldest["id"]]
    assert [one.id for one in await olga.port.transfers(search="réunion quartz")] == [oldest["id"]]
    await aged.service.close()
    write(aged, "UPDATE transfers SET source = 'e5:/other' WHERE id = :id", id=oldest["id"])
    await aged.restart()
    assert list(await olga.port.transfers(search="réunion")) == []
    await aged.service.close()
    for table, key in (("transfer_events", "transfer"), ("transfer_approvers", "transfer"), ("transfers", "id")):
        write(aged, f"DELETE FROM {table} WHERE {key} = :id", id=oldest["id"])  # noqa: S608 - the names above
    await aged.restart()
    assert list(await olga.port.transfers(search="quartz")) == []
    if aged.settings.database == "":
        write(aged, "INSERT INTO transfers_pieces (transfers_pieces, rank) VALUES ('integrity-check', 1)")


async def test_plans_are_found_by_rare_words_too_as_they_are_now(aged: Site) -> None:
    oldest = rows(aged, "transfers")[1]
    olga, person = await overseer(aged), f"person {int(oldest['requester'][3:], 16)}"
    assert [one.id for one in await olga.port.plans(person=person, search="back\\slash")] == [oldest["plan"]]
    await aged.until_nodes(lambda: aged.use_cases.nodes.attached_count == len(aged.nodes))
    made = await aged.ada.plan("lab:/set", "archive:/zirconium")
    for number in range(3):
        await aged.ada.plan("lab:/set", f"archive:/later{number}")
    assert [one.id for one in await aged.ada.port.plans(search="zirconium")] == [made.id], "its sentence, once planned"


async def test_names_of_people_and_ids_are_found_beside_texts(aged: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    olga, everything = await overseer(aged), rows(aged, "transfers")
    first = everything[0]
    await aged.service.close()
    write(aged, "UPDATE transfers SET destination = 'e5:/ada-1' WHERE id = :id", id=first["id"])
    await aged.restart()
    by_ada = [one["id"] for one in reversed(everything) if one["id"] == first["id"] or one["requester"] == ada(aged)]
    assert [one.id for one in await olga.port.transfers(search="ada", limit=200)] == by_ada
    assert [one.id for one in await olga.port.transfers(search=first["id"].upper())] == [first["id"]]
    monkeypatch.setattr(found, "FEW", 1)
    with refused("search_too_wide"):
        await olga.port.transfers(search="ada")
    with refused("search_too_wide"):
        await olga.port.transfers(search="tr_")


def ada(site: Site) -> str:
    """The id of the person who moved the first set."""
    return site.ada.principal.id


async def test_an_assistant_learns_nothing_of_what_others_hold_by_the_index(
    aged: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "LOOKED_AT_FIRST", 0)
    _, assistant = await aged.ada.token("transfer:read", agent="claude")
    assert len(await assistant.transfers()) > 1
    with told() as statements:
        assert list(await assistant.transfers(search="réunion")) == []
        assert list(await assistant.plans(search="réunion")) == []
    assert statements
    assert not [one for one, _ in statements if "_texts" in one or "_pieces" in one]


async def test_a_store_without_the_index_looks_at_row_after_row(aged: Site) -> None:
    olga = await overseer(aged)
    await aged.service.close()
    for statement in without_index(aged):
        write(aged, statement)
    await aged.restart()
    with refused("search_too_wide"):
        await olga.port.transfers(search="réunion")
    assert len(await olga.port.transfers(search="e", limit=5)) == 5


def without_index(site: Site) -> Sequence[str]:
    """What takes the index of transfers away."""
    if site.settings.database:
        return ("DROP INDEX ix_transfers_texts",)
    triggers = [f"DROP TRIGGER transfers_{part}_{when}" for part in ("texts", "pieces") for when in WHEN]
    return (*triggers, "DROP TABLE transfers_pieces")


def test_the_page_for_operators_has_the_statements_that_make_the_index() -> None:
    page = (REPOSITORY / "docs" / "operations" / "deploy.md").read_text(encoding="utf-8")
    assert not [statement for statement in MADE_ON_POSTGRESQL if f"{statement};" not in page]
