//! What a storage does that files are received into: a small set of operations with exact promises about what survives a power loss.

use std::io;
use std::sync::Arc;

use headrace_core::entry::Entry;
use headrace_core::name::RelPath;

use super::{Reader, Removal};
use crate::account::Acting;

/// Metadata that is set when a file or folder is complete; `None` leaves a field as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metadata {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime_ns: Option<i128>,
}

/// What happens to a name that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the operation fails with [`io::ErrorKind::AlreadyExists`].
    Keep,
    /// It is replaced in one step.
    Replace,
}

/// Whether a file took another's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// It did.
    Yes,
    /// Something else than expected is there, and stays.
    No,
}

/// How a new file is held until it is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// Under its temporary name: it can be found again after a crash.
    Named,
    /// Without a name where the file system can do that, otherwise named: it vanishes with a crash.
    Unnamed,
}

/// How a new file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Through the page cache.
    Buffered,
    /// Past the page cache: offsets, lengths and buffers are multiples of [`ALIGNMENT`](crate::buffer::ALIGNMENT).
    Direct,
}

/// A storage that files are received into.
pub trait Target: Send + Sync {
    /// Open the folder at `path`; a symlink on the way is an error.
    ///
    /// # Errors
    /// What the storage answers.
    fn folder(&self, path: &RelPath) -> io::Result<Arc<dyn Folder>>;

    /// Make everything done so far on a file system durable, by this transfer and by everybody else; `false` where it is not known that this
    /// does what syncing each file and folder does. `device` is that of a [`Folder`] or [`Part`].
    ///
    /// # Errors
    /// What the storage answers.
    fn sync_file_system(&self, device: u64) -> io::Result<bool>;

    /// How new large files are best written.
    fn writing(&self) -> Writing;

    /// Permission bits that this process does not give to what it makes.
    fn umask(&self) -> u32;
}

/// A folder of a [`Target`]. Names are raw, single and checked by the caller.
pub trait Folder: Send + Sync {
    /// Let what this thread does at the storage, until the guard is dropped, cost less together than one by one. It does nothing else meanwhile.
    ///
    /// # Errors
    /// That the thread can't act as whom it works for.
    fn together(&self) -> io::Result<Option<Acting>> {
        Ok(None)
    }

    /// What `name` is, as an entry with `path`; `None` when it is not there.
    ///
    /// # Errors
    /// What the storage answers.
    fn entry(&self, name: &[u8], path: RelPath) -> io::Result<Option<Entry>>;

    /// The number that what `name` is has in its storage, whatever it is called; `None` when it is not there.
    ///
    /// # Errors
    /// What the storage answers.
    fn inode_of(&self, name: &[u8]) -> io::Result<Option<u64>>;

