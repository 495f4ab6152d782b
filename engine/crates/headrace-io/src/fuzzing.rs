//! Ways to private parsers, for `engine/fuzz` only.

use std::io::{self, Read as _};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use headrace_core::sealed::SigningKey;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, KeyLog as _, ServerConfig,
    ServerConnection,
};

use crate::records::{HEADER_BYTES, KeyUpdateOwed, Opener, RECORD_BYTES, Sealer};
use crate::secrets::{Keys, Secrets, TAG_BYTES};
use crate::tls::{ALPN_DATA, Identity, client_config, peer_name, server_config};

/// What one side has sent, a piece after the other: a byte says how long each is.
struct Pieces<'b>(&'b [u8]);

struct Piece {
    content: Vec<u8>,
    /// It does not come as it was sent, or comes under other keys.
    is_odd: bool,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        const ODD: u8 = 0x80;
        /// The next byte comes so often, and the one after it once: longer than a record may be.
        const LONG: u8 = 0x40;
        const TIMES: usize = 300;
        let (first, rest) = self.0.split_first()?;
        let length = usize::from(first & !(ODD | LONG));
        let is_long = first & LONG != 0;
        let (taken, rest) = rest.split_at(rest.len().min(if is_long { 2 } else { length }));
        self.0 = rest;
        let content = match taken {
            [many, last] if is_long => {
                let mut content = vec![*many; length * TIMES];
                content.push(*last);
                content
            }
            _ => taken.to_vec(),
        };
        let is_odd = first & ODD != 0;
        Some(Piece { content, is_odd })
    }
}

/// Read these bytes as what arrives on a connection.
pub fn read_records(wire: &[u8]) {
    if let Some(keys) = keys() {
        read(&mut Opener::new(keys, KeyUpdateOwed::default()), wire);
    }
}

/// Read what the other side sealed: records with any content, type and padding.
pub fn read_sealed_records(bytes: &[u8]) {
    let (Some(mut sealing), Some(opening)) = (keys(), keys()) else {
        return;
    };
    let mut wire = Vec::new();
    for piece in Pieces(bytes) {
        if seal(&mut sealing, &piece.content, &mut wire).is_none() {
            return;
        }
    }
    read(&mut Opener::new(opening, KeyUpdateOwed::default()), &wire);
}

/// Read with rustls and with our reader what the other side of one connection sealed: ours takes nothing for content that rustls does not, and
/// all of it where nothing else was sent. Odd pieces are altered on their way.
///
/// # Panics
/// When the two do not agree.
pub fn read_as_rustls(bytes: &[u8]) {
    /// But for its last byte, which says whether new keys are wished for.
    const KEY_UPDATE: [u8; 4] = [24, 0, 0, 1];
    const HANDSHAKE: u8 = 22;
    const DATA: u8 = 23;
    let Some((mut client, mut sealing, opening)) = connected() else {
        return;
    };
    let (mut pieces, mut is_content) = (Vec::new(), true);
    for Piece { content, is_odd } in Pieces(bytes) {
        let mut wire = Vec::new();
        if seal(&mut sealing, &content, &mut wire).is_none() {
            return;
        }
        // What is not read any more under the old keys is sealed with the new ones, as a peer would.
        let (kind, update) = content.split_last().unwrap_or((&0, &[]));
        let is_update = update.starts_with(&KEY_UPDATE) && update.len() == KEY_UPDATE.len() + 1;
        if *kind == HANDSHAKE && is_update && sealing.update().is_none() {
            return;
        }
        if is_odd && let Some(last) = wire.last_mut() {
            *last ^= 1;
        }
        is_content &=
            !is_odd && *kind == DATA && !update.is_empty() && update.len() <= RECORD_BYTES;
        pieces.push(wire);
    }
    let theirs = content_by_rustls(&mut client, &pieces);
    let ours = content_by_us(
        &mut Opener::new(opening, KeyUpdateOwed::default()),
        &pieces.concat(),
    );
    assert!(theirs.starts_with(&ours), "{ours:?} is not in {theirs:?}");
    assert!(!is_content || theirs == ours, "{ours:?} is not {theirs:?}");
}

/// Seal with our writer, in pieces, what rustls is to read; before odd pieces new keys are asked for.
///
/// # Panics
/// When rustls reads anything else.
pub fn write_for_rustls(bytes: &[u8]) {
    const RECORDS_PER_KEY: u64 = 3;
    let Some((mut client, sealing, _)) = connected() else {
        return;
    };
    let owed = KeyUpdateOwed::default();
    let mut sealer = Sealer::new(sealing, Arc::clone(&owed));
    sealer.records_per_key = RECORDS_PER_KEY;
    let (mut wire, mut sent) = (Vec::new(), Vec::new());
    for Piece { content, is_odd } in Pieces(bytes) {
        owed.fetch_or(is_odd, Ordering::AcqRel);
        let (head, body) = content.split_at(content.len() / 2);
        let written = sealer.write_all(head, body, &mut |sealed| {
            wire.push(sealed.to_vec());
            Ok(())
        });
        assert!(written.is_ok(), "{written:?}");
        sent.extend_from_slice(&content);
    }
    let read = content_by_rustls(&mut client, &wire);
    assert!(read == sent, "{} bytes of {}", read.len(), sent.len());
}

