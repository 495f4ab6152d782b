//! The frames of a session that are no file content, typed.

use std::ops::Range;

use crate::bitmap::MAX_RANGES;
use crate::code::{Code, Failure};
use crate::codec::{CodecError, Put, Reader};
use crate::entry::Entry;
use crate::integrity::PieceHash;
use crate::manifest::{Item, MAX_ITEMS, put_entry, put_failure, read_entry, read_failure};
use crate::ticket::Shard;
use crate::value::{Digest, Id};
use crate::wire::{FrameType, HEADER_BYTES, Header, WireError};

/// Protocol versions spoken here, oldest and newest.
pub const VERSIONS: (u16, u16) = (3, 3);
/// Most streams of a session at a time.
pub const MAX_STREAMS: u16 = 64;
/// Most streams of a session in all: those that break are replaced.
pub const MAX_JOINS: u16 = 1024;

/// First frame of a session, from either side: who it is for and what the sender can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Oldest version the sender speaks.
    pub version_min: u16,
    /// Newest version the sender speaks.
    pub version_max: u16,
    /// Bits of optional features; none are defined yet.
    pub features: u64,
    /// Whether the sender reads or writes.
    pub role: Role,
    /// The transfer.
    pub transfer: Id,
    /// The attempt, from 1.
    pub attempt: u64,
    /// The plan.
    pub plan: Digest,
    /// Which part of it.
    pub shard: Shard,
    /// In which order the source lists; what the source says counts.
    pub order: Order,
    /// Names this session among those of the attempt; chosen by the side that listens, zero from the other.
    pub session: [u8; 16],
    /// Bytes of a unit; what the destination says counts.
    pub unit_bytes: u64,
    /// Entries that may be under way without a result; what the destination says counts.
    pub window: u32,
    /// Streams the sender would like, 0 for no wish.
    pub streams: u16,
}

/// The order in which a source says its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By the bytes of each name on the way, a folder before what it holds.
    Components,
    /// One of a later release.
    Unknown(u8),
}

/// Which end of the transfer a node is in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It reads.
    Source,
    /// It writes.
    Destination,
}

/// First frame of a data connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// The transfer.
    pub transfer: Id,
    /// From the listening side's hello.
    pub session: [u8; 16],
    /// Number of the stream, below [`MAX_JOINS`]; each has its own.
    pub index: u16,
    /// Proves that the sender took part in the session's first handshake and in this one.
    pub token: [u8; 32],
}

/// What the destination wants of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Nothing,
    /// All of the file.
    Send,
    /// These units of the file; rising, apart, not empty.
    SendUnits(Vec<Range<u64>>),
    /// The hash of the whole file, to compare.
    Compare,
}

/// What became of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileResult {
    /// It is at its destination, durable.
    Done,
    /// The same of a file that is moved, with the hash of what is there.
    Holds(PieceHash),
    /// It is not.
    Failed(Code),
}

/// What the destination says at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Files and symlinks copied.
    pub files: u64,
    /// Bytes of the files copied.
    pub bytes: u64,
    /// Files and symlinks that were there already.
    pub identical: u64,
    /// Entries that failed.
    pub failed: u64,
    /// Names deleted at the destination.
    pub deleted: u64,
    /// Bytes that arrived more than once.
    pub resent_bytes: u64,
    /// SHA-256 of files.jsonl.
    pub list_digest: [u8; 32],
    /// BLAKE3 of files.jsonl.
    pub list_root: [u8; 32],
}

/// A frame that is no file content.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are those of the frame types, which say what they are"
)]
pub enum Message {
    Hello(Hello),
    Join(Join),
    Items {
        first: u64,
        items: Vec<Item>,
    },
    ItemsEnd {
        count: u64,
    },
    /// Decisions of consecutive entries; of a single one when it was restarted.
    Decisions {
        first: u64,
        generation: u16,
        decisions: Vec<Decision>,
    },
    FileEnd {
        file: u64,
        generation: u16,
    },
    /// `generation` is the new one.
    FileChanged {
        file: u64,
        generation: u16,
        entry: Entry,
    },
    FileFailed {
        file: u64,
        failure: Failure,
    },
    Compared {
        file: u64,
        hash: PieceHash,
    },
    Results(Vec<(u64, FileResult)>),
    Resend {
        file: u64,
        generation: u16,
        unit: u64,
    },
    End(Totals),
    EndConfirmed,
    Bye(Failure),
    /// So many frames of content have arrived over a stream.
    StreamAt {
        stream: u16,
        frames: u64,
    },
    /// The same of a stream over which no more will.
    StreamEnd {
        stream: u16,
        frames: u64,
    },
    StreamBroken {
        stream: u16,
    },
    Alive,
}

