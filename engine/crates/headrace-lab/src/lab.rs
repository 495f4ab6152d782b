//! A lab: starts its hosts, lets others in, ends it all.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use rustix::thread::{LinkNameSpaceType, gettid, move_into_link_name_space};

use crate::carrier::{Carrier, Middle};
use crate::device;
use crate::host::{Host, MAX_HOSTS};
use crate::line::Line;
use crate::state::{self, Held, HostState, LabState, MARK, end_processes, labs};

/// Why a lab does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// It was asked for wrongly.
    #[error("{0}")]
    Asked(String),
    /// The machine does not let us.
    #[error("{what}: {source}")]
    Machine {
        /// What was tried.
        what: String,
        /// What came of it.
        source: io::Error,
    },
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
    let what = what.into();
    move |source| LabError::Machine { what, source }
}

/// A lab that runs. Dropping it ends it, and whatever was started in it.
#[derive(Debug)]
pub struct Lab {
    middle: Arc<Middle>,
    carriers: Vec<JoinHandle<()>>,
    state: LabState,
    _held: Held,
}

impl Lab {
    /// Start a lab with these hosts; `packet_bytes` is the largest packet of its lines.
    ///
    /// # Errors
    /// [`LabError`], for example when we are not root.
    pub fn start(
        folder: &Path,
        name: &str,
        hosts: &[Host],
        packet_bytes: u16,
    ) -> Result<Self, LabError> {
        check(name, hosts)?;
        let held = Held::take(folder, name).map_err(failed(format!("{}", folder.display())))?;
        let mut held = held.ok_or_else(|| LabError::Asked(format!("lab `{name}` runs already")))?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| LabError::Asked(error.to_string()))?;
        let (carriers, made, go) = make(hosts, packet_bytes)?;
        let (devices, threads): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        let seed =
            |number: usize, way: u64| (number as u64 * 2 + way).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let down = |(number, host)| Mutex::new(Line::new(host, seed(number, 1)));
        let middle = Arc::new(Middle {
            devices,
            down: hosts.iter().enumerate().map(down).collect(),
            begin: Instant::now(),
            over: AtomicBool::new(false),
        });
        for (number, (host, go)) in hosts.iter().zip(go).enumerate() {
            let up = Line::new(host, seed(number, 2));
            // A carrier that is gone has said why.
            let _ = go.send(Carrier::new(Arc::clone(&middle), number, up));
        }
        let described = hosts
            .iter()
            .zip(threads)
            .enumerate()
            .map(|(number, (host, thread))| HostState {
                name: host.name.clone(),
                address: address(number),
                thread,
                line: host.to_string(),
            });
        let state = LabState {
            name: name.to_owned(),
            id: format!("{:016x}", u64::from_ne_bytes(random)),
            process: std::process::id(),
            hosts: described.collect(),
        };
        held.write(&state).map_err(failed("the lab's file"))?;
        Ok(Self {
            middle,
            carriers,
            state,
            _held: held,
        })
    }

    /// What it tells others of itself.
    #[must_use]
    pub fn state(&self) -> &LabState {
        &self.state
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Err(error) = end_processes(&self.state.id) {
            tracing::warn!(%error, "processes of a lab could not be ended");
        }
        self.middle.over.store(true, Ordering::Release);
        for carrier in self.carriers.drain(..) {
            if carrier.join().is_err() {
                tracing::error!("a carrier panicked");
            }
        }
    }
}

fn check(name: &str, hosts: &[Host]) -> Result<(), LabError> {
    let refused = |why: String| Err(LabError::Asked(why));
    if name.parse::<Host>().map(|host| host.name).as_deref() != Ok(name) {
        return refused(format!(
            "`{name}` cannot be the name of a lab: use 1 to 32 letters, digits and `-`"
        ));
    }
    if hosts.is_empty() || hosts.len() > MAX_HOSTS {
        return refused(format!(
            "a lab has 1 to {MAX_HOSTS} hosts, not {}",
            hosts.len()
        ));
    }
    let names: HashSet<&str> = hosts.iter().map(|host| &*host.name).collect();
    if names.len() < hosts.len() {
        return refused("two hosts of a lab have the same name".to_owned());
    }
    Ok(())
}

fn address(number: usize) -> String {
    format!("10.77.0.{}", number + 1)
}

type Made = (Vec<JoinHandle<()>>, Vec<(File, u32)>, Vec<Sender<Carrier>>);

/// Start a thread in a namespace of its own for each host. Each waits for what it is to carry.
fn make(hosts: &[Host], packet_bytes: u16) -> Result<Made, LabError> {
    let (mut carriers, mut made, mut go) = (Vec::new(), Vec::new(), Vec::new());
    for (number, host) in hosts.iter().enumerate() {
        let (tell, told) = bounded(1);
        let (send, carrier): (_, Receiver<Carrier>) = bounded(1);
        let host = host.clone();
        let work = move || {
            let device = device::make(&host, &address(number), packet_bytes);
            let thread = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or(0);
            // When nobody listens any more, the lab has failed to start: nobody sends a carrier either.
            let _ = tell.send(device.map(|device| (device, thread)));
            if let Ok(carrier) = carrier.recv() {
                carrier.run();
            }
        };
        let thread = std::thread::Builder::new().name(format!("lab-{number}"));
        carriers.push(thread.spawn(work).map_err(failed("a thread"))?);
        let device = told
            .recv()
            .map_err(|_| LabError::Asked("a carrier panicked".to_owned()))?;
        made.push(device.map_err(failed(format!("host {}", number + 1)))?);
        go.push(send);
    }
    Ok((carriers, made, go))
}

/// Take this thread to the host of a lab, and give the variable that marks whatever is started there.
///
/// # Errors
/// [`LabError`] when there is no such lab or host.
pub fn enter(folder: &Path, lab: &str, host: &str) -> Result<(&'static str, String), LabError> {
    let found = labs(folder).map_err(failed(format!("{}", folder.display())))?;
    let found = found.into_iter().find(|running| running.name == lab);
    let found = found.ok_or_else(|| LabError::Asked(format!("no lab `{lab}` runs here")))?;
    let inside = found.hosts.iter().find(|known| known.name == host);
    let inside =
        inside.ok_or_else(|| LabError::Asked(format!("lab `{lab}` has no host `{host}`")))?;
    let path = format!("/proc/{}/task/{}/ns/net", found.process, inside.thread);
    let network = File::open(&path).map_err(failed(path))?;
    move_into_link_name_space(
        std::os::fd::AsFd::as_fd(&network),
        Some(LinkNameSpaceType::Network),
    )
    .map_err(|error| failed(format!("host `{host}`"))(error.into()))?;
    Ok((MARK, found.id))
}

/// End a lab and all that was started in it, also what a killed one has left; `false` when there was none.
///
/// # Errors
/// [`LabError`] when it does not end.
pub fn stop(folder: &Path, name: &str) -> Result<bool, LabError> {
    state::stop(folder, name).map_err(failed(format!("lab `{name}`")))
}
