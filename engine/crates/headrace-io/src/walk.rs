//! Walks a folder tree in the order of component lists, with bounded memory.

use std::fmt;
use std::io;

use headrace_core::entry::{Entry, Kind};
use headrace_core::name::{Component, NameError, RelPath};
use thiserror::Error;

use crate::root::{Dir, Root};

/// What a walk may cost at most.
#[derive(Clone, Copy)]
pub struct WalkLimits<'a> {
    /// Entries after which the walk ends with [`WalkProblem::TooManyEntries`].
    pub max_entries: u64,
    /// Bytes of names held at once: those of the folders on the way down that are not visited yet. A folder that does not fit is
    /// reported and left out. The default of 256 MiB holds several million names; raise it for larger single folders.
    pub max_names_bytes: usize,
    /// Whether to go on: asked while the names of one folder are read and sorted, which takes seconds where there are millions. What it
    /// answers is what that folder could not be read for; between entries, who walks asks.
    pub go_on: &'a dyn Fn() -> io::Result<()>,
}

impl Default for WalkLimits<'_> {
    fn default() -> Self {
        Self {
            max_entries: u64::MAX,
            max_names_bytes: 256 << 20,
            go_on: &|| Ok(()),
        }
    }
}

impl fmt::Debug for WalkLimits<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WalkLimits")
            .field("max_entries", &self.max_entries)
            .field("max_names_bytes", &self.max_names_bytes)
            .finish_non_exhaustive()
    }
}

/// So many names are sorted at once, without a question in between.
const SORTED_AT_ONCE: usize = 1 << 20;

/// Visit everything below `start`: depth first, siblings ordered by raw bytes, so the whole order is that of [`RelPath`].
///
/// Paths of entries are relative to `start`. A folder is not listed itself, only what it holds; a file or symlink is one entry with
/// the empty path. Symlinks are not followed, our own temporaries are left out. A folder that cannot be read is an error item at its
/// place, and the walk goes on.
#[must_use]
pub fn walk<'a>(root: &Root, start: &RelPath, limits: WalkLimits<'a>) -> Walk<'a> {
    let mut walk = Walk {
        limits,
        visited: 0,
        names_bytes: 0,
        levels: Vec::new(),
        pending: None,
        first: None,
        over: false,
    };
    match root.entry(start) {
        Ok(Some(entry)) if entry.kind == Kind::Dir => match root.dir(start) {
            Ok(dir) => walk.pending = Some((dir, RelPath::root())),
            Err(error) => walk.first = Some(Err(WalkError::new(RelPath::root(), error))),
        },
        Ok(Some(entry)) => {
            walk.first = Some(Ok(Entry {
                path: RelPath::root(),
                ..entry
            }));
        }
        Ok(None) => {
            walk.first = Some(Err(WalkError::new(
                RelPath::root(),
                io::ErrorKind::NotFound.into(),
            )));
        }
        Err(error) => walk.first = Some(Err(WalkError::new(RelPath::root(), error))),
    }
    walk
}

/// A walk under way; see [`walk`].
pub struct Walk<'a> {
    limits: WalkLimits<'a>,
    visited: u64,
    names_bytes: usize,
    levels: Vec<Level>,
    /// The folder that was returned last, to be listed before anything else.
    pending: Option<(Dir, RelPath)>,
    first: Option<Result<Entry, WalkError>>,
    over: bool,
}

/// A folder on the way down, with the names in it that are still to be visited.
struct Level {
    dir: Dir,
    path: RelPath,
    names: Names,
}

