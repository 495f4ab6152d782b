//! The data connections of an attempt as the kernel sees them, looked at about once a second.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::message::MAX_STREAMS;
use headrace_io::flow::Flow;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::counters::StageTimes;

/// How old a sample may be before another is taken.
const FRESH: Duration = Duration::from_secs(1);

/// What one node knows of an attempt besides counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Its data connections, as they were within the last second; those of the end when none is open any more.
    pub flows: Vec<Flow>,
    /// Where its threads spent their time.
    pub stages: StageTimes,
}

/// The connections that are open now, and what was last seen of them.
#[derive(Debug, Default)]
pub(super) struct Flows(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: Vec<Open>,
    /// The last sample of those that are open.
    last: Vec<Flow>,
    taken: Option<Instant>,
    /// How those ended that are not open any more.
    ended: Vec<Flow>,
}

#[derive(Debug)]
struct Open {
    number: u16,
    since: Instant,
    socket: Arc<TcpStream>,
}

impl Open {
    /// `None` where the kernel does not say, as in some sandboxes.
    fn sample(&self, now: Instant) -> Option<Flow> {
        let age = now.saturating_duration_since(self.since);
        let age_us = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        Flow::of(&self.socket, self.number, age_us)
            .inspect_err(
                |error| tracing::trace!(%error, "the kernel tells nothing of a connection"),
            )
            .ok()
    }
}

/// A connection's place among the others; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Listed<'f> {
    flows: &'f Flows,
    number: u16,
}

impl Flows {
    /// List a connection as long as what this gives is kept.
    pub(super) fn join(&self, number: u16, socket: Arc<TcpStream>) -> Listed<'_> {
        let mut state = self.0.lock();
        if state.open.is_empty() {
            // Of the session before.
            state.ended.clear();
        }
        state.taken = None;
        state.open.push(Open {
            number,
            since: Instant::now(),
            socket,
        });
        let flows = self;
        Listed { flows, number }
    }

    /// What was last seen of the connections that are open, or of the last ones that were.
    pub(super) fn sample(&self, now: Instant) -> Vec<Flow> {
        let mut state = self.0.lock();
        if state.open.is_empty() {
            return state.ended.clone();
        }
        if state
            .taken
            .is_none_or(|taken| now.saturating_duration_since(taken) >= FRESH)
        {
            state.last = state
                .open
                .iter()
                .filter_map(|open| open.sample(now))
                .collect();
            state.taken = Some(now);
        }
        state.last.clone()
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        let mut state = self.flows.0.lock();
        let Some(place) = state
            .open
            .iter()
            .position(|open| open.number == self.number)
        else {
            return;
        };
        let ended = state.open.swap_remove(place);
        if let Some(flow) = ended.sample(Instant::now())
            && state.ended.len() < usize::from(MAX_STREAMS)
        {
            state.ended.push(flow);
        }
        state.taken = None;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn connections_are_looked_at_once_a_second_and_once_more_at_their_end() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let socket = || Arc::new(TcpStream::connect(address).expect("a socket"));
        let flows = Flows::default();
        assert_eq!(flows.sample(Instant::now()), []);
        let ages = |now| -> Vec<_> {
            let sample = flows.sample(now);
            sample
                .iter()
                .map(|flow| (flow.stream, flow.age_us / 1_000_000))
                .collect()
        };
        let first = flows.join(4, socket());
        let start = flows.0.lock().open[0].since;
        let after = |ms| start + Duration::from_millis(ms);
        assert_eq!(ages(after(5_000)), [(4, 5)]);
        assert_eq!(ages(after(5_900)), [(4, 5)]);
        assert_eq!(ages(after(6_000)), [(4, 6)]);
        let second = flows.join(5, socket());
        // One that is new is seen at once.
        assert_eq!(ages(after(6_100)).len(), 2);
        drop(first);
        assert_eq!(ages(after(6_200)), [(5, 6)]);
        drop(second);
        // Those that are over are told of until there are others.
        assert_eq!(flows.sample(after(6_300)).len(), 2);
        let _third = flows.join(6, socket());
        assert_eq!(ages(after(7_000)), [(6, 6)]);
        assert_eq!(flows.0.lock().ended, []);
    }
}
