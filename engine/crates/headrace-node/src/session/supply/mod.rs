//! The source's side of a session: lists, reads and hashes what the destination asks for.
//!
//! Like the landing it speaks messages and knows no sockets. One thread walks the tree ([`Supply::list`]), any number of threads read
//! and send content ([`Supply::serve`]), and whoever hears the destination hands in what it says ([`Supply::handle`]).

mod lanes;
mod list;
mod outgoing;
mod remove;
mod send;
mod work;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headrace_core::batch::Sparse;
use headrace_core::bitmap::check_ranges;
use headrace_core::code::{Code, Failure};
use headrace_core::entry::Kind;
use headrace_core::filter::Filter;
use headrace_core::integrity::PieceHash;
use headrace_core::message::{Decision, FileResult, Message};
use headrace_core::ticket::Place;
use headrace_core::wire::WireError;
use headrace_io::buffer::BufferPool;
use headrace_io::storage::{Origin, Part, Reader};
use parking_lot::{Condvar, Mutex};

use self::lanes::Lanes;
use self::outgoing::{Asked, Outgoing};
pub use self::remove::Removed;
use self::work::Queue;
use super::counters::Counters;
use super::failures::state_failed;
use super::landing::{Geometry, MAX_RESENDS, violation};
use super::ledger::{Ledger, Outcome};
use super::pace::Pace;
use super::shares::Claim;
use super::trash::TrashSpec;

/// How often a waiting thread looks whether its session is over.
const POLL: Duration = Duration::from_millis(250);

/// What a supply is for.
pub struct SupplySpec {
    /// Where files are read.
    pub origin: Arc<dyn Origin>,
    /// What that is called.
    pub from: Place,
    /// Which names.
    pub filter: Filter,
    /// How files are cut.
    pub geometry: Geometry,
    /// Entries that may be under way without a result.
    pub window: u32,
    /// Whether sources are deleted once they have arrived.
    pub delete_source: bool,
    /// Where they are kept then; `None` when they are gone at once.
    pub trash: Option<TrashSpec>,
    /// Whether what is listed and sent is counted here: in a local copy the landing counts it.
    pub counts_totals: bool,
    /// A folder of our own on this machine for what need not survive.
    pub scratch: PathBuf,
}

/// Where messages to the destination go.
pub trait Orders: Send + Sync {
    /// Send a message to the destination.
    ///
    /// # Errors
    /// [`Failure`] when the session is over.
    fn order(&self, message: Message) -> Result<(), Failure>;
}

/// A piece of a file, as it is announced.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Number of the entry.
    pub file: u64,
    /// How often the file was restarted.
    pub generation: u16,
    /// Offset in the file.
    pub offset: u64,
    /// Whether the file has holes.
    pub sparse: Sparse,
    /// Hash of the piece.
    pub hash: PieceHash,
}

/// Where content goes: a data connection, or straight into a landing.
pub trait Outlet {
    /// How many frames have gone out whole; only counted where some may be lost.
    fn frames(&self) -> u64 {
        0
    }

    /// Have the content of a file at once, where it is read: what this gives is read instead, and its blocks are sent as any. `None` when
    /// content has to go the usual way.
    ///
    /// # Errors
    /// [`Failure`] when the session is over.
    fn share(
        &mut self,
        file: u64,
        generation: u16,
        from: &dyn Reader,
    ) -> Result<Option<Arc<dyn Part>>, Failure> {
        let _ = (file, generation, from);
        Ok(None)
    }

    /// Send a block; blocks of one unit come in order.
    ///
    /// # Errors
    /// [`Failure`] when the session is over.
    fn block(&mut self, piece: &Piece, bytes: &[u8]) -> Result<(), Failure>;

    /// Send a block that is all hole.
    ///
    /// # Errors
    /// [`Failure`] when the session is over.
    fn hole(&mut self, piece: &Piece, length: u64) -> Result<(), Failure>;

    /// Send a batch of small files.
    ///
    /// # Errors
    /// [`Failure`] when the session is over.
    fn batch(&mut self, payload: &[u8]) -> Result<(), Failure>;
}

