"""`headrace doctor` finds every fault that is planted in a host, and names nothing else: `planted_faults.toml`.

Faults are planted one at a time, in network and mount namespaces of their own, control groups and a loop device.
"""

import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli.test_doctor import OFFLOAD_OFF, doctor, joined

FAULTS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("planted_faults.toml").read_text(encoding="utf-8")
)["fault"]
GROUPS = Path("/sys/fs/cgroup")
PATH = ("--rate", "1Gb/s", "--rtt", "20")
WHOLE = """
sysctl -qw net.ipv4.tcp_rmem='4096 131072 67108864' net.ipv4.tcp_wmem='4096 16384 67108864'
sysctl -qw net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_moderate_rcvbuf=1 net.ipv4.tcp_sack=1
sysctl -qw net.ipv4.tcp_slow_start_after_idle=0
ip route change default via 10.99.0.2 dev out initcwnd 64
"""
needs_groups = pytest.mark.skipif(
    not (GROUPS / "cpu" / "cgroup.procs").exists(), reason="control groups of version 1 are not mounted"
)


def of(one: Mapping[str, Any]) -> Any:  # noqa: ANN401 - pytest's own
    return pytest.param(one, id=one["name"], marks=needs_groups if "groups" in one or "device" in one else ())


@contextmanager
def grouped(settings: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, ...]]:
    """Words before a command that put it into control groups with these settings."""
    folders = {kind: GROUPS / kind / f"headrace-doctor-{os.getpid()}" for kind in settings}
    try:
        for kind, folder in folders.items():
            folder.mkdir()
            for name, value in settings[kind].items():
                (folder / name).write_text(value, encoding="ascii")
        joins = "".join(f"echo $$ > {folder}/cgroup.procs; " for folder in folders.values())
        yield ("sh", "-c", f'{joins}exec "$@"', "sh") if folders else ()
    finally:
        for folder in folders.values():
            folder.rmdir()


@contextmanager
def mounted(limits: Mapping[str, int], image: Path, folder: Path) -> Iterator[None]:
    """Mount a file system on a device of which the kernel lets so many bytes a second through."""
    if not limits:
        yield
        return
    image.touch()
    os.truncate(image, 600 << 20)
    device = run("losetup", "--find", "--show", str(image)).strip()
    try:
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        run("mount", device, str(folder))
        number = Path(device).stat().st_rdev
        files = {GROUPS / "blkio" / f"blkio.throttle.{way}_bps_device": limit for way, limit in limits.items()}
        try:
            for file, limit in files.items():
                file.write_text(f"{os.major(number)}:{os.minor(number)} {limit}", encoding="ascii")
            yield
        finally:
            for file in files:
                file.write_text(f"{os.major(number)}:{os.minor(number)} 0", encoding="ascii")
            run("umount", str(folder))
    finally:
        run("losetup", "--detach", device)


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def found_in(near: str, folder: Path, fault: Mapping[str, Any]) -> set[str]:
    """Plant a fault and return the checks that the doctor names."""
    inside = ("ip", "netns", "exec", near)
    with ExitStack() as stack:
        stack.enter_context(mounted(fault.get("device", {}), folder.with_suffix(".img"), folder))
        before = stack.enter_context(grouped(fault.get("groups", {})))
        if not fault.get("offloads", True):
            run(*inside, sys.executable, "-c", OFFLOAD_OFF)
        # The doctor runs in the mount namespace in which the fault was planted.
        lines = [f"mount -t tmpfs none {GROUPS}"] if "groups" in fault else []
        # `ip netns exec` shows another /sys, in which they are not mounted.
        for kind in fault.get("groups", ()):
            lines += [f"mkdir {GROUPS}/{kind}", f"mount -t cgroup -o {kind} none {GROUPS}/{kind}"]
        lines += [
            line.replace("DEV", "out").replace("PEER", "10.99.0.2").replace("DIR", shlex.quote(str(folder)))
            for line in fault.get("run", ())
        ]
        script = ("unshare", "--mount", "sh", "-ec", "\n".join((*lines, 'exec "$@"')), "sh")
        flags = (*PATH, *fault.get("flags", ()), *((folder,) if fault.get("folder") else ()))
        _, document = doctor(*before, *inside, *script, *fault.get("before", ()), flags=flags)
        return {one["check"] for one in document["findings"]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What this machine has of itself, in a host without planted faults."""
    with joined() as (near, _):
        run("ip", "netns", "exec", near, "sh", "-ec", WHOLE)
        return found_in(near, tmp_path_factory.mktemp("folder"), {"folder": True})


@pytest.mark.timeout(120)
@pytest.mark.xdist_group("planted_faults")
@pytest.mark.parametrize("fault", [of(one) for one in FAULTS])
def test_a_planted_fault_is_found_and_nothing_else(fault: dict[str, Any], whole: set[str], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with joined() as (near, _):
        run("ip", "netns", "exec", near, "sh", "-ec", WHOLE)
        found = found_in(near, folder, fault)
    must = set(fault.get("must", fault["found"][:1]))
    assert must <= found
    assert found - whole - set(fault["found"]) == set(), "false"


def test_at_least_fifteen_faults_are_planted_and_none_by_a_check_that_the_page_does_not_name() -> None:
    page = (Path(__file__).parents[3] / "docs/operations/doctor.md").read_text(encoding="utf-8")
    assert len(FAULTS) >= 15
    assert all(f"| `{check}` |" in page for one in FAULTS for check in one["found"])
