//! Receiving below a root.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use headrace_core::entry::Entry;
use headrace_core::name::RelPath;
use rustix::fs::{
    Advice, AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags, StatFs, Timespec, Timestamps,
    UTIME_OMIT, linkat, mkdirat, openat, renameat, renameat_with, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::file_systems::FileSystems;
use super::read_full;
use crate::account::Acting;
use crate::descriptors::patiently;
use crate::probe::is_memory;
use crate::root::{Dir, Handle, Root};
use crate::storage::{
    Existing, Folder, Holding, Metadata, Part, Reader, Removal, Replaced, Target, Writing,
};
use crate::version::is_same_content;

/// Files below a root.
#[derive(Debug)]
pub struct PosixTarget {
    root: Arc<Root>,
    writing: Writing,
    found: Arc<FoundOut>,
}

/// What a store found out about the file systems below its root.
#[derive(Debug)]
struct FoundOut {
    root: Arc<Root>,
    /// Whether files without a name work here; cleared when the file system says no.
    unnamed: AtomicBool,
    file_systems: FileSystems,
}

impl PosixTarget {
    /// Receive below `root`, writing large files as `writing` says.
    #[must_use]
    pub fn new(root: Arc<Root>, writing: Writing) -> Self {
        Self {
            writing,
            found: Arc::new(FoundOut {
                root: Arc::clone(&root),
                unnamed: AtomicBool::new(true),
                file_systems: FileSystems::default(),
            }),
            root,
        }
    }
}

impl Target for PosixTarget {
    fn folder(&self, path: &RelPath) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(PosixFolder::new(
            self.root.dir(path)?,
            &self.found,
        )?))
    }

    fn sync_file_system(&self, device: u64) -> io::Result<bool> {
        self.found.file_systems.sync(device)
    }

    fn writing(&self) -> Writing {
        self.writing
    }

    fn umask(&self) -> u32 {
        umask()
    }
}

#[derive(Debug)]
struct PosixFolder {
    dir: Arc<Dir>,
    device: u64,
    found: Arc<FoundOut>,
}

impl PosixFolder {
    fn new(dir: Dir, found: &Arc<FoundOut>) -> io::Result<Self> {
        Ok(Self {
            device: found.file_systems.meet(&dir)?,
            dir: Arc::new(dir),
            found: Arc::clone(found),
        })
    }

