//! The links of a node: in each direction one schedule a link, which the streams of all attempts take from.
//!
//! A stream that sends takes before it reads a block from its storage, one that receives before it reads a block from its socket, so
//! that storage, buffers and network are all used in the order that the schedule gives; what is not taken from a socket holds back who
//! sends. Who runs over several links takes from one after the other.

mod line;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use headrace_core::schedule::QUANTUM_BYTES;
use headrace_core::shares::{Links, TransferShare};
use parking_lot::Mutex;

use self::line::Line;
use super::pace::Pace;

/// How often what a transfer took is looked at, to pace its sockets by.
const FOLLOW: Duration = Duration::from_millis(100);
/// Part of its slowest link that a transfer may always send at between two looks.
const LEAST_PART: u64 = 16;

/// What this node sends over links, and what it receives.
#[derive(Debug, Default)]
pub(super) struct NodeLinks {
    pub(super) out: Arc<Way>,
    pub(super) into: Arc<Way>,
}

impl NodeLinks {
    /// Go by these links from now on.
    pub(super) fn set(&self, links: &Links) {
        self.out.set(links);
        self.into.set(&links.received());
    }
}

/// The links of one direction.
#[derive(Debug, Default)]
pub(super) struct Way {
    lines: Mutex<BTreeMap<String, Arc<Line>>>,
    claims: AtomicU64,
}

impl Way {
    fn set(&self, links: &Links) {
        let mut known = self.lines.lock();
        let mut before = std::mem::take(&mut *known);
        for (name, rules) in &links.0 {
            let line = match before.remove(name) {
                Some(line) => {
                    line.set_rules(rules);
                    line
                }
                None => Line::start(rules),
            };
            known.insert(name.clone(), line);
        }
        drop(known);
        for gone in before.values() {
            gone.close();
        }
    }

    /// The lines of these links; one that this node was not told of holds nobody back.
    fn lines(&self, names: &[String]) -> Vec<Arc<Line>> {
        let lines = self.lines.lock();
        let found = names.iter().filter_map(|name| lines.get(name).cloned());
        found.collect()
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        for line in self.lines.lock().values() {
            line.close();
        }
    }
}

/// Which links of a share an attempt takes from at this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Out,
    In,
}

/// An attempt's claim on the links of its node.
#[derive(Debug)]
pub(super) struct Claim {
    way: Arc<Way>,
    direction: Direction,
    number: u64,
    share: Mutex<Option<Arc<TransferShare>>>,
    followed: Mutex<Followed>,
}

#[derive(Debug)]
struct Followed {
    since: Instant,
    bytes: u64,
    /// Whether a turn was waited for.
    waited: bool,
}

impl Claim {
    pub(super) fn new(links: &NodeLinks, direction: Direction) -> Self {
        let way = match direction {
            Direction::Out => Arc::clone(&links.out),
            Direction::In => Arc::clone(&links.into),
        };
        Self {
            number: way.claims.fetch_add(1, Ordering::Relaxed),
            way,
            direction,
            share: Mutex::default(),
            followed: Mutex::new(Followed {
                since: Instant::now(),
                bytes: 0,
                waited: false,
            }),
        }
    }

    /// Take part with this share from now on, or with none.
    pub(super) fn set_share(&self, share: Option<TransferShare>) {
        let share = share.map(Arc::new);
        let before = std::mem::replace(&mut *self.share.lock(), share.clone());
        let kept = share.as_ref().map_or(&[][..], |share| self.links_of(share));
        let left = before
            .as_ref()
            .map_or(&[][..], |share| self.links_of(share));
        for name in left.iter().filter(|name| !kept.contains(name)) {
            for line in self.way.lines(std::slice::from_ref(name)) {
                line.leave(self.number);
            }
        }
        if let Some(share) = &share {
            for line in self.way.lines(kept) {
                line.join(self.number, share);
            }
        }
    }

    /// Go on by another share, or by none; the sockets of who is on no link any more are paced by none at once.
    pub(super) fn change_share(&self, share: Option<TransferShare>, pace: &Pace) {
        self.set_share(share);
        if !self.is_on_links() {
            pace.follow(u64::MAX);
        }
    }

    /// Whether there are links to take from.
    pub(super) fn is_on_links(&self) -> bool {
        let share = self.share.lock();
        share
            .as_ref()
            .is_some_and(|share| !self.links_of(share).is_empty())
    }

    /// Wait until so many bytes may pass, in which so many small files are, or `is_over`.
    pub(super) fn take(&self, bytes: u64, files: u64, is_over: &dyn Fn() -> bool) {
        let Some(share) = self.share.lock().clone() else {
            return;
        };
        let mut waited = false;
        for name in self.links_of(&share) {
            for line in self.way.lines(std::slice::from_ref(name)) {
                let (mut left, mut files) = (bytes, files);
                while (left > 0 || files > 0) && !is_over() {
                    let piece = left.min(QUANTUM_BYTES);
                    let share = || self.share_of(name);
                    waited |= line.take((self.number, &share), piece, files, is_over);
                    (left, files) = (left - piece, 0);
                }
            }
        }
        let mut followed = self.followed.lock();
        followed.bytes += bytes;
        followed.waited |= waited;
    }

    /// What the sockets of this attempt together should be paced at, about every 100 ms: above what it took of late, so that more can
    /// come when others leave, and so that a burst is no more than that. `None` in between; where no link has a rate, and while no turn
    /// is waited for, all that there is: pacing costs a sixth of the throughput, and bounds nothing on a link that has room.
    pub(super) fn pacing_bps(&self, now: Instant) -> Option<u64> {
        let share = self.share.lock().clone();
        let mut followed = self.followed.lock();
        let elapsed = now.saturating_duration_since(followed.since);
        if elapsed < FOLLOW {
            return None;
        }
        let took_bps =
            u64::try_from(u128::from(followed.bytes) * 8_000_000 / elapsed.as_micros().max(1));
        let waited = followed.waited;
        *followed = Followed {
            since: now,
            bytes: 0,
            waited: false,
        };
        drop(followed);
        if !waited {
            return Some(u64::MAX);
        }
        let lines = share.map_or_else(Vec::new, |share| self.way.lines(self.links_of(&share)));
        let slowest = lines.iter().filter_map(|line| line.rate_bps()).min();
        let took_bps = took_bps.unwrap_or(u64::MAX);
        let paced = |link: u64| took_bps.saturating_mul(2).clamp(link / LEAST_PART, link);
        Some(slowest.map_or(u64::MAX, paced))
    }

    /// The share of now, if it is still one of this link.
    fn share_of(&self, link: &str) -> Option<Arc<TransferShare>> {
        let share = self.share.lock().clone();
        share.filter(|share| self.links_of(share).iter().any(|name| name == link))
    }

    fn links_of<'s>(&self, share: &'s TransferShare) -> &'s [String] {
        match self.direction {
            Direction::Out => &share.source_links,
            Direction::In => &share.destination_links,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.set_share(None);
    }
}

#[cfg(test)]
mod tests;
