//! The one exception of the engine, with a stable code.

use std::fmt::Display;

use headrace_node::problem::{ControlCode, Problem};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    headrace.engine,
    EngineError,
    PyException,
    "Base of every error of the engine: `args[0]` is a sentence for people."
);

/// The exception for a problem.
pub(crate) fn raised(problem: Problem) -> PyErr {
    Python::attach(|py| {
        let Problem {
            code,
            message,
            retryable,
        } = problem;
        let error = EngineError::new_err(message);
        let value = error.value(py);
        let filled = value
            .setattr("code", code.as_ref())
            .and_then(|()| value.setattr("retryable", retryable));
        filled.err().unwrap_or(error)
    })
}

/// The exception for an argument that is not of the form it should be.
pub(crate) fn bad_argument(what: &str, detail: impl Display) -> PyErr {
    raised(Problem::new(
        ControlCode::BadArgument,
        format!("{what}: {detail}"),
    ))
}
