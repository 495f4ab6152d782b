//! What is sent in a case of the power-loss test, where to, and how.

use std::path::Path;
use std::sync::Arc;

use headrace_core::batch::Sparse;
use headrace_core::code::Failure;
use headrace_core::entry::{Entry, Kind};
use headrace_core::list::{ListDigest, ListEntry, ListWriter};
use headrace_core::name::RelPath;
use headrace_core::ticket::{Action, Execution, OnConflict, Trash, Verify};
use headrace_core::version::Version;
use headrace_io::buffer::{ALIGNMENT, BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::storage::simulated::{Disk, SimulatedTarget};
use headrace_io::storage::{Existing, Folder, Holding, Target, Writing};

use super::super::shared::Landing;
use super::super::spec::{Answers, DIRECT_FROM_BYTES, EpochRules, Geometry, LandingSpec};
use super::Heard;
use crate::session::landing::tests_support::{GEOMETRY, landing_spec};

/// Bytes of a block of a file, of all units.
pub(super) const BLOCK: usize = 1024;
/// What names that are replaced or deleted hold before.
pub(super) const OLD: &[u8] = b"as it was before";
/// Names that are replaced, in some cases: a file that comes in a batch, and one that comes in units.
const REPLACED: [&str; 2] = ["z0", "z9"];
/// Files that the source does not have, in some cases: they are deleted.
pub(super) const SUPERFLUOUS: [&str; 3] = ["a-old", "old/deep/x", "old/y"];
/// Their folders, each before what it holds.
const SUPERFLUOUS_FOLDERS: [&str; 2] = ["old", "old/deep"];

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// What was tried when a seed found something.
    AsFound,
    /// Also to write past the page cache, and to delete.
    All,
}

/// A small generator of numbers (`SplitMix64`): the seed is all there is to reproduce a case.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The source: entries with their content.
pub(super) struct Source {
    pub(super) entries: Vec<(Entry, Vec<u8>)>,
    /// Whether files of several units have holes.
    pub(super) sparse: Sparse,
}

impl Source {
    fn new(random: &mut Random) -> Self {
        let mut entries = Vec::new();
        let sparse = if random.below(3) == 0 {
            Sparse::Yes
        } else {
            Sparse::No
        };
        let mut add = |path: &str, kind: Kind, size: u64, random: &mut Random| {
            let mut content: Vec<u8> = (0..size)
                .map(|_| random.next().to_le_bytes()[0] | 1)
                .collect();
            if sparse == Sparse::Yes && !GEOMETRY.is_small(size) {
                for block in content.chunks_mut(BLOCK) {
                    if random.below(2) == 0 {
                        block.fill(0);
                    }
                }
            }
            let entry = Entry {
                path: RelPath::from_bytes(path.as_bytes()).expect("a path"),
                kind,
                size: if kind == Kind::Symlink { 4 } else { size },
                mtime_ns: 1_000_000_000 + i128::from(random.below(1_000_000)),
                version: Version::new(&random.next().to_le_bytes()).expect("short"),
                mode: 0o640,
                target: (kind == Kind::Symlink).then(|| Box::from(&b"dest"[..])),
            };
            entries.push((entry, content));
        };
        add("dir", Kind::Dir, 0, random);
        add("dir/empty", Kind::File, 0, random);
        add("dir/inner", Kind::Dir, 0, random);
        add(
            "dir/inner/big",
            Kind::File,
            9000 + random.below(9000),
            random,
        );
        add(
            "dir/inner/small",
            Kind::File,
            1 + random.below(1000),
            random,
        );
        add("dir/link", Kind::Symlink, 0, random);
        add("dir/unit", Kind::File, 4096, random);
        for number in 0..4 {
            add(
                &format!("z{number}"),
                Kind::File,
                1 + random.below(1024),
                random,
            );
        }
        add("z9", Kind::File, 5000 + random.below(20_000), random);
        Self { entries, sparse }
    }
}

pub(super) struct Case {
    pub(super) disk: Disk,
    pub(super) data: SimulatedTarget,
    pub(super) source: Source,
    pub(super) execution: Execution,
    pub(super) geometry: Geometry,
    /// The disk fails now and then; units are written in pieces, and epochs run in between.
    pub(super) fails: bool,
    /// How files from a size on are written in the next session.
    pub(super) writing: Writing,
    pub(super) direct_from_bytes: u64,
    pub(super) deletes: bool,
    sync_everything_from: usize,
    scratch: tempfile::TempDir,
}

impl Case {
    pub(super) fn new(random: &mut Random) -> Self {
        let disk = Disk::default();
        let data = disk.target("data");
        if random.below(2) == 0 {
            disk.mount(b"inner");
        }
        // The scratch folder does not take part in the game: it only needs to be fast.
        let fast = Path::new("/dev/shm");
        let scratch = if fast.is_dir() {
            tempfile::tempdir_in(fast)
        } else {
            tempfile::tempdir()
        };
        Self {
            source: Source::new(random),
            execution: Self::execution(random),
            geometry: GEOMETRY,
            fails: false,
            writing: Writing::Buffered,
            direct_from_bytes: DIRECT_FROM_BYTES,
            deletes: false,
            sync_everything_from: if random.below(2) == 0 { 1 } else { usize::MAX },
            scratch: scratch.expect("a folder"),
            disk,
            data,
        }
        .with_names_to_replace(random)
    }

