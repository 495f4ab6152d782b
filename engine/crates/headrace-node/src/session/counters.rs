//! What a session counts while it runs: shared by all its threads, read by whoever watches.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// Waiting for a share of a link.
    Share,
    /// Checking and deleting names.
    Delete,
}

impl Stage {
    /// All stages, in the order content passes them.
    pub const ALL: [Self; 10] = [
        Self::Read,
        Self::Hash,
        Self::Send,
        Self::Receive,
        Self::Verify,
        Self::Write,
        Self::Commit,
        Self::Ceiling,
        Self::Share,
        Self::Delete,
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
    #[serde(default)]
    pub share_us: u64,
    #[serde(default)]
    pub delete_us: u64,
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
    /// Of these, the bytes of files that are whole and have their names: what stays when no session follows.
    pub bytes_whole: AtomicU64,
    /// Bytes that arrived again because they were not durable yet when a session ended.
    pub resent_bytes: AtomicU64,
    /// Whether all names of the source have come, so that totals are whole.
    pub listed: AtomicBool,
    /// Names that this node deleted or moved to the trash, and those it found gone.
    pub deleted: AtomicU64,
    /// Names that it looked at, whatever for: this rises while it works, also where nothing moves.
    pub looked_at: AtomicU64,
    /// Names that this attempt itself made or deleted, and units that it made durable, over all its sessions: no later one does these again.
    pub durable_steps: AtomicU64,
    /// Data connections of the session.
    pub streams: AtomicU64,
    /// The file system (`st_dev`) that was synced last; 0 before.
    pub synced_device: AtomicU64,
    /// Bytes that went over data connections, of all sessions: what arrived before an attempt is no part of it.
    pub stream_bytes: AtomicU64,
    busy: [Busy; Stage::ALL.len()],
}

/// Time in one stage: of work that is done, and of what threads are at now, which a stalled storage may keep there for minutes.
#[derive(Debug, Default)]
struct Busy {
    done_ns: AtomicU64,
    /// Threads that are at work.
    at_work: AtomicU64,
    /// When they began, all added up.
    begun_ns: AtomicU64,
}

impl Busy {
    fn begin(&self, now_ns: u64) {
        // In this order, and the other one at the end: a look in between finds too little, and the next one finds it.
        self.begun_ns.fetch_add(now_ns, Ordering::SeqCst);
        self.at_work.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self, begun_ns: u64, now_ns: u64) {
        self.at_work.fetch_sub(1, Ordering::SeqCst);
        self.begun_ns.fetch_sub(begun_ns, Ordering::SeqCst);
        self.done_ns
            .fetch_add(now_ns.saturating_sub(begun_ns), Ordering::SeqCst);
    }

    fn total_ns(&self, now_ns: u64) -> u64 {
        let done = self.done_ns.load(Ordering::SeqCst);
        let at_work = self.at_work.load(Ordering::SeqCst);
        let begun = self.begun_ns.load(Ordering::SeqCst);
        done + at_work.saturating_mul(now_ns).saturating_sub(begun)
    }
}

/// Nanoseconds since the process first asked.
fn now_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Ends a stage of a thread, also when its work panics.
struct AtWork<'b> {
    busy: &'b Busy,
    begun_ns: u64,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.busy.end(self.begun_ns, now_ns());
    }
}

impl Counters {
    /// Do `work` and add its time to a stage, while it lasts.
    pub fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let (busy, begun_ns) = (&self.busy[stage as usize], now_ns());
        busy.begin(begun_ns);
        let _ends = AtWork { busy, begun_ns };
        work()
    }

    /// Nanoseconds that threads spent in a stage so far.
    #[must_use]
    pub fn busy_ns(&self, stage: Stage) -> u64 {
        let busy = &self.busy[stage as usize];
        // A look while a thread begins or ends finds too little.
        (0..3).map(|_| busy.total_ns(now_ns())).max().unwrap_or(0)
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
            share_us: us(Stage::Share),
            delete_us: us(Stage::Delete),
        }
    }

    /// Rises with whatever moves, and with what is deleted.
    pub fn moved(&self) -> u64 {
        read(&self.bytes_received)
            + read(&self.bytes_sent)
            + read(&self.files_done)
            + read(&self.deleted)
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
            &self.bytes_whole,
            &self.deleted,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
        self.listed.store(false, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn work_that_lasts_counts_before_it_is_done() {
        let counters = Counters::default();
        let ((begin, begins), (end, ends)) = (channel(), channel::<()>());
        std::thread::scope(|scope| {
            let counters = &counters;
            scope.spawn(move || {
                counters.time(Stage::Write, || {
                    begin.send(()).expect("somebody waits");
                    ends.recv().expect("it is told");
                });
            });
            begins.recv().expect("it begins");
            let first = counters.busy_ns(Stage::Write);
            let since = Instant::now();
            let counts = || counters.busy_ns(Stage::Write) >= first + 5_000_000;
            while !counts() && since.elapsed().as_secs() < 10 {
                std::thread::yield_now();
            }
            let counted = counts();
            end.send(()).expect("it waits");
            assert!(counted, "it lasts all the time");
        });
        let after = counters.busy_ns(Stage::Write);
        assert!(after >= 5_000_000);
        // Nobody is at work any more.
        assert_eq!(counters.busy_ns(Stage::Write), after);
        assert_eq!(counters.busy_ns(Stage::Commit), 0);
    }

    #[test]
    fn what_is_deleted_moves_a_session_on_and_its_steps_outlast_it() {
        let counters = Counters::default();
        counters.listed.store(true, Ordering::Relaxed);
        for counter in [&counters.deleted, &counters.durable_steps] {
            add(counter, 3);
        }
        assert_eq!(counters.moved(), 3);
        counters.restart();
        assert_eq!((counters.moved(), read(&counters.durable_steps)), (0, 3));
        assert!(!counters.listed.load(Ordering::Relaxed));
    }

    #[test]
    fn many_threads_add_up() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counters.time(Stage::Hash, || std::hint::black_box(7));
                    }
                });
            }
        });
        let busy = &counters.busy[Stage::Hash as usize];
        assert_eq!(busy.at_work.load(Ordering::SeqCst), 0);
        assert_eq!(busy.begun_ns.load(Ordering::SeqCst), 0);
        assert!(counters.busy_ns(Stage::Hash) > 0);
    }
}
