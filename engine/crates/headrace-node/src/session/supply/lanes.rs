//! What went out over each stream and may not have arrived: when its connection breaks, that goes out again over another.
//!
//! The destination says now and then how many frames of a stream have come, and once more when no more will. A stream is done with when it
//! has said that and the thread that wrote to it has left.

use std::collections::{HashMap, VecDeque};

use headrace_core::code::Failure;
use headrace_core::wire::WireError;
use parking_lot::Mutex;

use super::Supply;
use super::work::Task;
use crate::session::landing::{WINDOW, violation};

/// Most pieces of work that may be on their way over one stream: far more than the kernel holds, and small files in it are bounded by the
/// window.
const MAX_UNSAID: usize = 2 * WINDOW as usize;

/// The streams of a session, by number.
#[derive(Default)]
pub(super) struct Lanes(Mutex<HashMap<u16, Lane>>);

#[derive(Default)]
struct Lane {
    /// What went out whole, the oldest first, with the number of frames when it had.
    sent: VecDeque<(u64, Task)>,
    /// What is being sent.
    now: Option<Task>,
    /// How many frames came, once no more will.
    came: Option<u64>,
    /// Nobody writes to it any more.
    is_left: bool,
}

impl Lanes {
    /// Remember what is about to be sent.
    pub(super) fn begin(&self, stream: u16, task: &Task) -> Result<(), Failure> {
        let mut lanes = self.0.lock();
        let lane = lanes.entry(stream).or_default();
        if lane.sent.len() >= MAX_UNSAID {
            return Err(violation(&WireError::contradiction(
                "nothing is said of what came over a stream",
            )));
        }
        // What is answered as a message is never lost with a stream.
        lane.now = (!matches!(task, Task::Compare(_))).then(|| task.clone());
        Ok(())
    }

    /// What was begun went out whole, and so many frames have by now.
    pub(super) fn sent(&self, stream: u16, frames: u64) {
        if let Some(lane) = self.0.lock().get_mut(&stream)
            && let Some(task) = lane.now.take()
        {
            lane.sent.push_back((frames, task));
        }
    }

    /// Forget what has come.
    pub(super) fn arrived(&self, stream: u16, frames: u64) {
        if let Some(lane) = self.0.lock().get_mut(&stream) {
            lane.forget(frames);
        }
    }

    /// Whether nothing more arrives over a stream.
    pub(super) fn is_lost(&self, stream: u16) -> bool {
        let lanes = self.0.lock();
        lanes.get(&stream).is_some_and(|lane| lane.came.is_some())
    }

    /// Note something of a stream; when that makes it done with, give what did not come.
    fn note(&self, stream: u16, change: impl FnOnce(&mut Lane)) -> Option<Lane> {
        let mut lanes = self.0.lock();
        let lane = lanes.get_mut(&stream)?;
        change(lane);
        let frames = lane.came.filter(|_| lane.is_left)?;
        lane.forget(frames);
        lanes.remove(&stream)
    }
}

impl Lane {
    fn forget(&mut self, frames: u64) {
        while self.sent.pop_front_if(|(at, _)| *at <= frames).is_some() {}
    }
}

impl Supply {
    /// No more than so many frames came over a stream, or will. When it is said again, the first word counts.
    pub(super) fn lost(&self, stream: u16, frames: u64) {
        let done = self.lanes.note(stream, |lane| {
            lane.came.get_or_insert(frames);
        });
        self.send_again(done);
        // Who waits for work for it need not any more.
        let _queue = self.queue.lock();
        self.queue_changed.notify_all();
    }

    /// Nobody writes to this stream any more; says whether it was lost.
    pub fn leave(&self, stream: u16) -> bool {
        let is_lost = self.lanes.is_lost(stream);
        let done = self.lanes.note(stream, |lane| lane.is_left = true);
        self.send_again(done);
        is_lost
    }

    fn send_again(&self, lane: Option<Lane>) {
        let Some(Lane { sent, now, .. }) = lane else {
            return;
        };
        let whole = sent.into_iter().map(|(_, task)| (task, true));
        // Of what was under way, the unit is still counted as one to be sent.
        for (task, counts) in whole.chain(now.map(|task| (task, false))) {
            match task {
                Task::Unit(file, generation, unit) => {
                    let is_wanted = self.waits_for(file.id);
                    let mut state = file.state.lock();
                    if state.generation != generation || !is_wanted {
                        continue;
                    }
                    state.units_left += u64::from(counts);
                    let size = state.entry.size;
                    drop(state);
                    let units = std::iter::once(unit..unit + 1).collect();
                    self.enqueue(|queue| queue.push_large(file, generation, size, units));
                }
                Task::Batch(files) => {
                    for file in files {
                        let size = file.state.lock().entry.size;
                        if self.waits_for(file.id) {
                            self.enqueue(|queue| queue.push_small(file, size));
                        }
                    }
                }
                Task::Compare(_) => {}
            }
        }
    }

    /// Whether there is no result yet of an entry.
    fn waits_for(&self, id: u64) -> bool {
        self.active.lock().contains_key(&id)
    }
}
