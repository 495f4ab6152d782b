//! Invariant 5, by cutting the power: the real landing code over a disk that forgets what was not synced, cut at random points and
//! resumed. Sometimes only the process dies, so that the next session finds what a later cut still takes away. Copies and moves, holes,
//! names that are replaced, file systems below the destination, and units of another size in the next session.
//! `HEADRACE_POWER_CUTS` sets how many cases (each is cut several times), `HEADRACE_POWER_SEED` the first; a fault in `tests/faults` removes each sync.

mod case;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::Failure;
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::list::ListDigest;
use headrace_core::manifest::Item;
use headrace_core::message::{Decision, FileResult, Message};
use headrace_core::name::RelPath;
use headrace_core::ticket::{Preserve, Verify};
use headrace_io::storage::Target;
use parking_lot::Mutex;

use self::case::{BLOCK, Case, OLD, Random, destination};
use super::{Accepted, Answers, Finished, Landing};
use crate::session::tests_support::GEOMETRY;

const DEFAULT_CUTS: u64 = 1500;
/// Cases beyond these that found something.
const FOUND: [u64; 3] = [4900, 4921, 6591];

/// How often power or process went, in all cases.
static CUTS: AtomicU64 = AtomicU64::new(0);

/// Remembers what the landing said.
#[derive(Default)]
struct Heard {
    decisions: Mutex<BTreeMap<u64, Decision>>,
    done: Mutex<BTreeSet<u64>>,
    /// Without power everything fails; with it nothing does, which the end of a case checks.
    failed: Mutex<BTreeSet<u64>>,
}

impl Answers for Heard {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Decisions {
                first, decisions, ..
            } => self.decisions.lock().extend((first..).zip(decisions)),
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

impl Case {
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
        let landing = self.begin(number, heard)?;
        self.compare(&landing, heard)?;
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
                landing.read_back_waiting()?;
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
            landing.read_back_waiting()?;
        }
        landing.finish(&|| Ok(()))
    }

    /// Open a session and tell it of all entries.
    fn begin(&self, number: u64, heard: &Arc<Heard>) -> Result<Arc<Landing>, Failure> {
        let landing = self.open(number, heard)?;
        let entries = self.source.entries.iter();
        let items = entries
            .map(|(entry, _)| Item::Entry(entry.clone()))
            .collect();
        landing.handle(Message::Items { first: 0, items })?;
        let count = self.source.entries.len() as u64;
        landing.handle(Message::ItemsEnd { count })?;
        Ok(landing)
    }

    /// A session of which no more is left than one epoch with the first thing that it asked for: what is to be read back is not yet.
    fn short_session(&self, number: u64, promises: &Promises) -> Result<(), Failure> {
        let heard = Arc::new(Heard::default());
        let landing = self.begin(number, &heard)?;
        let work = self.wanted(&heard.decisions.lock(), promises);
        if let Some((file, unit)) = work.first() {
            self.send(&landing, *file, *unit)?;
        }
        landing.epoch()
    }

    /// A move compares what is there and in no record: a name can survive the power, and the record before it not.
    fn compare(&self, landing: &Arc<Landing>, heard: &Heard) -> Result<(), Failure> {
        let decisions = heard.decisions.lock().clone();
        for (file, decision) in decisions {
            if decision == Decision::Compare {
                assert!(self.execution.delete_source, "a copy does not compare");
                let content = &self.source.entries[usize::try_from(file).expect("small")].1;
                let hash = *blake3::hash(content).as_bytes();
                landing.handle(Message::Compared { file, hash })?;
            }
        }
        landing.read_back_waiting()
    }

    /// What the decisions ask for. Nothing that was promised may be asked for again.
    fn wanted(
        &self,
        decisions: &BTreeMap<u64, Decision>,
        promises: &Promises,
    ) -> Vec<(u64, Option<u64>)> {
        let mut work = Vec::new();
        for (file, decision) in decisions {
            let file = *file;
            let size = self.entry(file).size;
            let units = match decision {
                // Also what could not be compared, as the power went.
                Decision::Nothing | Decision::Compare => vec![],
                Decision::Send if self.geometry.is_small(size) => vec![None],
                Decision::Send => (0..self.geometry.units(size)).map(Some).collect(),
                Decision::SendUnits(ranges) => ranges.iter().cloned().flatten().map(Some).collect(),
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
            return landing.batch(&payload, &|| false).map(drop);
        };
        let start = unit * self.geometry.unit_bytes;
        let end = entry.size.min(start + self.geometry.unit_bytes);
        let Some(mut sink) = landing.open_unit(file, 0, start, self.source.sparse)? else {
            return Ok(());
        };
        for offset in (start..end).step_by(BLOCK) {
            let range = usize::try_from(offset).expect("small")
                ..usize::try_from(end.min(offset + BLOCK as u64)).expect("small");
            let block = &content[range];
            let (length, hash) = (block.len() as u64, piece_hash(entry.size, offset, block));
            let accepted = if block.iter().all(|byte| *byte == 0) {
                sink.accept_hole(length, hash)?
            } else {
                sink.room(length)?.copy_from_slice(block);
                sink.accept(hash)?
            };
            assert_eq!(accepted, Accepted::Good);
        }
        Ok(())
    }

    /// Every final name holds the whole file or does not exist, and what was promised exists.
    fn check(&self, promises: &Promises) {
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

/// Cut the power or kill the process somewhere in a session, again and again, until one finishes.
fn torture(seed: u64) {
    let mut random = Random(seed);
    let mut case = Case::new(&mut random);
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
        if random.below(3) == 0 {
            case.disk.restart();
        } else {
            case.disk.power_cycle(|| random.next());
        }
        CUTS.fetch_add(1, Ordering::Relaxed);
        case.check(&promises);
        if random.below(8) == 0 {
            // Units of another size: what came in units is sent again, and what is whole counts.
            case.geometry.unit_bytes = if case.geometry == GEOMETRY {
                8192
            } else {
                4096
            };
            promises.units.clear();
        }
        // Some progress is made every time, but let the end come.
        limit += 40;
    }
}

#[test]
fn units_that_a_killed_session_was_about_to_name_are_not_asked_for_again() {
    for changes in 0.. {
        let mut random = Random(3);
        let mut case = Case::new(&mut random);
        case.execution.verify = Verify::AtRest;
        case.disk.cut_after(changes);
        let mut promises = Promises::default();
        let ended = case.session(1, &mut random, &mut promises);
        if !case.disk.is_cut() {
            ended.expect("nothing fails while there is power");
            assert!(changes > 50, "it was killed {changes} times");
            return;
        }
        case.disk.restart();
        for number in [2, 3] {
            let done = case.short_session(number, &promises);
            done.expect("nothing fails while there is power");
        }
    }
}

#[test]
fn invariant_5_no_name_is_half_there_after_the_power_was_cut_anywhere() {
    let cuts = std::env::var("HEADRACE_POWER_CUTS")
        .ok()
        .and_then(|cuts| cuts.parse().ok())
        .unwrap_or(DEFAULT_CUTS);
    let first = std::env::var("HEADRACE_POWER_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0);
    for seed in FOUND.into_iter().chain(first..first + cuts) {
        assert!(
            std::panic::catch_unwind(|| torture(seed)).is_ok(),
            "seed {seed}"
        );
    }
    let cut = CUTS.load(Ordering::Relaxed);
    println!("{cuts} cases, cut or killed {cut} times");
}

#[test]
fn a_list_digest_of_nothing_is_that_of_the_test_execution() {
    assert_eq!(
        crate::session::tests_support::execution().overwrites,
        ListDigest::empty()
    );
}
