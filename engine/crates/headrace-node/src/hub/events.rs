//! What a hub tells its service, in order, through a queue that is bounded.
//!
//! Of an attempt it tells progress, each newer than the one before, then the last progress (what the destination had counted when it
//! ended), then the end, then nothing more. Progress of an attempt that is not running is dropped, whoever sends it and however late.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;

use headrace_core::sealed::PublicKey;
use headrace_core::value::Id;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::convert::{AttemptId, MissingRoot, Outcome, ProgressCounts, RootInfo, RootSpace};
use crate::problem::Problem;
use crate::session::Side;

/// Events that wait at most; who has more to tell waits, too.
const MAX_EVENTS: usize = 4096;
/// With so many events waiting, refusals are not told: anybody can make keys and be refused.
const MAX_REFUSED: usize = 256;

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
    /// An enrolled node opened its stream, or its roots, its addresses or its clock changed.
    NodeAttached {
        /// Its key.
        node: PublicKey,
        /// Of its program.
        version: String,
        /// What it exports.
        roots: Vec<RootInfo>,
        /// What it declares and can't open now.
        missing_roots: Vec<MissingRoot>,
        /// Where it accepts data connections; none when it does not.
        data_addresses: Vec<String>,
        /// Its clock minus ours.
        clock_skew_ms: i64,
    },
    /// What is free below roots of an attached node now; those that it could not measure are not among them.
    NodeSpace {
        /// Its key.
        node: PublicKey,
        /// As it measured them.
        roots: Vec<RootSpace>,
    },
    /// The stream of a node ended.
    NodeDetached {
        /// Its key.
        node: PublicKey,
        /// Why.
        reason: String,
    },
    /// Somebody wanted to attach and was refused, or broke off.
    NodeRefused {
        /// The key, of a node that is enrolled or not; none when it broke off before it showed one.
        node: Option<PublicKey>,
        /// Where it is; nowhere when it is in this process.
        from: Option<SocketAddr>,
        /// Why.
        problem: Problem,
    },
    /// How far an attempt has come. The last one before [`HubEvent::Ended`] is what its destination had counted then.
    Progress(AttemptId, Box<ProgressCounts>),
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
    /// The node whose word that is.
    pub node: Option<PublicKey>,
    /// The nodes' signed statements, the destination's first.
    pub statements: Vec<String>,
    /// Where files.jsonl is.
    pub files_list: Option<PathBuf>,
    /// Where failed.jsonl is.
    pub failed_list: Option<PathBuf>,
}

/// A bounded queue in which a later progress of an attempt replaces an earlier one; see the module.
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
    /// Attempts that run, by transfer.
    running: HashMap<Id, Running>,
}

/// An attempt that runs: the node whose counts are its, and what its source said last.
struct Running {
    attempt: u64,
    destination: PublicKey,
    source: PublicKey,
    at_source: Side,
}

impl EventQueue {
    /// An attempt runs from now on, in the place of an earlier one.
    pub(super) fn begin(&self, id: &AttemptId, source: PublicKey, destination: PublicKey) {
        let running = Running {
            attempt: id.attempt,
            destination,
            source,
            at_source: Side::default(),
        };
        let mut state = self.state.lock();
        state.running.insert(id.transfer.clone(), running);
    }

    /// An attempt does not run any more: nothing is told of its progress from now on.
    pub(super) fn close_attempt(&self, id: &AttemptId) {
        let mut state = self.state.lock();
        if state
            .running
            .get(&id.transfer)
            .is_some_and(|running| running.attempt == id.attempt)
        {
            state.running.remove(&id.transfer);
        }
    }

    /// Adds what a node says of an attempt. It never waits: without room, or when it is not this node's to say, it is dropped. What a source
    /// says goes out with what its destination says next.
    pub(super) fn progress(&self, node: PublicKey, id: AttemptId, mut counts: ProgressCounts) {
        let mut state = self.state.lock();
        let State {
            events,
            closed,
            running,
        } = &mut *state;
        let Some(running) = running.get_mut(&id.transfer) else {
            return;
        };
        if running.attempt != id.attempt {
            return;
        }
        if running.source == node {
            running.at_source.clone_from(&counts.own);
        }
        if running.destination != node {
            return;
        }
        counts.source.clone_from(&running.at_source);
        let room = events.len() < MAX_EVENTS && !*closed;
        let waiting = events.iter_mut().rev().find_map(|event| match event {
            HubEvent::Progress(other, counts) if *other == id => Some(counts),
            _ => None,
        });
        if let Some(waiting) = waiting {
            **waiting = counts;
        } else if room {
            events.push_back(HubEvent::Progress(id, Box::new(counts)));
            self.filled.notify_one();
        }
    }

