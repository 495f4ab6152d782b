//! When epochs are due.

use std::sync::{Arc, OnceLock};

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::Failure;
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::manifest::Item;
use headrace_core::message::Message;
use headrace_core::name::RelPath;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::storage::simulated::Disk;
use tempfile::TempDir;

use super::super::{Answers, Landing};
use crate::session::tests_support::landing_spec;

const CONTENT: &[u8] = b"content";

fn arrive(landing: &Arc<Landing>, file: u64) {
    let mut payload = Vec::new();
    BatchFile {
        file,
        generation: 0,
        sparse: Sparse::No,
        hash: piece_hash(CONTENT.len() as u64, 0, CONTENT),
        bytes: CONTENT,
    }
    .put(&mut payload);
    landing.batch(&payload, &|| false).expect("it is taken");
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

fn open(answers: Arc<dyn Answers>, scratch: &TempDir) -> Arc<Landing> {
    let spec = landing_spec(&Disk::default(), scratch.path()).expect("a spec");
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    Landing::open(spec, answers, Arc::default(), buffers, threads).expect("a landing")
}

#[test]
fn the_last_files_do_not_wait_when_they_came_during_an_epoch() {
    let scratch = tempfile::tempdir().expect("a folder");
    let late = Arc::new(Late::default());
    let landing = open(Arc::clone(&late) as Arc<dyn Answers>, &scratch);
    let items = [&b"first"[..], b"second"].map(|path| {
        Item::Entry(Entry {
            path: RelPath::from_bytes(path).expect("a path"),
            kind: Kind::File,
            size: CONTENT.len() as u64,
            mtime_ns: 1,
            ctime_ns: 1,
            inode: 1,
            mode: 0o640,
            target: None,
        })
    });
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
