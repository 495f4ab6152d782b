//! Takes the source's entries in order and decides what is wanted of each.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::filter::Verdict as Selected;
use headrace_core::journal::{Identity, Record};
use headrace_core::list::ListEntry;
use headrace_core::manifest::Item;
use headrace_core::message::{Decision, Message};
use headrace_core::name::RelPath;
use headrace_core::ticket::Preserve;
use headrace_core::wire::WireError;
use headrace_io::storage::{Existing, Folder, Metadata};

use super::conflict::{Verdict, differs, judge, symlink_hash};
use super::folders::Freshness;
use super::incoming::{Incoming, IncomingState, OpenPart, Phase};
use super::intake::Intake;
use super::shared::Landing;
use super::spec::{MAX_TOUCHED, WINDOW, violation};
use super::stop::{Stop, destination_failure, ends_attempt};
use crate::session::counters::{Stage, add};
use crate::session::ledger::Outcome;

/// Longest run of bytes that is compared at once.
const COMPARE_BYTES: usize = 1 << 20;

impl Landing {
    /// Decide about the entries of one frame.
    pub(super) fn items(self: &Arc<Self>, first: u64, items: &[Item]) -> Result<(), Failure> {
        let mut intake = self.intake.lock();
        let expected = self.ledger.lock().count();
        let ordered = match (&intake.last, items.first()) {
            (Some(last), Some(item)) => item.follows(last),
            _ => true,
        };
        let fits = self.active.lock().len() + items.len() <= WINDOW as usize;
        if first != expected || !ordered || !fits || intake.over {
            return Err(violation(&WireError::contradiction(
                "entries out of order, too many or too late",
            )));
        }
        // No listing shows these, so nobody would ever see what stands there.
        if items.iter().any(|item| item.entry().path.has_part()) {
            return Err(violation(&WireError::contradiction(
                "a name that is kept for temporaries",
            )));
        }
        // A source applies the filters of the plan itself: what it brings all the same was not confirmed.
        // A ceiling is counted before anything of it is kept.
        let brought = first.saturating_add(items.len() as u64);
        if brought > self.spec.execution.max_entries {
            return Err(too_many("names", self.spec.execution.max_entries));
        }
        let left_out = |item: &Item| matches!(item, Item::Entry(entry) if self.spec.filter.selects(entry) == Selected::Excluded);
        if items.iter().any(left_out) {
            return Err(violation(&WireError::contradiction(
                "a name that the plan leaves out",
            )));
        }
        if !intake.prepared {
            intake.prepared = true;
            if let Some(Item::Entry(top)) = items.first()
                && top.path.is_root()
                && top.kind == Kind::Dir
            {
                let _ = self.top.set(top.clone());
            }
            self.counters.time(Stage::Delete, || self.check_deletes())?;
            self.prepare(items.first().map(Item::entry))?;
        }
        intake.last = items.last().map(|item| item.entry().path.clone());
        let mut decisions = Vec::with_capacity(items.len());
        let mut there = Vec::new();
        for (id, item) in (first..).zip(items) {
            self.look_at_next()?;
            self.ledger
                .lock()
                .push(item)
                .map_err(crate::session::failures::state_failed)?;
            let before = intake.there;
            decisions.push(self.decide(&mut intake, id, item)?);
            if intake.there > before {
                there.push((id, intake.landed.take()));
            }
        }
        drop(intake);
        self.answers.answer(Message::Decisions {
            first,
            generation: 0,
            decisions,
        })?;
        // A move deletes only what it is told of.
        if self.spec.execution.delete_source {
            self.tell_done(&there)?;
        }
        // Files of which everything had arrived before need no word from the source.
        self.check_resumed(first, items.len());
        Ok(())
    }

    /// All entries have come.
    pub(super) fn items_end(&self, count: u64) -> Result<(), Failure> {
        let mut intake = self.intake.lock();
        if count != self.ledger.lock().count() || intake.over {
            return Err(violation(&WireError::contradiction(
                "the number of entries is wrong",
            )));
        }
        // All was moved before, so what is at the destination is no folder to be made.
        if !intake.prepared && !self.has_moved()? {
            self.prepare(None)?;
        }
        intake.prepared = true;
        intake.over = true;
        self.counters.listed.store(true, Ordering::Relaxed);
        drop(intake);
        if self.is_settled() {
            self.hurry();
        }
        Ok(())
    }

