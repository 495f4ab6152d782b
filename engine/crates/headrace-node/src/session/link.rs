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
use headrace_io::stream::{TlsReader, TlsStream, TlsWriter, until};
use parking_lot::{Condvar, Mutex};

use super::counters::{Counters, Stage, add};
use super::failures::contained;
use super::landing::{Accepted, Answers, Landing, UnitSink, violation};
use super::shares::Claim;
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
    /// Rung when it is over.
    ended: Condvar,
    /// Its connections; those of streams with their number.
    sockets: Mutex<Vec<(Option<u16>, Arc<TcpStream>)>>,
}

impl Guard {
    /// Whether threads should return.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// End the session well.
    pub(super) fn finish(&self) {
        let _first = self.failure.lock();
        self.over.store(true, Ordering::Release);
        self.ended.notify_all();
    }

    /// Wait until the session is over, but not longer than this; says whether it is.
    pub(super) fn wait(&self, longest: Duration) -> bool {
        let mut first = self.failure.lock();
        if !self.is_over() {
            self.ended.wait_for(&mut first, longest);
        }
        self.is_over()
    }

    /// End the session with a failure, unless it is over; the first failure counts.
    pub(super) fn fail(&self, failure: Failure) {
        let mut first = self.failure.lock();
        if !self.is_over() {
            *first = Some(failure);
            self.over.store(true, Ordering::Release);
            self.ended.notify_all();
        }
    }

