//! One end of a transfer without a disk, for as long as wanted: what `benchmarks/long.py` runs in two network namespaces.
//!
//! `long (source|destination) ADDRESS SECONDS`. The destination listens, the source dials. The destination prints one JSON line a second:
//! bytes that arrived and were verified, data connections, and what limits it. When the time is over, the source sets a low rate, says what it still
//! sent in 200 ms, stops, and says how long that took.

#[path = "../tests/lab_support/mod.rs"]
mod lab_support;
#[path = "../tests/session_support/mod.rs"]
mod session_support;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::access::Access;
use headrace_io::tls::Identity;
use headrace_node::session::{
    AttemptHandle, AttemptSpec, DataPlane, Peer, Role, Settings, StopReason, Tuning, start,
};
use lab_support::NoDisk;
use session_support::{node_key, root_of, ticket, verified};

/// More than any path carries in the longest run: the time ends it.
const NO_DISK: NoDisk = NoDisk {
    files: 64,
    file_bytes: 16 << 30,
};

/// A rate that is set at the end, and the time after which it has to hold.
const LOWER_BPS: u64 = 8_000_000;
const ACTS_WITHIN: Duration = Duration::from_millis(200);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, address, seconds] = &arguments[..] else {
        panic!("long (source|destination) ADDRESS SECONDS")
    };
    let address: SocketAddr = address.parse().expect("an address with a port");
    let seconds: u64 = seconds.parse().expect("seconds");
    let is_source = role == "source";
    let folder = tempfile::tempdir().expect("a folder");
    let root = root_of(folder.path(), Access::Delete);
    let me = if is_source { 1 } else { 2 };
    let identity = Identity::new(&node_key(me)).expect("an identity");
    let listen = (!is_source).then_some(address);
    let settings = Settings::default();
    let plane = DataPlane::start_on(identity, listen, settings, Arc::new(NO_DISK));
    let plane = plane.expect("a data plane");
    let spec = AttemptSpec {
        ticket: verified(&ticket(1, 2), me),
        role: if is_source {
            Role::Source(root)
        } else {
            Role::Destination(root)
        },
        peer: if is_source {
            Peer::Dial(vec![address])
        } else {
            Peer::Await
        },
        overwrites: None,
        deletes: None,
        share: None,
        state_dir: folder.path().join("state"),
        tuning: Tuning::default(),
        permitted: Arc::new(|| Ok(())),
    };
    let attempt = start(&plane, spec).expect("it starts");
    let end = Instant::now() + Duration::from_secs(seconds);
    watch(&attempt, end, is_source);
    // What still goes out at the old rate once a lower one is set, and how long a stop takes.
    attempt.set_rate(Some(LOWER_BPS));
    let before = attempt.progress().bytes_received;
    std::thread::sleep(ACTS_WITHIN);
    let lowered = attempt.progress().bytes_received - before;
    let stopping = Instant::now();
    attempt.stop(StopReason::Requested);
    let end = attempt.wait();
    let stop_ms = stopping.elapsed().as_millis();
    let failure = end.failure.map(|failure| failure.message);
    let line = serde_json::json!({
        "end": format!("{:?}", end.outcome),
        "why": failure,
        "lowered_bytes": lowered,
        "stop_ms": stop_ms,
    });
    writeln!(std::io::stdout(), "{line}").expect("a line");
}

/// Say every second how far it has come, until the time is over or the attempt is.
fn watch(attempt: &AttemptHandle, end: Instant, is_source: bool) {
    let begin = Instant::now();
    for second in 1.. {
        let next = begin + Duration::from_secs(second);
        if next > end || attempt.end().is_some() {
            return;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let progress = attempt.progress();
        if !is_source {
            let line = serde_json::json!({
                "second": second,
                "bytes": progress.bytes_received,
                "streams": progress.streams,
                "limiter": progress.limiter,
            });
            writeln!(std::io::stdout(), "{line}").expect("a line");
        }
    }
}
