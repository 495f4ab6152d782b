//! Finds out how a file system is best written to.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use headrace_core::name::RelPath;
use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, Mode, OFlags, openat};

use crate::buffer::{BUFFER_BYTES, BufferPool};
use crate::root::Root;
use crate::storage::Writing;

/// Pieces written in each way.
const PIECES: u64 = 8;

/// What was found out so far, by device.
#[derive(Debug, Default)]
pub struct Probes {
    known: Mutex<HashMap<u64, Writing>>,
}

impl Probes {
    /// How large files are best written below this root. Asked for the first time on a file system, this writes a few megabytes
    /// in either way into files without a name and takes the faster one; where it cannot, the answer is the page cache.
    #[must_use]
    pub fn writing(&self, root: &Root) -> Writing {
        let Ok(stat) = root.dir(&RelPath::root()).and_then(|dir| dir.stat()) else {
            return Writing::Buffered;
        };
        let mut known = self.known.lock();
        *known
            .entry(stat.st_dev)
            .or_insert_with(|| probe(root).unwrap_or(Writing::Buffered))
    }
}

fn probe(root: &Root) -> io::Result<Writing> {
    // It takes the flag for direct writes, and then does nothing with it.
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    if u64::try_from(rustix::fs::fstatfs(root)?.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC) {
        return Ok(Writing::Buffered);
    }
    let direct = time(root, OFlags::DIRECT)?;
    let buffered = time(root, OFlags::empty())?;
    tracing::info!(
        root = root.name(),
        ?direct,
        ?buffered,
        "probed how to write"
    );
    Ok(if direct < buffered {
        Writing::Direct
    } else {
        Writing::Buffered
    })
}

/// How long it takes until some pieces are durable.
fn time(root: &Root, flags: OFlags) -> io::Result<Duration> {
    let pool = BufferPool::new(BUFFER_BYTES);
    let buffer = pool
        .take(Duration::ZERO)
        .ok_or(io::ErrorKind::OutOfMemory)?;
    let mode = Mode::RUSR | Mode::WUSR;
    let file = openat(
        root,
        ".",
        OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC | flags,
        mode,
    )?;
    rustix::fs::fallocate(
        &file,
        FallocateFlags::empty(),
        0,
        PIECES * BUFFER_BYTES as u64,
    )?;
    let file = std::fs::File::from(file);
    let start = Instant::now();
    for piece in 0..PIECES {
        std::os::unix::fs::FileExt::write_all_at(&file, &buffer, piece * BUFFER_BYTES as u64)?;
    }
    file.sync_data()?;
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use headrace_core::access::Access;

    use super::*;

    #[test]
    fn memory_is_not_written_past_its_cache() {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            let root = Root::open("memory", memory, Access::Write).expect("a root");
            assert_eq!(Probes::default().writing(&root), Writing::Buffered);
        }
    }

    #[test]
    fn a_root_that_cannot_be_written_is_written_through_the_cache() {
        let root = Root::open("proc", Path::new("/proc"), Access::Write).expect("a root");
        assert_eq!(Probes::default().writing(&root), Writing::Buffered);
    }
}
