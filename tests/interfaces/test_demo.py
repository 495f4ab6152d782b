"""What whoever tries the demo meets."""

import signal
import subprocess
import sys
from typing import Final

from demo import __main__ as demo
from demo.stage import REPOSITORY

LIMIT_S: Final = 60


def test_whoever_interrupts_make_run_while_it_lays_out_gets_their_terminal_back_without_a_traceback() -> None:
    command = [sys.executable, "-u", "-m", "demo", "--stay"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout is not None
        folder = next(line for line in running.stdout if line.startswith("Laying out data in ")).split()[-1]
        running.send_signal(signal.SIGINT)
        said, complained = running.communicate(timeout=LIMIT_S)
    assert (running.returncode, said, complained) == (demo.INTERRUPTED, "\nInterrupted.\n", "")
    assert not (REPOSITORY / folder).exists()
