//! What an intent would touch: two listings in path order, merged under the execution's rules.
//!
//! Memory does not grow with the listings, but for one bit for each name that may be deleted and a bounded set that
//! finds names which differ in case only. Deletes are never more than what the execution will do: a name that the
//! filters leave out, that the source holds in any form, or a folder that keeps anything, stays.

mod cases;
mod deletes;
mod merge;

use std::io::{self, Read, Seek, Write};

use crate::entry::{Entry, Kind};
use crate::filter::{Filter, Verdict};
use crate::list::{ListDigest, ListEntry, ListWriter};
use crate::name::RelPath;
use crate::ticket::{Compare, Execution, OnConflict};
use cases::Cases;
use deletes::Deletes;
pub use merge::{Pair, Side, merge};

/// Most names in one sample.
pub const MAX_SAMPLE: usize = 20;

/// The rules of an execution that decide what a survey counts.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Which names.
    pub filter: Filter,
    /// What happens to names that differ.
    pub on_conflict: OnConflict,
    /// When files count as identical.
    pub compare: Compare,
    /// Whether destination names without a source are deleted.
    pub delete_extraneous: bool,
}

impl Rules {
    /// Those of an execution, with its filters compiled.
    #[must_use]
    pub fn new(execution: &Execution, filter: Filter) -> Self {
        Self {
            filter,
            on_conflict: execution.on_conflict,
            compare: execution.compare,
            delete_extraneous: execution.delete_extraneous,
        }
    }
}

/// What was counted. Files are regular files and symlinks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Files that would be copied, overwriting ones included.
    pub files: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Names of the source that the filters take: files and folders, whatever happens to them, and what can't be copied.
    pub source_entries: u64,
    /// Folders that would be made.
    pub directories: u64,
    /// How many of `files` are symlinks.
    pub symlinks: u64,
    /// Files that are the same on both sides.
    pub identical_files: u64,
    /// Source names that the filters leave out; an excluded folder counts once.
    pub excluded_files: u64,
    /// Sockets, fifos and devices at the source.
    pub skipped_special: u64,
    /// Differing names that stay as they are.
    pub conflicts: u64,
    /// Bytes that overwritten files hold now.
    pub overwritten_bytes: u64,
    /// Bytes that deleted files hold now.
    pub deleted_bytes: u64,
    /// Files at the destination now.
    pub destination_files: u64,
    /// Names to be copied that differ from another in the same folder in case only; at least so many.
    pub case_collisions: u64,
    /// The largest of `files`, in bytes.
    pub largest_file_bytes: u64,
    /// At most [`MAX_SAMPLE`] paths of `files`, as of the following.
    pub sample: Vec<RelPath>,
    /// Names on the overwrite list.
    pub overwrites_sample: Vec<RelPath>,
    /// Names on the delete list.
    pub deletes_sample: Vec<RelPath>,
    /// Names that stay.
    pub conflicts_sample: Vec<RelPath>,
}

/// A survey's result besides its two lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// What was counted.
    pub counts: Counts,
    /// The overwrite list as a plan names it.
    pub overwrites: ListDigest,
    /// The delete list as a plan names it.
    pub deletes: ListDigest,
}

/// Why a survey could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError<E> {
    /// A listing failed.
    #[error(transparent)]
    Listing(E),
    /// A listing is not in path order.
    #[error("the listing of the {0} is out of order at `{1}`")]
    Unordered(Side, RelPath),
    /// A list could not be written.
    #[error("a list could not be written: {0}")]
    Write(#[from] io::Error),
}

/// Merges the listings of the source and of the destination, both relative to the paths of the execution and in path
/// order, and writes the overwrite and the delete list. `spool` is an empty file for the second pass over deletes.
///
/// # Errors
/// [`SurveyError`]; the lists are then incomplete and must not be used.
pub fn survey<E>(
    rules: &Rules,
    source: impl Iterator<Item = Result<Entry, E>>,
    destination: impl Iterator<Item = Result<Entry, E>>,
    overwrites: impl Write,
    deletes: impl Write,
    spool: impl Read + Write + Seek,
) -> Result<Survey, SurveyError<E>> {
    let mut surveyor = Surveyor {
        rules,
        counts: Counts::default(),
        cases: Cases::default(),
        overwrites: ListWriter::new(overwrites),
        deletes: Deletes::new(spool),
        waiting: Vec::new(),
        blocked: None,
        kept: None,
    };
    for pair in merge(source, destination) {
        surveyor.take(pair?)?;
    }
    let Surveyor {
        mut counts,
        overwrites,
        deletes: candidates,
        ..
    } = surveyor;
    let (_, overwrites) = overwrites.finish()?;
    let listed = candidates.finish(deletes)?;
    counts.deleted_bytes = listed.bytes;
    counts.deletes_sample = listed.sample;
    Ok(Survey {
        counts,
        overwrites,
        deletes: listed.digest,
    })
}

struct Surveyor<'a, W: Write, S: Write> {
    rules: &'a Rules,
    counts: Counts,
    cases: Cases,
    overwrites: ListWriter<W>,
    deletes: Deletes<S>,
    /// Folders that the destination lacks, held back until something below them is taken.
    waiting: Vec<RelPath>,
    /// A source folder that can't be made because another thing stands there: nothing below it arrives.
    blocked: Option<RelPath>,
    /// A destination folder that stays with all that is below it.
    kept: Option<RelPath>,
}

