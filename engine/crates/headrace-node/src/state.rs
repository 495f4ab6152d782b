//! Folders and files that must outlive a crash and that nobody else may read.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use headrace_core::sealed::SigningKey;
use rustix::fs::FlockOperation;

use crate::problem::{ControlCode, Problem};

/// A folder of mode 0700 that belongs to this account.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// Opens the folder, making it and its parents first where they are missing.
    ///
    /// # Errors
    /// `state_failed` when it can't be made, `config_invalid` when it belongs to another account.
    pub fn open(path: &Path) -> Result<Self, Problem> {
        let failed = |error: io::Error| Problem::state("make the folder", path, &error);
        make_folder(path).map_err(failed)?;
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            let message = format!(
                "the state folder `{}` belongs to another account",
                path.display()
            );
            return Err(Problem::new(ControlCode::ConfigInvalid, message));
        }
        if metadata.mode() & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        let path = path.canonicalize().map_err(failed)?;
        Ok(Self(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file or folder in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A folder of mode 0700 in it, made when it is missing.
    ///
    /// # Errors
    /// `state_failed`.
    pub fn dir(&self, name: &str) -> Result<PathBuf, Problem> {
        let path = self.join(name);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| Problem::state("make the folder", &path, &error))?;
        Ok(path)
    }

    /// Keep the folder for this process until the answer is dropped: two would write to the same journals.
    ///
    /// # Errors
    /// `state_failed`, also while another process has it.
    pub fn hold(&self) -> Result<Held, Problem> {
        let path = self.join("lock");
        let failed = |error: io::Error| Problem::state("lock", &path, &error);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Held(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let message = format!(
                    "another process runs the node in `{}`: end it, or give another `--state` folder",
                    self.0.display()
                );
                Err(Problem::new(ControlCode::StateFailed, message))
            }
            Err(error) => Err(failed(error.into())),
        }
    }

    /// The key in this file, made from the system's randomness on first use (mode 0600).
    ///
    /// # Errors
    /// `state_failed`, or `config_invalid` when the file holds no key or others may read it.
    pub fn key(&self, name: &str, owner: KeyOwner) -> Result<SigningKey, Problem> {
        let path = self.join(name);
        match read_key(&path, owner)? {
            Some(key) => Ok(key),
            None => write_new_key(&path),
        }
    }
}

/// A state folder that no other process may use.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "the lock goes when this is closed")] File);

/// Whose key a file holds: what to do when the file is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOwner {
    /// A node, which its service knows by it.
    Node,
    /// A hub, which its nodes know by it.
    Hub,
    /// A person who copies with `cp`.
    Person,
}

impl KeyOwner {
    const fn remedy(self) -> &'static str {
        match self {
            Self::Node => {
                "put it back from a backup; without one, let the node join again in an empty state folder with a token of \
                 `headrace ca rotate NODE`"
            }
            Self::Hub => {
                "put it back from a backup; without one, remove it: the next start makes another key, and each node joins \
                 again with a token of `headrace ca rotate NODE`"
            }
            Self::Person => {
                "put it back from a backup; without one, remove it, make another key with `headrace-node keygen`, and let \
                 those who accepted the former one accept that"
            }
        }
    }
}

/// The key in a file of mode 0600 that holds its seed as 64 hexadecimal digits; `None` when there is no such file.
///
/// # Errors
/// `config_invalid` when it holds no key or others may read it, `state_failed` when it can't be read.
pub fn read_key(path: &Path, owner: KeyOwner) -> Result<Option<SigningKey>, Problem> {
    let invalid = |what: &str| {
        Problem::new(
            ControlCode::ConfigInvalid,
            format!("the key file `{}` {what}", path.display()),
        )
    };
    remove_unfinished(path)?;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Problem::state("read the key file", path, &error)),
    };
    let failed = |error: io::Error| Problem::state("read the key file", path, &error);
    let metadata = file.metadata().map_err(failed)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(invalid(
            "may be read by others: `chmod 600` it, or make a new key",
        ));
    }
    let mut bytes = Vec::new();
    file.take(256).read_to_end(&mut bytes).map_err(failed)?;
    let seed: Option<headrace_core::value::Digest> = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.trim_end().parse().ok());
    let damaged = || {
        let what = match metadata.len() {
            0 => "is empty".to_owned(),
            bytes => format!("holds no key, but {bytes} bytes that are not its 64 digits"),
        };
        invalid(&format!("{what}: {}", owner.remedy()))
    };
    Ok(Some(SigningKey::from_seed(&seed.ok_or_else(damaged)?.0)))
}

