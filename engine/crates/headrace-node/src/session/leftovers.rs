//! Removes what a transfer left that will have no further attempt.

use std::path::Path;
use std::sync::Arc;

use headrace_core::asker::Asker;
use headrace_core::code::Failure;
use headrace_core::journal::Replay;
use headrace_core::value::Id;
use headrace_io::journal::Journal;
use headrace_io::root::Root;
use headrace_io::storage::{Storages, Writing};

use super::binding;
use super::context::state_folder;
use super::failures::state_failed;
use super::landing::remove_named;

/// Remove the temporaries that a transfer's journal knows of.
pub(super) fn remove_temporaries(
    storages: &dyn Storages,
    folder: &Path,
    transfer: &Id,
    root: &dyn Fn(&str, &Asker) -> Option<Arc<Root>>,
) -> Result<(), Failure> {
    let Some(bound) = binding::read(folder).map_err(state_failed)? else {
        return Ok(());
    };
    // A source has none: the root of the destination is another node's, whatever it is called.
    if !folder.join("journal").try_exists().map_err(state_failed)? {
        return Ok(());
    }
    let Some(root) = root(bound.destination_root.as_str(), &bound.asker) else {
        return Ok(());
    };
    // Nobody waits for this, and nothing has to stop it: what it has not removed when the node ends, the service asks for again.
    let opened = Journal::open(&*state_folder(folder)?, b"journal", &mut (), &|| Ok(()));
    let (_, replay): (_, Replay) = opened.map_err(state_failed)?;
    let target = storages.target(&root, Writing::Buffered);
    remove_named(&*target, &replay, transfer, &bound.destination_path);
    Ok(())
}
