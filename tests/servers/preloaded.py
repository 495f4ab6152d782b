"""What a process that is forked for a test has imported already."""

import pytest
from tests.servers.cheap import hash_cheaply
from typer.main import get_command

from headrace.cli.main import app
from headrace.cli.plugins import installed

hash_cheaply(pytest.MonkeyPatch())
get_command(app)
for _plugin in installed():
    _plugin.entry.load()
