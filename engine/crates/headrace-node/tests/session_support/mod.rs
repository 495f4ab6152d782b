//! Two data planes on loopback, folders with files, and tickets for them.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use headrace_core::access::{Access, Authority, Grant, Grants};
use headrace_core::filter::Filters;
use headrace_core::list::{ListDigest, ListEntry, ListWriter};
use headrace_core::name::RelPath;
use headrace_core::sealed::{Document, DocumentType, SigningKey};
use headrace_core::ticket::{
    Action, Compare, Encryption, Execution, OnConflict, Place, Preserve, Shard, Ticket,
    VerifiedTicket, Verify,
};
use headrace_core::value::{Digest, Timestamp};
use headrace_io::root::Root;
use headrace_io::storage::Storages;
use headrace_io::storage::posix::PosixStorages;
use headrace_io::tls::Identity;
use headrace_node::session::{
    AttemptEnd, AttemptHandle, AttemptSpec, DataPlane, Peer, Role, Settings, Tuning, start,
};

/// The authority that signs tickets.
fn authority() -> SigningKey {
    SigningKey::from_seed(&[100; 32])
}

pub(crate) fn node_key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

/// A node: its data plane, its root and its state folder.
pub(crate) struct Node {
    pub(crate) plane: DataPlane,
    pub(crate) root: Arc<Root>,
    pub(crate) data: PathBuf,
    pub(crate) state: PathBuf,
    seed: u8,
    folder: tempfile::TempDir,
}

impl Node {
    pub(crate) fn new(seed: u8) -> Self {
        Self::in_folder(seed, tempfile::tempdir().expect("a folder"))
    }

    fn in_folder(seed: u8, folder: tempfile::TempDir) -> Self {
        let (data, state) = (folder.path().join("data"), folder.path().join("state"));
        std::fs::create_dir_all(&data).expect("a folder");
        std::fs::create_dir_all(&state).expect("a folder");
        Self {
            plane: Self::plane(seed),
            root: root_of(&data, Access::Delete),
            data,
            state,
            seed,
            folder,
        }
    }

    fn plane(seed: u8) -> DataPlane {
        Self::plane_on(seed, Arc::new(PosixStorages))
    }

    fn plane_on(seed: u8, storages: Arc<dyn Storages>) -> DataPlane {
        let identity = Identity::new(&node_key(seed)).expect("an identity");
        let listen = Some("127.0.0.1:0".parse().expect("an address"));
        DataPlane::start_on(identity, listen, Settings::default(), storages).expect("a data plane")
    }

    /// The node after its process was killed and started again: same folders and key, nothing in memory.
    pub(crate) fn restarted(self) -> Self {
        let Self {
            plane,
            root,
            data,
            state,
            seed,
            folder,
        } = self;
        drop(plane);
        Self {
            plane: Self::plane(seed),
            root,
            data,
            state,
            seed,
            folder,
        }
    }
}

pub(crate) fn root_of(path: &Path, access: Access) -> Arc<Root> {
    Arc::new(Root::open("root", path, access).expect("a root"))
}

/// A source node, a destination node, and the ticket between them.
pub(crate) struct Pair {
    pub(crate) source: Node,
    pub(crate) destination: Node,
    pub(crate) ticket: Ticket,
    pub(crate) overwrites: Option<PathBuf>,
    pub(crate) deletes: Option<PathBuf>,
    pub(crate) tuning: Tuning,
    pub(crate) dialler: Dialler,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialler {
    Source,
    Destination,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::of(Node::new(1), Node::new(2))
    }

    /// The same nodes with their folders opened anew: something else may stand there now.
    pub(crate) fn on_other_roots(mut self) -> Self {
        for node in [&mut self.source, &mut self.destination] {
            node.root = root_of(&node.data, Access::Delete);
        }
        self
    }

    /// Both nodes with something else behind their roots.
    pub(crate) fn on(mut self, storages: &Arc<dyn Storages>) -> Self {
        for node in [&mut self.source, &mut self.destination] {
            node.plane = Node::plane_on(node.seed, Arc::clone(storages));
        }
        self
    }

