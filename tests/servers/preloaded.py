"""What a process that is forked for a test has imported already."""

from tests.servers.cheap import hashing_cheaply
from typer.main import get_command

from headrace.cli.main import app
from headrace.cli.plugins import installed

hashing_cheaply().__enter__()
get_command(app)
for _plugin in installed():
    _plugin.entry.load()
