//! One suite of what a storage promises, run against every one: as the origin that files are read from, and as the target they go to.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use headrace_core::access::Access;
use headrace_core::entry::Kind;
use headrace_core::name::RelPath;
use headrace_io::buffer::{ALIGNMENT, BufferPool};
use headrace_io::descriptors::Descriptors;
use headrace_io::root::Root;
use headrace_io::storage::posix::{PosixOrigin, PosixTarget};
use headrace_io::storage::simulated::{Disk, SimulatedTarget};
use headrace_io::storage::{
    Existing, Folder, Holding, Metadata, Origin, Removal, Replaced, Target, Writing,
};
use headrace_io::walk::{WalkLimits, WalkProblem};

/// Runs a check on the folder at the root of every target.
fn on_every_target(check: impl Fn(&dyn Target, &dyn Folder)) {
    on_every_storage(|target, folder, _| check(target, folder));
}

/// Runs a check on the folder at the root of every target, and on the origin that reads the same.
fn on_every_storage(check: impl Fn(&dyn Target, &dyn Folder, &dyn Origin)) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Arc::new(Root::open("data", folder.path(), Access::Delete).expect("a root"));
    let share = Arc::new(Descriptors::new(1 << 10).share());
    let read = PosixOrigin::new(Arc::clone(&root), RelPath::root(), share);
    let disk = Disk::default();
    let (written, remembered) = (
        PosixTarget::new(root, Writing::Buffered),
        disk.target("data"),
    );
    let storages: [(&dyn Target, &dyn Origin); 2] =
        [(&written, &read), (&remembered, &disk.origin("data"))];
    for (target, origin) in storages {
        let folder = target.folder(&RelPath::root()).expect("the root");
        check(target, &*folder, origin);
    }
}

fn path(text: &[u8]) -> RelPath {
    RelPath::from_bytes(text).expect("a path")
}

