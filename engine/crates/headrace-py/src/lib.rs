//! The Python face of the engine: converts types and errors, decides nothing.

mod error;
mod events;
mod hub;
mod listing;
mod node;

use pyo3::prelude::*;

/// `headrace.engine._native`.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::error::EngineError;
    #[pymodule_export]
    use crate::events::{
        AttemptEnded, AttemptProgress, AttemptSide, Flow, JoinRequested, MissingRoot, NodeAttached,
        NodeDetached, NodeRefused, NodeRoot, NodeSpace, RootSpace, SocketMemory, StageTimes,
    };
    #[pymodule_export]
    use crate::hub::{Hub, begin_hub_succession, check_links, check_share};
    #[pymodule_export]
    use crate::listing::{Listing, ListingEntry, Survey};
    #[pymodule_export]
    use crate::node::{Node, log_to_stderr, main};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