    /// Every name in the folder, temporaries included, until `each` answers `false`.
    ///
    /// # Errors
    /// What the storage answers.
    fn names(&self, each: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()>;

    /// Open a folder in this one.
    ///
    /// # Errors
    /// What the storage answers.
    fn folder(&self, name: &[u8]) -> io::Result<Arc<dyn Folder>>;

    /// Make a folder that only we may enter so far; what it inherits from this one it keeps. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], or what the storage answers.
    fn make_folder(&self, name: &[u8]) -> io::Result<()>;

    /// Make a symlink. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], or what the storage answers.
    fn make_symlink(&self, name: &[u8], target: &[u8]) -> io::Result<()>;

    /// Make an empty file, to be published under another name later. `temporary` is a name nothing has.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], or what the storage answers.
    fn create(
        &self,
        temporary: &[u8],
        holding: Holding,
        writing: Writing,
    ) -> io::Result<Arc<dyn Part>>;

    /// As [`Folder::create`] with [`Holding::Unnamed`] and [`Writing::Buffered`], for a file that is to have the permission bits `mode` in the
    /// end: a storage may give them at once to what has no name, so that [`Part::set_metadata`] has less to do.
    ///
    /// # Errors
    /// As [`Folder::create`].
    fn create_unnamed(&self, temporary: &[u8], mode: u32) -> io::Result<Arc<dyn Part>> {
        let _ = mode;
        self.create(temporary, Holding::Unnamed, Writing::Buffered)
    }

    /// Open a file that an earlier session made with [`Holding::Named`].
    ///
    /// # Errors
    /// What the storage answers.
    fn reopen(&self, temporary: &[u8], writing: Writing) -> io::Result<Arc<dyn Part>>;

    /// Open a file for reading; nothing else may be done with it.
    ///
    /// # Errors
    /// What the storage answers; anything but a regular file is an error.
    fn open_file(&self, name: &[u8]) -> io::Result<Arc<dyn Part>>;

    /// Rename in this folder. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], or what the storage answers.
    fn rename(&self, from: &[u8], to: &[u8], existing: Existing) -> io::Result<()>;

    /// Remove a file or symlink. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// What the storage answers.
    fn remove(&self, name: &[u8]) -> io::Result<()>;

    /// Remove a file or symlink, if it is what was `expected`. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// What the storage answers.
    fn remove_if(&self, name: &[u8], expected: &dyn Fn(&Entry) -> bool) -> io::Result<Removal>;

    /// Move a file or symlink, if it is what was `expected`, to the folder `to` (below the top of the storage) and keep its name; nothing is
    /// replaced there, and nothing is copied. Durable after [`Folder::sync`] of `to`, and then of this folder: in this order nothing is
    /// lost with the power.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::CrossesDevices`] where `to` is on another file system,
    /// [`io::ErrorKind::Unsupported`] where a storage can't do this, or what it answers; the name stays then.
    fn move_if(
        &self,
        name: &[u8],
        expected: &dyn Fn(&Entry) -> bool,
        to: &RelPath,
    ) -> io::Result<Removal> {
        let _ = (name, expected, to);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Remove an empty folder. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// What the storage answers.
    fn remove_folder(&self, name: &[u8]) -> io::Result<()>;

    /// What the folder itself is now, as an entry without a path; `None` where a storage can't tell.
    ///
    /// # Errors
    /// What the storage answers.
    fn itself(&self) -> io::Result<Option<Entry>> {
        Ok(None)
    }

    /// Inode number of the folder itself.
    ///
    /// # Errors
    /// What the storage answers.
    fn inode(&self) -> io::Result<u64>;

    /// The file system that it is on; what else is mounted below a root has another.
    fn device(&self) -> u64;

    /// Set metadata of the folder itself. That new names belong to its group (setgid) stays as it is.
    ///
    /// # Errors
    /// What the storage answers.
    fn set_metadata(&self, metadata: Metadata) -> io::Result<()>;

    /// Set the modification time of a symlink.
    ///
    /// # Errors
    /// What the storage answers.
    fn set_symlink_mtime(&self, name: &[u8], mtime_ns: i128) -> io::Result<()>;

    /// Make the names of this folder durable.
    ///
    /// # Errors
    /// What the storage answers.
    fn sync(&self) -> io::Result<()>;
}

/// A file on its way: written at any offsets from any thread, then made durable, then published.
pub trait Part: Send + Sync {
    /// Inode number: tells after a crash whether the name was already given.
    fn inode(&self) -> u64;

    /// The file system that it is on.
    fn device(&self) -> u64;

    /// How it is written.
    fn writing(&self) -> Writing;

    /// Whether it has a temporary name, also where none was asked for.
    fn is_named(&self) -> bool;

    /// Reserve storage for `size` bytes and set that size, where the storage can; otherwise only set the size.
    ///
    /// # Errors
    /// What the storage answers, among them that there is not enough space.
    fn allocate(&self, size: u64) -> io::Result<()>;

    /// Have the content of another file at once, without copying it, until either is changed: all of it, with its size and holes. `false`
    /// where the storage can't do that with these two; the part is as it was then.
    ///
    /// # Errors
    /// What the storage answers, among them that there is not enough space.
    fn share(&self, with: &dyn Reader) -> io::Result<bool> {
        let _ = with;
        Ok(false)
    }

    /// Set the size; what is beyond reads as zeros.
    ///
    /// # Errors
    /// What the storage answers.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Write all of `bytes` at `offset`.
    ///
    /// # Errors
    /// What the storage answers.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Read from `offset` until `bytes` is full or the file ends; says how many bytes.
    ///
    /// # Errors
    /// What the storage answers.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Drop what the page cache holds of the file, so that reading reads the storage. Only after a sync.
    ///
    /// # Errors
    /// What the storage answers.
    fn evict(&self) -> io::Result<()>;

    /// Set metadata, before it is published.
    ///
    /// # Errors
    /// What the storage answers.
    fn set_metadata(&self, metadata: Metadata) -> io::Result<()>;

    /// Make the content (not its name) durable, as far as it is needed to read it back.
    ///
    /// # Errors
    /// What the storage answers.
    fn sync_content(&self) -> io::Result<()>;

    /// Make content and metadata durable.
    ///
    /// # Errors
    /// What the storage answers.
    fn sync(&self) -> io::Result<()>;

    /// Give the file its name, in the folder it was made in. Durable after that folder's [`Folder::sync`].
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], or what the storage answers.
    fn publish(&self, name: &[u8], existing: Existing) -> io::Result<()>;

    /// Give the file a name that something has, if that is what was `expected`; it is gone then. Otherwise all stays as it was, but for the
    /// moment that looking takes where names can be exchanged. A name that nothing has any more is given as by [`Part::publish`].
    /// After [`Replaced::No`] the part can only be discarded: one without a name can't be given a name twice.
    ///
    /// # Errors
    /// What the storage answers.
    fn replace(&self, name: &[u8], expected: &dyn Fn(&Entry) -> bool) -> io::Result<Replaced>;

    /// Remove the temporary name, if it has one.
    ///
    /// # Errors
    /// What the storage answers.
    fn discard(&self) -> io::Result<()>;
}
