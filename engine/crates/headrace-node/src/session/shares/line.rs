//! A link in one direction: its schedule with a clock, and the threads that wait for their turn.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::schedule::Schedule;
use headrace_core::shares::{LinkRules, TransferShare};
use parking_lot::{Condvar, Mutex};

/// Longest wait before it is looked whether the attempt is over.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// Shortest wait of the clock's thread: at high rates several are granted at once, within the burst.
const TICK: Duration = Duration::from_micros(100);

#[derive(Debug)]
pub(super) struct Line {
    start: Instant,
    state: Mutex<State>,
    /// Rung when the clock's thread has something else to wait for.
    sooner: Condvar,
}

#[derive(Debug)]
struct State {
    schedule: Schedule,
    rate_bps: Option<u64>,
    /// Who takes part, by the number of its claim, and with which share.
    joined: HashMap<u64, Arc<TransferShare>>,
    /// Threads that wait, by the number of what they asked for.
    waiting: HashMap<u64, Waiting>,
    asks: u64,
    /// When the clock's thread looks again; nothing while it waits for the first to ask.
    looks_at: Option<Duration>,
    closed: bool,
}

#[derive(Debug)]
struct Waiting {
    claim: u64,
    granted: Arc<Condvar>,
}

impl Line {
    /// A link with these rules, and a thread that keeps its time.
    pub(super) fn start(rules: &LinkRules) -> Arc<Self> {
        let line = Arc::new(Self {
            start: Instant::now(),
            state: Mutex::new(State {
                schedule: Schedule::new(rules, Duration::ZERO),
                rate_bps: rules.rate_bps,
                joined: HashMap::new(),
                waiting: HashMap::new(),
                asks: 0,
                looks_at: None,
                closed: false,
            }),
            sooner: Condvar::new(),
        });
        let own = Arc::clone(&line);
        let clock = std::thread::Builder::new().name("headrace-link".to_owned());
        if let Err(error) = clock.spawn(move || own.keep_time()) {
            // Who waits looks by itself, too, only less often.
            tracing::warn!(%error, "no thread for the clock of a link");
        }
        line
    }

    /// Let nobody wait any more.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        for (_, waiting) in state.waiting.drain() {
            waiting.granted.notify_all();
        }
        self.sooner.notify_all();
    }

    pub(super) fn rate_bps(&self) -> Option<u64> {
        self.state.lock().rate_bps
    }

    pub(super) fn set_rules(&self, rules: &LinkRules) {
        let mut state = self.state.lock();
        state.rate_bps = rules.rate_bps;
        state.schedule.set_rules(rules, self.start.elapsed());
        self.look(&mut state);
    }

    pub(super) fn join(&self, claim: u64, share: &Arc<TransferShare>) {
        let mut state = self.state.lock();
        state.join(claim, share, self.start.elapsed());
        self.look(&mut state);
    }

    /// Forget who takes part no longer; its threads go on.
    pub(super) fn leave(&self, claim: u64) {
        let mut state = self.state.lock();
        state.joined.remove(&claim);
        state.schedule.leave(claim);
        state.waiting.retain(|_, waiting| {
            let stays = waiting.claim != claim;
            if !stays {
                waiting.granted.notify_all();
            }
            stays
        });
        self.look(&mut state);
    }

    /// Wait until so many bytes may pass, or `is_over`, or the link is gone; returns whether there was something to wait for. `share` is
    /// asked for what the claim has of this link; who left it since it was found does not wait.
    pub(super) fn take(
        &self,
        (claim, share): (u64, &dyn Fn() -> Option<Arc<TransferShare>>),
        bytes: u64,
        files: u64,
        is_over: &dyn Fn() -> bool,
    ) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        // Asked while the line is locked: who leaves changes the share first, so that nobody joins after it left.
        let Some(share) = share() else {
            return false;
        };
        state.join(claim, &share, self.start.elapsed());
        let ask = state.asks;
        state.asks += 1;
        let granted = Arc::new(Condvar::new());
        let waiting = Waiting {
            claim,
            granted: Arc::clone(&granted),
        };
        state.waiting.insert(ask, waiting);
        state.schedule.ask(claim, ask, bytes, files);
        self.look(&mut state);
        let waits = state.waiting.contains_key(&ask);
        while state.waiting.contains_key(&ask) {
            if is_over() {
                state.waiting.remove(&ask);
                state.schedule.withdraw(claim, ask);
                return waits;
            }
            if granted.wait_for(&mut state, MAX_WAIT).timed_out() {
                self.look(&mut state);
            }
        }
        waits
    }

    /// Whether a claim takes part.
    #[cfg(test)]
    pub(super) fn has(&self, claim: u64) -> bool {
        self.state.lock().joined.contains_key(&claim)
    }

    /// Grant what is due, and see to it that somebody looks again in time.
    fn look(&self, state: &mut State) {
        let now = self.start.elapsed();
        state.grant(now);
        let due = state.schedule.due(now);
        if due.is_some_and(|due| state.looks_at.is_none_or(|looks_at| due < looks_at)) {
            self.sooner.notify_one();
        }
    }

    fn keep_time(&self) {
        let mut state = self.state.lock();
        while !state.closed {
            let now = self.start.elapsed();
            state.grant(now);
            let due = state.schedule.due(now).map(|due| due.max(now + TICK));
            state.looks_at = due;
            if let Some(due) = due {
                self.sooner.wait_for(&mut state, due.saturating_sub(now));
            } else {
                self.sooner.wait(&mut state);
            }
        }
    }
}

impl State {
    fn join(&mut self, claim: u64, share: &Arc<TransferShare>, now: Duration) {
        let known = self.joined.get(&claim);
        if known.is_none_or(|known| !Arc::ptr_eq(known, share)) {
            self.schedule.join(claim, share, now);
            self.joined.insert(claim, Arc::clone(share));
        }
    }

    fn grant(&mut self, now: Duration) {
        while let Some((_, ask)) = self.schedule.grant(now) {
            if let Some(waiting) = self.waiting.remove(&ask) {
                waiting.granted.notify_one();
            }
        }
    }
}
