//! A destination whose disk reads other bytes than were written, or answers with errors: no file of it gets its name, and each is
//! listed with the named error.

use std::sync::Arc;

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::manifest::Item;
use headrace_core::message::{FileResult, Message};
use headrace_core::name::RelPath;
use headrace_core::ticket::Verify;
use headrace_core::version::Version;
use headrace_io::buffer::{BUFFER_BYTES, BufferPool};
use headrace_io::disk::DiskPool;
use headrace_io::storage::simulated::{Disk, Illness};
use parking_lot::Mutex;

use super::shared::Landing;
use super::spec::Answers;
use crate::session::landing::tests_support::{GEOMETRY, landing_spec};

/// A small file, one of one unit, and one of several.
const SIZES: [usize; 3] = [700, 4096, 10_000];

#[derive(Default)]
struct Results(Mutex<Vec<(u64, FileResult)>>);

impl Answers for Results {
    fn answer(&self, message: Message) -> Result<(), Failure> {
        if let Message::Results(results) = message {
            self.0.lock().extend(results);
        }
        Ok(())
    }
}

fn name(file: usize) -> RelPath {
    RelPath::from_bytes(format!("f{file}").as_bytes()).expect("a path")
}

fn arrive(landing: &Arc<Landing>, file: usize, content: &[u8]) -> Result<(), Failure> {
    let (id, size) = (file as u64, content.len() as u64);
    if GEOMETRY.is_small(size) {
        let mut payload = Vec::new();
        let hash = piece_hash(size, 0, content);
        BatchFile {
            file: id,
            generation: 0,
            sparse: Sparse::No,
            hash,
            bytes: content,
        }
        .put(&mut payload);
        return landing.batch(&payload, &|| false).map(drop);
    }
    for (start, bytes) in (0..).step_by(4096).zip(content.chunks(4096)) {
        if let Some(mut unit) = landing.open_unit(id, 0, start, Sparse::No)? {
            for (offset, block) in (start..).step_by(1024).zip(bytes.chunks(1024)) {
                unit.room(block.len() as u64)?.copy_from_slice(block);
                unit.accept(piece_hash(size, offset, block))?;
            }
        }
    }
    landing.handle(Message::FileEnd {
        file: id,
        generation: 0,
    })
}

/// A whole session onto a disk with this illness; the lines of `failed.jsonl`, and whether a file has its name.
fn land(
    illness: Option<Illness>,
    verify: Verify,
) -> Result<(Vec<serde_json::Value>, bool), Failure> {
    let (state, data) = (Disk::default(), Disk::default());
    let scratch = tempfile::tempdir().expect("a folder");
    let mut spec = landing_spec(&state, scratch.path())?;
    let store = data.target("data");
    spec.target = Arc::new(store.clone());
    spec.execution.verify = verify;
    spec.epochs.sync_everything_from = usize::MAX;
    let results = Arc::new(Results::default());
    let answers = Arc::clone(&results) as Arc<dyn Answers>;
    let threads = Arc::new(DiskPool::new(0).expect("no threads"));
    let buffers = BufferPool::new(4 * BUFFER_BYTES);
    let landing = Landing::open(spec, answers, Arc::default(), buffers, threads)?;
    if let Some(illness) = illness {
        data.fall_ill(illness);
    }
    let items = (0..SIZES.len())
        .map(|file| {
            Item::Entry(Entry {
                path: name(file),
                kind: Kind::File,
                size: SIZES[file] as u64,
                mtime_ns: 1,
                version: Version::new(b"1").expect("short"),
                mode: 0o640,
                target: None,
            })
        })
        .collect();
    landing.handle(Message::Items { first: 0, items })?;
    landing.handle(Message::ItemsEnd {
        count: SIZES.len() as u64,
    })?;
    for (file, size) in SIZES.into_iter().enumerate() {
        arrive(&landing, file, &vec![7; size])?;
    }
    landing.epoch()?;
    if illness.is_none() {
        let large = usize::from(verify == Verify::AtRest);
        let told = results.0.lock().len();
        assert_eq!(
            told,
            SIZES.len() - large,
            "an epoch waits for no large file"
        );
    }
    landing.read_back_waiting()?;
    landing.epoch()?;
    assert!(landing.is_settled());
    let finished = landing.finish()?;
    let failed = std::fs::read_to_string(finished.failed_list).expect("a list");
    let failed: Vec<serde_json::Value> = failed
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let told = results.0.lock();
    let failures = told
        .iter()
        .filter(|(_, result)| matches!(result, FileResult::Failed(_)));
    assert_eq!(failures.count(), failed.len());
    let named = (0..SIZES.len()).any(|file| {
        let path = landing.full_path(&name(file)).expect("short");
        store.content(&path).is_some()
    });
    Ok((failed, named))
}

/// Both files fail with this code, for this reason, and neither has its name.
fn fails(illness: Illness, verify: Verify, code: Code, reason: &str) {
    let (failed, named) = land(Some(illness), verify).expect("the others would go on");
    assert!(!named, "a file that failed has its name");
    assert_eq!(failed.len(), SIZES.len());
    for (file, line) in failed.iter().enumerate() {
        assert_eq!(line["error"], code.as_str(), "{line}");
        let message = line["message"].as_str().expect("text");
        assert!(message.contains(reason), "{message}");
        let place = format!("`to/deep/f{file}` in root `there`");
        assert!(message.contains(&place), "{message}");
    }
}

#[test]
fn what_reads_back_altered_from_storage_fails_and_gets_no_name() {
    fails(
        Illness::AltersReads,
        Verify::AtRest,
        Code::VerifyFailed,
        "reads back altered from its storage",
    );
}

#[test]
fn what_storage_answers_with_an_error_fails_and_gets_no_name() {
    let reason = "Input/output error";
    for illness in [Illness::FailsWrites, Illness::FailsSyncs] {
        fails(illness, Verify::InTransit, Code::DestinationFailed, reason);
    }
}

#[test]
fn a_disk_that_is_well_takes_the_same_files() {
    for verify in [Verify::InTransit, Verify::AtRest] {
        assert_eq!(land(None, verify), Ok((vec![], true)));
    }
}
