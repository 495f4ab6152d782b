"""The engine's Python face. Documents (permits, tickets, statements) are passed as their exact text.

What is awaited runs in Rust from the moment of the call; `asyncio.ensure_future` makes a task of it.
"""

from collections.abc import Awaitable, Sequence
from typing import Literal, TypeAlias, final

__all__ = [
    "AttemptEnded",
    "AttemptProgress",
    "AttemptSide",
    "EngineError",
    "Flow",
    "Hub",
    "JoinRequested",
    "Listing",
    "ListingEntry",
    "MissingRoot",
    "Node",
    "NodeAttached",
    "NodeDetached",
    "NodeRefused",
    "NodeRoot",
    "NodeSpace",
    "RootSpace",
    "SocketMemory",
    "StageTimes",
    "Survey",
    "__version__",
    "begin_hub_succession",
    "check_links",
    "check_share",
    "log_to_stderr",
    "main",
]

__version__: str

class EngineError(Exception):
    """Base of every error of the engine: `args[0]` is a sentence for people."""

    code: str
    """Stable code, listed in docs/errors.md, for example `node_unreachable` or `permit_expired`."""
    retryable: bool
    """Whether doing the same again later may help."""

@final
class NodeRoot:
    """A root as its node declares it."""

    name: str
    access: Literal["read", "write", "delete"]
    """What may be done there at most; each includes the ones before it."""
    free_bytes: int
    total_bytes: int

@final
class JoinRequested:
    """A node presented a join token; answer with `Hub.answer_join`."""

    request: str
    secret: str
    node: str
    """The node's public key, `ed25519:...`."""
    name: str
    version: str
    roots: list[NodeRoot]

@final
class MissingRoot:
    """A root that its node declares and can't open now; it is looked for every two seconds."""

    name: str
    reason: str

@final
class NodeAttached:
    """An enrolled node opened its control stream. Sent again when its roots, addresses or clock (by 1 s) change."""

    node: str
    version: str
    roots: list[NodeRoot]
    missing_roots: list[MissingRoot]
    data_addresses: list[str]
    accepts_connections: bool
    clock_skew_ms: int
    """Its clock minus ours."""

@final
class RootSpace:
    """What is free below a root."""

    name: str
    free_bytes: int
    total_bytes: int

@final
class NodeSpace:
    """What is free below roots of an attached node: sent every minute, and when attempts there have ended.

    Those that can't be measured now are not among them; nodes of the release before send none.
    """

    node: str
    roots: list[RootSpace]

@final
class NodeRefused:
    """Somebody wanted to attach and was refused, or broke off; of many at once some are not told."""

    node: str
    """Its key; empty when it broke off before it showed one."""
    address: str
    """host:port that it comes from; empty when it is in this process."""
    code: str
    """`clock_skew`, `version_unsupported`, `not_enrolled`, `hub_busy` or `protocol_violation`.

    `wrong_peer_key` when it expects another key of this hub.
    Of a node that was let in and does not stay: `authority_succeeded`, `second_successor`, or a succession's own.
    """
    reason: str

@final
class NodeDetached:
    """The control stream of a node ended."""

    node: str
    reason: str

@final
class AttemptProgress:
    """How far an attempt has come, as its destination node counts it (about four times a second)."""

    transfer: str
    attempt: int
    files_total: int
    files_done: int
    files_failed: int
    bytes_total: int
    bytes_received: int
    bytes_durable: int
    bytes_whole: int | None
    """Those of whole files: what stays when no attempt follows. `None` of a node that does not tell."""
    resent_bytes: int
    rate_bps: int
    streams: int
    limiter: str
    """One line that says what limits the transfer now, with its evidence; empty while unknown."""
    listed: bool | None
    """Whether the totals are whole: all names of the source have come. `None` of a node that does not tell."""
    source: AttemptSide
    """As the source node told last; empty in a local copy, and of a node that does not tell."""
    destination: AttemptSide
    """As the destination node tells; in a local copy, all that its one node knows."""

@final
class AttemptSide:
    """What one node knows of an attempt besides counts."""

    flows: list[Flow]
    """Its data connections, 64 at most, as they were within the last second; those of the end when none is open.

    Empty in a local copy, and where the kernel tells nothing.
    """
    stages: StageTimes
    deleted: int
    """Names deleted there or moved to the trash, with those that were gone; 0 of a node that does not tell."""
    looked_at: int
    """Names listed, compared, checked, deleted or completed: rises while the node works, whatever moves."""
    durable_steps: int
    """What this attempt itself made, deleted or made durable: no later one does it again."""
    socket_memory: SocketMemory | None
    """`None` before its first data connection, in a local copy, and of a node that does not tell."""
    device_written_bytes: int | None
    """Bytes that were written to the device that it synced last, by anybody: they rise while a slow one works.

    `None` where nothing was synced, on what is no block device, and of a node that does not tell.
    """