impl Message {
    /// The frame: header and payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut frame = vec![0; HEADER_BYTES];
        let header = self.put(&mut frame);
        let length = u32::try_from(frame.len() - HEADER_BYTES).unwrap_or(u32::MAX);
        frame[..HEADER_BYTES].copy_from_slice(&Header { length, ..header }.encode());
        frame
    }

    fn put(&self, out: &mut Vec<u8>) -> Header {
        let mut header = Header::new(self.kind());
        match self {
            Self::Hello(hello) => hello.put(out),
            Self::Join(join) => join.put(out),
            Self::Items { first, items } => {
                header.file = *first;
                for item in items {
                    item.put(out);
                }
            }
            Self::ItemsEnd { count } => header.file = *count,
            Self::Decisions {
                first,
                generation,
                decisions,
            } => {
                (header.file, header.generation) = (*first, *generation);
                put_decisions(decisions, out);
            }
            Self::FileEnd { file, generation } => {
                (header.file, header.generation) = (*file, *generation);
            }
            Self::FileChanged {
                file,
                generation,
                entry,
            } => {
                (header.file, header.generation) = (*file, *generation);
                put_entry(entry, out);
            }
            Self::FileFailed { file, failure } => {
                header.file = *file;
                put_failure(failure, out);
            }
            Self::Compared { file, hash } => {
                header.file = *file;
                out.extend_from_slice(hash);
            }
            Self::Results(results) => put_results(results, out),
            Self::Resend {
                file,
                generation,
                unit,
            } => {
                (header.file, header.generation, header.offset) = (*file, *generation, *unit);
            }
            Self::End(totals) => totals.put(out),
            Self::Bye(failure) => put_failure(failure, out),
            Self::StreamAt { stream, frames } | Self::StreamEnd { stream, frames } => {
                (header.generation, header.offset) = (*stream, *frames);
            }
            Self::StreamBroken { stream } => header.generation = *stream,
            Self::EndConfirmed | Self::Alive => {}
        }
        header
    }

    fn kind(&self) -> FrameType {
        match self {
            Self::Hello(_) => FrameType::Hello,
            Self::Join(_) => FrameType::Join,
            Self::Items { .. } => FrameType::Items,
            Self::ItemsEnd { .. } => FrameType::ItemsEnd,
            Self::Decisions { .. } => FrameType::Decisions,
            Self::FileEnd { .. } => FrameType::FileEnd,
            Self::FileChanged { .. } => FrameType::FileChanged,
            Self::FileFailed { .. } => FrameType::FileFailed,
            Self::Compared { .. } => FrameType::Compared,
            Self::Results(_) => FrameType::Results,
            Self::Resend { .. } => FrameType::Resend,
            Self::End(_) => FrameType::End,
            Self::EndConfirmed => FrameType::EndConfirmed,
            Self::Bye(_) => FrameType::Bye,
            Self::StreamAt { .. } => FrameType::StreamAt,
            Self::StreamEnd { .. } => FrameType::StreamEnd,
            Self::StreamBroken { .. } => FrameType::StreamBroken,
            Self::Alive => FrameType::Alive,
        }
    }

    /// Read the payload of a frame.
    ///
    /// # Errors
    /// [`WireError`] when the frame is file content or its payload is not what its type says.
    pub fn decode(header: &Header, payload: &[u8]) -> Result<Self, WireError> {
        let reader = &mut Reader::new(payload);
        let (file, generation) = (header.file, header.generation);
        let message = match header.kind {
            FrameType::Hello => Self::Hello(Hello::read(reader)?),
            FrameType::Join => Self::Join(Join::read(reader)?),
            FrameType::Items => Self::Items {
                first: file,
                items: Item::read_all(reader.rest())?,
            },
            FrameType::ItemsEnd => Self::ItemsEnd { count: file },
            FrameType::Decisions => Self::Decisions {
                first: file,
                generation,
                decisions: read_decisions(reader)?,
            },
            FrameType::FileEnd => Self::FileEnd { file, generation },
            FrameType::FileChanged => Self::FileChanged {
                file,
                generation,
                entry: read_entry(reader)?,
            },
            FrameType::FileFailed => Self::FileFailed {
                file,
                failure: read_failure(reader)?,
            },
            FrameType::Compared => Self::Compared {
                file,
                hash: reader.array("hash")?,
            },
            FrameType::Results => Self::Results(read_results(reader)?),
            FrameType::Resend => Self::Resend {
                file,
                generation,
                unit: header.offset,
            },
            FrameType::End => Self::End(Totals::read(reader)?),
            FrameType::EndConfirmed => Self::EndConfirmed,
            FrameType::Bye => Self::Bye(read_failure(reader)?),
            FrameType::StreamAt => Self::StreamAt {
                stream: generation,
                frames: header.offset,
            },
            FrameType::StreamEnd => Self::StreamEnd {
                stream: generation,
                frames: header.offset,
            },
            FrameType::StreamBroken => Self::StreamBroken { stream: generation },
            FrameType::Alive => Self::Alive,
            kind @ (FrameType::Block | FrameType::Batch) => {
                return Err(WireError::Unexpected { kind });
            }
        };
        reader.end()?;
        Ok(message)
    }
}

