//! Storage in memory that loses its power: what was not synced survives in part, out of order, torn, or not at all.
//!
//! The promises are the weakest that POSIX allows. Syncing a file keeps its content but not its name; syncing a folder keeps its
//! names but not what they hold; `sync_content` does not keep times and modes; unsynced changes survive independently of their order.

mod origin;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use headrace_core::codec::to_usize;
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::RelPath;
use parking_lot::Mutex;
pub use rustix::io::Errno;

use super::{Existing, Folder, Holding, Metadata, Part, Removal, Replaced, Target, Writing};
use crate::version::FileState;

pub use self::origin::SimulatedOrigin;

/// Torn writes end at multiples of this.
const SECTOR_BYTES: usize = 512;
const ROOT: u64 = 1;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    nodes: HashMap<u64, Node>,
    /// The file systems of what is not on the first one, by inode.
    devices: HashMap<u64, u64>,
    /// Folders of this name are file systems of their own.
    mounts: Option<Box<[u8]>>,
    next_inode: u64,
    changes: u64,
    cut_after: Option<u64>,
    /// The change with this number fails with this error.
    failing: Option<(u64, Errno)>,
    illness: Option<Illness>,
    /// Every file has a name.
    names_all: bool,
}

/// What a disk does wrong while it has power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Illness {
    /// It reads other bytes than were written.
    AltersReads,
    /// It answers every write of content with an error.
    FailsWrites,
    /// It answers every sync of content with an error.
    FailsSyncs,
}

#[derive(Debug)]
enum Node {
    File(FileNode),
    Folder(FolderNode),
    Symlink(Box<[u8]>, i128),
}

#[derive(Debug, Default)]
struct FileNode {
    now: Content,
    safe: Content,
    pending: Vec<Change>,
    /// A sync of the whole file system lost changes of it, which the next sync of the file itself says.
    lost: bool,
}

#[derive(Debug, Clone, Default)]
struct Content {
    bytes: Vec<u8>,
    metadata: Metadata,
    /// Number of the last change: no two states of a file have the same.
    changed: u64,
}

#[derive(Debug, Clone)]
enum Change {
    Write(u64, Box<[u8]>),
    Size(u64),
    Metadata(Metadata),
}

#[derive(Debug, Default)]
struct FolderNode {
    now: BTreeMap<Box<[u8]>, u64>,
    safe: BTreeMap<Box<[u8]>, u64>,
    pending: Vec<NameChange>,
    metadata: Metadata,
}

/// Names that change in one step: either all of a step survives or nothing. The sync of one folder says nothing of the other's part.
#[derive(Debug, Clone, Default)]
struct NameChange {
    remove: Option<Box<[u8]>>,
    add: Option<(Box<[u8]>, u64)>,
    /// Number of the step, where another folder has a part of it.
    step: Option<u64>,
}

/// What of a file is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    All,
    /// Not its times and modes.
    Content,
}

impl Default for Disk {
    fn default() -> Self {
        let nodes = HashMap::from([(ROOT, Node::Folder(FolderNode::default()))]);
        let state = State {
            nodes,
            devices: HashMap::new(),
            mounts: None,
            next_inode: ROOT + 1,
            changes: 0,
            cut_after: None,
            failing: None,
            illness: None,
            names_all: false,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }
}

impl Disk {
    /// Cut the power right before the change with this number (from now on, counting from 0): it and all later operations fail.
    pub fn cut_after(&self, changes: u64) {
        let mut state = self.state.lock();
        state.cut_after = Some(state.changes + changes);
    }

    /// Let the change with this number (from now on, counting from 0) fail with this error, and those after it succeed again. What a
    /// sync that fails did not write is lost with the power, whatever a later sync says: so it is with the page cache of Linux.
    pub fn fail_once(&self, changes: u64, error: Errno) {
        let mut state = self.state.lock();
        state.failing = Some((state.changes + changes + 1, error));
    }

    /// Let the disk do something wrong from now on.
    pub fn fall_ill(&self, illness: Illness) {
        self.state.lock().illness = Some(illness);
    }

