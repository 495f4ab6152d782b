//! Versions of names in file systems: what they say, and when two of them stand for the same state.

use headrace_core::entry::{Entry, Kind};
use headrace_core::version::Version;
use rustix::fs::{Stat, Statx};

/// A name that is alone for its inode.
const ALONE: u8 = 1;
/// A name that shares its inode with others.
const SHARED: u8 = 2;
/// The form, inode, size and time of the last change of the content; only the time of the last change of anything comes behind.
const CONTENT_BYTES: usize = 1 + 8 + 8 + 8 + 4;
/// All of it.
const VERSION_BYTES: usize = CONTENT_BYTES + 8 + 4;

/// What a file system knows of a state of a name.
#[derive(Debug, Clone, Copy)]
pub struct FileState {
    /// Inode number.
    pub inode: u64,
    /// Whether it has other names, too.
    pub is_shared: bool,
    /// Bytes.
    pub size: u64,
    /// Last change of the content: seconds since the epoch, and nanoseconds.
    pub content_changed: (i64, u32),
    /// Last change of content or metadata.
    pub changed: (i64, u32),
}

impl FileState {
    /// From what `stat` says.
    #[must_use]
    pub fn of(stat: &Stat) -> Self {
        // The kernel's nanoseconds are below a milliard.
        let nanoseconds = |value| u32::try_from(value).unwrap_or(u32::MAX);
        Self {
            inode: stat.st_ino,
            is_shared: stat.st_nlink > 1,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            content_changed: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
        }
    }

    /// From what `statx` says: the same as [`FileState::of`] makes of `stat`.
    #[must_use]
    pub fn of_statx(found: &Statx) -> Self {
        Self {
            inode: found.stx_ino,
            is_shared: found.stx_nlink > 1,
            size: found.stx_size,
            content_changed: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        }
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> Version {
        let mut bytes = Vec::with_capacity(VERSION_BYTES);
        bytes.push(if self.is_shared { SHARED } else { ALONE });
        bytes.extend_from_slice(&self.inode.to_le_bytes());
        bytes.extend_from_slice(&self.size.to_le_bytes());
        for (seconds, nanoseconds) in [self.content_changed, self.changed] {
            bytes.extend_from_slice(&seconds.to_le_bytes());
            bytes.extend_from_slice(&nanoseconds.to_le_bytes());
        }
        Version::new(&bytes).unwrap_or_default()
    }
}

/// Whether a name that was in the state `then` still is, as it is `now`. Where it shared its inode, a change of metadata does not count:
/// giving the inode another name, or taking one away, is such a change.
#[must_use]
pub fn is_still(now: &Version, then: &Version) -> bool {
    if then.as_bytes().first() == Some(&SHARED) {
        is_same_content(now, then)
    } else {
        now == then && then.is_known()
    }
}

/// The same as far as content goes: what remains of it under another name.
#[must_use]
pub fn is_same_content(now: &Version, then: &Version) -> bool {
    let content = |version: &Version| version.as_bytes().get(1..CONTENT_BYTES).map(<[u8]>::to_vec);
    content(now).is_some() && content(now) == content(then)
}

/// Whether what was `found` at the destination is what the source listed, under another name: of one node, or of one file system that two
/// nodes share and see alike.
///
/// Nobody can set the time of the last change of anything, so two files have the same inode number, size and times only by being one, or
/// where one file system is a copy of the other. A file counts as the same wherever [`is_still`] would take it for unchanged when it is
/// removed as a source: so no source is removed that stands at the destination. Two names of one inode (hard links) can't be told from one
/// name by this, and count as the same, too.
#[must_use]
pub fn is_one(found: &Entry, listed: &Entry) -> bool {
    let (now, then) = (&found.version, &listed.version);
    // What other storage says of its names does not tell where they are.
    let is_ours = [now, then].map(|version| version.as_bytes().len() == VERSION_BYTES);
    let is_same = match listed.kind {
        // What counts as its other names is what it holds, so nothing excuses that a time differs.
        Kind::Dir => now == then,
        _ => is_still(now, then),
    };
    is_ours == [true; 2] && found.kind == listed.kind && is_same
}

#[cfg(test)]
mod tests {
    use headrace_core::name::RelPath;

    use super::*;

    const STATE: FileState = FileState {
        inode: 1,
        is_shared: false,
        size: 2,
        content_changed: (3, 4),
        changed: (5, 6),
    };

    #[test]
    fn a_name_is_still_the_same_only_when_nothing_of_it_changed() {
        let then = STATE.version();
        assert!(is_still(&then, &then) && is_same_content(&then, &then));
        let changes: [fn(&mut FileState); 6] = [
            |state| state.inode += 1,
            |state| state.size += 1,
            |state| state.content_changed.0 += 1,
            |state| state.content_changed.1 += 1,
            |state| state.changed.0 += 1,
            |state| state.changed.1 += 1,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut now = STATE;
            change(&mut now);
            assert!(!is_still(&now.version(), &then), "{number}");
            assert_eq!(is_same_content(&now.version(), &then), number >= 4);
        }
        assert!(!is_still(&Version::UNKNOWN, &Version::UNKNOWN));
        assert!(!is_same_content(&Version::UNKNOWN, &Version::UNKNOWN));
    }

    #[test]
    fn a_name_that_shares_its_inode_may_lose_the_others() {
        let shared = FileState {
            is_shared: true,
            ..STATE
        };
        let now = FileState {
            changed: (9, 9),
            ..STATE
        };
        assert!(is_still(&now.version(), &shared.version()));
        assert!(!is_still(&shared.version(), &STATE.version()));
        let other = FileState { size: 7, ..now };
        assert!(!is_still(&other.version(), &shared.version()));
    }

    #[test]
    fn what_is_found_is_the_source_only_where_all_says_so_that_the_source_goes_by() {
        let entry = |kind, version| Entry {
            path: RelPath::root(),
            kind,
            size: 2,
            mtime_ns: 3,
            version,
            mode: 0o644,
            target: None,
        };
        let shared = FileState {
            is_shared: true,
            ..STATE
        };
        let later = |state: FileState| FileState {
            changed: (9, 9),
            ..state
        };
        for (kind, then, is_one_later) in [
            (Kind::File, STATE, false),
            (Kind::File, shared, true),
            (Kind::Dir, shared, false),
        ] {
            let listed = entry(kind, then.version());
            let found = |state: FileState| is_one(&entry(kind, state.version()), &listed);
            assert!(found(then));
            assert_eq!(found(later(then)), is_one_later, "{kind:?}");
            assert!(!found(FileState { inode: 7, ..then }));
        }
        // Two objects of other storage with the same content are two.
        let tag = entry(Kind::File, Version::new(&[SHARED; 32]).expect("short"));
        assert!(!is_one(&tag, &tag));
        let unknown = entry(Kind::File, Version::UNKNOWN);
        assert!(!is_one(&unknown, &unknown));
        let folder = entry(Kind::Dir, STATE.version());
        assert!(!is_one(&folder, &entry(Kind::File, STATE.version())));
    }
}
