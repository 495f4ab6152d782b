//! The second half of a move: sources that have safely arrived are deleted.

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::journal::Identity;
use rustix::fs::AtFlags;

use super::Supply;
use crate::session::ledger::Outcome;
use crate::session::state_failed;

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

impl Supply {
    /// Delete every file and symlink that the destination reported as done, if it still is what was sent, and then folders that are
    /// empty. Only called when the destination has confirmed the end.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the scratch folder cannot be read.
    pub fn remove_sources(&self) -> Result<Removed, Failure> {
        let mut removed = Removed::default();
        let mut entries = self.ledger.lock().read().map_err(state_failed)?;
        let mut open: Vec<Entry> = Vec::new();
        while let Some((_, item, outcome)) = entries.next().map_err(state_failed)? {
            let entry = item.entry();
            while let Some(folder) = open.pop_if(|folder| !entry.path.starts_with(&folder.path)) {
                self.remove_folder(&folder);
            }
            match (entry.kind, outcome) {
                (Kind::Dir, _) => open.push(entry.clone()),
                (_, Outcome::Identical(_)) => self.remove_source(entry, &mut removed),
                _ => {}
            }
        }
        while let Some(folder) = open.pop() {
            self.remove_folder(&folder);
        }
        Ok(removed)
    }

    fn remove_source(&self, entry: &Entry, removed: &mut Removed) {
        let result = self.dirs.above(&entry.path).and_then(|(dir, name)| {
            match dir.entry(&name, entry.path.clone())? {
                Some(now) if is_unchanged(&now, entry) => {
                    rustix::fs::unlinkat(&*dir, &*name, AtFlags::empty())?;
                    Ok(true)
                }
                Some(_) => Ok(false),
                None => Ok(true),
            }
        });
        let reason = match result {
            Ok(true) => {
                removed.deleted += 1;
                return;
            }
            Ok(false) => "it changed after it was copied".to_owned(),
            Err(error) => error.to_string(),
        };
        removed.kept_count += 1;
        if removed.kept.len() < MAX_KEPT {
            let message = format!(
                "{} has arrived but stays: {reason}",
                self.place(&entry.path)
            );
            removed.kept.push(Failure::new(Code::NotDeleted, message));
        }
    }

    /// A folder that still holds something stays, which is no failure.
    fn remove_folder(&self, entry: &Entry) {
        if let Ok((dir, name)) = self.dirs.above(&entry.path)
            && let Err(error) = rustix::fs::unlinkat(&*dir, &*name, AtFlags::REMOVEDIR)
        {
            tracing::debug!(%error, path = %entry.path, "a source folder stays");
        }
    }
}

fn is_unchanged(now: &Entry, then: &Entry) -> bool {
    now.kind == then.kind
        && now.target == then.target
        && Identity::from(now) == Identity::from(then)
}
