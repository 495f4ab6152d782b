//! What the source says of its entries: the same form on the wire and in the destination's spool.

use crate::code::{Code, Failure};
use crate::codec::{CodecError, Put, Reader};
use crate::entry::{Entry, Kind};
use crate::name::RelPath;
use crate::version::Version;
use crate::wire::WireError;

/// Most items in one frame.
pub const MAX_ITEMS: usize = 4096;
/// Longest symlink target.
pub const MAX_TARGET_BYTES: usize = 4096;

/// One name of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Something that can be copied.
    Entry(Entry),
    /// Something that cannot even be listed or is not copied, and why; its size and kind are as far as known.
    Failed(Entry, Failure),
}

impl Item {
    /// What was listed.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        match self {
            Self::Entry(entry) | Self::Failed(entry, _) => entry,
        }
    }

    /// Whether this item may stand after one with this path: paths rise, and only the failure to list a folder has the path of the
    /// item before it, the folder itself.
    #[must_use]
    pub fn follows(&self, path: &RelPath) -> bool {
        match self {
            Self::Entry(entry) => entry.path > *path,
            Self::Failed(entry, _) => entry.path >= *path,
        }
    }

    /// Append the item to a payload.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_entry(self.entry(), out);
        match self {
            Self::Entry(_) => out.push(0),
            Self::Failed(_, failure) => {
                out.push(1);
                put_failure(failure, out);
            }
        }
    }

    /// Read one item.
    ///
    /// # Errors
    /// [`CodecError`] for anything but an item.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let entry = read_entry(reader)?;
        match reader.u8("item")? {
            // Nobody could tell whether it changed.
            0 if !entry.version.is_known() => Err(CodecError::Value {
                field: "version",
                value: 0,
            }),
            0 => Ok(Self::Entry(entry)),
            1 => Ok(Self::Failed(entry, read_failure(reader)?)),
            value => Err(CodecError::Value {
                field: "item",
                value: value.into(),
            }),
        }
    }

    /// Read the items of a frame.
    ///
    /// # Errors
    /// [`WireError`] for anything but 1 to [`MAX_ITEMS`] items, each right [`after`](Item::follows) the other.
    pub fn read_all(payload: &[u8]) -> Result<Vec<Self>, WireError> {
        let mut reader = Reader::new(payload);
        let mut items: Vec<Self> = Vec::new();
        while reader.left() > 0 {
            let item = Self::read(&mut reader)?;
            if items
                .last()
                .is_some_and(|last| !item.follows(&last.entry().path))
            {
                return Err(WireError::contradiction("entries are out of order"));
            }
            items.push(item);
            if items.len() > MAX_ITEMS {
                return Err(WireError::contradiction("too many entries in one frame"));
            }
        }
        if items.is_empty() {
            Err(WireError::contradiction("no entries in a frame of entries"))
        } else {
            Ok(items)
        }
    }
}

/// Append an entry to a payload.
pub fn put_entry(entry: &Entry, out: &mut Vec<u8>) {
    out.push(match entry.kind {
        Kind::File => 0,
        Kind::Dir => 1,
        Kind::Symlink => 2,
        Kind::Other => 3,
    });
    out.put_sized(entry.path.as_bytes());
    out.extend_from_slice(&entry.size.to_le_bytes());
    out.extend_from_slice(&entry.mtime_ns.to_le_bytes());
    entry.version.put(out);
    out.extend_from_slice(&entry.mode.to_le_bytes());
    if entry.kind == Kind::Symlink {
        out.put_sized(entry.target.as_deref().unwrap_or_default());
    }
}

/// Read an entry.
///
/// # Errors
/// [`CodecError`] for anything but an entry.
pub fn read_entry(reader: &mut Reader<'_>) -> Result<Entry, CodecError> {
    let kind = match reader.u8("kind")? {
        0 => Kind::File,
        1 => Kind::Dir,
        2 => Kind::Symlink,
        3 => Kind::Other,
        value => {
            return Err(CodecError::Value {
                field: "kind",
                value: value.into(),
            });
        }
    };
    let path = reader.path("path")?;
    let size = reader.u64("size")?;
    // File offsets are signed 64-bit numbers to the kernel.
    if i64::try_from(size).is_err() {
        return Err(CodecError::Value {
            field: "size",
            value: size,
        });
    }
    let mtime_ns = reader.i128("mtime")?;
    let version = Version::read(reader)?;
    let mode = reader.u32("mode")?;
    if mode > 0o7777 {
        return Err(CodecError::Value {
            field: "mode",
            value: mode.into(),
        });
    }
    let target = if kind == Kind::Symlink {
        let target = reader.sized("target")?;
        if target.is_empty() || target.len() > MAX_TARGET_BYTES || target.contains(&0) {
            return Err(CodecError::Value {
                field: "target",
                value: target.len() as u64,
            });
        }
        Some(target.into())
    } else {
        None
    };
    Ok(Entry {
        path,
        kind,
        size,
        mtime_ns,
        version,
        mode,
        target,
    })
}

