//! The service's side of the control plane.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headrace_core::name::{Component, RelPath};
use headrace_core::sealed::PublicKey;
use headrace_core::shares::{Links, TransferShare};
use headrace_core::succession::Succession;
use headrace_core::ticket::Execution;
use headrace_core::value::{Id, Timestamp};
use headrace_core::wishes::Wishes;
use headrace_node::convert::AttemptId;
use headrace_node::hub::keys::begin_succession;
use headrace_node::hub::{Hub as Inner, HubOptions, JoinAnswer};
use headrace_node::problem::{ControlCode, Problem};
use headrace_node::state::StateDir;
use headrace_node::transport::system_clock;
use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::{future_into_py, get_runtime};

use crate::error::{bad_argument, raised};
use crate::events::to_python;
use crate::listing::{Listing, Survey};

/// Most events that are handed over in one go.
const MAX_EVENTS_AT_ONCE: usize = 256;

type Awaitable<'py> = PyResult<Bound<'py, PyAny>>;

/// The service's side of the control plane: nodes dial it and stay attached (gRPC over mutual TLS).
#[pyclass(frozen, module = "headrace.engine._native")]
pub(crate) struct Hub {
    inner: Arc<Inner>,
    #[pyo3(get)]
    address: String,
    #[pyo3(get)]
    key: String,
}

