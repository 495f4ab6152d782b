//! The port on a file system below a [`Root`](crate::root::Root).

mod file_systems;
mod origin;
mod target;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use headrace_core::name::RelPath;

use super::{Origin, Storages, Target, Writing};
use crate::descriptors::Share;
use crate::root::Root;

pub use self::origin::PosixOrigin;
pub use self::target::PosixTarget;

/// The file system below each root.
#[derive(Debug, Clone, Copy)]
pub struct PosixStorages;

impl Storages for PosixStorages {
    fn origin(&self, root: &Arc<Root>, path: RelPath, share: Arc<Share>) -> Arc<dyn Origin> {
        Arc::new(PosixOrigin::new(Arc::clone(root), path, share))
    }

    fn target(&self, root: &Arc<Root>, writing: Writing) -> Arc<dyn Target> {
        Arc::new(PosixTarget::new(Arc::clone(root), writing))
    }
}

/// Read from `offset` until `bytes` is full or the file ends.
///
/// # Errors
/// What the kernel answers.
pub fn read_full(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
