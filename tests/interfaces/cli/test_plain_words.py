"""What commands say of mistakes and ends: in this process, with a scripted service where one is asked."""

import asyncio
import json
import re
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from tests.interfaces.cli.test_terminal import AT, DIGEST, ended, plan, transfer
from tests.interfaces.client.scripted import Script, answer, problem, scripted_service, stream
from typer.testing import CliRunner

from headrace.api.app.serve import _require_folders
from headrace.api.errors import CannotStart
from headrace.auth import TOKEN_SCOPES, AuthCode, AuthError
from headrace.auth.passwords import MIN_PASSWORD
from headrace.cli import node_keys, people
from headrace.cli.command import Command, run
from headrace.cli.main import app
from headrace.cli.people import LEAST_PASSWORD, _with_new_password
from headrace.cli.probe import probe
from headrace.cli.quantities import size_bytes, span_s
from headrace.client import HeadraceError
from headrace.client import models as m
from headrace.mcp_server import stdio
from headrace.mcp_server.stdio import _say_trouble

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_service() as script:
        yield script


def ran(arguments: Sequence[str], config: Path, url: str = NOBODY, **more: str) -> tuple[int, str, str]:
    """Run a command as nobody at a terminal; returns its exit code, output and errors, on one line each."""
    environment = {"HEADRACE_CONFIG": str(config), "HEADRACE_SERVICE": url, "HEADRACE_TOKEN": None, **more}
    done = CliRunner().invoke(app, list(arguments), env=environment)
    return done.exit_code, done.stdout, " ".join(done.stderr.split())


COPY = ["copy", "a:/x", "b:/x"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*COPY, "--streams", "nonsense"], "Invalid value for '--streams': `nonsense`: it must be a whole number"),
        ([*COPY, "--verify", "md5"], "`md5`: it must be one of 'default', 'in-transit', 'at-rest', 'blake3'"),
        ([*COPY, "--unit", "3"], "--unit must be at least 256 KiB"),
        ([*COPY, "--start", "2020-01-01"], "`2020-01-01` is past: write a time ahead"),
        ([*COPY, "--start", "yesterday"], "`yesterday` is not a time ahead: write 30min, 12h or 2d from now on"),
        (["status", "--limit", "500"], "`500`: it must be at most 200"),
        (["token", "create", "x", "--scope", "transfer:read", "--valid", "1s"], "--valid must be at least 5 min"),
        (["halt", "transfer", "--reason", "x"], "say which transfer: headrace halt transfer ID"),
        (["halt", "everything", "x", "--reason", "x"], "everything takes no subject"),
        (["login", "--link", "nonsense"], "this is not a one-time link: copy all of it, from http to the end"),
    ],
)
def test_a_mistake_is_told_by_the_name_that_was_typed(tmp_path: Path, arguments: list[str], said: str) -> None:
    code, _, told = ran(arguments, tmp_path)
    assert code == 2
    assert said in told
    assert "Input should" not in told
    assert "Value error" not in told


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_file_that_is_not_there_is_told_without_numbers_and_in_one_document(tmp_path: Path, command: str) -> None:
    data = tmp_path / "data"
    code, out, told = ran([command, str(tmp_path / "no" / "x"), "--data", str(data), "--json"], tmp_path)
    assert code == 1
    assert "Errno" not in told + out
    assert json.loads(out)["code"] == "failed"
    if command == "restore":
        assert f"there is no folder `{tmp_path / 'no'}`" in told


def test_a_list_that_is_empty_for_an_unknown_endpoint_says_so_and_fails(script: Script, tmp_path: Path) -> None:
    here: dict[str, Any] = {
        "id": "here",
        "node": "n",
        "root": "here",
        "kind": "posix",
        "online": True,
        "access": "read",
    }
    # No transfer, no endpoint with such a name, and then those that there are.
    script.answers = [answer({"items": []}), answer({"items": []}), answer({"items": [here]})]
    code, _, told = ran(["status", "--endpoint", "nowhere"], tmp_path, script.url)
    assert (code, "There is no endpoint `nowhere` that you may see; there are here." in told) == (1, True), told


