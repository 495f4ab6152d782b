//! The data plane of a node, for its owner: starts it, starts attempts on it, and forgets transfers.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headrace_core::access::Access;
use headrace_core::asker::Asker;
use headrace_core::code::{Code, Failure};
use headrace_core::sealed::PublicKey;
use headrace_core::shares::Links;
use headrace_core::ticket::Medium;
use headrace_core::value::Id;
use headrace_io::root::Root;
use headrace_io::storage::posix::PosixStorages;
use headrace_io::storage::{Storages, Writing};
use headrace_io::tls::Identity;

use super::attempt::{AttemptHandle, AttemptSpec, Role};
use super::failures::state_failed;
use super::fireflies::{Fireflies, Reporter};
use super::landing::destination_failure;
use super::leftovers::remove_temporaries;
use super::listener::listen_on;
use super::plane::{Plane, Registration, Settings};
use super::run::run;
use super::{binding, lists};

/// A node's data plane. Dropping it closes the listener; running attempts go on to their end.
#[derive(Debug)]
pub struct DataPlane {
    plane: Arc<Plane>,
    address: Option<SocketAddr>,
}

impl DataPlane {
    /// Start a data plane for the node with this identity; it listens on `listen`, or only dials.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the address cannot be listened on or threads cannot be started.
    pub fn start(
        identity: Identity,
        listen: Option<SocketAddr>,
        settings: Settings,
    ) -> Result<Self, Failure> {
        Self::start_on(identity, listen, settings, Arc::new(PosixStorages))
    }

