//! The service's side of the control plane.

use std::path::PathBuf;
use std::sync::Arc;

use headrace_core::name::{Component, RelPath};
use headrace_core::sealed::PublicKey;
use headrace_core::ticket::Execution;
use headrace_core::value::Id;
use headrace_node::hub::{self, HubOptions, JoinAnswer, Surveyed};
use headrace_node::problem::Problem;
use headrace_node::transport::system_clock;
use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::future_into_py;

use crate::error::{bad_argument, raise};
use crate::events::event;

/// One name in a folder; `name` is escaped as in sealed documents.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct ListingEntry {
    name: String,
    kind: &'static str,
    size: u64,
    mtime_ns: i128,
}

/// One page of a folder.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct Listing {
    entries: Vec<Py<ListingEntry>>,
    next_after: Option<String>,
}

/// What an intent would touch, merged from both nodes' listings.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct Survey {
    source_kind: &'static str,
    files: u64,
    bytes: u64,
    directories: u64,
    symlinks: u64,
    identical_files: u64,
    excluded_files: u64,
    skipped_special: u64,
    conflicts: u64,
    overwrites: u64,
    overwritten_bytes: u64,
    overwrites_digest: String,
    deletes: u64,
    deleted_bytes: u64,
    deletes_digest: String,
    destination_files: u64,
    destination_free_bytes: u64,
    case_collisions: u64,
    largest_file_bytes: u64,
    destination_exists: bool,
    sample: Vec<String>,
    overwrites_sample: Vec<String>,
    deletes_sample: Vec<String>,
    conflicts_sample: Vec<String>,
}

/// The service's side of the control plane: nodes dial it and stay attached (gRPC over mutual TLS).
#[pyclass(frozen, module = "headrace.engine._native")]
pub(crate) struct Hub(Arc<hub::Hub>);

#[pymethods]
impl Hub {
    /// Listen on `listen` (host:port, port 0 picks one) with the key kept in `state_dir` (made on first start).
    #[staticmethod]
    #[pyo3(signature = (*, listen, state_dir, max_nodes = 256))]
    fn start(py: Python<'_>, listen: String, state_dir: PathBuf, max_nodes: usize) -> PyResult<Bound<'_, PyAny>> {
        let options = HubOptions { listen: Some(listen), state_dir, max_nodes, clock: system_clock() };
        future_into_py(py, async move {
            let hub = hub::Hub::start(options).await.map_err(raise)?;
            Ok(Self(Arc::new(hub)))
        })
    }

    /// The address it listens on.
    #[getter]
    fn address(&self) -> &str {
        self.0.address()
    }

    /// Public key of the hub's TLS identity, pinned in join tokens.
    #[getter]
    fn key(&self) -> String {
        self.0.key().to_string()
    }

    /// Text of a join token: the address to dial (default: `self.address`), the hub's key and `secret`.
    #[pyo3(signature = (*, secret, address = None))]
    fn join_token(&self, secret: &str, address: Option<&str>) -> String {
        self.0.join_token(secret, address).to_string()
    }

    /// Let the node with this key attach.
    fn enroll(&self, node: &str) -> PyResult<()> {
        self.0.enroll(key(node)?);
        Ok(())
    }

    /// Detach the node and refuse it from now on; its attempts stop.
    fn revoke(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        let (hub, node) = (Arc::clone(&self.0), key(node)?);
        // It waits for the disk only.
        py.detach(|| pyo3_async_runtimes::tokio::get_runtime().block_on(hub.revoke(node))).map_err(raise)
    }

    /// The next event in order; `None` once the hub is closed.
    fn next_event<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let hub = Arc::clone(&self.0);
        future_into_py(py, async move {
            match hub.next_event().await {
                Some(next) => Python::attach(|py| event(py, next)).map(Some),
                None => Ok(None),
            }
        })
    }