impl<W: Write, S: Read + Write + Seek> Surveyor<'_, W, S> {
    fn take(&mut self, pair: Pair) -> io::Result<()> {
        let path = pair.path();
        if path.has_part() {
            return Ok(());
        }
        if self
            .kept
            .as_ref()
            .is_some_and(|kept| !path.starts_with(kept))
        {
            self.kept = None;
        }
        if self
            .blocked
            .as_ref()
            .is_some_and(|blocked| !path.starts_with(blocked))
        {
            self.blocked = None;
        }
        self.waiting.retain(|folder| path.starts_with(folder));
        match pair {
            Pair::Source(source) => self.source(&source, None),
            Pair::Both(source, destination) => {
                self.count_destination(&destination);
                self.deletes.keep(&destination.path);
                self.source(&source, Some(&destination))
            }
            Pair::Destination(destination) => {
                self.count_destination(&destination);
                self.extraneous(&destination)
            }
        }
    }

    fn count_destination(&mut self, entry: &Entry) {
        if matches!(entry.kind, Kind::File | Kind::Symlink) {
            self.counts.destination_files += 1;
        }
    }

    fn source(&mut self, source: &Entry, destination: Option<&Entry>) -> io::Result<()> {
        let in_the_way = |there: &Entry| there.kind == Kind::Dir && source.kind != Kind::Dir;
        if self.kept.is_none() && destination.is_some_and(in_the_way) {
            self.kept = Some(source.path.clone());
        }
        if self.rules.filter.selects(source) == Verdict::Excluded {
            self.counts.excluded_files += 1;
            return Ok(());
        }
        self.counts.source_entries += 1;
        if source.kind == Kind::Other {
            self.counts.skipped_special += 1;
            return Ok(());
        }
        self.counts.case_collisions += self.cases.collides(&source.path);
        if self.blocked.is_some() {
            self.conflict(source);
            return Ok(());
        }
        match (source.kind, destination) {
            (Kind::Dir, None) => self.folder(&source.path),
            (Kind::Dir, Some(destination)) if destination.kind == Kind::Dir => {}
            (Kind::Dir, Some(_)) => {
                self.blocked = Some(source.path.clone());
                self.conflict(source);
            }
            (_, None) => self.copied(source),
            (_, Some(destination)) => self.both(source, destination)?,
        }
        Ok(())
    }

    fn folder(&mut self, path: &RelPath) {
        if self.rules.filter.picks_files() {
            self.waiting.push(path.clone());
        } else {
            self.counts.directories += 1;
        }
    }

    fn both(&mut self, source: &Entry, destination: &Entry) -> io::Result<()> {
        let replaceable = matches!(destination.kind, Kind::File | Kind::Symlink);
        let replaces = replaceable
            && match self.rules.on_conflict {
                OnConflict::Fail | OnConflict::Skip => false,
                OnConflict::Overwrite => true,
                OnConflict::Newer => source.mtime_ns > destination.mtime_ns,
            };
        // With checksums the contents decide when the transfer runs, so what may differ goes on the list.
        let looks_same = looks_same(source, destination);
        if looks_same
            && !(replaces && self.rules.compare == Compare::Checksum && source.kind == Kind::File)
        {
            self.counts.identical_files += 1;
        } else if replaces {
            self.overwrites.push(&ListEntry::from(destination))?;
            let bytes = &mut self.counts.overwritten_bytes;
            *bytes = bytes.saturating_add(destination.size);

            sample(&mut self.counts.overwrites_sample, &destination.path);
            self.copied(source);
        } else {
            self.conflict(source);
        }
        Ok(())
    }

    fn copied(&mut self, source: &Entry) {
        let counts = &mut self.counts;
        counts.directories += u64::try_from(self.waiting.drain(..).len()).unwrap_or(u64::MAX);
        counts.files += 1;
        counts.symlinks += u64::from(source.kind == Kind::Symlink);
        if source.kind == Kind::File {
            counts.bytes = counts.bytes.saturating_add(source.size);
            counts.largest_file_bytes = counts.largest_file_bytes.max(source.size);
        }
        sample(&mut counts.sample, &source.path);
    }

    fn conflict(&mut self, source: &Entry) {
        self.counts.conflicts += 1;
        sample(&mut self.counts.conflicts_sample, &source.path);
    }

    fn extraneous(&mut self, destination: &Entry) -> io::Result<()> {
        let deletable = self.rules.delete_extraneous
            && self.kept.is_none()
            && !destination.path.is_root()
            && destination.kind != Kind::Other
            && !(destination.kind == Kind::Dir && self.rules.filter.picks_files())
            && self.rules.filter.selects(destination) == Verdict::Selected;
        if deletable {
            self.deletes.push(destination)?;
        } else {
            self.deletes.keep(&destination.path);
        }
        Ok(())
    }
}

/// Same kind and, as far as a listing can tell, same content.
fn looks_same(left: &Entry, right: &Entry) -> bool {
    match (left.kind, right.kind) {
        (Kind::File, Kind::File) => (left.size, left.mtime_ns) == (right.size, right.mtime_ns),
        (Kind::Symlink, Kind::Symlink) => left.target == right.target,
        _ => false,
    }
}

fn sample(sample: &mut Vec<RelPath>, path: &RelPath) {
    if sample.len() < MAX_SAMPLE {
        sample.push(path.clone());
    }
}

#[cfg(test)]
mod tests;
