//! Gets two nodes together: one dials, the other waits, both say hello; and each further data connection joins their session.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use headrace_core::code::{Code, Failure};
use headrace_core::growth::Growth;
use headrace_core::message::{
    Hello, Join, MAX_STREAMS, Message, Order, Role as HelloRole, VERSIONS,
};
use headrace_core::ticket::Execution;
use headrace_core::wishes::is_unit;
use headrace_io::stream::{ConnectError, Patience, TlsStream, until};
use headrace_io::tls::{ALPN_DATA, client_config};

use super::attempt::{Arrival, Joinable, Peer, Role};
use super::context::{Context, POLL};
use super::failures::{answered, asking};
use super::landing::WINDOW;
use super::link::{broken, join_token, read_message, session_secret};

/// First and longest pause between attempts to connect.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// How long a host may refuse connections at every address: longer than a node needs for its start, and shorter than a path may be down.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// Why nobody was reached, and whether every address answered that nobody listens there.
struct Unreached {
    failure: Failure,
    refused: bool,
}

impl From<Failure> for Unreached {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            refused: false,
        }
    }
}

/// Lines of a list that a slow node reads and checks in a second, and the longest that anybody waits for it.
const LINES_A_SECOND: u64 = 20_000;
const MOST_FOR_LISTS: Duration = Duration::from_mins(30);

/// The first connection of a session, after the hellos.
pub(super) struct Connected {
    pub(super) stream: TlsStream,
    pub(super) theirs: Hello,
    pub(super) secret: [u8; 32],
    pub(super) session: [u8; 16],
    /// Where data connections are to be dialled; `None` when the other side dials.
    pub(super) dialled: Option<std::net::SocketAddr>,
    pub(super) streams: Growth,
}

/// What it takes to join a session from another connection.
pub(super) struct Joining {
    pub(super) address: std::net::SocketAddr,
    pub(super) secret: [u8; 32],
    pub(super) session: [u8; 16],
}

/// How long the other node may read the lists of a plan before it is there. It checks every line of them, which takes some microseconds each.
pub(super) fn for_lists(execution: &Execution) -> Duration {
    let lines = execution
        .overwrites
        .count
        .saturating_add(execution.deletes.count);
    Duration::from_secs(lines / LINES_A_SECOND).min(MOST_FOR_LISTS)
}

