//! Handles of destination folders, kept because thousands of files land in the same few.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use headrace_core::name::RelPath;
use headrace_io::descriptors::Share;
use headrace_io::storage::{Folder, Target};
use parking_lot::Mutex;

/// Most handles kept, and the part of a share that they may take.
const MAX_HANDLES: usize = 256;
const OF_SHARE: usize = 8;

/// Whether a folder can hold anything that this session did not put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// This session made it.
    Fresh,
    /// It was there, and was used before in this session.
    Old,
    /// It was there, and its handle is new to who lets something land in it.
    JustOpened,
}

/// The folders that were used last, by path below the root.
pub(super) struct Folders {
    target: Arc<dyn Target>,
    /// Start of the names of this transfer's temporaries.
    prefix: Vec<u8>,
    share: Arc<Share>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    handles: HashMap<RelPath, Handle>,
    clock: u64,
}

impl Kept {
    /// Use the handle of a folder, if it is kept.
    fn find<T>(&mut self, path: &RelPath, take: impl FnOnce(&mut Handle) -> T) -> Option<T> {
        self.clock += 1;
        let handle = self.handles.get_mut(path)?;
        handle.used = self.clock;
        Some(take(handle))
    }
}

struct Handle {
    folder: Arc<dyn Folder>,
    freshness: Freshness,
    used: u64,
}

impl Folders {
    pub(super) fn new(target: Arc<dyn Target>, prefix: &[u8], share: Arc<Share>) -> Self {
        Self {
            target,
            prefix: prefix.to_vec(),
            share,
            kept: Mutex::default(),
        }
    }

    pub(super) fn target(&self) -> &dyn Target {
        &*self.target
    }

    /// Name of the temporary with this number.
    pub(super) fn temporary(&self, number: u64) -> Vec<u8> {
        [&self.prefix, number.to_string().as_bytes()].concat()
    }

    /// The number of a temporary of this transfer; `None` for any other name.
    pub(super) fn number(&self, name: &[u8]) -> Option<u64> {
        std::str::from_utf8(name.strip_prefix(&*self.prefix)?)
            .ok()?
            .parse()
            .ok()
    }

    /// Open a folder, or take the handle that is kept. Who is told that it is just opened makes it ready for what lands in it.
    pub(super) fn get(&self, path: &RelPath) -> io::Result<(Arc<dyn Folder>, Freshness)> {
        let found = self.kept.lock().find(path, |handle| {
            let ready = match handle.freshness {
                Freshness::JustOpened => Freshness::Old,
                other => other,
            };
            let was = std::mem::replace(&mut handle.freshness, ready);
            (Arc::clone(&handle.folder), was)
        });
        match found {
            Some(found) => Ok(found),
            None => Ok((self.open(path, Freshness::Old)?, Freshness::JustOpened)),
        }
    }

    /// The same for who only looks at what is there.
    pub(super) fn look(&self, path: &RelPath) -> io::Result<Arc<dyn Folder>> {
        let found = self
            .kept
            .lock()
            .find(path, |handle| Arc::clone(&handle.folder));
        found.map_or_else(|| self.open(path, Freshness::JustOpened), Ok)
    }

    fn open(&self, path: &RelPath, freshness: Freshness) -> io::Result<Arc<dyn Folder>> {
        let folder = self.target.folder(path)?;
        self.keep(path.clone(), Arc::clone(&folder), freshness);
        Ok(folder)
    }

    /// Keep the handle of a folder that was just made.
    pub(super) fn keep_fresh(&self, path: RelPath, folder: Arc<dyn Folder>) {
        self.keep(path, folder, Freshness::Fresh);
    }

    fn keep(&self, path: RelPath, folder: Arc<dyn Folder>, freshness: Freshness) {
        let mut kept = self.kept.lock();
        kept.clock += 1;
        let used = kept.clock;
        if kept.handles.len() >= MAX_HANDLES.min(self.share.count() / OF_SHARE) {
            let mut ages: Vec<u64> = kept.handles.values().map(|handle| handle.used).collect();
            let middle = ages.len() / 2;
            let oldest_kept = *ages.select_nth_unstable(middle).1;
            kept.handles.retain(|_, handle| handle.used >= oldest_kept);
        }
        kept.handles.insert(
            path,
            Handle {
                folder,
                freshness,
                used,
            },
        );
    }
}
