//! The sources of the pools as they are in the product, with locks of loom in place of `parking_lot`'s: a model runs once for every order
//! in which its threads can take locks, wait and wake each other, and a thread that nobody wakes any more is a failure.
//!
//! Queues that are not here are those of crossbeam and tokio, which try them so themselves.

extern crate self as parking_lot;

mod locks;

#[expect(unreachable_pub, reason = "it is a public part of the engine")]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "it is a public part of the engine")
)]
#[path = "../../crates/headrace-io/src/buffer.rs"]
mod buffer;
#[expect(dead_code, reason = "a landing takes some places without asking")]
#[path = "../../crates/headrace-node/src/session/landing/places.rs"]
mod places;

use std::sync::Arc;
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use self::buffer::BufferPool;
pub use self::locks::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
use self::places::Places;

/// Far longer than a model takes: loom's clock stands still.
const LONG: Duration = Duration::from_hours(1);
/// Threads beside the one of a model, and how often one of them may be interrupted where it need not wait: three find nearly all that
/// there is to find, in a second and not a minute.
const OTHERS: usize = 2;
const INTERRUPTIONS: usize = 3;

/// Counts who holds one of `limit` things.
struct Held {
    now: AtomicUsize,
    limit: usize,
}

impl Held {
    fn of(limit: usize) -> Arc<Self> {
        let now = AtomicUsize::new(0);
        Arc::new(Self { now, limit })
    }

    /// Do `work` as one more holder.
    fn while_holding(&self) {
        let before = self.now.fetch_add(1, Ordering::AcqRel);
        assert!(before < self.limit, "more are held than there are");
        self.now.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Threads that want more buffers than there are all get one, one after the other.
///
/// # Panics
/// When one does not.
pub fn buffers() {
    check(|| {
        let (pool, held) = (BufferPool::of(1, 1), Held::of(1));
        let work = move || {
            let buffer = pool.take(LONG);
            assert!(buffer.is_some(), "a buffer that came back was not given");
            held.while_holding();
        };
        meet(&work);
    });
}

/// Files that wait for an epoch never are more than there may be, and each gets its place.
///
/// # Panics
/// When one does not.
pub fn places() {
    check(|| {
        let (places, held) = (Arc::new(Places::default()), Held::of(1));
        let work = move || {
            let place = loop {
                match places.try_take(1) {
                    Some(place) => break place,
                    None => places.wait(1, LONG),
                }
            };
            held.while_holding();
            drop(place);
        };
        meet(&work);
    });
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(INTERRUPTIONS);
    builder.check(model);
}

/// Do this on every thread.
fn meet(work: &(impl Fn() + Clone + 'static)) {
    let others: Vec<_> = (0..OTHERS).map(|_| thread::spawn(work.clone())).collect();
    work();
    for other in others {
        assert!(other.join().is_ok());
    }
}
