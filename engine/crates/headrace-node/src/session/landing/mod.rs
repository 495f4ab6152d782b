//! The destination's side of a session: decides what is wanted, writes what arrives, makes it durable and gives it its name.
//!
//! It speaks [`Message`]s and knows neither sockets nor threads: whoever drives it hands in what the source says
//! ([`Landing::handle`]), the content ([`Landing::open_unit`], [`Landing::batch`]), and runs an epoch when one is due
//! ([`Landing::epoch`]). The same code runs over the simulated target in the power-loss test.
//!
//! Order of things, which is what makes a name mean a whole file: content durable -> journal says so -> name given -> folder
//! durable -> journal says so -> the source is told.

mod batch;
mod conflict;
mod decide;
mod durable;
mod epoch;
mod finish;
mod folders;
mod incoming;
mod lists;
mod moved;
mod places;
mod read_back;
mod resume;
mod same_place;
mod share;
mod temporaries;
mod unit;

#[cfg(test)]
mod ill_disk;
#[cfg(test)]
mod power_loss;
#[cfg(test)]
pub(super) mod tests_support;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use headrace_core::code::{Code, Failure};
use headrace_core::entry::Entry;
use headrace_core::filter::Filter;
use headrace_core::integrity::{BLOCK_BYTES, PieceHash, piece_hash};
use headrace_core::journal::Record;
use headrace_core::message::{FileResult, Message, Totals};
use headrace_core::name::RelPath;
use headrace_core::ticket::{Execution, Shard};
use headrace_core::value::{Digest, Id};
use headrace_core::wire::WireError;
use headrace_io::buffer::BufferPool;
use headrace_io::descriptors::Share;
use headrace_io::disk::DiskPool;
use headrace_io::journal::Journal;
use headrace_io::landed::LandedRuns;
use headrace_io::storage::{Folder, Target};
use parking_lot::{Condvar, Mutex};

use self::conflict::{FailedCursor, ListCursor};
use self::decide::Intake;
pub(super) use self::decide::destination_failure;
use self::epoch::Pending;
pub use self::finish::{Finished, LAST_FAILED};
use self::folders::Folders;
use self::incoming::{Incoming, Phase};
use self::places::Places;
pub(crate) use self::read_back::READERS;
use self::read_back::ReadBack;
use self::resume::{ReceivedCount, Resume};
pub(super) use self::temporaries::remove_named;
use self::temporaries::temporaries_of;
pub use self::unit::{Accepted, DIRECT_FROM_BYTES, UnitSink};
use super::binding::fenced_off;
use super::counters::{Counters, Stage, add};
use super::failures::{contained, state_failed};
use super::ledger::{Ledger, Outcome};
use super::trash::{SettledTrash, Trash};

/// Most entries that may be under way without a result; the source is told.
pub const WINDOW: u32 = 32 * 1024;
/// Most drifted names that a statement lists.
const MAX_DRIFTED: usize = 100;
/// How often a piece that does not verify is asked for again before its file fails.
pub(crate) const MAX_RESENDS: u32 = 3;

/// How files are cut. Both are powers of two, and a unit is at least a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a verify block; files up to this size travel whole, in batches.
    pub block_bytes: u64,
    /// Bytes of a unit.
    pub unit_bytes: u64,
}

impl Geometry {
    /// Units of `unit_bytes` and blocks of the usual size.
    #[must_use]
    pub fn new(unit_bytes: u64) -> Self {
        Self {
            block_bytes: BLOCK_BYTES.min(unit_bytes),
            unit_bytes,
        }
    }

    /// Whether a file of this size travels in batches.
    #[must_use]
    pub fn is_small(self, size: u64) -> bool {
        size <= self.block_bytes
    }

    /// How many units a file of this size has.
    #[must_use]
    pub fn units(self, size: u64) -> u64 {
        size.div_ceil(self.unit_bytes)
    }
}

