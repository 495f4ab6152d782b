"""Rules about the machine: CPUs, memory, descriptors, the clock, and the folders that data is in."""

import shlex
from collections.abc import Iterator
from typing import Final

from headrace.cli.doctor.findings import Check, Finding, advice, fault
from headrace.cli.doctor.host import Folder, Host, Path
from headrace.client.text import bit_rate, byte_size, duration

_ENOUGH_DESCRIPTORS: Final = 65_536
_FEW_DESCRIPTORS: Final = 4096
_LITTLE_MEMORY: Final = 2**30
_MUCH: Final = 0.05
_NEARLY_FULL: Final = 0.95
_FEW_INODES: Final = 10_000
_SKEW_S: Final = 60
"""The service refuses nodes whose clock is further off."""
_CPU_S_PER_GB: Final = 0.7
"""What one side of an encrypted, verified transfer takes, measured (docs/benchmarks.md)."""
_SLOW_CLOCKS: Final = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies"})
_SLOW_FILES_S: Final = 50
_FAST_GOVERNORS: Final = frozenset({"performance", "schedutil"})


def processors(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge how much CPU there is, and how fast it is."""
    cpus = host.processors
    slow = sorted(cpus.governors - _FAST_GOVERNORS)
    if slow:
        why = "a CPU that clocks up late makes short transfers slow and long ones uneven"
        remedy = "cpupower frequency-set -g performance"
        yield advice(Check.GOVERNOR, "cpufreq", f"CPUs run by `{slow[0]}`", why, remedy)
    if cpus.flags and not cpus.flags & {"aes"}:
        why = "encryption takes five to ten times the CPU without it"
        remedy = "let the hypervisor pass the CPU's own instructions on (`-cpu host`), or use another host"
        yield fault(Check.CRYPTOGRAPHY, "cpu", "there are no AES instructions", why, remedy)
    if cpus.stolen_share is not None and cpus.stolen_share > _MUCH:
        said = f"the hypervisor took {cpus.stolen_share:.0%} of this machine's CPU time for others since boot"
        why = "threads that move data stop for milliseconds at a time"
        yield fault(Check.STOLEN_TIME, "cpu", said, why, "give this virtual machine CPUs of its own")
    node = host.interface.numa_node if host.interface else None
    if node is not None and node >= 0 and cpus.usable_nodes and node not in cpus.usable_nodes:
        said = f"the card is at NUMA node {node}, and this process runs on {_listed(cpus.usable_nodes)}"
        why = "every packet crosses to the other socket's memory"
        remedy = f"start the node with `numactl --cpunodebind={node} --membind={node} headrace-node run`"
        yield fault(Check.NUMA, host.interface.name if host.interface else "", said, why, remedy)
    yield from _cpu_limit(host, path)


def _cpu_limit(host: Host, path: Path | None) -> Iterator[Finding]:
    cpus = host.processors
    usable = float(cpus.usable or 0) or None
    has = min((one for one in (cpus.quota, usable) if one is not None), default=None)
    if has is None:
        return
    limit = "CPU time of the container" if cpus.quota is not None and cpus.quota == has else "CPUs of this process"
    wanted = path.rate_bps / 8e9 * _CPU_S_PER_GB if path else 0.0
    remedy = (
        f"raise it to {max(2, round(wanted + 0.5))} CPUs (`cpu.max`, `CPUQuota=`, `--cpus`, `resources.limits.cpu`)"
    )
    if path is not None and wanted > has:
        said = f"there are {has:g} CPUs, and {bit_rate(path.rate_bps)} encrypted and verified takes {wanted:.1f}"
        yield fault(Check.CPU_LIMIT, limit, said, "the CPU is full before the path is", remedy)
    elif cpus.throttled_share is not None and cpus.throttled_share > _MUCH:
        said = f"the container was out of CPU time in {cpus.throttled_share:.0%} of its periods"
        yield fault(Check.CPU_LIMIT, limit, said, "all threads stop until the next period, up to 100 ms", remedy)


def memory(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge the memory that is left."""
    limit, used, available = host.memory.limit, host.memory.used, host.memory.available
    need = max(_LITTLE_MEMORY, 4 * path.bdp if path else 0)
    if limit is not None and limit - (used or 0) < need:
        said = f"the container may use {byte_size(limit)}, and uses {byte_size(used or 0)}"
        remedy = f"raise it to {byte_size((used or 0) + need)} (`memory.max`, `--memory`, `resources.limits.memory`)"
        why = "buffers of sockets count, too; at the limit the kernel kills the node"
        yield fault(Check.MEMORY, "memory of the container", said, why, remedy)
    if available is not None and available < need:
        said = f"{byte_size(available)} are available, and transfers on this path take up to {byte_size(need)}"
        why = "the kernel throws its cache away and then kills processes"
        yield fault(Check.MEMORY, "memory of the host", said, why, "end what uses it, or give the host more")


def descriptors(host: Host, path: Path | None) -> Iterator[Finding]:  # noqa: ARG001 - as every rule
    """Judge how many files may be open."""
    hard, count, most = host.descriptors.hard, host.descriptors.open, host.descriptors.most
    remedy = f"LimitNOFILE={_ENOUGH_DESCRIPTORS} in the unit of the node, or in /etc/security/limits.conf"
    if hard is not None and hard < _ENOUGH_DESCRIPTORS:
        make = fault if hard < _FEW_DESCRIPTORS else advice
        why = "small files are written many at a time; the node raises its soft limit to the hard one"
        said = f"a process may open only {hard:,} files, and should be able to open {_ENOUGH_DESCRIPTORS:,}"
        yield make(Check.DESCRIPTORS, "RLIMIT_NOFILE", said, why, remedy)
    if count is not None and most and count > _NEARLY_FULL * most:
        said = f"{count:,} of {most:,} files of the host are open"
        why = "beyond that every open fails, on the whole host"
        yield fault(Check.DESCRIPTORS, "fs.file-max", said, why, f"sysctl -w fs.file-max={2 * most}")


def clock(host: Host, path: Path | None) -> Iterator[Finding]:  # noqa: ARG001 - as every rule
    """Judge the clock."""
    remedy = "systemctl enable --now chronyd (or systemd-timesyncd), and `chronyc tracking` to see that it works"
    why = f"tickets hold for minutes, and nodes more than {_SKEW_S} s apart are refused (`clock_skew`)"
    if host.clock.synchronised is False:
        # A virtual machine may take its time from its host, which the kernel does not know.
        yield advice(Check.CLOCK, "clock", "nothing tells the kernel that the clock is right", why, remedy)
    if host.clock.source in _SLOW_CLOCKS:
        said = f"the kernel reads the time from {host.clock.source}"
        why = "each look at the time takes about a microsecond, and pacing looks at it for every packet"
        remedy = "boot with `tsc=reliable` where the hardware allows it, or `clocksource=kvm-clock` as a guest"
        yield advice(Check.CLOCK_SOURCE, "clocksource", said, why, remedy)


def folders(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge each folder's file system, and what a trial of it measured."""
    for one in host.folders:
        yield from _room(one)
        yield from _storage(one, path)


def _room(one: Folder) -> Iterator[Finding]:
    if one.free is not None and one.size and one.free < (1 - _NEARLY_FULL) * one.size:
        said = f"{byte_size(one.free)} of {byte_size(one.size)} are free"
        why = "a file system that is nearly full is slow, and transfers end with `no_space`"
        yield fault(Check.SPACE, one.path, said, why, "remove what is not needed, or make it larger")
    few = one.free_inodes is not None and one.inodes and one.free_inodes < max(_FEW_INODES, 0.05 * one.inodes)
    if few:
        said = f"{one.free_inodes:,} of {one.inodes:,} inodes are free"
        why = "each file takes one; transfers of small files end with `no_space` although there is room"
        yield fault(
            Check.INODES, one.path, said, why, "remove small files, or make the file system with more (`mkfs -N`)"
        )
    if "ro" in one.options:
        why = "nothing can be written there"
        yield advice(Check.MOUNT, one.path, "it is mounted read-only", why, _remounted(one, "rw"))
    if one.options & {"sync", "dirsync"}:
        said = f"it is mounted with `{min(one.options & {'sync', 'dirsync'})}`"
        why = "every write waits for the disk; Headrace syncs what counts by itself"
        yield fault(Check.MOUNT, one.path, said, why, _remounted(one, "async"))


def _remounted(one: Folder, option: str) -> str:
    """Say how to mount it with another option: `mount` takes where it is mounted, and no folder below."""
    if one.mount_point is None:
        return f"on its host: mount -o remount,{option} WHERE, as `findmnt` shows it for the folder of this root"
    return f"mount -o remount,{option} {shlex.quote(one.mount_point)}"


def _storage(one: Folder, path: Path | None) -> Iterator[Finding]:
    probe = one.probe
    if probe is None:
        return
    if path is not None:
        for verb, rate in (("written", probe.write_bytes_s), ("read", probe.read_bytes_s)):
            if rate is not None and rate * 8 < path.rate_bps:
                said = (
                    f"a large file was {verb} at {bit_rate(int(rate * 8))}; the path carries {bit_rate(path.rate_bps)}"
                )
                why = f"a transfer that is {verb} here is as fast as this storage"
                yield fault(Check.STORAGE, one.path, said, why, "use faster storage, or stripe over more disks")
    if probe.files_s < _SLOW_FILES_S:
        said = f"{probe.files_s:.0f} small files a second were made durable"
        why = f"10,000 of them take {duration(10_000 / max(0.1, probe.files_s))} one after the other"
        remedy = (
            "look for a slow journal, a network file system or a disk without a write cache that outlasts a power cut"
        )
        yield fault(Check.STORAGE, one.path, said, why, remedy)


def _listed(numbers: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