    /// Let no file be without a name from now on.
    pub fn name_all(&self) {
        self.state.lock().names_all = true;
    }

    /// Let each folder of this name that is made from now on be a file system of its own.
    pub fn mount(&self, name: &[u8]) {
        self.state.lock().mounts = Some(name.into());
    }

    /// Whether the power is cut, and something was tried since.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.state.lock().alive().is_err()
    }

    /// How many changes were made so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Bring the power back: of every unsynced change a part survives, chosen by `random` (any source of numbers).
    pub fn power_cycle(&self, mut random: impl FnMut() -> u64) {
        let mut state = self.state.lock();
        (state.cut_after, state.failing) = (None, None);
        // Sometimes nothing or everything survives, otherwise each change with its own coin.
        let fate = random() % 8;
        let mut survives = move || match fate {
            0 => None,
            1 => Some(u64::MAX),
            _ => Some(random()).filter(|coin| coin % 2 == 0),
        };
        let mut steps: HashMap<u64, Option<u64>> = HashMap::new();
        let mut inodes: Vec<u64> = state.nodes.keys().copied().collect();
        inodes.sort_unstable();
        for inode in inodes {
            match state.nodes.get_mut(&inode) {
                Some(Node::File(file)) => {
                    for change in std::mem::take(&mut file.pending) {
                        if let Some(coin) = survives() {
                            file.safe.apply(&change.torn(coin));
                        }
                    }
                    file.now = file.safe.clone();
                    file.lost = false;
                }
                Some(Node::Folder(folder)) => {
                    for change in std::mem::take(&mut folder.pending) {
                        let coin = match change.step {
                            Some(step) => *steps.entry(step).or_insert_with(&mut survives),
                            None => survives(),
                        };
                        if coin.is_some() {
                            apply_names(&mut folder.safe, &change);
                        }
                    }
                    folder.now = folder.safe.clone();
                }
                _ => {}
            }
        }
    }

    /// Let another process go on where one died: all that was changed is there, and may still be lost with the power.
    pub fn restart(&self) {
        let mut state = self.state.lock();
        (state.cut_after, state.failing) = (None, None);
    }

    /// Read from the folder `name` at the top, made (and durable) if it is missing.
    #[must_use]
    pub fn origin(&self, name: &str) -> SimulatedOrigin {
        SimulatedOrigin::new(self.clone(), self.top(name))
    }

    /// Receive into the folder `name` at the top, made (and durable) if it is missing.
    #[must_use]
    pub fn target(&self, name: &str) -> SimulatedTarget {
        SimulatedTarget {
            disk: self.clone(),
            inode: self.top(name),
        }
    }

    fn top(&self, name: &str) -> u64 {
        let mut state = self.state.lock();
        let name: Box<[u8]> = name.as_bytes().into();
        let inode = state.next_inode;
        let Some(Node::Folder(top)) = state.nodes.get_mut(&ROOT) else {
            unreachable!("the root is a folder")
        };
        let found = top.now.get(&name).copied();
        if found.is_none() {
            top.now.insert(name.clone(), inode);
            top.safe.insert(name, inode);
            state.next_inode += 1;
            state
                .nodes
                .insert(inode, Node::Folder(FolderNode::default()));
        }
        found.unwrap_or(inode)
    }
}

impl State {
    fn change(&mut self) -> io::Result<()> {
        self.alive()?;
        self.changes += 1;
        self.alive()?;
        let changes = self.changes;
        let failing = self.failing.take_if(|(number, _)| *number <= changes);
        failing.map_or(Ok(()), |(_, error)| Err(error.into()))
    }

    /// Sync these files and folders. Where that fails, what the files held is forgotten; whoever can't write names writes nothing more.
    fn sync(&mut self, inodes: &[u64], how: Sync) -> io::Result<()> {
        let mut answer = self.change();
        if let ([inode], Ok(())) = (inodes, &answer)
            && let Ok(file) = self.file(*inode)
            && std::mem::take(&mut file.lost)
        {
            answer = Err(Errno::IO.into());
        }
        let is_lost = answer.is_err() && self.alive().is_ok();
        for inode in inodes {
            match self.nodes.get_mut(inode) {
                Some(Node::File(file)) if is_lost => {
                    file.lost = inodes.len() > 1 && !file.pending.is_empty();
                    file.pending.clear();
                }
                Some(Node::File(file)) if answer.is_ok() => file.sync(how),
                Some(Node::Folder(folder)) if answer.is_ok() => {
                    folder.safe = folder.now.clone();
                    folder.pending.clear();
                }
                _ => {}
            }
        }
        answer
    }