    /// A file without a name, and how it is written; `None` where the file system makes none.
    /// Nobody else can open what has no name, so it may have its permission bits from the beginning.
    fn without_name(&self, writing: Writing, mode: Mode) -> io::Result<Option<(File, Writing)>> {
        if !self.found.unnamed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let here = self.dir.acting()?;
        if writing == Writing::Direct {
            // Where that is refused, it may be for either reason.
            let direct = patiently(|| openat(&here, ".", flags | OFlags::DIRECT, mode));
            if let Ok(handle) = direct {
                return Ok(Some((handle.into(), Writing::Direct)));
            }
        }
        match patiently(|| openat(&here, ".", flags, mode)) {
            Ok(handle) => Ok(Some((handle.into(), Writing::Buffered))),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                self.found.unnamed.store(false, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn part(
        &self,
        file: File,
        name: Option<Box<[u8]>>,
        spare: &[u8],
        writing: Writing,
    ) -> io::Result<Arc<dyn Part>> {
        let stat = rustix::fs::fstat(&file)?;
        Ok(Arc::new(PosixPart {
            dir: Arc::clone(&self.dir),
            device: self.device,
            file,
            inode: stat.st_ino,
            mode: AtomicU32::new(stat.st_mode & 0o7777),
            name,
            spare: spare.into(),
            writing,
        }))
    }
}

impl Folder for PosixFolder {
    fn together(&self) -> io::Result<Option<Acting>> {
        self.dir.act()
    }

    fn entry(&self, name: &[u8], path: RelPath) -> io::Result<Option<Entry>> {
        // What stands there is left alone, replaced or deleted by what this says.
        self.dir.entry_now(name, path)
    }

    fn inode_of(&self, name: &[u8]) -> io::Result<Option<u64>> {
        self.dir.inode_of(name)
    }

    fn names(&self, each: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()> {
        self.dir.all_names(each)
    }

    fn folder(&self, name: &[u8]) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(Self::new(self.dir.dir(name)?, &self.found)?))
    }

    fn make_folder(&self, name: &[u8]) -> io::Result<()> {
        Ok(mkdirat(self.dir.acting()?, name, Mode::RWXU)?)
    }

    fn make_symlink(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        Ok(symlinkat(target, self.dir.acting()?, name)?)
    }

    fn create(
        &self,
        temporary: &[u8],
        holding: Holding,
        writing: Writing,
    ) -> io::Result<Arc<dyn Part>> {
        if holding == Holding::Unnamed
            && let Some((file, writing)) = self.without_name(writing, private())?
        {
            return self.part(file, None, temporary, writing);
        }
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (handle, writing) = open_for(&self.dir, temporary, flags, writing)?;
        self.part(handle, Some(temporary.into()), temporary, writing)
    }

    fn create_unnamed(&self, temporary: &[u8], mode: u32) -> io::Result<Arc<dyn Part>> {
        let mode_asked = Mode::from_raw_mode(mode & 0o777);
        match self.without_name(Writing::Buffered, mode_asked)? {
            Some((file, _)) => self.part(file, None, temporary, Writing::Buffered),
            None => self.create(temporary, Holding::Unnamed, Writing::Buffered),
        }
    }

    fn reopen(&self, temporary: &[u8], writing: Writing) -> io::Result<Arc<dyn Part>> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let (handle, writing) = open_for(&self.dir, temporary, flags, writing)?;
        self.part(handle, Some(temporary.into()), temporary, writing)
    }

    fn open_file(&self, name: &[u8]) -> io::Result<Arc<dyn Part>> {
        self.part(self.dir.open_file(name)?, None, &[], Writing::Buffered)
    }

    fn rename(&self, from: &[u8], to: &[u8], existing: Existing) -> io::Result<()> {
        rename(&self.dir.acting()?, from, to, existing)
    }

    fn remove(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(self.dir.acting()?, name, AtFlags::empty())?)
    }

    fn remove_if(&self, name: &[u8], expected: &dyn Fn(&Entry) -> bool) -> io::Result<Removal> {
        match self.dir.entry_now(name, RelPath::root())? {
            Some(found) if !expected(&found) => Ok(Removal::Changed),
            Some(_) => self.remove(name).map(|()| Removal::Gone),
            None => Ok(Removal::Absent),
        }
    }

    fn move_if(
        &self,
        name: &[u8],
        expected: &dyn Fn(&Entry) -> bool,
        to: &RelPath,
    ) -> io::Result<Removal> {
        match self.dir.entry_now(name, RelPath::root())? {
            Some(found) if !expected(&found) => return Ok(Removal::Changed),
            Some(_) => {}
            None => return Ok(Removal::Absent),
        }
        let there = self.found.root.dir(to)?;
        move_name((&self.dir.acting()?, name), (&there.acting()?, name))?;
        Ok(Removal::Gone)
    }

