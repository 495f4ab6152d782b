//! One attempt of a transfer on this node: what its owner sees of it, and what its threads share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, Sender};
use headrace_core::code::{Code, Failure, Retry};
use headrace_core::message::{Hello, Totals};
use headrace_core::shares::TransferShare;
use headrace_core::statement::Kept;
use headrace_core::ticket::{Probe, Ticket, VerifiedTicket};
use headrace_core::value::{Label, Timestamp};
use headrace_core::wishes::Wishes;
use headrace_io::device::written_bytes;
use headrace_io::root::Root;
use headrace_io::stream::TlsStream;
use parking_lot::{Condvar, Mutex};

use super::counters::{Counters, read};
use super::diagnosis::Meter;
use super::failures::Permitted;
use super::flows::{Flows, Marks, Side};
use super::landing::EpochRules;
use super::link::Guard;
use super::pace::Pace;
use super::shares::Claim;

/// Which part this node plays, and where.
#[derive(Debug, Clone)]
pub enum Role {
    /// It reads from this root.
    Source(Arc<Root>),
    /// It writes to this root.
    Destination(Arc<Root>),
    /// It reads from the first and writes to the second.
    Local(Arc<Root>, Arc<Root>),
}

/// How to get together with the other node. Its key is the one in the ticket.
#[derive(Debug, Clone)]
pub enum Peer {
    /// Dial it, at the first address that answers.
    Dial(Vec<SocketAddr>),
    /// Wait until it dials.
    Await,
}

/// Settings of one attempt.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Bytes of a unit, a power of two from 256 KiB to 1 GiB. A unit of which only a part came is sent again, one for each stream, so
    /// larger ones cost more after a cut and make the end of a transfer longer; smaller ones cost journal. Default 4 MiB.
    pub unit_bytes: u64,
    /// Data connections. Default: what the settings of the node that dials say.
    pub streams: Option<u16>,
    /// Silence after which a sign of life is sent. Default 5 s.
    pub keep_alive: Duration,
    /// Silence after which the other node is taken for dead. Shorter notices sooner, longer survives worse paths. Default 30 s.
    pub dead_after: Duration,
    /// How long the other node may take nothing though it gives signs of life: its storage may be stalled. Default 10 min.
    pub stalled_after: Duration,
    /// Longest time from a first packet to the end of a handshake. Default 10 s.
    pub connect: Duration,
    /// How long a lost connection is sought again before the attempt ends. Default 60 s.
    pub reconnect: Duration,
    /// When what has arrived is made durable.
    pub epochs: EpochRules,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            unit_bytes: 4 << 20,
            streams: None,
            keep_alive: Duration::from_secs(5),
            dead_after: Duration::from_secs(30),
            stalled_after: Duration::from_mins(10),
            connect: Duration::from_secs(10),
            reconnect: Duration::from_mins(1),
            epochs: EpochRules::default(),
        }
    }
}

impl Tuning {
    /// These settings, with what was set for the transfer in their place.
    #[must_use]
    pub fn wished(self, wishes: Wishes) -> Self {
        Self {
            streams: wishes.streams().or(self.streams),
            unit_bytes: wishes.unit_bytes().unwrap_or(self.unit_bytes),
            ..self
        }
    }
}

/// An attempt to be started.
#[derive(Clone)]
pub struct AttemptSpec {
    /// The verified ticket.
    pub ticket: VerifiedTicket,
    /// Which part this node plays.
    pub role: Role,
    /// How to get together with the other node; of no meaning for a local copy.
    pub peer: Peer,
    /// `overwrites.jsonl`; checked against the ticket. Not read by a source.
    pub overwrites: Option<PathBuf>,
    /// `deletes.jsonl`; checked against the ticket. Not read by a source.
    pub deletes: Option<PathBuf>,
    /// Its share of the links that its node was told of; `None` takes part in none.
    pub share: Option<TransferShare>,
    /// The node's folder for journals; each transfer has its own in it.
    pub state_dir: PathBuf,
    /// Settings.
    pub tuning: Tuning,
    /// Whether it may begin: asked while its lists are checked, which takes minutes where they are long. Once it has begun, who has its handle stops it.
    pub permitted: Permitted,
}

