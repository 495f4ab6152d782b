//! A file of the simulated disk: what is read of it now, what a loss of power leaves of it, and what is between the two.

use std::io;

use headrace_core::codec::to_usize;

use super::{Errno, Metadata, Writing};

/// Torn writes end at multiples of this.
const SECTOR_BYTES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct FileNode {
    pub(super) now: Content,
    safe: Content,
    pending: Vec<Change>,
    pub(super) errors: WriteErrors,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: Metadata,
    /// Number of the last change: no two states of a file have the same.
    pub(super) changed: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Through the page cache: what is beyond the end makes the file longer.
    Write(u64, Box<[u8]>),
    /// Past the page cache. How long the file is, is metadata of the file system: a change of its own. (Who writes there once more through
    /// the page cache writes the same: which of the two is on the disk is not looked at.)
    Blocks(u64, Box<[u8]>),
    Size(u64),
    Metadata(Metadata),
}

/// What of a file is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    All,
    /// Not its times and modes.
    Content,
    /// With its whole file system: not what was written past the page cache, which may be in the disk's own.
    FileSystem,
    /// What the page cache writes back on its own.
    Cache,
}

/// Errors of writing back, of a file or a file system. Each open handle is told once of what went wrong since it was opened, whoever else
/// was told; one that is opened later hears only of what nobody was told yet (`errseq_t` of Linux).
#[derive(Debug, Default)]
pub(super) struct WriteErrors {
    last: u64,
    told: u64,
}

impl WriteErrors {
    pub(super) fn happened(&mut self) {
        self.last += 1;
    }

    /// Another program with a handle of its own was told.
    pub(super) fn told_to_others(&mut self) {
        self.told = self.last;
    }

    /// What a handle that is opened now knows of.
    pub(super) fn known(&self) -> u64 {
        self.told
    }

    /// Tell a handle what it does not know of.
    pub(super) fn tell(&mut self, known: &mut u64) -> io::Result<()> {
        if std::mem::replace(known, self.last) == self.last {
            return Ok(());
        }
        self.told = self.last;
        Err(Errno::IO.into())
    }
}

impl FileNode {
    pub(super) fn change(&mut self, number: u64, change: Change) {
        self.now.apply(&change);
        self.now.changed = number;
        self.pending.push(change);
    }

    pub(super) fn write(&mut self, number: u64, bytes: &[u8], offset: u64, writing: Writing) {
        if writing == Writing::Buffered {
            return self.change(number, Change::Write(offset, bytes.into()));
        }
        let end = offset + bytes.len() as u64;
        if end > self.now.bytes.len() as u64 {
            self.change(number, Change::Size(end));
        }
        self.change(number, Change::Blocks(offset, bytes.into()));
    }

    /// Only what was not lost meanwhile: what a failed sync forgot does not come back.
    pub(super) fn sync(&mut self, how: Sync) {
        for change in self.take(how) {
            self.safe.apply(&change);
        }
        self.safe.changed = self.now.changed;
    }

    /// What was to be made durable so could not be: it is still read as if it had been, until it is read from the disk. Whether there was any.
    pub(super) fn lose(&mut self, how: Sync) -> bool {
        let is_lost = !self.take(how).is_empty();
        if is_lost {
            self.errors.happened();
        }
        is_lost
    }

    fn take(&mut self, how: Sync) -> Vec<Change> {
        let all = std::mem::take(&mut self.pending);
        let (taken, left) = all.into_iter().partition(|change| change.goes_with(how));
        self.pending = left;
        taken
    }

    /// Read from the disk from now on. What the cache has to write stays there.
    pub(super) fn evict(&mut self) {
        let changed = self.now.changed;
        self.now = self.safe.clone();
        for change in &self.pending {
            self.now.apply(change);
        }
        self.now.changed = changed;
    }

    /// Lose the power: of each change that is not durable a part `survives`.
    pub(super) fn power_cycle(&mut self, mut survives: impl FnMut() -> Option<u64>) {
        for change in std::mem::take(&mut self.pending) {
            if let Some(coin) = survives() {
                self.safe.apply(&change.torn(coin));
            }
        }
        self.now = self.safe.clone();
        self.errors = WriteErrors::default();
    }
}

impl Change {
    fn goes_with(&self, how: Sync) -> bool {
        match how {
            Sync::All => true,
            Sync::Content => !matches!(self, Self::Metadata(_)),
            Sync::FileSystem => !matches!(self, Self::Blocks(..)),
            Sync::Cache => matches!(self, Self::Write(..)),
        }
    }

    fn torn(&self, coin: u64) -> Self {
        if coin == u64::MAX || !coin.is_multiple_of(4) {
            return self.clone();
        }
        let torn = |bytes: &[u8]| {
            let sectors = (bytes.len() / SECTOR_BYTES) as u64;
            bytes[..to_usize((coin / 4) % (sectors + 1)) * SECTOR_BYTES].into()
        };
        match self {
            Self::Write(offset, bytes) => Self::Write(*offset, torn(bytes)),
            Self::Blocks(offset, bytes) => Self::Blocks(*offset, torn(bytes)),
            whole => whole.clone(),
        }
    }
}

impl Content {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(offset, bytes) => {
                let end = to_usize(*offset) + bytes.len();
                if self.bytes.len() < end {
                    self.bytes.resize(end, 0);
                }
                self.bytes[to_usize(*offset)..end].copy_from_slice(bytes);
            }
            Change::Blocks(offset, bytes) => {
                let within = self.bytes.get_mut(to_usize(*offset)..).unwrap_or_default();
                let count = within.len().min(bytes.len());
                within[..count].copy_from_slice(&bytes[..count]);
            }
            Change::Size(size) => self.bytes.resize(to_usize(*size), 0),
            Change::Metadata(metadata) => {
                self.metadata.mode = metadata.mode.or(self.metadata.mode);
                self.metadata.mtime_ns = metadata.mtime_ns.or(self.metadata.mtime_ns);
            }
        }
    }
}
