//! One suite of what a store promises, run against every store.

use std::io;
use std::sync::Arc;

use headrace_core::access::Access;
use headrace_core::entry::Kind;
use headrace_core::name::RelPath;
use headrace_io::root::Root;
use headrace_io::storage::real::RealStore;
use headrace_io::storage::simulated::Disk;
use headrace_io::storage::{Existing, Folder, Holding, Metadata, Replaced, Store, Writing};

/// Runs a check on the folder at the root of every store.
fn on_every_store(check: impl Fn(&dyn Store, &dyn Folder)) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Arc::new(Root::open("data", folder.path(), Access::Delete).expect("a root"));
    let real = RealStore::new(root, Writing::Buffered);
    let simulated = Disk::default().store("data");
    for store in [&real as &dyn Store, &simulated] {
        check(store, &*store.folder(&RelPath::root()).expect("the root"));
    }
}

fn entry(folder: &dyn Folder, name: &[u8]) -> Option<(Kind, u64)> {
    let entry = folder.entry(name, RelPath::root()).expect("readable");
    entry.map(|entry| (entry.kind, entry.size))
}

fn kind<T>(result: io::Result<T>) -> Option<io::ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn a_part_has_no_final_name_before_it_is_published() {
    on_every_store(|_, folder| {
        for holding in [Holding::Named, Holding::Unnamed] {
            let name: &[u8] = if holding == Holding::Named {
                b"named"
            } else {
                b"unnamed"
            };
            let part = folder
                .create(b".part", holding, Writing::Buffered)
                .expect("a part");
            part.allocate(10).expect("space");
            part.write_at(b"world", 5).expect("written");
            part.write_at(b"hello", 0).expect("written");
            let metadata = Metadata {
                mode: Some(0o640),
                mtime_ns: Some(1_700_000_000_123_456_789),
            };
            part.set_metadata(metadata).expect("set");
            part.sync_content().expect("synced");
            part.sync().expect("synced");
            part.evict().expect("evicted");
            assert_eq!(entry(folder, name), None);
            part.publish(name, Existing::Keep).expect("published");
            folder.sync().expect("synced");
            let found = folder
                .entry(name, RelPath::root())
                .expect("readable")
                .expect("there");
            assert_eq!((found.kind, found.size), (Kind::File, 10));
            let inode = folder.inode_of(name).expect("readable");
            assert_eq!(inode, Some(part.inode()));
            assert_eq!(folder.inode_of(b".part").expect("readable"), None);
            assert_eq!(
                (found.mode, found.mtime_ns),
                (0o640, 1_700_000_000_123_456_789)
            );
            let mut bytes = [0; 20];
            assert_eq!(part.read_at(&mut bytes, 2).expect("readable"), 8);
            assert_eq!(&bytes[..8], b"lloworld");
            assert_eq!(entry(folder, b".part"), None);
        }
    });
}

#[test]
fn a_name_is_replaced_only_on_request() {
    on_every_store(|_, folder| {
        for holding in [Holding::Named, Holding::Unnamed] {
            let part = |content: &[u8]| {
                let part = folder
                    .create(b".part", holding, Writing::Buffered)
                    .expect("a part");
                part.write_at(content, 0).expect("written");
                part
            };
            let name: &[u8] = if holding == Holding::Named {
                b"one"
            } else {
                b"two"
            };
            part(b"old")
                .publish(name, Existing::Keep)
                .expect("published");
            let second = part(b"newer");
            assert_eq!(
                kind(second.publish(name, Existing::Keep)),
                Some(io::ErrorKind::AlreadyExists)
            );
            assert_eq!(entry(folder, name), Some((Kind::File, 3)));
            second.publish(name, Existing::Replace).expect("replaced");
            assert_eq!(entry(folder, name), Some((Kind::File, 5)));
            let third = part(b"x");
            third.discard().expect("discarded");
            assert_eq!(entry(folder, b".part"), None);
        }
    });
}

