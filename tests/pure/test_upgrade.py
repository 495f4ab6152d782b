"""`make upgrade` begins by building an earlier service; here all of that but the building, which takes minutes."""

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.slow.upgrade.__main__ import RELEASES, built

REPOSITORY = Path(__file__).parents[2]
COMMIT = str(tomllib.loads(RELEASES.read_text(encoding="utf-8"))["service"][-1]["commit"])


def git(*words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(REPOSITORY), *words], check=True, capture_output=True, text=True, timeout=60
    ).stdout


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder for work trees, which the repository forgets afterwards."""
    yield tmp_path
    for tree in tmp_path.glob("service-*"):
        git("worktree", "remove", "--force", str(tree))


def test_the_earlier_service_is_checked_out_and_its_makefile_knows_what_is_asked_of_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAKEFLAGS", "--dry-run")
    program = built(COMMIT, home)
    tree = home / f"service-{COMMIT}"
    assert program == tree / ".venv/bin/headrace"
    assert git("-C", str(tree), "rev-parse", "--short=8", "HEAD").strip() == COMMIT[:8]
    said = capfd.readouterr().out
    assert "uv pip install" in said
    assert "maturin develop --profile" in said


def test_what_is_built_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ready := tmp_path / f"service-{COMMIT}" / ".venv").mkdir(parents=True)
    (ready / ".ready-to-serve").touch()
    monkeypatch.setenv("PATH", "")
    assert built(COMMIT, tmp_path) == ready / "bin" / "headrace"
