//! The hub's end of one node's stream: what the node said of itself, and the calls that wait for its answer.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headrace_core::sealed::{MAX_CLOCK_SKEW_MS, PublicKey};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::events::HubEvent;
use crate::convert::RootSpace;
use crate::problem::{ControlCode, Problem};
use crate::proto::{self, BrowsePage, FromNode, ListingPart, ToNode, from_node, to_node};

/// Longest wait for a node's answer.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest wait for an attempt's start, which includes sending its lists.
const START_TIMEOUT: Duration = Duration::from_mins(5);
/// Calls that wait for one node at most.
const MAX_CALLS: usize = 256;
/// Pages of one listing that wait to be merged.
const LISTING_PARTS: usize = 4;

/// What a node answers to a call.
#[derive(Debug)]
pub(super) enum Answer {
    Done,
    Page(BrowsePage),
    Host(String),
}

/// Calls that wait, by number.
type Calls = HashMap<u64, oneshot::Sender<Result<Answer, Problem>>>;

/// Where a node can be reached for data.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    pub(super) addresses: Vec<String>,
}

/// What a node's clock shows minus what ours does, as measured again and again.
///
/// A message that was long on its way makes a clock look behind, never ahead: the most ahead of the latest counts.
#[derive(Debug, Default)]
pub(super) struct Skews {
    latest: VecDeque<i64>,
    told: i64,
}

/// Measurements that count.
const SKEWS: usize = 4;
/// Skews that differ by less are the same.
const SKEW_STEP_MS: i64 = 1_000;

impl Skews {
    /// Begins with what was told when the node attached.
    pub(super) fn new(skew_ms: i64) -> Self {
        Self {
            latest: VecDeque::from([skew_ms]),
            told: skew_ms,
        }
    }

    /// What counts now.
    fn now_ms(&self) -> i64 {
        self.latest.iter().copied().max().unwrap_or(self.told)
    }

    /// Takes a measurement; gives the skew when it has to be told.
    pub(super) fn measured(&mut self, skew_ms: i64) -> Option<i64> {
        if self.latest.len() >= SKEWS {
            self.latest.pop_front();
        }
        self.latest.push_back(skew_ms);
        let skew = self.now_ms();
        if skew.abs_diff(self.told) < SKEW_STEP_MS.unsigned_abs() {
            return None;
        }
        self.told = skew;
        Some(skew)
    }
}

/// An attached node.
pub(super) struct Link {
    pub(super) node: PublicKey,
    /// Where its connection comes from.
    pub(super) from: Option<SocketAddr>,
    /// What the node can do besides the version of the protocol.
    features: u64,
    reach: Mutex<Reach>,
    /// What was told of it last, and its clock.
    announced: Mutex<(HubEvent, Skews)>,
    out: mpsc::Sender<Result<ToNode, tonic::Status>>,
    next_call: AtomicU64,
    /// `None` once the stream is over.
    calls: Mutex<Option<Calls>>,
    listings: Mutex<HashMap<u64, mpsc::Sender<ListingPart>>>,
    /// Why the hub ends the stream, once it does.
    goodbye: watch::Sender<Option<Problem>>,
}

impl Link {
    pub(super) fn new(
        (node, from, features): (PublicKey, Option<SocketAddr>, u64),
        reach: Reach,
        announced: (HubEvent, i64),
        out: mpsc::Sender<Result<ToNode, tonic::Status>>,
    ) -> Self {
        Self {
            node,
            from,
            features,
            reach: Mutex::new(reach),
            announced: Mutex::new((announced.0, Skews::new(announced.1))),
            out,
            next_call: AtomicU64::new(1),
            calls: Mutex::new(Some(HashMap::new())),
            listings: Mutex::new(HashMap::new()),
            goodbye: watch::Sender::new(None),
        }
    }

