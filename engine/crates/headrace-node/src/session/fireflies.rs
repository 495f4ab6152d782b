//! Lets a collector know of the data connections over which this node sends: `SciTags` fireflies, best effort.
//!
//! One thread a node sends all of them, so that neither a slow name server nor a full socket holds up a transfer.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use headrace_core::firefly::{MAX_ACTIVITY, MAX_EXPERIMENT, State, Tag, TaggedFlow, Usage};
use headrace_core::value::{Label, Timestamp};
use headrace_io::flow::{Flow, Worker};
use serde::{Deserialize, Serialize};

/// Most connections whose packets wait to be sent; what comes beyond is not told of.
const WAITING: usize = 1024;
/// How long an address of the collector counts, and how long one that could not be found is not looked up again.
const KNOWN: Duration = Duration::from_mins(1);
const MAX_CLASSES: usize = 64;
const EVERY_S: (u64, u64) = (1, 3600);

/// Where fireflies go, and whose data is sent: the table `[data.fireflies]` of `node.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fireflies {
    /// host:port of the collector, by UDP; collectors listen on port 10514 by custom.
    pub collector: String,
    /// Whose data it is, by the `SciTags` registry: 1 to 1023.
    pub experiment: u32,
    /// What for, by the same registry: 1 to 63.
    pub activity: u32,
    /// Seconds between two packets of a connection that goes on, 1 to 3600. Default 60.
    #[serde(default = "a_minute")]
    pub every_s: u64,
    /// What holds instead for transfers of a class, by its name.
    #[serde(default)]
    pub classes: BTreeMap<String, OfClass>,
}

/// What holds for a class; what is left out is as for the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfClass {
    /// Whose data it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<u32>,
    /// What for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<u32>,
}

const fn a_minute() -> u64 {
    60
}

impl Fireflies {
    /// Whether every value can be used; says which cannot.
    ///
    /// # Errors
    /// The name of the setting, and what it may be.
    pub fn check(&self) -> Result<(), String> {
        let port = self.collector.rsplit_once(':');
        if !port.is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
        }) {
            return Err("`fireflies.collector` is not `host:port`".to_owned());
        }
        if self.classes.len() > MAX_CLASSES {
            return Err(format!(
                "`fireflies.classes` has more than {MAX_CLASSES} classes"
            ));
        }
        let within = |name, value, least, most| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(format!(
                "`fireflies.{name}` is {value}; it may be {least} to {most}"
            ))
        };
        within("every_s", self.every_s, EVERY_S.0, EVERY_S.1)?;
        let of_classes = self.classes.values().copied();
        let whole = OfClass {
            experiment: Some(self.experiment),
            activity: Some(self.activity),
        };
        for one in std::iter::once(whole).chain(of_classes) {
            for (name, value, most) in [
                ("experiment", one.experiment, MAX_EXPERIMENT),
                ("activity", one.activity, MAX_ACTIVITY),
            ] {
                if let Some(value) = value {
                    within(name, value.into(), 1, most.into())?;
                }
            }
        }
        Ok(())
    }

    /// Whose data a transfer of this class carries.
    fn tag(&self, class: &str) -> Tag {
        let own = self.classes.get(class).copied().unwrap_or_default();
        Tag {
            experiment: own.experiment.unwrap_or(self.experiment),
            activity: own.activity.unwrap_or(self.activity),
        }
    }
}

/// Tells the thread that sends of connections that begin and end.
#[derive(Debug)]
pub(super) struct Reporter {
    settings: Fireflies,
    told: Sender<Told>,
    last: AtomicU64,
}

#[derive(Debug)]
enum Told {
    Began(u64, TaggedFlow, Weak<TcpStream>),
    Ended(u64, Usage),
}

/// A connection that is told of; its end is told when this is dropped.
#[derive(Debug)]
pub(super) struct Reported<'r> {
    reporter: &'r Reporter,
    number: u64,
    socket: Arc<TcpStream>,
}

