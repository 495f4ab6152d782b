//! Runs an attempt: sessions, one after the other, until one comes to its end or the attempt cannot go on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use headrace_core::access::Access;
use headrace_core::asker::Asker;
use headrace_core::code::{Code, Failure};
use headrace_core::growth::Growth;
use headrace_core::journal::Replay;
use headrace_core::message::{
    Hello, Join, MAX_STREAMS, Message, Order, Role as HelloRole, Totals, VERSIONS,
};
use headrace_core::name::RelPath;
use headrace_core::statement::Kept;
use headrace_core::ticket::{Ticket, Verify};
use headrace_core::value::{Id, Label, Timestamp};
use headrace_core::wishes::is_unit;
use headrace_io::descriptors::Share;
use headrace_io::journal::Journal;
use headrace_io::root::Root;
use headrace_io::storage::posix::PosixTarget;
use headrace_io::storage::{Folder, Origin, Storages, Target, Writing, probing};
use headrace_io::stream::{ConnectError, Patience, TlsStream, until};
use headrace_io::tls::{ALPN_DATA, client_config};

use super::attempt::{
    Arrival, AttemptEnd, AttemptSpec, Joinable, Outcome, Peer, Role, Shared, StatementFields,
};
use super::failures::{contained, state_failed};
use super::landing::{LAST_FAILED, LandingSpec, WINDOW, remove_named, violation};
use super::link::{broken, join_token, read_message, session_secret};
use super::plane::Plane;
use super::supply::SupplySpec;
use super::trash::TrashSpec;
use super::{binding, destination, local, source};

/// First and longest pause between attempts to connect.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// How often a waiting thread looks whether its attempt is over.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// What one session needs besides its connection.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) plane: &'a Arc<Plane>,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) spec: &'a AttemptSpec,
    pub(super) folder: &'a Path,
    /// What this attempt may hold open.
    pub(super) share: &'a Arc<Share>,
}

/// How a session ended well.
pub(super) struct Done {
    pub(super) totals: Totals,
    pub(super) cipher: String,
    pub(super) drifted: Vec<String>,
    pub(super) files_list: Option<PathBuf>,
    pub(super) failed_list: Option<PathBuf>,
    pub(super) sources_deleted: u64,
    pub(super) sources_kept: Vec<Kept>,
    pub(super) trash: Option<Label>,
}

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

/// Run an attempt to its end.
pub(super) fn run(
    plane: &Arc<Plane>,
    shared: &Arc<Shared>,
    spec: &AttemptSpec,
    folder: &Path,
) -> AttemptEnd {
    let context = Context {
        plane,
        shared,
        spec,
        folder,
        share: &Arc::new(plane.descriptors.share()),
    };
    let result = contained(|| match &spec.role {
        Role::Local(from, to) => local::run(context, from, to),
        Role::Source(_) | Role::Destination(_) => sessions(context),
    });
    let statement = |done: &Done| StatementFields {
        totals: done.totals,
        verified_at_rest: verifies_at_rest(shared),
        encrypted: !done.cipher.is_empty(),
        cipher: done.cipher.clone(),
        started: shared.started,
        ended: Timestamp::from(SystemTime::now()),
        changed: done.drifted.clone(),
        sources_deleted: done.sources_deleted,
        sources_kept: done.sources_kept.clone(),
        trash: done.trash.clone(),
    };
    match result {
        Ok(done) => AttemptEnd {
            outcome: if done.totals.failed == 0 {
                Outcome::Complete
            } else {
                Outcome::Partial
            },
            failure: None,
            statement: Some(statement(&done)),
            files_list: done.files_list,
            failed_list: done.failed_list,
        },
        Err(failure) => {
            tracing::info!(code = %failure.code, message = failure.message, "an attempt ended early");
            let outcome = if matches!(failure.code, Code::Stopped | Code::ProbeOver) {
                Outcome::Stopped
            } else {
                Outcome::Failed
            };
            AttemptEnd {
                outcome,
                failure: Some(failure),
                statement: None,
                files_list: None,
                failed_list: None,
            }
        }
    }
}

