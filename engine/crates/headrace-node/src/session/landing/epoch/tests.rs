//! When epochs are due, and what ends a session early.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::list::{ListEntry, ListWriter};
use headrace_core::manifest::Item;
use headrace_core::message::{FileResult, Message};
use headrace_core::name::RelPath;
use headrace_core::ticket::Compare;
use headrace_core::version::Version;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::descriptors::Descriptors;
use headrace_io::disk::DiskPool;
use headrace_io::journal::Journal;
use headrace_io::storage::simulated::{Disk, Errno};
use headrace_io::storage::{Holding, Writing};
use parking_lot::Mutex;
use tempfile::TempDir;

use super::super::shared::Landing;
use super::super::spec::{Answers, LandingSpec, WINDOW};
use crate::session::counters::{Counters, read};
use crate::session::landing::temporaries::remove_named;
use crate::session::landing::tests_support::landing_spec;

const CONTENT: &[u8] = b"content";

fn arrive(landing: &Arc<Landing>, file: u64) {
    landing
        .batch(&batch(file..file + 1), &|| false)
        .expect("it is taken");
}

fn batch(files: Range<u64>) -> Vec<u8> {
    let mut payload = Vec::new();
    for file in files {
        BatchFile {
            file,
            generation: 0,
            sparse: Sparse::No,
            hash: piece_hash(CONTENT.len() as u64, 0, CONTENT),
            bytes: CONTENT,
        }
        .put(&mut payload);
    }
    payload
}

/// A source that sends its second and last file while the epoch of the first is under way.
#[derive(Default)]
struct Late {
    landing: OnceLock<Arc<Landing>>,
}

impl Answers for Late {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        if let (Message::Results(results), Some(landing)) = (message, self.landing.get())
            && results.iter().any(|(file, _)| *file == 0)
        {
            arrive(landing, 1);
        }
        Ok(())
    }
}

fn item(path: &[u8]) -> Item {
    Item::Entry(Entry {
        path: RelPath::from_bytes(path).expect("a path"),
        kind: Kind::File,
        size: CONTENT.len() as u64,
        mtime_ns: 1,
        version: Version::new(b"1").expect("short"),
        mode: 0o640,
        target: None,
    })
}

fn open(answers: Arc<dyn Answers>, scratch: &TempDir) -> Arc<Landing> {
    open_with(|_| {}, answers, scratch)
}

fn open_with(
    change: impl FnOnce(&mut LandingSpec),
    answers: Arc<dyn Answers>,
    scratch: &TempDir,
) -> Arc<Landing> {
    let mut spec = landing_spec(&Disk::default(), scratch.path()).expect("a spec");
    change(&mut spec);
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    Landing::open(spec, answers, Arc::default(), buffers, threads).expect("a landing")
}

#[test]
fn the_last_files_do_not_wait_when_they_came_during_an_epoch() {
    let scratch = tempfile::tempdir().expect("a folder");
    let late = Arc::new(Late::default());
    let landing = open(Arc::clone(&late) as Arc<dyn Answers>, &scratch);
    let items = [&b"first"[..], b"second"].map(item);
    let items = items.into();
    landing
        .handle(Message::Items { first: 0, items })
        .expect("entries");
    landing
        .handle(Message::ItemsEnd { count: 2 })
        .expect("their end");
    assert!(late.landing.set(Arc::clone(&landing)).is_ok());

    arrive(&landing, 0);
    landing.epoch().expect("the epoch of the first");
    let pending = landing.pending.lock();
    assert_eq!((pending.whole.len(), pending.hurry), (1, true));
}

#[test]
fn invariant_5_after_a_failed_sync_nothing_more_is_made_durable_or_named() {
    let (scratch, disk) = (tempfile::tempdir().expect("a folder"), Disk::default());
    let heard = Arc::new(Heard::default());
    let on_disk = |spec: &mut LandingSpec| {
        spec.target = Arc::new(disk.target("data"));
        spec.epochs.sync_everything_from = 1;
    };
    let landing = open_with(on_disk, Arc::clone(&heard) as Arc<dyn Answers>, &scratch);
    let items = [&b"first"[..], b"second"].map(item).into();
    landing
        .handle(Message::Items { first: 0, items })
        .expect("entries");
    arrive(&landing, 0);
    disk.fail_once(0, Errno::IO);
    let failure = landing.epoch().expect_err("what was written is lost");
    assert_eq!(failure.code, Code::DestinationFailed);
    // Its content may have been written before, and been lost with the other.
    arrive(&landing, 1);
    assert_eq!(landing.epoch(), Err(failure), "the next sync would succeed");
    let told = heard.0.lock();
    let results = |message: &Message| matches!(message, Message::Results(_));
    assert!(!told.iter().any(results), "{told:?}");
}

