//! Finds out how a file system is best written to.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, Mode, OFlags, StatFs, openat};

use crate::buffer::{BUFFER_BYTES, BufferPool};
use crate::root::Root;
use crate::storage::Writing;

/// Pieces written in each way.
const PIECES: u64 = 8;
/// How often; the best counts, as whatever else the machine does only makes it slower.
const ROUNDS: usize = 3;
/// How many times as fast the page cache must be to be taken: it costs a copy of everything, and three times the processor time.
const CACHE_ADVANTAGE: u32 = 2;

/// What was found out so far, by device.
#[derive(Debug, Default)]
pub struct Probes {
    known: Mutex<HashMap<u64, Writing>>,
}

impl Probes {
    /// How large files are best written below this root. Asked for the first time on a file system, this writes some megabytes in either way
    /// into files without a name, and takes the page cache only if it is much faster; where it cannot, the answer is the page cache.
    #[must_use]
    pub fn writing(&self, root: &Root) -> Writing {
        let Ok(device) = root.device() else {
            return Writing::Buffered;
        };
        let mut known = self.known.lock();
        if let Some(writing) = known.get(&device) {
            return *writing;
        }
        let found = probe(root);
        // That one account may not write right below its root says nothing about the next one.
        if found.is_ok() || root.account().is_none() {
            known.insert(device, *found.as_ref().unwrap_or(&Writing::Buffered));
        }
        found.unwrap_or(Writing::Buffered)
    }
}

fn probe(root: &Root) -> io::Result<Writing> {
    // Memory takes the flag for direct writes, and then does nothing with it.
    if is_memory(&rustix::fs::fstatfs(root.acting()?)?) {
        return Ok(Writing::Buffered);
    }
    let (mut direct, mut buffered) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        direct = direct.min(time(root, OFlags::DIRECT)?);
        buffered = buffered.min(time(root, OFlags::empty())?);
    }
    tracing::info!(
        root = root.name(),
        ?direct,
        ?buffered,
        "probed how to write"
    );
    Ok(better(direct, buffered))
}

/// Whether a file system keeps its files in memory (tmpfs).
pub(crate) fn is_memory(file_system: &StatFs) -> bool {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    u64::try_from(file_system.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC)
}

/// What to take after writing the same in these times.
fn better(direct: Duration, buffered: Duration) -> Writing {
    if direct <= buffered.saturating_mul(CACHE_ADVANTAGE) {
        Writing::Direct
    } else {
        Writing::Buffered
    }
}

/// How long it takes until some pieces are durable.
fn time(root: &Root, flags: OFlags) -> io::Result<Duration> {
    let pool = BufferPool::new(BUFFER_BYTES);
    let buffer = pool
        .take(Duration::ZERO)
        .ok_or(io::ErrorKind::OutOfMemory)?;
    let mode = Mode::RUSR | Mode::WUSR;
    let here = root.acting()?;
    let file = openat(
        &here,
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
    fn the_page_cache_has_to_be_much_faster_to_be_taken() {
        let [fast, slow, slower] = [10, 19, 21].map(Duration::from_millis);
        assert_eq!(better(fast, slower), Writing::Direct);
        assert_eq!(better(slow, fast), Writing::Direct);
        assert_eq!(better(slower, fast), Writing::Buffered);
    }

    #[test]
    fn a_root_that_cannot_be_written_is_written_through_the_cache() {
        let root = Root::open("proc", Path::new("/proc"), Access::Write).expect("a root");
        assert_eq!(Probes::default().writing(&root), Writing::Buffered);
    }
}
