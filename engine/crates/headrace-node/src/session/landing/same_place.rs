//! What stands at the destination and is the source itself, under another name: of another root, or of another node that shares its file
//! system. Deleting it as a source that has arrived, or as superfluous, would delete the only copy.

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::list::ListEntry;
use headrace_core::name::RelPath;
use headrace_io::storage::Folder;
use headrace_io::version::is_one;

use super::shared::Landing;
use super::stop::Stop;

impl Landing {
    /// Fail an entry of a move if what was `found` in its place is the entry itself: a folder ends the attempt, as what it holds is the same.
    pub(super) fn check_apart(&self, entry: &Entry, found: &Entry) -> Result<(), Stop> {
        if !self.spec.execution.delete_source {
            return Ok(());
        }
        let place = self.place(&entry.path);
        if entry.kind == Kind::Dir {
            let is_source = self.is_top(found) || is_one(found, entry);
            return if is_source {
                Err(Stop::All(same_folder(&place)))
            } else {
                Ok(())
            };
        }
        if is_one(found, entry) {
            let message = format!(
                "{place} is the same file at source and destination; nothing was done to it"
            );
            return Err(Failure::new(Code::SamePlace, message).into());
        }
        Ok(())
    }

    /// End a move whose destination is its source or lies in it: asked of each folder on the way, before anything is made.
    pub(super) fn check_way(&self, folder: &dyn Folder, path: &RelPath) -> Result<(), Failure> {
        if !self.spec.execution.delete_source {
            return Ok(());
        }
        let found = folder
            .itself()
            .map_err(|error| self.folder_failure(&error, path))?;
        if found.is_some_and(|found| self.is_top(&found)) {
            let root = &self.spec.execution.destination.root;
            return Err(same_folder(&format!("`{path}` in root `{root}`")));
        }
        Ok(())
    }

    /// End a sync that would delete its source as superfluous. `seen` are the folders on the way to the name before this one.
    pub(super) fn check_superfluous(
        &self,
        line: &ListEntry,
        seen: &mut Vec<RelPath>,
    ) -> Result<(), Failure> {
        seen.retain(|folder| line.path.starts_with(folder));
        let mut at = match line.kind {
            Kind::Dir => Some(line.path.clone()),
            _ => line.path.parent(),
        };
        while let Some(folder) = at.filter(|folder| !folder.is_root() && !seen.contains(folder)) {
            // What can't be looked at can't be deleted either.
            let found = self.look(&folder).ok().flatten();
            if found.is_some_and(|found| self.is_top(&found)) {
                let message = format!(
                    "{} is the source itself, which would be deleted; nothing was deleted",
                    self.place(&folder)
                );
                return Err(Failure::new(Code::SamePlace, message));
            }
            at = folder.parent();
            seen.push(folder);
        }
        Ok(())
    }

    /// Whether this is the folder that the source is.
    fn is_top(&self, found: &Entry) -> bool {
        self.top.get().is_some_and(|top| is_one(found, top))
    }
}

fn same_folder(place: &str) -> Failure {
    let message =
        format!("{place} is a folder of the source under another name; no source was deleted");
    Failure::new(Code::SamePlace, message)
}
