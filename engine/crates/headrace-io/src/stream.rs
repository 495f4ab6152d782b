//! A TLS connection on blocking sockets: owned by one thread, or split into a half that reads and one that many threads write to.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::sealed::PublicKey;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustls::{ClientConfig, ClientConnection, Connection, KeyLog, ServerConfig, ServerConnection};
use thiserror::Error;

mod halves;

pub use self::halves::Records;
use self::halves::{Reading, Writing, of_rustls};
use crate::records::{HEADER_BYTES, KeyUpdateOwed, MAX_SEALED_BYTES, Opener, Sealer};
use crate::secrets::{Keys, Secrets};
use crate::{sockopt, tls};

/// How long a read or write waits before the caller is asked whether to go on: a stop takes effect within this time.
const POLL: Duration = Duration::from_millis(100);
/// Longest wait for room for the last word on a connection.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Limits of a connection, and who makes its records.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Longest time from the first packet to the end of the handshake.
    pub connect: Duration,
    /// Longest time that the other side may take nothing of what was sent, though it lives: its storage may be stalled.
    pub stalled_after: Duration,
    /// Bytes that may wait in the kernel unsent. What is on its way is bounded by the path besides.
    pub unsent_bytes: u32,
    /// Who makes the records.
    pub records: Records,
}

/// For the `idle` of a read or write that has a deadline.
pub fn until(deadline: Instant) -> impl FnMut() -> io::Result<()> {
    move || left(deadline).map(|_| ())
}

/// A connection after its handshake, which is rustls' work; its records are ours, unless rustls is to make them.
#[derive(Debug)]
pub struct TlsStream {
    /// Kept for what it knows of the handshake.
    tls: Arc<Mutex<Connection>>,
    socket: TcpStream,
    reading: Reading,
    writing: Writing,
    peer: PublicKey,
    round_trip: Duration,
}

/// Why there is no connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody answers, or the connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Another node answered.
    #[error("it holds another key than the expected one")]
    WrongKey,
    /// TLS failed otherwise.
    #[error("TLS: {0}")]
    Tls(#[source] rustls::Error),
    /// The other side does not speak the protocol.
    #[error("it does not speak the expected protocol")]
    Protocol,
}

impl TlsStream {
    /// Connect to `address` and shake hands. While nobody answers, `idle` is asked about ten times a second whether to go on waiting.
    ///
    /// # Errors
    /// [`ConnectError`], also for what `idle` answers; `alpn` must be what the configuration offers.
    pub fn dial(
        address: SocketAddr,
        config: &ClientConfig,
        alpn: &[u8],
        patience: Patience,
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<Self, ConnectError> {
        let start = Instant::now();
        let deadline = start + patience.connect;
        let socket = connect(address, deadline, idle)?;
        let round_trip = start.elapsed();
        let secrets = Secrets::new();
        let mut config = config.clone();
        if patience.records == Records::Own {
            config.key_log = Arc::clone(&secrets) as Arc<dyn KeyLog>;
        }
        let tls =
            ClientConnection::new(config.into(), tls::peer_name()).map_err(ConnectError::Tls)?;
        let waiting = (deadline, patience);
        let shaken = Self::shake(tls.into(), socket, alpn, waiting, &secrets, idle)?;
        Ok(Self {
            round_trip,
            ..shaken
        })
    }

    /// Shake hands with whoever connected.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn accept(
        socket: TcpStream,
        config: &ServerConfig,
        alpn: &[u8],
        patience: Patience,
    ) -> Result<Self, ConnectError> {
        let deadline = Instant::now() + patience.connect;
        let secrets = Secrets::new();
        let mut config = config.clone();
        if patience.records == Records::Own {
            config.key_log = Arc::clone(&secrets) as Arc<dyn KeyLog>;
        }
        // Our records are the first under their keys: had rustls sent one after the handshake, its nonce would be used twice.
        config.send_tls13_tickets = 0;
        config.max_early_data_size = 0;
        config.send_half_rtt_data = false;
        let tls = ServerConnection::new(config.into()).map_err(ConnectError::Tls)?;
        let waiting = (deadline, patience);
        Self::shake(tls.into(), socket, alpn, waiting, &secrets, &mut || Ok(()))
    }