def test_a_list_that_is_empty_for_an_endpoint_whose_name_is_written_in_capitals_is_only_empty(
    script: Script, tmp_path: Path
) -> None:
    """The service finds endpoints by their names whatever their case."""
    krios: dict[str, Any] = {"id": "krios1", "node": "n", "root": "r", "kind": "posix", "online": True}
    script.answers = [answer({"items": []}), answer({"items": [krios | {"access": "read", "aliases": ["Titan"]}]})]
    code, out, told = ran(["status", "--endpoint", "KRIOS1"], tmp_path, script.url)
    assert (code, told) == (0, ""), told
    assert "There are no such transfers" in out


NOW, BEFORE = "ed25519:now", "ed25519:before"


@pytest.mark.parametrize(
    ("signed", "command", "note"),
    [
        ({"key": NOW}, f"receipt.json --key {NOW}", ""),
        ({"key": BEFORE, "key_replaced": True}, f"receipt.json --key {BEFORE}", f"It was signed with {BEFORE}, which"),
        ({}, "the service does not name the key that signed it", ""),
    ],
)
def test_a_receipt_is_checked_with_the_key_that_signed_it_whichever_signs_now(
    script: Script, tmp_path: Path, signed: dict[str, Any], command: str, note: str
) -> None:
    receipt = {"id": "rc_1", "transfer": "tr_1", "plan_digest": DIGEST, "created": AT, "document": "{}", **signed}
    script.answers = [answer(receipt)]
    code, out, told = ran(["receipts", "get", "tr_1", "-o", str(tmp_path / "receipt.json")], tmp_path, script.url)
    assert (code, command in " ".join(out.split())) == (0, True), out
    assert told.startswith(note)
    assert bool(told) is bool(note)


def test_under_json_standard_error_is_silent_unless_something_is_wrong(script: Script, tmp_path: Path) -> None:
    script.answers = [answer(plan()), answer(transfer("complete"))]
    code, out, told = ran([*COPY, "--yes", "--json"], tmp_path, script.url)
    assert (code, told) == (0, ""), told
    assert m.Transfer.model_validate_json(out).state == "complete"


def test_without_a_terminal_a_copy_names_the_flag_that_stands_for_yes(script: Script, tmp_path: Path) -> None:
    script.answers = [answer(plan())]
    code, _, told = ran(COPY, tmp_path, script.url)
    assert (code, "`--yes` runs what needs no confirmation" in told, DIGEST in told) == (5, True, True), told


def test_a_plan_that_waits_for_a_yes_that_nobody_may_give_ends_as_one_that_waits(
    script: Script, tmp_path: Path
) -> None:
    need = {"kind": "confirmation", "by": "you", "count": 1, "given": 0}
    step = {"kind": "none", "by": "nobody", "message": "Nobody confirms for a service account."}
    script.answers = [answer(plan(outcome="confirm", needs=[need], next_step=step))]
    code, _, told = ran([*COPY, "--yes"], tmp_path, script.url)
    assert (code, "Nobody confirms" in told) == (5, True), told


def test_a_plan_that_the_token_may_not_run_is_not_submitted(script: Script, tmp_path: Path) -> None:
    step = {"kind": "submit", "by": "others", "message": "You can't submit it: this token may not."}
    script.answers = [answer(plan(next_step=step))]
    code, _, told = ran([*COPY, "--yes"], tmp_path, script.url)
    assert (code, "this token may not" in told) == (4, True), told


def test_what_nobody_may_approve_is_refused_before_anything_is_asked(script: Script, tmp_path: Path) -> None:
    against = {
        "action": "approve",
        "allowed": False,
        "reason": "you asked for this plan, so another person approves it",
    }
    script.answers = [answer(plan(outcome="approve", allowed_actions=[against]))]
    code, _, told = ran(["approve", "pl_1"], tmp_path, script.url)
    assert code == 4
    assert "You can't approve this plan: you asked for this plan, so another person approves it." in told
    assert "headrace invite NAME --role approver" in told


