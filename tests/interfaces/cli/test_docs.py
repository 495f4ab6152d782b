import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from headrace.cli.exits import Exit
from headrace.cli.main import SECTIONS
from headrace.client.wire import Code

DOCS = Path(__file__).parents[3] / "docs"
CLI = (DOCS / "cli.md").read_text(encoding="utf-8")
COMMANDS = sorted({entry.name for entry in entry_points(group="headrace.commands")})


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_in_the_guide(command: str) -> None:
    assert re.search(rf"`(headrace )?{command}[ `\[]", CLI)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_its_section_in_the_help(command: str) -> None:
    assert command in {name for names in SECTIONS.values() for name in names}


@pytest.mark.parametrize("code", list(Exit))
def test_each_exit_code_is_in_the_guide(code: Exit) -> None:
    assert f"\n| {code.value} | " in CLI


@pytest.mark.parametrize("code", list(Code))
def test_each_code_of_the_client_is_in_the_guide(code: Code) -> None:
    assert f"\n| `{code.value}` | " in CLI


@pytest.mark.parametrize("name", ["HEADRACE_SERVICE", "HEADRACE_TOKEN", "HEADRACE_CONFIG", "SSL_CERT_FILE"])
def test_each_environment_variable_is_in_the_guide(name: str) -> None:
    assert f"\n| `{name}` | " in CLI
