"""What commands say of mistakes and ends: in this process, with a scripted service where one is asked."""

import asyncio
import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli.test_terminal import AT, DIGEST, plan, transfer
from tests.interfaces.client.scripted import Script, answer, scripted_service
from typer.testing import CliRunner

from headrace.api.app.serve import _require_folders
from headrace.api.errors import CannotStart
from headrace.auth.passwords import MIN_PASSWORD
from headrace.cli import node_keys, people
from headrace.cli.main import app
from headrace.cli.people import LEAST_PASSWORD
from headrace.cli.probe import probe
from headrace.cli.quantities import size_bytes, span_s
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
        ([*COPY, "--start", "yesterday"], "`yesterday` is not a time ahead: write 12h or 2d from now on"),
        (["status", "--limit", "500"], "`500`: it must be at most 200"),
        (["token", "create", "x", "--scope", "transfer:read", "--valid", "1s"], "--valid must be at least 5 min"),
        (["halt", "transfer", "--reason", "x"], "say which transfer: headrace halt transfer ID"),
        (["halt", "everything", "x", "--reason", "x"], "everything takes no subject"),
        (["login", "--link", "nonsense"], "this is no one-time link. One looks like https://host/accept#TOKEN"),
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
    script.answers = [answer({"items": []}), answer({"items": [here]})]
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
        ({}, "the service names no key of its own that signed it", ""),
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
