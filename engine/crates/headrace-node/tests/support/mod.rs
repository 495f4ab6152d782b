//! A hub and nodes on loopback in one process, with clocks that tests move.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use headrace_core::list::ListDigest;
use headrace_core::name::RelPath;
use headrace_core::sealed::{Document, DocumentType, PublicKey, SigningKey};
use headrace_core::shares::{Links, TransferShare};
use headrace_core::statement::{Achieved, Role, Statement};
use headrace_core::ticket::{Execution, Part, VerifiedTicket, Verify};
use headrace_core::value::{Digest, Id, Label, Timestamp};
use headrace_node::config::{DataConfig, RootConfig, Roots};
use headrace_node::convert::{AttemptId, Outcome, ProgressCounts};
use headrace_node::hub::{AttemptEnded, Hub, HubEvent, HubOptions, JoinAnswer};
use headrace_node::node::mover::{MoveEnd, Mover, Moving, Order, StopCause};
use headrace_node::node::{self, Node};
use headrace_node::problem::{ControlCode, Problem};
use headrace_node::state::StateDir;
use headrace_node::transport::Clock;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const WAIT: Duration = Duration::from_secs(20);

/// A clock that shows the system's time moved by what a test says.
#[derive(Clone, Default)]
pub struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub fn forward(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from(std::time::SystemTime::now()).plus_ms(self.0.load(Ordering::SeqCst))
    }

    pub fn clock(&self) -> Clock {
        let this = self.clone();
        Arc::new(move || this.now())
    }
}

/// A hub, its authority, and the folder everything is in.
pub struct Site {
    pub folder: TempDir,
    pub hub: Hub,
    pub authority: SigningKey,
    pub clock: TestClock,
}

impl Site {
    pub async fn start() -> Self {
        logged();
        let folder = tempfile::tempdir().expect("a folder");
        let clock = TestClock::default();
        let hub = start_hub(folder.path(), "127.0.0.1:0", &clock).await;
        Self {
            hub,
            authority: SigningKey::from_seed(&[1; 32]),
            clock,
            folder,
        }
    }

    /// Closes the hub and starts it again at the same address.
    pub async fn restart_hub(&mut self, enrolled: &[PublicKey]) {
        self.restart_hub_after(0, enrolled).await;
    }

    /// Closes the hub and starts it again at the same address, after so many connections to it broke there.
    pub async fn restart_hub_after(&mut self, broken: usize, enrolled: &[PublicKey]) {
        let address = self.hub.address().to_owned();
        self.hub.close().await;
        let breaking = async {
            let listener = tokio::net::TcpListener::bind(&address)
                .await
                .expect("the address is free");
            for _ in 0..broken {
                drop(listener.accept().await.expect("a connection"));
            }
        };
        tokio::time::timeout(WAIT, breaking)
            .await
            .expect("nodes seek the service often enough");
        self.hub = start_hub(self.folder.path(), &address, &self.clock).await;
        for node in enrolled {
            self.hub.enroll(*node);
        }
    }

    /// Closes the hub and starts it again at another address.
    pub async fn move_hub(&mut self, enrolled: &[PublicKey]) {
        self.hub.close().await;
        self.hub = start_hub(self.folder.path(), "127.0.0.2:0", &self.clock).await;
        for node in enrolled {
            self.hub.enroll(*node);
        }
    }

    /// A node that joined and is attached, with one root `data` of full access.
    pub async fn node(&self, name: &str) -> TestNode {
        self.node_with(name, &self.clock, true).await
    }

    pub async fn node_with(&self, name: &str, clock: &TestClock, accepts: bool) -> TestNode {
        let state = self.state(name);
        let root = self.join(name, "s3cret", |secret| {
            assert_eq!(secret, "s3cret");
            JoinAnswer::Accept {
                authority: self.authority.public(),
            }
        });
        let root = root.await.expect("joined");
        let mover = Arc::new(Scripted::new(accepts));
        let node = Node::start(&state, clock.clock(), Arc::clone(&mover) as Arc<dyn Mover>)
            .expect("a node");
        let this = TestNode {
            key: node.key(),
            node: Some(node),
            mover,
            root,
            state,
            name: name.to_owned(),
        };
        let attached = self
            .next(|event| matches!(event, HubEvent::NodeAttached { node, .. } if *node == this.key))
            .await;
        drop(attached);
        this
    }

    pub fn state(&self, name: &str) -> StateDir {
        StateDir::open(&self.folder.path().join(format!("{name}-state"))).expect("a state folder")
    }