def test_an_invitation_to_a_service_of_this_host_says_what_to_do_with_it_and_where_it_opens(
    script: Script, tmp_path: Path
) -> None:
    link = "http://127.0.0.1:8470/accept#x"
    made = {"link": link, "name": "bob", "roles": ["viewer"], "expires": "2026-11-25T14:30:00Z"}
    script.answers = [answer(made)]
    code, out, told = ran(["invite", "bob", "--role", "viewer"], tmp_path, script.url)
    assert (code, link in out) == (0, True), told
    assert "runs `headrace login --link -`" in told
    assert "opens only on the host of the service" in told


def test_the_length_of_a_password_that_is_asked_for_is_the_one_that_is_wanted() -> None:
    assert LEAST_PASSWORD == MIN_PASSWORD


def test_a_sentence_is_read_without_a_service_and_says_so(tmp_path: Path) -> None:
    code, _, told = ran(["interpret", "copy here:/photos to there:/photos"], tmp_path)
    assert (code, "This asks no service, so it knows no endpoint but `local`" in told) == (3, True), told


@pytest.mark.parametrize(
    ("option", "default"), [("--data", "headrace-data"), ("--listen", "127.0.0.1:8470"), ("--node-name", "local")]
)
def test_the_help_of_serve_says_what_holds_without_an_option(tmp_path: Path, option: str, default: str) -> None:
    _, out, _ = ran(["serve", "--help"], tmp_path, COLUMNS="200")
    _, _, said = " ".join(out.split()).partition(f" {option} ")
    assert f"[default: {default}]" in said.split(" --")[0]


@pytest.mark.parametrize(
    ("command", "name", "read"),
    [
        (probe, "size", size_bytes),
        (node_keys.rotate, "valid", span_s),
        (node_keys.issue, "valid", span_s),
        (people.invite, "valid", span_s),
        (people.token_create, "valid", span_s),
    ],
)
def test_a_default_is_shown_as_people_write_it_and_is_the_one_that_holds(
    command: Callable[..., None], name: str, read: Callable[[str], int]
) -> None:
    parameter = signature(command, eval_str=True).parameters[name]
    [option] = parameter.annotation.__metadata__
    shown = re.search(r"\[default: (.+)\]", option.help)
    assert shown is not None
    assert (option.show_default, read(shown[1])) == (False, parameter.default)


def test_no_default_of_an_option_is_a_bare_number_of_seconds_or_bytes(tmp_path: Path) -> None:
    for command in (["probe"], ["ca", "rotate"], ["ca", "issue"], ["invite"], ["token", "create"], ["copy"], ["halt"]):
        code, out, told = ran([*command, "--help"], tmp_path)
        assert code == 0, told
        assert not re.search(r"\[default: \(?\d{3,}", " ".join(out.split())), command
    assert "[default: 4 GiB]" in " ".join(ran(["probe", "--help"], tmp_path)[1].split())


def test_a_folder_that_is_not_there_at_the_first_start_is_refused(tmp_path: Path) -> None:
    _require_folders([("here", str(tmp_path), "read")])
    with pytest.raises(CannotStart, match=r"there is no folder `.*/nope` \(root `x`\): make or mount it"):
        _require_folders([("x", str(tmp_path / "nope"), "read")])


def test_mcp_says_at_its_start_why_no_tool_will_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HEADRACE_TOKEN", raising=False)
    monkeypatch.setenv("HEADRACE_SERVICE", NOBODY)
    asyncio.run(_say_trouble())
    assert "headrace mcp: " in capsys.readouterr().err


def test_mcp_starts_without_waiting_for_a_service_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def started() -> None:
        # The service takes the connection and says nothing; a call to it takes a minute and more.
        async with asyncio.timeout(20):
            await _say_trouble()

    monkeypatch.setattr(stdio, "_SAID_WITHIN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HEADRACE_TOKEN", "hrt_some-token")
        monkeypatch.setenv("HEADRACE_SERVICE", f"http://127.0.0.1:{silent.getsockname()[1]}")
        asyncio.run(started())
    assert "the service has not answered yet; tools ask it again" in capsys.readouterr().err