/// When an epoch is due, and how it is made durable.
#[derive(Debug, Clone, Copy)]
pub struct EpochRules {
    /// Whole files after which an epoch is due, sooner where few may be open; bounds what small files are sent again on loss of a node.
    pub max_files: usize,
    /// Bytes after which an epoch is due; bounds what is sent again. A node that is killed loses what came since the last epoch began,
    /// and a part of one unit for each stream: at 10 Gb/s, with 10 ms for making an epoch durable, 16 + 2 x 12 MiB and at most 8 x 4 MiB more, on average half
    /// of these. Default 16 MiB.
    pub max_bytes: u64,
    /// From so many files or folders on, one sync of their file system replaces one each, where that means the same. Default 16.
    pub sync_everything_from: usize,
    /// How many files or folders are synced at the same time: one waits for the disk, several share that wait. Default 8.
    pub sync_threads: usize,
}

impl Default for EpochRules {
    fn default() -> Self {
        Self {
            max_files: 2048,
            max_bytes: 16 << 20,
            sync_everything_from: 16,
            sync_threads: 8,
        }
    }
}

/// Where content comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Another node: it is hashed again before it counts.
    Sent,
    /// The memory of this process, where it was hashed when it was read: hashing the same bytes again would tell nothing.
    AtHand,
}

/// What a landing is for.
pub struct LandingSpec {
    /// The transfer.
    pub transfer: Id,
    /// The plan.
    pub plan: Digest,
    /// Which part of it.
    pub shard: Shard,
    /// What the ticket says to do.
    pub execution: Execution,
    /// Which names it takes.
    pub filter: Filter,
    /// The list of what failed before, when only that is copied.
    pub only_failed: Option<PathBuf>,
    /// The overwrite list, already checked against the ticket; `None` when it is empty.
    pub overwrites: Option<PathBuf>,
    /// The delete list, already checked against the ticket; `None` when it is empty.
    pub deletes: Option<PathBuf>,
    /// Where files go.
    pub target: Arc<dyn Target>,
    /// Where the journal is.
    pub state: Arc<dyn Folder>,
    /// A folder of our own on this machine for what need not survive, and for the lists in the end.
    pub scratch: PathBuf,
    /// First number for temporaries of this session: higher than any of an earlier one.
    pub first_part: u64,
    /// Where content comes from.
    pub content: Content,
    /// How files are cut.
    pub geometry: Geometry,
    /// Files from this size on are written as the target says, smaller ones always through the page cache.
    pub direct_from_bytes: u64,
    /// When epochs are due.
    pub epochs: EpochRules,
    /// How many descriptors may be held.
    pub share: Arc<Share>,
}

/// Where answers to the source go.
pub trait Answers: Send + Sync {
    /// Send a message to the source.
    ///
    /// # Errors
    /// [`Failure`] when the session is over.
    fn answer(&self, message: Message) -> Result<(), Failure>;
}

/// The destination's side of one session; see the module.
pub struct Landing {
    spec: LandingSpec,
    answers: Arc<dyn Answers>,
    counters: Arc<Counters>,
    buffers: Arc<BufferPool>,
    disk: Arc<DiskPool>,
    folders: Folders,
    journal: Mutex<Journal>,
    resume: Mutex<Resume>,
    received: ReceivedCount,
    intake: Mutex<Intake>,
    /// The source itself, where it is a folder.
    top: OnceLock<Entry>,
    ledger: Mutex<Ledger>,
    totals: Mutex<Totals>,
    drifted: Mutex<Vec<String>>,
    active: Mutex<HashMap<u64, Arc<Incoming>>>,
    pending: Mutex<Pending>,
    pending_changed: Condvar,
    read_back: ReadBack,
    /// Files that wait for their epoch, each open.
    places: Places,
    /// Folders in which temporaries of small files have names, as far as the journal knows.
    used: Mutex<HashSet<RelPath>>,
    next_part: AtomicU64,
    /// Whether files may share their content with their sources, as far as was tried.
    may_share: AtomicBool,
    /// Files that have left `active` and of which the source is being told.
    telling: AtomicU64,
    /// Why the attempt cannot go on, found out on a thread that has nobody to tell.
    failure: Mutex<Option<Failure>>,
    /// Where what is deleted is to be kept.
    settled_trash: Option<SettledTrash>,
    /// Where what is deleted is kept, or why nothing is deleted; set when deletes begin.
    trash: OnceLock<Result<Trash, String>>,
}