/// Makes a key from the system's randomness in a new file of mode 0600. After a crash or a loss of power at any moment the file is whole or
/// not there; what was written beside it by then goes with the next key that is made or read there.
///
/// # Errors
/// `state_failed`, also when the file exists.
pub fn write_new_key(path: &Path) -> Result<SigningKey, Problem> {
    let key = random_key()?;
    let text = format!("{}\n", headrace_core::value::Digest(key.seed()));
    remove_unfinished(path)?;
    let unfinished = unfinished_beside(path)?;
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // Never over a key that is there.
        let named = fs::hard_link(&unfinished, path);
        fs::remove_file(&unfinished)?;
        named?;
        sync_parent(path)
    })();
    written.map_err(|error| Problem::state("write the key file", path, &error))?;
    Ok(key)
}

const UNFINISHED: &str = ".unfinished";

/// A name of no two writers, so that none gives the name to what another one still writes.
fn unfinished_beside(path: &Path) -> Result<PathBuf, Problem> {
    let unique = headrace_core::value::Digest(random_bytes()?);
    Ok(unfinished_name(path, &unique.to_string()))
}

fn unfinished_name(path: &Path, unique: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}{UNFINISHED}", &unique[..16]));
    path.with_file_name(name)
}

/// Removes what a process that ended while it made this key has left beside it. A folder that can't be listed is left alone.
pub(crate) fn remove_unfinished(path: &Path) -> Result<(), Problem> {
    let folder = parent(path);
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    let prefix = [path.file_name().unwrap_or_default().as_bytes(), b"."].concat();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let unique = name.as_bytes().strip_prefix(prefix.as_slice());
        let unique = unique.and_then(|rest| rest.strip_suffix(UNFINISHED.as_bytes()));
        if unique.is_some_and(|unique| unique.len() == 16) {
            let left = folder.join(&name);
            remove(&left)?;
            tracing::info!(
                "removed `{}`, a key that was never finished",
                left.display()
            );
        }
    }
    Ok(())
}

/// A key from the system's randomness.
///
/// # Errors
/// `state_failed` when the system has none.
pub fn random_key() -> Result<SigningKey, Problem> {
    Ok(SigningKey::from_seed(&random_bytes()?))
}

/// Bytes from the system's randomness.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| {
        Problem::new(
            ControlCode::StateFailed,
            format!("the system gives no randomness: {error}"),
        )
    })?;
    Ok(bytes)
}

/// An id such as `tr_…` from the system's randomness.
pub(crate) fn random_id(prefix: &str) -> Result<String, Problem> {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random_bytes::<16>()?);
    Ok(format!("{prefix}_{text}"))
}

/// Replaces a file (mode 0600) so that after a power loss it holds the new bytes; until then the old ones, whole.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    replace_durably(path, 0o600, |file| file.write_all(bytes))
}

/// As `write_durably`, with what `write` writes, in a file of this mode (less the umask).
pub(crate) fn replace_durably(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Problem> {
    let unfinished = unfinished_beside(path)?;
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&unfinished)?;
        write(&mut file)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        sync_parent(path)
    })();
    written.map_err(|error| {
        // A full disk needs the room; after the rename it is not there any more.
        drop(fs::remove_file(&unfinished));
        Problem::state("write", path, &error)
    })
}

/// Removes a file; it is no error when it is gone already.
pub(crate) fn remove(path: &Path) -> Result<(), Problem> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Problem::state("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Reads a file of our own of at most `max_bytes`.
pub(crate) fn read_bounded(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "longer than it may be",
        ));
    }
    Ok(bytes)
}

pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent();
    // Of a bare name it is empty.
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Makes a folder of mode 0700, with those above it that are missing. Their names are durable: what is kept in it must not go with them.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let missing = path.ancestors().take_while(|folder| {
        !folder.as_os_str().is_empty() && matches!(folder.try_exists(), Ok(false))
    });
    let missing: Vec<&Path> = missing.collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)?;
    missing.into_iter().try_for_each(sync_parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept_from_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(&folder.path().join("a/b")).expect("a state folder");
        assert_eq!(
            fs::metadata(state.path()).expect("there").mode() & 0o777,
            0o700
        );
        let key = state.key("node.key", KeyOwner::Node).expect("a key");
        assert_eq!(
            state
                .key("node.key", KeyOwner::Node)
                .expect("the same key")
                .public(),
            key.public()
        );
        let path = state.join("node.key");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o600);

        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("own file");
        assert_eq!(
            state
                .key("node.key", KeyOwner::Node)
                .expect_err("refused")
                .code,
            "config_invalid"
        );
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("own file");
        for (content, what) in [("", "is empty"), ("not a key", "9 bytes")] {
            fs::write(&path, content).expect("own file");
            let refused = state.key("node.key", KeyOwner::Node).expect_err("refused");
            assert_eq!(refused.code, "config_invalid");
            for part in [what, "node.key", "backup", "ca rotate NODE"] {
                assert!(refused.message.contains(part), "{refused}");
            }
            assert_eq!(fs::read_to_string(&path).expect("there"), content);
        }
    }

    #[test]
    fn what_is_left_of_a_key_that_was_never_finished_goes_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        let left = [
            "node.key.0123456789abcdef.unfinished",
            "node.key.fedcba9876543210.unfinished",
        ];
        let others = [
            "node.key.unfinished",
            "hub.key.0123456789abcdef.unfinished",
            "node.key.backup",
        ];
        for name in left.iter().chain(&others) {
            fs::write(state.join(name), "").expect("own file");
        }
        let there = |names: &[&str]| {
            names
                .iter()
                .filter(|name| state.join(name).exists())
                .count()
        };
        let made = state.key("node.key", KeyOwner::Node).expect("made");
        assert_eq!((there(&left), there(&others)), (0, 3));
        // Cut off after it had its name.
        fs::hard_link(state.join("node.key"), state.join(left[0])).expect("own file");
        let read = state.key("node.key", KeyOwner::Node).expect("read");
        assert_eq!((read.public(), there(&left)), (made.public(), 0));
    }

    #[test]
    fn a_new_key_never_replaces_one_that_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let first = write_new_key(&path).expect("made");
        assert_eq!(
            write_new_key(&path).expect_err("refused").code,
            "state_failed"
        );
        let kept = read_key(&path, KeyOwner::Person)
            .expect("read")
            .expect("there");
        assert_eq!(kept.public(), first.public());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_state_folder_is_held_by_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        let held = state.hold().expect("held");
        assert_eq!(state.hold().expect_err("refused").code, "state_failed");
        drop(held);
        state.hold().expect("free again");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.json");
        write_durably(&path, b"one").expect("written");
        write_durably(&path, b"two").expect("written");
        assert_eq!(read_bounded(&path, 3).expect("read"), b"two");
        assert!(read_bounded(&path, 2).is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn two_who_write_a_file_at_once_each_write_it_whole_and_who_fails_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.json");
        let written = replace_durably(&path, 0o600, |file| {
            file.write_all(b"the ")?;
            write_durably(&path, b"another").expect("written meanwhile");
            assert_eq!(fs::read(&path)?, b"another");
            file.write_all(b"last")
        });
        written.expect("written");
        assert_eq!(fs::read(&path).expect("read"), b"the last");
        let full = |_: &mut File| Err(io::Error::from(io::ErrorKind::StorageFull));
        replace_durably(&path, 0o600, full).expect_err("a full disk");
        assert_eq!(fs::read(&path).expect("read"), b"the last");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
