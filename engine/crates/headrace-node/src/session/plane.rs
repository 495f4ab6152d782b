//! The data plane of a node: its data listener, its buffers and disk threads, and the attempts it runs.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use headrace_core::access::Access;
use headrace_core::asker::Asker;
use headrace_core::code::{Code, Failure};
use headrace_core::codec::to_usize;
use headrace_core::integrity::BLOCK_BYTES;
use headrace_core::message::{Hello, Join, MAX_STREAMS, Message};
use headrace_core::name::RelPath;
use headrace_core::sealed::PublicKey;
use headrace_core::shares::Links;
use headrace_core::ticket::Medium;
use headrace_core::value::{Id, Label};
use headrace_io::buffer::BufferPool;
use headrace_io::descriptors::Descriptors;
use headrace_io::disk::DiskPool;
use headrace_io::probe::Probes;
use headrace_io::root::Root;
use headrace_io::storage::posix::PosixStorages;
use headrace_io::storage::{Storages, Writing};
use headrace_io::stream::{Patience, Records, TlsStream, until};
use headrace_io::tls::{ALPN_DATA, Identity, server_config};
use parking_lot::{Condvar, Mutex};
use rustls::ServerConfig;
use serde::{Deserialize, Serialize};

use super::attempt::{Arrival, AttemptHandle, AttemptSpec, Role, Shared, Tuning};
use super::failures::state_failed;
use super::fireflies::{Fireflies, Reported, Reporter};
use super::landing::destination_failure;
use super::link::{join_token, read_message};
use super::shares::{Claim, Direction, NodeLinks};
use super::{binding, lists, run};
use crate::strangers::{Admitted, Strangers};

/// How long a connection may come before the attempt it belongs to.
const EARLY: Duration = Duration::from_secs(8);
/// Most connections with a key that nothing is known of which wait for an attempt; more are refused, and dial again.
const MAX_EARLY: usize = 64;
/// The part of the buffers that is for reading.
const READING_PART: usize = 4;
/// How long a connection may take until it belongs to an attempt.
const GREETING: Duration = Duration::from_secs(10);

/// A path whose packets come back within this is near.
const NEAR: Duration = Duration::from_millis(2);

/// Settings of a data plane: the table `[data.limits]` of `node.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Bytes of file content held in memory at most, for all attempts together. More hides slower disks. Default 256 MiB.
    pub max_buffer_bytes: usize,
    /// Threads that write past the page cache, for each file system. More keep more disks busy. Default 4.
    pub disk_threads: usize,
    /// Attempts that run at once at most. Default 64.
    pub max_attempts: usize,
    /// Bytes that may wait unsent in the kernel, for each data connection. More costs memory and delays a stop or a lower rate; less may
    /// leave a fast path idle while the sender is busy elsewhere. Default 2 MiB.
    pub unsent_bytes: u32,
    /// Most data connections to a node whose packets come back within 2 ms, 0 for half as many as there are processors, from 2 to 16. One
    /// carries as much as one processor encrypts and hashes; more than there are processors only take turns. Default 0.
    pub near_streams: u16,
    /// Most data connections to a node farther away. A session begins with 4 and opens more while they make it faster, as they do where
    /// packets are lost or the kernel's buffers are small; each costs memory. Default 16.
    pub far_streams: u16,
    /// Who makes the records of data connections: `own`, or `rustls`, which takes about a quarter more processor time. Default `own`.
    pub records: Records,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_buffer_bytes: 256 << 20,
            disk_threads: 4,
            max_attempts: 64,
            unsent_bytes: 2 << 20,
            near_streams: 0,
            far_streams: 16,
            records: Records::Own,
        }
    }
}

impl Settings {
    /// Whether every value can be used; says which cannot.
    ///
    /// # Errors
    /// The name of the setting, and what it may be.
    pub fn check(&self) -> Result<(), String> {
        let Self {
            max_buffer_bytes,
            disk_threads,
            max_attempts,
            unsent_bytes,
            near_streams,
            far_streams,
            records: _,
        } = *self;
        let most_streams = usize::from(MAX_STREAMS);
        let ranges = [
            ("max_buffer_bytes", max_buffer_bytes, 16 << 20, 1 << 40),
            ("disk_threads", disk_threads, 1, 256),
            ("max_attempts", max_attempts, 1, 256),
            (
                "unsent_bytes",
                to_usize(unsent_bytes.into()),
                64 << 10,
                1 << 30,
            ),
            ("near_streams", near_streams.into(), 0, most_streams),
            ("far_streams", far_streams.into(), 1, most_streams),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(format!("`{name}` is {value}; it may be {least} to {most}"));
            }
        }
        Ok(())
    }

    /// Most data connections to a node whose packets take so long to come back.
    pub(super) fn most_streams(&self, round_trip: Duration) -> u16 {
        if round_trip >= NEAR {
            self.far_streams
        } else if self.near_streams > 0 {
            self.near_streams
        } else {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            u16::try_from(processors / 2).map_or(16, |half| half.clamp(2, 16))
        }
    }
}

