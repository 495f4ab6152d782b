//! Files of the source under way, and the handles they are opened by.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::code::Code;
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::RelPath;
use headrace_io::descriptors::{Share, is_shortage};
use headrace_io::root::{Dir, Root, entry_of, stat_now};
use headrace_io::version::is_still;
use parking_lot::Mutex;

/// Most folder handles kept, and the part of a share that they may take.
const MAX_DIRS: usize = 256;
const OF_SHARE: usize = 8;
/// Bytes of a block as `stat` counts them.
const STAT_BLOCK_BYTES: u64 = 512;

/// An entry that the destination knows and has no result for yet.
pub(super) struct Outgoing {
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) state: Mutex<OutgoingState>,
}

pub(super) struct OutgoingState {
    pub(super) entry: Entry,
    pub(super) generation: u16,
    /// Units that were asked for and are not sent yet.
    pub(super) units_left: u64,
    pub(super) open: Option<OpenFile>,
    /// What the destination asked for.
    pub(super) asked: Asked,
    /// All that was asked for was read, and the file is or was looked at again: what is read from now on comes after that look.
    pub(super) ended: bool,
    /// All that was asked for was read, as one state of the file.
    pub(super) sent: bool,
    /// How often pieces of it were asked for again.
    pub(super) resends: u32,
}

/// What a destination asked for of a file as it is now. It only ever asks for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    Nothing,
    Hash,
    /// What an earlier session did not send.
    Rest,
    Everything,
}

impl OutgoingState {
    fn new(entry: Entry, generation: u16) -> Self {
        Self {
            generation,
            units_left: 0,
            open: None,
            asked: Asked::Nothing,
            ended: false,
            sent: false,
            resends: 0,
            entry,
        }
    }

    /// Start again with the file as it is now.
    pub(super) fn restart(&mut self, entry: Entry) {
        *self = Self::new(entry, self.generation + 1);
    }

    /// Whether all of the file went to this destination in this session.
    pub(super) fn was_sent(&self) -> bool {
        self.sent && self.asked == Asked::Everything
    }
}

/// A large file while its units are read.
#[derive(Clone)]
pub(super) struct OpenFile {
    pub(super) file: Arc<File>,
    pub(super) sparse: Sparse,
}

impl Outgoing {
    pub(super) fn new(id: u64, entry: Entry) -> Self {
        let state = OutgoingState::new(entry, 0);
        Self {
            id,
            kind: state.entry.kind,
            state: Mutex::new(state),
        }
    }
}

/// What it means that a file cannot be read.
pub(super) fn unreadable(error: &io::Error) -> Code {
    if is_shortage(error) {
        Code::TooBusy
    } else {
        Code::SourceUnreadable
    }
}

/// How a file turned out when it was looked at.
pub(super) enum Looked {
    /// As it was listed.
    Same(OpenFile),
    /// Changed since.
    Changed,
    /// Not readable, and why.
    Failed(Code, io::Error),
}

/// Folders of the source that were used last.
pub(super) struct Dirs {
    root: Arc<Root>,
    start: RelPath,
    share: Arc<Share>,
    kept: Mutex<HashMap<RelPath, Arc<Dir>>>,
}

impl Dirs {
    pub(super) fn new(root: Arc<Root>, start: RelPath, share: Arc<Share>) -> Self {
        Self {
            root,
            start,
            share,
            kept: Mutex::default(),
        }
    }

    /// The folder that holds an entry, and the entry's name in it.
    pub(super) fn above(&self, path: &RelPath) -> io::Result<(Arc<Dir>, Box<[u8]>)> {
        let full = self.start.join_path(path).map_err(io::Error::other)?;
        let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        if let Some(dir) = self.kept.lock().get(&parent) {
            return Ok((Arc::clone(dir), name.into()));
        }
        let dir = Arc::new(self.root.dir(&parent)?);
        let mut kept = self.kept.lock();
        if kept.len() >= MAX_DIRS.min(self.share.count() / OF_SHARE) {
            // The walk goes through folders one after the other, so what was kept is mostly done with.
            kept.clear();
        }
        kept.insert(parent, Arc::clone(&dir));
        Ok((dir, name.into()))
    }

    /// What is at an entry's path now.
    pub(super) fn look(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        let (dir, name) = self.above(path)?;
        dir.entry_now(&name, path.clone())
    }

    /// Open a file, if it is still the one that was listed.
    pub(super) fn open(&self, entry: &Entry) -> Looked {
        let file = match self.open_unseen(entry) {
            Ok(file) => file,
            Err(looked) => return looked,
        };
        match is_same(&file, entry) {
            Ok(Some(sparse)) => Looked::Same(OpenFile {
                file: Arc::new(file),
                sparse,
            }),
            Ok(None) => Looked::Changed,
            Err(error) => Looked::Failed(unreadable(&error), error),
        }
    }

    /// Open what is at an entry's path now; whether it still is the file that was listed has to be asked of [`is_same`].
    pub(super) fn open_unseen(&self, entry: &Entry) -> Result<File, Looked> {
        let opened = self
            .above(&entry.path)
            .and_then(|(dir, name)| dir.open_unseen(&name));
        opened.map_err(Self::cannot_open)
    }

    fn cannot_open(error: io::Error) -> Looked {
        match error.kind() {
            io::ErrorKind::NotFound => Looked::Failed(Code::SourceVanished, error),
            // Something else stands there now.
            io::ErrorKind::NotADirectory => Looked::Changed,
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                Looked::Changed
            }
            _ => Looked::Failed(unreadable(&error), error),
        }
    }
}

/// Whether an open file is the one that was listed, to be asked again after its last byte was read; and whether it has holes.
pub(super) fn is_same(file: &File, entry: &Entry) -> io::Result<Option<Sparse>> {
    let stat = stat_now(file)?;
    let now = entry_of(&stat, RelPath::root(), None);
    let allocated = u64::try_from(stat.st_blocks)
        .unwrap_or(0)
        .saturating_mul(STAT_BLOCK_BYTES);
    let sparse = if allocated < now.size {
        Sparse::Yes
    } else {
        Sparse::No
    };
    let same = now.kind == entry.kind && is_still(&now.version, &entry.version);
    Ok(same.then_some(sparse))
}
