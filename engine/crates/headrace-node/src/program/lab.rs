//! `lab start|list|run|stop`: hosts on this machine, joined by paths as long, slow and lossy as asked for.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use headrace_lab::{Host, Lab as Running, LabError, LabState, enter, labs, stop};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::{Exit, Out};
use crate::problem::{ControlCode, Problem};

#[derive(Subcommand)]
pub(super) enum Lab {
    /// Start hosts and stay until Ctrl-C or `lab stop`; then everything that was started in them ends, too.
    Start(Start),
    /// List the labs that run on this machine, and their hosts.
    List(List),
    /// Run a command in a host.
    Run(Run),
    /// End a lab and what runs in it, also what a killed one has left.
    Stop(Stop),
}

#[derive(Args)]
struct Which {
    /// What the lab is called.
    #[arg(long, default_value = "lab", value_name = "NAME")]
    lab: String,
    #[command(flatten)]
    folder: Folder,
}

#[derive(Args)]
struct Folder {
    /// Where labs leave word of themselves.
    #[arg(long = "folder", hide = true, default_value = "/run/headrace-lab")]
    path: PathBuf,
}

#[derive(Args)]
pub(super) struct Start {
    /// `NAME[:rtt=50ms,rate=1Gb/s,loss=0.1%,queue=8MiB,buffers=256MiB]`: the round trip to the middle of the lab, what the line carries each
    /// way, the share of packets that it loses, what waits before it, and what a TCP socket of the host may buffer.
    #[arg(required = true)]
    hosts: Vec<Host>,
    /// Bytes of the largest packet.
    #[arg(long, default_value_t = 1500, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(576..=9000))]
    mtu: u16,
    /// End when standard input ends: with the program that has started the lab.
    #[arg(long)]
    until_eof: bool,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    folder: Folder,
}

#[derive(Args)]
pub(super) struct Run {
    /// Which host.
    host: String,
    /// The command, after `--`.
    #[arg(last = true, required = true)]
    command: Vec<std::ffi::OsString>,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
pub(super) struct Stop {
    #[command(flatten)]
    which: Which,
}

impl Lab {
    pub(super) fn run(self, out: &Out) -> Result<Exit, Problem> {
        match self {
            Self::Start(start) => super::runtime()?.block_on(start.run(out)),
            Self::List(List { folder }) => {
                let found = labs(&folder.path).map_err(|error| trouble(&error))?;
                let lines: Vec<String> = found.iter().map(describe).collect();
                out.say(&json!({"labs": found}), &lines.join("\n"));
                Ok(Exit::Done)
            }
            Self::Run(run) => Err(run.replace_this_process()),
            Self::Stop(Stop { which }) => {
                let ended =
                    stop(&which.folder.path, &which.lab).map_err(|error| problem(&error))?;
                let said = if ended { "ended" } else { "was not there" };
                out.say(
                    &json!({"ended": ended}),
                    &format!("lab `{}` {said}", which.lab),
                );
                Ok(Exit::Done)
            }
        }
    }
}

impl Start {
    async fn run(self, out: &Out) -> Result<Exit, Problem> {
        let Self {
            hosts,
            mtu,
            until_eof,
            which,
        } = self;
        let listen = |kind| signal(kind).map_err(|error| trouble(&error));
        let (mut interrupt, mut terminate) = (
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
        );
        let lab = Running::start(&which.folder.path, &which.lab, &hosts, mtu);
        let lab = lab.map_err(|error| problem(&error))?;
        out.say(&json!(lab.state()), &describe(lab.state()));
        let (closed, input) = tokio::sync::oneshot::channel::<()>();
        if until_eof {
            std::thread::spawn(move || {
                let mut ignored = [0; 64];
                while std::io::stdin()
                    .read(&mut ignored)
                    .is_ok_and(|count| count > 0)
                {}
                drop(closed);
            });
        } else {
            std::mem::forget(closed);
        }
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = input => {}
        }
        drop(lab);
        Ok(Exit::Done)
    }
}

impl Run {
    /// Become the command; comes back only when that fails.
    fn replace_this_process(self) -> Problem {
        let Self {
            host,
            command,
            which,
        } = self;
        let (mark, id) = match enter(&which.folder.path, &which.lab, &host) {
            Ok(marked) => marked,
            Err(error) => return problem(&error),
        };
        let Some((program, arguments)) = command.split_first() else {
            return Problem::new(ControlCode::BadArgument, "no command");
        };
        let error = std::process::Command::new(program)
            .args(arguments)
            .env(mark, id)
            .exec();
        let message = format!("`{}` could not be run: {error}", program.to_string_lossy());
        Problem::new(ControlCode::BadArgument, message)
    }
}

fn describe(lab: &LabState) -> String {
    let mut lines = vec![format!("lab `{}`, process {}", lab.name, lab.process)];
    let host =
        |host: &headrace_lab::HostState| format!("  {} {}: {}", host.name, host.address, host.line);
    lines.extend(lab.hosts.iter().map(host));
    lines.join("\n")
}

fn problem(error: &LabError) -> Problem {
    match error {
        LabError::Asked(message) => Problem::new(ControlCode::BadArgument, message.clone()),
        other => trouble(other),
    }
}

fn trouble(error: &dyn std::error::Error) -> Problem {
    let mut message = error.to_string();
    if !rustix::process::geteuid().is_root() {
        message.push_str(": a lab needs the root account");
    }
    Problem::new(ControlCode::LabFailed, message)
}
