//! What became of every entry of the source, kept in scratch files so that memory does not grow with their number.
//!
//! Entries come in path order and are spooled as they come; results come in any order and are written at the entry's number. In the
//! end both are read side by side into `files.jsonl` and `failed.jsonl`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use headrace_core::code::Failure;
use headrace_core::codec::Reader;
use headrace_core::integrity::PieceHash;
use headrace_core::manifest::{Item, put_failure, read_failure};

/// Bytes of one result.
const RESULT_BYTES: usize = 48;
/// Results of entries that follow each other are written together, up to so many bytes.
const RUN_BYTES: usize = 512 * RESULT_BYTES;

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing yet.
    Open,
    /// It was copied; hash of the content.
    Copied(PieceHash),
    /// The same was there; its hash where it was read.
    Identical(Option<PieceHash>),
    /// The folder was made.
    Created,
    /// It was to be left alone.
    Skipped,
    /// It was deleted at the destination.
    Deleted,
    /// It failed; where the reason stands.
    Failed(u64),
}

/// Spool and results of one session.
#[derive(Debug)]
pub(crate) struct Ledger {
    spool: BufWriter<File>,
    results: File,
    run: Run,
    failures: File,
    failures_length: u64,
    count: u64,
}

/// Results of entries that follow each other and are not written yet: small files come so, and a write each is a twentieth of their cost.
#[derive(Debug, Default)]
struct Run {
    first: u64,
    bytes: Vec<u8>,
}

impl Ledger {
    /// Start an empty ledger of this name in `folder`.
    pub(crate) fn create(folder: &Path, name: &str) -> io::Result<Self> {
        let open = |part: &str| {
            let path = folder.join(format!("{name}.{part}"));
            File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(path)
        };
        Ok(Self {
            spool: BufWriter::with_capacity(64 * 1024, open("entries")?),
            results: open("results")?,
            run: Run::default(),
            failures: open("failures")?,
            failures_length: 0,
            count: 0,
        })
    }

    /// How many entries were spooled.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Spool the next entry.
    pub(crate) fn push(&mut self, item: &Item) -> io::Result<()> {
        let mut record = vec![0; 4];
        item.put(&mut record);
        let length = u32::try_from(record.len() - 4).map_err(io::Error::other)?;
        record[..4].copy_from_slice(&length.to_le_bytes());
        self.count += 1;
        self.spool.write_all(&record)
    }

    /// Write down what became of an entry.
    pub(crate) fn record(&mut self, id: u64, outcome: Outcome) -> io::Result<()> {
        let mut record = [0; RESULT_BYTES];
        let (kind, hash, reason) = match outcome {
            Outcome::Open => (0, None, 0),
            Outcome::Copied(hash) => (1, Some(hash), 0),
            Outcome::Identical(hash) => (if hash.is_some() { 2 } else { 3 }, hash, 0),
            Outcome::Created => (4, None, 0),
            Outcome::Skipped => (5, None, 0),
            Outcome::Failed(reason) => (6, None, reason),
            Outcome::Deleted => (7, None, 0),
        };
        record[0] = kind;
        record[8..16].copy_from_slice(&reason.to_le_bytes());
        record[16..48].copy_from_slice(&hash.unwrap_or_default());
        let next = self.run.first + (self.run.bytes.len() / RESULT_BYTES) as u64;
        if id != next || self.run.bytes.len() >= RUN_BYTES {
            self.write_run()?;
            self.run.first = id;
        }
        self.run.bytes.extend_from_slice(&record);
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        let at = self.run.first * RESULT_BYTES as u64;
        self.results.write_all_at(&self.run.bytes, at)?;
        self.run.bytes.clear();
        Ok(())
    }

    /// Write down that an entry failed, and why.
    pub(crate) fn record_failure(&mut self, id: u64, failure: &Failure) -> io::Result<()> {
        let mut record = Vec::new();
        put_failure(failure, &mut record);
        let reason = self.failures_length;
        self.failures.write_all_at(&record, reason)?;
        self.failures_length += record.len() as u64;
        self.record(id, Outcome::Failed(reason))
    }

    /// Read back everything, in order.
    pub(crate) fn read(&mut self) -> io::Result<LedgerReader> {
        self.spool.flush()?;
        self.write_run()?;
        let mut spool = self.spool.get_ref().try_clone()?;
        spool.rewind()?;
        let mut results = self.results.try_clone()?;
        results.rewind()?;
        Ok(LedgerReader {
            spool: BufReader::with_capacity(64 * 1024, spool),
            results: BufReader::with_capacity(64 * 1024, results),
            failures: self.failures.try_clone()?,
            next: 0,
            count: self.count,
        })
    }
}

/// Reads a ledger from its start.
#[derive(Debug)]
pub(crate) struct LedgerReader {
    spool: BufReader<File>,
    results: BufReader<File>,
    failures: File,
    next: u64,
    count: u64,
}