    fn shake(
        mut tls: Connection,
        mut socket: TcpStream,
        alpn: &[u8],
        (deadline, patience): (Instant, Patience),
        secrets: &Secrets,
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<Self, ConnectError> {
        sockopt::prepare(&socket, patience.stalled_after, patience.unsent_bytes);
        while tls.is_handshaking() || tls.wants_write() {
            if tls.wants_write() {
                socket.set_write_timeout(Some(left(deadline)?))?;
                tls.write_tls(&mut socket)?;
                continue;
            }
            // One record at a time: rustls must not get one that comes after the handshake.
            let record = read_record(&mut socket, deadline, idle)?;
            tls.read_tls(&mut &record[..])?;
            if let Err(error) = tls.process_new_packets() {
                // Tell the other side why, as far as it still listens.
                drop(tls.write_tls(&mut socket));
                return Err(if tls::is_wrong_key(&error) {
                    ConnectError::WrongKey
                } else {
                    ConnectError::Tls(error)
                });
            }
        }
        if tls.alpn_protocol() != Some(alpn) {
            return Err(ConnectError::Protocol);
        }
        let peer = tls::peer_key(tls.peer_certificates()).map_err(|_| ConnectError::WrongKey)?;
        let own = match patience.records {
            Records::Own => Some(records(&tls, secrets).ok_or(ConnectError::Protocol)?),
            Records::Rustls => None,
        };
        let tls = Arc::new(Mutex::new(tls));
        let (reading, writing) = own.unwrap_or_else(|| of_rustls(&tls));
        socket.set_read_timeout(Some(POLL))?;
        socket.set_write_timeout(Some(POLL))?;
        Ok(Self {
            tls,
            socket,
            reading,
            writing,
            peer,
            round_trip: Duration::ZERO,
        })
    }

    /// The key the other side proved.
    #[must_use]
    pub fn peer(&self) -> PublicKey {
        self.peer
    }

    /// Name of the cipher suite, for statements.
    #[must_use]
    pub fn cipher(&self) -> &'static str {
        self.tls
            .lock()
            .negotiated_cipher_suite()
            .and_then(|suite| suite.suite().as_str())
            .unwrap_or("unknown")
    }

    /// Thirty-two bytes that only the two ends of this very connection know (RFC 8446, section 7.5).
    ///
    /// # Errors
    /// What rustls answers; not after a completed handshake.
    pub fn exporter(&self, label: &[u8]) -> io::Result<[u8; 32]> {
        self.tls
            .lock()
            .export_keying_material([0; 32], label, None)
            .map_err(io::Error::other)
    }

    /// The socket, for its options.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// How long connecting took, which is one round trip; zero on the side that was dialled.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.round_trip
    }

    /// Fill `out`. While nothing arrives, `idle` is asked about ten times a second whether to go on waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the other side closed, what `idle` answers, or what socket and TLS answer.
    pub fn read_exact(
        &mut self,
        out: &mut [u8],
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        let Self {
            reading,
            writing,
            socket,
            ..
        } = self;
        let outcome = reading.read_exact(out, &mut |room| receive(socket, room, idle));
        if outcome.is_err()
            && let Some(alert) = reading.refusal()
        {
            // As far as it still listens.
            drop(writing.say_refused(alert, &mut |sealed| socket.write_all(sealed)));
        }
        outcome
    }

    /// Write all of both parts, one after the other. While the other side takes nothing, `idle` is asked about ten times a second whether
    /// to go on waiting; after an error nothing more can be written.
    ///
    /// # Errors
    /// What `idle` answers, or what socket and TLS answer.
    pub fn write_all(
        &mut self,
        head: &[u8],
        body: &[u8],
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        let Self {
            writing, socket, ..
        } = self;
        writing.write_all(head, body, &mut |sealed| send(socket, sealed, idle))
    }

    /// Say that nothing more will be written. The other side sees the difference between this and a broken connection.
    ///
    /// # Errors
    /// What the socket answers.
    pub fn close(&mut self) -> io::Result<()> {
        let Self {
            writing, socket, ..
        } = self;
        let mut idle = until(Instant::now() + LAST_WORD);
        writing.say_goodbye(&mut |sealed| send(socket, sealed, &mut idle))?;
        socket.shutdown(Shutdown::Write)
    }

    /// Split into a half that reads and one that writes.
    ///
    /// # Errors
    /// When the socket cannot be duplicated.
    pub fn split(self) -> io::Result<(TlsReader, TlsWriter)> {
        let writing = Arc::new(Mutex::new((self.socket.try_clone()?, self.writing)));
        let reader = TlsReader {
            socket: self.socket,
            reading: self.reading,
            writing: Arc::clone(&writing),
        };
        Ok((reader, TlsWriter { writing }))
    }
}

