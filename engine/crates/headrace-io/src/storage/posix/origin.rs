//! Reading below a root.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::entry::Entry;
use headrace_core::name::RelPath;
use parking_lot::Mutex;
use rustix::fs::{Advice, AtFlags, SeekFrom, unlinkat};
use rustix::io::Errno;

use super::read_full;
use crate::descriptors::Share;
use crate::root::{Dir, Root, entry_now};
use crate::storage::{Listing, Origin, Reader, Removal};
use crate::version::is_still;
use crate::walk::{Walk, WalkLimits, walk};

/// Most folder handles kept, and the part of a share that they may take.
const MAX_DIRS: usize = 256;
const OF_SHARE: usize = 8;
/// Bytes of a block as `stat` counts them.
const STAT_BLOCK_BYTES: u64 = 512;

/// What is at one path below a root.
#[derive(Debug)]
pub struct PosixOrigin {
    root: Arc<Root>,
    start: RelPath,
    share: Arc<Share>,
    /// Handles of the folders that were used last, by their path below `start`.
    kept: Mutex<HashMap<Box<[u8]>, Arc<Dir>>>,
}

/// A folder, and a name in it.
type InFolder<'a> = (Arc<Dir>, &'a [u8]);

impl PosixOrigin {
    /// Read what is at `start` below `root`, with at most a `share` of descriptors held.
    #[must_use]
    pub fn new(root: Arc<Root>, start: RelPath, share: Arc<Share>) -> Self {
        Self {
            root,
            start,
            share,
            kept: Mutex::default(),
        }
    }

    /// Where an entry is; `None` for the root itself, which no folder here holds.
    fn above<'a>(&'a self, path: &'a RelPath) -> io::Result<Option<InFolder<'a>>> {
        let Some(name) = path.file_name() else {
            let above = self.start.parent().zip(self.start.file_name());
            let open = |(above, name)| Ok((Arc::new(self.root.dir(&above)?), name));
            return above.map(open).transpose();
        };
        let above = path.parent_bytes();
        if let Some(dir) = self.kept.lock().get(above) {
            return Ok(Some((Arc::clone(dir), name)));
        }
        let full = self.start.join_path(path).map_err(io::Error::other)?;
        let dir = Arc::new(self.root.dir(&full.parent().unwrap_or_default())?);
        let mut kept = self.kept.lock();
        if kept.len() >= MAX_DIRS.min(self.share.count() / OF_SHARE) {
            // The walk goes through folders one after the other, so what was kept is mostly done with.
            kept.clear();
        }
        kept.insert(above.into(), Arc::clone(&dir));
        Ok(Some((dir, name)))
    }
}

impl Origin for PosixOrigin {
    fn list<'a>(&'a self, limits: WalkLimits<'a>) -> Box<dyn Listing + 'a> {
        Box::new(walk(&self.root, &self.start, limits))
    }

    fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        let found = match self.above(path) {
            Ok(Some((dir, name))) => dir.entry_now(name, path.clone()),
            Ok(None) => self.root.entry(&RelPath::root()),
            Err(error) => Err(error),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found,
        }
    }

    fn open(&self, path: &RelPath) -> io::Result<Option<Arc<dyn Reader>>> {
        let Some((dir, name)) = self.above(path)? else {
            return Ok(None);
        };
        match dir.open_unseen(name) {
            Ok(file) => Ok(Some(Arc::new(PosixReader(file)))),
            // A symlink stands there, or there is no folder any more where one was.
            Err(error)
                if error.kind() == io::ErrorKind::NotADirectory
                    || Errno::from_io_error(&error) == Some(Errno::LOOP) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn remove_if(&self, then: &Entry) -> io::Result<Removal> {
        let Some((dir, name)) = self.above(&then.path)? else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        match dir.entry_now(name, then.path.clone())? {
            Some(now) if is_unchanged(&now, then) => {
                unlinkat(dir.acting()?, name, AtFlags::empty())?;
                Ok(Removal::Gone)
            }
            Some(_) => Ok(Removal::Changed),
            None => Ok(Removal::Absent),
        }
    }

    fn remove_folder(&self, path: &RelPath) -> io::Result<()> {
        match self.above(path)? {
            Some((dir, name)) => Ok(unlinkat(dir.acting()?, name, AtFlags::REMOVEDIR)?),
            None => Err(io::ErrorKind::ResourceBusy.into()),
        }
    }
}

impl Listing for Walk<'_> {
    fn prune(&mut self) {
        Self::prune(self);
    }
}

#[derive(Debug)]
struct PosixReader(File);

impl Reader for PosixReader {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        read_full(&self.0, bytes, offset)
    }

    fn still(&self, then: &Entry) -> io::Result<Option<Sparse>> {
        let (now, blocks) = entry_now(&self.0)?;
        let sparse = if blocks.saturating_mul(STAT_BLOCK_BYTES) < now.size {
            Sparse::Yes
        } else {
            Sparse::No
        };
        let same = now.kind == then.kind && is_still(&now.version, &then.version);
        Ok(same.then_some(sparse))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn is_hole(&self, offset: u64, length: u64) -> bool {
        match rustix::fs::seek(&self.0, SeekFrom::Data(offset)) {
            Ok(data) => data >= offset + length,
            // Nothing but a hole from here to the end.
            Err(error) => error == Errno::NXIO,
        }
    }

    fn read_ahead(&self, offset: u64, length: u64) {
        let length = NonZeroU64::new(length);
        if let Err(error) = rustix::fs::fadvise(&self.0, offset, length, Advice::WillNeed) {
            tracing::trace!(%error, "no reading ahead here");
        }
    }

    fn forget(&self) {
        if let Err(error) = rustix::fs::fadvise(&self.0, 0, None, Advice::DontNeed) {
            tracing::trace!(%error, "nothing is forgotten here");
        }
    }
}

/// Whether what is at a name is what was listed there.
fn is_unchanged(now: &Entry, then: &Entry) -> bool {
    now.kind == then.kind && now.target == then.target && is_still(&now.version, &then.version)
}
