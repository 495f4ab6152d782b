//! Roots: the folders a node exports, and handles below them that cannot lead outside.
//!
//! Everything is opened relative to a handle, by names that [`RelPath`] has checked, with `openat2` and
//! `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS`. Where the kernel (or a container) has no `openat2`, folders are
//! opened one component at a time with `O_NOFOLLOW`, which refuses the same things. No symlink is ever followed below a root, so
//! swapping a folder for a symlink while a transfer runs ends in an error and not somewhere else.
//!
//! A root that acts as a local account ([`Root::acting_as`]), and every handle below it, reaches the file system as that account only:
//! [`Root::acting`] and [`Dir::acting`] are the one way to their descriptors, and the thread is the account while it holds what they return.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::account::{Account, Acting, act_as};
use crate::version::FileState;
use headrace_core::access::Access;
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::{RelPath, is_reserved};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat, Statx, StatxFlags, openat,
    openat2, statat, statx,
};
use rustix::io::Errno;
use thiserror::Error;

use crate::descriptors::patiently;

/// How often an `openat2` that lost a race against a rename is tried again before the error is reported.
const MAX_RENAME_RACES: u32 = 64;
/// Longest symlink target that is read; longer ones are an error.
const MAX_TARGET_BYTES: u64 = 4096;
/// Most folders above one that are looked at: more than a path has components.
const MAX_DEPTH_OF_ALL: usize = 4096;

/// An exported folder, held open.
#[derive(Debug)]
pub struct Root {
    name: String,
    path: PathBuf,
    access: Access,
    handle: OwnedFd,
    lookup: Lookup,
    /// Whether a file system was mounted right at `path`.
    mounted: bool,
    /// In whose name everything below is done; `None` for the node itself.
    account: Option<Arc<Account>>,
}

/// A descriptor of a root or folder, for as long as this thread may use it. It stays on its thread.
#[derive(Debug)]
#[must_use]
pub struct Handle<'a> {
    descriptor: BorrowedFd<'a>,
    _acting: Option<Acting>,
}

impl AsFd for Handle<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor
    }
}

/// The descriptor, after this thread has become whom it is used for.
fn handle_of<'a>(
    descriptor: &'a OwnedFd,
    account: Option<&Arc<Account>>,
) -> io::Result<Handle<'a>> {
    Ok(Handle {
        descriptor: descriptor.as_fd(),
        _acting: account.map(act_as).transpose()?,
    })
}

/// How names below a handle are resolved; found out once, when a root is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    Openat2,
    ComponentByComponent,
}

/// What a file system may hold and still takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Space {
    /// Bytes an unprivileged process may still write.
    pub free_bytes: u64,
    /// Size of the file system.
    pub total_bytes: u64,
    /// Files that an unprivileged process may still make.
    pub free_inodes: u64,
    /// Files that it may hold; 0 where it makes inodes as they are needed.
    pub inodes: u64,
}

impl Root {
    /// Open the folder `path` to be exported as `name`. Symlinks in `path` itself are followed: it is the administrator's word.
    ///
    /// # Errors
    /// [`RootError`] when it is not a folder that can be opened, or the name is not 1 to 64 letters, digits, `-`, `_` or `.`.
    pub fn open(name: &str, path: &Path, access: Access) -> Result<Self, RootError> {
        Self::open_with(name, path, access, dir_flags())
    }