def test_a_start_of_mcp_with_a_token_that_is_refused_names_it_and_ends_with_a_code(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADRACE_SERVICE", script.url)
    monkeypatch.setattr(stdio, "make_server", lambda *_, **__: SimpleNamespace(run=lambda _how: None))
    me = {"id": "pn_1", "name": "anna", "roles": [], "scopes": [], "session": False, "agent": None}
    cases = [
        ("hrt_old", problem("not_signed_in", 401), 8, "The token in HEADRACE_TOKEN is not good at http://127.0.0.1"),
        ("hrt_of-a-person", answer(me), 4, "needs a token that names it"),
        ("", answer(me), 4, "gives it in HEADRACE_TOKEN"),
        ("hrt_good", answer(me | {"agent": "helper"}), 0, ""),
    ]
    for secret, answered, code, said in cases:
        monkeypatch.setenv("HEADRACE_TOKEN", secret)
        script.answers = [answered]
        with pytest.raises(SystemExit) as end:
            stdio.serve()
        told = capsys.readouterr().err
        assert (end.value.code, said in told, "sign in" in told) == (code, True, False), told


def test_mcp_at_a_terminal_says_what_it_is_and_how_to_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADRACE_SERVICE", NOBODY)
    monkeypatch.setattr(stdio, "make_server", lambda *_, **__: SimpleNamespace(run=lambda _how: None))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(SystemExit):
        stdio.serve()
    assert "this is for an assistant, which starts it" in (told := capsys.readouterr().err)
    assert "To end it, press Ctrl-D" in told


def test_the_document_of_a_token_that_is_no_good_names_its_variable_too(script: Script, tmp_path: Path) -> None:
    script.answers = [problem("not_signed_in", 401)]
    code, out, told = ran(["status", "--json"], tmp_path, script.url, HEADRACE_TOKEN="hrt_x")  # noqa: S106 - no secret
    assert (code, "The token in HEADRACE_TOKEN is not good" in json.loads(out)["detail"]) == (8, True), out
    assert "HEADRACE_TOKEN" in told


@pytest.mark.parametrize(
    "arguments",
    [
        ["copy", "--json"],
        [*COPY, "--streams", "nonsense", "--json"],
        ["nonsense", "--json"],
        ["ls", "--json"],
        ["--nonsense", "status", "--json"],
        ["people", "set", "x", "--json"],
        ["login", "--json"],
        ["halt", "everything", "x", "--reason", "x", "--json"],
        ["cp", "--json"],
        ["status", "--limit", "500", "--json"],
        ["interpret", "--json"],
        ["interpret", "copy", "--in", "cases.jsonl", "--json"],
        ["interpret", "copy", "--context", "/nowhere/x", "--json"],
        ["audit", "verify", "--heads", "x", "--json"],
        ["audit", "verify", "--data", "/nowhere", "--json"],
        ["audit", "verify-received", "/nowhere/x", "--key", "k", "--json"],
        ["auth", "check", "nobody", "--json"],
        ["serve", "--allow-root", "--root", "x", "--json"],
        ["signer", "run", "--socket", "x", "--service-account", "no-such-account", "--public-url", "x", "--json"],
    ],
)
def test_wrong_usage_is_one_document_for_programs(tmp_path: Path, arguments: list[str]) -> None:
    code, out, _ = ran(arguments, tmp_path)
    assert (code, json.loads(out)["code"]) == (2, "invalid_request")
    assert json.loads(out)["detail"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["secrets", "rotate", "--data", "/nowhere"],
        ["ca", "rotate-authority", "--data", "/nowhere"],
        ["ca", "rotate-hub", "--data", "/nowhere"],
        ["move-store", "--data", "/nowhere"],
        ["signer", "passkeys", "--state", "/nowhere"],
        ["signer", "accept", "x", "--state", "/nowhere"],
        ["signer", "remove", "x", "--state", "/nowhere"],
        ["signer", "policy", "/nowhere/x", "--state", "/nowhere"],
        ["signer", "rotate", "--state", "/nowhere"],
    ],
)
def test_what_stands_against_a_command_of_the_service_is_one_document_for_programs(
    tmp_path: Path, arguments: list[str]
) -> None:
    code, out, told = ran([*arguments, "--json"], tmp_path)
    assert (code, json.loads(out)["code"]) == (1, "failed"), told
    assert json.loads(out)["detail"] in told
    assert told.startswith("headrace ")
    assert "Errno" not in told


