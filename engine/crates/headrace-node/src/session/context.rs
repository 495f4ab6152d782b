//! What a session works with, whichever end of it this node is, and what is left of it when it ends well.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headrace_core::access::Access;
use headrace_core::code::Failure;
use headrace_core::message::Totals;
use headrace_core::name::RelPath;
use headrace_core::statement::Kept;
use headrace_core::ticket::Ticket;
use headrace_core::value::Label;
use headrace_io::descriptors::Share;
use headrace_io::root::Root;
use headrace_io::storage::posix::PosixTarget;
use headrace_io::storage::{Folder, Origin, Target, Writing, probing};

use super::attempt::{AttemptSpec, Role, Shared};
use super::failures::{Permitted, state_failed};
use super::landing::{Content, DIRECT_FROM_BYTES, Geometry, LAST_FAILED, LandingSpec, WINDOW};
use super::link::Guard;
use super::plane::Plane;
use super::supply::SupplySpec;
use super::trash::TrashSpec;

/// How often a waiting thread looks whether its attempt is over.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// What one session needs besides its connection.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) plane: &'a Arc<Plane>,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) spec: &'a AttemptSpec,
    pub(super) folder: &'a Path,
    /// What this attempt may hold open.
    pub(super) share: &'a Arc<Share>,
}

/// How a session ended well.
pub(super) struct Done {
    pub(super) totals: Totals,
    pub(super) cipher: String,
    pub(super) drifted: Vec<String>,
    pub(super) files_list: Option<PathBuf>,
    pub(super) failed_list: Option<PathBuf>,
    pub(super) sources_deleted: u64,
    pub(super) sources_kept: Vec<Kept>,
    pub(super) trash: Option<Label>,
}

impl Context<'_> {
    /// What a landing at this node is for.
    pub(super) fn landing_spec(
        self,
        root: &Arc<Root>,
        unit_bytes: u64,
        guard: &Arc<Guard>,
    ) -> Result<LandingSpec, Failure> {
        let Ticket {
            transfer,
            plan_digest,
            shard,
            execution,
            only_failed,
            leg,
            ..
        } = self.shared.current();
        let filter = self.shared.ticket.lock().filter().clone();
        let failed_list = self.folder.join(LAST_FAILED);
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let storage = self.plane.storages.target(root, self.plane.writing(root));
        let target = match leg {
            Some(leg) => probing::target(leg.writes, &execution.destination.path, storage),
            None => storage,
        };
        let shared = Arc::clone(self.shared);
        let guard = Arc::clone(guard);
        let permitted = Arc::new(move || shared.check().and_then(|()| guard.outcome()));
        Ok(LandingSpec {
            transfer,
            plan: plan_digest,
            shard,
            only_failed: (only_failed && failed_list.exists()).then_some(failed_list),
            overwrites: self.spec.overwrites.clone(),
            deletes: self.spec.deletes.clone(),
            target,
            state: state_folder(self.folder)?,
            scratch: self.folder.to_owned(),
            // A million numbers for each millisecond: no session begins where another has been.
            first_part: u64::try_from(since_epoch.as_millis()).unwrap_or(0) << 20,
            content: Content::Sent,
            geometry: Geometry::new(unit_bytes),
            direct_from_bytes: DIRECT_FROM_BYTES,
            epochs: self.spec.tuning.epochs,
            share: Arc::clone(self.share),
            permitted,
            may_end: self.attempt_permitted(),
            execution,
            filter,
        })
    }

    /// Whether the attempt may go on, whatever becomes of the session.
    fn attempt_permitted(self) -> Permitted {
        let shared = Arc::clone(self.shared);
        Arc::new(move || shared.check())
    }

    /// Where files are read.
    fn origin(self, root: &Arc<Root>) -> Arc<dyn Origin> {
        let Ticket { execution, leg, .. } = self.shared.current();
        let share = Arc::clone(self.share);
        let path = execution.source.path.clone();
        let storage = self.plane.storages.origin(root, path, share);
        match leg {
            Some(leg) => probing::origin(leg.reads, &execution, storage),
            None => storage,
        }
    }

    /// What a supply at this node is for.
    pub(super) fn supply_spec(self, root: &Arc<Root>, unit_bytes: u64, window: u32) -> SupplySpec {
        let origin = self.origin(root);
        let ticket = self.shared.ticket.lock();
        let execution = &ticket.ticket().execution;
        SupplySpec {
            origin,
            from: execution.source.clone(),
            filter: ticket.filter().clone(),
            geometry: Geometry::new(unit_bytes),
            window: window.min(WINDOW),
            delete_source: execution.delete_source,
            trash: execution.trash.map(|trash| TrashSpec {
                target: self.plane.storages.target(root, Writing::Buffered),
                transfer: ticket.ticket().transfer.clone(),
                keep_days: trash.keep_days,
                permitted: self.attempt_permitted(),
            }),
            counts_totals: !matches!(self.spec.role, Role::Local(..)),
            scratch: self.folder.to_owned(),
        }
    }
}

/// Where the journal of a transfer is: its folder in the node's state folder.
pub(super) fn state_folder(folder: &Path) -> Result<Arc<dyn Folder>, Failure> {
    let root = Root::open("state", folder, Access::Write)
        .map_err(|error| state_failed(std::io::Error::other(error)))?;
    PosixTarget::new(Arc::new(root), Writing::Buffered)
        .folder(&RelPath::root())
        .map_err(state_failed)
}