    /// Joins with a token of this secret, with the service answering as told; gives the folder of the root.
    pub async fn join(
        &self,
        name: &str,
        secret: &str,
        answer: impl Fn(&str) -> JoinAnswer,
    ) -> Result<PathBuf, Problem> {
        let root = self.folder.path().join(name);
        std::fs::create_dir_all(&root).expect("a folder");
        let token = self
            .hub
            .join_token(secret, None)
            .to_string()
            .parse()
            .expect("our own token");
        let roots =
            vec![RootConfig::parse(&format!("data={}:delete", root.display())).expect("a root")];
        let state = self.state(name);
        let joining = node::join(&state, &token, name, roots, DataConfig::default());
        let answering = async {
            let event = self
                .next(|event| matches!(event, HubEvent::JoinRequested { .. }))
                .await;
            let HubEvent::JoinRequested {
                request, secret, ..
            } = event
            else {
                unreachable!("matched")
            };
            self.hub
                .answer_join(&request, answer(&secret))
                .expect("the node waits");
        };
        let (joined, ()) = tokio::join!(joining, answering);
        joined.map(|()| root)
    }

    /// The next event that fits; others are passed over.
    pub async fn next(&self, fits: impl Fn(&HubEvent) -> bool) -> HubEvent {
        self.next_with(fits).await
    }

    /// As [`Site::next`], for who wants to remember what was passed over.
    pub async fn next_with(&self, mut fits: impl FnMut(&HubEvent) -> bool) -> HubEvent {
        let found = tokio::time::timeout(WAIT, async {
            loop {
                let event = self.hub.next_event().await.expect("the hub is open");
                if fits(&event) {
                    return event;
                }
            }
        });
        found.await.expect("the event comes in time")
    }

    pub async fn end_of(&self, transfer: &str) -> AttemptEnded {
        let event = self.next(|event| matches!(event, HubEvent::Ended(ended) if ended.id.transfer.as_str() == transfer));
        let HubEvent::Ended(ended) = event.await else {
            unreachable!("matched")
        };
        ended
    }

    pub fn permit(&self, node: &TestNode, path: &str) -> String {
        self.permit_with(node, path, |_| {})
    }

    pub fn permit_with(
        &self,
        node: &TestNode,
        path: &str,
        change: impl FnOnce(&mut Value),
    ) -> String {
        let now = self.clock.now();
        let mut body = json!({
            "id": "pm_1", "person": "ada", "node": node.key, "root": "data", "path": parts(path),
            "max_entries": "1000", "max_seconds": "60", "not_before": now, "expires": now.plus_ms(600_000),
            "site": "", "project": "", "local_account": "",
        });
        change(&mut body);
        Document::seal(DocumentType::Permit, &body, &[&self.authority])
            .expect("a small body")
            .text()
    }

    pub fn ticket(&self, transfer: &str, from: &TestNode, to: &TestNode) -> String {
        self.ticket_with(transfer, from, to, |_| {})
    }

    pub fn ticket_with(
        &self,
        transfer: &str,
        from: &TestNode,
        to: &TestNode,
        change: impl FnOnce(&mut Value),
    ) -> String {
        let now = self.clock.now();
        let mut body = json!({
            "id": "tk_1", "plan_digest": Digest::of(b"plan"), "transfer": transfer, "attempt": "1",
            "shard": {"fence": "1", "number": "0"}, "person": "ada",
            "source_node": from.key, "destination_node": to.key, "execution": execution(from, to),
            "rate_ceiling_bps": null, "only_failed": false, "not_before": now, "expires": now.plus_ms(900_000),
            "site": "", "project": "", "local_account": "",
        });
        change(&mut body);
        Document::seal(DocumentType::Ticket, &body, &[&self.authority])
            .expect("a small body")
            .text()
    }

    /// Two folders for a transfer: lists and results.
    pub fn folders(&self, transfer: &str) -> (PathBuf, PathBuf) {
        let make = |end: &str| {
            let path = self.folder.path().join(format!("{transfer}-{end}"));
            std::fs::create_dir_all(&path).expect("a folder");
            path
        };
        (make("lists"), make("results"))
    }
}

async fn start_hub(folder: &Path, listen: &str, clock: &TestClock) -> Hub {
    let options = HubOptions {
        listen: Some(listen.to_owned()),
        state_dir: folder.join("hub"),
        max_nodes: 8,
        enrolled: HashSet::new(),
        clock: clock.clock(),
    };
    Hub::start(options).await.expect("a hub")
}

pub fn execution(from: &TestNode, to: &TestNode) -> Value {
    let empty = ListDigest::empty();
    json!({
        "action": "copy",
        "source": {"node": from.key, "root": "data", "path": []},
        "destination": {"node": to.key, "root": "data", "path": []},
        "filters": {
            "include": [], "exclude": [], "min_size": null, "max_size": null, "modified_after_ns": null,
            "modified_before_ns": null
        },
        "on_conflict": "fail", "compare": "size-mtime", "preserve": ["mode", "mtime"], "verify": "in-transit",
        "checksums": [], "encryption": "required", "delete_source": false, "delete_extraneous": false,
        "max_files": "100", "max_bytes": "1000000", "max_entries": "1000", "overwrites": empty, "deletes": empty,
        "rate_ceiling_bps": null, "qos_class": "bulk",
    })
}

