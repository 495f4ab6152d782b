//! The port to storage: where files are read ([`Origin`]) and where they are received ([`Target`]).
//!
//! The session knows only these two. It owns the *order* of what happens (content durable, journal, name, folder durable, journal); a
//! storage owns what each step is and says what it can. Handles ([`Reader`], [`Folder`], [`Part`]) are opaque, and whether something
//! changed is told by its [`Version`](headrace_core::version::Version), which only the storage that made it can read.
//!
//! | step | operation | [`posix`] | what an object store has |
//! | --- | --- | --- | --- |
//! | list | [`Origin::list`] | a walk in the order of components | pages of keys |
//! | open, read, look again | [`Origin::open`], [`Reader::read_at`], [`Reader::still`] | `openat2`, `pread`, `statx` | ranged reads with If-Match |
//! | remove what was moved | [`Origin::remove_if`] | look, then `unlinkat` | delete with If-Match |
//! | begin, take up again | [`Folder::create`], [`Folder::reopen`] | a file without a name, or a temporary | a multipart upload |
//! | write a unit | [`Part::write_at`] | `pwrite` at any offset | one part |
//! | make durable | [`Part::sync`], [`Folder::sync`], [`Target::sync_file_system`] | `fsync`, `syncfs` | durable once accepted |
//! | commit, no replace | [`Part::publish`] | `linkat`, `renameat2` | complete with If-None-Match |
//! | commit, replace what was confirmed | [`Part::replace`] | exchange, compare, put back | complete with If-Match |
//! | delete what was confirmed | [`Folder::remove_if`] | look, then `unlinkat` | delete with If-Match |
//! | keep what is deleted | [`Folder::move_if`] | look, then `renameat2` | copy, then delete with If-Match |
//!
//! [`posix`] is a file system below a [`Root`](crate::root::Root). [`simulated`] is a disk in memory that forgets, when its power is cut,
//! whatever was not synced. [`probing`] is what a probe reads and writes. `tests/storage.rs` is one suite of what both promise.

mod origin;
pub mod posix;
pub mod probing;
pub mod simulated;
mod target;

use std::fmt;
use std::sync::Arc;

use headrace_core::name::RelPath;

use crate::descriptors::Share;
use crate::root::Root;

pub use self::origin::{Listing, Origin, Reader};
pub use self::target::{Existing, Folder, Holding, Metadata, Part, Replaced, Target, Writing};

/// Which storage is behind a root.
pub trait Storages: fmt::Debug + Send + Sync {
    /// Read what is at `path` below `root`, with at most a `share` of descriptors held.
    fn origin(&self, root: &Arc<Root>, path: RelPath, share: Arc<Share>) -> Arc<dyn Origin>;

    /// Receive below `root`, writing large files as `writing` says.
    fn target(&self, root: &Arc<Root>, writing: Writing) -> Arc<dyn Target>;
}

/// What became of a name that was to be removed if it was as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is gone by this.
    Gone,
    /// Nothing was there before.
    Absent,
    /// It is not what was expected, and stays.
    Changed,
}
