"""The whole way, from a command to verified bytes and back, against a real service."""

import filecmp
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interfaces.cli.terminal import at_terminal
from tests.servers.headrace import PASSWORD, Person, Service, accepted, serving

from headrace.client import HeadraceError, HttpHeadrace
from headrace.client import models as m

pytestmark = pytest.mark.anyio
ODD = "[red]odd\u202ename\nwith everything\x1b[2J"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("headrace")
    quotas = folder / "quotas.toml"
    quotas.write_text('[[quota]]\nof = "person"\nsubject = "*"\ntransfers = 250\nbytes_a_day = 1_000_000_000_000\n')
    with serving(folder, quotas=str(quotas)) as service:
        yield service


@pytest.fixture(scope="module")
def anna(service: Service) -> Person:
    return service.person("anna", "requester")


@pytest.fixture
def here(service: Service, request: pytest.FixtureRequest) -> str:
    """Make a folder of the test's own with files in the source, and name it."""
    name = str(request.node.name).split("[")[0].removeprefix("test_")[:60]
    folder = service.source / name
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.dat").write_bytes(os.urandom(200_000))
    (folder / "deep" / "b.dat").write_bytes(os.urandom(10))
    (folder / "deep" / "er" / "empty").touch()
    (folder / "left out.tmp").write_bytes(b"x")
    return name


def same(one: Path, other: Path) -> bool:
    compared = filecmp.dircmp(one, other, ignore=[])
    return not (compared.left_only or compared.right_only or compared.diff_files or compared.funny_files) and all(
        same(one / name, other / name) for name in compared.common_dirs
    )


def test_a_person_is_who_they_signed_in_as(anna: Person) -> None:
    me = anna.run("whoami", "--json").document
    assert (me["name"], me["roles"], me["session"]) == ("anna", ["requester"], True)
    assert (me["method"], me["factors"], me["issuer"], me["groups"]) == ("password", ["pwd"], None, [])
    assert "signed in by: password (pwd)" in anna.run("whoami").out


def test_a_wrong_password_and_no_login_exit_8(service: Service, anna: Person, tmp_path: Path) -> None:
    stranger = Person("x", service.url, tmp_path)
    assert stranger.run("status").code == 8
    wrong = stranger.run("login", "--name", "anna", "--password-stdin", typed="not the password\n")
    assert wrong.code == 8
    assert stranger.run("login", "--name", anna.name, "--password-stdin", typed=f"{PASSWORD}\n").code == 0
    assert stranger.run("status").code == 0
    kept = {"HEADRACE_TOKEN": json.loads((stranger.config / "session.json").read_bytes())[service.url]["secret"]}
    assert anna.run("whoami", **kept).code == 0
    with_token = stranger.run("logout", HEADRACE_TOKEN="hrt_x")  # noqa: S106 - no secret
    assert anna.run("whoami", **kept).code == 8, "the session itself is ended, not what the token acts for"
    assert (with_token.code, with_token.out) == (0, f"Signed out of {service.url}.\n"), with_token.err
    again = stranger.run("logout")
    assert (again.code, again.out) == (0, f"You are not signed in at {service.url}; there is nothing to end.\n")
    assert stranger.run("status").code == 8


def test_who_has_no_passkeys_hears_how_to_add_one_and_leaves_calmly_once_disabled(service: Service) -> None:
    lea = service.person("lea", "viewer")
    assert "You have no passkeys. Add one in the console, in a browser: " in lea.run("people", "passkeys").out
    assert service.url + "/account" in lea.run("people", "passkeys").out
    assert service.admin.run("people", "disable", "lea", "--yes").code == 0
    left = lea.run("logout")
    assert (left.code, left.out) == (0, f"Signed out of {service.url}.\n"), left.err


def test_a_copy_arrives_whole_and_a_second_one_moves_nothing(service: Service, anna: Person, here: str) -> None:
    done = anna.run("copy", f"src:/{here}", f"dst:/{here}", "--yes", "--json")
    assert done.code == 0, done.err
    moved = [path for path in (service.source / here).rglob("*") if path.is_file()]
    progress = done.document["progress"]
    assert (done.document["state"], progress["files_failed"]) == ("complete", 0)
    assert (progress["files_total"], progress["files_done"]) == (len(moved), len(moved))
    assert progress["bytes_total"] == progress["bytes_durable"] == sum(path.stat().st_size for path in moved)
    assert same(service.source / here, service.destination / here)
    again = anna.run("copy", f"src:/{here}", f"dst:/{here}", "--yes", "--json")
    assert again.code == 0, again.err
    progress = again.document["progress"]
    assert (progress["bytes_total"], progress["bytes_durable"], progress["files_done"]) == (0, 0, len(moved))


