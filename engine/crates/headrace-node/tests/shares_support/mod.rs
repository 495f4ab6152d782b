//! Transfers without a disk between data planes on loopback, which compete for links.

#![allow(dead_code, reason = "tests and the example use their part each")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headrace_core::access::Access;
use headrace_core::name::RelPath;
use headrace_core::shares::{Links, TransferShare};
use headrace_io::root::Root;
use headrace_io::tls::Identity;
use headrace_node::session::{
    AttemptHandle, AttemptSpec, DataPlane, Peer, Role, Settings, StopReason, Tuning, start,
};
use serde_json::json;

use crate::lab_support::NoDisk;
use crate::session_support::{node_key, root_of, ticket, verified};

/// The node that everything goes to.
const DESTINATION: u8 = 90;

/// Who takes part in a contest.
#[derive(Debug, Clone)]
pub(crate) struct Entrant {
    /// Which node it starts at, from 1.
    pub(crate) source: u8,
    pub(crate) class: &'static str,
    pub(crate) weight: u32,
    pub(crate) guaranteed_bps: u64,
    pub(crate) streams: u16,
    pub(crate) file_bytes: u64,
    pub(crate) ceiling_bps: Option<u64>,
}

impl Default for Entrant {
    fn default() -> Self {
        Self {
            source: 1,
            class: "bulk",
            weight: 1,
            guaranteed_bps: 0,
            streams: 2,
            file_bytes: 1 << 30,
            ceiling_bps: None,
        }
    }
}

impl Entrant {
    /// Its share: over the link of its source, or over that of the destination.
    pub(crate) fn share(&self, over: Over) -> Option<TransferShare> {
        let (source, destination) = match over {
            Over::Nothing => return None,
            Over::Source => (vec!["uplink"], vec![]),
            Over::Destination => (vec![], vec!["uplink"]),
        };
        let share = json!({
            "class": self.class, "weight": self.weight, "guaranteed_bps": self.guaranteed_bps,
            "source_links": source, "destination_links": destination,
        });
        Some(TransferShare::parse(&share.to_string()).expect("a share"))
    }
}

/// Whose link it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Nothing,
    Source,
    Destination,
}

/// Nodes, and what they share.
pub(crate) struct Contest {
    sources: Vec<DataPlane>,
    destination: DataPlane,
    over: Over,
    root: Arc<Root>,
    folder: tempfile::TempDir,
}

/// A transfer that runs.
pub(crate) struct Run {
    pub(crate) source: AttemptHandle,
    pub(crate) destination: AttemptHandle,
}

impl Contest {
    pub(crate) fn new(sources: u8, over: Over) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings {
            max_attempts: 256,
            ..Settings::default()
        };
        let plane = |seed, listen: Option<&str>| {
            let identity = Identity::new(&node_key(seed)).expect("an identity");
            let listen = listen.map(|address| address.parse().expect("an address"));
            // How many files of which size, the path of a transfer says.
            let storages = Arc::new(NoDisk {
                files: 0,
                file_bytes: 0,
            });
            DataPlane::start_on(identity, listen, settings, storages).expect("a data plane")
        };
        Self {
            sources: (1..=sources).map(|seed| plane(seed, None)).collect(),
            destination: plane(DESTINATION, Some("127.0.0.1:0")),
            over,
            root: root_of(folder.path(), Access::Delete),
            folder,
        }
    }

    /// Let the link have this rate, and these classes.
    pub(crate) fn set_link(&self, rate_bps: u64, classes: &serde_json::Value) {
        let link =
            json!({"name": "uplink", "rate_bps": rate_bps, "rest_percent": 10, "classes": classes});
        let links = Links::parse(&json!({ "links": [link] }).to_string()).expect("links");
        match self.over {
            Over::Nothing => {}
            Over::Source => {
                for node in &self.sources {
                    node.set_links(&links);
                }
            }
            Over::Destination => self.destination.set_links(&links),
        }
    }

    /// Let one begin; `number` is its own.
    pub(crate) fn enter(&self, number: usize, entrant: &Entrant) -> Run {
        let files = (1_u64 << 40) / entrant.file_bytes;
        let mut ticket = ticket(entrant.source, DESTINATION);
        ticket.transfer = format!("tr_{number}").parse().expect("an id");
        ticket.rate_ceiling_bps = entrant.ceiling_bps;
        let path = |text: String| RelPath::from_bytes(text.as_bytes()).expect("a path");
        ticket.execution.source.path = path(format!("{files}x{}", entrant.file_bytes));
        ticket.execution.destination.path = path(format!("to-{number}"));
        ticket.execution.max_files = files;
        let spec = |me: u8, role, peer| AttemptSpec {
            ticket: verified(&ticket, me),
            role,
            peer,
            overwrites: None,
            deletes: None,
            share: entrant.share(self.over),
            state_dir: self.state(me),
            tuning: Tuning {
                streams: Some(entrant.streams),
                ..Tuning::default()
            },
        };
        let root = || Arc::clone(&self.root);
        let waits = spec(DESTINATION, Role::Destination(root()), Peer::Await);
        let destination = start(&self.destination, waits).expect("the destination starts");
        let address = self.destination.address().expect("it listens");
        let dials = spec(
            entrant.source,
            Role::Source(root()),
            Peer::Dial(vec![address]),
        );
        let source = &self.sources[usize::from(entrant.source) - 1];
        let source = start(source, dials).expect("the source starts");
        Run {
            source,
            destination,
        }
    }

    fn state(&self, node: u8) -> PathBuf {
        self.folder.path().join(format!("state-{node}"))
    }
}

impl Run {
    /// Bytes that arrived.
    pub(crate) fn bytes(&self) -> u64 {
        assert!(
            self.destination.end().is_none(),
            "{:?}",
            self.destination.end()
        );
        self.destination.progress().bytes_received
    }

    /// Go on by another share at both ends.
    pub(crate) fn set_share(&self, share: Option<&TransferShare>) {
        for end in [&self.source, &self.destination] {
            end.set_share(share.cloned());
        }
    }

    /// End it at both ends.
    pub(crate) fn stop(&self) {
        let ends = [&self.source, &self.destination];
        for end in ends {
            end.stop(StopReason::Requested);
        }
        for end in ends {
            drop(end.wait());
        }
    }
}

/// What each has received while all together received so many bytes.
pub(crate) fn shares(runs: &[Run], bytes: u64) -> Vec<u64> {
    let now = || runs.iter().map(Run::bytes).collect::<Vec<_>>();
    let before = now();
    let end = before.iter().sum::<u64>() + bytes;
    loop {
        let after = now();
        if after.iter().sum::<u64>() >= end {
            return after
                .iter()
                .zip(&before)
                .map(|(after, before)| after - before)
                .collect();
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
