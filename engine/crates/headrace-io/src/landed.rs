//! The files that a journal says have landed, in path order: however many they are, little of them is in memory.
//!
//! A replay adds them in the order in which they landed. Whenever a run of them is full it is sorted and written to a file, and as soon as
//! there are several runs of a level they become one of the next; what stays in memory when nothing was written is read from there.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use headrace_core::codec::to_usize;
use headrace_core::journal::{Landed, Landings, Record};
use headrace_core::name::RelPath;

/// Bytes of records that are sorted in memory; as structures they take about twice as much.
const RUN_BYTES: usize = 16 << 20;
/// So many runs of a level become one of the next: that many files are open for each level.
const FAN_IN: usize = 16;
/// Length and checksum before a record.
const FRAME_BYTES: usize = 8;
/// Bytes read from or written to a run at once.
const BUFFER_BYTES: usize = 64 << 10;
/// After so many records that are merged it is asked whether to go on: a merge may be of millions.
const ASKED_AFTER: usize = 1000;

/// Takes what landed from a replay.
pub struct LandedRuns<'a> {
    folder: PathBuf,
    go_on: &'a dyn Fn() -> io::Result<()>,
    run_bytes: usize,
    run: Vec<(Landed, bool)>,
    bytes: usize,
    /// Sorted runs on disk, by level; within a level the oldest first.
    levels: Vec<Vec<File>>,
}

impl<'a> LandedRuns<'a> {
    /// Sorts in `folder`, in files that have no name for long. While runs are merged, `go_on` is asked whether to.
    #[must_use]
    pub fn new(folder: &Path, go_on: &'a dyn Fn() -> io::Result<()>) -> Self {
        Self::with_run(folder, RUN_BYTES, go_on)
    }

    fn with_run(folder: &Path, run_bytes: usize, go_on: &'a dyn Fn() -> io::Result<()>) -> Self {
        Self {
            folder: folder.to_owned(),
            go_on,
            run_bytes,
            run: Vec::new(),
            bytes: 0,
            levels: Vec::new(),
        }
    }

    /// Give them in path order.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn sorted(mut self) -> io::Result<LandedCursor> {
        let run = std::mem::take(&mut self.run);
        let mut sources = Vec::new();
        // Higher levels are older.
        for file in self.levels.into_iter().rev().flatten() {
            sources.push(Source::of_file(file)?);
        }
        sources.push(Source::of_memory(run));
        Ok(LandedCursor {
            merged: Merged::new(sources),
            next: None,
        })
    }

    fn spill(&mut self) -> io::Result<()> {
        let run = std::mem::take(&mut self.run);
        self.bytes = 0;
        let file = self.write(Merged::new(vec![Source::of_memory(run)]))?;
        self.keep(0, file)
    }

    fn keep(&mut self, level: usize, file: File) -> io::Result<()> {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(file);
        if self.levels[level].len() < FAN_IN {
            return Ok(());
        }
        let files = std::mem::take(&mut self.levels[level]);
        let sources: io::Result<Vec<_>> = files.into_iter().map(Source::of_file).collect();
        let merged = self.write(Merged::new(sources?))?;
        self.keep(level + 1, merged)
    }

    fn write(&self, landed: Merged) -> io::Result<File> {
        let path = self.folder.join("landed.run");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)?;
        std::fs::remove_file(&path)?;
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
        let mut bytes = Vec::new();
        for (number, next) in landed.enumerate() {
            if number % ASKED_AFTER == ASKED_AFTER - 1 {
                (self.go_on)()?;
            }
            let (landed, published) = next?;
            bytes.clear();
            Record::Landed(landed).put(&mut bytes);
            bytes.push(published.into());
            out.write_all(&bytes)?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl fmt::Debug for LandedRuns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LandedRuns")
            .field("folder", &self.folder)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Landings for LandedRuns<'_> {
    fn add(&mut self, landed: Landed, published: bool) -> io::Result<()> {
        self.bytes += size_of::<(Landed, bool)>() + landed.path.as_bytes().len();
        self.run.push((landed, published));
        if self.bytes < self.run_bytes {
            return Ok(());
        }
        self.spill()
    }

    fn clear(&mut self) {
        self.run.clear();
        self.bytes = 0;
        self.levels.clear();
    }
}

/// What landed, beside paths that come in order.
#[derive(Debug)]
pub struct LandedCursor {
    merged: Merged,
    next: Option<(Landed, bool)>,
}

impl LandedCursor {
    /// Nothing landed.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            merged: Merged::new(Vec::new()),
            next: None,
        }
    }

    /// The last that landed at this path, and whether it certainly got its name. Paths must be asked for in rising order; of each other
    /// one that is passed, `go_on` is asked whether to.
    ///
    /// # Errors
    /// What the file system answers, and `go_on`.
    pub fn find(
        &mut self,
        path: &RelPath,
        go_on: &dyn Fn() -> io::Result<()>,
    ) -> io::Result<Option<(Landed, bool)>> {
        let mut found = None;
        loop {
            if self.next.is_none() {
                self.next = self.merged.next().transpose()?;
            }
            match &self.next {
                Some((landed, _)) if landed.path <= *path => {
                    found = self.next.take().filter(|(landed, _)| landed.path == *path);
                    if found.is_none() {
                        go_on()?;
                    }
                }
                _ => return Ok(found),
            }
        }
    }
}

/// One sorted run.
#[derive(Debug)]
enum Source {
    Memory(std::vec::IntoIter<(Landed, bool)>),
    File(BufReader<File>),
}