/// How far an attempt has come, as this node counts it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files and symlinks of the source so far.
    pub files_total: u64,
    /// Files and symlinks that are at their destination, durable.
    pub files_done: u64,
    /// Entries that failed.
    pub files_failed: u64,
    /// Bytes of the files that are to be copied, so far; at a source, of all files.
    pub bytes_total: u64,
    /// Bytes that arrived and were verified; at a source, bytes sent.
    pub bytes_received: u64,
    /// Bytes that are durable at the destination; zero at a source, which does not know.
    pub bytes_durable: u64,
    /// Of these, the bytes of files that are whole and have their names: what stays when no attempt follows.
    pub bytes_whole: u64,
    /// Bytes that arrived again because they were not durable when a session ended.
    pub resent_bytes: u64,
    /// Bits of file content per second, over the last seconds.
    pub rate_bps: u64,
    /// Data connections.
    pub streams: u64,
    /// Whether the totals are whole: all names of the source have come.
    pub listed: bool,
    /// What this node knows of them, and where its threads spent their time.
    pub own: Side,
    /// What limits the attempt now, with its evidence; empty while unknown.
    pub limiter: String,
}

/// Why an attempt is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody asked for it; it may be resumed.
    Requested,
    /// The ticket was revoked, or the service is gone.
    Revoked,
    /// The node is shutting down.
    Shutdown,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything has arrived.
    Complete,
    /// Everything has been tried, some entries failed.
    Partial,
    /// It could not be brought to its end; what was done stays and counts on resume.
    Failed,
    /// It was stopped.
    Stopped,
}

/// What this node can say under its signature at the end of an attempt.
#[derive(Debug, Clone)]
pub struct StatementFields {
    /// Counts and digests, as the destination has them.
    pub totals: Totals,
    /// Whether the destination was read back from its storage.
    pub verified_at_rest: bool,
    /// Whether content was encrypted on its way; always, when it went over the network.
    pub encrypted: bool,
    /// Cipher suite; empty for a local copy.
    pub cipher: String,
    /// When the attempt began on this node.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Names that changed since they were surveyed or first read, at most 100; only the destination knows.
    pub changed: Vec<String>,
    /// Source names deleted by a move.
    pub sources_deleted: u64,
    /// Sources that a move left where they were although they had arrived, by reason.
    pub sources_kept: Vec<Kept>,
    /// The folder in the trash of the root that what was deleted was moved to.
    pub trash: Option<Label>,
}

/// The end of an attempt on this node.
#[derive(Debug, Clone)]
pub struct AttemptEnd {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not end well.
    pub failure: Option<Failure>,
    /// What can be signed; only after [`Outcome::Complete`] and [`Outcome::Partial`].
    pub statement: Option<StatementFields>,
    /// `files.jsonl`, at a destination that has a statement.
    pub files_list: Option<PathBuf>,
    /// `failed.jsonl`, at a destination that has a statement.
    pub failed_list: Option<PathBuf>,
}

impl AttemptEnd {
    /// Whether the same attempt may work later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|failure| failure.code.retry() == Retry::MayHelp)
    }
}

/// A running attempt, for its owner. Dropping it does not stop the attempt.
#[derive(Debug, Clone)]
pub struct AttemptHandle {
    pub(super) shared: Arc<Shared>,
}

