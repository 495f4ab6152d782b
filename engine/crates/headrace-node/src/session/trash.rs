//! Where a plan keeps what it deletes: a folder of its transfer in the trash of the root, below which every name has the path that it had.
//!
//! A name is moved there and never copied, so it takes no time and no space more than it had, and what is on another file system stays where
//! it is. The folders of the trash are made durable before those that a name was taken from: whenever the power goes, a name is here or there.
//! An attempt that is killed leaves the first of the two to the next one, which begins with it.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, OnceLock};

use headrace_core::entry::{Entry, Kind};
use headrace_core::name::{MAX_COMPONENT_BYTES, MAX_DEPTH, RelPath, TRASH_NAME};
use headrace_core::trash::TrashFolder;
use headrace_core::value::{Id, Label, Timestamp};
use headrace_io::storage::{Existing, Folder, Metadata, Removal, Target};
use parking_lot::Mutex;

use super::failures::{Permitted, asking};

/// So many folders are made durable together.
const MAX_TOUCHED: usize = 1024;
/// So often the folders of the trash are made again for one name, if somebody empties the trash meanwhile.
const MAX_EMPTIED: usize = 3;
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
    /// Whether the attempt may go on: what earlier ones moved may lie in any number of folders.
    pub permitted: Permitted,
}

/// A trash in which all is durable that earlier attempts of the transfer moved there.
pub struct SettledTrash {
    spec: TrashSpec,
}

/// The folder of one transfer in the trash of one root.
pub struct Trash {
    target: Arc<dyn Target>,
    name: String,
    folder: RelPath,
    /// Folders of it that are there, durably.
    made: Mutex<BTreeSet<RelPath>>,
    /// Folders of it that hold what is not durable there yet.
    touched: Mutex<BTreeSet<RelPath>>,
    /// Why what was moved here may never be durable here.
    lost: OnceLock<String>,
}

impl TrashSpec {
    /// Make durable what earlier attempts of the transfer moved to the trash. To be done before an attempt makes anything else below the root
    /// durable: that what they moved is gone where it was may be durable with it.
    ///
    /// # Errors
    /// What the storage answers, and what ends the attempt meanwhile. A trash that can't be entered is none: it says so when it is opened.
    pub fn settled(self) -> io::Result<SettledTrash> {
        if let Some(trash) = self.existing()? {
            let go_on = asking(&*self.permitted);
            let mut earlier = Vec::new();
            trash.names(&mut |name| {
                let is_ours =
                    TrashFolder::parse(name).is_some_and(|it| it.transfer == self.transfer);
                earlier.extend(is_ours.then(|| name.to_vec()));
                true
            })?;
            for name in earlier {
                let folder = trash.folder(&name)?;
                if !self.target.sync_file_system(folder.device())? {
                    sync_all(&*folder, 0, &go_on)?;
                }
            }
        }
        Ok(SettledTrash { spec: self })
    }

    /// The trash of the root, if there is one that can be entered.
    fn existing(&self) -> io::Result<Option<Arc<dyn Folder>>> {
        let top = self.target.folder(&RelPath::root())?;
        let found = top.entry(TRASH_NAME, RelPath::root())?;
        if found.is_none_or(|found| found.kind != Kind::Dir) {
            return Ok(None);
        }
        match top.folder(TRASH_NAME) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            found => found.map(Some),
        }
    }
}

impl SettledTrash {
    /// Make the folder, durably. One that an earlier attempt made is used again, and keeps all that it holds as long as what comes now.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn open(&self, now: Timestamp) -> io::Result<Trash> {
        let spec = &self.spec;
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
        Ok(Trash {
            target: Arc::clone(&spec.target),
            folder: folder.map_err(io::Error::other)?,
            name,
            made: Mutex::default(),
            touched: Mutex::default(),
            lost: OnceLock::new(),
        })
    }
}