impl Walk<'_> {
    /// Do not descend into the folder that was returned last.
    pub fn prune(&mut self) {
        self.pending = None;
    }

    fn descend(&mut self, dir: Dir, path: RelPath) -> Result<(), WalkError> {
        let budget = self.limits.max_names_bytes.saturating_sub(self.names_bytes);
        let mut names = match Names::read(&dir, budget, self.limits.go_on) {
            Ok(Some(names)) => names,
            Ok(None) => {
                let max_bytes = self.limits.max_names_bytes;
                let problem = WalkProblem::FolderTooLarge { max_bytes };
                return Err(WalkError { path, problem });
            }
            Err(error) => return Err(WalkError::new(path, error)),
        };
        // Reported here and not at their place: they have no path to be reported under.
        let too_long = names.remove_too_long(&path);
        self.names_bytes += names.bytes();
        self.levels.push(Level {
            dir,
            path: path.clone(),
            names,
        });
        too_long.map_or(Ok(()), |error| {
            Err(WalkError {
                path,
                problem: WalkProblem::Name(error),
            })
        })
    }

    fn visit(&mut self) -> Option<Result<Entry, WalkError>> {
        loop {
            let level = self.levels.last_mut()?;
            let Some(name) = level.names.pop() else {
                self.names_bytes -= level.names.bytes();
                self.levels.pop();
                continue;
            };
            let Ok(path) = join(&level.path, name) else {
                continue;
            };
            match level.dir.entry(name, path.clone()) {
                Ok(Some(entry)) => {
                    if entry.kind == Kind::Dir {
                        match level.dir.dir(name) {
                            Ok(dir) => self.pending = Some((dir, path)),
                            Err(error) => return Some(Err(WalkError::new(path, error))),
                        }
                    }
                    return Some(Ok(entry));
                }
                // It vanished between listing and looking: it is not part of what is here.
                Ok(None) => {}
                Err(error) => return Some(Err(WalkError::new(path, error))),
            }
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Entry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let item = match self.first.take() {
            Some(item) => Some(item),
            None => match self
                .pending
                .take()
                .map(|(dir, path)| self.descend(dir, path))
            {
                Some(Err(error)) => Some(Err(error)),
                _ => self.visit(),
            },
        };
        if item.as_ref().is_some_and(Result::is_ok) {
            self.visited += 1;
            if self.visited > self.limits.max_entries {
                self.over = true;
                let problem = WalkProblem::TooManyEntries {
                    max_entries: self.limits.max_entries,
                };
                return Some(Err(WalkError {
                    path: RelPath::root(),
                    problem,
                }));
            }
        }
        item
    }
}

impl fmt::Debug for Walk<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Walk")
            .field("visited", &self.visited)
            .field("depth", &self.levels.len())
            .finish_non_exhaustive()
    }
}

/// The names of one folder in one allocation, sorted so that the next one is at the end of `order`.
struct Names {
    bytes: Vec<u8>,
    /// Start and length of each name in `bytes`.
    order: Vec<(u32, u8)>,
    reserved: usize,
}

impl Names {
    /// `None` when they take more than `budget` bytes.
    fn read(
        dir: &Dir,
        budget: usize,
        go_on: &dyn Fn() -> io::Result<()>,
    ) -> io::Result<Option<Self>> {
        let mut names = Self {
            bytes: Vec::new(),
            order: Vec::new(),
            reserved: 0,
        };
        let (mut fits, mut goes_on) = (true, Ok(()));
        dir.names(|name| {
            goes_on = go_on();
            if goes_on.is_err() {
                return false;
            }
            let (start, length) = (u32::try_from(names.bytes.len()), u8::try_from(name.len()));
            let (Ok(start), Ok(length)) = (start, length) else {
                fits = false;
                return false;
            };
            names.bytes.extend_from_slice(name);
            names.order.push((start, length));
            fits = names.size() <= budget;
            fits
        })?;
        goes_on?;
        if !fits {
            return Ok(None);
        }
        names.reserved = names.size();
        names.sort(SORTED_AT_ONCE, go_on)?;
        Ok(Some(names))
    }

