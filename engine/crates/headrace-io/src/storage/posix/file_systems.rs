//! The file systems below a root, and which of them are made durable as a whole.

use std::collections::HashMap;
use std::fs::read_to_string;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::root::Dir;

/// File systems of which it is known that `syncfs` makes durable what an `fsync` of each file and folder would, disk caches included. It does
/// not where a server, a program or another file system stands between us and the disk.
const TRUSTED: [&str; 4] = ["ext4", "xfs", "btrfs", "tmpfs"];
/// From this Linux on, `syncfs` says that something could not be written.
const TELLS_ERRORS_FROM: (u32, u32) = (5, 8);
/// Most file systems of a store that may be synced as a whole; each holds a descriptor.
const MAX_FILE_SYSTEMS: usize = 16;

/// The file systems on which a store has opened folders, by device.
#[derive(Debug, Default)]
pub(super) struct FileSystems {
    met: Mutex<HashMap<u64, Option<Arc<Dir>>>>,
}

impl FileSystems {
    /// The device that a folder is on. To be asked before anything is written there: of what goes wrong from then on, the handle that is
    /// opened here is told, whoever else is told of it, too.
    pub(super) fn meet(&self, dir: &Dir) -> io::Result<u64> {
        let device = dir.stat()?.st_dev;
        let mut met = self.met.lock();
        if met.len() < MAX_FILE_SYSTEMS && !met.contains_key(&device) {
            let trusted = is_trusted(type_of(dir).as_deref(), kernel());
            let handle = trusted.then(|| dir.dir(b".")).transpose()?;
            met.insert(device, handle.map(Arc::new));
        }
        Ok(device)
    }

    /// Make all of a file system durable; `false` where that may mean less than syncing each file.
    pub(super) fn sync(&self, device: u64) -> io::Result<bool> {
        let handle = self.met.lock().get(&device).cloned().flatten();
        let synced = handle.map(|handle| handle.sync_file_system());
        Ok(synced.transpose()?.is_some())
    }
}

fn is_trusted(file_system: Option<&str>, kernel: Option<(u32, u32)>) -> bool {
    file_system.is_some_and(|name| TRUSTED.contains(&name))
        && kernel.is_some_and(|kernel| kernel >= TELLS_ERRORS_FROM)
}

/// The type of the file system that a folder is on, as the table of mounts names it. (The number that `statfs` gives is the same for ext2,
/// whose `syncfs` leaves the disk's cache alone.)
fn type_of(dir: &Dir) -> Option<String> {
    let about = read_to_string(format!("/proc/self/fdinfo/{}", dir.number())).ok()?;
    let mount = about
        .lines()
        .find_map(|line| line.strip_prefix("mnt_id:"))?
        .trim();
    let table = read_to_string("/proc/self/mountinfo").ok()?;
    let of_mount = |line: &&str| line.split(' ').next() == Some(mount);
    let (_, kind) = table.lines().find(of_mount)?.split_once(" - ")?;
    kind.split(' ').next().map(str::to_owned)
}

/// First two numbers of the kernel's version.
fn kernel() -> Option<(u32, u32)> {
    version(rustix::system::uname().release().to_str().ok()?)
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_tell_of_errors_is_synced_as_a_whole() {
        let (new, old) = (version("5.8.0-rc1"), version("4.18.0-553.el8_10.x86_64"));
        assert_eq!((new, old), (Some((5, 8)), Some((4, 18))));
        assert_eq!(version("next"), None);
        assert!(is_trusted(Some("xfs"), new));
        for (file_system, kernel) in [
            (Some("xfs"), old),
            (Some("xfs"), None),
            (Some("fuse.sshfs"), new),
            (Some("ext2"), new),
            (None, new),
        ] {
            assert!(
                !is_trusted(file_system, kernel),
                "{file_system:?} {kernel:?}"
            );
        }
    }
}