def test_a_check_of_the_audit_chain_at_a_service_ends_as_every_command_that_asks_one(
    script: Script, tmp_path: Path
) -> None:
    code, out, told = ran(["audit", "verify", "--json"], tmp_path)
    assert (code, json.loads(out)["code"], "[service_unreachable]" in told) == (7, "service_unreachable", True), told
    script.answers = [problem("not_signed_in", 401)]
    code, out, told = ran(["audit", "verify", "--json"], tmp_path, script.url)
    assert (code, json.loads(out)["code"], "`headrace login`" in told) == (8, "not_signed_in", True), told


NOTHING: dict[str, Any] = {"items": []}
PERSON: dict[str, Any] = {"id": "pn_1", "name": "bob", "kind": "person", "roles": [], "groups": [], "state": "active"}


@pytest.mark.parametrize(
    ("arguments", "answers", "end"),
    [
        (["policy", "show", "99"], [NOTHING], (1, "unknown_policy")),
        (["policy", "show"], [NOTHING], (1, "unknown_policy")),
        (["qos", "text", "99"], [NOTHING], (1, "unknown_qos")),
        (["qos", "diff", "99"], [NOTHING], (1, "unknown_qos")),
        (["ca", "revoke", "dtn9"], [NOTHING], (1, "unknown_node")),
        (["people", "disable", "bob"], [{"items": [PERSON | {"created": AT}]}], (5, "needs_yes")),
        (["again", "tr_1"], [transfer("complete"), plan(intent=None)], (1, "failed")),
    ],
)
def test_a_command_that_ends_without_a_result_writes_one_document_all_the_same(
    script: Script, tmp_path: Path, arguments: list[str], answers: list[Any], end: tuple[int, str]
) -> None:
    script.answers = [answer(one) for one in answers]
    code, out, told = ran([*arguments, "--json"], tmp_path, script.url)
    assert (code, json.loads(out)["code"]) == end, told
    assert json.loads(out)["detail"]


def test_a_command_that_is_interrupted_writes_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    def work(_: Command) -> None:
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as ended:
        run(work, as_json=True)
    assert (ended.value.exit_code, json.loads(capsys.readouterr().out)["code"]) == (130, "interrupted")


def test_who_gives_cp_endpoints_of_a_service_is_told_the_command_for_these(tmp_path: Path) -> None:
    code, _, told = ran(["cp", "here:/photos", "there:/photos"], tmp_path)
    assert (code, told) == (2, "headrace: for endpoints of a service: headrace copy SOURCE DESTINATION")
    code, _, told = ran(["cp", str(tmp_path / "photos"), str(tmp_path / "backup"), "--no-such-option"], tmp_path)
    assert (code, told) == (2, "")


def test_a_plan_that_fails_because_a_node_is_away_ends_as_what_cannot_be_reached(
    script: Script, tmp_path: Path
) -> None:
    again = {"kind": "plan_again", "by": "you", "message": "Plan it again."}
    away = plan("failed", next_step=again, refusals=[{"rule": "node_away", "message": "node `dtn2` is not attached"}])
    for command in (COPY, ["plan", *COPY]):
        script.answers = [answer(away)]
        code, _, told = ran(command, tmp_path, script.url)
        assert code == 7, (command, told)
    script.answers = [
        answer(plan("failed", next_step=again, refusals=[{"rule": "survey_timeout", "message": "too long"}]))
    ]
    assert ran(COPY, tmp_path, script.url)[0] == 1


def test_what_a_program_behind_two_dashes_is_given_asks_for_no_document(tmp_path: Path) -> None:
    code, out, _ = ran(["nonsense", "--", "--json"], tmp_path)
    assert (code, out) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["token", "create", "x"], "Missing option '--scope'. transfer:read (looks), transfer:plan"),
        (["invite", "x"], "Missing option '--role'. requester (plans and runs transfers), viewer"),
        (["people", "service", "x"], "Missing option '--role'. viewer, requester, operator, auditor."),
    ],
)
def test_a_missing_option_says_what_it_may_be(tmp_path: Path, arguments: list[str], said: str) -> None:
    code, _, told = ran(arguments, tmp_path)
    assert (code, said in told) == (2, True), told