    /// As [`DataPlane::start`], with what is behind the roots instead of their file systems.
    ///
    /// # Errors
    /// As [`DataPlane::start`].
    pub fn start_on(
        identity: Identity,
        listen: Option<SocketAddr>,
        settings: Settings,
        storages: Arc<dyn Storages>,
    ) -> Result<Self, Failure> {
        let plane = Plane::new(identity, settings, storages);
        let address = listen
            .map(|address| listen_on(&plane, address))
            .transpose()?;
        Ok(Self { plane, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// This node's key.
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.plane.identity.public_key()
    }

    /// Schedule these links from now on, and no others.
    pub fn set_links(&self, links: &Links) {
        self.plane.links.set(links);
    }

    /// Tell a collector of the data connections over which this node sends, from now on; once.
    ///
    /// # Errors
    /// [`Code::StateFailed`] when the thread that does so cannot be started.
    pub fn tell_of_connections(&self, settings: Fireflies) -> Result<(), Failure> {
        let reporter = Reporter::start(settings).map_err(state_failed)?;
        let _ = self.plane.fireflies.set(reporter);
        Ok(())
    }

    fn begin(&self, spec: AttemptSpec) -> Result<AttemptHandle, Failure> {
        let ticket = spec.ticket.ticket();
        check_access(&spec)?;
        if !matches!(spec.role, Role::Source(_)) {
            let (execution, permitted) = (&ticket.execution, &*spec.permitted);
            lists::check(spec.overwrites.as_deref(), execution.overwrites, permitted)?;
            lists::check(spec.deletes.as_deref(), execution.deletes, permitted)?;
        }
        let transfer = ticket.transfer.clone();
        let folder = binding::folder(&spec.state_dir, &transfer);
        check_folder_of_leg(&self.plane, &spec)?;
        let registration = Registration::new(&self.plane, &spec)?;
        if ticket.leg.is_some() {
            binding::forget_leg(&folder, ticket)?;
        }
        binding::bind(&folder, ticket)?;
        let shared = Arc::clone(&registration.shared);
        let handle = AttemptHandle { shared };
        let plane = Arc::clone(&self.plane);
        let attempt = move || {
            let end = run(&plane, &registration.shared, &spec, &folder);
            let shared = Arc::clone(&registration.shared);
            // Whoever sees the end may start the next attempt at once.
            drop(registration);
            shared.end(end);
        };
        let name = format!("headrace-{transfer}").chars().take(15).collect();
        std::thread::Builder::new()
            .name(name)
            .spawn(attempt)
            .map_err(state_failed)?;
        Ok(handle)
    }
}

/// Start an attempt.
///
/// # Errors
/// The [`Failure`] that keeps it from starting: a root that does not allow it, a list that is not the sealed one, an attempt that was
/// superseded, a destination that is being written to, too many attempts, or what ends it before it begins.
pub fn start(node: &DataPlane, spec: AttemptSpec) -> Result<AttemptHandle, Failure> {
    node.begin(spec)
}

/// Forget a transfer that will have no further attempt: its journal and its temporaries at the destination are removed. `root` finds
/// the root by its name, as the one who asked has it.
///
/// # Errors
/// [`Code::DestinationBusy`] while an attempt runs, [`Code::StateFailed`] when the state folder cannot be changed.
pub fn forget(
    node: &DataPlane,
    state_dir: &Path,
    transfer: &Id,
    root: &dyn Fn(&str, &Asker) -> Option<Arc<Root>>,
) -> Result<(), Failure> {
    if node.plane.attempt(transfer).is_some() {
        return Err(Failure::new(
            Code::DestinationBusy,
            format!("transfer `{transfer}` is running"),
        ));
    }
    let folder = binding::folder(state_dir, transfer);
    remove_temporaries(&*node.plane.storages, &folder, transfer, root)?;
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(state_failed(error)),
        _ => Ok(()),
    }
}

impl Drop for DataPlane {
    fn drop(&mut self) {
        self.plane.closing.store(true, Ordering::Release);
        if let Some(address) = self.address {
            // Wakes the listener, which then sees that it is to close.
            drop(TcpStream::connect_timeout(&address, Duration::from_secs(1)));
        }
    }
}

/// What the root allows holds whatever the ticket says.
fn check_access(spec: &AttemptSpec) -> Result<(), Failure> {
    let execution = &spec.ticket.ticket().execution;
    let (source, destination) = match &spec.role {
        Role::Source(root) => (Some(root), None),
        Role::Destination(root) => (None, Some(root)),
        Role::Local(source, destination) => (Some(source), Some(destination)),
    };
    let needed = [
        (source, execution.source_access()),
        (destination, execution.destination_access()),
    ];
    for (root, needed) in needed {
        if let Some(root) = root
            && execution.trash.is_some()
            && needed == Access::Delete
            && root.account().is_some()
        {
            let message = format!(
                "root `{}` maps people to local accounts and so has no trash: nobody but each account could remove what it keeps. \
                 The policy asks for one (`@trash`)",
                root.name()
            );
            return Err(Failure::new(Code::RootAccess, message));
        }
        if let Some(root) = root
            && root.access() < needed
        {
            let message = format!(
                "root `{}` allows to {}, the ticket needs to {needed}",
                root.name(),
                root.access()
            );
            return Err(Failure::new(Code::RootAccess, message));
        }
    }
    Ok(())
}

/// Whether the folder is there below which a leg of a probe writes. No probe makes one, so that waiting and trying again help nobody.
fn check_folder_of_leg(plane: &Plane, spec: &AttemptSpec) -> Result<(), Failure> {
    let ticket = spec.ticket.ticket();
    let (Role::Destination(root) | Role::Local(_, root)) = &spec.role else {
        return Ok(());
    };
    if ticket.leg.is_none_or(|leg| leg.writes != Medium::Storage) {
        return Ok(());
    }
    let to = &ticket.execution.destination;
    let storage = plane.storages.target(root, Writing::Buffered);
    let Err(error) = storage.folder(&to.path) else {
        return Ok(());
    };
    let named = format!("`{}` in root `{}`", to.path, to.root);
    if error.kind() == std::io::ErrorKind::NotFound {
        let message = format!("no folder is at {named}, and a probe makes none");
        return Err(Failure::new(Code::DestinationMissing, message));
    }
    match destination_failure(&error, &named, "opening the folder") {
        failure if failure.code == Code::DestinationNotDirectory => Err(failure),
        // Whatever else is wrong may pass, as it may for a transfer.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use headrace_core::access::Access;
    use headrace_core::sealed::SigningKey;

    use super::*;

    #[test]
    fn a_file_system_that_hangs_holds_up_no_other() {
        let identity = Identity::new(&SigningKey::from_seed(&[1; 32])).expect("an identity");
        let node = DataPlane::start(identity, None, Settings::default()).expect("a data plane");
        let folder = tempfile::tempdir().expect("a folder");
        let root = |path| Root::open("root", path, Access::Read).expect("a root");
        let of = |path| node.plane.disk(&root(path)).expect("threads");
        let (hanging, other) = (of(Path::new("/proc")), of(folder.path()));
        assert!(Arc::ptr_eq(&hanging, &of(Path::new("/proc"))));
        let (go, waits) = crossbeam_channel::bounded::<()>(0);
        for _ in 0..Settings::default().disk_threads {
            let waits = waits.clone();
            hanging.submit(move || {
                let _ = waits.recv();
            });
        }
        let (done, came) = crossbeam_channel::bounded(1);
        other.submit(move || {
            let _ = done.send(());
        });
        let came = came.recv_timeout(Duration::from_secs(30));
        drop(go);
        assert_eq!(came, Ok(()));
    }
}
