"""What one run costs: wall time, processor time and memory of each end, and what arrived over time."""

import contextlib
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.lab import Host

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run. The near end is where files arrive; with copies inside one machine all is near."""

    seconds: float
    near_cpu_s: float
    far_cpu_s: float = 0.0
    near_peak_bytes: int = 0
    """Sum of the largest resident sizes of all processes of this end."""
    far_peak_bytes: int = 0
    gbit_per_s: tuple[float, ...] = ()
    """What arrived in each 100 ms, headers included."""
    engine_s: float | None = None
    """Of a transfer: from the first node's start to the last one's end, as they signed it."""

    @property
    def cpu_s(self) -> float:
        """Processor seconds of both ends."""
        return self.near_cpu_s + self.far_cpu_s


def cpu_s_of(process: int) -> float:
    """Return the CPU seconds that a process has used, in user and system mode."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def forget_peak(process: int) -> None:
    """Let the kernel count a process's largest resident size from now on."""
    Path(f"/proc/{process}/clear_refs").write_text("5", encoding="ascii")


def _peak_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _with_children(process: int) -> Iterable[int]:
    yield process
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            yield from _with_children(int(child))


@dataclass(slots=True)
class Watch:
    """Looks every 100 ms at processes, their children, and what the near host's line has brought."""

    host: Host | None
    near: list[int] = field(default_factory=list)
    far: list[int] = field(default_factory=list)
    near_peaks: dict[int, int] = field(default_factory=dict)
    far_peaks: dict[int, int] = field(default_factory=dict)
    gbit_per_s: list[float] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Look for a last time."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def near_peak_bytes(self) -> int:
        """Of the end where files arrive."""
        return sum(self.near_peaks.values())

    @property
    def far_peak_bytes(self) -> int:
        """Of the end that sends."""
        return sum(self.far_peaks.values())

    def _look(self) -> None:
        before, at = self._arrived(), time.monotonic()
        while not self._over.wait(STEP_S):
            for roots, peaks in ((self.near, self.near_peaks), (self.far, self.far_peaks)):
                for root in list(roots):
                    # Processes come and go while we look.
                    with contextlib.suppress(OSError):
                        for process in _with_children(root):
                            peaks[process] = max(peaks.get(process, 0), _peak_bytes(process))
            arrived, now = self._arrived(), time.monotonic()
            self.gbit_per_s.append(round((arrived - before) * 8 / (now - at) / 1e9, 3))
            before, at = arrived, now

    def _arrived(self) -> int:
        if self.host is None:
            return 0
        for line in (self.host.network.parents[1] / "net" / "dev").read_text(encoding="ascii").splitlines():
            if line.strip().startswith("lab0:"):
                return int(line.split(":")[1].split()[0])
        return 0