def test_the_help_of_a_new_token_names_every_scope_that_one_may_hold() -> None:
    assert {scope for scope in TOKEN_SCOPES if scope not in people.SCOPES_HELP} == set()


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("127.0.0.1:8470", "http://127.0.0.1:8470"),
        ("localhost", "http://localhost"),
        ("a.example", "https://a.example"),
    ],
)
def test_an_address_without_its_scheme_is_told_whole(tmp_path: Path, given: str, right: str) -> None:
    code, _, told = ran(["status"], tmp_path, given)
    assert (code, f"write `{right}`" in told) == (7, True), told


def test_revoking_a_token_by_its_name_is_told_the_id(script: Script, tmp_path: Path) -> None:
    made = {"id": "tk_1", "name": "nightly", "person": "pn_1", "scopes": [], "created": AT, "expires": AT}
    script.answers = [answer({"items": [made]})]
    code, _, told = ran(["token", "revoke", "nightly"], tmp_path, script.url)
    assert (code, "`nightly` is the name of tk_1: revoking takes the id" in told) == (2, True), told


def test_a_sign_in_that_fails_says_why_before_what_to_do(script: Script, tmp_path: Path) -> None:
    script.answers = [problem("sign_in_refused", 401)]
    environment = {"HEADRACE_CONFIG": str(tmp_path), "HEADRACE_SERVICE": script.url, "HEADRACE_TOKEN": None}
    done = CliRunner().invoke(app, ["login", "--name", "x"], input="wrong\n", env=environment)
    assert done.stderr.index("said by the service") < done.stderr.index("Password forgotten"), done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["pause", "tr_1"], "Pause was asked for."),
        (["rate", "tr_1", "1Gb/s"], "It has no ceiling from now on."),
        (["qos", "class", "tr_1", "bulk"], "It has the class"),
        (["qos", "deadline", "tr_1", "none"], "It has no deadline from now on."),
        (["resume", "tr_1"], "Resume was asked for."),
    ],
)
def test_steering_says_how_far_a_transfer_is_and_not_how_fast(
    script: Script, tmp_path: Path, command: list[str], said: str
) -> None:
    script.answers = [answer(transfer("running"))]
    code, out, told = ran(command, tmp_path, script.url)
    assert (code, said in out, "3 of 3 files" in out, "0 b/s" in out) == (0, True, True, False), (out, told)


def test_steering_says_that_a_deadline_is_at_risk_then(script: Script, tmp_path: Path) -> None:
    late = {
        "deadline": "2030-01-01T10:00:30Z",
        "deadline_at_risk": True,
        "deadline_note": "it is not promised any more",
    }
    script.answers = [answer({**transfer("running"), **late}), answer({**transfer("running"), **late})]
    _, out, _ = ran(["resume", "tr_1"], tmp_path, script.url)
    assert "Its deadline is at risk: it is not promised any more." in out
    _, out, _ = ran(["qos", "deadline", "tr_1", "2030-01-01T10:00:30Z"], tmp_path, script.url)
    assert ":00:30 " in out, "seconds are told where there are some"


def test_watch_says_that_a_deadline_is_at_risk_as_it_happens(script: Script, tmp_path: Path) -> None:
    said = "its deadline, 2030-01-01 10:00 UTC, is at risk: it is too slow; it would come about 5 min late"
    event = {"sequence": 1, "at": AT, "kind": "deadline_at_risk", "message": said}
    script.answers = [answer(transfer("running")), stream((1, event), (2, ended("complete")))]
    code, _, told = ran(["watch", "tr_1"], tmp_path, script.url)
    assert (code, said in told) == (0, True), told


