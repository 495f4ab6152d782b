//! A collector hears of the data connections of transfers: at their start, while they go on, at their end.

mod session_support;

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::Duration;

use headrace_node::session::{Fireflies, OfClass, Outcome};
use serde_json::Value;
use session_support::{Pair, content, put};

const LIMIT: Duration = Duration::from_secs(30);
const BYTES: usize = 12 << 20;

struct Collector(UdpSocket);

impl Collector {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(LIMIT)).expect("an option");
        Self(socket)
    }

    fn settings(&self) -> Fireflies {
        let instrument = OfClass {
            activity: Some(9),
            ..OfClass::default()
        };
        Fireflies {
            collector: self.0.local_addr().expect("an address").to_string(),
            experiment: 14,
            activity: 1,
            every_s: 1,
            classes: BTreeMap::from([("instrument".to_owned(), instrument)]),
        }
    }

    /// The next packet: its header and its document.
    fn next(&self) -> (String, Value) {
        let mut packet = [0; 1500];
        let length = self.0.recv(&mut packet).expect("a packet");
        let text = String::from_utf8(packet[..length].to_vec()).expect("text");
        let at = text.find('{').expect("a document");
        let document = serde_json::from_str(&text[at..]).expect("JSON");
        (text[..at].to_owned(), document)
    }

    /// What is told, by connection, until all that began have ended and sent so many bytes together.
    fn until_sent(&self, bytes: u64) -> Vec<Vec<Value>> {
        let mut told = BTreeMap::<String, Vec<Value>>::new();
        let sent = |told: &BTreeMap<String, Vec<Value>>| -> Option<u64> {
            let last = told.values().filter_map(|all| all.last());
            last.map(|one| (state(one) == "end").then(|| one["usage"]["sent"].as_u64())?)
                .sum()
        };
        while sent(&told).is_none_or(|sent| sent < bytes) {
            let (header, document) = self.next();
            assert!(
                header.starts_with("<134>1 ") && header.ends_with(" headrace - firefly-json - ")
            );
            told.entry(document["flow-id"].to_string())
                .or_default()
                .push(document);
        }
        told.into_values().collect()
    }
}

fn state(document: &Value) -> &str {
    document["flow-lifecycle"]["state"]
        .as_str()
        .expect("a state")
}

/// Two nodes with one file between them that takes three seconds.
fn slow_pair(class: &str) -> Pair {
    let mut pair = Pair::new();
    put(&pair.from(), "large", &content(BYTES, 1));
    pair.ticket.rate_ceiling_bps = Some(BYTES as u64 * 8 / 3);
    pair.ticket.execution.qos_class = class.parse().expect("a label");
    pair
}

#[test]
fn each_connection_of_a_transfer_is_told_of_from_its_start_to_its_end_by_the_node_that_sends() {
    let (collector, other) = (Collector::new(), Collector::new());
    let pair = slow_pair("bulk");
    for (node, to) in [(&pair.source, &collector), (&pair.destination, &other)] {
        node.plane
            .tell_of_connections(to.settings())
            .expect("a thread");
    }
    let (source, destination) = pair.run();
    assert_eq!(source.outcome, Outcome::Complete, "{source:?}");
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    // The kernel may not have heard of the last bytes when a connection is closed.
    let told = collector.until_sent(BYTES as u64 * 9 / 10);
    for all in &told {
        let first = &all[0];
        assert_eq!(
            (state(first), &first["version"]),
            ("start", &Value::from(1))
        );
        let flow = &first["flow-id"];
        assert_eq!(
            (&flow["afi"], &flow["protocol"]),
            (&"ipv4".into(), &"tcp".into())
        );
        assert_eq!(
            (&flow["src-ip"], &flow["dst-ip"]),
            (&"127.0.0.1".into(), &"127.0.0.1".into())
        );
        assert_eq!(first["context"]["experiment-id"], 14);
        assert_eq!(first["context"]["activity-id"], 1);
        let began = |one: &Value| one["flow-lifecycle"]["start-time"].clone();
        assert!(all.iter().all(|one| began(one) == began(first)));
        assert!(
            all[1..all.len() - 1]
                .iter()
                .all(|one| state(one) == "ongoing")
        );
    }
    assert!(
        told.iter().flatten().any(|one| state(one) == "ongoing"),
        "it takes three seconds"
    );
    other.0.set_nonblocking(true).expect("an option");
    assert!(
        other.0.recv(&mut [0; 1500]).is_err(),
        "the node that receives tells of nothing"
    );
}

#[test]
fn a_transfer_of_a_class_with_numbers_of_its_own_is_told_of_by_those() {
    let collector = Collector::new();
    let pair = slow_pair("instrument");
    pair.source
        .plane
        .tell_of_connections(collector.settings())
        .expect("a thread");
    let (source, destination) = pair.start();
    let (_, first) = collector.next();
    assert_eq!(first["context"]["activity-id"], 9);
    assert_eq!(first["context"]["experiment-id"], 14);
    for handle in [source, destination] {
        handle.stop(headrace_node::session::StopReason::Requested);
        drop(handle.wait());
    }
}