/// A node's data plane. Dropping it closes the listener; running attempts go on to their end.
#[derive(Debug)]
pub struct DataPlane {
    plane: Arc<Plane>,
    address: Option<SocketAddr>,
}

/// What the attempts and connections of a node share.
#[derive(Debug)]
pub(super) struct Plane {
    pub(super) identity: Identity,
    /// Buffers for what is written, and for what is read back.
    pub(super) buffers: Arc<BufferPool>,
    /// Buffers for what is read and sent. Of their own: were they the same, nodes that send to each other could wait for each other for ever.
    pub(super) reading: Arc<BufferPool>,
    disks: Mutex<HashMap<u64, Arc<DiskPool>>>,
    pub(super) descriptors: Arc<Descriptors>,
    /// What is behind the roots.
    pub(super) storages: Arc<dyn Storages>,
    pub(super) settings: Settings,
    attempts: Mutex<HashMap<Id, Arc<Shared>>>,
    attempts_changed: Condvar,
    /// Destinations that are written to: folder of the root, path below it, and by which transfer.
    destinations: Mutex<Vec<(PathBuf, RelPath, Id)>>,
    links: NodeLinks,
    /// Tells of connections, where that is set.
    fireflies: OnceLock<Reporter>,
    probes: Probes,
    strangers: Arc<Strangers>,
    early: AtomicUsize,
    closing: AtomicBool,
}

impl DataPlane {
    /// Start a data plane for the node with this identity; it listens on `listen`, or only dials.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the address cannot be listened on or threads cannot be started.
    pub fn start(
        identity: Identity,
        listen: Option<SocketAddr>,
        settings: Settings,
    ) -> Result<Self, Failure> {
        Self::start_on(identity, listen, settings, Arc::new(PosixStorages))
    }

