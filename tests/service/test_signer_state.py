"""The state folder of a signer: what is said of one that is missing, damaged, full or another account's."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.servers.signer import SignerOfTest
from typer.testing import Result

from headrace.api.signing.signer_state import SignerState, StateUnusable
from headrace.guardrails import default_policy_text

NOBODY = 65534
OF_THE_OWNER = (
    ("passkeys",), ("accept", "--", "AAAA"), ("remove", "--", "AAAA"), ("policy", "default.cedar"),
)  # fmt: skip


def of_owner(folder: Path, command: tuple[str, ...]) -> Result:
    """Run a command of the signer's owner in `folder`/state, with a policy in `folder`."""
    (folder / "default.cedar").write_text(default_policy_text())
    return SignerOfTest(folder).run(*(str(folder / part) if part.endswith(".cedar") else part for part in command))


def run_of(folder: Path) -> Result:
    """Start a signer that does not get far, in `folder`/state."""
    said = ["--socket", str(folder / "signer.sock"), "--service-account", "root", "--public-url", "http://localhost"]
    return SignerOfTest(folder).run("run", *said)


def stopped_with(ended: Result, words: str) -> bool:
    """Whether a command said so in one sentence and ended with 1, not with a traceback."""
    assert isinstance(ended.exception, SystemExit), ended.exception
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith("headrace signer: ")
    return words in ended.stderr


@pytest.mark.parametrize("command", OF_THE_OWNER)
def test_commands_of_the_owner_make_no_folder_where_no_signer_ran(tmp_path: Path, command: tuple[str, ...]) -> None:
    ended = of_owner(tmp_path, command)
    assert stopped_with(ended, f"`{tmp_path}/state` holds no signer: --state is the folder of `headrace signer run`")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("command", OF_THE_OWNER)
def test_a_damaged_state_ends_a_command_in_a_sentence(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "signer.sqlite").write_bytes(b"no database" * 1000)
    assert stopped_with(of_owner(tmp_path, command), "not a database): put the folder back from a backup")
    assert stopped_with(run_of(tmp_path), "not a database): put the folder back from a backup")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another account")
def test_another_account_than_the_signers_changes_nothing_in_its_folder(tmp_path: Path) -> None:
    SignerState(tmp_path / "state")
    os.chown(tmp_path / "state", NOBODY, -1)
    told = f"`{tmp_path}/state` belongs to the account `nobody`: run this as that account"
    for command in (*OF_THE_OWNER, ("rotate",)):
        assert stopped_with(of_owner(tmp_path, command), told), command
    assert stopped_with(run_of(tmp_path), told)
    assert [one.name for one in (tmp_path / "state").iterdir()] == ["signer.sqlite"]


def test_a_disk_of_the_signer_without_room_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, connect = SignerState(tmp_path / "state"), sqlite3.connect

    def full(*arguments: Any, **others: Any) -> sqlite3.Connection:  # noqa: ANN401 - as sqlite3 has it
        store: sqlite3.Connection = connect(*arguments, **others)
        store.execute("PRAGMA max_page_count = 1")  # SQLite takes that for what it has now.
        return store

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        with pytest.raises(StateUnusable, match=f"`{tmp_path}/state` .*disk is full.*make room there"):
            state.measure()
    state.measure()
