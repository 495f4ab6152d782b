//! What a session counts while it runs: shared by all its threads, read by whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// A step that file content goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Stage {
    /// Reading the source.
    Read,
    /// Hashing what was read.
    Hash,
    /// Encrypting and handing to the kernel.
    Send,
    /// Waiting for the kernel and decrypting.
    Receive,
    /// Hashing what arrived.
    Verify,
    /// Writing to the destination.
    Write,
    /// Making durable and naming.
    Commit,
    /// Waiting for the rate ceiling.
    Ceiling,
}

impl Stage {
    /// All stages, in the order content passes them.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Hash,
        Self::Send,
        Self::Receive,
        Self::Verify,
        Self::Write,
        Self::Commit,
        Self::Ceiling,
    ];
}

/// Time that threads of an attempt spent in each stage since it began on a node; of several threads the sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "as the stages, which say it")]
pub struct StageTimes {
    pub read_us: u64,
    pub hash_us: u64,
    pub send_us: u64,
    pub receive_us: u64,
    pub verify_us: u64,
    pub write_us: u64,
    pub commit_us: u64,
    pub ceiling_us: u64,
}

/// Counters of one attempt; they only rise, over all its sessions.
#[derive(Debug, Default)]
pub struct Counters {
    /// Files and symlinks of the source so far.
    pub files_total: AtomicU64,
    /// Files and symlinks that are at their destination, durable.
    pub files_done: AtomicU64,
    /// Entries that failed.
    pub files_failed: AtomicU64,
    /// Bytes of the files that are to be copied, so far; what is at the destination already is no part of it.
    pub bytes_total: AtomicU64,
    /// Bytes that arrived and were verified, in this or an earlier session.
    pub bytes_received: AtomicU64,
    /// Bytes that were sent.
    pub bytes_sent: AtomicU64,
    /// Bytes that are durable at the destination.
    pub bytes_durable: AtomicU64,
    /// Bytes that arrived again because they were not durable yet when a session ended.
    pub resent_bytes: AtomicU64,
    /// Data connections of the session.
    pub streams: AtomicU64,
    /// Bytes that went over data connections, of all sessions: what arrived before an attempt is no part of it.
    pub stream_bytes: AtomicU64,
    busy_ns: [AtomicU64; Stage::ALL.len()],
}

impl Counters {
    /// Do `work` and add its time to a stage.
    pub fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns[stage as usize].fetch_add(elapsed, Ordering::Relaxed);
        result
    }

    /// Nanoseconds that threads spent in a stage.
    #[must_use]
    pub fn busy_ns(&self, stage: Stage) -> u64 {
        self.busy_ns[stage as usize].load(Ordering::Relaxed)
    }

    /// Time that threads spent in each stage, so far.
    #[must_use]
    pub fn stage_times(&self) -> StageTimes {
        let us = |stage| self.busy_ns(stage) / 1000;
        StageTimes {
            read_us: us(Stage::Read),
            hash_us: us(Stage::Hash),
            send_us: us(Stage::Send),
            receive_us: us(Stage::Receive),
            verify_us: us(Stage::Verify),
            write_us: us(Stage::Write),
            commit_us: us(Stage::Commit),
            ceiling_us: us(Stage::Ceiling),
        }
    }

    /// Forget what the next session counts again.
    pub fn restart(&self) {
        for counter in [
            &self.files_total,
            &self.files_done,
            &self.files_failed,
            &self.bytes_total,
            &self.bytes_received,
            &self.bytes_sent,
            &self.bytes_durable,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// Add to a counter.
pub fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// Read a counter.
pub fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
