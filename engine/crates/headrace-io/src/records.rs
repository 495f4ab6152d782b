//! TLS 1.3 records after the handshake (RFC 8446, section 5), without a socket.
//!
//! Decrypting is the only move that content makes after it left the socket: ciphertext is received into the very buffer that the reader wants
//! filled, and each record is decrypted towards its start, over the header and tag of the one before. rustls' own record layer copies content
//! twice more on either side; with both gone and the faster cipher (see `secrets`) a node that receives takes a third less processor time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::AlertDescription;

use crate::secrets::{Keys, TAG_BYTES};

/// Bytes of a record's header.
pub(crate) const HEADER_BYTES: usize = 5;
/// Most plaintext in a record.
pub(crate) const RECORD_BYTES: usize = 16 * 1024;
/// Most that a record may have after its header (section 5.2).
pub(crate) const MAX_SEALED_BYTES: usize = RECORD_BYTES + 256;
/// Room for ciphertext that came with what was asked for.
const INBOUND_BYTES: usize = 64 * 1024;
/// Plaintext that is sealed before it is sent; more falls out of the cache.
const OUTBOUND_BYTES: usize = 4 * RECORD_BYTES;
/// Shortest buffer of a reader into which ciphertext is received: the beginning of a record and more must fit.
const DIRECT_BYTES: usize = 2 * RECORD_BYTES;
/// Least room in it for which more is received.
const MIN_RECEIVE_BYTES: usize = RECORD_BYTES / 2;
/// Records without content in a row that are taken for an attack, as rustls does.
const MAX_EMPTY_RECORDS: u32 = 32;
/// Changes of keys in a row, each after less than half a record of content, that are taken for an attack: each costs more than a record.
const MAX_HASTY_UPDATES: u32 = 32;
/// Records under one key: half of what is safe for AES-GCM (section 5.5).
const RECORDS_PER_KEY: u64 = 1 << 23;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const CLOSE_NOTIFY: [u8; 2] = [1, 0];
const FATAL: u8 = 2;
const KEY_UPDATE: u8 = 24;

/// Set by the reading side when the other end wants us to change our keys, and done by the writing side.
pub(crate) type KeyUpdateOwed = Arc<AtomicBool>;

/// The receiving direction of a connection.
#[derive(Debug)]
pub(crate) struct Opener {
    keys: Keys,
    owed: KeyUpdateOwed,
    inbound: Box<[u8]>,
    /// Plaintext in `inbound` that nobody has read.
    plain: (usize, usize),
    /// Ciphertext in `inbound`.
    sealed: (usize, usize),
    empty_records: u32,
    /// Content under the present keys, and how often in a row keys were changed after too little.
    content_bytes: usize,
    hasty_updates: u32,
    /// Why nothing more will be read: said again to whoever asks again.
    over: Option<Over>,
}

/// Why nothing more can be read.
#[derive(Debug, Clone, Copy)]
enum Over {
    Closed,
    CutOff,
    Altered,
    Alert(u8),
    Malformed(Refusal, &'static str),
}

/// The alerts for what is no TLS (RFC 8446, section 6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    UnexpectedMessage = 10,
    RecordOverflow = 22,
    IllegalParameter = 47,
    DecodeError = 50,
    InternalError = 80,
}

impl From<Over> for io::Error {
    fn from(over: Over) -> Self {
        use io::ErrorKind::{ConnectionAborted, InvalidData, UnexpectedEof};
        match over {
            Over::Closed => Self::new(UnexpectedEof, "the other side closed the connection"),
            Over::CutOff => Self::new(UnexpectedEof, "the connection was cut off"),
            Over::Altered => Self::new(InvalidData, "TLS: a record was altered on its way"),
            Over::Alert(number) => Self::new(
                ConnectionAborted,
                format!(
                    "TLS: the other side ended the connection: {:?}",
                    AlertDescription::from(number)
                ),
            ),
            Over::Malformed(_, what) => Self::new(InvalidData, format!("TLS: {what}")),
        }
    }
}

