import os
from pathlib import Path

import pytest
import typer

from headrace.cli.files import new_file, require_free


def test_what_is_there_is_replaced_only_by_force_and_no_device_is_in_the_way(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("kept")
    with pytest.raises(typer.BadParameter):
        require_free(there, force=False)
    # Also what has come since it was looked at.
    with pytest.raises(typer.BadParameter), new_file(there, force=False):
        pass
    assert there.read_text() == "kept"
    with new_file(there, force=True) as file:
        file.write(b"new")
    assert there.read_text() == "new"
    require_free(Path(os.devnull), force=False)
    with new_file(Path(os.devnull), force=False) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_half_a_file_does_not_stay(tmp_path: Path) -> None:
    def half() -> None:
        with new_file(tmp_path / "list", force=False) as file:
            file.write(b"half")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        half()
    assert list(tmp_path.iterdir()) == []