impl Reporter {
    /// Start the thread that sends.
    ///
    /// # Errors
    /// What the system says when it starts no thread.
    pub(super) fn start(settings: Fireflies) -> std::io::Result<Self> {
        let (told, inbox) = crossbeam_channel::bounded(WAITING);
        let mut collector = Collector::new(settings.collector.clone());
        let every = Duration::from_secs(settings.every_s);
        std::thread::Builder::new()
            .name("headrace-firefly".to_owned())
            .spawn(move || run(&inbox, every, &mut |packet| collector.send(packet)))?;
        Ok(Self {
            settings,
            told,
            last: AtomicU64::new(0),
        })
    }

    /// Tell of a connection over which a transfer of this class sends, for as long as what this gives is kept.
    pub(super) fn report(&self, socket: &Arc<TcpStream>, class: &Label) -> Option<Reported<'_>> {
        let (Ok(source), Ok(destination)) = (socket.local_addr(), socket.peer_addr()) else {
            return None;
        };
        let flow = TaggedFlow {
            source,
            destination,
            tag: self.settings.tag(class.as_str()),
            started: Timestamp::from(SystemTime::now()),
        };
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let told = Told::Began(number, flow, Arc::downgrade(socket));
        self.told.try_send(told).ok()?;
        Some(Reported {
            reporter: self,
            number,
            socket: Arc::clone(socket),
        })
    }
}

impl Drop for Reported<'_> {
    fn drop(&mut self) {
        let ended = Told::Ended(self.number, usage(&self.socket).unwrap_or_default());
        // Were it lost, the thread finds the socket gone.
        let _ = self.reporter.told.try_send(ended);
    }
}

/// `None` where the kernel does not say, as in some sandboxes.
fn usage(socket: &TcpStream) -> Option<Usage> {
    let flow = Flow::of(socket, Worker::current(), 0, 0).ok()?;
    Some(Usage {
        received: flow.received_bytes,
        sent: flow.acknowledged_bytes,
    })
}

struct Open {
    flow: TaggedFlow,
    socket: Weak<TcpStream>,
    used: Usage,
    due: Instant,
}

