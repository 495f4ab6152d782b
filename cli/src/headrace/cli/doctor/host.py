"""What the doctor looks at: one host as it stands, typed. `None` is what could not be read; no rule judges it."""

from dataclasses import dataclass, field

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sockets:
    """What the kernel lets TCP sockets hold and do."""

    tcp_rmem: Triple | None = None
    """Receive buffer of one socket in bytes: least, first, most."""
    tcp_wmem: Triple | None = None
    """Send buffer of one socket, the same."""
    rmem_max: int | None = None
    """Most bytes that a program may ask for by SO_RCVBUF."""
    wmem_max: int | None = None
    tcp_mem: Triple | None = None
    """Bytes that all sockets of the host may hold: carefree, pressure, most."""
    in_use: int | None = None
    """Bytes that all sockets of the host hold now."""
    page_bytes: int = 4096
    """The unit of `tcp_mem` in the kernel's own setting."""
    window_scaling: bool | None = None
    autotuning: bool | None = None
    """Whether the kernel grows receive buffers by itself."""
    sack: bool | None = None
    slow_start_after_idle: bool | None = None
    congestion_control: str | None = None
    available_controls: tuple[str, ...] = ()
    tracked: int | None = None
    """Connections that the firewall tracks, and the most that it can."""
    max_tracked: int | None = None
    backlog_drops: int | None = None
    """Packets that CPUs dropped because they could not keep up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """The network interface that the path leaves by."""

    name: str
    mtu: int | None = None
    path_mtu: int | None = None
    """The smallest MTU that the kernel found on open connections."""
    speed_bps: int | None = None
    duplex: str | None = None
    qdiscs: tuple[str, ...] = ()
    """Kinds of its queueing disciplines."""
    shaped_bps: int | None = None
    """The rate that one of them lets through at most."""
    rx_ring: int | None = None
    max_rx_ring: int | None = None
    received: int | None = None
    dropped: int | None = None
    """Packets received, and those that found no room in the card or its driver."""
    offloads_off: tuple[str, ...] = ()
    """Which of tso, gso, gro is turned off."""
    numa_node: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How the kernel sends to the other end."""

    destination: str
    """As `ip route` names it: `default` or a network."""
    gateway: str | None = None
    interface: str
    initial_window: int | None = None
    """Packets sent before the first acknowledgement, where the route says so; the kernel's own is 10."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """The CPUs of the host, and what of them there is for us."""

    online: int | None = None
    usable: int | None = None
    """How many this process may run on."""
    quota: float | None = None
    """CPUs' worth of time that the container gets; `None` without a limit."""
    throttled_share: float | None = None
    """Share of the scheduling periods in which the container had used up its time."""
    governors: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    """Instruction sets, as the kernel names them; empty when unknown."""
    hypervisor: bool | None = None
    stolen_share: float | None = None
    """Share of time since boot in which the hypervisor ran somebody else."""
    usable_nodes: frozenset[int] = frozenset()
    """NUMA nodes with CPUs that this process may run on."""
    numa_nodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory of the host and of the container."""

    available: int | None = None
    limit: int | None = None
    """Most bytes that the container may use; `None` without a limit."""
    used: int | None = None
    """Bytes that the container uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """Open files: of a process, and of the host."""

    soft: int | None = None
    hard: int | None = None
    open: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The host's clock."""

    synchronised: bool | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a short trial of a folder's storage measured."""

    write_bytes_s: float
    """One large file, written and made durable."""
    read_bytes_s: float | None
    """The same file, read past the cache; `None` where the file system can't."""
    files_s: float
    """Small files created and made durable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder that data comes from or goes to."""

    path: str
    file_system: str | None = None
    options: frozenset[str] = frozenset()
    mount_point: str | None = None
    """Where its file system is mounted; `None` where that is not told."""
    free: int | None = None
    size: int | None = None
    free_inodes: int | None = None
    inodes: int | None = None
    """0 where the file system makes inodes as they are needed."""
    probe: Probe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Something that could not be read, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host at one moment."""

    sockets: Sockets = field(default_factory=Sockets)
    interface: Interface | None = None
    route: Route | None = None
    processors: Processors = field(default_factory=Processors)
    memory: Memory = field(default_factory=Memory)
    descriptors: Descriptors = field(default_factory=Descriptors)
    clock: Clock = field(default_factory=Clock)
    folders: tuple[Folder, ...] = ()
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """The network path that the host is judged for."""

    rate_bps: int
    rtt_ms: float
    streams: int
    origin: str
    """Where these figures come from, in words."""

    @property
    def bdp(self) -> int:
        """Bytes under way when the path is full: rate x round trip."""
        return int(self.rate_bps / 8 * self.rtt_ms / 1000)
