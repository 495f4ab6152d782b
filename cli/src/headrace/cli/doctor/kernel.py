"""Three questions that only system calls answer. Each of them reads; none sets anything."""

import ctypes
import fcntl
import socket
import struct
from typing import Final

_SIOCETHTOOL: Final = 0x8946
_GET_RINGS: Final = 0x10
_GET_OFFLOADS: Final = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_TIMEX_BYTES: Final = 208
_STATUS: Final = struct.Struct("@40xi")
"""Where `struct timex` holds its status on 64 bit machines."""
_UNSYNCHRONISED: Final = 0x40


def ring_sizes(interface: str) -> tuple[int, int]:
    """Return how many received packets a card's ring holds, and how many it could hold. Raises OSError."""
    found = struct.unpack("9I", _ethtool(interface, struct.pack("9I", _GET_RINGS, *[0] * 8)))
    return found[5], found[1]


def offloads_off(interface: str) -> tuple[str, ...]:
    """Return which of the offloads that matter is turned off. Raises OSError."""
    return tuple(
        name
        for name, command in _GET_OFFLOADS.items()
        if struct.unpack("2I", _ethtool(interface, struct.pack("2I", command, 0)))[1] == 0
    )


def clock_is_synchronised() -> bool:
    """Ask the kernel whether something keeps its clock right. Raises OSError."""
    buffer = ctypes.create_string_buffer(_TIMEX_BYTES)  # modes = 0: change nothing
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.adjtimex(buffer) < 0:
        raise OSError(ctypes.get_errno(), "adjtimex was refused")
    (status,) = _STATUS.unpack_from(buffer.raw)
    return not status & _UNSYNCHRONISED


def _ethtool(interface: str, request: bytes) -> bytes:
    buffer = ctypes.create_string_buffer(request, len(request))
    asked = struct.pack("16sQ16x", interface.encode()[:15], ctypes.addressof(buffer))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        fcntl.ioctl(opened, _SIOCETHTOOL, asked)
    return buffer.raw
