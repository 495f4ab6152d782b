//! What limits an attempt: from how busy its stages were since the last look.

use std::time::{Duration, Instant};

use super::counters::{Counters, Stage, read};

/// Time over which a rate is measured.
const WINDOW: Duration = Duration::from_secs(2);
/// Share of its threads' time from which on a stage counts as the limit.
const BUSY_SHARE: f64 = 0.5;

/// Share of the rate ceiling from which on the ceiling is the limit, percent.
const AT_CEILING_PERCENT: u64 = 90;

/// Measures the rate and names the limit.
#[derive(Debug)]
pub(super) struct Meter {
    since: Instant,
    bytes: u64,
    busy_ns: [u64; Stage::ALL.len()],
    rate_bps: u64,
    limiter: String,
}

impl Meter {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            bytes: 0,
            busy_ns: [0; Stage::ALL.len()],
            rate_bps: 0,
            limiter: String::new(),
        }
    }

    /// The rate in bits per second and the limit, renewed when the last measurement is old enough. `ceiling_bps` is what the attempt
    /// may not exceed: only its source waits for it, but both ends know of it.
    pub(super) fn measure(
        &mut self,
        counters: &Counters,
        ceiling_bps: Option<u64>,
        now: Instant,
    ) -> (u64, String) {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed >= WINDOW || (self.rate_bps == 0 && elapsed >= WINDOW / 8) {
            let bytes = read(&counters.bytes_received).max(read(&counters.bytes_sent));
            self.rate_bps = rate_bps(bytes.saturating_sub(self.bytes), elapsed);
            let busy_ns = Stage::ALL.map(|stage| counters.busy_ns(stage));
            let spent = Stage::ALL
                .map(|stage| busy_ns[stage as usize].saturating_sub(self.busy_ns[stage as usize]));
            let at_ceiling = ceiling_bps
                .is_some_and(|ceiling| self.rate_bps >= ceiling / 100 * AT_CEILING_PERCENT);
            self.limiter = if at_ceiling {
                "rate ceiling of this transfer".to_owned()
            } else {
                verdict(&spent)
            };
            (self.since, self.bytes, self.busy_ns) = (now, bytes, busy_ns);
        }
        (self.rate_bps, self.limiter.clone())
    }
}

fn rate_bps(bytes: u64, elapsed: Duration) -> u64 {
    let nanoseconds = elapsed.as_nanos().max(1);
    u64::try_from(u128::from(bytes) * 8 * 1_000_000_000 / nanoseconds).unwrap_or(u64::MAX)
}

/// The stage that took most of the threads' time, in words. Stages wait for each other, so whoever is busy makes the others wait.
fn verdict(spent_ns: &[u64; Stage::ALL.len()]) -> String {
    let total = as_f64(spent_ns.iter().sum());
    let Some(stage) = Stage::ALL
        .into_iter()
        .max_by_key(|stage| spent_ns[*stage as usize])
    else {
        return String::new();
    };
    let share = as_f64(spent_ns[stage as usize]) / total.max(1.0);
    if total < 1e6 || share < BUSY_SHARE {
        return String::new();
    }
    let what = match stage {
        Stage::Read => "source storage: reading",
        Stage::Hash => "processor of the source: hashing",
        Stage::Send => "network, destination or encryption: sending",
        Stage::Receive => "network or source: waiting for data and decrypting",
        Stage::Verify => "processor of the destination: verifying",
        Stage::Write => "destination storage: writing",
        Stage::Commit => "destination storage: making durable",
        Stage::Share => "share: waiting for its turn on a link",
        Stage::Ceiling => "rate ceiling: waiting for it",
        Stage::Delete => "names: checking and deleting",
    };
    format!(
        "{what} takes {:.0}% of the time of this node's transfer threads",
        share * 100.0
    )
}

#[expect(clippy::cast_precision_loss, reason = "times far below 2^53 ns")]
fn as_f64(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::counters::add;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let start = Instant::now();
        let (mut meter, counters) = (Meter::new(start), Counters::default());
        add(&counters.bytes_received, 1_000_000);
        assert_eq!(
            meter
                .measure(&counters, None, start + Duration::from_secs(2))
                .0,
            4_000_000
        );
        add(&counters.bytes_received, 500_000);
        assert_eq!(
            meter
                .measure(&counters, None, start + Duration::from_secs(3))
                .0,
            4_000_000
        );
        assert_eq!(
            meter
                .measure(&counters, None, start + Duration::from_secs(4))
                .0,
            2_000_000
        );
    }

    #[test]
    fn a_transfer_at_its_ceiling_is_limited_by_it() {
        let start = Instant::now();
        let (mut meter, counters) = (Meter::new(start), Counters::default());
        add(&counters.bytes_received, 1_000_000);
        let (rate, limiter) =
            meter.measure(&counters, Some(4_100_000), start + Duration::from_secs(2));
        assert_eq!(
            (rate, &*limiter),
            (4_000_000, "rate ceiling of this transfer")
        );
    }

    #[test]
    fn the_busiest_stage_is_named_with_its_share() {
        let mut spent = [1_000_000; Stage::ALL.len()];
        assert_eq!(verdict(&spent), "");
        spent[Stage::Write as usize] = 9 * spent[1..].iter().sum::<u64>();
        assert_eq!(
            verdict(&spent),
            "destination storage: writing takes 90% of the time of this node's transfer threads"
        );
        spent[Stage::Ceiling as usize] = 1_000_000_000;
        assert!(verdict(&spent).starts_with("rate ceiling"));
    }
}
