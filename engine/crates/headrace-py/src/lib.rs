//! The Python face of the engine: converts types and errors, decides nothing.

mod command;
mod error;
mod events;
mod hub;
mod node;

use pyo3::prelude::*;

/// `headrace.engine._native`.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::events::{AttemptEnded, AttemptProgress, JoinRequested, NodeAttached, NodeDetached, NodeRoot};
    #[pymodule_export]
    use crate::hub::{Hub, Listing, ListingEntry, Survey};
    #[pymodule_export]
    use crate::node::Node;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::add_to(module)?;
        crate::events::add_union_to(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