/// Get together with the other node, for which this waits so long, and say hello.
pub(super) fn connect(context: Context<'_>, patience: Duration) -> Result<Connected, Failure> {
    let Context { shared, spec, .. } = context;
    let start = Instant::now();
    let deadline = start + patience;
    match &spec.peer {
        Peer::Await => loop {
            match shared.arrivals.1.recv_timeout(POLL) {
                Ok(Arrival::Session(stream, hello)) => {
                    shared.superseded.store(false, Ordering::Release);
                    return answer(context, stream, hello);
                }
                // Of a session that is over.
                Ok(Arrival::Stream(..)) => {}
                Err(_) => shared.check()?,
            }
            if Instant::now() >= deadline {
                let seconds = patience.as_secs();
                return Err(Failure::new(
                    Code::PeerUnreachable,
                    format!("the other node has not dialled for {seconds} s"),
                ));
            }
        },
        Peer::Dial(addresses) => {
            let mut pause = PAUSES.0;
            loop {
                shared.check()?;
                match dial_any(context, addresses) {
                    Ok(connected) => return Ok(connected),
                    Err(Unreached { failure, refused }) => {
                        // Who refuses is there and answers: an address that is wrong stays so.
                        let until = if refused {
                            deadline.min(start + REFUSED_FOR)
                        } else {
                            deadline
                        };
                        if failure.code != Code::PeerUnreachable || Instant::now() >= until {
                            return Err(failure);
                        }
                        tracing::debug!(message = failure.message, "dialling again");
                    }
                }
                let end = Instant::now() + pause;
                while let left = end.saturating_duration_since(Instant::now())
                    && !left.is_zero()
                {
                    shared.check()?;
                    std::thread::sleep(left.min(POLL));
                }
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

fn dial_any(
    context: Context<'_>,
    addresses: &[std::net::SocketAddr],
) -> Result<Connected, Unreached> {
    let mut failure = Failure::new(Code::PeerUnreachable, "the other node has no address");
    let mut refused = !addresses.is_empty();
    let permitted = || context.shared.check();
    for address in addresses {
        permitted()?;
        let asked = |stream| ask(context, stream, *address).map_err(Unreached::from);
        match dial(context, *address, &permitted).and_then(asked) {
            Ok(connected) => return Ok(connected),
            Err(unreached) => {
                refused &= unreached.refused;
                failure = unreached.failure;
            }
        }
    }
    Err(Unreached { failure, refused })
}

/// Dial one data address of the other node. While it does not answer, `permitted` is asked.
fn dial(
    context: Context<'_>,
    address: std::net::SocketAddr,
    permitted: &dyn Fn() -> Result<(), Failure>,
) -> Result<TlsStream, Unreached> {
    let Context {
        plane,
        shared,
        spec,
        ..
    } = context;
    let peer = shared
        .ticket
        .lock()
        .peer()
        .ok_or_else(|| Failure::new(Code::Internal, "a local copy dials nobody"))?;
    let config = client_config(&plane.identity, peer, ALPN_DATA)
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    let patience = Patience {
        connect: spec.tuning.connect,
        stalled_after: spec.tuning.stalled_after,
        unsent_bytes: plane.settings.unsent_bytes,
        records: plane.settings.records,
    };
    let mut idle = asking(permitted);
    TlsStream::dial(address, &config, ALPN_DATA, patience, &mut idle).map_err(|error| {
        if let ConnectError::Io(cause) = &error
            && let Some(failure) = answered(cause)
        {
            return failure.into();
        }
        let code = if matches!(error, ConnectError::WrongKey) {
            Code::WrongPeerKey
        } else {
            Code::PeerUnreachable
        };
        let refused = matches!(&error, ConnectError::Io(cause) if cause.kind() == std::io::ErrorKind::ConnectionRefused);
        let why = if refused { own(address) } else { "" };
        let message = format!("dialling {address}: {error}{why}");
        Unreached {
            failure: Failure::new(code, message),
            refused,
        }
    })
}

/// What is wrong with an address that each host has for itself.
fn own(address: std::net::SocketAddr) -> &'static str {
    if address.ip().is_loopback() {
        "; no other host reaches that address: let the other node take data at one that this host reaches (`--data-listen`)"
    } else {
        ""
    }
}

/// Say hello as the side that dialled, and hear the answer.
fn ask(
    context: Context<'_>,
    mut stream: TlsStream,
    address: std::net::SocketAddr,
) -> Result<Connected, Failure> {
    let ours = hello(context, [0; 16]);
    let deadline = Instant::now() + context.spec.tuning.dead_after;
    let ours = Message::Hello(ours).encode();
    let send = stream.write_all(&ours, &[], &mut until(deadline));
    send.map_err(|error| broken(&error))?;
    let answer = read_message(&mut |bytes| {
        stream.read_exact(bytes, &mut || {
            let expired = Instant::now() >= deadline || context.shared.check().is_err();
            if expired {
                Err(std::io::ErrorKind::TimedOut.into())
            } else {
                Ok(())
            }
        })
    })?;
    let theirs = match answer {
        Some(Message::Hello(theirs)) => theirs,
        Some(Message::Bye(failure)) => {
            return Err(Failure::new(
                failure.code,
                format!("the other node refused: {}", failure.message),
            ));
        }
        _ => {
            return Err(Failure::new(
                Code::ProtocolViolation,
                "the other node did not answer with a hello",
            ));
        }
    };
    check_hello(context, &theirs)?;
    let wished = [context.spec.tuning.streams.unwrap_or(0), theirs.streams]
        .into_iter()
        .max()
        .filter(|count| *count > 0);
    let round_trip = stream.round_trip();
    let streams = match wished {
        Some(count) => Growth::fixed(count.min(MAX_STREAMS)),
        None => Growth::adaptive(context.plane.settings.most_streams(round_trip), round_trip),
    };
    Ok(Connected {
        secret: session_secret(&stream)?,
        session: theirs.session,
        dialled: Some(address),
        streams,
        theirs,
        stream,
    })
}

/// Answer a hello as the side that was dialled.
fn answer(
    context: Context<'_>,
    mut stream: TlsStream,
    theirs: Hello,
) -> Result<Connected, Failure> {
    let mut session = [0; 16];
    getrandom::fill(&mut session)
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    let deadline = Instant::now() + context.spec.tuning.dead_after;
    if let Err(failure) = check_hello(context, &theirs) {
        let bye = Message::Bye(failure.clone()).encode();
        drop(stream.write_all(&bye, &[], &mut until(deadline)));
        return Err(failure);
    }
    let secret = session_secret(&stream)?;
    *context.shared.joinable.lock() = Some(Joinable { session, secret });
    let ours = Message::Hello(hello(context, session)).encode();
    let answered = stream.write_all(&ours, &[], &mut until(deadline));
    answered.map_err(|error| broken(&error))?;
    Ok(Connected {
        stream,
        theirs,
        secret,
        session,
        dialled: None,
        streams: Growth::fixed(0),
    })
}

fn hello(context: Context<'_>, session: [u8; 16]) -> Hello {
    let ticket = context.shared.current();
    let source = matches!(context.spec.role, Role::Source(_));
    Hello {
        version_min: VERSIONS.0,
        version_max: VERSIONS.1,
        features: 0,
        role: if source {
            HelloRole::Source
        } else {
            HelloRole::Destination
        },
        transfer: ticket.transfer,
        attempt: ticket.attempt,
        plan: ticket.plan_digest,
        shard: ticket.shard,
        order: Order::Components,
        session,
        unit_bytes: context.spec.tuning.unit_bytes,
        window: WINDOW,
        streams: context.spec.tuning.streams.unwrap_or(0),
    }
}

/// The other side must be of the same attempt, with the other role, and cut files sensibly.
fn check_hello(context: Context<'_>, theirs: &Hello) -> Result<(), Failure> {
    let ours = hello(context, [0; 16]);
    let Some(_version) = theirs.common_version() else {
        let message = format!(
            "the other node speaks versions {} to {}",
            theirs.version_min, theirs.version_max
        );
        return Err(Failure::new(Code::VersionUnsupported, message));
    };
    if let (HelloRole::Source, Order::Unknown(number)) = (theirs.role, theirs.order) {
        let message =
            format!("the other node lists in the order {number}, which is not known here");
        return Err(Failure::new(Code::VersionUnsupported, message));
    }
    let same = (&theirs.transfer, theirs.attempt, theirs.plan, theirs.shard)
        == (&ours.transfer, ours.attempt, ours.plan, ours.shard);
    let sensible = is_unit(theirs.unit_bytes)
        && (1..=1 << 20).contains(&theirs.window)
        && theirs.streams <= MAX_STREAMS;
    if !same || theirs.role == ours.role || !sensible {
        return Err(Failure::new(
            Code::ProtocolViolation,
            "the other node's hello does not fit this attempt",
        ));
    }
    Ok(())
}

/// Dial one data connection and let it join the session, as long as that is `permitted`.
pub(super) fn join(
    context: Context<'_>,
    connected: &Joining,
    index: u16,
    permitted: &dyn Fn() -> Result<(), Failure>,
) -> Result<TlsStream, Failure> {
    let stream = dial(context, connected.address, permitted);
    let mut stream = stream.map_err(|unreached| unreached.failure)?;
    let deadline = Instant::now() + context.spec.tuning.dead_after;
    let token = *join_token(&connected.secret, &connected.session, index, &stream)?.as_bytes();
    let transfer = context.shared.current().transfer;
    let join = Message::Join(Join {
        transfer,
        session: connected.session,
        index,
        token,
    });
    stream
        .write_all(&join.encode(), &[], &mut until(deadline))
        .map_err(|error| broken(&error))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests_support::execution;

    #[test]
    fn who_waits_has_the_more_patience_the_longer_the_lists_are_that_the_other_node_reads_first() {
        let seconds = |overwrites, deletes| {
            let mut execution = execution();
            (execution.overwrites.count, execution.deletes.count) = (overwrites, deletes);
            for_lists(&execution).as_secs()
        };
        assert_eq!([seconds(0, 0), seconds(1000, 1000)], [0, 0]);
        assert_eq!(seconds(10_000_000, 0), 500);
        assert_eq!(seconds(2_000_000, 8_000_000), 500);
        assert_eq!(seconds(u64::MAX, 1), 30 * 60);
    }
}