def test_a_sentence_is_enough(service: Service, anna: Person, here: str) -> None:
    done = anna.run("ask", f"copy src:/{here} to dst:/{here} except *.tmp", "--yes")
    assert done.code == 0, done.err
    assert "is complete" in done.out
    assert "receipts get" in done.out
    assert not (service.destination / here / "left out.tmp").exists()
    assert (service.destination / here / "deep" / "b.dat").exists()


def test_an_unclear_sentence_is_asked_back_and_starts_nothing(anna: Person, here: str) -> None:
    before = anna.run("status", "--json").document
    done = anna.run("ask", f"copy src:/{here} to dst:/{here} at 10 gig", "--yes", "--json")
    assert done.code == 3, done.err
    assert done.document["state"] == "ask"
    assert done.document["questions"][0]["words"]
    assert anna.run("status", "--json").document == before


def test_a_question_answered_at_the_terminal_leads_on(service: Service, anna: Person, here: str) -> None:
    sentence = f"copy src:/{here} to dst:/{here} at 10 gig"
    with at_terminal("ask", sentence, **anna.environment) as person:
        person.wait_for("Your answer")
        person.type("10 Gb/s")
        person.wait_for(r"Reading: copy src:/\S+ to dst:/\S+ at 10 Gb/s")
        person.wait_for(r"Run it\? \[Y/n\]")
        person.type("")
        assert person.ends_with() == 0, person.shown
    assert "is complete: 4 files" in person.shown
    assert "receipts get tr_" in person.shown
    assert same(service.source / here, service.destination / here)


def test_a_plan_shows_and_moves_nothing_until_its_digest_is_submitted(
    service: Service, anna: Person, here: str, tmp_path: Path
) -> None:
    sealed = tmp_path / "plan.json"
    shown = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--document", str(sealed), "--json")
    assert shown.code == 0, shown.err
    assert not (service.destination / here).exists()
    assert shown.document["digest"]
    assert '"body"' in sealed.read_text()
    again = anna.run("plan", shown.document["digest"], "--document", str(sealed))
    assert (again.code, "give --force" in again.err) == (2, True), again.err
    assert anna.run("plan", shown.document["digest"], "--document", str(sealed), "--force").code == 0
    assert anna.run("submit", shown.document["digest"]).code == 0
    assert same(service.source / here, service.destination / here)


def test_what_may_not_be_written_is_denied_with_exit_4(anna: Person, here: str) -> None:
    done = anna.run("copy", f"dst:/{here}", f"src:/{here}", "--yes")
    assert done.code == 4, (done.out, done.err)


def test_an_overwrite_needs_the_persons_own_yes(service: Service, anna: Person, here: str) -> None:
    (service.destination / here).mkdir()
    (service.destination / here / "a.dat").write_bytes(b"older")
    asked = ("copy", f"src:/{here}", f"dst:/{here}", "--on-conflict", "overwrite", "--yes")
    done = anna.run(*asked, "--json")
    assert done.code == 5, done.err
    plan = done.document
    assert (plan["survey"]["overwrites"], plan["survey"]["overwrites_sample"]) == (1, ["a.dat"])
    assert anna.run("submit", plan["digest"]).code == 5
    assert (service.destination / here / "a.dat").read_bytes() == b"older"
    with at_terminal("confirm", plan["id"], **anna.environment) as person:
        person.wait_for("REPLACES +1 file")
        person.wait_for("Confirm plan")
        person.type("y")
        person.wait_for("Your password: ")
        person.type(PASSWORD)
        assert person.ends_with() == 0, person.shown
    assert anna.run("submit", plan["digest"]).code == 0
    assert same(service.source / here, service.destination / here)