    /// As [`Root::open`], for a root that is used by [`Root::acting_as`] only: the node itself need not be able to list it.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub fn open_for_accounts(name: &str, path: &Path, access: Access) -> Result<Self, RootError> {
        Self::open_with(name, path, access, place_flags())
    }

    fn open_with(
        name: &str,
        path: &Path,
        access: Access,
        flags: OFlags,
    ) -> Result<Self, RootError> {
        let usable = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(usable) {
            return Err(RootError::Name {
                name: name.to_owned(),
            });
        }
        let failed = |source: Errno| RootError::Open {
            name: name.to_owned(),
            path: path.to_owned(),
            source: source.into(),
        };
        let handle = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let lookup = match openat2(&handle, ".", flags, Mode::empty(), beneath()) {
            // A folder that the node may not enter: its accounts may, and the call is there.
            Ok(_) | Err(Errno::ACCESS) => Lookup::Openat2,
            Err(_) => Lookup::ComponentByComponent,
        };
        let mounted = match statat(&handle, "..", AtFlags::empty()) {
            Ok(above) => rustix::fs::fstat(&handle).map_err(failed)?.st_dev != above.st_dev,
            Err(Errno::ACCESS) => false,
            Err(error) => return Err(failed(error)),
        };
        Ok(Self {
            name: name.to_owned(),
            path: path.to_owned(),
            access,
            handle,
            lookup,
            mounted,
            account: None,
        })
    }

    /// This root as a local account has it: its folder is opened anew, by its path, by that account, and everything below it is done by it.
    ///
    /// # Errors
    /// What the kernel answers to the account, which may not be allowed to go there; [`io::ErrorKind::NotFound`] when its path leads that
    /// account elsewhere.
    pub fn acting_as(&self, account: Arc<Account>) -> io::Result<Self> {
        let acting = act_as(&account)?;
        let handle = patiently(|| rustix::fs::open(&self.path, place_flags(), Mode::empty()))?;
        drop(acting);
        let place = |stat: Stat| (stat.st_dev, stat.st_ino);
        if rustix::fs::fstat(&handle).map(place)? != rustix::fs::fstat(&self.handle).map(place)? {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self {
            name: self.name.clone(),
            path: self.path.clone(),
            handle,
            account: Some(account),
            ..*self
        })
    }

    /// In whose name everything below is done; `None` for the node itself.
    #[must_use]
    pub fn account(&self) -> Option<&Account> {
        self.account.as_deref()
    }

    /// Its descriptor. While the thread holds it, it is the account in whose name everything below is done.
    ///
    /// # Errors
    /// That the thread can't become that account.
    pub fn acting(&self) -> io::Result<Handle<'_>> {
        handle_of(&self.handle, self.account.as_ref())
    }

    /// The number of the file system that its folder is on.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn device(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.handle)?.st_dev)
    }

    /// Whether a file system was mounted right at its path when it was opened.
    #[must_use]
    pub fn is_mounted(&self) -> bool {
        self.mounted
    }

    /// Whether its path still leads to the folder that was opened: not when that was unmounted, renamed or removed.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let place = |stat: Stat| (stat.st_dev, stat.st_ino);
        let now = rustix::fs::stat(&self.path).map(place);
        now.is_ok() && now == rustix::fs::fstat(&self.handle).map(place)
    }

    /// The name under which tickets and permits speak of this root.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is on this machine; for messages, never for opening.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What may be done below it at most.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// What its file system may hold and still takes.
    ///
    /// # Errors
    /// What `fstatvfs` answers.
    pub fn space(&self) -> io::Result<Space> {
        let stat = rustix::fs::fstatvfs(&self.handle)?;
        Ok(Space {
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            free_inodes: stat.f_favail,
            inodes: stat.f_files,
        })
    }

    /// Open the folder at `path`, or the root itself for the empty path.
    ///
    /// # Errors
    /// What the kernel answers; `ENOTDIR` or `ELOOP` where a component is a symlink.
    pub fn dir(&self, path: &RelPath) -> io::Result<Dir> {
        let from = self.acting()?;
        let handle = if path.is_root() {
            patiently(|| openat(&from, ".", dir_flags(), Mode::empty()))?
        } else {
            match self.lookup {
                Lookup::Openat2 => open_beneath(from.as_fd(), path)?,
                Lookup::ComponentByComponent => open_stepwise(from.as_fd(), path)?,
            }
        };
        Ok(Dir {
            handle,
            account: self.account.clone(),
        })
    }

    /// Open the folder that holds `path`, and the last name of it; `None` for the root itself, which no folder here holds.
    ///
    /// # Errors
    /// As [`Root::dir`].
    pub fn parent<'p>(&self, path: &'p RelPath) -> io::Result<Option<(Dir, &'p [u8])>> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Ok(Some((self.dir(&parent)?, name))),
            _ => Ok(None),
        }
    }

    /// What is at `path`, without following a symlink there; `None` when nothing is. The entry's path is `path`.
    ///
    /// # Errors
    /// What the kernel answers other than "no such file or directory".
    pub fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        let found = match self.parent(path) {
            Ok(Some((dir, name))) => dir.entry(name, path.clone()),
            Ok(None) => self
                .dir(path)
                .and_then(|dir| dir.stat())
                .map(|stat| Some(entry_of(&stat, path.clone(), None))),
            Err(error) => Err(error),
        };
        found.or_else(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                Ok(None)
            } else {
                Err(error)
            }
        })
    }
}

/// An open folder below a root. Operations take one raw name each; names come from [`RelPath`] or from a listing of this folder.
#[derive(Debug)]
pub struct Dir {
    handle: OwnedFd,
    /// As in the root that it was opened below.
    account: Option<Arc<Account>>,
}