pub fn typed(execution: &Value) -> Execution {
    serde_json::from_value(execution.clone()).expect("an execution")
}

pub fn path(text: &str) -> RelPath {
    RelPath::from_bytes(text.as_bytes()).expect("a test path")
}

pub fn id(text: &str) -> Id {
    text.parse().expect("an id")
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

pub struct TestNode {
    pub key: PublicKey,
    pub node: Option<Node>,
    pub mover: Arc<Scripted>,
    pub root: PathBuf,
    pub state: StateDir,
    pub name: String,
}

impl TestNode {
    /// Ends the process, so to say, and starts it again from its state folder.
    pub fn restart(&mut self, clock: &TestClock) {
        drop(self.node.take());
        self.mover = Arc::new(Scripted::new(true));
        let mover = Arc::clone(&self.mover) as Arc<dyn Mover>;
        self.node = Some(Node::start(&self.state, clock.clock(), mover).expect("a node"));
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }

    /// Waits until the node's attachment is as told.
    pub async fn attachment(
        &self,
        fits: impl FnMut(&Result<(), Problem>) -> bool,
    ) -> Result<(), Problem> {
        let mut attachment = self.node.as_ref().expect("running").attachment();
        let state = tokio::time::timeout(WAIT, attachment.wait_for(fits))
            .await
            .expect("in time")
            .expect("running");
        state.clone()
    }
}

/// Moves nothing: attempts end when and how a test says, or when they are stopped, but for the sources of transfers named `tr_deaf...`. One
/// named `tr_asks` asks whether it may begin. The real data plane has tests of its own.
pub struct Scripted {
    address: Option<SocketAddr>,
    attempts: parking_lot::Mutex<HashMap<String, Arc<Script>>>,
    pub forgotten: parking_lot::Mutex<Vec<String>>,
    pub links: parking_lot::Mutex<Links>,
    /// Says that a start has come, and waits until it may go on.
    gate: parking_lot::Mutex<Option<(Sender<()>, Receiver<()>)>>,
    /// How many starts of transfers named `tr_slow...` have come; they last until it is `usize::MAX`.
    pub slow: tokio::sync::watch::Sender<usize>,
}

pub struct Script {
    pub order: Order,
    pub progress: parking_lot::Mutex<ProgressCounts>,
    pub rate: parking_lot::Mutex<Option<u64>>,
    pub share: parking_lot::Mutex<Option<TransferShare>>,
    pub renewed: parking_lot::Mutex<Option<VerifiedTicket>>,
    pub lists: (String, String),
    pub asked_to_stop: AtomicBool,
    end: Sender<MoveEnd>,
    ended: parking_lot::Mutex<Receiver<MoveEnd>>,
}

impl Scripted {
    pub fn new(accepts: bool) -> Self {
        let address = accepts.then(|| SocketAddr::from(([127, 0, 0, 1], 9)));
        Self {
            address,
            attempts: parking_lot::Mutex::default(),
            forgotten: parking_lot::Mutex::default(),
            links: parking_lot::Mutex::default(),
            gate: parking_lot::Mutex::default(),
            slow: tokio::sync::watch::Sender::new(0),
        }
    }

    /// Holds the next start: gives what hears of it, and what lets it go on.
    pub fn hold(&self) -> (Receiver<()>, Sender<()>) {
        let ((came, heard), (go, waits)) = (channel(), channel());
        *self.gate.lock() = Some((came, waits));
        (heard, go)
    }

    pub fn attempt(&self, transfer: &str) -> Arc<Script> {
        Arc::clone(self.attempts.lock().get(transfer).expect("it was started"))
    }

    pub fn started(&self, transfer: &str) -> bool {
        self.attempts.lock().contains_key(transfer)
    }
}

impl Mover for Scripted {
    fn data_address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn start(&self, order: Order) -> Result<Arc<dyn Moving>, Problem> {
        if let Some((came, waits)) = self.gate.lock().take() {
            came.send(()).expect("somebody hears");
            waits.recv_timeout(WAIT).expect("it may go on in time");
        }
        let transfer = order.ticket.ticket().transfer.to_string();
        if transfer == "tr_asks" {
            let permitted = (order.permitted)();
            permitted.map_err(|failure| Problem::new(ControlCode::Stopped, failure.message))?;
        }
        if transfer == "tr_refused" {
            return Err(Problem::new(ControlCode::NodeBusy, "not now"));
        }
        if transfer.starts_with("tr_slow") {
            let mut end = self.slow.subscribe();
            self.slow.send_modify(|count| *count += 1);
            let runtime = tokio::runtime::Handle::current();
            let waiting = end.wait_for(|count| *count == usize::MAX);
            drop(runtime.block_on(async { tokio::time::timeout(WAIT, waiting).await }));
        }
        let read = |list: &Option<PathBuf>| {
            list.as_ref()
                .map(|path| std::fs::read_to_string(path).expect("it was fetched"))
                .unwrap_or_default()
        };
        let lists = (read(&order.overwrites.path), read(&order.deletes.path));
        let (end, ended) = channel();
        let script = Arc::new(Script {
            share: parking_lot::Mutex::new(order.share.clone()),
            order,
            progress: parking_lot::Mutex::default(),
            rate: parking_lot::Mutex::default(),
            renewed: parking_lot::Mutex::default(),
            lists,
            asked_to_stop: AtomicBool::default(),
            end,
            ended: parking_lot::Mutex::new(ended),
        });
        self.attempts.lock().insert(transfer, Arc::clone(&script));
        Ok(script)
    }

    fn set_links(&self, links: &Links) {
        *self.links.lock() = links.clone();
    }

    fn forget(&self, transfer: &Id, _: &Roots) -> Result<(), Problem> {
        self.forgotten.lock().push(transfer.to_string());
        Ok(())
    }
}

impl Script {
    pub fn finish(&self, end: MoveEnd) {
        self.end.send(end).expect("somebody waits");
    }

    /// Ends as complete, with the word of this role and these lists.
    pub fn complete(&self, me: PublicKey, role: Role, folder: &Path, files: &str) {
        let list = folder.join(
            format!("{}-{me:?}.jsonl", self.order.ticket.ticket().transfer)
                .replace([':', '/'], "-"),
        );
        std::fs::write(&list, files).expect("a file");
        let statement = self.statement(me, role, files);
        let files_list = (role == Role::Destination).then_some(list);
        let statements = vec![statement];
        self.finish(MoveEnd {
            outcome: Outcome::Complete,
            problem: None,
            statements,
            files_list,
            failed_list: None,
        });
    }

    pub fn statement(&self, node: PublicKey, role: Role, files: &str) -> Statement {
        let ticket = self.order.ticket.ticket();
        Statement {
            role,
            node,
            plan_digest: ticket.plan_digest,
            transfer: ticket.transfer.clone(),
            attempt: ticket.attempt,
            shard: ticket.shard,
            outcome: Achieved::Complete,
            files: 1,
            bytes: 1,
            identical: 0,
            failed: 0,
            deleted: 0,
            resent_bytes: 0,
            list_digest: Digest::of(files.as_bytes()),
            root: Digest::of(b"root"),
            verified: Verify::InTransit,
            encrypted: true,
            cipher: Label::default(),
            started: ticket.not_before,
            ended: ticket.not_before,
            changed: Vec::new(),
            sources_kept: None,
            trash: None,
        }
    }
}

impl Moving for Script {
    fn progress(&self) -> ProgressCounts {
        self.progress.lock().clone()
    }

    fn set_rate(&self, rate_bps: Option<u64>) {
        *self.rate.lock() = rate_bps;
    }

    fn set_share(&self, share: Option<TransferShare>) {
        *self.share.lock() = share;
    }

    fn renew(&self, ticket: VerifiedTicket) {
        *self.renewed.lock() = Some(ticket);
    }

    fn stop(&self, cause: StopCause) {
        let ticket = &self.order.ticket;
        let deaf = ticket.ticket().transfer.to_string().starts_with("tr_deaf");
        self.asked_to_stop.store(true, Ordering::Relaxed);
        if deaf && ticket.part() == Part::Source {
            return;
        }
        let outcome = Outcome::Stopped;
        let message = format!("{cause:?}");
        let problem = Some(Problem {
            code: "stopped".into(),
            message,
            retryable: true,
        });
        let end = MoveEnd {
            outcome,
            problem,
            statements: Vec::new(),
            files_list: None,
            failed_list: None,
        };
        // A second stop finds that the first has ended it.
        let _ = self.end.send(end);
    }

    fn wait(&self) -> MoveEnd {
        self.ended.lock().recv().expect("an end comes")
    }
}

pub fn attempt(transfer: &str) -> AttemptId {
    AttemptId {
        transfer: id(transfer),
        attempt: 1,
    }
}

/// Shows what hub and nodes log when a test fails.
pub fn logged() {
    let filter = tracing_subscriber::EnvFilter::new("headrace_node=debug");
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_test_writer()
        .try_init();
}
