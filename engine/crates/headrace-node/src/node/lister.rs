//! Lists what a verified permit covers, and nothing else.

use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headrace_core::entry::{Entry, Kind};
use headrace_core::filter::{Filter, Filters};
use headrace_core::name::{Component, RelPath};
use headrace_core::permit::VerifiedPermit;
use headrace_io::root::Root;
use headrace_io::walk::{WalkError, WalkLimits, WalkProblem, walk};

use crate::config::Roots;
use crate::convert::{entry_out, kind_out, path_in, violation};
use crate::problem::{ControlCode, Problem};
use crate::proto::{
    self, BrowsePage, Empty, ListingHead, ListingPage, ListingPart, MAX_PAGE_ENTRIES, listing_part,
};

/// Bytes of names in one page of a listing, so that a message stays well under its limit.
const PAGE_BYTES: usize = 256 << 10;

/// One place that a permit opens, for whoever asked for it.
pub(super) struct Opened {
    roots: Roots,
    path: RelPath,
    permit: VerifiedPermit,
}

impl Opened {
    /// Checks that a permit covers the path.
    pub(super) fn new(permit: VerifiedPermit, roots: Roots, path: &[u8]) -> Result<Self, Problem> {
        let path = path_in(path)?;
        if !permit.covers(&path) {
            let message = format!(
                "the permit is for `{}`, not for `{path}`",
                permit.permit().path
            );
            return Err(Problem::new(ControlCode::OutsidePermit, message));
        }
        Ok(Self {
            roots,
            path,
            permit,
        })
    }

    /// Opens its root, as the one who asked has it. May wait for other machines.
    fn root(&self) -> Result<Arc<Root>, Problem> {
        let permit = self.permit.permit();
        self.roots.open_for(permit.root.as_str(), &permit.asker())
    }

    fn unreadable(&self, path: &RelPath, error: &dyn std::fmt::Display) -> Problem {
        let message = format!(
            "`{path}` below root `{}` can't be listed: {error}; let the account that the node works as read it, or leave it out \
             (`--exclude NAME/`)",
            self.permit.permit().root
        );
        Problem::new(ControlCode::FolderUnreadable, message)
    }
}

/// One page of a folder: the first `limit` names after `after`, in order of raw bytes.
pub(super) fn browse(opened: &Opened, after: &[u8], limit: u32) -> Result<BrowsePage, Problem> {
    let limit = usize::try_from(limit)
        .unwrap_or(usize::MAX)
        .clamp(1, MAX_PAGE_ENTRIES);
    let fail = |error: io::Error| opened.unreadable(&opened.path, &error);
    let dir = opened.root()?.dir(&opened.path).map_err(fail)?;
    // The smallest names after `after`, and one more that tells whether there is a next page.
    let mut names: BinaryHeap<Vec<u8>> = BinaryHeap::new();
    dir.names(|name| {
        let small = names.len() <= limit
            || names
                .peek()
                .is_some_and(|largest| name < largest.as_slice());
        if name > after && small {
            names.push(name.to_vec());
            if names.len() > limit + 1 {
                names.pop();
            }
        }
        true
    })
    .map_err(fail)?;
    let more = names.len() > limit;
    let mut entries = Vec::new();
    for name in names.into_sorted_vec().into_iter().take(limit) {
        let path = Component::new(&name)
            .and_then(|name| RelPath::root().join(&name))
            .map_err(violation)?;
        // What vanished in the meantime is not there; the target of a link is not shown.
        if let Some(entry) = dir.entry(&name, path).map_err(fail)? {
            entries.push(entry_out(&Entry {
                target: None,
                ..entry
            }));
        }
    }
    Ok(BrowsePage { entries, more })
}

/// Sends a listing part by part; `send` waits for room and says whether anybody still listens.
pub(super) fn list(
    opened: &Opened,
    request: &proto::OpenListing,
    mut send: impl FnMut(listing_part::Part) -> bool,
) {
    let result = list_parts(opened, request, &mut send);
    let _ = match result {
        Ok(()) => send(listing_part::Part::End(Empty {})),
        Err(Stop::Failed(problem)) => send(listing_part::Part::Failed(problem.into())),
        Err(Stop::NobodyListens) => true,
    };
}

