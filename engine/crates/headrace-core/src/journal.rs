//! The receiver's journal: what has safely arrived, as records that each carry their own checksum.
//!
//! The file is only appended to. A power loss may leave a torn or unfinished record at its end; reading stops there, and what came
//! before counts. Records are written after the data they speak of is durable, so the journal never claims too much.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use crate::codec::{CodecError, Put, Reader};
use crate::entry::Entry;
use crate::integrity::PieceHash;
use crate::name::RelPath;
use crate::ticket::Shard;
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
        /// Which part of it.
        shard: Shard,
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
                shard,
                unit_bytes,
            } => {
                // 1 began the journals of older releases, which know other fields: to this one they say nothing.
                out.push(9);
                out.put_sized(transfer.as_str().as_bytes());
                out.extend_from_slice(&plan.0);
                out.extend_from_slice(&shard.number.to_le_bytes());
                out.extend_from_slice(&shard.fence.to_le_bytes());
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
                shard: Shard {
                    number: reader.u64("shard")?,
                    fence: reader.u64("fence")?,
                },
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

/// Takes what a replay finds of files that landed: there may be more of them than memory holds.
pub trait Landings {
    /// A file landed; `published` says whether it certainly got its name, if it was to get one at all. Of one path, the last counts.
    ///
    /// # Errors
    /// When it can't be kept.
    fn add(&mut self, landed: Landed, published: bool) -> io::Result<()>;

    /// What came before counts no more.
    fn clear(&mut self);
}

/// Keeps nothing.
impl Landings for () {
    fn add(&mut self, _: Landed, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) {}
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Start {
    transfer: Id,
    plan: Digest,
    shard: Shard,
    unit_bytes: u64,
}

/// What a journal says, read from its start; files that landed are given away. It grows with the folders that were made (about 40 bytes each) and with the units
/// of files that have not landed.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    start: Option<Start>,
    parts: BTreeMap<u64, PartState>,
    /// Inode numbers of folders that were made, by their path.
    made: HashMap<[u8; 16], u64>,
    /// Folders with temporaries that no other record speaks of.
    used: BTreeSet<RelPath>,
    /// What landed in the epoch that was last begun.
    unpublished: Vec<Landed>,
    landed_bytes: u64,
    next_part: u64,
}

impl Replay {
    /// Read all whole records of `bytes`; also says how many bytes they take. What follows them is to be cut off.
    ///
    /// # Errors
    /// Those of `landings`.
    pub fn read(bytes: &[u8], landings: &mut dyn Landings) -> io::Result<(Self, usize)> {
        let mut replay = Self::default();
        let mut at = 0;
        while let Some((record, length)) = Record::read(&bytes[at..]) {
            replay.apply(record, landings)?;
            at += length;
        }
        replay.end(landings)?;
        Ok((replay, at))
    }

    /// There are no more records.
    ///
    /// # Errors
    /// Those of `landings`.
    pub fn end(&mut self, landings: &mut dyn Landings) -> io::Result<()> {
        self.unpublished
            .drain(..)
            .try_for_each(|landed| landings.add(landed, false))
    }

    /// Add one record.
    ///
    /// # Errors
    /// Those of `landings`.
    pub fn apply(&mut self, record: Record, landings: &mut dyn Landings) -> io::Result<()> {
        match record {
            Record::Start {
                transfer,
                plan,
                shard,
                unit_bytes,
            } => {
                if !self.is_of(&transfer, &plan, shard.number) {
                    // What was recorded before is of another plan: none of it counts.
                    landings.clear();
                    *self = Self {
                        // Their temporaries are this transfer's all the same.
                        used: std::mem::take(&mut self.used),
                        next_part: self.next_part,
                        ..Self::default()
                    };
                } else if self.unit_bytes() != Some(unit_bytes) {
                    // Only units are of another size: what is whole still is.
                    self.parts.clear();
                }
                // A session begins. What the one before was about to name when it was killed is not named by what this one publishes.
                self.end(landings)?;
                self.start = Some(Start {
                    transfer,
                    plan,
                    shard,
                    unit_bytes,
                });
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
            Record::Landed(landed) => self.unpublished.push(landed),
            Record::Published => {
                for landed in self.unpublished.drain(..) {
                    self.landed_bytes = self.landed_bytes.saturating_add(landed.identity.size);
                    landed.part.and_then(|part| self.parts.remove(&part));
                    landings.add(landed, true)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the journal is of this part of this plan.
    #[must_use]
    pub fn is_of(&self, transfer: &Id, plan: &Digest, shard: u64) -> bool {
        self.start.as_ref().is_some_and(|start| {
            (&start.transfer, &start.plan, start.shard.number) == (transfer, plan, shard)
        })
    }

    /// The last fencing number under which something was written; 0 for the journal of nothing.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.start.as_ref().map_or(0, |start| start.shard.fence)
    }

    /// Bytes of its units; `None` for the journal of nothing.
    #[must_use]
    pub fn unit_bytes(&self) -> Option<u64> {
        self.start.as_ref().map(|start| start.unit_bytes)
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

/// Sixteen bytes that stand for the path of a folder: a chance of 2^-64 that two of a billion share them.
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
            any::<([u8; 32], u64, u64, u64)>().prop_map(|(plan, number, fence, unit_bytes)| {
                Record::Start {
                    transfer: "tr_1".parse().expect("an id"),
                    plan: Digest(plan),
                    shard: Shard { fence, number },
                    unit_bytes,
                }
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
            prop_assert_eq!(Replay::read(&bytes, &mut ()).expect("read").1, whole.len());

            let mut bytes = write(&records);
            let at = whole.len() + flip.index(bytes.len() - whole.len());
            bytes[at] ^= 0x40;
            prop_assert_eq!(Replay::read(&bytes, &mut ()).expect("read").1, whole.len());
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let (_, length) = Replay::read(&bytes, &mut ()).expect("read");
            prop_assert!(length <= bytes.len());
        }
    }

    /// Keeps what landed.
    #[derive(Default)]
    struct All(Vec<(u64, bool)>);

    impl Landings for All {
        fn add(&mut self, landed: Landed, published: bool) -> io::Result<()> {
            self.0.push((landed.inode, published));
            Ok(())
        }

        fn clear(&mut self) {
            self.0.clear();
        }
    }

    fn replay(records: &[Record]) -> (Replay, Vec<(u64, bool)>) {
        let mut all = All::default();
        let (replay, _) = Replay::read(&write(records), &mut all).expect("read");
        (replay, all.0)
    }

    #[test]
    fn files_that_landed_are_told_with_what_is_known_of_their_names() {
        let landed = |inode| {
            Record::Landed(Landed {
                path: RelPath::from_bytes(b"a/b").expect("a path"),
                identity: source(),
                hash: [7; 32],
                inode,
                part: None,
            })
        };
        let (said, all) = replay(&[landed(9), landed(8), Record::Published, landed(7)]);
        assert_eq!(all, [(9, true), (8, true), (7, false)]);
        assert_eq!(said.landed_bytes(), 2 * source().size);
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
        let (replay, _) = replay(&[begun(3), begun(4), units, Record::Dropped { part: 3 }]);
        assert_eq!(replay.parts().keys().copied().collect::<Vec<_>>(), [4]);
        assert_eq!(
            replay.parts()[&4].units.keys().copied().collect::<Vec<_>>(),
            [0, 2]
        );
        assert_eq!(replay.next_part(), 5);
    }

    #[test]
    fn what_a_session_publishes_says_nothing_of_what_one_before_it_was_about_to_name() {
        let path = RelPath::from_bytes(b"big").expect("a path");
        let identity = source();
        let start = || Record::Start {
            transfer: "tr_1".parse().expect("an id"),
            plan: Digest([1; 32]),
            shard: Shard::WHOLE,
            unit_bytes: 16,
        };
        let landed = Landed {
            path: path.clone(),
            identity,
            hash: [1; 32],
            inode: 1,
            part: Some(7),
        };
        let begun = Record::Begun {
            part: 7,
            path,
            identity,
            inode: 1,
        };
        let units = Record::Units {
            part: 7,
            units: vec![(0, [1; 32])],
        };
        let killed = [start(), begun, units, Record::Landed(landed)];
        let (again, landed) = replay(&[&killed[..], &[start(), Record::Published]].concat());
        assert_eq!(again.parts()[&7].units.len(), 1);
        assert_eq!((landed, again.landed_bytes()), (vec![(1, false)], 0));
    }

    #[test]
    fn what_was_recorded_before_a_start_counts_no_more() {
        let path = RelPath::from_bytes(b"big").expect("a path");
        let identity = source();
        let start = |plan, unit_bytes| Record::Start {
            transfer: "tr_1".parse().expect("an id"),
            plan: Digest([plan; 32]),
            shard: Shard::WHOLE,
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
        let (replay_before, _) = replay(&before);
        assert_eq!(replay_before.made(&path), Some(9));
        let with = |start| replay(&[&before[..], &[start]].concat());
        // Units of another size: what is whole still counts.
        let (other_units, landed) = with(start(1, 4));
        assert_eq!(other_units.parts().len(), 0);
        assert_eq!(other_units.unit_bytes(), Some(4));
        assert_eq!(landed, [(1, true)]);
        assert_eq!(other_units.made(&path), Some(9));
        // Given out again: all of it counts.
        let again = Record::Start {
            transfer: "tr_1".parse().expect("an id"),
            plan: Digest([1; 32]),
            shard: Shard {
                fence: 2,
                ..Shard::WHOLE
            },
            unit_bytes: 16,
        };
        let (again, landed) = with(again);
        assert_eq!((again.parts().len(), again.fence()), (1, 2));
        assert_eq!(landed.len(), 1);
        let (other_plan, landed) = with(start(2, 16));
        assert_eq!((other_plan.parts().len(), landed.len()), (0, 0));
        assert_eq!(other_plan.made(&path), None);
        // Its number is not used again all the same.
        assert_eq!(other_plan.next_part(), 8);
    }
}
