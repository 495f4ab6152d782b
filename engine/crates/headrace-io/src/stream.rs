//! A TLS connection on blocking sockets: owned by one thread, or split into a half that reads and one that many threads write to.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::sealed::PublicKey;
use parking_lot::Mutex;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use thiserror::Error;

use crate::{sockopt, tls};

/// Bytes of ciphertext read at once.
const INBOUND_BYTES: usize = 64 * 1024;
/// How long a read waits before the caller is asked whether to go on.
const POLL: Duration = Duration::from_millis(250);
/// Plaintext handed to rustls at once; more only makes its buffers fall out of the cache.
const CHUNK_BYTES: usize = 64 * 1024;

/// Limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Longest time from the first packet to the end of the handshake.
    pub connect: Duration,
    /// Longest time that sent data may stay unacknowledged, and a write may wait.
    pub dead_after: Duration,
}

/// A connection after its handshake.
#[derive(Debug)]
pub struct TlsStream {
    tls: Connection,
    socket: TcpStream,
    inbound: Inbound,
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
    /// Connect to `address` and shake hands.
    ///
    /// # Errors
    /// [`ConnectError`]; `alpn` must be what the configuration offers.
    pub fn dial(
        address: SocketAddr,
        config: Arc<ClientConfig>,
        alpn: &[u8],
        patience: Patience,
    ) -> Result<Self, ConnectError> {
        let start = Instant::now();
        let socket = TcpStream::connect_timeout(&address, patience.connect)?;
        let round_trip = start.elapsed();
        let tls = ClientConnection::new(config, tls::peer_name()).map_err(ConnectError::Tls)?;
        let stream = Self::shake(tls.into(), socket, alpn, start + patience.connect, patience)?;
        Ok(Self {
            round_trip,
            ..stream
        })
    }

    /// Shake hands with whoever connected.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn accept(
        socket: TcpStream,
        config: Arc<ServerConfig>,
        alpn: &[u8],
        patience: Patience,
    ) -> Result<Self, ConnectError> {
        let deadline = Instant::now() + patience.connect;
        let tls = ServerConnection::new(config).map_err(ConnectError::Tls)?;
        Self::shake(tls.into(), socket, alpn, deadline, patience)
    }

    fn shake(
        mut tls: Connection,
        mut socket: TcpStream,
        alpn: &[u8],
        deadline: Instant,
        patience: Patience,
    ) -> Result<Self, ConnectError> {
        sockopt::prepare(&socket, patience.dead_after);
        while tls.is_handshaking() || tls.wants_write() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            if tls.wants_write() {
                socket.set_write_timeout(Some(left))?;
                tls.write_tls(&mut socket)?;
                continue;
            }
            socket.set_read_timeout(Some(left))?;
            if tls.read_tls(&mut socket)? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
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
        socket.set_read_timeout(Some(POLL))?;
        socket.set_write_timeout(Some(patience.dead_after))?;
        Ok(Self {
            tls,
            socket,
            inbound: Inbound::new(),
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

    /// Fill `out`. While nothing arrives, `idle` is asked about four times a second whether to go on waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the other side closed, what `idle` answers, or what socket and TLS answer.
    pub fn read_exact(
        &mut self,
        mut out: &mut [u8],
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        while !out.is_empty() {
            match self.tls.reader().read(out) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => out = &mut out[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.inbound.fill(&mut self.socket, idle)?;
                    self.inbound.feed(&mut self.tls)?;
                    self.flush_tls()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Write all of both parts, one after the other.
    ///
    /// # Errors
    /// What socket and TLS answer; [`io::ErrorKind::WouldBlock`] after the time a write may wait.
    pub fn write_all(&mut self, mut head: &[u8], mut body: &[u8]) -> io::Result<()> {
        while !head.is_empty() || !body.is_empty() {
            let chunk = &body[..body.len().min(CHUNK_BYTES.saturating_sub(head.len()))];
            let mut count = self
                .tls
                .writer()
                .write_vectored(&[IoSlice::new(head), IoSlice::new(chunk)])?;
            let of_head = count.min(head.len());
            head = &head[of_head..];
            count -= of_head;
            body = &body[count..];
            self.flush_tls()?;
        }
        Ok(())
    }

    /// Say that nothing more will be written. The other side sees the difference between this and a broken connection.
    ///
    /// # Errors
    /// What the socket answers.
    pub fn close(&mut self) -> io::Result<()> {
        self.tls.send_close_notify();
        self.flush_tls()?;
        self.socket.shutdown(Shutdown::Write)
    }

    /// Split into a half that reads and one that writes.
    ///
    /// # Errors
    /// When the socket cannot be duplicated.
    pub fn split(self) -> io::Result<(TlsReader, TlsWriter)> {
        let writing = self.socket.try_clone()?;
        let tls = Arc::new(Mutex::new(self.tls));
        let reader = TlsReader {
            tls: Arc::clone(&tls),
            socket: self.socket,
            inbound: self.inbound,
        };
        Ok((
            reader,
            TlsWriter {
                tls,
                socket: Mutex::new(writing),
            },
        ))
    }

    fn flush_tls(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }
}

/// The reading half of a connection.
#[derive(Debug)]
pub struct TlsReader {
    tls: Arc<Mutex<Connection>>,
    socket: TcpStream,
    inbound: Inbound,
}

impl TlsReader {
    /// As [`TlsStream::read_exact`].
    ///
    /// # Errors
    /// As [`TlsStream::read_exact`].
    pub fn read_exact(
        &mut self,
        mut out: &mut [u8],
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        while !out.is_empty() {
            // The lock is never held while waiting for the network.
            let got = self.tls.lock().reader().read(out);
            match got {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => out = &mut out[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.inbound.fill(&mut self.socket, idle)?;
                    // Answers that TLS itself wants to give (key updates) go out with the next frame written.
                    self.inbound.feed(&mut self.tls.lock())?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The writing half of a connection, for any number of threads.
#[derive(Debug)]
pub struct TlsWriter {
    tls: Arc<Mutex<Connection>>,
    socket: Mutex<TcpStream>,
}

impl TlsWriter {
    /// Write all of `bytes`; those of another caller come before or after, never between.
    ///
    /// # Errors
    /// What socket and TLS answer.
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut socket = self.socket.lock();
        for chunk in bytes.chunks(CHUNK_BYTES) {
            let mut sealed = Vec::with_capacity(chunk.len() + 1024);
            {
                let mut tls = self.tls.lock();
                tls.writer().write_all(chunk)?;
                while tls.wants_write() {
                    tls.write_tls(&mut sealed)?;
                }
            }
            socket.write_all(&sealed)?;
        }
        Ok(())
    }
}

/// Ciphertext that was read and not yet given to rustls.
#[derive(Debug)]
struct Inbound {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Inbound {
    fn new() -> Self {
        Self {
            bytes: vec![0; INBOUND_BYTES].into(),
            start: 0,
            end: 0,
        }
    }

    /// Make sure there is something to feed.
    fn fill(
        &mut self,
        socket: &mut TcpStream,
        idle: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        while self.start == self.end {
            match socket.read(&mut self.bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => (self.start, self.end) = (0, count),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => idle()?,
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Give rustls as much as it takes at once.
    fn feed(&mut self, tls: &mut Connection) -> io::Result<()> {
        let mut rest = &self.bytes[self.start..self.end];
        tls.read_tls(&mut rest)?;
        self.start = self.end - rest.len();
        tls.process_new_packets().map_err(io::Error::other)?;
        Ok(())
    }
}