fn content_by_rustls(client: &mut Connection, pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut content = Vec::new();
    for mut piece in pieces.iter().map(Vec::as_slice) {
        while !piece.is_empty() {
            let is_over = !matches!(client.read_tls(&mut piece), Ok(1..))
                || client.process_new_packets().is_err();
            let mut some = [0; 1024];
            while let Ok(count @ 1..) = client.reader().read(&mut some) {
                content.extend_from_slice(&some[..count]);
            }
            if is_over {
                return content;
            }
        }
    }
    content
}

fn content_by_us(opener: &mut Opener, mut wire: &[u8]) -> Vec<u8> {
    let (mut content, mut one) = (Vec::new(), [0]);
    while opener
        .read_exact(&mut one, &mut |room| wire.read(room))
        .is_ok()
    {
        content.push(one[0]);
    }
    content
}

/// A client of rustls that has shaken hands, and what its server seals with and it opens with.
fn connected() -> Option<(Connection, Keys, Keys)> {
    static SETTINGS: OnceLock<Option<(Arc<ClientConfig>, Arc<ServerConfig>)>> = OnceLock::new();
    let (client, server) = SETTINGS.get_or_init(settings).as_ref()?;
    let (mut client, mut server) = (ClientConfig::clone(client), ServerConfig::clone(server));
    let (seen, shown) = (Secrets::new(), Secrets::new());
    client.key_log = Arc::clone(&seen) as _;
    server.key_log = Arc::clone(&shown) as _;
    let mut client: Connection = ClientConnection::new(client.into(), peer_name())
        .ok()?
        .into();
    let mut server: Connection = ServerConnection::new(server.into()).ok()?.into();
    while client.wants_write() || server.wants_write() {
        carry(&mut client, &mut server)?;
        carry(&mut server, &mut client)?;
    }
    let suite = client.negotiated_cipher_suite()?.suite();
    let (sealing, opening) = (shown.take()?.1, seen.take()?.1);
    Some((
        client,
        Keys::new(suite, sealing)?,
        Keys::new(suite, opening)?,
    ))
}

fn settings() -> Option<(Arc<ClientConfig>, Arc<ServerConfig>)> {
    let identity = |seed: u8| Identity::new(&SigningKey::from_seed(&[seed; 32])).ok();
    let (here, there) = (identity(1)?, identity(2)?);
    let client = client_config(&here, there.public_key(), ALPN_DATA).ok()?;
    let server = server_config(&there, Arc::new(|_| true), ALPN_DATA).ok()?;
    Some((client, server))
}

fn carry(from: &mut Connection, to: &mut Connection) -> Option<()> {
    let mut wire = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut wire).ok()?;
    }
    let mut wire = wire.as_slice();
    while !wire.is_empty() {
        to.read_tls(&mut wire).ok()?;
        to.process_new_packets().ok()?;
    }
    Some(())
}

/// Seal a record with this content, which ends with its type and padding.
fn seal(keys: &mut Keys, content: &[u8], wire: &mut Vec<u8>) -> Option<()> {
    let length = u16::try_from(content.len() + TAG_BYTES).ok()?;
    let [high, low] = length.to_be_bytes();
    let header: [u8; HEADER_BYTES] = [23, 3, 3, high, low];
    let mut sealed = content.to_vec();
    let tag = keys.seal(header, &mut sealed)?;
    wire.extend_from_slice(&header);
    wire.append(&mut sealed);
    wire.extend_from_slice(&tag);
    Some(())
}

fn keys() -> Option<Keys> {
    let secrets = Secrets::new();
    for label in ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"] {
        secrets.log(label, &[], &[7; 32]);
    }
    let (client, _) = secrets.take()?;
    Keys::new(CipherSuite::TLS13_AES_128_GCM_SHA256, client)
}

/// Read to the end, in two sizes: into the reader's own buffer and through ours.
fn read(opener: &mut Opener, mut wire: &[u8]) {
    let mut receive = |room: &mut [u8]| -> io::Result<usize> {
        let (now, later) = wire.split_at(wire.len().min(room.len()));
        room[..now.len()].copy_from_slice(now);
        wire = later;
        Ok(now.len())
    };
    let mut large = vec![0; 64 << 10];
    for size in [1, 100, large.len()] {
        if opener.read_exact(&mut large[..size], &mut receive).is_err() {
            return;
        }
    }
}
