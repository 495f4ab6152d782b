"""The data of the demo: what any machine that built this project has, and files made from a seed."""

import os
import random
import shutil
import sysconfig
from dataclasses import dataclass
from pathlib import Path

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LEAST_FILES = 20_500
# Around every border the engine knows: verify blocks of 256 KiB, units of 4 MiB; and one file that takes a while.
SIZES = (
    0,
    1,
    4095,
    4096,
    4097,
    256 * KIB - 1,
    256 * KIB,
    256 * KIB + 1,
    3 * MIB + 7,
    4 * MIB - 1,
    4 * MIB,
    4 * MIB + 1,
    100 * MIB + 3,
    GIB,
)
ODD_NAMES = (
    b" leading and trailing ",
    b"-rf",
    b"--delete",
    b"*?[a-z].txt",
    b"new\nline",
    b"tab\tand\x1b[31mescape",
    b"not utf-8 \xff\xfe\x80",
    b"quote'\"`$(id)",
    b"percent %2e%2e %",
    "Größe データ 東京".encode(),
    "e\u0301 decomposed".encode(),
    "\u202ereversed".encode(),
    b"x" * 255,
)


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """What was laid out: regular files, their bytes, and symlinks."""

    files: int
    size_bytes: int
    symlinks: int


def lay_out(folder: Path, seed: int) -> TreeFacts:
    """Fill `folder` (which must not exist) with the demo's data; the same seed gives the same generated files."""
    folder.mkdir(parents=True)
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    _copy_tree(cargo / "registry" / "src", folder / "rust")
    _copy_tree(Path(sysconfig.get_path("stdlib")), folder / "python", "site-packages")
    generated = folder / "generated"
    _generate(generated, random.Random(seed))  # noqa: S311 (reproducible, nothing secret)
    _generate_small(generated / "small", random.Random(seed + 1), LEAST_FILES - measure(folder).files)  # noqa: S311
    return measure(folder)


def measure(folder: Path) -> TreeFacts:
    """Count what is below `folder`, without following symlinks."""
    files = size_bytes = symlinks = 0
    for base, folders, names in os.walk(os.fsencode(folder)):
        for name in names + folders:
            path = os.path.join(base, name)  # noqa: PTH118 (names are bytes here: not all of them are text)
            if os.path.islink(path):  # noqa: PTH114
                symlinks += 1
            elif name in names:
                files += 1
                size_bytes += os.lstat(path).st_size
    return TreeFacts(files, size_bytes, symlinks)


def _copy_tree(source: Path, target: Path, *leave_out: str) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*leave_out))


def _generate(folder: Path, numbers: random.Random) -> None:
    folder.mkdir()
    for size in SIZES:
        with (folder / f"{size}.bin").open("wb") as file:
            for start in range(0, size, MIB):
                file.write(numbers.randbytes(min(MIB, size - start)))
    names = os.path.join(os.fsencode(folder), b"names")  # noqa: PTH118
    os.mkdir(names)  # noqa: PTH102
    for name in ODD_NAMES:
        with open(os.path.join(names, name), "wb") as file:  # noqa: PTH118, PTH123
            file.write(numbers.randbytes(numbers.randrange(5000)))
    with (folder / "sparse.img").open("wb") as file:
        file.truncate(512 * MIB)
        for offset in (0, 200 * MIB + 5, 512 * MIB - 10):
            file.seek(offset)
            file.write(b"written here")
    (folder / "empty").mkdir()
    links = folder / "links"
    links.mkdir()
    (links / "to-a-file").symlink_to("../4097.bin")
    (links / "to-a-folder").symlink_to("../names")
    (links / "dangling").symlink_to("nowhere")
    (links / "outside").symlink_to("/etc/hostname")
    (folder / "4096.bin").chmod(0o640)
    (folder / "1.bin").chmod(0o755)


def _generate_small(folder: Path, numbers: random.Random, count: int) -> None:
    folder.mkdir()
    for index in range(max(count, 1000)):
        shelf = folder / f"{index // 500:03}"
        shelf.mkdir(exist_ok=True)
        (shelf / f"{index:05}.dat").write_bytes(numbers.randbytes(numbers.randrange(4 * KIB)))