impl Hello {
    /// The newest version both sides speak; `None` when there is none.
    #[must_use]
    pub fn common_version(&self) -> Option<u16> {
        let (min, max) = VERSIONS;
        let newest = max.min(self.version_max);
        (newest >= min.max(self.version_min)).then_some(newest)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version_min.to_le_bytes());
        out.extend_from_slice(&self.version_max.to_le_bytes());
        out.extend_from_slice(&self.features.to_le_bytes());
        out.push(match self.role {
            Role::Source => 0,
            Role::Destination => 1,
        });
        out.put_sized(self.transfer.as_str().as_bytes());
        out.extend_from_slice(&self.attempt.to_le_bytes());
        out.extend_from_slice(&self.plan.0);
        out.extend_from_slice(&self.shard.number.to_le_bytes());
        out.extend_from_slice(&self.shard.fence.to_le_bytes());
        out.push(match self.order {
            Order::Components => 0,
            Order::Unknown(number) => number,
        });
        out.extend_from_slice(&self.session);
        out.extend_from_slice(&self.unit_bytes.to_le_bytes());
        out.extend_from_slice(&self.window.to_le_bytes());
        out.extend_from_slice(&self.streams.to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let hello = Self {
            version_min: reader.u16("version")?,
            version_max: reader.u16("version")?,
            features: reader.u64("features")?,
            role: match reader.u8("role")? {
                0 => Role::Source,
                1 => Role::Destination,
                value => {
                    return Err(CodecError::Value {
                        field: "role",
                        value: value.into(),
                    });
                }
            },
            transfer: read_id(reader)?,
            attempt: reader.u64("attempt")?,
            plan: Digest(reader.array("plan")?),
            shard: Shard {
                number: reader.u64("shard")?,
                fence: reader.u64("fence")?,
            },
            order: match reader.u8("order")? {
                0 => Order::Components,
                number => Order::Unknown(number),
            },
            session: reader.array("session")?,
            unit_bytes: reader.u64("unit")?,
            window: reader.u32("window")?,
            streams: reader.u16("streams")?,
        };
        // A later version may say more behind this.
        reader.rest();
        Ok(hello)
    }
}

impl Join {
    fn put(&self, out: &mut Vec<u8>) {
        out.put_sized(self.transfer.as_str().as_bytes());
        out.extend_from_slice(&self.session);
        out.extend_from_slice(&self.index.to_le_bytes());
        out.extend_from_slice(&self.token);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (transfer, session) = (read_id(reader)?, reader.array("session")?);
        let index = reader.u16("index")?;
        if index >= MAX_JOINS {
            return Err(CodecError::Value {
                field: "index",
                value: index.into(),
            });
        }
        Ok(Self {
            transfer,
            session,
            index,
            token: reader.array("token")?,
        })
    }
}