/// The source's side of one session; see the module.
pub struct Supply {
    spec: SupplySpec,
    orders: Arc<dyn Orders>,
    counters: Arc<Counters>,
    buffers: Arc<BufferPool>,
    pace: Arc<Pace>,
    claim: Arc<Claim>,
    /// Entries under way, by number.
    active: Mutex<HashMap<u64, Arc<Outgoing>>>,
    settled: Condvar,
    queue: Mutex<Queue>,
    queue_changed: Condvar,
    lanes: Lanes,
    ledger: Mutex<Ledger>,
    over: AtomicBool,
}

impl Supply {
    /// Get ready to list and send.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the scratch folder cannot be used.
    pub(in crate::session) fn open(
        spec: SupplySpec,
        orders: Arc<dyn Orders>,
        counters: Arc<Counters>,
        buffers: Arc<BufferPool>,
        (pace, claim): (Arc<Pace>, Arc<Claim>),
    ) -> Result<Arc<Self>, Failure> {
        let ledger = Ledger::create(&spec.scratch, "sent").map_err(state_failed)?;
        Ok(Arc::new(Self {
            active: Mutex::default(),
            settled: Condvar::new(),
            queue: Mutex::default(),
            queue_changed: Condvar::new(),
            lanes: Lanes::default(),
            ledger: Mutex::new(ledger),
            over: AtomicBool::new(false),
            spec,
            orders,
            counters,
            buffers,
            pace,
            claim,
        }))
    }

