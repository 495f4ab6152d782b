//! Storage in memory that loses its power: what was not synced survives in part, out of order, torn, or not at all.
//!
//! The promises are the weakest that POSIX allows. Syncing a file keeps its content but not its name; syncing a folder keeps its
//! names but not what they hold; `sync_content` does not keep times and modes; syncing a file system does not keep what was written past
//! the page cache; unsynced changes survive independently of their order.

mod file;
mod origin;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use headrace_core::codec::to_usize;
use headrace_core::entry::{Entry, Kind};
use headrace_core::name::RelPath;
use parking_lot::Mutex;
pub use rustix::io::Errno;

use self::file::{Change, FileNode, Sync, WriteErrors};
pub use self::origin::SimulatedOrigin;
use super::{Existing, Folder, Holding, Metadata, Part, Removal, Replaced, Target, Writing};
use crate::buffer::ALIGNMENT;
use crate::version::FileState;

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
    /// What was not written back, by file system.
    errors: HashMap<u64, WriteErrors>,
    next_inode: u64,
    changes: u64,
    cut_after: Option<u64>,
    /// What goes wrong at the change with this number.
    failing: Option<(u64, Failing)>,
    /// How often something went wrong, or was said later.
    failures: u64,
    illness: Option<Illness>,
    /// Every file has a name.
    names_all: bool,
    /// No file system is synced as a whole.
    syncs_each: bool,
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

/// What goes wrong once.
#[derive(Debug, Clone, Copy)]
enum Failing {
    Answer(Errno),
    WritingBack,
}

#[derive(Debug)]
enum Node {
    File(FileNode),
    Folder(FolderNode),
    Symlink(Box<[u8]>, i128),
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

impl Default for Disk {
    fn default() -> Self {
        let nodes = HashMap::from([(ROOT, Node::Folder(FolderNode::default()))]);
        let state = State {
            nodes,
            devices: HashMap::new(),
            mounts: None,
            errors: HashMap::new(),
            next_inode: ROOT + 1,
            changes: 0,
            cut_after: None,
            failing: None,
            failures: 0,
            illness: None,
            names_all: false,
            syncs_each: false,
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
        state.failing = Some((state.changes + changes + 1, Failing::Answer(error)));
    }

    /// Let the page cache fail to write back what it holds right before the change with this number, which succeeds: all that was written
    /// through it and not synced is lost with the power. Another program that syncs its own handles of the file systems is told at once;
    /// handles of ours that are open by then are told when they are synced next.
    pub fn fail_writing_back(&self, changes: u64) {
        let mut state = self.state.lock();
        state.failing = Some((state.changes + changes + 1, Failing::WritingBack));
    }

    /// How often something went wrong so far, or was said later, but for the power.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.state.lock().failures
    }

    /// Let the disk do something wrong from now on.
    pub fn fall_ill(&self, illness: Illness) {
        self.state.lock().illness = Some(illness);
    }

    /// Let no file be without a name from now on.
    pub fn name_all(&self) {
        self.state.lock().names_all = true;
    }

    /// Let nobody rely on syncing a file system as a whole from now on.
    pub fn sync_each(&self) {
        self.state.lock().syncs_each = true;
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
        state.errors.clear();
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
                Some(Node::File(file)) => file.power_cycle(&mut survives),
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
            writing: Writing::Buffered,
            met: Met::default(),
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
        let Some((_, failing)) = self.failing.take_if(|(number, _)| *number <= changes) else {
            return Ok(());
        };
        self.failures += 1;
        match failing {
            Failing::Answer(error) => Err(error.into()),
            Failing::WritingBack => {
                self.lose_cached();
                Ok(())
            }
        }
    }

    /// What the page cache holds can't be written back.
    fn lose_cached(&mut self) {
        let mut hit = BTreeSet::new();
        for (inode, node) in &mut self.nodes {
            if let Node::File(file) = node
                && file.lose(Sync::Cache)
            {
                hit.insert(self.devices.get(inode).copied().unwrap_or(ROOT));
            }
        }
        for device in hit {
            let errors = self.errors.entry(device).or_default();
            errors.happened();
            errors.told_to_others();
        }
    }