/// A small file with this content.
fn put(folder: &dyn Folder, name: &[u8], content: &[u8]) {
    let part = folder.create(b".part", Holding::Unnamed, Writing::Buffered);
    let part = part.expect("a part");
    part.write_at(content, 0).expect("written");
    part.publish(name, Existing::Replace).expect("published");
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
    on_every_target(|_, folder| {
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
fn a_file_has_the_permissions_that_were_set_last_whatever_it_was_made_with() {
    on_every_target(|_, folder| {
        // What the process withholds from new files (umask) is given as well.
        let all: [&[u32]; 4] = [&[0o666], &[0o604, 0o640], &[0o640, 0o666], &[0o644, 0o600]];
        for modes in all {
            let made = modes.last().copied().unwrap_or_default();
            let part = folder.create_unnamed(b".part", made).expect("a part");
            for mode in modes {
                let metadata = Metadata {
                    mode: Some(*mode),
                    mtime_ns: None,
                };
                part.set_metadata(metadata).expect("set");
            }
            part.publish(b"name", Existing::Keep).expect("published");
            let found = folder.entry(b"name", RelPath::root()).expect("readable");
            assert_eq!(found.map(|found| found.mode), Some(made));
            folder.remove(b"name").expect("removed");
        }
    });
}

#[test]
fn a_part_shares_all_content_or_none_of_it() {
    on_every_storage(|_, folder, origin| {
        put(folder, b"from", b"content");
        let from = origin.open(&path(b"from")).expect("readable");
        let from = from.expect("a file");
        let part = folder.create(b".part-1", Holding::Named, Writing::Buffered);
        let part = part.expect("a part");
        part.write_at(b"its own content", 0).expect("written");
        let shared = part.share(&*from).expect("an answer, wherever this runs");
        let mut bytes = [0; 20];
        let count = part.read_at(&mut bytes, 0).expect("readable");
        let expected: &[u8] = if shared {
            b"content"
        } else {
            b"its own content"
        };
        assert_eq!(&bytes[..count], expected);
        part.discard().expect("discarded");
    });
}

#[test]
fn a_name_is_replaced_only_on_request() {
    on_every_target(|_, folder| {
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
    on_every_target(|_, folder| {
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
    on_every_target(|store, folder| {
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
        let path = path(b"inner");
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
        let store = disk.target("data");
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
        let content = store.content(&path(b"safe")).expect("a synced name");
        assert!(content.starts_with(b"kept"), "{content:?}");
        lost[0] |= content.len() == 4;
        lost[1] |= content.len() == 8;
        lost[2] |= store.content(&path(b"unsafe")).is_none();
    }
    assert_eq!(lost, [true; 3]);
}

#[test]
fn what_is_written_past_the_page_cache_is_durable_when_its_own_file_is_synced() {
    for by_itself in [true, false] {
        let disk = Disk::default();
        let store = disk.target("data").with_writing(Writing::Direct);
        let folder = store.folder(&RelPath::root()).expect("the root");
        let part = folder.create(b"file", Holding::Named, store.writing());
        let part = part.expect("a part");
        let pool = BufferPool::of(ALIGNMENT, ALIGNMENT);
        let mut block = pool.take(Duration::ZERO).expect("a buffer");
        block.fill(7);
        let refused = part.write_at(&block[..512], 0);
        assert_eq!(kind(refused), Some(io::ErrorKind::InvalidInput));
        part.write_at(&block, 0).expect("written");
        if by_itself {
            part.sync_content().expect("synced");
        }
        assert!(store.sync_file_system(folder.device()).expect("synced"));
        disk.power_cycle(|| 0);
        let found = store.content(&path(b"file")).expect("a synced name");
        // How long it is, is safe in both cases.
        assert_eq!(found, [if by_itself { 7 } else { 0 }; ALIGNMENT]);
    }
}

#[test]
fn each_handle_is_told_once_of_what_could_not_be_written_back() {
    let disk = Disk::default();
    let stores = [disk.target("data"), disk.target("data")];
    let [folder, _] = stores
        .each_ref()
        .map(|store| store.folder(&RelPath::root()).expect("the root"));
    let part = folder.create(b"file", Holding::Named, Writing::Buffered);
    let part = part.expect("a part");
    let other = folder.reopen(b"file", Writing::Buffered).expect("there");
    part.write_at(b"lost", 0).expect("written");
    disk.fail_writing_back(0);
    folder.make_folder(b"next").expect("nobody is told yet");

    let late = disk.target("data");
    let device = late.folder(&RelPath::root()).expect("the root").device();
    let sync = |store: &SimulatedTarget| store.sync_file_system(device).is_ok();
    assert_eq!(stores.each_ref().map(sync), [false, false]);
    assert_eq!(stores.each_ref().map(sync), [true, true]);
    assert!(sync(&late), "others were told before it was opened");
    assert!(part.sync().is_err() && other.sync_content().is_err());
    assert!(part.sync().is_ok() && other.sync_content().is_ok());

    let mut bytes = [0; 8];
    assert_eq!(part.read_at(&mut bytes, 0).expect("readable"), 4);
    part.evict().expect("evicted");
    assert_eq!(part.read_at(&mut bytes, 0).expect("readable"), 0);
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
        let store = PosixTarget::new(root, Writing::Buffered);
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
    on_every_target(|_, folder| {
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
    let store = PosixTarget::new(root, Writing::Buffered);
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
    let store = PosixTarget::new(root, Writing::Buffered);
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

#[test]
fn a_listing_is_in_order_and_leaves_out_what_is_pruned_and_our_temporaries() {
    on_every_storage(|target, folder, origin| {
        for name in [&b"a"[..], b"b", b"b!"] {
            folder.make_folder(name).expect("made");
            let inner = target.folder(&path(name)).expect("there");
            put(&*inner, b"inner", b"12");
            inner.make_symlink(b"link", b"inner").expect("made");
        }
        put(folder, b"c", b"123");
        put(folder, b".headrace-part-tr_1-0-1", b"1");
        let list = |limits, pruned: &[u8]| {
            let mut listing = origin.list(limits);
            let (mut seen, mut early) = (Vec::new(), false);
            while let Some(item) = listing.next() {
                match item {
                    Ok(entry) if entry.path.as_bytes() == pruned => listing.prune(),
                    Ok(entry) => seen.push((entry.path, entry.kind, entry.size)),
                    Err(error) => {
                        assert!(error.path.is_root());
                        assert!(matches!(error.problem, WalkProblem::TooManyEntries { .. }));
                        early = true;
                    }
                }
            }
            assert!(seen.is_sorted_by_key(|(path, ..)| path.clone()));
            (seen.len(), early, seen)
        };
        let (count, early, seen) = list(WalkLimits::default(), b"-");
        assert_eq!((count, early), (10, false));
        assert_eq!(seen[1], (path(b"a/inner"), Kind::File, 2));
        assert_eq!(seen[2], (path(b"a/link"), Kind::Symlink, 5));
        // `b` and what it holds are left out, `b!` is not.
        let (count, _, seen) = list(WalkLimits::default(), b"b");
        assert_eq!((count, &seen[3].0), (7, &path(b"b!")));
        let limits = WalkLimits {
            max_entries: 3,
            ..WalkLimits::default()
        };
        let (count, early, _) = list(limits, b"-");
        assert_eq!((count, early), (3, true));
    });
}

#[test]
fn a_reader_says_whether_it_reads_what_was_listed() {
    on_every_storage(|_, folder, origin| {
        put(folder, b"name", b"0123456789");
        let listed = origin.entry(&path(b"name")).expect("readable");
        let listed = listed.expect("there");
        let file = origin
            .open(&listed.path)
            .expect("readable")
            .expect("a file");
        let mut bytes = [0; 6];
        assert_eq!(file.read_at(&mut bytes, 2).expect("readable"), 6);
        assert_eq!(&bytes, b"234567");
        assert_eq!(file.read_at(&mut bytes, 7).expect("readable"), 3);
        file.read_ahead(0, 10);
        assert!(!file.is_hole(0, 10));
        assert!(file.still(&listed).expect("readable").is_some());
        let writer = folder.reopen(b"name", Writing::Buffered).expect("there");
        writer.write_at(b"x", 10).expect("written");
        assert_eq!(file.still(&listed).expect("readable"), None);
        // Another file under the same name is another file.
        put(folder, b"name", b"0123456789");
        let other = origin
            .open(&listed.path)
            .expect("readable")
            .expect("a file");
        assert_eq!(other.still(&listed).expect("readable"), None);
    });
}

#[test]
fn what_is_no_file_is_not_opened_and_what_is_not_there_is_said() {
    on_every_storage(|_, folder, origin| {
        folder.make_symlink(b"link", b"name").expect("made");
        assert!(origin.open(&path(b"link")).expect("looked at").is_none());
        let missing = origin.open(&path(b"none"));
        assert_eq!(kind(missing.map(|_| ())), Some(io::ErrorKind::NotFound));
        assert_eq!(origin.entry(&path(b"none")).expect("readable"), None);
        assert_eq!(origin.entry(&path(b"none/below")).expect("readable"), None);
        let top = origin.entry(&RelPath::root()).expect("readable");
        assert_eq!(top.map(|top| top.kind), Some(Kind::Dir));
    });
}

#[test]
fn an_origin_removes_only_what_was_listed() {
    on_every_storage(|target, folder, origin| {
        folder.make_folder(b"inner").expect("made");
        let inner = target.folder(&path(b"inner")).expect("there");
        put(&*inner, b"name", b"first");
        let place = path(b"inner/name");
        let listed = origin.entry(&place).expect("readable").expect("there");
        put(&*inner, b"name", b"second");
        let removed = origin.remove_if(&listed).expect("looked at");
        assert_eq!(removed, Removal::Changed);
        assert_eq!(entry(&*inner, b"name"), Some((Kind::File, 6)));
        assert!(origin.remove_folder(&path(b"inner")).is_err());
        let listed = origin.entry(&place).expect("readable").expect("there");
        for told in [Removal::Gone, Removal::Absent] {
            let removed = origin.remove_if(&listed).expect("removed, or gone before");
            assert_eq!(removed, told);
        }
        assert_eq!(entry(&*inner, b"name"), None);
        origin.remove_folder(&path(b"inner")).expect("removed");
        assert_eq!(entry(folder, b"inner"), None);
    });
}

#[test]
fn a_target_removes_only_what_was_expected() {
    on_every_target(|_, folder| {
        put(folder, b"name", b"1234");
        let removed = folder.remove_if(b"name", &|found| found.size == 99);
        assert_eq!(removed.expect("looked at"), Removal::Changed);
        assert_eq!(entry(folder, b"name"), Some((Kind::File, 4)));
        for told in [Removal::Gone, Removal::Absent] {
            let removed = folder.remove_if(b"name", &|found| found.size == 4);
            assert_eq!(removed.expect("removed, or gone before"), told);
        }
        assert_eq!(entry(folder, b"name"), None);
    });
}

#[test]
fn a_name_moves_to_another_folder_only_as_expected_and_replaces_nothing_there() {
    on_every_target(|_, folder| {
        for name in [b"here", b"kept"] {
            folder.make_folder(name).expect("made");
        }
        let (here, there) = (
            folder.folder(b"here").expect("there"),
            folder.folder(b"kept").expect("there"),
        );
        put(&*here, b"a", b"content");
        let moved = |expected: bool| here.move_if(b"a", &|_| expected, &path(b"kept"));
        assert_eq!(moved(false).expect("looked"), Removal::Changed);
        assert_eq!(entry(&*here, b"a"), Some((Kind::File, 7)));
        assert_eq!(moved(true).expect("moved"), Removal::Gone);
        assert_eq!(
            (entry(&*here, b"a"), entry(&*there, b"a")),
            (None, Some((Kind::File, 7)))
        );
        assert_eq!(moved(true).expect("gone before"), Removal::Absent);
        put(&*here, b"a", b"new");
        assert_eq!(kind(moved(true)), Some(io::ErrorKind::AlreadyExists));
        assert_eq!(entry(&*here, b"a"), Some((Kind::File, 3)));
        assert_eq!(entry(&*there, b"a"), Some((Kind::File, 7)));
        let nowhere = here.move_if(b"a", &|_| true, &path(b"none"));
        assert_eq!(kind(nowhere), Some(io::ErrorKind::NotFound));
    });
}

#[test]
fn names_that_nodes_keep_for_themselves_are_not_listed() {
    on_every_storage(|_, folder, origin| {
        folder.make_folder(b".headrace-trash").expect("made");
        let trash = folder.folder(b".headrace-trash").expect("there");
        put(&*trash, b"deleted", b"x");
        put(folder, b"file", b"x");
        let listed: Vec<String> = origin
            .list(WalkLimits::default())
            .map(|found| found.expect("readable").path.escaped())
            .collect();
        assert_eq!(listed, ["file"]);
    });
}