impl Totals {
    fn put(&self, out: &mut Vec<u8>) {
        for count in [
            self.files,
            self.bytes,
            self.identical,
            self.failed,
            self.deleted,
            self.resent_bytes,
        ] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&self.list_digest);
        out.extend_from_slice(&self.list_root);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            files: reader.u64("files")?,
            bytes: reader.u64("bytes")?,
            identical: reader.u64("identical")?,
            failed: reader.u64("failed")?,
            deleted: reader.u64("deleted")?,
            resent_bytes: reader.u64("resent")?,
            list_digest: reader.array("list digest")?,
            list_root: reader.array("list root")?,
        })
    }
}

fn read_id(reader: &mut Reader<'_>) -> Result<Id, CodecError> {
    let text = reader.text(64, "transfer")?;
    text.parse().map_err(|_| CodecError::Text {
        field: "transfer",
        max_bytes: 64,
    })
}

/// Runs of equal decisions take five bytes; ranges take what they need.
fn put_decisions(decisions: &[Decision], out: &mut Vec<u8>) {
    for run in
        decisions.chunk_by(|left, right| left == right && !matches!(left, Decision::SendUnits(_)))
    {
        let ranges: &[Range<u64>] = match &run[0] {
            Decision::SendUnits(ranges) => ranges,
            _ => &[],
        };
        out.push(match &run[0] {
            Decision::Nothing => 0,
            Decision::Send => 1,
            Decision::SendUnits(_) => 2,
            Decision::Compare => 3,
        });
        out.put_count(if ranges.is_empty() {
            run.len()
        } else {
            ranges.len()
        });
        for range in ranges {
            out.extend_from_slice(&range.start.to_le_bytes());
            out.extend_from_slice(&range.end.to_le_bytes());
        }
    }
}

fn read_decisions(reader: &mut Reader<'_>) -> Result<Vec<Decision>, CodecError> {
    let mut decisions = Vec::new();
    while reader.left() > 0 {
        let (kind, count) = (reader.u8("decision")?, reader.u32("count")?);
        let limit = if kind == 2 {
            MAX_RANGES
        } else {
            MAX_ITEMS - decisions.len()
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count == 0 || count > limit || decisions.len() == MAX_ITEMS {
            return Err(CodecError::Value {
                field: "count",
                value: count as u64,
            });
        }
        let decision = match kind {
            0 => Decision::Nothing,
            1 => Decision::Send,
            2 => Decision::SendUnits(
                (0..count)
                    .map(|_| Ok(reader.u64("range")?..reader.u64("range")?))
                    .collect::<Result<_, CodecError>>()?,
            ),
            3 => Decision::Compare,
            value => {
                return Err(CodecError::Value {
                    field: "decision",
                    value: value.into(),
                });
            }
        };
        let repeat = if kind == 2 { 1 } else { count };
        decisions.extend(std::iter::repeat_n(decision, repeat));
    }
    Ok(decisions)
}

/// A result that a hash follows; the others are codes.
const RESULT_HOLDS: u8 = u8::MAX;

fn put_results(results: &[(u64, FileResult)], out: &mut Vec<u8>) {
    for (file, result) in results {
        out.extend_from_slice(&file.to_le_bytes());
        out.push(match result {
            FileResult::Done => 0,
            FileResult::Failed(code) => 1 + code.number(),
            FileResult::Holds(_) => RESULT_HOLDS,
        });
        if let FileResult::Holds(hash) = result {
            out.extend_from_slice(hash);
        }
    }
}

fn read_results(reader: &mut Reader<'_>) -> Result<Vec<(u64, FileResult)>, CodecError> {
    let mut results = Vec::new();
    while reader.left() > 0 {
        let (file, result) = (reader.u64("file")?, reader.u8("result")?);
        let result = match result.checked_sub(1) {
            None => FileResult::Done,
            Some(_) if result == RESULT_HOLDS => FileResult::Holds(reader.array("hash")?),
            Some(number) => FileResult::Failed(Code::from_number(number).unwrap_or(Code::Internal)),
        };
        results.push((file, result));
    }
    Ok(results)
}

#[cfg(test)]
mod tests;
