//! Makes content and names durable: a whole file system at once where much of it changed and where that means the same, otherwise each file
//! and each folder, several side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use headrace_core::code::{Code, Failure};
use headrace_core::name::RelPath;
use headrace_io::storage::{Folder, Part, Writing};

use super::incoming::Incoming;
use super::pending::{LandedUnit, Sealed};
use super::shared::Landing;
use super::stop::destination_failure;

/// Folders that are opened at a time to be synced.
const MAX_OPEN_FOLDERS: usize = 64;

impl Landing {
    /// Data is durable before the record that says so, and before the name that shows it. Files that cannot be made durable fail alone.
    pub(super) fn sync_contents(
        &self,
        units: &[LandedUnit],
        whole: &mut Vec<Sealed>,
    ) -> Result<(), Failure> {
        let mut incomplete: BTreeMap<u64, &Arc<Incoming>> = units
            .iter()
            .map(|unit| (unit.incoming.id, &unit.incoming))
            .collect();
        for file in &*whole {
            incomplete.remove(&file.incoming.id);
        }
        let incomplete: Vec<(&Arc<Incoming>, Arc<dyn Part>)> = incomplete
            .into_values()
            .filter_map(|incoming| {
                let open = incoming.state.lock().part.clone()?;
                Some((incoming, open.part))
            })
            .collect();
        let parts = incomplete.iter().map(|(_, part)| part);
        let mut parts = parts.chain(whole.iter().map(|file| &file.part)).peekable();
        if let Some(part) = parts.peek() {
            let device = &self.counters.synced_device;
            device.store(part.device(), Ordering::Relaxed);
        }
        let synced = self.sync_file_systems(parts.filter_map(synced_with))?;
        let is_synced =
            |part: &Arc<dyn Part>| synced_with(part).is_some_and(|device| synced.contains(&device));

        let answers = self.side_by_side(&incomplete, |(_, part)| {
            if is_synced(part) {
                Ok(())
            } else {
                part.sync_content()
            }
        });
        for ((incoming, _), answer) in incomplete.into_iter().zip(answers) {
            if let Err(error) = answer {
                let entry = incoming.state.lock().entry.clone();
                self.fail(incoming, &self.failed(&error, &entry, "making durable"))?;
            }
        }
        let answers = self.side_by_side(whole, |file| {
            let answer = if is_synced(&file.part) {
                Ok(())
            } else {
                file.part.sync()
            };
            answer.map_err(|error| self.failed(&error, &file.entry, "making durable"))
        });
        *whole = self.keep_those(std::mem::take(whole), answers)?;
        Ok(())
    }

    /// Names are durable before anybody is told.
    pub(super) fn sync_folders(&self, paths: &BTreeSet<RelPath>) -> Result<(), Failure> {
        let mut synced = BTreeSet::new();
        for paths in paths.iter().collect::<Vec<_>>().chunks(MAX_OPEN_FOLDERS) {
            let failed = |path: &RelPath, error: &io::Error| {
                destination_failure(error, &format!("`{path}`"), "making durable")
            };
            let open = |path: &&RelPath| match self.folders.look(path) {
                Ok(folder) => Ok((folder, (*path).clone())),
                Err(error) => Err(failed(path, &error)),
            };
            let folders: Vec<(Arc<dyn Folder>, RelPath)> =
                paths.iter().map(open).collect::<Result<_, _>>()?;
            let devices = folders.iter().map(|(folder, _)| folder.device());
            // What was synced for those before holds for these, too: all names were given by then.
            let new = devices.filter(|device| !synced.contains(device));
            synced.append(&mut self.sync_file_systems(new)?);
            let answers = self.side_by_side(&folders, |(folder, path)| {
                if synced.contains(&folder.device()) {
                    return Ok(());
                }
                folder.sync().map_err(|error| failed(path, &error))
            });
            let answer: Result<(), Failure> = answers.into_iter().collect();
            answer.map_err(|failure| self.lost(failure))?;
        }
        Ok(())
    }

    /// Sync as a whole each file system of which that is known to be enough, and that is named often enough; says which.
    fn sync_file_systems(
        &self,
        devices: impl Iterator<Item = u64>,
    ) -> Result<BTreeSet<u64>, Failure> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for device in devices {
            *counts.entry(device).or_default() += 1;
        }
        counts.retain(|_, count| *count >= self.spec.epochs.sync_everything_from);
        let mut synced = BTreeSet::new();
        for device in counts.into_keys() {
            let answer = self.folders.target().sync_file_system(device);
            let failed = |error| {
                let message =
                    format!("the destination storage could not make data durable: {error}");
                Failure::new(Code::DestinationFailed, message)
            };
            if answer.map_err(|error| self.lost(failed(error)))? {
                synced.insert(device);
            }
        }
        Ok(synced)
    }

    /// Do `step` for each, on several threads; the answers come in the order of the items.
    pub(super) fn side_by_side<T: Sync, R: Send>(
        &self,
        items: &[T],
        step: impl Fn(&T) -> R + Sync,
    ) -> Vec<R> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && let Some(item) = items.get(number)
            {
                done.push((number, step(item)));
            }
            done
        };
        let threads = self.spec.epochs.sync_threads.min(items.len());
        let mut done = std::thread::scope(|scope| {
            let start = |_| {
                let thread = std::thread::Builder::new().name("headrace-sync".to_owned());
                // With fewer threads it only takes longer.
                thread.spawn_scoped(scope, work).ok()
            };
            let helpers: Vec<_> = (1..threads).map_while(start).collect();
            let mut done = work();
            for helper in helpers {
                done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            done
        });
        done.sort_unstable_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// The file system with which a file may be synced. What was written past the page cache may be in the disk's own cache, which not every
/// file system empties when it has nothing else to write, so such a file is always synced by itself.
fn synced_with(part: &Arc<dyn Part>) -> Option<u64> {
    (part.writing() == Writing::Buffered).then(|| part.device())
}
