"""File trees to copy, and what two of them differ in."""

import os
import random
from pathlib import Path

ODD_NAMES = (b"space in it", b"line\nbreak", b"percent%20", b"\xff\xfe not utf-8", "grüße".encode(), b"-rf", b"$(x)")


def plant(root: Path, *, files: int = 60, large_bytes: int = 3_000_000) -> None:
    """Write many small files, one large, odd names, a symlink, a sparse and an empty file, and an empty folder."""
    chance = random.Random(7)  # noqa: S311 - test data that is the same every time
    for number in range(files):
        folder = root / f"d{number % 5}" / f"e{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}").write_bytes(chance.randbytes(chance.randrange(5000)))
    (root / "large").write_bytes(chance.randbytes(large_bytes))
    for name in ODD_NAMES:
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(name)
    (root / "empty").touch()
    (root / "link").symlink_to("d0/nowhere")
    (root / "hollow").mkdir()
    with (root / "sparse").open("wb") as file:
        file.truncate(5_000_000)
        file.seek(4_000_000)
        file.write(b"x")
    (root / "d0").chmod(0o750)
    (root / "empty").chmod(0o640)
    os.utime(root / "empty", ns=(1_600_000_000_123_456_789,) * 2)


def shape(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: content, mode and modification time, by name."""
    found: dict[str, tuple[object, ...]] = {}
    for path in root.iterdir():
        status = path.lstat()
        if path.is_symlink():
            found[path.name] = ("link", path.readlink())
        elif path.is_dir():
            found[path.name] = ("folder", status.st_mode)
            found |= {f"{path.name}/{name}": entry for name, entry in shape(path).items()}
        else:
            found[path.name] = ("file", path.read_bytes(), status.st_mode, status.st_mtime_ns)
    return found


def content(path: str | None) -> bytes:
    """What is in a list that an attempt left."""
    assert path is not None
    return Path(path).read_bytes()
