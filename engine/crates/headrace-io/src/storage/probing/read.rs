//! The reading side of a probe.

use std::io;
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::RelPath;
use headrace_core::version::Version;
use parking_lot::Mutex;

use super::MADE_FILE_BYTES;
use crate::storage::{Listing, Origin, Reader, Removal};
use crate::walk::{WalkError, WalkLimits, WalkProblem};

/// Bytes of the pattern that a made file repeats, each time with its offset.
const PATTERN_BYTES: usize = 64 << 10;

/// Entries that a listing looks at for each file that may be read: a place with more folders and empty files than that is not worth the wait.
const LOOKED_AT: u64 = 100;

/// Names of what is read: numbers, so that no name of a storage is told to the other node.
fn name_of(number: usize) -> io::Result<RelPath> {
    RelPath::from_bytes(format!("{number:06}").as_bytes()).map_err(io::Error::other)
}

fn number_of(path: &RelPath) -> Option<usize> {
    std::str::from_utf8(path.as_bytes()).ok()?.parse().ok()
}

/// The folder that all of it is in.
fn folder() -> io::Result<Entry> {
    Ok(Entry {
        path: RelPath::root(),
        kind: Kind::Dir,
        size: 0,
        mtime_ns: 0,
        version: Version::new(b"probe").ok_or(io::ErrorKind::InvalidData)?,
        mode: 0o600,
        target: None,
    })
}

fn refuse<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Content that is made when it is read: files of [`MADE_FILE_BYTES`], the last one shorter.
#[derive(Debug)]
pub(super) struct Made {
    files: usize,
    bytes: u64,
    pattern: Arc<[u8]>,
}

impl Made {
    pub(super) fn new(max_files: u64, max_bytes: u64) -> Self {
        let files = max_bytes.div_ceil(MADE_FILE_BYTES).min(max_files);
        // Not compressible and not all the same, so that neither hardware nor path gains by it.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let pattern = (0..PATTERN_BYTES / 8).flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        Self {
            files: usize::try_from(files).unwrap_or(usize::MAX),
            bytes: max_bytes,
            pattern: pattern.collect(),
        }
    }

    fn size(&self, number: usize) -> u64 {
        let before = (number as u64).saturating_mul(MADE_FILE_BYTES);
        self.bytes.saturating_sub(before).min(MADE_FILE_BYTES)
    }

    fn file(&self, number: usize) -> io::Result<Entry> {
        Ok(Entry {
            path: name_of(number)?,
            kind: Kind::File,
            size: self.size(number),
            ..folder()?
        })
    }
}

impl Origin for Made {
    fn list<'a>(&'a self, _limits: WalkLimits<'a>) -> Box<dyn Listing + 'a> {
        let files = (0..self.files).filter_map(|number| self.file(number).ok().map(Ok));
        Box::new(Flat(files))
    }

    fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        if path.is_root() {
            return folder().map(Some);
        }
        let number = number_of(path).filter(|number| *number < self.files);
        number.map(|number| self.file(number)).transpose()
    }

    fn open(&self, path: &RelPath) -> io::Result<Option<Arc<dyn Reader>>> {
        let number = number_of(path).filter(|number| *number < self.files);
        Ok(number.map(|number| {
            Arc::new(MadeFile {
                size: self.size(number),
                pattern: Arc::clone(&self.pattern),
            }) as Arc<dyn Reader>
        }))
    }

    fn remove_if(&self, _then: &Entry) -> io::Result<Removal> {
        refuse()
    }

    fn remove_folder(&self, _path: &RelPath) -> io::Result<()> {
        refuse()
    }
}

struct MadeFile {
    size: u64,
    pattern: Arc<[u8]>,
}

impl Reader for MadeFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
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

/// The first files of a storage, under numbers and up to so many bytes. Page caches forget them before they are read.
pub(super) struct Excerpt {
    storage: Arc<dyn Origin>,
    max_files: u64,
    max_bytes: u64,
    /// What the listing found: where each file is, and how much of it is read.
    found: Mutex<Vec<(RelPath, u64)>>,
}

