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
    bytes_per_second: Option<f64>,
    /// Bytes that may pass now; negative is debt.
    level: f64,
    updated: Duration,
}

impl RateLimit {
    /// A limit of so many bits per second, or none. `now` is any clock that only rises.
    #[must_use]
    pub fn new(rate_bps: Option<u64>, now: Duration) -> Self {
        Self {
            bytes_per_second: bytes_per_second(rate_bps),
            level: 0.0,
            updated: now,
        }
    }

    /// Change the rate; debt at the old rate is kept in bytes.
    pub fn set_rate(&mut self, rate_bps: Option<u64>, now: Duration) {
        self.refill(now);
        self.bytes_per_second = bytes_per_second(rate_bps);
        if self.bytes_per_second.is_none() {
            self.level = 0.0;
        }
    }

    /// Take bytes, and say how long to wait before they may pass.
    pub fn take(&mut self, bytes: u64, now: Duration) -> Duration {
        self.refill(now);
        let Some(rate) = self.bytes_per_second else {
            return Duration::ZERO;
        };
        self.level -= as_f64(bytes);
        if self.level >= 0.0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64((-self.level / rate).min(MAX_WAIT_SECONDS))
        }
    }

    fn refill(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.updated).as_secs_f64();
        self.updated = self.updated.max(now);
        if let Some(rate) = self.bytes_per_second {
            self.level = (self.level + elapsed * rate).min(rate * MAX_BURST.as_secs_f64());
        }
    }
}

/// Keeps the arithmetic finite; callers wait in smaller steps anyway.
const MAX_WAIT_SECONDS: f64 = 3600.0;

fn bytes_per_second(rate_bps: Option<u64>) -> Option<f64> {
    // A rate of zero would never let anything pass; one byte a second says the same and stays finite.
    rate_bps.map(|bits| (as_f64(bits) / 8.0).max(1.0))
}

#[expect(clippy::cast_precision_loss, reason = "rates and sizes far below 2^53")]
fn as_f64(value: u64) -> f64 {
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
