//! The connections of one session: one for messages, the others for content.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headrace_core::batch::Sparse;
use headrace_core::code::{Code, Failure};
use headrace_core::codec::{Reader, to_usize};
use headrace_core::message::Message;
use headrace_core::wire::{FrameType, HEADER_BYTES, Header, Peeked, WireError};
use headrace_io::stream::{TlsReader, TlsStream, TlsWriter};
use parking_lot::Mutex;

use super::counters::{Counters, Stage};
use super::landing::{Accepted, Answers, Landing, UnitSink, violation};
use super::supply::{Orders, Outlet, Piece};

/// Label of the exporter that makes a session's secret from its first connection.
const SESSION_LABEL: &[u8] = b"EXPORTER-headrace-session";
/// Label of the exporter that binds a join token to its own connection.
const JOIN_LABEL: &[u8] = b"EXPORTER-headrace-join";
/// How long a session that failed waits for the other side's goodbye.
const FAREWELL: Duration = Duration::from_secs(1);
/// Flag of a block that is all hole; its payload is the hash and four bytes of length.
const FLAG_HOLE: u8 = 1;
/// Flag of a block of a file with holes.
const FLAG_SPARSE: u8 = 2;

/// Why a session is over, and a way to end it from any thread.
#[derive(Debug, Default)]
pub(super) struct Guard {
    over: AtomicBool,
    failure: Mutex<Option<Failure>>,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Guard {
    /// Whether threads should return.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// End the session well.
    pub(super) fn finish(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// End the session with a failure, unless it is over; the first failure counts.
    pub(super) fn fail(&self, failure: Failure) {
        let mut first = self.failure.lock();
        if !self.is_over() {
            *first = Some(failure);
            self.over.store(true, Ordering::Release);
        }
    }

    /// Put what the other side said in the place of a connection that broke.
    fn explain(&self, failure: Failure) {
        let mut first = self.failure.lock();
        if first
            .as_ref()
            .is_some_and(|first| first.code == Code::PeerUnreachable)
        {
            *first = Some(failure);
        }
    }

    /// Let nobody wait for the network any more.
    pub(super) fn hang_up(&self) {
        for socket in self.sockets.lock().drain(..) {
            drop(socket.shutdown(Shutdown::Both));
        }
    }

    /// Remember a connection, to hang up on it.
    pub(super) fn watch(&self, socket: &TcpStream) {
        match socket.try_clone() {
            Ok(socket) => self.sockets.lock().push(socket),
            Err(error) => self.fail(broken(&error)),
        }
    }

    /// The failure it ended with.
    pub(super) fn outcome(&self) -> Result<(), Failure> {
        self.failure.lock().clone().map_or(Ok(()), Err)
    }

    fn check(&self) -> io::Result<()> {
        if self.is_over() {
            Err(io::ErrorKind::ConnectionAborted.into())
        } else {
            Ok(())
        }
    }
}

/// A connection broke; another one may work.
pub(super) fn broken(error: &io::Error) -> Failure {
    Failure::new(
        Code::PeerUnreachable,
        format!("the connection to the other node broke: {error}"),
    )
}

/// How long each side of a message connection may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heartbeat {
    /// Silence after which a sign of life is sent.
    pub(super) keep_alive: Duration,
    /// Silence after which the other side is taken for dead.
    pub(super) dead_after: Duration,
}

/// The sending half of the message connection.
#[derive(Debug)]
pub(super) struct Control {
    writer: TlsWriter,
    last_sent: Mutex<Instant>,
}

impl Control {
    pub(super) fn new(writer: TlsWriter) -> Arc<Self> {
        Arc::new(Self {
            writer,
            last_sent: Mutex::new(Instant::now()),
        })
    }

    pub(super) fn send(&self, message: &Message) -> Result<(), Failure> {
        *self.last_sent.lock() = Instant::now();
        self.writer
            .write_all(&message.encode())
            .map_err(|error| broken(&error))
    }

    fn silence(&self) -> Duration {
        self.last_sent.lock().elapsed()
    }
}

impl Orders for Control {
    fn order(&self, message: Message) -> Result<(), Failure> {
        self.send(&message)
    }
}

impl Answers for Control {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        self.send(&message)
    }
}

