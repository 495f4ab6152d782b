//! The hub's records on disk: a file to which every change is appended, written anew when most of it is out of date.
//!
//! Each line is a change that was waited for. Only the last one can be incomplete (the power failed, or the disk was full
//! while it was written); it never counted. Making and naming a file for each change would wait for the disk twice as long.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use headrace_core::value::Id;
use serde::{Deserialize, Serialize};

use super::records::Record;
use crate::problem::{ControlCode, Problem};
use crate::state;

const FILE: &str = "attempts.jsonl";
/// Where earlier releases kept a file for each record.
const FORMER: &str = "attempts";
/// Largest journal that is read: ten thousand records of the largest statements.
const MAX_BYTES: u64 = 16 << 30;
const MAX_FORMER_BYTES: u64 = 16 << 20;
/// So many bytes may be out of date before the journal is written anew.
const SLACK_BYTES: u64 = 1 << 20;

#[derive(Serialize)]
struct Line<'a> {
    /// Transfers of which nothing is kept any more.
    removed: &'a [Id],
    record: Option<&'a Record>,
}

#[derive(Deserialize)]
struct ReadLine {
    removed: Vec<Id>,
    record: Option<Record>,
}

/// A record as earlier releases kept it: also of what the service has stored.
#[derive(Deserialize)]
struct FormerRecord {
    #[serde(flatten)]
    record: Record,
    #[serde(default)]
    stored: bool,
}

#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// How much of the file counts.
    bytes: u64,
    /// Its length at which it is written anew.
    rewrite_at: u64,
    /// What was removed and is not written yet.
    removed: Vec<Id>,
}

impl Journal {
    /// Reads the journal in the folder, and the records of earlier releases.
    pub(super) fn open(folder: &Path) -> Result<(Self, HashMap<Id, Record>), Problem> {
        let path = folder.join(FILE);
        let mut records = read(&path)?;
        let former = former(&folder.join(FORMER), &mut records)?;
        let mut journal = Self {
            path,
            bytes: 0,
            rewrite_at: 0,
            removed: Vec::new(),
        };
        journal.rewrite(records.values())?;
        for path in former {
            state::remove(&path)?;
        }
        Ok((journal, records))
    }

    /// Writes a record, and what was removed before.
    pub(super) fn append(&mut self, record: Option<&Record>) -> Result<(), Problem> {
        let removed = &self.removed;
        let line = encoded(&Line { removed, record })?;
        let written = (|| {
            let file = OpenOptions::new().write(true).open(&self.path)?;
            // What an earlier try left would stand between.
            file.set_len(self.bytes)?;
            file.write_all_at(&line, self.bytes)?;
            file.sync_data()
        })();
        written.map_err(|error| Problem::state("write", &self.path, &error))?;
        self.bytes += line.len() as u64;
        self.removed.clear();
        Ok(())
    }

    /// Notes that nothing is kept of a transfer; the next line says so.
    pub(super) fn note_removed(&mut self, transfer: Id) {
        self.removed.push(transfer);
    }

    /// Whether something was removed that no line says yet.
    pub(super) fn lags(&self) -> bool {
        !self.removed.is_empty()
    }

    /// Whether so much is out of date that the journal should be written anew.
    pub(super) fn is_long(&self) -> bool {
        self.bytes > self.rewrite_at
    }

    /// Writes all records, and nothing else.
    pub(super) fn rewrite<'a>(
        &mut self,
        records: impl Iterator<Item = &'a Record>,
    ) -> Result<(), Problem> {
        let mut lines = Vec::new();
        for record in records {
            lines.append(&mut encoded(&Line {
                removed: &[],
                record: Some(record),
            })?);
        }
        // Should this fail, it is tried again when as much has been appended once more.
        self.rewrite_at = self.bytes * 2 + SLACK_BYTES;
        state::write_durably(&self.path, &lines)?;
        self.bytes = lines.len() as u64;
        self.rewrite_at = self.bytes * 2 + SLACK_BYTES;
        self.removed.clear();
        Ok(())
    }
}

fn read(path: &Path) -> Result<HashMap<Id, Record>, Problem> {
    let bytes = match state::read_bounded(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Problem::state("read", path, &error)),
    };
    let mut records = HashMap::new();
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let read: ReadLine = match serde_json::from_slice(line) {
            Ok(read) if line.ends_with(b"\n") => read,
            Err(error) if lines.peek().is_some() => return Err(damaged(path, &error)),
            _ => break,
        };
        for transfer in read.removed {
            records.remove(&transfer);
        }
        if let Some(record) = read.record {
            records.insert(record.transfer.clone(), record);
        }
    }
    Ok(records)
}