    /// New data planes, whose threads have the rights of this one.
    pub(crate) fn restart_planes(&mut self) {
        for node in [&mut self.source, &mut self.destination] {
            node.plane = Node::plane(node.seed);
        }
    }

    /// Both nodes with their files below `folder`.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let node = |seed| Node::in_folder(seed, tempfile::tempdir_in(folder).expect("a folder"));
        Self::of(node(1), node(2))
    }

    fn of(source: Node, destination: Node) -> Self {
        Self {
            ticket: ticket(1, 2),
            source,
            destination,
            overwrites: None,
            deletes: None,
            tuning: Tuning::default(),
            dialler: Dialler::Source,
        }
    }

    /// The folder that is copied from.
    pub(crate) fn from(&self) -> PathBuf {
        self.source.data.join("from")
    }

    /// The folder that is copied to.
    pub(crate) fn to(&self) -> PathBuf {
        self.destination.data.join("to")
    }

    pub(crate) fn verified(&self, me: u8) -> VerifiedTicket {
        verified(&self.ticket, me)
    }

    pub(crate) fn source_spec(&self) -> AttemptSpec {
        let peer = match self.dialler {
            Dialler::Source => {
                Peer::Dial(vec![self.destination.plane.address().expect("it listens")])
            }
            Dialler::Destination => Peer::Await,
        };
        AttemptSpec {
            ticket: self.verified(1),
            role: Role::Source(Arc::clone(&self.source.root)),
            peer,
            overwrites: None,
            deletes: None,
            share: None,
            state_dir: self.source.state.clone(),
            tuning: self.tuning,
            permitted: Arc::new(|| Ok(())),
        }
    }

    pub(crate) fn destination_spec(&self) -> AttemptSpec {
        let peer = match self.dialler {
            Dialler::Source => Peer::Await,
            Dialler::Destination => {
                Peer::Dial(vec![self.source.plane.address().expect("it listens")])
            }
        };
        AttemptSpec {
            ticket: self.verified(2),
            role: Role::Destination(Arc::clone(&self.destination.root)),
            peer,
            overwrites: self.overwrites.clone(),
            deletes: self.deletes.clone(),
            share: None,
            state_dir: self.destination.state.clone(),
            tuning: self.tuning,
            permitted: Arc::new(|| Ok(())),
        }
    }

    /// Start both ends.
    pub(crate) fn start(&self) -> (AttemptHandle, AttemptHandle) {
        let source = start(&self.source.plane, self.source_spec()).expect("the source starts");
        let destination = start(&self.destination.plane, self.destination_spec())
            .expect("the destination starts");
        (source, destination)
    }

    /// Run an attempt to its end on both nodes.
    pub(crate) fn run(&self) -> (AttemptEnd, AttemptEnd) {
        let (source, destination) = self.start();
        (source.wait(), destination.wait())
    }

    /// Write the overwrite list for names at the destination as they are now, and name it in the ticket.
    pub(crate) fn list_overwrites(&mut self, names: &[&str]) {
        let (path, digest) = self.list(names, "overwrites.jsonl");
        self.overwrites = Some(path);
        self.ticket.execution.overwrites = digest;
    }

    /// The same for the delete list.
    pub(crate) fn list_deletes(&mut self, names: &[&str]) {
        let (path, digest) = self.list(names, "deletes.jsonl");
        self.deletes = Some(path);
        self.ticket.execution.deletes = digest;
    }

    fn list(&self, names: &[&str], file: &str) -> (PathBuf, ListDigest) {
        let path = self.destination.state.join(file);
        let mut writer = ListWriter::new(std::fs::File::create(&path).expect("a file"));
        let place = RelPath::from_bytes(b"to").expect("a path");
        for name in names {
            let below = RelPath::from_bytes(name.as_bytes()).expect("a path");
            let full = place.join_path(&below).expect("short");
            let found = self
                .destination
                .root
                .entry(&full)
                .expect("readable")
                .expect("there");
            let entry = headrace_core::entry::Entry {
                path: below,
                ..found
            };
            writer.push(&ListEntry::from(&entry)).expect("written");
        }
        (path, writer.finish().expect("written").1)
    }
}