    /// The error of the device, if it has this illness.
    fn well(&self, illness: Illness) -> io::Result<()> {
        if self.illness == Some(illness) {
            Err(Errno::IO.into())
        } else {
            Ok(())
        }
    }

    fn alive(&self) -> io::Result<()> {
        match self.cut_after {
            Some(limit) if self.changes > limit => Err(io::Error::other("the power is cut")),
            _ => Ok(()),
        }
    }

    fn file(&mut self, inode: u64) -> io::Result<&mut FileNode> {
        match self.nodes.get_mut(&inode) {
            Some(Node::File(file)) => Ok(file),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn folder(&mut self, inode: u64) -> io::Result<&mut FolderNode> {
        match self.nodes.get_mut(&inode) {
            Some(Node::Folder(folder)) => Ok(folder),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn entry(&self, inode: u64, path: RelPath) -> io::Result<Option<Entry>> {
        self.alive()?;
        let (kind, size, metadata, target, changed) = match self.nodes.get(&inode) {
            Some(Node::File(file)) => (
                Kind::File,
                file.now.bytes.len() as u64,
                file.now.metadata,
                None,
                file.now.changed,
            ),
            Some(Node::Folder(folder)) => (Kind::Dir, 0, folder.metadata, None, 0),
            Some(Node::Symlink(target, mtime_ns)) => {
                let metadata = Metadata {
                    mode: None,
                    mtime_ns: Some(*mtime_ns),
                };
                (
                    Kind::Symlink,
                    target.len() as u64,
                    metadata,
                    Some(target.clone()),
                    0,
                )
            }
            None => return Ok(None),
        };
        let (mode, mtime_ns) = (
            metadata.mode.unwrap_or(0o600),
            metadata.mtime_ns.unwrap_or(0),
        );
        let seconds = |nanoseconds: i128| i64::try_from(nanoseconds).unwrap_or(i64::MAX);
        let version = FileState {
            inode,
            is_shared: false,
            size,
            content_changed: (seconds(mtime_ns), 0),
            changed: (seconds(changed.into()), 0),
        }
        .version();
        Ok(Some(Entry {
            path,
            kind,
            size,
            mtime_ns,
            version,
            mode,
            target,
        }))
    }

    fn read(&mut self, inode: u64, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.alive()?;
        let content = &self.file(inode)?.now.bytes;
        let rest = content.get(to_usize(offset)..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        if self.illness == Some(Illness::AltersReads)
            && let Some(first) = bytes[..count].first_mut()
        {
            *first ^= 1;
        }
        Ok(count)
    }

    fn device(&self, inode: u64) -> u64 {
        self.devices.get(&inode).copied().unwrap_or(ROOT)
    }

    fn inherit_device(&mut self, folder: u64, inode: u64) {
        if let Some(device) = self.devices.get(&folder).copied() {
            self.devices.insert(inode, device);
        }
    }

    fn add(&mut self, folder: u64, name: &[u8], node: Node) -> io::Result<u64> {
        self.change()?;
        let inode = self.next_inode;
        if self.folder(folder)?.now.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.next_inode += 1;
        if matches!(node, Node::Folder(_)) && self.mounts.as_deref() == Some(name) {
            self.devices.insert(inode, inode);
        } else {
            self.inherit_device(folder, inode);
        }
        self.nodes.insert(inode, node);
        self.folder(folder)?.names(NameChange {
            remove: None,
            add: Some((name.into(), inode)),
            step: None,
        });
        Ok(inode)
    }
}

impl FolderNode {
    fn names(&mut self, change: NameChange) {
        apply_names(&mut self.now, &change);
        self.pending.push(change);
    }
}

fn apply_names(names: &mut BTreeMap<Box<[u8]>, u64>, change: &NameChange) {
    if let Some(name) = &change.remove {
        names.remove(name);
    }
    if let Some((name, inode)) = &change.add {
        names.insert(name.clone(), *inode);
    }
}

impl FileNode {
    /// Only what was not lost meanwhile: what a failed sync forgot does not come back.
    fn sync(&mut self, how: Sync) {
        let (now, later) = match how {
            Sync::All => (std::mem::take(&mut self.pending), Vec::new()),
            Sync::Content => std::mem::take(&mut self.pending)
                .into_iter()
                .partition(|change| !matches!(change, Change::Metadata(_))),
        };
        for change in &now {
            self.safe.apply(change);
        }
        self.safe.changed = self.now.changed;
        self.pending = later;
    }

    fn change(&mut self, number: u64, change: Change) {
        self.now.apply(&change);
        self.now.changed = number;
        self.pending.push(change);
    }
}

impl Change {
    fn torn(&self, coin: u64) -> Self {
        match self {
            Self::Write(offset, bytes) if coin != u64::MAX && coin.is_multiple_of(4) => {
                let sectors = (bytes.len() / SECTOR_BYTES) as u64;
                let kept = to_usize((coin / 4) % (sectors + 1)) * SECTOR_BYTES;
                Self::Write(*offset, bytes[..kept].into())
            }
            whole => whole.clone(),
        }
    }
}

impl Content {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(offset, bytes) => {
                let start = to_usize(*offset);
                if self.bytes.len() < start + bytes.len() {
                    self.bytes.resize(start + bytes.len(), 0);
                }
                self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
            }
            Change::Size(size) => self.bytes.resize(to_usize(*size), 0),
            Change::Metadata(metadata) => {
                self.metadata.mode = metadata.mode.or(self.metadata.mode);
                self.metadata.mtime_ns = metadata.mtime_ns.or(self.metadata.mtime_ns);
            }
        }
    }
}

/// A folder at the top of a [`Disk`], received into.
#[derive(Debug, Clone)]
pub struct SimulatedTarget {
    disk: Disk,
    inode: u64,
}

impl SimulatedTarget {
    /// All bytes of the file at `path`, if there is one.
    #[must_use]
    pub fn content(&self, path: &RelPath) -> Option<Vec<u8>> {
        let mut state = self.disk.state.lock();
        let mut inode = self.inode;
        for name in path.components() {
            inode = *state.folder(inode).ok()?.now.get(name)?;
        }
        state.file(inode).ok().map(|file| file.now.bytes.clone())
    }
}

impl Target for SimulatedTarget {
    fn folder(&self, path: &RelPath) -> io::Result<Arc<dyn Folder>> {
        let mut folder: Arc<dyn Folder> = Arc::new(SimulatedFolder {
            disk: self.disk.clone(),
            top: self.inode,
            inode: self.inode,
        });
        for name in path.components() {
            folder = folder.folder(name)?;
        }
        Ok(folder)
    }

    fn sync_file_system(&self, device: u64) -> io::Result<bool> {
        let mut state = self.disk.state.lock();
        let inodes = state.nodes.keys().copied();
        let inodes: Vec<u64> = inodes
            .filter(|inode| state.device(*inode) == device)
            .collect();
        state.sync(&inodes, Sync::All)?;
        Ok(true)
    }

    fn writing(&self) -> Writing {
        Writing::Buffered
    }

    fn umask(&self) -> u32 {
        0o022
    }
}

#[derive(Debug)]
struct SimulatedFolder {
    disk: Disk,
    /// The folder that paths begin at.
    top: u64,
    inode: u64,
}

impl Folder for SimulatedFolder {
    fn entry(&self, name: &[u8], path: RelPath) -> io::Result<Option<Entry>> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let Some(inode) = state.folder(self.inode)?.now.get(name).copied() else {
            return Ok(None);
        };
        state.entry(inode, path)
    }

    fn inode_of(&self, name: &[u8]) -> io::Result<Option<u64>> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        Ok(state.folder(self.inode)?.now.get(name).copied())
    }

    fn names(&self, each: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()> {
        let names: Vec<Box<[u8]>> = {
            let mut state = self.disk.state.lock();
            state.alive()?;
            state.folder(self.inode)?.now.keys().cloned().collect()
        };
        names.iter().all(|name| each(name));
        Ok(())
    }

    fn folder(&self, name: &[u8]) -> io::Result<Arc<dyn Folder>> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let found = state.folder(self.inode)?.now.get(name).copied();
        let inode = found.ok_or(io::ErrorKind::NotFound)?;
        state.folder(inode)?;
        Ok(Arc::new(Self {
            disk: self.disk.clone(),
            top: self.top,
            inode,
        }))
    }

    fn make_folder(&self, name: &[u8]) -> io::Result<()> {
        self.disk
            .state
            .lock()
            .add(self.inode, name, Node::Folder(FolderNode::default()))
            .map(drop)
    }

    fn make_symlink(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        self.disk
            .state
            .lock()
            .add(self.inode, name, Node::Symlink(target.into(), 0))
            .map(drop)
    }

    fn create(
        &self,
        temporary: &[u8],
        holding: Holding,
        _writing: Writing,
    ) -> io::Result<Arc<dyn Part>> {
        let mut state = self.disk.state.lock();
        let (inode, name) = if holding == Holding::Named || state.names_all {
            (
                state.add(self.inode, temporary, Node::File(FileNode::default()))?,
                Some(temporary.into()),
            )
        } else {
            state.change()?;
            let inode = state.next_inode;
            state.next_inode += 1;
            state.nodes.insert(inode, Node::File(FileNode::default()));
            state.inherit_device(self.inode, inode);
            (inode, None)
        };
        Ok(Arc::new(SimulatedPart {
            disk: self.disk.clone(),
            folder: self.inode,
            inode,
            name,
        }))
    }

    fn reopen(&self, temporary: &[u8], _writing: Writing) -> io::Result<Arc<dyn Part>> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let found = state.folder(self.inode)?.now.get(temporary).copied();
        let inode = found.ok_or(io::ErrorKind::NotFound)?;
        state.file(inode)?;
        let name = Some(temporary.into());
        Ok(Arc::new(SimulatedPart {
            disk: self.disk.clone(),
            folder: self.inode,
            inode,
            name,
        }))
    }

