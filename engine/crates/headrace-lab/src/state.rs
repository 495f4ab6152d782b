//! What a lab tells other processes of itself: a file that is locked while the lab runs. A killed lab leaves a file without a lock.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// The variable by which the processes of a lab are known, also when their lab was killed.
pub(crate) const MARK: &str = "HEADRACE_LAB";
/// How long a process may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long a lab may take to end.
const STOPS_WITHIN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// How long a lock may be somebody's who only looks.
const LOOKS_WITHIN: Duration = Duration::from_millis(500);

/// What is known of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabState {
    /// What it is called.
    pub name: String,
    /// Another one for each start.
    pub id: String,
    /// The process that carries.
    pub process: u32,
    /// Its hosts.
    pub hosts: Vec<HostState>,
}

/// What is known of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// What it is called.
    pub name: String,
    /// Its address in the lab.
    pub address: String,
    /// The thread of the lab's process that is in its namespace.
    pub thread: u32,
    /// What it was asked to be.
    pub line: String,
}

/// The file of a lab, held by whoever runs it.
#[derive(Debug)]
pub struct Held {
    file: File,
    path: PathBuf,
}

impl Held {
    /// Hold the file of the lab `name` in `folder`; `None` when its lab runs. What a killed lab of this name has left is ended.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn take(folder: &Path, name: &str) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}.json"));
        let limit = Instant::now() + LOOKS_WITHIN;
        loop {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&path)?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                if Instant::now() > limit {
                    return Ok(None);
                }
                std::thread::sleep(LOOK);
                continue;
            }
            // Whoever held it may have removed it meanwhile.
            if !is_at(&file, &path) {
                continue;
            }
            if let Some(left) = read(&mut file)? {
                end_processes(&left.id)?;
            }
            return Ok(Some(Self { file, path }));
        }
    }

    pub(crate) fn write(&mut self, state: &LabState) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&serde_json::to_vec(state)?)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the file of a lab is gone already");
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let inode = |metadata: io::Result<std::fs::Metadata>| metadata.ok().map(|found| found.ino());
    inode(file.metadata()).is_some_and(|ours| inode(std::fs::metadata(path)) == Some(ours))
}

fn read(file: &mut File) -> io::Result<Option<LabState>> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    // One that was killed while it wrote has started nothing yet.
    Ok(serde_json::from_str(&text).ok())
}

/// The labs that run, by name.
///
/// # Errors
/// What the file system answers.
pub fn labs(folder: &Path) -> io::Result<Vec<LabState>> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let mut file = match File::open(entry?.path()) {
            // Its lab has ended meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        if flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
            found.extend(read(&mut file)?);
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// End the lab of this name and all that was started in it; `false` when there was none.
pub(crate) fn stop(folder: &Path, name: &str) -> io::Result<bool> {
    let running = labs(folder)?.into_iter().find(|lab| lab.name == name);
    if let Some(lab) = &running
        && let Ok(process) = pidfd_open(pid(lab.process)?, PidfdFlags::empty())
    {
        // Gone already is as good.
        let _ = pidfd_send_signal(&process, Signal::TERM);
    }
    let was_there = running.is_some() || folder.join(format!("{name}.json")).exists();
    let limit = Instant::now() + STOPS_WITHIN;
    while was_there && Held::take(folder, name)?.is_none() {
        if Instant::now() > limit {
            let message = format!(
                "lab `{name}` did not end within {} s",
                STOPS_WITHIN.as_secs()
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        std::thread::sleep(LOOK);
    }
    Ok(was_there)
}

/// End every process that carries the mark of the lab with this id: asked first, killed after some seconds.
pub(crate) fn end_processes(id: &str) -> io::Result<()> {
    let mark = format!("{MARK}={id}");
    let mut left = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(process) = pidfd_open(pid(number)?, PidfdFlags::empty()) else {
            continue;
        };
        // Read after it is held: the number may have passed to another process before.
        let environment = std::fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        let marked = environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes());
        if marked && number != std::process::id() {
            let _ = pidfd_send_signal(&process, Signal::TERM);
            left.push(process);
        }
    }
    let limit = Instant::now() + GRACE;
    for process in left {
        let rest = limit.saturating_duration_since(Instant::now());
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        let wait = Timespec::try_from(rest).ok();
        if poll(&mut ended, wait.as_ref()).is_ok_and(|ended| ended == 0) {
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
    Ok(())
}

fn pid(number: u32) -> io::Result<Pid> {
    let number = i32::try_from(number).ok().and_then(Pid::from_raw);
    number.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn state(name: &str) -> LabState {
        LabState {
            name: name.to_owned(),
            id: format!("test-{}", std::process::id()),
            process: std::process::id(),
            hosts: Vec::new(),
        }
    }

    #[test]
    fn a_lab_is_listed_while_its_file_is_held_and_held_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut held = Held::take(folder.path(), "one")
            .expect("a file")
            .expect("free");
        held.write(&state("one")).expect("written");
        assert_eq!(labs(folder.path()).expect("readable"), [state("one")]);
        assert!(Held::take(folder.path(), "one").expect("a file").is_none());
        drop(held);
        assert_eq!(labs(folder.path()).expect("readable"), []);
        assert!(Held::take(folder.path(), "one").expect("a file").is_some());
    }

    #[test]
    fn whoever_looks_at_labs_keeps_none_from_starting_or_ending() {
        let folder = tempfile::tempdir().expect("a folder");
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    labs(folder.path()).expect("readable");
                }
            });
            for _ in 0..100 {
                let held = Held::take(folder.path(), "one").expect("a file");
                assert!(held.is_some());
            }
            over.store(true, Ordering::Release);
        });
    }
}
