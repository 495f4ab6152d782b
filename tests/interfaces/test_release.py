"""A release says what it is made of, and nobody changes a byte of it unnoticed."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

REPOSITORY: Final = Path(__file__).parents[2]
SCRIPTS: Final = REPOSITORY / "deploy" / "release"
PAGE_FILE: Final = REPOSITORY / "docs" / "operations" / "release.md"
PAGE: Final = PAGE_FILE.read_text(encoding="utf-8")
LIMIT_S: Final = 60
LISTS: Final = ("python", "engine", "console")


def run(*command: str | Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    # The list's tool is beside this Python.
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S, cwd=folder, env=path)


def verified(folder: Path) -> bool:
    """Do as the page says, in the folder of the release, until a command fails."""
    commands = re.findall(r"^    ((?:ssh-keygen -Y verify|sha256sum) .*)$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    return all(run("bash", "-c", command, folder=folder).returncode == 0 for command in commands)


def new_key(folder: Path) -> tuple[Path, str]:
    """Make a key of releases; returns its file, and its line for those who verify."""
    key = folder / "release-key"
    made = run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key, folder=folder)
    assert made.returncode == 0, made.stderr
    kind, public, *_ = key.with_suffix(".pub").read_text().split()
    return key, f"release@headrace {kind} {public}\n"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make wheels` would make: the engine's wheel has what maturin wrote as this engine was built."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    folder.mkdir()
    shutil.copy(REPOSITORY / "requirements.lock", folder / "requirements.txt")
    (folder / "headrace-node").write_bytes(b"a program")
    built = distribution("headrace-engine").locate_file(
        "headrace_engine-0.1.0.dist-info/sboms/headrace-py.cyclonedx.json"
    )
    with zipfile.ZipFile(folder / "headrace_engine-0.1.0-cp311-abi3-linux_x86_64.whl", "w") as wheel:
        wheel.write(str(built), "headrace_engine-0.1.0.dist-info/sboms/headrace-py.cyclonedx.json")
    listed = run(SCRIPTS / "list-parts.sh", folder, folder=REPOSITORY)
    assert (listed.returncode, listed.stdout) == (0, ""), listed.stderr
    return folder


def components(folder: Path, name: str) -> set[tuple[str, str]]:
    """Return names and versions of a list's parts."""
    read: dict[str, Any] = json.loads((folder / f"{name}.cdx.json").read_text(encoding="utf-8"))
    return {("/".join(filter(None, (one.get("group"), one["name"]))), one["version"]) for one in read["components"]}


@pytest.mark.parametrize("name", LISTS)
def test_each_list_of_parts_is_as_cyclonedx_says(parts: Path, name: str) -> None:
    text = (parts / f"{name}.cdx.json").read_text(encoding="utf-8")
    version = SchemaVersion.from_version(json.loads(text)["specVersion"])
    assert JsonStrictValidator(version).validate_str(text) is None


def test_the_lists_have_every_package_with_its_version(parts: Path) -> None:
    locked = re.findall(r"^([\w.-]+)==([\w.+]+)", (parts / "requirements.txt").read_text(), re.MULTILINE)
    assert len(locked) > 80
    assert set(locked) == components(parts, "python")
    tree = ("cargo", "tree", "--offline", "--package", "headrace-node", "--edges", "normal", "--prefix", "none")
    crates = {tuple(line.split()[:2]) for line in run(*tree, folder=REPOSITORY / "engine").stdout.splitlines()}
    assert len(crates) > 100
    known = {("headrace-node", "0.1.0")} | components(parts, "engine")
    assert {(name, version.removeprefix("v")) for name, version in crates} - known == set()
    read = json.loads((parts / "console.cdx.json").read_text(encoding="utf-8"))["components"]
    shipped = {(one["name"], one["version"]) for one in read if one["scope"] == "required"}
    console = json.loads((REPOSITORY / "web" / "package.json").read_text(encoding="utf-8"))
    assert set(console["dependencies"].items()) <= shipped
    assert set(console["devDependencies"].items()) <= components(parts, "console") - shipped


@pytest.fixture
def signed(parts: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "signed"
    shutil.copytree(parts, folder)
    key, line = new_key(tmp_path)
    done = run(SCRIPTS / "sign.sh", key, folder, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder / "release-signers").write_text(line)
    return folder


def test_a_release_verifies_as_the_page_says_and_one_changed_byte_of_any_file_is_refused(signed: Path) -> None:
    assert verified(signed)
    names = sorted(file.name for file in signed.iterdir() if file.name != "release-signers")
    assert {"SHA256SUMS", "SHA256SUMS.sig", "headrace-node", "engine.cdx.json", "requirements.txt"} < set(names)
    for name in names:
        file = signed / name
        genuine = file.read_bytes()
        middle = len(genuine) // 2
        file.write_bytes(genuine[:middle] + bytes([genuine[middle] ^ 1]) + genuine[middle + 1 :])
        assert not verified(signed), name
        file.unlink()
        assert not verified(signed), name
        file.write_bytes(genuine)
    assert verified(signed)


def test_a_release_that_another_key_has_signed_is_refused(signed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    key, _ = new_key(other)
    assert run(SCRIPTS / "sign.sh", key, signed, folder=tmp_path).returncode == 0
    assert not verified(signed)


def test_nothing_is_signed_that_has_changed_since_its_hash_was_written(parts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(parts, folder)
    (folder / "headrace-node").write_bytes(b"another program")
    key, _ = new_key(tmp_path)
    assert run(SCRIPTS / "sign.sh", key, folder, folder=tmp_path).returncode != 0
    assert not (folder / "SHA256SUMS.sig").exists()


def test_a_node_that_needs_a_newer_glibc_than_a_release_promises_is_refused() -> None:
    program = REPOSITORY / os.environ.get("NODE_PROGRAM", "engine/target/release/headrace-node")
    needs = run("readelf", "--version-info", program, folder=REPOSITORY).stdout
    newest = max((int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", needs)), default=0)
    assert newest > 17
    for floor, fits in ((f"2.{newest}", True), ("2.99", True), (f"2.{newest - 1}", False), ("2.9", False)):
        asked = run(SCRIPTS / "require-glibc.sh", floor, program, folder=REPOSITORY)
        assert (asked.returncode == 0) is fits, floor
        assert fits or f"needs GLIBC_2.{newest}" in asked.stderr
    assert run(SCRIPTS / "require-glibc.sh", "2.28", PAGE_FILE, folder=REPOSITORY).returncode != 0
