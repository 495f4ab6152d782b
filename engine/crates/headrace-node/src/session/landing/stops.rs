//! A landing that somebody stops: whatever it is doing, it goes on to no other name, record or piece of a file, and what it left is found
//! by the next session. What it may do is counted in questions, not in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::journal::Record;
use headrace_core::list::{ListEntry, ListWriter};
use headrace_core::manifest::Item;
use headrace_core::message::Message;
use headrace_core::name::RelPath;
use headrace_core::ticket::Verify;
use headrace_core::version::Version;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::journal::Journal;
use headrace_io::storage::simulated::Disk;
use headrace_io::storage::{Folder, Holding, Writing};
use tempfile::TempDir;

use super::shared::Landing;
use super::spec::{Answers, Finished, Geometry, LandingSpec};
use crate::session::counters::{Counters, read};
use crate::session::failures::Permitted;
use crate::session::landing::tests_support::{GEOMETRY, landing_spec};

struct Quiet;

impl Answers for Quiet {
    fn answer(&self, _: Message) -> Result<(), Failure> {
        Ok(())
    }
}

/// Whoever may ask so often before the answer is a stop.
#[derive(Clone)]
struct Patience {
    asked: Arc<AtomicUsize>,
    most: usize,
}

impl Patience {
    fn of(most: usize) -> Self {
        Self {
            asked: Arc::default(),
            most,
        }
    }

    fn permitted(&self) -> Permitted {
        let Self { asked, most } = self.clone();
        Arc::new(move || {
            if asked.fetch_add(1, Ordering::Relaxed) < most {
                return Ok(());
            }
            Err(Failure::new(Code::Stopped, "enough"))
        })
    }

    fn stops(&self, spec: &mut LandingSpec) {
        (spec.permitted, spec.may_end) = (self.permitted(), self.permitted());
    }

    /// How often somebody asked; nobody did again who was told to stop.
    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// A destination with what earlier sessions left there.
struct Place {
    disk: Disk,
    scratch: TempDir,
}

fn path(name: &str) -> RelPath {
    RelPath::from_bytes(name.as_bytes()).expect("a path")
}

fn entry(name: &str, kind: Kind, size: u64) -> Entry {
    Entry {
        path: path(name),
        kind,
        size,
        mtime_ns: 1,
        version: Version::new(b"1").expect("short"),
        mode: 0o700,
        target: None,
    }
}

fn content(size: u64) -> Vec<u8> {
    vec![7; usize::try_from(size).expect("small")]
}

/// One unit of a large file, or all of a small one.
fn arrive(landing: &Arc<Landing>, id: u64, size: u64, unit: u64) {
    let (bytes, Geometry { unit_bytes, .. }) = (content(size), GEOMETRY);
    if GEOMETRY.is_small(size) {
        let mut payload = Vec::new();
        let small = BatchFile {
            file: id,
            generation: 0,
            sparse: Sparse::No,
            hash: piece_hash(size, 0, &bytes),
            bytes: &bytes,
        };
        small.put(&mut payload);
        landing.batch(&payload, &|| false).expect("taken");
        return;
    }
    let (start, end) = (unit * unit_bytes, size.min((unit + 1) * unit_bytes));
    let sink = landing.open_unit(id, 0, start, Sparse::No).expect("a unit");
    let mut sink = sink.expect("wanted");
    for offset in (start..end).step_by(1024) {
        let block = content(1024.min(end - offset));
        let room = sink.room(block.len() as u64).expect("room");
        room.copy_from_slice(&block);
        let taken = sink.accept(piece_hash(size, offset, &block));
        taken.expect("good");
    }
}

impl Place {
    fn new() -> Self {
        let place = Self {
            disk: Disk::default(),
            scratch: tempfile::tempdir().expect("a folder"),
        };
        let spec = place.spec();
        let mut to = spec.target.folder(&RelPath::root()).expect("the root");
        for name in spec.execution.destination.path.components() {
            to.make_folder(name).expect("made");
            to.sync().expect("durable");
            to = to.folder(name).expect("there");
        }
        place
    }

    fn spec(&self) -> LandingSpec {
        landing_spec(&self.disk, self.scratch.path()).expect("a spec")
    }

    fn to(&self) -> Arc<dyn Folder> {
        let spec = self.spec();
        let to = spec.target.folder(&spec.execution.destination.path);
        to.expect("the destination")
    }

    /// How many names there are at the destination.
    fn names(&self) -> usize {
        let mut count = 0;
        let all = self.to().names(&mut |_| {
            count += 1;
            true
        });
        all.map(|()| count).expect("readable")
    }

    /// How many units the journal knows of each temporary.
    fn known(&self) -> Vec<usize> {
        let opened = Journal::open(&*self.spec().state, b"journal", &mut (), &|| Ok(()));
        let replay = opened.expect("a journal").1;
        replay
            .parts()
            .values()
            .map(|part| part.units.len())
            .collect()
    }