/// Remembers what was answered.
#[derive(Default)]
struct Heard(Mutex<Vec<Message>>);

impl Answers for Heard {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        self.0.lock().push(message);
        Ok(())
    }
}

#[test]
fn a_file_that_is_whole_gets_its_name_whatever_its_source_becomes() {
    let scratch = tempfile::tempdir().expect("a folder");
    let heard = Arc::new(Heard::default());
    let landing = open(Arc::clone(&heard) as Arc<dyn Answers>, &scratch);
    let items = vec![item(b"file")];
    landing
        .handle(Message::Items { first: 0, items })
        .expect("an entry");
    arrive(&landing, 0);
    let Item::Entry(entry) = item(b"file") else {
        unreachable!("an entry")
    };
    heard.0.lock().clear();
    landing
        .handle(Message::FileChanged {
            file: 0,
            generation: 1,
            entry: Entry { size: 1, ..entry },
        })
        .expect("too late");
    landing.epoch().expect("an epoch");
    assert_eq!(
        *heard.0.lock(),
        [Message::Results(vec![(0, FileResult::Done)])]
    );
}

#[test]
fn a_comparison_holds_up_nothing_else_that_the_source_says() {
    let scratch = tempfile::tempdir().expect("a folder");
    let disk = Disk::default();
    let mut spec = landing_spec(&disk, scratch.path()).expect("a spec");
    spec.execution.compare = Compare::Checksum;
    let mut folder = spec.target.folder(&RelPath::root()).expect("the root");
    for name in spec.execution.destination.path.components() {
        folder.make_folder(name).expect("made");
        folder = folder.folder(name).expect("there");
    }
    let part = folder.create(b"file", Holding::Named, Writing::Buffered);
    part.and_then(|part| part.write_at(CONTENT, 0))
        .expect("a file");
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    let heard = Arc::new(Heard::default());
    let answers = Arc::clone(&heard) as Arc<dyn Answers>;
    let landing = Landing::open(spec, answers, Arc::default(), buffers, threads).expect("opened");
    let items = vec![item(b"file")];
    landing
        .handle(Message::Items { first: 0, items })
        .expect("an entry");
    heard.0.lock().clear();
    let hash = *blake3::hash(CONTENT).as_bytes();
    landing
        .handle(Message::Compared { file: 0, hash })
        .expect("a hash");
    assert_eq!(*heard.0.lock(), [], "it was read while the source waits");
    landing
        .read_back(&|| heard.0.lock().len() > 1)
        .expect("read");
    let done = Message::Results(vec![(0, FileResult::Done)]);
    assert_eq!(heard.0.lock()[1], done);
}

#[test]
fn forgetting_removes_also_small_files_that_had_names_when_their_node_was_killed() {
    let scratch = tempfile::tempdir().expect("a folder");
    let disk = Disk::default();
    disk.name_all();
    let spec = landing_spec(&disk, scratch.path()).expect("a spec");
    let (store, state) = (Arc::clone(&spec.target), Arc::clone(&spec.state));
    let (transfer, to) = (
        spec.transfer.clone(),
        spec.execution.destination.path.clone(),
    );
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    let quiet = Arc::new(Late::default());
    let landing = Landing::open(spec, quiet, Arc::default(), buffers, threads).expect("opened");
    let items = vec![item(b"first"), item(b"second")];
    landing
        .handle(Message::Items { first: 0, items })
        .expect("entries");
    arrive(&landing, 0);
    arrive(&landing, 1);
    // Killed before the epoch that would have named them.
    drop(landing);
    let names = || {
        let mut count = 0;
        let folder = store.folder(&to).expect("a folder");
        let listed = folder.names(&mut |_| {
            count += 1;
            true
        });
        listed.map(|()| count).expect("readable")
    };
    assert_eq!(names(), 2);
    let replay = Journal::open(&*state, b"journal", &mut (), &|| Ok(()))
        .expect("a journal")
        .1;
    remove_named(&*store, &replay, &transfer, &to);
    assert_eq!(names(), 0);
}

/// A source that sends one more entry as soon as the window has room for it.
#[derive(Default)]
struct Eager {
    landing: OnceLock<Arc<Landing>>,
}

