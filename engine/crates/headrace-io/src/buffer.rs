//! A fixed pool of aligned buffers: what the engine holds of file contents at any time is bounded by it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Alignment of every buffer: a page, which is enough for direct writes on all file systems we know.
pub const ALIGNMENT: usize = 4096;
/// Bytes of a buffer.
pub const BUFFER_BYTES: usize = 1 << 20;

/// Buffers that are handed out and come back when they are dropped. Memory is taken when a buffer is first needed.
#[derive(Debug)]
pub struct BufferPool {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug)]
struct State {
    free: Vec<AlignedBytes>,
    unborn: usize,
    each_bytes: usize,
}

impl BufferPool {
    /// A pool of at most `max_bytes`, and at least one buffer.
    #[must_use]
    pub fn new(max_bytes: usize) -> Arc<Self> {
        Self::of(max_bytes, BUFFER_BYTES)
    }

    /// A pool of buffers of so many bytes each.
    #[must_use]
    pub fn of(max_bytes: usize, each_bytes: usize) -> Arc<Self> {
        let state = State {
            free: Vec::new(),
            unborn: (max_bytes / each_bytes).max(1),
            each_bytes,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            returned: Condvar::new(),
        })
    }

    /// A buffer with any content; waits until one is free, at most `patience`.
    #[must_use]
    pub fn take(self: &Arc<Self>, patience: Duration) -> Option<Buffer> {
        let deadline = Instant::now() + patience;
        let mut state = self.state.lock();
        loop {
            if let Some(bytes) = state.free.pop() {
                return Some(Buffer {
                    bytes: Some(bytes),
                    pool: Arc::clone(self),
                });
            }
            if state.unborn > 0 {
                state.unborn -= 1;
                let length = state.each_bytes;
                drop(state);
                return Some(Buffer {
                    bytes: Some(AlignedBytes::new(length)),
                    pool: Arc::clone(self),
                });
            }
            if self.returned.wait_until(&mut state, deadline).timed_out() {
                return None;
            }
        }
    }
}

/// A buffer on loan from a [`BufferPool`].
#[derive(Debug)]
pub struct Buffer {
    /// `None` only while it is dropped.
    bytes: Option<AlignedBytes>,
    pool: Arc<BufferPool>,
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.as_ref().map_or(&[], AlignedBytes::as_slice)
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
            .as_mut()
            .map_or(&mut [], AlignedBytes::as_mut_slice)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(bytes) = self.bytes.take() {
            self.pool.state.lock().free.push(bytes);
            self.pool.returned.notify_one();
        }
    }
}

/// Bytes that start at a multiple of [`ALIGNMENT`]: the aligned part of a slightly longer vector that never grows.
#[derive(Debug)]
struct AlignedBytes {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBytes {
    fn new(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self {
            bytes,
            start,
            length,
        }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_limited_and_come_back() {
        let pool = BufferPool::new(2 * BUFFER_BYTES);
        let first = pool.take(Duration::ZERO).expect("one is free");
        let second = pool.take(Duration::ZERO).expect("one is free");
        for buffer in [&first, &second] {
            assert_eq!(
                (buffer.as_ptr().align_offset(ALIGNMENT), buffer.len()),
                (0, BUFFER_BYTES)
            );
        }
        assert!(pool.take(Duration::ZERO).is_none());
        drop(second);
        assert!(pool.take(Duration::ZERO).is_some());
    }

    #[test]
    fn a_waiting_taker_gets_the_buffer_that_comes_back() {
        let pool = BufferPool::new(0);
        let only = pool.take(Duration::ZERO).expect("one is free");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.take(Duration::from_mins(1)).is_some());
            drop(only);
            assert!(waiting.join().expect("no panic"));
        });
    }
}
