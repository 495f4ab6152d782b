//! What has arrived and waits: for its epoch, or to be read back.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use headrace_core::entry::Entry;
use headrace_core::integrity::PieceHash;
use headrace_core::name::RelPath;
use headrace_io::storage::Part;
use parking_lot::{Condvar, Mutex};

use super::incoming::Incoming;
use super::places::Place;

/// What arrived since the last epoch.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) units: Vec<LandedUnit>,
    pub(super) whole: Vec<WholeFile>,
    /// Large files that an earlier epoch made durable and that were read back since.
    pub(super) verified: Vec<Sealed>,
    /// Folders in which names changed.
    pub(super) folders: BTreeSet<RelPath>,
    pub(super) bytes: u64,
    pub(super) oldest: Option<Instant>,
    pub(super) hurry: bool,
}

/// A unit that is written and not durable yet.
pub(super) struct LandedUnit {
    pub(super) incoming: Arc<Incoming>,
    pub(super) generation: u16,
    pub(super) unit: u64,
    pub(super) hash: PieceHash,
}

/// A file all of whose content is written.
pub(super) struct WholeFile {
    pub(super) incoming: Arc<Incoming>,
    pub(super) part: Arc<dyn Part>,
    /// Number of its temporary in the journal; small files have none there.
    pub(super) number: Option<u64>,
    pub(super) hash: PieceHash,
    pub(super) place: Place,
}

/// A whole file in an epoch.
pub(super) struct Sealed {
    pub(super) incoming: Arc<Incoming>,
    pub(super) part: Arc<dyn Part>,
    pub(super) number: Option<u64>,
    pub(super) hash: PieceHash,
    pub(super) entry: Entry,
    pub(super) _place: Place,
}

/// What waits to be read.
#[derive(Default)]
pub(super) struct ReadBack {
    pub(super) waiting: Mutex<Waiting>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct Waiting {
    /// Large files that are durable, to be read back.
    pub(super) written: VecDeque<Sealed>,
    /// Files whose name is taken, with the hash that the source has of them; the window bounds them.
    pub(super) compared: VecDeque<(Arc<Incoming>, PieceHash)>,
}