    /// As [`DataPlane::start`], with what is behind the roots instead of their file systems.
    ///
    /// # Errors
    /// As [`DataPlane::start`].
    pub fn start_on(
        identity: Identity,
        listen: Option<SocketAddr>,
        settings: Settings,
        storages: Arc<dyn Storages>,
    ) -> Result<Self, Failure> {
        let descriptors = Descriptors::of_process();
        let reading_bytes = settings.max_buffer_bytes / READING_PART;
        let plane = Arc::new(Plane {
            identity,
            buffers: BufferPool::new(settings.max_buffer_bytes - reading_bytes),
            reading: BufferPool::of(reading_bytes, to_usize(BLOCK_BYTES)),
            disks: Mutex::default(),
            descriptors,
            storages,
            settings,
            attempts: Mutex::default(),
            attempts_changed: Condvar::new(),
            destinations: Mutex::default(),
            links: NodeLinks::default(),
            fireflies: OnceLock::new(),
            probes: Probes::default(),
            strangers: Arc::default(),
            early: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
        });
        let address = listen
            .map(|address| listen_on(&plane, address))
            .transpose()?;
        Ok(Self { plane, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// This node's key.
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.plane.identity.public_key()
    }

    /// Schedule these links from now on, and no others.
    pub fn set_links(&self, links: &Links) {
        self.plane.links.set(links);
    }

    /// Tell a collector of the data connections over which this node sends, from now on; once.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the thread that does so cannot be started.
    pub fn tell_of_connections(&self, settings: Fireflies) -> Result<(), Failure> {
        let reporter = Reporter::start(settings).map_err(state_failed)?;
        let _ = self.plane.fireflies.set(reporter);
        Ok(())
    }

    fn begin(&self, spec: AttemptSpec) -> Result<AttemptHandle, Failure> {
        let ticket = spec.ticket.ticket();
        check_access(&spec)?;
        if !matches!(spec.role, Role::Source(_)) {
            lists::check(spec.overwrites.as_deref(), ticket.execution.overwrites)?;
            lists::check(spec.deletes.as_deref(), ticket.execution.deletes)?;
        }
        let transfer = ticket.transfer.clone();
        let folder = binding::folder(&spec.state_dir, &transfer);
        check_folder_of_leg(&self.plane, &spec)?;
        let registration = Registration::new(&self.plane, &spec)?;
        if ticket.leg.is_some() {
            binding::forget_leg(&folder, ticket)?;
        }
        binding::bind(&folder, ticket)?;
        let shared = Arc::clone(&registration.shared);
        let handle = AttemptHandle { shared };
        let plane = Arc::clone(&self.plane);
        let attempt = move || {
            let end = run::run(&plane, &registration.shared, &spec, &folder);
            let shared = Arc::clone(&registration.shared);
            // Whoever sees the end may start the next attempt at once.
            drop(registration);
            shared.end(end);
        };
        let name = format!("headrace-{transfer}").chars().take(15).collect();
        std::thread::Builder::new()
            .name(name)
            .spawn(attempt)
            .map_err(state_failed)?;
        Ok(handle)
    }
}

/// Start an attempt.
///
/// # Errors
/// The [`Failure`] that keeps it from starting: a root that does not allow it, a list that is not the sealed one, an attempt that was
/// superseded, a destination that is being written to, or too many attempts.
pub fn start(node: &DataPlane, spec: AttemptSpec) -> Result<AttemptHandle, Failure> {
    node.begin(spec)
}

/// Forget a transfer that will have no further attempt: its journal and its temporaries at the destination are removed. `root` finds
/// the root by its name, as the one who asked has it.
///
/// # Errors
/// [`Code::DestinationBusy`] while an attempt runs, [`Code::StateFailed`] when the state folder cannot be changed.
pub fn forget(
    node: &DataPlane,
    state_dir: &Path,
    transfer: &Id,
    root: &dyn Fn(&str, &Asker) -> Option<Arc<Root>>,
) -> Result<(), Failure> {
    if node.plane.attempts.lock().contains_key(transfer) {
        return Err(Failure::new(
            Code::DestinationBusy,
            format!("transfer `{transfer}` is running"),
        ));
    }
    let folder = binding::folder(state_dir, transfer);
    run::remove_temporaries(&*node.plane.storages, &folder, transfer, root)?;
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(state_failed(error)),
        _ => Ok(()),
    }
}

impl Drop for DataPlane {
    fn drop(&mut self) {
        self.plane.closing.store(true, Ordering::Release);
        if let Some(address) = self.address {
            // Wakes the listener, which then sees that it is to close.
            drop(TcpStream::connect_timeout(&address, Duration::from_secs(1)));
        }
    }
}

/// An attempt's places in the books of its node; given back when it is dropped.
struct Registration {
    plane: Arc<Plane>,
    transfer: Id,
    shared: Arc<Shared>,
}

impl Registration {
    fn new(plane: &Arc<Plane>, spec: &AttemptSpec) -> Result<Self, Failure> {
        let ticket = spec.ticket.ticket();
        let transfer = ticket.transfer.clone();
        let mut attempts = plane.attempts.lock();
        if attempts.contains_key(&transfer) {
            let message = format!("an attempt of transfer `{transfer}` is running on this node");
            return Err(Failure::new(Code::DestinationBusy, message));
        }
        if attempts.len() >= plane.settings.max_attempts {
            let message = format!("this node runs {} attempts already", attempts.len());
            return Err(Failure::new(Code::TooBusy, message));
        }
        // A probe changes no name, so it is in nobody's way.
        if ticket.leg.is_none()
            && let Role::Destination(root) | Role::Local(_, root) = &spec.role
        {
            plane.claim(root, &ticket.execution.destination.path, &transfer)?;
        }
        let direction = match &spec.role {
            Role::Source(_) | Role::Local(..) => Direction::Out,
            Role::Destination(_) => Direction::In,
        };
        let shared = Shared::new(spec.ticket.clone(), Claim::new(&plane.links, direction));
        // Content of a local copy takes no link.
        if !matches!(spec.role, Role::Local(..)) {
            shared.set_share(spec.share.clone());
        }
        attempts.insert(transfer.clone(), Arc::clone(&shared));
        plane.attempts_changed.notify_all();
        Ok(Self {
            plane: Arc::clone(plane),
            transfer,
            shared,
        })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.plane.attempts.lock().remove(&self.transfer);
        self.plane
            .destinations
            .lock()
            .retain(|(_, _, transfer)| *transfer != self.transfer);
    }
}

impl Plane {
    /// Keep a destination for one transfer; neither it nor anything above or below may belong to another.
    fn claim(&self, root: &Root, own: &RelPath, transfer: &Id) -> Result<(), Failure> {
        let folder = std::fs::canonicalize(root.path()).unwrap_or_else(|_| root.path().to_owned());
        let wanted = folder.join(own.as_path());
        let mut destinations = self.destinations.lock();
        for (folder, path, other) in &*destinations {
            let taken = folder.join(path.as_path());
            if taken.starts_with(&wanted) || wanted.starts_with(&taken) {
                // Where the other writes may be a name that whoever asked for this one must not learn.
                tracing::info!(
                    "transfer {transfer} waits: transfer {other} writes to {path}, which overlaps"
                );
                let message = format!("another transfer writes to, above or below `{own}`");
                return Err(Failure::new(Code::DestinationBusy, message));
            }
        }
        destinations.push((folder, own.clone(), transfer.clone()));
        Ok(())
    }

