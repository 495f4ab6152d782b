//! Reading from a disk in memory.

use std::io;
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::{RelPath, is_reserved};

use super::{Disk, NameChange};
use crate::storage::{Listing, Origin, Reader, Removal};
use crate::version::is_still;
use crate::walk::{WalkError, WalkLimits, WalkProblem};

/// A folder at the top of a [`Disk`], read from.
#[derive(Debug, Clone)]
pub struct SimulatedOrigin {
    disk: Disk,
    inode: u64,
}

impl SimulatedOrigin {
    pub(super) fn new(disk: Disk, inode: u64) -> Self {
        Self { disk, inode }
    }

    /// What has this path; `None` when nothing has.
    fn find(&self, path: &RelPath) -> io::Result<Option<u64>> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let mut inode = self.inode;
        for name in path.components() {
            match state.folder(inode)?.now.get(name) {
                Some(below) => inode = *below,
                None => return Ok(None),
            }
        }
        Ok(Some(inode))
    }

    fn remove(&self, path: &RelPath) -> io::Result<()> {
        let above = self.find(&path.parent().unwrap_or_default())?;
        let mut state = self.disk.state.lock();
        state.change()?;
        let remove = Some(path.file_name().unwrap_or_default().into());
        state
            .folder(above.ok_or(io::ErrorKind::NotFound)?)?
            .names(NameChange {
                remove,
                ..NameChange::default()
            });
        Ok(())
    }
}

impl Origin for SimulatedOrigin {
    fn list<'a>(&'a self, limits: WalkLimits<'a>) -> Box<dyn Listing + 'a> {
        Box::new(SimulatedListing {
            origin: self,
            ahead: Vec::new(),
            pending: Some(RelPath::root()),
            left: limits.max_entries,
        })
    }

    fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        match self.find(path)? {
            Some(inode) => self.disk.state.lock().entry(inode, path.clone()),
            None => Ok(None),
        }
    }

    fn open(&self, path: &RelPath) -> io::Result<Option<Arc<dyn Reader>>> {
        let inode = self.find(path)?.ok_or(io::ErrorKind::NotFound)?;
        let disk = self.disk.clone();
        Ok(match self.entry(path)? {
            Some(entry) if entry.kind == Kind::File => {
                Some(Arc::new(SimulatedReader { disk, inode }))
            }
            _ => None,
        })
    }

    fn remove_if(&self, then: &Entry) -> io::Result<Removal> {
        match self.entry(&then.path)? {
            Some(now) if now.kind == then.kind && is_still(&now.version, &then.version) => {
                self.remove(&then.path).map(|()| Removal::Gone)
            }
            Some(_) => Ok(Removal::Changed),
            None => Ok(Removal::Absent),
        }
    }

    fn remove_folder(&self, path: &RelPath) -> io::Result<()> {
        let inode = self.find(path)?.ok_or(io::ErrorKind::NotFound)?;
        if !self.disk.state.lock().folder(inode)?.now.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.remove(path)
    }
}

struct SimulatedListing<'o> {
    origin: &'o SimulatedOrigin,
    /// What comes, the next one last.
    ahead: Vec<RelPath>,
    /// A folder to be listed before anything else.
    pending: Option<RelPath>,
    left: u64,
}

impl SimulatedListing<'_> {
    fn descend(&mut self, path: &RelPath) -> io::Result<()> {
        let inode = self.origin.find(path)?.ok_or(io::ErrorKind::NotFound)?;
        let mut state = self.origin.disk.state.lock();
        let names = state.folder(inode)?.now.keys().rev();
        for name in names.filter(|name| !is_reserved(name)) {
            let below = RelPath::from_components(path.components().chain([&**name]));
            self.ahead.push(below.map_err(io::Error::other)?);
        }
        Ok(())
    }
}

impl Iterator for SimulatedListing<'_> {
    type Item = Result<Entry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = |path, error| {
            let problem = WalkProblem::Io(error);
            Some(Err(WalkError { path, problem }))
        };
        if let Some(path) = self.pending.take()
            && let Err(error) = self.descend(&path)
        {
            return failed(path, error);
        }
        let path = self.ahead.pop()?;
        if self.left == 0 {
            self.ahead.clear();
            let problem = WalkProblem::TooManyEntries { max_entries: 0 };
            let path = RelPath::root();
            return Some(Err(WalkError { path, problem }));
        }
        self.left -= 1;
        match self.origin.entry(&path) {
            Ok(Some(entry)) => {
                self.pending = (entry.kind == Kind::Dir).then_some(path);
                Some(Ok(entry))
            }
            Ok(None) => self.next(),
            Err(error) => failed(path, error),
        }
    }
}

impl Listing for SimulatedListing<'_> {
    fn prune(&mut self) {
        self.pending = None;
    }
}

#[derive(Debug)]
struct SimulatedReader {
    disk: Disk,
    inode: u64,
}

impl Reader for SimulatedReader {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.state.lock().read(self.inode, bytes, offset)
    }

    fn still(&self, then: &Entry) -> io::Result<Option<Sparse>> {
        let now = self.disk.state.lock().entry(self.inode, RelPath::root())?;
        let same = now.is_some_and(|now| is_still(&now.version, &then.version));
        Ok(same.then_some(Sparse::No))
    }

    fn is_hole(&self, _offset: u64, _length: u64) -> bool {
        false
    }

    fn read_ahead(&self, _offset: u64, _length: u64) {}
}
