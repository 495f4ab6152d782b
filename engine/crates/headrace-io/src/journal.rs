//! The journal as a file of a target.

use std::io;
use std::sync::Arc;

use headrace_core::codec::to_usize;
use headrace_core::journal::{Landings, MAX_RECORD_BYTES, Record, Replay};

use crate::storage::{Folder, Holding, Part, Writing};

/// How much is read at once; more than one record, so that progress is always made.
const READ_BYTES: usize = 4 * MAX_RECORD_BYTES;

/// An open journal. Records are collected in memory until [`Journal::commit`].
pub struct Journal {
    part: Arc<dyn Part>,
    length: u64,
    /// How much of it is durable, as far as this process knows.
    durable: u64,
    waiting: Vec<u8>,
}

impl Journal {
    /// Open the journal `name` in `folder`, or make an empty one; also gives what it says, but for the files that landed, which `landings`
    /// takes. A torn end is cut off. Between two pieces of a long journal, `go_on` is asked whether to.
    ///
    /// # Errors
    /// What the storage answers, `landings`, and `go_on`: nothing is changed then.
    pub fn open(
        folder: &dyn Folder,
        name: &[u8],
        landings: &mut dyn Landings,
        go_on: &dyn Fn() -> io::Result<()>,
    ) -> io::Result<(Self, Replay)> {
        let part = match folder.reopen(name, Writing::Buffered) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                folder.create(name, Holding::Named, Writing::Buffered)?
            }
            answer => {
                let part = answer?;
                // What was written before may be lost and still be read as if it were there: where a sync failed, of which only a process
                // was told that was killed then. It is read as it is on the disk.
                part.sync_content()?;
                part.evict()?;
                part
            }
        };
        let (replay, length) = replay(&*part, landings, go_on)?;
        if length == 0 {
            // Just made, or by a process that was killed before its name was durable.
            folder.sync()?;
        }
        // What follows a torn record was never promised, and must not come back behind the records written next. The next commit
        // makes this durable together with them.
        part.set_size(length)?;
        Ok((
            Self {
                part,
                length,
                durable: length,
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
        let synced = self.part.sync_content();
        if synced.is_ok() {
            self.durable = self.length;
        } else if let Err(error) = self.write_again() {
            // The next session reads what is there, as after a loss of power.
            tracing::warn!(%error, "a journal that could not be made durable could not be written again");
        }
        synced
    }

    /// Write what may not be durable once more. What a failed sync did not write still reads as if it were there, and the kernel takes it
    /// for written: the next session would believe it, a later sync would succeed, and a loss of power would take it all the same.
    fn write_again(&self) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        let mut at = self.durable;
        while at < self.length {
            let room = buffer.len().min(to_usize(self.length - at));
            let count = self.part.read_at(&mut buffer[..room], at)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.part.write_at(&buffer[..count], at)?;
            at += count as u64;
        }
        self.part.set_size(self.length)
    }
}