impl Opener {
    pub(crate) fn new(keys: Keys, owed: KeyUpdateOwed) -> Self {
        Self {
            keys,
            owed,
            inbound: vec![0; INBOUND_BYTES].into(),
            plain: (0, 0),
            sealed: (0, 0),
            empty_records: 0,
            content_bytes: 0,
            hasty_updates: 0,
            over: None,
        }
    }

    /// Fill `out`. `receive` puts ciphertext into a buffer and answers how much; 0 is the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the other side closed or the connection was cut, [`io::ErrorKind::InvalidData`] for what is not TLS or
    /// was altered, and what `receive` answers. Where in the stream reading ended is not known then.
    pub(crate) fn read_exact(
        &mut self,
        mut out: &mut [u8],
        receive: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        while !out.is_empty() {
            let read = self.read(out, receive);
            if read.is_err() {
                // What `receive` had given may be lost with it.
                self.over.get_or_insert(Over::CutOff);
            }
            out = &mut out[read?..];
        }
        Ok(())
    }

    /// The alert for the other side when what was read is altered or no TLS.
    pub(crate) fn refusal(&self) -> Option<u8> {
        const BAD_RECORD_MAC: u8 = 20;
        match self.over? {
            Over::Altered => Some(BAD_RECORD_MAC),
            Over::Malformed(refusal, _) => Some(refusal as u8),
            Over::Closed | Over::CutOff | Over::Alert(_) => None,
        }
    }

    /// Read at least one record, or what is left of one; answers how much of `out` was filled, which may be nothing yet.
    fn read(
        &mut self,
        out: &mut [u8],
        receive: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let (start, end) = self.plain;
        if start < end {
            let count = out.len().min(end - start);
            out[..count].copy_from_slice(&self.inbound[start..start + count]);
            self.plain.0 += count;
            return Ok(count);
        }
        if let Some(over) = self.over {
            return Err(over.into());
        }
        let (start, end) = self.sealed;
        match sealed_length(&self.inbound[start..end]) {
            Ok(Some(length)) => {
                self.sealed.0 += length;
                let content = open(&mut self.keys, &mut self.inbound[start..start + length], 0);
                let count = self.take(content)?;
                self.plain = (start, start + count);
                Ok(0)
            }
            Ok(None) if out.len() >= DIRECT_BYTES => self.read_direct(out, receive),
            Ok(None) => {
                self.inbound.copy_within(start..end, 0);
                self.sealed = (0, end - start);
                let count = receive(&mut self.inbound[end - start..])?;
                self.hear(count)?;
                self.sealed.1 += count;
                Ok(0)
            }
            Err(over) => self.end(over),
        }
    }

    /// Receive into `out` and decrypt there, until there is no room worth asking for; answers how much of it is plaintext.
    fn read_direct(
        &mut self,
        out: &mut [u8],
        receive: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let (start, end) = std::mem::take(&mut self.sealed);
        out[..end - start].copy_from_slice(&self.inbound[start..end]);
        let mut window = Window {
            opened: 0,
            next: 0,
            held: end - start,
        };
        while out.len() - window.held >= MIN_RECEIVE_BYTES {
            let count = receive(&mut out[window.held..])?;
            self.hear(count)?;
            window.held += count;
            self.open_all(out, &mut window)?;
        }
        // Less than a record, so it fits.
        let rest = &out[window.next..window.held];
        self.inbound[..rest.len()].copy_from_slice(rest);
        self.sealed = (0, rest.len());
        Ok(window.opened)
    }

    /// Decrypt all records that are complete.
    fn open_all(&mut self, out: &mut [u8], window: &mut Window) -> io::Result<()> {
        loop {
            let sealed = &out[window.next..window.held];
            let Some(length) = sealed_length(sealed).or_else(|over| self.end(over))? else {
                return Ok(());
            };
            let record = &mut out[window.opened..window.next + length];
            let content = open(&mut self.keys, record, window.next - window.opened);
            window.opened += self.take(content)?;
            window.next += length;
        }
    }

