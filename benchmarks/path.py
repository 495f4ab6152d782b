"""A long path between two network namespaces: two TUN devices, and two processes that hold packets back.

netem does the same where the kernel has it. Devices with offloads hand over packets of up to 64 KiB, so that
one processor carries some Gb/s. Needs root.
"""

import fcntl
import os
import select
import signal
import struct
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
TUN, NO_PACKET_INFORMATION, OFFLOAD_HEADER = 0x0001, 0x1000, 0x4000
CHECKSUMS, SEGMENTS_4, SEGMENTS_6 = 0x01, 0x02, 0x04
MAX_PACKET_BYTES = 66_000
MAX_PACKETS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Host:
    """One end of a path: the words that run a command there, and its address."""

    inside: tuple[str, ...]
    address: str


@contextmanager
def long_path(name: str, round_trip_ms: float, buffer_bytes: int) -> Iterator[tuple[Host, Host]]:
    """Join two new hosts, whose TCP sockets may buffer so much, by a path of this round trip."""
    devices: list[int] = []
    carriers: list[int] = []
    hosts = [Host(("ip", "netns", "exec", f"{name}-{end}"), f"10.77.0.{end}") for end in (1, 2)]
    try:
        for end, (host, other) in enumerate((hosts, hosts[::-1]), start=1):
            space, device = host.inside[-1], f"{name}{end}"
            _run("ip", "netns", "add", space)
            devices.append(_device(device))
            _run("ip", "link", "set", device, "netns", space)
            _run(*host.inside, "ip", "link", "set", "lo", "up")
            _run(*host.inside, "ip", "address", "add", host.address, "peer", other.address, "dev", device)
            _run(*host.inside, "ip", "link", "set", device, "mtu", "9000", "txqueuelen", "20000", "up")
            for direction in ("tcp_rmem", "tcp_wmem"):
                _run(*host.inside, "sysctl", "-qw", f"net.ipv4.{direction}=4096 131072 {buffer_bytes}")
        carriers = [_carry(source, target, round_trip_ms / 2e3) for source, target in (devices, devices[::-1])]
        yield hosts[0], hosts[1]
    finally:
        for carrier in carriers:
            os.kill(carrier, signal.SIGTERM)
            os.waitpid(carrier, 0)
        for device_file in devices:
            os.close(device_file)
        for host in hosts:
            subprocess.run(["ip", "netns", "del", host.inside[-1]], check=False, capture_output=True, timeout=20)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=20)


def _device(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = TUN | NO_PACKET_INFORMATION | OFFLOAD_HEADER
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(device, TUNSETOFFLOAD, CHECKSUMS | SEGMENTS_4 | SEGMENTS_6)
    return device


def _carry(source: int, target: int, delay_s: float) -> int:
    """Start a process that carries packets one way; its number."""
    measures = os.getpid()
    process = os.fork()
    if process:
        return process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    under_way: deque[tuple[float, bytes]] = deque()
    # Who measures may be killed.
    while os.getppid() == measures:
        wait_s = max(under_way[0][0] - time.monotonic(), 0) if under_way else 1
        select.select([source], [], [], wait_s)
        try:
            for _ in range(MAX_PACKETS_AT_ONCE):
                packet = os.read(source, MAX_PACKET_BYTES)
                under_way.append((time.monotonic() + delay_s, packet))
        except BlockingIOError:
            pass
        now = time.monotonic()
        while under_way and under_way[0][0] <= now:
            try:
                os.write(target, under_way.popleft()[1])
            except OSError:  # A full queue drops a packet, as any path does.
                continue
    os._exit(0)