    fn remove_folder(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(self.dir.acting()?, name, AtFlags::REMOVEDIR)?)
    }

    fn itself(&self) -> io::Result<Option<Entry>> {
        self.dir.entry_now(b".", RelPath::root())
    }

    fn inode(&self) -> io::Result<u64> {
        Ok(self.dir.stat()?.st_ino)
    }

    fn device(&self) -> u64 {
        self.device
    }

    fn set_metadata(&self, metadata: Metadata) -> io::Result<()> {
        let inherited = Mode::from_raw_mode(self.dir.stat()?.st_mode) & Mode::SGID;
        let mode = metadata.mode.map(|mode| mode | inherited.bits());
        set_metadata(self.dir.acting()?, Metadata { mode, ..metadata })
    }

    fn set_symlink_mtime(&self, name: &[u8], mtime_ns: i128) -> io::Result<()> {
        Ok(utimensat(
            self.dir.acting()?,
            name,
            &modified(mtime_ns),
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    fn sync(&self) -> io::Result<()> {
        self.dir.sync()
    }
}

#[derive(Debug)]
struct PosixPart {
    dir: Arc<Dir>,
    device: u64,
    file: File,
    inode: u64,
    /// Permission bits as this process last knew them.
    mode: AtomicU32,
    /// Its temporary name; `None` for a file without one.
    name: Option<Box<[u8]>>,
    /// A name that may be used on the way when a file without one replaces another.
    spare: Box<[u8]>,
    writing: Writing,
}

impl Part for PosixPart {
    fn inode(&self) -> u64 {
        self.inode
    }

    fn device(&self) -> u64 {
        self.device
    }

    fn writing(&self) -> Writing {
        self.writing
    }

    fn is_named(&self) -> bool {
        self.name.is_some()
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        if size == 0 {
            return Ok(());
        }
        let _acting = self.dir.acting()?;
        let file_system = rustix::fs::fstatfs(&self.file)?;
        if is_memory(&file_system) {
            // It would take all pages at once, and every write would wait for that: a GiB arrives in 1.3 s instead of 1.6 s.
            return if is_room_for(size, &file_system) {
                self.set_size(size)
            } else {
                Err(Errno::NOSPC.into())
            };
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, size) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.set_size(size),
            answer => Ok(answer?),
        }
    }

    fn share(&self, with: &dyn Reader) -> io::Result<bool> {
        let Some(from) = with.descriptor() else {
            return Ok(false);
        };
        let _acting = self.dir.acting()?;
        match rustix::fs::ioctl_ficlone(&self.file, from) {
            Ok(()) => Ok(true),
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => Err(error.into()),
            // Not on this file system, from another one, or not for these two files.
            Err(_) => Ok(false),
        }
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        let _acting = self.dir.acting()?;
        self.file.set_len(size)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        // It was opened as the account; that its quota counts is asked at every write.
        let _acting = self.dir.acting()?;
        self.file.write_all_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        read_full(&self.file, bytes, offset)
    }

    fn evict(&self) -> io::Result<()> {
        Ok(rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }

    fn set_metadata(&self, metadata: Metadata) -> io::Result<()> {
        let _acting = self.dir.acting()?;
        // Whoever sees a name may change what it is of; what was made without one is as it was made.
        let is_unseen = self.name.is_none() && !self.spare.is_empty();
        let now = self.mode.load(Ordering::Acquire);
        let mode = metadata.mode.filter(|mode| !is_unseen || *mode != now);
        set_metadata(&self.file, Metadata { mode, ..metadata })?;
        self.mode.store(mode.unwrap_or(now), Ordering::Release);
        Ok(())
    }

    fn sync_content(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn publish(&self, name: &[u8], existing: Existing) -> io::Result<()> {
        let dir = &self.dir.acting()?;
        match (&self.name, existing) {
            (Some(temporary), _) => rename(dir, temporary, name, existing),
            (None, Existing::Keep) => link(&self.file, dir, name),
            (None, Existing::Replace) => {
                link(&self.file, dir, &self.spare)?;
                rename(dir, &self.spare, name, existing)
            }
        }
    }

    fn replace(&self, name: &[u8], expected: &dyn Fn(&Entry) -> bool) -> io::Result<Replaced> {
        let dir = &self.dir.acting()?;
        let look = |name: &[u8]| self.dir.entry_now(name, RelPath::root());
        let temporary = self.name.as_deref().unwrap_or(&self.spare);
        // To exchange names is a change of both files: what may have come between is told from how it was before.
        let before = look(name)?;
        if before.as_ref().is_some_and(|found| !expected(found)) {
            return Ok(Replaced::No);
        }
        if self.name.is_none() {
            link(&self.file, dir, temporary)?;
        }
        let exchange = || renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE);
        let replaced = match exchange() {
            Ok(()) => {
                // Looked at where nobody else changes it any more.
                if is_the_same(look(temporary)?.as_ref(), before.as_ref()) {
                    unlinkat(dir, temporary, AtFlags::empty())?;
                    return Ok(Replaced::Yes);
                }
                exchange()?;
                Replaced::No
            }
            Err(Errno::NOENT) => {
                rename(dir, temporary, name, Existing::Keep)?;
                Replaced::Yes
            }
            // Not on this file system: look as late as possible.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if look(name)?.is_none_or(|found| expected(&found)) {
                    rename(dir, temporary, name, Existing::Replace)?;
                    Replaced::Yes
                } else {
                    Replaced::No
                }
            }
            Err(error) => return Err(error.into()),
        };
        if replaced == Replaced::No && self.name.is_none() {
            unlinkat(dir, temporary, AtFlags::empty())?;
        }
        Ok(replaced)
    }

    fn discard(&self) -> io::Result<()> {
        match &self.name {
            Some(name) => Ok(unlinkat(self.dir.acting()?, &**name, AtFlags::empty())?),
            None => Ok(()),
        }
    }
}

