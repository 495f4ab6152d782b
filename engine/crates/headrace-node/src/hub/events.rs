//! What a hub tells its service, in order, through a queue that is bounded.

use std::collections::VecDeque;
use std::path::PathBuf;

use headrace_core::sealed::PublicKey;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::convert::{AttemptId, Outcome, ProgressCounts, RootInfo};
use crate::problem::Problem;

/// Events that wait at most; who has more to tell waits, too.
const MAX_EVENTS: usize = 4096;

/// Something the service must know.
#[derive(Debug, Clone)]
pub enum HubEvent {
    /// A node presented a join token; answer with [`crate::hub::Hub::answer_join`].
    JoinRequested {
        /// Names this request in the answer.
        request: String,
        /// The secret of its token.
        secret: String,
        /// Its key.
        node: PublicKey,
        /// The name it gives itself.
        name: String,
        /// Of its program.
        version: String,
        /// What it exports.
        roots: Vec<RootInfo>,
    },
    /// An enrolled node opened its stream, or its roots or addresses changed.
    NodeAttached {
        /// Its key.
        node: PublicKey,
        /// Of its program.
        version: String,
        /// What it exports.
        roots: Vec<RootInfo>,
        /// Where it accepts data connections; none when it does not.
        data_addresses: Vec<String>,
        /// Its clock minus ours.
        clock_skew_ms: i64,
    },
    /// The stream of a node ended, or was refused.
    NodeDetached {
        /// Its key.
        node: PublicKey,
        /// Why.
        reason: String,
    },
    /// How far an attempt has come.
    Progress(AttemptId, ProgressCounts),
    /// An attempt is over on both nodes.
    Ended(AttemptEnded),
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct AttemptEnded {
    /// Which.
    pub id: AttemptId,
    /// How.
    pub outcome: Outcome,
    /// Why, when it failed or was stopped.
    pub problem: Option<Problem>,
    /// The nodes' signed statements, the destination's first.
    pub statements: Vec<String>,
    /// Where files.jsonl is.
    pub files_list: Option<PathBuf>,
    /// Where failed.jsonl is.
    pub failed_list: Option<PathBuf>,
}

/// A bounded queue in which a later progress of an attempt replaces an earlier one.
#[derive(Default)]
pub(super) struct EventQueue {
    state: Mutex<State>,
    filled: Notify,
    drained: Notify,
}

#[derive(Default)]
struct State {
    events: VecDeque<HubEvent>,
    closed: bool,
}

impl EventQueue {
    /// Adds an event, waiting for room. Progress never waits: without room it is dropped.
    pub(super) async fn push(&self, event: HubEvent) {
        let mut event = Some(event);
        loop {
            let room = self.drained.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.try_push(&mut event) {
                return;
            }
            room.await;
        }
    }

    /// The next event; `None` once the queue is closed.
    pub(super) async fn next(&self) -> Option<HubEvent> {
        loop {
            let more = self.filled.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            {
                let mut state = self.state.lock();
                if let Some(event) = state.events.pop_front() {
                    self.drained.notify_one();
                    return Some(event);
                }
                if state.closed {
                    return None;
                }
            }
            more.await;
        }
    }

    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_waiters();
        self.drained.notify_waiters();
    }

    /// Whether the event is dealt with.
    fn try_push(&self, event: &mut Option<HubEvent>) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return true;
        }
        let full = state.events.len() >= MAX_EVENTS;
        if let Some(HubEvent::Progress(id, counts)) = event {
            let waiting = state
                .events
                .iter_mut()
                .rev()
                .find_map(|waiting| match waiting {
                    HubEvent::Progress(other, counts) if other == id => Some(counts),
                    _ => None,
                });
            if let Some(waiting) = waiting {
                *waiting = std::mem::take(counts);
                return true;
            }
            if full {
                return true;
            }
        } else if full {
            return false;
        }
        state.events.extend(event.take());
        self.filled.notify_one();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(attempt: u64, files_done: u64) -> HubEvent {
        let id = AttemptId {
            transfer: "tr_1".parse().expect("an id"),
            attempt,
        };
        HubEvent::Progress(
            id,
            ProgressCounts {
                files_done,
                ..ProgressCounts::default()
            },
        )
    }

    fn detached() -> HubEvent {
        HubEvent::NodeDetached {
            node: PublicKey::from_bytes([1; 32]),
            reason: String::new(),
        }
    }

    #[tokio::test]
    async fn a_later_progress_replaces_the_one_that_waits() {
        let queue = EventQueue::default();
        for event in [progress(1, 1), detached(), progress(2, 5), progress(1, 2)] {
            queue.push(event).await;
        }
        queue.close();
        let mut seen = Vec::new();
        while let Some(event) = queue.next().await {
            seen.push(match event {
                HubEvent::Progress(id, counts) => (id.attempt, counts.files_done),
                _ => (0, 0),
            });
        }
        assert_eq!(seen, [(1, 2), (0, 0), (2, 5)]);
    }

    #[tokio::test]
    async fn invariant_6_a_full_queue_holds_its_writer_and_loses_nothing_but_progress() {
        let queue = EventQueue::default();
        for _ in 0..MAX_EVENTS {
            queue.push(detached()).await;
        }
        queue.push(progress(1, 1)).await;
        let waiting = queue.push(detached());
        tokio::pin!(waiting);
        assert!(
            tokio::time::timeout(std::time::Duration::ZERO, &mut waiting)
                .await
                .is_err()
        );
        assert!(queue.next().await.is_some());
        waiting.await;
        assert_eq!(queue.state.lock().events.len(), MAX_EVENTS);
    }
}
