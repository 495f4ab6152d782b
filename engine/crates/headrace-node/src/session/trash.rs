//! Where a plan keeps what it deletes: a folder of its transfer in the trash of the root, below which every name has the path that it had.
//!
//! A name is moved there and never copied, so it takes no time and no space more than it had, and what is on another file system stays where
//! it is. The folders of the trash are made durable before those that a name was taken from: whenever the power goes, a name is here or there.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use headrace_core::entry::Entry;
use headrace_core::name::{MAX_COMPONENT_BYTES, RelPath, TRASH_NAME};
use headrace_core::trash::TrashFolder;
use headrace_core::value::{Id, Label, Timestamp};
use headrace_io::storage::{Existing, Folder, Metadata, Removal, Target};
use parking_lot::Mutex;

/// So many folders are made durable together.
const MAX_TOUCHED: usize = 1024;
/// What a node needs to remove what a folder of the trash holds.
const OWN: u32 = 0o700;

/// What a trash is opened with.
#[derive(Clone)]
pub struct TrashSpec {
    /// The root.
    pub target: Arc<dyn Target>,
    /// Whose deletes it keeps.
    pub transfer: Id,
    /// For so many days at least.
    pub keep_days: u64,
}

/// The folder of one transfer in the trash of one root.
pub struct Trash {
    target: Arc<dyn Target>,
    name: String,
    folder: RelPath,
    /// Folders of it that are there, and those whose names are not durable yet.
    made: Mutex<BTreeSet<RelPath>>,
    touched: Mutex<BTreeSet<RelPath>>,
}

impl Trash {
    /// Make the folder, durably. One that an earlier attempt made is used again, and keeps all that it holds as long as what comes now.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn open(spec: &TrashSpec, now: Timestamp) -> io::Result<Self> {
        let top = spec.target.folder(&RelPath::root())?;
        ensure(&*top, TRASH_NAME)?;
        top.sync()?;
        let trash = top.folder(TRASH_NAME)?;
        let wanted = TrashFolder::new(spec.transfer.clone(), now, spec.keep_days);
        let mut found: Option<TrashFolder> = None;
        trash.names(&mut |name| {
            found = TrashFolder::parse(name).filter(|folder| folder.transfer == spec.transfer);
            found.is_none()
        })?;
        let folder = match found {
            Some(earlier) if earlier.until >= wanted.until => earlier,
            Some(earlier) => {
                let (from, to) = (earlier.name(), wanted.name());
                trash.rename(from.as_bytes(), to.as_bytes(), Existing::Keep)?;
                wanted
            }
            None => {
                ensure(&*trash, wanted.name().as_bytes())?;
                wanted
            }
        };
        trash.sync()?;
        let name = folder.name();
        let folder = RelPath::from_components([TRASH_NAME, name.as_bytes()]);
        Ok(Self {
            target: Arc::clone(&spec.target),
            folder: folder.map_err(io::Error::other)?,
            name,
            made: Mutex::default(),
            touched: Mutex::default(),
        })
    }

    /// Its name, as statements say it.
    pub fn name(&self) -> Label {
        debug_assert!(self.name.len() <= MAX_COMPONENT_BYTES, "a day and an id");
        self.name.parse().unwrap_or_default()
    }

    /// Move `path` (below the root), which is in the folder `above`, here, if it is what was `expected`.
    ///
    /// # Errors
    /// What the storage answers; the name stays where it is then.
    pub fn take(
        &self,
        above: &dyn Folder,
        path: &RelPath,
        expected: &dyn Fn(&Entry) -> bool,
    ) -> io::Result<Removal> {
        let to = self.place_of(&path.parent().unwrap_or_default())?;
        self.make(&to)?;
        let taken = above.move_if(path.file_name().unwrap_or_default(), expected, &to);
        match taken {
            Ok(Removal::Gone) => self.touch(to)?,
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                return Err(io::Error::new(
                    error.kind(),
                    "it is on another file system than the trash of its root, so it stays",
                ));
            }
            _ => {}
        }
        taken
    }

    /// Remove the folder `path` (below the root) from the folder `above`, if it is empty by now; here is one like it.
    ///
    /// # Errors
    /// What the storage answers; the folder stays then.
    pub fn take_folder(&self, above: &dyn Folder, path: &RelPath) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default();
        let was = above.entry(name, RelPath::root())?;
        let to = self.place_of(path)?;
        self.make(&to)?;
        above.remove_folder(name)?;
        if let Some(was) = was {
            let metadata = Metadata {
                mode: Some(was.mode & 0o777 | OWN),
                mtime_ns: Some(was.mtime_ns),
            };
            let set = self
                .target
                .folder(&to)
                .and_then(|folder| folder.set_metadata(metadata));
            if let Err(error) = set {
                tracing::debug!(%error, path = %to, "a folder in the trash has other times than it had");
            }
        }
        self.touch(to)
    }

    /// Make durable what was moved here. Only then may the folders be made durable from which it came.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn settle(&self) -> io::Result<()> {
        let touched = std::mem::take(&mut *self.touched.lock());
        for folder in touched {
            self.target.folder(&folder)?.sync()?;
        }
        Ok(())
    }

    /// Where here what has a path below the root is.
    fn place_of(&self, path: &RelPath) -> io::Result<RelPath> {
        self.folder.join_path(path).map_err(io::Error::other)
    }

    /// Make a folder here with all on its way.
    fn make(&self, path: &RelPath) -> io::Result<()> {
        if self.made.lock().contains(path) {
            return Ok(());
        }
        let rest = path.strip_prefix(&self.folder).unwrap_or_default();
        let (mut at, mut folder) = (self.folder.clone(), self.target.folder(&self.folder)?);
        for name in rest.components() {
            ensure(&*folder, name)?;
            self.touch(at.clone())?;
            folder = folder.folder(name)?;
            let next = RelPath::from_bytes(name).and_then(|name| at.join_path(&name));
            at = next.map_err(io::Error::other)?;
        }
        let mut made = self.made.lock();
        if made.len() >= MAX_TOUCHED {
            made.clear();
        }
        made.insert(path.clone());
        Ok(())
    }

    fn touch(&self, folder: RelPath) -> io::Result<()> {
        let mut touched = self.touched.lock();
        touched.insert(folder);
        if touched.len() < MAX_TOUCHED {
            return Ok(());
        }
        drop(touched);
        self.settle()
    }
}

/// Make a folder, if nothing is there.
fn ensure(above: &dyn Folder, name: &[u8]) -> io::Result<()> {
    match above.make_folder(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
