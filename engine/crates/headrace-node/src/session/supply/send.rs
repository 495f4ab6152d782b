//! Reads and hashes what was asked for, and hands it to an outlet; run by one thread per stream.

use std::sync::Arc;
use std::time::Instant;

use headrace_core::batch::{BATCH_BYTES, BatchFile, FILE_OVERHEAD_BYTES, Sparse};
use headrace_core::code::{Code, Failure};
use headrace_core::codec::to_usize;
use headrace_core::entry::Kind;
use headrace_core::integrity::piece_hash;
use headrace_core::message::Message;
use headrace_io::buffer::Buffer;
use headrace_io::storage::Reader;

use super::outgoing::{Looked, OpenFile, Outgoing, open, open_unseen, unreadable};
use super::work::Task;
use super::{Outlet, POLL, Piece, Supply};
use crate::session::counters::{Stage, add};

/// How often a file that changes while it is read is started again.
const MAX_RESTARTS: u16 = 3;

impl Supply {
    /// Send what is asked for until the session is over, or until the other side says that no more arrives over this stream. A stream has a
    /// number where what goes out over it may be lost.
    ///
    /// # Errors
    /// [`Failure`] when the session cannot go on, or this outlet. A file that cannot be read fails alone.
    pub fn serve(&self, outlet: &mut dyn Outlet, stream: Option<u16>) -> Result<(), Failure> {
        while let Some(task) = self.next_task(stream)? {
            match task {
                Task::Unit(file, generation, unit) => {
                    self.send_unit(outlet, &file, generation, unit)?;
                }
                Task::Batch(files) => self.send_batch(outlet, &files)?,
                Task::Compare(file) => {
                    let Some(mut block) = self.buffer() else {
                        break;
                    };
                    self.compare(&mut block, &file)?;
                }
            }
            if let Some(stream) = stream {
                self.lanes.sent(stream, outlet.frames());
            }
        }
        Ok(())
    }

    /// A buffer for one piece of work, so that a stream which waits for work keeps none from others; `None` when the session is over.
    fn buffer(&self) -> Option<Buffer> {
        while !self.is_over() {
            if let Some(buffer) = self.buffers.take(POLL) {
                return Some(buffer);
            }
        }
        None
    }

    /// Wait for work; `None` when the session is over, or this stream.
    fn next_task(&self, stream: Option<u16>) -> Result<Option<Task>, Failure> {
        let mut queue = self.queue.lock();
        loop {
            if self.is_over() || stream.is_some_and(|stream| self.lanes.is_lost(stream)) {
                return Ok(None);
            }
            if let Some(task) = queue.pop(self.spec.geometry.unit_bytes) {
                if let Some(stream) = stream {
                    self.lanes.begin(stream, &task)?;
                }
                return Ok(Some(task));
            }
            self.queue_changed.wait_for(&mut queue, POLL);
        }
    }