/// The reading half of a connection.
#[derive(Debug)]
pub struct TlsReader {
    socket: TcpStream,
    reading: Reading,
    writing: Arc<Mutex<(TcpStream, Writing)>>,
}

impl TlsReader {
    /// As [`TlsStream::read_exact`].
    ///
    /// # Errors
    /// As [`TlsStream::read_exact`].
    pub fn read_exact(
        &mut self,
        out: &mut [u8],
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        let Self {
            reading, socket, ..
        } = self;
        let outcome = reading.read_exact(out, &mut |room| receive(socket, room, idle));
        // Not when somebody is writing: a reader never waits for a writer, which may wait for the other side's reader.
        if outcome.is_err()
            && let Some(alert) = reading.refusal()
            && let Some(mut writing) = self.writing.try_lock()
        {
            let (socket, writing) = &mut *writing;
            drop(writing.say_refused(alert, &mut |sealed| socket.write_all(sealed)));
        }
        outcome
    }
}

/// The writing half of a connection, for any number of threads.
#[derive(Debug)]
pub struct TlsWriter {
    writing: Arc<Mutex<(TcpStream, Writing)>>,
}

impl TlsWriter {
    /// As [`TlsStream::write_all`]; the bytes of another caller come before or after, never between.
    ///
    /// # Errors
    /// As [`TlsStream::write_all`].
    pub fn write_all(
        &self,
        bytes: &[u8],
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        let (socket, writing) = &mut *self.writing.lock();
        writing.write_all(&[], bytes, &mut |sealed| send(socket, sealed, idle))
    }
}

/// Both directions of our records, of a connection that has shaken hands.
fn records(tls: &Connection, secrets: &Secrets) -> Option<(Reading, Writing)> {
    let suite = tls.negotiated_cipher_suite()?.suite();
    let (client, server) = secrets.take()?;
    let (reading, writing) = match tls {
        Connection::Client(_) => (server, client),
        Connection::Server(_) => (client, server),
    };
    let owed = KeyUpdateOwed::default();
    let opener = Opener::new(Keys::new(suite, reading)?, Arc::clone(&owed));
    let sealer = Sealer::new(Keys::new(suite, writing)?, owed);
    Some((
        Reading::Own(Box::new(opener)),
        Writing::Own(Box::new(sealer)),
    ))
}

/// Receive what is there, or wait for it.
fn receive(
    mut socket: &TcpStream,
    room: &mut [u8],
    idle: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<usize> {
    loop {
        match socket.read(room) {
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => idle()?,
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
            received => return received,
        }
    }
}

/// Send everything, waiting for room.
fn send(
    mut socket: &TcpStream,
    mut bytes: &[u8],
    idle: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => idle()?,
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

/// Connect before the deadline, unless `idle` says so first.
fn connect(
    address: SocketAddr,
    deadline: Instant,
    idle: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = TcpStream::from(socket_with(family, SocketType::STREAM, flags, None)?);
    match rustix::net::connect(&socket, &address) {
        Err(Errno::INPROGRESS) => {}
        connected => connected?,
    }
    while !is_connected(&socket, left(deadline)?.min(POLL))? {
        idle()?;
    }
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    socket.set_nonblocking(false)?;
    Ok(socket)
}

/// Whether a connection is there, or will not be, within this time.
fn is_connected(socket: &TcpStream, within: Duration) -> io::Result<bool> {
    let within = Timespec::try_from(within).map_err(io::Error::other)?;
    let mut waited = [PollFd::new(socket, PollFlags::OUT)];
    match poll(&mut waited, Some(&within)) {
        Err(Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// The next record of a handshake, header included.
fn read_record(
    socket: &mut TcpStream,
    deadline: Instant,
    idle: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut record = vec![0; HEADER_BYTES];
    read_within(socket, &mut record, deadline, idle)?;
    let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
    // rustls says what is wrong with a longer one.
    record.resize(HEADER_BYTES + length.min(MAX_SEALED_BYTES), 0);
    read_within(socket, &mut record[HEADER_BYTES..], deadline, idle)?;
    Ok(record)
}

fn read_within(
    socket: &mut TcpStream,
    mut out: &mut [u8],
    deadline: Instant,
    idle: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<()> {
    while !out.is_empty() {
        socket.set_read_timeout(Some(left(deadline)?.min(POLL)))?;
        let mut waits = || left(deadline).and_then(|_| idle());
        match receive(socket, out, &mut waits)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => out = &mut out[count..],
        }
    }
    Ok(())
}

/// The time until `deadline`.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(io::ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}

#[cfg(test)]
mod tests;