    fn open_file(&self, name: &[u8]) -> io::Result<Arc<dyn Part>> {
        self.reopen(name, Writing::Buffered)
    }

    fn rename(&self, from: &[u8], to: &[u8], existing: Existing) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let folder = state.folder(self.inode)?;
        let inode = folder
            .now
            .get(from)
            .copied()
            .ok_or(io::ErrorKind::NotFound)?;
        if existing == Existing::Keep && folder.now.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        folder.names(NameChange {
            remove: Some(from.into()),
            add: Some((to.into(), inode)),
            step: None,
        });
        Ok(())
    }

    fn remove(&self, name: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let folder = state.folder(self.inode)?;
        folder.now.get(name).ok_or(io::ErrorKind::NotFound)?;
        folder.names(NameChange {
            remove: Some(name.into()),
            add: None,
            step: None,
        });
        Ok(())
    }

    fn remove_if(&self, name: &[u8], expected: &dyn Fn(&Entry) -> bool) -> io::Result<Removal> {
        match self.entry(name, RelPath::root())? {
            Some(found) if !expected(&found) => Ok(Removal::Changed),
            Some(_) => self.remove(name).map(|()| Removal::Gone),
            None => Ok(Removal::Gone),
        }
    }

    fn move_if(
        &self,
        name: &[u8],
        expected: &dyn Fn(&Entry) -> bool,
        to: &RelPath,
    ) -> io::Result<Removal> {
        match self.entry(name, RelPath::root())? {
            Some(found) if !expected(&found) => return Ok(Removal::Changed),
            Some(_) => {}
            None => return Ok(Removal::Gone),
        }
        let mut state = self.disk.state.lock();
        state.change()?;
        let mut there = self.top;
        for name in to.components() {
            let found = state.folder(there)?.now.get(name).copied();
            there = found.ok_or(io::ErrorKind::NotFound)?;
        }
        if state.device(there) != state.device(self.inode) {
            return Err(Errno::XDEV.into());
        }
        if state.folder(there)?.now.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let step = Some(state.changes);
        let here = state.folder(self.inode)?;
        let inode = here.now.get(name).copied().ok_or(io::ErrorKind::NotFound)?;
        here.names(NameChange {
            remove: Some(name.into()),
            add: None,
            step,
        });
        state.folder(there)?.names(NameChange {
            remove: None,
            add: Some((name.into(), inode)),
            step,
        });
        Ok(Removal::Gone)
    }

    fn remove_folder(&self, name: &[u8]) -> io::Result<()> {
        self.remove(name)
    }

    fn inode(&self) -> io::Result<u64> {
        self.disk.state.lock().alive()?;
        Ok(self.inode)
    }

    fn device(&self) -> u64 {
        self.disk.state.lock().device(self.inode)
    }

    fn set_metadata(&self, metadata: Metadata) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let folder = state.folder(self.inode)?;
        folder.metadata.mode = metadata.mode.or(folder.metadata.mode);
        folder.metadata.mtime_ns = metadata.mtime_ns.or(folder.metadata.mtime_ns);
        Ok(())
    }

    fn set_symlink_mtime(&self, name: &[u8], mtime_ns: i128) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let inode = state
            .folder(self.inode)?
            .now
            .get(name)
            .copied()
            .ok_or(io::ErrorKind::NotFound)?;
        if let Some(Node::Symlink(_, mtime)) = state.nodes.get_mut(&inode) {
            *mtime = mtime_ns;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.state.lock().sync(&[self.inode], Sync::All)
    }
}

