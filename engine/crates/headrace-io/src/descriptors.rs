//! Descriptors are a budget of the process: what holds files open for long asks here how many, and what finds none free waits for one.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What is left, at least, to everything that does not ask: connections, journals, and the rest of the process.
const LEAST_LEFT: usize = 128;
/// Share of a user at least, however many there are.
const LEAST_SHARE: usize = 64;
/// More than this is of no use to anybody.
const MOST: usize = 1 << 20;
/// Longest wait for a descriptor, and the pauses between tries.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// The descriptors of a process that may hold file content, divided by those who use them.
#[derive(Debug)]
pub struct Descriptors {
    total: usize,
    users: AtomicUsize,
}

impl Descriptors {
    /// Those of this process. The first call raises the limit as far as the system grants.
    #[must_use]
    pub fn of_process() -> Arc<Self> {
        static OF_PROCESS: OnceLock<Arc<Descriptors>> = OnceLock::new();
        Arc::clone(OF_PROCESS.get_or_init(|| Self::new(raise_limit())))
    }

    /// What may be used where the whole process may have `limit` open.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        let left = LEAST_LEFT.max(limit / 4);
        Arc::new(Self {
            total: limit.saturating_sub(left),
            users: AtomicUsize::new(0),
        })
    }

    /// Become a user, as long as what this gives is kept.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> Share {
        self.users.fetch_add(1, Ordering::Relaxed);
        Share {
            of: Arc::clone(self),
        }
    }
}

/// The part of one user.
#[derive(Debug)]
pub struct Share {
    of: Arc<Descriptors>,
}

impl Share {
    /// How many descriptors this user may hold now; fewer when others come.
    #[must_use]
    pub fn count(&self) -> usize {
        let users = self.of.users.load(Ordering::Relaxed).max(1);
        (self.of.total / users).max(LEAST_SHARE)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.users.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether an error says that the process or the system has too much open, which says nothing about the file.
#[must_use]
pub fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    error
        .raw_os_error()
        .is_some_and(|code| shortages.map(Errno::raw_os_error).contains(&code))
}

/// Open something, waiting for a descriptor while there is none: others close theirs all the time.
///
/// # Errors
/// What `open` answers; a shortage only when it lasts.
pub(crate) fn patiently<T>(mut open: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    let (mut pause, longest) = PAUSES;
    let mut deadline = None;
    loop {
        match open() {
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                let now = Instant::now();
                if now >= *deadline.get_or_insert(now + PATIENCE) {
                    return Err(error);
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(longest);
            }
            answer => return answer,
        }
    }
}

/// Take all the descriptors the system grants; says how many that are.
fn raise_limit() -> usize {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let wanted = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        tracing::debug!(%error, "the limit of open files stays");
    }
    let granted = getrlimit(Resource::Nofile).current;
    granted
        .and_then(|granted| usize::try_from(granted).ok())
        .map_or(MOST, |granted| granted.min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_divide_what_there_is_and_leave_some_to_the_rest_of_the_process() {
        let descriptors = Descriptors::new(1024);
        let first = descriptors.share();
        assert_eq!(first.count(), 768);
        let second = descriptors.share();
        assert_eq!((first.count(), second.count()), (384, 384));
        drop(first);
        assert_eq!(second.count(), 768);
    }

    #[test]
    fn who_finds_no_descriptor_free_waits_for_one() {
        let mut tries = 0;
        let opened = patiently(|| {
            tries += 1;
            if tries < 4 {
                Err([Errno::MFILE, Errno::NFILE, Errno::NOMEM][tries - 1])
            } else {
                Ok(tries)
            }
        });
        assert_eq!(opened, Ok(4));
        assert_eq!(patiently::<()>(|| Err(Errno::NOENT)), Err(Errno::NOENT));
    }
}