    fn send_unit(
        &self,
        outlet: &mut dyn Outlet,
        file: &Arc<Outgoing>,
        generation: u16,
        unit: u64,
    ) -> Result<(), Failure> {
        let (entry, opened) = {
            let mut state = file.state.lock();
            if state.generation != generation {
                return Ok(());
            }
            if state.open.is_none() {
                match open(&*self.spec.origin, &state.entry) {
                    Looked::Same(opened) => state.open = Some(opened),
                    Looked::Changed => {
                        drop(state);
                        return self.restart(file, generation);
                    }
                    Looked::Failed(code, error) => {
                        drop(state);
                        return self.give_up(file, code, error);
                    }
                }
            }
            (state.entry.clone(), state.open.clone())
        };
        let Some(OpenFile {
            file: handle,
            sparse,
        }) = opened
        else {
            return Ok(());
        };
        let start = unit * self.spec.geometry.unit_bytes;
        let end = entry.size.min(start + self.spec.geometry.unit_bytes);
        let shared = outlet.share(file.id, generation, &*handle)?;
        // The storage reads ahead while the first blocks are hashed and sent.
        if shared.is_none() {
            handle.read_ahead(start, end - start);
        }
        let read_at = |block: &mut [u8], offset| match &shared {
            Some(part) => part.read_at(block, offset),
            None => handle.read_at(block, offset),
        };
        let (mut offset, mut kept) = (start, None);
        while offset < end {
            let length = self.spec.geometry.block_bytes.min(end - offset);
            let may_be_hole = sparse == Sparse::Yes && shared.is_none();
            let is_hole = may_be_hole && handle.is_hole(offset, length);
            if !is_hole {
                self.wait_for_turn(&mut kept, length);
            }
            let Some(mut buffer) = kept.take().or_else(|| self.buffer()) else {
                return Ok(());
            };
            let piece = |hash| Piece {
                file: file.id,
                generation,
                offset,
                sparse,
                hash,
            };
            let block = &mut buffer[..to_usize(length)];
            if is_hole {
                block.fill(0);
            } else {
                match self.counters.time(Stage::Read, || read_at(block, offset)) {
                    Ok(count) if count == block.len() => {}
                    Ok(_) => return self.restart(file, generation),
                    Err(error) => return self.give_up(file, unreadable(&error), error),
                }
            }
            let hash = self
                .counters
                .time(Stage::Hash, || piece_hash(entry.size, offset, block));
            // The destination may have been told that the file is whole but for this unit.
            if offset + length == end && file.state.lock().ended {
                match handle.still(&entry) {
                    Ok(Some(_)) => {}
                    Ok(None) => return self.restart(file, generation),
                    Err(error) => return self.give_up(file, unreadable(&error), error),
                }
            }
            if is_hole {
                outlet.hole(&piece(hash), length)?;
            } else {
                self.counters
                    .time(Stage::Send, || outlet.block(&piece(hash), block))?;
            }
            self.count_sent(length);
            if self.is_over() {
                return Ok(());
            }
            kept = Some(buffer);
            offset += length;
        }
        self.unit_sent(file, generation, &*handle)
    }

    /// After the last unit the file is looked at once more: what was sent must be one state of it.
    fn unit_sent(
        &self,
        file: &Arc<Outgoing>,
        generation: u16,
        handle: &dyn Reader,
    ) -> Result<(), Failure> {
        let entry = {
            let mut state = file.state.lock();
            if state.generation != generation {
                return Ok(());
            }
            state.units_left = state.units_left.saturating_sub(1);
            if state.units_left > 0 {
                return Ok(());
            }
            state.open = None;
            state.ended = true;
            state.entry.clone()
        };
        match handle.still(&entry) {
            Ok(Some(_)) => {
                file.state.lock().sent = true;
                self.orders.order(Message::FileEnd {
                    file: file.id,
                    generation,
                })
            }
            Ok(None) => self.restart(file, generation),
            Err(error) => self.give_up(file, unreadable(&error), error),
        }
    }

    fn send_batch(&self, outlet: &mut dyn Outlet, files: &[Arc<Outgoing>]) -> Result<(), Failure> {
        let sizes = files.iter().map(|file| file.state.lock().entry.size);
        let bytes = sizes.map(|size| size + FILE_OVERHEAD_BYTES as u64).sum();
        self.wait_for_ceiling(bytes);
        self.wait_for_share(bytes, files.len() as u64);
        if self.is_over() {
            return Ok(());
        }
        let mut payload = Vec::with_capacity(BATCH_BYTES + BATCH_BYTES / 4);
        for file in files {
            // A storage may take its time for each of them.
            if self.is_over() {
                return Ok(());
            }
            self.put_small(file, &mut payload)?;
        }
        if payload.is_empty() {
            return Ok(());
        }
        self.counters.time(Stage::Send, || outlet.batch(&payload))?;
        Ok(())
    }

