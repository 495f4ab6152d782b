//! The second half of a move: sources that have safely arrived are deleted.

use std::io;
use std::path::PathBuf;

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::PieceHash;
use headrace_io::storage::Removal;

use super::Supply;
use super::outgoing::{Looked, open};
use crate::session::ledger::Outcome;
use crate::session::state_failed;
use crate::state;

/// What was deleted at the source, and what could not be.
#[derive(Debug, Clone, Default)]
pub struct Removed {
    /// Names deleted.
    pub deleted: u64,
    /// Names that stayed though they had arrived, with the reason; the first of them.
    pub kept: Vec<Failure>,
    /// How many stayed.
    pub kept_count: u64,
}

/// Most reasons that are kept.
const MAX_KEPT: usize = 100;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

impl Removed {
    fn keep(&mut self, place: &str, reason: &str) {
        self.kept_count += 1;
        if self.kept.len() < MAX_KEPT {
            let message = format!("{place} has arrived but stays: {reason}");
            self.kept.push(Failure::new(Code::NotDeleted, message));
        }
    }
}

impl Supply {
    /// Delete every file and symlink that the destination reported as done, if it still is what was sent, and then folders that are
    /// empty, each after `permitted` was asked. Of a file that this session did not send, the destination's hash has to be that of the source. Only called when the destination has confirmed the end.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the scratch folder cannot be read or written.
    pub fn remove_sources(
        &self,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Removed, Failure> {
        state::write_durably(&self.removing(), b"")
            .map_err(|error| state_failed(io::Error::other(error)))?;
        let mut removed = Removed::default();
        let mut entries = self.ledger.lock().read().map_err(state_failed)?;
        let mut open: Vec<Entry> = Vec::new();
        while let Some((_, item, outcome)) = entries.next().map_err(state_failed)? {
            let entry = item.entry();
            while let Some(folder) = open.pop_if(|folder| !entry.path.starts_with(&folder.path)) {
                self.remove_folder(&folder);
            }
            let arrived = matches!(outcome, Outcome::Copied(_) | Outcome::Identical(_));
            if let Err(why) = permitted() {
                // A stop, the kill switch or the end of the ticket also ends this; everything has arrived, so the rest just stays.
                if entry.kind != Kind::Dir && arrived {
                    removed.keep(&self.place(&entry.path), &why.message);
                }
                open.clear();
                continue;
            }
            match (entry.kind, outcome) {
                // What was moved is what the folder held.
                (Kind::Dir, _) if entry.path.is_root() => {}
                (Kind::Dir, _) => open.push(entry.clone()),
                (_, Outcome::Copied(_)) => self.remove_source(entry, None, &mut removed),
                (Kind::File, Outcome::Identical(None)) => {
                    removed.keep(
                        &self.place(&entry.path),
                        "the destination did not say what it holds",
                    );
                }
                (_, Outcome::Identical(hash)) => self.remove_source(entry, hash, &mut removed),
                _ => {}
            }
        }
        while let Some(folder) = open.pop() {
            self.remove_folder(&folder);
        }
        Ok(removed)
    }

    /// The file that says that deleting has begun: all had arrived then, so a source that is gone was moved.
    pub(super) fn removing(&self) -> PathBuf {
        self.spec.scratch.join("removing")
    }

    fn remove_source(&self, entry: &Entry, told: Option<PieceHash>, removed: &mut Removed) {
        let result = self.remove_arrived(entry, told);
        let place = self.place(&entry.path);
        match result {
            Ok(None) => removed.deleted += 1,
            Ok(Some(reason)) => removed.keep(&place, reason),
            Err(error) => removed.keep(&place, &error.to_string()),
        }
    }

    /// Remove a source that has arrived; says why not.
    fn remove_arrived(
        &self,
        entry: &Entry,
        told: Option<PieceHash>,
    ) -> io::Result<Option<&'static str>> {
        if let Some(told) = told
            && self.content(entry)?.is_some_and(|ours| ours != told)
        {
            return Ok(Some("the destination holds other content"));
        }
        Ok(match self.spec.origin.remove_if(entry)? {
            Removal::Gone => None,
            Removal::Changed => Some("it changed after it was copied"),
        })
    }

    /// The hash of a file that this session did not send; `None` when it is gone or another one.
    fn content(&self, entry: &Entry) -> io::Result<Option<PieceHash>> {
        let file = match open(&*self.spec.origin, entry) {
            Looked::Same(opened) => opened.file,
            Looked::Changed | Looked::Failed(Code::SourceVanished, _) => return Ok(None),
            Looked::Failed(_, error) => return Err(error),
        };
        let mut hasher = blake3::Hasher::new();
        let (mut buffer, mut offset) = (vec![0; READ_BYTES], 0);
        loop {
            let count = file.read_at(&mut buffer, offset)?;
            hasher.update(&buffer[..count]);
            offset += count as u64;
            if count < buffer.len() {
                return Ok(Some(*hasher.finalize().as_bytes()));
            }
        }
    }

    /// A folder that still holds something stays, which is no failure.
    fn remove_folder(&self, entry: &Entry) {
        if let Err(error) = self.spec.origin.remove_folder(&entry.path) {
            tracing::debug!(%error, path = %entry.path, "a source folder stays");
        }
    }
}
