"""What was measured on: without it no figure means anything."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

_VERSIONS = {
    "rsync": ["rsync", "--version"],
    "globus-gridftp-server": ["globus-gridftp-server", "-version"],
    "globus-url-copy": ["globus-url-copy", "-version"],
    "rclone": ["rclone", "version"],
    "iperf3": ["iperf3", "--version"],
    "ssh": ["ssh", "-V"],
}


def moment() -> dict[str, object]:
    """Say when and on what something was measured, with the load of the last minute."""
    return {
        "measured": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def machine() -> dict[str, object]:
    """Describe this machine at this moment."""
    return {
        "measured": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
        "processor": _line_of("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "avx512": "avx512f" in _line_of("/proc/cpuinfo", "flags").split(),
        "memory": _line_of("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "congestion_control": _read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "tcp_rmem": _read("/proc/sys/net/ipv4/tcp_rmem"),
        "tcp_wmem": _read("/proc/sys/net/ipv4/tcp_wmem"),
        "load_before": os.getloadavg()[0],
        "programs": {name: _said(words) for name, words in _VERSIONS.items() if shutil.which(name)},
    }


def missing(programs: Iterable[str]) -> list[str]:
    """Return those that are not installed."""
    return [program for program in programs if shutil.which(program) is None]


def _read(path: str) -> str:
    return " ".join(Path(path).read_text(encoding="utf-8").split())


def _line_of(path: str, name: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return ""


def _said(words: list[str]) -> str:
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=20)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else ""
