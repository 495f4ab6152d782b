//! Large files on a real file system, written past its page cache or through it.

use std::path::Path;
use std::sync::Arc;

use headrace_core::access::Access;
use headrace_core::batch::Sparse;
use headrace_core::code::Failure;
use headrace_core::codec::to_usize;
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::manifest::Item;
use headrace_core::message::{Decision, Message};
use headrace_core::name::RelPath;
use headrace_core::version::Version;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::root::Root;
use headrace_io::storage::posix::PosixTarget;
use headrace_io::storage::simulated::Disk;
use headrace_io::storage::{Target, Writing};
use parking_lot::Mutex;

use super::super::shared::Landing;
use super::super::spec::{Answers, Geometry};
use crate::session::landing::tests_support::landing_spec;

const UNIT: u64 = 4 << 20;
/// Large enough for direct writes, and no multiple of any block.
const SIZE: u64 = 2 * UNIT + 4999;

#[derive(Default)]
struct Decisions(Mutex<Vec<Decision>>);

impl Answers for Decisions {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        if let Message::Decisions { decisions, .. } = message {
            self.0.lock().extend(decisions);
        }
        Ok(())
    }
}

/// A destination folder, and the disk that holds the journal of its landings.
struct Place {
    folder: tempfile::TempDir,
    scratch: tempfile::TempDir,
    journal: Disk,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            scratch: tempfile::tempdir().expect("a folder"),
            journal: Disk::default(),
        }
    }

    /// A session that writes as it is told; says which units it asks for.
    fn session(&self, writing: Writing) -> (Arc<Landing>, Vec<u64>) {
        let root = Root::open("there", self.folder.path(), Access::Write).expect("a root");
        let mut spec = landing_spec(&self.journal, self.scratch.path()).expect("a spec");
        spec.target = Arc::new(PosixTarget::new(Arc::new(root), writing)) as Arc<dyn Target>;
        spec.geometry = Geometry::new(UNIT);
        let heard = Arc::new(Decisions::default());
        let answers = Arc::clone(&heard) as Arc<dyn Answers>;
        let threads = Arc::new(DiskPool::new(0).expect("no threads"));
        let buffers = BufferPool::new(4 * BUFFER_BYTES);
        let landing = Landing::open(spec, answers, Arc::default(), buffers, threads);
        let landing = landing.expect("a landing");
        let items = vec![Item::Entry(Entry {
            path: RelPath::from_bytes(b"file").expect("a path"),
            kind: Kind::File,
            size: SIZE,
            mtime_ns: 1,
            version: Version::new(b"1").expect("short"),
            mode: 0o640,
            target: None,
        })];
        landing
            .handle(Message::Items { first: 0, items })
            .expect("an entry");
        landing
            .handle(Message::ItemsEnd { count: 1 })
            .expect("their end");
        let asked = match heard.0.lock().first().expect("a decision") {
            Decision::Send => (0..landing.geometry().units(SIZE)).collect(),
            Decision::SendUnits(ranges) => ranges.iter().cloned().flatten().collect(),
            other => panic!("{other:?}"),
        };
        (landing, asked)
    }
}

fn content() -> Vec<u8> {
    (0..SIZE)
        .map(|at| (at % 251 + 1).to_le_bytes()[0])
        .collect()
}

fn send(landing: &Arc<Landing>, unit: u64, sparse: Sparse) {
    let content = content();
    let (start, end) = (unit * UNIT, SIZE.min((unit + 1) * UNIT));
    let sink = landing.open_unit(0, 0, start, sparse).expect("a unit");
    let mut sink = sink.expect("wanted");
    let block_bytes = landing.geometry().block_bytes;
    for offset in (start..end).step_by(to_usize(block_bytes)) {
        let block = &content[to_usize(offset)..to_usize(end.min(offset + block_bytes))];
        sink.room(block.len() as u64)
            .expect("room")
            .copy_from_slice(block);
        sink.accept(piece_hash(SIZE, offset, block)).expect("good");
    }
}

fn complete(place: &Place, landing: &Arc<Landing>) {
    complete_with(place, landing, &content());
}

fn complete_with(place: &Place, landing: &Arc<Landing>, content: &[u8]) {
    let (file, generation) = (0, 0);
    landing
        .handle(Message::FileEnd { file, generation })
        .expect("its end");
    landing.epoch().expect("an epoch");
    assert!(landing.is_settled());
    let finished = landing.finish().expect("finished");
    assert_eq!(finished.totals.failed, 0);
    let to = landing.full_path(&RelPath::from_bytes(b"file").expect("a path"));
    let path: &Path = &place.folder.path().join(to.expect("short").as_path());
    assert!(
        std::fs::read(path).expect("there") == content,
        "other content"
    );
}

/// Sends one unit in a session that writes in one way, and the others in one that writes in the other.
fn resume(ways: [Writing; 2], sparse: Sparse) {
    let place = Place::new();
    let (landing, asked) = place.session(ways[0]);
    assert_eq!(asked, [0, 1, 2]);
    send(&landing, 0, sparse);
    landing.epoch().expect("an epoch");
    drop(landing);
    let (landing, asked) = place.session(ways[1]);
    assert_eq!(asked, [1, 2]);
    for unit in asked {
        send(&landing, unit, sparse);
    }
    complete(&place, &landing);
}

/// Sends a unit that is all hole.
fn send_hole(landing: &Arc<Landing>, unit: u64) {
    let (start, end) = (unit * UNIT, SIZE.min((unit + 1) * UNIT));
    let sink = landing.open_unit(0, 0, start, Sparse::Yes).expect("a unit");
    let mut sink = sink.expect("wanted");
    let block_bytes = landing.geometry().block_bytes;
    for offset in (start..end).step_by(to_usize(block_bytes)) {
        let length = block_bytes.min(end - offset);
        let hash = piece_hash(SIZE, offset, &vec![0; to_usize(length)]);
        sink.accept_hole(length, hash).expect("good");
    }
}

/// Sends content for the first block of a unit, and no more of it.
fn send_first_block(landing: &Arc<Landing>, unit: u64) {
    let sink = landing.open_unit(0, 0, unit * UNIT, Sparse::Yes);
    let mut sink = sink.expect("a unit").expect("wanted");
    let length = landing.geometry().block_bytes;
    let block = vec![7; to_usize(length)];
    sink.room(length).expect("room").copy_from_slice(&block);
    let hash = piece_hash(SIZE, unit * UNIT, &block);
    sink.accept(hash).expect("good");
    sink.abandon();
}

#[test]
fn a_hole_holds_nothing_of_what_was_sent_there_before() {
    for is_resumed in [false, true] {
        let place = Place::new();
        let (mut landing, asked) = place.session(Writing::Buffered);
        assert_eq!(asked, [0, 1, 2]);
        send_hole(&landing, 0);
        landing.epoch().expect("an epoch");
        send_first_block(&landing, 1);
        if is_resumed {
            drop(landing);
            let (next, asked) = place.session(Writing::Buffered);
            assert_eq!(asked, [1, 2]);
            landing = next;
        }
        send_hole(&landing, 1);
        send_hole(&landing, 2);
        complete_with(&place, &landing, &vec![0; to_usize(SIZE)]);
    }
}

#[test]
fn a_file_begun_past_the_page_cache_and_completed_through_it_has_its_size() {
    resume([Writing::Direct, Writing::Buffered], Sparse::No);
    resume([Writing::Buffered, Writing::Direct], Sparse::No);
}

#[test]
fn a_file_with_holes_is_resumed_past_the_page_cache() {
    resume([Writing::Direct, Writing::Direct], Sparse::Yes);
}
