//! What a probe reads and writes: content that is made, a part of what is there, writing that is dropped, files that never get a name.
//!
//! Nothing here changes a name of a storage, and nothing stays when the process is killed. [`origin`] and [`target`] choose by the leg of
//! a sealed ticket; a data plane hands them the storage that the root has.

mod read;
mod write;

use std::sync::Arc;

use headrace_core::name::RelPath;
use headrace_core::ticket::{Execution, Medium};

use super::{Origin, Target};

/// Bytes of a file that is made.
pub const MADE_FILE_BYTES: u64 = 64 << 20;

/// What a leg reads that reads from `medium`, where `storage` is what is at the source of its plan.
#[must_use]
pub fn origin(medium: Medium, execution: &Execution, storage: Arc<dyn Origin>) -> Arc<dyn Origin> {
    match medium {
        Medium::Memory => Arc::new(read::Made::new(execution.max_files, execution.max_bytes)),
        Medium::Storage => Arc::new(read::Excerpt::new(
            storage,
            execution.max_files,
            execution.max_bytes,
        )),
    }
}

/// Where a leg writes that writes to `medium`, below a root whose storage is `storage`; `folder` is the destination of its plan.
#[must_use]
pub fn target(medium: Medium, folder: &RelPath, storage: Arc<dyn Target>) -> Arc<dyn Target> {
    match medium {
        Medium::Memory => Arc::new(write::Dropping),
        Medium::Storage => Arc::new(write::Nameless::new(storage, folder.clone())),
    }
}
