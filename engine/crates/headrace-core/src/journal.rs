//! The receiver's journal: what has safely arrived, as records that each carry their own checksum.
//!
//! The file is only appended to. A power loss may leave a torn or unfinished record at its end; reading stops there, and what came
//! before counts. Records are written after the data they speak of is durable, so the journal never claims too much.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::codec::{CodecError, Put, Reader};
use crate::entry::Entry;
use crate::integrity::PieceHash;
use crate::name::RelPath;
use crate::value::{Digest, Id};
use crate::version::Version;

/// Longest record; longer lists are split.
pub const MAX_RECORD_BYTES: usize = 1 << 20;
/// Most units in one record.
pub const MAX_UNITS: usize = 8192;
/// Length and checksum before each record.
const FRAME_BYTES: usize = 8;

/// Which state of a source file is meant: any difference means another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Bytes.
    pub size: u64,
    /// The state, in the words of its storage.
    pub version: Version,
}

impl From<&Entry> for Identity {
    fn from(entry: &Entry) -> Self {
        Self {
            size: entry.size,
            version: entry.version,
        }
    }
}

/// A whole, verified, durable file that gets or has its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// Where, relative to the destination path.
    pub path: RelPath,
    /// Of the source it was copied from.
    pub identity: Identity,
    /// BLAKE3 of the content.
    pub hash: PieceHash,
    /// Inode number at the destination.
    pub inode: u64,
    /// Number of the temporary it arrived in, when it arrived in units.
    pub part: Option<u64>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The first one: whose journal it is, and the size of units in it.
    Start {
        /// The transfer.
        transfer: Id,
        /// The plan.
        plan: Digest,
        /// Bytes of a unit.
        unit_bytes: u64,
    },
    /// A temporary file was made for a file that arrives in units.
    Begun {
        /// Its number, part of the temporary's name.
        part: u64,
        /// The file, relative to the destination path.
        path: RelPath,
        /// Of the source.
        identity: Identity,
        /// Inode number of the temporary.
        inode: u64,
    },
    /// Units of a file are durable.
    Units {
        /// Number of the temporary.
        part: u64,
        /// Unit numbers and hashes.
        units: Vec<(u64, PieceHash)>,
    },
    /// What arrived in a temporary counts no more.
    Dropped {
        /// Its number.
        part: u64,
    },
    /// A file is whole and durable and is about to get its name.
    Landed(Landed),
    /// All files landed so far have their names, or never will.
    Published,
    /// A folder was made, and is completed in the end.
    Made {
        /// Where, relative to the root.
        path: RelPath,
        /// Inode number of the folder.
        inode: u64,
    },
    /// In this folder there may be temporaries that no other record speaks of.
    Used {
        /// Where, relative to the root.
        path: RelPath,
    },
}