async def test_a_program_that_finds_the_session_file_confirms_nothing_at_a_site_that_sets_nothing(
    service: Service, anna: Person, here: str
) -> None:
    (service.destination / here).mkdir()
    (service.destination / here / "a.dat").write_bytes(b"older")
    plan = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--on-conflict", "overwrite", "--json").document
    [found] = json.loads((anna.config / "session.json").read_text()).values()
    async with HttpHeadrace(service.url, found["secret"]) as program:
        assert (await program.plan(plan["id"])).needs[0].proof == "password"
        for call in (
            program.confirm_plan(plan["id"], m.Confirmation(digest=plan["digest"])),
            program.create_token(m.TokenRequest(name="x", scopes=["transfer:read"])),
        ):
            with pytest.raises(HeadraceError) as refused:
                await call
            assert (refused.value.problem.code, refused.value.problem.proof) == (
                "proof_needed",
                m.ProofWanted(ways=["password"]),
            )
    alone = anna.run("token", "create", "x", "--scope", "transfer:read")
    assert (alone.code, "run this at a terminal" in alone.err) == (4, True), alone.err


def test_a_person_may_say_no(service: Service, anna: Person, here: str) -> None:
    with at_terminal("copy", f"src:/{here}", f"dst:/{here}", **anna.environment) as person:
        person.wait_for(r"Run it\?")
        person.type("n")
        assert person.ends_with() == 5, person.shown
    assert "headrace submit" in person.shown
    assert not (service.destination / here).exists()


def test_yes_does_not_stand_for_a_confirmation_and_a_decline_holds(service: Service, anna: Person, here: str) -> None:
    (service.destination / here).mkdir()
    (service.destination / here / "a.dat").write_bytes(b"older")
    asked = ("copy", f"src:/{here}", f"dst:/{here}", "--on-conflict", "overwrite", "--yes")
    for said, code in (("n", 5), ("y", 0)):
        assert (service.destination / here / "a.dat").read_bytes() == b"older"
        with at_terminal(*asked, **anna.environment) as person:
            person.wait_for("REPLACES +1 file")
            person.wait_for("Confirm plan [0-9a-f]{12}")
            person.type(said)
            if said == "y":
                person.wait_for("Your password: ")
                person.type(PASSWORD)
            else:
                person.wait_for("You declined this plan")
            assert person.ends_with() == code, person.shown
    assert same(service.source / here, service.destination / here)


def test_an_approver_sees_the_plan_before_the_question(service: Service, anna: Person, here: str) -> None:
    ben = service.person("ben", "approver")
    (service.destination / here).mkdir()
    for number in range(12):
        (service.destination / here / f"old-{number}").touch()
    plan = anna.run("plan", "sync", f"src:/{here}", f"dst:/{here}", "--delete", "--json").document
    with at_terminal("approve", plan["id"], "--reason", "fine", **ben.environment) as person:
        person.wait_for(r"DELETES +12 entries")
        person.wait_for(r"Approve plan [0-9a-f]{12} of anna")
        person.type("y")
        person.wait_for("Your password: ")
        person.type(PASSWORD)
        assert person.ends_with() == 0, person.shown
    with at_terminal("confirm", plan["id"], **anna.environment) as person:
        person.wait_for("Confirm plan")
        person.type("y")
        person.wait_for("Your password: ")
        person.type(PASSWORD)
        assert person.ends_with() == 0, person.shown
    assert anna.run("submit", plan["digest"]).code == 0
    assert same(service.source / here, service.destination / here)


def test_a_token_cannot_confirm_even_at_a_terminal(service: Service, anna: Person, here: str, tmp_path: Path) -> None:
    (service.destination / here).mkdir()
    (service.destination / here / "a.dat").write_bytes(b"older")
    scopes = [option for scope in ("read", "plan", "run") for option in ("--scope", f"transfer:{scope}")]
    made = anna.prove("token", "create", "pipeline", *scopes, "--json")
    token = made.document
    assert token["secret"] not in made.err, "a log of standard error keeps no secret"
    pipeline = {"HEADRACE_TOKEN": token["secret"], "HEADRACE_SERVICE": service.url, "HEADRACE_CONFIG": str(tmp_path)}
    plan = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--on-conflict", "overwrite", "--json").document
    with at_terminal("confirm", plan["id"], **pipeline) as person:
        assert person.ends_with() == 8, person.shown
    assert "unset HEADRACE_TOKEN" in person.shown, "it is told before anything is asked"
    assert (service.destination / here / "a.dat").read_bytes() == b"older"
    revoked = anna.run("token", "revoke", token["id"][:11], "--json")
    assert (revoked.code, revoked.document) == (0, {"revoked": token["id"]}), revoked.err
    assert Person("x", service.url, tmp_path).run("status", HEADRACE_TOKEN=token["secret"]).code == 8