    /// Threads that write past the page cache to the file system of this root: of its own, so that one that hangs holds up no other.
    pub(super) fn disk(&self, root: &Root) -> Result<Arc<DiskPool>, Failure> {
        let device = root.device().map_err(state_failed)?;
        let mut disks = self.disks.lock();
        if let Some(disk) = disks.get(&device) {
            return Ok(Arc::clone(disk));
        }
        let disk = DiskPool::new(self.settings.disk_threads).map_err(state_failed)?;
        Ok(Arc::clone(
            disks.entry(device).insert_entry(Arc::new(disk)).get(),
        ))
    }

    /// How large files are best written below this root.
    pub(super) fn writing(&self, root: &Root) -> Writing {
        self.probes.writing(root)
    }

    /// Tell of a connection over which a transfer of this class sends, where connections are told of.
    pub(super) fn report(&self, socket: &Arc<TcpStream>, class: &Label) -> Option<Reported<'_>> {
        self.fireflies.get()?.report(socket, class)
    }

    fn attempt(&self, transfer: &Id) -> Option<Arc<Shared>> {
        self.attempts.lock().get(transfer).cloned()
    }

    /// Whether an attempt with this peer runs, or begins soon: the service tells both nodes at once, and the other may be quicker.
    fn expects(&self, key: &PublicKey) -> bool {
        if self.early.fetch_add(1, Ordering::AcqRel) >= MAX_EARLY {
            self.early.fetch_sub(1, Ordering::AcqRel);
            return Self::is_peer(&self.attempts.lock(), key);
        }
        let deadline = Instant::now() + EARLY;
        let mut attempts = self.attempts.lock();
        let mut expected = Self::is_peer(&attempts, key);
        while !expected {
            let waited = self.attempts_changed.wait_until(&mut attempts, deadline);
            expected = Self::is_peer(&attempts, key);
            if waited.timed_out() {
                break;
            }
        }
        drop(attempts);
        self.early.fetch_sub(1, Ordering::AcqRel);
        expected
    }

    /// Whether an attempt is with the node that has this key.
    fn is_peer(attempts: &HashMap<Id, Arc<Shared>>, key: &PublicKey) -> bool {
        attempts
            .values()
            .any(|shared| shared.ticket.lock().peer() == Some(*key))
    }

    /// Wait for an attempt that the other node began earlier than we.
    fn wait_for(&self, transfer: &Id) -> Option<Arc<Shared>> {
        let deadline = Instant::now() + EARLY;
        let mut attempts = self.attempts.lock();
        while !attempts.contains_key(transfer) {
            if self
                .attempts_changed
                .wait_until(&mut attempts, deadline)
                .timed_out()
            {
                break;
            }
        }
        attempts.get(transfer).cloned()
    }

