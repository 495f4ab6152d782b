//! A storage without a disk: files that are made while they are read, and a place where everything written is dropped. Transfers of any
//! length can run on it. No node has it: whoever starts a data plane hands it over.

use std::io;
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::RelPath;
use headrace_core::version::Version;
use headrace_io::descriptors::Share;
use headrace_io::root::Root;
use headrace_io::storage::{
    Existing, Folder, Holding, Listing, Metadata, Origin, Part, Reader, Removal, Replaced,
    Storages, Target, Writing,
};
use headrace_io::walk::{WalkError, WalkLimits};

use crate::session_support::content;

/// Bytes of the pattern that a file repeats, each time with its offset.
const PATTERN_BYTES: usize = 64 << 10;

/// Files of one size without a disk below every root; a path like `1000x65536` says how many, and of which size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoDisk {
    /// How many files there are to read.
    pub(crate) files: u64,
    /// Bytes of each.
    pub(crate) file_bytes: u64,
}

impl Storages for NoDisk {
    fn origin(&self, _root: &Arc<Root>, path: RelPath, _share: Arc<Share>) -> Arc<dyn Origin> {
        let text = std::str::from_utf8(path.as_bytes()).ok();
        let said = text.and_then(|text| text.split_once('x'));
        let said = said.and_then(|(files, bytes)| Some((files.parse().ok()?, bytes.parse().ok()?)));
        let (files, bytes) = said.unwrap_or((self.files, self.file_bytes));
        Arc::new(Generated {
            files,
            bytes,
            pattern: content(PATTERN_BYTES, 1).into(),
        })
    }

    fn target(&self, _root: &Arc<Root>, _writing: Writing) -> Arc<dyn Target> {
        Arc::new(Discarded)
    }
}

/// Makes what is read.
#[derive(Debug, Clone)]
struct Generated {
    files: u64,
    bytes: u64,
    pattern: Arc<[u8]>,
}

impl Generated {
    fn file(&self, number: u64) -> Entry {
        let name = format!("{number:09}");
        Entry {
            path: RelPath::from_bytes(name.as_bytes()).expect("a name"),
            kind: Kind::File,
            size: self.bytes,
            ..folder()
        }
    }
}

fn folder() -> Entry {
    Entry {
        path: RelPath::root(),
        kind: Kind::Dir,
        size: 0,
        mtime_ns: 0,
        version: Version::new(b"generated").expect("short"),
        mode: 0o600,
        target: None,
    }
}

impl Origin for Generated {
    fn list<'a>(&'a self, _limits: WalkLimits<'a>) -> Box<dyn Listing + 'a> {
        Box::new(Numbers {
            from: self,
            next: 0,
        })
    }

    fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        if path.is_root() {
            return Ok(Some(folder()));
        }
        let number = std::str::from_utf8(path.as_bytes()).ok();
        let number = number.and_then(|number| number.parse().ok());
        Ok(number
            .filter(|number| *number < self.files)
            .map(|number| self.file(number)))
    }

    fn open(&self, _path: &RelPath) -> io::Result<Option<Arc<dyn Reader>>> {
        Ok(Some(Arc::new(self.clone())))
    }

    fn remove_if(&self, _then: &Entry) -> io::Result<Removal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove_folder(&self, _path: &RelPath) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

struct Numbers<'g> {
    from: &'g Generated,
    next: u64,
}

impl Iterator for Numbers<'_> {
    type Item = Result<Entry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.next;
        self.next += 1;
        (number < self.from.files).then(|| Ok(self.from.file(number)))
    }
}

impl Listing for Numbers<'_> {
    fn prune(&mut self) {}
}

impl Reader for Generated {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = rest.min(bytes.len());
        for (number, piece) in (0..).zip(bytes[..count].chunks_mut(PATTERN_BYTES)) {
            piece.copy_from_slice(&self.pattern[..piece.len()]);
            let at = (offset / PATTERN_BYTES as u64 + number).to_le_bytes();
            let marked = piece.len().min(at.len());
            piece[..marked].copy_from_slice(&at[..marked]);
        }
        Ok(count)
    }

    fn still(&self, _then: &Entry) -> io::Result<Option<Sparse>> {
        Ok(Some(Sparse::No))
    }

    fn is_hole(&self, _offset: u64, _length: u64) -> bool {
        false
    }

    fn read_ahead(&self, _offset: u64, _length: u64) {}
}

/// Drops what is written.
#[derive(Debug, Clone, Copy)]
struct Discarded;

impl Target for Discarded {
    fn folder(&self, _path: &RelPath) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(Self))
    }

    fn sync_file_system(&self, _device: u64) -> io::Result<bool> {
        Ok(true)
    }

    fn writing(&self) -> Writing {
        Writing::Buffered
    }

    fn umask(&self) -> u32 {
        0
    }
}

impl Folder for Discarded {
    fn entry(&self, _name: &[u8], _path: RelPath) -> io::Result<Option<Entry>> {
        Ok(None)
    }

    fn inode_of(&self, _name: &[u8]) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn names(&self, _each: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()> {
        Ok(())
    }

    fn folder(&self, _name: &[u8]) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(Self))
    }

    fn make_folder(&self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn make_symlink(&self, _name: &[u8], _target: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn create(
        &self,
        _temporary: &[u8],
        _holding: Holding,
        _writing: Writing,
    ) -> io::Result<Arc<dyn Part>> {
        Ok(Arc::new(Self))
    }

    fn reopen(&self, _temporary: &[u8], _writing: Writing) -> io::Result<Arc<dyn Part>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn open_file(&self, _name: &[u8]) -> io::Result<Arc<dyn Part>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn rename(&self, _from: &[u8], _to: &[u8], _existing: Existing) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn remove_if(&self, _name: &[u8], _expected: &dyn Fn(&Entry) -> bool) -> io::Result<Removal> {
        Ok(Removal::Gone)
    }

    fn remove_folder(&self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn inode(&self) -> io::Result<u64> {
        Ok(1)
    }

    fn device(&self) -> u64 {
        1
    }

    fn set_metadata(&self, _metadata: Metadata) -> io::Result<()> {
        Ok(())
    }

    fn set_symlink_mtime(&self, _name: &[u8], _mtime_ns: i128) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Part for Discarded {
    fn inode(&self) -> u64 {
        1
    }

    fn device(&self) -> u64 {
        1
    }

    fn writing(&self) -> Writing {
        Writing::Buffered
    }

    fn is_named(&self) -> bool {
        false
    }

    fn allocate(&self, _size: u64) -> io::Result<()> {
        Ok(())
    }

    fn set_size(&self, _size: u64) -> io::Result<()> {
        Ok(())
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Ok(())
    }

    fn read_at(&self, _bytes: &mut [u8], _offset: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn evict(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_metadata(&self, _metadata: Metadata) -> io::Result<()> {
        Ok(())
    }

    fn sync_content(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn publish(&self, _name: &[u8], _existing: Existing) -> io::Result<()> {
        Ok(())
    }

    fn replace(&self, _name: &[u8], _expected: &dyn Fn(&Entry) -> bool) -> io::Result<Replaced> {
        Ok(Replaced::Yes)
    }

    fn discard(&self) -> io::Result<()> {
        Ok(())
    }
}
