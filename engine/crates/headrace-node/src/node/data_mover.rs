//! The data plane as the control plane drives it.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;

use headrace_core::code::{Code, Failure, Retry};
use headrace_core::name::PART_PREFIX;
use headrace_core::sealed::SigningKey;
use headrace_core::shares::{Links, TransferShare};
use headrace_core::statement::{Achieved, MAX_CHANGED, Role, Statement};
use headrace_core::ticket::{Ticket, VerifiedTicket, Verify};
use headrace_core::value::{Digest, Id};
use headrace_io::tls::Identity;

use super::mover::{Meet, MoveEnd, Mover, Moving, Order, StopCause};
use crate::config::{DataConfig, Roots};
use crate::convert::{Outcome, ProgressCounts};
use crate::problem::{ControlCode, Problem};
use crate::session::{
    self, AttemptHandle, AttemptSpec, DataPlane, Peer, StatementFields, StopReason, Tuning,
};
use crate::state::StateDir;

/// Most bytes of changed names in one statement, which must fit into a document; more are left out.
const MAX_CHANGED_BYTES: usize = 256 << 10;
/// Most addresses of a peer that are tried.
const MAX_PEER_ADDRESSES: usize = 16;

/// Runs attempts on this node's data plane; journals are kept in the folder `transfers` of the state folder.
pub struct DataMover {
    plane: DataPlane,
    key: SigningKey,
    state_dir: PathBuf,
}

impl DataMover {
    /// Starts the data plane: listens for data connections where the settings say so.
    ///
    /// # Errors
    /// `bad_argument` when the address can't be listened on, `state_failed`.
    pub fn start(
        state: &StateDir,
        key: SigningKey,
        data: &DataConfig,
    ) -> Result<Arc<Self>, Problem> {
        let listen = if data.listen.is_empty() {
            None
        } else {
            Some(listen_address(&data.listen)?)
        };
        let identity = Identity::new(&key)
            .map_err(|error| Problem::new(ControlCode::Internal, error.to_string()))?;
        let plane = DataPlane::start(identity, listen, data.limits).map_err(problem)?;
        if let Some(fireflies) = &data.fireflies {
            plane
                .tell_of_connections(fireflies.clone())
                .map_err(problem)?;
        }
        Ok(Arc::new(Self {
            plane,
            key,
            state_dir: state.dir("transfers")?,
        }))
    }
}

impl Mover for DataMover {
    fn data_address(&self) -> Option<SocketAddr> {
        self.plane.address()
    }

    fn start(&self, order: Order) -> Result<Arc<dyn Moving>, Problem> {
        let Order {
            ticket,
            root,
            second_root,
            meet,
            overwrites,
            deletes,
            share,
            wishes,
            permitted,
        } = order;
        let local = second_root.is_some();
        let role = match (second_root, ticket.part()) {
            (Some(destination), _) => session::Role::Local(root, destination),
            (None, headrace_core::ticket::Part::Source) => session::Role::Source(root),
            (None, _) => session::Role::Destination(root),
        };
        let roles: &[Role] = match role {
            session::Role::Local(..) => &[Role::Destination, Role::Source],
            session::Role::Source(_) => &[Role::Source],
            session::Role::Destination(_) => &[Role::Destination],
        };
        let peer = match meet {
            Meet::Dial(addresses) => Peer::Dial(resolve(&addresses)?),
            Meet::Await | Meet::Local => Peer::Await,
        };
        let spec = AttemptSpec {
            ticket: ticket.clone(),
            role,
            peer,
            overwrites: overwrites.path,
            deletes: deletes.path,
            share,
            state_dir: self.state_dir.clone(),
            tuning: Tuning::default().wished(wishes),
            permitted,
        };
        let handle = session::start(&self.plane, spec).map_err(problem)?;
        Ok(Arc::new(DataMoving {
            handle,
            ticket: ticket.ticket().clone(),
            roles,
            local,
            key: self.key.clone(),
        }))
    }

    fn set_links(&self, links: &Links) {
        self.plane.set_links(links);
    }

    fn forget(&self, transfer: &Id, roots: &Roots) -> Result<(), Problem> {
        session::forget(&self.plane, &self.state_dir, transfer, &|name, asker| {
            let opened = roots.open_for(name, asker);
            opened
                .inspect_err(|problem| tracing::warn!("{}", may_stay(transfer, name, problem)))
                .ok()
        })
        .map_err(problem)
    }
}

/// What stays in a root of this node that can't be opened when a transfer into it is forgotten, and what to do about it.
fn may_stay(transfer: &Id, root: &str, problem: &Problem) -> String {
    format!(
        "files of transfer {transfer} that never became whole may stay in root `{root}` of this node, and nothing removes them later: \
         {problem}. Once its folder is there, remove what `find FOLDER -name '{}{transfer}-*'` shows",
        String::from_utf8_lossy(PART_PREFIX)
    )
}

struct DataMoving {
    handle: AttemptHandle,
    ticket: Ticket,
    roles: &'static [Role],
    local: bool,
    key: SigningKey,
}

impl Moving for DataMoving {
    fn progress(&self) -> ProgressCounts {
        let session::Progress {
            files_total,
            files_done,
            files_failed,
            bytes_total,
            bytes_received,
            bytes_durable,
            bytes_whole,
            resent_bytes,
            rate_bps,
            streams,
            limiter,
            listed,
            own,
        } = self.handle.progress();
        ProgressCounts {
            files_total,
            files_done,
            files_failed,
            bytes_total,
            bytes_received,
            bytes_durable,
            bytes_whole: Some(bytes_whole),
            resent_bytes,
            rate_bps,
            streams: u32::try_from(streams).unwrap_or(u32::MAX),
            limiter,
            listed: Some(listed),
            own,
            source: session::Side::default(),
        }
    }

