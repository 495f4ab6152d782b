//! The rate ceiling of an attempt, shared by its streams.

use std::time::{Duration, Instant};

use headrace_core::rate::RateLimit;
use parking_lot::Mutex;

/// Longest single sleep, so that a stop or a new rate is noticed soon.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// A rate limit with a clock.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: RateLimit,
    rate_bps: Option<u64>,
    /// Counts changes of the rate.
    version: u64,
}

impl Pace {
    /// A pace of so many bits per second, or none.
    #[must_use]
    pub fn new(rate_bps: Option<u64>) -> Self {
        let limit = RateLimit::new(rate_bps, Duration::ZERO);
        Self {
            start: Instant::now(),
            state: Mutex::new(State {
                limit,
                rate_bps,
                version: 0,
            }),
        }
    }

    /// The rate, and how often it was changed.
    #[must_use]
    pub fn rate(&self) -> (Option<u64>, u64) {
        let state = self.state.lock();
        (state.rate_bps, state.version)
    }

    /// Change the rate at once.
    pub fn set_rate(&self, rate_bps: Option<u64>) {
        let now = self.start.elapsed();
        let mut state = self.state.lock();
        if state.rate_bps != rate_bps {
            state.rate_bps = rate_bps;
            state.version += 1;
            state.limit.set_rate(rate_bps, now);
        }
    }

    /// Wait until `bytes` more may pass, or `is_over`.
    pub fn wait(&self, bytes: u64, is_over: &dyn Fn() -> bool) {
        let mut left = self.state.lock().limit.take(bytes, self.start.elapsed());
        while !left.is_zero() && !is_over() {
            std::thread::sleep(left.min(MAX_SLEEP));
            // Zero bytes: how long does what was taken still have to wait, at the rate of now?
            left = self.state.lock().limit.take(0, self.start.elapsed());
        }
    }
}
