//! Files of the source under way, and how they are opened.

use std::io;
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::code::Code;
use headrace_core::entry::{Entry, Kind};
use headrace_io::descriptors::is_shortage;
use headrace_io::storage::{Origin, Reader};
use parking_lot::Mutex;

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
    pub(super) file: Arc<dyn Reader>,
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

/// Open a file, if it is still the one that was listed.
pub(super) fn open(origin: &dyn Origin, entry: &Entry) -> Looked {
    let file = match open_unseen(origin, entry) {
        Ok(file) => file,
        Err(looked) => return looked,
    };
    match file.still(entry) {
        Ok(Some(sparse)) => Looked::Same(OpenFile { file, sparse }),
        Ok(None) => Looked::Changed,
        Err(error) => Looked::Failed(unreadable(&error), error),
    }
}

/// Open what is at an entry's path now; whether it still is the file that was listed has to be asked of it.
pub(super) fn open_unseen(origin: &dyn Origin, entry: &Entry) -> Result<Arc<dyn Reader>, Looked> {
    match origin.open(&entry.path) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(Looked::Changed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Looked::Failed(Code::SourceVanished, error))
        }
        Err(error) => Err(Looked::Failed(unreadable(&error), error)),
    }
}
