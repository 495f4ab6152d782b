//! Brings both ends of a copy together: a hub in this process, a node here, and one on the other machine when there is
//! one.

use std::collections::HashSet;
use std::time::Duration;

use headrace_core::access::{Access, Authority};
use headrace_core::name::escape;
use headrace_core::sealed::PublicKey;
use headrace_core::ticket;
use headrace_core::value::Id;
use tokio::time::timeout;

use super::Copying;
use super::call::{Called, Party, Path, Way, party};
use super::export::Exported;
use super::greeting::{Ready, Side};
use super::job::Job;
use super::ssh::Running;
use crate::config::{Config, RootConfig};
use crate::hub::{Hub, HubEvent, HubOptions};
use crate::node::{Node, node_key};
use crate::problem::{ControlCode, Problem};
use crate::state::StateDir;
use crate::transport::system_clock;

/// How long a node may take to attach once it was greeted.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes between the hub and the node of this process.
const PIPE_BYTES: usize = 256 << 10;
const MAX_NODES: usize = 2;

/// Both ends, attached.
pub(super) struct Ends {
    pub(super) hub: Hub,
    pub(super) source: ticket::Place,
    pub(super) destination: ticket::Place,
    pub(super) way: Way,
    node: Node,
    /// The node on the other machine.
    far: Option<PublicKey>,
    ssh: Option<Running>,
    forward: Option<Running>,
}

/// Greets both ends and waits until they are attached.
///
/// # Errors
/// What ssh, the other machine or a path says.
pub(super) async fn meet(copying: &Copying, job: &Job, id: &Id) -> Result<Ends, Problem> {
    let from = party(copying, id, Side::Source, &copying.source, None).await?;
    let to = party(
        copying,
        id,
        Side::Destination,
        &copying.destination,
        from.found(),
    )
    .await?;
    let state = StateDir::open(&job.state.join("node"))?;
    let key = node_key(&state)?;
    let (mut roots, mut called) = (Vec::new(), None);
    let source = place(from, key.public(), &mut roots, &mut called)?;
    let destination = place(to, key.public(), &mut roots, &mut called)?;
    let path = match &mut called {
        None => Path::here(&state, &key)?,
        Some(called) => called.path(copying, &state, &key).await?,
    };
    let options = HubOptions {
        listen: None,
        state_dir: job.state.join("hub"),
        max_nodes: MAX_NODES,
        enrolled: HashSet::from([key.public()]),
        clock: system_clock(),
    };
    let hub = Hub::start(options).await?;
    let config = Config {
        name: "cp".to_owned(),
        hub: None,
        data: path.data,
        authorities: vec![Authority {
            key: copying.signer.key.public(),
            access: Access::Write,
            until: None,
        }],
        roots,
    };
    let (hub_end, node_end) = tokio::io::duplex(PIPE_BYTES);
    hub.adopt(Box::new(hub_end), key.public()).await?;
    let node_end = Box::new(node_end);
    let node = Node::start_over(node_end, key, &state, config, system_clock(), path.mover)?;
    let (mut far, mut ssh) = (None, None);
    if let Some(called) = called {
        far = Some(called.ready.node);
        ssh = called.ssh.map(|(_, running)| running);
        hub.enroll(called.ready.node);
        hub.adopt(called.wire, called.ready.node).await?;
    }
    let mut ends = Ends {
        hub,
        source,
        destination,
        way: path.way,
        node,
        far,
        ssh,
        forward: path.forward,
    };
    match timeout(ATTACH_TIMEOUT, ends.attached()).await {
        Ok(result) => result?,
        Err(_) => return Err(ends.lost("it did not attach in time").await),
    }
    Ok(ends)
}

/// How a ticket names an end. A root on this machine, or the program on the other one, is put where it belongs.
fn place(
    party: Party,
    here: PublicKey,
    roots: &mut Vec<RootConfig>,
    called: &mut Option<Box<Called>>,
) -> Result<ticket::Place, Problem> {
    match party {
        Party::Here(Exported { root, path, .. }) => {
            let name = root.name.parse();
            roots.push(root);
            Ok(ticket::Place {
                node: here,
                root: name.map_err(|_| Problem::new(ControlCode::Internal, "a root's name"))?,
                path,
            })
        }
        Party::There(there) => {
            let Ready {
                node, root, path, ..
            } = there.ready.clone();
            *called = Some(there);
            Ok(ticket::Place { node, root, path })
        }
    }
}

impl Ends {
    /// Waits until every node is attached.
    async fn attached(&mut self) -> Result<(), Problem> {
        let mut missing = if self.far.is_some() { 2 } else { 1 };
        while missing > 0 {
            match self.hub.next_event().await {
                Some(HubEvent::NodeAttached { .. }) => missing -= 1,
                Some(HubEvent::NodeDetached { reason, .. }) => {
                    return Err(self.lost(&reason).await);
                }
                Some(HubEvent::NodeRefused { problem, .. }) => {
                    return Err(self.lost(&problem.message).await);
                }
                Some(_) => {}
                None => return Err(Problem::new(ControlCode::HubClosed, "the hub ended")),
            }
        }
        Ok(())
    }

    /// Why a node is gone: ssh knows best.
    pub(super) async fn lost(&mut self, reason: &str) -> Problem {
        if let Some(ssh) = &mut self.ssh {
            return ssh.why().await;
        }
        let message = format!("the node is gone: {}", escape(reason.as_bytes()));
        Problem::new(ControlCode::NodeUnreachable, message)
    }

    /// Lets everything end in its order.
    pub(super) async fn close(self) {
        self.node.close().await;
        self.hub.close().await;
        // The last reference to the connection, so that the other program sees its end.
        drop(self.hub);
        if let Some(ssh) = self.ssh {
            ssh.finish().await;
        }
        drop(self.forward);
    }
}