    /// Tells that a node was refused. It never waits: one that is refused asks again, so what finds no room is dropped.
    pub(super) fn refused(
        &self,
        node: Option<PublicKey>,
        from: Option<SocketAddr>,
        problem: Problem,
    ) {
        let mut state = self.state.lock();
        let State { events, closed, .. } = &mut *state;
        let room = events.len() < MAX_REFUSED && !*closed;
        let waiting = events.iter_mut().find_map(|event| match event {
            HubEvent::NodeRefused {
                node: other,
                from,
                problem,
            } if *other == node => Some((from, problem)),
            _ => None,
        });
        if let Some(waiting) = waiting {
            (*waiting.0, *waiting.1) = (from, problem);
        } else if room {
            events.push_back(HubEvent::NodeRefused {
                node,
                from,
                problem,
            });
            self.filled.notify_one();
        }
    }

    /// Tells what is free at a node. It never waits: what finds no room is dropped, as the node says it again.
    pub(super) fn space(&self, node: PublicKey, roots: Vec<RootSpace>) {
        let mut state = self.state.lock();
        let State { events, closed, .. } = &mut *state;
        let room = events.len() < MAX_EVENTS && !*closed;
        let waiting = events.iter_mut().rev().find_map(|event| match event {
            HubEvent::NodeSpace { node: other, roots } if *other == node => Some(roots),
            _ => None,
        });
        if let Some(waiting) = waiting {
            *waiting = roots;
        } else if room {
            events.push_back(HubEvent::NodeSpace { node, roots });
            self.filled.notify_one();
        }
    }

    /// Ends an attempt, with what was counted last.
    pub(super) async fn end(&self, last: Option<ProgressCounts>, ended: AttemptEnded) {
        self.close_attempt(&ended.id);
        if let Some(counts) = last {
            self.push(HubEvent::Progress(ended.id.clone(), Box::new(counts)))
                .await;
        }
        self.push(HubEvent::Ended(ended)).await;
    }

    /// Adds an event, waiting for room.
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

