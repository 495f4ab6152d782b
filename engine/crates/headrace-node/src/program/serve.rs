//! `join` and `run`: a node as a daemon.

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::{Exit, Out, StateArgs};
use crate::config::{Config, DataConfig, RootConfig};
use crate::node::data_mover::DataMover;
use crate::node::{self, Node, node_key};
use crate::problem::{ControlCode, Problem, host_name};
use crate::state::StateDir;
use crate::token::JoinToken;
use crate::transport::system_clock;

#[derive(Args)]
pub(super) struct Join {
    /// The one-time token that the service gave, all of it.
    token: String,
    /// What this node is to be called; default: the host's name.
    #[arg(long)]
    name: Option<String>,
    /// A folder to export, as `name=path[:read|write|delete]`; again for more. Without the last part it is `read`.
    #[arg(long = "root", value_name = "NAME=PATH[:ACCESS]")]
    roots: Vec<String>,
    /// host:port to accept data connections on; port 0 picks one, an empty text accepts none (other nodes are dialled then).
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:0")]
    data_listen: String,
    /// host:port at which other nodes reach this one, when it differs from where it listens; again for more.
    #[arg(long, value_name = "ADDRESS")]
    data_advertise: Vec<String>,
    #[command(flatten)]
    state: StateArgs,
}

#[derive(Args)]
pub(super) struct Run {
    #[command(flatten)]
    state: StateArgs,
}

impl Join {
    pub(super) async fn run(self, out: &Out) -> Result<Exit, Problem> {
        let token: JoinToken = self.token.parse()?;
        let roots = self
            .roots
            .iter()
            .map(|text| RootConfig::parse(text))
            .collect::<Result<Vec<_>, _>>()?;
        for said in roots.iter().filter_map(RootConfig::unwritable) {
            Out::warn(&said);
        }
        let state = StateDir::open(&self.state.dir)?;
        let _held = state.hold()?;
        if Config::load(&state)?.is_some_and(|config| config.hub.is_some()) {
            let message = format!(
                "the node in `{}` has joined a service already: `run` it, or give another `--state` folder",
                state.path().display()
            );
            return Err(Problem::new(ControlCode::ConfigInvalid, message));
        }
        let data = DataConfig {
            listen: self.data_listen,
            advertise: self.data_advertise,
            ..DataConfig::default()
        };
        let name = self.name.unwrap_or_else(host_name);
        node::join(&state, &token, &name, roots, data).await?;
        serve(&state, out).await
    }
}

impl Run {
    pub(super) async fn run(self, out: &Out) -> Result<Exit, Problem> {
        let state = StateDir::open(&self.state.dir)?;
        let _held = state.hold()?;
        serve(&state, out).await
    }
}

/// Runs until the process is asked to end. Says once that the node is attached.
async fn serve(state: &StateDir, out: &Out) -> Result<Exit, Problem> {
    let no_signals =
        |error: std::io::Error| Problem::new(ControlCode::Internal, format!("no signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let config = Config::load(state)?.unwrap_or_default();
    let mover = DataMover::start(state, node_key(state)?, &config.data)?;
    let node = Node::start(state, system_clock(), mover)?;
    let mut attachment = node.attachment();
    let attached = async {
        // The sender lives as long as the node.
        let _ = attachment.wait_for(Result::is_ok).await;
        let roots: Vec<&str> = config.roots.iter().map(|root| root.name.as_str()).collect();
        let document =
            json!({"node": node.key(), "name": config.name, "roots": roots, "attached": true});
        let exported = if roots.is_empty() {
            "nothing".to_owned()
        } else {
            roots.join(", ")
        };
        out.say(
            &document,
            &format!(
                "{} is attached as {} and exports {exported}",
                config.name,
                node.key()
            ),
        );
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = attached => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    node.close().await;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_node_whose_state_folder_is_in_use_does_not_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = StateDir::open(folder.path()).and_then(|state| state.hold());
        let held = held.expect("a state folder");
        let dir = folder.path().to_owned();
        let run = Run {
            state: StateArgs { dir },
        };
        let refused = run.run(&Out { json: false }).await.expect_err("refused");
        assert!(refused.message.contains("another process runs the node in"));
        drop(held);
    }
}
