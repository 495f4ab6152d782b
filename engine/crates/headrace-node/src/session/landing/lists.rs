//! `files.jsonl` and `failed.jsonl`: one canonical JSON line for each entry, in path order.
//!
//! A line of `files.jsonl` says where an entry is, what it is and how it came there. `blake3` is the hash of a file's content, or of a
//! symlink's target; it is empty for folders, for names that were deleted or moved to the trash, and for files that were identical by size and time and so not read.
//! `mode` is octal.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use headrace_core::code::{Failure, Retry};
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::RelPath;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::shared::Landing;
use crate::session::failures::state_failed;
use crate::session::ledger::{LedgerReader, Outcome};

// Fields in the order of canonical JSON, so that plain serialisation is canonical.
#[derive(Serialize)]
struct FileLine<'l> {
    blake3: String,
    mode: String,
    mtime_ns: String,
    path: &'l RelPath,
    result: &'static str,
    size: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct FailedLine<'l> {
    error: &'static str,
    message: &'l str,
    path: &'l RelPath,
    retry: bool,
}

/// A file of lines that is hashed while it is written.
pub(super) struct Lines {
    out: BufWriter<File>,
    sha256: Sha256,
    blake3: blake3::Hasher,
}

impl Lines {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let out = BufWriter::with_capacity(256 * 1024, File::create(path)?);
        Ok(Self {
            out,
            sha256: Sha256::new(),
            blake3: blake3::Hasher::new(),
        })
    }

    pub(super) fn push(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.push_text(&text)
    }

    /// Add a line as it is written, with its end.
    pub(super) fn push_text(&mut self, text: &[u8]) -> io::Result<()> {
        self.sha256.update(text);
        self.blake3.update(text);
        self.out.write_all(text)
    }

    /// Make the file durable; its SHA-256 and its BLAKE3.
    pub(super) fn finish(self) -> io::Result<([u8; 32], [u8; 32])> {
        self.out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()?;
        Ok((
            self.sha256.finalize().into(),
            *self.blake3.finalize().as_bytes(),
        ))
    }
}

/// Write both lists from what became of the source's entries and of the delete list; SHA-256 and BLAKE3 of the first.
pub(super) fn write(
    source: &mut LedgerReader,
    deletes: &mut LedgerReader,
    landing: &Landing,
    files_list: &Path,
    failed_list: &Path,
) -> Result<([u8; 32], [u8; 32]), Failure> {
    let create = |path| Lines::create(path).map_err(state_failed);
    let (mut files, mut failed) = (create(files_list)?, create(failed_list)?);
    let mut from_source = source.next().map_err(state_failed)?;
    let mut from_deletes = deletes.next().map_err(state_failed)?;
    loop {
        let source_first = match (&from_source, &from_deletes) {
            (None, None) => break,
            (Some((_, ours, _)), Some((_, gone, _))) => ours.entry().path <= gone.entry().path,
            (ours, _) => ours.is_some(),
        };
        let (reader, next) = if source_first {
            (&mut *source, &mut from_source)
        } else {
            (&mut *deletes, &mut from_deletes)
        };
        let Some((_, item, outcome)) = next.take() else {
            break;
        };
        *next = reader.next().map_err(state_failed)?;
        landing.end_next()?;
        let entry = item.entry();
        match outcome {
            Outcome::Failed(reason) => {
                let failure = reader.failure(reason).map_err(state_failed)?;
                let line = failed_line(entry, &failure);
                failed.push(&line).map_err(state_failed)?;
            }
            outcome => {
                if let Some(line) = file_line(landing, entry, outcome) {
                    files.push(&line).map_err(state_failed)?;
                }
            }
        }
    }
    failed.finish().map_err(state_failed)?;
    files.finish().map_err(state_failed)
}

fn failed_line<'l>(entry: &'l Entry, failure: &'l Failure) -> FailedLine<'l> {
    FailedLine {
        error: failure.code.as_str(),
        message: &failure.message,
        path: &entry.path,
        retry: failure.code.retry() == Retry::MayHelp,
    }
}

/// `None` for an entry that is not at the destination.
fn file_line<'l>(landing: &Landing, entry: &'l Entry, outcome: Outcome) -> Option<FileLine<'l>> {
    let (result, hash) = match outcome {
        Outcome::Copied(hash) => ("copied", Some(hash)),
        Outcome::Identical(hash) => ("identical", hash),
        Outcome::Created => ("created", None),
        Outcome::Deleted if landing.spec.execution.trash.is_some() => ("trashed", None),
        Outcome::Deleted => ("deleted", None),
        Outcome::Open | Outcome::Skipped | Outcome::Failed(_) => return None,
    };
    if entry.path.is_root() && entry.kind == Kind::Dir {
        // The destination itself: it is what the names are in.
        return None;
    }
    let mode = match entry.kind {
        Kind::File | Kind::Dir => landing.mode(entry),
        _ => entry.mode & 0o777,
    };
    Some(FileLine {
        blake3: hash
            .map(|hash| blake3::Hash::from_bytes(hash).to_hex().to_string())
            .unwrap_or_default(),
        mode: format!("{mode:o}"),
        mtime_ns: entry.mtime_ns.to_string(),
        path: &entry.path,
        result,
        size: entry.size.to_string(),
        kind: entry.kind.as_str(),
    })
}