    /// Whether the node can do something with this: what is of a feature is only for nodes that have it.
    pub(super) fn knows(&self, message: &to_node::Message) -> bool {
        let of_links = matches!(
            message,
            to_node::Message::SetShare(_) | to_node::Message::SetShares(_)
        );
        let of_host = matches!(message, to_node::Message::LookAtHost(_));
        let of_trash = matches!(message, to_node::Message::EmptyTrash(_));
        (!of_links || self.features & proto::SHARES != 0)
            && (!of_host || self.features & proto::LOOKS_AT_HOST != 0)
            && (!of_trash || self.features & proto::EMPTIES_TRASH != 0)
    }

    /// Refuse a leg of a probe where the node knows none.
    ///
    /// # Errors
    /// `version_unsupported`.
    pub(super) fn require_probes(&self) -> Result<(), Problem> {
        self.require(proto::PROBES, "knows no probes")
    }

    /// Refuse a plan that keeps what it deletes where the node would not.
    ///
    /// # Errors
    /// `version_unsupported`.
    pub(super) fn require_trash(&self) -> Result<(), Problem> {
        self.require(proto::TRASH, "knows no trash")
    }

    fn require(&self, feature: u64, lacks: &str) -> Result<(), Problem> {
        if self.features & feature != 0 {
            return Ok(());
        }
        let message = format!(
            "the program of node `{}` is of a release that {lacks}: replace it by one of today's",
            self.node
        );
        Err(Problem::new(ControlCode::VersionUnsupported, message))
    }

    pub(super) fn reach(&self) -> Reach {
        self.reach.lock().clone()
    }

    pub(super) fn set_reach(&self, reach: Reach) {
        *self.reach.lock() = reach;
    }

    /// Notes what is told of the node from now on.
    pub(super) fn announce(&self, event: HubEvent, skew_ms: i64) {
        *self.announced.lock() = (event, Skews::new(skew_ms));
    }

    /// Takes what the node's clock showed against ours; gives what has to be told when that has changed.
    pub(super) fn clock(&self, measured_ms: i64) -> Option<HubEvent> {
        let (event, skews) = &mut *self.announced.lock();
        let skew = skews.measured(measured_ms)?;
        if let HubEvent::NodeAttached { clock_skew_ms, .. } = event {
            *clock_skew_ms = skew;
        }
        Some(event.clone())
    }

    /// Notes what is free below the node's roots: what is told of it again says that, too.
    pub(super) fn measured(&self, spaces: &[RootSpace]) {
        if let (HubEvent::NodeAttached { roots, .. }, _) = &mut *self.announced.lock() {
            for space in spaces {
                for root in roots.iter_mut().filter(|root| root.name == space.name) {
                    (root.free_bytes, root.total_bytes) = (space.free_bytes, space.total_bytes);
                }
            }
        }
    }

    /// What the node said went wrong. When that is about a time, how its clock stands against ours stands with it.
    pub(super) fn said(&self, problem: proto::Problem) -> Problem {
        let mut problem = Problem::from(problem);
        let of_time = ["_expired", "_not_yet_valid"]
            .iter()
            .any(|end| problem.code.ends_with(end));
        if of_time || problem.is(ControlCode::AuthoritySucceeded) {
            let measured = compared(self.announced.lock().1.now_ms());
            problem.message += &measured;
        }
        problem
    }

    /// Sends something that needs no answer.
    pub(super) async fn tell(&self, message: to_node::Message) -> Result<(), Problem> {
        self.send(0, message).await
    }

