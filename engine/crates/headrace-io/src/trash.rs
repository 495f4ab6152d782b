//! The trash of a root: removing what was kept long enough.
//!
//! What transfers delete at a root lies in `.headrace-trash/` below it, in a folder for each transfer whose name says until when
//! ([`TrashFolder`]). Nothing but the name counts, so what is left of a crash is found by the next look.

use std::io;

use headrace_core::name::{MAX_DEPTH, RelPath, TRASH_NAME};
use headrace_core::trash::TrashFolder;
use headrace_core::value::Timestamp;
use rustix::fs::{AtFlags, FileType, RenameFlags, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use crate::root::{Dir, Root};

/// Names that are read from a folder at once.
const NAMES: usize = 1000;
/// Start of the name of a folder that is being removed: no transfer takes it for its own any more.
const REMOVING: &str = "expired-";

/// What one look at a trash did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Folders of transfers that were removed with all they held.
    pub removed: u64,
    /// Folders of transfers that are kept.
    pub kept: u64,
}

/// Remove from the trash of a root what was kept until `now`. No symlink is followed, and nothing is removed from another file system that is
/// mounted in there. Names that no node gave stay.
///
/// # Errors
/// What the kernel answers; what was removed before stays removed, and the rest is tried again by the next call.
pub fn sweep(root: &Root, now: Timestamp) -> io::Result<Swept> {
    let path = RelPath::from_bytes(TRASH_NAME).map_err(io::Error::other)?;
    let trash = match root.dir(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swept::default()),
        answer => answer?,
    };
    let device = trash.stat()?.st_dev;
    let mut names = Vec::new();
    trash.all_names(|name| {
        names.push(name.to_vec());
        true
    })?;
    let mut swept = Swept::default();
    let mut answer = Ok(());
    for name in names {
        let is_left = name
            .strip_prefix(REMOVING.as_bytes())
            .is_some_and(|rest| TrashFolder::parse(rest).is_some());
        let removing = match TrashFolder::parse(&name) {
            Some(folder) if folder.is_over(now) => set_apart(&trash, &name),
            Some(_) => {
                swept.kept += 1;
                continue;
            }
            None if is_left => Ok(name),
            None => continue,
        };
        // One that can't be removed holds up no other.
        match removing.and_then(|name| remove(&trash, &name, device, 0)) {
            Ok(()) => swept.removed += 1,
            Err(error) => answer = Err(error),
        }
    }
    answer.map(|()| swept)
}

/// Take a folder away from its transfer, which may be about to use it again.
fn set_apart(trash: &Dir, name: &[u8]) -> io::Result<Vec<u8>> {
    let removing = [REMOVING.as_bytes(), name].concat();
    let here = trash.acting()?;
    match renameat_with(&here, name, &here, &removing[..], RenameFlags::NOREPLACE) {
        // Where that is not known nothing is exchanged either.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::renameat(&here, name, &here, &removing[..])?;
        }
        answer => answer?,
    }
    Ok(removing)
}

/// Remove a folder with all it holds.
fn remove(above: &Dir, name: &[u8], device: u64, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("a folder in the trash is too deep"));
    }
    let folder = above.dir(name)?;
    if folder.stat()?.st_dev != device {
        return Err(io::Error::other(
            "another file system is mounted in the trash",
        ));
    }
    loop {
        let mut names = Vec::new();
        folder.all_names(|name| {
            names.push(name.to_vec());
            names.len() < NAMES
        })?;
        if names.is_empty() {
            break;
        }
        for name in names {
            let stat = statat(folder.acting()?, &name[..], AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                remove(&folder, &name, device, depth + 1)?;
            } else {
                unlinkat(folder.acting()?, &name[..], AtFlags::empty())?;
            }
        }
    }
    Ok(unlinkat(above.acting()?, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use headrace_core::access::Access;

    use super::*;

    const NOW: &str = "2026-12-27T00:00:00Z";

    fn swept(folder: &Path) -> io::Result<Swept> {
        let root = Root::open("data", folder, Access::Delete).expect("a root");
        sweep(&root, NOW.parse().expect("a time"))
    }

    fn put(path: &Path) {
        std::fs::create_dir_all(path.parent().expect("above")).expect("made");
        std::fs::write(path, b"kept").expect("written");
    }

    #[test]
    fn what_was_kept_long_enough_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(swept(folder.path()).expect("none"), Swept::default());
        let trash = folder.path().join(".headrace-trash");
        for name in [
            "2026-12-27-tr_1/run/deep/a",
            "2026-12-27-tr_1/run/b",
            "expired-2026-12-26-tr_2/c",
            "2026-12-28-tr_3/d",
            "somebody's/e",
        ] {
            put(&trash.join(name));
        }
        let once = swept(folder.path()).expect("swept");
        assert_eq!(
            once,
            Swept {
                removed: 2,
                kept: 1
            }
        );
        let mut left: Vec<_> = std::fs::read_dir(&trash)
            .expect("there")
            .map(|entry| entry.expect("a name").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["2026-12-28-tr_3", "somebody's"]);
        assert!(trash.join("2026-12-28-tr_3/d").exists());
    }

    #[test]
    fn a_symlink_in_the_trash_is_removed_and_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = tempfile::tempdir().expect("another");
        put(&outside.path().join("precious"));
        let trash = folder.path().join(".headrace-trash");
        put(&trash.join("2026-12-27-tr_1/a"));
        symlink(outside.path(), trash.join("2026-12-27-tr_1/out")).expect("a symlink");
        symlink(outside.path(), trash.join("2026-12-26-tr_2")).expect("a symlink");
        // The second is no folder of a transfer, whatever it is called.
        assert!(swept(folder.path()).is_err());
        assert!(!trash.join("2026-12-27-tr_1").exists());
        assert!(outside.path().join("precious").exists());
        std::fs::remove_dir_all(&trash).expect("removed");
        symlink(outside.path(), &trash).expect("a symlink");
        put(&outside.path().join("2026-12-26-tr_2/precious"));
        assert!(swept(folder.path()).is_err());
        assert!(outside.path().join("2026-12-26-tr_2/precious").exists());
    }
}