def test_a_list_marks_deadlines_that_are_at_risk_or_were_missed(script: Script, tmp_path: Path) -> None:
    open_ = {**transfer("running"), "ended": None}
    script.answers = [
        answer({"items": [{**open_, "id": "tr_1", "deadline_told": "at_risk"}]}),
        answer({"items": [{**transfer("complete"), "deadline_told": "missed"}]}),
        answer({"items": [{**transfer("complete"), "deadline_told": "at_risk"}]}),
        answer({"items": [open_]}),
    ]
    shown = [" ".join(ran(["status"], tmp_path, script.url)[1].split()) for _ in range(4)]
    assert "running, deadline at risk" in shown[0]
    assert "complete, deadline missed" in shown[1]
    assert not any("deadline" in one for one in shown[2:]), "it ended in time, or nothing was told"


def test_nobody_is_sent_to_confirm_what_nobody_may_confirm(script: Script, tmp_path: Path) -> None:
    against = {"action": "confirm", "allowed": False, "reason": "this needs your own interactive session"}
    step = {"kind": "none", "by": "nobody", "message": "Nobody confirms for a service account."}
    script.answers = [answer(plan(outcome="confirm", next_step=step, allowed_actions=[against]))]
    code, _, told = ran(["confirm", "pl_1"], tmp_path, script.url, HEADRACE_TOKEN="hrt_x")  # noqa: S106 - no secret
    assert (code, told) == (5, "Nobody confirms for a service account."), told


def test_a_token_that_is_to_confirm_is_told_who_can(script: Script, tmp_path: Path) -> None:
    against = {"action": "confirm", "allowed": False, "reason": "this needs your own interactive session"}
    step = {"kind": "confirm", "by": "others", "message": "It waits."}
    script.answers = [answer(plan(outcome="confirm", next_step=step, allowed_actions=[against]))]
    code, _, told = ran(["confirm", "pl_1"], tmp_path, script.url, HEADRACE_TOKEN="hrt_x")  # noqa: S106 - no secret
    assert (code, "unset HEADRACE_TOKEN; headrace confirm pl_1" in told) == (8, True), told
    assert "in a terminal, or use the console" not in told


def test_a_question_quotes_no_words_that_nobody_typed(script: Script, tmp_path: Path) -> None:
    question = {"slot": "source", "message": "`/x` names no endpoint", "words": "local:/x"}
    script.answers = [answer(plan("ask", questions=[question]))]
    code, _, told = ran(["copy", "/x", "b:/x"], tmp_path, script.url)
    assert (code, "`/x` names no endpoint" in told, "local:" in told) == (3, True, False), told
    assert "Nothing was started. Run the command again, with the answer as SOURCE." in told, "flags are no sentence"


def test_a_verdict_that_knows_no_limit_begins_with_what_happened(script: Script, tmp_path: Path) -> None:
    verdict = {"transfer": "tr_1", "limit": "unknown", "said": "2 files did not arrive"}
    script.answers = [answer(verdict), answer({**verdict, "limit": "path", "said": "the way carries no more"})]
    assert ran(["diagnose", "tr_1"], tmp_path, script.url)[1].strip() == "2 files did not arrive."
    assert ran(["why", "tr_1"], tmp_path, script.url)[1].strip() == "path: the way carries no more"


def test_a_folder_without_names_is_said_to_be_empty(script: Script, tmp_path: Path) -> None:
    script.answers = [answer({"endpoint": "a", "path": "/", "items": [], "count": 0, "names_withheld": False})]
    assert ran(["browse", "a:/"], tmp_path, script.url)[1].strip() == "The folder is empty."


def test_a_pasted_command_is_planned_as_the_sentence_in_it(script: Script, tmp_path: Path) -> None:
    script.answers = [answer(plan("denied"))] * 2
    for command in ("ask", "plan"):
        ran([command, "headrace ask 'copy a:/x to b:/x'"], tmp_path, script.url)
    assert [json.loads(seen.body)["words"] for seen in script.seen] == ["copy a:/x to b:/x"] * 2


def test_a_canceled_transfer_names_the_command_that_asks_for_the_same_again(script: Script, tmp_path: Path) -> None:
    script.answers = [answer(transfer("canceled"))]
    _, out, told = ran(["watch", "tr_1"], tmp_path, script.url)
    assert "headrace again tr_1" in out, (out, told)