@final
class SocketMemory:
    """What the kernel of a node says of the memory of TCP sockets. `None` of what it does not tell.

    Counters are those of the whole network namespace, from the attempt's first data connection on. One that went back
    is `None` from then on.
    """

    prune_called: int | None
    """How often it looked for memory of a socket to give back (`PruneCalled` in /proc/net/netstat)."""
    receive_pruned: int | None
    """Packets dropped as that found too little (`RcvPruned`)."""
    early_pruned: int | None
    """Packets that had come too early, dropped for it (`OfoPruned`)."""
    receive_collapsed: int | None
    """Packets joined so that they take less (`TCPRcvCollapsed`)."""
    receive_queue_drops: int | None
    """Packets in order, dropped as no memory was left (`TCPRcvQDrop`)."""
    memory_pressures: int | None
    """How often the memory of all sockets of the host became scarce (`TCPMemoryPressures`)."""
    aborts_on_memory: int | None
    """Connections that ended for lack of memory (`TCPAbortOnMemory`)."""
    zero_window_drops: int | None
    """Packets dropped as their receive window was shut (`TCPZeroWindowDrop`)."""
    backlog_drops: int | None
    """Packets dropped as too many waited for a busy thread (`TCPBacklogDrop`)."""
    tcp_mem_pages: list[int]
    """The three figures of net.ipv4.tcp_mem; empty where the namespace does not show it."""
    tcp_held_pages: int | None
    """What TCP sockets of the whole host hold."""
    page_bytes: int | None
    group_limit_bytes: int | None
    """The tightest limit of the node's control groups: of sockets (version 1), or of all memory (version 2)."""
    group_held_bytes: int | None
    group_setting: str
    """Name of the file that sets it, for example `memory.max`; empty without a limit."""

@final
class Flow:
    """A data connection as the kernel of one end sees it (TCP_INFO). What the kernel does not tell is 0.

    Counts and times begin with the connection. Congestion window, rates, retransmits and limited times matter at the
    source, which sends; receive round trip and receive window at the destination.
    """

    stream: int
    """Its number in the session; both ends use the same."""
    age_us: int
    congestion_control: str
    """For example `cubic`; empty when unknown."""
    rtt_us: int
    """Smoothed round trip."""
    min_rtt_us: int
    receive_rtt_us: int
    """Round trip as the end that receives estimates it."""
    cwnd_packets: int
    mss_bytes: int
    """Payload of a packet: `cwnd_packets` times this is the congestion window."""
    delivery_rate_bps: int
    """Bits per second that the other end took when it was last measured."""
    pacing_rate_bps: int
    """What the kernel paces the connection to; 0 for no limit."""
    sent_packets: int
    """With data, those sent again included."""
    retransmits: int
    reorderings: int
    busy_us: int
    """Time in which there was something to send or to be acknowledged; the two limits below are parts of it."""
    rwnd_limited_us: int
    sndbuf_limited_us: int
    app_limited_us: int
    """Time in which there was nothing to send: `age_us` without `busy_us`."""
    unsent_bytes: int
    send_window_bytes: int
    """What the other end allows to be on its way."""
    receive_window_bytes: int
    """Most that this end would allow now to be on its way to it; small under TCP memory pressure."""
    acknowledged_bytes: int
    received_bytes: int
    cpu_us: int
    """Time that the thread which serves the connection was computing; 0 where its kernel does not count."""
    cpu_wait_us: int
    """Time in which it could have, and no processor was free for it."""

@final
class StageTimes:
    """Time that threads of one node spent in each stage since the attempt began there; of several threads the sum."""

    read_us: int
    """Reading the source."""
    hash_us: int
    """Hashing what was read."""
    send_us: int
    """Encrypting, and waiting for the kernel to take it."""
    receive_us: int
    """Waiting for data, and decrypting."""
    verify_us: int
    """Hashing what arrived."""
    write_us: int
    commit_us: int
    """Making durable and naming."""
    ceiling_us: int
    """Waiting for the rate ceiling."""
    share_us: int
    """Waiting for a share of a link."""
    delete_us: int
    """Checking and deleting names."""

