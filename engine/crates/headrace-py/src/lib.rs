//! The Python face of the engine: converts types and errors, decides nothing.
use pyo3::prelude::*;

/// `headrace.engine._native`.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