    /// The next events, at most `most` (at least 1); none once the queue is closed.
    pub(super) async fn next(&self, most: usize) -> Vec<HubEvent> {
        loop {
            let more = self.filled.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            {
                let mut state = self.state.lock();
                if !state.events.is_empty() {
                    let most = most.min(state.events.len());
                    self.drained.notify_waiters();
                    return state.events.drain(..most).collect();
                }
                if state.closed {
                    return Vec::new();
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
        if state.events.len() >= MAX_EVENTS {
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

    const NODE: PublicKey = PublicKey::from_bytes([1; 32]);
    const SOURCE: PublicKey = PublicKey::from_bytes([3; 32]);
    const OTHER: PublicKey = PublicKey::from_bytes([2; 32]);

    fn id(attempt: u64) -> AttemptId {
        let transfer = "tr_1".parse().expect("an id");
        AttemptId { transfer, attempt }
    }

    fn counts(files_done: u64) -> ProgressCounts {
        ProgressCounts {
            files_done,
            ..ProgressCounts::default()
        }
    }

    fn detached() -> HubEvent {
        HubEvent::NodeDetached {
            node: NODE,
            reason: String::new(),
        }
    }

    fn ended(attempt: u64) -> AttemptEnded {
        AttemptEnded {
            id: id(attempt),
            outcome: Outcome::Complete,
            problem: None,
            node: None,
            statements: Vec::new(),
            files_list: None,
            failed_list: None,
        }
    }

    /// What the queue holds, in words.
    async fn told(queue: &EventQueue) -> Vec<String> {
        queue.close();
        let mut told = Vec::new();
        for event in queue.next(MAX_EVENTS).await {
            told.push(match event {
                HubEvent::Progress(id, counts) => {
                    format!("{} has {}", id.attempt, counts.files_done)
                }
                HubEvent::Ended(ended) => format!("{} ended", ended.id.attempt),
                _ => "detached".to_owned(),
            });
        }
        told
    }

    #[tokio::test]
    async fn a_later_progress_replaces_the_one_that_waits() {
        let queue = EventQueue::default();
        queue.begin(&id(1), SOURCE, NODE);
        queue.progress(NODE, id(1), counts(1));
        queue.push(detached()).await;
        queue.progress(NODE, id(1), counts(2));
        assert_eq!(told(&queue).await, ["1 has 2", "detached"]);
    }

    #[tokio::test]
    async fn what_is_free_later_replaces_what_waits_of_the_same_node_and_holds_nobody() {
        let free = |free_bytes| {
            let name = "data".to_owned();
            let space = RootSpace {
                name,
                free_bytes,
                total_bytes: 9,
            };
            vec![space]
        };
        let queue = EventQueue::default();
        queue.space(NODE, free(3));
        queue.space(OTHER, free(4));
        queue.space(NODE, free(2));
        for _ in 2..MAX_EVENTS {
            queue.push(detached()).await;
        }
        queue.space(SOURCE, free(1));
        let mut told = Vec::new();
        for event in queue.next(MAX_EVENTS).await {
            if let HubEvent::NodeSpace { node, roots } = event {
                told.push((node, roots[0].free_bytes));
            }
        }
        assert_eq!(told, [(NODE, 2), (OTHER, 4)]);
    }

    #[tokio::test]
    async fn after_the_end_of_an_attempt_no_progress_of_it_is_told() {
        let queue = EventQueue::default();
        queue.begin(&id(1), SOURCE, NODE);
        queue.progress(NODE, id(1), counts(1));
        queue.end(Some(counts(9)), ended(1)).await;
        queue.progress(NODE, id(1), counts(2));
        queue.push(detached()).await;
        queue.progress(NODE, id(1), counts(3));
        let expected = ["1 has 1", "1 has 9", "1 ended", "detached"];
        assert_eq!(told(&queue).await, expected);
    }

    #[tokio::test]
    async fn only_the_destination_of_the_attempt_that_runs_says_how_far_it_is() {
        let queue = EventQueue::default();
        queue.progress(NODE, id(1), counts(1));
        queue.begin(&id(2), SOURCE, NODE);
        queue.progress(NODE, id(1), counts(2));
        queue.progress(NODE, id(2), counts(4));
        // The end of an attempt that was replaced ends nothing else.
        queue.end(None, ended(1)).await;
        queue.progress(NODE, id(2), counts(5));
        queue.progress(OTHER, id(2), counts(3));
        queue.progress(SOURCE, id(2), counts(3));
        queue.begin(&id(3), SOURCE, OTHER);
        queue.progress(NODE, id(2), counts(6));
        assert_eq!(told(&queue).await, ["2 has 5", "1 ended"]);
    }

    #[tokio::test]
    async fn what_the_source_knows_is_told_with_what_the_destination_counts() {
        let sending = |send_us| {
            let mut counts = counts(9);
            counts.own.stages.send_us = send_us;
            counts
        };
        let queue = EventQueue::default();
        queue.begin(&id(1), SOURCE, NODE);
        queue.progress(SOURCE, id(1), sending(5));
        queue.progress(OTHER, id(1), sending(6));
        queue.progress(NODE, id(1), counts(1));
        let Some(HubEvent::Progress(_, counts)) = queue.next(1).await.pop() else {
            panic!("no progress");
        };
        assert_eq!((counts.files_done, counts.source.stages.send_us), (1, 5));
    }

    #[tokio::test]
    async fn invariant_6_a_full_queue_holds_its_writer_and_loses_nothing_but_progress() {
        let queue = EventQueue::default();
        queue.begin(&id(1), SOURCE, NODE);
        for _ in 0..MAX_EVENTS {
            queue.push(detached()).await;
        }
        queue.progress(NODE, id(1), counts(1));
        let waiting = queue.push(detached());
        tokio::pin!(waiting);
        assert!(
            tokio::time::timeout(std::time::Duration::ZERO, &mut waiting)
                .await
                .is_err()
        );
        assert_eq!(queue.next(1).await.len(), 1);
        waiting.await;
        assert_eq!(queue.state.lock().events.len(), MAX_EVENTS);
    }

    #[tokio::test]
    async fn events_that_wait_come_in_one_go_and_make_room_for_all_whom_they_held() {
        let queue = EventQueue::default();
        for _ in 0..MAX_EVENTS {
            queue.push(detached()).await;
        }
        let (first, second) = (queue.push(detached()), queue.push(detached()));
        tokio::pin!(first, second);
        for held in [first.as_mut(), second.as_mut()] {
            let tried = tokio::time::timeout(std::time::Duration::ZERO, held).await;
            assert!(tried.is_err());
        }
        assert_eq!(queue.next(2).await.len(), 2);
        let both = async { tokio::join!(first, second) };
        let limit = std::time::Duration::from_secs(30);
        tokio::time::timeout(limit, both).await.expect("room");
        assert_eq!(queue.next(MAX_EVENTS).await.len(), MAX_EVENTS);
    }
}