#[pymethods]
impl Hub {
    /// Listen on `listen` with the key kept in `state_dir`; nodes with the keys `enrolled` may attach at once.
    #[staticmethod]
    #[pyo3(signature = (*, listen, state_dir, max_nodes = 256, enrolled = Vec::new()))]
    fn start(
        py: Python<'_>,
        listen: String,
        state_dir: PathBuf,
        max_nodes: usize,
        enrolled: Vec<String>,
    ) -> Awaitable<'_> {
        let enrolled = enrolled
            .into_iter()
            .map(|key| node_key(&key))
            .collect::<PyResult<_>>()?;
        future_into_py(py, async move {
            let options = HubOptions {
                listen: Some(listen),
                state_dir,
                max_nodes,
                enrolled,
                clock: system_clock(),
            };
            let inner = Inner::start(options).await.map_err(raised)?;
            Ok(Self {
                address: inner.address().to_owned(),
                key: inner.key().to_string(),
                inner: Arc::new(inner),
            })
        })
    }

    /// Text of a join token.
    #[pyo3(signature = (*, secret, address = None))]
    fn join_token(&self, secret: &str, address: Option<&str>) -> String {
        self.inner.join_token(secret, address).to_string()
    }

    /// Which key comes after the hub's own, as JSON, while there is one.
    #[getter]
    fn succession(&self) -> Option<String> {
        self.inner.succession().map(json)
    }

    /// Tell nodes that attach from now on which keys came after which (sealed documents).
    #[pyo3(signature = (*, successions, hub_succession = String::new()))]
    fn announce(&self, successions: Vec<String>, hub_succession: String) {
        self.inner.announce(successions, hub_succession);
    }

    /// Let the node with this key attach.
    fn enroll(&self, node: &str) -> PyResult<()> {
        self.inner.enroll(node_key(node)?);
        Ok(())
    }

    /// Detach the node and refuse it from now on; its attempts stop.
    fn revoke(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        let node = node_key(node)?;
        // Detaching spawns tasks, so it needs the runtime around it.
        py.detach(|| {
            let _runtime = get_runtime().enter();
            self.inner.revoke(node);
        });
        Ok(())
    }

    /// The events that wait, in order; none once the hub is closed.
    fn next_events<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        let inner = Arc::clone(&self.inner);
        future_into_py(py, async move {
            let events = inner.next_events(MAX_EVENTS_AT_ONCE).await;
            Python::attach(|py| {
                let events = events.into_iter().map(|event| to_python(py, event));
                events.collect::<PyResult<Vec<_>>>()
            })
        })
    }

    /// Accept (pins the ticket `authority`'s public key on the node) or refuse a join.
    #[pyo3(signature = (request, *, accepted, reason = "", authority = ""))]
    fn answer_join<'py>(
        &self,
        py: Python<'py>,
        request: String,
        accepted: bool,
        reason: &str,
        authority: &str,
    ) -> Awaitable<'py> {
        let answer = if accepted {
            let authority = authority
                .parse()
                .map_err(|error| bad_argument("authority", error))?;
            JoinAnswer::Accept { authority }
        } else {
            JoinAnswer::Refuse {
                reason: reason.to_owned(),
            }
        };
        let inner = Arc::clone(&self.inner);
        future_into_py(py, async move {
            inner.answer_join(&request, answer).map_err(raised)
        })
    }

    /// List one folder.
    #[pyo3(signature = (*, permit, path, after, limit))]
    fn browse<'py>(
        &self,
        py: Python<'py>,
        permit: String,
        path: Vec<String>,
        after: Option<String>,
        limit: usize,
    ) -> Awaitable<'py> {
        let path = folder(path)?;
        let after = after
            .map(|name| Component::from_escaped(&name))
            .transpose()
            .map_err(|error| bad_argument("after", error))?;
        let inner = Arc::clone(&self.inner);
        future_into_py(py, async move {
            let page = inner
                .browse(&permit, &path, after.as_ref(), limit)
                .await
                .map_err(raised)?;
            Ok(Listing::from(page))
        })
    }

    /// What a node's host says of itself, as JSON.
    #[pyo3(signature = (*, node, to))]
    fn look_at_host<'py>(&self, py: Python<'py>, node: &str, to: Option<&str>) -> Awaitable<'py> {
        let to = to
            .map(str::parse)
            .transpose()
            .map_err(|error| bad_argument("to", error))?;
        let (inner, node) = (Arc::clone(&self.inner), node_key(node)?);
        future_into_py(py, async move {
            inner.look_at_host(node, to).await.map_err(raised)
        })
    }

    /// Let an attached node write something to its log.
    #[pyo3(signature = (*, node, text))]
    fn notice(&self, node: &str, text: &str) -> PyResult<()> {
        self.inner.notice(node_key(node)?, text);
        Ok(())
    }

    /// Let a node empty its trashes of what was to be kept until a time that has come for sure.
    #[pyo3(signature = (*, node, until_ms))]
    fn empty_trash<'py>(&self, py: Python<'py>, node: &str, until_ms: i64) -> Awaitable<'py> {
        let (inner, node) = (Arc::clone(&self.inner), node_key(node)?);
        let until = Timestamp::from_unix_ms(until_ms);
        future_into_py(py, async move {
            inner.empty_trash(node, until).await.map_err(raised)
        })
    }

    /// Merge both listings under the draft `execution`.
    #[pyo3(signature = (*, source_permit, destination_permit, execution, lists_dir))]
    fn survey<'py>(
        &self,
        py: Python<'py>,
        source_permit: String,
        destination_permit: String,
        execution: &str,
        lists_dir: PathBuf,
    ) -> Awaitable<'py> {
        let execution: Execution =
            serde_json::from_str(execution).map_err(|error| bad_argument("execution", error))?;
        let inner = Arc::clone(&self.inner);
        future_into_py(py, async move {
            let surveyed = inner
                .survey(&source_permit, &destination_permit, &execution, &lists_dir)
                .await;
            surveyed.map(Survey::from).map_err(raised)
        })
    }

    /// Send the ticket and its lists to its nodes.
    #[pyo3(signature = (*, ticket, lists_dir, result_dir, share, streams=None, unit_bytes=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a call from Python")]
    fn start_attempt<'py>(
        &self,
        py: Python<'py>,
        ticket: String,
        lists_dir: PathBuf,
        result_dir: PathBuf,
        share: String,
        streams: Option<u32>,
        unit_bytes: Option<u64>,
    ) -> Awaitable<'py> {
        let inner = Arc::clone(&self.inner);
        let wishes = Wishes::new(streams, unit_bytes)
            .map_err(|wrong| raised(Problem::new(ControlCode::BadArgument, wrong)))?;
        future_into_py(py, async move {
            let folders: (&Path, &Path) = (&lists_dir, &result_dir);
            inner
                .start_attempt(&ticket, folders, &share, wishes)
                .await
                .map_err(raised)
        })
    }

    /// Hand a renewed ticket of a running attempt to its nodes.
    #[pyo3(signature = (*, ticket))]
    fn renew<'py>(&self, py: Python<'py>, ticket: String) -> Awaitable<'py> {
        let inner = Arc::clone(&self.inner);
        future_into_py(
            py,
            async move { inner.renew(&ticket).await.map_err(raised) },
        )
    }

    /// Change the rate ceiling of a running attempt.
    #[pyo3(signature = (*, transfer, rate_bps))]
    fn set_rate<'py>(
        &self,
        py: Python<'py>,
        transfer: &str,
        rate_bps: Option<u64>,
    ) -> Awaitable<'py> {
        let (inner, transfer) = (Arc::clone(&self.inner), id(transfer)?);
        future_into_py(py, async move {
            inner.set_rate(&transfer, rate_bps).await.map_err(raised)
        })
    }

    /// Replace the links that a node schedules.
    #[pyo3(signature = (*, node, shares))]
    fn set_shares<'py>(&self, py: Python<'py>, node: &str, shares: String) -> Awaitable<'py> {
        let (inner, node) = (Arc::clone(&self.inner), node_key(node)?);
        future_into_py(py, async move {
            inner.set_shares(node, &shares).await.map_err(raised)
        })
    }

    /// Change the share of links of a running attempt.
    #[pyo3(signature = (*, transfer, share))]
    fn set_share<'py>(&self, py: Python<'py>, transfer: &str, share: String) -> Awaitable<'py> {
        let (inner, transfer) = (Arc::clone(&self.inner), id(transfer)?);
        future_into_py(py, async move {
            inner.set_share(&transfer, &share).await.map_err(raised)
        })
    }

    /// Stop at the next unit or batch and keep the journal.
    #[pyo3(signature = (*, transfer, reason))]
    fn stop_attempt<'py>(&self, py: Python<'py>, transfer: &str, reason: String) -> Awaitable<'py> {
        let (inner, transfer) = (Arc::clone(&self.inner), id(transfer)?);
        future_into_py(py, async move {
            inner.stop_attempt(&transfer, &reason).await.map_err(raised)
        })
    }

    /// The end of this attempt is stored: it is not told again.
    #[pyo3(signature = (*, transfer, attempt))]
    fn acknowledge<'py>(&self, py: Python<'py>, transfer: &str, attempt: u64) -> Awaitable<'py> {
        let (inner, transfer) = (Arc::clone(&self.inner), id(transfer)?);
        future_into_py(py, async move {
            let attempt = AttemptId { transfer, attempt };
            inner.acknowledge(&attempt).await.map_err(raised)
        })
    }

    /// Tell the nodes that no attempt of this transfer will follow.
    #[pyo3(signature = (*, transfer, nodes))]
    fn forget<'py>(&self, py: Python<'py>, transfer: &str, nodes: Vec<String>) -> Awaitable<'py> {
        let (inner, transfer) = (Arc::clone(&self.inner), id(transfer)?);
        let nodes = nodes.into_iter().map(|node| node_key(&node));
        let nodes = nodes.collect::<PyResult<Vec<_>>>()?;
        future_into_py(py, async move {
            inner.forget(&transfer, &nodes).await.map_err(raised)
        })
    }

    /// Close every connection and end the events.
    fn close<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        let inner = Arc::clone(&self.inner);
        future_into_py(py, async move {
            inner.close().await;
            Ok(())
        })
    }
}