impl Trash {
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
        self.check_settles()?;
        let name = path.file_name().unwrap_or_default();
        let to = self.place_of(&path.parent().unwrap_or_default())?;
        for _ in 0..=MAX_EMPTIED {
            match self.make(&to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.made.lock().clear();
                    continue;
                }
                made => made?,
            }
            match above.move_if(name, expected, &to) {
                // One that an earlier session took may not be durable here yet.
                Ok(taken @ (Removal::Gone | Removal::Absent)) => {
                    self.touch(to)?;
                    return Ok(taken);
                }
                // Either the name is gone, or somebody emptied the trash meanwhile: its folders are made again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if above.entry(name, RelPath::root())?.is_none() {
                        return Ok(Removal::Absent);
                    }
                    self.made.lock().clear();
                }
                // A loss of power has left the name in both places.
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists
                        && self.holds(&to, above, name)? =>
                {
                    self.touch(to)?;
                    return above.remove_if(name, expected);
                }
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    return Err(io::Error::new(
                        error.kind(),
                        "it is on another file system than the trash of its root, so it stays",
                    ));
                }
                other => return other,
            }
        }
        Err(emptied(io::ErrorKind::NotFound.into()))
    }

    /// Remove the folder `path` (below the root) from the folder `above`, if it is empty by now; here is one like it.
    ///
    /// # Errors
    /// What the storage answers; the folder stays then.
    pub fn take_folder(&self, above: &dyn Folder, path: &RelPath) -> io::Result<()> {
        self.check_settles()?;
        let name = path.file_name().unwrap_or_default();
        let was = above.entry(name, RelPath::root())?;
        let to = self.place_of(path)?;
        if self.target.folder(&to).is_err() {
            // Not made yet, or somebody emptied the trash meanwhile.
            self.made.lock().clear();
        }
        self.make(&to).map_err(emptied)?;
        // That the folder is gone may be durable before that what it held is here, which is nowhere then.
        if self.touched.lock().contains(&to) {
            self.settle()?;
        }
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
    /// What the storage answers, and from then on that it did: a sync that succeeds later says nothing of what was not written before.
    pub fn settle(&self) -> io::Result<()> {
        self.check_settles()?;
        self.sync_touched().inspect_err(|error| {
            let _ = self.lost.set(error.to_string());
        })
    }

    fn check_settles(&self) -> io::Result<()> {
        let told = |why| format!("the trash could not be made durable: {why}");
        self.lost
            .get()
            .map_or(Ok(()), |why| Err(io::Error::other(told(why))))
    }

    fn sync_touched(&self) -> io::Result<()> {
        let touched = std::mem::take(&mut *self.touched.lock());
        for folder in touched {
            match self.target.folder(&folder) {
                // Whoever emptied the trash meanwhile has what was in it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                found => found?.sync()?,
            }
        }
        Ok(())
    }

    /// Whether a name in this folder of the trash is of the same file as in another one.
    fn holds(&self, folder: &RelPath, other: &dyn Folder, name: &[u8]) -> io::Result<bool> {
        let here = self.target.folder(folder)?.inode_of(name)?;
        Ok(here.is_some() && here == other.inode_of(name)?)
    }

    /// Where here what has a path below the root is.
    fn place_of(&self, path: &RelPath) -> io::Result<RelPath> {
        self.folder.join_path(path).map_err(io::Error::other)
    }

    /// Make a folder here with all on its way, durably: a name that is moved into a folder which the power takes is lost.
    fn make(&self, path: &RelPath) -> io::Result<()> {
        if self.made.lock().contains(path) {
            return Ok(());
        }
        let rest = path.strip_prefix(&self.folder).unwrap_or_default();
        let (mut at, mut folder) = (self.folder.clone(), self.top()?);
        for name in rest.components() {
            let next = RelPath::from_bytes(name).and_then(|name| at.join_path(&name));
            at = next.map_err(io::Error::other)?;
            let is_new = ensure(&*folder, name)?;
            if is_new || !self.made.lock().contains(&at) {
                folder.sync()?;
            }
            folder = folder.folder(name)?;
            self.know(&at);
        }
        self.know(path);
        Ok(())
    }

    fn know(&self, path: &RelPath) {
        let mut made = self.made.lock();
        if made.len() >= MAX_TOUCHED {
            made.clear();
        }
        made.insert(path.clone());
    }

    /// The folder of the transfer, made again if somebody removed it.
    fn top(&self) -> io::Result<Arc<dyn Folder>> {
        match self.target.folder(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        self.made.lock().clear();
        let root = self.target.folder(&RelPath::root())?;
        ensure(&*root, TRASH_NAME)?;
        root.sync()?;
        let trash = root.folder(TRASH_NAME)?;
        ensure(&*trash, self.name.as_bytes())?;
        trash.sync()?;
        self.target.folder(&self.folder)
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

/// What is not found is the trash then, and never the name that was to go there: that one stays.
fn emptied(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("its trash was removed meanwhile, so it stays"),
        _ => error,
    }
}

/// Make a folder durable with all folders in it, of each name in which `go_on` is asked. Who removes them meanwhile has what they held.
fn sync_all(
    folder: &dyn Folder,
    depth: usize,
    go_on: &dyn Fn() -> io::Result<()>,
) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("a folder in the trash is too deep"));
    }
    let mut synced = Ok(());
    folder.names(&mut |name| {
        synced = go_on().and_then(|()| sync_below(folder, name, depth, go_on));
        synced.is_ok()
    })?;
    synced?;
    folder.sync()
}