    fn open(&self, change: impl FnOnce(&mut LandingSpec)) -> Result<Arc<Landing>, Failure> {
        let mut spec = self.spec();
        spec.first_part = 100;
        change(&mut spec);
        let threads = Arc::new(DiskPool::new(0).expect("no threads"));
        let buffers = BufferPool::new(4 * BUFFER_BYTES);
        Landing::open(spec, Arc::new(Quiet), Arc::default(), buffers, threads)
    }

    /// A session that nobody stops brings small files, and of large ones the first unit.
    fn earlier_session(&self, small: &[&str], large: &[&str]) -> Arc<Counters> {
        let landing = self.open(|spec| spec.first_part = 0).expect("opened");
        let (small_bytes, large_bytes) = (700, 3 * GEOMETRY.unit_bytes);
        let small = small
            .iter()
            .map(|name| entry(name, Kind::File, small_bytes));
        let large = large
            .iter()
            .map(|name| entry(name, Kind::File, large_bytes));
        let mut entries: Vec<_> = small.chain(large).collect();
        entries.sort_by(|left, right| left.path.cmp(&right.path));
        let items = entries.iter().cloned().map(Item::Entry).collect();
        let items = Message::Items { first: 0, items };
        landing.handle(items).expect("entries");
        for (id, entry) in (0..).zip(&entries) {
            arrive(&landing, id, entry.size, 0);
        }
        landing.epoch().expect("durable");
        Arc::clone(&landing.counters)
    }
}

#[test]
fn a_session_that_is_stopped_replays_a_long_journal_no_further() {
    let place = Place::new();
    let spec = place.spec();
    let opened = Journal::open(&*spec.state, b"journal", &mut (), &|| Ok(()));
    let (mut journal, _) = opened.expect("made");
    // Five megabytes of it: more than is read at once.
    for part in 0..16 {
        let units = (0..8192).map(|unit| (unit, [1; 32])).collect();
        journal.push(&Record::Units { part, units });
    }
    journal.commit().expect("committed");
    for most in 0..2 {
        let patience = Patience::of(most);
        let opened = place.open(|spec| spec.permitted = patience.permitted());
        let stopped = opened.err().expect("stopped");
        assert_eq!((stopped.code, patience.asked()), (Code::Stopped, most + 1));
    }
    place.open(|_| ()).expect("nobody stops it");
}

/// Units of another size, so that nothing of those of an earlier session is of use.
fn other_units(spec: &mut LandingSpec) {
    spec.geometry = Geometry::new(16 << 10);
}

#[test]
fn a_stop_while_stale_temporaries_are_removed_leaves_the_others_to_the_next_session() {
    let mut most = 0;
    loop {
        let place = Place::new();
        place.earlier_session(&[], &["a", "b", "c"]);
        assert_eq!((place.names(), place.known()), (3, vec![1; 3]));
        let patience = Patience::of(most);
        let opened = place.open(|spec| {
            other_units(spec);
            patience.stops(spec);
        });
        let Err(stopped) = opened.map(drop) else {
            break;
        };
        assert_eq!((stopped.code, patience.asked()), (Code::Stopped, most + 1));
        // Once for the journal, for the first of them and for each name in its folder; and then for each that is removed.
        let removed = most.saturating_sub(1 + 1 + 3).min(3);
        assert_eq!(place.names(), 3 - removed, "stopped after {most}");
        // The journal forgets none before all are gone.
        assert_eq!(place.known(), [1; 3], "stopped after {most}");
        place.open(other_units).expect("opened");
        assert_eq!((place.names(), place.known()), (0, vec![]));
        most += 1;
    }
    assert_eq!(most, 1 + 1 + 3 + 3 + 2);
}

#[test]
fn what_the_journal_forgets_of_stale_temporaries_does_not_come_back_when_the_power_is_cut() {
    for changes in 0.. {
        let place = Place::new();
        place.earlier_session(&[], &["a", "b", "c"]);
        place.disk.cut_after(changes);
        let opened = place.open(other_units).map(drop);
        // What was not synced is lost.
        place.disk.power_cycle(|| 0);
        let (names, known) = (place.names(), place.known().len());
        assert!(
            names <= known,
            "{names} of which {known} are known, after {changes}"
        );
        if opened.is_ok() {
            assert!(changes > 3, "it was cut {changes} times");
            return;
        }
    }
}

#[test]
fn a_stop_while_a_temporary_is_taken_up_forgets_nothing_of_it() {
    let mut most = 0;
    loop {
        let place = Place::new();
        place.earlier_session(&[], &["a", "b"]);
        let patience = Patience::of(most);
        let opened = place.open(|spec| patience.stops(spec));
        let taken_up = opened.and_then(|landing| {
            let size = 3 * GEOMETRY.unit_bytes;
            let items = ["a", "b"].map(|name| Item::Entry(entry(name, Kind::File, size)));
            let items = Message::Items {
                first: 0,
                items: items.into(),
            };
            let taken_up = landing.handle(items);
            // As a session does in its end.
            landing.epoch().expect("durable");
            taken_up
        });
        assert_eq!((place.names(), place.known()), (2, vec![1; 2]));
        let Err(stopped) = taken_up else { break };
        assert_eq!((stopped.code, patience.asked()), (Code::Stopped, most + 1));
        most += 1;
    }
    // For the journal, two names in the folder, and two entries.
    assert!(most >= 1 + 2 + 2, "{most}");
}

/// A later session after one that brought files and temporaries which the source does not have any more: it deletes names, skips records
/// and lines, and comes to its end, unless it is stopped.
fn later_session(place: &Place, patience: &Patience) -> Result<Finished, Failure> {
    let gone = ["y0", "y1"];
    let listed = place.scratch.path().join("deletes.jsonl");
    let mut list = ListWriter::new(std::fs::File::create(&listed).expect("a file"));
    for name in gone {
        let part = place
            .to()
            .create(name.as_bytes(), Holding::Named, Writing::Buffered);
        drop(part);
        let found = place.to().entry(name.as_bytes(), path(name));
        list.push(&ListEntry::from(
            &found.expect("readable").expect("it is there"),
        ))
        .expect("written");
    }
    let sealed = list.finish().expect("written").1;
    let landing = place.open(|spec| {
        (spec.deletes, spec.execution.deletes) = (Some(listed), sealed);
        spec.execution.delete_extraneous = true;
        patience.stops(spec);
    })?;
    let entries = [
        entry("", Kind::Dir, 0),
        entry("d", Kind::Dir, 0),
        entry("x", Kind::File, 700),
    ];
    let items = entries.into_iter().map(Item::Entry).collect();
    landing.handle(Message::Items { first: 0, items })?;
    landing.handle(Message::ItemsEnd { count: 3 })?;
    landing.finish()
}

#[test]
fn whoever_is_told_to_stop_in_any_part_of_a_session_asks_nobody_again() {
    // Every name of it is asked about, whatever is done with it: the rest of an earlier session, what is at its destination, what landed
    // before, what the source has, what is deleted and what is listed.
    let mut most = 0;
    let finished = loop {
        let place = Place::new();
        place.earlier_session(&["a", "b", "c", "x"], &["e", "f"]);
        let patience = Patience::of(most);
        match later_session(&place, &patience) {
            Ok(finished) => break (finished, patience.asked()),
            Err(stopped) => {
                assert_eq!((stopped.code, patience.asked()), (Code::Stopped, most + 1));
                most += 1;
            }
        }
        assert!(most < 1000, "it has an end");
    };
    let (finished, asked) = finished;
    assert_eq!((finished.totals.deleted, finished.totals.failed), (2, 0));
    // Once for the journal, six names in the folder, two that are to be deleted, three of the source and three that landed before; and at
    // the end two temporaries, two names that are checked and two that are deleted, three of the source on the way there and three to be
    // completed, and five lines.
    let least = 1 + 6 + 2 + 3 + 3 + 2 + 2 + 2 + 3 + 3 + 5;
    assert!(asked >= least, "{asked} of at least {least}");
}

#[test]
fn an_epoch_of_a_session_that_is_stopped_reads_nothing_back() {
    // More large files than wait to be read by others, and a small one.
    let (large, count) = (GEOMETRY.unit_bytes + 1, 70);
    for most in [usize::MAX, 0] {
        let place = Place::new();
        let patience = Patience::of(most);
        let landing = place.open(|spec| {
            spec.execution.verify = Verify::AtRest;
            spec.may_end = patience.permitted();
        });
        let landing = landing.expect("opened");
        let small = entry("a", Kind::File, 700);
        let names = (0..count).map(|number| format!("b{number:02}"));
        let entries = names.map(|name| entry(&name, Kind::File, large));
        let entries = std::iter::once(small).chain(entries);
        let items = entries.map(Item::Entry).collect();
        let items = Message::Items { first: 0, items };
        landing.handle(items).expect("entries");
        arrive(&landing, 0, 700, 0);
        for file in 1..=count {
            arrive(&landing, file, large, 0);
            arrive(&landing, file, large, 1);
            let generation = 0;
            let ends = landing.handle(Message::FileEnd { file, generation });
            ends.expect("its end");
        }
        let ended = landing.epoch().map_err(|failure| failure.code);
        let asked_once = (Err(Code::Stopped), 1);
        let read_all = most > 0;
        assert!(read_all && ended.is_ok() || (ended, patience.asked()) == asked_once);
        let there = place.to().entry(b"a", path("a")).expect("readable");
        let read = landing.pending.lock().verified.len();
        // As a session does in its end.
        landing.epoch().expect("nothing is left to be read");
        assert_eq!((there.is_some(), read > 0), (read_all, read_all), "{read}");
    }
}

#[test]
fn what_stays_is_counted_apart_from_what_is_only_durable() {
    let place = Place::new();
    let counters = place.earlier_session(&["a"], &["b"]);
    let unit = GEOMETRY.unit_bytes;
    assert_eq!(read(&counters.bytes_durable), 700 + unit);
    assert_eq!(read(&counters.bytes_whole), 700);
}
