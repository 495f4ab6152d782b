//! The command line of the `headrace-node` program; `headrace node` passes its words here, too.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, DataConfig, RootConfig};
use crate::node::data_mover::DataMover;
use crate::node::{Node, join, node_key};
use crate::problem::{ControlCode, Problem};
use crate::state::{StateDir, write_new_key};
use crate::token::JoinToken;
use crate::transport::system_clock;

/// Exit codes, as of every Headrace command.
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const UNREACHABLE: i32 = 7;

/// Moves data for a Headrace service: exports folders, and obeys signed permits and tickets only.
#[derive(Debug, Parser)]
#[command(name = "headrace-node", version, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: Command,
    /// What is logged to standard error, for example `info` or `headrace_node=debug`.
    #[arg(
        long,
        global = true,
        env = "HEADRACE_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    log: String,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Join a service with a one-time token, then run.
    Join(Join),
    /// Run a node that has joined.
    Run(Run),
    /// Show what this node exports; edit `node.toml` in its state folder to change it, a running node takes it up.
    Root(Common),
    /// Make a key file (mode 0600) and print its public half.
    Keygen(Keygen),
}

#[derive(Debug, Args)]
struct Common {
    /// Folder for the node's key, settings and journals.
    #[arg(
        long,
        value_name = "DIR",
        env = "HEADRACE_NODE_STATE",
        default_value = "/var/lib/headrace-node"
    )]
    state: PathBuf,
    /// Print one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    common: Common,
    /// Run as the superuser: every file is in reach, whatever its mode says.
    #[arg(long)]
    allow_root: bool,
}

#[derive(Debug, Args)]
struct Join {
    /// From `headrace node-token` on the service; good for one node and a limited time.
    token: String,
    /// What the node calls itself; default: the host's name.
    #[arg(long)]
    name: Option<String>,
    /// A folder to export: `name=path[:read|write|delete]`, `read` unless said otherwise. May be given several times.
    #[arg(long = "root", value_name = "ROOT", required = true)]
    roots: Vec<String>,
    /// host:port to accept data connections on; port 0 picks one, an empty text accepts none.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:0")]
    data_listen: String,
    /// host:port that other nodes shall dial, when it is not where the service sees this node. May be given several times.
    #[arg(long, value_name = "ADDRESS")]
    data_advertise: Vec<String>,
    #[command(flatten)]
    run: Run,
}

#[derive(Debug, Args)]
struct Keygen {
    /// The file to make; it must not exist.
    file: PathBuf,
    /// Print one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

/// Runs the program with its arguments (without its name); returns the exit code.
#[must_use]
pub fn main(arguments: Vec<String>) -> i32 {
    let words = std::iter::once("headrace-node".to_owned()).chain(arguments);
    let program = match Program::try_parse_from(words) {
        Ok(program) => program,
        Err(error) => {
            // Standard output or error may be closed; the exit code says it all the same.
            let _ = error.print();
            return if error.use_stderr() { USAGE } else { 0 };
        }
    };
    let filter = match EnvFilter::try_new(&program.log) {
        Ok(filter) => filter,
        Err(error) => return usage(&format!("`--log {}`: {error}", program.log)),
    };
    // Another part of this process may have set up logging first: then that is used.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return usage(&format!("can't start threads: {error}")),
    };
    match runtime.block_on(run(program.command)) {
        Ok(()) => 0,
        Err(problem) => {
            eprintln!("headrace-node: {problem} ({})", problem.code);
            if problem.is(ControlCode::HubUnreachable) {
                UNREACHABLE
            } else {
                FAILED
            }
        }
    }
}

async fn run(command: Command) -> Result<(), Problem> {
    match command {
        Command::Join(options) => {
            check_account(options.run.allow_root)?;
            let state = StateDir::open(&options.run.common.state)?;
            let token: JoinToken = options.token.parse()?;
            let roots = options
                .roots
                .iter()
                .map(|root| RootConfig::parse(root))
                .collect::<Result<Vec<_>, _>>()?;
            for root in &roots {
                root.open()?;
            }
            let data = DataConfig {
                listen: options.data_listen,
                advertise: options.data_advertise,
            };
            let name = options.name.unwrap_or_else(host_name);
            join(&state, &token, &name, roots, data).await?;
            serve(&state, options.run.common.json).await
        }
        Command::Run(options) => {
            check_account(options.allow_root)?;
            serve(&StateDir::open(&options.common.state)?, options.common.json).await
        }
        Command::Root(options) => show_roots(&StateDir::open(&options.state)?, options.json),
        Command::Keygen(options) => {
            let public = write_new_key(&options.file)?.public().to_string();
            let file = options.file.display().to_string();
            answer(
                options.json,
                &json!({"file": file, "key": public}),
                &format!("{public}\nThe key is in {file}; whoever has the file can sign with it."),
            );
            Ok(())
        }
    }
}

/// Stays attached until it is asked to end.
async fn serve(state: &StateDir, json: bool) -> Result<(), Problem> {
    let config = Config::load(state)?.unwrap_or_default();
    let mover = DataMover::start(state, node_key(state)?, &config.data)?;
    let node = Node::start(state, system_clock(), mover)?;
    let failed = |error: std::io::Error| {
        Problem::new(
            ControlCode::Internal,
            format!("can't wait for signals: {error}"),
        )
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut attachment = node.attachment();
    let attached = async {
        // The sender lives as long as the node.
        let _ = attachment.wait_for(Result::is_ok).await;
        let key = node.key().to_string();
        let roots: Vec<&str> = config.roots.iter().map(|root| root.name.as_str()).collect();
        let ready = json!({"node": key, "name": config.name, "roots": roots, "attached": true});
        answer(
            json,
            &ready,
            &format!(
                "{} is attached as {key}, and exports {}",
                config.name,
                roots.join(", ")
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
    Ok(())
}

fn show_roots(state: &StateDir, json: bool) -> Result<(), Problem> {
    let config = Config::load(state)?.unwrap_or_default();
    let rows: Vec<_> = config
        .roots
        .iter()
        .map(|root| json!({"name": root.name, "path": root.path, "access": root.access.as_str()}))
        .collect();
    let lines: Vec<String> = config
        .roots
        .iter()
        .map(|root| {
            format!(
                "{}={}:{}",
                root.name,
                root.path.display(),
                root.access.as_str()
            )
        })
        .collect();
    answer(json, &json!({"roots": rows}), &lines.join("\n"));
    Ok(())
}

/// The superuser reads and writes whatever the modes of files say, so it must be meant.
fn check_account(allow_root: bool) -> Result<(), Problem> {
    if rustix::process::geteuid().is_root() && !allow_root {
        let message = "this would run as the superuser, for whom every file is in reach: use an account of its own, or say `--allow-root`";
        return Err(Problem::new(ControlCode::RootIsSuperuser, message));
    }
    Ok(())
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

fn answer(json: bool, document: &serde_json::Value, text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    // Nobody may be reading any more; the work goes on.
    let _ = if json {
        writeln!(out, "{document}")
    } else {
        writeln!(out, "{text}")
    };
    let _ = out.flush();
}

fn usage(message: &str) -> i32 {
    eprintln!("headrace-node: {message}");
    USAGE
}
