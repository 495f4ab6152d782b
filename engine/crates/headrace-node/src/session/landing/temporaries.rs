//! Temporaries of a transfer as a storage has them: how they are called, and how they are removed when the transfer is forgotten.

use headrace_core::journal::Replay;
use headrace_core::name::{PART_PREFIX, RelPath};
use headrace_core::ticket::Shard;
use headrace_core::value::Id;
use headrace_io::storage::Target;

/// Start of the names of the temporaries of a shard of a transfer: several nodes may write to one storage.
pub(super) fn temporaries_of(transfer: &Id, shard: u64) -> Vec<u8> {
    let of = format!("{transfer}-{shard}-");
    [PART_PREFIX, of.as_bytes()].concat()
}

/// Remove the temporaries of a transfer: each that has a record, and all in the folders where some have none.
pub(in crate::session) fn remove_named(
    target: &dyn Target,
    replay: &Replay,
    transfer: &Id,
    destination: &RelPath,
) {
    let prefix = temporaries_of(transfer, Shard::WHOLE.number);
    for (number, part) in replay.parts() {
        let name = [&prefix, number.to_string().as_bytes()].concat();
        let removed = destination
            .join_path(&part.path)
            .map_err(std::io::Error::other)
            .and_then(|path| {
                target
                    .folder(&path.parent().unwrap_or_default())?
                    .remove(&name)
            });
        if let Err(error) = removed {
            tracing::debug!(%error, path = %part.path, "a temporary is gone already");
        }
    }
    for path in replay.used() {
        if let Err(error) = remove_with(target, path, &prefix) {
            tracing::debug!(%error, %path, "a folder with temporaries is gone already");
        }
    }
}

/// Remove all temporaries in a folder whose names begin so.
fn remove_with(target: &dyn Target, folder: &RelPath, prefix: &[u8]) -> std::io::Result<()> {
    let folder = target.folder(folder)?;
    let mut names = Vec::new();
    folder.names(&mut |name| {
        if name.starts_with(prefix) {
            names.push(name.to_vec());
        }
        true
    })?;
    names.iter().try_for_each(|name| folder.remove(name))
}
