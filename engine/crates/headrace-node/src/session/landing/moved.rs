//! What a move remembers: a line for every name that has arrived, from before its source may be deleted until the transfer is forgotten.
//!
//! A node that is killed while the sources are deleted has told nobody what arrived, and the next session finds fewer sources, or none.
//! So every session adds what it found to what earlier ones have kept, and its lists and counts speak of all of it: the
//! receipt of a move proves every source that was deleted.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use headrace_core::code::Failure;
use headrace_core::entry::Kind;
use headrace_core::list::MAX_LINE_BYTES;
use headrace_core::message::Totals;
use headrace_core::name::RelPath;
use headrace_core::value::{Digest, decimal};
use serde::{Deserialize, Serialize};

use super::lists::Lines;
use super::shared::Landing;
use super::spec::{Finished, MAX_DRIFTED};
use crate::session::failures::state_failed;
use crate::state::sync_parent;

/// What is kept, in the scratch folder: a line of its own, then those of `files.jsonl`.
const KEPT: &str = "moved.jsonl";
/// Longest first line: as many drifted names as there may be, each written in three.
const MAX_HEAD_BYTES: usize = 2 << 20;

#[derive(Serialize, Deserialize)]
struct Head {
    drifted: Vec<String>,
    plan: Digest,
}

/// What matters of a line of `files.jsonl`.
#[derive(Debug, Deserialize)]
struct Line {
    blake3: String,
    path: RelPath,
    result: String,
    #[serde(with = "decimal")]
    size: u64,
    #[serde(rename = "type")]
    kind: Kind,
}

impl Line {
    /// Whether both say that the same is there. Times, modes and the sizes of folders change, and what an earlier session copied is found
    /// to be identical.
    fn says_the_same(&self, other: &Self) -> bool {
        let content =
            |line: &Self| (line.kind != Kind::Dir).then(|| (line.size, line.blake3.clone()));
        self.kind == other.kind
            && (self.result == "deleted") == (other.result == "deleted")
            && content(self) == content(other)
    }

    fn count(&self, totals: &mut Totals) {
        match (self.result.as_str(), self.kind) {
            ("deleted", _) => totals.deleted += 1,
            (_, Kind::Dir) => {}
            ("copied", kind) => {
                totals.files += 1;
                // A symlink has no content of its own.
                totals.bytes += if kind == Kind::File { self.size } else { 0 };
            }
            _ => totals.identical += 1,
        }
    }
}

impl Landing {
    /// Add what earlier sessions of this move have kept to the end of this one, and keep all of it, durably.
    pub(super) fn settle_move(&self, mut ours: Finished) -> Result<Finished, Failure> {
        let (earlier_drifted, earlier) = match self.earlier().map_err(state_failed)? {
            Some((head, lines)) => (head.drifted, Some(lines)),
            None => (Vec::new(), None),
        };
        for name in earlier_drifted {
            if ours.drifted.len() < MAX_DRIFTED && !ours.drifted.contains(&name) {
                ours.drifted.push(name);
            }
        }
        let (whole, kept) = (self.scratch("files.whole"), self.scratch("moved.new"));
        let create = |path| Lines::create(path).map_err(state_failed);
        let (mut files, mut keeping) = (create(&whole)?, create(&kept)?);
        let head = Head {
            drifted: ours.drifted.clone(),
            plan: self.spec.plan,
        };
        keeping.push(&head).map_err(state_failed)?;
        let mut totals = Totals {
            files: 0,
            bytes: 0,
            identical: 0,
            deleted: 0,
            ..ours.totals
        };
        let open = |path| Listed::open(path).map_err(state_failed);
        let (found, failed) = (open(&ours.files_list)?, open(&ours.failed_list)?);
        let next = || self.end_next();
        merge(earlier, (found, failed), &next, &mut |line, text| {
            line.count(&mut totals);
            let written = files.push_text(text);
            let kept = written.and_then(|()| keeping.push_text(text));
            kept.map_err(state_failed)
        })?;
        let settled = files.finish().and_then(|digests| {
            keeping.finish()?;
            std::fs::rename(&whole, &ours.files_list)?;
            std::fs::rename(&kept, self.scratch(KEPT))?;
            // One folder holds both names.
            sync_parent(&self.scratch(KEPT))?;
            Ok(digests)
        });
        (totals.list_digest, totals.list_root) = settled.map_err(state_failed)?;
        Ok(Finished { totals, ..ours })
    }

    /// Whether an earlier session of this move has come to its end.
    pub(super) fn has_moved(&self) -> Result<bool, Failure> {
        Ok(self.spec.execution.delete_source && self.earlier().map_err(state_failed)?.is_some())
    }