/// Send what is told, and of each connection that goes on once in a while, until nobody tells anything any more.
fn run(inbox: &Receiver<Told>, every: Duration, send: &mut dyn FnMut(&[u8])) {
    let name = rustix::system::uname();
    let host = name.nodename().to_string_lossy().into_owned();
    let mut open: BTreeMap<u64, Open> = BTreeMap::new();
    let mut tell = |flow: &TaggedFlow, state, used| {
        send(&flow.packet(state, used, Timestamp::from(SystemTime::now()), &host));
    };
    loop {
        let told = match open.values().map(|one| one.due).min() {
            Some(due) => inbox.recv_deadline(due),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match told {
            Ok(Told::Began(number, flow, socket)) => {
                tell(&flow, State::Start, Usage::default());
                let used = Usage::default();
                let due = Instant::now() + every;
                open.insert(
                    number,
                    Open {
                        flow,
                        socket,
                        used,
                        due,
                    },
                );
            }
            Ok(Told::Ended(number, used)) => {
                if let Some(one) = open.remove(&number) {
                    tell(&one.flow, State::End, used);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = Instant::now();
                open.retain(|_, one| {
                    if one.due > now {
                        return true;
                    }
                    one.due = now + every;
                    let Some(socket) = one.socket.upgrade() else {
                        tell(&one.flow, State::End, one.used);
                        return false;
                    };
                    one.used = usage(&socket).unwrap_or(one.used);
                    tell(&one.flow, State::Ongoing, one.used);
                    true
                });
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The collector, by its name.
struct Collector {
    name: String,
    /// When it was looked up last, and how it is reached.
    known: Option<(Instant, Option<(UdpSocket, SocketAddr)>)>,
}

impl Collector {
    fn new(name: String) -> Self {
        Self { name, known: None }
    }

    /// Send a packet; nobody waits for what is lost.
    fn send(&mut self, packet: &[u8]) {
        if self
            .known
            .as_ref()
            .is_none_or(|(since, _)| since.elapsed() >= KNOWN)
        {
            let found = self.find().inspect_err(|error| {
                tracing::warn!(%error, collector = self.name, "no fireflies go to this collector");
            });
            self.known = Some((Instant::now(), found.ok()));
        }
        if let Some((_, Some((socket, address)))) = &self.known
            && let Err(error) = socket.send_to(packet, address)
        {
            tracing::debug!(%error, %address, "a firefly was not sent");
        }
    }

    fn find(&self) -> std::io::Result<(UdpSocket, SocketAddr)> {
        let none = || std::io::Error::other("the name has no address");
        let address = self.name.to_socket_addrs()?.next().ok_or_else(none)?;
        let any: SocketAddr = if address.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let socket = UdpSocket::bind(any)?;
        socket.set_nonblocking(true)?;
        Ok((socket, address))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn settings(collector: &str) -> Fireflies {
        let instrument = OfClass {
            activity: Some(9),
            ..OfClass::default()
        };
        Fireflies {
            collector: collector.to_owned(),
            experiment: 14,
            activity: 1,
            every_s: 60,
            classes: BTreeMap::from([("instrument".to_owned(), instrument)]),
        }
    }

    fn state(packet: &[u8]) -> String {
        let text = String::from_utf8_lossy(packet).into_owned();
        let body = text.split_once(" - {").map(|(_, body)| format!("{{{body}"));
        let body: serde_json::Value = serde_json::from_str(&body.expect("JSON")).expect("JSON");
        body["flow-lifecycle"]["state"]
            .as_str()
            .expect("a state")
            .to_owned()
    }

    #[test]
    fn a_class_has_numbers_of_its_own_and_the_others_those_of_the_site() {
        let tag = |class| {
            let Tag {
                experiment,
                activity,
            } = settings("c:1").tag(class);
            (experiment, activity)
        };
        assert_eq!((tag("bulk"), tag("instrument")), ((14, 1), (14, 9)));
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_named() {
        assert_eq!(settings("collector.example.org:10514").check(), Ok(()));
        assert_eq!(settings("[2001:db8::1]:10514").check(), Ok(()));
        for collector in ["", "collector", ":10514", "collector:0", "collector:port"] {
            let message = settings(collector).check().expect_err("no address");
            assert!(message.contains("collector"), "{message}");
        }
        let named = |change: &dyn Fn(&mut Fireflies)| {
            let mut changed = settings("c:1");
            change(&mut changed);
            changed.check().expect_err("out of its range")
        };
        assert!(named(&|one| one.experiment = 1024).contains("`fireflies.experiment` is 1024"));
        assert!(named(&|one| one.activity = 0).contains("`fireflies.activity` is 0"));
        assert!(named(&|one| one.every_s = 0).contains("every_s"));
        let class = OfClass {
            experiment: Some(0),
            ..OfClass::default()
        };
        let with = |one: &mut Fireflies| {
            one.classes.insert("x".to_owned(), class);
        };
        assert!(named(&with).contains("`fireflies.experiment` is 0"));
    }

    #[test]
    fn a_connection_that_goes_on_is_told_of_again_and_one_whose_end_was_lost_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let socket = Arc::new(TcpStream::connect(address).expect("a socket"));
        let flow = TaggedFlow {
            source: socket.local_addr().expect("an address"),
            destination: address,
            tag: settings("c:1").tag("bulk"),
            started: Timestamp::from(SystemTime::now()),
        };
        let (told, inbox) = crossbeam_channel::bounded(1);
        let (sent, seen) = crossbeam_channel::unbounded();
        let thread = std::thread::spawn(move || {
            run(&inbox, Duration::from_millis(1), &mut |packet| {
                let _ = sent.send(state(packet));
            });
        });
        told.send(Told::Began(0, flow, Arc::downgrade(&socket)))
            .expect("it runs");
        let next = || seen.recv_timeout(LIMIT).expect("a packet");
        assert_eq!(
            (next(), next(), next()),
            ("start".into(), "ongoing".into(), "ongoing".into())
        );
        drop(socket);
        while next() != "end" {}
        drop(told);
        thread.join().expect("it ends");
    }

    #[test]
    fn nobody_waits_for_a_collector_that_cannot_be_found() {
        let mut lost = Collector::new("no-such-host.invalid:10514".to_owned());
        lost.send(b"a packet");
        assert!(lost.known.is_some_and(|(_, found)| found.is_none()));
    }
}