/// Append a failure to a payload.
pub fn put_failure(failure: &Failure, out: &mut Vec<u8>) {
    out.push(failure.code.number());
    out.put_sized(failure.message.as_bytes());
}

/// Read a failure.
///
/// # Errors
/// [`CodecError`] for anything but a failure.
pub fn read_failure(reader: &mut Reader<'_>) -> Result<Failure, CodecError> {
    // A code of a later release is still a failure.
    let code = Code::from_number(reader.u8("code")?).unwrap_or(Code::Internal);
    Ok(Failure::new(
        code,
        reader.text(Failure::MAX_MESSAGE_BYTES, "message")?,
    ))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn paths() -> impl Strategy<Value = RelPath> {
        let name = prop::collection::vec(1..=255_u8, 1..12).prop_map(|mut name| {
            for byte in &mut name {
                if *byte == b'/' {
                    *byte = b'_';
                }
            }
            if name.iter().all(|byte| *byte == b'.') {
                name.push(b'x');
            }
            name
        });
        prop::collection::vec(name, 0..4).prop_map(|names| {
            RelPath::from_components(names.iter().map(Vec::as_slice)).expect("usable names")
        })
    }

    pub(crate) fn entries() -> impl Strategy<Value = Entry> {
        let kinds = prop::sample::select(vec![Kind::File, Kind::Dir, Kind::Symlink, Kind::Other]);
        let target = prop::collection::vec(1..=255_u8, 1..50);
        let version = prop::collection::vec(any::<u8>(), 1..=64);
        (
            kinds,
            paths(),
            0..i64::MAX as u64,
            any::<i64>(),
            version,
            0..0o10000_u32,
            target,
        )
            .prop_map(
                |(kind, path, size, mtime_ns, version, mode, target)| Entry {
                    path,
                    kind,
                    size,
                    mtime_ns: mtime_ns.into(),
                    version: Version::new(&version).expect("short"),
                    mode,
                    target: (kind == Kind::Symlink).then(|| target.into()),
                },
            )
    }

    proptest! {
        #[test]
        fn items_survive_the_wire(entries in prop::collection::vec(entries(), 1..20), fails in any::<bool>()) {
            let mut entries = entries;
            entries.sort_by(|left, right| left.path.cmp(&right.path));
            entries.dedup_by(|left, right| left.path == right.path);
            let items: Vec<Item> = entries
                .into_iter()
                .map(|entry| match entry.kind {
                    Kind::Other if fails => Item::Failed(entry, Failure::new(Code::SourceUnsupported, "a fifo")),
                    _ => Item::Entry(entry),
                })
                .collect();
            let mut payload = Vec::new();
            for item in &items {
                item.put(&mut payload);
            }
            prop_assert_eq!(Item::read_all(&payload), Ok(items));
        }

        #[test]
        fn any_bytes_are_items_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            drop(Item::read_all(&bytes));
        }
    }

    #[test]
    fn entries_without_a_version_are_refused_unless_they_failed() {
        let entry = Entry {
            path: RelPath::from_bytes(b"a").expect("a name"),
            kind: Kind::File,
            size: 0,
            mtime_ns: 0,
            version: Version::UNKNOWN,
            mode: 0,
            target: None,
        };
        let failure = Failure::new(Code::SourceUnsupported, "a fifo");
        let mut payload = Vec::new();
        Item::Failed(entry.clone(), failure).put(&mut payload);
        assert!(Item::read_all(&payload).is_ok());
        payload.clear();
        Item::Entry(entry).put(&mut payload);
        assert!(matches!(
            Item::read_all(&payload),
            Err(WireError::Payload(CodecError::Value {
                field: "version",
                ..
            }))
        ));
    }

    #[test]
    fn entries_out_of_order_are_refused() {
        let entry = |name: &[u8]| Entry {
            path: RelPath::from_bytes(name).expect("a name"),
            kind: Kind::File,
            size: 0,
            mtime_ns: 0,
            version: Version::new(b"1").expect("short"),
            mode: 0,
            target: None,
        };
        for names in [[b"b", b"a"], [b"a", b"a"]] {
            let mut payload = Vec::new();
            for name in names {
                Item::Entry(entry(name)).put(&mut payload);
            }
            assert!(matches!(
                Item::read_all(&payload),
                Err(WireError::Contradiction { .. })
            ));
        }
    }
}
