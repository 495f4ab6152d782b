//! Whole transfers between two data planes over loopback, with real TLS and real files.

mod lab_support;
mod session_support;

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use headrace_core::code::Code;
use headrace_core::entry::Entry;
use headrace_core::name::RelPath;
use headrace_io::descriptors::Share;
use headrace_io::root::Root;
use headrace_io::storage::{Listing, Origin, Reader, Removal, Storages, Target, Writing};
use headrace_io::walk::{WalkError, WalkLimits, WalkProblem};
use headrace_node::session::{Outcome, Side};
use lab_support::NoDisk;
use session_support::{Dialler, Pair, content, lines, put, tree};

/// A source with a bit of everything.
fn fill(pair: &Pair) {
    let from = pair.from();
    put(&from, "empty", b"");
    put(&from, "one", b"1");
    put(&from, "block", &content(256 << 10, 1));
    put(&from, "block+1", &content((256 << 10) + 1, 2));
    put(&from, "units/exact", &content(4 << 20, 3));
    put(&from, "units/more", &content((9 << 20) + 12345, 4));
    put(&from, b"odd/\xff\xfe\n%41 \xc3\xa9", b"bytes");
    put(&from, "deep/er/still/file", b"x");
    std::fs::create_dir_all(from.join("empty folder/inner")).expect("folders");
    symlink("../one", from.join("deep/link")).expect("a symlink");
    symlink("/nowhere", from.join("dangling")).expect("a symlink");
    for number in 0..500 {
        put(
            &from,
            format!("many/{number:03}"),
            &content(number, number as u64),
        );
    }
    let script = put(&from, "script", b"#!/bin/sh\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o4755)).expect("a mode");
    std::fs::set_permissions(from.join("deep/er"), std::fs::Permissions::from_mode(0o750))
        .expect("a mode");
    let old = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    std::fs::File::open(&script)
        .expect("a file")
        .set_modified(old)
        .expect("a time");
    std::fs::File::open(from.join("deep"))
        .expect("a folder")
        .set_modified(old)
        .expect("a time");
}

#[test]
fn everything_arrives_as_it_was_whoever_dials() {
    for dialler in [Dialler::Source, Dialler::Destination] {
        let mut pair = Pair::new();
        pair.dialler = dialler;
        pair.tuning.unit_bytes = 4 << 20;
        fill(&pair);
        let (source, destination) = pair.run();
        assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
        assert_eq!(source.outcome, Outcome::Complete, "{source:?}");
        let mut expected = tree(&pair.from());
        // setuid does not travel.
        expected.get_mut(&b"script"[..]).expect("there").0 &= !0o4000;
        assert!(expected == tree(&pair.to()), "the trees differ");
        let (files, failed) = (
            lines(destination.files_list.as_ref()),
            lines(destination.failed_list.as_ref()),
        );
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(files.len(), expected.len());
        for line in files.iter().filter(|line| line["type"] == "file") {
            let path = line["path"]
                .as_array()
                .expect("a path")
                .iter()
                .map(|name| name.as_str().expect("text"));
            let path = headrace_core::name::RelPath::from_escaped(path).expect("a path");
            let bytes = &expected[path.as_bytes()].2;
            assert_eq!(
                line["blake3"],
                blake3::hash(bytes).to_hex().as_str(),
                "{path}"
            );
        }
        let totals = destination.statement.expect("a statement").totals;
        assert_eq!(
            (
                totals.files,
                totals.identical,
                totals.failed,
                totals.resent_bytes
            ),
            (511, 0, 0, 0)
        );
        assert_eq!(source.statement.expect("a statement").totals, totals);
    }
}

#[test]
fn each_end_tells_what_its_kernel_knows_of_the_connections() {
    let pair = Pair::new();
    put(&pair.from(), "large", &content(9 << 20, 1));
    let (source, destination) = pair.start();
    for end in [&source, &destination] {
        assert_eq!(end.wait().outcome, Outcome::Complete);
    }
    let (sent, received) = (source.progress().own, destination.progress().own);
    let numbers =
        |side: &Side| -> BTreeSet<u64> { side.flows.iter().map(|flow| flow.stream).collect() };
    assert!(!numbers(&sent).is_empty());
    assert_eq!(numbers(&sent), numbers(&received));
    assert!(sent.flows.iter().all(|flow| flow.rtt_us > 0));
    let arrived: u64 = received.flows.iter().map(|flow| flow.received_bytes).sum();
    assert!(arrived > 9 << 20, "{arrived}");
    assert!(sent.stages.send_us > 0 && received.stages.receive_us > 0);
}

#[test]
fn a_transfer_runs_on_any_storage_and_makes_no_file_of_its_own() {
    let storages: Arc<dyn Storages> = Arc::new(NoDisk {
        files: 5,
        file_bytes: 16 << 20,
    });
    let pair = Pair::new().on(&storages);
    let (source, destination) = pair.run();
    assert_eq!(source.outcome, Outcome::Complete, "{source:?}");
    let totals = destination.statement.expect("a statement").totals;
    assert_eq!((totals.files, totals.bytes), (5, 5 * (16 << 20)));
    let left = std::fs::read_dir(&pair.destination.data).expect("a folder");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_listing_that_ends_early_ends_the_attempt() {
    let storages: Arc<dyn Storages> = Arc::new(EndsEarly(NoDisk {
        files: 5,
        file_bytes: 1 << 20,
    }));
    let pair = Pair::new().on(&storages);
    let (source, destination) = pair.run();
    for end in [source, destination] {
        assert_eq!(end.outcome, Outcome::Failed, "{end:?}");
        let failure = end.failure.expect("why");
        assert_eq!(failure.code, Code::SourceUnreadable, "{failure}");
    }
}

/// A storage whose listings end with an error of the whole after some names.
#[derive(Debug)]
struct EndsEarly(NoDisk);

impl Storages for EndsEarly {
    fn origin(&self, root: &Arc<Root>, path: RelPath, share: Arc<Share>) -> Arc<dyn Origin> {
        Arc::new(EndingOrigin(self.0.origin(root, path, share)))
    }

    fn target(&self, root: &Arc<Root>, writing: Writing) -> Arc<dyn Target> {
        self.0.target(root, writing)
    }
}

struct EndingOrigin(Arc<dyn Origin>);

impl Origin for EndingOrigin {
    fn list<'a>(&'a self, limits: WalkLimits<'a>) -> Box<dyn Listing + 'a> {
        Box::new(EndingListing(self.0.list(limits), Some(3)))
    }

    fn entry(&self, path: &RelPath) -> io::Result<Option<Entry>> {
        self.0.entry(path)
    }

    fn open(&self, path: &RelPath) -> io::Result<Option<Arc<dyn Reader>>> {
        self.0.open(path)
    }

    fn remove_if(&self, then: &Entry) -> io::Result<Removal> {
        self.0.remove_if(then)
    }

    fn remove_folder(&self, path: &RelPath) -> io::Result<()> {
        self.0.remove_folder(path)
    }
}

/// A listing, and how many names it still gives; `None` after its end.
struct EndingListing<'a>(Box<dyn Listing + 'a>, Option<u64>);

impl Iterator for EndingListing<'_> {
    type Item = Result<Entry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.1?;
        self.1 = left.checked_sub(1);
        if self.1.is_some() {
            return self.0.next();
        }
        Some(Err(WalkError {
            path: RelPath::root(),
            problem: WalkProblem::Io(io::ErrorKind::Other.into()),
        }))
    }
}

impl Listing for EndingListing<'_> {
    fn prune(&mut self) {
        self.0.prune();
    }
}
