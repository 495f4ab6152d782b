//! Invariant 5, by cutting the power: the real landing code over a disk that forgets what was not synced, cut at random points and
//! resumed. Sometimes only the process dies, so that the next session finds what a later cut still takes away. Copies and moves, holes,
//! names that are replaced and deleted (for good, and to the trash), files written past the page cache in one session and through it in the
//! next, file systems below the destination, units of another size in the next session, and a disk that fails at one change, has no room for
//! it, or can't write back what it took.
//! `HEADRACE_POWER_CUTS` sets how many cut points (`make power-cuts`: 100,000), `HEADRACE_POWER_SEED` the first case; a fault in `tests/faults`
//! removes each sync.

mod case;
mod checks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::Failure;
use headrace_core::entry::Entry;
use headrace_core::integrity::piece_hash;
use headrace_core::list::ListDigest;
use headrace_core::manifest::Item;
use headrace_core::message::{Decision, FileResult, Message};
use headrace_core::ticket::Verify;
use headrace_io::storage::Writing;
use headrace_io::storage::simulated::Errno;
use parking_lot::Mutex;

use self::case::{BLOCK, Case, Extent, Random};
use super::shared::Landing;
use super::spec::{Answers, Finished};
use super::unit::Accepted;
use crate::session::landing::tests_support::GEOMETRY;

/// Each case has some two.
const DEFAULT_CUTS: u64 = 2750;
/// Cases beyond these that found something.
const FOUND: [u64; 3] = [4900, 4921, 6591];

/// Remembers what the landing said.
#[derive(Default)]
struct Heard {
    decisions: Mutex<BTreeMap<u64, Decision>>,
    done: Mutex<BTreeSet<u64>>,
    /// Without power everything fails; with it only what the disk failed at, which the end of a case checks.
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
        let failed = heard.failed.lock();
        promises.units.retain(|(file, _)| !failed.contains(file));
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
        let ended = self.drive(&landing, random, heard, promises);
        if ended.is_err() {
            // As a session does in its end: what has arrived counts on resume, if it can be made durable.
            drop(landing.epoch());
        }
        ended
    }

    /// Send what is asked for, in any order, with epochs in between.
    fn drive(
        &self,
        landing: &Arc<Landing>,
        random: &mut Random,
        heard: &Arc<Heard>,
        promises: &mut Promises,
    ) -> Result<Finished, Failure> {
        self.compare(landing, heard)?;
        let mut work = self.wanted(&heard.decisions.lock(), promises);
        let mut landed = BTreeSet::new();
        while !work.is_empty() {
            let at = usize::try_from(random.below(work.len() as u64)).expect("small");
            let (file, unit) = work.swap_remove(at);
            self.send(landing, file, unit)?;
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
        landing.finish()
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
        // Other connections go on while an epoch runs, and also when it fails, until they hear of that.
        let mut epoch = Ok(());
        let within = self.fails && (file + unit).is_multiple_of(2);
        for offset in (start..end).step_by(BLOCK) {
            if within
                && [2, 5]
                    .map(|block| start + block * BLOCK as u64)
                    .contains(&offset)
            {
                epoch = epoch.and(landing.epoch());
            }
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
        epoch
    }
}

/// What goes wrong besides power and processes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errors {
    None,
    /// In every second session one thing fails: a change, with an error of the device or because it is full, or writing back what the page
    /// cache holds, of which those hear later who sync it.
    One,
}

impl Errors {
    /// Let something fail in the next session, or not; whether it does.
    fn strike(self, case: &Case, random: &mut Random, limit: u64) -> bool {
        let strikes = self == Self::One && random.below(2) == 0;
        if strikes {
            let change = random.below(limit);
            match random.below(3) {
                0 => case.disk.fail_once(change, Errno::IO),
                1 => case.disk.fail_once(change, Errno::NOSPC),
                _ => case.disk.fail_writing_back(change),
            }
        }
        strikes
    }
}

/// Cut the power or kill the process somewhere in a session, again and again, until one finishes without a failure.
/// Says how often that was.
fn torture(seed: u64, errors: Errors, extent: Extent) -> u64 {
    let mut random = Random(seed);
    let mut case = Case::new(&mut random);
    // Drawn apart: what a seed was before stays what it was.
    let mut more = Random(!seed);
    if extent == Extent::All {
        case = case.with_names_to_delete(&mut more);
        case.direct_from_bytes = GEOMETRY.block_bytes + 1;
        if case.execution.trash.is_some() && seed.is_multiple_of(2) {
            case.disk.sync_each();
        }
    }
    case.fails = errors == Errors::One;
    let mut promises = Promises::default();
    let mut limit = 40 + random.below(160);
    let mut struck = false;
    for session in 1.. {
        case.disk.cut_after(random.below(limit));
        if extent == Extent::All {
            case.writing = [Writing::Buffered, Writing::Direct][usize::from(more.below(2) == 0)];
        }
        let failures = case.disk.failures();
        let strikes = errors.strike(&case, &mut random, limit);
        struck |= strikes;
        if strikes {
            // Whoever can't look at what an earlier session left asks for it all, in an attempt that ends.
            promises.units.clear();
        }
        let result = case.session(session, &mut random, &mut promises);
        if !case.disk.is_cut() {
            match result {
                Ok(finished) if finished.totals.failed == 0 => {
                    case.check_end(&finished, &promises, &mut random);
                    return session - 1;
                }
                // A file may say later what a sync of its whole file system lost.
                result => assert!(struck, "failed while all was well: {}", said(result)),
            }
        }
        if case.disk.failures() > failures {
            // A file that fails is dropped with all its units, and who was about to say so may have been cut short.
            promises.units.clear();
        }
        if random.below(3) == 0 {
            case.disk.restart();
        } else {
            case.disk.power_cycle(|| random.next());
        }
        case.check(&promises);
        case.check_deletes();
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
    unreachable!("sessions have no end of numbers")
}

/// What failed, for whoever looks for the reason.
fn said(result: Result<Finished, Failure>) -> String {
    match result {
        Ok(finished) => std::fs::read_to_string(finished.failed_list).expect("a list"),
        Err(failure) => failure.to_string(),
    }
}

/// As many cut points as are asked for, those of cases that found something before among them.
fn torture_all(found: &[u64], errors: Errors) {
    let number = |name: &str, default: u64| {
        let number = std::env::var(name).ok();
        number.map_or(default, |number| number.parse().expect("a number"))
    };
    let wanted = number("HEADRACE_POWER_CUTS", DEFAULT_CUTS);
    let first = number("HEADRACE_POWER_SEED", 0);
    let (mut cases, mut cuts) = (0, 0);
    let found = found.iter().map(|seed| (*seed, Extent::AsFound));
    for (seed, extent) in found.chain((first..).map(|seed| (seed, Extent::All))) {
        let done = std::panic::catch_unwind(|| torture(seed, errors, extent));
        cuts += done.unwrap_or_else(|_| panic!("seed {seed}"));
        cases += 1;
        if cuts >= wanted {
            break;
        }
    }
    println!("from seed {first}: {cases} cases, {cuts} cut points, 0 wrong bytes");
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
    torture_all(&FOUND, Errors::None);
}

#[test]
fn invariant_5_no_name_is_half_there_where_a_disk_failed_once_or_was_full() {
    torture_all(&[], Errors::One);
}

#[test]
fn a_list_digest_of_nothing_is_that_of_the_test_execution() {
    assert_eq!(
        crate::session::tests_support::execution().overwrites,
        ListDigest::empty()
    );
}
