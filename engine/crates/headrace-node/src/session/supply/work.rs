//! What is to be sent next: large files and small ones share the streams fairly.

use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use headrace_core::batch::{BATCH_BYTES, FILE_OVERHEAD_BYTES, MAX_BATCH_FILES};

use super::outgoing::Outgoing;

/// What a small file costs besides its bytes, in bytes of a large one that could have been sent instead.
const SMALL_FILE_COST_BYTES: u64 = 16 * 1024;

/// One piece of work for a stream.
#[derive(Clone)]
pub(super) enum Task {
    /// One unit of a large file, of this generation.
    Unit(Arc<Outgoing>, u16, u64),
    /// Some small files.
    Batch(Vec<Arc<Outgoing>>),
    /// Hash a whole file.
    Compare(Arc<Outgoing>),
}

/// Work that was asked for. Its length is bounded by the window of entries under way.
#[derive(Default)]
pub(super) struct Queue {
    large: BinaryHeap<Large>,
    small: VecDeque<(Arc<Outgoing>, u64)>,
    compare: VecDeque<Arc<Outgoing>>,
    /// Bytes that either kind had so far; the one that had less is next.
    large_served: u64,
    small_served: u64,
}

impl Queue {
    pub(super) fn push_large(
        &mut self,
        file: Arc<Outgoing>,
        generation: u16,
        size: u64,
        ranges: VecDeque<Range<u64>>,
    ) {
        self.large.push(Large {
            size,
            file,
            generation,
            ranges,
        });
    }

    pub(super) fn push_small(&mut self, file: Arc<Outgoing>, size: u64) {
        self.small.push_back((file, size));
    }

    pub(super) fn push_compare(&mut self, file: Arc<Outgoing>) {
        self.compare.push_back(file);
    }

    /// Take the next piece of work. A unit is charged as `unit_bytes`.
    pub(super) fn pop(&mut self, unit_bytes: u64) -> Option<Task> {
        if let Some(file) = self.compare.pop_front() {
            return Some(Task::Compare(file));
        }
        // A kind that had nothing to do does not get that time back.
        match (self.large.is_empty(), self.small.is_empty()) {
            (true, true) => return None,
            (true, false) => self.large_served = self.large_served.max(self.small_served),
            (false, true) => self.small_served = self.small_served.max(self.large_served),
            (false, false) => {}
        }
        if self.small.is_empty()
            || (!self.large.is_empty() && self.large_served <= self.small_served)
        {
            self.large_served += unit_bytes;
            self.pop_unit()
        } else {
            Some(self.pop_batch())
        }
    }

    fn pop_unit(&mut self) -> Option<Task> {
        let mut next = self.large.pop()?;
        let range = next.ranges.front_mut()?;
        let unit = range.start;
        range.start += 1;
        if range.is_empty() {
            next.ranges.pop_front();
        }
        let task = Task::Unit(Arc::clone(&next.file), next.generation, unit);
        if !next.ranges.is_empty() {
            self.large.push(next);
        }
        Some(task)
    }

    fn pop_batch(&mut self) -> Task {
        let (mut files, mut bytes) = (Vec::new(), 0);
        while files.len() < MAX_BATCH_FILES
            && bytes < BATCH_BYTES as u64
            && let Some((file, size)) = self.small.pop_front()
        {
            bytes += size + FILE_OVERHEAD_BYTES as u64;
            self.small_served += size + SMALL_FILE_COST_BYTES;
            files.push(file);
        }
        Task::Batch(files)
    }
}

/// A large file with the units of it that are to be sent. The largest comes first: it has the longest way to go.
struct Large {
    size: u64,
    file: Arc<Outgoing>,
    generation: u16,
    ranges: VecDeque<Range<u64>>,
}

impl PartialEq for Large {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Large {}

impl PartialOrd for Large {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Large {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Of two equal ones the earlier.
        (self.size, other.file.id).cmp(&(other.size, self.file.id))
    }
}

#[cfg(test)]
mod tests {
    use headrace_core::entry::{Entry, Kind};
    use headrace_core::name::RelPath;
    use headrace_core::version::Version;

    use super::*;

    fn file(id: u64) -> Arc<Outgoing> {
        let entry = Entry {
            path: RelPath::root(),
            kind: Kind::File,
            size: 0,
            mtime_ns: 0,
            version: Version::new(b"1").expect("short"),
            mode: 0,
            target: None,
        };
        Arc::new(Outgoing::new(id, entry))
    }

    fn ranges(range: Range<u64>) -> VecDeque<Range<u64>> {
        std::iter::once(range).collect()
    }

    #[test]
    fn the_largest_file_comes_first_and_its_units_in_order() {
        let mut queue = Queue::default();
        queue.push_large(file(1), 0, 10, ranges(0..1));
        queue.push_large(file(2), 0, 30, [0..1, 2..4].into());
        queue.push_large(file(3), 0, 10, ranges(5..6));
        let order: Vec<(u64, u64)> = std::iter::from_fn(|| queue.pop(10))
            .map(|task| match task {
                Task::Unit(file, _, unit) => (file.id, unit),
                _ => panic!("only units"),
            })
            .collect();
        assert_eq!(order, [(2, 0), (2, 2), (2, 3), (1, 0), (3, 5)]);
    }

    #[test]
    fn small_and_large_files_take_turns_by_bytes() {
        let mut queue = Queue::default();
        queue.push_large(file(1), 0, 1 << 30, ranges(0..4));
        for id in 0..2000 {
            queue.push_small(file(id), 100_000);
        }
        let mut served = [0_u64; 2];
        for _ in 0..1000 {
            match queue.pop(16 << 20) {
                Some(Task::Unit(..)) => served[0] += 16 << 20,
                Some(Task::Batch(files)) => served[1] += files.len() as u64 * 100_000,
                _ => break,
            }
            if served[0] == 4 << 24 {
                break;
            }
        }
        assert!((35 << 20..70 << 20).contains(&served[1]), "{served:?}");
    }
}
