//! What is done with a name that is already at the destination.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines};
use std::iter::Peekable;
use std::path::Path;

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::list::{ListDigest, ListEntry, ListReader};
use headrace_core::name::RelPath;
use headrace_core::ticket::{Compare, Execution, OnConflict};
use headrace_io::storage::Existing;
use headrace_io::version::is_still;
use serde::Deserialize;

use crate::session::failures::{own_file_failed, state_failed};

/// Reads a sealed list beside entries that come in the same order.
pub(super) struct ListCursor {
    lines: Option<Peekable<ListReader<BufReader<File>>>>,
}

impl ListCursor {
    /// Start reading the list at `path`; `None` is the empty list.
    pub(super) fn open(path: Option<&Path>, sealed: ListDigest) -> Result<Self, Failure> {
        let open = |path| {
            let file = File::open(path).map_err(list_altered)?;
            Ok(ListReader::new(BufReader::new(file), sealed).peekable())
        };
        Ok(Self {
            lines: path.map(open).transpose()?,
        })
    }

    /// The line for `path`. Paths must be asked for in rising order; of each line that is passed, `permitted` is asked.
    pub(super) fn find(
        &mut self,
        path: &RelPath,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Option<ListEntry>, Failure> {
        let Some(lines) = &mut self.lines else {
            return Ok(None);
        };
        while let Some(line) =
            lines.next_if(|line| line.as_ref().map_or(true, |line| line.path <= *path))
        {
            let line = line.map_err(|error| list_altered(io::Error::other(error)))?;
            permitted()?;
            if line.path == *path {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

/// Reads the list of what failed in an earlier attempt beside entries that come in the same order.
pub(super) struct FailedCursor {
    lines: Peekable<Lines<BufReader<File>>>,
    /// The failed names that the last path was at or below.
    above: Vec<RelPath>,
}

impl FailedCursor {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(state_failed)?;
        Ok(Self {
            lines: BufReader::new(file).lines().peekable(),
            above: Vec::new(),
        })
    }

    /// Whether `path` failed, or a folder above it did. Paths must be asked for in rising order; of each line that is passed, `permitted`
    /// is asked.
    pub(super) fn holds(
        &mut self,
        path: &RelPath,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        #[derive(Deserialize)]
        struct Line {
            path: RelPath,
        }
        self.above.retain(|above| path.starts_with(above));
        while let Some(line) = self.lines.peek() {
            permitted()?;
            let line = line
                .as_ref()
                .map_err(|error| state_failed(io::Error::other(error.to_string())))?;
            let failed: Line =
                serde_json::from_str(line).map_err(|error| state_failed(error.into()))?;
            if failed.path > *path {
                break;
            }
            if path.starts_with(&failed.path) {
                self.above.push(failed.path);
            }
            self.lines.next();
        }
        Ok(!self.above.is_empty())
    }
}

/// A list that was checked before the start cannot be read any more.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(super) fn list_altered(error: io::Error) -> Failure {
    own_file_failed(Code::ListAltered, "a sealed list cannot be read", &error)
}

/// What the rules say of an entry whose name is taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The same is there.
    Identical,
    /// It may be the same: compare the content.
    Compare,
    /// Copy, and give the name as said.
    Copy(Existing),
    /// Leave it alone.
    Skip,
    /// This entry fails.
    Fail(Code),
    /// The whole attempt ends: what was confirmed is not what is there.
    Stop,
}

/// Hold a file or symlink of the source against what is at its destination.
pub(super) fn judge(
    execution: &Execution,
    source: &Entry,
    found: &Entry,
    listed: Option<&ListEntry>,
) -> Verdict {
    if found.kind == Kind::Dir {
        return Verdict::Fail(Code::DestinationIsDirectory);
    }
    let same_shape = source.kind == found.kind && source.size == found.size;
    let same = match source.kind {
        Kind::Symlink => same_shape && source.target == found.target,
        // Deleting a source on the word of its date alone would be careless, so a move compares content.
        _ if execution.compare == Compare::Checksum || execution.delete_source => {
            if same_shape {
                return Verdict::Compare;
            }
            false
        }
        _ => same_shape && source.mtime_ns == found.mtime_ns,
    };
    if same {
        Verdict::Identical
    } else {
        differs(execution, source, found, listed)
    }
}

/// What happens to a name that differs.
pub(super) fn differs(
    execution: &Execution,
    source: &Entry,
    found: &Entry,
    listed: Option<&ListEntry>,
) -> Verdict {
    match execution.on_conflict {
        OnConflict::Fail => Verdict::Fail(Code::DestinationExists),
        OnConflict::Skip => Verdict::Skip,
        OnConflict::Overwrite | OnConflict::Newer => match listed {
            Some(listed) if is_unchanged(found, listed) => Verdict::Copy(Existing::Replace),
            Some(_) => Verdict::Stop,
            None if execution.on_conflict == OnConflict::Newer
                && source.mtime_ns <= found.mtime_ns =>
            {
                Verdict::Skip
            }
            None => Verdict::Fail(Code::NotOnOverwriteList),
        },
    }
}

/// Whether a name is still as it was surveyed. Sizes and times of a list are for people: its version says more.
pub(super) fn is_unchanged(found: &Entry, listed: &ListEntry) -> bool {
    found.kind == listed.kind && is_still(&found.version, &listed.version)
}

/// A symlink's content is its target.
pub(super) fn symlink_hash(entry: &Entry) -> [u8; 32] {
    *blake3::hash(entry.target.as_deref().unwrap_or_default()).as_bytes()
}
