"""What the doctor says of a host."""

from dataclasses import dataclass
from enum import StrEnum


class Weight(StrEnum):
    """How much a finding matters."""

    FAULT = "fault"
    """It costs rate, or stops transfers. The command ends with 1."""
    ADVICE = "advice"
    """It is usual, and another setting would be better."""


class Check(StrEnum):
    """What is looked at; docs/operations/doctor.md describes each."""

    RECEIVE_BUFFER = "receive_buffer"
    SEND_BUFFER = "send_buffer"
    ASKED_BUFFERS = "asked_buffers"
    SOCKET_MEMORY = "socket_memory"
    WINDOW_SCALING = "window_scaling"
    AUTOTUNING = "autotuning"
    SACK = "sack"
    IDLE_RESTART = "idle_restart"
    CONGESTION_CONTROL = "congestion_control"
    INITIAL_WINDOW = "initial_window"
    TRACKED_CONNECTIONS = "tracked_connections"
    BACKLOG = "backlog"
    MTU = "mtu"
    PATH_MTU = "path_mtu"
    DUPLEX = "duplex"
    LINK_SPEED = "link_speed"
    SHAPING = "shaping"
    QDISC = "qdisc"
    RING_BUFFER = "ring_buffer"
    DROPS = "drops"
    OFFLOADS = "offloads"
    GOVERNOR = "governor"
    CRYPTOGRAPHY = "cryptography"
    NUMA = "numa"
    CPU_LIMIT = "cpu_limit"
    STOLEN_TIME = "stolen_time"
    MEMORY = "memory"
    DESCRIPTORS = "descriptors"
    CLOCK = "clock"
    CLOCK_SOURCE = "clock_source"
    SPACE = "space"
    INODES = "inodes"
    MOUNT = "mount"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that should be otherwise."""

    check: Check
    weight: Weight
    about: str
    """Which setting, interface or folder."""
    found: str
    """What it is, and what it should be."""
    why: str
    remedy: tuple[str, ...]
    """Commands to run as root, or what to do in words; nothing was changed."""


def fault(check: Check, about: str, found: str, why: str, *remedy: str) -> Finding:
    """Make a finding that costs rate or stops transfers."""
    return Finding(check, Weight.FAULT, about, found, why, remedy)


def advice(check: Check, about: str, found: str, why: str, *remedy: str) -> Finding:
    """Make a finding that could be better."""
    return Finding(check, Weight.ADVICE, about, found, why, remedy)