impl Dir {
    /// Its descriptor. While the thread holds it, it is the account in whose name everything below the root is done.
    ///
    /// # Errors
    /// That the thread can't become that account.
    pub fn acting(&self) -> io::Result<Handle<'_>> {
        handle_of(&self.handle, self.account.as_ref())
    }

    /// Let this thread be that account until the guard is dropped, so that each operation in between costs no change of its own. The thread
    /// does nothing but work below this root meanwhile. `None` for the node itself.
    ///
    /// # Errors
    /// As [`Dir::acting`].
    pub fn act(&self) -> io::Result<Option<Acting>> {
        self.account.as_ref().map(act_as).transpose()
    }

    /// Number of its descriptor in this process, for what the kernel says of it.
    pub(crate) fn number(&self) -> RawFd {
        self.handle.as_raw_fd()
    }

    /// Make its names durable.
    ///
    /// # Errors
    /// What `fsync` answers.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    /// Make all of its file system durable.
    ///
    /// # Errors
    /// What `syncfs` answers.
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.handle)?)
    }

    /// Metadata of the folder itself.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(&self.handle)?)
    }

    /// Whether this folder is `other`, or lies in it, whatever names both were opened by. What a mount hides is not seen, nor what is above a
    /// folder that may not be passed.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn is_within(&self, other: &Self) -> io::Result<bool> {
        let place = |stat: Stat| (stat.st_dev, stat.st_ino);
        let wanted = place(other.stat()?);
        let mut here = place(self.stat()?);
        let mut above: Option<OwnedFd> = None;
        let start = self.acting()?;
        for _ in 0..MAX_DEPTH_OF_ALL {
            if here == wanted {
                return Ok(true);
            }
            let from = above.as_ref().map_or(start.as_fd(), AsFd::as_fd);
            let Ok(next) = patiently(|| openat(from, "..", place_flags(), Mode::empty())) else {
                return Ok(false);
            };
            let found = place(rustix::fs::fstat(&next)?);
            if found == here {
                break;
            }
            (here, above) = (found, Some(next));
        }
        Ok(false)
    }

    /// The inode number of `name`; `None` when there is no such name.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn inode_of(&self, name: &[u8]) -> io::Result<Option<u64>> {
        match statat(self.acting()?, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.st_ino)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What `name` is, as an entry with `path`; `None` when there is no such name. Reads the target of a symlink.
    ///
    /// # Errors
    /// What the kernel answers; `ENAMETOOLONG` for a symlink target over 4,096 bytes.
    pub fn entry(&self, name: &[u8], path: RelPath) -> io::Result<Option<Entry>> {
        let here = self.acting()?;
        let stat = match statat(&here, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let target = if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            Some(read_link(&here, name)?)
        } else {
            None
        };
        Ok(Some(entry_of(&stat, path, target)))
    }

    /// As [`Dir::entry`], for who asks whether it changed: a network file system asks its server, however new what it remembers is.
    ///
    /// # Errors
    /// As [`Dir::entry`].
    pub fn entry_now(&self, name: &[u8], path: RelPath) -> io::Result<Option<Entry>> {
        let here = self.acting()?;
        match refresh(&here, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) => self.entry(name, path),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Open the regular file `name` for reading.
    ///
    /// # Errors
    /// What the kernel answers; `ELOOP` for a symlink, `InvalidInput` for anything that is not a regular file.
    pub fn open_file(&self, name: &[u8]) -> io::Result<File> {
        let file = self.open_unseen(name)?;
        if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        Ok(file)
    }

    /// Open `name` for reading, whatever it is: the caller looks at what was opened before reading it.
    ///
    /// # Errors
    /// What the kernel answers; `ELOOP` for a symlink.
    pub fn open_unseen(&self, name: &[u8]) -> io::Result<File> {
        // Non-blocking, so that a fifo put there in the meantime cannot hold the thread.
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let here = self.acting()?;
        let handle = patiently(|| openat(&here, name, flags, Mode::empty()))?;
        Ok(handle.into())
    }

    /// Open the folder `name` in this one.
    ///
    /// # Errors
    /// What the kernel answers; `ENOTDIR` or `ELOOP` for a symlink.
    pub fn dir(&self, name: &[u8]) -> io::Result<Self> {
        let (here, flags) = (self.acting()?, dir_flags() | OFlags::NOFOLLOW);
        Ok(Self {
            handle: patiently(|| openat(&here, name, flags, Mode::empty()))?,
            account: self.account.clone(),
        })
    }

    /// Call `each` with every name in the folder, in the file system's order, but `.`, `..` and those that nodes keep for themselves.
    /// Stops early when `each` answers `false`.
    ///
    /// # Errors
    /// What the kernel answers while reading.
    pub fn names(&self, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        self.all_names(|name| is_reserved(name) || each(name))
    }

    /// As [`Dir::names`], and with those that nodes keep for themselves.
    ///
    /// # Errors
    /// What the kernel answers while reading.
    pub fn all_names(&self, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        // A second handle, because reading a folder moves the position of the handle.
        let here = self.acting()?;
        let handle = patiently(|| openat(&here, ".", dir_flags(), Mode::empty()))?;
        // Whoever is called below may act as somebody else.
        drop(here);
        let mut buffer = vec![MaybeUninit::<u8>::uninit(); 64 * 1024];
        let mut names = RawDir::new(handle, &mut buffer);
        while let Some(item) = names.next() {
            let item = item?;
            let name = item.file_name().to_bytes();
            if !matches!(name, b"." | b"..") && !each(name) {
                break;
            }
        }
        Ok(())
    }
}

