//! What the end of a session leaves on the disk.

use std::sync::Arc;

use headrace_core::code::{Code, Failure};
use headrace_core::list::{ListEntry, ListWriter};
use headrace_core::message::Message;
use headrace_core::name::RelPath;
use headrace_core::ticket::Trash;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::storage::simulated::Disk;
use headrace_io::storage::{Folder, Holding, Writing};

use super::super::shared::Landing;
use super::super::spec::Answers;
use crate::session::landing::spec::MAX_TOUCHED;
use crate::session::landing::tests_support::landing_spec;

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

/// Whether a file of this name is in a folder or below it.
fn is_below(folder: &dyn Folder, name: &[u8]) -> bool {
    let mut names = Vec::new();
    let all = folder.names(&mut |name| {
        names.push(name.to_vec());
        true
    });
    all.expect("readable");
    names.iter().any(|found| {
        found == name
            || folder
                .folder(found)
                .is_ok_and(|below| is_below(&*below, name))
    })
}

#[test]
fn invariant_5_a_name_is_where_it_was_or_in_the_trash_whenever_the_power_goes() {
    let mut kept = 0;
    for (cut, fate) in (0..60).flat_map(|cut| [(cut, 0), (cut, 2), (cut, 3), (cut, 5)]) {
        let scratch = tempfile::tempdir().expect("a folder");
        let disk = Disk::default();
        let mut spec = landing_spec(&disk, scratch.path()).expect("a spec");
        spec.epochs.sync_everything_from = usize::MAX;
        let mut to = spec.target.folder(&RelPath::root()).expect("the root");
        let top = Arc::clone(&to);
        for name in spec.execution.destination.path.components() {
            to.make_folder(name).expect("made");
            to.sync().expect("synced");
            to = to.folder(name).expect("there");
        }
        let path = scratch.path().join("deletes.jsonl");
        let mut list = ListWriter::new(std::fs::File::create(&path).expect("a file"));
        let names: Vec<String> = (0..4).map(|number| format!("d{number}")).collect();
        for name in &names {
            let part = to.create(name.as_bytes(), Holding::Named, Writing::Buffered);
            part.expect("a file").sync().expect("synced");
            let path = RelPath::from_bytes(name.as_bytes()).expect("a path");
            let found = to.entry(name.as_bytes(), path).expect("readable");
            list.push(&ListEntry::from(&found.expect("there")))
                .expect("written");
        }
        to.sync().expect("synced");
        (spec.deletes, spec.execution.deletes) = (Some(path), list.finish().expect("written").1);
        spec.execution.delete_extraneous = true;
        spec.execution.trash = Some(Trash { keep_days: 30 });
        let threads = Arc::new(DiskPool::new(0).expect("no threads"));
        let buffers = BufferPool::new(BUFFER_BYTES);
        let landing = Landing::open(spec, Arc::new(Quiet), Arc::default(), buffers, threads);
        let landing = landing.expect("opened");
        landing
            .handle(Message::ItemsEnd { count: 0 })
            .expect("nothing");
        disk.cut_after(cut);
        let finished = landing.finish(&|| Ok(()));
        let mut number = fate;
        disk.power_cycle(|| {
            number += 1;
            number
        });
        for name in &names {
            assert!(is_below(&*top, name.as_bytes()), "{name} at {cut}, {fate}");
        }
        if finished.is_ok_and(|finished| finished.totals.deleted == 4) {
            kept += 1;
            let gone = to.entry(b"d0", RelPath::root()).expect("readable");
            assert!(gone.is_none(), "it is there again");
        }
    }
    assert!(kept > 0, "no case came to its end");
}

#[test]
fn what_is_on_another_file_system_than_the_trash_stays_and_says_so() {
    let scratch = tempfile::tempdir().expect("a folder");
    let disk = Disk::default();
    disk.mount(b"deep");
    let mut spec = landing_spec(&disk, scratch.path()).expect("a spec");
    let mut to = spec.target.folder(&RelPath::root()).expect("the root");
    for name in spec.execution.destination.path.components() {
        to.make_folder(name).expect("made");
        to = to.folder(name).expect("there");
    }
    drop(to.create(b"a", Holding::Named, Writing::Buffered));
    let path = scratch.path().join("deletes.jsonl");
    let mut list = ListWriter::new(std::fs::File::create(&path).expect("a file"));
    let name = RelPath::from_bytes(b"a").expect("a path");
    let found = to.entry(b"a", name).expect("readable").expect("there");
    list.push(&ListEntry::from(&found)).expect("written");
    (spec.deletes, spec.execution.deletes) = (Some(path), list.finish().expect("written").1);
    spec.execution.delete_extraneous = true;
    spec.execution.trash = Some(Trash { keep_days: 30 });
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    let landing = Landing::open(spec, Arc::new(Quiet), Arc::default(), buffers, threads);
    let landing = landing.expect("opened");
    landing
        .handle(Message::ItemsEnd { count: 0 })
        .expect("nothing");
    let finished = landing.finish(&|| Ok(())).expect("finished");
    assert_eq!((finished.totals.deleted, finished.totals.failed), (0, 1));
    assert!(to.inode_of(b"a").expect("readable").is_some());
    let failed = std::fs::read_to_string(&finished.failed_list).expect("a list");
    assert!(
        failed.contains("on another file system than the trash of its root, so it stays"),
        "{failed}"
    );
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