#[derive(Debug)]
struct SimulatedPart {
    disk: Disk,
    folder: u64,
    inode: u64,
    name: Option<Box<[u8]>>,
}

impl SimulatedPart {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let number = state.changes;
        state.file(self.inode)?.change(number, change);
        Ok(())
    }
}

impl Part for SimulatedPart {
    fn inode(&self) -> u64 {
        self.inode
    }

    fn device(&self) -> u64 {
        self.disk.state.lock().device(self.inode)
    }

    fn writing(&self) -> Writing {
        Writing::Buffered
    }

    fn is_named(&self) -> bool {
        self.name.is_some()
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        self.change(Change::Size(size))
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.change(Change::Size(size))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.disk.state.lock().well(Illness::FailsWrites)?;
        self.change(Change::Write(offset, bytes.into()))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.state.lock().read(self.inode, bytes, offset)
    }

    fn evict(&self) -> io::Result<()> {
        self.disk.state.lock().alive()
    }

    fn set_metadata(&self, metadata: Metadata) -> io::Result<()> {
        self.change(Change::Metadata(metadata))
    }

    fn sync_content(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.well(Illness::FailsSyncs)?;
        state.sync(&[self.inode], Sync::Content)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.well(Illness::FailsSyncs)?;
        state.sync(&[self.inode], Sync::All)
    }

    fn publish(&self, name: &[u8], existing: Existing) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let folder = state.folder(self.folder)?;
        if existing == Existing::Keep && folder.now.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        folder.names(NameChange {
            remove: self.name.clone(),
            add: Some((name.into(), self.inode)),
            step: None,
        });
        Ok(())
    }

    fn replace(&self, name: &[u8], expected: &dyn Fn(&Entry) -> bool) -> io::Result<Replaced> {
        let folder = SimulatedFolder {
            disk: self.disk.clone(),
            top: self.folder,
            inode: self.folder,
        };
        if folder
            .entry(name, RelPath::root())?
            .is_some_and(|found| !expected(&found))
        {
            return Ok(Replaced::No);
        }
        self.publish(name, Existing::Replace)?;
        Ok(Replaced::Yes)
    }

    fn discard(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        if let Some(name) = &self.name {
            state.folder(self.folder)?.names(NameChange {
                remove: Some(name.clone()),
                add: None,
                step: None,
            });
        }
        Ok(())
    }
}
