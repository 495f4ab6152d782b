//! Ways to private parsers, for `engine/fuzz` only.

use std::io;

use rustls::{CipherSuite, KeyLog as _};

use crate::records::{HEADER_BYTES, KeyUpdateOwed, Opener};
use crate::secrets::{Keys, Secrets, TAG_BYTES};

/// Read these bytes as what arrives on a connection.
pub fn read_records(wire: &[u8]) {
    if let Some(keys) = keys() {
        read(&mut Opener::new(keys, KeyUpdateOwed::default()), wire);
    }
}

/// Read what the other side sealed: records of the length that a byte says, each with any content, type and padding.
pub fn read_sealed_records(mut bytes: &[u8]) {
    let (Some(mut sealing), Some(opening)) = (keys(), keys()) else {
        return;
    };
    let mut wire = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (content, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        let length = u16::try_from(content.len() + TAG_BYTES).unwrap_or(u16::MAX);
        let [high, low] = length.to_be_bytes();
        let header: [u8; HEADER_BYTES] = [23, 3, 3, high, low];
        let mut sealed = content.to_vec();
        let Some(tag) = sealing.seal(header, &mut sealed) else {
            return;
        };
        wire.extend_from_slice(&header);
        wire.append(&mut sealed);
        wire.extend_from_slice(&tag);
        bytes = rest;
    }
    read(&mut Opener::new(opening, KeyUpdateOwed::default()), &wire);
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