/// Hear messages until the session is over. `tick` is called at least four times a second.
///
/// # Errors
/// The failure the session ends with: of `handle`, of `tick`, or of the connection; what the other side says goodbye with is also one.
pub(super) fn hear(
    reader: &mut TlsReader,
    control: &Control,
    guard: &Guard,
    heartbeat: Heartbeat,
    tick: &dyn Fn() -> Result<(), Failure>,
    handle: &mut dyn FnMut(Message) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut last_heard = Instant::now();
    while !guard.is_over() {
        let mut ticked = Ok(());
        let message = read_message(&mut |bytes| {
            reader.read_exact(bytes, &mut || {
                guard.check()?;
                ticked = tick().and_then(|()| beat(control, heartbeat, last_heard));
                if ticked.is_err() {
                    Err(io::ErrorKind::ConnectionAborted.into())
                } else {
                    Ok(())
                }
            })
        });
        ticked?;
        if let Ok(Some(Message::Bye(failure))) = &message {
            // Heard even when another connection of the session has broken already: this says why.
            let failure = ended_by_peer(failure);
            guard.explain(failure.clone());
            return Err(failure);
        }
        if guard.is_over() {
            return Ok(());
        }
        last_heard = Instant::now();
        tick()?;
        beat(control, heartbeat, last_heard)?;
        match message? {
            Some(Message::Alive) | None => {}
            Some(message) => handle(message)?,
        }
    }
    Ok(())
}

/// End a session that failed: say why and hear the other side's goodbye, which a connection closed at once may lose. Of a session that
/// ended well, nothing is said.
pub(super) fn part(reader: &mut TlsReader, control: &Control, guard: &Guard) {
    let Err(failure) = guard.outcome() else {
        return;
    };
    drop(control.send(&Message::Bye(failure)));
    let deadline = Instant::now() + FAREWELL;
    loop {
        let message = read_message(&mut |bytes| {
            reader.read_exact(bytes, &mut || {
                if Instant::now() < deadline {
                    Ok(())
                } else {
                    Err(io::ErrorKind::TimedOut.into())
                }
            })
        });
        match message {
            Ok(Some(Message::Bye(failure))) => return guard.explain(ended_by_peer(&failure)),
            Ok(_) if Instant::now() < deadline => {}
            _ => return,
        }
    }
}

fn ended_by_peer(failure: &Failure) -> Failure {
    let message = format!("the other node ended the session: {}", failure.message);
    Failure::new(failure.code, message)
}

fn beat(control: &Control, heartbeat: Heartbeat, last_heard: Instant) -> Result<(), Failure> {
    if last_heard.elapsed() >= heartbeat.dead_after {
        let seconds = heartbeat.dead_after.as_secs();
        return Err(Failure::new(
            Code::PeerUnreachable,
            format!("the other node has been silent for {seconds} s"),
        ));
    }
    if control.silence() >= heartbeat.keep_alive {
        control.send(&Message::Alive)
    } else {
        Ok(())
    }
}

/// Read one message; `None` for an optional one that is not known here.
pub(super) fn read_message(
    read: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
) -> Result<Option<Message>, Failure> {
    let mut header = [0; HEADER_BYTES];
    read(&mut header).map_err(|error| broken(&error))?;
    let peeked = Header::decode(&header).map_err(|error| violation(&error))?;
    let length = match peeked {
        Peeked::Known(header) => header.length,
        Peeked::Skip { length } => length,
    };
    // At most a little over 1 MiB, as the header's decoder has checked.
    let mut payload = vec![0; to_usize(length.into())];
    read(&mut payload).map_err(|error| broken(&error))?;
    match peeked {
        Peeked::Known(header) => Message::decode(&header, &payload)
            .map(Some)
            .map_err(|error| violation(&error)),
        Peeked::Skip { .. } => Ok(None),
    }
}

/// The secret that both ends of a session's first connection know, and nobody else.
pub(super) fn session_secret(stream: &TlsStream) -> Result<[u8; 32], Failure> {
    stream
        .exporter(SESSION_LABEL)
        .map_err(|error| broken(&error))
}

/// The token with which a data connection joins: it needs the session's secret and works on this connection only.
pub(super) fn join_token(
    secret: &[u8; 32],
    session: &[u8; 16],
    index: u16,
    stream: &TlsStream,
) -> Result<blake3::Hash, Failure> {
    let own = stream
        .exporter(JOIN_LABEL)
        .map_err(|error| broken(&error))?;
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher
        .update(session)
        .update(&index.to_le_bytes())
        .update(&own);
    Ok(hasher.finalize())
}

/// Content on its way out over a data connection.
pub(super) struct StreamOutlet {
    pub(super) stream: TlsStream,
}

impl StreamOutlet {
    fn head(piece: &Piece, flags: u8, length: usize) -> Vec<u8> {
        let sparse = if piece.sparse == Sparse::Yes {
            FLAG_SPARSE
        } else {
            0
        };
        let header = Header {
            flags: flags | sparse,
            generation: piece.generation,
            length: u32::try_from(piece.hash.len() + length).unwrap_or(u32::MAX),
            file: piece.file,
            offset: piece.offset,
            ..Header::new(FrameType::Block)
        };
        let mut head = header.encode().to_vec();
        head.extend_from_slice(&piece.hash);
        head
    }
}

impl Outlet for StreamOutlet {
    fn block(&mut self, piece: &Piece, bytes: &[u8]) -> Result<(), Failure> {
        let head = Self::head(piece, 0, bytes.len());
        self.stream
            .write_all(&head, bytes)
            .map_err(|error| broken(&error))
    }