    /// Shake hands with whoever connected, and bring the connection to its attempt.
    fn greet(&self, socket: TcpStream, config: &ServerConfig, admitted: &Admitted) {
        let patience = Patience {
            connect: GREETING,
            stalled_after: Tuning::default().stalled_after,
            unsent_bytes: self.settings.unsent_bytes,
            records: self.settings.records,
        };
        let greeted = TlsStream::accept(socket, config, ALPN_DATA, patience)
            .map_err(|error| Failure::new(Code::PeerUnreachable, error.to_string()))
            .and_then(|mut stream| {
                admitted.is_known();
                let mut idle = until(Instant::now() + GREETING);
                let message = read_message(&mut |bytes| stream.read_exact(bytes, &mut idle))?;
                match message {
                    Some(Message::Hello(hello)) => self.hello(stream, hello),
                    Some(Message::Join(join)) => self.join(stream, &join),
                    _ => Err(Failure::new(
                        Code::ProtocolViolation,
                        "a connection began with neither hello nor join",
                    )),
                }
            });
        if let Err(failure) = greeted {
            tracing::info!(code = %failure.code, message = failure.message, "a data connection was refused");
        }
    }

    fn hello(&self, mut stream: TlsStream, hello: Hello) -> Result<(), Failure> {
        let accepted = self.wait_for(&hello.transfer).ok_or_else(|| {
            Failure::new(
                Code::PeerUnreachable,
                format!("no attempt of transfer `{}` runs here", hello.transfer),
            )
        });
        let accepted = accepted.and_then(|shared| {
            let ticket = shared.current();
            if shared.ticket.lock().peer() != Some(stream.peer()) {
                return Err(Failure::new(
                    Code::WrongPeerKey,
                    "the ticket names another node",
                ));
            }
            if hello.plan != ticket.plan_digest {
                return Err(Failure::new(
                    Code::TicketForeign,
                    "the nodes have tickets of different plans",
                ));
            }
            if hello.attempt != ticket.attempt {
                let message = format!(
                    "attempt {} runs here, not {}",
                    ticket.attempt, hello.attempt
                );
                let code = if hello.attempt < ticket.attempt {
                    Code::AttemptSuperseded
                } else {
                    Code::PeerUnreachable
                };
                return Err(Failure::new(code, message));
            }
            Ok(shared)
        });
        match accepted {
            Ok(shared) => {
                shared.superseded.store(true, Ordering::Release);
                let arrived = shared
                    .arrivals
                    .0
                    .send_timeout(Arrival::Session(stream, hello), EARLY);
                arrived.map_err(|_| {
                    Failure::new(Code::TooBusy, "the attempt does not take connections")
                })
            }
            Err(failure) => {
                let bye = Message::Bye(failure.clone()).encode();
                drop(stream.write_all(&bye, &[], &mut until(Instant::now() + GREETING)));
                drop(stream.close());
                Err(failure)
            }
        }
    }

    fn join(&self, stream: TlsStream, join: &Join) -> Result<(), Failure> {
        let refused = || {
            Failure::new(
                Code::WrongPeerKey,
                "a data connection belongs to no session",
            )
        };
        let shared = self.attempt(&join.transfer).ok_or_else(refused)?;
        let joinable = shared.joinable.lock().clone().ok_or_else(refused)?;
        let token = join_token(&joinable.secret, &joinable.session, join.index, &stream)?;
        // The comparison of BLAKE3 hashes takes the same time whether or not they are equal.
        let proven = joinable.session == join.session && token == join.token;
        if !proven || shared.ticket.lock().peer() != Some(stream.peer()) {
            return Err(refused());
        }
        let arrived = shared
            .arrivals
            .0
            .send_timeout(Arrival::Stream(join.index, stream), EARLY);
        arrived.map_err(|_| Failure::new(Code::TooBusy, "the attempt does not take connections"))
    }
}

/// What the root allows holds whatever the ticket says.
fn check_access(spec: &AttemptSpec) -> Result<(), Failure> {
    let execution = &spec.ticket.ticket().execution;
    let (source, destination) = match &spec.role {
        Role::Source(root) => (Some(root), None),
        Role::Destination(root) => (None, Some(root)),
        Role::Local(source, destination) => (Some(source), Some(destination)),
    };
    let needed = [
        (source, execution.source_access()),
        (destination, execution.destination_access()),
    ];
    for (root, needed) in needed {
        if let Some(root) = root
            && execution.trash.is_some()
            && needed == Access::Delete
            && root.account().is_some()
        {
            let message = format!(
                "root `{}` maps people to local accounts and so has no trash: nobody but each account could remove what it keeps. \
                 The policy asks for one (`@trash`)",
                root.name()
            );
            return Err(Failure::new(Code::RootAccess, message));
        }
        if let Some(root) = root
            && root.access() < needed
        {
            let message = format!(
                "root `{}` allows to {}, the ticket needs to {needed}",
                root.name(),
                root.access()
            );
            return Err(Failure::new(Code::RootAccess, message));
        }
    }
    Ok(())
}

