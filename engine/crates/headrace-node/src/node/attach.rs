//! The node's end of the stream: dials the hub, stays attached, and does what permits and tickets allow.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::permit::VerifiedPermit;
use headrace_core::sealed::MAX_CLOCK_SKEW_MS;
use headrace_core::text::visible;
use headrace_core::value::Timestamp;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

use super::host;
use super::lister::{self, Opened};
use super::mover::StopCause;
use super::outage::{GOOD_STREAM, Outage};
use super::{Dialer, Shared, results};
use crate::blocking::blocking;
use crate::convert::{
    AttemptId, RootSpace, missing_out, progress_out, root_out, spaces_out, violation,
};
use crate::problem::{ControlCode, Problem};
use crate::proto::control_client::ControlClient;
use crate::proto::{
    self, Empty, FromNode, Hello, MAX_MESSAGE_BYTES, ToNode, VERSIONS, from_node, to_node,
};
use crate::transport;

/// Pause before the second try to attach; later ones double.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause while the service does not answer. It restarts within seconds, and a try that finds nobody costs little.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after the service answered and refused: somebody has to change something first.
const LONGEST_PAUSE_REFUSED: Duration = Duration::from_secs(30);
const WELCOME_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest wait for the hub to take this node's reason not to stay.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// How often the settings are looked at, and the clock is told.
const SETTINGS_INTERVAL: Duration = Duration::from_secs(2);
/// How often the service is told what is free below the roots, besides when attempts have ended.
const SPACE_INTERVAL: Duration = Duration::from_mins(1);
/// Messages that wait to be sent.
const OUT_MESSAGES: usize = 256;
/// Requests of the hub that may have to wait for a disk or for a list, and are served at once. What steers a running
/// attempt waits for nothing and is not among them.
const MAX_REQUESTS: usize = 64;
/// Transfers that are forgotten at once. Each may wait for an attempt to stop, and no start waits for that.
const MAX_FORGETS: usize = 16;
/// Most of what the service wants to be known here that is written to the log.
const NOTICE_CHARS: usize = 1000;
/// Parts of a listing that wait to be sent.
const LISTING_PARTS: usize = 4;

/// Stays attached until `closing`, or until a connection that can't be made again is over.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut dialer: Dialer,
    mut closing: watch::Receiver<bool>,
) {
    let mut pauses = Pauses::default();
    let mut outage = Outage::default();
    loop {
        let started = Instant::now();
        let problem = tokio::select! {
            problem = attach(&shared, &mut dialer, &mut outage) => problem,
            _ = closing.wait_for(|closing| *closing) => return,
        };
        let _ = shared.attached.send_replace(Err(problem.clone()));
        if matches!(dialer, Dialer::Used) {
            return;
        }
        if started.elapsed() > GOOD_STREAM {
            pauses = Pauses::default();
        }
        let pause = pauses.after(&problem);
        if let Some(line) = outage.ended(&problem, pause, Instant::now()) {
            tracing::warn!(code = %problem.code, "{line}");
        }
        tokio::select! {
            () = tokio::time::sleep(jitter(pause)) => {}
            _ = closing.wait_for(|closing| *closing) => return,
        }
    }
}

/// Pauses between tries: they double up to a limit that depends on what went wrong, and begin anew when that changes.
#[derive(Debug, Default)]
struct Pauses {
    last: Option<(Duration, bool)>,
}

impl Pauses {
    /// The pause after a try that ended with this problem.
    fn after(&mut self, problem: &Problem) -> Duration {
        let refused =
            !problem.is(ControlCode::HubUnreachable) && !problem.is(ControlCode::HubClosed);
        let longest = if refused {
            LONGEST_PAUSE_REFUSED
        } else {
            LONGEST_PAUSE
        };
        let pause = match self.last {
            Some((last, same)) if same == refused => (last * 2).min(longest),
            _ => FIRST_PAUSE,
        };
        self.last = Some((pause, refused));
        pause
    }
}

/// A stream from its beginning to its end; gives the reason for the end.
async fn attach(shared: &Arc<Shared>, dialer: &mut Dialer, outage: &mut Outage) -> Problem {
    let (wire, local) = match dialer.dial(shared).await {
        Ok(connection) => connection,
        Err(problem) => return problem,
    };
    match attach_over(shared, wire, local, outage).await {
        Ok(problem) | Err(problem) => problem,
    }
}