/// Adds what earlier releases kept to the records; gives the files that are superfluous now.
fn former(folder: &Path, records: &mut HashMap<Id, Record>) -> Result<Vec<PathBuf>, Problem> {
    let unreadable = |path: &Path, error: &io::Error| Problem::state("read", path, error);
    let mut found = Vec::new();
    let files = match std::fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    for file in files {
        let path = file.map_err(|error| unreadable(folder, &error))?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let bytes = state::read_bounded(&path, MAX_FORMER_BYTES)
            .map_err(|error| unreadable(&path, &error))?;
        let FormerRecord { record, stored } =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&path, &error))?;
        if !stored {
            records.entry(record.transfer.clone()).or_insert(record);
        }
        found.push(path);
    }
    Ok(found)
}

fn damaged(path: &Path, error: &serde_json::Error) -> Problem {
    Problem::new(
        ControlCode::StateFailed,
        format!("`{}` is damaged: {error}", path.display()),
    )
}

fn encoded(line: &Line<'_>) -> Result<Vec<u8>, Problem> {
    let mut bytes = serde_json::to_vec(line).map_err(|error| {
        Problem::new(
            ControlCode::BadArgument,
            format!("a folder's name can't be kept: {error}"),
        )
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::results::tests::record;

    fn of(transfer: &str) -> Record {
        Record {
            transfer: transfer.parse().expect("an id"),
            ..record()
        }
    }

    /// What a journal that is opened anew knows.
    fn known(folder: &Path) -> Vec<String> {
        let (_, records) = Journal::open(folder).expect("readable");
        let mut names: Vec<_> = records.keys().map(ToString::to_string).collect();
        names.sort();
        names
    }

    #[test]
    fn a_line_that_was_not_written_whole_never_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let (mut journal, _) = Journal::open(folder.path()).expect("made");
        journal.append(Some(&of("tr_1"))).expect("written");
        let one = std::fs::read(&path).expect("readable");
        journal.append(Some(&of("tr_2"))).expect("written");
        let two = std::fs::read(&path).expect("readable");
        for length in one.len()..two.len() {
            std::fs::write(&path, &two[..length]).expect("written");
            assert_eq!(known(folder.path()), ["tr_1"], "{length}");
            let zeros = [&two[..length], &vec![0; two.len() - length]].concat();
            std::fs::write(&path, zeros).expect("written");
            assert_eq!(known(folder.path()), ["tr_1"], "{length}");
        }
        std::fs::write(&path, &two).expect("written");
        assert_eq!(known(folder.path()), ["tr_1", "tr_2"]);
    }

    #[test]
    fn what_a_failed_write_left_is_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let (mut journal, _) = Journal::open(folder.path()).expect("made");
        journal.append(Some(&of("tr_1"))).expect("written");
        let mut left = std::fs::read(&path).expect("readable");
        for _ in 0..2 {
            left.extend([b'x'; 4096]);
            left.push(b'\n');
        }
        std::fs::write(&path, left).expect("written");
        journal.append(Some(&of("tr_2"))).expect("written");
        assert_eq!(known(folder.path()), ["tr_1", "tr_2"]);
    }

    #[test]
    fn damage_before_the_last_line_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let (mut journal, _) = Journal::open(folder.path()).expect("made");
        journal.append(Some(&of("tr_1"))).expect("written");
        journal.append(Some(&of("tr_2"))).expect("written");
        let mut bytes = std::fs::read(&path).expect("readable");
        bytes[0] = b'x';
        std::fs::write(&path, bytes).expect("written");
        let problem = Journal::open(folder.path()).expect_err("damaged");
        assert_eq!(problem.code, "state_failed");
        assert!(problem.message.contains("is damaged"), "{problem}");
    }

    #[test]
    fn what_was_removed_is_gone_with_the_next_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut journal, _) = Journal::open(folder.path()).expect("made");
        journal.append(Some(&of("tr_1"))).expect("written");
        journal.note_removed("tr_1".parse().expect("an id"));
        assert!(journal.lags());
        assert_eq!(known(folder.path()), ["tr_1"]);
        journal.append(None).expect("written");
        assert!(!journal.lags());
        assert_eq!(known(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn a_journal_of_what_is_out_of_date_stays_short() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let (mut journal, _) = Journal::open(folder.path()).expect("made");
        let mut one = of("tr_1");
        one.ticket = "x".repeat(100_000);
        let mut longest = 0;
        for _ in 0..40 {
            if journal.is_long() {
                journal.rewrite([&one].into_iter()).expect("written");
            }
            journal.append(Some(&one)).expect("written");
            longest = longest.max(std::fs::metadata(&path).expect("there").len());
        }
        assert!(longest < 2 * SLACK_BYTES, "{longest}");
        assert_eq!(known(folder.path()), ["tr_1"]);
    }
}
