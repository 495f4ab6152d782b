//! Work that waits for the disk, out of the way of what waits for the network.

use crate::problem::{ControlCode, Problem};

/// Runs what waits for the disk, beside the tasks.
pub(crate) async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(run).await;
    done.map_err(|error| Problem::new(ControlCode::Internal, error.to_string()))
}
