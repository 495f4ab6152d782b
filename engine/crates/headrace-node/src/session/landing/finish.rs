//! The end of a session: deletes, symlinks and folder metadata, in an order in which none undoes another, and then the lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::journal::PartState;
use headrace_core::list::{ListEntry, ListReader};
use headrace_core::manifest::Item;
use headrace_core::name::RelPath;
use headrace_core::ticket::Preserve;
use headrace_core::value::Timestamp;
use headrace_io::storage::{Existing, Metadata, Removal};

use super::conflict::{ListCursor, Verdict, is_unchanged, judge, list_altered, symlink_hash};
use super::shared::Landing;
use super::spec::{Finished, LandingSpec, MAX_TOUCHED};
use super::stop::{Stop, destination_failure, ends_attempt};
use crate::session::counters::{Stage, add, read};
use crate::session::failures::{asking, state_failed};
use crate::session::ledger::{Ledger, LedgerReader, Outcome};
use crate::session::trash::{SettledTrash, Trash, TrashSpec};

/// Name of the list of what failed in the last attempt, in the scratch folder.
pub const LAST_FAILED: &str = "last-failed.jsonl";

/// Bytes of a list that are copied at once.
const COPIED_BYTES: u64 = 16 << 20;

/// Folders whose names or metadata changed and are not durable yet.
type Touched = BTreeSet<RelPath>;

/// The trash, as failures call it.
const TRASH: &str = "the trash of the root";

/// The trash, if what is deleted is kept, with what earlier attempts moved there.
pub(super) fn settled_trash(spec: &LandingSpec) -> Result<Option<SettledTrash>, Failure> {
    let settled = spec.execution.trash.map(|kept| {
        let spec = TrashSpec {
            target: Arc::clone(&spec.target),
            transfer: spec.transfer.clone(),
            keep_days: kept.keep_days,
            permitted: Arc::clone(&spec.may_end),
        };
        spec.settled()
    });
    settled
        .transpose()
        .map_err(|error| destination_failure(&error, TRASH, "making durable"))
}

impl Landing {
    /// Complete the session, after [`Landing::is_settled`]. For each name it asks whether that is still permitted, and always before it
    /// deletes one.
    ///
    /// # Errors
    /// [`Failure`] when the attempt cannot be completed or may not go on; what was committed stays and is found again on resume.
    pub fn finish(self: &Arc<Self>) -> Result<Finished, Failure> {
        self.remove_rest()?;
        self.epoch()?;
        self.check()?;
        let mut touched = Touched::new();
        let mut deleted = Ledger::create(&self.spec.scratch, "deletes").map_err(state_failed)?;
        // What could not be copied may be the reason why something looked superfluous.
        if self.spec.deletes.is_some() && self.totals.lock().failed == 0 {
            self.counters.time(Stage::Delete, || {
                self.check_deletes()?;
                self.open_trash();
                self.delete(&mut deleted, &mut touched)
            })?;
        }
        self.complete_folders(&mut touched)?;
        self.sync_after_trash(&touched)?;
        let (files_list, failed_list) = (
            self.spec.scratch.join("files.jsonl"),
            self.spec.scratch.join("failed.jsonl"),
        );
        let mut source = self.ledger.lock().read().map_err(state_failed)?;
        let mut gone = deleted.read().map_err(state_failed)?;
        let digests = super::lists::write(&mut source, &mut gone, self, &files_list, &failed_list)?;
        // The lists are handed over and may be taken away; an attempt at only what failed needs its own.
        self.copy(&failed_list, &self.spec.scratch.join(LAST_FAILED))
            .map_err(state_failed)?;
        let mut totals = *self.totals.lock();
        totals.resent_bytes = read(&self.counters.resent_bytes);
        (totals.list_digest, totals.list_root) = digests;
        let finished = Finished {
            totals,
            drifted: self.drifted.lock().clone(),
            files_list,
            failed_list,
            trash: self.trash().and_then(Result::ok).map(Trash::name),
        };
        // The source is told, and deletes what has arrived, only after this.
        if self.spec.execution.delete_source {
            return self.settle_move(finished);
        }
        Ok(finished)
    }

