//! What has to hold after the power was cut, and at the end.

use std::collections::{BTreeMap, BTreeSet};

use headrace_core::entry::{Entry, Kind};
use headrace_core::name::{RelPath, TRASH_NAME};
use headrace_core::ticket::Preserve;
use headrace_io::storage::Target;

use super::super::spec::Finished;
use super::Promises;
use super::case::{Case, OLD, Random, SUPERFLUOUS, destination};

impl Case {
    /// Every final name holds the whole file or does not exist, and what was promised exists.
    pub(super) fn check(&self, promises: &Promises) {
        for (file, (entry, content)) in (0..).zip(&self.source.entries) {
            let path = entry.path.clone();
            if entry.kind == Kind::File {
                match self.data.content(&destination(&path)) {
                    Some(found) if found == OLD && self.replaces(entry) => assert!(
                        !promises.done.contains(&file),
                        "`{path}` was done and is as before"
                    ),
                    Some(found) => {
                        assert!(found == *content, "`{path}` is half there");
                        self.check_metadata(entry);
                    }
                    None => assert!(
                        !promises.done.contains(&file) && !self.replaces(entry),
                        "`{path}` is gone"
                    ),
                }
            }
        }
    }

    /// What is to be deleted is there, or in the trash, or gone when all that was to be copied is there.
    pub(super) fn check_deletes(&self) {
        let is_copied = |(entry, content): &(Entry, Vec<u8>)| {
            entry.kind != Kind::File
                || self.data.content(&destination(&entry.path)).as_ref() == Some(content)
        };
        for name in SUPERFLUOUS.iter().filter(|_| self.deletes) {
            let path = destination(&RelPath::from_bytes(name.as_bytes()).expect("a path"));
            if let Some(found) = self.data.content(&path) {
                assert_eq!(found, OLD, "`{path}` is half there");
                continue;
            }
            assert!(
                self.source.entries.iter().all(is_copied),
                "`{path}` was deleted before all was copied"
            );
            if self.execution.trash.is_some() {
                let kept = self.trashed(&path);
                assert_eq!(kept.as_deref(), Some(OLD), "`{path}` is nowhere");
            }
        }
    }

    /// What the trash holds of a path.
    fn trashed(&self, path: &RelPath) -> Option<Vec<u8>> {
        let trash = RelPath::from_bytes(TRASH_NAME).expect("a name");
        let mut all = Vec::new();
        let listed = self.data.folder(&trash).ok()?.names(&mut |name| {
            all.push(RelPath::from_bytes(name).expect("a name"));
            true
        });
        listed.expect("readable");
        all.iter().find_map(|kept| {
            let at = trash.join_path(kept).and_then(|at| at.join_path(path));
            self.data.content(&at.expect("short"))
        })
    }

    fn check_metadata(&self, entry: &Entry) {
        let path = destination(&entry.path);
        let folder = self
            .data
            .folder(&path.parent().expect("below the root"))
            .expect("there");
        let found = folder
            .entry(path.file_name().expect("a name"), RelPath::root())
            .expect("readable")
            .expect("there");
        if self.execution.preserve.contains(&Preserve::Mtime) {
            assert_eq!(
                (found.mtime_ns, found.mode),
                (entry.mtime_ns, entry.mode),
                "`{path}` has other metadata"
            );
        }
    }

    /// After a finished session everything is there for good, and nothing else.
    pub(super) fn check_end(&self, finished: &Finished, promises: &Promises, random: &mut Random) {
        assert_eq!(finished.totals.failed, 0);
        self.disk.cut_after(0);
        self.disk.power_cycle(|| random.next());
        let everything = Promises {
            done: (0..self.source.entries.len() as u64).collect(),
            units: BTreeSet::new(),
        };
        self.check(&everything);
        self.check_deletes();
        let mut names = BTreeMap::new();
        self.collect(&destination(&RelPath::root()), &mut names);
        if self.fails {
            // What a disk failed to remove stays, and the log says so.
            names.retain(|path, _| !path.has_part());
        }
        let expected: BTreeMap<RelPath, Kind> = self
            .source
            .entries
            .iter()
            .map(|(entry, _)| (destination(&entry.path), entry.kind))
            .collect();
        assert_eq!(names, expected);
        let list = std::fs::read_to_string(&finished.files_list).expect("a list");
        for file in &promises.done {
            let name = format!(
                "{:?}",
                self.entry(*file)
                    .path
                    .components()
                    .map(String::from_utf8_lossy)
                    .collect::<Vec<_>>()
            );
            let path = format!("\"path\":{},", name.replace(' ', ""));
            let line = list
                .lines()
                .find(|line| line.contains(&path))
                .expect("a line");
            // Who gave the name may have had no time to write it down, so that the next session found it there.
            let is_unknown =
                self.execution.delete_source || self.entry(*file).kind == Kind::Symlink;
            let is_copied = line.contains("\"result\":\"copied\"");
            let is_there = is_unknown && line.contains("\"result\":\"identical\"");
            assert!(is_copied || is_there, "{line}");
        }
    }

    fn collect(&self, path: &RelPath, names: &mut BTreeMap<RelPath, Kind>) {
        let folder = self.data.folder(path).expect("a folder");
        let mut found = Vec::new();
        folder
            .names(&mut |name| {
                found.push(name.to_vec());
                true
            })
            .expect("readable");
        for name in found {
            let below = path
                .join_path(&RelPath::from_bytes(&name).expect("a name"))
                .expect("short");
            let entry = folder
                .entry(&name, below.clone())
                .expect("readable")
                .expect("there");
            if entry.kind == Kind::Dir {
                self.collect(&below, names);
            }
            names.insert(below, entry.kind);
        }
    }
}
