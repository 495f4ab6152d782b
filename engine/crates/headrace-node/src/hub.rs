//! The service's side of the control plane: nodes dial it and stay attached.
//!
//! The hub carries permits and tickets and verifies none: nodes do, so that nothing here can make a node act.

mod attempts;
mod events;
mod journal;
pub mod keys;
mod link;
mod records;
mod refusals;
mod results;
mod server;
mod shares;
mod survey;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headrace_core::name::{Component, RelPath};
use headrace_core::permit::Permit;
use headrace_core::sealed::{Document, DocumentType, PublicKey, SigningKey};
use headrace_core::succession::{MAX_SUCCESSIONS, Succession};
use headrace_core::ticket::Execution;
use headrace_core::value::Timestamp;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;

pub use events::{AttemptEnded, HubEvent};
pub use survey::Surveyed;

use crate::blocking::blocking;
use crate::convert::{RootInfo, entry_in, violation};
use crate::problem::{ControlCode, Problem};
use crate::proto::control_server::ControlServer;
use crate::proto::{MAX_MESSAGE_BYTES, MAX_PAGE_ENTRIES, to_node};
use crate::state::{StateDir, random_id};
use crate::strangers::{Admitted, Strangers};
use crate::token::JoinToken;
use crate::transport::{
    Acceptor, CONNECTION_WINDOW, Clock, Identified, KEEP_ALIVE, MAX_STREAMS, Peer, STREAM_WINDOW,
    Wire,
};
use events::EventQueue;
use keys::HubKeys;
use link::{Answer, Link, unreachable_node};
use records::Records;
use refusals::Refusals;

/// Joins that wait for the service's answer at most.
const MAX_JOINS: usize = 64;
/// Longest wait for that answer.
const JOIN_TIMEOUT: Duration = Duration::from_mins(1);
/// Connections of one enrolled key at most: its stream, those it replaces, and a join.
const MAX_OF_NODE: usize = 8;
/// Surveys that run at once.
const MAX_SURVEYS: usize = 16;

/// How a hub is set up.
pub struct HubOptions {
    /// host:port to listen on, port 0 picks one; `None` takes only connections given to [`Hub::adopt`].
    pub listen: Option<String>,
    /// Folder for the hub's key and its records of attempts.
    pub state_dir: PathBuf,
    /// Most nodes attached at once. Each costs a connection and about 100 KiB.
    pub max_nodes: usize,
    /// Nodes that may attach from the first moment on: those that dial before they are enrolled are told to join anew.
    pub enrolled: HashSet<PublicKey>,
    /// What time it is.
    pub clock: Clock,
}

/// One folder's names, a page of them.
#[derive(Debug, Clone)]
pub struct Page {
    /// In order of raw bytes; each path is a single name.
    pub entries: Vec<headrace_core::entry::Entry>,
    /// Whether there are more.
    pub more: bool,
}

/// What a service answers to a node that wants to join.
#[derive(Debug, Clone)]
pub enum JoinAnswer {
    /// It is enrolled, and its roots accept this authority.
    Accept {
        /// Whose permits and tickets they are.
        authority: PublicKey,
    },
    /// It is not.
    Refuse {
        /// Why, for the person at the node.
        reason: String,
    },
}

/// A running hub. Dropping it closes it.
pub struct Hub {
    shared: Arc<Shared>,
    address: String,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    runtime: tokio::runtime::Handle,
}

/// What the hub's tasks share.
pub(crate) struct Shared {
    keys: HubKeys,
    clock: Clock,
    max_nodes: usize,
    events: EventQueue,
    enrolled: Mutex<HashSet<PublicKey>>,
    links: Mutex<HashMap<PublicKey, Arc<Link>>>,
    joins: Mutex<HashMap<String, (PublicKey, oneshot::Sender<JoinAnswer>)>>,
    records: Arc<Mutex<Records>>,
    surveys: Semaphore,
    /// The links of each node (JSON), which it hears again when it attaches.
    node_links: Mutex<HashMap<PublicKey, String>>,
    /// What every node is told when it attaches: of the authority keys, and of our own.
    announced: Mutex<(Vec<String>, String)>,
    incoming: mpsc::Sender<std::io::Result<Identified>>,
    strangers: Arc<Strangers>,
    seated: Seated,
    refusals: Refusals,
    closing: watch::Sender<bool>,
}

