//! What tests of landings share, and those of supplies that cut files as these do.

use std::path::Path;
use std::sync::Arc;

use headrace_core::code::Failure;
use headrace_core::filter::{Filter, Filters};
use headrace_core::name::RelPath;
use headrace_core::ticket::Shard;
use headrace_core::value::Digest;
use headrace_io::descriptors::Descriptors;
use headrace_io::storage::Target;
use headrace_io::storage::simulated::Disk;

use super::spec::{Content, DIRECT_FROM_BYTES, EpochRules, Geometry, LandingSpec};
use crate::session::failures::state_failed;
use crate::session::tests_support::execution;

/// Files cut so small that little content makes many units.
pub(crate) const GEOMETRY: Geometry = Geometry {
    block_bytes: 1024,
    unit_bytes: 4096,
};

/// The landing of the plain copy that tests make, on a simulated disk; without power its journal cannot be reached.
pub(crate) fn landing_spec(disk: &Disk, scratch: &Path) -> Result<LandingSpec, Failure> {
    let state = disk.target("state").folder(&RelPath::root());
    Ok(LandingSpec {
        transfer: "tr_1".parse().expect("an id"),
        plan: Digest([1; 32]),
        shard: Shard::WHOLE,
        execution: execution(),
        filter: Filter::new(&Filters::default()).expect("no filter"),
        only_failed: None,
        overwrites: None,
        deletes: None,
        target: Arc::new(disk.target("data")),
        state: state.map_err(state_failed)?,
        scratch: scratch.to_owned(),
        first_part: 0,
        content: Content::Sent,
        geometry: GEOMETRY,
        direct_from_bytes: DIRECT_FROM_BYTES,
        epochs: EpochRules::default(),
        share: Arc::new(Descriptors::new(1 << 16).share()),
        permitted: Arc::new(|| Ok(())),
        may_end: Arc::new(|| Ok(())),
    })
}