    /// Sort `at_once` of them, and then merge what is sorted in pairs: nothing of that takes long, and before each `go_on` is asked.
    fn sort(&mut self, at_once: usize, go_on: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
        let Self { bytes, order, .. } = self;
        let falling =
            |left: &(u32, u8), right: &(u32, u8)| name_at(bytes, *right).cmp(name_at(bytes, *left));
        for piece in order.chunks_mut(at_once) {
            go_on()?;
            piece.sort_unstable_by(falling);
        }
        let mut sorted = at_once;
        while sorted < order.len() {
            sorted *= 2;
            for pair in order.chunks_mut(sorted) {
                go_on()?;
                // This finds the two sorted halves, and merges them.
                pair.sort_by(falling);
            }
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<&[u8]> {
        self.order.pop().map(|place| name_at(&self.bytes, place))
    }

    /// Leave out the names that make no path in the folder at `path`, and say what is wrong with one of them.
    fn remove_too_long(&mut self, path: &RelPath) -> Option<NameError> {
        let mut problem = None;
        let bytes = &self.bytes;
        self.order
            .retain(|place| match join(path, name_at(bytes, *place)) {
                Ok(_) => true,
                Err(error) => {
                    problem = Some(error);
                    false
                }
            });
        problem
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.order.len() * size_of::<(u32, u8)>()
    }

    /// What this folder took from the budget.
    fn bytes(&self) -> usize {
        self.reserved
    }
}

fn join(folder: &RelPath, name: &[u8]) -> Result<RelPath, NameError> {
    folder.join(&Component::new(name)?)
}

fn name_at(bytes: &[u8], (start, length): (u32, u8)) -> &[u8] {
    &bytes[start as usize..][..usize::from(length)]
}

/// Something in the tree that could not be visited.
#[derive(Debug, Error)]
#[error("`{path}`: {problem}")]
pub struct WalkError {
    /// The folder or entry, relative to the start of the walk.
    pub path: RelPath,
    /// What is wrong with it.
    pub problem: WalkProblem,
}

impl WalkError {
    fn new(path: RelPath, error: io::Error) -> Self {
        Self {
            path,
            problem: WalkProblem::Io(error),
        }
    }
}

/// What keeps a walk from visiting something.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WalkProblem {
    /// The kernel refused.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// A name in this folder makes the path too long or too deep.
    #[error("{0}")]
    Name(#[source] NameError),
    /// The names of the folder do not fit into the limit.
    #[error("the names in this folder take more than {max_bytes} bytes")]
    FolderTooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// The walk ended early.
    #[error("more than {max_entries} entries")]
    TooManyEntries {
        /// The limit.
        max_entries: u64,
    },
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use headrace_core::access::Access;

    fn visit(folder: &Path, start: &str, limits: WalkLimits<'_>) -> Vec<Result<Entry, WalkError>> {
        let root = Root::open("data", folder, Access::Read).expect("a folder");
        walk(
            &root,
            &RelPath::from_bytes(start.as_bytes()).expect("a path"),
            limits,
        )
        .collect()
    }

    fn paths(items: &[Result<Entry, WalkError>]) -> Vec<Vec<u8>> {
        items
            .iter()
            .map(|item| item.as_ref().expect("readable").path.as_bytes().to_vec())
            .collect()
    }

    #[test]
    fn the_order_is_that_of_component_lists() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a/z", "a!", "a.b/c", "a/b/deep", "Z"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, b"x").expect("a file");
        }
        std::fs::write(folder.path().join(OsStr::from_bytes(b"\xff\n%")), b"x").expect("a file");
        std::fs::write(folder.path().join(".headrace-part-tr_1-1"), b"x").expect("a file");
        symlink("..", folder.path().join("up")).expect("a symlink");
        let items = visit(folder.path(), "", WalkLimits::default());
        let paths = paths(&items);
        let expected: [&[u8]; 10] = [
            b"Z",
            b"a",
            b"a/b",
            b"a/b/deep",
            b"a/z",
            b"a!",
            b"a.b",
            b"a.b/c",
            b"up",
            b"\xff\n%",
        ];
        assert_eq!(paths, expected);
        let ordered: Vec<RelPath> = paths
            .iter()
            .map(|path| RelPath::from_bytes(path).expect("a path"))
            .collect();
        assert!(ordered.is_sorted());
    }