impl Hub {
    /// Starts listening, with the key kept in the state folder (made on first start).
    ///
    /// # Errors
    /// `state_failed`, `config_invalid`, or `bad_argument` when the address can't be listened on.
    pub async fn start(options: HubOptions) -> Result<Self, Problem> {
        let state = StateDir::open(&options.state_dir)?;
        let keys = HubKeys::open(&state, (options.clock)())?;
        let records = Records::open(state.path())?;
        let events = EventQueue::default();
        for record in records.running() {
            events.begin(&record.id(), record.source, record.destination);
        }
        let (incoming, connections) = mpsc::channel(16);
        let shared = Arc::new(Shared {
            keys,
            clock: options.clock,
            max_nodes: options.max_nodes,
            events,
            enrolled: Mutex::new(options.enrolled),
            links: Mutex::default(),
            joins: Mutex::default(),
            records: Arc::new(Mutex::new(records)),
            surveys: Semaphore::new(MAX_SURVEYS),
            node_links: Mutex::default(),
            announced: Mutex::default(),
            incoming,
            strangers: Arc::default(),
            seated: Arc::default(),
            refusals: Refusals::default(),
            closing: watch::Sender::new(false),
        });
        let mut tasks = Vec::new();
        let mut address = String::new();
        if let Some(listen) = options.listen {
            let (task, listening) = shared.listen(&listen).await?;
            (tasks, address) = (vec![task], listening);
        }
        let service = ControlServer::new(server::Server(Arc::clone(&shared)))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let serving = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE))
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .add_service(service)
            .serve_with_incoming(ReceiverStream::new(connections));
        let mut closing = shared.closing.subscribe();
        tasks.push(tokio::spawn(async move {
            tokio::select! {
                ended = serving => if let Err(error) = ended { tracing::error!("the control service ended: {error}") },
                _ = closing.wait_for(|closing| *closing) => {}
            }
        }));
        tasks.push(tokio::spawn(Arc::clone(&shared).keep_records()));
        Ok(Self {
            shared,
            address,
            tasks: Mutex::new(tasks),
            runtime: tokio::runtime::Handle::current(),
        })
    }

    /// host:port that is listened on; empty when nothing is.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The key that the hub answers with, which nodes pin.
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.shared.keys.answering((self.shared.clock)()).public()
    }

    /// A token that lets one node join, if the service takes its secret.
    #[must_use]
    pub fn join_token(&self, secret: &str, address: Option<&str>) -> JoinToken {
        let address = address.unwrap_or(&self.address).to_owned();
        JoinToken {
            address,
            key: self.key(),
            secret: secret.to_owned(),
        }
    }

    /// Which key comes after the hub's own, while there is one: the authority seals that for [`Hub::announce`].
    #[must_use]
    pub fn succession(&self) -> Option<&Succession> {
        self.shared.keys.succession((self.shared.clock)())
    }

    /// Tells nodes that attach from now on which authority keys came after which (sealed documents, oldest first; the latest
    /// [`MAX_SUCCESSIONS`] are told), and which key comes after the hub's own (empty: none).
    pub fn announce(&self, mut successions: Vec<String>, hub_succession: String) {
        let older = successions.len().saturating_sub(MAX_SUCCESSIONS);
        *self.shared.announced.lock() = (successions.split_off(older), hub_succession);
    }

    /// Lets the node with this key attach.
    pub fn enroll(&self, node: PublicKey) {
        self.shared.enrolled.lock().insert(node);
    }

    /// Detaches the node and refuses it from now on; its attempts stop, at both ends.
    pub fn revoke(&self, node: PublicKey) {
        let message = self.shared.refuse(node);
        let shared = Arc::clone(&self.shared);
        self.runtime
            .spawn(async move { shared.end_attempts_of(node, message).await });
    }

    /// Takes a connection that is not TLS, whose other end is known to hold the node key `peer`.
    ///
    /// # Errors
    /// `hub_closed`.
    pub async fn adopt(&self, wire: Box<dyn Wire>, peer: PublicKey) -> Result<(), Problem> {
        let peer = Peer {
            key: peer,
            from: None,
        };
        let connection = Ok(Identified::new(wire, peer, None));
        self.shared
            .incoming
            .send(connection)
            .await
            .map_err(|_| closed())
    }

    /// The next event in order; `None` once the hub is closed.
    pub async fn next_event(&self) -> Option<HubEvent> {
        self.shared.events.next(1).await.pop()
    }

    /// The events that wait, in order, at most `most`: at least one; none once the hub is closed.
    pub async fn next_events(&self, most: usize) -> Vec<HubEvent> {
        self.shared.events.next(most).await
    }

    /// Accepts or refuses a join. An accepted node is enrolled.
    ///
    /// # Errors
    /// `join_timeout` when the node no longer waits.
    pub fn answer_join(&self, request: &str, answer: JoinAnswer) -> Result<(), Problem> {
        let gone = || {
            Problem::new(
                ControlCode::JoinTimeout,
                "the node no longer waits for an answer: let it join again",
            )
        };
        let (node, waiting) = self.shared.joins.lock().remove(request).ok_or_else(gone)?;
        let accepted = matches!(answer, JoinAnswer::Accept { .. });
        if accepted {
            self.enroll(node);
        }
        waiting.send(answer).map_err(|_| {
            self.shared.enrolled.lock().remove(&node);
            gone()
        })
    }

    /// Lists one folder under a permit. `path` is below the permit's root, at or below its prefix; `after` is the last
    /// name of the page before.
    ///
    /// # Errors
    /// What the node says, or that it can't be reached.
    pub async fn browse(
        &self,
        permit: &str,
        path: &RelPath,
        after: Option<&Component>,
        limit: usize,
    ) -> Result<Page, Problem> {
        let claims: Permit = Document::parse(permit, DocumentType::Permit)?.claims()?;
        let request = crate::proto::Browse {
            permit: permit.to_owned(),
            path: path.as_bytes().to_vec(),
            after: after
                .map(|name| name.as_bytes().to_vec())
                .unwrap_or_default(),
            limit: u32::try_from(limit.clamp(1, MAX_PAGE_ENTRIES)).unwrap_or(u32::MAX),
        };
        match self
            .shared
            .link(claims.node)?
            .call(to_node::Message::Browse(request))
            .await?
        {
            Answer::Page(page) if page.entries.len() <= MAX_PAGE_ENTRIES => Ok(Page {
                entries: page
                    .entries
                    .into_iter()
                    .map(entry_in)
                    .collect::<Result<_, _>>()?,
                more: page.more,
            }),
            _ => Err(violation("an answer of another kind")),
        }
    }

    /// What a node's host says of itself, and of its route to `to`: JSON, as `host.rs` of the node writes it.
    ///
    /// # Errors
    /// `version_unsupported` for a node that does not know the question; what the node says, or that it can't be reached.
    pub async fn look_at_host(
        &self,
        node: PublicKey,
        to: Option<std::net::IpAddr>,
    ) -> Result<String, Problem> {
        let link = self.shared.link(node)?;
        let to = to.map(|to| to.to_string()).unwrap_or_default();
        let request = to_node::Message::LookAtHost(crate::proto::LookAtHost { to, calls: true });
        if !link.knows(&request) {
            let message = "the node's program is of a release that does not tell of its host: replace it by one of today's";
            return Err(Problem::new(ControlCode::VersionUnsupported, message));
        }
        match link.call(request).await? {
            Answer::Host(host) => Ok(host),
            _ => Err(violation("an answer of another kind")),
        }
    }

    /// Lets an attached node write something to its log that whoever runs it should know.
    pub fn notice(&self, node: PublicKey, text: &str) {
        if let Ok(link) = self.shared.link(node) {
            link.tell_now(to_node::Message::Notice(text.to_owned()));
        }
    }

    /// Lets a node remove from the trashes of its roots what was to be kept until this time, which must have come for sure; waits until it
    /// has. A node of before, which does that by its own clock, is not asked.
    ///
    /// # Errors
    /// What the node says, or that it can't be reached; `node_timeout` while it goes on.
    pub async fn empty_trash(&self, node: PublicKey, until: Timestamp) -> Result<(), Problem> {
        let link = self.shared.link(node)?;
        let until_unix_ms = until.unix_ms();
        let request = to_node::Message::EmptyTrash(crate::proto::EmptyTrash { until_unix_ms });
        if link.knows(&request) {
            link.command(request).await?;
        }
        Ok(())
    }

    /// Merges the listings of both ends of a draft execution and writes overwrites.jsonl and deletes.jsonl into the
    /// folder `lists_dir`. List digests and ceilings of the execution are ignored.
    ///
    /// # Errors
    /// What a node says, that it can't be reached, or what the survey found.
    pub async fn survey(
        &self,
        source_permit: &str,
        destination_permit: &str,
        execution: &Execution,
        lists_dir: &std::path::Path,
    ) -> Result<Surveyed, Problem> {
        let _running = self.shared.surveys.acquire().await.map_err(|_| closed())?;
        let source = self.shared.link(execution.source.node)?;
        let destination = self.shared.link(execution.destination.node)?;
        survey::run(
            (&source, source_permit),
            (&destination, destination_permit),
            execution,
            lists_dir,
        )
        .await
    }

    /// Closes every connection and ends the events. Running attempts go on until their tickets expire.
    pub async fn close(&self) {
        self.shared.close();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            // A task that panicked has been logged and is over, too.
            let _ = task.await;
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    async fn listen(self: &Arc<Self>, listen: &str) -> Result<(JoinHandle<()>, String), Problem> {
        let bad = |error: std::io::Error| {
            Problem::new(
                ControlCode::BadArgument,
                format!("can't listen for nodes on `{listen}`: {error}"),
            )
        };
        let listener = TcpListener::bind(listen).await.map_err(bad)?;
        let address = listener.local_addr().map_err(bad)?.to_string();
        let acceptor = self.acceptor()?;
        let shared = Arc::clone(self);
        let mut closing = self.closing.subscribe();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = shared.accept(listener, acceptor) => {}
                _ = closing.wait_for(|closing| *closing) => {}
            }
        });
        Ok((task, address))
    }

    /// The key to answer with first, and then those to answer with when they are asked for.
    fn keys_now(&self) -> Vec<&SigningKey> {
        let now = (self.clock)();
        let asked_for = self.keys.asked_for(now);
        std::iter::once(self.keys.answering(now))
            .chain(asked_for)
            .collect()
    }

    fn acceptor(&self) -> Result<Acceptor, Problem> {
        Acceptor::new(&self.keys_now())
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, mut acceptor: Acceptor) {
        loop {
            let (stream, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, or the peer was gone already: neither gets better by hurrying.
                    tracing::warn!("can't accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            if !acceptor.has(&self.keys_now()) {
                match self.acceptor() {
                    Ok(next) => acceptor = next,
                    Err(problem) => tracing::error!("the hub's next key can't be used: {problem}"),
                }
            }
            let admitted = match self.strangers.admit(&stream) {
                Ok(admitted) => admitted,
                Err(error) => {
                    tracing::warn!("a connection was closed: {error}");
                    continue;
                }
            };
            let guest = Arc::new(Guest {
                admitted: Mutex::new(Some(admitted)),
                place: OnceLock::new(),
            });
            let (acceptor, shared) = (acceptor.clone(), Arc::clone(&self));
            tokio::spawn(async move {
                let connection = match acceptor.accept((stream, from), Arc::clone(&guest)).await {
                    Ok(connection) => connection,
                    Err(broken) => return shared.broke_off(from, &broken),
                };
                shared.seat(&guest, connection.peer());
                drop(guest);
                drop(shared.incoming.send(Ok(connection)).await);
            });
        }
    }

    /// Lets a connection of an enrolled key make room for nobody; one too many of a key is closed.
    fn seat(&self, guest: &Guest, node: PublicKey) {
        if !self.enrolled.lock().contains(&node) {
            return;
        }
        let mut seated = self.seated.lock();
        let count = seated.entry(node).or_default();
        if *count >= MAX_OF_NODE {
            tracing::warn!(%node, "a node has too many connections, one was closed");
            if let Some(admitted) = &*guest.admitted.lock() {
                admitted.close();
            }
            return;
        }
        *count += 1;
        drop(seated);
        guest.admitted.lock().take();
        // Asked once of each connection.
        let _ = guest.place.set(Place(Arc::clone(&self.seated), node));
    }

    async fn ask_join(
        &self,
        node: PublicKey,
        secret: String,
        name: String,
        version: String,
        roots: Vec<RootInfo>,
    ) -> Result<String, Problem> {
        let request = random_id("jn")?;
        let (waiting, answer) = oneshot::channel();
        {
            let mut joins = self.joins.lock();
            joins.retain(|_, (_, waiting)| !waiting.is_closed());
            if joins.len() >= MAX_JOINS {
                return Err(Problem::new(
                    ControlCode::HubBusy,
                    "too many nodes are joining: try again in a minute",
                ));
            }
            joins.insert(request.clone(), (node, waiting));
        }
        let event = HubEvent::JoinRequested {
            request,
            secret,
            node,
            name,
            version,
            roots,
        };
        let answered = timeout(JOIN_TIMEOUT, async {
            self.events.push(event).await;
            answer.await
        });
        match answered.await {
            Ok(Ok(JoinAnswer::Accept { authority })) => Ok(authority.to_string()),
            Ok(Ok(JoinAnswer::Refuse { reason })) => Err(Problem::new(
                ControlCode::JoinRefused,
                format!("the service refused this node: {reason}"),
            )),
            _ => Err(Problem::new(
                ControlCode::JoinTimeout,
                "the service did not answer in time: try again",
            )),
        }
    }

    fn enrolled(&self, node: PublicKey) -> Result<(), Problem> {
        if self.enrolled.lock().contains(&node) {
            return Ok(());
        }
        let message = format!(
            "node {node} is not enrolled here: join with a new token, or ask an administrator"
        );
        Err(Problem::new(ControlCode::NotEnrolled, message))
    }

    fn link(&self, node: PublicKey) -> Result<Arc<Link>, Problem> {
        self.enrolled(node)?;
        self.links
            .lock()
            .get(&node)
            .cloned()
            .ok_or_else(|| unreachable_node(&node))
    }

    fn add_link(&self, link: &Arc<Link>) -> Result<(), Problem> {
        let mut links = self.links.lock();
        if links.len() >= self.max_nodes && !links.contains_key(&link.node) {
            let message = format!("{} nodes are attached, which is the limit", self.max_nodes);
            return Err(Problem::new(ControlCode::HubBusy, message));
        }
        if let Some(old) = links.insert(link.node, Arc::clone(link)) {
            old.close(Problem::new(
                ControlCode::NodeRestarted,
                "the node opened a new connection",
            ));
        }
        Ok(())
    }

    /// Whether this link was still the node's current one.
    fn remove_link(&self, link: &Arc<Link>) -> bool {
        let mut links = self.links.lock();
        let current = links
            .get(&link.node)
            .is_some_and(|known| Arc::ptr_eq(known, link));
        if current {
            links.remove(&link.node);
        }
        current
    }

    /// Runs something on the records where it may wait for the disk.
    async fn records<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Records) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let records = Arc::clone(&self.records);
        blocking(move || run(&mut records.lock())).await
    }

    fn close(&self) {
        self.closing.send_replace(true);
        for link in self.links.lock().values() {
            link.close(closed());
        }
        self.events.close();
    }
}

/// How many connections each enrolled key has.
type Seated = Arc<Mutex<HashMap<PublicKey, usize>>>;

/// What a connection holds while it lives.
struct Guest {
    /// Its place among strangers, which it leaves to others once its key is known to be enrolled.
    admitted: Mutex<Option<Admitted>>,
    place: OnceLock<Place>,
}

/// The place of a connection among those of its node, given back when this is dropped.
struct Place(Seated, PublicKey);

impl Drop for Place {
    fn drop(&mut self) {
        let mut seated = self.0.lock();
        if let Some(count) = seated.get_mut(&self.1) {
            *count -= 1;
        }
        seated.retain(|_, count| *count > 0);
    }
}

fn closed() -> Problem {
    Problem::new(
        ControlCode::HubClosed,
        "the service is closing its control plane",
    )
}