    fn set_rate(&self, rate_bps: Option<u64>) {
        self.handle.set_rate(rate_bps);
    }

    fn set_share(&self, share: Option<TransferShare>) {
        self.handle.set_share(share.filter(|_| !self.local));
    }

    fn renew(&self, ticket: VerifiedTicket) {
        if let Err(failure) = self.handle.renew(ticket) {
            tracing::warn!("a renewed ticket is not taken: {failure}");
        }
    }

    fn stop(&self, cause: StopCause) {
        self.handle.stop(match cause {
            StopCause::Requested(_) | StopCause::RootMissing(_) => StopReason::Requested,
            StopCause::Revoked => StopReason::Revoked,
            StopCause::Shutdown => StopReason::Shutdown,
        });
    }

    fn wait(&self) -> MoveEnd {
        let end = self.handle.wait();
        let outcome = match end.outcome {
            session::Outcome::Complete => Outcome::Complete,
            session::Outcome::Partial => Outcome::Partial,
            session::Outcome::Failed => Outcome::Failed,
            session::Outcome::Stopped => Outcome::Stopped,
        };
        let statements = end.statement.map_or_else(Vec::new, |fields| {
            self.roles
                .iter()
                .map(|role| self.statement(*role, outcome, &fields))
                .collect()
        });
        MoveEnd {
            outcome,
            problem: end.failure.map(problem),
            statements,
            files_list: end.files_list,
            failed_list: end.failed_list,
        }
    }
}

impl DataMoving {
    fn statement(&self, role: Role, outcome: Outcome, fields: &StatementFields) -> Statement {
        let sources_kept = (role == Role::Source && self.ticket.execution.delete_source)
            .then(|| fields.sources_kept.clone());
        for kept in sources_kept.iter().flatten() {
            let (transfer, count, why) = (&self.ticket.transfer, kept.count, &kept.detail);
            tracing::warn!(%transfer, count, why, "sources of a move stay although they have arrived");
        }
        let deletes = match role {
            Role::Source => self.ticket.execution.delete_source,
            Role::Destination => self.ticket.execution.delete_extraneous,
        };
        let totals = &fields.totals;
        let mut room = MAX_CHANGED_BYTES;
        let fits = |name: &&String| {
            room = room.saturating_sub(name.len());
            room > 0
        };
        let changed = fields
            .changed
            .iter()
            .take(MAX_CHANGED)
            .take_while(fits)
            .cloned()
            .collect();
        Statement {
            role,
            node: self.key.public(),
            plan_digest: self.ticket.plan_digest,
            transfer: self.ticket.transfer.clone(),
            attempt: self.ticket.attempt,
            shard: self.ticket.shard,
            outcome: if outcome == Outcome::Complete {
                Achieved::Complete
            } else {
                Achieved::Partial
            },
            files: totals.files,
            bytes: totals.bytes,
            identical: totals.identical,
            failed: totals.failed,
            deleted: totals.deleted,
            resent_bytes: totals.resent_bytes,
            list_digest: Digest(totals.list_digest),
            root: Digest(totals.list_root),
            verified: if fields.verified_at_rest {
                Verify::AtRest
            } else {
                Verify::InTransit
            },
            encrypted: fields.encrypted && !self.local,
            cipher: fields.cipher.parse().unwrap_or_default(),
            started: fields.started,
            ended: fields.ended,
            changed,
            sources_kept,
            trash: fields.trash.clone().filter(|_| deletes),
        }
    }
}

fn problem(failure: Failure) -> Problem {
    let Failure { code, message } = failure;
    let advice = code.advice();
    Problem {
        code: code.as_str().into(),
        message: format!("{message}. {advice}"),
        retryable: code.retry() == Retry::MayHelp,
    }
}

fn listen_address(text: &str) -> Result<SocketAddr, Problem> {
    let bad = |detail: String| {
        Problem::new(
            ControlCode::BadArgument,
            format!("can't listen for data on `{text}`: {detail}"),
        )
    };
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| bad(error.to_string()))?;
    addresses
        .next()
        .ok_or_else(|| bad("it names no address".to_owned()))
}

fn resolve(addresses: &[String]) -> Result<Vec<SocketAddr>, Problem> {
    let mut resolved: Vec<SocketAddr> = addresses
        .iter()
        .filter_map(|address| address.to_socket_addrs().ok())
        .flatten()
        .collect();
    resolved.truncate(MAX_PEER_ADDRESSES);
    if resolved.is_empty() {
        let message = format!(
            "none of the other node's addresses can be resolved: {}",
            addresses.join(", ")
        );
        return Err(problem(Failure::new(Code::PeerUnreachable, message)));
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_stay_of_a_transfer_is_said_with_the_root_and_how_to_find_it() {
        let transfer: Id = "tr_1".parse().expect("an id");
        let problem = Problem::new(ControlCode::RootMissing, "`/data` is not there");
        let said = may_stay(&transfer, "data", &problem);
        for part in [
            "root `data` of this node",
            "`/data` is not there",
            "find FOLDER -name '.headrace-part-tr_1-*'",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
