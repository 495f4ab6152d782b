"""What the service must remember over a loss of power is durable: the file before its name, and then the folder."""

import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.servers.site import started_site

from headrace.api.durable import in_words, write_whole

pytestmark = pytest.mark.anyio


class Recorder:
    """Writes down what each thread syncs and names, in order; everything is done all the same.

    Files that were synced are kept open, so that no later one gets the same inode.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[tuple[int, tuple[str, int]]] = []
        self.kept: list[int] = []
        fsync, rename, link = os.fsync, os.rename, os.link

        def synced(descriptor: int) -> None:
            fsync(descriptor)
            self.kept.append(os.dup(descriptor))
            self._note("sync", os.fstat(descriptor).st_ino)

        def named(give: Callable[..., None]) -> Callable[..., None]:
            def wrapped(source: str | Path, target: str | Path, **options: object) -> None:
                give(source, target, **options)
                self._note("name", Path(target).stat().st_ino)

            return wrapped

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "rename", named(rename))
        monkeypatch.setattr(os, "link", named(link))

    def _note(self, what: str, inode: int) -> None:
        self.done.append((threading.get_ident(), (what, inode)))

    def is_durable(self, path: Path) -> bool:
        """Whether the content was synced before the file got a later name, if it did, and the folder at once.

        That is asked of the thread that did it first: another may sync files of its own at the same time.
        """
        file, folder = path.stat().st_ino, path.parent.stat().st_ino
        first = next((thread for thread, what in self.done if what == ("sync", file)), None)
        if first is None:
            return False
        done = [what for thread, what in self.done if thread == first]
        start = content = done.index(("sync", file))
        if ("name", file) in done:
            start = done.index(("name", file))
        return content <= start and done[start + 1 : start + 2] == [("sync", folder)]


@pytest.fixture
async def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Recorder]:
    """What is recorded of a service from its first start to its end."""
    recorder = Recorder(monkeypatch)
    async with started_site(tmp_path):
        pass
    yield recorder
    for descriptor in recorder.kept:
        os.close(descriptor)


@pytest.mark.parametrize("name", ["authority.key", "pepper.key", "audit-heads.jsonl"])
async def test_a_file_that_everything_depends_on_survives_a_loss_of_power(
    name: str, tmp_path: Path, recorded: Recorder
) -> None:
    assert recorded.is_durable(tmp_path / "service" / name)


def test_a_disk_that_is_full_is_told_with_the_file_and_that_nothing_has_changed() -> None:
    full = os.open("/dev/full", os.O_WRONLY | os.O_CLOEXEC)
    try:
        with pytest.raises(OSError, match="No space left on device: '/dev/full'") as told:
            write_whole(full, b"a key")
    finally:
        os.close(full)
    assert in_words(told.value).endswith("; nothing has changed: make room, and run it again")
    assert "nothing has changed" not in in_words(FileNotFoundError(2, "No such file or directory", "x"))