def test_files_that_do_not_arrive_are_listed_and_retried_alone(service: Service, anna: Person, here: str) -> None:
    (service.destination / here).mkdir()
    (service.destination / here / "a.dat").write_bytes(b"something else")
    done = anna.run("copy", f"src:/{here}", f"dst:/{here}", "--yes", "--json")
    assert done.code == 6, done.err
    transfer = done.document["id"]
    listed = anna.run("failed", transfer)
    assert listed.code == 6
    assert "a.dat" in listed.out
    assert f"headrace retry {transfer}" in listed.out
    (service.destination / here / "a.dat").unlink()
    retried = anna.run("retry", transfer)
    assert retried.code == 0, retried.err
    assert same(service.source / here, service.destination / here)
    assert anna.run("failed", transfer).code == 0


def test_each_name_that_would_be_replaced_or_deleted_is_listed_before_it_is(
    service: Service, anna: Person, here: str
) -> None:
    there = service.destination / here
    (there / "deep").mkdir(parents=True)
    (there / "a.dat").write_bytes(b"older")
    for name in ("gone", "gone too"):
        (there / name).write_bytes(b"only there")
    flags = ("--on-conflict", "overwrite", "--delete", "--json")
    plan = anna.run("plan", "sync", f"src:/{here}", f"dst:/{here}", *flags).document
    first = anna.run("losses", plan["id"], "--limit", "1", "--json").document
    rest = anna.run("losses", plan["digest"], "--after", first["next"], "--json").document
    listed = [(one["how"], one["path"]) for one in (*first["items"], *rest["items"])]
    assert listed == [("replaced", "a.dat"), ("deleted", "gone"), ("deleted", "gone too")]
    shown = anna.run("losses", plan["id"], "--how", "deleted", "--limit", "1")
    assert "gone" in shown.out
    assert "a.dat" not in shown.out
    assert f"headrace losses {plan['id']} --how deleted --after 2.b" in shown.err
    assert (there / "a.dat").read_bytes() == b"older"
    harmless = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}-new", "--json").document
    assert "nothing" in anna.run("losses", harmless["id"]).out


def test_a_receipt_is_saved_and_holds_the_digest_of_its_file_list(anna: Person, here: str, tmp_path: Path) -> None:
    done = anna.run("copy", f"src:/{here}", f"dst:/{here}", "--yes", "--json").document
    receipt, files = tmp_path / "receipt.json", tmp_path / "files.jsonl"
    assert anna.run("receipts", "get", done["id"], "-o", str(receipt)).code == 0
    assert anna.run("receipts", "files", done["id"], "-o", str(files)).code == 0
    for what, file in (("get", receipt), ("files", files)):
        before = file.read_bytes()
        file.write_text("somebody's own")
        kept = anna.run("receipts", what, done["id"], "-o", str(file))
        assert (kept.code, "give --force" in kept.err, file.read_text()) == (2, True, "somebody's own")
        assert anna.run("receipts", what, done["id"], "-o", str(file), "--force").code == 0
        assert file.read_bytes() == before
    body = json.loads(json.loads(receipt.read_text())["body"])
    statement = json.loads(json.loads(body["statements"][0])["body"])
    assert body["transfer"] == done["id"]
    assert statement["list_digest"] == hashlib.sha256(files.read_bytes()).hexdigest()
    assert b'"a.dat"' in files.read_bytes()
    key = anna.run("health", "--json").document["key"]
    named = anna.run("receipt", "verify", str(receipt))
    assert (named.code, key in named.out, "the key that the receipt itself names" in named.out) == (0, True, True)
    given = anna.run("receipt", "verify", str(receipt), "--key", key)
    assert (given.code, f"checked with {key}, which you gave with `--key`" in given.out) == (0, True), given.err


def test_invariant_4_hostile_names_are_shown_as_what_they_are(service: Service, anna: Person, here: str) -> None:
    (service.source / here / ODD).write_bytes(b"x")
    browsed = anna.run("browse", f"src:/{here}")
    planned = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}")
    arrived = anna.run("copy", f"src:/{here}", f"dst:/{here}", "--yes")
    for ran in (browsed, planned, arrived):
        assert ran.code == 0, ran.err
        assert not {c for c in ran.out + ran.err if not c.isprintable()} - {"\n"}
    assert "[red]odd" in browsed.out
    assert same(service.source / here, service.destination / here)


