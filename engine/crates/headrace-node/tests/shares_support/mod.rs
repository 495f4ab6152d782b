//! Transfers without a disk between data planes, which compete for links: on loopback, or in hosts of a lab.

#![allow(dead_code, reason = "tests and the example use their part each")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headrace_core::access::Access;
use headrace_core::name::RelPath;
use headrace_core::shares::{Links, TransferShare};
use headrace_io::root::Root;
use headrace_io::tls::Identity;
use headrace_lab::{Lab, enter};
use headrace_node::session::{
    AttemptHandle, AttemptSpec, DataPlane, Peer, Role, Settings, StopReason, Tuning, start,
};
use serde_json::json;

use crate::lab_support::NoDisk;
use crate::session_support::{node_key, root_of, ticket, verified};

/// The first node that something goes to.
const DESTINATION: u8 = 90;
/// The one lab of this process, whose folder is its own.
const LAB: &str = "shares";
/// The largest packet of its lines.
const PACKET_BYTES: u16 = 1500;
/// Its first host: the one whose link it is.
const NEAR: usize = 0;

/// Who takes part in a contest.
#[derive(Debug, Clone)]
pub(crate) struct Entrant {
    /// Which node it starts at, from 1.
    pub(crate) source: u8,
    /// Which node it goes to, from 1.
    pub(crate) destination: u8,
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
            destination: 1,
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
    sources: Vec<Node>,
    destinations: Vec<Node>,
    over: Over,
    root: Arc<Root>,
    folder: tempfile::TempDir,
    /// The last: nodes end before their hosts.
    hosts: Option<Hosts>,
}

/// A node, and which host it stands in where there are hosts.
struct Node {
    plane: DataPlane,
    host: usize,
}

/// Hosts of a lab: one without a way of its own, then one for each round trip.
struct Hosts {
    lab: Lab,
    folder: tempfile::TempDir,
}

impl Hosts {
    fn new(round_trips_ms: &[u64]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let far = round_trips_ms
            .iter()
            .enumerate()
            .map(|(number, trip)| format!("far-{number}:rtt={trip}ms"));
        let hosts: Vec<_> = std::iter::once("near".to_owned())
            .chain(far)
            .map(|text| text.parse().expect("a host"))
            .collect();
        let lab = Lab::start(folder.path(), LAB, &hosts, PACKET_BYTES).expect("a lab");
        Self { lab, folder }
    }

    fn address(&self, host: usize) -> &str {
        &self.lab.state().hosts[host].address
    }

    /// Do this in a host: sockets that it opens are there, and so is whatever the threads do that it starts.
    fn inside<T: Send>(&self, host: usize, work: impl FnOnce() -> T + Send) -> T {
        let name = &self.lab.state().hosts[host].name;
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                enter(self.folder.path(), LAB, name).expect("it is entered");
                work()
            });
            inside.join().expect("it is done")
        })
    }
}

/// A transfer that runs.
pub(crate) struct Run {
    pub(crate) source: AttemptHandle,
    pub(crate) destination: AttemptHandle,
}

impl Contest {
    /// Nodes on loopback: so many sources, and one destination.
    pub(crate) fn new(sources: u8, over: Over) -> Self {
        let (sources, destination) = (vec![NEAR; usize::from(sources)], vec![NEAR]);
        Self::between(&sources, &destination, over, None)
    }

    /// Nodes in hosts of a lab: the one whose link it is, and at the other end of each of these round trips one.
    pub(crate) fn over_trips(round_trips_ms: &[u64], over: Over) -> Self {
        let far: Vec<_> = (NEAR + 1..).take(round_trips_ms.len()).collect();
        let (sources, destinations) = match over {
            Over::Destination => (far, vec![NEAR]),
            Over::Source | Over::Nothing => (vec![NEAR], far),
        };
        let hosts = Hosts::new(round_trips_ms);
        Self::between(&sources, &destinations, over, Some(hosts))
    }

    fn between(
        sources: &[usize],
        destinations: &[usize],
        over: Over,
        hosts: Option<Hosts>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings {
            max_attempts: 256,
            ..Settings::default()
        };
        let node = |seed, host, listens: bool| {
            let identity = Identity::new(&node_key(seed)).expect("an identity");
            let address = hosts
                .as_ref()
                .map_or("127.0.0.1", |hosts| hosts.address(host));
            let listen = listens.then(|| format!("{address}:0").parse().expect("an address"));
            // How many files of which size, the path of a transfer says.
            let storages = Arc::new(NoDisk {
                files: 0,
                file_bytes: 0,
            });
            let begin = || DataPlane::start_on(identity, listen, settings, storages);
            let plane = inside(hosts.as_ref(), host, begin).expect("a data plane");
            Node { plane, host }
        };
        Self {
            sources: (1..)
                .zip(sources)
                .map(|(seed, host)| node(seed, *host, false))
                .collect(),
            destinations: (DESTINATION..)
                .zip(destinations)
                .map(|(seed, host)| node(seed, *host, true))
                .collect(),
            over,
            root: root_of(folder.path(), Access::Delete),
            folder,
            hosts,
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
                    node.plane.set_links(&links);
                }
            }
            Over::Destination => {
                for node in &self.destinations {
                    node.plane.set_links(&links);
                }
            }
        }
    }

    /// Let one begin; `number` is its own.
    pub(crate) fn enter(&self, number: usize, entrant: &Entrant) -> Run {
        let files = (1_u64 << 40) / entrant.file_bytes;
        let to = DESTINATION + entrant.destination - 1;
        let mut ticket = ticket(entrant.source, to);
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
            permitted: Arc::new(|| Ok(())),
        };
        let root = || Arc::clone(&self.root);
        let waits = spec(to, Role::Destination(root()), Peer::Await);
        let node = &self.destinations[usize::from(entrant.destination) - 1];
        let destination = self.start(node, waits);
        let address = node.plane.address().expect("it listens");
        let dials = spec(
            entrant.source,
            Role::Source(root()),
            Peer::Dial(vec![address]),
        );
        let source = self.start(&self.sources[usize::from(entrant.source) - 1], dials);
        Run {
            source,
            destination,
        }
    }

    fn start(&self, node: &Node, spec: AttemptSpec) -> AttemptHandle {
        inside(self.hosts.as_ref(), node.host, || start(&node.plane, spec)).expect("it starts")
    }

    fn state(&self, node: u8) -> PathBuf {
        self.folder.path().join(format!("state-{node}"))
    }
}

/// Do this in a host of the lab, or here where there is none.
fn inside<T: Send>(hosts: Option<&Hosts>, host: usize, work: impl FnOnce() -> T + Send) -> T {
    match hosts {
        Some(hosts) => hosts.inside(host, work),
        None => work(),
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