impl Record {
    /// Append the record to what will be written.
    pub fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; FRAME_BYTES]);
        self.put_fields(out);
        let fields = &out[start + FRAME_BYTES..];
        let (length, checksum) = (fields.len(), crc32c::crc32c(fields));
        out[start..start + 4]
            .copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        out[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
    }

    fn put_fields(&self, out: &mut Vec<u8>) {
        match self {
            Self::Start {
                transfer,
                plan,
                unit_bytes,
            } => {
                // 1 began the journals of older releases, which know other fields: to this one they say nothing.
                out.push(9);
                out.put_sized(transfer.as_str().as_bytes());
                out.extend_from_slice(&plan.0);
                out.extend_from_slice(&unit_bytes.to_le_bytes());
            }
            Self::Begun {
                part,
                path,
                identity,
                inode,
            } => {
                out.push(2);
                out.extend_from_slice(&part.to_le_bytes());
                out.put_sized(path.as_bytes());
                put_identity(identity, out);
                out.extend_from_slice(&inode.to_le_bytes());
            }
            Self::Units { part, units } => {
                out.push(3);
                out.extend_from_slice(&part.to_le_bytes());
                for (unit, hash) in units {
                    out.extend_from_slice(&unit.to_le_bytes());
                    out.extend_from_slice(hash);
                }
            }
            Self::Dropped { part } => {
                out.push(4);
                out.extend_from_slice(&part.to_le_bytes());
            }
            Self::Landed(landed) => {
                out.push(5);
                out.put_sized(landed.path.as_bytes());
                put_identity(&landed.identity, out);
                out.extend_from_slice(&landed.hash);
                out.extend_from_slice(&landed.inode.to_le_bytes());
                if let Some(part) = landed.part {
                    out.extend_from_slice(&part.to_le_bytes());
                }
            }
            Self::Published => out.push(6),
            Self::Made { path, inode } => {
                out.push(7);
                out.put_sized(path.as_bytes());
                out.extend_from_slice(&inode.to_le_bytes());
            }
            Self::Used { path } => {
                out.push(8);
                out.put_sized(path.as_bytes());
            }
        }
    }

    /// Read the first record of `bytes`, and say how long it is. `None` where no whole record is, so where reading stops.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader::new(bytes);
        let length = usize::try_from(reader.u32("length").ok()?).ok()?;
        let checksum = reader.u32("checksum").ok()?;
        if length > MAX_RECORD_BYTES {
            return None;
        }
        let fields = reader.bytes(length, "record").ok()?;
        if crc32c::crc32c(fields) != checksum {
            return None;
        }
        Some((Self::read_fields(fields).ok()?, FRAME_BYTES + length))
    }

    fn read_fields(fields: &[u8]) -> Result<Self, CodecError> {
        let reader = &mut Reader::new(fields);
        let record = match reader.u8("record type")? {
            9 => Self::Start {
                transfer: reader
                    .text(64, "transfer")?
                    .parse()
                    .map_err(|_| CodecError::Text {
                        field: "transfer",
                        max_bytes: 64,
                    })?,
                plan: Digest(reader.array("plan")?),
                unit_bytes: reader.u64("unit bytes")?,
            },
            2 => Self::Begun {
                part: reader.u64("part")?,
                path: reader.path("path")?,
                identity: read_identity(reader)?,
                inode: reader.u64("inode")?,
            },
            3 => {
                let part = reader.u64("part")?;
                let mut units = Vec::new();
                while reader.left() > 0 {
                    units.push((reader.u64("unit")?, reader.array("hash")?));
                }
                Self::Units { part, units }
            }
            4 => Self::Dropped {
                part: reader.u64("part")?,
            },
            5 => Self::Landed(Landed {
                path: reader.path("path")?,
                identity: read_identity(reader)?,
                hash: reader.array("hash")?,
                inode: reader.u64("inode")?,
                part: if reader.left() > 0 {
                    Some(reader.u64("part")?)
                } else {
                    None
                },
            }),
            6 => Self::Published,
            7 => Self::Made {
                path: reader.path("path")?,
                inode: reader.u64("inode")?,
            },
            8 => Self::Used {
                path: reader.path("path")?,
            },
            value => {
                return Err(CodecError::Value {
                    field: "record type",
                    value: value.into(),
                });
            }
        };
        reader.end()?;
        Ok(record)
    }
}

fn put_identity(identity: &Identity, out: &mut Vec<u8>) {
    out.extend_from_slice(&identity.size.to_le_bytes());
    identity.version.put(out);
}

fn read_identity(reader: &mut Reader<'_>) -> Result<Identity, CodecError> {
    Ok(Identity {
        size: reader.u64("size")?,
        version: Version::read(reader)?,
    })
}

/// A file of which some units arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartState {
    /// The file, relative to the destination path.
    pub path: RelPath,
    /// Of the source.
    pub identity: Identity,
    /// Inode number of the temporary.
    pub inode: u64,
    /// Hashes of the durable units by number.
    pub units: BTreeMap<u64, PieceHash>,
}

/// A file that landed, as it is remembered: about 80 bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LandedState {
    /// BLAKE3 of the content.
    pub hash: PieceHash,
    /// Inode number at the destination.
    pub inode: u64,
    /// Whether it certainly got its name, if it was to get one at all.
    pub published: bool,
}

