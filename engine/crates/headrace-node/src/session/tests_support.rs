//! What tests of sessions share.

use std::path::Path;
use std::sync::Arc;

use headrace_core::code::Failure;
use headrace_core::filter::{Filter, Filters};
use headrace_core::list::ListDigest;
use headrace_core::name::RelPath;
use headrace_core::sealed::SigningKey;
use headrace_core::ticket::{
    Action, Compare, Encryption, Execution, OnConflict, Place, Preserve, Shard, Verify,
};
use headrace_core::value::Digest;
use headrace_io::descriptors::Descriptors;
use headrace_io::storage::Target;
use headrace_io::storage::simulated::Disk;

use super::landing::{Content, DIRECT_FROM_BYTES, EpochRules, Geometry, LandingSpec};

/// Files cut so small that little content makes many units.
pub(crate) const GEOMETRY: Geometry = Geometry {
    block_bytes: 1024,
    unit_bytes: 4096,
};

/// A plain copy from folder `from` of root `here` on node 1 to folder `to/deep` of root `there` on node 2.
pub(crate) fn execution() -> Execution {
    let place = |seed: u8, root: &str, path: &[u8]| Place {
        node: SigningKey::from_seed(&[seed; 32]).public(),
        root: root.parse().expect("a label"),
        path: RelPath::from_bytes(path).expect("a path"),
    };
    Execution {
        action: Action::Copy,
        source: place(1, "here", b"from"),
        destination: place(2, "there", b"to/deep"),
        filters: Filters::default(),
        on_conflict: OnConflict::Fail,
        compare: Compare::SizeMtime,
        preserve: vec![Preserve::Mode, Preserve::Mtime],
        verify: Verify::InTransit,
        checksums: vec![],
        encryption: Encryption::Required,
        delete_source: false,
        delete_extraneous: false,
        max_files: 1_000_000,
        max_bytes: 1 << 40,
        max_entries: 1_000_000,
        overwrites: ListDigest::empty(),
        deletes: ListDigest::empty(),
        rate_ceiling_bps: None,
        qos_class: "bulk".parse().expect("a label"),
        probe: None,
        trash: None,
    }
}

/// The landing of that copy on a simulated disk; without power its journal cannot be reached.
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
        state: state.map_err(super::state_failed)?,
        scratch: scratch.to_owned(),
        first_part: 0,
        content: Content::Sent,
        geometry: GEOMETRY,
        direct_from_bytes: DIRECT_FROM_BYTES,
        epochs: EpochRules::default(),
        share: Arc::new(Descriptors::new(1 << 16).share()),
    })
}