fn replay(
    part: &dyn Part,
    landings: &mut dyn Landings,
    go_on: &dyn Fn() -> io::Result<()>,
) -> io::Result<(Replay, u64)> {
    let mut replay = Replay::default();
    let mut buffer = vec![0; READ_BYTES];
    let (mut offset, mut filled) = (0_u64, 0);
    loop {
        let count = part.read_at(&mut buffer[filled..], offset + filled as u64)?;
        filled += count;
        let mut used = 0;
        while let Some((record, length)) = Record::read(&buffer[used..filled]) {
            replay.apply(record, landings)?;
            used += length;
        }
        buffer.copy_within(used..filled, 0);
        filled -= used;
        offset += used as u64;
        if used == 0 || count == 0 {
            replay.end(landings)?;
            return Ok((replay, offset));
        }
        go_on()?;
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
    use std::collections::BTreeSet;

    use headrace_core::journal::{Identity, Landed};
    use headrace_core::name::RelPath;
    use headrace_core::version::Version;

    use super::*;
    use crate::storage::Target;
    use crate::storage::simulated::{Disk, Errno};

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

    /// The numbers of what landed.
    #[derive(Default)]
    struct Numbers(BTreeSet<u64>);

    impl Landings for Numbers {
        fn add(&mut self, landed: Landed, _: bool) -> io::Result<()> {
            self.0.insert(landed.inode);
            Ok(())
        }

        fn clear(&mut self) {
            self.0.clear();
        }
    }

    fn open(folder: &dyn Folder) -> (Journal, BTreeSet<u64>) {
        let mut landed = Numbers::default();
        let opened = Journal::open(folder, b"journal", &mut landed, &|| Ok(()));
        let (journal, _) = opened.expect("open");
        (journal, landed.0)
    }

    #[test]
    fn what_was_committed_is_read_again_after_a_power_cut_and_appended_to() {
        let disk = Disk::default();
        let folder = disk
            .target("state")
            .folder(&RelPath::root())
            .expect("the root");
        let (mut journal, _) = open(&*folder);
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

        let (mut journal, known) = open(&*folder);
        assert!(known.into_iter().eq(0..50_000));
        journal.push(&Record::Landed(landed(100_000)));
        journal.commit().expect("committed");
        let (_, known) = open(&*folder);
        assert!(known.contains(&0) && known.contains(&100_000));
    }

    #[test]
    fn a_long_journal_is_read_no_further_than_somebody_says_stop() {
        let disk = Disk::default();
        let folder = disk
            .target("state")
            .folder(&RelPath::root())
            .expect("the root");
        let (mut journal, _) = open(&*folder);
        for number in 0..50_000 {
            journal.push(&Record::Landed(landed(number)));
            journal.push(&Record::Published);
        }
        journal.commit().expect("committed");
        let mut read = Numbers::default();
        let stopped = Journal::open(&*folder, b"journal", &mut read, &|| {
            Err(io::ErrorKind::Interrupted.into())
        });
        let stopped = stopped.expect_err("stopped");
        assert_eq!(stopped.kind(), io::ErrorKind::Interrupted);
        // One piece of it was read.
        let mut record = Vec::new();
        Record::Landed(landed(1)).put(&mut record);
        let most = READ_BYTES / record.len();
        assert!((1..=most).contains(&read.0.len()), "{}", read.0.len());
        // And all of it is there.
        assert!(open(&*folder).1.into_iter().eq(0..50_000));
    }

    #[test]
    fn a_journal_whose_maker_was_killed_before_its_name_was_durable_survives_a_power_cut() {
        let disk = Disk::default();
        let folder = disk
            .target("state")
            .folder(&RelPath::root())
            .expect("the root");
        // Right after it was made.
        disk.cut_after(1);
        assert!(Journal::open(&*folder, b"journal", &mut (), &|| Ok(())).is_err());
        disk.restart();
        let (mut journal, _) = open(&*folder);
        journal.push(&Record::Landed(landed(1)));
        journal.commit().expect("committed");
        disk.power_cycle(|| 0);
        assert!(open(&*folder).1.into_iter().eq([1]));
    }

    #[test]
    fn what_a_failed_sync_left_in_memory_is_durable_after_the_next_one() {
        let disk = Disk::default();
        let folder = disk
            .target("state")
            .folder(&RelPath::root())
            .expect("the root");
        let (mut journal, _) = open(&*folder);
        journal.push(&Record::Landed(landed(1)));
        journal.commit().expect("committed");
        journal.push(&Record::Landed(landed(2)));
        disk.fail_once(1, Errno::IO);
        assert!(journal.commit().is_err(), "written and not synced");
        let (mut journal, known) = open(&*folder);
        assert!(known.into_iter().eq([1, 2]), "another session believes it");
        journal.push(&Record::Landed(landed(3)));
        journal.commit().expect("committed");
        disk.power_cycle(|| 0);
        assert!(open(&*folder).1.into_iter().eq([1, 2, 3]));
    }

    #[test]
    fn what_a_failed_sync_lost_is_not_believed_when_its_process_was_killed() {
        let disk = Disk::default();
        let folder = disk
            .target("state")
            .folder(&RelPath::root())
            .expect("the root");
        let (mut journal, _) = open(&*folder);
        journal.push(&Record::Landed(landed(1)));
        journal.commit().expect("committed");
        journal.push(&Record::Landed(landed(2)));
        disk.fail_once(1, Errno::IO);
        disk.cut_after(2);
        assert!(journal.commit().is_err(), "written and not synced");
        // Killed before it wrote that again.
        disk.restart();
        let (mut journal, _) = open(&*folder);
        journal.push(&Record::Landed(landed(3)));
        journal.commit().expect("committed");
        disk.power_cycle(|| 0);
        assert!(open(&*folder).1.into_iter().eq([1, 3]));
    }

    #[test]
    fn records_behind_a_torn_one_do_not_come_back_when_it_is_written_over() {
        let disk = Disk::default();
        let folder = disk
            .target("state")
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
        let (mut journal, known) = open(&*folder);
        assert!(known.is_empty());
        journal.push(&Record::Landed(landed(3)));
        journal.commit().expect("committed");
        let (_, known) = open(&*folder);
        assert!(known.into_iter().eq([3]));
    }
}
