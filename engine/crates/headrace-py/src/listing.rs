//! Pages of a folder, and what a survey counted.

use headrace_core::entry::{Entry, Kind};
use headrace_core::name::{RelPath, escape};
use headrace_node::hub::{Page, Surveyed};
use pyo3::prelude::*;

/// One name in a folder.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
#[derive(Clone)]
pub(crate) struct ListingEntry {
    name: String,
    kind: &'static str,
    size: u64,
    mtime_ns: i128,
}

/// One page of a folder.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct Listing {
    entries: Vec<ListingEntry>,
    next_after: Option<String>,
}

/// What an intent would touch, merged from both nodes' listings.
#[pyclass(frozen, get_all, module = "headrace.engine._native")]
pub(crate) struct Survey {
    source_kind: &'static str,
    files: u64,
    bytes: u64,
    source_entries: u64,
    directories: u64,
    symlinks: u64,
    identical_files: u64,
    excluded_files: u64,
    skipped_special: u64,
    conflicts: u64,
    overwrites: u64,
    overwritten_bytes: u64,
    overwrites_digest: String,
    deletes: u64,
    deleted_bytes: u64,
    deletes_digest: String,
    destination_files: u64,
    destination_free_bytes: u64,
    case_collisions: u64,
    largest_file_bytes: u64,
    destination_exists: bool,
    sample: Vec<String>,
    overwrites_sample: Vec<String>,
    deletes_sample: Vec<String>,
    conflicts_sample: Vec<String>,
}

impl From<Entry> for ListingEntry {
    fn from(entry: Entry) -> Self {
        Self {
            name: escape(entry.path.as_bytes()),
            kind: word(entry.kind),
            size: entry.size,
            mtime_ns: entry.mtime_ns,
        }
    }
}

impl From<Page> for Listing {
    fn from(page: Page) -> Self {
        let entries: Vec<ListingEntry> = page.entries.into_iter().map(ListingEntry::from).collect();
        let next_after = page
            .more
            .then(|| entries.last().map(|entry| entry.name.clone()))
            .flatten();
        Self {
            entries,
            next_after,
        }
    }
}

impl From<Surveyed> for Survey {
    fn from(surveyed: Surveyed) -> Self {
        let Surveyed {
            survey,
            source_kind,
            destination_exists,
            destination_free_bytes,
        } = surveyed;
        let counts = survey.counts;
        let names =
            |paths: Vec<RelPath>| paths.iter().map(|path| escape(path.as_bytes())).collect();
        Self {
            source_kind: word(source_kind),
            files: counts.files,
            bytes: counts.bytes,
            source_entries: counts.source_entries,
            directories: counts.directories,
            symlinks: counts.symlinks,
            identical_files: counts.identical_files,
            excluded_files: counts.excluded_files,
            skipped_special: counts.skipped_special,
            conflicts: counts.conflicts,
            overwrites: survey.overwrites.count,
            overwritten_bytes: counts.overwritten_bytes,
            overwrites_digest: survey.overwrites.digest.to_string(),
            deletes: survey.deletes.count,
            deleted_bytes: counts.deleted_bytes,
            deletes_digest: survey.deletes.digest.to_string(),
            destination_files: counts.destination_files,
            destination_free_bytes,
            case_collisions: counts.case_collisions,
            largest_file_bytes: counts.largest_file_bytes,
            destination_exists,
            sample: names(counts.sample),
            overwrites_sample: names(counts.overwrites_sample),
            deletes_sample: names(counts.deletes_sample),
            conflicts_sample: names(counts.conflicts_sample),
        }
    }
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Dir => "dir",
        Kind::Symlink => "symlink",
        Kind::Other => "other",
    }
}