    /// As [`Link::tell`], if there is room: what finds none is dropped.
    pub(super) fn tell_now(&self, message: to_node::Message) {
        let told = self.out.try_send(Ok(ToNode {
            call: 0,
            message: Some(message),
        }));
        if told.is_err() {
            tracing::debug!("a node was not told: it takes no more messages now, or has gone");
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn call(&self, message: to_node::Message) -> Result<Answer, Problem> {
        // Before an attempt starts, its lists are brought over.
        let starts = matches!(message, to_node::Message::Start(_));
        let longest = if starts { START_TIMEOUT } else { CALL_TIMEOUT };
        let (call, answer) = self.register()?;
        let answered = timeout(longest, async {
            self.send(call, message).await?;
            answer.await.map_err(|_| self.unreachable())?
        });
        answered.await.unwrap_or_else(|_| {
            self.forget_call(call);
            Err(Problem::new(
                ControlCode::NodeTimeout,
                format!(
                    "node {} did not answer within {} s",
                    self.node,
                    longest.as_secs()
                ),
            ))
        })
    }

    /// As [`Link::call`] for requests that are answered by `done`.
    pub(super) async fn command(&self, message: to_node::Message) -> Result<(), Problem> {
        self.call(message).await.map(|_| ())
    }

    /// Asks for a listing; its parts arrive in the channel, at the pace they are taken out.
    pub(super) async fn listing(
        &self,
        request: proto::OpenListing,
    ) -> Result<mpsc::Receiver<ListingPart>, Problem> {
        let (call, answer) = self.register()?;
        let (parts, listing) = mpsc::channel(LISTING_PARTS);
        self.listings.lock().insert(call, parts);
        let accepted = timeout(CALL_TIMEOUT, async {
            self.send(call, to_node::Message::OpenListing(request))
                .await?;
            answer.await.map_err(|_| self.unreachable())?
        });
        match accepted.await.unwrap_or_else(|_| Err(self.unreachable())) {
            Ok(_) => Ok(listing),
            Err(problem) => {
                self.forget_call(call);
                self.listings.lock().remove(&call);
                Err(problem)
            }
        }
    }

    /// Where the parts of a listing go; only once.
    pub(super) fn take_listing(&self, call: u64) -> Option<mpsc::Sender<ListingPart>> {
        self.listings.lock().remove(&call)
    }

    /// Hands an answer of the node to who waits for it.
    pub(super) fn answered(&self, message: FromNode) -> Result<(), Problem> {
        let answer = match message.message {
            Some(from_node::Message::Done(_)) => Ok(Answer::Done),
            Some(from_node::Message::Browsed(page)) => Ok(Answer::Page(page)),
            Some(from_node::Message::Host(host)) => Ok(Answer::Host(host)),
            Some(from_node::Message::Failed(problem)) => Err(self.said(problem)),
            _ => return Err(crate::convert::violation("an unexpected message of a node")),
        };
        // Nobody waits any more when it came too late.
        if let Some(waiting) = self
            .calls
            .lock()
            .as_mut()
            .and_then(|calls| calls.remove(&message.call))
        {
            let _ = waiting.send(answer);
        }
        Ok(())
    }

    /// Ends the stream from our side.
    pub(super) fn close(&self, why: Problem) {
        self.goodbye.send_if_modified(|goodbye| {
            let first = goodbye.is_none();
            goodbye.get_or_insert(why);
            first
        });
    }

    /// Waits until [`Link::close`] is called, tells the node and gives the reason.
    pub(super) async fn closed(&self) -> Problem {
        let mut goodbye = self.goodbye.subscribe();
        let why = match goodbye.wait_for(Option::is_some).await {
            Ok(why) => why.clone(),
            Err(_) => None,
        };
        let why = why.unwrap_or_else(|| self.unreachable());
        let _ = timeout(
            Duration::from_secs(1),
            self.tell(to_node::Message::Goodbye(why.clone().into())),
        )
        .await;
        why
    }

    /// Ends every call that still waits.
    pub(super) fn over(&self) {
        self.calls.lock().take();
        self.listings.lock().clear();
    }

    fn register(&self) -> Result<(u64, oneshot::Receiver<Result<Answer, Problem>>), Problem> {
        let mut calls = self.calls.lock();
        let calls = calls.as_mut().ok_or_else(|| self.unreachable())?;
        if calls.len() >= MAX_CALLS {
            return Err(Problem::new(
                ControlCode::NodeBusy,
                format!("too many calls wait for node {}", self.node),
            ));
        }
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        calls.insert(call, sender);
        Ok((call, receiver))
    }

    fn forget_call(&self, call: u64) {
        if let Some(calls) = self.calls.lock().as_mut() {
            calls.remove(&call);
        }
    }

    async fn send(&self, call: u64, message: to_node::Message) -> Result<(), Problem> {
        let message = ToNode {
            call,
            message: Some(message),
        };
        self.out
            .send(Ok(message))
            .await
            .map_err(|_| self.unreachable())
    }

    fn unreachable(&self) -> Problem {
        unreachable_node(&self.node)
    }
}

/// Says how a node's clock stands against ours.
fn compared(skew_ms: i64) -> String {
    let seconds = skew_ms.unsigned_abs() / 1000;
    let way = if skew_ms < 0 { "behind" } else { "ahead of" };
    if skew_ms.saturating_abs() > MAX_CLOCK_SKEW_MS {
        return format!(
            " (the service finds the node's clock {seconds} s {way} its own: set that of the node's host by NTP, then that of the service's)"
        );
    }
    format!(
        " (the service finds the node's clock {seconds} s {way} its own, and up to {} s do no harm: check also the clock of the host \
         that signs for the service)",
        MAX_CLOCK_SKEW_MS / 1000
    )
}

/// Says that a node has no stream to us.
pub(super) fn unreachable_node(node: &PublicKey) -> Problem {
    Problem::new(
        ControlCode::NodeUnreachable,
        format!("node {node} is not connected: check that it runs and can reach the service"),
    )
}

#[cfg(test)]
mod tests {
    use headrace_core::access::Access;

    use super::*;
    use crate::convert::RootInfo;

    #[test]
    fn what_is_told_again_of_a_node_has_what_it_said_is_free_since() {
        let node = PublicKey::from_bytes([1; 32]);
        let attached = HubEvent::NodeAttached {
            node,
            version: String::new(),
            roots: vec![RootInfo {
                name: "data".to_owned(),
                access: Access::Read,
                free_bytes: 9,
                total_bytes: 9,
            }],
            missing_roots: vec![],
            data_addresses: vec![],
            clock_skew_ms: 0,
        };
        let (out, _) = mpsc::channel(1);
        let reach = Reach { addresses: vec![] };
        let link = Link::new((node, None, 0), reach, (attached, 0), out);
        let space = |name: &str| RootSpace {
            name: name.to_owned(),
            free_bytes: 2,
            total_bytes: 10,
        };
        link.measured(&[space("data"), space("unknown")]);
        let Some(HubEvent::NodeAttached { roots, .. }) = link.clock(5_000) else {
            panic!("a clock that steps ahead is told at once")
        };
        assert_eq!((roots.len(), roots[0].free_bytes), (1, 2));
        assert_eq!(roots[0].total_bytes, 10);
    }

    #[test]
    fn whose_clock_is_off_and_by_how_much_is_said() {
        let said = compared;
        assert!(
            said(-75_000).contains("clock 75 s behind its own: set that of the node's host by NTP")
        );
        assert!(said(75_000).contains("clock 75 s ahead of its own: set that of the node's"));
        assert!(said(2_000).contains("2 s ahead of its own, and up to 60 s do no harm: check also the clock of the host that signs"));
    }

    #[test]
    fn a_clock_that_steps_ahead_is_told_at_once_and_one_that_looks_late_only_when_it_stays_so() {
        let mut skews = Skews::new(0);
        let told = |skews: &mut Skews, all: &[i64]| -> Vec<_> {
            all.iter().map(|skew| skews.measured(*skew)).collect()
        };
        assert_eq!(told(&mut skews, &[500, -70_000, 20]), [None, None, None]);
        assert_eq!(told(&mut skews, &[40_000, 39_500]), [Some(40_000), None]);
        let late = [None, None, Some(39_500), Some(-70_000), None];
        assert_eq!(
            told(&mut skews, &[-70_000, -70_000, -70_000, -70_000, -70_000])[3..],
            late[3..]
        );
    }
}