impl Excerpt {
    pub(super) fn new(storage: Arc<dyn Origin>, max_files: u64, max_bytes: u64) -> Self {
        Self {
            storage,
            max_files,
            max_bytes,
            found: Mutex::default(),
        }
    }

    fn known(&self, path: &RelPath) -> Option<(RelPath, u64)> {
        self.found.lock().get(number_of(path)?).cloned()
    }
}

impl Origin for Excerpt {
    fn list<'a>(&'a self, limits: WalkLimits<'a>) -> Box<dyn Listing + 'a> {
        self.found.lock().clear();
        let mut left = self.max_bytes;
        let mut unseen = self.max_files.saturating_mul(LOOKED_AT);
        let mut walked = self.storage.list(limits);
        let files = std::iter::from_fn(move || {
            loop {
                if left == 0 || unseen == 0 || self.found.lock().len() as u64 >= self.max_files {
                    return None;
                }
                // What is skipped is seen by nobody who could ask.
                if let Err(error) = (limits.go_on)() {
                    return Some(Err(WalkError {
                        path: RelPath::root(),
                        problem: WalkProblem::Io(error),
                    }));
                }
                unseen -= 1;
                // What can't be read is not measured. Only when the place itself can't be, there is nothing to measure.
                let entry = match walked.next()? {
                    Ok(entry) => entry,
                    Err(error) if error.path.is_root() => return Some(Err(error)),
                    Err(_) => continue,
                };
                let size = entry.size.min(left);
                if entry.kind != Kind::File || size == 0 {
                    continue;
                }
                if let Ok(Some(reader)) = self.storage.open(&entry.path) {
                    reader.forget();
                }
                let mut found = self.found.lock();
                let Ok(path) = name_of(found.len()) else {
                    return None;
                };
                left -= size;
                found.push((entry.path.clone(), size));
                return Some(Ok(Entry {
                    path,
                    size,
                    ..entry
                }));
            }
        });
        Box::new(Flat(files))
    }

    fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        if path.is_root() {
            return folder().map(Some);
        }
        let Some((real, size)) = self.known(path) else {
            return Ok(None);
        };
        let now = self.storage.entry(&real)?;
        Ok(now.map(|now| Entry {
            path: path.clone(),
            size: now.size.min(size),
            ..now
        }))
    }

    fn open(&self, path: &RelPath) -> io::Result<Option<Arc<dyn Reader>>> {
        match self.known(path) {
            Some((real, _)) => self.storage.open(&real),
            None => Ok(None),
        }
    }

    fn remove_if(&self, _then: &Entry) -> io::Result<Removal> {
        refuse()
    }

    fn remove_folder(&self, _path: &RelPath) -> io::Result<()> {
        refuse()
    }
}

/// A listing without folders.
struct Flat<I>(I);

impl<I: Iterator<Item = Result<Entry, WalkError>>> Iterator for Flat<I> {
    type Item = Result<Entry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl<I: Iterator<Item = Result<Entry, WalkError>>> Listing for Flat<I> {
    fn prune(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors::Descriptors;
    use crate::root::Root;
    use crate::storage::posix::PosixOrigin;
    use headrace_core::access::Access;

    #[test]
    fn a_place_with_more_empty_files_than_are_looked_at_ends_the_listing_before_its_last_file() {
        let place = tempfile::tempdir().expect("a folder");
        for number in 0..LOOKED_AT + 10 {
            std::fs::write(place.path().join(format!("{number:04}")), b"").expect("an empty file");
        }
        std::fs::write(place.path().join("9999"), b"content").expect("a file");
        let root = Arc::new(Root::open("data", place.path(), Access::Read).expect("a root"));
        let share = Arc::new(Descriptors::new(64).share());
        let storage: Arc<dyn Origin> = Arc::new(PosixOrigin::new(root, RelPath::root(), share));
        let read = |max_files| {
            let excerpt = Excerpt::new(Arc::clone(&storage), max_files, 1 << 20);
            excerpt.list(WalkLimits::default()).count()
        };
        assert_eq!((read(1), read(2)), (0, 1));
    }
}