    /// What earlier sessions of this very move have kept.
    fn earlier(&self) -> io::Result<Option<(Head, Listed)>> {
        let mut listed = match Listed::open(&self.scratch(KEPT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let text = listed.text(MAX_HEAD_BYTES)?.unwrap_or_default();
        let head: Head = serde_json::from_slice(&text)?;
        Ok((head.plan == self.spec.plan).then_some((head, listed)))
    }

    fn scratch(&self, name: &str) -> PathBuf {
        self.spec.scratch.join(name)
    }
}

/// The lines of a list, in path order.
struct Listed(BufReader<File>);

impl Listed {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::with_capacity(256 << 10, File::open(path)?)))
    }

    /// The next line as it is written.
    fn text(&mut self, max_bytes: usize) -> io::Result<Option<Vec<u8>>> {
        let mut text = Vec::new();
        let count = (&mut self.0)
            .take(max_bytes as u64)
            .read_until(b'\n', &mut text)?;
        Ok((count > 0).then_some(text))
    }

    fn next<T: for<'de> Deserialize<'de>>(&mut self) -> io::Result<Option<(T, Vec<u8>)>> {
        self.text(MAX_LINE_BYTES)?
            .map(|text| Ok((serde_json::from_slice(&text)?, text)))
            .transpose()
    }
}

/// Takes a line, and as it is written.
type Each<'e> = &'e mut dyn FnMut(&Line, &[u8]) -> Result<(), Failure>;

/// Give `each` the lines that stand in either list, in path order: what an earlier session said of a name, unless this one found
/// something else there or failed on it. Before each name `next` is asked whether to go on, whatever becomes of it.
fn merge(
    mut earlier: Option<Listed>,
    (mut found, mut failed): (Listed, Listed),
    next: &dyn Fn() -> Result<(), Failure>,
    each: Each<'_>,
) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Failed {
        path: RelPath,
    }
    let mut next_earlier = || match &mut earlier {
        Some(earlier) => earlier.next::<Line>().map_err(state_failed),
        None => Ok(None),
    };
    let (mut before, mut now) = (next_earlier()?, found.next::<Line>().map_err(state_failed)?);
    let mut failing = failed.next::<Failed>().map_err(state_failed)?;
    loop {
        let order = match (&before, &now) {
            (Some((before, _)), Some((now, _))) => before.path.cmp(&now.path),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(()),
        };
        next()?;
        let ours = if order.is_ge() {
            std::mem::replace(&mut now, found.next().map_err(state_failed)?)
        } else {
            None
        };
        let theirs = if order.is_le() {
            let line = before.take();
            before = next_earlier()?;
            line
        } else {
            None
        };
        match (theirs, ours) {
            (Some((line, text)), None) => {
                while failing
                    .as_ref()
                    .is_some_and(|(failing, _)| failing.path < line.path)
                {
                    next()?;
                    failing = failed.next().map_err(state_failed)?;
                }
                if failing
                    .as_ref()
                    .is_none_or(|(failing, _)| failing.path != line.path)
                {
                    each(&line, &text)?;
                }
            }
            (Some((theirs, text)), Some((ours, _))) if theirs.says_the_same(&ours) => {
                each(&theirs, &text)?;
            }
            (_, Some((line, text))) => each(&line, &text)?,
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str, kind: &str, content: &str, result: &str) -> String {
        format!(
            "{{\"blake3\":\"{content}\",\"mode\":\"644\",\"mtime_ns\":\"{}\",\"path\":[\"{path}\"],\"result\":\"{result}\",\"size\":\"{}\",\"type\":\"{kind}\"}}\n",
            result.len(),
            if kind == "dir" { result.len() } else { 2 },
        )
    }

    fn merged(earlier: &[String], found: &[String], failed: &[&str]) -> (Vec<String>, Totals) {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            Listed::open(&path).expect("a list")
        };
        let failed = failed
            .iter()
            .map(|path| format!("{{\"path\":[\"{path}\"]}}\n"));
        let (mut lines, mut totals) = (Vec::new(), Totals::default());
        merge(
            Some(write("earlier", earlier.concat())),
            (
                write("found", found.concat()),
                write("failed", failed.collect()),
            ),
            &|| Ok(()),
            &mut |line, text| {
                line.count(&mut totals);
                lines.push(String::from_utf8(text.to_vec()).expect("text"));
                Ok(())
            },
        )
        .expect("readable");
        (lines, totals)
    }

    #[test]
    fn what_an_earlier_session_said_of_a_name_stays_unless_something_else_is_found_there() {
        let earlier = [
            line("a", "file", "1", "copied"),
            line("b", "dir", "", "created"),
            line("c", "symlink", "3", "copied"),
            line("d", "file", "4", "copied"),
            line("f", "file", "6", "copied"),
            line("g", "file", "7", "deleted"),
        ];
        let found = [
            line("b", "dir", "", "identical"),
            line("c", "symlink", "3", "identical"),
            line("d", "file", "another", "copied"),
            line("e", "file", "5", "identical"),
        ];
        let (lines, totals) = merged(&earlier, &found, &["b", "f", "h"]);
        let expected = [&earlier[..3], &found[2..], &earlier[5..]].concat();
        assert_eq!(lines, expected);
        let Totals {
            files,
            bytes,
            identical,
            deleted,
            ..
        } = totals;
        assert_eq!((files, bytes, identical, deleted), (3, 4, 1, 1));
        assert_eq!(merged(&[], &found, &[]).0, found);
        assert_eq!(merged(&earlier, &[], &[]).0, earlier);
    }
}
