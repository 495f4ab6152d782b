//! What a landing is for, what it answers, and the limits of both.

use headrace_core::bitmap::Bitmap;
use std::path::PathBuf;
use std::sync::Arc;

use headrace_core::code::{Code, Failure};
use headrace_core::filter::Filter;
use headrace_core::integrity::BLOCK_BYTES;
use headrace_core::message::{Message, Totals};
use headrace_core::ticket::{Execution, Shard};
use headrace_core::value::{Digest, Id, Label};
use headrace_core::wire::WireError;
use headrace_io::descriptors::Share;
use headrace_io::storage::{Folder, Target};

use crate::session::failures::Permitted;

/// Most entries that may be under way without a result; the source is told.
pub const WINDOW: u32 = 32 * 1024;
/// Most drifted names that a statement lists.
pub(super) const MAX_DRIFTED: usize = 100;
/// How often a piece that does not verify is asked for again before its file fails.
pub(crate) const MAX_RESENDS: u32 = 3;
/// Files from this size on are written past the page cache where that pays.
pub const DIRECT_FROM_BYTES: u64 = 8 << 20;
/// So many folders are made durable together.
pub(super) const MAX_TOUCHED: usize = 1024;

/// How files are cut. Both are powers of two, and a unit is at least a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a verify block; files up to this size travel whole, in batches.
    pub block_bytes: u64,
    /// Bytes of a unit.
    pub unit_bytes: u64,
}

impl Geometry {
    /// Units of `unit_bytes` and blocks of the usual size.
    #[must_use]
    pub fn new(unit_bytes: u64) -> Self {
        Self {
            block_bytes: BLOCK_BYTES.min(unit_bytes),
            unit_bytes,
        }
    }

    /// Whether a file of this size travels in batches.
    #[must_use]
    pub fn is_small(self, size: u64) -> bool {
        size <= self.block_bytes
    }

    /// How many units a file of this size has.
    #[must_use]
    pub fn units(self, size: u64) -> u64 {
        size.div_ceil(self.unit_bytes)
    }

    /// How many bytes these units of a file of this size have: the last one may be shorter.
    #[must_use]
    pub fn bytes_of(self, units: &Bitmap, size: u64) -> u64 {
        let whole = units.len().saturating_mul(self.unit_bytes);
        let count = self.units(size);
        if count > 0 && units.contains(count - 1) {
            whole - (count * self.unit_bytes - size)
        } else {
            whole
        }
    }
}

/// When an epoch is due, and how it is made durable.
#[derive(Debug, Clone, Copy)]
pub struct EpochRules {
    /// Whole files after which an epoch is due, sooner where few may be open; bounds what small files are sent again on loss of a node.
    pub max_files: usize,
    /// Bytes after which an epoch is due; bounds what is sent again. A node that is killed loses what came since the last epoch began,
    /// and a part of one unit for each stream: at 10 Gb/s, with 10 ms for making an epoch durable, 16 + 2 x 12 MiB and at most 8 x 4 MiB more, on average half
    /// of these. Default 16 MiB.
    pub max_bytes: u64,
    /// From so many files or folders on, one sync of their file system replaces one each, where that means the same. Default 16.
    pub sync_everything_from: usize,
    /// How many files or folders are synced at the same time: one waits for the disk, several share that wait. Default 8.
    pub sync_threads: usize,
}

impl Default for EpochRules {
    fn default() -> Self {
        Self {
            max_files: 2048,
            max_bytes: 16 << 20,
            sync_everything_from: 16,
            sync_threads: 8,
        }
    }
}

/// Where content comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Another node: it is hashed again before it counts.
    Sent,
    /// The memory of this process, where it was hashed when it was read: hashing the same bytes again would tell nothing.
    AtHand,
}

/// What a landing is for.
pub struct LandingSpec {
    /// The transfer.
    pub transfer: Id,
    /// The plan.
    pub plan: Digest,
    /// Which part of it.
    pub shard: Shard,
    /// What the ticket says to do.
    pub execution: Execution,
    /// Which names it takes.
    pub filter: Filter,
    /// The list of what failed before, when only that is copied.
    pub only_failed: Option<PathBuf>,
    /// The overwrite list, already checked against the ticket; `None` when it is empty.
    pub overwrites: Option<PathBuf>,
    /// The delete list, already checked against the ticket; `None` when it is empty.
    pub deletes: Option<PathBuf>,
    /// Where files go.
    pub target: Arc<dyn Target>,
    /// Where the journal is.
    pub state: Arc<dyn Folder>,
    /// A folder of our own on this machine for what need not survive, and for the lists in the end.
    pub scratch: PathBuf,
    /// First number for temporaries of this session: higher than any of an earlier one.
    pub first_part: u64,
    /// Where content comes from.
    pub content: Content,
    /// How files are cut.
    pub geometry: Geometry,
    /// Files from this size on are written as the target says, smaller ones always through the page cache.
    pub direct_from_bytes: u64,
    /// When epochs are due.
    pub epochs: EpochRules,
    /// How many descriptors may be held.
    pub share: Arc<Share>,
    /// Whether the session may still go on: the attempt may, and the other node is there.
    pub permitted: Permitted,
    /// Whether the attempt may: what is left when all is copied and deleted needs no other node.
    pub may_end: Permitted,
}

/// Where answers to the source go.
pub trait Answers: Send + Sync {
    /// Send a message to the source.
    ///
    /// # Errors
    /// [`Failure`] when the session is over.
    fn answer(&self, message: Message) -> Result<(), Failure>;
}

/// What a session did, once all is durable.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Counts and digests.
    pub totals: Totals,
    /// Names that changed since they were surveyed or first read, at most 100.
    pub drifted: Vec<String>,
    /// Every entry that is at the destination now, one line each.
    pub files_list: PathBuf,
    /// Every entry that failed, one line each.
    pub failed_list: PathBuf,
    /// The folder in the trash of the root that what was deleted was moved to.
    pub trash: Option<Label>,
}

/// A peer broke the protocol.
pub(crate) fn violation(error: &WireError) -> Failure {
    Failure::new(
        Code::ProtocolViolation,
        format!("the other node broke the protocol: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_the_bytes_of_their_file_though_the_last_one_is_shorter() {
        let geometry = Geometry {
            block_bytes: 4,
            unit_bytes: 8,
        };
        for size in [0, 1, 7, 8, 9, 16, 23] {
            let count = geometry.units(size);
            let mut units = Bitmap::new(count);
            let mut bytes = 0;
            for unit in (0..count).rev() {
                units.insert(unit);
                bytes += size.min((unit + 1) * 8) - unit * 8;
                assert_eq!(geometry.bytes_of(&units, size), bytes, "{size}, {unit}");
            }
            assert_eq!(bytes, size);
        }
    }
}