def test_a_running_transfer_is_slowed_paused_resumed_and_canceled(service: Service, anna: Person, here: str) -> None:
    (service.source / here / "big").write_bytes(os.urandom(8_000_000))
    asked = ("copy", f"src:/{here}", f"dst:/{here}", "--rate", "800kB/s", "--yes", "--no-wait", "--json")
    transfer = anna.run(*asked).document["id"]
    assert anna.run("rate", transfer, "400kB/s", "--json").document["rate_ceiling_bps"] == 3_200_000
    paused = anna.run("pause", transfer, "--reason", "lunch")
    assert (paused.code, "Pause was asked for. Now: " in paused.out) == (0, True), paused.out
    states = (anna.run("status", transfer, "--json").document["state"] for _ in range(100))
    assert any(state == "paused" for state in states)  # at the next unit, not in the middle of one
    assert anna.run("resume", transfer).code == 0
    assert anna.run("cancel", transfer).code == 0
    watched = anna.run("watch", transfer, "--json")
    assert watched.code == 1
    assert '"state":"canceled"' in watched.out.splitlines()[-1]
    assert not (service.destination / here / "big").exists()


def test_ctrl_c_leaves_a_transfer_that_goes_on(anna: Person, here: str) -> None:
    asked = ("copy", f"src:/{here}", f"dst:/{here}", "--rate", "100kB/s", "--yes")
    with at_terminal(*asked, **anna.environment) as person:
        transfer = person.wait_for(r"tr_\w+")
        person.wait_for("running")
        person.press_ctrl_c()
        assert person.ends_with() == 130, person.shown
    assert f"headrace watch {transfer}" in person.shown
    assert anna.run("watch", transfer).code == 0


def test_places_nodes_and_policy_are_listed(service: Service, anna: Person) -> None:
    assert {e["id"] for e in anna.run("endpoints", "--json").items} == {"src", "dst"}
    assert service.admin.run("nodes", "--json").items[0]["state"] == "attached"
    assert service.admin.run("policy", "show").code == 0
    token = service.admin.prove("node-token", "dtn2", "--json").document
    assert len(token["commands"]) >= 1
    assert {p["name"] for p in service.admin.run("people", "--json").items} >= {"admin", "anna"}


def test_the_doctor_judges_the_host_of_a_node_as_if_it_ran_there(service: Service, anna: Person) -> None:
    asked = ("--rate", "100Gb/s", "--rtt", "80", "--json")
    node = service.admin.run("nodes", "--json").items[0]["name"]
    far, near = service.admin.run("doctor", "--node", node, *asked), service.admin.run("doctor", *asked)
    assert far.code == near.code, far.out
    changing = {"in_use", "stolen_share", "backlog_drops", "throttled_share", "tracked"}
    for part in ("sockets", "route", "processors"):
        there, here = (
            {
                key: sorted(value) if isinstance(value, list) else value
                for key, value in one.document["host"][part].items()
            }
            for one in (far, near)
        )
        assert all(there[key] == here[key] for key in there.keys() - changing), part
    assert {one["path"] for one in far.document["host"]["folders"]} == {"src", "dst"}
    assert all(one["free"] > 0 and one["file_system"] for one in far.document["host"]["folders"])
    assert far.document["host"]["clock"] == near.document["host"]["clock"]
    for key in ("rx_ring", "max_rx_ring", "offloads_off"):
        assert far.document["host"]["interface"][key] == near.document["host"]["interface"][key], key
    unread = [sorted(one["what"] for one in said.document["host"]["unread"]) for said in (far, near)]
    assert unread[0] == unread[1]
    assert service.admin.run("doctor", "--node", node, "src", "elsewhere", *asked).document["host"]["unread"]
    refused = anna.run("doctor", "--node", node, "--json")
    assert refused.document["code"] == "forbidden"
    assert service.admin.run("doctor", "--node", "nobody", "--json").document["code"] == "unknown_node"
    assert service.admin.run("doctor", "--node", node, "--probe").code == 2


def test_a_denied_or_allowed_plan_says_why(anna: Person, here: str) -> None:
    plan = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--json").document
    why = anna.run("why", plan["id"], "--json")
    assert why.code == 0
    assert why.document["outcome"] == "allowed"
    assert why.document["rules"]


def test_why_and_diagnose_tell_the_same_of_a_transfer(anna: Person, here: str) -> None:
    transfer = anna.run("copy", f"src:/{here}", f"dst:/{here}", "--yes", "--json").document["id"]
    why, verdict = anna.run("why", transfer, "--json"), anna.run("diagnose", transfer, "--json")
    assert (why.code, why.document) == (0, verdict.document)
    assert why.document["transfer"] == transfer