    /// Do `work` for the session, which ends with its failure, and also when it panics.
    pub(super) fn run(&self, work: impl FnOnce() -> Result<(), Failure>) {
        if let Err(failure) = contained(work) {
            self.fail(failure);
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
        for (_, socket) in self.sockets.lock().drain(..) {
            drop(socket.shutdown(Shutdown::Both));
        }
    }

    /// Let nobody wait for this stream any more.
    pub(super) fn hang_up_on(&self, stream: u16) {
        for (number, socket) in &*self.sockets.lock() {
            if *number == Some(stream) {
                drop(socket.shutdown(Shutdown::Both));
            }
        }
    }

    /// Remember a connection, to hang up on it; that of a stream has its number.
    pub(super) fn watch(&self, stream: Option<u16>, socket: Arc<TcpStream>) {
        self.sockets.lock().push((stream, socket));
    }

    /// Forget the connection of a stream that is over.
    pub(super) fn forget(&self, stream: u16) {
        let mut sockets = self.sockets.lock();
        sockets.retain(|(number, _)| *number != Some(stream));
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

/// A second handle of a connection's socket, for who only looks at it or hangs up.
pub(super) fn shared_socket(stream: &TlsStream) -> Result<Arc<TcpStream>, Failure> {
    let socket = stream.socket().try_clone();
    socket.map(Arc::new).map_err(|error| broken(&error))
}

/// The sending half of the message connection.
#[derive(Debug)]
pub(super) struct Control {
    writer: TlsWriter,
    guard: Arc<Guard>,
    last_sent: Mutex<Instant>,
}

impl Control {
    pub(super) fn new(writer: TlsWriter, guard: &Arc<Guard>) -> Arc<Self> {
        Arc::new(Self {
            writer,
            guard: Arc::clone(guard),
            last_sent: Mutex::new(Instant::now()),
        })
    }

    /// Send a message, waiting for room as long as the session lasts, and a little longer for its last word.
    pub(super) fn send(&self, message: &Message) -> Result<(), Failure> {
        *self.last_sent.lock() = Instant::now();
        let mut last_word = None;
        let mut idle = || match last_word {
            None if self.guard.is_over() => {
                last_word = Some(Instant::now() + FAREWELL);
                Ok(())
            }
            None => Ok(()),
            Some(deadline) => until(deadline)(),
        };
        self.writer
            .write_all(&message.encode(), &mut idle)
            .map_err(|error| broken(&error))
    }

    /// Send signs of life while there is nothing else to say, until the session is over. A thread of its own does this: the one that hears
    /// the other side also works for it, and may wait long for a storage.
    pub(super) fn beat(&self, keep_alive: Duration) -> Result<(), Failure> {
        loop {
            let silence = self.last_sent.lock().elapsed();
            if self.guard.wait(keep_alive.saturating_sub(silence)) {
                return Ok(());
            }
            if self.last_sent.lock().elapsed() >= keep_alive {
                self.send(&Message::Alive)?;
            }
        }
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

/// Hear messages until the session is over; a side that is silent for longer than `dead_after` is taken for dead. `tick` is called about
/// ten times a second while nothing comes.
///
/// # Errors
/// The failure the session ends with: of `handle`, of `tick`, or of the connection; what the other side says goodbye with is also one.
pub(super) fn hear(
    reader: &mut TlsReader,
    guard: &Guard,
    dead_after: Duration,
    tick: &dyn Fn() -> Result<(), Failure>,
    handle: &mut dyn FnMut(Message) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut last_heard = Instant::now();
    while !guard.is_over() {
        let mut ticked = Ok(());
        let message = read_message(&mut |bytes| {
            reader.read_exact(bytes, &mut || {
                guard.check()?;
                ticked = tick().and_then(|()| check_alive(dead_after, last_heard));
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
        let mut idle = until(deadline);
        let message = read_message(&mut |bytes| reader.read_exact(bytes, &mut idle));
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

fn check_alive(dead_after: Duration, last_heard: Instant) -> Result<(), Failure> {
    if last_heard.elapsed() < dead_after {
        return Ok(());
    }
    let seconds = dead_after.as_secs();
    Err(Failure::new(
        Code::PeerUnreachable,
        format!("the other node has been silent for {seconds} s"),
    ))
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

/// Content on its way out over a data connection, until the session is over.
pub(super) struct StreamOutlet<'s> {
    pub(super) stream: TlsStream,
    guard: &'s Guard,
    counters: &'s Counters,
    frames: u64,
    is_broken: bool,
}

impl<'s> StreamOutlet<'s> {
    pub(super) fn new(stream: TlsStream, guard: &'s Guard, counters: &'s Counters) -> Self {
        Self {
            stream,
            guard,
            counters,
            frames: 0,
            is_broken: false,
        }
    }

    /// Whether its connection takes nothing any more.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn write(&mut self, head: &[u8], body: &[u8]) -> Result<(), Failure> {
        let Self { stream, guard, .. } = self;
        // Asked also when the kernel takes everything at once.
        let ready = guard.check();
        let written = ready.and_then(|()| stream.write_all(head, body, &mut || guard.check()));
        self.is_broken = written.is_err();
        self.frames += 1;
        add(
            &self.counters.stream_bytes,
            (head.len() + body.len()) as u64,
        );
        written.map_err(|error| broken(&error))
    }

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

impl Outlet for StreamOutlet<'_> {
    fn frames(&self) -> u64 {
        self.frames
    }

    fn block(&mut self, piece: &Piece, bytes: &[u8]) -> Result<(), Failure> {
        let head = Self::head(piece, 0, bytes.len());
        self.write(&head, bytes)
    }

    fn hole(&mut self, piece: &Piece, length: u64) -> Result<(), Failure> {
        let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let head = Self::head(piece, FLAG_HOLE, length.len());
        self.write(&head, &length)
    }

    fn batch(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let head = Header {
            length,
            ..Header::new(FrameType::Batch)
        }
        .encode();
        self.write(&head, payload)
    }
}

/// Frames after which the source is told how many have come, so that it need not remember them any more.
const TELL_FRAMES: u64 = 64;

/// Content on its way in over a data connection, until it is closed or the session is over.
pub(super) struct StreamInlet<'s> {
    stream: TlsStream,
    landing: &'s Arc<Landing>,
    guard: &'s Guard,
    counters: &'s Counters,
    claim: &'s Claim,
    unit: Option<UnitSink>,
    /// File, generation and number of a unit the rest of which is dropped.
    dropping: Option<(u64, u16, u64)>,
    payload: Vec<u8>,
    /// How many frames came whole.
    frames: u64,
}

impl<'s> StreamInlet<'s> {
    pub(super) fn new(
        stream: TlsStream,
        landing: &'s Arc<Landing>,
        guard: &'s Guard,
        (counters, claim): (&'s Counters, &'s Claim),
    ) -> Self {
        Self {
            stream,
            landing,
            guard,
            counters,
            claim,
            unit: None,
            dropping: None,
            payload: Vec::new(),
            frames: 0,
        }
    }

    /// Take everything that comes, and `tell` now and then how many frames that were.
    ///
    /// # Errors
    /// [`Failure`] when the session cannot go on; [`Code::PeerUnreachable`] when this connection broke.
    pub(super) fn run(&mut self, tell: &dyn Fn(u64) -> Result<(), Failure>) -> Result<(), Failure> {
        // What is still on its way when the session ends is nobody's any more.
        while !self.guard.is_over() {
            let mut header = [0; HEADER_BYTES];
            match Self::read(&mut self.stream, self.guard, self.counters, &mut header) {
                Err(_) if self.guard.is_over() => return Ok(()),
                answer => answer?,
            }
            match Header::decode(&header).map_err(|error| violation(&error))? {
                Peeked::Known(header) if header.kind == FrameType::Block => self.block(&header)?,
                Peeked::Known(header) if header.kind == FrameType::Batch => {
                    self.wait_for_share(header.length.into(), 0);
                    self.read_payload(header.length)?;
                    let files = self
                        .landing
                        .batch(&self.payload, &|| self.guard.is_over())?;
                    self.wait_for_share(0, files);
                }
                Peeked::Known(Header { kind, .. }) => {
                    return Err(violation(&WireError::Unexpected { kind }));
                }
                Peeked::Skip { length } => self.read_payload(length)?,
            }
            self.frames += 1;
            if self.frames.is_multiple_of(TELL_FRAMES) {
                tell(self.frames)?;
            }
        }
        Ok(())
    }

    /// Drop what came of a unit that did not come whole; says how many frames came whole.
    pub(super) fn abandon(self) -> u64 {
        if let Some(unit) = self.unit {
            unit.abandon();
        }
        self.frames
    }

    fn block(&mut self, header: &Header) -> Result<(), Failure> {
        let too_short = || violation(&WireError::contradiction("a block without content"));
        let mut hash = [0; 32];
        let length = header.length.checked_sub(32).ok_or_else(too_short)?;
        Self::read(&mut self.stream, self.guard, self.counters, &mut hash)?;
        if header.flags & FLAG_HOLE == 0 {
            self.wait_for_share(length.into(), 0);
        }
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

    /// Wait until so many bytes may come in: what is not taken from the connection holds back who sends.
    fn wait_for_share(&self, bytes: u64, files: u64) {
        self.counters.time(Stage::Share, || {
            self.claim.take(bytes, files, &|| self.guard.is_over());
        });
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
        add(&counters.stream_bytes, out.len() as u64);
        read.map_err(|error| broken(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use headrace_core::sealed::SigningKey;
    use headrace_io::stream::{Patience, Records};
    use headrace_io::tls::{ALPN_DATA, Identity, client_config, server_config};

    use super::*;

    const PATIENCE: Patience = Patience {
        connect: Duration::from_mins(1),
        stalled_after: Duration::from_mins(1),
        unsent_bytes: 2 << 20,
        records: Records::Own,
    };

    fn pair() -> (TlsStream, TlsStream) {
        let identity = |seed| Identity::new(&SigningKey::from_seed(&[seed; 32])).expect("a key");
        let (here, there) = (identity(1), identity(2));
        let client = client_config(&here, there.public_key(), ALPN_DATA).expect("settings");
        let server = server_config(&there, Arc::new(|_: &_| true), ALPN_DATA).expect("settings");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        std::thread::scope(|scope| {
            let dialled = scope
                .spawn(|| TlsStream::dial(address, &client, ALPN_DATA, PATIENCE, &mut || Ok(())));
            let (socket, _) = listener.accept().expect("a caller");
            let accepted = TlsStream::accept(socket, &server, ALPN_DATA, PATIENCE);
            (
                dialled.join().expect("no panic").expect("dialled"),
                accepted.expect("accepted"),
            )
        })
    }

    #[test]
    fn a_thread_that_panics_ends_its_session() {
        let guard = Guard::default();
        guard.run(|| panic!("on purpose"));
        assert!(guard.is_over());
        assert_eq!(guard.outcome().expect_err("a failure").code, Code::Internal);
    }

    #[test]
    fn a_side_that_works_long_on_what_it_heard_is_not_taken_for_dead() {
        let (near, far) = pair();
        let (mut near_reader, writer) = near.split().expect("halves");
        let near_guard = Arc::new(Guard::default());
        let near_control = Control::new(writer, &near_guard);
        let (mut far_reader, writer) = far.split().expect("halves");
        let far_guard = Arc::new(Guard::default());
        let far_control = Control::new(writer, &far_guard);
        let (release, released) = crossbeam_channel::bounded(1);
        let dead_after = Duration::from_millis(500);
        std::thread::scope(|scope| {
            scope.spawn(|| far_control.beat(Duration::from_millis(20)));
            scope.spawn(|| {
                let mut work = |_| {
                    released.recv().expect("released");
                    far_guard.finish();
                    Ok(())
                };
                let longest = Duration::from_mins(1);
                hear(&mut far_reader, &far_guard, longest, &|| Ok(()), &mut work)
            });
            let message = Message::ItemsEnd { count: 0 };
            near_control.send(&message).expect("sent");
            let start = Instant::now();
            let tick = || {
                if start.elapsed() > dead_after * 3 {
                    near_guard.finish();
                }
                Ok(())
            };
            let heard = hear(
                &mut near_reader,
                &near_guard,
                dead_after,
                &tick,
                &mut |_| Ok(()),
            );
            release.send(()).expect("somebody waits");
            assert_eq!(heard, Ok(()));
        });
    }
}