async fn attach_over(
    shared: &Arc<Shared>,
    wire: Box<dyn transport::Wire>,
    local: Option<IpAddr>,
    outage: &mut Outage,
) -> Result<Problem, Problem> {
    let channel = transport::channel(wire).await?;
    let client = ControlClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let (out, messages) = mpsc::channel(OUT_MESSAGES);
    let session = Arc::new(Session {
        shared: Arc::clone(shared),
        client,
        out,
        local,
        requests: Semaphore::new(MAX_REQUESTS),
        forgets: Semaphore::new(MAX_FORGETS),
    });
    session
        .send(0, from_node::Message::Hello(session.hello()))
        .await?;
    let begun = timeout(WELCOME_TIMEOUT, async {
        let mut client = session.client.clone();
        let mut stream = client
            .attach(ReceiverStream::new(messages))
            .await?
            .into_inner();
        let first = stream.message().await?;
        Ok::<_, tonic::Status>((stream, first))
    });
    let (mut stream, first) = begun.await.map_err(|_| silent())??;
    match first.and_then(|first| first.message) {
        Some(to_node::Message::Welcome(welcome)) => session.welcomed(welcome, &mut stream).await?,
        Some(to_node::Message::Goodbye(problem)) => return Err(problem.into()),
        _ => return Err(violation("a stream that does not begin with a welcome")),
    }
    if let Some(line) = outage.over(Instant::now()) {
        tracing::info!("{line}");
    }
    let _ = shared.attached.send_replace(Ok(()));
    shared.attempts.ended.notify_one();
    let mut progress = tokio::time::interval(PROGRESS_INTERVAL);
    let mut settings = tokio::time::interval(SETTINGS_INTERVAL);
    // The hello has said it as of now.
    let first = Instant::now() + SPACE_INTERVAL;
    let mut space = tokio::time::interval_at(first.into(), SPACE_INTERVAL);
    space.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // One look at the settings and roots at a time, beside the stream: a file system may hang.
    let mut looking: Option<JoinHandle<bool>> = None;
    let mut measuring: Option<JoinHandle<Vec<RootSpace>>> = None;
    loop {
        let may_measure = measuring.is_none();
        let measured = async {
            match &mut measuring {
                Some(measure) => measure.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        let looked = async {
            match &mut looking {
                Some(look) => look.await.unwrap_or(false),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            message = stream.message() => match message? {
                Some(ToNode { message: Some(to_node::Message::Goodbye(problem)), .. }) => {
                    let problem = Problem::from(problem);
                    if problem.is(ControlCode::NodeRevoked) {
                        shared.attempts.stop_all(&StopCause::Revoked);
                    }
                    return Ok(problem);
                }
                Some(message) => session.serve(message).await?,
                None => return Ok(Problem::new(ControlCode::HubUnreachable, "the service closed the connection")),
            },
            _ = progress.tick() => session.send_progress(),
            changed = looked => {
                looking = None;
                if changed {
                    session.send(0, from_node::Message::Changed(session.hello())).await?;
                }
            },
            _ = settings.tick() => {
                session.send_clock();
                if looking.is_none() {
                    let shared = Arc::clone(shared);
                    looking = Some(tokio::task::spawn_blocking(move || shared.reload()));
                }
            },
            spaces = measured => {
                measuring = None;
                session.send_spaces(spaces);
            },
            _ = space.tick(), if may_measure => {
                let roots = shared.with_settings(|_, roots| roots.clone());
                measuring = Some(tokio::task::spawn_blocking(move || roots.spaces()));
            },
            () = shared.attempts.over.notified() => space.reset_immediately(),
            () = shared.attempts.ended.notified() => results::report(Arc::clone(shared), session.client.clone()),
        }
    }
}

/// One stream.
struct Session {
    shared: Arc<Shared>,
    client: ControlClient<Channel>,
    out: mpsc::Sender<FromNode>,
    /// The address this end of the connection has.
    local: Option<IpAddr>,
    requests: Semaphore,
    forgets: Semaphore,
}

impl Session {
    fn hello(&self) -> Hello {
        let Shared {
            attempts, clock, ..
        } = &*self.shared;
        let (name, roots, missing) = self.shared.with_settings(|config, roots| {
            (config.name.clone(), roots.info(), roots.missing().to_vec())
        });
        Hello {
            versions: Some(VERSIONS),
            name,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            roots: roots.iter().map(root_out).collect(),
            data_addresses: self.data_addresses(),
            clock_unix_ms: clock().unix_ms(),
            attempts: attempts.known().iter().map(Into::into).collect(),
            missing_roots: missing.into_iter().map(missing_out).collect(),
        }
    }

    /// What was set, or where this node can be reached from the hub's side.
    fn data_addresses(&self) -> Vec<String> {
        let Some(listening) = self.shared.mover.data_address() else {
            return Vec::new();
        };
        let (listens, set) = self.shared.with_settings(|config, _| {
            let listens = !config.data.listen.is_empty();
            (listens, config.data.advertise.clone())
        });
        if !listens || !set.is_empty() {
            return set;
        }
        let ip = if listening.ip().is_unspecified() {
            self.local.unwrap_or(listening.ip())
        } else {
            listening.ip()
        };
        vec![SocketAddr::new(ip, listening.port()).to_string()]
    }

    /// Takes what the hub says of itself, or tells it why this node does not stay.
    async fn welcomed(
        &self,
        welcome: proto::Welcome,
        stream: &mut Streaming<ToNode>,
    ) -> Result<(), Problem> {
        self.check(&welcome)?;
        self.shared.attempts.hub_can(welcome.features);
        if welcome.features & proto::EMPTIES_TRASH == 0 {
            tracing::warn!(
                "the service is of a release that does not ask nodes to empty their trashes: nothing is removed from them until it is \
                 replaced by one of today's"
            );
        }
        let shared = Arc::clone(&self.shared);
        let learn = move || shared.learn(&welcome.successions, &welcome.hub_succession);
        let learned = blocking(learn).await?;
        if let Err(problem) = &learned {
            let goodbye = from_node::Message::Goodbye(problem.clone().into());
            self.send(0, goodbye).await?;
            // The hub ends the stream when it has heard that.
            let ended = async { while let Ok(Some(_)) = stream.message().await {} };
            let _ = timeout(GOODBYE_TIMEOUT, ended).await;
        }
        learned
    }

    fn check(&self, welcome: &proto::Welcome) -> Result<(), Problem> {
        if !(VERSIONS.lowest..=VERSIONS.highest).contains(&welcome.version) {
            let message = format!(
                "the service speaks version {} of the control protocol",
                welcome.version
            );
            return Err(Problem::new(ControlCode::VersionUnsupported, message));
        }
        let skew = (self.shared.clock)()
            .unix_ms()
            .saturating_sub(welcome.clock_unix_ms);
        if skew.saturating_abs() > MAX_CLOCK_SKEW_MS {
            let message = format!(
                "the clocks of this node and of the service differ by {} s, at most {} s are allowed: set both by NTP",
                skew / 1000,
                MAX_CLOCK_SKEW_MS / 1000
            );
            return Err(Problem::new(ControlCode::ClockSkew, message));
        }
        Ok(())
    }

    async fn send(&self, call: u64, message: from_node::Message) -> Result<(), Problem> {
        let message = FromNode {
            call,
            message: Some(message),
        };
        let closed = |_| {
            Problem::new(
                ControlCode::HubUnreachable,
                "the control connection is over",
            )
        };
        self.out.send(message).await.map_err(closed)
    }

    /// What finds no room is dropped: a clock that comes late says nothing.
    fn send_clock(&self) {
        let message = from_node::Message::ClockUnixMs((self.shared.clock)().unix_ms());
        let _ = self.out.try_send(FromNode {
            call: 0,
            message: Some(message),
        });
    }

    /// What finds no room is dropped: the next one says what is free then.
    fn send_spaces(&self, spaces: Vec<RootSpace>) {
        let message = from_node::Message::Spaces(spaces_out(spaces));
        let _ = self.out.try_send(FromNode {
            call: 0,
            message: Some(message),
        });
    }

    /// Progress that finds no room is dropped: the next one says more.
    fn send_progress(&self) {
        for (id, counts) in self.shared.attempts.progress() {
            let message = from_node::Message::Progress(progress_out(&id, counts));
            let _ = self.out.try_send(FromNode {
                call: 0,
                message: Some(message),
            });
        }
    }

    /// Serves a request: at once what steers a running attempt, anything else beside the stream.
    async fn serve(self: &Arc<Self>, message: ToNode) -> Result<(), Problem> {
        let ToNode {
            call,
            message: Some(message),
        } = message
        else {
            return Ok(());
        };
        if let Some(done) = self.steer(&message) {
            if let Err(problem) = &done {
                tracing::warn!(code = %problem.code, "what the service asked for is refused: {problem}");
            }
            return self.send(call, answer_of(done)).await;
        }
        if self.lane(&message).available_permits() == 0 {
            let problem = Problem::new(
                ControlCode::NodeBusy,
                "the node serves too many requests: try again",
            );
            return self
                .send(call, from_node::Message::Failed(problem.into()))
                .await;
        }
        let session = Arc::clone(self);
        tokio::spawn(async move {
            let Ok(_running) = session.lane(&message).acquire().await else {
                return;
            };
            let answer = answer_of(session.act(call, message).await);
            // When the stream is over, nobody waits for the answer.
            let _ = session.send(call, answer).await;
        });
        Ok(())
    }

    /// What limits how many requests of this kind are served at once.
    fn lane(&self, message: &to_node::Message) -> &Semaphore {
        match message {
            to_node::Message::Forget(_) => &self.forgets,
            _ => &self.requests,
        }
    }

    /// Does what steers a running attempt; `None` of any other request.
    fn steer(&self, message: &to_node::Message) -> Option<Result<from_node::Message, Problem>> {
        let attempts = &self.shared.attempts;
        let done = match message {
            to_node::Message::Stop(stop) => {
                attempts.stop(&stop.transfer, StopCause::Requested(stop.reason.clone()))
            }
            to_node::Message::SetRate(rate) => attempts.set_rate(&rate.transfer, rate.rate_bps),
            to_node::Message::SetShare(told) => attempts.set_share(&told.transfer, &told.share),
            to_node::Message::SetShares(links) => attempts.set_links(links),
            to_node::Message::Notice(text) => {
                tracing::warn!("the service says of this node: {}", notice(text));
                Ok(())
            }
            to_node::Message::Renew(ticket) => self
                .shared
                .with_settings(|_, roots| attempts.renew(ticket, roots)),
            _ => return None,
        };
        Some(done.map(|()| from_node::Message::Done(Empty {})))
    }

    async fn act(
        self: &Arc<Self>,
        call: u64,
        message: to_node::Message,
    ) -> Result<from_node::Message, Problem> {
        let attempts = &self.shared.attempts;
        match message {
            to_node::Message::Browse(request) => {
                let opened = self.open(&request.permit, &request.path)?;
                let page = blocking(move || lister::browse(&opened, &request.after, request.limit))
                    .await??;
                return Ok(from_node::Message::Browsed(page));
            }
            to_node::Message::LookAtHost(request) => {
                let to = match request.to.as_str() {
                    "" => None,
                    text => Some(
                        text.parse()
                            .map_err(|_| violation("a route to no address"))?,
                    ),
                };
                let roots = self.shared.with_settings(|_, roots| roots.clone());
                return Ok(from_node::Message::Host(
                    host::look(roots, to, request.calls).await?,
                ));
            }
            to_node::Message::EmptyTrash(request) => {
                let shared = Arc::clone(&self.shared);
                let sure = Timestamp::from_unix_ms(request.until_unix_ms);
                blocking(move || shared.sweep_trash(sure)).await??;
            }
            to_node::Message::OpenListing(request) => {
                let opened = self.open(&request.permit, &request.path)?;
                tokio::spawn(Arc::clone(self).list(call, opened, request));
            }
            to_node::Message::Start(start) => {
                let roots = self.shared.with_settings(|_, roots| roots.clone());
                let fetch =
                    |id: AttemptId, list, path| fetch_list(self.client.clone(), id, list, path);
                attempts.start(start, &roots, fetch).await?;
            }
            to_node::Message::Forget(forget) => {
                let roots = self.shared.with_settings(|_, roots| roots.clone());
                attempts.forget(&forget.transfer, roots).await?;
            }
            _ => return Err(violation("a greeting in the middle of a stream")),
        }
        Ok(from_node::Message::Done(Empty {}))
    }

    fn open(&self, permit: &str, path: &[u8]) -> Result<Opened, Problem> {
        let (key, now) = (self.shared.key.public(), (self.shared.clock)());
        let roots = self.shared.with_settings(|_, roots| roots.clone());
        let permit = VerifiedPermit::verify(permit, &roots.grants, key, now)?;
        Opened::new(permit, roots, path)
    }

    /// Sends a listing in a call of its own, at the pace the hub takes it.
    async fn list(self: Arc<Self>, call: u64, opened: Opened, request: proto::OpenListing) {
        let (parts, stream) = mpsc::channel(LISTING_PARTS);
        let walking = tokio::task::spawn_blocking(move || {
            lister::list(&opened, &request, |part| {
                parts.blocking_send(lister::message(call, part)).is_ok()
            });
        });
        let mut client = self.client.clone();
        let sent = client.send_listing(ReceiverStream::new(stream)).await;
        if let Err(status) = sent {
            tracing::info!("a listing was not taken: {}", Problem::from(status));
        }
        let _ = walking.await;
    }
}

/// Brings an overwrite or delete list of an attempt to a file.
async fn fetch_list(
    mut client: ControlClient<Channel>,
    id: AttemptId,
    list: proto::List,
    path: std::path::PathBuf,
) -> Result<(), Problem> {
    let request = proto::ListRequest {
        attempt: Some((&id).into()),
        list: list.into(),
    };
    let mut chunks = client.fetch_list(request).await?.into_inner();
    let failed = |error: std::io::Error| Problem::state("write", &path, &error);
    // Made at once, not on another thread: who gives this up on the way removes the file, and none may come after that.
    let file = std::fs::File::create(&path).map_err(failed)?;
    let mut file = tokio::fs::File::from_std(file);
    while let Some(chunk) = timeout(WELCOME_TIMEOUT, chunks.message())
        .await
        .map_err(|_| silent())??
    {
        file.write_all(&chunk.bytes).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)
}

/// What the service wants to be known here, as it stands in a log: one line, and no longer than that.
fn notice(text: &str) -> String {
    let start: String = text.chars().take(NOTICE_CHARS).collect();
    visible(&start).into_owned()
}

fn answer_of(done: Result<from_node::Message, Problem>) -> from_node::Message {
    done.unwrap_or_else(|problem| {
        tracing::info!(code = %problem.code, "refused a request: {problem}");
        from_node::Message::Failed(problem.into())
    })
}

fn silent() -> Problem {
    Problem::new(ControlCode::HubUnreachable, "the service does not answer")
}

/// Between half of a delay and all of it, so that many nodes don't come back at the same instant.
fn jitter(delay: Duration) -> Duration {
    let [byte] = crate::state::random_bytes::<1>().unwrap_or([255]);
    delay / 2 + delay / 2 * u32::from(byte) / 255
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(code: ControlCode, tries: usize) -> Vec<Duration> {
        let mut pauses = Pauses::default();
        let problem = Problem::new(code, "");
        (0..tries).map(|_| pauses.after(&problem)).collect()
    }

    #[test]
    fn what_the_service_says_is_one_line_of_the_log_and_has_an_end() {
        let said = notice(&format!(
            "512 roots\nhave \u{1b}[31mnone{}",
            "x".repeat(5000)
        ));
        assert!(said.starts_with("512 roots"), "{said}");
        assert!(!said.chars().any(char::is_control), "{said}");
        assert!(said.len() < 1100, "{}", said.len());
    }

    #[test]
    fn a_service_that_does_not_answer_is_sought_at_least_every_second() {
        for code in [ControlCode::HubUnreachable, ControlCode::HubClosed] {
            let longest = pauses(code, 1_000).into_iter().max();
            assert_eq!(longest, Some(Duration::from_secs(1)));
        }
    }

    #[test]
    fn a_node_that_is_refused_asks_less_and_less_often() {
        let pauses = pauses(ControlCode::NotEnrolled, 1_000);
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&Duration::from_secs(30)));
    }

    #[test]
    fn a_refusal_while_the_service_starts_does_not_prolong_the_pause() {
        let mut pauses = Pauses::default();
        for _ in 0..9 {
            pauses.after(&Problem::new(ControlCode::HubUnreachable, ""));
        }
        let pause = pauses.after(&Problem::new(ControlCode::NotEnrolled, ""));
        assert_eq!(pause, FIRST_PAUSE);
    }
}
