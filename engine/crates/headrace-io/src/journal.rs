//! The journal as a file of a store.

use std::io;
use std::sync::Arc;

use headrace_core::codec::to_usize;
use headrace_core::journal::{MAX_RECORD_BYTES, Record, Replay};

use crate::storage::{Folder, Holding, Part, Writing};

/// How much is read at once; more than one record, so that progress is always made.
const READ_BYTES: usize = 4 * MAX_RECORD_BYTES;

/// An open journal. Records are collected in memory until [`Journal::commit`].
pub struct Journal {
    part: Arc<dyn Part>,
    length: u64,
    waiting: Vec<u8>,
}

impl Journal {
    /// Open the journal `name` in `folder`, or make an empty one; also gives what it says. A torn end is cut off.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn open(folder: &dyn Folder, name: &[u8]) -> io::Result<(Self, Replay)> {
        let part = match folder.reopen(name, Writing::Buffered) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let part = folder.create(name, Holding::Named, Writing::Buffered)?;
                folder.sync()?;
                part
            }
            answer => answer?,
        };
        let (replay, length) = replay(&*part)?;
        // What follows a torn record was never promised, and must not come back behind the records written next. The next commit
        // makes this durable together with them.
        part.set_size(length)?;
        Ok((
            Self {
                part,
                length,
                waiting: Vec::new(),
            },
            replay,
        ))
    }

    /// Add a record to those that the next commit writes.
    pub fn push(&mut self, record: &Record) {
        record.put(&mut self.waiting);
    }

    /// Write what is waiting, without making it durable: it survives a crash of the process, not of the machine.
    ///
    /// # Errors
    /// What the storage answers. What was waiting still is, and is written again at the same place.
    pub fn write(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.part.write_at(&self.waiting, self.length)?;
            self.length += self.waiting.len() as u64;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Write what is waiting and make everything written so far durable.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn commit(&mut self) -> io::Result<()> {
        self.write()?;
        self.part.sync_content()
    }
}

fn replay(part: &dyn Part) -> io::Result<(Replay, u64)> {
    let mut replay = Replay::default();
    let mut buffer = vec![0; READ_BYTES];
    let (mut offset, mut filled) = (0_u64, 0);
    loop {
        let count = part.read_at(&mut buffer[filled..], offset + filled as u64)?;
        filled += count;
        let mut used = 0;
        while let Some((record, length)) = Record::read(&buffer[used..filled]) {
            replay.apply(record);
            used += length;
        }
        buffer.copy_within(used..filled, 0);
        filled -= used;
        offset += used as u64;
        if used == 0 || count == 0 {
            return Ok((replay, offset));
        }
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("length", &to_usize(self.length))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use headrace_core::journal::{Identity, Landed};
    use headrace_core::name::RelPath;
    use headrace_core::version::Version;

    use super::*;
    use crate::storage::Store;
    use crate::storage::simulated::Disk;

    fn landed(number: u64) -> Landed {
        let identity = Identity {
            size: number,
            version: Version::UNKNOWN,
        };
        Landed {
            path: RelPath::root(),
            identity,
            hash: [0; 32],
            inode: number,
            part: None,
        }
    }

    fn known(replay: &Replay, number: u64) -> bool {
        replay
            .landed(&RelPath::root(), &landed(number).identity)
            .is_some()
    }

    #[test]
    fn what_was_committed_is_read_again_after_a_power_cut_and_appended_to() {
        let disk = Disk::default();
        let folder = disk
            .store("state")
            .folder(&RelPath::root())
            .expect("the root");
        let (mut journal, _) = Journal::open(&*folder, b"journal").expect("made");
        for number in 0..50_000 {
            journal.push(&Record::Landed(landed(number)));
        }
        journal.commit().expect("committed");
        journal.push(&Record::Landed(landed(99_999)));
        journal.write().expect("written");
        disk.cut_after(0);
        assert!(journal.commit().is_err());
        // A coin of 4 tears the write of the last record in the middle.
        disk.power_cycle(|| 4);

        let (mut journal, replay) = Journal::open(&*folder, b"journal").expect("there");
        assert!((0..50_000).all(|number| known(&replay, number)));
        assert!(!known(&replay, 99_999));
        journal.push(&Record::Landed(landed(100_000)));
        journal.commit().expect("committed");
        let (_, replay) = Journal::open(&*folder, b"journal").expect("there");
        assert!(known(&replay, 0) && known(&replay, 100_000));
    }

    #[test]
    fn records_behind_a_torn_one_do_not_come_back_when_it_is_written_over() {
        let disk = Disk::default();
        let folder = disk
            .store("state")
            .folder(&RelPath::root())
            .expect("the root");
        let mut bytes = Vec::new();
        Record::Landed(landed(1)).put(&mut bytes);
        let torn = bytes.len() - 1;
        bytes[torn] ^= 1;
        Record::Landed(landed(2)).put(&mut bytes);
        let part = folder
            .create(b"journal", Holding::Named, Writing::Buffered)
            .expect("made");
        part.write_at(&bytes, 0).expect("written");
        let (mut journal, replay) = Journal::open(&*folder, b"journal").expect("there");
        assert!(!known(&replay, 1) && !known(&replay, 2));
        journal.push(&Record::Landed(landed(3)));
        journal.commit().expect("committed");
        let (_, replay) = Journal::open(&*folder, b"journal").expect("there");
        assert!(known(&replay, 3) && !known(&replay, 2));
    }
}
