//! Units of large files: verified block by block while they are in the cache, collected, and written in large pieces.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use headrace_core::batch::Sparse;
use headrace_core::code::Failure;
use headrace_core::codec::to_usize;
use headrace_core::entry::Entry;
use headrace_core::integrity::{PieceHash, WholeFile, unit_hash};
use headrace_core::journal::{Identity, Record};
use headrace_core::message::Message;
use headrace_core::wire::WireError;
use headrace_io::buffer::{ALIGNMENT, Buffer};
use headrace_io::storage::{Holding, Part, Writing};
use parking_lot::Mutex;

use super::incoming::{Incoming, IncomingState, OpenPart, Phase};
use super::shared::Landing;
use super::spec::{Geometry, MAX_RESENDS, violation};
use crate::session::counters::{Stage, add};

/// Longest wait for a free buffer: as long as a disk may take for one write.
const BUFFER_PATIENCE: Duration = Duration::from_mins(2);
/// How often who waits for one asks whether the session goes on.
const POLL: Duration = Duration::from_millis(100);

/// What happened to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It was as it was sent.
    Good,
    /// It was not: the rest of its unit is to be dropped, the unit was asked for again.
    Bad,
}

/// Takes the blocks of one unit, in order.
pub struct UnitSink {
    writes: Arc<UnitWrites>,
    size: u64,
    geometry: Geometry,
    sparse: Sparse,
    /// Whether its part of the file is all hole, so that zeros need not be written.
    is_hole: bool,
    /// Whether its content is there already.
    pub(super) is_shared: bool,
    offset: u64,
    end: u64,
    blocks: Vec<PieceHash>,
    /// What is collected and not yet written: from `filled_from` in the file, `filled` bytes.
    buffer: Option<Buffer>,
    filled_from: u64,
    filled: usize,
}

/// The writes of one unit that are under way.
struct UnitWrites {
    landing: Arc<Landing>,
    incoming: Arc<Incoming>,
    generation: u16,
    unit: u64,
    part: Arc<dyn Part>,
    /// One for the sink, and one for each write under way.
    users: AtomicU32,
    outcome: Mutex<UnitOutcome>,
}

#[derive(Default)]
struct UnitOutcome {
    hash: Option<PieceHash>,
    failed: Option<io::Error>,
}

impl Landing {
    /// Begin a unit: the one of file `id` that starts at `offset`. `None` when it is not wanted (any more): drop its blocks.
    ///
    /// # Errors
    /// A violation when no unit starts there.
    pub fn open_unit(
        self: &Arc<Self>,
        id: u64,
        generation: u16,
        offset: u64,
        sparse: Sparse,
    ) -> Result<Option<UnitSink>, Failure> {
        let Some(incoming) = self.incoming(id) else {
            return Ok(None);
        };
        let mut state = incoming.state.lock();
        let geometry = self.spec.geometry;
        if state.generation != generation || state.phase != Phase::Arriving {
            return Ok(None);
        }
        let size = state.entry.size;
        if offset >= size || !offset.is_multiple_of(geometry.unit_bytes) || geometry.is_small(size)
        {
            return Err(violation(&WireError::contradiction(
                "a block that belongs to no unit",
            )));
        }
        let unit = offset / geometry.unit_bytes;
        if state.units.contains(unit) {
            return Ok(None);
        }
        let part = match self.part_of(&mut state, sparse) {
            Ok(part) => part,
            Err(failure) => {
                drop(state);
                self.fail(&incoming, &failure)?;
                return Ok(None);
            }
        };
        let (is_hole, is_shared) = (state.begin_unit(unit), state.is_shared);
        drop(state);
        let end = size.min(offset + geometry.unit_bytes);
        let writes = Arc::new(UnitWrites {
            landing: Arc::clone(self),
            incoming,
            generation,
            unit,
            part,
            users: AtomicU32::new(1),
            outcome: Mutex::default(),
        });
        let blocks = Vec::with_capacity(to_usize((end - offset).div_ceil(geometry.block_bytes)));
        Ok(Some(UnitSink {
            writes,
            size,
            geometry,
            sparse,
            is_hole,
            is_shared,
            offset,
            end,
            blocks,
            buffer: None,
            filled_from: offset,
            filled: 0,
        }))
    }