    /// Make the destination folder, or only those above it when the source is a single file.
    fn prepare(&self, first: Option<&Entry>) -> Result<(), Failure> {
        let destination = &self.spec.execution.destination.path;
        let folder = match first {
            // The entry itself is the destination.
            Some(entry) if entry.path.is_root() => match destination.parent() {
                Some(parent) => parent,
                None if entry.kind == Kind::Dir || entry.kind == Kind::Other => return Ok(()),
                None => {
                    let message = format!(
                        "the destination is the root `{}` itself",
                        self.spec.execution.destination.root
                    );
                    return Err(Failure::new(Code::DestinationIsDirectory, message));
                }
            },
            _ => destination.clone(),
        };
        let mut path = RelPath::root();
        let mut above = self.folder_at(&path)?.0;
        self.check_way(&*above, &path)?;
        for name in folder.components() {
            path = RelPath::from_components(path.components().chain([name]))
                .map_err(|error| Failure::new(Code::NameTooLong, error.to_string()))?;
            let found = above.folder(name);
            if let Ok(found) = &found {
                self.check_way(&**found, &path)?;
                self.found_name(&path)?;
            }
            above = match found {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // The source has nothing in its place, so it gets what any new folder gets.
                    let mode = 0o777 & !self.folders.target().umask();
                    self.make_folder(&*above, name, &path, mode)
                }
                answer => answer,
            }
            .map_err(|error| self.folder_failure(&error, &path))?;
        }
        Ok(())
    }

    /// Make a folder. It has its permissions from the beginning, so that a session which is killed leaves none that nobody may enter; what
    /// only its owner could use while it is filled is taken away in the end.
    fn make_folder(
        &self,
        above: &dyn Folder,
        name: &[u8],
        path: &RelPath,
        mode: u32,
    ) -> io::Result<Arc<dyn Folder>> {
        above.make_folder(name)?;
        add(&self.counters.durable_steps, 1);
        let folder = above.folder(name)?;
        let record = Record::Made {
            path: path.clone(),
            inode: folder.inode()?,
        };
        self.journal.lock().push(&record);
        folder.set_metadata(Metadata {
            mode: Some(mode | 0o700),
            mtime_ns: None,
        })?;
        self.folders.keep_fresh(path.clone(), Arc::clone(&folder));
        self.touch_folder_above(path);
        Ok(folder)
    }

    pub(super) fn folder_failure(&self, error: &io::Error, path: &RelPath) -> Failure {
        let place = format!(
            "`{path}` in root `{}`",
            self.spec.execution.destination.root
        );
        destination_failure(error, &place, "opening the folder")
    }

    fn decide(
        self: &Arc<Self>,
        intake: &mut Intake,
        id: u64,
        item: &Item,
    ) -> Result<Decision, Failure> {
        let entry = item.entry();
        if let Item::Failed(_, failure) = item {
            self.record_failure(id, failure)?;
            return Ok(Decision::Nothing);
        }
        let permitted = &*self.spec.permitted;
        let listed = intake.overwrites.find(&entry.path, permitted)?;
        if entry.kind != Kind::Dir && !intake.is_asked_for(&entry.path, permitted)? {
            self.record(id, Outcome::Skipped)?;
            return Ok(Decision::Nothing);
        }
        let decided = match entry.kind {
            Kind::Dir => self.decide_folder(id, entry),
            Kind::Symlink | Kind::File => {
                add(&self.counters.files_total, 1);
                self.decide_file(intake, id, entry, listed)
            }
            Kind::Other => Err(Stop::This(Failure::new(
                Code::SourceUnsupported,
                format!(
                    "{} is not a file, folder or symlink",
                    self.place(&entry.path)
                ),
            ))),
        };
        match decided {
            Ok(decision) => Ok(decision),
            // Without the destination folder itself, nothing can arrive.
            Err(Stop::This(failure)) if entry.kind == Kind::Dir && entry.path.is_root() => {
                Err(failure)
            }
            Err(Stop::This(failure)) => {
                self.record_failure(id, &failure)?;
                Ok(Decision::Nothing)
            }
            Err(Stop::All(failure)) => Err(failure),
        }
    }

    fn decide_folder(&self, id: u64, entry: &Entry) -> Result<Decision, Stop> {
        let path = self.full_path(&entry.path)?;
        let Some(name) = path.file_name() else {
            self.check_way(&*self.folder_at(&path)?.0, &path)?;
            return Ok(Decision::Nothing);
        };
        let (above, freshness) = self.folder_above(&path)?;
        let found = match freshness {
            Freshness::Fresh => None,
            _ => above
                .entry(name, RelPath::root())
                .map_err(|error| self.failed(&error, entry, "looking for"))?,
        };
        if let Some(found) = &found {
            self.check_apart(entry, found)?;
        }
        let outcome = match found.map(|found| found.kind) {
            None => {
                self.make_folder(&*above, name, &path, self.mode(entry))
                    .map_err(|error| self.failed(&error, entry, "making"))?;
                Outcome::Created
            }
            // An earlier session made it and did not come to its end.
            Some(Kind::Dir) if self.was_made(&*above, name, &path, entry)? => {
                self.touch_folder_above(&path);
                Outcome::Created
            }
            Some(Kind::Dir) => {
                self.found_name(&path)?;
                Outcome::Identical(None)
            }
            Some(_) => {
                let message = format!("{} is not a folder", self.place(&entry.path));
                return Err(Failure::new(Code::DestinationNotDirectory, message).into());
            }
        };
        self.record(id, outcome)?;
        Ok(Decision::Nothing)
    }

    /// A name is there. An earlier session may have given it and been killed before it was durable, or before its record was written: it,
    /// and what lands in it, could go with the power. Of a move that holds whoever made it, as its sources are deleted.
    fn found_name(&self, path: &RelPath) -> Result<(), Failure> {
        if self.spec.execution.delete_source || self.resume.lock().is_resumed {
            self.touch_folder_above(path);
            self.sync_touched(MAX_TOUCHED)?;
        }
        Ok(())
    }

    /// Whether an earlier session made this very folder.
    fn was_made(
        &self,
        above: &dyn Folder,
        name: &[u8],
        path: &RelPath,
        entry: &Entry,
    ) -> Result<bool, Failure> {
        let Some(made) = self.resume.lock().made(path) else {
            return Ok(false);
        };
        let found = above.inode_of(name);
        Ok(found.map_err(|error| self.failed(&error, entry, "looking for"))? == Some(made))
    }

    fn decide_file(
        self: &Arc<Self>,
        intake: &mut Intake,
        id: u64,
        entry: &Entry,
        listed: Option<ListEntry>,
    ) -> Result<Decision, Stop> {
        let path = self.full_path(&entry.path)?;
        let (above, freshness) = self.folder_above(&path)?;
        let name = path.file_name().unwrap_or_default();
        let found = match freshness {
            Freshness::Fresh => None,
            _ => above
                .entry(name, RelPath::root())
                .map_err(|error| self.failed(&error, entry, "looking for"))?,
        };
        if let Some(found) = &found {
            self.check_apart(entry, found)?;
        }
        if let Some(found) = &found
            && let Some((landed, published)) = self
                .resume
                .lock()
                .landed(&entry.path, &Identity::from(entry), &self.spec.permitted)
                .map_err(Stop::All)?
            && entry.size == found.size
            && above
                .inode_of(name)
                .map_err(|error| self.failed(&error, entry, "looking for"))?
                == Some(landed.inode)
            && (entry.mtime_ns == found.mtime_ns || !self.spec.execution.preserves(Preserve::Mtime))
        {
            if !published {
                // Its name, and those of the folders above, may be known to memory alone: the session that gave them was killed.
                self.touch_folder_above(&path);
                self.sync_touched(1)?;
            }
            intake.want(self, entry)?;
            self.copied(id, entry, landed.hash)?;
            intake.there += 1;
            intake.landed = Some(landed.hash);
            add(&self.counters.bytes_received, entry.size);
            return Ok(Decision::Nothing);
        }
        let verdict = match &found {
            None => Verdict::Copy(Existing::Keep),
            Some(found) => judge(&self.spec.execution, entry, found, listed.as_ref()),
        };
        if verdict == Verdict::Compare {
            let geometry = self.spec.geometry;
            let incoming = Incoming::new(id, entry.clone(), None, Phase::Comparing, geometry);
            incoming.state.lock().listed = listed;
            self.active.lock().insert(id, Arc::new(incoming));
            return Ok(Decision::Compare);
        }
        self.apply(intake, id, entry, &verdict, listed, None)
    }

    /// Do what the rules say of a file or symlink. `hash` is that of the content at the destination, where it was read.
    fn apply(
        self: &Arc<Self>,
        intake: &mut Intake,
        id: u64,
        entry: &Entry,
        verdict: &Verdict,
        listed: Option<ListEntry>,
        hash: Option<[u8; 32]>,
    ) -> Result<Decision, Stop> {
        match *verdict {
            Verdict::Identical | Verdict::Compare => {
                self.found_name(&self.full_path(&entry.path)?)?;
                self.totals.lock().identical += 1;
                intake.there += 1;
                add(&self.counters.files_done, 1);
                // A symlink's content is its target, which was compared.
                let hash = hash.or((entry.kind == Kind::Symlink).then(|| symlink_hash(entry)));
                self.record(id, Outcome::Identical(hash))?;
                Ok(Decision::Nothing)
            }
            Verdict::Skip => {
                self.record(id, Outcome::Skipped)?;
                Ok(Decision::Nothing)
            }
            Verdict::Fail(code) => {
                let message = format!("{}: {}", self.place(&entry.path), reason(code));
                Err(Failure::new(code, message).into())
            }
            Verdict::Stop => Err(Stop::All(
                self.changed_since_confirmed(&entry.path, "replacing"),
            )),
            Verdict::Copy(existing) => {
                intake.want(self, entry)?;
                if entry.kind == Kind::Symlink {
                    // Made at the end, so that none is ever in the way of a file. What to do is found out again then.
                    return Ok(Decision::Nothing);
                }
                let replaces = listed.filter(|_| existing == Existing::Replace);
                self.want(id, entry, replaces).map_err(Stop::All)
            }
        }
    }

    /// Ask for a file, or for what an earlier session did not get of it.
    fn want(
        &self,
        id: u64,
        entry: &Entry,
        replaces: Option<ListEntry>,
    ) -> Result<Decision, Failure> {
        let incoming = Incoming::new(
            id,
            entry.clone(),
            replaces,
            Phase::Arriving,
            self.spec.geometry,
        );
        let decision = self.take_up(entry, &mut incoming.state.lock())?;
        self.active.lock().insert(id, Arc::new(incoming));
        Ok(decision)
    }

    /// Use what an earlier session left of this file, if it is still the same file and the temporary is still there. A stop meanwhile says
    /// nothing of that: the journal keeps it.
    fn take_up(&self, entry: &Entry, state: &mut IncomingState) -> Result<Decision, Failure> {
        let Some((number, past)) = self.resume.lock().take_part(&entry.path) else {
            return Ok(Decision::Send);
        };
        let above = self
            .full_path(&entry.path)
            .and_then(|path| self.folder_above(&path));
        if let Err(failure) = &above
            && ends_attempt(failure.code)
        {
            return Err(failure.clone());
        }
        let opened = above.ok().and_then(|(above, _)| {
            let name = self.folders.temporary(number);
            let found = above.entry(&name, RelPath::root()).ok()??;
            // Cut by somebody else, it reads as zeros where the journal knows of units.
            if found.size < past.identity.size {
                drop(above.remove(&name));
                return None;
            }
            above.reopen(&name, self.writing_of(entry)).ok()
        });
        let Some(temporary) = opened.filter(|temporary| temporary.inode() == past.inode) else {
            self.journal.lock().push(&Record::Dropped { part: number });
            return Ok(Decision::Send);
        };
        if past.identity != Identity::from(entry) {
            self.note_drift(&entry.path);
            self.journal.lock().push(&Record::Dropped { part: number });
            drop(temporary.discard());
            return Ok(Decision::Send);
        }
        for (unit, hash) in past.units {
            state.insert_unit(unit, hash);
        }
        let arrived = self.spec.geometry.bytes_of(&state.units, entry.size);
        add(&self.counters.bytes_received, arrived);
        add(&self.counters.bytes_durable, arrived);
        state.part = Some(OpenPart {
            part: temporary,
            number,
        });
        state.durable_bytes = arrived;
        state.is_taken_up = true;
        Ok(match state.units.missing() {
            missing if missing.is_empty() => {
                state.ended = true;
                Decision::Nothing
            }
            missing => Decision::SendUnits(missing),
        })
    }

    /// Commit the files of these entries that are whole without anything having to be sent.
    fn check_resumed(self: &Arc<Self>, first: u64, count: usize) {
        if !self.resume.lock().is_resumed {
            return;
        }
        for id in first..first + count as u64 {
            if let Some(incoming) = self.incoming(id) {
                let mut state = incoming.state.lock();
                self.check_whole(&incoming, &mut state);
            }
        }
    }

    /// The source changed while it was read: start the file again.
    pub(super) fn file_changed(
        self: &Arc<Self>,
        id: u64,
        generation: u16,
        entry: Entry,
    ) -> Result<(), Failure> {
        let Some(incoming) = self.incoming(id) else {
            return Ok(());
        };
        let mut state = incoming.state.lock();
        if matches!(state.phase, Phase::Whole | Phase::Closed) {
            // All of it has come, as it was: that is what gets the name.
            return Ok(());
        }
        if generation != state.generation + 1
            || entry.path != state.entry.path
            || entry.kind != Kind::File
        {
            return Err(violation(&WireError::contradiction(
                "a file changed into another one",
            )));
        }
        self.note_drift(&entry.path);
        let mut intake = self.intake.lock();
        intake.wanted_bytes = intake
            .wanted_bytes
            .saturating_sub(state.entry.size)
            .saturating_add(entry.size);
        intake.check(self)?;
        drop(intake);
        // The counter wraps, so that it also goes down.
        let grown = entry.size.wrapping_sub(state.entry.size);
        add(&self.counters.bytes_total, grown);
        if let Some(open) = state.part.take() {
            self.journal
                .lock()
                .push(&Record::Dropped { part: open.number });
            drop(open.part.discard());
        }
        // What had arrived of it is thrown away: it counts as sent again, and is safe no more.
        let arrived = self.spec.geometry.bytes_of(&state.units, state.entry.size);
        add(
            &self.counters.bytes_durable,
            state.durable_bytes.wrapping_neg(),
        );
        self.sent_again(arrived);
        *state = IncomingState::new(entry, generation, Phase::Arriving, self.spec.geometry);
        drop(state);
        self.answers.answer(Message::Decisions {
            first: id,
            generation,
            decisions: vec![Decision::Send],
        })
    }

    /// The source tells the hash of a file whose name is taken: what is there is read on a thread of its own, and then decided about.
    pub(super) fn compared(self: &Arc<Self>, id: u64, theirs: [u8; 32]) -> Result<(), Failure> {
        let Some(incoming) = self.incoming(id) else {
            return Ok(());
        };
        if incoming.state.lock().phase != Phase::Comparing {
            return Err(violation(&WireError::contradiction(
                "a hash that nobody asked for",
            )));
        }
        self.compare_soon(incoming, theirs);
        Ok(())
    }

    /// Compare what is at the destination, unless the session `is_over` first.
    pub(super) fn compare(
        self: &Arc<Self>,
        incoming: &Incoming,
        theirs: [u8; 32],
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let (entry, listed) = {
            let state = incoming.state.lock();
            (state.entry.clone(), state.listed.clone())
        };
        let mut is_same = false;
        let decided = self
            .compare_content(&entry, theirs, is_over)
            .and_then(|(found, same)| {
                self.check_apart(&entry, &found)?;
                is_same = same;
                let verdict = if same {
                    Verdict::Identical
                } else {
                    differs(&self.spec.execution, &entry, &found, listed.as_ref())
                };
                self.apply(
                    &mut self.intake.lock(),
                    incoming.id,
                    &entry,
                    &verdict,
                    listed,
                    same.then_some(theirs),
                )
            });
        let decision = match decided {
            Ok(decision) => decision,
            // The next session compares it.
            Err(_) if is_over() => return Ok(()),
            Err(Stop::This(failure)) => return self.fail(incoming, &failure),
            Err(Stop::All(failure)) => return Err(failure),
        };
        self.answers.answer(Message::Decisions {
            first: incoming.id,
            generation: 0,
            decisions: vec![decision],
        })?;
        // When it is to be copied, another one has taken its place.
        if let Some(now) = self
            .incoming(incoming.id)
            .filter(|now| now.state.lock().phase == Phase::Arriving)
        {
            self.check_whole(&now, &mut now.state.lock());
        } else {
            self.close(incoming.id, || {
                if is_same {
                    self.tell_done(&[(incoming.id, Some(theirs))])?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn compare_content(
        &self,
        entry: &Entry,
        theirs: [u8; 32],
        is_over: &dyn Fn() -> bool,
    ) -> Result<(Entry, bool), Stop> {
        let path = self.full_path(&entry.path)?;
        let (above, _) = self.folder_above(&path)?;
        let name = path.file_name().unwrap_or_default();
        let reading = |error: io::Error| self.failed(&error, entry, "reading");
        let found = above
            .entry(name, RelPath::root())
            .map_err(reading)?
            .ok_or(io::ErrorKind::NotFound.into())
            .map_err(reading)?;
        let file = above.open_file(name).map_err(reading)?;
        if self.reads_back() {
            file.sync().and_then(|()| file.evict()).map_err(reading)?;
        }
        let mut hasher = blake3::Hasher::new();
        let (mut buffer, mut offset) = (vec![0; COMPARE_BYTES], 0);
        loop {
            if is_over() {
                return Err(reading(io::ErrorKind::Interrupted.into()).into());
            }
            let count = file.read_at(&mut buffer, offset).map_err(reading)?;
            hasher.update(&buffer[..count]);
            offset += count as u64;
            if count < buffer.len() {
                return Ok((found, *hasher.finalize().as_bytes() == theirs));
            }
        }
    }

    /// Where an entry goes, below the root.
    pub(super) fn full_path(&self, path: &RelPath) -> Result<RelPath, Failure> {
        let destination = &self.spec.execution.destination.path;
        destination.join_path(path).map_err(|error| {
            // The reason first: a message is cut off, and this path is long.
            let message = format!("the destination path would be too long, {error}: `{path}`");
            Failure::new(Code::NameTooLong, message)
        })
    }

    /// The folder that holds `path`, which is below the root.
    pub(super) fn folder_above(
        &self,
        path: &RelPath,
    ) -> Result<(Arc<dyn Folder>, Freshness), Failure> {
        self.folder_at(&path.parent().unwrap_or_default())
    }

    pub(super) fn folder_at(
        &self,
        path: &RelPath,
    ) -> Result<(Arc<dyn Folder>, Freshness), Failure> {
        let (folder, freshness) = self
            .folders
            .get(path)
            .map_err(|error| self.folder_failure(&error, path))?;
        if freshness == Freshness::JustOpened && self.resume.lock().is_resumed {
            // Names that a killed session gave or took here may be known to memory alone: what comes now counts only with them.
            self.touch_folder(path.clone());
            self.remove_stale(&*folder)?;
            self.sync_touched(MAX_TOUCHED)?;
        }
        Ok((folder, freshness))
    }

    /// Remove temporaries of this transfer that no journal record speaks of: their session ended before they counted.
    fn remove_stale(&self, folder: &dyn Folder) -> Result<(), Failure> {
        let (mut stale, mut permitted) = (Vec::new(), Ok(()));
        let listed = folder.names(&mut |name| {
            permitted = (self.spec.may_end)();
            if let Some(number) = self.folders.number(name)
                && number < self.spec.first_part
                && !self.resume.lock().knows(number)
            {
                stale.push(name.to_vec());
            }
            permitted.is_ok()
        });
        permitted?;
        for name in stale {
            (self.spec.may_end)()?;
            if let Err(error) = folder.remove(&name) {
                tracing::warn!(%error, "a stale temporary could not be removed");
            }
        }
        if let Err(error) = listed {
            tracing::warn!(%error, "a folder could not be searched for stale temporaries");
        }
        Ok(())
    }

    pub(super) fn failed(&self, error: &io::Error, entry: &Entry, doing: &str) -> Failure {
        destination_failure(error, &self.place(&entry.path), doing)
    }
}

impl Intake {
    /// Count an entry that is copied against the ceilings.
    fn want(&mut self, landing: &Landing, entry: &Entry) -> Result<(), Stop> {
        self.wanted_files += 1;
        if entry.kind == Kind::File {
            self.wanted_bytes = self.wanted_bytes.saturating_add(entry.size);
            add(&landing.counters.bytes_total, entry.size);
        }
        self.check(landing).map_err(Stop::All)
    }

    fn check(&self, landing: &Landing) -> Result<(), Failure> {
        let execution = &landing.spec.execution;
        let ceilings = [
            ("files", self.wanted_files, execution.max_files),
            ("bytes", self.wanted_bytes, execution.max_bytes),
        ];
        match ceilings
            .iter()
            .find(|(_, wanted, ceiling)| wanted > ceiling)
        {
            None => Ok(()),
            Some((what, _, ceiling)) => Err(too_many(what, *ceiling)),
        }
    }
}

fn too_many(what: &str, ceiling: u64) -> Failure {
    let message = format!("the source now has more than the {ceiling} {what} that the plan allows");
    Failure::new(Code::CeilingExceeded, message)
}

fn reason(code: Code) -> &'static str {
    match code {
        Code::DestinationIsDirectory => "a folder is there",
        Code::DestinationExists => "something different is there, and this plan replaces nothing",
        Code::NotOnOverwriteList => {
            "something different is there that was not on the confirmed overwrite list"
        }
        _ => "it cannot be written",
    }
}
