"""How long this process, and a PostgreSQL server, ran and waited for a processor: by the kernel's own account."""

from collections.abc import Iterator
from pathlib import Path

_PROCESSES = Path("/proc")


class Processors:
    """Adds up all threads of this process, and all processes of a server."""

    def __init__(self, server: Path | None = None) -> None:
        """Count the server, too, whose process number `server` (its `postmaster.pid`) begins with."""
        self._server = None if server is None else int(server.read_text(encoding="utf-8").split("\n", 1)[0])
        self._ended = (0, 0)
        self._last: dict[str, tuple[int, int]] = {}

    def used(self) -> tuple[int, int]:
        """Return for how many ns all of them ran, and for how many they were ready to run and did not, until now."""
        now: dict[str, tuple[int, int]] = {}
        for task in self._tasks():
            try:
                ran, waited, _ = (task / "schedstat").read_text(encoding="ascii").split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # It has ended.
            now[task.name] = int(ran), int(waited)
        # What ended keeps what it had, so that sums never fall.
        for name in self._last.keys() - now.keys():
            self._ended = self._ended[0] + self._last[name][0], self._ended[1] + self._last[name][1]
        self._last = now
        return (
            self._ended[0] + sum(ran for ran, _ in now.values()),
            self._ended[1] + sum(waited for _, waited in now.values()),
        )

    def _tasks(self) -> Iterator[Path]:
        yield from (_PROCESSES / "self" / "task").iterdir()
        if self._server is not None:
            main = _PROCESSES / str(self._server)
            children = (main / "task" / main.name / "children").read_text(encoding="ascii").split()
            yield from (_PROCESSES / child for child in [main.name, *children])
