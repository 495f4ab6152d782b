//! Surveys: asks both nodes for their listings and merges them as they come.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headrace_core::entry::{Entry, Kind};
use headrace_core::filter::Filter;
use headrace_core::permit::Permit;
use headrace_core::sealed::{Document, DocumentType};
use headrace_core::survey::{Rules, Survey, SurveyError, survey};
use headrace_core::ticket::{Execution, Place};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::link::{CALL_TIMEOUT, Link};
use crate::convert::{entry_in, kind_in, violation};
use crate::problem::{ControlCode, Problem};
use crate::proto::{self, ListingPart, listing_part};

/// Names of the lists in their folder, and of the file for the second pass over deletes.
pub(super) const OVERWRITES: &str = "overwrites.jsonl";
pub(super) const DELETES: &str = "deletes.jsonl";
const SPOOL: &str = "deletes.spool";

/// A survey and what was found at both ends.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Counts, samples and digests.
    pub survey: Survey,
    /// What stands at the source path; never [`Kind::Other`].
    pub source_kind: Kind,
    /// Whether anything stands at the destination path.
    pub destination_exists: bool,
    /// Bytes that the destination's file system may still take.
    pub destination_free_bytes: u64,
}

/// One side's listing: what stands at its path, and what is below.
pub(super) struct Listing {
    place: Place,
    max_entries: u64,
    kind: Option<Kind>,
    free_bytes: u64,
    parts: mpsc::Receiver<ListingPart>,
}

/// Whether to list what is below a path, or only what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    HeadOnly,
}

impl Listing {
    /// Asks a node for a listing and waits for its head.
    pub(super) async fn open(
        link: &Arc<Link>,
        permit: &str,
        place: &Place,
        filters: &str,
        extent: Extent,
    ) -> Result<Self, Problem> {
        let claims: Permit = Document::parse(permit, DocumentType::Permit)?.claims()?;
        let request = proto::OpenListing {
            permit: permit.to_owned(),
            path: place.path.as_bytes().to_vec(),
            filters: filters.to_owned(),
            head_only: extent == Extent::HeadOnly,
        };
        let mut parts = link.listing(request).await?;
        let first = timeout(CALL_TIMEOUT, parts.recv())
            .await
            .ok()
            .flatten()
            .and_then(|part| part.part);
        match first {
            Some(listing_part::Part::Head(head)) => Ok(Self {
                place: place.clone(),
                max_entries: claims.max_entries,
                kind: kind_in(head.kind)?,
                free_bytes: head.free_bytes,
                parts,
            }),
            Some(listing_part::Part::Failed(problem)) => Err(problem.into()),
            Some(_) => Err(violation("a listing without its head")),
            None => Err(broken(place)),
        }
    }

    /// The entries, taken from the channel by a thread that may wait.
    fn entries(mut self) -> impl Iterator<Item = Result<Entry, Problem>> {
        let mut page = Vec::new().into_iter();
        let mut seen = 0;
        let mut over = false;
        std::iter::from_fn(move || {
            while !over {
                if let Some(entry) = page.next() {
                    seen += 1;
                    let checked = if seen > self.max_entries {
                        Err(violation("a listing is too long"))
                    } else {
                        entry_in(entry)
                    };
                    over = checked.is_err();
                    return Some(checked);
                }
                match self.parts.blocking_recv().and_then(|part| part.part) {
                    Some(listing_part::Part::Page(next))
                        if next.entries.len() <= proto::MAX_PAGE_ENTRIES =>
                    {
                        page = next.entries.into_iter();
                    }
                    Some(listing_part::Part::End(_)) => over = true,
                    Some(listing_part::Part::Failed(problem)) => {
                        over = true;
                        return Some(Err(problem.into()));
                    }
                    Some(_) => {
                        over = true;
                        return Some(Err(violation("a listing out of form")));
                    }
                    None => {
                        over = true;
                        return Some(Err(broken(&self.place)));
                    }
                }
            }
            None
        })
    }
}

/// Merges the listings of both ends and writes the lists into `lists_dir`.
pub(super) async fn run(
    source: (&Arc<Link>, &str),
    destination: (&Arc<Link>, &str),
    execution: &Execution,
    lists_dir: &Path,
) -> Result<Surveyed, Problem> {
    let filters =
        serde_json::to_string(&execution.filters).map_err(|error| bad(&error.to_string()))?;
    let filter = Filter::new(&execution.filters).map_err(|error| bad(&error.to_string()))?;
    let from = Listing::open(source.0, source.1, &execution.source, &filters, Extent::All).await?;
    let source_kind = match from.kind {
        Some(Kind::Other) => {
            let message = format!(
                "{} is not a file, folder or symlink",
                show(&execution.source)
            );
            return Err(Problem::new(ControlCode::SourceUnsupported, message));
        }
        Some(kind) => kind,
        None => {
            let message = format!("there is nothing at {}", show(&execution.source));
            return Err(Problem::new(ControlCode::SourceMissing, message));
        }
    };
    let extent = if source_kind == Kind::Dir {
        Extent::All
    } else {
        Extent::HeadOnly
    };
    let to = Listing::open(
        destination.0,
        destination.1,
        &execution.destination,
        &filters,
        extent,
    )
    .await?;
    if source_kind == Kind::Dir && to.kind.is_some_and(|kind| kind != Kind::Dir) {
        let message = format!(
            "{} is not a folder, but the source is one",
            show(&execution.destination)
        );
        return Err(Problem::new(ControlCode::DestinationNotDirectory, message));
    }
    let (destination_exists, destination_free_bytes) = (to.kind.is_some(), to.free_bytes);
    let rules = Rules::new(execution, filter);
    let lists_dir = lists_dir.to_owned();
    let merged = tokio::task::spawn_blocking(move || merge(&rules, from, to, &lists_dir));
    let survey = merged
        .await
        .map_err(|error| Problem::new(ControlCode::Internal, error.to_string()))??;
    Ok(Surveyed {
        survey,
        source_kind,
        destination_exists,
        destination_free_bytes,
    })
}

fn merge(rules: &Rules, from: Listing, to: Listing, lists_dir: &Path) -> Result<Survey, Problem> {
    let open = |name: &str| {
        let path = lists_dir.join(name);
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path);
        file.map_err(|error| Problem::state("write", &path, &error))
    };
    let (overwrites, deletes, spool) = (open(OVERWRITES)?, open(DELETES)?, open(SPOOL)?);
    let result = survey(
        rules,
        from.entries(),
        to.entries(),
        BufWriter::new(overwrites),
        BufWriter::new(deletes),
        spool,
    );
    crate::state::remove(&lists_dir.join(SPOOL))?;
    result.map_err(|error| match error {
        SurveyError::Listing(problem) => problem,
        SurveyError::Write(error) => Problem::state("write the lists in", lists_dir, &error),
        other => violation(other),
    })
}

/// Longest pause between two parts of a listing.
pub(super) const PART_TIMEOUT: Duration = Duration::from_mins(1);

fn show(place: &Place) -> String {
    format!("`{}/{}` on node {}", place.root, place.path, place.node)
}

fn bad(detail: &str) -> Problem {
    Problem::new(
        ControlCode::BadArgument,
        format!("the filters can't be used: {detail}"),
    )
}

fn broken(place: &Place) -> Problem {
    let message = format!(
        "the listing of {} ended before its end: try again",
        show(place)
    );
    Problem::new(ControlCode::NodeUnreachable, message)
}
