//! The data connections of an attempt as the kernel sees them, looked at about once a second.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::message::MAX_STREAMS;
use headrace_core::shares::TransferShare;
use headrace_io::flow::{Flow, Worker};
use headrace_io::socket_memory::{SocketMemory, Watch};
use headrace_io::sockopt;
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
    /// Names deleted there, or moved to the trash, and those found gone.
    #[serde(default)]
    pub deleted: u64,
    /// Names that were looked at: rises while the node works, whatever moves.
    #[serde(default)]
    pub looked_at: u64,
    /// What this attempt itself made, deleted or made durable: no later one does it again.
    #[serde(default)]
    pub durable_steps: u64,
    /// What its kernel says of the memory of sockets since the first connection of the attempt; of the whole network namespace.
    #[serde(default)]
    pub socket_memory: Option<SocketMemory>,
    /// Bytes that were written to the device that it synced last, by anybody: they rise while a slow one works.
    #[serde(default)]
    pub device_written_bytes: Option<u64>,
}

/// How the packets of an attempt are marked, and how its connections react to loss and delay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    dscp: Option<u8>,
    congestion_control: Option<String>,
}

impl Marks {
    pub(super) fn of(share: &TransferShare) -> Self {
        Self {
            dscp: share.dscp,
            congestion_control: share.congestion_control.clone(),
        }
    }
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
    /// From the first connection on.
    watch: Option<Watch>,
    socket_memory: Option<SocketMemory>,
    /// How those ended that are not open any more.
    ended: Vec<Flow>,
    marks: Marks,
}

#[derive(Debug)]
struct Open {
    number: u16,
    since: Instant,
    socket: Arc<TcpStream>,
    /// What the host gave it.
    congestion_control: Option<String>,
    worker: Worker,
}

impl Open {
    /// Mark it so; without marks it is as the host made it. Says what the host does not do.
    fn mark(&self, marks: &Marks) {
        if let Err(error) = sockopt::set_dscp(&self.socket, marks.dscp.unwrap_or(0)) {
            tracing::warn!(%error, "this host does not mark packets");
        }
        if let Some(name) = &marks.congestion_control {
            match sockopt::set_congestion_control(&self.socket, name) {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, name, "this host does not allow this congestion control: its own goes on");
                }
            }
        }
        // Not that of its class before.
        if let Some(name) = &self.congestion_control
            && let Err(error) = sockopt::set_congestion_control(&self.socket, name)
        {
            tracing::warn!(%error, name, "a connection cannot go back to this host's congestion control");
        }
    }

    /// `None` where the kernel does not say, as in some sandboxes.
    fn sample(&self, now: Instant) -> Option<Flow> {
        let age = now.saturating_duration_since(self.since);
        let age_us = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        Flow::of(&self.socket, self.worker, self.number, age_us)
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
    /// List a connection, which the calling thread serves, as long as what this gives is kept.
    pub(super) fn join(&self, number: u16, socket: Arc<TcpStream>) -> Listed<'_> {
        let mut state = self.0.lock();
        if state.open.is_empty() {
            // Of the session before.
            state.ended.clear();
        }
        state.taken = None;
        if state.watch.is_none() {
            state.look_at_memory();
        }
        let open = Open {
            number,
            since: Instant::now(),
            congestion_control: sockopt::congestion_control(&socket).ok(),
            socket,
            worker: Worker::current(),
        };
        if state.marks != Marks::default() {
            open.mark(&state.marks);
        }
        state.open.push(open);
        let flows = self;
        Listed { flows, number }
    }

    /// Mark the connections that are open, and those that come, so.
    pub(super) fn mark(&self, marks: Marks) {
        let mut state = self.0.lock();
        if state.marks != marks {
            state.open.iter().for_each(|open| open.mark(&marks));
            state.marks = marks;
        }
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
            state.look_at_memory();
        }
        state.last.clone()
    }

    /// What the kernel said last of the memory of sockets; nothing before the first connection.
    pub(super) fn socket_memory(&self) -> Option<SocketMemory> {
        self.0.lock().socket_memory.clone()
    }
}

impl State {
    fn look_at_memory(&mut self) {
        self.socket_memory = Some(self.watch.get_or_insert_default().look());
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
        if state.open.is_empty() {
            state.look_at_memory();
        }
        state.taken = None;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn connections_are_marked_while_their_class_says_so_and_are_then_as_the_host_made_them() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let socket = || Arc::new(TcpStream::connect(address).expect("a socket"));
        let flows = Flows::default();
        let (first, second) = (socket(), socket());
        let own = sockopt::congestion_control(&first).expect("the kernel says");
        let _first = flows.join(1, Arc::clone(&first));
        flows.mark(Marks {
            dscp: Some(46),
            // Every kernel has it, and everybody may use it.
            congestion_control: Some("reno".to_owned()),
        });
        let _second = flows.join(2, Arc::clone(&second));
        for socket in [&first, &second] {
            assert_eq!(sockopt::dscp(socket).expect("the kernel says"), 46);
            assert_eq!(
                sockopt::congestion_control(socket).expect("the kernel says"),
                "reno"
            );
        }
        flows.mark(Marks {
            dscp: None,
            congestion_control: Some("no_such_thing".to_owned()),
        });
        // Not that of the class before, either.
        assert_eq!(
            sockopt::congestion_control(&first).expect("the kernel says"),
            own
        );
        flows.mark(Marks::default());
        for socket in [&first, &second] {
            assert_eq!(sockopt::dscp(socket).expect("the kernel says"), 0);
            assert_eq!(
                sockopt::congestion_control(socket).expect("the kernel says"),
                own
            );
        }
    }

    #[test]
    fn a_connection_that_the_kernel_tells_nothing_of_is_left_out_and_the_others_are_told_of() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        // The kernel refuses TCP_INFO for it, as some sandboxes do for all.
        let (refused, _other) = std::os::unix::net::UnixStream::pair().expect("sockets");
        let refused = TcpStream::from(std::os::fd::OwnedFd::from(refused));
        let flows = Flows::default();
        let first = flows.join(1, Arc::new(refused));
        assert_eq!(flows.sample(Instant::now()), []);
        let second = flows.join(2, Arc::new(TcpStream::connect(address).expect("a socket")));
        let told = |now| -> Vec<_> { flows.sample(now).iter().map(|flow| flow.stream).collect() };
        assert_eq!(told(Instant::now()), [2]);
        drop((first, second));
        assert_eq!(told(Instant::now()), [2]);
    }

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
