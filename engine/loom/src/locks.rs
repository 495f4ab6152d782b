//! What the sources use of `parking_lot`, over loom. Nobody's patience ends: who is not woken waits for ever, which loom notices.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// A lock that no panic poisons: a model ends with its first one.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

/// A held lock; `None` only while a condition is waited for.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

/// A condition to wait for.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

/// How a wait ended.
#[derive(Debug, Clone, Copy)]
pub struct WaitTimeoutResult;

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Hold it.
    ///
    /// # Panics
    /// After a panic in the same model.
    #[expect(clippy::expect_used, reason = "a model ends with its first panic")]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect("no panic before")))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[expect(clippy::expect_used, reason = "nobody looks while it waits")]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("held")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[expect(clippy::expect_used, reason = "nobody looks while it waits")]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("held")
    }
}

impl Condvar {
    /// A condition that nobody waits for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Wake one who waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wake all who wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Wait to be woken, however late it gets.
    ///
    /// # Panics
    /// After a panic in the same model.
    #[expect(clippy::expect_used, reason = "a model ends with its first panic")]
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _: Instant) -> WaitTimeoutResult {
        let held = guard.0.take().expect("held");
        guard.0 = Some(self.0.wait(held).expect("no panic before"));
        WaitTimeoutResult
    }

    /// Wait to be woken, however long it takes.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) -> WaitTimeoutResult {
        self.wait_until(guard, Instant::now())
    }
}

impl WaitTimeoutResult {
    /// Never.
    #[must_use]
    pub fn timed_out(self) -> bool {
        false
    }
}
