//! What a storage does that files are read from.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::entry::Entry;
use headrace_core::name::RelPath;

use super::Removal;
use crate::walk::{WalkError, WalkLimits};

/// A file or folder that is read from. Paths are relative to it; the empty path is the place itself.
pub trait Origin: Send + Sync {
    /// Everything below the place, in the order of [`RelPath`] (a folder before what it holds); the place itself only if it is no folder, our own
    /// temporaries never.
    /// What cannot be read is an error item at its place, and the listing goes on; an error without a path is its end.
    fn list<'a>(&'a self, limits: WalkLimits<'a>) -> Box<dyn Listing + 'a>;

    /// What is at `path` now, asked of the storage and not of what is remembered of it; `None` when nothing is.
    ///
    /// # Errors
    /// What the storage answers.
    fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>>;

    /// Open what is at `path` now; whether it is the file that was listed is asked of [`Reader::still`]. `None` when what is there can be
    /// no file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], or what the storage answers.
    fn open(&self, path: &RelPath) -> io::Result<Option<Arc<dyn Reader>>>;

    /// Remove a file or symlink, if it still is what was listed as `then`.
    ///
    /// # Errors
    /// What the storage answers.
    fn remove_if(&self, then: &Entry) -> io::Result<Removal>;

    /// Remove a folder, if it is empty.
    ///
    /// # Errors
    /// What the storage answers.
    fn remove_folder(&self, path: &RelPath) -> io::Result<()>;
}

/// A listing under way.
pub trait Listing: Iterator<Item = Result<Entry, WalkError>> {
    /// Leave out what the folder that came last holds.
    fn prune(&mut self);
}

/// A file that is open for reading, from any thread and at any offset.
pub trait Reader: Send + Sync {
    /// Read from `offset` until `bytes` is full or the file ends; says how many bytes.
    ///
    /// # Errors
    /// What the storage answers.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Whether it is what was listed as `then`: asked after a read, what was read is content of that state. Says whether it has holes;
    /// `None` when it is something else by now.
    ///
    /// # Errors
    /// What the storage answers.
    fn still(&self, then: &Entry) -> io::Result<Option<Sparse>>;

    /// Whether so many bytes from `offset` lie wholly in a hole. Where the storage cannot tell, they do not.
    fn is_hole(&self, offset: u64, length: u64) -> bool;

    /// The descriptor that it reads from, where it is a file of this machine; see [`Part::share`](super::Part::share).
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// So many bytes from `offset` are read soon. A storage may do nothing.
    fn read_ahead(&self, offset: u64, length: u64);

    /// What is kept of it in memory is not needed any more, so that reading it reads the storage. A storage may do nothing.
    fn forget(&self) {}
}
