//! The data listener of a node: shakes hands with whoever connects, and brings the connection to its attempt.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use headrace_core::code::{Code, Failure};
use headrace_core::message::{Hello, Join, Message};
use headrace_core::sealed::PublicKey;
use headrace_io::stream::{Patience, TlsStream, until};
use headrace_io::tls::{ALPN_DATA, server_config};
use rustls::ServerConfig;

use super::attempt::{Arrival, Tuning};
use super::link::{join_token, read_message};
use super::plane::{EARLY, Plane};
use crate::strangers::Admitted;

/// How long a connection may take until it belongs to an attempt.
const GREETING: Duration = Duration::from_secs(10);

/// Listen for other nodes on this address, as long as the data plane is there.
pub(super) fn listen_on(plane: &Arc<Plane>, address: SocketAddr) -> Result<SocketAddr, Failure> {
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
    let work = move || greet(&greeter, socket, &config, &admitted);
    if let Err(error) = std::thread::Builder::new()
        .name("headrace-greet".to_owned())
        .spawn(work)
    {
        tracing::warn!(%error, "no thread for a data connection");
    }
}

/// Shake hands with whoever connected, and bring the connection to its attempt.
fn greet(plane: &Plane, socket: TcpStream, config: &ServerConfig, admitted: &Admitted) {
    let patience = Patience {
        connect: GREETING,
        stalled_after: Tuning::default().stalled_after,
        unsent_bytes: plane.settings.unsent_bytes,
        records: plane.settings.records,
    };
    let greeted = TlsStream::accept(socket, config, ALPN_DATA, patience)
        .map_err(|error| Failure::new(Code::PeerUnreachable, error.to_string()))
        .and_then(|mut stream| {
            admitted.is_known();
            let mut idle = until(Instant::now() + GREETING);
            let message = read_message(&mut |bytes| stream.read_exact(bytes, &mut idle))?;
            match message {
                Some(Message::Hello(hello)) => begin_session(plane, stream, hello),
                Some(Message::Join(join)) => join_session(plane, stream, &join),
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

/// The first connection of a session goes to the attempt that its hello names.
fn begin_session(plane: &Plane, mut stream: TlsStream, hello: Hello) -> Result<(), Failure> {
    let accepted = plane.wait_for(&hello.transfer).ok_or_else(|| {
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
            arrived
                .map_err(|_| Failure::new(Code::TooBusy, "the attempt does not take connections"))
        }
        Err(failure) => {
            let bye = Message::Bye(failure.clone()).encode();
            drop(stream.write_all(&bye, &[], &mut until(Instant::now() + GREETING)));
            drop(stream.close());
            Err(failure)
        }
    }
}

/// A further connection goes to the session that it proves to belong to.
fn join_session(plane: &Plane, stream: TlsStream, join: &Join) -> Result<(), Failure> {
    let refused = || {
        Failure::new(
            Code::WrongPeerKey,
            "a data connection belongs to no session",
        )
    };
    let shared = plane.attempt(&join.transfer).ok_or_else(refused)?;
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
