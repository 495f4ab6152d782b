//! Epochs: what has arrived is made durable together, in the order that makes every claim true.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::code::Failure;
use headrace_core::entry::Entry;
use headrace_core::integrity::PieceHash;
use headrace_core::journal::{Identity, Landed, MAX_UNITS, Record};
use headrace_core::name::RelPath;
use headrace_core::ticket::Preserve;
use headrace_io::storage::{Existing, Metadata, Replaced};
use parking_lot::MutexGuard;

use super::conflict::is_unchanged;
use super::incoming::{Incoming, IncomingState, Phase};
use super::pending::{LandedUnit, Pending, Sealed, WholeFile};
use super::places::Place;
use super::shared::Landing;
use crate::session::counters::{Stage, add};
use crate::session::failures::state_failed;
use crate::session::ledger::Outcome;

/// Age of the oldest arrival at which an epoch is due.
const MAX_AGE: Duration = Duration::from_millis(250);
/// How often a waiting thread looks whether its session is over.
const POLL: Duration = Duration::from_millis(100);

impl Landing {
    /// Wait until an epoch is due; `false` when `is_over` says so first.
    pub fn wait_for_epoch(&self, is_over: &dyn Fn() -> bool) -> bool {
        let mut pending = self.pending.lock();
        loop {
            if is_over() {
                return false;
            }
            let age = pending.oldest.map(|oldest| oldest.elapsed());
            let due = pending.hurry
                || pending.whole.len() >= self.max_epoch_files()
                || pending.bytes >= self.spec.epochs.max_bytes
                || age.is_some_and(|age| age >= MAX_AGE);
            if due {
                return true;
            }
            let patience = age.map_or(POLL, |age| MAX_AGE.saturating_sub(age).min(POLL));
            self.pending_changed.wait_for(&mut pending, patience);
        }
    }

    /// Make everything that arrived so far durable, name the files that are whole, and tell the source.
    ///
    /// # Errors
    /// [`Failure`] when the attempt cannot go on, and again whenever one is tried after that. A file that cannot be committed fails alone. Of
    /// a stop while files are read back, when all the rest is durable.
    pub fn epoch(self: &Arc<Self>) -> Result<(), Failure> {
        self.check()?;
        let pending = {
            let mut pending = self.pending.lock();
            self.pending_changed.notify_all();
            std::mem::take(&mut *pending)
        };
        self.counters.time(Stage::Commit, || self.commit(pending))
    }

    fn commit(self: &Arc<Self>, mut pending: Pending) -> Result<(), Failure> {
        pending
            .units
            .retain(|unit| unit.incoming.state.lock().generation == unit.generation);
        let mut whole = self.seal_all(pending.whole)?;
        self.sync_contents(&pending.units, &mut whole)?;
        let mut stopped = Ok(());
        if self.reads_back() {
            (whole, stopped) = self.read_back_small(whole)?;
            whole.append(&mut pending.verified);
        }
        self.journal_arrivals(&pending.units, &whole)?;
        let published = self.keep_good(whole, |file| self.publish(file))?;
        // Those that follow each other are mostly in one folder.
        let in_one = |left: &Sealed, right: &Sealed| {
            left.entry.path.parent_bytes() == right.entry.path.parent_bytes()
        };
        for files in published.chunk_by(in_one) {
            if let Some(file) = files.first() {
                let path = self.full_path(&file.entry.path)?;
                pending.folders.insert(path.parent().unwrap_or_default());
            }
        }
        self.sync_folders(&pending.folders)?;
        if !published.is_empty() || !pending.units.is_empty() {
            let mut journal = self.journal.lock();
            journal.push(&Record::Published);
            let committed = journal.commit();
            drop(journal);
            committed.map_err(|error| self.lost(state_failed(error)))?;
        }
        self.count_durable(&pending.units);
        let mut done = Vec::with_capacity(published.len());
        add(&self.counters.durable_steps, published.len() as u64);
        for file in &published {
            let uncounted = {
                let mut state = file.incoming.state.lock();
                state.phase = Phase::Closed;
                state.part = None;
                file.entry.size - state.durable_bytes.min(file.entry.size)
            };
            self.count_copied(&file.entry, uncounted);
            self.record(file.incoming.id, Outcome::Copied(file.hash))?;
            done.push((file.incoming.id, Some(file.hash)));
        }
        // The source may send the next entries as soon as it is told, so there is room for them before.
        let mut active = self.active.lock();
        for (id, _) in &done {
            active.remove(id);
        }
        drop(active);
        self.tell_done(&done)?;
        if !done.is_empty() {
            self.hurry_when_nothing_else_comes();
        }
        stopped
    }

