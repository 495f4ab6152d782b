//! Who makes the records of a connection after its handshake: we, or rustls.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::Connection;
use serde::{Deserialize, Serialize};

use crate::records::{Opener, Sealer};

/// Ciphertext that is received, and plaintext that is encrypted, at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Who makes the records of data connections. The other end sees no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Records {
    /// We: content is decrypted where it is written from, which takes a quarter less processor time.
    #[default]
    Own,
    /// rustls: for the day that a hole is found in ours, and for sites that want nothing but a known library at the cipher.
    Rustls,
}

/// A connection that makes records itself, shared by its halves.
pub(super) type Shared = Arc<Mutex<Connection>>;

/// The receiving direction of a connection.
#[derive(Debug)]
pub(super) enum Reading {
    Own(Box<Opener>),
    Rustls(Receiver),
}

/// The sending direction of a connection.
#[derive(Debug)]
pub(super) enum Writing {
    Own(Box<Sealer>),
    Rustls(Sender),
}

impl Reading {
    /// As [`Opener::read_exact`].
    pub(super) fn read_exact(
        &mut self,
        out: &mut [u8],
        receive: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        match self {
            Self::Own(opener) => opener.read_exact(out, receive),
            Self::Rustls(receiver) => receiver.read_exact(out, receive),
        }
    }

    /// The alert for the other side when what was read is altered or no TLS; rustls has its own ready.
    pub(super) fn refusal(&self) -> Option<u8> {
        match self {
            Self::Own(opener) => opener.refusal(),
            Self::Rustls(receiver) => matches!(receiver.over, Some(Over::Refused(_))).then_some(0),
        }
    }
}

impl Writing {
    /// As [`Sealer::write_all`].
    pub(super) fn write_all(
        &mut self,
        head: &[u8],
        body: &[u8],
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Self::Own(sealer) => sealer.write_all(head, body, send),
            Self::Rustls(sender) => [head, body]
                .iter()
                .flat_map(|part| part.chunks(BUFFER_BYTES))
                .try_for_each(|chunk| sender.write(chunk, send)),
        }
    }

    /// As [`Sealer::say_goodbye`].
    pub(super) fn say_goodbye(
        &mut self,
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Self::Own(sealer) => sealer.say_goodbye(send),
            Self::Rustls(sender) => {
                sender.tls.lock().send_close_notify();
                sender.end(send)
            }
        }
    }

    /// As [`Sealer::say_refused`].
    pub(super) fn say_refused(
        &mut self,
        alert: u8,
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Self::Own(sealer) => sealer.say_refused(alert, send),
            Self::Rustls(sender) => sender.end(send),
        }
    }
}

/// Both directions of a connection whose records rustls makes.
pub(super) fn of_rustls(tls: &Shared) -> (Reading, Writing) {
    // What is written is taken out at once.
    tls.lock().set_buffer_limit(None);
    let receiver = Receiver {
        tls: Arc::clone(tls),
        inbound: vec![0; BUFFER_BYTES].into(),
        held: (0, 0),
        over: None,
    };
    let sender = Sender {
        tls: Arc::clone(tls),
        outbound: Vec::new(),
        closed: false,
    };
    (Reading::Rustls(receiver), Writing::Rustls(sender))
}

/// Reads what rustls decrypts.
pub(super) struct Receiver {
    tls: Shared,
    inbound: Box<[u8]>,
    /// Ciphertext in `inbound` that rustls has not seen.
    held: (usize, usize),
    /// Why nothing more will be read: said again to whoever asks again.
    over: Option<Over>,
}

/// Why nothing more can be read.
#[derive(Debug)]
enum Over {
    Closed,
    CutOff,
    Alert(String),
    Refused(String),
}

impl Over {
    fn error(&self) -> io::Error {
        use io::ErrorKind::{ConnectionAborted, InvalidData, UnexpectedEof};
        match self {
            Self::Closed => io::Error::new(UnexpectedEof, "the other side closed the connection"),
            Self::CutOff => io::Error::new(UnexpectedEof, "the connection was cut off"),
            Self::Alert(what) => io::Error::new(ConnectionAborted, format!("TLS: {what}")),
            Self::Refused(what) => io::Error::new(InvalidData, format!("TLS: {what}")),
        }
    }
}

impl Receiver {
    fn read_exact(
        &mut self,
        mut out: &mut [u8],
        receive: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        while !out.is_empty() {
            let count = if let Some(count) = self.read(out)? {
                count
            } else {
                let received = receive(&mut self.inbound);
                if !matches!(received, Ok(1..)) {
                    self.over = Some(Over::CutOff);
                }
                self.held = (0, received?);
                0
            };
            out = &mut out[count..];
        }
        Ok(())
    }

    /// Read what is decrypted, or decrypt what is there; `None` when more has to be received.
    fn read(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let mut tls = self.tls.lock();
        match tls.reader().read(out) {
            Ok(0) => return Err(Over::Closed.error()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read.map(Some),
        }
        if let Some(over) = &self.over {
            return Err(over.error());
        }
        let (start, end) = self.held;
        if start == end {
            return Ok(None);
        }
        self.held.0 += tls.read_tls(&mut &self.inbound[start..end])?;
        if let Err(error) = tls.process_new_packets() {
            self.over = Some(match error {
                rustls::Error::AlertReceived(alert) => {
                    Over::Alert(format!("the other side ended the connection: {alert:?}"))
                }
                error => Over::Refused(error.to_string()),
            });
        }
        Ok(Some(0))
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Receiver")
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}

/// Gives rustls what it is to encrypt.
pub(super) struct Sender {
    tls: Shared,
    outbound: Vec<u8>,
    closed: bool,
}

impl Sender {
    fn write(
        &mut self,
        plain: &[u8],
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.closed {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "this side has said goodbye, or a write has failed",
            ));
        }
        self.tls.lock().writer().write_all(plain)?;
        self.flush(send)
    }

    /// Send what rustls still has to say, as the last thing.
    fn end(&mut self, send: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        self.flush(send)
    }

    fn flush(&mut self, send: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.outbound.clear();
        {
            let mut tls = self.tls.lock();
            while tls.wants_write() {
                tls.write_tls(&mut self.outbound)?;
            }
        }
        let result = send(&self.outbound);
        if result.is_err() {
            // Half a record may be on its way: what followed could not be read.
            self.closed = true;
        }
        result
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sender")
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
