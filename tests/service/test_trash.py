"""What policy keeps: deletes of real nodes are in the trash, and come back with the command of the receipt."""

import re
import shlex
from pathlib import Path

import pytest
from tests.servers.site import Site
from tests.service.test_consent import publish

from headrace.api.errors import ServiceError
from headrace.api.transfers.receipts import _brings_back, _trash
from headrace.client import models as m

KEPT = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("deletes-are-kept")
@reason("what is deleted is kept for 30 days")
@obligation("trash:30d")
forbid (principal, action, resource);

// example allowed {"action": "sync", "facts": {"deletes": 1}}
"""


def files_at(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


async def brought_back(site: Site, ended: m.Transfer) -> m.Transfer:
    """Run the command that the receipt of a transfer names."""
    said = (await site.ada.port.receipt(ended.id)).summary
    found = re.search(r"is kept in its trash until \d{4}-\d\d-\d\d: `(.*)` brings it back", said)
    assert found, said
    program, verb, source, destination = shlex.split(found[1])
    assert (program, verb) == ("headrace", "copy")
    return await site.ada.end_of(await site.ada.submit(await site.ada.plan(source, destination)))


@pytest.mark.anyio
async def test_what_a_sync_deletes_is_kept_and_comes_back(site: Site) -> None:
    await publish(site, KEPT)
    for path, text in (("keep", "1"), ("old/a b", "gone"), ("old/deep/c", "gone, too")):
        for root in (site.lab, site.archive):
            (root / "set" / path).parent.mkdir(parents=True, exist_ok=True)
        (site.archive / "set" / path).write_text(text)
    (site.lab / "set" / "keep").write_text("1")
    for folder in ("old/deep", "old"):
        (site.lab / "set" / folder).rmdir()
    before = files_at(site.archive)
    plan = await site.ada.plan("lab:/set", "archive:/set", "sync", delete_extraneous=True)
    assert plan.decision is not None, plan.summary
    assert (plan.decision.outcome, plan.decision.keep_days) == ("allowed", 30)
    assert "moved to the trash, kept 30 days," in plan.summary
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert sorted(path.name for path in (site.archive / "set").iterdir()) == ["keep"]
    (kept,) = (site.archive / ".headrace-trash").iterdir()
    assert files_at(kept) == {name: text for name, text in before.items() if name != "set/keep"}
    assert (ended.progress.deleted, ended.progress.deleted_to_trash) == (4, True)
    assert "verified, 1 byte), 4 entries moved to the trash at the destination." in ended.summary
    receipt = await site.ada.port.receipt(ended.id)
    assert "; 4 entries moved to the trash at the destination)" in receipt.summary
    assert kept.name in receipt.document
    listed = b"".join([chunk async for chunk in site.ada.port.receipt_files(receipt.id)]).decode()
    assert listed.count('"result":"trashed"') == 4
    assert '"deleted"' not in listed

    back = await brought_back(site, ended)
    assert back.state is m.TransferState.COMPLETE, back.summary
    found = files_at(site.archive / "set")
    assert {f"set/{name}": text for name, text in found.items()} == before
    assert kept.exists(), "a copy leaves the trash as it is"


@pytest.mark.anyio
async def test_the_sources_of_a_move_are_kept_where_they_were_and_come_back(site: Site) -> None:
    await publish(site, KEPT)
    (site.lab / "raw").mkdir()
    (site.lab / "raw" / "a").write_text("moved")
    plan = await site.ada.plan("lab:/raw", "archive:/raw", "move")
    assert any("moved to the trash of its endpoint" in note for note in plan.notes)
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert files_at(site.lab / "raw") == {}
    assert files_at(site.archive) == {"raw/a": "moved"}
    back = await brought_back(site, ended)
    assert back.state is m.TransferState.COMPLETE, back.summary
    assert (site.lab / "raw" / "a").read_text() == "moved"


@pytest.mark.anyio
async def test_a_trash_is_not_listed_with_what_it_lies_in_and_nothing_is_written_to_it(site: Site) -> None:
    kept = site.archive / ".headrace-trash" / "2026-12-27-tr_1" / "set"
    kept.mkdir(parents=True)
    (kept / "a").write_text("kept")
    (site.archive / "b").write_text("b")
    page = await site.ada.port.browse("archive", "/")
    assert [one.name for one in page.items] == ["b"]
    plan = await site.ada.plan("archive:/b", "lab:/x")
    assert plan.survey is not None
    assert plan.survey.files == 1
    plan = await site.ada.plan("lab:/", "archive:/.headrace-trash/2026-12-27-tr_1/")
    assert [one.rule for one in plan.refusals] == ["reserved_name"]


@pytest.mark.anyio
async def test_an_assistant_is_told_no_names_of_the_transfers_whose_deletes_are_in_a_trash(site: Site) -> None:
    kept = site.archive / ".headrace-trash" / "2026-12-27-tr_1" / "set"
    kept.mkdir(parents=True)
    (kept / "a").write_text("kept")
    _, assistant = await site.ada.token("transfer:read", "transfer:plan", agent="helper")
    page = await assistant.browse("archive", "/.headrace-trash")
    assert (page.items, page.count, page.names_withheld) == ([], 1, True)
    inside = await assistant.browse("archive", "/.headrace-trash/2026-12-27-tr_1/set")
    assert [one.name for one in inside.items] == ["a"], "who knows the transfer brings its files back"
    assert [one.name for one in (await site.ada.port.browse("archive", "/.headrace-trash")).items] == [kept.parent.name]


@pytest.mark.parametrize("folder", ["2026-12-27-tr_2", "2026-12-27-tr_1`; rm -r /; `", "x", "", 1])
def test_a_node_that_signs_another_folder_than_one_of_the_transfer_is_not_believed(folder: str | int) -> None:
    with pytest.raises(ServiceError, match="is not a folder of this transfer"):
        _trash("tr_1", {"role": "source", "trash": folder})
    assert _trash("tr_1", {"role": "source", "trash": "2026-12-27-tr_1"}) == ("source", "2026-12-27-tr_1")
    assert _trash("tr_1", {"role": "source"}) is None


def test_the_command_that_brings_files_back_is_one_word_for_each_place() -> None:
    said = _brings_back("archive:/a b", "2026-12-27-tr_1")
    assert said == (
        "What was deleted at archive is kept in its trash until 2026-12-27: "
        "`headrace copy 'archive:/.headrace-trash/2026-12-27-tr_1/a b' 'archive:/a b'` brings it back."
    )
    assert "copy archive:/.headrace-trash/2026-12-27-tr_1/ archive:/`" in _brings_back("archive:/", "2026-12-27-tr_1")
