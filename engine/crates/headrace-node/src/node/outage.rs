//! What the log says of a service that can't be reached: the first try, a new reason, and a line a minute of what lasts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use headrace_core::text;

use crate::problem::Problem;

/// A reason that lasts is in the log again after that at the earliest.
const PAUSE: Duration = Duration::from_mins(1);
/// Lines within one [`PAUSE`] at most: reasons that take turns would fill the log, too.
const MAX_LINES: usize = 6;
/// A stream that lasted so long was a good one: what ends it is news.
pub(super) const GOOD_STREAM: Duration = Duration::from_secs(10);

/// How long the node has not been attached, and what the log has said of it.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The end of the first try that failed; nothing before one has.
    since: Option<Instant>,
    /// The reason that the log gave last.
    reason: Option<Problem>,
    /// When it gave one, within the last [`PAUSE`].
    lines: VecDeque<Instant>,
    /// Since when the node is attached.
    attached: Option<Instant>,
    /// Whether the log says of the present state that the node is attached.
    said_attached: bool,
}

impl Outage {
    /// What to say of a try that ended with this problem, before the next one; nothing when the log has said it.
    pub(super) fn ended(
        &mut self,
        problem: &Problem,
        pause: Duration,
        now: Instant,
    ) -> Option<String> {
        if self
            .attached
            .take()
            .is_some_and(|at| now.duration_since(at) > GOOD_STREAM)
        {
            *self = Self {
                said_attached: self.said_attached,
                ..Self::default()
            };
        }
        let lasted = now.duration_since(*self.since.get_or_insert(now));
        while self
            .lines
            .front()
            .is_some_and(|said| now.duration_since(*said) >= PAUSE)
        {
            self.lines.pop_front();
        }
        let known = self.reason.as_ref() == Some(problem) && !self.lines.is_empty();
        if known || self.lines.len() >= MAX_LINES {
            return None;
        }
        self.lines.push_back(now);
        self.reason = Some(problem.clone());
        self.said_attached = false;
        let lasted = match lasted.as_secs() {
            0 => String::new(),
            _ => format!(" for {}", text::duration(lasted)),
        };
        Some(format!(
            "not attached{lasted}, trying again in {pause:?}: {problem}"
        ))
    }

    /// What to say now that the node is attached; nothing when that is the last thing the log has said.
    pub(super) fn over(&mut self, now: Instant) -> Option<String> {
        self.attached = Some(now);
        if std::mem::replace(&mut self.said_attached, true) {
            return None;
        }
        Some(match self.since {
            Some(since) if now.duration_since(since).as_secs() > 0 => format!(
                "attached to the service again, after {}",
                text::duration(now.duration_since(since))
            ),
            _ => "attached to the service".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ControlCode;

    const TRY: Duration = Duration::from_secs(1);

    fn unreachable(message: &str) -> Problem {
        Problem::new(ControlCode::HubUnreachable, message)
    }

    /// What the log says of so many tries, a second apart, that end with what `problem` gives for each.
    fn said(
        outage: &mut Outage,
        start: Instant,
        tries: u32,
        problem: impl Fn(u32) -> Problem,
    ) -> Vec<(u32, String)> {
        (0..tries)
            .filter_map(|one| Some((one, outage.ended(&problem(one), TRY, start + TRY * one)?)))
            .collect()
    }

    #[test]
    fn a_service_that_stays_away_is_in_the_log_once_a_minute_with_how_long_it_has_been() {
        let lines = said(&mut Outage::default(), Instant::now(), 130, |_| {
            unreachable("refused")
        });
        assert_eq!(
            lines,
            [
                (0, "not attached, trying again in 1s: refused".to_owned()),
                (
                    60,
                    "not attached for 1 min, trying again in 1s: refused".to_owned()
                ),
                (
                    120,
                    "not attached for 2 min, trying again in 1s: refused".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn a_new_reason_is_in_the_log_at_once() {
        let lines = said(&mut Outage::default(), Instant::now(), 60, |one| {
            unreachable(if one < 7 { "refused" } else { "no route" })
        });
        let tries: Vec<u32> = lines.iter().map(|(one, _)| *one).collect();
        assert_eq!(tries, [0, 7]);
        assert!(lines[1].1.ends_with("no route"), "{lines:?}");
    }

    #[test]
    fn reasons_that_take_turns_do_not_fill_the_log() {
        let lines = said(&mut Outage::default(), Instant::now(), 600, |one| {
            unreachable(&format!("refused {one}"))
        });
        assert_eq!(lines.len(), MAX_LINES * 10);
    }

    #[test]
    fn a_node_that_is_attached_again_says_so_once_with_how_long_it_was_not() {
        let (mut outage, start) = (Outage::default(), Instant::now());
        assert_eq!(
            outage.over(start).as_deref(),
            Some("attached to the service")
        );
        let lost = start + Duration::from_hours(1);
        assert!(
            outage
                .ended(&unreachable("closed"), TRY, lost)
                .is_some_and(|line| line.starts_with("not attached, trying"))
        );
        let again = lost + Duration::from_secs(125);
        assert_eq!(
            outage.over(again).as_deref(),
            Some("attached to the service again, after 2 min 5 s")
        );
        // A stream that breaks at once, each second: neither its ends nor its beginnings fill the log.
        let mut lines = 0;
        for second in 0..60 {
            let now = again + TRY * second;
            lines += u32::from(outage.ended(&unreachable("closed"), TRY, now).is_some());
            lines += u32::from(outage.over(now).is_some());
        }
        assert_eq!(lines, 2);
    }

    #[test]
    fn a_loss_after_a_good_stream_is_in_the_log_whatever_was_said_before_it() {
        let (mut outage, start) = (Outage::default(), Instant::now());
        let lost = unreachable("closed");
        assert!(outage.ended(&lost, TRY, start).is_some());
        assert!(outage.over(start + TRY).is_some());
        let later = start + TRY + GOOD_STREAM + TRY;
        assert!(outage.ended(&lost, TRY, later).is_some());
    }
}
