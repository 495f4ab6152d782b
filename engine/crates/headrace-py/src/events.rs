//! What a hub tells its service.

use headrace_node::convert::{MissingRoot as Missing, RootInfo, RootSpace as Space};
use headrace_node::hub::{AttemptEnded as Ended, HubEvent};
use headrace_node::session::{Flow as KnownFlow, Side, SocketMemory as KnownMemory};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;

/// A root as its node declares it.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
pub(crate) struct NodeRoot {
    name: String,
    access: &'static str,
    free_bytes: u64,
    total_bytes: u64,
}

/// A node presented a join token.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct JoinRequested {
    request: String,
    secret: String,
    node: String,
    name: String,
    version: String,
    roots: Vec<NodeRoot>,
}

/// An enrolled node opened its control stream, or its roots or addresses changed.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct NodeAttached {
    node: String,
    version: String,
    roots: Vec<NodeRoot>,
    missing_roots: Vec<MissingRoot>,
    data_addresses: Vec<String>,
    accepts_connections: bool,
    clock_skew_ms: i64,
}

/// A root that its node declares and can't open now.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
pub(crate) struct MissingRoot {
    name: String,
    reason: String,
}

/// What is free below roots of an attached node now.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct NodeSpace {
    node: String,
    roots: Vec<RootSpace>,
}

/// What is free below a root.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
pub(crate) struct RootSpace {
    name: String,
    free_bytes: u64,
    total_bytes: u64,
}

/// Somebody was refused that wanted to attach, or broke off.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct NodeRefused {
    node: String,
    address: String,
    code: String,
    reason: String,
}

/// The control stream of a node ended.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct NodeDetached {
    node: String,
    reason: String,
}

/// How far an attempt has come.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct AttemptProgress {
    transfer: String,
    attempt: u64,
    files_total: u64,
    files_done: u64,
    files_failed: u64,
    bytes_total: u64,
    bytes_received: u64,
    bytes_durable: u64,
    bytes_whole: Option<u64>,
    resent_bytes: u64,
    rate_bps: u64,
    streams: u32,
    limiter: String,
    listed: Option<bool>,
    source: AttemptSide,
    destination: AttemptSide,
}

/// What one node knows of an attempt besides counts.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
pub(crate) struct AttemptSide {
    flows: Vec<Flow>,
    stages: StageTimes,
    deleted: u64,
    looked_at: u64,
    durable_steps: u64,
    socket_memory: Option<SocketMemory>,
    device_written_bytes: Option<u64>,
}

/// What the kernel of a node says of the memory of TCP sockets.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
pub(crate) struct SocketMemory {
    prune_called: Option<u64>,
    receive_pruned: Option<u64>,
    early_pruned: Option<u64>,
    receive_collapsed: Option<u64>,
    receive_queue_drops: Option<u64>,
    memory_pressures: Option<u64>,
    aborts_on_memory: Option<u64>,
    zero_window_drops: Option<u64>,
    backlog_drops: Option<u64>,
    tcp_mem_pages: Vec<u64>,
    tcp_held_pages: Option<u64>,
    page_bytes: Option<u64>,
    group_limit_bytes: Option<u64>,
    group_held_bytes: Option<u64>,
    group_setting: String,
}

/// A data connection as the kernel of one end sees it.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
pub(crate) struct Flow {
    stream: u64,
    age_us: u64,
    congestion_control: String,
    rtt_us: u64,
    min_rtt_us: u64,
    receive_rtt_us: u64,
    cwnd_packets: u64,
    mss_bytes: u64,
    delivery_rate_bps: u64,
    pacing_rate_bps: u64,
    sent_packets: u64,
    retransmits: u64,
    reorderings: u64,
    busy_us: u64,
    rwnd_limited_us: u64,
    sndbuf_limited_us: u64,
    app_limited_us: u64,
    unsent_bytes: u64,
    send_window_bytes: u64,
    receive_window_bytes: u64,
    acknowledged_bytes: u64,
    received_bytes: u64,
    cpu_us: u64,
    cpu_wait_us: u64,
}

