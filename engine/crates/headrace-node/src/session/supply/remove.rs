//! The second half of a move: sources that have safely arrived are deleted.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::PieceHash;
use headrace_core::manifest::Item;
use headrace_core::name::RelPath;
use headrace_core::statement::{Kept, KeptReason, MAX_DETAIL_BYTES, MAX_KEPT_NAMES};
use headrace_core::value::{Label, Timestamp};
use headrace_io::storage::{Folder, Removal};
use headrace_io::version::is_still;

use super::Supply;
use super::outgoing::{Looked, open};
use crate::session::counters::{Stage, add};
use crate::session::failures::{answered, asking, state_failed};
use crate::session::ledger::{LedgerReader, Outcome};
use crate::session::trash::Trash;
use crate::state;

/// What was deleted at the source, and what stayed although it had arrived.
#[derive(Debug, Clone, Default)]
pub struct Removed {
    /// Names deleted.
    pub deleted: u64,
    /// The folder in the trash of the root that they were moved to.
    pub trash: Option<Label>,
    kept: BTreeMap<KeptReason, Kept>,
    names: usize,
    name_bytes: usize,
}

/// Most bytes of names that are kept, so that they fit into a statement.
const MAX_NAME_BYTES: usize = 64 << 10;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// Of so many names that stay after a stop, those that had arrived are said as far as there is room; the others are counted.
const LOOKED_AT_AFTER_STOP: usize = 10_000;

/// Where sources are kept: nowhere, in a trash, or in one that can't be opened, so that they stay.
type Bin = Option<Result<Trash, String>>;

/// Why one source stays.
type Stays = (KeptReason, String);

impl Removed {
    /// What stayed, by reason.
    #[must_use]
    pub fn kept(self) -> Vec<Kept> {
        self.kept.into_values().collect()
    }

    fn keep(&mut self, path: &RelPath, stays: Stays) {
        let name = path.escaped();
        let has_room = self.has_room_for_names() && self.name_bytes + name.len() <= MAX_NAME_BYTES;
        if has_room {
            self.names += 1;
            self.name_bytes += name.len();
        }
        let kept = self.kept_for(stays);
        kept.count += 1;
        if has_room {
            kept.names.push(name);
        }
    }

    fn has_room_for_names(&self) -> bool {
        self.names < MAX_KEPT_NAMES
    }

    fn kept_for(&mut self, (reason, mut detail): Stays) -> &mut Kept {
        self.kept.entry(reason).or_insert_with(|| {
            detail.truncate(detail.floor_char_boundary(MAX_DETAIL_BYTES));
            Kept {
                reason,
                detail,
                count: 0,
                names: Vec::new(),
            }
        })
    }

    /// Keep what comes after a stop, with `next` as the first of it: however many there are, that takes no longer than to read some of them.
    fn keep_rest(
        &mut self,
        (next, rest): (Item, &mut LedgerReader),
        outcome: Outcome,
        why: &str,
    ) -> io::Result<()> {
        let stays = || (KeptReason::Stopped, why.to_owned());
        let (mut next, mut outcome) = (next, outcome);
        for looked_at in 1.. {
            let entry = next.entry();
            if entry.kind != Kind::Dir && has_arrived(outcome) {
                self.keep(&entry.path, stays());
            }
            if !self.has_room_for_names() || looked_at >= LOOKED_AT_AFTER_STOP {
                break;
            }
            let Some((_, item, became)) = rest.next()? else {
                return Ok(());
            };
            (next, outcome) = (item, became);
        }
        let more = rest.count_rest(has_arrived)?;
        if more > 0 {
            self.kept_for(stays()).count += more;
        }
        Ok(())
    }
}

/// Whether the destination has it, as far as it said so. It says so of no folder.
fn has_arrived(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Copied(_) | Outcome::Identical(_))
}