    /// The temporary of a file, made when its first content comes.
    fn part_of(&self, state: &mut IncomingState, sparse: Sparse) -> Result<Arc<dyn Part>, Failure> {
        if let Some(open) = &state.part {
            return Ok(Arc::clone(&open.part));
        }
        let entry = &state.entry;
        let writing = if sparse == Sparse::Yes {
            Writing::Buffered
        } else {
            self.writing_of(entry)
        };
        let (part, number) = self.new_part(entry, writing)?;
        let sized = match sparse {
            Sparse::Yes => part.set_size(entry.size),
            Sparse::No => part.allocate(padded(&*part, entry.size)),
        };
        if let Err(error) = sized {
            drop(part.discard());
            return Err(self.failed(&error, entry, "reserving space for"));
        }
        self.begin_part(state, &part, number)?;
        Ok(part)
    }

    /// A buffer, for which this waits so long at most: others may hold all of them, for a disk that is slow.
    fn buffer_to_fill(&self, patience: Duration) -> Result<Option<Buffer>, Failure> {
        let deadline = Instant::now() + patience;
        loop {
            let buffer = self.buffers.take(POLL.min(patience));
            if buffer.is_some() || Instant::now() >= deadline {
                return Ok(buffer);
            }
            (self.spec.permitted)()?;
        }
    }

    /// Make an empty temporary for a file; it and its number.
    pub(super) fn new_part(
        &self,
        entry: &Entry,
        writing: Writing,
    ) -> Result<(Arc<dyn Part>, u64), Failure> {
        let path = self.full_path(&entry.path)?;
        let (folder, _) = self.folder_above(&path)?;
        loop {
            let number = self.new_part_number();
            match folder.create(&self.folders.temporary(number), Holding::Named, writing) {
                // A clock that went back: an earlier session used this number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed(&error, entry, "creating")),
                Ok(part) => return Ok((part, number)),
            }
        }
    }

    /// Let a file arrive in this temporary.
    pub(super) fn begin_part(
        &self,
        state: &mut IncomingState,
        part: &Arc<dyn Part>,
        number: u64,
    ) -> Result<(), Failure> {
        let entry = &state.entry;
        let path = self.full_path(&entry.path)?;
        // Its units count only if it can be found again.
        self.touch_folder_above(&path);
        let (path, identity, inode) = (entry.path.clone(), Identity::from(entry), part.inode());
        self.journal.lock().push(&Record::Begun {
            part: number,
            path,
            identity,
            inode,
        });
        state.part = Some(OpenPart {
            part: Arc::clone(part),
            number,
        });
        Ok(())
    }

    /// How a file is best written.
    pub(super) fn writing_of(&self, entry: &Entry) -> Writing {
        if entry.size >= self.spec.direct_from_bytes {
            self.folders.target().writing()
        } else {
            Writing::Buffered
        }
    }

    /// Whether a file may be longer than it is to be. An earlier session may have written it past the page cache, whatever this one does.
    pub(super) fn may_be_padded(&self, entry: &Entry) -> bool {
        entry.size >= self.spec.direct_from_bytes
    }

    /// Ask for a unit again, or give its file up when that was done too often.
    pub(super) fn resend(
        &self,
        incoming: &Incoming,
        generation: u16,
        unit: u64,
    ) -> Result<(), Failure> {
        let (path, resends) = {
            let mut state = incoming.state.lock();
            state.resends += 1;
            (state.entry.path.clone(), state.resends)
        };
        if resends > MAX_RESENDS {
            let message = format!("{} arrived altered {resends} times", self.place(&path));
            return self.fail(
                incoming,
                &Failure::new(headrace_core::code::Code::VerifyFailed, message),
            );
        }
        self.answers.answer(Message::Resend {
            file: incoming.id,
            generation,
            unit,
        })
    }
}

impl UnitSink {
    /// Whether the next block is this one.
    #[must_use]
    pub fn expects(&self, file: u64, generation: u16, offset: u64) -> bool {
        let writes = &self.writes;
        (writes.incoming.id, writes.generation, self.offset) == (file, generation, offset)
    }