/// Time that threads of a node spent in each stage.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
#[expect(clippy::struct_field_names, reason = "the unit comes last")]
pub(crate) struct StageTimes {
    read_us: u64,
    hash_us: u64,
    send_us: u64,
    receive_us: u64,
    verify_us: u64,
    write_us: u64,
    commit_us: u64,
    ceiling_us: u64,
    share_us: u64,
    delete_us: u64,
}

/// An attempt is over on both nodes.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct AttemptEnded {
    transfer: String,
    attempt: u64,
    outcome: &'static str,
    code: String,
    message: String,
    node: String,
    retryable: bool,
    statements: Vec<String>,
    files_list: Option<String>,
    failed_list: Option<String>,
}

impl From<RootInfo> for NodeRoot {
    fn from(root: RootInfo) -> Self {
        let RootInfo {
            name,
            access,
            free_bytes,
            total_bytes,
        } = root;
        Self {
            name,
            access: access.as_str(),
            free_bytes,
            total_bytes,
        }
    }
}

impl From<Space> for RootSpace {
    fn from(space: Space) -> Self {
        let Space {
            name,
            free_bytes,
            total_bytes,
        } = space;
        Self {
            name,
            free_bytes,
            total_bytes,
        }
    }
}

impl From<Missing> for MissingRoot {
    fn from(Missing { name, reason }: Missing) -> Self {
        Self { name, reason }
    }
}

impl From<Side> for AttemptSide {
    fn from(side: Side) -> Self {
        let Side {
            flows,
            stages,
            deleted,
            looked_at,
            durable_steps,
            socket_memory,
            device_written_bytes,
        } = side;
        Self {
            flows: flows.into_iter().map(Flow::from).collect(),
            stages: StageTimes {
                read_us: stages.read_us,
                hash_us: stages.hash_us,
                send_us: stages.send_us,
                receive_us: stages.receive_us,
                verify_us: stages.verify_us,
                write_us: stages.write_us,
                commit_us: stages.commit_us,
                ceiling_us: stages.ceiling_us,
                share_us: stages.share_us,
                delete_us: stages.delete_us,
            },
            deleted,
            looked_at,
            durable_steps,
            socket_memory: socket_memory.map(SocketMemory::from),
            device_written_bytes,
        }
    }
}

impl From<KnownMemory> for SocketMemory {
    fn from(known: KnownMemory) -> Self {
        let KnownMemory { rises, limits } = known;
        Self {
            prune_called: rises.prune_called,
            receive_pruned: rises.receive_pruned,
            early_pruned: rises.early_pruned,
            receive_collapsed: rises.receive_collapsed,
            receive_queue_drops: rises.receive_queue_drops,
            memory_pressures: rises.memory_pressures,
            aborts_on_memory: rises.aborts_on_memory,
            zero_window_drops: rises.zero_window_drops,
            backlog_drops: rises.backlog_drops,
            tcp_mem_pages: limits.tcp_mem_pages,
            tcp_held_pages: limits.tcp_held_pages,
            page_bytes: limits.page_bytes,
            group_limit_bytes: limits.group_limit_bytes,
            group_held_bytes: limits.group_held_bytes,
            group_setting: limits.group_setting,
        }
    }
}

