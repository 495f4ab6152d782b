//! What tests of sessions share.

use headrace_core::filter::Filters;
use headrace_core::list::ListDigest;
use headrace_core::name::RelPath;
use headrace_core::sealed::SigningKey;
use headrace_core::ticket::{
    Action, Compare, Encryption, Execution, OnConflict, Place, Preserve, Verify,
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