    /// Give whole files their final size and metadata.
    fn seal_all(&self, whole: Vec<WholeFile>) -> Result<Vec<Sealed>, Failure> {
        let sealed = whole.into_iter().map(|file| {
            let WholeFile {
                incoming,
                part,
                number,
                hash,
                place,
            } = file;
            let entry = incoming.state.lock().entry.clone();
            Sealed {
                incoming,
                part,
                number,
                hash,
                entry,
                _place: place,
            }
        });
        self.keep_good(sealed.collect(), |file| {
            if file.number.is_none() {
                // Small files got theirs when they were written.
                return Ok(());
            }
            let cut = if self.may_be_padded(&file.entry) {
                file.part.set_size(file.entry.size)
            } else {
                Ok(())
            };
            cut.and_then(|()| file.part.set_metadata(self.metadata(&file.entry)))
                .map_err(|error| self.failed(&error, &file.entry, "completing"))
        })
    }

    fn journal_arrivals(&self, units: &[LandedUnit], whole: &[Sealed]) -> Result<(), Failure> {
        let mut by_part: BTreeMap<u64, Vec<(u64, PieceHash)>> = BTreeMap::new();
        for unit in units {
            let state = unit.incoming.state.lock();
            if let Some(open) = &state.part
                && state.generation == unit.generation
            {
                by_part
                    .entry(open.number)
                    .or_default()
                    .push((unit.unit, unit.hash));
            }
        }
        let mut journal = self.journal.lock();
        for (part, units) in by_part {
            for units in units.chunks(MAX_UNITS) {
                journal.push(&Record::Units {
                    part,
                    units: units.to_vec(),
                });
            }
        }
        for file in whole {
            journal.push(&Record::Landed(Landed {
                path: file.entry.path.clone(),
                identity: Identity::from(&file.entry),
                hash: file.hash,
                inode: file.part.inode(),
                part: file.number,
            }));
        }
        // After a loss of power in between, a name without a record is recognised by size and time. Where those are not kept, the
        // record has to be safe first.
        let recognisable = self.spec.execution.preserves(Preserve::Mtime);
        let written = if recognisable {
            journal.write()
        } else {
            journal.commit()
        };
        drop(journal);
        written.map_err(|error| self.lost(state_failed(error)))
    }

    fn publish(&self, file: &Sealed) -> Result<(), Failure> {
        let of_root;
        let name = if let Some(name) = file.entry.path.file_name() {
            name
        } else {
            of_root = self.full_path(&file.entry.path)?;
            of_root.file_name().unwrap_or_default()
        };
        let published = match &file.incoming.replaces {
            None => file
                .part
                .publish(name, Existing::Keep)
                .map(|()| Replaced::Yes),
            // It was looked at when it was decided about, which may be hours ago.
            Some(listed) => file
                .part
                .replace(name, &|found| is_unchanged(found, listed)),
        };
        match published {
            Ok(Replaced::Yes) => Ok(()),
            Ok(Replaced::No) => Err(self.changed_since_confirmed(&file.entry.path, "replacing")),
            Err(error) => Err(self.failed(&error, &file.entry, "giving the final name to")),
        }
    }

    /// Do `step` for each file; those for which it fails fail alone and are left out.
    fn keep_good(
        &self,
        files: Vec<Sealed>,
        step: impl Fn(&Sealed) -> Result<(), Failure>,
    ) -> Result<Vec<Sealed>, Failure> {
        let answers = files.iter().map(step).collect();
        self.keep_those(files, answers)
    }

    /// Keep the files whose answer is good; the others fail.
    pub(super) fn keep_those(
        &self,
        files: Vec<Sealed>,
        answers: Vec<Result<(), Failure>>,
    ) -> Result<Vec<Sealed>, Failure> {
        let mut good = Vec::with_capacity(files.len());
        for (file, answer) in files.into_iter().zip(answers) {
            match answer {
                Ok(()) => good.push(file),
                Err(failure) => {
                    if file.number.is_none() {
                        drop(file.part.discard());
                    }
                    self.fail(&file.incoming, &failure)?;
                }
            }
        }
        Ok(good)
    }

    fn count_durable(&self, units: &[LandedUnit]) {
        for unit in units {
            let mut state = unit.incoming.state.lock();
            if state.part.is_none() {
                continue;
            }
            let start = unit.unit * self.spec.geometry.unit_bytes;
            let bytes = self
                .spec
                .geometry
                .unit_bytes
                .min(state.entry.size.saturating_sub(start));
            state.durable_bytes += bytes;
            add(&self.counters.bytes_durable, bytes);
            add(&self.counters.durable_steps, 1);
        }
    }

    /// Count a file that was copied, `uncounted` bytes of which are durable only now.
    pub(super) fn count_copied(&self, entry: &Entry, uncounted: u64) {
        let mut totals = self.totals.lock();
        totals.files += 1;
        totals.bytes += entry.size;
        add(&self.counters.files_done, 1);
        add(&self.counters.bytes_durable, uncounted);
        add(&self.counters.bytes_whole, entry.size);
    }

    /// A file that an earlier session copied.
    pub(super) fn copied(&self, id: u64, entry: &Entry, hash: PieceHash) -> Result<(), Failure> {
        self.count_copied(entry, entry.size);
        self.record(id, Outcome::Copied(hash))
    }