impl From<KnownFlow> for Flow {
    fn from(flow: KnownFlow) -> Self {
        Self {
            stream: flow.stream,
            age_us: flow.age_us,
            congestion_control: flow.congestion_control,
            rtt_us: flow.rtt_us,
            min_rtt_us: flow.min_rtt_us,
            receive_rtt_us: flow.receive_rtt_us,
            cwnd_packets: flow.cwnd_packets,
            mss_bytes: flow.mss_bytes,
            delivery_rate_bps: flow.delivery_rate_bps,
            pacing_rate_bps: flow.pacing_rate_bps,
            sent_packets: flow.sent_packets,
            retransmits: flow.retransmits,
            reorderings: flow.reorderings,
            busy_us: flow.busy_us,
            rwnd_limited_us: flow.rwnd_limited_us,
            sndbuf_limited_us: flow.sndbuf_limited_us,
            app_limited_us: flow.app_limited_us,
            unsent_bytes: flow.unsent_bytes,
            send_window_bytes: flow.send_window_bytes,
            receive_window_bytes: flow.receive_window_bytes,
            acknowledged_bytes: flow.acknowledged_bytes,
            received_bytes: flow.received_bytes,
            cpu_us: flow.cpu_us,
            cpu_wait_us: flow.cpu_wait_us,
        }
    }
}

impl From<Ended> for AttemptEnded {
    fn from(ended: Ended) -> Self {
        let (code, message, retryable) = ended.problem.map_or_else(Default::default, |problem| {
            (
                problem.code.into_owned(),
                problem.message,
                problem.retryable,
            )
        });
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        Self {
            transfer: ended.id.transfer.to_string(),
            attempt: ended.id.attempt,
            outcome: ended.outcome.as_str(),
            code,
            message,
            node: ended.node.map_or_else(String::new, |node| node.to_string()),
            retryable,
            statements: ended.statements,
            files_list: ended.files_list.map(path),
            failed_list: ended.failed_list.map(path),
        }
    }
}

/// The Python object of an event.
pub(crate) fn to_python(py: Python<'_>, event: HubEvent) -> PyResult<Py<PyAny>> {
    let roots = |roots: Vec<RootInfo>| roots.into_iter().map(NodeRoot::from).collect();
    match event {
        HubEvent::JoinRequested {
            request,
            secret,
            node,
            name,
            version,
            roots: declared,
        } => {
            let node = node.to_string();
            JoinRequested {
                request,
                secret,
                node,
                name,
                version,
                roots: roots(declared),
            }
            .into_py_any(py)
        }
        HubEvent::NodeAttached {
            node,
            version,
            roots: declared,
            missing_roots,
            data_addresses,
            clock_skew_ms,
        } => NodeAttached {
            node: node.to_string(),
            version,
            roots: roots(declared),
            missing_roots: missing_roots.into_iter().map(MissingRoot::from).collect(),
            accepts_connections: !data_addresses.is_empty(),
            data_addresses,
            clock_skew_ms,
        }
        .into_py_any(py),
        HubEvent::NodeSpace {
            node,
            roots: measured,
        } => NodeSpace {
            node: node.to_string(),
            roots: measured.into_iter().map(RootSpace::from).collect(),
        }
        .into_py_any(py),
        HubEvent::NodeRefused {
            node,
            from,
            problem,
        } => NodeRefused {
            node: node.map_or_else(String::new, |node| node.to_string()),
            address: from.map_or_else(String::new, |from| from.to_string()),
            code: problem.code.into_owned(),
            reason: problem.message,
        }
        .into_py_any(py),
        HubEvent::NodeDetached { node, reason } => NodeDetached {
            node: node.to_string(),
            reason,
        }
        .into_py_any(py),
        HubEvent::Progress(id, counts) => AttemptProgress {
            transfer: id.transfer.to_string(),
            attempt: id.attempt,
            files_total: counts.files_total,
            files_done: counts.files_done,
            files_failed: counts.files_failed,
            bytes_total: counts.bytes_total,
            bytes_received: counts.bytes_received,
            bytes_durable: counts.bytes_durable,
            bytes_whole: counts.bytes_whole,
            resent_bytes: counts.resent_bytes,
            rate_bps: counts.rate_bps,
            streams: counts.streams,
            limiter: counts.limiter,
            listed: counts.listed,
            source: counts.source.into(),
            destination: counts.own.into(),
        }
        .into_py_any(py),
        HubEvent::Ended(ended) => AttemptEnded::from(ended).into_py_any(py),
    }
}