    /// Append a small file to a batch, unless it changed or cannot be read.
    fn put_small(&self, file: &Arc<Outgoing>, payload: &mut Vec<u8>) -> Result<(), Failure> {
        let (entry, generation) = {
            let state = file.state.lock();
            (state.entry.clone(), state.generation)
        };
        let opened = self
            .counters
            .time(Stage::Read, || open_unseen(&*self.spec.origin, &entry));
        let handle = match opened {
            Ok(handle) => handle,
            Err(Looked::Failed(code, error)) => return self.give_up(file, code, error),
            Err(_) => return self.restart(file, generation),
        };
        let mut bytes = vec![0; to_usize(entry.size)];
        // Looked at only after it was read: what was read then is one state of the file that was listed.
        let read = self.counters.time(Stage::Read, || {
            let whole = handle.read_at(&mut bytes, 0)? == bytes.len();
            Ok::<_, std::io::Error>(handle.still(&entry)?.filter(|_| whole))
        });
        let sparse = match read {
            Ok(Some(sparse)) => sparse,
            Ok(None) => return self.restart(file, generation),
            Err(error) => return self.give_up(file, unreadable(&error), error),
        };
        let hash = self
            .counters
            .time(Stage::Hash, || piece_hash(entry.size, 0, &bytes));
        file.state.lock().sent = true;
        BatchFile {
            file: file.id,
            generation,
            sparse,
            hash,
            bytes: &bytes,
        }
        .put(payload);
        self.count_sent(entry.size);
        Ok(())
    }

    fn count_sent(&self, bytes: u64) {
        if self.spec.counts_totals {
            add(&self.counters.bytes_sent, bytes);
        }
    }

    /// A file is not what it was when it was listed: start it again as it is now, or give it up.
    fn restart(&self, file: &Arc<Outgoing>, generation: u16) -> Result<(), Failure> {
        let path = {
            let state = file.state.lock();
            if state.generation != generation {
                // Another stream noticed it first.
                return Ok(());
            }
            state.entry.path.clone()
        };
        let now = match self.spec.origin.entry(&path) {
            Ok(Some(now)) if now.kind == Kind::File && generation < MAX_RESTARTS => now,
            Ok(Some(_)) => {
                return self.give_up(file, Code::SourceChanged, "it changed while it was read");
            }
            Ok(None) => {
                return self.give_up(file, Code::SourceVanished, "it vanished while it was read");
            }
            Err(error) => return self.give_up(file, unreadable(&error), error),
        };
        {
            let mut state = file.state.lock();
            if state.generation != generation {
                return Ok(());
            }
            state.restart(now.clone());
        }
        self.orders.order(Message::FileChanged {
            file: file.id,
            generation: generation + 1,
            entry: now,
        })
    }

    /// Hash a whole file that the destination wants to compare.
    fn compare(&self, buffer: &mut [u8], file: &Arc<Outgoing>) -> Result<(), Failure> {
        let entry = file.state.lock().entry.clone();
        let handle = match open(&*self.spec.origin, &entry) {
            Looked::Same(OpenFile { file, .. }) => file,
            Looked::Changed => {
                return self.give_up(file, Code::SourceChanged, "it changed since it was listed");
            }
            Looked::Failed(code, error) => return self.give_up(file, code, error),
        };
        let (mut hasher, mut offset) = (blake3::Hasher::new(), 0);
        while !self.is_over() {
            let count = match self
                .counters
                .time(Stage::Read, || handle.read_at(buffer, offset))
            {
                Ok(count) => count,
                Err(error) => return self.give_up(file, unreadable(&error), error),
            };
            self.counters
                .time(Stage::Hash, || hasher.update(&buffer[..count]));
            offset += count as u64;
            if count < buffer.len() {
                break;
            }
        }
        match handle.still(&entry) {
            Ok(Some(_)) => self.orders.order(Message::Compared {
                file: file.id,
                hash: *hasher.finalize().as_bytes(),
            }),
            Ok(None) => self.give_up(file, Code::SourceChanged, "it changed while it was read"),
            Err(error) => self.give_up(file, Code::SourceUnreadable, error),
        }
    }

