//! The durable memory of which plan and attempt a transfer is bound to, and of where its temporaries are.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use headrace_core::asker::Asker;
use headrace_core::code::{Code, Failure};
use headrace_core::name::RelPath;
use headrace_core::ticket::Ticket;
use headrace_core::value::{Digest, Id, Label, decimal};
use serde::{Deserialize, Serialize};

use super::failures::state_failed;

const FILE: &str = "binding.json";

/// What the first use of a ticket binds a transfer to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Binding {
    pub(super) plan_digest: Digest,
    #[serde(with = "decimal")]
    pub(super) attempt: u64,
    /// The last fencing number; nodes of before kept none.
    #[serde(default, with = "decimal")]
    pub(super) fence: u64,
    pub(super) destination_root: Label,
    pub(super) destination_path: RelPath,
    /// Who asked, so that what is left can be removed in the same name; nodes of before kept none.
    #[serde(default)]
    pub(super) asker: Asker,
}

/// The folder of a transfer in the node's state folder. Ids are safe file names.
pub(super) fn folder(state_dir: &Path, transfer: &Id) -> PathBuf {
    state_dir.join("transfers").join(transfer.as_str())
}

/// What a transfer is bound to; `None` before its first use.
pub(super) fn read(folder: &Path) -> io::Result<Option<Binding>> {
    match std::fs::read(folder.join(FILE)) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Bind a transfer to the plan and attempt of a ticket, durably, before anything is done under it.
///
/// # Errors
/// [`Code::TicketForeign`] for another plan, [`Code::AttemptSuperseded`] for an attempt or a fencing number before the last one.
pub(super) fn bind(folder: &Path, ticket: &Ticket) -> Result<(), Failure> {
    let place = &ticket.execution.destination;
    let wanted = Binding {
        plan_digest: ticket.plan_digest,
        attempt: ticket.attempt,
        fence: ticket.shard.fence,
        destination_root: place.root.clone(),
        destination_path: place.path.clone(),
        asker: ticket.asker(),
    };
    if let Some(bound) = read(folder).map_err(state_failed)? {
        if bound.plan_digest != wanted.plan_digest {
            let message = format!(
                "transfer `{}` is bound to the plan {}",
                ticket.transfer, bound.plan_digest
            );
            return Err(Failure::new(Code::TicketForeign, message));
        }
        if bound.attempt > wanted.attempt {
            let message = format!(
                "attempt {} of transfer `{}` was started already",
                bound.attempt, ticket.transfer
            );
            return Err(Failure::new(Code::AttemptSuperseded, message));
        }
        if bound.fence > wanted.fence {
            return Err(fenced_off(&ticket.transfer, bound.fence, wanted.fence));
        }
        if bound == wanted {
            return Ok(());
        }
    }
    write(folder, &wanted).map_err(state_failed)
}

/// Begin a leg of a probe anew: what the journal says of the one before would count as arrived. None of it has a name at the destination.
///
/// # Errors
/// [`Code::StateFailed`] when the folder can't be changed.
pub(super) fn forget_leg(folder: &Path, ticket: &Ticket) -> Result<(), Failure> {
    let Some(bound) = read(folder).map_err(state_failed)? else {
        return Ok(());
    };
    if bound.plan_digest != ticket.plan_digest || bound.attempt >= ticket.attempt {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).map_err(state_failed)? {
        let entry = entry.map_err(state_failed)?;
        if entry.file_name() != FILE && entry.file_type().map_err(state_failed)?.is_file() {
            std::fs::remove_file(entry.path()).map_err(state_failed)?;
        }
    }
    Ok(())
}

/// Somebody else was given the work.
pub(super) fn fenced_off(transfer: &Id, known: u64, ours: u64) -> Failure {
    let message = format!(
        "transfer `{transfer}` was given out again: its fencing number is {known}, and this ticket has {ours}"
    );
    Failure::new(Code::AttemptSuperseded, message)
}

fn write(folder: &Path, binding: &Binding) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let (temporary, path) = (folder.join("binding.new"), folder.join(FILE));
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec(binding)?)?;
    file.sync_all()?;
    std::fs::rename(&temporary, &path)?;
    // The name, and those of the folders that may be new.
    for folder in folder.ancestors().take(3) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
