//! Small files: whole in one frame, verified and written in one go.

use std::sync::Arc;

use headrace_core::batch::{BatchFile, Sparse, read_batch};
use headrace_core::code::Failure;
use headrace_core::entry::Entry;
use headrace_core::integrity::PieceHash;
use headrace_core::journal::Record;
use headrace_core::message::{FileResult, Message};
use headrace_core::name::RelPath;
use headrace_core::wire::WireError;
use headrace_io::storage::{Folder, Part};

use super::incoming::{Incoming, Phase};
use super::pending::WholeFile;
use super::places::Place;
use super::shared::Landing;
use super::spec::violation;
use super::unit::write_sparse;
use crate::session::counters::{Stage, add};
use crate::session::failures::state_failed;

/// Of a share, the part that waiting files may take: each holds its own descriptor, and at worst that of a folder of its own.
const OF_SHARE: usize = 4;
/// Epochs' worth of files that may wait.
const MAX_WAITING_EPOCHS: usize = 2;

/// The folder that the last small file of a batch went to: the next one mostly goes there, too.
struct Above {
    /// That file.
    of: RelPath,
    path: RelPath,
    folder: Arc<dyn Folder>,
}

impl Above {
    /// Whether an entry goes to the same folder.
    fn holds(&self, entry: &RelPath) -> bool {
        self.of.parent_bytes() == entry.parent_bytes() && !self.of.is_root() && !entry.is_root()
    }
}

impl Landing {
    /// Take the files of a batch, as far as there is room before the session `is_over`; gives how many it has.
    ///
    /// # Errors
    /// A violation when the payload is no batch of small files, or when the session cannot go on.
    pub fn batch(
        self: &Arc<Self>,
        payload: &[u8],
        is_over: &dyn Fn() -> bool,
    ) -> Result<u64, Failure> {
        let files = read_batch(payload).map_err(|error| violation(&error))?;
        let wanted: Vec<Option<Arc<Incoming>>> = {
            let active = self.active.lock();
            files
                .iter()
                .map(|file| active.get(&file.file).cloned())
                .collect()
        };
        let (mut received, mut above) = (0, None);
        let mut whole = Vec::with_capacity(files.len());
        for (file, incoming) in files.iter().zip(wanted) {
            let Some(incoming) = incoming else { continue };
            let place = if let Some(place) = self.places.try_take(self.max_places()) {
                place
            } else {
                // Those before it may be what takes all places.
                self.count_received(std::mem::take(&mut received));
                self.all_whole(std::mem::take(&mut whole));
                match self.wait_for_place(is_over)? {
                    Some(place) => place,
                    None => break,
                }
            };
            if let Some(written) = self.small_file(file, incoming, place, &mut above)? {
                received += file.bytes.len() as u64;
                whole.push(written);
            }
        }
        self.count_received(received);
        self.all_whole(whole);
        Ok(files.len() as u64)
    }

    fn count_received(&self, bytes: u64) {
        self.received.add(bytes);
        add(&self.counters.bytes_received, bytes);
    }

    /// What was received comes again.
    pub(super) fn sent_again(&self, bytes: u64) {
        self.received.take_back(bytes);
        // The counter wraps, so that it also goes down.
        add(&self.counters.bytes_received, bytes.wrapping_neg());
        add(&self.counters.resent_bytes, bytes);
    }

    /// Verify and write one small file; `None` when it is not wanted or failed.
    fn small_file(
        &self,
        file: &BatchFile<'_>,
        incoming: Arc<Incoming>,
        place: Place,
        above: &mut Option<Above>,
    ) -> Result<Option<WholeFile>, Failure> {
        let mut state = incoming.state.lock();
        if state.generation != file.generation || state.phase != Phase::Arriving {
            return Ok(None);
        }
        let size = state.entry.size;
        if file.bytes.len() as u64 != size || !self.spec.geometry.is_small(size) {
            return Err(violation(&WireError::contradiction(
                "a small file of the wrong length",
            )));
        }
        if !self.is_good(size, 0, file.bytes, &file.hash) {
            drop(state);
            self.resend(&incoming, file.generation, 0)?;
            return Ok(None);
        }
        match self
            .counters
            .time(Stage::Write, || self.write_small(file, &state.entry, above))
        {
            Ok(part) => {
                state.phase = Phase::Whole;
                drop(state);
                Ok(Some(WholeFile {
                    incoming,
                    part,
                    number: None,
                    hash: file.hash,
                    place,
                }))
            }
            Err(failure) => {
                drop(state);
                self.fail(&incoming, &failure)?;
                Ok(None)
            }
        }
    }

    fn write_small(
        &self,
        file: &BatchFile<'_>,
        entry: &Entry,
        above: &mut Option<Above>,
    ) -> Result<Arc<dyn Part>, Failure> {
        let Above { path, folder, .. } = match above.take() {
            Some(same) if same.holds(&entry.path) => above.insert(same),
            _ => above.insert(self.above(&entry.path)?),
        };
        let temporary = self.folders.temporary(self.new_part_number());
        let failed = |error| self.failed(&error, entry, "writing");
        let _together = folder.together().map_err(failed)?;
        let part = folder
            .create_unnamed(&temporary, self.mode(entry))
            .map_err(failed)?;
        if part.is_named() {
            self.note_used(path.clone())
                .inspect_err(|_| drop(part.discard()))?;
        }
        let written = match file.sparse {
            Sparse::Yes => part
                .set_size(entry.size)
                .and_then(|()| write_sparse(&*part, file.bytes, 0)),
            Sparse::No => part.write_at(file.bytes, 0),
        };
        match written.and_then(|()| part.set_metadata(self.metadata(entry))) {
            Ok(()) => Ok(part),
            Err(error) => {
                drop(part.discard());
                Err(failed(error))
            }
        }
    }

    fn above(&self, entry: &RelPath) -> Result<Above, Failure> {
        let path = self.full_path(entry)?.parent().unwrap_or_default();
        let (folder, _) = self.folder_at(&path)?;
        Ok(Above {
            of: entry.clone(),
            path,
            folder,
        })
    }

    /// Remember, over a crash of this process, that temporaries of small files have names in this folder: no record speaks of each.
    fn note_used(&self, folder: RelPath) -> Result<(), Failure> {
        if !self.used.lock().insert(folder.clone()) {
            return Ok(());
        }
        let mut journal = self.journal.lock();
        journal.push(&Record::Used { path: folder });
        journal.write().map_err(state_failed)
    }

    /// Tell the source about entries that are done; a move also says what is there, without which no source is deleted.
    pub(super) fn tell_done(&self, done: &[(u64, Option<PieceHash>)]) -> Result<(), Failure> {
        let moves = self.spec.execution.delete_source;
        for done in done.chunks(headrace_core::manifest::MAX_ITEMS) {
            let results = done
                .iter()
                .map(|(id, hash)| match hash {
                    Some(hash) if moves => (*id, FileResult::Holds(*hash)),
                    _ => (*id, FileResult::Done),
                })
                .collect();
            self.answers.answer(Message::Results(results))?;
        }
        Ok(())
    }

    /// How many files may wait for an epoch.
    pub(super) fn max_places(&self) -> usize {
        let by_rules = self.spec.epochs.max_files * MAX_WAITING_EPOCHS;
        by_rules.min(self.spec.share.count() / OF_SHARE).max(1)
    }

    /// Files after which an epoch is due.
    pub(super) fn max_epoch_files(&self) -> usize {
        (self.max_places() / MAX_WAITING_EPOCHS).max(1)
    }
}