impl Answers for Eager {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        match (message, self.landing.get()) {
            (Message::Results(_), Some(landing)) => landing.handle(Message::Items {
                first: WINDOW.into(),
                items: vec![item(b"next")],
            }),
            _ => Ok(()),
        }
    }
}

#[test]
fn who_is_told_a_result_finds_room_for_the_next_entry() {
    let scratch = tempfile::tempdir().expect("a folder");
    let eager = Arc::new(Eager::default());
    let landing = open(Arc::clone(&eager) as Arc<dyn Answers>, &scratch);
    for first in (0..u64::from(WINDOW)).step_by(512) {
        let names = (first..first + 512).map(|number| item(format!("a{number:06}").as_bytes()));
        let items = names.collect();
        landing
            .handle(Message::Items { first, items })
            .expect("entries");
    }
    assert!(eager.landing.set(Arc::clone(&landing)).is_ok());
    arrive(&landing, 0);
    landing.epoch().expect("the window is not overrun");
}

#[test]
fn invariant_6_files_that_wait_hold_no_more_than_their_part_of_the_descriptors() {
    let scratch = tempfile::tempdir().expect("a folder");
    let tight = |spec: &mut LandingSpec| spec.share = Arc::new(Descriptors::new(1024).share());
    let landing = open_with(tight, Arc::new(Late::default()), &scratch);
    let items = (0..500).map(|number| item(format!("a{number:06}").as_bytes()));
    let items = items.collect();
    landing
        .handle(Message::Items { first: 0, items })
        .expect("entries");
    // A quarter of the 768 that are left to content; who brings more waits for an epoch, which is told here that there is none.
    landing
        .batch(&batch(0..500), &|| true)
        .expect("as far as there is room");
    assert_eq!(landing.pending.lock().whole.len(), 192);
    assert!(landing.wait_for_epoch(&|| false));
    landing.epoch().expect("it frees the places");
    landing
        .batch(&batch(192..500), &|| true)
        .expect("as far as there is room");
    assert_eq!(landing.pending.lock().whole.len(), 192);
}

#[test]
fn a_stop_also_ends_the_deletes() {
    let scratch = tempfile::tempdir().expect("a folder");
    let disk = Disk::default();
    let mut spec = landing_spec(&disk, scratch.path()).expect("a spec");
    spec.execution.delete_extraneous = true;
    let to = spec.execution.destination.path.clone();
    let mut folder = spec.target.folder(&RelPath::root()).expect("the root");
    for name in to.components() {
        folder.make_folder(name).expect("made");
        folder = folder.folder(name).expect("there");
    }
    let path = scratch.path().join("deletes.jsonl");
    let mut list = ListWriter::new(std::fs::File::create(&path).expect("a file"));
    let names = [&b"a"[..], b"b", b"c"];
    for name in names {
        let part = folder.create(name, Holding::Named, Writing::Buffered);
        part.expect("a file");
        let path = RelPath::from_bytes(name).expect("a path");
        let found = folder.entry(name, path).expect("readable").expect("there");
        list.push(&ListEntry::from(&found)).expect("written");
    }
    (spec.deletes, spec.execution.deletes) = (Some(path), list.finish().expect("written").1);
    let (quiet, counters) = (Arc::new(Late::default()), Arc::new(Counters::default()));
    let counted = Arc::clone(&counters);
    spec.permitted = Arc::new(move || match read(&counted.deleted) {
        0 => Ok(()),
        _ => Err(Failure::new(Code::Stopped, "enough")),
    });
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    let landing = Landing::open(spec, quiet, Arc::clone(&counters), buffers, threads);
    let landing = landing.expect("opened");
    landing
        .handle(Message::ItemsEnd { count: 0 })
        .expect("nothing");
    let stopped = landing.finish().map(drop).expect_err("stopped");
    assert_eq!(stopped.code, Code::Stopped);
    let left = names.map(|name| {
        folder
            .entry(name, RelPath::root())
            .expect("readable")
            .is_some()
    });
    assert_eq!(left, [false, true, true]);
    // They count as they go, and not at the end.
    let counted = [&counters.deleted, &counters.durable_steps].map(read);
    assert_eq!(counted, [1, 1]);
}

#[test]
fn a_disk_thread_that_panics_ends_the_attempt() {
    let scratch = tempfile::tempdir().expect("a folder");
    let landing = open(Arc::new(Late::default()), &scratch);
    landing.on_disk(|| panic!("on purpose"));
    assert_eq!(landing.check().expect_err("over").code, Code::Internal);
    assert!(landing.wait_for_epoch(&|| false));
}
