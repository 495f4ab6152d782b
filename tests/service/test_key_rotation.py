"""The authority key has a successor: nothing that waits, runs or has ended is stranded, and no other key gets in."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import typer
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_authority_key import key_file
from tests.service.test_consent import publish
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until
from typer.testing import CliRunner

from headrace.api.app.key_rotation import next_key, rotate_hub
from headrace.api.authority_key import authority_key, key_chain, rotated
from headrace.api.clock import utc_now
from headrace.api.errors import CannotStart, ServiceError
from headrace.api.key_chain import KeyChain, Succession
from headrace.api.settings import Settings
from headrace.client import models as m
from headrace.engine import Node, begin_hub_succession
from headrace.guardrails import SigningKey, seal, utc_text, verify

MONTH = timedelta(days=30)


def data_of(site: Site) -> Path:
    return site.settings.data


async def rotate(site: Site, *, days_ago: int = 0) -> KeyChain:
    """Rotate the key of a site, which is stopped for it, as if that had been so many days ago."""
    await site.service.close()
    begun = utc_now() - timedelta(days=days_ago)
    chain = rotated(Settings(data=data_of(site)), {}, "", now=begun, overlap=MONTH)
    await site.restart()
    return chain


async def copied(site: Site, name: str) -> m.Transfer:
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", f"archive:/{name}")))
    assert ended.state is m.TransferState.COMPLETE, ended.state_reason
    return ended


async def attached(site: Site, *names: str) -> None:
    keys = [site.nodes[name].key for name in names or site.nodes]
    await site.until_nodes(lambda: all(site.use_cases.nodes.attached(key) is not None for key in keys))


async def refused_as(site: Site, code: str, key: str) -> None:
    """Wait until a node is said to be refused for this reason."""
    refusals = site.use_cases.nodes.refused
    await site.until_nodes(lambda: (told := refusals(key)) is not None and told.code == code)


@pytest.mark.anyio
async def test_what_is_planned_runs_or_has_ended_goes_through_a_rotation(site: Site) -> None:
    large_set(site)
    ended = await copied(site, "ended")
    ready = await site.ada.plan("lab:/set", "archive:/ready")
    slow = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/slow", rate_limit_bps=4 * SLOW_BPS))
    await until(site, slow, "running")
    [former] = (key_chain(data_of(site)) or KeyChain("")).keys
    chain = await rotate(site)
    assert chain.keys == (chain.public, former)
    await attached(site)
    for transfer in (slow, await site.ada.submit(ready)):
        done = await site.ada.end_of(transfer)
        assert done.state is m.TransferState.COMPLETE, done.state_reason
        assert verify((await site.ada.port.receipt(done.id)).document, "receipt", [chain.public])
    assert verify((await site.ada.port.receipt(ended.id)).document, "receipt", [former])
    old, new = [await site.ada.port.receipt(one.id) for one in (ended, slow)]
    assert (old.key, old.key_replaced) == (former, True)
    assert (new.key, new.key_replaced) == (chain.public, False)
    assert (await site.ada.port.verify_audit(full=True)).intact


@pytest.mark.anyio
async def test_a_transfer_that_waits_for_a_node_goes_on_after_a_rotation(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/waits")
    await site.stop_node("right")
    transfer = await site.ada.submit(plan)
    await until(site, transfer, "waiting", "queued")
    await rotate(site)
    await site.start_node("right", [("archive", str(site.archive), "delete")])
    done = await site.ada.end_of(transfer)
    assert done.state is m.TransferState.COMPLETE, done.state_reason


@pytest.mark.anyio
async def test_heads_that_a_former_key_signed_count(quiet_site: Site) -> None:
    site = quiet_site
    await site.service.close()
    next_key(Settings(data=data_of(site)), "", MONTH)
    connection = sqlite3.connect(data_of(site) / "headrace.sqlite")
    connection.execute("DELETE FROM audit WHERE sequence > 1")
    connection.commit()
    connection.close()
    with pytest.raises(ServiceError, match=r"audit-heads\.jsonl"):
        await site.restart()


@pytest.mark.anyio
async def test_nodes_that_were_away_for_one_or_two_rotations_follow(site: Site) -> None:
    small_set(site)
    await site.stop_node("right")
    await rotate(site)
    await attached(site, "left")
    await rotate(site)
    await attached(site, "left")
    await site.start_node("right", [("archive", str(site.archive), "delete")])
    await copied(site, "both")
    # What they have learned outlives them.
    for name, root in (("left", ("lab", str(site.lab), "delete")), ("right", ("archive", str(site.archive), "delete"))):
        await site.stop_node(name)
        await site.start_node(name, [root])
    await copied(site, "again")


@pytest.mark.anyio
async def test_a_node_that_was_away_for_longer_is_told_so_and_joins_anew(site: Site) -> None:
    small_set(site)
    key = site.nodes["right"].key
    await rotate(site, days_ago=31)
    await refused_as(site, "authority_succeeded", key)
    assert "headrace ca rotate" in str(site.use_cases.nodes.refused(key))
    for name, root in (("left", site.lab), ("right", site.archive)):
        await site.nodes.pop(name).close()
        token = (await site.ada.port.rotate_node(name, m.RotationRequest())).token
        export = ("lab" if name == "left" else "archive", str(root), "delete")
        state = str(site.folder / "state" / f"{name} anew")
        site.nodes[name] = await Node.start(state_dir=state, name=name, roots=[export], join_token=token)
    await attached(site)
    await copied(site, "anew")


@pytest.mark.anyio
async def test_nodes_refuse_a_second_successor_of_a_key(site: Site) -> None:
    small_set(site)
    stolen = site.folder / "stolen"
    await site.service.close()
    stolen.mkdir()
    for name in ("authority.key", "authority.pub"):
        shutil.copy(data_of(site) / name, stolen)
    await site.restart()
    first = await rotate(site)
    await attached(site)
    thiefs = rotated(Settings(data=stolen), {}, "", now=utc_now(), overlap=MONTH)
    assert thiefs.successions[0].former == first.successions[0].former
    # As a thief who has the service's account, too.
    own = site.folder / "own"
    await site.service.close()
    own.mkdir()
    for name in ("authority.key", "authority.pub"):
        shutil.move(data_of(site) / name, own)
        shutil.copy(stolen / name, data_of(site))
    await site.restart()
    for node in site.nodes.values():
        await refused_as(site, "second_successor", node.key)
    await site.service.close()
    for name in ("authority.key", "authority.pub"):
        shutil.copy(own / name, data_of(site))
    await site.restart()
    await attached(site)
    await copied(site, "ours")


@pytest.mark.anyio
async def test_a_plan_of_a_key_whose_time_is_over_does_not_start(quiet_site: Site) -> None:
    site = quiet_site
    await site.start_both()
    small_set(site)
    ready = await site.ada.plan("lab:/set", "archive:/ready")
    await rotate(site, days_ago=31)
    with refused("unknown_signer"):
        await site.ada.submit(ready)


@pytest.mark.anyio
async def test_after_a_theft_nothing_of_the_stolen_key_counts_and_every_node_joins_anew(site: Site) -> None:
    small_set(site)
    ready = await site.ada.plan("lab:/set", "archive:/ready")
    stolen = (key_chain(data_of(site)) or KeyChain("")).public
    await site.service.close()
    (data_of(site) / "authority.key").unlink()
    chain = next_key(Settings(data=data_of(site)), "", MONTH, new=True)
    await site.restart()
    assert (await site.ada.port.health()).key == chain.public != stolen
    assert chain.keys == (chain.public,)
    # Whoever had the key may have signed a policy, too: two people publish it again.
    assert "policy_unproven" in [cause.code for cause in (await site.ada.port.health()).causes]
    await publish(site, (await site.ada.port.policies())[0].text)
    with refused("unknown_signer"):
        await site.ada.submit(ready)
    # No node takes the service's word for the new key.
    await attached(site)
    assert (await site.ada.plan("lab:/set", "archive:/not")).refusals[0].rule == "permit_foreign"


async def noted(site: Site, *, after: int = 0) -> list[tuple[str, str | None, dict[str, str]]]:
    """What the audit chain says of keys, without the first so many events."""
    events = [event for event in await site.audited("") if "authority_key" in event.kind or "hub_key" in event.kind]
    assert {event.person for event in events} <= {None}
    return [(event.kind, event.subject, event.detail) for event in events[after:]]


@pytest.mark.anyio
async def test_the_audit_chain_says_which_key_came_after_which_and_when_its_time_was_over(quiet_site: Site) -> None:
    site = quiet_site
    [first] = (key_chain(data_of(site)) or KeyChain("")).keys
    hub = site.service.whole.core.hub.key
    assert await noted(site) == [
        ("authority_key_begun", first, {"former": ""}),
        ("hub_key_taken", hub, {"former": ""}),
    ]
    await site.service.close()
    # Twice before the next start; the first one is over by then.
    for days_ago in (40, 5):
        chain = rotated(Settings(data=data_of(site)), {}, "", now=utc_now() - timedelta(days=days_ago), overlap=MONTH)
    await site.restart()
    expected: list[tuple[str, str, dict[str, str]]] = []
    for one in chain.successions:
        times = {"since": utc_text(one.since), "until": utc_text(one.until)}
        expected.append(("authority_key_rotated", one.next, {"former": one.former, **times}))
    _, second = [one.former for one in chain.successions]
    expected.append(("authority_key_ended", first, {"next": second}))
    assert await noted(site, after=2) == expected
    await site.restart()
    assert await noted(site, after=2) == expected
    site.clock.shift += timedelta(days=26)
    await site.service.whole.key_notes.write()
    expected.append(("authority_key_ended", second, {"next": chain.public}))
    assert await noted(site, after=2) == expected
    await site.service.close()
    anew = next_key(Settings(data=data_of(site)), "", MONTH, new=True).public
    await site.restart()
    expected.append(("authority_key_begun", anew, {"former": chain.public}))
    assert await noted(site, after=2) == expected
    assert (await site.use_cases.audit.verify(full=True)).intact


@pytest.mark.anyio
async def test_the_audit_chain_says_which_key_of_the_hub_is_next_and_when_it_is_taken(quiet_site: Site) -> None:
    site = quiet_site
    hub = site.service.whole.core.hub.key
    folder = str(data_of(site) / "hub")
    await site.service.close()
    said = json.loads(begin_hub_succession(state_dir=folder, overlap_ms=86_400_000))
    for _ in range(2):
        await site.restart()
        times = {"since": said["from"], "until": said["until"]}
        assert await noted(site, after=2) == [("hub_key_next", said["next"], {"former": hub, **times})]
    await site.service.close()
    written = Path(folder) / "hub-succession.json"
    written.write_text(json.dumps({**said, "until": utc_text(utc_now())}))
    await site.restart()
    assert site.service.whole.core.hub.key == said["next"]
    assert await noted(site, after=3) == [("hub_key_taken", said["next"], {"former": hub})]


@pytest.mark.anyio
async def test_the_command_moves_the_key_to_another_place_while_the_service_is_stopped(quiet_site: Site) -> None:
    site = quiet_site
    place = key_file(site.folder / "elsewhere")
    command = [str(Path(sys.executable).with_name("headrace")), "ca", "rotate-authority", "--data", str(data_of(site))]

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *options], check=False, capture_output=True, text=True, timeout=60)

    running = run()
    assert (running.returncode, "another service" in running.stderr) == (1, True), running
    await site.service.close()
    moved = run("--key", str(place), "--overlap", "7", "--json")
    assert moved.returncode == 0, moved.stderr
    said = json.loads(moved.stdout)
    assert said["key"] == SigningKey.load(place).public
    again = run("--key", str(place))
    assert (again.returncode, "put the key from before back" in again.stderr) == (1, True), again
    with pytest.raises(CannotStart, match="correct HEADRACE_AUTHORITY_KEY"):
        await site.restart()
    chain = key_chain(data_of(site))
    assert chain is not None
    assert timedelta(days=6) < chain.successions[0].until - utc_now() < timedelta(days=7)
    (data_of(site) / "authority.key").unlink()
    site.settings = Settings(data=data_of(site), authority_key=str(place), database=site.settings.database)
    await site.restart()
    assert (await site.ada.port.health()).key == said["key"] != said["former"]


@pytest.mark.anyio
async def test_nodes_learn_the_next_key_of_the_hub_while_it_answers_with_the_former_one(site: Site) -> None:
    small_set(site)
    app = typer.Typer()
    app.command()(rotate_hub)
    command = ["--data", str(data_of(site)), "--json"]
    assert "another service" in CliRunner().invoke(app, command).output, "it runs"
    former = site.service.whole.core.hub.key
    await site.service.close()
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["former"] == former
    assert "another one can follow after" in CliRunner().invoke(app, command).output
    await site.restart()
    await attached(site)
    assert site.service.whole.core.hub.key == former
    for name in ("left", "right"):
        learned = (site.folder / "state" / name / "successions.json").read_text()
        assert json.loads(done.stdout)["key"] in learned
    await copied(site, "after")


def begun(tmp_path: Path) -> Settings:
    """Return a folder with a key."""
    settings = Settings(data=tmp_path / "data")
    settings.data.mkdir()
    authority_key(settings, {})
    return settings


def test_a_rotation_that_is_killed_anywhere_has_happened_or_has_not(tmp_path: Path) -> None:
    settings = begun(tmp_path)
    before, ends, step = authority_key(settings, {}).public, set(), 0
    while True:
        step += 1
        data = tmp_path / f"killed {step}"
        shutil.copytree(settings.data, data)
        of_copy = Settings(data=data)
        if not killed_at(step, of_copy):
            break
        key, chain = authority_key(of_copy, {}), key_chain(data)
        assert chain is not None
        assert key.public == chain.public
        assert chain.keys == ((key.public,) if key.public == before else (key.public, before))
        assert verify(seal("plan", {}, key).text, "plan", chain.keys)
        assert chain.keys[1:] == tuple(one.former for one in chain.successions)
        ends.add(len(chain.keys))
        # And it can be done again.
        assert len(rotated(of_copy, {}, "", now=utc_now(), overlap=MONTH).keys) == len(chain.keys) + 1
    assert ends == {1, 2}


def killed_at(step: int, settings: Settings) -> bool:
    """Rotate in a process that is killed at its n-th use of a file; whether it was."""
    child = os.fork()
    if child == 0:
        used = 0

        def count(event: str, _arguments: object) -> None:
            nonlocal used
            if event == "open" or event.startswith("os."):
                used += 1
                if used == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        next_key(settings, "", MONTH)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_chain_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    settings = begun(tmp_path)
    first = rotated(settings, {}, "", now=utc_now(), overlap=MONTH)
    chain = rotated(settings, {}, "", now=utc_now(), overlap=MONTH)
    path = settings.data / "authority.pub"
    good = path.read_text()
    stranger = SigningKey.from_seed(bytes(32))
    forged = json.loads(chain.documents[1])
    forged["body"] = forged["body"].replace(first.public, stranger.public)
    for bad in (
        good.replace(chain.public, stranger.public, 1),
        "\n".join([chain.public, chain.documents[0], json.dumps(forged)]),
        "\n".join([chain.public, *reversed(chain.documents)]),
        "\n".join([chain.public, chain.documents[0]]),
        "\n".join([chain.public, chain.documents[0], "{}"]),
    ):
        path.write_text(bad)
        with pytest.raises(CannotStart, match="put it back from a backup"):
            key_chain(settings.data)
    path.write_text(good)
    assert key_chain(settings.data) == chain


def test_a_key_that_was_the_installations_is_not_its_next(tmp_path: Path) -> None:
    settings = begun(tmp_path)
    place = tmp_path / "former"
    shutil.copy(settings.data / "authority.key", place)
    rotated(settings, {}, "", now=utc_now(), overlap=MONTH)
    with pytest.raises(CannotStart, match="give a new one"):
        rotated(settings, {}, str(place), now=utc_now(), overlap=MONTH)


def test_a_succession_is_the_word_of_both_its_keys(tmp_path: Path) -> None:
    settings = begun(tmp_path)
    chain = rotated(settings, {}, "", now=utc_now(), overlap=MONTH)
    own, stranger = authority_key(settings, {}), SigningKey.from_seed(bytes(32))
    body = json.loads(json.loads(chain.documents[0])["body"])
    del body["type"]
    # A key that somebody else calls its own past, or its future.
    for former, following in ((stranger, own), (own, stranger)):
        said = {**body, "former": former.public, "next": following.public}
        for signers in ((former,), (following,)):
            with pytest.raises(Exception, match="not signed by a key"):
                Succession.of(seal("succession", said, *signers).text)
        assert Succession.of(seal("succession", said, former, following).text).next == following.public