def test_a_probe_says_where_the_speed_goes_and_leaves_nothing(service: Service, anna: Person, here: str) -> None:
    target = service.destination / here
    target.mkdir()
    asked = anna.run("probe", f"src:/{here}", f"dst:/{here}", "--size", "8MiB", "--yes", "--json")
    assert asked.code == 0, asked.err
    found = asked.document
    assert next(leg["name"] for leg in found["legs"]) == "memory_to_memory"
    assert all(leg["rate_bps"] for leg in found["legs"])
    assert found["tightest"]
    told = anna.run("watch", found["transfer"])
    assert told.code == 0
    assert "storage to storage" in told.out
    assert list(target.iterdir()) == []


def test_what_was_a_probe_is_asked_for_once_more_as_a_probe(service: Service, anna: Person, here: str) -> None:
    target = service.destination / here
    target.mkdir()
    first = anna.run("probe", f"src:/{here}", f"dst:/{here}", "--size", "1MiB", "--no-wait", "--yes", "--json").document
    again = anna.run("again", first["id"], "--no-wait", "--yes", "--json").document
    assert again["probe"]


def test_a_probe_shows_its_bounds_before_it_runs_and_refuses_others(anna: Person, here: str) -> None:
    plan = anna.run("probe", f"src:/{here}", f"dst:/{here}", "--size", "8MiB")
    assert "four legs of at most 8" in plan.out
    too_small = anna.run("probe", f"src:/{here}", f"dst:/{here}", "--size", "1kB", "--yes")
    assert (too_small.code, "1 MiB to 1 TiB" in too_small.err) == (2, True)


def test_a_plan_that_ran_says_so_and_the_same_is_asked_for_once_more(service: Service, anna: Person, here: str) -> None:
    digest = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--json").document["digest"]
    first = anna.run("submit", digest, "--json").document
    once_more = anna.run("submit", digest)
    assert f"This plan has already run, as {first['id']} (ended " in once_more.out
    assert "nothing was started" in once_more.out
    assert once_more.code == 0, "as the transfer ended"
    again = anna.run("again", first["id"], "--to", f"dst:/{here}-again", "--yes", "--json")
    assert again.code == 0, again.err
    assert again.document["id"] != first["id"]
    assert same(service.source / here, service.destination / f"{here}-again")
    found = anna.run("status", "--find", f"{here}-again src", "--since", "1h", "--json").items
    assert [one["id"] for one in found] == [again.document["id"]]
    assert anna.run("status", "--find", here, "--until", "1h", "--json").items == []
    [plan] = anna.run("plans", "--find", f"{here}-again", "--json").items
    assert plan["next_step"]["message"] == f"It ended: complete (transfer {again.document['id']})."


def test_how_fast_it_was_and_how_much_of_a_quota_is_used_are_shown(service: Service, anna: Person, here: str) -> None:
    done = anna.run("copy", f"src:/{here}", f"dst:/{here}", "--yes", "--json").document
    assert anna.run("throughput", done["id"], "--json").document["step_s"] == 1
    node = service.admin.run("throughput", "--node", "local", "--json").document
    assert sum(one["bytes"] for one in node["samples"]) >= done["progress"]["bytes_durable"] > 0
    shown = service.admin.run("throughput", "--node", "local", "--sent")
    assert (shown.code, "#" * 40 in shown.out) == (0, True), "the fastest has the longest bar"
    assert anna.run("throughput", "--node", "local").code != 0
    assert anna.run("throughput").code == 2
    [quota] = anna.run("qos", "--json").items
    assert (quota["of"], quota["transfers"], quota["transfers_used"]) == ("person", 250, 0)
    assert quota["bytes_used"] >= done["progress"]["bytes_durable"]
    assert "0 of 250 transfers at once" in anna.run("qos").out
    card = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}-more").out
    assert "of 1.00 TB today used" in card
    assert "between these nodes" in card


def test_a_plan_is_dropped(anna: Person, here: str) -> None:
    planned = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--json").document
    assert "was dropped" in anna.run("drop", planned["id"]).out
    assert anna.run("submit", planned["digest"], "--json").code != 0