impl Landing {
    /// Read the journal and get ready to take entries.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when journal or scratch folder cannot be used, [`Code::AttemptSuperseded`] when the journal knows a later
    /// fencing number.
    pub fn open(
        mut spec: LandingSpec,
        answers: Arc<dyn Answers>,
        counters: Arc<Counters>,
        buffers: Arc<BufferPool>,
        disk: Arc<DiskPool>,
    ) -> Result<Arc<Self>, Failure> {
        let mut landed = LandedRuns::new(&spec.scratch);
        let (mut journal, mut replay) =
            Journal::open(&*spec.state, b"journal", &mut landed).map_err(state_failed)?;
        let resumed = replay.is_of(&spec.transfer, &spec.plan, spec.shard.number);
        if resumed && replay.fence() > spec.shard.fence {
            return Err(fenced_off(&spec.transfer, replay.fence(), spec.shard.fence));
        }
        // Before anything is made durable.
        let settled_trash = finish::settled_trash(&spec)?;
        let same_units = resumed && replay.unit_bytes() == Some(spec.geometry.unit_bytes);
        // Each session begins with it: what it publishes says nothing of what an earlier one was about to name.
        let (transfer, plan) = (spec.transfer.clone(), spec.plan);
        journal.push(&Record::Start {
            transfer,
            plan,
            shard: spec.shard,
            unit_bytes: spec.geometry.unit_bytes,
        });
        journal.commit().map_err(state_failed)?;
        spec.first_part = spec.first_part.max(replay.next_part());
        // Temporaries of another plan, or with other units, are of no use any more.
        let stale = if same_units {
            BTreeMap::new()
        } else {
            replay.take_parts()
        };
        // The journal of something else says nothing about this transfer.
        let resume = if resumed {
            Resume::new(replay, landed.sorted().map_err(state_failed)?)
        } else {
            Resume::none()
        };
        let durable = resume.durable_bytes(spec.geometry);
        let (received, lost) = ReceivedCount::open(&spec.scratch, durable).map_err(state_failed)?;
        add(&counters.resent_bytes, lost);
        let this = Arc::new(Self {
            folders: Folders::new(
                Arc::clone(&spec.target),
                &temporaries_of(&spec.transfer, spec.shard.number),
                Arc::clone(&spec.share),
            ),
            places: Places::default(),
            used: Mutex::default(),
            ledger: Mutex::new(Ledger::create(&spec.scratch, "source").map_err(state_failed)?),
            intake: Mutex::new(Intake::new(
                ListCursor::open(spec.overwrites.as_deref(), spec.execution.overwrites)?,
                spec.only_failed
                    .as_deref()
                    .map(FailedCursor::open)
                    .transpose()?,
            )),
            top: OnceLock::new(),
            journal: Mutex::new(journal),
            resume: Mutex::new(resume),
            received,
            totals: Mutex::default(),
            drifted: Mutex::default(),
            active: Mutex::default(),
            pending: Mutex::default(),
            pending_changed: Condvar::new(),
            read_back: ReadBack::default(),
            next_part: AtomicU64::new(spec.first_part),
            may_share: AtomicBool::new(true),
            telling: AtomicU64::new(0),
            failure: Mutex::default(),
            settled_trash,
            trash: OnceLock::new(),
            answers,
            counters,
            buffers,
            disk,
            spec,
        });
        this.remove_temporaries(stale);
        Ok(this)
    }

    /// Take what the source says about its entries.
    ///
    /// # Errors
    /// [`Failure`] when the attempt cannot go on; a message that may not come here is a [`Code::ProtocolViolation`].
    pub fn handle(self: &Arc<Self>, message: Message) -> Result<(), Failure> {
        match message {
            Message::Items { first, items } => self.items(first, &items),
            Message::ItemsEnd { count } => self.items_end(count),
            Message::FileEnd { file, generation } => {
                self.file_end(file, generation);
                Ok(())
            }
            Message::FileChanged {
                file,
                generation,
                entry,
            } => self.file_changed(file, generation, entry),
            Message::FileFailed { file, failure } => self.file_failed(file, &failure),
            Message::Compared { file, hash } => self.compared(file, hash),
            Message::Alive => Ok(()),
            other => Err(violation(&WireError::contradiction(format!(
                "{other:?} is not for a destination"
            )))),
        }
    }

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
    fn is_good(&self, size: u64, offset: u64, piece: &[u8], hash: &PieceHash) -> bool {
        let found = || piece_hash(size, offset, piece) == *hash;
        self.spec.content == Content::AtHand || self.counters.time(Stage::Verify, found)
    }