/// Whether the destination reads back what it wrote: on request, and always before a move deletes its source.
pub(super) fn verifies_at_rest(shared: &Shared) -> bool {
    let ticket = shared.ticket.lock();
    let execution = &ticket.ticket().execution;
    execution.verify == Verify::AtRest || execution.delete_source
}

fn sessions(context: Context<'_>) -> Result<Done, Failure> {
    let Context { shared, spec, .. } = context;
    let mut lost_since = Instant::now();
    let mut finished: Option<Done> = None;
    loop {
        let before = moved(shared);
        shared.counters.restart();
        let result = connect(context).and_then(|connected| match &spec.role {
            Role::Destination(root) => destination::run(context, root, connected, &mut finished),
            Role::Source(root) | Role::Local(root, _) => source::run(context, root, connected),
        });
        *shared.joinable.lock() = None;
        let failure = match result {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        if moved(shared) > before {
            lost_since = Instant::now();
        }
        let lost_for_long = lost_since.elapsed() >= spec.tuning.reconnect;
        if failure.code != Code::PeerUnreachable || lost_for_long {
            // Only the last word of the source was missing, so everything was done.
            return finished.ok_or(failure);
        }
        tracing::info!(
            message = failure.message,
            "a session ended and is begun again"
        );
    }
}

fn moved(shared: &Shared) -> u64 {
    shared.counters.moved()
}

/// Get together with the other node and say hello.
fn connect(context: Context<'_>) -> Result<Connected, Failure> {
    let Context { shared, spec, .. } = context;
    let deadline = Instant::now() + spec.tuning.reconnect;
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
                let seconds = spec.tuning.reconnect.as_secs();
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
                    Err(failure)
                        if failure.code != Code::PeerUnreachable || Instant::now() >= deadline =>
                    {
                        return Err(failure);
                    }
                    Err(failure) => tracing::debug!(message = failure.message, "dialling again"),
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

fn dial_any(
    context: Context<'_>,
    addresses: &[std::net::SocketAddr],
) -> Result<Connected, Failure> {
    let mut last = Failure::new(Code::PeerUnreachable, "the other node has no address");
    for address in addresses {
        match dial(context, *address).and_then(|stream| ask(context, stream, *address)) {
            Ok(connected) => return Ok(connected),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// Dial one data address of the other node.
pub(super) fn dial(
    context: Context<'_>,
    address: std::net::SocketAddr,
) -> Result<TlsStream, Failure> {
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
    TlsStream::dial(address, &config, ALPN_DATA, patience).map_err(|error| {
        let code = if matches!(error, ConnectError::WrongKey) {
            Code::WrongPeerKey
        } else {
            Code::PeerUnreachable
        };
        Failure::new(code, format!("dialling {address}: {error}"))
    })
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

/// Dial one data connection and let it join the session.
pub(super) fn join(
    context: Context<'_>,
    connected: &Joining,
    index: u16,
) -> Result<TlsStream, Failure> {
    let mut stream = dial(context, connected.address)?;
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

/// What it takes to join a session from another connection.
pub(super) struct Joining {
    pub(super) address: std::net::SocketAddr,
    pub(super) secret: [u8; 32],
    pub(super) session: [u8; 16],
}

impl Context<'_> {
    /// What a landing at this node is for.
    pub(super) fn landing_spec(
        self,
        root: &Arc<Root>,
        unit_bytes: u64,
    ) -> Result<LandingSpec, Failure> {
        let Ticket {
            transfer,
            plan_digest,
            shard,
            execution,
            only_failed,
            leg,
            ..
        } = self.shared.current();
        let filter = self.shared.ticket.lock().filter().clone();
        let failed_list = self.folder.join(LAST_FAILED);
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let storage = self.plane.storages.target(root, self.plane.writing(root));
        let target = match leg {
            Some(leg) => probing::target(leg.writes, &execution.destination.path, storage),
            None => storage,
        };
        Ok(LandingSpec {
            transfer,
            plan: plan_digest,
            shard,
            only_failed: (only_failed && failed_list.exists()).then_some(failed_list),
            overwrites: self.spec.overwrites.clone(),
            deletes: self.spec.deletes.clone(),
            target,
            state: state_folder(self.folder)?,
            scratch: self.folder.to_owned(),
            // A million numbers for each millisecond: no session begins where another has been.
            first_part: u64::try_from(since_epoch.as_millis()).unwrap_or(0) << 20,
            content: super::landing::Content::Sent,
            geometry: super::landing::Geometry::new(unit_bytes),
            direct_from_bytes: super::landing::DIRECT_FROM_BYTES,
            epochs: self.spec.tuning.epochs,
            share: Arc::clone(self.share),
            execution,
            filter,
        })
    }

    /// Where files are read.
    pub(super) fn origin(self, root: &Arc<Root>) -> Arc<dyn Origin> {
        let Ticket { execution, leg, .. } = self.shared.current();
        let share = Arc::clone(self.share);
        let path = execution.source.path.clone();
        let storage = self.plane.storages.origin(root, path, share);
        match leg {
            Some(leg) => probing::origin(leg.reads, &execution, storage),
            None => storage,
        }
    }

    /// What a supply at this node is for.
    pub(super) fn supply_spec(self, root: &Arc<Root>, unit_bytes: u64, window: u32) -> SupplySpec {
        let origin = self.origin(root);
        let ticket = self.shared.ticket.lock();
        let execution = &ticket.ticket().execution;
        SupplySpec {
            origin,
            from: execution.source.clone(),
            filter: ticket.filter().clone(),
            geometry: super::landing::Geometry::new(unit_bytes),
            window: window.min(WINDOW),
            delete_source: execution.delete_source,
            trash: execution.trash.map(|trash| TrashSpec {
                target: self.plane.storages.target(root, Writing::Buffered),
                transfer: ticket.ticket().transfer.clone(),
                keep_days: trash.keep_days,
            }),
            counts_totals: !matches!(self.spec.role, Role::Local(..)),
            scratch: self.folder.to_owned(),
        }
    }
}

fn state_folder(folder: &Path) -> Result<Arc<dyn Folder>, Failure> {
    let root = Root::open("state", folder, Access::Write)
        .map_err(|error| state_failed(std::io::Error::other(error)))?;
    PosixTarget::new(Arc::new(root), Writing::Buffered)
        .folder(&RelPath::root())
        .map_err(state_failed)
}

/// Remove the temporaries that a transfer's journal knows of.
pub(super) fn remove_temporaries(
    storages: &dyn Storages,
    folder: &Path,
    transfer: &Id,
    root: &dyn Fn(&str, &Asker) -> Option<Arc<Root>>,
) -> Result<(), Failure> {
    let Some(bound) = binding::read(folder).map_err(state_failed)? else {
        return Ok(());
    };
    // A source has none: the root of the destination is another node's, whatever it is called.
    if !folder.join("journal").try_exists().map_err(state_failed)? {
        return Ok(());
    }
    let Some(root) = root(bound.destination_root.as_str(), &bound.asker) else {
        return Ok(());
    };
    let (_, replay): (_, Replay) =
        Journal::open(&*state_folder(folder)?, b"journal", &mut ()).map_err(state_failed)?;
    let target = storages.target(&root, Writing::Buffered);
    remove_named(&*target, &replay, transfer, &bound.destination_path);
    Ok(())
}

/// What the peer may not do in this place of a session.
pub(super) fn unexpected(message: &Message) -> Failure {
    violation(&headrace_core::wire::WireError::contradiction(format!(
        "{message:?} is not expected now"
    )))
}
