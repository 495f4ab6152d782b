//! Frames between two nodes: a header of 24 bytes and at most a little over 1 MiB behind it.

use thiserror::Error;

use crate::codec::{CodecError, Reader};

/// Length of a frame header.
pub const HEADER_BYTES: usize = 24;
/// Longest payload: a block or batch and what belongs to it.
pub const MAX_PAYLOAD_BYTES: u32 = (1 << 20) + (64 << 10);
/// Type numbers from here on are optional: a receiver that does not know one skips the frame.
pub const OPTIONAL_TYPES: u8 = 0x80;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameType {
    /// First frame of a session, both ways.
    Hello = 1,
    /// First frame of a data connection.
    Join = 2,
    /// Entries of the source, in order.
    Items = 3,
    /// There are no more entries.
    ItemsEnd = 4,
    /// What the destination wants of the entries.
    Decisions = 5,
    /// One verify block of a file.
    Block = 6,
    /// Several small files, whole.
    Batch = 7,
    /// All that was wanted of a file was read, and the file did not change meanwhile.
    FileEnd = 8,
    /// A file changed while it was read; how it is now.
    FileChanged = 9,
    /// A file cannot be read to its end.
    FileFailed = 10,
    /// Hash of a file that was to be compared.
    Compared = 11,
    /// What became of files.
    Results = 12,
    /// A unit did not arrive as it was sent.
    Resend = 13,
    /// The destination is done.
    End = 14,
    /// The source is done as well.
    EndConfirmed = 15,
    /// The session ends early, and why.
    Bye = 16,
    /// How much of a stream has arrived.
    StreamAt = 17,
    /// How much of a stream has arrived; no more will.
    StreamEnd = 18,
    /// Nothing more is sent over a stream: how much of it has arrived?
    StreamBroken = 19,
    /// Nothing; shows that the sender lives.
    Alive = 0x80,
}

impl FrameType {
    const ALL: [Self; 20] = [
        Self::Hello,
        Self::Join,
        Self::Items,
        Self::ItemsEnd,
        Self::Decisions,
        Self::Block,
        Self::Batch,
        Self::FileEnd,
        Self::FileChanged,
        Self::FileFailed,
        Self::Compared,
        Self::Results,
        Self::Resend,
        Self::End,
        Self::EndConfirmed,
        Self::Bye,
        Self::StreamAt,
        Self::StreamEnd,
        Self::StreamBroken,
        Self::Alive,
    ];
}

/// A frame header. Which fields mean something depends on the type; the others are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What follows.
    pub kind: FrameType,
    /// Flags of the type.
    pub flags: u8,
    /// How often the file was restarted.
    pub generation: u16,
    /// Bytes of payload behind the header.
    pub length: u32,
    /// Number of the entry in the session.
    pub file: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
}

/// What the first bytes of a frame say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peeked {
    /// A frame of a type we know.
    Known(Header),
    /// An optional frame of a type we do not know: skip so many bytes of payload.
    Skip {
        /// Bytes of payload.
        length: u32,
    },
}

impl Header {
    /// A header with only a type.
    #[must_use]
    pub fn new(kind: FrameType) -> Self {
        Self {
            kind,
            flags: 0,
            generation: 0,
            length: 0,
            file: 0,
            offset: 0,
        }
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.kind as u8;
        bytes[1] = self.flags;
        bytes[2..4].copy_from_slice(&self.generation.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.file.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }

    /// Read the bytes of a header.
    ///
    /// # Errors
    /// [`WireError`] for an unknown mandatory type or a payload over the limit.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Peeked, WireError> {
        let mut reader = Reader::new(bytes);
        let (kind, flags) = (reader.u8("type")?, reader.u8("flags")?);
        let (generation, length) = (reader.u16("generation")?, reader.u32("length")?);
        let (file, offset) = (reader.u64("file")?, reader.u64("offset")?);
        if length > MAX_PAYLOAD_BYTES {
            return Err(WireError::TooLong { length });
        }
        let known = FrameType::ALL
            .into_iter()
            .find(|known| *known as u8 == kind);
        match known {
            Some(kind) => Ok(Peeked::Known(Self {
                kind,
                flags,
                generation,
                length,
                file,
                offset,
            })),
            None if kind >= OPTIONAL_TYPES => Ok(Peeked::Skip { length }),
            None => Err(WireError::UnknownType { kind }),
        }
    }
}

/// What a peer may not send.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// A mandatory frame type we do not know.
    #[error("frame type {kind} is unknown")]
    UnknownType {
        /// Its number.
        kind: u8,
    },
    /// A payload over the limit.
    #[error("a frame of {length} bytes is longer than {MAX_PAYLOAD_BYTES}")]
    TooLong {
        /// What the header says.
        length: u32,
    },
    /// A frame of another type than this place allows.
    #[error("a frame of type {kind:?} is not expected here")]
    Unexpected {
        /// Its type.
        kind: FrameType,
    },
    /// A payload that cannot be read.
    #[error("the payload cannot be read: {0}")]
    Payload(#[from] CodecError),
    /// A payload that contradicts what was said before.
    #[error("{detail}")]
    Contradiction {
        /// What and how.
        detail: String,
    },
}

impl WireError {
    /// A contradiction, in words.
    #[must_use]
    pub fn contradiction(detail: impl Into<String>) -> Self {
        Self::Contradiction {
            detail: detail.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn headers_survive_the_wire(
            kind in prop::sample::select(FrameType::ALL.to_vec()),
            flags: u8, generation: u16, length in 0..=MAX_PAYLOAD_BYTES, file: u64, offset: u64,
        ) {
            let header = Header { kind, flags, generation, length, file, offset };
            prop_assert_eq!(Header::decode(&header.encode()), Ok(Peeked::Known(header)));
        }

        #[test]
        fn any_bytes_are_a_header_or_an_error(bytes: [u8; HEADER_BYTES]) {
            if let Ok(Peeked::Known(Header { length, .. }) | Peeked::Skip { length }) = Header::decode(&bytes) {
                prop_assert!(length <= MAX_PAYLOAD_BYTES);
            }
        }
    }

    #[test]
    fn unknown_optional_frames_are_skipped_and_unknown_mandatory_ones_refused() {
        let mut bytes = Header::new(FrameType::Alive).encode();
        bytes[0] = 0xF0;
        bytes[4] = 7;
        assert_eq!(Header::decode(&bytes), Ok(Peeked::Skip { length: 7 }));
        bytes[0] = 0x70;
        assert_eq!(
            Header::decode(&bytes),
            Err(WireError::UnknownType { kind: 0x70 })
        );
        bytes[0] = FrameType::Block as u8;
        bytes[4..8].copy_from_slice(&(MAX_PAYLOAD_BYTES + 1).to_le_bytes());
        assert!(matches!(
            Header::decode(&bytes),
            Err(WireError::TooLong { .. })
        ));
    }
}
