//! What runs attempts, as the control plane sees it: the data plane behind a few calls.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use headrace_core::list::ListDigest;
use headrace_core::shares::{Links, TransferShare};
use headrace_core::statement::Statement;
use headrace_core::ticket::VerifiedTicket;
use headrace_core::value::Id;
use headrace_core::wishes::Wishes;
use headrace_io::root::Root;

use crate::config::Roots;
use crate::convert::{Outcome, ProgressCounts};
use crate::problem::Problem;
use crate::session::Permitted;

/// Starts attempts and cleans up after them.
pub trait Mover: Send + Sync {
    /// Where data connections are accepted, if they are.
    fn data_address(&self) -> Option<SocketAddr>;

    /// Starts an attempt; waits for the disk, not for the peer.
    ///
    /// # Errors
    /// Why it can't run: nothing was changed then.
    fn start(&self, order: Order) -> Result<Arc<dyn Moving>, Problem>;

    /// Schedules these links from now on, and no others.
    fn set_links(&self, links: &Links);

    /// Removes temporaries and journal of a transfer; it is no error when there are none.
    ///
    /// # Errors
    /// Why they could not be removed.
    fn forget(&self, transfer: &Id, roots: &Roots) -> Result<(), Problem>;
}

/// An attempt under way.
pub trait Moving: Send + Sync {
    /// How far it has come.
    fn progress(&self) -> ProgressCounts;
    /// Changes its rate; `None` is what the ticket says.
    fn set_rate(&self, rate_bps: Option<u64>);
    /// Changes its share of links; `None` takes part in none.
    fn set_share(&self, share: Option<TransferShare>);
    /// Prolongs it. Without a renewal it ends by itself when its ticket expires.
    fn renew(&self, ticket: VerifiedTicket);
    /// Ends it at the next unit or batch; the journal stays.
    fn stop(&self, cause: StopCause);
    /// Waits for its end, which comes once.
    fn wait(&self) -> MoveEnd;
}

/// Why an attempt is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopCause {
    /// Somebody asked for it, with this reason.
    Requested(String),
    /// A root that it works on can't be used any more, for this reason.
    RootMissing(String),
    /// The node may no longer take part in anything.
    Revoked,
    /// The node's process ends.
    Shutdown,
}

/// What to do.
pub struct Order {
    /// What allows it.
    pub ticket: VerifiedTicket,
    /// The root of this end; the source's when both ends are here.
    pub root: Arc<Root>,
    /// The destination's root when both ends are here.
    pub second_root: Option<Arc<Root>>,
    /// How the ends meet.
    pub meet: Meet,
    /// The overwrite list.
    pub overwrites: ListFile,
    /// The delete list.
    pub deletes: ListFile,
    /// Its share of links.
    pub share: Option<TransferShare>,
    /// What was set for it instead of what the nodes choose.
    pub wishes: Wishes,
    /// Whether it may begin: asked while it starts, as checking long lists takes minutes.
    pub permitted: Permitted,
}

/// How both ends of an attempt meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meet {
    /// Both are here.
    Local,
    /// Dial the other end at one of these.
    Dial(Vec<String>),
    /// The other end dials.
    Await,
}

/// A list that came with a ticket; its digest is checked by who reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFile {
    /// Where it is; `None` for a list without lines.
    pub path: Option<PathBuf>,
    /// What the ticket says of it.
    pub sealed: ListDigest,
}

/// How this end of an attempt ended.
pub struct MoveEnd {
    /// How.
    pub outcome: Outcome,
    /// Why, when it failed or was stopped.
    pub problem: Option<Problem>,
    /// What this node can state, to be signed: the destination's word first. Empty unless complete or partial.
    pub statements: Vec<Statement>,
    /// Where files.jsonl is; the destination has one.
    pub files_list: Option<PathBuf>,
    /// Where failed.jsonl is.
    pub failed_list: Option<PathBuf>,
}