impl AttemptHandle {
    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let counters = &self.shared.counters;
        let (rate_bps, limiter) =
            self.shared
                .meter
                .lock()
                .measure(counters, self.shared.pace.rate_bps(), Instant::now());
        Progress {
            files_total: read(&counters.files_total),
            files_done: read(&counters.files_done),
            files_failed: read(&counters.files_failed),
            bytes_total: read(&counters.bytes_total),
            bytes_received: read(&counters.bytes_received).max(read(&counters.bytes_sent)),
            bytes_durable: read(&counters.bytes_durable),
            bytes_whole: read(&counters.bytes_whole),
            resent_bytes: read(&counters.resent_bytes),
            streams: read(&counters.streams),
            own: Side {
                flows: self.shared.flows.sample(Instant::now()),
                stages: counters.stage_times(),
                deleted: read(&counters.deleted),
                looked_at: read(&counters.looked_at),
                durable_steps: read(&counters.durable_steps),
                socket_memory: self.shared.flows.socket_memory(),
                device_written_bytes: match read(&counters.synced_device) {
                    0 => None,
                    device => written_bytes(device),
                },
            },
            listed: counters.listed.load(Ordering::Relaxed),
            rate_bps,
            limiter,
        }
    }

    /// Change the rate ceiling, in bits per second; the ticket's own holds besides. Takes effect at once.
    pub fn set_rate(&self, rate_bps: Option<u64>) {
        *self.shared.wished_rate.lock() = rate_bps;
        self.shared.apply_rate();
    }

    /// Change the share of links. Takes effect at once, also for who waits.
    pub fn set_share(&self, share: Option<TransferShare>) {
        self.shared.set_share(share);
    }

    /// Go on under a renewed ticket.
    ///
    /// # Errors
    /// [`Code::TicketForeign`] when it does not renew the one the attempt runs under.
    pub fn renew(&self, ticket: VerifiedTicket) -> Result<(), Failure> {
        let mut current = self.shared.ticket.lock();
        *current = ticket.renewing(&current).ok_or_else(|| {
            Failure::new(
                Code::TicketForeign,
                "the ticket does not renew the one the attempt runs under",
            )
        })?;
        drop(current);
        self.shared.apply_rate();
        Ok(())
    }

    /// Stop: of each stream, the block that is under way is the last. The journal stays.
    pub fn stop(&self, reason: StopReason) {
        self.shared.stop.lock().get_or_insert(reason);
        self.shared.end_session();
        self.shared.ended.1.notify_all();
    }

    /// The end, once it is there.
    #[must_use]
    pub fn end(&self) -> Option<AttemptEnd> {
        self.shared.ended.0.lock().clone()
    }

    /// Wait for the end.
    #[must_use]
    pub fn wait(&self) -> AttemptEnd {
        let mut ended = self.shared.ended.0.lock();
        loop {
            if let Some(end) = &*ended {
                return end.clone();
            }
            self.shared.ended.1.wait(&mut ended);
        }
    }
}

/// A connection that was dialled to us and belongs to this attempt.
#[derive(Debug)]
pub(super) enum Arrival {
    /// The first of a session, with the dialler's hello.
    Session(TlsStream, Hello),
    /// A data connection of the session under way, with its number.
    Stream(u16, TlsStream),
}

/// The session under way, for data connections that want to join.
#[derive(Debug, Clone)]
pub(super) struct Joinable {
    pub(super) session: [u8; 16],
    pub(super) secret: [u8; 32],
}

/// What the threads of an attempt share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) ticket: Mutex<VerifiedTicket>,
    pub(super) counters: Arc<Counters>,
    pub(super) flows: Flows,
    pub(super) pace: Arc<Pace>,
    pub(super) claim: Arc<Claim>,
    wished_rate: Mutex<Option<u64>>,
    stop: Mutex<Option<StopReason>>,
    /// The session under way.
    session: Mutex<Weak<Guard>>,
    meter: Mutex<Meter>,
    ended: (Mutex<Option<AttemptEnd>>, Condvar),
    /// Connections dialled to us; the listener puts them in.
    pub(super) arrivals: (Sender<Arrival>, Receiver<Arrival>),
    pub(super) joinable: Mutex<Option<Joinable>>,
    pub(super) started: Timestamp,
    /// The other node has dialled again, so it has given the session under way up.
    pub(super) superseded: AtomicBool,
    /// Since when a leg of a probe moves something.
    moves_since: OnceLock<Instant>,
}

impl Shared {
    pub(super) fn new(ticket: VerifiedTicket, claim: Claim) -> Arc<Self> {
        let rate_bps = ticket.ticket().rate_ceiling_bps();
        Arc::new(Self {
            ticket: Mutex::new(ticket),
            counters: Arc::default(),
            flows: Flows::default(),
            pace: Arc::new(Pace::new(rate_bps)),
            claim: Arc::new(claim),
            wished_rate: Mutex::default(),
            stop: Mutex::default(),
            session: Mutex::default(),
            meter: Mutex::new(Meter::new(Instant::now())),
            ended: (Mutex::default(), Condvar::new()),
            arrivals: crossbeam_channel::bounded(usize::from(headrace_core::message::MAX_STREAMS)),
            joinable: Mutex::default(),
            started: Timestamp::from(SystemTime::now()),
            superseded: AtomicBool::new(false),
            moves_since: OnceLock::new(),
        })
    }

