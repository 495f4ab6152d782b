"""What tests start in place of the program is a process like it."""

import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from demo.stage import HEADRACE
from tests.servers import forked
from tests.servers.headrace import serving

LIMIT_S = 60


def test_a_forked_service_keeps_argon2id_at_the_least_cost(tmp_path: Path) -> None:
    with serving(tmp_path), closing(sqlite3.connect(tmp_path / "data" / "headrace.sqlite")) as store:
        hashes = [line for line in store.iterdump() if "$argon2id$" in line]
    assert hashes
    assert all("$argon2id$v=19$m=8,t=1,p=1$" in line for line in hashes)


@pytest.mark.parametrize("words", [["--version"], ["no-such-command"], ["login", "--help"]])
def test_a_forked_command_ends_and_says_as_the_program_does(words: list[str]) -> None:
    command: list[str | Path] = [HEADRACE, *words]
    done = forked.run(command, typed="", environment=os.environ, limit_s=LIMIT_S)
    real = subprocess.run(command, check=False, capture_output=True, text=True, input="", timeout=LIMIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (real.returncode, real.stdout, real.stderr)


def test_a_forked_process_is_killed_and_reads_its_own_environment(tmp_path: Path) -> None:
    command: list[str | Path] = [
        HEADRACE,
        "serve",
        "--data",
        tmp_path / "data",
        "--listen",
        "127.0.0.1:0",
        "--allow-root",
        "--json",
    ]
    kept = os.environ | {"HEADRACE_HUB_LISTEN": "127.0.0.1:0"}
    with forked.start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=kept) as process:
        assert process.stdout is not None
        assert b'"url"' in process.stdout.readline()
        process.kill()
        assert process.wait(LIMIT_S) == -signal.SIGKILL
