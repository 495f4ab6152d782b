//! What the end of a session leaves on the disk.

use std::sync::Arc;

use headrace_core::code::{Code, Failure};
use headrace_core::list::{ListEntry, ListWriter};
use headrace_core::message::Message;
use headrace_core::name::RelPath;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::storage::simulated::Disk;
use headrace_io::storage::{Holding, Writing};

use super::super::{Answers, Landing};
use super::MAX_TOUCHED;
use crate::session::tests_support::landing_spec;

struct Quiet;

impl Answers for Quiet {
    fn answer(&self, _: Message) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn invariant_5_what_is_deleted_in_many_folders_stays_deleted() {
    let scratch = tempfile::tempdir().expect("a folder");
    let disk = Disk::default();
    let mut spec = landing_spec(&disk, scratch.path()).expect("a spec");
    spec.epochs.sync_everything_from = usize::MAX;
    let mut to = spec.target.folder(&RelPath::root()).expect("the root");
    for name in spec.execution.destination.path.components() {
        to.make_folder(name).expect("made");
        to.sync().expect("synced");
        to = to.folder(name).expect("there");
    }
    let path = scratch.path().join("deletes.jsonl");
    let mut list = ListWriter::new(std::fs::File::create(&path).expect("a file"));
    let mut folders = Vec::new();
    for number in 0..MAX_TOUCHED + 10 {
        let name = format!("d{number:05}");
        to.make_folder(name.as_bytes()).expect("made");
        let folder = to.folder(name.as_bytes()).expect("there");
        let part = folder.create(b"x", Holding::Named, Writing::Buffered);
        part.expect("a file").sync().expect("synced");
        folder.sync().expect("synced");
        let path = RelPath::from_bytes(format!("{name}/x").as_bytes()).expect("a path");
        let found = folder.entry(b"x", path).expect("readable").expect("there");
        list.push(&ListEntry::from(&found)).expect("written");
        folders.push(folder);
    }
    to.sync().expect("synced");
    (spec.deletes, spec.execution.deletes) = (Some(path), list.finish().expect("written").1);
    spec.execution.delete_extraneous = true;
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    let landing = Landing::open(spec, Arc::new(Quiet), Arc::default(), buffers, threads);
    let landing = landing.expect("opened");
    landing
        .handle(Message::ItemsEnd { count: 0 })
        .expect("nothing");
    let finished = landing.finish(&|| Ok(())).expect("finished");
    assert_eq!(finished.totals.deleted, folders.len() as u64);

    disk.cut_after(0);
    // Nothing that was not synced survives.
    disk.power_cycle(|| 0);
    for folder in folders {
        let found = folder.entry(b"x", RelPath::root()).expect("readable");
        assert!(found.is_none(), "it is there again");
    }
}

#[test]
fn a_journal_of_work_that_was_given_out_again_is_not_written_to() {
    let scratch = tempfile::tempdir().expect("a folder");
    let disk = Disk::default();
    let open = |fence| {
        let mut spec = landing_spec(&disk, scratch.path()).expect("a spec");
        spec.shard.fence = fence;
        let threads = Arc::new(DiskPool::new(0).expect("no threads"));
        let buffers = BufferPool::new(BUFFER_BYTES);
        Landing::open(spec, Arc::new(Quiet), Arc::default(), buffers, threads).map(drop)
    };
    assert_eq!([open(2), open(2), open(3)], [Ok(()), Ok(()), Ok(())]);
    let refused = open(2).expect_err("given out again");
    assert_eq!(refused.code, Code::AttemptSuperseded);
}
