//! The one exception of the engine.

use headrace_node::problem::{ControlCode, Problem};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    headrace.engine._native,
    EngineError,
    PyException,
    "Base of every error of the engine: `args[0]` is a sentence for people."
);

/// Adds the exception, with what its attributes are when nobody set them.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let exception = module.py().get_type::<EngineError>();
    exception.setattr("code", ControlCode::Internal.as_str())?;
    exception.setattr("retryable", false)?;
    module.add("EngineError", exception)
}

/// A problem as the exception that Python sees.
pub(crate) fn raise(problem: Problem) -> PyErr {
    Python::attach(|py| {
        let error = EngineError::new_err(problem.message);
        let value = error.value(py);
        let set = value.setattr("code", &*problem.code).and_then(|()| value.setattr("retryable", problem.retryable));
        set.map_or_else(|failure| failure, |()| error)
    })
}

/// An argument that can't be used.
pub(crate) fn bad_argument(detail: &impl std::fmt::Display) -> PyErr {
    raise(Problem::new(ControlCode::BadArgument, detail.to_string()))
}
