//! The writing side of a probe.

use std::io;
use std::sync::Arc;

use headrace_core::entry::Entry;
use headrace_core::name::RelPath;

use crate::account::Acting;
use crate::storage::{
    Existing, Folder, Holding, Metadata, Part, Removal, Replaced, Target, Writing,
};

fn missing<T>() -> io::Result<T> {
    Err(io::ErrorKind::NotFound.into())
}

/// Drops what is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dropping;

impl Target for Dropping {
    fn folder(&self, _path: &RelPath) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(Unchanged(None)))
    }

    fn sync_file_system(&self, _device: u64) -> io::Result<bool> {
        Ok(true)
    }

    fn writing(&self) -> Writing {
        Writing::Buffered
    }

    fn umask(&self) -> u32 {
        0
    }
}

/// Writes files without names on the file system of one folder, which has to be there. They are gone with the process at the latest.
pub(super) struct Nameless {
    storage: Arc<dyn Target>,
    folder: RelPath,
}

impl Nameless {
    pub(super) fn new(storage: Arc<dyn Target>, folder: RelPath) -> Self {
        Self { storage, folder }
    }
}

impl Target for Nameless {
    fn folder(&self, _path: &RelPath) -> io::Result<Arc<dyn Folder>> {
        let folder = self.storage.folder(&self.folder)?;
        Ok(Arc::new(Unchanged(Some(folder))))
    }

    fn sync_file_system(&self, device: u64) -> io::Result<bool> {
        self.storage.sync_file_system(device)
    }

    fn writing(&self) -> Writing {
        self.storage.writing()
    }

    fn umask(&self) -> u32 {
        self.storage.umask()
    }
}

/// A folder in which nothing is, and in which no name is made, changed or removed. Files are made on the storage behind it, if there is one.
struct Unchanged(Option<Arc<dyn Folder>>);

impl Folder for Unchanged {
    fn together(&self) -> io::Result<Option<Acting>> {
        self.0.as_ref().map_or(Ok(None), |folder| folder.together())
    }

    fn entry(&self, _name: &[u8], _path: RelPath) -> io::Result<Option<Entry>> {
        Ok(None)
    }

    fn inode_of(&self, _name: &[u8]) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn names(&self, _each: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()> {
        Ok(())
    }

    fn folder(&self, _name: &[u8]) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(Self(self.0.clone())))
    }

    fn make_folder(&self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn make_symlink(&self, _name: &[u8], _target: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn create(
        &self,
        temporary: &[u8],
        _holding: Holding,
        writing: Writing,
    ) -> io::Result<Arc<dyn Part>> {
        let Some(folder) = &self.0 else {
            return Ok(Arc::new(WithoutName(None)));
        };
        let part = folder.create(temporary, Holding::Unnamed, writing)?;
        if part.is_named() {
            // A file system that makes no file without a name: it loses its name before anything is written.
            folder.remove(temporary)?;
        }
        Ok(Arc::new(WithoutName(Some(part))))
    }

    fn reopen(&self, _temporary: &[u8], _writing: Writing) -> io::Result<Arc<dyn Part>> {
        missing()
    }

    fn open_file(&self, _name: &[u8]) -> io::Result<Arc<dyn Part>> {
        missing()
    }

    fn rename(&self, _from: &[u8], _to: &[u8], _existing: Existing) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn remove_if(&self, _name: &[u8], _expected: &dyn Fn(&Entry) -> bool) -> io::Result<Removal> {
        Ok(Removal::Gone)
    }

    fn remove_folder(&self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn inode(&self) -> io::Result<u64> {
        self.0.as_ref().map_or(Ok(1), |folder| folder.inode())
    }

    fn device(&self) -> u64 {
        self.0.as_ref().map_or(1, |folder| folder.device())
    }

    fn set_metadata(&self, _metadata: Metadata) -> io::Result<()> {
        Ok(())
    }

    fn set_symlink_mtime(&self, _name: &[u8], _mtime_ns: i128) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |folder| folder.sync())
    }
}

/// A file that never gets a name; without a storage behind it, one that drops what is written.
struct WithoutName(Option<Arc<dyn Part>>);

impl WithoutName {
    fn on(&self, does: impl FnOnce(&dyn Part) -> io::Result<()>) -> io::Result<()> {
        self.0.as_deref().map_or(Ok(()), does)
    }
}

impl Part for WithoutName {
    fn inode(&self) -> u64 {
        self.0.as_ref().map_or(1, |part| part.inode())
    }

    fn device(&self) -> u64 {
        self.0.as_ref().map_or(1, |part| part.device())
    }

    fn writing(&self) -> Writing {
        self.0
            .as_ref()
            .map_or(Writing::Buffered, |part| part.writing())
    }

    fn is_named(&self) -> bool {
        false
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        self.on(|part| part.allocate(size))
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.on(|part| part.set_size(size))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.on(|part| part.write_at(bytes, offset))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0
            .as_ref()
            .map_or(Ok(0), |part| part.read_at(bytes, offset))
    }

    fn evict(&self) -> io::Result<()> {
        self.on(|part| part.evict())
    }

    fn set_metadata(&self, metadata: Metadata) -> io::Result<()> {
        self.on(|part| part.set_metadata(metadata))
    }

    fn sync_content(&self) -> io::Result<()> {
        self.on(|part| part.sync_content())
    }

    fn sync(&self) -> io::Result<()> {
        self.on(|part| part.sync())
    }

    fn publish(&self, _name: &[u8], _existing: Existing) -> io::Result<()> {
        Ok(())
    }

    fn replace(&self, _name: &[u8], _expected: &dyn Fn(&Entry) -> bool) -> io::Result<Replaced> {
        Ok(Replaced::Yes)
    }

    fn discard(&self) -> io::Result<()> {
        Ok(())
    }
}