/// Let another key come after that of a hub that does not run; which, as JSON.
#[pyfunction]
#[pyo3(signature = (*, state_dir, overlap_ms))]
#[expect(clippy::needless_pass_by_value, reason = "as Python hands it over")]
pub(crate) fn begin_hub_succession(state_dir: PathBuf, overlap_ms: i64) -> PyResult<String> {
    let from = system_clock()();
    let begun = StateDir::open(&state_dir)
        .and_then(|state| begin_succession(&state, from, from.plus_ms(overlap_ms)));
    begun.map(|said| json(&said)).map_err(raised)
}

/// Refuse a text of links that no node takes.
#[pyfunction]
pub(crate) fn check_links(text: &str) -> PyResult<()> {
    Links::parse(text).map_err(Problem::from).map_err(raised)?;
    Ok(())
}

/// Refuse a text of a transfer's share that no node takes.
#[pyfunction]
pub(crate) fn check_share(text: &str) -> PyResult<()> {
    TransferShare::parse(text)
        .map_err(Problem::from)
        .map_err(raised)?;
    Ok(())
}

fn json(said: &Succession) -> String {
    serde_json::json!(said).to_string()
}

fn node_key(text: &str) -> PyResult<PublicKey> {
    text.parse().map_err(|error| bad_argument("node", error))
}

fn id(text: &str) -> PyResult<Id> {
    text.parse()
        .map_err(|error| bad_argument("transfer", error))
}

fn folder(names: Vec<String>) -> PyResult<RelPath> {
    let names: Result<Vec<Component>, _> = names
        .into_iter()
        .map(|name| Component::from_escaped(&name))
        .collect();
    let names = names.map_err(|error| bad_argument("path", error))?;
    RelPath::from_components(names.iter().map(Component::as_bytes))
        .map_err(|error| bad_argument("path", error))
}