@final
class AttemptEnded:
    """An attempt is over on both nodes. Told again, also after a restart, until `Hub.acknowledge`."""

    transfer: str
    attempt: int
    outcome: Literal["complete", "partial", "failed", "stopped"]
    code: str
    """Error code when failed, empty otherwise."""
    message: str
    node: str
    """Key of the node whose word `code` is; empty without one."""
    retryable: bool
    statements: list[str]
    """Signed statements of the nodes (destination first); empty unless complete or partial."""
    files_list: str | None
    """Path of files.jsonl in the folder given to `start_attempt`, digest checked against the statement."""
    failed_list: str | None

@final
class ListingEntry:
    """One name in a folder; `name` is escaped as in sealed documents."""

    name: str
    kind: Literal["file", "dir", "symlink", "other"]
    size: int
    mtime_ns: int

@final
class Listing:
    """One page of a folder."""

    entries: list[ListingEntry]
    next_after: str | None

@final
class Survey:
    """What an intent would touch, merged from both nodes' listings."""

    source_kind: Literal["file", "dir", "symlink"]
    files: int
    """Regular files and symlinks that would be copied."""
    bytes: int
    source_entries: int
    """Names of the source that the filters take, folders included."""
    directories: int
    symlinks: int
    identical_files: int
    excluded_files: int
    skipped_special: int
    conflicts: int
    """Differing names at the destination that the conflict rule leaves alone (they fail or are skipped)."""
    overwrites: int
    overwritten_bytes: int
    overwrites_digest: str
    deletes: int
    deleted_bytes: int
    deletes_digest: str
    destination_files: int
    destination_free_bytes: int
    case_collisions: int
    largest_file_bytes: int
    destination_exists: bool
    sample: list[str]
    """At most 20 escaped relative paths of what would be copied."""
    overwrites_sample: list[str]
    deletes_sample: list[str]
    conflicts_sample: list[str]

_HubEvent: TypeAlias = (
    JoinRequested | NodeAttached | NodeSpace | NodeRefused | NodeDetached | AttemptProgress | AttemptEnded
)