    /// What a complete file gets.
    pub(super) fn metadata(&self, entry: &Entry) -> Metadata {
        let execution = &self.spec.execution;
        Metadata {
            mode: Some(self.mode(entry)),
            mtime_ns: execution
                .preserves(Preserve::Mtime)
                .then_some(entry.mtime_ns),
        }
    }

    /// Permission bits of a copy: never more than the source's, and without setuid, setgid and sticky bits.
    pub(super) fn mode(&self, entry: &Entry) -> u32 {
        let withheld = if self.spec.execution.preserves(Preserve::Mode) {
            0
        } else {
            self.folders.target().umask()
        };
        entry.mode & 0o777 & !withheld
    }

    /// A unit is written.
    pub(super) fn unit_landed(
        self: &Arc<Self>,
        incoming: &Arc<Incoming>,
        generation: u16,
        unit: u64,
        hash: PieceHash,
    ) {
        let mut state = incoming.state.lock();
        if state.generation != generation
            || state.phase != Phase::Arriving
            || state.units.contains(unit)
        {
            return;
        }
        state.insert_unit(unit, hash);
        {
            let mut pending = self.pending();
            pending.bytes += self.spec.geometry.unit_bytes.min(state.entry.size);
            pending.units.push(LandedUnit {
                incoming: Arc::clone(incoming),
                generation,
                unit,
                hash,
            });
            self.pending_changed.notify_all();
        }
        self.check_whole(incoming, &mut state);
    }

    /// Hand a file to the next epoch if all of it is there.
    pub(super) fn check_whole(
        self: &Arc<Self>,
        incoming: &Arc<Incoming>,
        state: &mut IncomingState,
    ) {
        if !state.is_whole() {
            return;
        }
        let (Some(hash), Some(open)) = (state.tree.top(), state.part.clone()) else {
            return;
        };
        state.phase = Phase::Whole;
        let incoming = Arc::clone(incoming);
        self.all_whole(vec![WholeFile {
            incoming,
            part: open.part,
            number: Some(open.number),
            hash,
            place: self.places.take(),
        }]);
    }

    /// Hand files to the next epoch.
    pub(super) fn all_whole(&self, files: Vec<WholeFile>) {
        let mut pending = self.pending();
        pending.whole.extend(files);
        pending.hurry |= self.is_last(&pending);
        self.pending_changed.notify_all();
    }

    /// Run an epoch now if waiting would bring nothing more into it. To be asked whenever a file is no longer waited for.
    pub(super) fn hurry_when_nothing_else_comes(&self) {
        let is_settled = self.is_settled();
        let mut pending = self.pending.lock();
        pending.hurry |= is_settled || self.is_last(&pending);
        self.pending_changed.notify_all();
    }

    /// A large file reads back as it was sent.
    pub(super) fn add_verified(&self, file: Sealed) {
        let mut pending = self.pending();
        pending.verified.push(file);
        pending.hurry |= self.is_last(&pending);
        self.pending_changed.notify_all();
    }

    /// Whether all files that are still waited for are in this epoch.
    fn is_last(&self, pending: &Pending) -> bool {
        let ready = pending.whole.len() + pending.verified.len();
        ready > 0 && self.active.lock().len() <= ready
    }

    /// Wait for an epoch to free a place; `None` when `is_over` says so first: no epoch comes then.
    pub(super) fn wait_for_place(
        &self,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Place>, Failure> {
        loop {
            let limit = self.max_places();
            if let Some(place) = self.places.try_take(limit) {
                return Ok(Some(place));
            }
            if is_over() {
                return Ok(None);
            }
            {
                let mut pending = self.pending.lock();
                pending.hurry |= !pending.whole.is_empty();
                self.pending_changed.notify_all();
            }
            self.places.wait(limit, POLL);
            self.check()?;
        }
    }

    /// Names changed in the folder that holds `path`.
    pub(super) fn touch_folder_above(&self, path: &RelPath) {
        self.touch_folder(path.parent().unwrap_or_default());
    }

    /// Names changed in this folder.
    pub(super) fn touch_folder(&self, folder: RelPath) {
        self.pending.lock().folders.insert(folder);
    }

    /// Make durable what changed in folders so far, if these are so many.
    pub(super) fn sync_touched(&self, at_least: usize) -> Result<(), Failure> {
        let folders = {
            let mut pending = self.pending.lock();
            if pending.folders.len() < at_least {
                return Ok(());
            }
            std::mem::take(&mut pending.folders)
        };
        let synced = self.sync_folders(&folders);
        if synced.is_err() {
            self.pending.lock().folders.extend(folders);
        }
        synced
    }

    /// Run an epoch now.
    pub(super) fn hurry(&self) {
        self.pending.lock().hurry = true;
        self.pending_changed.notify_all();
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        let mut pending = self.pending.lock();
        pending.oldest.get_or_insert_with(Instant::now);
        pending
    }
}

#[cfg(test)]
mod tests;