#[derive(Debug, Clone, Copy)]
struct Unpublished {
    key: [u8; 16],
    size: u64,
    part: Option<u64>,
}

/// What a journal says, read from its start.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    start: Option<(Id, Digest, u64)>,
    parts: BTreeMap<u64, PartState>,
    landed: HashMap<[u8; 16], LandedState>,
    /// Inode numbers of folders that were made, by their path.
    made: HashMap<[u8; 16], u64>,
    /// Folders with temporaries that no other record speaks of.
    used: BTreeSet<RelPath>,
    unpublished: Vec<Unpublished>,
    landed_bytes: u64,
    next_part: u64,
}

impl Replay {
    /// Read all whole records of `bytes`; also says how many bytes they take. What follows them is to be cut off.
    #[must_use]
    pub fn read(bytes: &[u8]) -> (Self, usize) {
        let mut replay = Self::default();
        let mut at = 0;
        while let Some((record, length)) = Record::read(&bytes[at..]) {
            replay.apply(record);
            at += length;
        }
        (replay, at)
    }

    /// Add one record.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Start {
                transfer,
                plan,
                unit_bytes,
            } => {
                let is_same =
                    |start: &(Id, Digest, u64)| (&start.0, &start.1) == (&transfer, &plan);
                if self.start.as_ref().is_some_and(is_same) {
                    // Only units are of another size: what is whole still is.
                    self.parts.clear();
                } else {
                    // What was recorded before is of another plan: none of it counts.
                    *self = Self {
                        // Their temporaries are this transfer's all the same.
                        used: std::mem::take(&mut self.used),
                        next_part: self.next_part,
                        ..Self::default()
                    };
                }
                self.start = Some((transfer, plan, unit_bytes));
            }
            Record::Used { path } => {
                self.used.insert(path);
            }
            Record::Made { path, inode } => {
                self.made.insert(folder_key(&path), inode);
            }
            Record::Begun {
                part,
                path,
                identity,
                inode,
            } => {
                self.next_part = self.next_part.max(part.saturating_add(1));
                self.parts.insert(
                    part,
                    PartState {
                        path,
                        identity,
                        inode,
                        units: BTreeMap::new(),
                    },
                );
            }
            Record::Units { part, units } => {
                if let Some(state) = self.parts.get_mut(&part) {
                    state.units.extend(units);
                }
            }
            Record::Dropped { part } => {
                self.parts.remove(&part);
            }
            Record::Landed(landed) => {
                let key = key(&landed.path, &landed.identity);
                let state = LandedState {
                    hash: landed.hash,
                    inode: landed.inode,
                    published: false,
                };
                self.landed.insert(key, state);
                let (size, part) = (landed.identity.size, landed.part);
                self.unpublished.push(Unpublished { key, size, part });
            }
            Record::Published => {
                for Unpublished { key, size, part } in self.unpublished.drain(..) {
                    if let Some(state) = self.landed.get_mut(&key) {
                        state.published = true;
                    }
                    self.landed_bytes = self.landed_bytes.saturating_add(size);
                    part.and_then(|part| self.parts.remove(&part));
                }
            }
        }
    }

    /// Whether the journal is of this transfer and plan.
    #[must_use]
    pub fn is_of(&self, transfer: &Id, plan: &Digest) -> bool {
        let start = self.start.as_ref();
        start.is_some_and(|(ours, theirs, _)| (ours, theirs) == (transfer, plan))
    }

    /// Bytes of its units; `None` for the journal of nothing.
    #[must_use]
    pub fn unit_bytes(&self) -> Option<u64> {
        self.start.as_ref().map(|(_, _, unit_bytes)| *unit_bytes)
    }

    /// Folders, relative to the root, in which there may be temporaries that no other record speaks of.
    pub fn used(&self) -> impl Iterator<Item = &RelPath> {
        self.used.iter()
    }

    /// Temporaries with what arrived in them, by number.
    #[must_use]
    pub fn parts(&self) -> &BTreeMap<u64, PartState> {
        &self.parts
    }

    /// Give away the temporaries.
    #[must_use]
    pub fn take_parts(&mut self) -> BTreeMap<u64, PartState> {
        std::mem::take(&mut self.parts)
    }

    /// A file that landed, if this very state of the source did.
    #[must_use]
    pub fn landed(&self, path: &RelPath, identity: &Identity) -> Option<LandedState> {
        self.landed.get(&key(path, identity)).copied()
    }

    /// The inode number of the folder that was made here.
    #[must_use]
    pub fn made(&self, path: &RelPath) -> Option<u64> {
        self.made.get(&folder_key(path)).copied()
    }

    /// Bytes of the files that landed and were published.
    #[must_use]
    pub fn landed_bytes(&self) -> u64 {
        self.landed_bytes
    }

    /// The first number that no temporary had.
    #[must_use]
    pub fn next_part(&self) -> u64 {
        self.next_part
    }
}

