//! Threads for writes that would hold a network thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};

/// Work for a disk thread.
type Task = Box<dyn FnOnce() + Send>;

/// A fixed number of threads with a bounded queue; without threads, work is done where it is submitted.
#[derive(Debug)]
pub struct DiskPool {
    /// `None` only while the pool is dropped, or without threads.
    queue: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl DiskPool {
    /// Start `threads` threads. Each may have two tasks waiting; who submits more waits.
    ///
    /// # Errors
    /// What the system answers when no thread can be started.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        if threads == 0 {
            return Ok(Self {
                queue: None,
                threads: Vec::new(),
            });
        }
        let (sender, receiver) = bounded::<Task>(2 * threads);
        let start = |number: usize| {
            let receiver = receiver.clone();
            std::thread::Builder::new()
                .name(format!("headrace-disk-{number}"))
                .spawn(move || {
                    for task in receiver {
                        // The thread stays for the tasks of others.
                        if catch_unwind(AssertUnwindSafe(task)).is_err() {
                            tracing::error!("a task of a disk thread panicked");
                        }
                    }
                })
        };
        let threads = (0..threads)
            .map(start)
            .collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self {
            queue: Some(sender),
            threads,
        })
    }

    /// Do `task` on a disk thread, waiting for a place in the queue. It must not submit further tasks.
    pub fn submit(&self, task: impl FnOnce() + Send + 'static) {
        match &self.queue {
            None => task(),
            // The threads live as long as the pool, so a task never comes back.
            Some(queue) => drop(queue.send(Box::new(task))),
        }
    }
}

impl Drop for DiskPool {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a disk thread panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_task_is_done_before_the_pool_is_gone() {
        for threads in [0, 1, 3] {
            let done = Arc::new(AtomicU64::new(0));
            let pool = DiskPool::new(threads).expect("threads");
            for _ in 0..100 {
                let done = Arc::clone(&done);
                pool.submit(move || {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
            drop(pool);
            assert_eq!(done.load(Ordering::Relaxed), 100);
        }
    }

    #[test]
    fn a_task_that_panics_takes_no_thread_with_it() {
        let done = Arc::new(AtomicU64::new(0));
        let pool = DiskPool::new(1).expect("a thread");
        pool.submit(|| panic!("on purpose"));
        let counted = Arc::clone(&done);
        pool.submit(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        drop(pool);
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }
}