def test_the_guide_writes_a_rule_that_passes_the_check(service: Service, tmp_path: Path) -> None:
    admin = service.admin
    assert "no-writes" in admin.run("policy", "guide").out
    made = admin.run("policy", "guide", "no-writes", "place=dst:/phi")
    assert 'resource.destination.within.contains("/phi")' in made.out
    assert "lines above" not in made.err, "with the output in a file there are none"
    text = tmp_path / "policy.cedar"
    text.write_text(admin.run("policy", "show").out + made.out)
    assert admin.run("policy", "check", str(text)).code == 0
    again = admin.run("policy", "guide", "no-writes", "place=dst:/phi", "--for", str(text), "--json")
    assert again.document["rules"] == ["no-writes-3", "no-writes-4"]
    missing = admin.run("policy", "guide", "no-writes")
    assert (missing.code, "`place` is missing" in missing.err) == (2, True)
    assert admin.run("policy", "guide", "no-writes", "dst:/phi").code == 2


def test_labels_are_set_and_removed_one_by_one(service: Service) -> None:
    admin = service.admin
    set_two = admin.prove("endpoints", "label", "src", "site=imaging", "names=restricted", "--json")
    assert set_two.document["labels"] == {"site": "imaging", "names": "restricted"}, set_two.err
    changed = admin.prove("endpoints", "label", "src", "site=beamline 4", "--remove", "names")
    assert "Labels of src: site=beamline 4" in changed.out
    assert [e["labels"] for e in admin.run("endpoints", "--json").items if e["id"] == "src"] == [{"site": "beamline 4"}]
    assert admin.prove("endpoints", "label", "src", "--remove", "site", "--json").document["labels"] == {}
    folder = admin.prove("endpoints", "label", "src:/raw/phi/", "class=phi", "names=restricted")
    assert "Labels of src:/raw/phi: class=phi, names=restricted" in folder.out, folder.err
    admin.prove("endpoints", "label", "src:/raw/phi", "--remove", "names")
    assert "/raw/phi: class=phi" in admin.run("endpoints").out
    assert (
        admin.prove("endpoints", "label", "src:/raw/phi", "--remove", "class", "--json").document["folder_labels"] == {}
    )
    assert admin.run("endpoints", "label", "src", "nothing").code == 2
    assert admin.run("endpoints", "label", "src").code == 2
    unknown = admin.prove("endpoints", "label", "nowhere", "a=b")
    assert (unknown.code, "nowhere" in unknown.err) == (1, True)


def test_health_says_ok_with_its_exit_code(service: Service) -> None:
    said = service.admin.run("health", "--json")
    assert (said.code, said.document["status"], said.document["causes"]) == (0, "ok", [])


def test_an_admin_changes_what_a_person_may_do(service: Service) -> None:
    bob, admin = service.person("bob", "viewer"), service.admin
    person = next(one["id"] for one in admin.run("people", "--json").items if one["name"] == "bob")
    assert admin.run("people", "set", person).code == 2
    ran = admin.prove("people", "set", person, "--role", "requester", "--group", "lab", "--json")
    assert (ran.document["roles"], ran.document["groups"]) == (["requester"], ["lab"])
    told = bob.run("whoami").out
    assert "roles: requester" in told
    assert "groups: lab" in told


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("invite", "ADMIN", "--role", "viewer"), "lost or has expired gets a new one with `headrace people reinvite"),
        (("people", "service", "admin", "--role", "viewer"), "Somebody has this name already"),
        (("people", "set", "admin", "--role", "viewer"), "This would take the role of an admin from yourself"),
        (("people", "enable", "admin"), "This person is active, not disabled"),
        (("token", "create", "pn_1", "--scope", "transfer:read"), "A name must not begin with `pn_`"),
        (("endpoints", "label", "src", "class=*"), "`*` can't be part of a label"),
        (("endpoints", "remove", "src", "--yes"), "still exports the root"),
        (("ca", "remove", "NODE", "--yes"), "is a member; revoke it first"),
        (("node-token", "NODE"), "has joined already"),
    ],
)
def test_what_is_refused_anyhow_is_not_answered_with_the_question_for_a_password(
    service: Service, command: tuple[str, ...], said: str
) -> None:
    node = service.admin.run("nodes", "--json").items[0]["name"]
    refused = service.admin.run(*(word.replace("NODE", node) for word in command))
    assert said in refused.err, refused.err
    assert "password" not in refused.err


