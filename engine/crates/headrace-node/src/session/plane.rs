//! What the attempts of a node share: buffers, disk threads, descriptors and links, and the book of those that run.

use std::collections::HashMap;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use headrace_core::code::{Code, Failure};
use headrace_core::codec::to_usize;
use headrace_core::integrity::BLOCK_BYTES;
use headrace_core::message::MAX_STREAMS;
use headrace_core::name::RelPath;
use headrace_core::sealed::PublicKey;
use headrace_core::value::{Id, Label};
use headrace_io::buffer::BufferPool;
use headrace_io::descriptors::Descriptors;
use headrace_io::disk::DiskPool;
use headrace_io::probe::Probes;
use headrace_io::root::Root;
use headrace_io::storage::{Storages, Writing};
use headrace_io::stream::Records;
use headrace_io::tls::Identity;
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use super::attempt::{AttemptSpec, Role, Shared};
use super::failures::state_failed;
use super::fireflies::{Reported, Reporter};
use super::shares::{Claim, Direction, NodeLinks};
use crate::strangers::Strangers;

/// How long a connection may come before the attempt it belongs to.
pub(super) const EARLY: Duration = Duration::from_secs(8);
/// Most connections with a key that nothing is known of which wait for an attempt; more are refused, and dial again.
const MAX_EARLY: usize = 64;
/// The part of the buffers that is for reading.
const READING_PART: usize = 4;
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
    pub(super) links: NodeLinks,
    /// Tells of connections, where that is set.
    pub(super) fireflies: OnceLock<Reporter>,
    probes: Probes,
    pub(super) strangers: Arc<Strangers>,
    early: AtomicUsize,
    /// The listener is to close.
    pub(super) closing: AtomicBool,
}

/// An attempt's places in the books of its node; given back when it is dropped.
pub(super) struct Registration {
    plane: Arc<Plane>,
    transfer: Id,
    pub(super) shared: Arc<Shared>,
}

impl Registration {
    pub(super) fn new(plane: &Arc<Plane>, spec: &AttemptSpec) -> Result<Self, Failure> {
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
    pub(super) fn new(
        identity: Identity,
        settings: Settings,
        storages: Arc<dyn Storages>,
    ) -> Arc<Self> {
        let descriptors = Descriptors::of_process();
        let reading_bytes = settings.max_buffer_bytes / READING_PART;
        Arc::new(Self {
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
        })
    }

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

    /// The attempt of this transfer, if one runs.
    pub(super) fn attempt(&self, transfer: &Id) -> Option<Arc<Shared>> {
        self.attempts.lock().get(transfer).cloned()
    }

    /// Whether an attempt with this peer runs, or begins soon: the service tells both nodes at once, and the other may be quicker.
    pub(super) fn expects(&self, key: &PublicKey) -> bool {
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
    pub(super) fn wait_for(&self, transfer: &Id) -> Option<Arc<Shared>> {
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
}
