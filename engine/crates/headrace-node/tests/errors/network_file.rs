//! A file on a network file system that another client changes: a FUSE server, whose answers the kernel remembers for as long as it says.

use std::ffi::CString;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::session_support::content;

/// Bytes of the file, whoever changed it.
pub(crate) const FILE_BYTES: usize = (3 << 20) + 7;
/// Reading from here on, one reads what somebody else has just written.
const CHANGED_FROM: u64 = 1 << 20;

/// Operations of the protocol, by number.
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const RELEASE: u32 = 18;
const INIT: u32 = 26;
const OPENDIR: u32 = 27;
const READDIR: u32 = 28;
const RELEASEDIR: u32 = 29;
const BATCH_FORGET: u32 = 42;

const HEADER_BYTES: usize = 40;
const FILE: u64 = 2;
/// So long, in seconds, the kernel goes by what it was told.
const REMEMBERED_S: u64 = 3600;
/// Content is not remembered.
const DIRECT_IO: u32 = 1;
const NO_SUCH_NAME: i32 = -2;
const NO_SUCH_OPERATION: i32 = -38;

/// A read-only folder with the one file `file`, served until this is dropped.
pub(crate) struct NetworkFile {
    folder: std::path::PathBuf,
    state: Arc<State>,
}

struct State {
    is_changed: AtomicBool,
    contents: [Vec<u8>; 2],
}

impl NetworkFile {
    /// Mount it there, for this thread and those it starts.
    pub(crate) fn mount(folder: &Path) -> Self {
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let device = device.expect("the kernel serves file systems of programs");
        let options = format!(
            "fd={},rootmode=40755,user_id=0,group_id=0",
            device.as_raw_fd()
        );
        let options = CString::new(options).expect("no zeros");
        // Not read-only, the kernel would ask again after each read: for the time of the last one.
        mount(
            "test",
            folder,
            "fuse",
            MountFlags::RDONLY,
            options.as_c_str(),
        )
        .expect("we are root");
        let state = Arc::new(State {
            is_changed: AtomicBool::new(false),
            contents: [1, 2].map(|seed| content(FILE_BYTES, seed)),
        });
        let served = Arc::clone(&state);
        std::thread::spawn(move || served.serve(&device));
        Self {
            folder: folder.to_owned(),
            state,
        }
    }

    /// Let somebody else change the file now.
    pub(crate) fn change(&self) {
        self.state.is_changed.store(true, Ordering::Release);
    }

    /// What the file holds once it was changed.
    pub(crate) fn changed(&self) -> &[u8] {
        &self.state.contents[1]
    }
}

impl Drop for NetworkFile {
    fn drop(&mut self) {
        let _ = unmount(&self.folder, UnmountFlags::DETACH);
    }
}

impl State {
    /// Answer the kernel until nobody sees the file system any more.
    fn serve(&self, mut device: &File) {
        let mut request = vec![0; 1 << 18];
        loop {
            let count = match device.read(&mut request) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let number =
                |at: usize| u32::from_le_bytes(request[at..at + 4].try_into().expect("four"));
            let long =
                |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().expect("eight"));
            let (operation, unique, node) = (number(4), long(8), long(16));
            let answer = match operation {
                FORGET | BATCH_FORGET => continue,
                INIT => Ok(init(number(HEADER_BYTES))),
                LOOKUP if &request[HEADER_BYTES..count] == b"file\0" => Ok(self.found()),
                LOOKUP => Err(NO_SUCH_NAME),
                GETATTR => Ok([
                    &REMEMBERED_S.to_le_bytes()[..],
                    &[0; 8],
                    &self.attributes(node),
                ]
                .concat()),
                OPEN | OPENDIR => Ok([&[0; 8][..], &DIRECT_IO.to_le_bytes(), &[0; 4]].concat()),
                READ => Ok(self.read(long(HEADER_BYTES + 8), number(HEADER_BYTES + 16))),
                READDIR => Ok(names(long(HEADER_BYTES + 8))),
                RELEASE | RELEASEDIR => Ok(Vec::new()),
                _ => Err(NO_SUCH_OPERATION),
            };
            let (error, body) = match answer {
                Ok(body) => (0, body),
                Err(error) => (error, Vec::new()),
            };
            let length = u32::try_from(16 + body.len()).expect("short");
            let head = [
                &length.to_le_bytes()[..],
                &error.to_le_bytes(),
                &unique.to_le_bytes(),
            ];
            // A request that was given up is not there any more.
            drop(device.write(&[&head.concat()[..], &body].concat()));
        }
    }

    fn found(&self) -> Vec<u8> {
        let numbers = [FILE, 0, REMEMBERED_S, REMEMBERED_S, 0];
        let mut answer: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        answer.extend(self.attributes(FILE));
        answer
    }

    /// As the server has them now: of the same size whoever wrote the file last, at another time.
    fn attributes(&self, node: u64) -> Vec<u8> {
        let bytes = if node == FILE { FILE_BYTES as u64 } else { 0 };
        let time = 1_000_000_000 + u64::from(self.is_changed.load(Ordering::Acquire));
        let mode = if node == FILE {
            0o100_644
        } else {
            0o040_755_u32
        };
        let long = [node, bytes, bytes.div_ceil(512), time, time, time];
        let short = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0_u32];
        let mut attributes: Vec<u8> = long
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        attributes.extend(short.iter().flat_map(|number| number.to_le_bytes()));
        attributes
    }

    fn read(&self, offset: u64, count: u32) -> Vec<u8> {
        if offset >= CHANGED_FROM {
            self.is_changed.store(true, Ordering::Release);
        }
        let content = &self.contents[usize::from(self.is_changed.load(Ordering::Acquire))];
        let start = content.len().min(usize::try_from(offset).expect("short"));
        let end = content
            .len()
            .min(start + usize::try_from(count).expect("short"));
        content[start..end].to_vec()
    }
}

/// Our version of the protocol, and no feature.
fn init(major: u32) -> Vec<u8> {
    let mut answer = [major, 31, 0, 0, 0, 1 << 17, 1]
        .map(u32::to_le_bytes)
        .concat();
    answer.resize(64, 0);
    answer
}

/// The names of the folder from an offset on.
fn names(offset: u64) -> Vec<u8> {
    if offset > 0 {
        return Vec::new();
    }
    let (length, kind) = (4_u32, 8_u32);
    let numbers = [
        &FILE.to_le_bytes()[..],
        &1_u64.to_le_bytes(),
        &length.to_le_bytes(),
        &kind.to_le_bytes(),
    ];
    [&numbers.concat()[..], b"file\0\0\0\0"].concat()
}
