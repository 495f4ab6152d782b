//! What the end of a session leaves on the disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::list::{ListEntry, ListWriter};
use headrace_core::manifest::Item;
use headrace_core::message::Message;
use headrace_core::name::RelPath;
use headrace_core::ticket::Trash;
use headrace_core::version::Version;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::storage::simulated::Disk;
use headrace_io::storage::{Folder, Holding, Writing};

use super::super::shared::Landing;
use super::super::spec::{Answers, LandingSpec};
use crate::session::counters::{Counters, read};
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
    let finished = landing.finish().expect("finished");
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
        let finished = landing.finish();
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
    let finished = landing.finish().expect("finished");
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

/// Names that the source does not have any more.
const SUPERFLUOUS: u64 = 5;

fn entry(name: &str, kind: Kind) -> Entry {
    Entry {
        path: RelPath::from_bytes(name.as_bytes()).expect("a path"),
        kind,
        size: 0,
        mtime_ns: 1,
        version: Version::new(b"1").expect("short"),
        mode: 0o755,
        target: (kind == Kind::Symlink).then(|| Box::from(&b"target"[..])),
    }
}

/// What the source has: folders and symlinks, which are made at the end.
fn has() -> Message {
    let entries = ["a", "b", "c"].map(|name| entry(name, Kind::Dir));
    let symlinks = ["d", "e"].map(|name| entry(name, Kind::Symlink));
    let items = entries.into_iter().chain(symlinks).map(Item::Entry);
    Message::Items {
        first: 0,
        items: items.collect(),
    }
}

/// A landing that deletes some names, and that somebody stops when it has looked at `most` names; and how often it was told so.
fn stopped_after(
    most: u64,
    scratch: &Path,
    change: &dyn Fn(&mut LandingSpec),
) -> (Arc<Landing>, Arc<AtomicU64>) {
    let disk = Disk::default();
    let mut spec = landing_spec(&disk, scratch).expect("a spec");
    let mut to = spec.target.folder(&RelPath::root()).expect("the root");
    for name in spec.execution.destination.path.components() {
        to.make_folder(name).expect("made");
        to = to.folder(name).expect("there");
    }
    let path = scratch.join("deletes.jsonl");
    let mut list = ListWriter::new(std::fs::File::create(&path).expect("a file"));
    for number in 0..SUPERFLUOUS {
        let name = format!("old{number}");
        drop(to.create(name.as_bytes(), Holding::Named, Writing::Buffered));
        let path = RelPath::from_bytes(name.as_bytes()).expect("a path");
        let found = to.entry(name.as_bytes(), path).expect("readable");
        list.push(&ListEntry::from(&found.expect("there")))
            .expect("written");
    }
    (spec.deletes, spec.execution.deletes) = (Some(path), list.finish().expect("written").1);
    spec.execution.delete_extraneous = true;
    let counters = Arc::new(Counters::default());
    let (looked, told) = (Arc::clone(&counters), Arc::new(AtomicU64::new(0)));
    let tells = Arc::clone(&told);
    spec.permitted = Arc::new(move || {
        if read(&looked.looked_at) < most {
            return Ok(());
        }
        tells.fetch_add(1, Ordering::Relaxed);
        Err(Failure::new(Code::Stopped, "enough"))
    });
    spec.may_end = Arc::clone(&spec.permitted);
    change(&mut spec);
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(BUFFER_BYTES);
    let landing = Landing::open(spec, Arc::new(Quiet), counters, buffers, threads);
    (landing.expect("opened"), told)
}

#[test]
fn a_stop_ends_the_work_at_the_next_name_whatever_list_it_goes_over() {
    let looked_at = |landing: &Landing| read(&landing.counters.looked_at);
    // Whoever is told so goes on to no other name, and asks nobody again.
    let ends_there = |landing: &Landing, told: &AtomicU64, stopped: &Failure, most: u64| {
        let found = (looked_at(landing), told.load(Ordering::Relaxed));
        assert_eq!((stopped.code, found), (Code::Stopped, (most, 1)));
    };
    let scratch = || tempfile::tempdir().expect("a folder");
    // The delete list is checked when the source begins to list.
    for most in 0..SUPERFLUOUS {
        let scratch = scratch();
        let (landing, told) = stopped_after(most, scratch.path(), &|_| ());
        let stopped = landing.handle(has()).expect_err("stopped");
        ends_there(&landing, &told, &stopped, most);
    }
    // And all of this comes at the end: it is checked again and deleted, symlinks and folders are completed, lists are written, and
    // those of a move are settled.
    let (mut most, mut ends) = (2 * SUPERFLUOUS, 0);
    while ends == 0 {
        let scratch = scratch();
        let (landing, told) = stopped_after(most, scratch.path(), &|spec| {
            spec.execution.delete_source = true;
        });
        landing.handle(has()).expect("not yet");
        let all = landing.handle(Message::ItemsEnd { count: 5 });
        all.expect("not yet");
        match landing.finish() {
            Err(stopped) => {
                ends_there(&landing, &told, &stopped, most);
                most += 1;
            }
            Ok(finished) => {
                assert_eq!(finished.totals.deleted, SUPERFLUOUS);
                ends = looked_at(&landing);
                // Not before it had looked at all of them.
                assert_eq!((ends, told.load(Ordering::Relaxed)), (most, 0));
            }
        }
    }
    // What was listed, checked and decided before; and then each of these went over all its names.
    let (both, source) = (SUPERFLUOUS + 5, 5);
    assert_eq!(ends, 2 * SUPERFLUOUS + 2 * SUPERFLUOUS + source + 2 * both);
}

#[test]
fn a_stop_ends_the_search_of_a_list_for_a_name_behind_all_of_it() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("overwrites.jsonl");
    let mut list = ListWriter::new(std::fs::File::create(&path).expect("a file"));
    for number in 0..9 {
        let listed = entry(&format!("A{number}"), Kind::File);
        list.push(&ListEntry::from(&listed)).expect("written");
    }
    let sealed = list.finish().expect("written").1;
    let asked = Arc::new(AtomicU64::new(0));
    let (landing, _) = stopped_after(u64::MAX, scratch.path(), &|spec| {
        (spec.overwrites, spec.execution.overwrites) = (Some(path.clone()), sealed);
        let asked = Arc::clone(&asked);
        spec.permitted = Arc::new(move || match asked.fetch_add(1, Ordering::Relaxed) {
            asked if asked < SUPERFLUOUS + 3 => Ok(()),
            _ => Err(Failure::new(Code::Stopped, "enough")),
        });
    });
    let stopped = landing.handle(has()).expect_err("stopped");
    assert_eq!(stopped.code, Code::Stopped);
    assert_eq!(asked.load(Ordering::Relaxed), SUPERFLUOUS + 4);
}