/// Puts a part into its message.
pub(super) fn message(call: u64, part: listing_part::Part) -> ListingPart {
    ListingPart {
        call,
        part: Some(part),
    }
}

enum Stop {
    Failed(Problem),
    NobodyListens,
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

fn list_parts(
    opened: &Opened,
    request: &proto::OpenListing,
    send: &mut impl FnMut(listing_part::Part) -> bool,
) -> Result<(), Stop> {
    let filters: Filters = serde_json::from_str(&request.filters).map_err(violation)?;
    let filter = Filter::new(&filters).map_err(violation)?;
    let root = opened.root()?;
    let here = root
        .entry(&opened.path)
        .map_err(|error| opened.unreadable(&opened.path, &error))?;
    let free_bytes = root.space().map_or(0, |space| space.free_bytes);
    let kind = here.as_ref().map(|entry| entry.kind);
    let mut put = |part| {
        if send(part) {
            Ok(())
        } else {
            Err(Stop::NobodyListens)
        }
    };
    put(listing_part::Part::Head(ListingHead {
        kind: kind_out(kind),
        free_bytes,
    }))?;
    let Some(here) = here else { return Ok(()) };
    let mut page = Page::default();
    if request.head_only || here.kind != Kind::Dir {
        page.push(&Entry {
            path: RelPath::root(),
            ..here
        });
        return page.flush(&mut put);
    }
    let limits = opened.permit.permit();
    let end = Instant::now().checked_add(Duration::from_secs(limits.max_seconds));
    let mut walk = walk(
        &root,
        &opened.path,
        WalkLimits {
            max_entries: limits.max_entries,
            ..WalkLimits::default()
        },
    );
    while let Some(item) = walk.next() {
        if end.is_some_and(|end| Instant::now() > end) {
            let message = format!(
                "listing `{}` takes longer than the {} s allowed",
                opened.path, limits.max_seconds
            );
            return Err(Problem::new(ControlCode::ListingLimit, message).into());
        }
        let entry = match item {
            Ok(entry) => entry,
            Err(error) if vanished(&error) || !filter.descends(&error.path) => continue,
            Err(error) => return Err(walk_problem(opened, &error).into()),
        };
        if entry.kind == Kind::Dir && !filter.descends(&entry.path) {
            walk.prune();
        }
        page.push(&entry);
        if page.full() {
            page.flush(&mut put)?;
        }
    }
    page.flush(&mut put)
}

/// A folder that was removed while we walked is not there; the start of the walk must be.
fn vanished(error: &WalkError) -> bool {
    let gone =
        matches!(&error.problem, WalkProblem::Io(error) if error.kind() == io::ErrorKind::NotFound);
    gone && !error.path.is_root()
}

fn walk_problem(opened: &Opened, error: &WalkError) -> Problem {
    match &error.problem {
        WalkProblem::TooManyEntries { max_entries } => {
            let message = format!(
                "`{}` holds more than the {max_entries} names allowed",
                opened.path
            );
            Problem::new(ControlCode::ListingLimit, message)
        }
        problem => {
            let path = opened
                .path
                .join_path(&error.path)
                .unwrap_or_else(|_| error.path.clone());
            opened.unreadable(&path, problem)
        }
    }
}

#[derive(Default)]
struct Page {
    entries: Vec<proto::Entry>,
    bytes: usize,
}

impl Page {
    fn push(&mut self, entry: &Entry) {
        let entry = entry_out(entry);
        self.bytes += entry.path.len() + entry.target.len();
        self.entries.push(entry);
    }

    fn full(&self) -> bool {
        self.entries.len() >= MAX_PAGE_ENTRIES || self.bytes >= PAGE_BYTES
    }

    fn flush(
        &mut self,
        put: &mut impl FnMut(listing_part::Part) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Self { entries, .. } = std::mem::take(self);
        if entries.is_empty() {
            Ok(())
        } else {
            put(listing_part::Part::Page(ListingPage { entries }))
        }
    }
}