def test_an_admin_sees_before_whose_rights_a_group_would_change(service: Service) -> None:
    admin, corp = service.admin, "https://login.example.org"
    binding = ("people", "bind", corp, "staff", "--role", "approver", "--group", "stewards")
    assert "would change" in admin.run(*binding, "--dry-run").out
    assert admin.run("people", "groups", "--json").document["bindings"] == []
    assert "for another administrator" in admin.run(*binding).out
    second = ("people", "bind", corp, "visitors", "--role", "viewer", "--json")
    proposed = admin.run(*second).document["proposed"]
    assert [one["group"] for one in proposed["bindings"]] == ["staff", "visitors"]
    mistyped = admin.run("people", "bind", "corp", "staff", "--role", "approver")
    assert (mistyped.code, "`corp` is not an issuer" in mistyped.err) == (2, True)
    assert "another administrator" in admin.prove("people", "publish", proposed["id"]).err
    zoe = service.person("zoe", "admin")
    listed = zoe.run("people", "groups").out
    assert all(word in listed for word in ("staff", "approver", "stewards", proposed["id"]))
    assert zoe.prove("people", "publish", proposed["id"], "--json").document["bindings"] == proposed["bindings"]


def test_a_person_changes_the_password_and_comes_back_by_a_new_link(service: Service) -> None:
    eve = service.person("eve", "viewer")
    weak = eve.run("people", "password", typed=f"{PASSWORD}\neve\n")
    assert weak.code != 0
    for wrong in ("12 to 1,000 characters", "5 different", "your name (`eve`)", "easy to guess"):
        assert wrong in weak.err, "all that is wrong is said at once"
    nothing = eve.run("people", "password", typed=f"{PASSWORD}\n")
    assert (nothing.code, "standard input has no new password" in nothing.err) == (2, True), nothing.err
    same_again = eve.run("people", "password", typed=f"{PASSWORD}\n{PASSWORD}\n")
    assert (same_again.code == 0, "That is your password already; choose another." in same_again.err) == (False, True)
    changed = eve.run("people", "password", "--password-stdin", typed=f"{PASSWORD}\nanother horse battery\n")
    assert changed.code == 0, changed.err
    [session] = eve.run("people", "sessions", "--json").items
    assert session["current"]
    person = next(one["id"] for one in service.admin.run("people", "--json").items if one["name"] == "eve")
    link = service.admin.prove("people", "reinvite", person, "--json").document["link"]
    accepted(service, "eve", link)
    assert eve.run("people", "sessions", "--end", session["id"]).code != 0
    [present] = eve.run("people", "sessions", "--json").items
    ended = eve.run("people", "sessions", "--end", present["id"][:11], "--json")
    assert (ended.code, ended.document) == (0, {"ended": present["id"]}), ended.err


def test_whoever_is_disabled_loses_everything_and_the_command_says_how_they_come_back(service: Service) -> None:
    admin, _ = service.admin, service.person("max", "viewer")
    found = next(one["id"] for one in admin.run("people", "--json").items if one["name"] == "max")
    assert "give --yes" in admin.run("people", "disable", "max").err
    with at_terminal("people", "disable", "max", **admin.environment) as person:
        person.wait_for(r"Disable max\? \[y/N\]")
        person.type("n")
        assert person.ends_with() == 5, person.shown
    disabled = admin.run("people", "disable", "max", "--yes")
    assert disabled.out == (
        "max is disabled; password, sessions, tokens and passkeys are gone. "
        f"To let them back: `headrace people reinvite {found}`\n"
    )
    refused = admin.run("people", "enable", "max")
    assert f"give them a new one-time link with `headrace people reinvite {found}`" in refused.err
    assert "password to prove" not in refused.err, "it is refused before a password is asked for"
    robot = admin.prove("people", "service", "nightly", "--role", "viewer", "--json").document["id"]
    ended = admin.run("people", "disable", "nightly", "--yes")
    assert f"tokens are gone. To let them back: `headrace people enable {robot}`" in ended.out
    assert admin.prove("people", "enable", "nightly").code == 0
    made = admin.prove("token", "create", "nights", "--scope", "transfer:read", "--for", "nightly")
    assert made.code == 0, made.err


def test_whoever_was_invited_under_a_name_hears_that_another_does_not_count(service: Service, tmp_path: Path) -> None:
    link = service.admin.prove("invite", "tom", "--role", "viewer", "--json").document["link"]
    tom = Person("tom", service.url, tmp_path)
    joined = tom.run("login", "--link", link, "--name", "robert", "--password-stdin", typed=f"{PASSWORD}\n")
    assert (joined.code, "You were invited as tom: that is your name here." in joined.err) == (0, True), joined.err
    nowhere = tom.run("login", "--provider", "corp")
    assert "There is no such provider: this site has none." in nowhere.err
