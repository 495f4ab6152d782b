//! Names that may be deleted, until it is known which folders keep something.
//!
//! A folder comes before what it holds, so candidates are spooled with one bit each, and the list is written in a
//! second pass.

use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use super::sample;
use crate::entry::{Entry, Kind};
use crate::list::{ListDigest, ListEntry, ListError, ListReader, ListWriter};
use crate::name::RelPath;

/// Candidates of one survey.
pub(super) struct Deletes<S: Write> {
    spool: ListWriter<BufWriter<S>>,
    count: usize,
    /// One bit for each candidate: it stays after all.
    stays: Vec<u64>,
    /// Candidate folders on the way to the current path, with their numbers.
    open: Vec<(RelPath, usize)>,
}

/// What became the delete list.
pub(super) struct Listed {
    pub(super) digest: ListDigest,
    pub(super) bytes: u64,
    pub(super) sample: Vec<RelPath>,
}

impl<S: Read + Write + Seek> Deletes<S> {
    pub(super) fn new(spool: S) -> Self {
        let spool = ListWriter::new(BufWriter::new(spool));
        Self {
            spool,
            count: 0,
            stays: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Adds a candidate; paths rise.
    pub(super) fn push(&mut self, entry: &Entry) -> io::Result<()> {
        self.open
            .retain(|(folder, _)| entry.path.starts_with(folder));
        self.spool.push(&ListEntry::from(entry))?;
        if entry.kind == Kind::Dir {
            self.open.push((entry.path.clone(), self.count));
        }
        if self.count.is_multiple_of(64) {
            self.stays.push(0);
        }
        self.count += 1;
        Ok(())
    }

    /// Says that this name stays, and so do the folders it is in.
    pub(super) fn keep(&mut self, path: &RelPath) {
        self.open.retain(|(folder, _)| path.starts_with(folder));
        for (_, number) in &self.open {
            self.stays[number / 64] |= 1 << (number % 64);
        }
    }

    /// Writes the list of the candidates that don't stay.
    pub(super) fn finish(self, list: impl Write) -> io::Result<Listed> {
        let (spool, digest) = self.spool.finish()?;
        let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
        spool.seek(SeekFrom::Start(0))?;
        let mut list = ListWriter::new(list);
        let mut listed = Listed {
            digest: ListDigest::empty(),
            bytes: 0,
            sample: Vec::new(),
        };
        for (number, entry) in ListReader::new(BufReader::new(spool), digest).enumerate() {
            let entry = entry.map_err(|error| match error {
                ListError::Io(error) => error,
                other => io::Error::new(io::ErrorKind::InvalidData, other),
            })?;
            if self.stays[number / 64] & (1 << (number % 64)) != 0 {
                continue;
            }
            if entry.kind != Kind::Dir {
                listed.bytes = listed.bytes.saturating_add(entry.size);
            }
            sample(&mut listed.sample, &entry.path);
            list.push(&entry)?;
        }
        listed.digest = list.finish()?.1;
        Ok(listed)
    }
}