    #[test]
    fn a_file_or_symlink_is_one_entry_without_components() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("five"), b"12345").expect("a file");
        symlink("five", folder.path().join("link")).expect("a symlink");
        for (start, kind) in [("five", Kind::File), ("link", Kind::Symlink)] {
            let items = visit(folder.path(), start, WalkLimits::default());
            let [Ok(entry)] = &items[..] else {
                panic!("one entry expected, not {items:?}")
            };
            assert!(entry.path.is_root());
            assert_eq!(entry.kind, kind);
        }
        assert!(matches!(
            &visit(folder.path(), "none", WalkLimits::default())[..],
            [Err(_)]
        ));
    }

    #[test]
    fn limits_end_the_walk_or_leave_a_folder_out() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("big")).expect("a folder");
        for number in 0..100 {
            std::fs::write(folder.path().join(format!("big/{number:03}")), b"").expect("a file");
        }
        std::fs::write(folder.path().join("c"), b"").expect("a file");
        let limits = WalkLimits {
            max_entries: 10,
            ..WalkLimits::default()
        };
        let items = visit(folder.path(), "", limits);
        assert_eq!(items.len(), 11);
        assert!(matches!(
            items.last(),
            Some(Err(WalkError {
                problem: WalkProblem::TooManyEntries { .. },
                ..
            }))
        ));

        let limits = WalkLimits {
            max_names_bytes: 200,
            ..WalkLimits::default()
        };
        let items = visit(folder.path(), "", limits);
        assert!(matches!(
            &items[..],
            [
                Ok(_),
                Err(WalkError {
                    problem: WalkProblem::FolderTooLarge { .. },
                    ..
                }),
                Ok(_)
            ]
        ));
    }

    #[test]
    fn a_large_folder_is_read_and_sorted_no_further_than_somebody_says_stop() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..20 {
            std::fs::write(folder.path().join(format!("{number:02}")), b"").expect("a file");
        }
        let root = Root::open("data", folder.path(), Access::Read).expect("a folder");
        // For each name, and before they are sorted.
        for most in 0..21 {
            let asked = Cell::new(0);
            let go_on = || {
                asked.set(asked.get() + 1);
                if asked.get() <= most {
                    return Ok(());
                }
                Err(io::ErrorKind::Interrupted.into())
            };
            let limits = WalkLimits {
                go_on: &go_on,
                ..WalkLimits::default()
            };
            let items: Vec<_> = walk(&root, &RelPath::root(), limits).collect();
            let [Err(error)] = &items[..] else {
                panic!("it was stopped: {items:?}")
            };
            assert!(error.path.is_root(), "{error}");
            assert_eq!(asked.get(), most + 1);
        }
    }

    #[test]
    fn names_are_sorted_in_pieces_between_which_somebody_may_say_stop() {
        let names = |count: u32| {
            let mut names = Names {
                bytes: Vec::new(),
                order: Vec::new(),
                reserved: 0,
            };
            for number in 0..count {
                let name = format!("{:05}", number.wrapping_mul(7919) % 10_007);
                let start = u32::try_from(names.bytes.len()).expect("short");
                names.bytes.extend_from_slice(name.as_bytes());
                names.order.push((start, 5));
            }
            names
        };
        for count in [0, 1, 7, 8, 9, 16, 17, 100, 1000] {
            let (mut names, asked) = (names(count), Cell::new(0));
            let go_on = || {
                asked.set(asked.get() + 1);
                Ok(())
            };
            names.sort(8, &go_on).expect("sorted");
            let mut sorted = Vec::new();
            while let Some(name) = names.pop() {
                sorted.push(name.to_vec());
            }
            assert!(sorted.is_sorted() && sorted.len() == count as usize);
            assert!(asked.get() >= count / 8, "{count}: {}", asked.get());
        }
        let asked = Cell::new(0);
        let stopped = names(100).sort(8, &|| {
            asked.set(asked.get() + 1);
            if asked.get() <= 15 {
                return Ok(());
            }
            Err(io::ErrorKind::Interrupted.into())
        });
        stopped.expect_err("stopped while it merged");
        assert_eq!(asked.get(), 16);
    }

    #[test]
    fn a_pruned_folder_is_not_entered() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("folders");
        std::fs::write(folder.path().join("c"), b"").expect("a file");
        let root = Root::open("data", folder.path(), Access::Read).expect("a folder");
        let mut walk = walk(&root, &RelPath::root(), WalkLimits::default());
        let mut seen = Vec::new();
        while let Some(item) = walk.next() {
            let entry = item.expect("readable");
            if entry.kind == Kind::Dir {
                walk.prune();
            }
            seen.push(entry.path.escaped());
        }
        assert_eq!(seen, ["a", "c"]);
    }
}