    /// What the ticket says now.
    pub(super) fn current(&self) -> Ticket {
        self.ticket.lock().ticket().clone()
    }

    /// Of which class the transfer is.
    pub(super) fn class(&self) -> Label {
        self.ticket.lock().ticket().execution.qos_class.clone()
    }

    /// Whether the attempt may go on.
    ///
    /// # Errors
    /// [`Code::Stopped`] or [`Code::TicketExpired`].
    pub(super) fn check(&self) -> Result<(), Failure> {
        if let Some(reason) = *self.stop.lock() {
            let message = match reason {
                StopReason::Requested => "stopped on request",
                StopReason::Revoked => "stopped because the permission was withdrawn",
                StopReason::Shutdown => "stopped because the node shuts down",
            };
            return Err(Failure::new(Code::Stopped, message));
        }
        if self.superseded.load(Ordering::Acquire) {
            return Err(Failure::new(
                Code::PeerUnreachable,
                "the other node has dialled again",
            ));
        }
        let (expires, probe) = {
            let current = self.ticket.lock();
            (current.ticket().expires, current.ticket().execution.probe)
        };
        if let Some(probe) = probe {
            self.check_time_of(probe)?;
        }
        if Timestamp::from(SystemTime::now()) >= expires {
            return Err(Failure::new(
                Code::TicketExpired,
                format!("the ticket expired at {expires} and was not renewed"),
            ));
        }
        Ok(())
    }

    /// Whether a leg of a probe may go on.
    ///
    /// # Errors
    /// [`Code::ProbeOver`] when its time is over, which begins with its first byte.
    fn check_time_of(&self, probe: Probe) -> Result<(), Failure> {
        if self.counters.moved() == 0 {
            return Ok(());
        }
        let since = self.moves_since.get_or_init(Instant::now);
        if since.elapsed() < Duration::from_secs(probe.max_seconds) {
            return Ok(());
        }
        Err(Failure::new(
            Code::ProbeOver,
            format!("the leg of the probe took its {} s", probe.max_seconds),
        ))
    }

    /// Let a stop end this session.
    pub(super) fn watch(&self, session: &Arc<Guard>) {
        *self.session.lock() = Arc::downgrade(session);
        // It may have come while the session began.
        self.end_session();
    }

    /// End the session under way, if the attempt may not go on.
    fn end_session(&self) {
        if let Err(failure) = self.check()
            && let Some(session) = self.session.lock().upgrade()
        {
            session.fail(failure);
        }
    }

    pub(super) fn end(&self, end: AttemptEnd) {
        *self.ended.0.lock() = Some(end);
        self.ended.1.notify_all();
    }

    pub(super) fn set_share(&self, share: Option<TransferShare>) {
        self.flows
            .mark(share.as_ref().map(Marks::of).unwrap_or_default());
        self.claim.change_share(share, &self.pace);
    }

    fn apply_rate(&self) {
        let ceiling = self.ticket.lock().ticket().rate_ceiling_bps();
        let wished = *self.wished_rate.lock();
        self.pace.set_rate(ceiling.into_iter().chain(wished).min());
    }
}

#[cfg(test)]
mod tests {
    use super::{Tuning, Wishes};

    #[test]
    fn what_was_set_stands_for_what_the_node_chooses_and_the_rest_stays() {
        let tuning = |streams, unit_bytes| {
            let wishes = Wishes::new(streams, unit_bytes).expect("within the limits");
            let tuning = Tuning::default().wished(wishes);
            (tuning.streams, tuning.unit_bytes)
        };
        assert_eq!(tuning(None, None), (None, 4 << 20));
        assert_eq!(tuning(Some(3), None), (Some(3), 4 << 20));
        assert_eq!(tuning(None, Some(1 << 20)), (None, 1 << 20));
    }
}