    /// Whether all blocks came.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.offset == self.end
    }

    /// Room for the next block, of exactly the length it must have. Fill it, then call [`UnitSink::accept`].
    ///
    /// # Errors
    /// A violation when the block has another length; a failure when no buffer becomes free.
    pub fn room(&mut self, length: u64) -> Result<&mut [u8], Failure> {
        if length != self.next_length() || length == 0 {
            return Err(violation(&WireError::contradiction(
                "a block of the wrong length",
            )));
        }
        if self.buffer.is_none() {
            let landing = &self.writes.landing;
            let buffer = landing
                .counters
                .time(Stage::Write, || landing.buffer_to_fill(BUFFER_PATIENCE))?;
            let too_slow = || {
                Failure::new(
                    headrace_core::code::Code::DestinationFailed,
                    "the destination storage does not take data any more",
                )
            };
            self.buffer = Some(buffer.ok_or_else(too_slow)?);
        }
        if self.filled == 0 {
            self.filled_from = self.offset;
        }
        let buffer = self.buffer.as_deref_mut().unwrap_or_default();
        Ok(&mut buffer[self.filled..self.filled + to_usize(length)])
    }

    /// Verify the block that was put into the room, and go on to the next.
    ///
    /// # Errors
    /// When the session cannot go on.
    pub fn accept(&mut self, hash: PieceHash) -> Result<Accepted, Failure> {
        let length = to_usize(self.next_length());
        let buffer = self.buffer.as_deref().unwrap_or_default();
        let block = &buffer[self.filled..self.filled + length];
        let landing = &self.writes.landing;
        if !landing.is_good(self.size, self.offset, block, &hash) {
            return self.refuse();
        }
        self.filled += length;
        let room_left = buffer.len() - self.filled;
        self.advance(hash, length as u64);
        // The page cache takes a block at once, and best while the processor's cache still holds it.
        let at_once = self.writes.part.writing() == Writing::Buffered;
        if at_once || self.is_full() || to_usize(self.geometry.block_bytes) > room_left {
            self.write();
        }
        self.finish_when_full();
        Ok(Accepted::Good)
    }

    /// Take a block that is a hole: zeros that are not sent and not written.
    ///
    /// # Errors
    /// A violation when the block has another length or the file is not sparse.
    pub fn accept_hole(&mut self, length: u64, hash: PieceHash) -> Result<Accepted, Failure> {
        static ZEROS: [u8; to_usize(headrace_core::integrity::BLOCK_BYTES)] = [0; _];
        if length != self.next_length() || length == 0 || self.sparse == Sparse::No {
            return Err(violation(&WireError::contradiction(
                "a hole where none can be",
            )));
        }
        if !self.is_hole {
            // What an earlier sending of the unit left there would stay.
            self.room(length)?.fill(0);
            return self.accept(hash);
        }
        let zeros = &ZEROS[..to_usize(length)];
        let landing = &self.writes.landing;
        if !landing.is_good(self.size, self.offset, zeros, &hash) {
            return self.refuse();
        }
        self.write();
        self.advance(hash, length);
        self.finish_when_full();
        Ok(Accepted::Good)
    }

    pub(super) fn next_length(&self) -> u64 {
        self.geometry.block_bytes.min(self.end - self.offset)
    }

    fn refuse(&mut self) -> Result<Accepted, Failure> {
        let UnitWrites {
            landing,
            incoming,
            generation,
            unit,
            ..
        } = &*self.writes;
        tracing::warn!(path = %incoming.path(), offset = self.offset, "a block arrived altered");
        self.take_back();
        landing.resend(incoming, *generation, *unit)?;
        Ok(Accepted::Bad)
    }

    /// The rest of the unit will not come; all of it is sent again.
    pub fn abandon(self) {
        Self::take_back(&self);
    }

    /// The good blocks come again, too.
    fn take_back(&self) {
        let UnitWrites { landing, unit, .. } = &*self.writes;
        landing.sent_again(self.offset - unit * self.geometry.unit_bytes);
    }

    pub(super) fn advance(&mut self, hash: PieceHash, length: u64) {
        self.offset += length;
        self.blocks.push(hash);
        let landing = &self.writes.landing;
        add(&landing.counters.bytes_received, length);
        landing.received.add(length);
    }

    /// Write what is collected: into the page cache here and now, past it on a disk thread.
    fn write(&mut self) {
        let (offset, filled) = (self.filled_from, self.filled);
        let sparse = if self.is_hole {
            self.sparse
        } else {
            Sparse::No
        };
        let Some(mut buffer) = self.buffer.take_if(|_| filled > 0) else {
            return;
        };
        self.filled = 0;
        if self.writes.part.writing() == Writing::Buffered {
            self.writes.write(&mut buffer, offset, filled, sparse);
            self.buffer = Some(buffer);
            return;
        }
        let writes = Arc::clone(&self.writes);
        writes.users.fetch_add(1, Ordering::Relaxed);
        self.writes.landing.on_disk(move || {
            writes.write(&mut buffer, offset, filled, sparse);
            drop(buffer);
            writes.release();
            Ok(())
        });
    }

    pub(super) fn finish_when_full(&mut self) {
        if self.is_full() {
            let whole = if self.size <= self.geometry.unit_bytes {
                WholeFile::Yes
            } else {
                WholeFile::No
            };
            self.writes.outcome.lock().hash = unit_hash(&self.blocks, whole);
        }
    }
}