fn sync_below(
    folder: &dyn Folder,
    name: &[u8],
    depth: usize,
    go_on: &dyn Fn() -> io::Result<()>,
) -> io::Result<()> {
    let found = folder.entry(name, RelPath::root())?;
    if found.is_none_or(|found| found.kind != Kind::Dir) {
        return Ok(());
    }
    match folder.folder(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        below => sync_all(&*below?, depth + 1, go_on),
    }
}

/// Make a folder, if nothing is there; whether it is new.
fn ensure(above: &dyn Folder, name: &[u8]) -> io::Result<bool> {
    match above.make_folder(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use headrace_core::code::{Code, Failure};
    use headrace_io::storage::simulated::{Disk, Errno};
    use headrace_io::storage::{Holding, Writing};

    use super::super::failures::answered;
    use super::*;

    fn open(spec: &TrashSpec) -> Trash {
        let settled = spec.clone().settled().expect("durable");
        settled.open(Timestamp::from_unix_ms(0)).expect("opened")
    }

    #[test]
    fn a_name_that_the_power_left_where_it_was_and_in_the_trash_is_taken_again() {
        let disk = Disk::default();
        let target: Arc<dyn Target> = Arc::new(disk.target("data"));
        let path = RelPath::from_bytes(b"a/x").expect("a path");
        let root = target.folder(&RelPath::root()).expect("the root");
        root.make_folder(b"a").expect("made");
        root.sync().expect("synced");
        let above = root.folder(b"a").expect("there");
        for name in [b"x", b"y"] {
            let part = above.create(name, Holding::Named, Writing::Buffered);
            part.expect("a file").sync().expect("synced");
        }
        above.sync().expect("synced");
        let spec = TrashSpec {
            target: Arc::clone(&target),
            transfer: "tr_1".parse().expect("an id"),
            keep_days: 30,
            permitted: Arc::new(|| Ok(())),
        };
        let take = || {
            let trash = open(&spec);
            let taken = trash.take(&*above, &path, &|_| true);
            trash.settle().expect("durable");
            taken.map_err(|error| error.kind())
        };
        assert_eq!(take(), Ok(Removal::Gone));
        // The trash is durable, and the folder that the name came from is not.
        disk.power_cycle(|| 0);
        assert!(above.inode_of(b"x").expect("readable").is_some());
        assert_eq!(take(), Ok(Removal::Gone));
        above.sync().expect("synced");
        assert!(above.inode_of(b"x").expect("readable").is_none());
        // What only has the name of something in the trash stays.
        above
            .rename(b"y", b"x", Existing::Keep)
            .expect("another file");
        assert_eq!(take(), Err(io::ErrorKind::AlreadyExists));
        assert!(above.inode_of(b"x").expect("readable").is_some());
    }

    /// A target with durable files in the folder `a` and at the top, and the trash of a transfer there.
    fn with_files(disk: &Disk) -> (Arc<dyn Folder>, Arc<dyn Folder>, TrashSpec) {
        let target: Arc<dyn Target> = Arc::new(disk.target("data"));
        let root = target.folder(&RelPath::root()).expect("the root");
        root.make_folder(b"a").expect("made");
        let above = root.folder(b"a").expect("there");
        for (folder, name) in [(&above, b"x"), (&above, b"y"), (&root, b"z")] {
            let part = folder.create(name, Holding::Named, Writing::Buffered);
            part.expect("a file").sync().expect("synced");
        }
        above.sync().expect("synced");
        root.sync().expect("synced");
        let spec = TrashSpec {
            target,
            transfer: "tr_1".parse().expect("an id"),
            keep_days: 30,
            permitted: Arc::new(|| Ok(())),
        };
        (root, above, spec)
    }

    fn path(text: &str) -> RelPath {
        RelPath::from_bytes(text.as_bytes()).expect("a path")
    }

    #[test]
    fn invariant_5_what_a_killed_attempt_moved_is_durable_before_anything_of_the_next_one() {
        for syncs_each in [false, true] {
            let disk = Disk::default();
            if syncs_each {
                disk.sync_each();
            }
            let (root, above, spec) = with_files(&disk);
            let trash = open(&spec);
            for (folder, name) in [(&above, "a/x"), (&above, "a/y"), (&root, "z")] {
                let taken = trash.take(&**folder, &path(name), &|_| true);
                assert_eq!(taken.expect("taken"), Removal::Gone);
            }
            root.remove_folder(b"a").expect("nothing is in it");
            // Killed here. The next attempt makes the root durable first of all, and the power goes.
            let settled = spec.clone().settled().expect("durable");
            root.sync().expect("synced");
            disk.power_cycle(|| 0);
            let trash = settled.open(Timestamp::from_unix_ms(0)).expect("opened");
            for name in ["a/x", "a/y", "z"] {
                let kept = trash.place_of(&path(name)).expect("a place");
                let kept = spec.target.folder(&kept.parent().expect("a folder"));
                let kept =
                    kept.and_then(|kept| kept.inode_of(path(name).file_name().expect("a name")));
                assert!(kept.is_ok_and(|kept| kept.is_some()), "{name} is nowhere");
            }
        }
    }

    #[test]
    fn invariant_5_a_folder_goes_only_when_what_it_held_is_durable_here() {
        for fate in 0..256u64 {
            let disk = Disk::default();
            let (_, above, spec) = with_files(&disk);
            let trash = open(&spec);
            for name in ["a/x", "a/y"] {
                let taken = trash.take(&*above, &path(name), &|_| true);
                assert_eq!(taken.expect("taken"), Removal::Gone);
            }
            let root = spec.target.folder(&RelPath::root()).expect("the root");
            trash.take_folder(&*root, &path("a")).expect("empty");
            // Each change has its own coin.
            let mut coins = std::iter::once(2).chain((0..).map(|bit| fate >> (bit % 8)));
            disk.power_cycle(|| coins.next().unwrap_or(0));
            for name in ["a/x", "a/y"] {
                let places = [path(name), trash.place_of(&path(name)).expect("a place")];
                let is_there = |place: &RelPath| {
                    let folder = spec.target.folder(&place.parent().expect("a folder"));
                    folder
                        .and_then(|it| it.inode_of(place.file_name().expect("a name")))
                        .is_ok_and(|found| found.is_some())
                };
                assert!(places.iter().any(is_there), "{name} is nowhere: {fate}");
            }
        }
    }

    #[test]
    fn what_can_not_be_made_durable_here_stays_so_and_nothing_more_is_moved() {
        let disk = Disk::default();
        let (_, above, spec) = with_files(&disk);
        let trash = open(&spec);
        let take = |name: &str| trash.take(&*above, &path(name), &|_| true);
        assert_eq!(take("a/x").expect("taken"), Removal::Gone);
        disk.fail_once(0, Errno::IO);
        trash.settle().expect_err("the disk failed");
        let said = trash.settle().expect_err("once is enough").to_string();
        assert!(said.contains("could not be made durable"), "{said}");
        take("a/y").expect_err("it would be nowhere");
        assert!(above.inode_of(b"y").expect("readable").is_some());
        trash
            .take_folder(&*above, &path("a/y"))
            .expect_err("neither");
        // The next attempt is told, too, as long as it is so.
        disk.fail_once(0, Errno::IO);
        assert!(spec.clone().settled().is_err());
        assert!(spec.settled().is_ok());
    }

    #[test]
    fn what_earlier_attempts_moved_is_made_durable_no_further_than_somebody_says_stop() {
        let disk = Disk::default();
        disk.sync_each();
        let (_, above, spec) = with_files(&disk);
        let take = |spec: &TrashSpec, name: &str| {
            let taken = open(spec).take(&*above, &path(name), &|_| true);
            assert_eq!(taken.expect("taken"), Removal::Gone);
        };
        take(&spec, "a/x");
        take(&spec, "a/y");
        // The folder, and the two files in it.
        for most in 0..3 {
            let asked = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&asked);
            let stopped = TrashSpec {
                permitted: Arc::new(move || {
                    if counted.fetch_add(1, Ordering::Relaxed) < most {
                        return Ok(());
                    }
                    Err(Failure::new(Code::Stopped, "enough"))
                }),
                ..spec.clone()
            };
            let stopped = stopped.settled().err().expect("stopped");
            assert_eq!(answered(&stopped).map(|it| it.code), Some(Code::Stopped));
            assert_eq!(asked.load(Ordering::Relaxed), most + 1);
        }
        assert!(spec.settled().is_ok());
    }

    #[test]
    fn a_trash_that_is_no_folder_holds_nothing_that_was_moved() {
        let disk = Disk::default();
        let (root, _, spec) = with_files(&disk);
        root.make_symlink(TRASH_NAME, b"a").expect("a symlink");
        let settled = spec.settled().expect("nothing to do");
        settled
            .open(Timestamp::from_unix_ms(0))
            .err()
            .expect("not a folder");
    }

    #[test]
    fn a_trash_that_somebody_empties_meanwhile_is_made_again_and_no_name_is_taken_for_gone() {
        let disk = Disk::default();
        let target: Arc<dyn Target> = Arc::new(disk.target("data"));
        let path = |text: &str| RelPath::from_bytes(text.as_bytes()).expect("a path");
        let root = target.folder(&RelPath::root()).expect("the root");
        root.make_folder(b"a").expect("made");
        let above = root.folder(b"a").expect("there");
        for name in [b"x", b"y"] {
            let part = above.create(name, Holding::Named, Writing::Buffered);
            part.expect("a file").sync().expect("synced");
        }
        let spec = TrashSpec {
            target: Arc::clone(&target),
            transfer: "tr_1".parse().expect("an id"),
            keep_days: 30,
            permitted: Arc::new(|| Ok(())),
        };
        let trash = open(&spec);
        let take = |name: &str| trash.take(&*above, &path(&format!("a/{name}")), &|_| true);
        let kept = format!(".headrace-trash/{}", trash.name());
        let held = || target.folder(&path(&format!("{kept}/a")));

        assert_eq!(take("x").expect("taken"), Removal::Gone);
        held().expect("made").remove(b"x").expect("emptied");
        let whole = target.folder(&path(&kept)).expect("made");
        whole.remove_folder(b"a").expect("emptied");
        let all = target.folder(&path(".headrace-trash")).expect("made");
        all.remove_folder(trash.name().as_str().as_bytes())
            .expect("emptied");

        assert_eq!(take("y").expect("taken"), Removal::Gone);
        let found = held().expect("made again").entry(b"y", RelPath::root());
        assert!(found.expect("readable").is_some(), "y is in the trash");
        let left = above.entry(b"y", RelPath::root()).expect("readable");
        assert!(left.is_none(), "y is where it was");
        assert_eq!(take("y").expect("gone before"), Removal::Absent);
        trash.settle().expect("durable");
    }
}
