//! What a move remembers of its end, from before its sources are deleted until it is forgotten.
//!
//! A node that is killed while the sources are deleted has told nobody what arrived. The next session finds fewer sources, or none: by
//! itself it would sign that nothing was to be moved. So the lists and counts of a whole arrival are kept, and stand for the
//! next session, too, if that brought nothing which they do not name.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use headrace_core::code::Failure;
use headrace_core::message::Totals;
use headrace_core::value::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Landing;
use super::finish::Finished;
use crate::session::state_failed;
use crate::state;

/// The kept counts, and the list that belongs to them, in the scratch folder.
const KEPT: &str = "moved.json";
const KEPT_LIST: &str = "moved.jsonl";
const MAX_KEPT_BYTES: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Kept {
    plan: Digest,
    files: u64,
    bytes: u64,
    identical: u64,
    list_digest: [u8; 32],
    list_root: [u8; 32],
    drifted: Vec<String>,
}

impl Landing {
    /// Put the list of an earlier session's whole arrival aside, before this one writes its own.
    pub(super) fn keep_earlier_list(&self) -> Result<(), Failure> {
        let (kept, list) = (self.scratch(KEPT), self.scratch(KEPT_LIST));
        if kept.exists() && !list.exists() {
            std::fs::rename(self.scratch("files.jsonl"), list).map_err(state_failed)?;
        }
        Ok(())
    }

    /// The end of this session, or that of an earlier one when everything that this one found is in there. Kept, durably, in
    /// either case when it is whole.
    pub(super) fn settle_move(&self, ours: Finished) -> Result<Finished, Failure> {
        if ours.totals.failed > 0 {
            return Ok(ours);
        }
        if let Some(earlier) = self.earlier(&ours).map_err(state_failed)? {
            return Ok(earlier);
        }
        self.keep(&ours).map_err(state_failed)?;
        Ok(ours)
    }

    fn keep(&self, ours: &Finished) -> io::Result<()> {
        let Totals {
            files,
            bytes,
            identical,
            list_digest,
            list_root,
            ..
        } = ours.totals;
        let kept = Kept {
            plan: self.spec.plan,
            files,
            bytes,
            identical,
            list_digest,
            list_root,
            drifted: ours.drifted.clone(),
        };
        // The old list first: without it, counts stand for nothing.
        state::remove(&self.scratch(KEPT_LIST)).map_err(io::Error::other)?;
        let text = serde_json::to_vec(&kept)?;
        state::write_durably(&self.scratch(KEPT), &text).map_err(io::Error::other)
    }

    fn earlier(&self, ours: &Finished) -> io::Result<Option<Finished>> {
        let (kept, list) = (self.scratch(KEPT), self.scratch(KEPT_LIST));
        if self.spec.only_failed.is_some() || !kept.exists() || !list.exists() {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_slice(&state::read_bounded(&kept, MAX_KEPT_BYTES)?)?;
        if kept.plan != self.spec.plan
            || sha256_of(&list)? != kept.list_digest
            || !names_all_of(&list, &ours.files_list)?
        {
            return Ok(None);
        }
        let totals = Totals {
            files: kept.files,
            bytes: kept.bytes,
            identical: kept.identical,
            list_digest: kept.list_digest,
            list_root: kept.list_root,
            ..ours.totals
        };
        Ok(Some(Finished {
            totals,
            drifted: kept.drifted,
            files_list: list,
            failed_list: ours.failed_list.clone(),
        }))
    }

    fn scratch(&self, name: &str) -> PathBuf {
        self.spec.scratch.join(name)
    }
}

fn sha256_of(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let (mut sha256, mut buffer) = (Sha256::new(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sha256.finalize().into()),
            count => sha256.update(&buffer[..count]),
        }
    }
}

/// Whether every line of `part` that is no folder's stands in `whole`; both are in path order.
fn names_all_of(whole: &Path, part: &Path) -> io::Result<bool> {
    let mut whole = BufReader::new(File::open(whole)?).split(b'\n');
    for line in BufReader::new(File::open(part)?).split(b'\n') {
        let line = line?;
        if line.ends_with(b"\"type\":\"dir\"}") {
            continue;
        }
        loop {
            match whole.next().transpose()? {
                Some(other) if other == line => break,
                Some(_) => {}
                None => return Ok(false),
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::names_all_of;

    #[test]
    fn a_list_holds_another_when_each_file_of_that_is_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let whole = write("whole", "a\nb\n{\"type\":\"dir\"}\nc\n");
        let holds = |text: &str| names_all_of(&whole, &write("part", text)).expect("readable");
        assert!(holds("") && holds("b\n") && holds("a\nc\n") && holds("{x,\"type\":\"dir\"}\nc\n"));
        assert!(!holds("d\n") && !holds("b\na\n"));
    }
}
