//! `root list|add|remove`: what a node exports.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Exit, Out, StateArgs};
use crate::accounts::Accounts;
use crate::config::{Config, RootConfig};
use crate::problem::{ControlCode, Problem};
use crate::state::StateDir;

#[derive(Subcommand)]
pub(super) enum Root {
    /// List the roots.
    List(List),
    /// Export a folder, or change one of the same name.
    Add(Add),
    /// Export a folder no longer. Nothing in it is touched.
    Remove(Remove),
}

#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    state: StateArgs,
}

#[derive(Args)]
pub(super) struct Add {
    /// `name=path[:read|write|delete]`; without the last part it is `read`.
    root: String,
    #[command(flatten)]
    state: StateArgs,
}

#[derive(Args)]
pub(super) struct Remove {
    /// Name of the root.
    name: String,
    #[command(flatten)]
    state: StateArgs,
}

impl Root {
    pub(super) fn run(self, out: &Out) -> Result<Exit, Problem> {
        match self {
            Self::List(List { state }) => {
                let (_, config) = load(&state)?;
                let line = |root: &RootConfig| {
                    let accounts = match &root.accounts {
                        Accounts::Node => String::new(),
                        mapped @ Accounts::Mapped(_) => format!(", as {mapped}"),
                    };
                    let path = root.path.display();
                    format!("{}={path}:{}{accounts}", root.name, root.access)
                };
                let lines: Vec<String> = config.roots.iter().map(line).collect();
                out.say(&json!({"roots": config.roots}), &lines.join("\n"));
            }
            Self::Add(Add { root, state }) => {
                let (state, mut config) = load(&state)?;
                let mut root = RootConfig::parse(&root)?;
                if let Some(before) = config.roots.iter().find(|other| other.name == root.name) {
                    // Else what people did as themselves, they would do as the node from now on.
                    root.accounts = before.accounts.clone();
                }
                config.roots.retain(|other| other.name != root.name);
                let said = format!(
                    "`{}` exports {} ({})",
                    root.name,
                    root.path.display(),
                    root.access
                );
                let unwritable = root.unwritable();
                config.roots.push(root);
                config.save(&state)?;
                if let Some(said) = unwritable {
                    Out::warn(&said);
                }
                out.say(&json!({"roots": config.roots}), &said);
            }
            Self::Remove(Remove { name, state }) => {
                let (state, mut config) = load(&state)?;
                let before = config.roots.len();
                config.roots.retain(|root| root.name != name);
                if config.roots.len() == before {
                    return Err(Problem::new(
                        ControlCode::BadArgument,
                        format!("there is no root `{name}`"),
                    ));
                }
                config.save(&state)?;
                out.say(
                    &json!({"roots": config.roots}),
                    &format!("`{name}` is not exported any more"),
                );
            }
        }
        Ok(Exit::Done)
    }
}

pub(super) fn load(state: &StateArgs) -> Result<(StateDir, Config), Problem> {
    let state = StateDir::open(&state.dir)?;
    let config = Config::load(&state)?.ok_or_else(|| {
        let message = format!(
            "there is no node in `{}`: `join` first, or give its `--state`",
            state.path().display()
        );
        Problem::new(ControlCode::ConfigInvalid, message)
    })?;
    Ok((state, config))
}
