//! Messages of the control protocol, generated from `proto/`.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    reason = "generated"
)]

tonic::include_proto!("headrace.control.v1");

/// Feature of a hub: it reads in a source's statement which sources of a move stay. One of before refuses such a statement.
pub(crate) const READS_KEPT_SOURCES: u64 = 2;

/// Versions of the protocol that this build speaks.
pub(crate) const VERSIONS: Versions = Versions {
    lowest: 2,
    highest: 2,
    features: SHARES | READS_KEPT_SOURCES | LOOKS_AT_HOST | PROBES | TRASH | EMPTIES_TRASH,
};

/// Feature of a node: it schedules links.
pub(crate) const SHARES: u64 = 1;

/// Feature of a node: it says what its host is like.
pub(crate) const LOOKS_AT_HOST: u64 = 4;

/// Feature of a node: it runs the legs of probes. One of before refuses such a ticket as malformed.
pub(crate) const PROBES: u64 = 8;

/// Feature of a node: it keeps what it deletes in a trash where a ticket says so; of a hub: it reads in a statement where that is. A node of
/// before refuses such a ticket as malformed.
pub(crate) const TRASH: u64 = 16;

/// Feature of a node: it empties trashes when it is asked to, and never by its own clock alone; of a hub: it asks for that.
pub(crate) const EMPTIES_TRASH: u64 = 32;

/// Largest message either side takes: a document of 2 MiB with room for what is around it.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Most bytes in one chunk of a list.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;
/// Most entries in one page of a listing or of a folder.
pub(crate) const MAX_PAGE_ENTRIES: usize = 1000;
/// Most roots of a node.
pub(crate) const MAX_ROOTS: usize = 256;
/// Most data addresses of a node.
pub(crate) const MAX_ADDRESSES: usize = 16;
/// Most attempts a node may report.
pub(crate) const MAX_ATTEMPTS: usize = 4096;
