//! What a listing says of one name.

use serde::{Deserialize, Serialize};

use crate::name::RelPath;
use crate::version::Version;

/// What kind of thing a name is. Symlinks are never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A socket, fifo or device: skipped and reported, never copied.
    Other,
}

impl Kind {
    /// The word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Symlink => "symlink",
            Self::Other => "other",
        }
    }
}

/// One name as its file system describes it, without following a symlink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is, relative to the folder that was listed.
    pub path: RelPath,
    /// What it is.
    pub kind: Kind,
    /// Bytes of a regular file or of a symlink's target; 0 for the rest.
    pub size: u64,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime_ns: i128,
    /// What tells this state of it from any other.
    pub version: Version,
    /// Permission bits (07777); the type bits are in `kind`.
    pub mode: u32,
    /// Target of a symlink, at most 4,096 bytes; `None` for the rest.
    pub target: Option<Box<[u8]>>,
}