    fn execution(random: &mut Random) -> Execution {
        let mut execution = crate::session::tests_support::execution();
        if random.below(2) == 0 {
            execution.preserve.clear();
        }
        match random.below(4) {
            0 => execution.verify = Verify::AtRest,
            1 => {
                execution.action = Action::Move;
                execution.delete_source = true;
            }
            _ => {}
        }
        execution
    }

    /// In half of the cases the destination is there, and two of its names are to be replaced.
    fn with_names_to_replace(mut self, random: &mut Random) -> Self {
        if random.below(2) == 0 {
            return self;
        }
        let mut folder = self.data.folder(&RelPath::root()).expect("the top");
        for name in destination(&RelPath::root()).components() {
            folder.make_folder(name).expect("made");
            folder.sync().expect("synced");
            folder = folder.folder(name).expect("there");
        }
        let list = std::fs::File::create(self.overwrites()).expect("a list");
        let mut list = ListWriter::new(list);
        for name in REPLACED {
            put(&*folder, name.as_bytes());
            let path = RelPath::from_bytes(name.as_bytes()).expect("a path");
            let found = folder.entry(name.as_bytes(), path).expect("readable");
            list.push(&ListEntry::from(&found.expect("there")))
                .expect("listed");
        }
        folder.sync().expect("synced");
        self.execution.overwrites = list.finish().expect("written").1;
        self.execution.on_conflict = OnConflict::Overwrite;
        self
    }

    /// Delete what the source does not have, in half of the copies to a destination that is there; half of these keep it in the trash.
    pub(super) fn with_names_to_delete(mut self, random: &mut Random) -> Self {
        let is_there = self.execution.on_conflict == OnConflict::Overwrite;
        if !is_there || self.execution.delete_source || random.below(2) == 0 {
            return self;
        }
        let mut found = Vec::new();
        for name in SUPERFLUOUS_FOLDERS {
            let (above, path) = self.place(name);
            let name = path.file_name().expect("a name");
            above.make_folder(name).expect("made");
            above.sync().expect("synced");
            found.push(above.entry(name, path.clone()));
        }
        for name in SUPERFLUOUS {
            let (above, path) = self.place(name);
            let name = path.file_name().expect("a name");
            put(&*above, name);
            above.sync().expect("synced");
            found.push(above.entry(name, path.clone()));
        }
        let found = found.into_iter().map(|found| found.expect("readable"));
        let mut found: Vec<Entry> = found.map(|found| found.expect("there")).collect();
        found.sort_by(|left, right| left.path.cmp(&right.path));
        let list = std::fs::File::create(self.delete_list()).expect("a list");
        let mut list = ListWriter::new(list);
        for entry in &found {
            list.push(&ListEntry::from(entry)).expect("listed");
        }
        self.deletes = true;
        self.execution.deletes = list.finish().expect("written").1;
        self.execution.delete_extraneous = true;
        self.execution.trash = (random.below(2) == 0).then_some(Trash { keep_days: 30 });
        self
    }

    /// The folder that holds a path of the destination, and the path.
    fn place(&self, path: &str) -> (Arc<dyn Folder>, RelPath) {
        let path = RelPath::from_bytes(path.as_bytes()).expect("a path");
        let above = destination(&path.parent().unwrap_or_default());
        (self.data.folder(&above).expect("there"), path)
    }

    fn delete_list(&self) -> std::path::PathBuf {
        self.scratch.path().join("deletes.jsonl")
    }

    fn overwrites(&self) -> std::path::PathBuf {
        self.scratch.path().join("overwrites.jsonl")
    }

    pub(super) fn replaces(&self, entry: &Entry) -> bool {
        self.execution.on_conflict == OnConflict::Overwrite
            && REPLACED
                .iter()
                .any(|name| entry.path.as_bytes() == name.as_bytes())
    }

    pub(super) fn open(&self, session: u64, heard: &Arc<Heard>) -> Result<Arc<Landing>, Failure> {
        let spec = LandingSpec {
            execution: self.execution.clone(),
            overwrites: (self.execution.overwrites != ListDigest::empty())
                .then(|| self.overwrites()),
            deletes: self.deletes.then(|| self.delete_list()),
            geometry: self.geometry,
            direct_from_bytes: self.direct_from_bytes,
            // Each session has handles of its own.
            target: Arc::new(self.disk.target("data").with_writing(self.writing)),
            first_part: session * 1000,
            epochs: EpochRules {
                sync_everything_from: self.sync_everything_from,
                // A seed is all there is to reproduce a case.
                sync_threads: 1,
                ..EpochRules::default()
            },
            ..landing_spec(&self.disk, self.scratch.path())?
        };
        let answers: Arc<dyn Answers> = Arc::clone(heard) as Arc<dyn Answers>;
        let disk = Arc::new(DiskPool::new(0).expect("no threads"));
        let buffer_bytes = if self.fails { ALIGNMENT } else { BUFFER_BYTES };
        Landing::open(
            spec,
            answers,
            Arc::default(),
            BufferPool::of(4 * buffer_bytes, buffer_bytes),
            disk,
        )
    }
}

/// A durable file with what was there before.
fn put(folder: &dyn Folder, name: &[u8]) {
    let part = folder.create(b"before", Holding::Named, Writing::Buffered);
    let part = part.expect("a file");
    part.write_at(OLD, 0).expect("written");
    part.sync().expect("synced");
    part.publish(name, Existing::Keep).expect("named");
}

pub(super) fn destination(path: &RelPath) -> RelPath {
    crate::session::tests_support::execution()
        .destination
        .path
        .join_path(path)
        .expect("short")
}