    /// Wait until a block may pass. Who may have to wait for others keeps no buffer from them.
    fn wait_for_turn(&self, kept: &mut Option<Buffer>, bytes: u64) {
        self.wait_for_ceiling(bytes);
        if self.claim.is_on_links() {
            *kept = None;
            self.wait_for_share(bytes, 0);
        } else {
            self.follow_share();
        }
    }

    fn wait_for_share(&self, bytes: u64, files: u64) {
        self.counters.time(Stage::Share, || {
            self.claim.take(bytes, files, &|| self.is_over());
        });
        self.follow_share();
    }

    /// Pace by what its links give it; by nothing when it has left them while another stream still paced by them.
    fn follow_share(&self) {
        if let Some(share_bps) = self.claim.pacing_bps(Instant::now()) {
            self.pace.follow(share_bps);
        }
    }

    fn wait_for_ceiling(&self, bytes: u64) {
        self.counters
            .time(Stage::Ceiling, || self.pace.wait(bytes, &|| self.is_over()));
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use headrace_core::filter::{Filter, Filters};
    use headrace_io::buffer::BufferPool;
    use headrace_io::sockopt;
    use headrace_io::storage::simulated::Disk;

    use super::super::{Orders, SupplySpec};
    use super::*;
    use crate::session::landing::tests_support::GEOMETRY;
    use crate::session::shares::{Claim, Direction, NodeLinks};
    use crate::session::tests_support::execution;

    struct Nobody;

    impl Orders for Nobody {
        fn order(&self, _message: Message) -> Result<(), Failure> {
            Ok(())
        }
    }

    impl Outlet for Nobody {
        fn block(&mut self, _piece: &Piece, _bytes: &[u8]) -> Result<(), Failure> {
            Ok(())
        }

        fn hole(&mut self, _piece: &Piece, _length: u64) -> Result<(), Failure> {
            Ok(())
        }

        fn batch(&mut self, _payload: &[u8]) -> Result<(), Failure> {
            Ok(())
        }
    }

    /// A supply of nothing, that is on no link.
    fn supply(folder: &tempfile::TempDir, buffers: Arc<BufferPool>) -> Arc<Supply> {
        let spec = SupplySpec {
            origin: Arc::new(Disk::default().origin("data")),
            from: execution().source,
            filter: Filter::new(&Filters::default()).expect("no filter"),
            geometry: GEOMETRY,
            window: 1,
            delete_source: false,
            trash: None,
            counts_totals: true,
            scratch: folder.path().to_owned(),
        };
        let pace = Arc::new(crate::session::pace::Pace::new(None));
        let claim = Claim::new(&NodeLinks::default(), Direction::Out);
        let brakes = (pace, Arc::new(claim));
        let supply = Supply::open(spec, Arc::new(Nobody), Arc::default(), buffers, brakes);
        supply.expect("opened")
    }

    #[test]
    fn a_stream_that_is_on_no_link_is_not_paced_by_one_though_another_stream_just_did_so() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let socket = TcpStream::connect(address).expect("a socket");
        let folder = tempfile::tempdir().expect("a folder");
        let supply = supply(&folder, BufferPool::of(1, 4096));
        let _paced = supply.pace.join(&socket).expect("joined");
        let paced = || sockopt::max_pacing(&socket).expect("the kernel says");
        // As who worked out what the link gave right before its transfer left it.
        supply.pace.follow(8_000_000);
        assert_eq!(paced(), Some(1_250_000));
        let begin = Instant::now();
        while paced().is_some() && begin.elapsed() < Duration::from_secs(10) {
            supply.wait_for_turn(&mut None, 4096);
        }
        assert_eq!(paced(), None);
    }

    #[test]
    fn a_stream_without_work_takes_no_buffer_from_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let buffers = BufferPool::of(1, 4096);
        let only = buffers.take(Duration::ZERO).expect("one is free");
        let supply = supply(&folder, buffers);
        supply.stop();
        // With a buffer for each stream this would wait for one, and fail.
        assert_eq!(supply.serve(&mut Nobody, None), Ok(()));
        drop(only);
    }
}