    /// Sync a file by a handle that knows of these errors. Where that fails, what it held is forgotten.
    fn sync_file(&mut self, inode: u64, how: Sync, known: &mut u64) -> io::Result<()> {
        let answer = self.change();
        self.alive()?;
        let file = self.file(inode)?;
        let is_lost = answer.is_err() && file.lose(how);
        if answer.is_ok() {
            file.sync(how);
        }
        let told = file.errors.tell(known);
        if is_lost {
            let device = self.device(inode);
            self.errors.entry(device).or_default().happened();
        }
        self.failures += u64::from(told.is_err());
        answer.and(told)
    }

    fn sync_folder(&mut self, inode: u64) -> io::Result<()> {
        self.change()?;
        self.folder(inode)?.sync();
        Ok(())
    }

    /// Sync a file system by a handle that knows of these errors.
    fn sync_device(&mut self, device: u64, known: &mut u64) -> io::Result<()> {
        let answer = self.change();
        self.alive()?;
        for (inode, node) in &mut self.nodes {
            if self.devices.get(inode).copied().unwrap_or(ROOT) != device {
                continue;
            }
            match node {
                Node::File(file) if answer.is_ok() => file.sync(Sync::FileSystem),
                Node::File(file) => {
                    file.lose(Sync::FileSystem);
                }
                Node::Folder(folder) if answer.is_ok() => folder.sync(),
                Node::Folder(_) | Node::Symlink(..) => {}
            }
        }
        let errors = self.errors.entry(device).or_default();
        if answer.is_err() {
            errors.happened();
        }
        let told = errors.tell(known);
        self.failures += u64::from(told.is_err());
        answer.and(told)
    }