impl Drop for UnitSink {
    fn drop(&mut self) {
        self.writes.release();
    }
}

impl UnitWrites {
    fn write(&self, buffer: &mut Buffer, offset: u64, filled: usize, sparse: Sparse) {
        let counters = &self.landing.counters;
        let written = counters.time(Stage::Write, || {
            write_piece(&*self.part, buffer, offset, filled, sparse)
        });
        if let Err(error) = written {
            self.outcome.lock().failed.get_or_insert(error);
        }
    }

    /// One user less; the last one reports the unit.
    fn release(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let UnitOutcome { hash, failed } = std::mem::take(&mut *self.outcome.lock());
        let reported = match (failed, hash) {
            (Some(error), _) => {
                let entry = self.incoming.state.lock().entry.clone();
                self.landing.fail(
                    &self.incoming,
                    &self.landing.failed(&error, &entry, "writing"),
                )
            }
            (None, Some(hash)) => {
                self.landing
                    .unit_landed(&self.incoming, self.generation, self.unit, hash);
                Ok(())
            }
            // It was cut short; it will be asked for again.
            (None, None) => Ok(()),
        };
        if let Err(failure) = reported {
            self.landing.give_up(failure);
        }
    }
}

/// Write a piece as its file is written.
fn write_piece(
    part: &dyn Part,
    buffer: &mut Buffer,
    offset: u64,
    filled: usize,
    sparse: Sparse,
) -> io::Result<()> {
    let mut length = filled;
    if part.writing() == Writing::Direct {
        // The end of the file is padded to a whole block and cut off when the file is committed.
        length = filled.next_multiple_of(ALIGNMENT);
        buffer[filled..length].fill(0);
    }
    match sparse {
        Sparse::Yes => write_sparse(part, &buffer[..length], offset),
        Sparse::No => part.write_at(&buffer[..length], offset),
    }
}

/// Write the pages that are not all zeros; the rest stays a hole.
pub(super) fn write_sparse(part: &dyn Part, bytes: &[u8], offset: u64) -> io::Result<()> {
    let is_zero = |page: &[u8]| page.iter().all(|byte| *byte == 0);
    let mut at = 0;
    for run in bytes
        .chunks(ALIGNMENT)
        .collect::<Vec<_>>()
        .chunk_by(|left, right| is_zero(left) == is_zero(right))
    {
        let length = run.iter().map(|page| page.len()).sum::<usize>();
        if !run.first().is_some_and(|page| is_zero(page)) {
            part.write_at(&bytes[at..at + length], offset + at as u64)?;
        }
        at += length;
    }
    Ok(())
}

/// The size that a file of `size` bytes has while it is written.
fn padded(part: &dyn Part, size: u64) -> u64 {
    match part.writing() {
        Writing::Direct => size.next_multiple_of(ALIGNMENT as u64),
        Writing::Buffered => size,
    }
}

#[cfg(test)]
mod tests;
