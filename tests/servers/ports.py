"""Ports for servers that must be told theirs before they start."""

import socket
from pathlib import Path
from random import SystemRandom
from typing import Final

GIVEN: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST: Final = 16_384


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens.

    Where there is room, it lies below those that the kernel gives to whoever asks for any: between this look and
    the server's start no other server gets it.
    """
    given = int(GIVEN.read_text(encoding="ascii").split()[0])
    above = given if given > LOWEST else 65_536
    random = SystemRandom()
    while True:
        port = random.randrange(LOWEST, above)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
