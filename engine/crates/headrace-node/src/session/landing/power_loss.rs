//! Invariant 5, by cutting the power: the real landing code over a disk that forgets what was not synced, cut at random points and
//! resumed. `HEADRACE_POWER_CUTS` sets how many times (100,000 takes some minutes); a fault in `tests/faults` removes each sync.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::Failure;
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::list::ListDigest;
use headrace_core::manifest::Item;
use headrace_core::message::{Decision, FileResult, Message};
use headrace_core::name::RelPath;
use headrace_core::ticket::{Execution, Preserve};
use headrace_core::version::Version;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::storage::Target;
use headrace_io::storage::simulated::{Disk, SimulatedTarget};
use parking_lot::Mutex;

use super::{Accepted, Answers, EpochRules, Finished, Landing, LandingSpec};
use crate::session::tests_support::{GEOMETRY, landing_spec};

const DEFAULT_CUTS: u64 = 1500;

/// A small generator of numbers (`SplitMix64`): the seed is all there is to reproduce a case.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The source: entries with their content.
struct Source {
    entries: Vec<(Entry, Vec<u8>)>,
}

impl Source {
    fn new(random: &mut Random) -> Self {
        let mut entries = Vec::new();
        let mut add = |path: &str, kind: Kind, size: u64, random: &mut Random| {
            let content: Vec<u8> = (0..size)
                .map(|_| random.next().to_le_bytes()[0] | 1)
                .collect();
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
        Self { entries }
    }
}

/// Remembers what the landing said.
#[derive(Default)]
struct Heard {
    decisions: Mutex<Vec<Decision>>,
    done: Mutex<BTreeSet<u64>>,
    /// Without power everything fails; with it nothing does, which the end of a case checks.
    failed: Mutex<BTreeSet<u64>>,
}

impl Answers for Heard {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Decisions { decisions, .. } => self.decisions.lock().extend(decisions),
            Message::Results(results) => {
                for (file, result) in results {
                    let list = match result {
                        FileResult::Done | FileResult::Holds(_) => &self.done,
                        FileResult::Failed(_) => &self.failed,
                    };
                    list.lock().insert(file);
                }
            }
            other => panic!("unexpected {other:?}"),
        }
        Ok(())
    }
}

/// What the destination promised before the power went.
#[derive(Default)]
struct Promises {
    done: BTreeSet<u64>,
    units: BTreeSet<(u64, u64)>,
}

struct Case {
    disk: Disk,
    data: SimulatedTarget,
    source: Source,
    preserve: Vec<Preserve>,
    sync_everything_from: usize,
    scratch: tempfile::TempDir,
}