    /// Act on what a record held; answers how much of it is for the reader.
    fn take(&mut self, content: Result<Content, Over>) -> io::Result<usize> {
        match content {
            Ok(Content::Data(count)) if count > 0 => {
                self.empty_records = 0;
                self.content_bytes = self.content_bytes.saturating_add(count);
                return Ok(count);
            }
            Ok(Content::Data(_)) => {}
            Ok(Content::KeyUpdate { asked }) => {
                if self.keys.update().is_none() {
                    return self.end(Over::Malformed(Refusal::InternalError, "no further keys"));
                }
                let is_hasty = std::mem::take(&mut self.content_bytes) < RECORD_BYTES / 2;
                self.hasty_updates = if is_hasty { self.hasty_updates + 1 } else { 0 };
                if self.hasty_updates > MAX_HASTY_UPDATES {
                    let what = "keys are changed too often";
                    return self.end(Over::Malformed(Refusal::UnexpectedMessage, what));
                }
                if asked {
                    self.owed.store(true, Ordering::Release);
                }
            }
            Ok(Content::Alert(CLOSE_NOTIFY)) => return self.end(Over::Closed),
            Ok(Content::Alert([_, number])) => return self.end(Over::Alert(number)),
            Err(over) => return self.end(over),
        }
        self.empty_records += 1;
        if self.empty_records > MAX_EMPTY_RECORDS {
            let what = "too many records without content";
            return self.end(Over::Malformed(Refusal::UnexpectedMessage, what));
        }
        Ok(0)
    }

    fn hear(&mut self, count: usize) -> io::Result<()> {
        if count == 0 {
            self.end(Over::CutOff)
        } else {
            Ok(())
        }
    }

    fn end<T>(&mut self, over: Over) -> io::Result<T> {
        self.over = Some(over);
        Err(over.into())
    }
}

/// A reader's buffer while ciphertext is received into it: plaintext up to `opened`, then what headers and tags left behind, then
/// ciphertext from `next` to `held`.
struct Window {
    opened: usize,
    next: usize,
    held: usize,
}

/// What a record held.
#[derive(Debug, Clone, Copy)]
enum Content {
    Data(usize),
    Alert([u8; 2]),
    KeyUpdate { asked: bool },
}

/// The length of the first record in `sealed`, header included; `None` when it is not complete.
fn sealed_length(sealed: &[u8]) -> Result<Option<usize>, Over> {
    let Some((&[kind, 3, 3, high, low], rest)) = sealed.split_first_chunk::<HEADER_BYTES>() else {
        return if sealed.len() < HEADER_BYTES {
            Ok(None)
        } else {
            Err(no_record(Refusal::DecodeError))
        };
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if kind != APPLICATION_DATA {
        return Err(no_record(Refusal::UnexpectedMessage));
    }
    if length > MAX_SEALED_BYTES {
        return Err(no_record(Refusal::RecordOverflow));
    }
    if length <= TAG_BYTES {
        return Err(no_record(Refusal::DecodeError));
    }
    Ok((length <= rest.len()).then_some(HEADER_BYTES + length))
}

fn no_record(refusal: Refusal) -> Over {
    Over::Malformed(refusal, "what arrived is not a TLS 1.3 record")
}

/// Decrypt the record at `bytes[at..]` to the start of `bytes`.
fn open(keys: &mut Keys, bytes: &mut [u8], at: usize) -> Result<Content, Over> {
    let header = bytes[at..].first_chunk().copied();
    let length = header
        .and_then(|header| keys.open(header, bytes, at + HEADER_BYTES))
        .ok_or(Over::Altered)?;
    // The type stands after the content, and zeros may follow it.
    let kind_at = bytes[..length].iter().rposition(|byte| *byte != 0);
    let Some((content, &[kind, ..])) = kind_at.map(|at| bytes.split_at(at)) else {
        let what = "a record without a type";
        return Err(Over::Malformed(Refusal::UnexpectedMessage, what));
    };
    let out_of_place = |refusal| Err(Over::Malformed(refusal, "a record that has no place here"));
    match (kind, content) {
        (_, content) if content.len() > RECORD_BYTES => out_of_place(Refusal::RecordOverflow),
        (APPLICATION_DATA, _) => Ok(Content::Data(content.len())),
        (ALERT, &[level, number]) => Ok(Content::Alert([level, number])),
        (HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, asked @ 0..=1]) => {
            Ok(Content::KeyUpdate { asked: asked == 1 })
        }
        (HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, _]) => out_of_place(Refusal::IllegalParameter),
        (ALERT, _) | (HANDSHAKE, &[KEY_UPDATE, ..]) => out_of_place(Refusal::DecodeError),
        _ => out_of_place(Refusal::UnexpectedMessage),
    }
}

