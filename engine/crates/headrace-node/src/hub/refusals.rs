//! Who was refused, or broke off: told to the service, and to the log in at most one line a minute for each cause.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use headrace_core::sealed::PublicKey;
use parking_lot::Mutex;

use super::Shared;
use crate::problem::{ControlCode, Problem};
use crate::transport::BrokenOff;

/// A cause is in the log again after that at the earliest.
const PAUSE: Duration = Duration::from_mins(1);
/// Causes of nodes that are remembered; when there are more, a code is a cause of its own for all nodes.
const MAX_CAUSES: usize = 1024;

/// A code, and the node when it is enrolled: anybody can make keys, so those of strangers are no causes of their own.
type Cause = (Cow<'static, str>, Option<PublicKey>);

/// What the log has said of refusals.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<Cause, (Instant, u64)>>);

impl Refusals {
    /// How often the cause came since its last line, when it is time for another one.
    fn due(&self, mut cause: Cause, now: Instant) -> Option<u64> {
        let mut causes = self.0.lock();
        if causes.len() >= MAX_CAUSES && !causes.contains_key(&cause) {
            causes.retain(|_, (said, _)| now.duration_since(*said) < PAUSE);
            if causes.len() >= MAX_CAUSES {
                cause.1 = None;
            }
        }
        let Some((said, unsaid)) = causes.get_mut(&cause) else {
            causes.insert(cause, (now, 0));
            return Some(0);
        };
        if now.duration_since(*said) < PAUSE {
            *unsaid += 1;
            return None;
        }
        *said = now;
        Some(std::mem::take(unsaid))
    }
}

impl Shared {
    /// Tells that somebody was refused, or does not stay.
    pub(super) fn refused(
        &self,
        node: Option<PublicKey>,
        from: Option<SocketAddr>,
        problem: &Problem,
    ) {
        let enrolled = node.filter(|node| self.enrolled.lock().contains(node));
        if let Some(unsaid) = self
            .refusals
            .due((problem.code.clone(), enrolled), Instant::now())
        {
            let more = match unsaid {
                0 => String::new(),
                unsaid => format!(" ({unsaid} more times since it was said last)"),
            };
            let node =
                node.map_or_else(|| "that showed no key".to_owned(), |node| node.to_string());
            let from = from.map_or_else(|| "this process".to_owned(), |from| from.to_string());
            tracing::warn!(code = %problem.code, "a node {node} at {from} does not attach: {problem}{more}");
        }
        self.events.refused(node, from, problem.clone());
    }

    /// Tells that a handshake failed, when a node that wants another hub may be the reason.
    pub(super) fn broke_off(&self, from: SocketAddr, broken: &BrokenOff) {
        let now = (self.clock)();
        // While two keys count, a node that gets the other one asks again, by name.
        let last_word = broken.by_name || self.keys.succession(now).is_none();
        if broken.expects_another_key() && last_word {
            let message = format!(
                "it expects another key than {}, by which this service answers: let it join again with a token of `headrace ca rotate \
                 NODE`, or put the former `hub.key` of the service back",
                self.keys.answering(now).public()
            );
            self.refused(
                None,
                Some(from),
                &Problem::new(ControlCode::WrongPeerKey, message),
            );
            return;
        }
        let cause = (Cow::Borrowed("handshake"), None);
        if !broken.is_silent()
            && !broken.expects_another_key()
            && self.refusals.due(cause, Instant::now()).is_some()
        {
            tracing::info!(
                "a connection from {from} was closed, its handshake failed: {}",
                broken.error
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once_a_minute_and_those_of_strangers_are_one() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        let key = |number: u16| {
            PublicKey::from_bytes(
                [number.to_le_bytes(); 16]
                    .concat()
                    .try_into()
                    .expect("32 bytes"),
            )
        };
        let said = |node: Option<u16>, second| {
            let cause = (Cow::Borrowed("not_enrolled"), node.map(key));
            refusals.due(cause, start + Duration::from_secs(second))
        };
        assert_eq!(
            [said(None, 0), said(None, 1), said(None, 59)],
            [Some(0), None, None]
        );
        assert_eq!(
            [said(Some(1), 1), said(Some(2), 2), said(Some(1), 3)],
            [Some(0), Some(0), None]
        );
        assert_eq!([said(None, 60), said(None, 61)], [Some(2), None]);
        // More than are remembered.
        let said: Vec<_> = (0..2000).filter_map(|node| said(Some(node), 62)).collect();
        assert!((1000..1030).contains(&said.len()), "{}", said.len());
    }
}