/// Whether the folder is there below which a leg of a probe writes. No probe makes one, so that waiting and trying again help nobody.
fn check_folder_of_leg(plane: &Plane, spec: &AttemptSpec) -> Result<(), Failure> {
    let ticket = spec.ticket.ticket();
    let (Role::Destination(root) | Role::Local(_, root)) = &spec.role else {
        return Ok(());
    };
    if ticket.leg.is_none_or(|leg| leg.writes != Medium::Storage) {
        return Ok(());
    }
    let to = &ticket.execution.destination;
    let storage = plane.storages.target(root, Writing::Buffered);
    let Err(error) = storage.folder(&to.path) else {
        return Ok(());
    };
    let named = format!("`{}` in root `{}`", to.path, to.root);
    if error.kind() == std::io::ErrorKind::NotFound {
        let message = format!("no folder is at {named}, and a probe makes none");
        return Err(Failure::new(Code::DestinationMissing, message));
    }
    match destination_failure(&error, &named, "opening the folder") {
        failure if failure.code == Code::DestinationNotDirectory => Err(failure),
        // Whatever else is wrong may pass, as it may for a transfer.
        _ => Ok(()),
    }
}

fn listen_on(plane: &Arc<Plane>, address: SocketAddr) -> Result<SocketAddr, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(
            Code::StateFailed,
            format!("the data address {address} cannot be listened on: {error}"),
        )
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let expecting = Arc::downgrade(plane);
    let allow = move |key: &PublicKey| expecting.upgrade().is_some_and(|plane| plane.expects(key));
    let config = server_config(&plane.identity, Arc::new(allow), ALPN_DATA)
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    let plane = Arc::clone(plane);
    let accept = move || {
        for socket in listener.incoming() {
            if plane.closing.load(Ordering::Acquire) {
                break;
            }
            match socket {
                Ok(socket) => greet_on_thread(&plane, socket, Arc::clone(&config)),
                Err(error) => {
                    tracing::warn!(%error, "a data connection could not be accepted");
                    // Out of descriptors, most likely: give others time to close theirs.
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    };
    std::thread::Builder::new()
        .name("headrace-listen".to_owned())
        .spawn(accept)
        .map_err(failed)?;
    Ok(bound)
}

fn greet_on_thread(plane: &Arc<Plane>, socket: TcpStream, config: Arc<ServerConfig>) {
    let admitted = match plane.strangers.admit(&socket) {
        Ok(admitted) => admitted,
        Err(error) => {
            tracing::warn!(%error, "a data connection was closed");
            return;
        }
    };
    let greeter = Arc::clone(plane);
    let greet = move || greeter.greet(socket, &config, &admitted);
    if let Err(error) = std::thread::Builder::new()
        .name("headrace-greet".to_owned())
        .spawn(greet)
    {
        tracing::warn!(%error, "no thread for a data connection");
    }
}

#[cfg(test)]
mod tests {
    use headrace_core::access::Access;
    use headrace_core::sealed::SigningKey;

    use super::*;

    #[test]
    fn a_file_system_that_hangs_holds_up_no_other() {
        let identity = Identity::new(&SigningKey::from_seed(&[1; 32])).expect("an identity");
        let node = DataPlane::start(identity, None, Settings::default()).expect("a data plane");
        let folder = tempfile::tempdir().expect("a folder");
        let root = |path| Root::open("root", path, Access::Read).expect("a root");
        let of = |path| node.plane.disk(&root(path)).expect("threads");
        let (hanging, other) = (of(Path::new("/proc")), of(folder.path()));
        assert!(Arc::ptr_eq(&hanging, &of(Path::new("/proc"))));
        let (go, waits) = crossbeam_channel::bounded::<()>(0);
        for _ in 0..Settings::default().disk_threads {
            let waits = waits.clone();
            hanging.submit(move || {
                let _ = waits.recv();
            });
        }
        let (done, came) = crossbeam_channel::bounded(1);
        other.submit(move || {
            let _ = done.send(());
        });
        let came = came.recv_timeout(Duration::from_secs(30));
        drop(go);
        assert_eq!(came, Ok(()));
    }
}
