//! What a hub tells: one frozen class for each event.

use headrace_node::convert::RootInfo;
use headrace_node::hub::{self, HubEvent};
use pyo3::prelude::*;

use crate::error::bad_argument;

/// A root as its node declares it.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct NodeRoot {
    name: String,
    access: &'static str,
    free_bytes: u64,
    total_bytes: u64,
}

/// A node presented a join token; answer with `Hub.answer_join`.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct JoinRequested {
    request: String,
    secret: String,
    node: String,
    name: String,
    version: String,
    roots: Vec<Py<NodeRoot>>,
}

/// An enrolled node opened its control stream. Sent again when its roots or addresses change.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct NodeAttached {
    node: String,
    version: String,
    roots: Vec<Py<NodeRoot>>,
    data_addresses: Vec<String>,
    accepts_connections: bool,
    clock_skew_ms: i64,
}

/// The control stream of a node ended.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct NodeDetached {
    node: String,
    reason: String,
}

/// How far an attempt has come, as its destination node counts it (about four times a second).
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
    resent_bytes: u64,
    rate_bps: u64,
    streams: u32,
    limiter: String,
}

/// An attempt is over on both nodes.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct AttemptEnded {
    transfer: String,
    attempt: u64,
    outcome: &'static str,
    code: String,
    message: String,
    retryable: bool,
    statements: Vec<String>,
    files_list: Option<String>,
    failed_list: Option<String>,
}

/// An event as its Python object.
pub(crate) fn event(py: Python<'_>, event: HubEvent) -> PyResult<Py<PyAny>> {
    match event {
        HubEvent::JoinRequested { request, secret, node, name, version, roots } => {
            let (node, roots) = (node.to_string(), node_roots(py, roots)?);
            object(py, JoinRequested { request, secret, node, name, version, roots })
        }
        HubEvent::NodeAttached { node, version, roots, data_addresses, clock_skew_ms } => {
            let (node, roots) = (node.to_string(), node_roots(py, roots)?);
            let accepts_connections = !data_addresses.is_empty();
            object(py, NodeAttached { node, version, roots, data_addresses, accepts_connections, clock_skew_ms })
        }
        HubEvent::NodeDetached { node, reason } => object(py, NodeDetached { node: node.to_string(), reason }),
        HubEvent::Progress(id, counts) => {
            let progress = AttemptProgress {
                transfer: id.transfer.to_string(),
                attempt: id.attempt,
                files_total: counts.files_total,
                files_done: counts.files_done,
                files_failed: counts.files_failed,
                bytes_total: counts.bytes_total,
                bytes_received: counts.bytes_received,
                bytes_durable: counts.bytes_durable,
                resent_bytes: counts.resent_bytes,
                rate_bps: counts.rate_bps,
                streams: counts.streams,
                limiter: counts.limiter,
            };
            object(py, progress)
        }
        HubEvent::Ended(ended) => object(py, attempt_ended(ended)?),
        _ => Err(bad_argument(&"an event of a later version")),
    }
}

/// Adds the union of the event classes, which annotations name.
pub(crate) fn add_union_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let classes = ["NodeAttached", "NodeDetached", "AttemptProgress", "AttemptEnded"];
    let mut union = module.getattr("JoinRequested")?;
    for class in classes {
        union = union.bitor(module.getattr(class)?)?;
    }
    module.add("HubEvent", union)
}

fn attempt_ended(ended: hub::AttemptEnded) -> PyResult<AttemptEnded> {
    let path = |path: Option<std::path::PathBuf>| {
        let text = path.map(|path| path.into_os_string().into_string());
        text.transpose().map_err(|_| bad_argument(&"the folder of results has a name that is not UTF-8"))
    };
    let (code, message, retryable) = match ended.problem {
        Some(problem) => (problem.code.into_owned(), problem.message, problem.retryable),
        None => (String::new(), String::new(), false),
    };
    Ok(AttemptEnded {
        transfer: ended.id.transfer.to_string(),
        attempt: ended.id.attempt,
        outcome: ended.outcome.as_str(),
        code,
        message,
        retryable,
        statements: ended.statements,
        files_list: path(ended.files_list)?,
        failed_list: path(ended.failed_list)?,
    })
}

fn node_roots(py: Python<'_>, roots: Vec<RootInfo>) -> PyResult<Vec<Py<NodeRoot>>> {
    let root = |root: RootInfo| {
        let RootInfo { name, access, free_bytes, total_bytes } = root;
        Py::new(py, NodeRoot { name, access: access.as_str(), free_bytes, total_bytes })
    };
    roots.into_iter().map(root).collect()
}

fn object<T: PyClass + Into<pyo3::PyClassInitializer<T>>>(py: Python<'_>, value: T) -> PyResult<Py<PyAny>> {
    Ok(Py::new(py, value)?.into_any())
}
