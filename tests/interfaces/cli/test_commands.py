"""The command as people start it: found, listed, broken, wrongly used, without a service."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from demo.stage import HEADRACE, surroundings
from tests.interfaces.client.scripted import answer, hang_up, problem, scripted_service

NOBODY = "http://127.0.0.1:1"


def headrace(*arguments: str, config: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = surroundings()
    return subprocess.run(
        [HEADRACE, *arguments],
        check=False, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        env={**kept, "HEADRACE_CONFIG": str(config), "HEADRACE_SERVICE": NOBODY, "NO_COLOR": "1", **environment},
    )  # fmt: skip


def plugin(folder: Path, name: str, source: str) -> Path:
    """Put a package with one subcommand into a folder, as an installer would."""
    module = f"plugin_{name}"
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[headrace.commands]\n{name} = {module}:{name}\n")
    return folder


def test_help_lists_commands_by_section(tmp_path: Path) -> None:
    shown = headrace("--help", config=tmp_path)
    assert shown.returncode == 0
    assert "Move data:\n  ask " in shown.stdout
    assert "mcp " in shown.stdout


def test_help_loads_no_command_and_nothing_heavy() -> None:
    """What keeps `headrace --help` under 300 ms: none of these is imported."""
    script = (
        "import sys\nfrom headrace.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'httpx2', 'pydantic', 'rich', 'mcp', 'fastapi', 'cedarpy', 'headrace.client'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert done.stderr == "loaded: []\n"


def test_a_package_adds_a_command(tmp_path: Path) -> None:
    folder = plugin(
        tmp_path, "hello", 'def hello(name: str) -> None:\n    """Say hello."""\n    print("hello", name)\n'
    )
    assert "hello       Say hello." in headrace("--help", config=tmp_path, PYTHONPATH=str(folder)).stdout
    assert headrace("hello", "you", config=tmp_path, PYTHONPATH=str(folder)).stdout == "hello you\n"


def test_a_package_adds_a_command_that_parses_its_own_arguments(tmp_path: Path) -> None:
    source = (
        "import typer\n"
        "def raw(ctx: typer.Context) -> None:\n    print(ctx.args)\n"
        "raw.context_settings = {'ignore_unknown_options': True, 'allow_extra_args': True, 'help_option_names': []}\n"
    )
    folder = plugin(tmp_path, "raw", source)
    done = headrace("raw", "--strange", "-x", "--help", config=tmp_path, PYTHONPATH=str(folder))
    assert done.stdout == "['--strange', '-x', '--help']\n"


def test_a_package_adds_a_group_of_commands(tmp_path: Path) -> None:
    source = "import typer\ngroup = typer.Typer(help='Many.')\n@group.command()\ndef one() -> None:\n    print(1)\n"
    folder = plugin(tmp_path, "group", source)
    assert "group       Many." in headrace("--help", config=tmp_path, PYTHONPATH=str(folder)).stdout
    assert headrace("group", "one", config=tmp_path, PYTHONPATH=str(folder)).stdout == "1\n"


@pytest.mark.parametrize("source", ["raise RuntimeError('boom')", "other = 1", "def broken(:", "broken = 7"])
def test_a_broken_package_is_reported_and_the_others_work(tmp_path: Path, source: str) -> None:
    folder = plugin(tmp_path, "broken", source)
    assert headrace("whoami", "--help", config=tmp_path, PYTHONPATH=str(folder)).returncode == 0
    assert "ask " in headrace("--help", config=tmp_path, PYTHONPATH=str(folder)).stdout
    done = headrace("broken", config=tmp_path, PYTHONPATH=str(folder))
    assert done.returncode == 1
    assert "the command `broken` of plugin_broken cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_command_suggests_and_exits_2(tmp_path: Path) -> None:
    done = headrace("stauts", config=tmp_path)
    assert done.returncode == 2
    assert "status" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("copy", "a:/x", "b:/x", "--rate", "10M"),
        ("copy", "a:/x", "b:/x", "--delete"),
        ("copy", "a:/x", "b:/x", "--min-size", "10 gig"),
        ("browse", "nowhere"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_is_right(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = headrace(*arguments, config=tmp_path)
    assert done.returncode == 2
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("undo",), "there is no undo. To stop a transfer that runs: headrace cancel TRANSFER"),
        (("undo", "tr_1"), "headrace losses PLAN"),
        (("revert",), "there is no undo"),
        (("transfer", "a:/x", "b:/x"), "to copy: headrace copy SOURCE DESTINATION"),
        (("kill", "tr_1"), "headrace cancel TRANSFER"),
        (("mkdir", "a:/x"), "a transfer makes the folders that it needs"),
        (("rm", "a:/x"), "headrace sync SOURCE DESTINATION --delete"),
        (("passkeys",), "headrace people passkeys"),
    ],
)
def test_a_command_that_people_expect_says_what_there_is_instead(
    tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = headrace(*arguments, config=tmp_path)
    assert (done.returncode, says in done.stderr, "Usage" in done.stderr) == (2, True, False), done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("copy", "a:/x", "b:/x", "--dry-run"), "headrace plan copy SOURCE DESTINATION"),
        (("sync", "-a", "a:/x", "b:/x"), "leave the option out"),
        (("copy", "a:/x", "b:/x", "--bwlimit", "500"), "--rate 500Mb/s"),
        (("copy", "a:/x", "b:/x", "--ignore-existing"), "--on-conflict skip"),
        (("copy", "a:/x", "b:/x", "--overwrite"), "--on-conflict overwrite.\n"),
    ],
)
def test_an_option_of_other_programs_that_copy_says_what_there_is_instead(
    tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = headrace(*arguments, config=tmp_path)
    assert (done.returncode, "There is no option -" in done.stderr, says in done.stderr) == (2, True, True), done.stderr


def test_without_a_service_the_exit_code_is_7_and_json_is_one_document(tmp_path: Path) -> None:
    done = headrace("status", "--json", config=tmp_path)
    assert done.returncode == 7
    assert json.loads(done.stdout)["code"] == "service_unreachable"
    assert NOBODY in done.stderr


def test_the_service_option_comes_before_the_environment(tmp_path: Path) -> None:
    done = headrace("--service", "http://127.0.0.1:2", "whoami", config=tmp_path)
    assert "http://127.0.0.1:2" in done.stderr


def test_nobody_is_asked_for_a_password_without_a_terminal(tmp_path: Path) -> None:
    done = headrace("login", "--name", "anna", config=tmp_path)
    assert done.returncode == 2
    assert "standard input has no password" in done.stderr
    nameless = headrace("login", config=tmp_path)
    assert (nameless.returncode, "give --name" in nameless.stderr) == (2, True)


def test_shells_complete_commands(tmp_path: Path) -> None:
    done = headrace(config=tmp_path, _HEADRACE_COMPLETE="complete_bash", COMP_WORDS="headrace rec", COMP_CWORD="1")
    assert "receipts" in done.stdout.split()
    options = headrace(
        config=tmp_path, _HEADRACE_COMPLETE="complete_bash", COMP_WORDS="headrace copy --no", COMP_CWORD="2"
    )
    assert "--no-wait" in options.stdout.split()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["ask", ""], "words"),
        (["ask", "x" * 5000], "words"),
        (["plan", "x" * 5000], "words"),
        (["ask", "copy a:/x to b:/x", "--project", "x" * 130], "project"),
        (["plan", "copy a:/x to b:/x", "--project", "x" * 130], "project"),
        (["pause", "tr_x", "--reason", "x" * 600], "reason"),
        (["cancel", "tr_x", "--reason", "x" * 600], "reason"),
        (["retry", "tr_x", "--reason", "x" * 600], "reason"),
        (["halt", "everything", "--reason", ""], "reason"),
        (["node-token", "x" * 130], "name"),
        (["invite", "x" * 130, "--role", "viewer"], "name"),
        (["token", "create", "x", "--scope", "transfer:read", "--valid", "1min"], "valid_s"),
    ],
)
def test_a_value_beyond_its_limits_is_a_usage_mistake_that_names_it(
    tmp_path: Path, arguments: list[str], field: str
) -> None:
    wrong = headrace(*arguments, config=tmp_path)
    assert wrong.returncode == 2, wrong.stderr
    typed = {"words": "WORDS", "name": "NAME", "valid_s": "--valid", "reason": "--reason", "project": "--project"}[
        field
    ]
    assert re.search(rf"headrace: {typed} must (have|be) at (least|most) \d", wrong.stderr), wrong.stderr
    assert "Traceback" not in wrong.stderr
    problem = json.loads(headrace(*arguments, "--json", config=tmp_path).stdout)
    assert (problem["code"], problem["fields"]) == ("invalid_request", [field])


def test_a_hold_of_something_unknown_is_a_usage_mistake_that_lists_what_can_be_held(tmp_path: Path) -> None:
    wrong = headrace("halt", "badscope", "x", "--reason", "y", config=tmp_path)
    assert wrong.returncode == 2, wrong.stderr
    assert "'endpoint'" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_login_at_a_provider_goes_on_while_the_service_is_in_trouble_and_ends_when_it_is_refused(
    tmp_path: Path,
) -> None:
    begun = answer({"uri": "https://corp", "user_code": "AB-CD", "interval_s": 0, "kept": "sealed"}, "201 Created")
    me = {"id": "pn_1", "name": "anna", "roles": [], "scopes": [], "session": True}
    there = answer({"session": {"secret": "hrs_x", "expires": "2999-01-01T00:00:00Z", "me": me}})
    troubles = [problem("provider_failed", 502), hang_up, answer({"session": None}), problem("busy", 503)]
    with scripted_service() as script:
        script.answers[:] = [begun, *troubles, there]
        done = headrace("login", "--provider", "corp", config=tmp_path, HEADRACE_SERVICE=script.url)
        assert done.returncode == 0, done.stderr
        assert f"Signed in to {script.url} as anna" in done.stdout
        assert done.stderr.count("Still waiting; the code stays good.") == 2
        script.answers[:] = [begun, problem("sign_in_refused", 401)]
        done = headrace("login", "--provider", "corp", config=tmp_path, HEADRACE_SERVICE=script.url)
        assert (done.returncode, "sign_in_refused" in done.stderr) == (8, True), done.stderr