fn read_link(dir: &Handle<'_>, name: &[u8]) -> io::Result<Box<[u8]>> {
    let target = rustix::fs::readlinkat(dir, name, Vec::new())?.into_bytes();
    if target.len() as u64 > MAX_TARGET_BYTES {
        return Err(Errno::NAMETOOLONG.into());
    }
    Ok(target.into())
}

/// What an open file is now, and how many blocks of 512 bytes it takes: a network file system asks its server, however new what it
/// remembers is. The entry's path is empty.
///
/// # Errors
/// What the kernel answers.
pub fn entry_now(file: impl AsFd) -> io::Result<(Entry, u64)> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    match statx(&file, c"", flags, StatxFlags::BASIC_STATS) {
        Ok(found) => Ok((entry_of_statx(&found), found.stx_blocks)),
        Err(error) if has_no_statx(error) => {
            let found = rustix::fs::fstat(file)?;
            let blocks = u64::try_from(found.st_blocks).unwrap_or(0);
            Ok((entry_of(&found, RelPath::root(), None), blocks))
        }
        Err(error) => Err(error.into()),
    }
}

/// Let the kernel ask the server of a network file system what a name is: it goes by what it was told up to a minute ago otherwise.
fn refresh(from: impl AsFd, name: &[u8], flags: AtFlags) -> Result<(), Errno> {
    let flags = flags | AtFlags::STATX_FORCE_SYNC;
    match statx(from, name, flags, StatxFlags::BASIC_STATS) {
        Ok(_) => Ok(()),
        Err(error) if has_no_statx(error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Older kernels, and containers that forbid what they do not know.
fn has_no_statx(error: Errno) -> bool {
    matches!(error, Errno::NOSYS | Errno::PERM)
}

/// An entry from what `stat` says.
#[must_use]
pub fn entry_of(stat: &Stat, path: RelPath, target: Option<Box<[u8]>>) -> Entry {
    entry(stat.st_mode, FileState::of(stat), path, target)
}

/// The same from what `statx` says.
fn entry_of_statx(found: &Statx) -> Entry {
    let state = FileState::of_statx(found);
    entry(found.stx_mode.into(), state, RelPath::root(), None)
}

fn entry(mode: u32, state: FileState, path: RelPath, target: Option<Box<[u8]>>) -> Entry {
    let kind = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Other,
    };
    let size = match kind {
        Kind::File | Kind::Symlink => state.size,
        Kind::Dir | Kind::Other => 0,
    };
    Entry {
        path,
        kind,
        size,
        mtime_ns: nanoseconds(state.content_changed),
        version: state.version(),
        mode: mode & 0o7777,
        target,
    }
}

fn nanoseconds((seconds, nanoseconds): (i64, u32)) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

/// Of a folder that is only gone through.
fn place_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn dir_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

fn open_beneath(from: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd> {
    for _ in 0..MAX_RENAME_RACES {
        let open = || openat2(from, path.as_path(), dir_flags(), Mode::empty(), beneath());
        match patiently(open) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            answer => return Ok(answer?),
        }
    }
    Err(Errno::AGAIN.into())
}

fn open_stepwise(from: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd> {
    let mut handle: Option<OwnedFd> = None;
    for component in path.components() {
        let parent = handle.as_ref().map_or(from, AsFd::as_fd);
        let flags = dir_flags() | OFlags::NOFOLLOW;
        let next = patiently(|| openat(parent, component, flags, Mode::empty()))?;
        handle = Some(next);
    }
    handle.ok_or_else(|| Errno::INVAL.into())
}

/// Why a root cannot be exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RootError {
    /// The name is not usable.
    #[error("root name `{name}` is not 1 to 64 letters, digits, `-`, `_` or `.`")]
    Name {
        /// As it was given.
        name: String,
    },
    /// The folder cannot be opened.
    #[error("cannot open `{}` for root `{name}`: {source}", path.display())]
    Open {
        /// Name of the root.
        name: String,
        /// The folder.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::from_bytes(text.as_bytes()).expect("a test path")
    }

    fn roots(folder: &Path) -> [Root; 2] {
        let open = || Root::open("data", folder, Access::Read).expect("a folder");
        let mut stepwise = open();
        stepwise.lookup = Lookup::ComponentByComponent;
        [open(), stepwise]
    }

    #[test]
    fn a_symlink_on_the_way_is_never_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = tempfile::tempdir().expect("another folder");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("folders");
        std::fs::write(outside.path().join("secret"), b"x").expect("a file");
        symlink(outside.path(), folder.path().join("a/out")).expect("a symlink");
        symlink("b", folder.path().join("a/inside")).expect("a symlink");
        for root in roots(folder.path()) {
            assert!(root.dir(&path("a/b")).is_ok());
            assert!(root.dir(&path("a/out")).is_err());
            assert!(root.dir(&path("a/inside")).is_err());
            assert!(root.entry(&path("a/out/secret")).is_err());
            let link = root
                .entry(&path("a/out"))
                .expect("readable")
                .expect("there");
            assert_eq!(link.kind, Kind::Symlink);
            let dir = root.dir(&path("a")).expect("a folder");
            assert!(dir.open_file(b"out").is_err());
            assert!(dir.dir(b"out").is_err());
        }
    }

    #[test]
    fn an_entry_says_what_is_there_and_none_says_that_nothing_is() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("five"), b"12345").expect("a file");
        symlink("where/ever", folder.path().join("link")).expect("a symlink");
        for root in roots(folder.path()) {
            let five = root.entry(&path("five")).expect("readable").expect("there");
            assert_eq!((five.kind, five.size, five.target), (Kind::File, 5, None));
            let link = root.entry(&path("link")).expect("readable").expect("there");
            assert_eq!(
                (link.size, link.target.as_deref()),
                (10, Some(&b"where/ever"[..]))
            );
            assert_eq!(root.entry(&path("none")).expect("readable"), None);
            assert_eq!(root.entry(&path("none/below")).expect("readable"), None);
            assert_eq!(
                root.entry(&RelPath::root())
                    .expect("readable")
                    .map(|entry| entry.kind),
                Some(Kind::Dir)
            );
        }
    }

    #[test]
    fn an_open_file_is_the_entry_that_its_name_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("five");
        std::fs::write(&file, b"12345").expect("a file");
        std::fs::hard_link(&file, folder.path().join("also")).expect("a second name");
        for root in roots(folder.path()) {
            let dir = root.dir(&RelPath::root()).expect("a folder");
            let named = dir.entry(b"five", RelPath::root()).expect("readable");
            let open = dir.open_unseen(b"five").expect("opened");
            let (found, blocks) = entry_now(&open).expect("readable");
            assert_eq!((Some(found), blocks * 512 >= 5), (named, true));
        }
    }

    #[test]
    fn a_folder_lies_in_those_above_it_under_whatever_name_they_were_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("a/b/c")).expect("folders");
        std::fs::create_dir_all(folder.path().join("a/d")).expect("folders");
        let open = |below: &str| {
            let path = folder.path().join(below);
            let root = Root::open("data", &path, Access::Read).expect("a folder");
            root.dir(&RelPath::root()).expect("opened")
        };
        let within = |one: &str, other: &str| open(one).is_within(&open(other)).expect("stat");
        assert!(within("a", "a") && within("a/b/c", "a") && within("a/b/c", ""));
        assert!(!within("a", "a/b/c") && !within("a/b", "a/d") && !within("a/d", "a/b"));
    }

    #[test]
    fn a_fifo_cannot_hold_a_reader() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).expect("a fifo");
        for root in roots(folder.path()) {
            let dir = root.dir(&RelPath::root()).expect("a folder");
            assert_eq!(
                dir.open_file(b"fifo").map_err(|error| error.kind()).err(),
                Some(io::ErrorKind::InvalidInput)
            );
        }
    }

    #[test]
    fn odd_root_names_are_refused() {
        for name in ["", "a b", "a/b", "é"] {
            assert!(matches!(
                Root::open(name, Path::new("/"), Access::Read),
                Err(RootError::Name { .. })
            ));
        }
        assert!(matches!(
            Root::open("x", Path::new("/nowhere/at/all"), Access::Read),
            Err(RootError::Open { .. })
        ));
    }
}
