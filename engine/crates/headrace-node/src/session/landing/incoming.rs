//! One file on its way to the destination.

use std::sync::Arc;

use headrace_core::bitmap::Bitmap;
use headrace_core::entry::Entry;
use headrace_core::integrity::{HashTree, PieceHash, WholeFile};
use headrace_core::list::ListEntry;
use headrace_core::name::RelPath;
use headrace_io::storage::Part;
use parking_lot::Mutex;

use super::spec::Geometry;

/// A file that the source was asked for. The entry and what has arrived change when the file restarts.
pub(super) struct Incoming {
    pub(super) id: u64,
    /// Its line on the overwrite list, when it takes the place of what is there.
    pub(super) replaces: Option<ListEntry>,
    pub(super) state: Mutex<IncomingState>,
}

pub(super) struct IncomingState {
    pub(super) entry: Entry,
    pub(super) generation: u16,
    pub(super) phase: Phase,
    pub(super) part: Option<OpenPart>,
    pub(super) units: Bitmap,
    pub(super) tree: HashTree,
    /// Units of which something may have been written.
    begun: Bitmap,
    /// Whether the temporary is of an earlier session, which may have written more than its journal says.
    pub(super) is_taken_up: bool,
    /// Whether the temporary shares all content with the source.
    pub(super) is_shared: bool,
    /// The source has read all that was asked for.
    pub(super) ended: bool,
    /// Bytes of it that are counted as durable.
    pub(super) durable_bytes: u64,
    /// How often pieces of it were asked for again.
    pub(super) resends: u32,
    /// Its line on the overwrite list, kept while it is compared.
    pub(super) listed: Option<ListEntry>,
}

/// Where a file is on its way. It only moves forward, but for a restart, which brings it back to `Arriving`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The source was asked for its hash, to compare.
    Comparing,
    /// Content arrives.
    Arriving,
    /// All content is there; the next epoch commits it.
    Whole,
    /// Done or failed: whatever still arrives is dropped.
    Closed,
}

/// The temporary that content is written to.
#[derive(Clone)]
pub(super) struct OpenPart {
    pub(super) part: Arc<dyn Part>,
    /// Number in its temporary name, and in the journal.
    pub(super) number: u64,
}

impl Incoming {
    pub(super) fn new(
        id: u64,
        entry: Entry,
        replaces: Option<ListEntry>,
        phase: Phase,
        geometry: Geometry,
    ) -> Self {
        let state = IncomingState::new(entry, 0, phase, geometry);
        Self {
            id,
            replaces,
            state: Mutex::new(state),
        }
    }

    pub(super) fn path(&self) -> RelPath {
        self.state.lock().entry.path.clone()
    }
}

impl IncomingState {
    pub(super) fn new(entry: Entry, generation: u16, phase: Phase, geometry: Geometry) -> Self {
        let units = geometry.units(entry.size);
        Self {
            generation,
            phase,
            part: None,
            units: Bitmap::new(units),
            begun: Bitmap::new(units),
            is_taken_up: false,
            is_shared: false,
            tree: HashTree::new(units, WholeFile::Yes),
            ended: false,
            durable_bytes: 0,
            resends: 0,
            listed: None,
            entry,
        }
    }

    /// A unit is going to be written; whether nothing of it can have been written before, so that it is all hole.
    pub(super) fn begin_unit(&mut self, unit: u64) -> bool {
        self.begun.insert(unit) && !self.is_taken_up
    }

    /// A unit is written.
    pub(super) fn insert_unit(&mut self, unit: u64, hash: PieceHash) {
        if self.units.insert(unit) {
            self.tree.insert(unit, hash);
        }
    }

    /// Whether all content is written and nothing more will be read.
    pub(super) fn is_whole(&self) -> bool {
        self.phase == Phase::Arriving && self.ended && self.units.is_full()
    }
}