impl LedgerReader {
    /// The next entry: its number, itself, and what became of it.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, Item, Outcome)>> {
        if self.next == self.count {
            return Ok(None);
        }
        let mut length = [0; 4];
        self.spool.read_exact(&mut length)?;
        let mut record =
            vec![0; usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?];
        self.spool.read_exact(&mut record)?;
        let item = Item::read(&mut Reader::new(&record)).map_err(io::Error::other)?;
        let id = self.next;
        self.next += 1;
        Ok(Some((id, item, self.next_outcome()?)))
    }

    /// Of how many entries that did not come yet this became; no more come then. It takes a small part of the time that reading them takes.
    pub(crate) fn count_rest(&mut self, became: impl Fn(Outcome) -> bool) -> io::Result<u64> {
        let mut count = 0;
        while self.next < self.count {
            self.next += 1;
            count += u64::from(became(self.next_outcome()?));
        }
        Ok(count)
    }

    /// Why an entry failed.
    pub(crate) fn failure(&self, reason: u64) -> io::Result<Failure> {
        let mut record = vec![0; 3 + Failure::MAX_MESSAGE_BYTES];
        let count = headrace_io::storage::posix::read_full(&self.failures, &mut record, reason)?;
        read_failure(&mut Reader::new(&record[..count])).map_err(io::Error::other)
    }

    fn next_outcome(&mut self) -> io::Result<Outcome> {
        let mut record = [0; RESULT_BYTES];
        let mut filled = 0;
        // Entries at the end that nothing was written for have no bytes yet: they are open.
        while filled < RESULT_BYTES {
            match self.results.read(&mut record[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        let mut fields = Reader::new(&record[8..]);
        let reason = fields.u64("reason").map_err(io::Error::other)?;
        let hash = fields.array("hash").map_err(io::Error::other)?;
        Ok(match record[0] {
            1 => Outcome::Copied(hash),
            2 => Outcome::Identical(Some(hash)),
            3 => Outcome::Identical(None),
            4 => Outcome::Created,
            5 => Outcome::Skipped,
            6 => Outcome::Failed(reason),
            7 => Outcome::Deleted,
            _ => Outcome::Open,
        })
    }
}

#[cfg(test)]
mod tests {
    use headrace_core::code::Code;
    use headrace_core::entry::{Entry, Kind};
    use headrace_core::name::RelPath;
    use headrace_core::version::Version;

    use super::*;

    fn item(name: &str) -> Item {
        Item::Entry(Entry {
            path: RelPath::from_bytes(name.as_bytes()).expect("a path"),
            kind: Kind::File,
            size: 7,
            mtime_ns: 1,
            version: Version::new(b"1").expect("short"),
            mode: 0o644,
            target: None,
        })
    }

    #[test]
    fn results_in_any_order_are_read_beside_their_entries() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ledger = Ledger::create(folder.path(), "test").expect("made");
        for name in ["a", "b", "c", "d"] {
            ledger.push(&item(name)).expect("spooled");
        }
        let failure = Failure::new(Code::NoSpace, "`c`: the disk is full");
        ledger.record_failure(2, &failure).expect("written");
        ledger.record(0, Outcome::Identical(None)).expect("written");
        ledger.record(1, Outcome::Copied([5; 32])).expect("written");
        let mut reader = ledger.read().expect("readable");
        let mut outcomes = Vec::new();
        while let Some((id, item, outcome)) = reader.next().expect("readable") {
            assert_eq!(
                item.entry().path.as_bytes(),
                [b'a' + u8::try_from(id).expect("small")]
            );
            outcomes.push(outcome);
        }
        assert_eq!(
            outcomes,
            [
                Outcome::Identical(None),
                Outcome::Copied([5; 32]),
                Outcome::Failed(0),
                Outcome::Open
            ]
        );
        assert_eq!(reader.failure(0).expect("readable"), failure);
        let mut reader = ledger.read().expect("readable");
        reader.next().expect("readable").expect("the first");
        let is_open = |outcome| outcome == Outcome::Open;
        let has_arrived = |outcome| matches!(outcome, Outcome::Copied(_) | Outcome::Identical(_));
        assert_eq!(reader.count_rest(has_arrived).expect("readable"), 1);
        assert!(reader.next().expect("readable").is_none());
        let mut reader = ledger.read().expect("readable");
        assert_eq!(reader.count_rest(is_open).expect("readable"), 1);
    }

    #[test]
    fn the_last_result_of_an_entry_counts_however_many_are_written_together() {
        const COUNT: u64 = 3 * (RUN_BYTES / RESULT_BYTES) as u64;
        let folder = tempfile::tempdir().expect("a folder");
        let mut ledger = Ledger::create(folder.path(), "test").expect("made");
        for number in 0..COUNT {
            ledger.push(&item(&number.to_string())).expect("spooled");
        }
        // Runs of several threads, one in another; then some once more, and the last ones never.
        let runs = (0..COUNT - 2).step_by(100);
        for first in runs.clone().step_by(2).chain(runs.skip(1).step_by(2)) {
            for id in first..(first + 100).min(COUNT - 2) {
                ledger.record(id, Outcome::Skipped).expect("written");
            }
        }
        for id in [5, 6, 6, 7] {
            ledger.record(id, Outcome::Created).expect("written");
        }
        ledger.record(6, Outcome::Deleted).expect("written");
        let mut reader = ledger.read().expect("readable");
        while let Some((id, _, outcome)) = reader.next().expect("readable") {
            let expected = match id {
                6 => Outcome::Deleted,
                5 | 7 => Outcome::Created,
                _ if id < COUNT - 2 => Outcome::Skipped,
                _ => Outcome::Open,
            };
            assert_eq!(outcome, expected, "{id}");
        }
    }
}
