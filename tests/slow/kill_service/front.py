"""nginx in front of several processes of the service, as people reach them: with the file of deploy/nginx."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.nginx import nginx_running, written
from tests.servers.ports import free_port


@dataclass(frozen=True)
class Front:
    """Where people come, where each process listens, and where nodes dial whoever leads."""

    url: str
    behind: Mapping[str, str]
    hub: str


@contextmanager
def front_of(folder: Path, names: list[str]) -> Iterator[Front]:
    """Run nginx for the block."""
    listen, behind = f"127.0.0.1:{free_port()}", {name: f"127.0.0.1:{free_port()}" for name in names}
    configuration = written(folder, listen, list(behind.values()), certificate=None)
    with nginx_running(configuration, listen):
        yield Front(f"http://{listen}", behind, f"127.0.0.1:{free_port()}")