    /// Take what the destination says.
    ///
    /// # Errors
    /// [`Failure`] when the attempt cannot go on; a message that may not come here is a [`Code::ProtocolViolation`].
    pub fn handle(&self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Decisions {
                first,
                generation,
                decisions,
            } => {
                let mut small = Vec::new();
                let decided = (0..).zip(decisions).try_for_each(|(index, decision)| {
                    let id = first.saturating_add(index);
                    self.decided(id, generation, decision, &mut small)
                });
                // Together, so that who waits for work finds whole batches.
                if !small.is_empty() {
                    self.enqueue(|queue| {
                        for (file, size) in small {
                            queue.push_small(file, size);
                        }
                    });
                }
                decided
            }
            Message::Results(results) => {
                for (id, result) in &results {
                    self.result(*id, *result)?;
                }
                self.settle(results.iter().map(|(id, _)| *id));
                Ok(())
            }
            Message::Resend {
                file,
                generation,
                unit,
            } => self.resend(file, generation, unit),
            Message::StreamAt { stream, frames } => {
                self.lanes.arrived(stream, frames);
                Ok(())
            }
            Message::StreamEnd { stream, frames } => {
                self.lost(stream, frames);
                Ok(())
            }
            Message::Alive => Ok(()),
            other => Err(violation(&WireError::contradiction(format!(
                "{other:?} is not for a source"
            )))),
        }
    }

    /// Let every thread of the session return.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Release);
        let _active = self.active.lock();
        self.settled.notify_all();
        let _queue = self.queue.lock();
        self.queue_changed.notify_all();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Do what was decided of an entry; small files that are to be sent are put to `small`.
    fn decided(
        &self,
        id: u64,
        generation: u16,
        decision: Decision,
        small: &mut Vec<(Arc<Outgoing>, u64)>,
    ) -> Result<(), Failure> {
        let Some(file) = self.active.lock().get(&id).cloned() else {
            return Err(violation(&WireError::contradiction(
                "a decision about nothing",
            )));
        };
        if decision == Decision::Nothing {
            self.settle([id]);
            return Ok(());
        }
        let (size, current) = {
            let state = file.state.lock();
            (state.entry.size, state.generation)
        };
        if file.kind != Kind::File || generation > current {
            return Err(violation(&WireError::contradiction(
                "a request for content that this entry does not have",
            )));
        }
        if generation < current {
            return Ok(());
        }
        let asked = match decision {
            Decision::Nothing => Asked::Nothing,
            Decision::Compare => Asked::Hash,
            Decision::SendUnits(_) => Asked::Rest,
            Decision::Send => Asked::Everything,
        };
        {
            let mut state = file.state.lock();
            // Content may be asked for once, and before that the hash.
            if state.asked >= asked || state.asked == Asked::Rest {
                return Err(violation(&WireError::contradiction(
                    "the same was asked for twice",
                )));
            }
            state.asked = asked;
        }
        let units = self.spec.geometry.units(size);
        match decision {
            Decision::Nothing => {}
            Decision::Compare => self.enqueue(|queue| queue.push_compare(file)),
            Decision::Send if self.spec.geometry.is_small(size) => small.push((file, size)),
            Decision::Send => {
                file.state.lock().units_left = units;
                self.enqueue(|queue| {
                    queue.push_large(file, generation, size, std::iter::once(0..units).collect());
                });
            }
            Decision::SendUnits(ranges) => {
                let refused = |error| {
                    violation(&WireError::contradiction(format!(
                        "units were asked for wrongly: {error}"
                    )))
                };
                check_ranges(&ranges, units).map_err(refused)?;
                file.state.lock().units_left =
                    ranges.iter().map(|range| range.end - range.start).sum();
                self.enqueue(|queue| queue.push_large(file, generation, size, ranges.into()));
            }
        }
        Ok(())
    }

    /// Note a result, where something follows from it.
    fn result(&self, id: u64, result: FileResult) -> Result<(), Failure> {
        if !self.spec.delete_source {
            return Ok(());
        }
        let outcome = match result {
            FileResult::Failed(_) => None,
            FileResult::Done => Some(Outcome::Identical(None)),
            FileResult::Holds(hash) => {
                let file = self.active.lock().get(&id).cloned();
                let sent = file.is_some_and(|file| file.state.lock().was_sent());
                Some(if sent {
                    Outcome::Copied(hash)
                } else {
                    Outcome::Identical(Some(hash))
                })
            }
        };
        if let Some(outcome) = outcome {
            let mut ledger = self.ledger.lock();
            if id >= ledger.count() {
                return Err(violation(&WireError::contradiction("a result of nothing")));
            }
            ledger.record(id, outcome).map_err(state_failed)?;
        }
        Ok(())
    }

    fn resend(&self, id: u64, generation: u16, unit: u64) -> Result<(), Failure> {
        let Some(file) = self.active.lock().get(&id).cloned() else {
            return Ok(());
        };
        let size = {
            let mut state = file.state.lock();
            if generation != state.generation {
                return Ok(());
            }
            state.resends += 1;
            if state.asked < Asked::Rest || state.resends > MAX_RESENDS {
                return Err(violation(&WireError::contradiction(
                    "a piece was asked for again that was never asked for, or too often",
                )));
            }
            state.entry.size
        };
        if self.spec.geometry.is_small(size) {
            self.enqueue(|queue| queue.push_small(file, size));
        } else if unit < self.spec.geometry.units(size) {
            file.state.lock().units_left += 1;
            self.enqueue(|queue| {
                queue.push_large(
                    file,
                    generation,
                    size,
                    std::iter::once(unit..unit + 1).collect(),
                );
            });
        } else {
            return Err(violation(&WireError::contradiction(
                "a unit that does not exist was asked for",
            )));
        }
        Ok(())
    }

    fn settle(&self, ids: impl IntoIterator<Item = u64>) {
        let mut active = self.active.lock();
        for id in ids {
            active.remove(&id);
        }
        if active.len() <= self.spec.window as usize / 2 {
            self.settled.notify_all();
        }
    }

    fn enqueue(&self, push: impl FnOnce(&mut Queue)) {
        push(&mut self.queue.lock());
        self.queue_changed.notify_all();
    }

    /// A file cannot be delivered: say so and forget it. Other files go on.
    fn give_up(
        &self,
        file: &Outgoing,
        code: Code,
        detail: impl std::fmt::Display,
    ) -> Result<(), Failure> {
        let message = format!("{}: {detail}", self.place(&file.state.lock().entry.path));
        if code == Code::TooBusy {
            // Too much is open: that is never the fault of one file.
            return Err(Failure::new(code, message));
        }
        self.orders.order(Message::FileFailed {
            file: file.id,
            failure: Failure::new(code, message),
        })
    }
}