/// Whether what is there is what was there, by now perhaps under another name.
fn is_the_same(now: Option<&Entry>, then: Option<&Entry>) -> bool {
    let (Some(now), Some(then)) = (now, then) else {
        return false;
    };
    now.kind == then.kind && is_same_content(&now.version, &then.version)
}

/// Whether a file of `size` bytes fits; a file system without a limit shows no size.
fn is_room_for(size: u64, file_system: &StatFs) -> bool {
    let free = u64::try_from(file_system.f_bsize)
        .unwrap_or(0)
        .saturating_mul(file_system.f_bavail);
    file_system.f_blocks == 0 || size <= free
}

/// Open a file in `dir`; direct writing falls back to buffered where the file system refuses it.
fn open_for(
    dir: &Dir,
    name: &[u8],
    flags: OFlags,
    writing: Writing,
) -> io::Result<(File, Writing)> {
    let dir = dir.acting()?;
    if writing == Writing::Direct {
        match patiently(|| openat(&dir, name, flags | OFlags::DIRECT, private())) {
            Ok(handle) => return Ok((handle.into(), Writing::Direct)),
            // Some kernels make the file before they refuse the flag.
            Err(Errno::INVAL) => {
                let handle = openat(&dir, name, flags.difference(OFlags::EXCL), private())?;
                return Ok((handle.into(), Writing::Buffered));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let handle = patiently(|| openat(&dir, name, flags, private()))?;
    Ok((handle.into(), Writing::Buffered))
}

fn rename(dir: &Handle<'_>, from: &[u8], to: &[u8], existing: Existing) -> io::Result<()> {
    if existing == Existing::Replace {
        return Ok(renameat(dir, from, dir, to)?);
    }
    move_name((dir, from), (dir, to))
}

/// Give a name to what another one stands for, perhaps in another folder, and replace nothing.
fn move_name(
    (here, from): (&Handle<'_>, &[u8]),
    (there, to): (&Handle<'_>, &[u8]),
) -> io::Result<()> {
    match renameat_with(here, from, there, to, RenameFlags::NOREPLACE) {
        // Not on this file system: a link never replaces either.
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(here, from, there, to, AtFlags::empty())?;
            Ok(unlinkat(here, from, AtFlags::empty())?)
        }
        answer => Ok(answer?),
    }
}

fn link(file: &File, dir: &Handle<'_>, name: &[u8]) -> io::Result<()> {
    match linkat(file, "", dir, name, AtFlags::EMPTY_PATH) {
        // Needs a privilege on kernels before 6.10; the way over /proc does not.
        Err(Errno::NOENT | Errno::PERM) => {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            Ok(linkat(CWD, path, dir, name, AtFlags::SYMLINK_FOLLOW)?)
        }
        answer => Ok(answer?),
    }
}

fn set_metadata(handle: impl AsFd, metadata: Metadata) -> io::Result<()> {
    if let Some(mode) = metadata.mode {
        rustix::fs::fchmod(&handle, Mode::from_raw_mode(mode))?;
    }
    if let Some(mtime_ns) = metadata.mtime_ns {
        rustix::fs::futimens(&handle, &modified(mtime_ns))?;
    }
    Ok(())
}

/// The umask of this process. Asking the kernel by the system call would change it for a moment, for all threads.
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
            .unwrap_or(USUAL)
    })
}

/// Times that change only the modification time.
fn modified(mtime_ns: i128) -> Timestamps {
    let second = 1_000_000_000;
    let modified = Timespec {
        tv_sec: i64::try_from(mtime_ns.div_euclid(second)).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(mtime_ns.rem_euclid(second)).unwrap_or(0),
    };
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: modified,
    }
}

/// Nobody else reads or writes a file before it is complete.
fn private() -> Mode {
    Mode::RUSR | Mode::WUSR
}
