//! What the threads of a landing share, and what any of them may do: end a file, or the attempt.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use headrace_core::code::{Code, Failure};
use headrace_core::entry::Entry;
use headrace_core::integrity::{PieceHash, piece_hash};
use headrace_core::journal::Record;
use headrace_core::message::{FileResult, Message, Totals};
use headrace_core::name::RelPath;
use headrace_io::buffer::BufferPool;
use headrace_io::disk::DiskPool;
use headrace_io::journal::Journal;
use parking_lot::{Condvar, Mutex};

use super::folders::Folders;
use super::incoming::{Incoming, Phase};
use super::intake::Intake;
use super::pending::{Pending, ReadBack};
use super::places::Places;
use super::resume::{ReceivedCount, Resume};
use super::spec::{Answers, Content, Geometry, LandingSpec, MAX_DRIFTED};
use super::stop::ends_attempt;
use crate::session::counters::{Counters, Stage, add};
use crate::session::failures::{contained, state_failed};
use crate::session::ledger::{Ledger, Outcome};
use crate::session::trash::{SettledTrash, Trash};

/// The destination's side of one session; see the module.
pub struct Landing {
    pub(super) spec: LandingSpec,
    pub(super) answers: Arc<dyn Answers>,
    pub(super) counters: Arc<Counters>,
    pub(super) buffers: Arc<BufferPool>,
    pub(super) disk: Arc<DiskPool>,
    pub(super) folders: Folders,
    pub(super) journal: Mutex<Journal>,
    pub(super) resume: Mutex<Resume>,
    pub(super) received: ReceivedCount,
    pub(super) intake: Mutex<Intake>,
    /// The source itself, where it is a folder.
    pub(super) top: OnceLock<Entry>,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) totals: Mutex<Totals>,
    pub(super) drifted: Mutex<Vec<String>>,
    pub(super) active: Mutex<HashMap<u64, Arc<Incoming>>>,
    pub(super) pending: Mutex<Pending>,
    pub(super) pending_changed: Condvar,
    pub(super) read_back: ReadBack,
    /// Files that wait for their epoch, each open.
    pub(super) places: Places,
    /// Folders in which temporaries of small files have names, as far as the journal knows.
    pub(super) used: Mutex<HashSet<RelPath>>,
    pub(super) next_part: AtomicU64,
    /// Whether files may share their content with their sources, as far as was tried.
    pub(super) may_share: AtomicBool,
    /// Files that have left `active` and of which the source is being told.
    pub(super) telling: AtomicU64,
    /// Why the attempt cannot go on, found out on a thread that has nobody to tell.
    pub(super) failure: Mutex<Option<Failure>>,
    /// Where what is deleted is to be kept.
    pub(super) settled_trash: Option<SettledTrash>,
    /// Where what is deleted is kept, or why nothing is deleted; set when deletes begin.
    pub(super) trash: OnceLock<Result<Trash, String>>,
}

