//! Places for files that are complete and wait, open, for the epoch that names them.
//!
//! Only what the next epoch frees holds a place, so whoever waits for one waits for an epoch and never for another file.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How many files wait.
#[derive(Debug, Default)]
pub(super) struct Places(Arc<(Mutex<usize>, Condvar)>);

/// One waiting file; its place is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<(Mutex<usize>, Condvar)>);

impl Places {
    /// Take a place whether or not there is room.
    pub(super) fn take(&self) -> Place {
        *self.0.0.lock() += 1;
        Place(Arc::clone(&self.0))
    }

    /// Take a place if fewer than `limit` are taken.
    pub(super) fn try_take(&self, limit: usize) -> Option<Place> {
        let mut taken = self.0.0.lock();
        if *taken >= limit {
            return None;
        }
        *taken += 1;
        Some(Place(Arc::clone(&self.0)))
    }

    /// Wait until fewer than `limit` are taken, but not longer than this.
    pub(super) fn wait(&self, limit: usize, longest: Duration) {
        let mut taken = self.0.0.lock();
        if *taken >= limit {
            self.0.1.wait_for(&mut taken, longest);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.0.lock() -= 1;
        self.0.1.notify_all();
    }
}
