"""Two nodes and a hub in one process: what is copied is the same, and what may not happen does not."""

import asyncio
import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from tests.service.engine.conftest import Site
from tests.service.engine.trees import content, plant, shape

from headrace.engine import AttemptProgress, EngineError
from headrace.guardrails import verify

pytestmark = pytest.mark.anyio
MIB = 1 << 20


async def test_a_tree_arrives_as_it_was_and_its_statements_prove_it(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    plant(source.root)
    surveyed, survey = await site.plan("tr_1", source, destination)
    assert survey.source_kind == "dir"
    assert survey.files == sum(1 for kind, *_ in shape(source.root).values() if kind != "folder")
    await site.start("tr_1", site.ticket("tr_1", surveyed))
    ended = await site.ended("tr_1")
    assert (ended.outcome, ended.code) == ("complete", "")
    assert shape(destination.root) == shape(source.root)

    word = verify(ended.statements[0], "statement", [destination.key]).fields()
    assert (word["role"], word["files"], word["failed"]) == ("destination", str(survey.files), "0")
    lines = content(ended.files_list)
    assert sha256(lines).hexdigest() == word["list_digest"]
    results = [json.loads(line)["result"] for line in lines.splitlines()]
    assert results.count("copied") == survey.files
    assert verify(ended.statements[1], "statement", [source.key]).fields()["role"] == "source"

    # A second time there is nothing left to do.
    again = await site.run("tr_2", source, destination)
    word = verify(again.statements[0], "statement", [destination.key]).fields()
    assert (word["files"], word["identical"]) == ("0", str(survey.files))
    for transfer in ("tr_1", "tr_2"):
        await site.hub.forget(transfer=transfer, nodes=[source.key, destination.key])


async def test_two_folders_of_one_node_are_copied_without_a_network(site: Site) -> None:
    node = await site.node("only", data_listen="")
    (node.root / "a").mkdir()
    plant(node.root / "a")
    ends = {"source": {"node": node.key, "root": "data", "path": ["a"]}}
    ends |= {"destination": {"node": node.key, "root": "data", "path": ["b"]}}
    ended = await site.run("tr_1", node, node, **ends)
    assert (ended.outcome, len(ended.statements)) == ("complete", 2)
    assert shape(node.root / "b") == shape(node.root / "a")


async def test_a_move_between_two_nodes_that_share_a_folder_deletes_nothing(site: Site, tmp_path: Path) -> None:
    source = await site.node("from")
    (tmp_path / "to").symlink_to(source.root)
    destination = await site.node("to")
    (source.root / "proj").mkdir()
    (source.root / "proj" / "results").write_bytes(b"only copy")
    ends = {"source": {"node": source.key, "root": "data", "path": ["proj"]}}
    ends |= {"destination": {"node": destination.key, "root": "data", "path": ["proj"]}}
    ended = await site.run("tr_1", source, destination, action="move", delete_source=True, **ends)
    assert (ended.outcome, ended.code, ended.retryable) == ("failed", "same_place", False)
    assert (source.root / "proj" / "results").read_bytes() == b"only copy"


async def test_what_is_deleted_is_told_by_the_node_that_deletes_it(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "kept").touch()
    for number in range(30):
        (destination.root / str(number)).touch()
    ended = await site.run("tr_1", source, destination, action="sync", delete_extraneous=True)
    assert ended.outcome == "complete", ended.message
    told = site.last_progress("tr_1")
    assert (told.listed, told.files_done, told.bytes_total) == (True, 1, 0)
    assert (told.destination.deleted, told.destination.durable_steps, told.source.deleted) == (30, 31, 0)
    assert min(told.destination.stages.delete_us, told.destination.looked_at) > 0

    ended = await site.run("tr_2", destination, source, action="move", delete_source=True)
    assert ended.outcome == "complete", ended.message
    told = site.last_progress("tr_2")
    assert (told.source.deleted, told.source.durable_steps, told.destination.deleted) == (1, 1, 0)

    node = await site.node("only")
    for folder in ("a", "b"):
        (node.root / folder).mkdir()
    (node.root / "a" / "kept").touch()
    (node.root / "b" / "old").touch()
    ends = {"source": {"node": node.key, "root": "data", "path": ["a"]}}
    ends |= {"destination": {"node": node.key, "root": "data", "path": ["b"]}}
    await site.run("tr_3", node, node, action="sync", delete_extraneous=True, **ends)
    assert site.last_progress("tr_3").destination.deleted == 1


async def test_nodes_that_accept_no_connections_have_no_way_to_each_other(site: Site) -> None:
    source, destination = await site.node("from", data_listen=""), await site.node("to", data_listen="")
    plant(source.root, files=1)
    with pytest.raises(EngineError) as caught:
        await site.run("tr_1", source, destination)
    assert (caught.value.code, caught.value.retryable) == ("no_data_path", False)


async def test_a_stopped_attempt_goes_on_where_it_was(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "large").write_bytes(os.urandom(64 * MIB))
    surveyed, _ = await site.plan("tr_1", source, destination)
    await site.start("tr_1", site.ticket("tr_1", surveyed, rate_ceiling_bps=str(200_000_000)))
    await site.next(AttemptProgress, lambda event: event.bytes_durable >= 16 * MIB)
    await site.hub.stop_attempt(transfer="tr_1", reason="lunch")
    ended = await site.ended("tr_1")
    last = site.last_progress("tr_1")
    assert (ended.outcome, ended.message, ended.retryable) == ("stopped", "lunch", True)
    assert not (destination.root / "large").exists()

    await site.start("tr_1", site.ticket("tr_1", surveyed, attempt=2))
    ended = await site.ended("tr_1")
    assert ended.outcome == "complete"
    assert shape(destination.root) == shape(source.root)
    word = verify(ended.statements[0], "statement", [destination.key]).fields()
    assert int(str(word["resent_bytes"])) == last.bytes_received - last.bytes_durable <= 8 * 4 * MIB


async def test_a_link_and_a_share_of_it_can_be_changed_while_it_runs(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "large").write_bytes(os.urandom(48 * MIB))
    surveyed, _ = await site.plan("tr_1", source, destination)

    def links(rate_bps: int) -> str:
        return json.dumps({"links": [{"name": "uplink", "rate_bps": rate_bps, "rest_percent": 10, "classes": []}]})

    await site.hub.set_shares(node=source.key, shares=links(8_000_000))
    share = {"class": "bulk", "weight": 1, "source_links": ["uplink"], "dscp": 10}
    await site.start("tr_1", site.ticket("tr_1", surveyed), json.dumps(share))
    with pytest.raises(EngineError) as info:
        await site.hub.set_share(transfer="tr_1", share='{"class": "bulk", "weight": 0}')
    assert info.value.code == "shares_invalid"
    await site.hub.set_share(transfer="tr_1", share=json.dumps(share | {"weight": 2}))
    slow = await site.next(AttemptProgress, lambda event: event.source.stages.share_us > 0)
    assert slow.destination.stages.share_us < slow.source.stages.share_us
    await site.hub.set_shares(node=source.key, shares=links(100_000_000_000))
    assert (await site.ended("tr_1")).outcome == "complete"


async def test_a_rate_can_be_changed_while_it_runs(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "large").write_bytes(os.urandom(48 * MIB))
    surveyed, _ = await site.plan("tr_1", source, destination)
    await site.start("tr_1", site.ticket("tr_1", surveyed))
    await site.hub.set_rate(transfer="tr_1", rate_bps=8_000_000)
    slow = await site.next(AttemptProgress, lambda event: event.source.stages.ceiling_us > 0)
    assert slow.bytes_received < 48 * MIB
    ends = (slow.source.flows, slow.destination.flows)
    assert all(flows and all(flow.rtt_us > 0 and flow.congestion_control for flow in flows) for flows in ends)
    assert slow.destination.stages.ceiling_us == 0
    await site.hub.set_rate(transfer="tr_1", rate_bps=None)
    assert (await site.ended("tr_1")).outcome == "complete"


async def test_invariant_2_a_file_that_changed_since_it_was_surveyed_is_not_overwritten(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "a").write_bytes(b"new")
    (destination.root / "a").write_bytes(b"old!")
    surveyed, survey = await site.plan("tr_1", source, destination, on_conflict="overwrite")
    assert survey.overwrites_sample == ["a"]
    (destination.root / "a").write_bytes(b"newer than the survey")
    await site.start("tr_1", site.ticket("tr_1", surveyed))
    ended = await site.ended("tr_1")
    assert (ended.outcome, ended.code) == ("failed", "destination_changed")
    assert (destination.root / "a").read_bytes() == b"newer than the survey"


async def test_what_is_on_the_list_is_replaced_and_what_is_extraneous_is_deleted(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    plant(source.root, files=10)
    (destination.root / "large").write_bytes(b"old")
    (destination.root / "gone" / "deep").mkdir(parents=True)
    (destination.root / "gone" / "deep" / "file").write_bytes(b"x")
    rules = {"action": "sync", "delete_extraneous": True, "on_conflict": "overwrite"}
    surveyed, survey = await site.plan("tr_1", source, destination, **rules)
    assert (survey.overwrites, survey.deletes, survey.deletes_sample) == (1, 3, ["gone", "gone/deep", "gone/deep/file"])
    await site.start("tr_1", site.ticket("tr_1", surveyed))
    assert (await site.ended("tr_1")).outcome == "complete"
    assert shape(destination.root) == shape(source.root)


async def test_a_list_that_is_not_the_sealed_one_starts_nothing(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "a").write_bytes(b"new")
    (destination.root / "a").write_bytes(b"old!")
    surveyed, _ = await site.plan("tr_1", source, destination, on_conflict="overwrite")
    lists = Path(site.folder_of("tr_1", "lists")) / "overwrites.jsonl"
    lists.write_text(lists.read_text().replace('"size":"4"', '"size":"5"'))
    with pytest.raises(EngineError) as caught:
        await site.start("tr_1", site.ticket("tr_1", surveyed))
    assert caught.value.code == "list_altered"
    assert (destination.root / "a").read_bytes() == b"old!"


async def test_a_file_that_can_not_be_written_fails_alone(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    plant(source.root, files=5)
    (destination.root / "empty").mkdir()
    ended = await site.run("tr_1", source, destination)
    assert ended.outcome == "partial"
    failed = [json.loads(line) for line in content(ended.failed_list).splitlines()]
    assert [(line["path"], line["error"]) for line in failed] == [(["empty"], "destination_is_directory")]
    assert (destination.root / "large").read_bytes() == (source.root / "large").read_bytes()


async def test_invariant_1_an_unrenewed_ticket_ends_its_attempt(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "large").write_bytes(os.urandom(32 * MIB))
    surveyed, _ = await site.plan("tr_1", source, destination)
    ticket = site.ticket("tr_1", surveyed, minutes=0.1, rate_ceiling_bps=str(8_000_000))
    await site.start("tr_1", ticket)
    ended = await site.ended("tr_1")
    assert (ended.outcome, ended.code, ended.retryable) == ("failed", "ticket_expired", True)


async def test_a_renewed_ticket_lets_its_attempt_go_on(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    (source.root / "large").write_bytes(os.urandom(32 * MIB))
    surveyed, _ = await site.plan("tr_1", source, destination)
    slow = str(32_000_000)
    await site.start("tr_1", site.ticket("tr_1", surveyed, minutes=0.1, rate_ceiling_bps=slow))
    await site.hub.renew(ticket=site.ticket("tr_1", surveyed, id="tk_2", rate_ceiling_bps=slow))
    with pytest.raises(EngineError) as caught:
        await site.hub.renew(ticket=site.ticket("tr_1", surveyed | {"max_files": "2"}))
    assert caught.value.code == "ticket_no_renewal"
    assert (await site.ended("tr_1")).outcome == "complete"


async def test_invariant_1_a_ticket_of_another_authority_is_refused(site: Site) -> None:
    source, destination = await site.node("from"), await site.node("to")
    plant(source.root, files=1)
    surveyed, _ = await site.plan("tr_1", source, destination)
    altered = site.ticket("tr_1", surveyed).replace("bulk", "fast")
    with pytest.raises(EngineError) as caught:
        await site.start("tr_1", altered)
    assert caught.value.code == "ticket_altered"
    assert list(destination.root.iterdir()) == []


async def test_a_closed_hub_ends_its_events(site: Site) -> None:
    waiting = asyncio.ensure_future(site.hub.next_events())
    await site.hub.close()
    assert await waiting == []
