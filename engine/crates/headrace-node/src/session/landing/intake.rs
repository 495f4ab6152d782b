//! How far the source's list of entries has come.

use headrace_core::code::Failure;
use headrace_core::name::RelPath;

use super::conflict::{FailedCursor, ListCursor};

/// How far the list of entries has come.
pub(super) struct Intake {
    pub(super) last: Option<RelPath>,
    pub(super) over: bool,
    pub(super) prepared: bool,
    /// Files and bytes to be copied so far, against the ceilings.
    pub(super) wanted_files: u64,
    pub(super) wanted_bytes: u64,
    /// Files that needed nothing because they were at the destination.
    pub(super) there: u64,
    /// Hash of the last of them, where an earlier session received it.
    pub(super) landed: Option<[u8; 32]>,
    pub(super) overwrites: ListCursor,
    /// What failed before, when only that is copied.
    pub(super) only: Option<FailedCursor>,
}

impl Intake {
    pub(super) fn new(overwrites: ListCursor, only: Option<FailedCursor>) -> Self {
        Self {
            last: None,
            over: false,
            prepared: false,
            wanted_files: 0,
            wanted_bytes: 0,
            there: 0,
            landed: None,
            overwrites,
            only,
        }
    }

    pub(super) fn is_asked_for(
        &mut self,
        path: &RelPath,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        self.only
            .as_mut()
            .map_or(Ok(true), |only| only.holds(path, permitted))
    }

    /// Whether all entries have come.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }
}
