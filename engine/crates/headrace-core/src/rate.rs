//! A rate ceiling: a token bucket that is told the time.

use std::time::Duration;

/// Longest burst a bucket holds: short enough that switches see the rate that was asked for.
pub const MAX_BURST: Duration = Duration::from_millis(10);

/// Lets bytes pass at a rate that can change at any time.
///
/// Bytes are taken first and waited for afterwards (the level may go below zero), so pieces larger than the burst still pass and the
/// long-term rate holds exactly.
#[derive(Debug, Clone)]
pub struct RateLimit {
    /// `None` is no limit.
    bucket: Option<Bucket>,
}

impl RateLimit {
    /// A limit of so many bits per second, or none. `now` is any clock that only rises.
    #[must_use]
    pub fn new(rate_bps: Option<u64>, now: Duration) -> Self {
        let bucket = bytes_per_second(rate_bps).map(|rate| Bucket::new(rate, now));
        Self { bucket }
    }

    /// Change the rate; debt at the old rate is kept in bytes.
    pub fn set_rate(&mut self, rate_bps: Option<u64>, now: Duration) {
        self.refill(now);
        let bucket = self.bucket.take();
        self.bucket = bytes_per_second(rate_bps).map(|bytes_per_second| Bucket {
            bytes_per_second,
            ..bucket.unwrap_or(Bucket::new(bytes_per_second, now))
        });
    }

    /// Take bytes, and say how long to wait before they may pass.
    pub fn take(&mut self, bytes: u64, now: Duration) -> Duration {
        self.refill(now);
        let Some(bucket) = &mut self.bucket else {
            return Duration::ZERO;
        };
        bucket.take(as_f64(bytes));
        Duration::from_secs_f64(bucket.seconds_to(0.0).min(MAX_WAIT_SECONDS))
    }

    fn refill(&mut self, now: Duration) {
        if let Some(bucket) = &mut self.bucket {
            bucket.refill(now, bucket.bytes_per_second * MAX_BURST.as_secs_f64());
        }
    }
}

/// Bytes that come in at a rate, and are taken out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    pub(crate) bytes_per_second: f64,
    /// Bytes that may pass now; negative is debt.
    pub(crate) level: f64,
    updated: Duration,
}

impl Bucket {
    /// An empty one.
    pub(crate) fn new(bytes_per_second: f64, now: Duration) -> Self {
        Self {
            bytes_per_second,
            level: 0.0,
            updated: now,
        }
    }

    /// Let in what has come since, up to `most` in all.
    pub(crate) fn refill(&mut self, now: Duration, most: f64) {
        let elapsed = now.saturating_sub(self.updated).as_secs_f64();
        self.updated = self.updated.max(now);
        self.level = (self.level + elapsed * self.bytes_per_second).min(most);
    }

    pub(crate) fn take(&mut self, bytes: f64) {
        self.level -= bytes;
    }

    /// Take bytes, but let no more debt stand than this.
    pub(crate) fn take_down_to(&mut self, bytes: f64, least: f64) {
        self.level = (self.level - bytes).max(least);
    }

    /// Whether so much is in it. What a clock cannot tell from so much is enough.
    pub(crate) fn has(&self, bytes: f64) -> bool {
        self.seconds_to(bytes) < 1e-9
    }

    /// How long it takes until so much is in it.
    pub(crate) fn seconds_to(&self, bytes: f64) -> f64 {
        ((bytes - self.level) / self.bytes_per_second).max(0.0)
    }
}

/// Keeps the arithmetic finite; callers wait in smaller steps anyway.
const MAX_WAIT_SECONDS: f64 = 3600.0;

pub(crate) fn bytes_per_second(rate_bps: Option<u64>) -> Option<f64> {
    // A rate of zero would never let anything pass; one byte a second says the same and stays finite.
    rate_bps.map(|bits| (as_f64(bits) / 8.0).max(1.0))
}

#[expect(clippy::cast_precision_loss, reason = "rates and sizes far below 2^53")]
pub(crate) fn as_f64(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Send pieces as fast as the limit allows; answers the seconds it took.
    fn send(limit: &mut RateLimit, pieces: &[u64], start: Duration) -> f64 {
        let mut now = start;
        for piece in pieces {
            now += limit.take(*piece, now);
        }
        now.saturating_sub(start).as_secs_f64()
    }

    proptest! {
        #[test]
        fn the_long_term_rate_is_within_two_percent(
            rate_mbps in 1_u64..100_000,
            pieces in prop::collection::vec(1_u64..1_000_000, 2000..2500),
        ) {
            let rate = rate_mbps * 1_000_000;
            let mut limit = RateLimit::new(Some(rate), Duration::ZERO);
            let seconds = send(&mut limit, &pieces, Duration::from_secs(5));
            let bits = as_f64(pieces.iter().sum::<u64>()) * 8.0;
            let burst = as_f64(rate) * MAX_BURST.as_secs_f64();
            prop_assert!(bits <= as_f64(rate) * seconds * 1.001 + burst);
            prop_assert!(bits >= as_f64(rate) * seconds * 0.98);
        }
    }

    #[test]
    fn no_rate_is_no_wait_and_a_new_rate_holds_at_once() {
        let mut limit = RateLimit::new(None, Duration::ZERO);
        assert_eq!(limit.take(u64::MAX / 2, Duration::ZERO), Duration::ZERO);
        limit.set_rate(Some(8_000_000), Duration::from_secs(1));
        let seconds = send(&mut limit, &[100_000; 100], Duration::from_secs(1));
        assert!((9.8..=10.2).contains(&seconds), "{seconds}");
        limit.set_rate(Some(80_000_000), Duration::from_secs(20));
        let seconds = send(&mut limit, &[100_000; 100], Duration::from_secs(20));
        assert!((0.97..=1.02).contains(&seconds), "{seconds}");
    }
}
