//! Overwrite and delete lists: files of one canonical JSON line per entry, in path order, known by their SHA-256.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::entry::{Entry, Kind};
use crate::name::RelPath;
use crate::value::{Digest, decimal};
use crate::version::Version;

/// Longest line: a path of 4,096 bytes, each written in three, and the rest.
pub const MAX_LINE_BYTES: usize = 32 * 1024;

/// A destination name as it was surveyed; it may be replaced or deleted only while it is still like this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListEntry {
    // In the order of canonical JSON, so that plain serialisation is canonical.
    /// Last change of the content, in nanoseconds since the epoch.
    #[serde(with = "decimal")]
    pub mtime_ns: i128,
    /// Where, relative to the destination path.
    pub path: RelPath,
    /// Bytes.
    #[serde(with = "decimal")]
    pub size: u64,
    /// What it is; never [`Kind::Other`].
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What tells this state of it from any other.
    pub version: Version,
}

impl From<&Entry> for ListEntry {
    fn from(entry: &Entry) -> Self {
        Self {
            mtime_ns: entry.mtime_ns,
            path: entry.path.clone(),
            size: entry.size,
            kind: entry.kind,
            version: entry.version,
        }
    }
}

/// Number of lines and digest of a list, as a ticket names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDigest {
    /// Lines.
    #[serde(with = "decimal")]
    pub count: u64,
    /// SHA-256 of the file.
    pub digest: Digest,
}

impl ListDigest {
    /// That of a list without lines.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            count: 0,
            digest: Digest::of(b""),
        }
    }
}

/// Why a list can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// Reading or writing failed.
    #[error("reading or writing a list failed: {0}")]
    Io(#[from] io::Error),
    /// A line that is not one.
    #[error("line {line} of a list can't be read: {detail}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// The list is not the one that was sealed.
    #[error(
        "a list has {found_count} lines and digest {found}, sealed were {sealed_count} and {sealed}"
    )]
    Digest {
        /// Lines that were read.
        found_count: u64,
        /// Digest of what was read.
        found: Digest,
        /// Lines in the ticket.
        sealed_count: u64,
        /// Digest in the ticket.
        sealed: Digest,
    },
}

/// Writes a list and computes its digest.
#[derive(Debug)]
pub struct ListWriter<W: Write> {
    out: W,
    hash: Sha256,
    count: u64,
}

impl<W: Write> ListWriter<W> {
    /// Starts an empty list; `out` should be buffered.
    pub fn new(out: W) -> Self {
        Self {
            out,
            hash: Sha256::new(),
            count: 0,
        }
    }

    /// Adds a line. Lines are added in path order.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn push(&mut self, entry: &ListEntry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.hash.update(&line);
        self.count += 1;
        self.out.write_all(&line)
    }

    /// Flushes and gives back the writer and what a ticket says of the list.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<(W, ListDigest)> {
        self.out.flush()?;
        Ok((
            self.out,
            ListDigest {
                count: self.count,
                digest: Digest(self.hash.finalize().into()),
            },
        ))
    }
}

/// Reads a list line by line, in strictly rising path order, and checks at its end that it is the sealed one. Nothing
/// may be done on its word before the end was reached without an error.
#[derive(Debug)]
pub struct ListReader<R> {
    input: R,
    hash: Sha256,
    count: u64,
    last: Option<RelPath>,
    sealed: ListDigest,
    done: bool,
}

impl<R: BufRead> ListReader<R> {
    /// Starts reading a list that should be `sealed`.
    pub fn new(input: R, sealed: ListDigest) -> Self {
        Self {
            input,
            hash: Sha256::new(),
            count: 0,
            last: None,
            sealed,
            done: false,
        }
    }