impl Supply {
    /// Delete every file and symlink that the destination reported as done, if it still is what was sent, and then folders that are
    /// empty, each after `permitted` was asked. Of a file that this session did not send, the destination's hash has to be that of the source. Only called when the destination has confirmed the end.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the scratch folder cannot be read or written.
    pub fn remove_sources(
        &self,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Removed, Failure> {
        self.counters
            .time(Stage::Delete, || self.remove_arrived_sources(permitted))
    }

    fn remove_arrived_sources(
        &self,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Removed, Failure> {
        state::write_durably(&self.removing(), b"")
            .map_err(|error| state_failed(io::Error::other(error)))?;
        let mut removed = Removed::default();
        let bin = self.open_trash();
        if let Some(Ok(trash)) = &bin {
            removed.trash = Some(trash.name());
        }
        let mut entries = self.ledger.lock().read().map_err(state_failed)?;
        let mut open: Vec<Entry> = Vec::new();
        while let Some((_, item, outcome)) = entries.next().map_err(state_failed)? {
            let entry = item.entry();
            add(&self.counters.looked_at, 1);
            while let Some(folder) = open.pop_if(|folder| !entry.path.starts_with(&folder.path)) {
                self.remove_folder(&folder, &bin);
            }
            if let Err(why) = permitted() {
                // A stop, the kill switch or the end of the ticket also ends this; everything has arrived, so the rest just stays.
                let kept = removed.keep_rest((item, &mut entries), outcome, &why.message);
                kept.map_err(state_failed)?;
                open.clear();
                break;
            }
            let remove = |told, removed: &mut Removed| {
                self.remove_source(entry, told, (&bin, permitted), removed);
            };
            match (entry.kind, outcome) {
                // What was moved is what the folder held.
                (Kind::Dir, _) if entry.path.is_root() => {}
                (Kind::Dir, _) => open.push(entry.clone()),
                (_, Outcome::Copied(_)) => remove(None, &mut removed),
                (Kind::File, Outcome::Identical(None)) => {
                    let detail = "the destination did not say what it holds".to_owned();
                    removed.keep(&entry.path, (KeptReason::Unproven, detail));
                }
                (_, Outcome::Identical(hash)) => remove(hash, &mut removed),
                _ => {}
            }
        }
        while let Some(folder) = open.pop() {
            self.remove_folder(&folder, &bin);
        }
        if let Some(Ok(trash)) = &bin
            && let Err(error) = trash.settle()
        {
            tracing::warn!(%error, "what was moved to the trash may be back where it was after a loss of power");
        }
        Ok(removed)
    }

    /// The file that says that deleting has begun: all had arrived then, so a source that is gone was moved.
    pub(super) fn removing(&self) -> PathBuf {
        self.spec.scratch.join("removing")
    }

    fn open_trash(&self) -> Bin {
        let settled = self.spec.trash.clone()?.settled();
        let opened = settled.and_then(|it| it.open(Timestamp::from(SystemTime::now())));
        Some(opened.map_err(|error| format!("the trash can't be used, so it stays: {error}")))
    }

    fn remove_source(
        &self,
        entry: &Entry,
        told: Option<PieceHash>,
        (bin, permitted): (&Bin, &dyn Fn() -> Result<(), Failure>),
        removed: &mut Removed,
    ) {
        match self.remove_arrived(entry, told, bin, permitted) {
            Ok(None) => {
                removed.deleted += 1;
                add(&self.counters.deleted, 1);
                add(&self.counters.durable_steps, 1);
            }
            Ok(Some(stays)) => removed.keep(&entry.path, stays),
            Err(error) => {
                let reason = match answered(&error) {
                    Some(_) => KeptReason::Stopped,
                    None => KeptReason::Failed,
                };
                removed.keep(&entry.path, (reason, error.to_string()));
            }
        }
    }

    /// Remove a source that has arrived; says why not.
    fn remove_arrived(
        &self,
        entry: &Entry,
        told: Option<PieceHash>,
        bin: &Bin,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> io::Result<Option<Stays>> {
        if let Some(told) = told
            && self
                .content(entry, permitted)?
                .is_some_and(|ours| ours != told)
        {
            let detail = "the destination holds other content".to_owned();
            return Ok(Some((KeptReason::Differs, detail)));
        }
        let removal = match bin {
            None => self.spec.origin.remove_if(entry)?,
            Some(Ok(trash)) => self.move_to(trash, entry)?,
            Some(Err(why)) => return Ok(Some((KeptReason::Failed, why.clone()))),
        };
        Ok(match removal {
            Removal::Gone | Removal::Absent => None,
            Removal::Changed => {
                let detail = "it changed after it was copied".to_owned();
                Some((KeptReason::Changed, detail))
            }
        })
    }

    /// Move a source that has arrived to the trash, if it still is what was listed.
    fn move_to(&self, trash: &Trash, entry: &Entry) -> io::Result<Removal> {
        let path = self.spec.from.path.join_path(&entry.path);
        let path = path.map_err(io::Error::other)?;
        let above = self.folder_above(&path)?;
        trash.take(&*above, &path, &|now| {
            now.kind == entry.kind
                && now.target == entry.target
                && is_still(&now.version, &entry.version)
        })
    }

    fn folder_above(&self, path: &RelPath) -> io::Result<Arc<dyn Folder>> {
        let spec = self.spec.trash.as_ref();
        let target = &spec.ok_or(io::ErrorKind::Unsupported)?.target;
        target.folder(&path.parent().unwrap_or_default())
    }

    /// The hash of a file that this session did not send; `None` when it is gone or another one. After each piece that is read, `permitted`
    /// is asked: without the whole hash, nothing is proven and the file stays.
    fn content(
        &self,
        entry: &Entry,
        permitted: &dyn Fn() -> Result<(), Failure>,
    ) -> io::Result<Option<PieceHash>> {
        let go_on = asking(permitted);
        let file = match open(&*self.spec.origin, entry) {
            Looked::Same(opened) => opened.file,
            Looked::Changed | Looked::Failed(Code::SourceVanished, _) => return Ok(None),
            Looked::Failed(_, error) => return Err(error),
        };
        let mut hasher = blake3::Hasher::new();
        let (mut buffer, mut offset) = (vec![0; READ_BYTES], 0);
        loop {
            let count = file.read_at(&mut buffer, offset)?;
            hasher.update(&buffer[..count]);
            offset += count as u64;
            if count < buffer.len() {
                return Ok(Some(*hasher.finalize().as_bytes()));
            }
            go_on()?;
        }
    }

    /// A folder that still holds something stays, which is no failure.
    fn remove_folder(&self, entry: &Entry, bin: &Bin) {
        let removed = match bin {
            None => self.spec.origin.remove_folder(&entry.path),
            Some(Ok(trash)) => {
                let path = self.spec.from.path.join_path(&entry.path);
                path.map_err(io::Error::other)
                    .and_then(|path| trash.take_folder(&*self.folder_above(&path)?, &path))
            }
            Some(Err(_)) => return,
        };
        if let Err(error) = removed {
            tracing::debug!(%error, path = %entry.path, "a source folder stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use headrace_core::access::Access;
    use headrace_core::filter::{Filter, Filters};
    use headrace_core::message::{FileResult, Message};
    use headrace_core::version::Version;
    use headrace_io::buffer::BufferPool;
    use headrace_io::descriptors::Descriptors;
    use headrace_io::root::Root;
    use headrace_io::storage::posix::PosixOrigin;

    use super::super::{Orders, SupplySpec};
    use super::*;
    use crate::session::counters::read;
    use crate::session::landing::tests_support::GEOMETRY;
    use crate::session::ledger::Ledger;
    use crate::session::pace::Pace;
    use crate::session::shares::{Claim, Direction, NodeLinks};
    use crate::session::tests_support::execution;

    struct Nobody;

    impl Orders for Nobody {
        fn order(&self, _message: Message) -> Result<(), Failure> {
            Ok(())
        }
    }

    /// Everything in a folder, listed, and at the destination, which said the hash of each file.
    fn arrived(folder: &std::path::Path, scratch: &std::path::Path, files: u64) -> Arc<Supply> {
        let supply = listed(folder, scratch);
        let holds = FileResult::Holds(*blake3::hash(b"content").as_bytes());
        // The folder itself is the first entry.
        let results = (1..=files).map(|id| (id, holds)).collect();
        supply.handle(Message::Results(results)).expect("taken");
        supply
    }

    /// Everything in a folder, listed.
    fn listed(folder: &std::path::Path, scratch: &std::path::Path) -> Arc<Supply> {
        let root = Arc::new(Root::open("here", folder, Access::Delete).expect("a root"));
        let share = Arc::new(Descriptors::new(1 << 10).share());
        let spec = SupplySpec {
            origin: Arc::new(PosixOrigin::new(root, RelPath::root(), share)),
            from: execution().source,
            filter: Filter::new(&Filters::default()).expect("no filter"),
            geometry: GEOMETRY,
            window: 1000,
            delete_source: true,
            trash: None,
            counts_totals: true,
            scratch: scratch.to_owned(),
        };
        let claim = Arc::new(Claim::new(&NodeLinks::default(), Direction::Out));
        let brakes = (Arc::new(Pace::new(None)), claim);
        let buffers = BufferPool::of(1, 4096);
        let supply = Supply::open(spec, Arc::new(Nobody), Arc::default(), buffers, brakes);
        let supply = supply.expect("opened");
        supply.list().expect("listed");
        supply
    }

    #[test]
    fn a_move_that_is_stopped_while_it_deletes_says_how_many_sources_stay_and_why() {
        let (folder, scratch) = (tempfile::tempdir(), tempfile::tempdir());
        let (folder, scratch) = (folder.expect("a folder"), scratch.expect("a folder"));
        for number in 0..150 {
            let name = folder.path().join(format!("{number:03}"));
            std::fs::write(name, b"content").expect("written");
        }
        std::fs::write(folder.path().join("001"), b"changed").expect("written");
        let supply = arrived(folder.path(), scratch.path(), 150);
        let asked = Cell::new(0);
        let removed = supply.remove_sources(&|| {
            asked.set(asked.get() + 1);
            // For the folder itself and the first four files.
            if asked.get() <= 5 {
                return Ok(());
            }
            Err(Failure::new(Code::Stopped, "stopped on request"))
        });
        let removed = removed.expect("the scratch folder works");
        assert_eq!(removed.deleted, 3);
        assert_eq!(read(&supply.counters.deleted), 3);
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 147);
        let kept = removed.kept();
        let said: Vec<_> = kept
            .iter()
            .map(|kept| (kept.reason, kept.count, &*kept.detail, kept.names.len()))
            .collect();
        assert_eq!(
            said,
            [
                (
                    KeptReason::Differs,
                    1,
                    "the destination holds other content",
                    1
                ),
                (
                    KeptReason::Stopped,
                    146,
                    "stopped on request",
                    MAX_KEPT_NAMES - 1
                ),
            ]
        );
        assert_eq!((&*kept[0].names[0], &*kept[1].names[0]), ("001", "004"));
    }
    #[test]
    fn a_move_that_is_stopped_while_it_reads_one_large_source_again_deletes_nothing_unproven() {
        let (folder, scratch) = (tempfile::tempdir(), tempfile::tempdir());
        let (folder, scratch) = (folder.expect("a folder"), scratch.expect("a folder"));
        let content = vec![7; 5 * READ_BYTES + 1];
        for name in ["a", "b"] {
            std::fs::write(folder.path().join(name), &content).expect("written");
        }
        // For the folder, for the file, and after each piece of it.
        for most in 0..=1 + 1 + 4 {
            let supply = listed(folder.path(), scratch.path());
            let holds = FileResult::Holds(*blake3::hash(&content).as_bytes());
            let results = vec![(1, holds), (2, holds)];
            supply.handle(Message::Results(results)).expect("taken");
            let asked = Cell::new(0);
            let removed = supply.remove_sources(&|| {
                asked.set(asked.get() + 1);
                if asked.get() <= most {
                    return Ok(());
                }
                Err(Failure::new(Code::Stopped, "stopped on request"))
            });
            let removed = removed.expect("the scratch folder works");
            assert_eq!(removed.deleted, 0);
            for name in ["a", "b"] {
                assert!(folder.path().join(name).exists(), "{name} after {most}");
            }
            let kept = removed.kept();
            assert_eq!(
                kept,
                [Kept {
                    reason: KeptReason::Stopped,
                    detail: "stopped on request".to_owned(),
                    count: 2,
                    names: vec!["a".to_owned(), "b".to_owned()],
                }]
            );
            // A stop within the file is heard there, and once more before the next one.
            let heard = if most < 2 { 1 } else { 2 };
            assert_eq!(asked.get(), most + heard);
        }
    }

    #[test]
    fn what_stays_after_a_stop_is_counted_and_not_read_however_much_it_is() {
        const FILES: u64 = LOOKED_AT_AFTER_STOP as u64 + 500;
        let scratch = tempfile::tempdir().expect("a folder");
        let mut ledger = Ledger::create(scratch.path(), "test").expect("made");
        for number in 0..FILES {
            let entry = Entry {
                path: RelPath::from_bytes(format!("{number:06}").as_bytes()).expect("a path"),
                kind: Kind::File,
                size: 1,
                mtime_ns: 1,
                version: Version::new(b"1").expect("short"),
                mode: 0o644,
                target: None,
            };
            ledger.push(&Item::Entry(entry)).expect("spooled");
            // Some have arrived among the first, and many behind all that is looked at.
            if !(3..FILES - 500).contains(&number) {
                let arrived = Outcome::Copied([1; 32]);
                ledger.record(number, arrived).expect("written");
            }
        }
        let mut rest = ledger.read().expect("readable");
        let (_, first, outcome) = rest.next().expect("readable").expect("the first");
        let mut removed = Removed::default();
        let kept = removed.keep_rest((first, &mut rest), outcome, "enough");
        kept.expect("readable");
        assert!(rest.next().expect("readable").is_none(), "all were counted");
        let [kept] = &removed.kept()[..] else {
            panic!("one reason is expected")
        };
        assert_eq!((kept.count, kept.names.len()), (503, 3));
    }
}