impl Source {
    fn of_memory(mut run: Vec<(Landed, bool)>) -> Peekable<Self> {
        // Stable, so that of one path the last stays the last.
        run.sort_by(|left, right| left.0.path.cmp(&right.0.path));
        Self::Memory(run.into_iter()).peekable()
    }

    fn of_file(mut file: File) -> io::Result<Peekable<Self>> {
        file.rewind()?;
        Ok(Self::File(BufReader::with_capacity(BUFFER_BYTES, file)).peekable())
    }
}

impl Iterator for Source {
    type Item = io::Result<(Landed, bool)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Memory(run) => run.next().map(Ok),
            Self::File(file) => read(file).transpose(),
        }
    }
}

fn read(file: &mut BufReader<File>) -> io::Result<Option<(Landed, bool)>> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a sorted run is damaged");
    let mut bytes = vec![0; FRAME_BYTES];
    match file.read_exact(&mut bytes[..1]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        answer => answer?,
    }
    file.read_exact(&mut bytes[1..])?;
    let [a, b, c, d, ..] = bytes[..] else {
        return Err(damaged());
    };
    let length = to_usize(u32::from_le_bytes([a, b, c, d]).into());
    bytes.resize(FRAME_BYTES + length + 1, 0);
    file.read_exact(&mut bytes[FRAME_BYTES..])?;
    let published = bytes.pop() == Some(1);
    match Record::read(&bytes) {
        Some((Record::Landed(landed), _)) => Ok(Some((landed, published))),
        _ => Err(damaged()),
    }
}

/// Several runs as one; of one path, what is in an older run comes first.
#[derive(Debug)]
struct Merged(Vec<Peekable<Source>>);

impl Merged {
    fn new(sources: Vec<Peekable<Source>>) -> Self {
        Self(sources)
    }
}

impl Iterator for Merged {
    type Item = io::Result<(Landed, bool)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut first: Option<(usize, RelPath)> = None;
        for (number, source) in self.0.iter_mut().enumerate() {
            match source.peek() {
                Some(Ok((landed, _)))
                    if first.as_ref().is_none_or(|(_, path)| landed.path < *path) =>
                {
                    first = Some((number, landed.path.clone()));
                }
                Some(Err(_)) => return source.next(),
                _ => {}
            }
        }
        self.0[first?.0].next()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use headrace_core::journal::Identity;
    use headrace_core::version::Version;
    use proptest::prelude::*;

    use super::*;

    fn landed(path: u64, inode: u64) -> Landed {
        Landed {
            path: RelPath::from_bytes(format!("{path:03}").as_bytes()).expect("a path"),
            identity: Identity {
                size: inode,
                version: Version::UNKNOWN,
            },
            hash: [1; 32],
            inode,
            part: None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn the_last_that_landed_at_a_path_is_found_however_often_it_was_written_out(
            paths in prop::collection::vec(0..300_u64, 0..1500),
            run_bytes in 1..4000_usize,
            is_cleared in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let mut runs = LandedRuns::with_run(folder.path(), run_bytes, &|| Ok(()));
            let mut model = BTreeMap::new();
            for (inode, path) in (0..).zip(&paths) {
                if is_cleared && inode == 700 {
                    runs.clear();
                    model.clear();
                }
                let published = inode % 3 > 0;
                runs.add(landed(*path, inode), published).expect("kept");
                model.insert(*path, (inode, published));
            }
            prop_assert!(runs.levels.iter().all(|level| level.len() < FAN_IN));
            prop_assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
            let mut cursor = runs.sorted().expect("sorted");
            for path in (0..300).filter(|path| path % 7 > 0) {
                let found = cursor.find(&landed(path, 0).path, &|| Ok(())).expect("readable");
                let found = found.map(|(landed, published)| (landed.inode, published));
                prop_assert_eq!(found, model.get(&path).copied());
            }
        }
    }

    #[test]
    fn invariant_6_a_replay_holds_no_more_than_one_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut runs = LandedRuns::with_run(folder.path(), 10_000, &|| Ok(()));
        for number in 0..20_000 {
            runs.add(landed(number % 1000, number), true).expect("kept");
            assert!(runs.run.len() * size_of::<(Landed, bool)>() < 10_000);
        }
        assert!(runs.levels.len() > 1);
    }
    #[test]
    fn runs_are_merged_and_searched_no_further_than_somebody_says_stop() {
        let folder = tempfile::tempdir().expect("a folder");
        let asked = Cell::new(0);
        let go_on = |most: usize| {
            asked.set(asked.get() + 1);
            if asked.get() <= most {
                return Ok(());
            }
            Err(io::ErrorKind::Interrupted.into())
        };
        // What is sorted first is written out as a run of its own.
        let stop = || go_on(0);
        let mut runs = LandedRuns::with_run(folder.path(), usize::MAX, &stop);
        for number in 0..2000 {
            runs.add(landed(number, number), true).expect("kept");
        }
        let stopped = runs.spill().expect_err("stopped");
        assert_eq!(stopped.kind(), io::ErrorKind::Interrupted);
        assert_eq!((asked.get(), runs.levels.len()), (1, 0));

        asked.set(0);
        let never = || go_on(usize::MAX);
        let mut runs = LandedRuns::with_run(folder.path(), usize::MAX, &never);
        for number in 100..200 {
            runs.add(landed(number, number), true).expect("kept");
        }
        let mut cursor = runs.sorted().expect("sorted");
        let found = cursor.find(&landed(100, 0).path, &|| go_on(0));
        assert!(found.expect("it is the first").is_some());
        let stopped = cursor.find(&landed(199, 0).path, &|| go_on(7));
        assert_eq!(
            stopped.expect_err("stopped").kind(),
            io::ErrorKind::Interrupted
        );
        assert_eq!(asked.get(), 8);
    }
}