impl Landing {
    /// Whether every entry has its result, so that [`Landing::finish`] may be called.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.intake.lock().is_over()
            && self.active.lock().is_empty()
            && self.telling.load(Ordering::Acquire) == 0
    }

    /// How files are cut.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.spec.geometry
    }

    /// Whether a piece of a file of `size` bytes is what its hash says.
    pub(super) fn is_good(&self, size: u64, offset: u64, piece: &[u8], hash: &PieceHash) -> bool {
        let found = || piece_hash(size, offset, piece) == *hash;
        self.spec.content == Content::AtHand || self.counters.time(Stage::Verify, found)
    }

    /// The file with this number, if content for it is still wanted.
    pub(super) fn incoming(&self, id: u64) -> Option<Arc<Incoming>> {
        self.active.lock().get(&id).cloned()
    }

    /// A file is not going to arrive: forget its content and say so. Other files go on.
    pub(super) fn fail(&self, incoming: &Incoming, failure: &Failure) -> Result<(), Failure> {
        let of_all = matches!(failure.code, Code::TooBusy | Code::DestinationChanged);
        if of_all || ends_attempt(failure.code) {
            // Too much is open, the plan is not what was confirmed any more, or somebody says stop: none is the fault of one file.
            return Err(failure.clone());
        }
        let part = {
            let mut state = incoming.state.lock();
            if state.phase == Phase::Closed {
                return Ok(());
            }
            state.phase = Phase::Closed;
            state.part.take()
        };
        if let Some(open) = part {
            self.journal
                .lock()
                .push(&Record::Dropped { part: open.number });
            if let Err(error) = open.part.discard() {
                tracing::warn!(%error, path = %incoming.path(), "a temporary file could not be removed");
            }
        }
        self.record_failure(incoming.id, failure)?;
        self.close(incoming.id, || {
            let result = FileResult::Failed(failure.code);
            self.answers
                .answer(Message::Results(vec![(incoming.id, result)]))
        })
    }

    /// No content of a file is waited for any more: make room, and then `tell` the source, which hears of it before the end.
    pub(super) fn close(
        &self,
        id: u64,
        tell: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.telling.fetch_add(1, Ordering::AcqRel);
        self.active.lock().remove(&id);
        let told = tell();
        self.telling.fetch_sub(1, Ordering::AcqRel);
        self.hurry_when_nothing_else_comes();
        told
    }

    pub(super) fn record(&self, id: u64, outcome: Outcome) -> Result<(), Failure> {
        self.ledger.lock().record(id, outcome).map_err(state_failed)
    }

    pub(super) fn record_failure(&self, id: u64, failure: &Failure) -> Result<(), Failure> {
        self.totals.lock().failed += 1;
        add(&self.counters.files_failed, 1);
        self.ledger
            .lock()
            .record_failure(id, failure)
            .map_err(state_failed)
    }

    /// Remember that the source changed since it was surveyed or first read.
    pub(super) fn note_drift(&self, path: &RelPath) {
        let mut drifted = self.drifted.lock();
        let name = path.escaped();
        if drifted.len() < MAX_DRIFTED && !drifted.contains(&name) {
            drifted.push(name);
        }
    }

    /// End the attempt from a thread that cannot return the failure; the first one counts.
    pub(super) fn give_up(&self, failure: Failure) {
        self.failure.lock().get_or_insert(failure);
        self.hurry();
    }

    /// End the attempt where a sync failed, and count nothing more: what the kernel could not write stays in memory as if it had been,
    /// and the next sync says nothing of it.
    pub(super) fn lost(&self, failure: Failure) -> Failure {
        self.give_up(failure.clone());
        failure
    }

    /// Do `work` on a disk thread, waiting for a place there. Its failure ends the attempt, and so does a panic.
    pub(super) fn on_disk(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<(), Failure> + Send + 'static,
    ) {
        let this = Arc::clone(self);
        self.disk.submit(move || {
            if let Err(failure) = contained(work) {
                this.give_up(failure);
            }
        });
    }

    /// Why the attempt cannot go on, if a thread found out.
    ///
    /// # Errors
    /// That failure.
    pub fn check(&self) -> Result<(), Failure> {
        self.failure.lock().clone().map_or(Ok(()), Err)
    }

    pub(super) fn new_part_number(&self) -> u64 {
        self.next_part.fetch_add(1, Ordering::Relaxed)
    }

    /// What was confirmed is not what is there any more.
    pub(super) fn changed_since_confirmed(&self, path: &RelPath, doing: &str) -> Failure {
        let place = self.place(path);
        Failure::new(
            Code::DestinationChanged,
            format!("{place} is no longer as it was when {doing} it was confirmed"),
        )
    }

    /// Where an entry goes, for messages.
    pub(super) fn place(&self, path: &RelPath) -> String {
        let destination = &self.spec.execution.destination;
        let full = destination
            .path
            .join_path(path)
            .map_or_else(|_| path.escaped(), |path| path.escaped());
        format!("`{}` in root `{}`", full, destination.root)
    }
}
