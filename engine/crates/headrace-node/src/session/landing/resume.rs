//! What an earlier session of the same transfer left: files that landed, and temporaries with units in them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use headrace_core::code::Failure;
use headrace_core::journal::{Identity, Landed, PartState, Replay};
use headrace_core::name::RelPath;
use headrace_io::landed::LandedCursor;
use parking_lot::Mutex;

use super::spec::Geometry;
use crate::session::failures::{Permitted, asking, state_failed};

/// The past of this transfer on this node.
pub(super) struct Resume {
    /// Whether there is a past at all.
    pub(super) is_resumed: bool,
    replay: Replay,
    landed: LandedCursor,
    parts: BTreeMap<u64, PartState>,
    by_path: HashMap<RelPath, u64>,
    /// Taken up in this session: their files are open, and must keep their names until they are published.
    taken: HashSet<u64>,
}

impl Resume {
    /// There is no journal of this transfer.
    pub(super) fn none() -> Self {
        Self {
            is_resumed: false,
            ..Self::new(Replay::default(), LandedCursor::empty())
        }
    }

    /// What the journal of this transfer says.
    pub(super) fn new(mut replay: Replay, landed: LandedCursor) -> Self {
        let parts = replay.take_parts();
        let by_path = parts
            .iter()
            .map(|(number, part)| (part.path.clone(), *number))
            .collect();
        Self {
            is_resumed: true,
            replay,
            landed,
            parts,
            by_path,
            taken: HashSet::new(),
        }
    }

    /// Bytes that the journal knows to be durable.
    pub(super) fn durable_bytes(&self, geometry: Geometry) -> u64 {
        let unit_bytes = geometry.unit_bytes;
        let of_part = |part: &PartState| {
            let size = |unit: &u64| {
                part.identity
                    .size
                    .saturating_sub(unit.saturating_mul(unit_bytes))
                    .min(unit_bytes)
            };
            part.units.keys().map(size).sum::<u64>()
        };
        self.parts.values().map(of_part).sum::<u64>() + self.replay.landed_bytes()
    }

    /// The file, if this state of the source landed, and whether it certainly got its name. Paths must be asked for in rising order; of each
    /// that is passed, `permitted` is asked.
    pub(super) fn landed(
        &mut self,
        path: &RelPath,
        identity: &Identity,
        permitted: &Permitted,
    ) -> Result<Option<(Landed, bool)>, Failure> {
        let found = self.landed.find(path, &asking(&**permitted));
        let found = found.map_err(state_failed)?;
        Ok(found.filter(|(landed, _)| landed.identity == *identity))
    }

    /// The inode number of the folder that an earlier session made here.
    pub(super) fn made(&self, path: &RelPath) -> Option<u64> {
        self.replay.made(path)
    }

    /// Take the temporary that an earlier session began for this path, and its number.
    pub(super) fn take_part(&mut self, path: &RelPath) -> Option<(u64, PartState)> {
        let number = self.by_path.remove(path)?;
        let part = self.parts.remove(&number)?;
        self.taken.insert(number);
        Some((number, part))
    }

    /// Whether an earlier session began the temporary with this number and it may still be of use.
    pub(super) fn knows(&self, number: u64) -> bool {
        self.parts.contains_key(&number) || self.taken.contains(&number)
    }

    /// Take the temporaries that no entry of the source asked for.
    pub(super) fn take_rest(&mut self) -> BTreeMap<u64, PartState> {
        self.by_path.clear();
        std::mem::take(&mut self.parts)
    }
}

/// Eight bytes in the scratch folder that count received bytes; the page cache keeps them when the process is killed.
pub(super) struct ReceivedCount {
    file: File,
    /// Locked until the file holds it, too: or an older count could be written last.
    count: Mutex<u64>,
}

impl ReceivedCount {
    /// Open the count, which starts from the `durable` bytes of the journal; also says how many bytes had arrived in the last session
    /// and are not durable, so that they come again.
    pub(super) fn open(folder: &Path, durable: u64) -> io::Result<(Self, u64)> {
        let path = folder.join("received");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut bytes = [0; 8];
        let length = headrace_io::storage::posix::read_full(&file, &mut bytes, 0)?;
        let received = if length == bytes.len() {
            u64::from_le_bytes(bytes)
        } else {
            0
        };
        file.write_all_at(&durable.to_le_bytes(), 0)?;
        let lost = received.saturating_sub(durable);
        let count = Mutex::new(durable);
        Ok((Self { file, count }, lost))
    }

    /// Count bytes that arrived.
    pub(super) fn add(&self, bytes: u64) {
        self.change(|count| count.saturating_add(bytes));
    }

    /// Count bytes that arrived and are asked for again.
    pub(super) fn take_back(&self, bytes: u64) {
        self.change(|count| count.saturating_sub(bytes));
    }

    fn change(&self, change: impl FnOnce(u64) -> u64) {
        let mut count = self.count.lock();
        *count = change(*count);
        // Only a statistic: losing it must not stop a transfer.
        if let Err(error) = self.file.write_all_at(&count.to_le_bytes(), 0) {
            tracing::debug!(%error, "the count of received bytes could not be written");
        }
    }
}
