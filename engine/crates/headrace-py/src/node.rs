//! A node in this process, and the command line of the `headrace-node` program.

use std::path::PathBuf;

use headrace_node::node::Node as Inner;
use headrace_node::node::embedded::{Embedded, start};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::future_into_py;

use crate::error::raised;

/// A node inside this process (the embedded default).
#[pyclass(frozen, module = "headrace.engine._native")]
pub(crate) struct Node {
    inner: Mutex<Option<Inner>>,
    #[pyo3(get)]
    key: String,
}

#[pymethods]
impl Node {
    /// Join if need be, then stay attached.
    #[staticmethod]
    #[pyo3(signature = (*, state_dir, name, roots, data_listen = "127.0.0.1:0", join_token = None, hub_address = None))]
    fn start<'py>(
        py: Python<'py>,
        state_dir: PathBuf,
        name: String,
        roots: Vec<(String, PathBuf, String)>,
        data_listen: &str,
        join_token: Option<String>,
        hub_address: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let embedded = Embedded {
            state_dir,
            name,
            roots,
            data_listen: data_listen.to_owned(),
            join_token,
            hub_address,
        };
        future_into_py(py, async move {
            let inner = start(embedded).await.map_err(raised)?;
            Ok(Self {
                key: inner.key().to_string(),
                inner: Mutex::new(Some(inner)),
            })
        })
    }

    /// Stop attempts at the next unit or batch, and leave the hub.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.inner.lock().take();
        future_into_py(py, async move {
            if let Some(inner) = inner {
                inner.close().await;
            }
            Ok(())
        })
    }
}

/// Write what the engine logs in this process to standard error, one line each, from `level` on.
#[pyfunction]
pub(crate) fn log_to_stderr(level: &str) -> PyResult<()> {
    headrace_node::program::log_to_stderr(level).map_err(raised)
}

/// How `headrace` calls the part of the program that it passes these arguments on to.
fn called(arguments: &[String]) -> &'static str {
    match arguments.first().map(String::as_str) {
        Some("cp" | "keygen" | "receipt" | "lab") => "headrace",
        _ => "headrace node",
    }
}

/// The `headrace-node` program's command line in this process; returns the exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<String>) -> i32 {
    let name = called(&arguments);
    py.detach(|| headrace_node::program::main(Some(name), arguments))
}