/// The sending direction of a connection.
#[derive(Debug)]
pub(crate) struct Sealer {
    keys: Keys,
    owed: KeyUpdateOwed,
    pub(crate) records_per_key: u64,
    outbound: Vec<u8>,
    closed: bool,
}

impl Sealer {
    pub(crate) fn new(keys: Keys, owed: KeyUpdateOwed) -> Self {
        Self {
            keys,
            owed,
            records_per_key: RECORDS_PER_KEY,
            outbound: Vec::with_capacity(OUTBOUND_BYTES + 8 * (HEADER_BYTES + 1 + TAG_BYTES)),
            closed: false,
        }
    }

    /// Encrypt both parts, one after the other, and give the records to `send`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotConnected`] after a goodbye or an error, and what `send` answers.
    pub(crate) fn write_all(
        &mut self,
        head: &[u8],
        body: &[u8],
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut parts = [head, body];
        while parts.iter().any(|part| !part.is_empty()) {
            self.outbound.clear();
            while self.outbound.len() < OUTBOUND_BYTES && parts.iter().any(|part| !part.is_empty())
            {
                if self.keys.used() >= self.records_per_key
                    || self.owed.swap(false, Ordering::AcqRel)
                {
                    self.put(HANDSHAKE, &mut [&[KEY_UPDATE, 0, 0, 1, 0], &[]])?;
                    self.keys.update().ok_or_else(used_up)?;
                }
                self.put(APPLICATION_DATA, &mut parts)?;
            }
            if let Err(error) = send(&self.outbound) {
                // Half a record may be on its way: what followed could not be read.
                self.closed = true;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Say that nothing more will be written.
    ///
    /// # Errors
    /// As [`Self::write_all`].
    pub(crate) fn say_goodbye(
        &mut self,
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.alert(CLOSE_NOTIFY, send)
    }

    /// Say what was wrong with what was read.
    ///
    /// # Errors
    /// As [`Self::write_all`].
    pub(crate) fn say_refused(
        &mut self,
        alert: u8,
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.alert([FATAL, alert], send)
    }

    fn alert(
        &mut self,
        alert: [u8; 2],
        send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.outbound.clear();
        self.put(ALERT, &mut [&alert, &[]])?;
        self.closed = true;
        send(&self.outbound)
    }

    /// Add a record with as much of the parts as it takes.
    fn put(&mut self, kind: u8, parts: &mut [&[u8]; 2]) -> io::Result<()> {
        if self.closed {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "this side has said goodbye, or a write has failed",
            ));
        }
        let length = parts
            .iter()
            .map(|part| part.len())
            .sum::<usize>()
            .min(RECORD_BYTES);
        let [high, low] = u16::try_from(length + 1 + TAG_BYTES)
            .unwrap_or(u16::MAX)
            .to_be_bytes();
        let header = [APPLICATION_DATA, 3, 3, high, low];
        self.outbound.extend_from_slice(&header);
        let start = self.outbound.len();
        for part in parts {
            let (now, later) = part.split_at(part.len().min(start + length - self.outbound.len()));
            self.outbound.extend_from_slice(now);
            *part = later;
        }
        self.outbound.push(kind);
        let tag = self
            .keys
            .seal(header, &mut self.outbound[start..])
            .ok_or_else(used_up)?;
        self.outbound.extend_from_slice(&tag);
        Ok(())
    }
}

fn used_up() -> io::Error {
    io::Error::other("TLS: the keys of this connection are used up")
}

#[cfg(test)]
mod tests;
