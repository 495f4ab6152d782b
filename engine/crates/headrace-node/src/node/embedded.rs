//! A node inside another process: joins when it must, takes up what its owner declares, stays attached.

use std::path::PathBuf;

use headrace_core::access::Access;

use super::data_mover::DataMover;
use super::{Node, join, node_key};
use crate::accounts::Accounts;
use crate::config::{Config, DataConfig, HubConfig, RootConfig};
use crate::problem::{ControlCode, Problem};
use crate::state::StateDir;
use crate::token::JoinToken;
use crate::transport::system_clock;

/// What the owner of the process declares.
pub struct Embedded {
    /// The node's state folder.
    pub state_dir: PathBuf,
    /// What it calls itself.
    pub name: String,
    /// Name, absolute path and access (`read`, `write` or `delete`) of each root; replaces what was declared before.
    pub roots: Vec<(String, PathBuf, String)>,
    /// host:port to accept data connections on.
    pub data_listen: String,
    /// Used when the state folder holds no enrolment yet.
    pub join_token: Option<String>,
    /// host:port of the hub now, in the place of what the node was told when it joined; `None` leaves that.
    pub hub_address: Option<String>,
}

/// Joins if need be and starts the node.
///
/// # Errors
/// `config_invalid` or `bad_argument` for what was declared, `token_malformed` and what joining answers, `state_failed`.
pub async fn start(embedded: Embedded) -> Result<Node, Problem> {
    let Embedded {
        state_dir,
        name,
        roots,
        data_listen,
        join_token,
        hub_address,
    } = embedded;
    let state = StateDir::open(&state_dir)?;
    let roots = roots.into_iter().map(root).collect::<Result<Vec<_>, _>>()?;
    // One that can't be opened waits until it can, and holds up no other.
    for root in &roots {
        root.check_name()?;
    }
    let joined = Config::load(&state)?.and_then(|config| Some((config.hub.clone()?, config)));
    let kept = joined.as_ref().map(|(_, config)| config.data.clone());
    let data = DataConfig {
        listen: data_listen,
        ..kept.unwrap_or_default()
    };
    if let Some((hub, config)) = joined {
        // What it exports and where its hub is are said at every start; whom it obeys, and the hub's key, when it joined.
        let hub = HubConfig {
            address: hub_address.unwrap_or(hub.address),
            ..hub
        };
        Config {
            name,
            hub: Some(hub),
            roots,
            data: data.clone(),
            ..config
        }
        .save(&state)?;
    } else {
        let missing = || {
            Problem::new(
                ControlCode::ConfigInvalid,
                "the node has not joined: it needs a join token",
            )
        };
        let token: JoinToken = join_token.ok_or_else(missing)?.parse()?;
        join(&state, &token, &name, roots, data.clone()).await?;
    }
    let mover = DataMover::start(&state, node_key(&state)?, &data)?;
    Node::start(&state, system_clock(), mover)
}

fn root((name, path, access): (String, PathBuf, String)) -> Result<RootConfig, Problem> {
    let access = match access.as_str() {
        "read" => Access::Read,
        "write" => Access::Write,
        "delete" => Access::Delete,
        other => {
            let message = format!(
                "root `{name}` has access `{other}`, which is not `read`, `write` or `delete`"
            );
            return Err(Problem::new(ControlCode::BadArgument, message));
        }
    };
    Ok(RootConfig {
        name,
        path,
        access,
        authorities: None,
        accounts: Accounts::Node,
    })
}