    fn hole(&mut self, piece: &Piece, length: u64) -> Result<(), Failure> {
        let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let head = Self::head(piece, FLAG_HOLE, length.len());
        self.stream
            .write_all(&head, &length)
            .map_err(|error| broken(&error))
    }

    fn batch(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let head = Header {
            length,
            ..Header::new(FrameType::Batch)
        }
        .encode();
        self.stream
            .write_all(&head, payload)
            .map_err(|error| broken(&error))
    }
}

/// Content on its way in over a data connection, until it is closed or the session is over.
pub(super) struct StreamInlet<'s> {
    stream: TlsStream,
    landing: &'s Arc<Landing>,
    guard: &'s Guard,
    counters: &'s Counters,
    unit: Option<UnitSink>,
    /// File, generation and number of a unit the rest of which is dropped.
    dropping: Option<(u64, u16, u64)>,
    payload: Vec<u8>,
}

impl<'s> StreamInlet<'s> {
    pub(super) fn new(
        stream: TlsStream,
        landing: &'s Arc<Landing>,
        guard: &'s Guard,
        counters: &'s Counters,
    ) -> Self {
        Self {
            stream,
            landing,
            guard,
            counters,
            unit: None,
            dropping: None,
            payload: Vec::new(),
        }
    }

    /// Take everything that comes.
    ///
    /// # Errors
    /// [`Failure`] when the session cannot go on.
    pub(super) fn run(&mut self) -> Result<(), Failure> {
        loop {
            let mut header = [0; HEADER_BYTES];
            match Self::read(&mut self.stream, self.guard, self.counters, &mut header) {
                Err(_) if self.guard.is_over() => return Ok(()),
                answer => answer?,
            }
            match Header::decode(&header).map_err(|error| violation(&error))? {
                Peeked::Known(header) if header.kind == FrameType::Block => self.block(&header)?,
                Peeked::Known(header) if header.kind == FrameType::Batch => {
                    self.read_payload(header.length)?;
                    self.landing
                        .batch(&self.payload, &|| self.guard.is_over())?;
                }
                Peeked::Known(Header { kind, .. }) => {
                    return Err(violation(&WireError::Unexpected { kind }));
                }
                Peeked::Skip { length } => self.read_payload(length)?,
            }
        }
    }

    fn block(&mut self, header: &Header) -> Result<(), Failure> {
        let too_short = || violation(&WireError::contradiction("a block without content"));
        let mut hash = [0; 32];
        let length = header.length.checked_sub(32).ok_or_else(too_short)?;
        Self::read(&mut self.stream, self.guard, self.counters, &mut hash)?;
        let sparse = if header.flags & FLAG_SPARSE == 0 {
            Sparse::No
        } else {
            Sparse::Yes
        };
        let place = (
            header.file,
            header.generation,
            header.offset / self.landing.geometry().unit_bytes,
        );
        let expected = self
            .unit
            .as_ref()
            .is_some_and(|unit| unit.expects(header.file, header.generation, header.offset));
        if !expected {
            self.unit = None;
            // The first block of a unit begins it anew: what was refused may come again on this connection.
            let begins = header
                .offset
                .is_multiple_of(self.landing.geometry().unit_bytes);
            if begins || self.dropping != Some(place) {
                self.unit = self.landing.open_unit(
                    header.file,
                    header.generation,
                    header.offset,
                    sparse,
                )?;
                self.dropping = if self.unit.is_none() {
                    Some(place)
                } else {
                    None
                };
            }
        }
        let accepted = if header.flags & FLAG_HOLE != 0 {
            self.read_payload(length)?;
            let hole = Reader::new(&self.payload)
                .u32("length")
                .map_err(|_| too_short())?;
            self.unit
                .as_mut()
                .map(|unit| unit.accept_hole(hole.into(), hash))
        } else if let Some(unit) = &mut self.unit {
            let room = unit.room(length.into())?;
            Self::read(&mut self.stream, self.guard, self.counters, room)?;
            Some(unit.accept(hash))
        } else {
            self.read_payload(length)?;
            None
        };
        let bad = matches!(accepted.transpose()?, Some(Accepted::Bad));
        if bad {
            self.dropping = Some(place);
        }
        if bad || self.unit.as_ref().is_some_and(UnitSink::is_full) {
            self.unit = None;
        }
        Ok(())
    }

    fn read_payload(&mut self, length: u32) -> Result<(), Failure> {
        self.payload.resize(to_usize(length.into()), 0);
        Self::read(
            &mut self.stream,
            self.guard,
            self.counters,
            &mut self.payload,
        )
    }

    fn read(
        stream: &mut TlsStream,
        guard: &Guard,
        counters: &Counters,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let read = counters.time(Stage::Receive, || {
            stream.read_exact(out, &mut || guard.check())
        });
        read.map_err(|error| broken(&error))
    }
}