    /// Copy a list of our own, which may be long.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (mut from, mut to) = (File::open(from)?, File::create(to)?);
        let go_on = asking(&*self.spec.may_end);
        while io::copy(&mut (&mut from).take(COPIED_BYTES), &mut to)? == COPIED_BYTES {
            go_on()?;
        }
        Ok(())
    }

    /// Temporaries of earlier sessions whose files the source does not have any more.
    fn remove_rest(&self) -> Result<(), Failure> {
        let rest = self.resume.lock().take_rest();
        self.remove_temporaries(rest)
    }

    /// Remove these temporaries; whoever ends that on the way leaves the others to the next session, which finds them in the journal.
    pub(super) fn remove_temporaries(
        &self,
        parts: BTreeMap<u64, PartState>,
    ) -> Result<(), Failure> {
        for (number, part) in parts {
            (self.spec.permitted)()?;
            let opened = self.full_path(&part.path).and_then(|path| {
                let (above, _) = self.folder_above(&path)?;
                Ok((path, above))
            });
            let removed = match opened {
                Ok((path, above)) => {
                    let removed = above.remove(&self.folders.temporary(number));
                    self.touch_folder_above(&path);
                    removed.is_ok()
                }
                Err(failure) if ends_attempt(failure.code) => return Err(failure),
                Err(_) => false,
            };
            if !removed {
                tracing::debug!(path = %part.path, "an old temporary is gone already");
            }
        }
        Ok(())
    }

    /// Open the trash, if what is deleted is kept. Where it can't be used, every name stays and says why.
    fn open_trash(&self) {
        let Some(settled) = &self.settled_trash else {
            return;
        };
        let opened = settled.open(Timestamp::from(SystemTime::now()));
        let opened =
            opened.map_err(|error| format!("the trash can't be used, so it stays: {error}"));
        let _ = self.trash.set(opened);
    }

    fn trash(&self) -> Option<Result<&Trash, &String>> {
        self.trash.get().map(Result::as_ref)
    }

    /// Make folders durable from which names were taken: what was moved to the trash is durable there before.
    fn sync_after_trash(&self, touched: &Touched) -> Result<(), Failure> {
        if let Some(Ok(trash)) = self.trash() {
            trash
                .settle()
                .map_err(|error| self.lost(destination_failure(&error, TRASH, "making durable")))?;
        }
        self.sync_folders(touched)
    }

    /// Everything on the delete list must still be as it was confirmed, or gone, before anything on it is deleted.
    pub(super) fn check_deletes(&self) -> Result<(), Failure> {
        let mut seen = Vec::new();
        for line in self.open_delete_list()?.into_iter().flatten() {
            let line = line.map_err(|error| list_altered(io::Error::other(error)))?;
            self.look_at_next()?;
            self.check_superfluous(&line, &mut seen)?;
            // Folders change when what they hold is deleted; they are only removed when they are empty.
            if line.kind != Kind::Dir
                && let Some(found) = self
                    .look(&line.path)
                    .map_err(|error| self.cannot_delete(&line.path, &error))?
                && !is_unchanged(&found, &line)
            {
                return Err(self.changed_since_confirmed(&line.path, "deleting"));
            }
        }
        Ok(())
    }

    /// Go on to the next name, if that is still permitted. That names are looked at shows that the node works, where nothing moves.
    pub(super) fn look_at_next(&self) -> Result<(), Failure> {
        (self.spec.permitted)()?;
        add(&self.counters.looked_at, 1);
        Ok(())
    }

    /// The same where no other node is needed any more: a connection that breaks now ends nothing.
    pub(super) fn end_next(&self) -> Result<(), Failure> {
        (self.spec.may_end)()?;
        add(&self.counters.looked_at, 1);
        Ok(())
    }

    fn open_delete_list(&self) -> Result<Option<ListReader<BufReader<File>>>, Failure> {
        let open = |path| {
            Ok(ListReader::new(
                BufReader::new(File::open(path)?),
                self.spec.execution.deletes,
            ))
        };
        self.spec
            .deletes
            .as_deref()
            .map(open)
            .transpose()
            .map_err(list_altered)
    }

    /// Delete what is on the list, folders after what they hold.
    fn delete(&self, ledger: &mut Ledger, touched: &mut Touched) -> Result<(), Failure> {
        let mut source = self.ledger.lock().read().map_err(state_failed)?;
        let mut ahead = source.next().map_err(state_failed)?;
        let mut open: Vec<(u64, RelPath)> = Vec::new();
        for line in self.open_delete_list()?.into_iter().flatten() {
            let line = line.map_err(|error| list_altered(io::Error::other(error)))?;
            // A stop, the kill switch or the end of the ticket also ends this.
            self.look_at_next()?;
            while let Some((id, folder)) = open.pop_if(|(_, folder)| !line.path.starts_with(folder))
            {
                self.delete_one(ledger, touched, id, &folder, None)?;
            }
            while ahead
                .as_ref()
                .is_some_and(|(_, item, _)| item.entry().path < line.path)
            {
                (self.spec.permitted)()?;
                ahead = source.next().map_err(state_failed)?;
            }
            let id = ledger.count();
            ledger
                .push(&Item::Entry(listed_entry(&line)))
                .map_err(state_failed)?;
            if ahead
                .as_ref()
                .is_some_and(|(_, item, _)| item.entry().path.starts_with(&line.path))
            {
                let message = format!(
                    "{} was to be deleted, but the source has it now",
                    self.place(&line.path)
                );
                self.record_delete_failure(ledger, id, &Failure::new(Code::NotDeleted, message))?;
            } else if line.kind == Kind::Dir {
                open.push((id, line.path));
            } else {
                self.delete_one(ledger, touched, id, &line.path, Some(&line))?;
            }
        }
        while let Some((id, folder)) = open.pop() {
            (self.spec.permitted)()?;
            self.delete_one(ledger, touched, id, &folder, None)?;
        }
        Ok(())
    }

    /// Delete a name if it is as it was `confirmed`, or an empty folder.
    fn delete_one(
        &self,
        ledger: &mut Ledger,
        touched: &mut Touched,
        id: u64,
        path: &RelPath,
        confirmed: Option<&ListEntry>,
    ) -> Result<(), Failure> {
        let full = self.full_path(path)?;
        let name = full.file_name().unwrap_or_default();
        let deleted = self
            .folders
            .look(&full.parent().unwrap_or_default())
            .and_then(|above| match (confirmed, self.trash()) {
                (_, Some(Err(why))) => Err(io::Error::other(why.clone())),
                // The list was checked as a whole before; with many names, that is long ago.
                (Some(line), None) => above.remove_if(name, &|found| is_unchanged(found, line)),
                (Some(line), Some(Ok(trash))) => {
                    trash.take(&*above, &full, &|found| is_unchanged(found, line))
                }
                (None, None) => above.remove_folder(name).map(|()| Removal::Gone),
                (None, Some(Ok(trash))) => {
                    trash.take_folder(&*above, &full).map(|()| Removal::Gone)
                }
            });
        // What was gone before, an earlier session may have deleted.
        if matches!(deleted, Ok(Removal::Gone)) {
            add(&self.counters.durable_steps, 1);
        }
        match deleted {
            Ok(Removal::Changed) => Err(self.changed_since_confirmed(path, "deleting")),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.record_delete_failure(ledger, id, &self.cannot_delete(path, &error))
            }
            _ => {
                touched.remove(&full);
                self.totals.lock().deleted += 1;
                add(&self.counters.deleted, 1);
                ledger.record(id, Outcome::Deleted).map_err(state_failed)?;
                self.touch(touched, full.parent().unwrap_or_default())
            }
        }
    }

    fn record_delete_failure(
        &self,
        ledger: &mut Ledger,
        id: u64,
        failure: &Failure,
    ) -> Result<(), Failure> {
        self.totals.lock().failed += 1;
        add(&self.counters.files_failed, 1);
        ledger.record_failure(id, failure).map_err(state_failed)
    }

    fn cannot_delete(&self, path: &RelPath, error: &io::Error) -> Failure {
        Failure::new(
            Code::NotDeleted,
            format!("deleting {}: {error}", self.place(path)),
        )
    }

    /// What is at a path of the destination now.
    pub(super) fn look(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        let full = self.full_path(path).map_err(io::Error::other)?;
        match self.folders.look(&full.parent().unwrap_or_default()) {
            Ok(above) => above.entry(full.file_name().unwrap_or_default(), path.clone()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Make the symlinks, and give each folder its metadata once everything in it is done.
    fn complete_folders(&self, touched: &mut Touched) -> Result<(), Failure> {
        let mut overwrites = ListCursor::open(
            self.spec.overwrites.as_deref(),
            self.spec.execution.overwrites,
        )?;
        let mut source: LedgerReader = self.ledger.lock().read().map_err(state_failed)?;
        let mut open: Vec<(u64, Entry)> = Vec::new();
        while let Some((id, item, outcome)) = source.next().map_err(state_failed)? {
            let entry = item.entry();
            self.end_next()?;
            while let Some((id, folder)) =
                open.pop_if(|(_, folder)| !entry.path.starts_with(&folder.path))
            {
                self.complete_folder(touched, id, &folder)?;
            }
            match (entry.kind, outcome) {
                // Folders that were there before stay as they were.
                (Kind::Dir, Outcome::Created) => open.push((id, entry.clone())),
                (Kind::Symlink, Outcome::Open) => {
                    let listed = overwrites.find(&entry.path, &*self.spec.may_end)?;
                    match self.make_symlink(entry, listed.as_ref(), touched) {
                        Ok(outcome) => {
                            self.record(id, outcome)?;
                            if self.spec.execution.delete_source && outcome != Outcome::Skipped {
                                self.tell_done(&[(id, None)])?;
                            }
                        }
                        Err(Stop::This(failure)) => self.record_failure(id, &failure)?,
                        Err(Stop::All(failure)) => return Err(failure),
                    }
                }
                _ => {}
            }
        }
        while let Some((id, folder)) = open.pop() {
            self.complete_folder(touched, id, &folder)?;
        }
        Ok(())
    }

    fn complete_folder(
        &self,
        touched: &mut Touched,
        id: u64,
        entry: &Entry,
    ) -> Result<(), Failure> {
        let execution = &self.spec.execution;
        let metadata = Metadata {
            mode: Some(self.mode(entry)),
            mtime_ns: execution
                .preserves(Preserve::Mtime)
                .then_some(entry.mtime_ns),
        };
        let path = self.full_path(&entry.path)?;
        let set = self
            .folders
            .look(&path)
            .and_then(|folder| folder.set_metadata(metadata));
        match set {
            Ok(()) => self.touch(touched, path),
            Err(error) => {
                self.record_failure(id, &self.failed(&error, entry, "completing the folder"))
            }
        }
    }

    /// Note that a folder changed, and make all that changed durable when they are many.
    fn touch(&self, touched: &mut Touched, folder: RelPath) -> Result<(), Failure> {
        touched.insert(folder);
        if touched.len() < MAX_TOUCHED {
            return Ok(());
        }
        self.sync_after_trash(&std::mem::take(touched))
    }

    fn make_symlink(
        &self,
        entry: &Entry,
        listed: Option<&ListEntry>,
        touched: &mut Touched,
    ) -> Result<Outcome, Stop> {
        let path = self.full_path(&entry.path)?;
        let (above, _) = self.folder_above(&path)?;
        let name = path.file_name().unwrap_or_default();
        let failed =
            |error: io::Error| Stop::This(self.failed(&error, entry, "making the symlink"));
        let found = above.entry(name, RelPath::root()).map_err(failed)?;
        if let Some(found) = &found {
            self.check_apart(entry, found)?;
        }
        let verdict = found.map_or(Verdict::Copy(Existing::Keep), |found| {
            judge(&self.spec.execution, entry, &found, listed)
        });
        let temporary = self.folders.temporary(self.new_part_number());
        let made = match verdict {
            Verdict::Copy(Existing::Keep) => name,
            Verdict::Copy(Existing::Replace) => &temporary,
            // Made by an earlier session, or by somebody else since it was decided about.
            Verdict::Identical | Verdict::Compare => {
                self.touch(touched, path.parent().unwrap_or_default())
                    .map_err(Stop::All)?;
                self.count_copied(
                    &Entry {
                        size: 0,
                        ..entry.clone()
                    },
                    0,
                );
                return Ok(Outcome::Copied(symlink_hash(entry)));
            }
            Verdict::Skip => return Ok(Outcome::Skipped),
            Verdict::Fail(code) => {
                return Err(Failure::new(
                    code,
                    format!("{}: something else is there now", self.place(&entry.path)),
                )
                .into());
            }
            Verdict::Stop => {
                let message = format!(
                    "{} is no longer as it was when replacing it was confirmed",
                    self.place(&entry.path)
                );
                return Err(Stop::All(Failure::new(Code::DestinationChanged, message)));
            }
        };
        above
            .make_symlink(made, entry.target.as_deref().unwrap_or_default())
            .map_err(failed)?;
        if self.spec.execution.preserves(Preserve::Mtime) {
            above
                .set_symlink_mtime(made, entry.mtime_ns)
                .map_err(failed)?;
        }
        if made != name {
            above
                .rename(made, name, Existing::Replace)
                .map_err(failed)?;
        }
        add(&self.counters.durable_steps, 1);
        self.touch(touched, path.parent().unwrap_or_default())
            .map_err(Stop::All)?;
        self.count_copied(
            &Entry {
                size: 0,
                ..entry.clone()
            },
            0,
        );
        Ok(Outcome::Copied(symlink_hash(entry)))
    }
}

fn listed_entry(line: &ListEntry) -> Entry {
    let target = (line.kind == Kind::Symlink).then(|| Box::from(&b"-"[..]));
    Entry {
        path: line.path.clone(),
        kind: line.kind,
        size: line.size,
        mtime_ns: line.mtime_ns,
        version: line.version,
        mode: 0,
        target,
    }
}

#[cfg(test)]
mod tests;