    /// What a handle of a file system that is opened now knows of.
    fn known(&self, device: u64) -> u64 {
        self.errors.get(&device).map_or(0, WriteErrors::known)
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

    fn entry_in(&mut self, folder: u64, name: &[u8], path: RelPath) -> io::Result<Option<Entry>> {
        self.alive()?;
        match self.folder(folder)?.now.get(name).copied() {
            Some(inode) => self.entry(inode, path),
            None => Ok(None),
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
    fn sync(&mut self) {
        self.safe = self.now.clone();
        self.pending.clear();
    }

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

/// The file systems of a target, each with what the handle by which it is synced knows of: opened when a folder on it is met first.
type Met = Arc<Mutex<HashMap<u64, u64>>>;

/// A folder at the top of a [`Disk`], received into.
#[derive(Debug, Clone)]
pub struct SimulatedTarget {
    disk: Disk,
    inode: u64,
    writing: Writing,
    met: Met,
}

impl SimulatedTarget {
    /// The same, with large files written so.
    #[must_use]
    pub fn with_writing(self, writing: Writing) -> Self {
        Self { writing, ..self }
    }

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
        let top = SimulatedFolder {
            disk: self.disk.clone(),
            met: Arc::clone(&self.met),
            top: self.inode,
            inode: self.inode,
        };
        let mut folder: Arc<dyn Folder> = Arc::new(top.meet());
        for name in path.components() {
            folder = folder.folder(name)?;
        }
        Ok(folder)
    }

    fn sync_file_system(&self, device: u64) -> io::Result<bool> {
        let syncs_each = self.disk.state.lock().syncs_each;
        match self.met.lock().get_mut(&device) {
            Some(known) if !syncs_each => self
                .disk
                .state
                .lock()
                .sync_device(device, known)
                .map(|()| true),
            _ => Ok(false),
        }
    }

    fn writing(&self) -> Writing {
        self.writing
    }

    fn umask(&self) -> u32 {
        0o022
    }
}

#[derive(Debug)]
struct SimulatedFolder {
    disk: Disk,
    met: Met,
    /// The folder that paths begin at.
    top: u64,
    inode: u64,
}

impl SimulatedFolder {
    /// This folder, whose file system is met.
    fn meet(self) -> Self {
        {
            let (mut met, state) = (self.met.lock(), self.disk.state.lock());
            let device = state.device(self.inode);
            met.entry(device).or_insert_with(|| state.known(device));
        }
        self
    }

    fn part(
        &self,
        state: &State,
        inode: u64,
        name: Option<Box<[u8]>>,
        writing: Writing,
    ) -> Arc<dyn Part> {
        let known = match state.nodes.get(&inode) {
            Some(Node::File(file)) => file.errors.known(),
            _ => 0,
        };
        Arc::new(SimulatedPart {
            disk: self.disk.clone(),
            folder: self.inode,
            inode,
            name,
            writing,
            known: Mutex::new(known),
        })
    }
}

impl Folder for SimulatedFolder {
    fn entry(&self, name: &[u8], path: RelPath) -> io::Result<Option<Entry>> {
        self.disk.state.lock().entry_in(self.inode, name, path)
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
        drop(state);
        let found = Self {
            disk: self.disk.clone(),
            met: Arc::clone(&self.met),
            top: self.top,
            inode,
        };
        Ok(Arc::new(found.meet()))
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
        writing: Writing,
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
        Ok(self.part(&state, inode, name, writing))
    }

    fn reopen(&self, temporary: &[u8], writing: Writing) -> io::Result<Arc<dyn Part>> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let found = state.folder(self.inode)?.now.get(temporary).copied();
        let inode = found.ok_or(io::ErrorKind::NotFound)?;
        state.file(inode)?;
        Ok(self.part(&state, inode, Some(temporary.into()), writing))
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
            None => Ok(Removal::Absent),
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
            None => return Ok(Removal::Absent),
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
        {
            let mut state = self.disk.state.lock();
            state.alive()?;
            let found = state.folder(self.inode)?.now.get(name).copied();
            let inode = found.ok_or(io::ErrorKind::NotFound)?;
            if !state.folder(inode)?.now.is_empty() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
        }
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
        self.disk.state.lock().sync_folder(self.inode)
    }
}

#[derive(Debug)]
struct SimulatedPart {
    disk: Disk,
    folder: u64,
    inode: u64,
    name: Option<Box<[u8]>>,
    writing: Writing,
    /// Which errors of writing back this handle knows of.
    known: Mutex<u64>,
}

impl SimulatedPart {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let number = state.changes;
        state.file(self.inode)?.change(number, change);
        Ok(())
    }

    /// Past the page cache only whole blocks go, from and to where blocks begin.
    fn check_aligned(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let is_aligned = bytes.as_ptr().align_offset(ALIGNMENT) == 0
            && bytes.len().is_multiple_of(ALIGNMENT)
            && offset.is_multiple_of(ALIGNMENT as u64);
        if self.writing == Writing::Buffered || is_aligned {
            return Ok(());
        }
        Err(Errno::INVAL.into())
    }

    fn sync_as(&self, how: Sync) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.well(Illness::FailsSyncs)?;
        state.sync_file(self.inode, how, &mut self.known.lock())
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
        self.writing
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
        self.check_aligned(bytes, offset)?;
        let mut state = self.disk.state.lock();
        state.well(Illness::FailsWrites)?;
        state.change()?;
        let number = state.changes;
        let file = state.file(self.inode)?;
        file.write(number, bytes, offset, self.writing);
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.check_aligned(bytes, offset)?;
        self.disk.state.lock().read(self.inode, bytes, offset)
    }

    fn evict(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        state.file(self.inode)?.evict();
        Ok(())
    }

    fn set_metadata(&self, metadata: Metadata) -> io::Result<()> {
        self.change(Change::Metadata(metadata))
    }

    fn sync_content(&self) -> io::Result<()> {
        self.sync_as(Sync::Content)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_as(Sync::All)
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
        let mut state = self.disk.state.lock();
        let found = state.entry_in(self.folder, name, RelPath::root())?;
        drop(state);
        if found.is_some_and(|found| !expected(&found)) {
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
