//! `keygen`: the personal key that `cp` signs with.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{Exit, Out, user_folder};
use crate::problem::{ControlCode, Problem};
use crate::state::{KeyOwner, StateDir, read_key, write_new_key};

#[derive(Args)]
pub(super) struct Keygen {
    /// File for the key (mode 0600); it must not exist.
    #[arg(long, short, default_value_os_t = default_key(), value_name = "FILE")]
    output: PathBuf,
    /// Make nothing; show the public half of the key that is there.
    #[arg(long)]
    show: bool,
}

impl Keygen {
    pub(super) fn run(self, out: &Out) -> Result<Exit, Problem> {
        let path = self.output;
        let key = match (read_key(&path, KeyOwner::Person)?, self.show) {
            (Some(key), true) => key,
            (Some(_), false) => {
                let message = format!(
                    "`{}` holds a key already: `--show` shows its public half",
                    path.display()
                );
                return Err(Problem::new(ControlCode::BadArgument, message));
            }
            (None, true) => {
                let message = format!(
                    "there is no key in `{}`: `keygen` makes one",
                    path.display()
                );
                return Err(Problem::new(ControlCode::BadArgument, message));
            }
            (None, false) => {
                StateDir::open(
                    path.parent()
                        .filter(|parent| *parent != Path::new(""))
                        .unwrap_or(Path::new(".")),
                )?;
                write_new_key(&path)?
            }
        };
        let public = key.public().to_string();
        out.say(&json!({"key": public, "file": path}), &public);
        Ok(Exit::Done)
    }
}

/// Where the personal key is when nobody says otherwise.
pub(super) fn default_key() -> PathBuf {
    user_folder("XDG_CONFIG_HOME", ".config")
        .join("headrace")
        .join("personal.key")
}