    /// The file with this number, if content for it is still wanted.
    fn incoming(&self, id: u64) -> Option<Arc<Incoming>> {
        self.active.lock().get(&id).cloned()
    }

    /// All units that were asked for were read.
    fn file_end(self: &Arc<Self>, id: u64, generation: u16) {
        if let Some(incoming) = self.incoming(id) {
            let mut state = incoming.state.lock();
            if state.generation == generation {
                state.ended = true;
                self.check_whole(&incoming, &mut state);
            }
        }
    }

    /// The source cannot deliver a file.
    fn file_failed(&self, id: u64, failure: &Failure) -> Result<(), Failure> {
        match self.incoming(id) {
            Some(incoming) => self.fail(&incoming, failure),
            None => Ok(()),
        }
    }

    /// A file is not going to arrive: forget its content and say so. Other files go on.
    fn fail(&self, incoming: &Incoming, failure: &Failure) -> Result<(), Failure> {
        if matches!(failure.code, Code::TooBusy | Code::DestinationChanged) {
            // Too much is open, or the plan is not what was confirmed any more: neither is the fault of one file.
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
    fn close(&self, id: u64, tell: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        self.telling.fetch_add(1, Ordering::AcqRel);
        self.active.lock().remove(&id);
        let told = tell();
        self.telling.fetch_sub(1, Ordering::AcqRel);
        self.hurry_when_nothing_else_comes();
        told
    }

    fn record(&self, id: u64, outcome: Outcome) -> Result<(), Failure> {
        self.ledger.lock().record(id, outcome).map_err(state_failed)
    }

    fn record_failure(&self, id: u64, failure: &Failure) -> Result<(), Failure> {
        self.totals.lock().failed += 1;
        add(&self.counters.files_failed, 1);
        self.ledger
            .lock()
            .record_failure(id, failure)
            .map_err(state_failed)
    }

    /// Remember that the source changed since it was surveyed or first read.
    fn note_drift(&self, path: &RelPath) {
        let mut drifted = self.drifted.lock();
        let name = path.escaped();
        if drifted.len() < MAX_DRIFTED && !drifted.contains(&name) {
            drifted.push(name);
        }
    }

    /// End the attempt from a thread that cannot return the failure; the first one counts.
    fn give_up(&self, failure: Failure) {
        self.failure.lock().get_or_insert(failure);
        self.hurry();
    }

    /// End the attempt where a sync failed, and count nothing more: what the kernel could not write stays in memory as if it had been,
    /// and the next sync says nothing of it.
    fn lost(&self, failure: Failure) -> Failure {
        self.give_up(failure.clone());
        failure
    }

    /// Do `work` on a disk thread, waiting for a place there. Its failure ends the attempt, and so does a panic.
    fn on_disk(self: &Arc<Self>, work: impl FnOnce() -> Result<(), Failure> + Send + 'static) {
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

    fn new_part_number(&self) -> u64 {
        self.next_part.fetch_add(1, Ordering::Relaxed)
    }

    /// What was confirmed is not what is there any more.
    fn changed_since_confirmed(&self, path: &RelPath, doing: &str) -> Failure {
        let place = self.place(path);
        Failure::new(
            Code::DestinationChanged,
            format!("{place} is no longer as it was when {doing} it was confirmed"),
        )
    }

    /// Where an entry goes, for messages.
    fn place(&self, path: &RelPath) -> String {
        let destination = &self.spec.execution.destination;
        let full = destination
            .path
            .join_path(path)
            .map_or_else(|_| path.escaped(), |path| path.escaped());
        format!("`{}` in root `{}`", full, destination.root)
    }
}

/// A peer broke the protocol.
pub(crate) fn violation(error: &WireError) -> Failure {
    Failure::new(
        Code::ProtocolViolation,
        format!("the other node broke the protocol: {error}"),
    )
}