    fn read(&mut self) -> Result<Option<ListEntry>, ListError> {
        let mut line = Vec::new();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        self.input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            let (found_count, found) = (
                self.count,
                Digest(std::mem::take(&mut self.hash).finalize().into()),
            );
            let ListDigest {
                count: sealed_count,
                digest: sealed,
            } = self.sealed;
            if (found_count, found) != (sealed_count, sealed) {
                return Err(ListError::Digest {
                    found_count,
                    found,
                    sealed_count,
                    sealed,
                });
            }
            return Ok(None);
        }
        self.hash.update(&line);
        self.count += 1;
        let refuse = |detail: &str| ListError::Line {
            line: self.count,
            detail: detail.to_owned(),
        };
        let text = line
            .strip_suffix(b"\n")
            .ok_or_else(|| refuse("it has no end or is too long"))?;
        let entry: ListEntry =
            serde_json::from_slice(text).map_err(|error| refuse(&error.to_string()))?;
        if self.last.as_ref().is_some_and(|last| *last >= entry.path) {
            return Err(refuse("it is out of order"));
        }
        if !entry.version.is_known() {
            return Err(refuse("it says nothing of the state of its name"));
        }
        self.last = Some(entry.path.clone());
        Ok(Some(entry))
    }
}

impl<R: BufRead> Iterator for ListReader<R> {
    type Item = Result<ListEntry, ListError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.read().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(path: &str, size: u64) -> ListEntry {
        let path = RelPath::from_bytes(path.as_bytes()).expect("a test path");
        ListEntry {
            mtime_ns: -1,
            path,
            size,
            kind: Kind::File,
            version: Version::new(&[1, 0xab]).expect("short"),
        }
    }

    fn write(entries: &[ListEntry]) -> (Vec<u8>, ListDigest) {
        let mut writer = ListWriter::new(Vec::new());
        for entry in entries {
            writer.push(entry).expect("memory takes all");
        }
        writer.finish().expect("memory takes all")
    }

    fn read(bytes: &[u8], sealed: ListDigest) -> Result<Vec<ListEntry>, ListError> {
        ListReader::new(bytes, sealed).collect()
    }

    #[test]
    fn lines_are_canonical_json() {
        let (bytes, digest) = write(&[entry("a/ü%", 7)]);
        let text = String::from_utf8(bytes.clone()).expect("UTF-8");
        assert_eq!(
            text,
            "{\"mtime_ns\":\"-1\",\"path\":[\"a\",\"ü%25\"],\"size\":\"7\",\"type\":\"file\",\"version\":\"01ab\"}\n"
        );
        let value = serde_json::from_str(text.trim_end()).expect("JSON");
        assert_eq!(crate::canonical::to_string(&value), text.trim_end());
        assert_eq!(
            digest,
            ListDigest {
                count: 1,
                digest: Digest::of(&bytes)
            }
        );
    }

    #[test]
    fn invariant_2_a_list_that_is_not_the_sealed_one_is_refused() {
        let (bytes, sealed) = write(&[entry("a", 1), entry("b", 2)]);
        assert_eq!(read(&bytes, sealed).expect("the same list").len(), 2);
        let (longer, _) = write(&[entry("a", 1), entry("b", 2), entry("c", 3)]);
        let (other, _) = write(&[entry("a", 1), entry("b", 3)]);
        for changed in [&bytes[..bytes.len() / 2], &[], &longer, &other] {
            assert!(
                matches!(read(changed, sealed), Err(ListError::Digest { .. })),
                "{}",
                changed.len()
            );
        }
    }

    #[test]
    fn unordered_and_endless_lines_are_refused() {
        for entries in [
            [entry("b", 1), entry("a", 1)],
            [entry("a", 1), entry("a", 2)],
        ] {
            let (bytes, sealed) = write(&entries);
            assert!(matches!(
                read(&bytes, sealed),
                Err(ListError::Line { line: 2, .. })
            ));
        }
        let endless = vec![b' '; MAX_LINE_BYTES * 2];
        assert!(matches!(
            read(&endless, ListDigest::empty()),
            Err(ListError::Line { line: 1, .. })
        ));
        let mut reader = ListReader::new(&endless[..], ListDigest::empty());
        assert!(reader.next().is_some_and(|line| line.is_err()) && reader.next().is_none());
    }

    proptest! {
        #[test]
        fn lists_survive_writing(names in prop::collection::btree_set("[a-zé%]{1,8}", 0..20)) {
            let mut entries: Vec<_> = names.iter().map(|name| entry(name, 3)).collect();
            entries.sort_by(|left, right| left.path.cmp(&right.path));
            let (bytes, sealed) = write(&entries);
            prop_assert_eq!(read(&bytes, sealed).expect("the same list"), entries);
        }

        #[test]
        fn no_bytes_make_the_reader_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, ListDigest::empty());
        }
    }
}
