//! How many data connections a session has: it begins with few, and adds more as long as that makes it faster.
//!
//! Of a path nobody knows beforehand how many connections it takes to fill it: that depends on its length, on loss, and on what the hosts let
//! one connection hold. So goodput is measured, over windows of several round trips, as a new connection needs that long to come up to speed.
//! There are never fewer again: one that carries little costs little.

use std::time::Duration;

/// Connections at the beginning, if so many are allowed.
const FIRST: u16 = 4;
/// Round trips in a window: a connection takes three until it carries anything, and some more until it carries much.
const WINDOW_ROUND_TRIPS: u32 = 8;
/// A window is at least and at most so long: on a short path, so that chance evens out; on a bad one, so that something happens.
const WINDOWS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// Percent by which goodput has to rise.
const RISE_PERCENT: u128 = 5;

/// Decides how many connections to open; see the module. It knows no clock: it is told the time since the session began.
#[derive(Debug, Clone)]
pub struct Growth {
    count: u16,
    limit: u16,
    window: Duration,
    /// Whether the next step doubles their number, or adds one.
    doubles: bool,
    /// The window under way: since when, and what had gone over the connections then.
    since: Duration,
    bytes: u64,
    best_bytes_per_s: u128,
}

impl Growth {
    /// So many from the beginning, and never more.
    #[must_use]
    pub fn fixed(count: u16) -> Self {
        Self {
            count,
            ..Self::adaptive(count, Duration::ZERO)
        }
    }

    /// At most `limit` connections, over a path with this round trip.
    #[must_use]
    pub fn adaptive(limit: u16, round_trip: Duration) -> Self {
        let window = round_trip.saturating_mul(WINDOW_ROUND_TRIPS);
        Self {
            count: FIRST.min(limit),
            limit,
            window: window.clamp(WINDOWS.0, WINDOWS.1),
            doubles: true,
            since: Duration::ZERO,
            bytes: 0,
            best_bytes_per_s: 0,
        }
    }

    /// How many there are to be now.
    #[must_use]
    pub fn count(&self) -> u16 {
        self.count
    }

    /// How long to wait before the next look; `None` when no more may come.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        (self.count < self.limit).then_some(self.window)
    }

    /// Look at what has gone over all connections so far; gives how many to open besides.
    pub fn look(&mut self, now: Duration, bytes: u64) -> u16 {
        let elapsed = now.saturating_sub(self.since);
        if elapsed < self.window {
            return 0;
        }
        let moved = u128::from(bytes.saturating_sub(self.bytes));
        let bytes_per_s = moved * 1_000_000 / elapsed.as_micros().max(1);
        (self.since, self.bytes) = (now, bytes);
        let rose = bytes_per_s * 100 > self.best_bytes_per_s * (100 + RISE_PERCENT);
        let step = match (rose, self.doubles) {
            (true, true) => self.count,
            (true, false) => 1,
            // The last doubling was too much, or something else is the limit: one more will tell.
            (false, true) if self.best_bytes_per_s > 0 => {
                self.doubles = false;
                1
            }
            (false, _) => 0,
        };
        if rose {
            self.best_bytes_per_s = bytes_per_s;
        }
        let more = step.min(self.limit.saturating_sub(self.count));
        self.count += more;
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Duration = Duration::from_millis(50);

    /// How many there are after each of so many windows, when this many of them bring this goodput.
    fn counts(mut growth: Growth, windows: u64, goodput: impl Fn(u16) -> u64) -> Vec<u16> {
        let (mut now, mut bytes) = (Duration::ZERO, 0);
        let mut counts = vec![growth.count()];
        for _ in 0..windows {
            now += growth.window;
            bytes += goodput(growth.count());
            growth.look(now, bytes);
            counts.push(growth.count());
        }
        counts
    }

    #[test]
    fn connections_double_while_each_brings_more_and_stay_within_their_limit() {
        let grown = counts(Growth::adaptive(20, FAR), 4, |count| u64::from(count) << 20);
        assert_eq!(grown, [4, 8, 16, 20, 20]);
        let few = counts(Growth::adaptive(2, FAR), 2, |count| u64::from(count) << 20);
        assert_eq!(few, [2, 2, 2]);
    }

    #[test]
    fn a_full_path_gets_one_more_connection_and_then_none() {
        let grown = counts(Growth::adaptive(64, FAR), 6, |count| {
            u64::from(count.min(8)) << 20
        });
        assert_eq!(grown, [4, 8, 16, 17, 17, 17, 17]);
    }

    #[test]
    fn after_a_doubling_that_brought_nothing_they_grow_by_one_at_a_time() {
        let mut growth = Growth::adaptive(64, FAR);
        let windows = [100, 100, 110, 120, 121, 140];
        let (mut now, mut bytes) = (Duration::ZERO, 0);
        let added = windows.map(|goodput| {
            now += growth.window;
            bytes += goodput << 20;
            growth.look(now, bytes)
        });
        assert_eq!(added, [4, 1, 1, 1, 0, 1]);
    }

    #[test]
    fn nothing_is_opened_while_nothing_moves() {
        assert_eq!(counts(Growth::adaptive(64, FAR), 3, |_| 0), [4, 4, 4, 4]);
    }

    #[test]
    fn a_window_is_as_long_as_the_path_needs() {
        let window = |ms| Growth::adaptive(64, Duration::from_millis(ms)).window();
        assert_eq!(window(0), Some(Duration::from_millis(200)));
        assert_eq!(window(100), Some(Duration::from_millis(800)));
        assert_eq!(window(10_000), Some(Duration::from_secs(5)));
        let mut growth = Growth::adaptive(64, Duration::from_millis(100));
        assert_eq!(growth.look(Duration::from_millis(799), 1 << 30), 0);
        assert_eq!(growth.look(Duration::from_millis(800), 1 << 30), 4);
    }

    #[test]
    fn what_somebody_set_does_not_change() {
        let growth = Growth::fixed(3);
        assert_eq!((growth.count(), growth.window()), (3, None));
        assert_eq!(counts(growth, 3, |count| u64::from(count) << 20), [3; 4]);
    }
}
