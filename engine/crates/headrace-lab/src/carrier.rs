//! One thread for each host: reads what the host sends, and hands it to the others when its time has come.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::line::Line;
use crate::packet::Packet;

/// Room for the largest packet with its offload header.
const BUFFER_BYTES: usize = 66_000;
/// Packets up to this size are kept in memory of just their size.
const SMALL_BYTES: usize = 4096;
/// Packets that are read before those that are due are handed on.
const MAX_AT_ONCE: usize = 64;
/// Buffers that are kept for the next packets.
const MAX_SPARE: usize = 256;
/// Bytes that may be under way from one host; what comes on top is dropped.
const MAX_UNDER_WAY_BYTES: usize = 1 << 30;
/// How often a carrier looks whether its lab is over.
const LOOK: Duration = Duration::from_millis(100);

/// What the carriers of a lab share.
#[derive(Debug)]
pub(crate) struct Middle {
    /// The device of each host, by its number.
    pub(crate) devices: Vec<File>,
    /// From the middle to each host.
    pub(crate) down: Vec<Mutex<Line>>,
    pub(crate) begin: Instant,
    pub(crate) over: AtomicBool,
}

/// Carries what one host sends.
pub(crate) struct Carrier {
    middle: Arc<Middle>,
    /// The number of the host.
    from: usize,
    up: Line,
    under_way: BinaryHeap<Reverse<Event>>,
    under_way_bytes: usize,
    /// Orders packets that are due at the same time.
    count: u64,
    spare: Vec<Vec<u8>>,
}

struct Event {
    due: Duration,
    count: u64,
    /// The host that it goes to, when it has passed the middle.
    to: Option<usize>,
    packet: Packet,
}

impl Carrier {
    pub(crate) fn new(middle: Arc<Middle>, from: usize, up: Line) -> Self {
        Self {
            middle,
            from,
            up,
            under_way: BinaryHeap::new(),
            under_way_bytes: 0,
            count: 0,
            spare: Vec::new(),
        }
    }

    /// Carry until the lab is over.
    pub(crate) fn run(mut self) {
        while !self.middle.over.load(Memory::Acquire) {
            self.take();
            self.hand_on();
            self.wait();
        }
    }

    fn now(&self) -> Duration {
        self.middle.begin.elapsed()
    }

    fn take(&mut self) {
        for _ in 0..MAX_AT_ONCE {
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.resize(BUFFER_BYTES, 0);
            let Ok(count) = (&self.middle.devices[self.from]).read(&mut buffer) else {
                // Nothing there, or the device is gone: both are seen when waiting.
                self.keep(buffer);
                return;
            };
            let bytes = if count <= SMALL_BYTES {
                let small = buffer[..count].to_vec();
                self.keep(buffer);
                small
            } else {
                buffer.truncate(count);
                buffer
            };
            let now = self.now();
            if self.under_way_bytes < MAX_UNDER_WAY_BYTES
                && let Some(packet) = Packet::new(bytes)
            {
                let (events, bytes, number) = (
                    &mut self.under_way,
                    &mut self.under_way_bytes,
                    &mut self.count,
                );
                self.up.carry(packet, now, |due, packet| {
                    *bytes += packet.bytes().len();
                    *number += 1;
                    events.push(Reverse(Event {
                        due,
                        count: *number,
                        to: None,
                        packet,
                    }));
                });
            }
        }
    }

    fn hand_on(&mut self) {
        let now = self.now();
        while let Some(Reverse(event)) = self.under_way.peek()
            && event.due <= now
            && let Some(Reverse(event)) = self.under_way.pop()
        {
            self.under_way_bytes -= event.packet.bytes().len();
            match event.to {
                Some(to) => {
                    match (&self.middle.devices[to]).write(event.packet.bytes()) {
                        Ok(_) => {}
                        // Full queues drop, as on any path.
                        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock) => {}
                        Err(error) => tracing::debug!(%error, "a packet was not taken"),
                    }
                    self.keep(event.packet.into_bytes());
                }
                None => self.pass_middle(event),
            }
        }
    }

    fn pass_middle(&mut self, event: Event) {
        let [10, 77, 0, last] = event.packet.destination() else {
            return;
        };
        let to = usize::from(last).wrapping_sub(1);
        let Some(down) = self.middle.down.get(to) else {
            return;
        };
        let (events, bytes, number) = (
            &mut self.under_way,
            &mut self.under_way_bytes,
            &mut self.count,
        );
        down.lock().carry(event.packet, event.due, |due, packet| {
            *bytes += packet.bytes().len();
            *number += 1;
            events.push(Reverse(Event {
                due,
                count: *number,
                to: Some(to),
                packet,
            }));
        });
    }

    fn keep(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() >= BUFFER_BYTES && self.spare.len() < MAX_SPARE {
            self.spare.push(buffer);
        }
    }

    fn wait(&self) {
        let next = self.under_way.peek().map(|Reverse(event)| event.due);
        let wait = next.map_or(LOOK, |due| due.saturating_sub(self.now()).min(LOOK));
        let mut ready = [PollFd::new(&self.middle.devices[self.from], PollFlags::IN)];
        if let Err(error) = poll(&mut ready, Timespec::try_from(wait).ok().as_ref()) {
            tracing::debug!(%error, "a wait was interrupted");
        }
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.count).cmp(&(other.due, other.count))
    }
}