    /// Accept (pins the ticket `authority`'s public key on the node) or refuse a join.
    #[pyo3(signature = (request, *, accepted, reason = String::new(), authority = ""))]
    fn answer_join<'py>(
        &self,
        py: Python<'py>,
        request: String,
        accepted: bool,
        reason: String,
        authority: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let answer = if accepted {
            JoinAnswer::Accept { authority: key(authority)? }
        } else {
            JoinAnswer::Refuse { reason }
        };
        let hub = Arc::clone(&self.0);
        future_into_py(py, async move { hub.answer_join(&request, answer).map_err(raise) })
    }

    /// List one folder (escaped components below the root, inside the permit's prefix); at most 1,000 entries a page.
    #[pyo3(signature = (*, permit, path, after, limit))]
    fn browse<'py>(
        &self,
        py: Python<'py>,
        permit: String,
        path: Vec<String>,
        after: Option<String>,
        limit: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let path = RelPath::from_escaped(path.iter().map(String::as_str)).map_err(|error| bad_argument(&error))?;
        let after = after.map(|name| Component::from_escaped(&name)).transpose().map_err(|error| bad_argument(&error))?;
        let hub = Arc::clone(&self.0);
        future_into_py(py, async move {
            let page = hub.browse(&permit, &path, after.as_ref(), limit).await.map_err(raise)?;
            Python::attach(|py| listing(py, page))
        })
    }

    /// Merge both listings under the draft `execution` (JSON; list digests and ceilings are ignored); writes
    /// overwrites.jsonl and deletes.jsonl into `lists_dir`.
    #[pyo3(signature = (*, source_permit, destination_permit, execution, lists_dir))]
    fn survey<'py>(
        &self,
        py: Python<'py>,
        source_permit: String,
        destination_permit: String,
        execution: &str,
        lists_dir: PathBuf,
    ) -> PyResult<Bound<'py, PyAny>> {
        let execution = Execution::from_json(execution).map_err(|error| bad_argument(&error))?;
        let hub = Arc::clone(&self.0);
        future_into_py(py, async move {
            let surveyed = hub.survey(&source_permit, &destination_permit, &execution, &lists_dir).await;
            surveyed.map(survey).map_err(raise)
        })
    }

    /// Send the ticket and its lists to its nodes. Progress and end arrive as events; result lists are written into
    /// `result_dir`.
    #[pyo3(signature = (*, ticket, lists_dir, result_dir))]
    fn start_attempt<'py>(
        &self,
        py: Python<'py>,
        ticket: String,
        lists_dir: PathBuf,
        result_dir: PathBuf,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, async move |hub| hub.start_attempt(&ticket, &lists_dir, &result_dir).await)
    }

    /// Hand a renewed ticket of a running attempt to its nodes.
    #[pyo3(signature = (*, ticket))]
    fn renew<'py>(&self, py: Python<'py>, ticket: String) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, async move |hub| hub.renew(&ticket).await)
    }

    /// Change the rate ceiling of a running attempt; never above the ticket's own.
    #[pyo3(signature = (*, transfer, rate_bps))]
    fn set_rate<'py>(&self, py: Python<'py>, transfer: &str, rate_bps: Option<u64>) -> PyResult<Bound<'py, PyAny>> {
        let transfer = id(transfer)?;
        self.call(py, async move |hub| hub.set_rate(&transfer, rate_bps).await)
    }

    /// Stop at the next unit or batch and keep the journal.
    #[pyo3(signature = (*, transfer, reason))]
    fn stop_attempt<'py>(&self, py: Python<'py>, transfer: &str, reason: String) -> PyResult<Bound<'py, PyAny>> {
        let transfer = id(transfer)?;
        self.call(py, async move |hub| hub.stop_attempt(&transfer, &reason).await)
    }

    /// Tell the nodes that no attempt of this transfer will follow: temporaries and journal are removed.
    #[pyo3(signature = (*, transfer))]
    fn forget<'py>(&self, py: Python<'py>, transfer: &str) -> PyResult<Bound<'py, PyAny>> {
        let transfer = id(transfer)?;
        self.call(py, async move |hub| hub.forget(&transfer).await)
    }

    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let hub = Arc::clone(&self.0);
        future_into_py(py, async move {
            hub.close().await;
            Ok(())
        })
    }
}

impl Hub {
    /// An awaitable of something that gives nothing back.
    fn call<'py, F>(
        &self,
        py: Python<'py>,
        run: impl FnOnce(Arc<hub::Hub>) -> F + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        F: Future<Output = Result<(), Problem>> + Send + 'static,
    {
        let hub = Arc::clone(&self.0);
        future_into_py(py, async move { run(hub).await.map_err(raise) })
    }
}

fn listing(py: Python<'_>, page: hub::Page) -> PyResult<Listing> {
    let next_after = if page.more { page.entries.last().map(|entry| entry.path.escaped()) } else { None };
    let entry = |entry: headrace_core::entry::Entry| {
        let name = entry.path.escaped();
        Py::new(py, ListingEntry { name, kind: entry.kind.as_str(), size: entry.size, mtime_ns: entry.mtime_ns })
    };
    Ok(Listing { entries: page.entries.into_iter().map(entry).collect::<PyResult<_>>()?, next_after })
}

fn survey(surveyed: Surveyed) -> Survey {
    let headrace_core::survey::Survey { counts, overwrites, deletes } = surveyed.survey;
    let names = |paths: Vec<RelPath>| paths.iter().map(RelPath::escaped).collect();
    Survey {
        source_kind: surveyed.source_kind.as_str(),
        files: counts.files,
        bytes: counts.bytes,
        directories: counts.directories,
        symlinks: counts.symlinks,
        identical_files: counts.identical_files,
        excluded_files: counts.excluded_files,
        skipped_special: counts.skipped_special,
        conflicts: counts.conflicts,
        overwrites: overwrites.count,
        overwritten_bytes: counts.overwritten_bytes,
        overwrites_digest: overwrites.digest.to_string(),
        deletes: deletes.count,
        deleted_bytes: counts.deleted_bytes,
        deletes_digest: deletes.digest.to_string(),
        destination_files: counts.destination_files,
        destination_free_bytes: surveyed.destination_free_bytes,
        case_collisions: counts.case_collisions,
        largest_file_bytes: counts.largest_file_bytes,
        destination_exists: surveyed.destination_exists,
        sample: names(counts.sample),
        overwrites_sample: names(counts.overwrites_sample),
        deletes_sample: names(counts.deletes_sample),
        conflicts_sample: names(counts.conflicts_sample),
    }
}

fn key(text: &str) -> PyResult<PublicKey> {
    text.parse().map_err(|error| bad_argument(&error))
}

fn id(text: &str) -> PyResult<Id> {
    text.parse().map_err(|error| bad_argument(&error))
}