def test_what_did_not_arrive_is_not_said_to_be_hopeless_beside_a_retry(script: Script, tmp_path: Path) -> None:
    step = {"kind": "plan_again", "by": "you", "message": "Trying again helps once that is gone."}
    may = {"action": "retry", "allowed": True, "reason": ""}
    failed = {"path": "a", "error": "destination_exists", "message": "in the way", "retry": False}
    script.answers = [
        answer(transfer("partial", files_failed=1) | {"next_step": step, "allowed_actions": [may]}),
        answer({"items": [failed]}),
    ]
    _, out, told = ran(["failed", "tr_1"], tmp_path, script.url)
    assert "Once that is gone: headrace retry tr_1" in out, (out, told)


OUTRIGHT = {"title": "x", "status": 502, "code": "no_data_path", "detail": "No node can reach the other one."}


@pytest.mark.parametrize(
    ("state", "more", "said", "ends"),
    [
        ("queued", {}, "is queued and has not ended: 0 of 3 files arrived, no file has failed so far.", 0),
        ("running", {}, "is running and has not ended: 0 of 3 files arrived", 0),
        ("paused", {}, "is paused and has not ended", 0),
        ("waiting", {"state_reason": "node b is away"}, "is waiting (node b is away) and has not ended", 0),
        ("canceled", {}, "was canceled, and no file failed by itself: 0 of 3 files arrived.", 1),
        ("failed", {"error": OUTRIGHT}, "failed as a whole, and no file by itself: 0 of 3 files arrived. No node", 1),
        ("partial", {}, "0 of 3 files arrived, and no list says which did not.", 6),
    ],
)
def test_no_file_that_failed_is_called_success_of_a_complete_transfer_alone(  # noqa: PLR0913, PLR0917 - cases
    state: str, more: dict[str, Any], said: str, ends: int, script: Script, tmp_path: Path
) -> None:
    script.answers = [answer(transfer(state, files_done=0) | more), answer({"items": []})]
    code, out, told = ran(["failed", "tr_1"], tmp_path, script.url)
    shown = " ".join((out + told).split())
    assert (code, said in shown, "Every file arrived" in shown) == (ends, True, False), shown
    script.answers = [answer(transfer("complete")), answer({"items": []})]
    code, out, told = ran(["failed", "tr_1"], tmp_path, script.url)
    assert (code, "Every file arrived." in out + told) == (0, True)


def test_files_that_failed_before_a_retry_that_runs_ask_for_no_other_retry(script: Script, tmp_path: Path) -> None:
    failed = {"path": "a", "error": "no_space", "message": "the disk is full", "retry": True}
    script.answers = [answer(transfer("running")), answer({"items": [failed]})]
    _, out, told = ran(["failed", "tr_1"], tmp_path, script.url)
    shown = " ".join((out + told).split())
    assert ("the transfer is running and has not ended" in shown, "headrace retry" in shown) == (True, False), shown


def test_several_refusals_of_a_new_password_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = iter(["short", "aaaaaaaaaaaaaaa", "ada ada ada ada", "password12345", "seven gates hold the water"])
    monkeypatch.setattr(people, "_password", lambda **_: next(chosen))
    told: list[str] = []
    command: Any = SimpleNamespace(wait=asyncio.run, out=SimpleNamespace(tell=told.append))

    async def use(password: str) -> str:
        if not password.startswith("seven"):
            raise HeadraceError(m.Problem(title="x", status=422, code="password_refused", detail=f"not {password}"))
        return password

    assert _with_new_password(command, use, from_stdin=False) == "seven gates hold the water"
    assert told == ["not short", "not aaaaaaaaaaaaaaa", "not ada ada ada ada", "not password12345"]


def test_the_refusal_of_a_one_time_link_says_how_to_go_on_without_an_administrator() -> None:
    said = str(AuthError(AuthCode.INVITATION_REFUSED, "used already").args[0])
    assert "sign in with that (`headrace login --name NAME`)" in said
    assert "`headrace serve --recover-admin` on the service's host makes one" in said