#[test]
fn a_named_part_is_found_again_and_an_unnamed_one_takes_no_name() {
    on_every_store(|_, folder| {
        let part = folder
            .create(b".part-1", Holding::Named, Writing::Buffered)
            .expect("a part");
        part.write_at(b"abc", 0).expect("written");
        assert_eq!(
            kind(folder.create(b".part-1", Holding::Named, Writing::Buffered)),
            Some(io::ErrorKind::AlreadyExists)
        );
        let again = folder.reopen(b".part-1", Writing::Buffered).expect("there");
        assert_eq!(again.inode(), part.inode());
        again.set_size(2).expect("cut");
        let mut bytes = [0; 4];
        assert_eq!(part.read_at(&mut bytes, 0).expect("readable"), 2);
        folder
            .create(b".part-2", Holding::Unnamed, Writing::Buffered)
            .expect("a part");
        let mut names = Vec::new();
        folder
            .names(&mut |name| {
                names.push(name.to_vec());
                true
            })
            .expect("readable");
        assert_eq!(names, [b".part-1"]);
    });
}

#[test]
fn folders_and_symlinks_are_made_once_and_removed() {
    on_every_store(|store, folder| {
        folder.make_folder(b"inner").expect("made");
        assert_eq!(
            kind(folder.make_folder(b"inner")),
            Some(io::ErrorKind::AlreadyExists)
        );
        let inner = folder.folder(b"inner").expect("there");
        inner.make_symlink(b"link", b"some/where").expect("made");
        assert_eq!(
            kind(inner.make_symlink(b"link", b"else")),
            Some(io::ErrorKind::AlreadyExists)
        );
        inner
            .set_symlink_mtime(b"link", 42_000_000_007)
            .expect("set");
        let link = inner
            .entry(b"link", RelPath::root())
            .expect("readable")
            .expect("there");
        assert_eq!(
            (link.kind, link.target.as_deref(), link.mtime_ns),
            (Kind::Symlink, Some(&b"some/where"[..]), 42_000_000_007)
        );
        assert!(inner.folder(b"link").is_err());
        inner
            .rename(b"link", b"renamed", Existing::Keep)
            .expect("renamed");
        inner.remove(b"renamed").expect("removed");
        assert_eq!(
            kind(inner.remove(b"renamed")),
            Some(io::ErrorKind::NotFound)
        );
        inner
            .set_metadata(Metadata {
                mode: Some(0o750),
                mtime_ns: Some(5),
            })
            .expect("set");
        assert_eq!(folder.device(), inner.device());
        store.sync_file_system(folder.device()).expect("synced");
        let path = RelPath::from_bytes(b"inner").expect("a path");
        assert!(store.folder(&path).is_ok());
        folder.remove_folder(b"inner").expect("removed");
        assert_eq!(kind(store.folder(&path)), Some(io::ErrorKind::NotFound));
    });
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_nothing_is_sure_of_the_rest() {
    let mut lost = [false; 3];
    for seed in 0..64_u64 {
        let mut number = seed;
        let random = || {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            number >> 20
        };
        let disk = Disk::default();
        let store = disk.store("data");
        let folder = store.folder(&RelPath::root()).expect("the root");
        let safe = folder
            .create(b"safe", Holding::Named, Writing::Buffered)
            .expect("a part");
        safe.write_at(b"kept", 0).expect("written");
        safe.sync().expect("synced");
        folder.sync().expect("synced");
        safe.write_at(b"lost", 4).expect("written");
        let unsafe_name = folder
            .create(b"unsafe", Holding::Named, Writing::Buffered)
            .expect("a part");
        unsafe_name.write_at(b"content", 0).expect("written");
        unsafe_name.sync().expect("synced");
        disk.cut_after(0);
        assert!(safe.write_at(b"dead", 0).is_err());
        assert!(folder.sync().is_err());
        disk.power_cycle(random);
        let path = |name: &[u8]| RelPath::from_bytes(name).expect("a path");
        let content = store.content(&path(b"safe")).expect("a synced name");
        assert!(content.starts_with(b"kept"), "{content:?}");
        lost[0] |= content.len() == 4;
        lost[1] |= content.len() == 8;
        lost[2] |= store.content(&path(b"unsafe")).is_none();
    }
    assert_eq!(lost, [true; 3]);
}

#[test]
fn a_file_that_never_fits_is_refused_before_its_content_comes() {
    let memory = std::path::Path::new("/dev/shm");
    let folders = [
        tempfile::tempdir().ok(),
        memory
            .is_dir()
            .then(|| tempfile::tempdir_in(memory).ok())
            .flatten(),
    ];
    for folder in folders.into_iter().flatten() {
        let root = Arc::new(Root::open("data", folder.path(), Access::Write).expect("a root"));
        let store = RealStore::new(root, Writing::Buffered);
        let folder = store.folder(&RelPath::root()).expect("the root");
        let part = folder
            .create(b".part", Holding::Named, Writing::Buffered)
            .expect("a part");
        part.allocate(1 << 20).expect("room");
        // Two exabytes; some file systems say that no file may be that long.
        let refused = kind(part.allocate(1 << 61));
        assert!(
            matches!(
                refused,
                Some(io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge)
            ),
            "{refused:?}"
        );
        part.discard().expect("gone");
    }
}

#[test]
fn a_part_replaces_only_what_was_expected() {
    on_every_store(|_, folder| {
        for holding in [Holding::Named, Holding::Unnamed] {
            let part = |bytes: &[u8]| {
                let part = folder.create(b".part", holding, Writing::Buffered);
                let part = part.expect("a part");
                part.write_at(bytes, 0).expect("written");
                part
            };
            part(b"old")
                .publish(b"name", Existing::Keep)
                .expect("there");
            let new = part(b"longer");
            let replaced = new.replace(b"name", &|found| found.size == 99);
            assert_eq!(replaced.expect("looked at"), Replaced::No);
            assert_eq!(entry(folder, b"name"), Some((Kind::File, 3)));
            new.discard().expect("gone");
            let new = part(b"longer");
            let replaced = new.replace(b"name", &|found| found.size == 3);
            assert_eq!(replaced.expect("looked at"), Replaced::Yes);
            assert_eq!(entry(folder, b"name"), Some((Kind::File, 6)));
            assert_eq!(entry(folder, b".part"), None);
            folder.remove(b"name").expect("removed");
            // Nothing is there any more, so nothing is lost.
            let replaced = part(b"x").replace(b"name", &|_| false);
            assert_eq!(replaced.expect("looked at"), Replaced::Yes);
            folder.remove(b"name").expect("removed");
        }
    });
}

#[test]
fn a_part_replaces_nothing_that_changes_at_the_last_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Arc::new(Root::open("data", folder.path(), Access::Delete).expect("a root"));
    let store = RealStore::new(root, Writing::Buffered);
    let there = store.folder(&RelPath::root()).expect("the root");
    let path = folder.path().join("name");
    for holding in [Holding::Named, Holding::Unnamed] {
        std::fs::write(&path, b"old").expect("written");
        let part = there
            .create(b".part", holding, Writing::Buffered)
            .expect("a part");
        part.write_at(b"new", 0).expect("written");
        // Somebody writes between the look and the exchange.
        let replaced = part.replace(b"name", &|_| {
            std::fs::write(&path, b"newer").expect("written");
            true
        });
        assert_eq!(replaced.expect("looked at"), Replaced::No);
        assert_eq!(std::fs::read(&path).expect("there"), b"newer");
        part.discard().expect("gone");
        assert_eq!(entry(&*there, b".part"), None);
    }
}

#[test]
fn each_file_system_below_a_root_is_synced_by_itself_or_file_by_file() {
    let root = Arc::new(Root::open("all", "/".as_ref(), Access::Write).expect("a root"));
    let store = RealStore::new(root, Writing::Buffered);
    let device = |path: &[u8]| {
        let path = RelPath::from_bytes(path).expect("a path");
        store.folder(&path).map(|folder| folder.device())
    };
    let processes = device(b"proc").expect("a folder");
    let synced = |device| store.sync_file_system(device).expect("synced");
    assert!(!synced(processes), "nothing is known of this file system");
    assert!(!synced(u64::MAX), "no folder was opened on this one");
    if let Ok(memory) = device(b"dev/shm") {
        assert_ne!(memory, processes);
        assert!(synced(memory));
    }
}
