"""Files of the data folder that are replaced as a whole, while other processes of the site do the same."""

import errno
from pathlib import Path

import pytest

from headrace.api import durable
from headrace.api.durable import replace_file


def test_who_replaces_a_file_while_another_process_does_disturbs_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, write_whole = tmp_path / "leader.json", durable.write_whole

    def after_another(descriptor: int, content: bytes) -> None:
        monkeypatch.setattr(durable, "write_whole", write_whole)
        replace_file(file, b"another")
        assert file.read_bytes() == b"another"
        write_whole(descriptor, content)

    monkeypatch.setattr(durable, "write_whole", after_another)
    replace_file(file, b"one")
    assert file.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [file]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_that_can_not_be_replaced_is_as_it_was_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "last-start.json"
    replace_file(file, b"before")

    def full(_descriptor: int, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable, "write_whole", full)
    with pytest.raises(OSError, match="No space left") as refused:
        replace_file(file, b"after")
    assert refused.value.filename == str(file)
    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]