/// A ticket as the node with this seed takes it, which believes the authority in everything.
pub(crate) fn verified(ticket: &Ticket, me: u8) -> VerifiedTicket {
    let document = Document::seal(DocumentType::Ticket, ticket, &[&authority()]).expect("a ticket");
    let grant = Grant {
        access: Access::Delete,
        authorities: vec![Authority {
            key: authority().public(),
            access: Access::Delete,
            until: None,
        }],
    };
    let grants = Grants::from([("root".to_owned(), grant)]);
    let now = Timestamp::from(SystemTime::now());
    VerifiedTicket::verify(&document.text(), &grants, node_key(me).public(), now)
        .expect("a good ticket")
}

/// A ticket for a plain copy of `from` to `to`.
pub(crate) fn ticket(source: u8, destination: u8) -> Ticket {
    let place = |seed: u8, path: &[u8]| Place {
        node: node_key(seed).public(),
        root: "root".parse().expect("a label"),
        path: RelPath::from_bytes(path).expect("a path"),
    };
    let now = Timestamp::from(SystemTime::now());
    let label = |text: &str| text.parse().expect("a label");
    Ticket {
        id: "tk_1".parse().expect("an id"),
        plan_digest: Digest([9; 32]),
        transfer: "tr_1".parse().expect("an id"),
        attempt: 1,
        shard: Shard::WHOLE,
        person: label("ada"),
        source_node: node_key(source).public(),
        destination_node: node_key(destination).public(),
        execution: Execution {
            action: Action::Copy,
            source: place(source, b"from"),
            destination: place(destination, b"to"),
            filters: Filters::default(),
            on_conflict: OnConflict::Fail,
            compare: Compare::SizeMtime,
            preserve: vec![Preserve::Mode, Preserve::Mtime],
            verify: Verify::InTransit,
            checksums: vec![],
            encryption: Encryption::Required,
            delete_source: false,
            delete_extraneous: false,
            max_files: 1_000_000,
            max_bytes: 1 << 40,
            max_entries: 1_000_000,
            overwrites: ListDigest::empty(),
            deletes: ListDigest::empty(),
            rate_ceiling_bps: None,
            qos_class: label("bulk"),
            probe: None,
            trash: None,
        },
        rate_ceiling_bps: None,
        only_failed: false,
        not_before: now.plus_ms(-1000),
        expires: now.plus_ms(900_000),
        site: label(""),
        project: label(""),
        local_account: label(""),
        leg: None,
    }
}

/// Bytes that look random and are the same every time.
pub(crate) fn content(size: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// Write a file, with the folders above it.
pub(crate) fn put(folder: &Path, name: impl AsRef<[u8]>, bytes: &[u8]) -> PathBuf {
    let path = folder.join(OsStr::from_bytes(name.as_ref()));
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    std::fs::write(&path, bytes).expect("a file");
    path
}

/// Everything below a folder: what it is, mode, modification time, content or target.
pub(crate) fn tree(folder: &Path) -> BTreeMap<Vec<u8>, (u32, i128, Vec<u8>)> {
    let mut found = BTreeMap::new();
    collect(folder, folder, &mut found);
    found
}

fn collect(top: &Path, folder: &Path, found: &mut BTreeMap<Vec<u8>, (u32, i128, Vec<u8>)>) {
    for item in std::fs::read_dir(folder).expect("a folder") {
        let path = item.expect("an entry").path();
        let metadata = std::fs::symlink_metadata(&path).expect("metadata");
        let content = if metadata.is_symlink() {
            std::fs::read_link(&path)
                .expect("a target")
                .as_os_str()
                .as_bytes()
                .to_vec()
        } else if metadata.is_file() {
            std::fs::read(&path).expect("a file")
        } else {
            Vec::new()
        };
        if metadata.is_dir() {
            collect(top, &path, found);
        }
        let mtime_ns =
            i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        let name = path
            .strip_prefix(top)
            .expect("below")
            .as_os_str()
            .as_bytes()
            .to_vec();
        found.insert(name, (metadata.permissions().mode(), mtime_ns, content));
    }
}

/// The lines of a list, parsed.
pub(crate) fn lines(path: Option<&PathBuf>) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path.expect("a list")).expect("readable");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}