@final
class Hub:
    """The service's side of the control plane: nodes dial it and stay attached (gRPC over mutual TLS)."""

    @staticmethod
    def start(*, listen: str, state_dir: str, max_nodes: int = 256, enrolled: Sequence[str] = ...) -> Awaitable[Hub]:
        """Listen on `listen` (host:port, port 0 picks one) with the key kept in `state_dir` (made on first start).

        Nodes with the keys `enrolled` may attach from the first moment on.
        """

    address: str
    key: str
    """Public key of the hub's TLS identity, pinned in join tokens."""

    def join_token(self, *, secret: str, address: str | None = None) -> str:
        """Text of a join token: the address to dial (default: `self.address`), the hub's key and `secret`."""

    succession: str | None
    """Which key comes after which: the body of a `hub-succession`, until a week after the time of the former one."""

    def announce(self, *, successions: Sequence[str], hub_succession: str = ...) -> None:
        """Tell nodes that attach from now on which authority keys came after which, and which after the hub's own.

        These are sealed documents, the authority's oldest first.
        """

    def enroll(self, node: str) -> None:
        """Let the node with this key attach."""

    def revoke(self, node: str) -> None:
        """Detach the node and refuse it from now on; its attempts stop."""

    def next_events(self) -> Awaitable[list[_HubEvent]]:
        """Wait for the next events, and return all that are there in order (at most 256); none once the hub is closed.

        The queue is bounded: progress is coalesced, nothing else is dropped. Keep one task that waits; events may be
        lost when that task is cancelled in the instant of its arrival.
        """

    def answer_join(self, request: str, *, accepted: bool, reason: str = "", authority: str = "") -> Awaitable[None]:
        """Accept (pins the ticket `authority`'s public key on the node) or refuse a join."""

    def browse(self, *, permit: str, path: Sequence[str], after: str | None, limit: int) -> Awaitable[Listing]:
        """List one folder (escaped components below the root, inside the permit's prefix), 1,000 names at most."""

    def look_at_host(self, *, node: str, to: str | None) -> Awaitable[str]:
        """Return what a node's host says of itself, and of its route to the address `to`, as JSON (`NodeHost`).

        Raises `EngineError`: `version_unsupported` for a node of an earlier release, and as `browse`.
        """

    def notice(self, *, node: str, text: str) -> None:
        """Let an attached node write to its log what whoever runs it should know: 1,000 characters, in one line."""

    def empty_trash(self, *, node: str, until_ms: int) -> Awaitable[None]:
        """Let a node remove from its trashes what was to be kept until then (Unix ms), which must have come for sure.

        Waits until it has; `node_timeout` while it goes on. What is not over by its own clock as well stays. A node of
        an earlier release empties them by its own clock, and is not asked.
        """

    def survey(
        self, *, source_permit: str, destination_permit: str, execution: str, lists_dir: str
    ) -> Awaitable[Survey]:
        """Merge both listings under the draft `execution` (JSON; list digests and ceilings are ignored).

        Writes overwrites.jsonl and deletes.jsonl into `lists_dir`.
        """

    def start_attempt(
        self,
        *,
        ticket: str,
        lists_dir: str,
        result_dir: str,
        share: str,
        streams: int | None = None,
        unit_bytes: int | None = None,
    ) -> Awaitable[None]:
        """Send the ticket and its lists to its nodes, and the share of links (JSON) with which it begins.

        `streams` (1 to 64 data connections) and `unit_bytes` (a power of two from 256 KiB to 1 GiB) are for it what its
        nodes choose otherwise; `bad_argument` beyond these limits.

        Progress and end arrive as events; result lists are written into `result_dir`. A later attempt of a transfer
        takes the place of one that runs.
        """

    def renew(self, *, ticket: str) -> Awaitable[None]:
        """Hand a renewed ticket of a running attempt to its nodes.

        `attempt_unknown` of one whose end is not acknowledged: the end is told again.
        """

    def set_rate(self, *, transfer: str, rate_bps: int | None) -> Awaitable[None]:
        """Change the rate ceiling of a running attempt; never above the ticket's own."""

    def set_shares(self, *, node: str, shares: str) -> Awaitable[None]:
        """Let a node schedule these links (JSON) and no others; it hears them again whenever it attaches.

        A node that is away hears them then, and one that schedules no links is not told. `shares_invalid`.
        """

    def set_share(self, *, transfer: str, share: str) -> Awaitable[None]:
        """Change the share of links of a running attempt (JSON); an empty text takes it away. `shares_invalid`."""

    def stop_attempt(self, *, transfer: str, reason: str) -> Awaitable[None]:
        """Stop at the next unit or batch and keep the journal."""

    def acknowledge(self, *, transfer: str, attempt: int) -> Awaitable[None]:
        """Say that the end of this attempt is stored; it is not told again. Saying it twice changes nothing."""

    def forget(self, *, transfer: str, nodes: Sequence[str]) -> Awaitable[None]:
        """Tell the nodes that no attempt of this transfer will follow: temporaries and journal are removed.

        `nodes` are the keys of the transfer's nodes, for when the hub has no record of it.
        """

    def close(self) -> Awaitable[None]: ...

@final
class Node:
    """A node inside this process (the embedded default). It attaches to a hub like any other."""

    @staticmethod
    def start(
        *,
        state_dir: str,
        name: str,
        roots: Sequence[tuple[str, str, str]],
        data_listen: str = "127.0.0.1:0",
        join_token: str | None = None,
        hub_address: str | None = None,
    ) -> Awaitable[Node]:
        """Join with the token when the state folder holds no enrolment yet, then stay attached.

        `roots` are (name, path, access) and replace those of an earlier start; an empty `data_listen` accepts no
        connections. A root whose folder is not there is exported once it is. `hub_address` takes the place of the
        address that the node was told when it joined.
        """

    key: str

    def close(self) -> Awaitable[None]: ...

def begin_hub_succession(*, state_dir: str, overlap_ms: int) -> str:
    """Let another key come after that of a hub that does not run, in its folder; return which (`Hub.succession`).

    Raises `EngineError` while another one is on its way.
    """

def check_links(text: str) -> None:
    """Refuse links (JSON, as `Hub.set_shares` takes them) that no node takes: `shares_invalid`."""

def check_share(text: str) -> None:
    """Refuse a share (JSON, as `Hub.set_share` takes it) that no node takes: `shares_invalid`."""

def log_to_stderr(level: str) -> None:
    """Write what the engine logs in this process to standard error, one line each: `level`, or `target=level,...`."""

def main(arguments: Sequence[str]) -> int:
    """Run the `headrace-node` command line (`join`, `run`, `cp`, ...) in this process; return the exit code."""
