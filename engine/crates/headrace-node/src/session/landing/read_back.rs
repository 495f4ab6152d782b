//! Reads files back from their storage before they get their names: small ones in their epoch, large ones on threads of their own, so that
//! no other file waits for them. The same threads read what is compared.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::code::{Code, Failure};
use headrace_core::integrity::PieceHash;
use headrace_core::ticket::{Compare, Verify};
use headrace_io::buffer::Buffer;
use parking_lot::Mutex;

use super::incoming::Incoming;
use super::pending::Sealed;
use super::shared::Landing;

/// How many threads of a session read large files back, and files that are compared.
pub(crate) const READERS: usize = 2;
/// Most large files that wait, each open, to be read back; the epoch that brings more reads itself.
const MAX_WAITING: usize = 64;
/// Longest wait for a buffer to read a file back into.
const BUFFER_PATIENCE: Duration = Duration::from_mins(1);
/// How often a thread that waits looks whether its session is over, whose end waits for that.
const POLL: Duration = Duration::from_millis(10);

/// Of files of which some were not read to their end, those that are as they were sent. What is in units is in the journal, and is read
/// back by the next session; the rest is sent again.
fn those_read(files: Vec<Sealed>, answers: Vec<Result<(), Failure>>) -> Vec<Sealed> {
    let read = files.into_iter().zip(answers);
    read.filter_map(|(file, answer)| {
        if answer.is_err() && file.number.is_none() {
            drop(file.part.discard());
        }
        answer.is_ok().then_some(file)
    })
    .collect()
}

/// A file to be read.
enum Reading {
    Back(Sealed),
    Compared(Arc<Incoming>, PieceHash),
}

impl Landing {
    /// Whether files are read back from their storage: on request, and before a move deletes their source.
    pub(super) fn reads_back(&self) -> bool {
        let execution = &self.spec.execution;
        execution.verify == Verify::AtRest || execution.delete_source
    }

    /// Read back what is small, and leave what is large to [`Landing::read_back`], which hands it to a later epoch. Also says what ended the
    /// attempt meanwhile: what was not read by then is in no epoch of this session any more, so that this must end it.
    pub(super) fn read_back_small(
        self: &Arc<Self>,
        files: Vec<Sealed>,
    ) -> Result<(Vec<Sealed>, Result<(), Failure>), Failure> {
        let is_large = |file: &Sealed| file.entry.size > self.spec.geometry.unit_bytes;
        let (large, small) = files.into_iter().partition::<Vec<_>, _>(is_large);
        let excess = {
            let mut waiting = self.read_back.waiting.lock();
            waiting.written.extend(large);
            let excess = waiting.written.len().saturating_sub(MAX_WAITING);
            self.read_back.changed.notify_all();
            waiting.written.drain(..excess).collect::<Vec<_>>()
        };
        // A stop ends this, too; without the source there is still time to read back what it sent.
        let stopped = Mutex::new(Ok(()));
        let is_over = || {
            let mut stopped = stopped.lock();
            if stopped.is_ok() {
                *stopped = (self.spec.may_end)();
            }
            stopped.is_err()
        };
        for file in excess {
            self.read_back_one(file, &is_over)?;
        }
        let answers = self.side_by_side(&small, |file| self.verify_at_rest(file, &is_over));
        let stopped = stopped.into_inner();
        let read = if stopped.is_err() {
            those_read(small, answers)
        } else {
            self.keep_those(small, answers)?
        };
        Ok((read, stopped))
    }

    /// Let a file be compared with the hash that the source has of it.
    pub(super) fn compare_soon(&self, incoming: Arc<Incoming>, theirs: PieceHash) {
        let mut waiting = self.read_back.waiting.lock();
        waiting.compared.push_back((incoming, theirs));
        self.read_back.changed.notify_all();
    }

    /// Read large files back, and those that are compared, until the session `is_over`.
    ///
    /// # Errors
    /// [`Failure`] when the attempt cannot go on. A file that reads back altered fails alone.
    pub fn read_back(self: &Arc<Self>, is_over: &dyn Fn() -> bool) -> Result<(), Failure> {
        let reads = self.reads_back() || self.spec.execution.compare == Compare::Checksum;
        while reads && !is_over() {
            match self.next_to_read() {
                Some(Reading::Back(file)) => self.read_back_one(file, is_over)?,
                Some(Reading::Compared(incoming, theirs)) => {
                    self.compare(&incoming, theirs, is_over)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    fn next_to_read(&self) -> Option<Reading> {
        let mut waiting = self.read_back.waiting.lock();
        if waiting.written.is_empty() && waiting.compared.is_empty() {
            self.read_back.changed.wait_for(&mut waiting, POLL);
        }
        // What is written is open, and takes a place until it is read.
        if let Some(file) = waiting.written.pop_front() {
            return Some(Reading::Back(file));
        }
        let (incoming, theirs) = waiting.compared.pop_front()?;
        Some(Reading::Compared(incoming, theirs))
    }

    fn read_back_one(
        self: &Arc<Self>,
        file: Sealed,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        match self.verify_at_rest(&file, is_over) {
            Ok(()) => {
                self.add_verified(file);
                Ok(())
            }
            // All of it is in the journal: the next session reads it back.
            Err(_) if is_over() => Ok(()),
            Err(failure) => self.fail(&file.incoming, &failure),
        }
    }

    /// Read a file back from its storage.
    fn verify_at_rest(&self, file: &Sealed, is_over: &dyn Fn() -> bool) -> Result<(), Failure> {
        let failed = |error| self.failed(&error, &file.entry, "reading back");
        file.part.evict().map_err(failed)?;
        let mut buffer = self.buffer_to_read(is_over).map_err(failed)?;
        let (mut hasher, mut offset) = (blake3::Hasher::new(), 0);
        while offset < file.entry.size {
            if is_over() {
                return Err(failed(io::ErrorKind::Interrupted.into()));
            }
            let count = file.part.read_at(&mut buffer, offset).map_err(failed)?;
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            offset += count as u64;
        }
        if *hasher.finalize().as_bytes() == file.hash {
            return Ok(());
        }
        let message = format!(
            "{} reads back altered from its storage",
            self.place(&file.entry.path)
        );
        Err(Failure::new(Code::VerifyFailed, message))
    }

    /// A buffer to read into, for which this waits a while, unless the session `is_over`.
    fn buffer_to_read(&self, is_over: &dyn Fn() -> bool) -> io::Result<Buffer> {
        let deadline = Instant::now() + BUFFER_PATIENCE;
        while !is_over() {
            if let Some(buffer) = self.buffers.take(POLL) {
                return Ok(buffer);
            }
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Err(io::ErrorKind::Interrupted.into())
    }

    /// Do what the threads of a session do, for tests that have none.
    #[cfg(test)]
    pub(super) fn read_back_waiting(self: &Arc<Self>) -> Result<(), Failure> {
        let waiting = std::mem::take(&mut *self.read_back.waiting.lock());
        for file in waiting.written {
            self.read_back_one(file, &|| false)?;
        }
        let mut compared = waiting.compared.into_iter();
        compared.try_for_each(|(incoming, theirs)| self.compare(&incoming, theirs, &|| false))
    }
}