/// Sixteen bytes that stand for a path and a state of it: a chance of 2^-64 that two of a billion files share them.
fn key(path: &RelPath, identity: &Identity) -> [u8; 16] {
    let mut fields = path.as_bytes().to_vec();
    fields.push(0);
    put_identity(identity, &mut fields);
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(&fields).as_bytes()[..16]);
    key
}

/// The same for a folder, of which only the path counts.
fn folder_key(path: &RelPath) -> [u8; 16] {
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(path.as_bytes()).as_bytes()[..16]);
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::manifest::tests::paths;

    /// The state of a source file.
    fn source() -> Identity {
        Identity {
            size: 3,
            version: Version::new(b"1").expect("short"),
        }
    }

    fn records() -> impl Strategy<Value = Record> {
        let identity = || {
            (any::<u64>(), prop::collection::vec(any::<u8>(), 0..=64)).prop_map(
                |(size, version)| Identity {
                    size,
                    version: Version::new(&version).expect("short"),
                },
            )
        };
        prop_oneof![
            any::<([u8; 32], u64)>().prop_map(|(plan, unit_bytes)| Record::Start {
                transfer: "tr_1".parse().expect("an id"),
                plan: Digest(plan),
                unit_bytes,
            }),
            (0..9_u64, paths(), identity(), any::<u64>()).prop_map(
                |(part, path, identity, inode)| Record::Begun {
                    part,
                    path,
                    identity,
                    inode
                }
            ),
            (
                0..9_u64,
                prop::collection::vec(any::<(u64, [u8; 32])>(), 0..5)
            )
                .prop_map(|(part, units)| Record::Units { part, units }),
            (0..9_u64).prop_map(|part| Record::Dropped { part }),
            (paths(), identity(), any::<([u8; 32], u64, Option<u64>)>()).prop_map(
                |(path, identity, (hash, inode, part))| Record::Landed(Landed {
                    path,
                    identity,
                    hash,
                    inode,
                    part
                })
            ),
            Just(Record::Published),
            (paths(), any::<u64>()).prop_map(|(path, inode)| Record::Made { path, inode }),
            paths().prop_map(|path| Record::Used { path }),
        ]
    }

    fn write(records: &[Record]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in records {
            record.put(&mut bytes);
        }
        bytes
    }

    proptest! {
        #[test]
        fn records_survive_the_file(records in prop::collection::vec(records(), 0..20)) {
            let bytes = write(&records);
            let (mut at, mut read) = (0, Vec::new());
            while let Some((record, length)) = Record::read(&bytes[at..]) {
                read.push(record);
                at += length;
            }
            prop_assert_eq!(at, bytes.len());
            prop_assert_eq!(read, records);
        }

        #[test]
        fn a_torn_end_loses_only_its_own_record(
            records in prop::collection::vec(records(), 1..10),
            torn in any::<prop::sample::Index>(),
            flip in any::<prop::sample::Index>(),
        ) {
            let whole = write(&records[..records.len() - 1]);
            let mut bytes = write(&records);
            let last = whole.len() + torn.index(bytes.len() - whole.len());
            bytes.truncate(last);
            prop_assert_eq!(Replay::read(&bytes).1, whole.len());

            let mut bytes = write(&records);
            let at = whole.len() + flip.index(bytes.len() - whole.len());
            bytes[at] ^= 0x40;
            prop_assert_eq!(Replay::read(&bytes).1, whole.len());
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let (_, length) = Replay::read(&bytes);
            prop_assert!(length <= bytes.len());
        }
    }

    #[test]
    fn a_landed_file_is_known_by_path_and_state_of_its_source() {
        let path = RelPath::from_bytes(b"a/b").expect("a path");
        let identity = source();
        let landed = Landed {
            path: path.clone(),
            identity,
            hash: [7; 32],
            inode: 9,
            part: None,
        };
        let (replay, _) = Replay::read(&write(&[Record::Landed(landed.clone())]));
        assert_eq!(
            replay.landed(&path, &identity).map(|state| state.published),
            Some(false)
        );
        let (replay, _) = Replay::read(&write(&[Record::Landed(landed), Record::Published]));
        assert_eq!(
            replay
                .landed(&path, &identity)
                .map(|state| (state.published, state.inode)),
            Some((true, 9))
        );
        assert_eq!(
            replay.landed(
                &path,
                &Identity {
                    version: Version::new(b"2").expect("short"),
                    ..identity
                }
            ),
            None
        );
        assert_eq!(replay.landed(&RelPath::root(), &identity), None);
    }

    #[test]
    fn dropped_parts_and_their_numbers_are_not_used_again() {
        let path = RelPath::from_bytes(b"big").expect("a path");
        let identity = source();
        let begun = |part| Record::Begun {
            part,
            path: path.clone(),
            identity,
            inode: 1,
        };
        let units = Record::Units {
            part: 4,
            units: vec![(0, [1; 32]), (2, [2; 32])],
        };
        let (replay, _) = Replay::read(&write(&[
            begun(3),
            begun(4),
            units,
            Record::Dropped { part: 3 },
        ]));
        assert_eq!(replay.parts().keys().copied().collect::<Vec<_>>(), [4]);
        assert_eq!(
            replay.parts()[&4].units.keys().copied().collect::<Vec<_>>(),
            [0, 2]
        );
        assert_eq!(replay.next_part(), 5);
    }

    #[test]
    fn what_was_recorded_before_a_start_counts_no_more() {
        let path = RelPath::from_bytes(b"big").expect("a path");
        let identity = source();
        let start = |plan, unit_bytes| Record::Start {
            transfer: "tr_1".parse().expect("an id"),
            plan: Digest([plan; 32]),
            unit_bytes,
        };
        let landed = Landed {
            path: path.clone(),
            identity,
            hash: [1; 32],
            inode: 1,
            part: None,
        };
        let before = [
            start(1, 16),
            Record::Begun {
                part: 7,
                path: path.clone(),
                identity,
                inode: 1,
            },
            Record::Landed(landed),
            Record::Published,
            Record::Made {
                path: path.clone(),
                inode: 9,
            },
        ];
        let (replay, _) = Replay::read(&write(&before));
        assert_eq!(replay.made(&path), Some(9));
        let with = |start| Replay::read(&write(&[&before[..], &[start]].concat())).0;
        // Units of another size: what is whole still counts.
        let replay = with(start(1, 4));
        assert_eq!((replay.parts().len(), replay.unit_bytes()), (0, Some(4)));
        assert!(replay.landed(&path, &identity).is_some());
        assert_eq!(replay.made(&path), Some(9));
        let replay = with(start(2, 16));
        assert_eq!(replay.parts().len(), 0);
        assert_eq!(replay.landed(&path, &identity), None);
        assert_eq!(replay.made(&path), None);
        // Its number is not used again all the same.
        assert_eq!(replay.next_part(), 8);
    }
}