impl Case {
    fn new(random: &mut Random) -> Self {
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
            preserve: if random.below(2) == 0 {
                vec![Preserve::Mode, Preserve::Mtime]
            } else {
                vec![]
            },
            sync_everything_from: if random.below(2) == 0 { 1 } else { usize::MAX },
            scratch: scratch.expect("a folder"),
            disk,
            data,
        }
    }

    fn execution(&self) -> Execution {
        let mut execution = crate::session::tests_support::execution();
        execution.preserve.clone_from(&self.preserve);
        execution
    }

    fn open(&self, session: u64, heard: &Arc<Heard>) -> Result<Arc<Landing>, Failure> {
        let spec = LandingSpec {
            execution: self.execution(),
            target: Arc::new(self.data.clone()),
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
        Landing::open(
            spec,
            answers,
            Arc::default(),
            BufferPool::new(4 * BUFFER_BYTES),
            disk,
        )
    }

    /// One session. What was promised before it ends, well or not, is added to `promises`.
    fn session(
        &self,
        number: u64,
        random: &mut Random,
        promises: &mut Promises,
    ) -> Result<Finished, Failure> {
        let heard = Arc::new(Heard::default());
        let result = self.run(number, random, &heard, promises);
        promises.done.extend(heard.done.lock().iter());
        result
    }

    fn run(
        &self,
        number: u64,
        random: &mut Random,
        heard: &Arc<Heard>,
        promises: &mut Promises,
    ) -> Result<Finished, Failure> {
        let landing = self.open(number, heard)?;
        let items = self
            .source
            .entries
            .iter()
            .map(|(entry, _)| Item::Entry(entry.clone()))
            .collect();
        landing.handle(Message::Items { first: 0, items })?;
        let count = self.source.entries.len() as u64;
        landing.handle(Message::ItemsEnd { count })?;
        let mut work = self.wanted(&heard.decisions.lock(), promises);
        let mut landed = BTreeSet::new();
        while !work.is_empty() {
            let at = usize::try_from(random.below(work.len() as u64)).expect("small");
            let (file, unit) = work.swap_remove(at);
            self.send(&landing, file, unit)?;
            if let Some(unit) = unit {
                landed.insert((file, unit));
                if !work.iter().any(|(other, _)| *other == file) {
                    landing.handle(Message::FileEnd {
                        file,
                        generation: 0,
                    })?;
                }
            }
            if random.below(3) == 0 {
                landing.epoch()?;
                let failed = heard.failed.lock();
                promises.units.extend(
                    std::mem::take(&mut landed)
                        .iter()
                        .filter(|(file, _)| !failed.contains(file)),
                );
            }
        }
        while !landing.is_settled() {
            landing.epoch()?;
        }
        landing.finish(&|| Ok(()))
    }

    /// What the decisions ask for. Nothing that was promised may be asked for again.
    fn wanted(&self, decisions: &[Decision], promises: &Promises) -> Vec<(u64, Option<u64>)> {
        let mut work = Vec::new();
        for (file, decision) in (0..).zip(decisions) {
            let size = self.entry(file).size;
            let units = match decision {
                Decision::Nothing => vec![],
                Decision::Send if GEOMETRY.is_small(size) => vec![None],
                Decision::Send => (0..GEOMETRY.units(size)).map(Some).collect(),
                Decision::SendUnits(ranges) => ranges.iter().cloned().flatten().map(Some).collect(),
                Decision::Compare => panic!("nothing is compared here"),
            };
            for unit in units {
                assert!(
                    !promises.done.contains(&file),
                    "file {file} was done and is asked for again"
                );
                let durable = unit.is_some_and(|unit| promises.units.contains(&(file, unit)));
                assert!(
                    !durable,
                    "unit {unit:?} of file {file} was durable and is asked for again"
                );
                work.push((file, unit));
            }
        }
        work
    }

    fn entry(&self, file: u64) -> &Entry {
        &self.source.entries[usize::try_from(file).expect("small")].0
    }

    fn send(&self, landing: &Arc<Landing>, file: u64, unit: Option<u64>) -> Result<(), Failure> {
        let (entry, content) = &self.source.entries[usize::try_from(file).expect("small")];
        let Some(unit) = unit else {
            let mut payload = Vec::new();
            let hash = piece_hash(entry.size, 0, content);
            BatchFile {
                file,
                generation: 0,
                sparse: Sparse::No,
                hash,
                bytes: content,
            }
            .put(&mut payload);
            return landing.batch(&payload, &|| false);
        };
        let start = unit * GEOMETRY.unit_bytes;
        let end = entry.size.min(start + GEOMETRY.unit_bytes);
        let Some(mut sink) = landing.open_unit(file, 0, start, Sparse::No)? else {
            return Ok(());
        };
        for offset in (start..end).step_by(1024) {
            let range = usize::try_from(offset).expect("small")
                ..usize::try_from(end.min(offset + 1024)).expect("small");
            let block = &content[range];
            sink.room(block.len() as u64)?.copy_from_slice(block);
            assert_eq!(
                sink.accept(piece_hash(entry.size, offset, block))?,
                Accepted::Good
            );
        }
        Ok(())
    }

    /// Every final name holds the whole file or does not exist, and what was promised exists.
    fn check(&self, promises: &Promises) {
        for (file, (entry, content)) in (0..).zip(&self.source.entries) {
            let path = entry.path.clone();
            if entry.kind == Kind::File {
                match self.data.content(&destination(&path)) {
                    Some(found) => {
                        assert!(found == *content, "`{path}` is half there");
                        self.check_metadata(entry);
                    }
                    None => assert!(
                        !promises.done.contains(&file),
                        "`{path}` was done and is gone"
                    ),
                }
            }
        }
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
        if self.preserve.contains(&Preserve::Mtime) {
            assert_eq!(
                (found.mtime_ns, found.mode),
                (entry.mtime_ns, entry.mode),
                "`{path}` has other metadata"
            );
        }
    }

    /// After a finished session everything is there for good, and nothing else.
    fn check_end(&self, finished: &Finished, promises: &Promises, random: &mut Random) {
        assert_eq!(finished.totals.failed, 0);
        self.disk.cut_after(0);
        self.disk.power_cycle(|| random.next());
        let everything = Promises {
            done: (0..self.source.entries.len() as u64).collect(),
            units: BTreeSet::new(),
        };
        self.check(&everything);
        let mut names = BTreeMap::new();
        self.collect(&destination(&RelPath::root()), &mut names);
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
            assert!(line.contains("\"result\":\"copied\""), "{line}");
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

fn destination(path: &RelPath) -> RelPath {
    crate::session::tests_support::execution()
        .destination
        .path
        .join_path(path)
        .expect("short")
}

/// Cut the power somewhere in a session, again and again, until one finishes.
fn torture(seed: u64) {
    let mut random = Random(seed);
    let case = Case::new(&mut random);
    let mut promises = Promises::default();
    let mut limit = 40 + random.below(160);
    for session in 1.. {
        case.disk.cut_after(random.below(limit));
        let result = case.session(session, &mut random, &mut promises);
        if !case.disk.is_cut() {
            let finished = result.expect("nothing fails while there is power");
            case.check_end(&finished, &promises, &mut random);
            return;
        }
        case.disk.power_cycle(|| random.next());
        case.check(&promises);
        // Some progress is made every time, but let the end come.
        limit += 40;
    }
}

#[test]
fn invariant_5_no_name_is_half_there_after_the_power_was_cut_anywhere() {
    let cuts = std::env::var("HEADRACE_POWER_CUTS")
        .ok()
        .and_then(|cuts| cuts.parse().ok())
        .unwrap_or(DEFAULT_CUTS);
    for seed in 0..cuts {
        assert!(
            std::panic::catch_unwind(|| torture(seed)).is_ok(),
            "seed {seed}"
        );
    }
}

#[test]
fn a_list_digest_of_nothing_is_that_of_the_test_execution() {
    assert_eq!(
        crate::session::tests_support::execution().overwrites,
        ListDigest::empty()
    );
}
