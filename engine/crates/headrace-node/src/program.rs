//! The command line: `headrace-node`, and `headrace node|cp|keygen|receipt|lab` through the Python binding.

mod accounts;
mod cp;
mod far;
mod keys;
mod lab;
mod receipt;
mod roots;
mod serve;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use headrace_core::text::visible;
use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;

use crate::problem::{ControlCode, Problem};

/// Moves data between machines: exports folders to a Headrace service, or copies between your own machines.
#[derive(Parser)]
#[command(name = "headrace-node", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Common {
    /// What to log to standard error: `info`, `debug`, or a filter such as `headrace_node=debug,warn`. Default: `info`
    /// for nodes, `error` for `cp`.
    #[arg(long, global = true, env = "HEADRACE_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// Write JSON documents to standard output, and nothing for people.
    #[arg(long, global = true)]
    json: bool,
    /// Run as the superuser all the same. Files that are written then belong to root, and no permission protects any.
    #[arg(long, global = true)]
    allow_root: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Join a service with a one-time token, then run.
    Join(serve::Join),
    /// Run a node that has joined.
    Run(serve::Run),
    /// Copy between your own machines over ssh, or on this one, without a service.
    Cp(Box<cp::Cp>),
    /// Stand ready for `cp` from machines that ssh does not connect: obeys your personal key and no service.
    Listen(far::Listen),
    /// What `cp` starts on the other machine: serves one session over standard input and output.
    #[command(name = "stdio", long_flag = "stdio", hide = true)]
    Stdio(far::Stdio),
    /// Show and change what a node exports. A running node takes changes up by itself.
    #[command(subcommand)]
    Root(roots::Root),
    /// Show as which local account a root works for somebody. Nothing is done there.
    Accounts(accounts::Accounts),
    /// Make the personal key that `cp` signs with.
    Keygen(keys::Keygen),
    /// Check what a transfer's receipt says.
    #[command(subcommand)]
    Receipt(receipt::Receipt),
    /// Join hosts on this machine by long, slow and lossy paths, and run programs in them.
    #[command(subcommand)]
    Lab(lab::Lab),
}

/// How a command ends; docs/cli.md lists the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Refused = 4,
    Partial = 6,
    Unreachable = 7,
    Interrupted = 130,
}

/// Where state is kept when nobody says otherwise.
#[derive(Args)]
struct StateArgs {
    /// Folder for the node's key, settings and journals (mode 0700).
    #[arg(long = "state", env = "HEADRACE_NODE_STATE", default_value_os_t = default_state(), value_name = "DIR")]
    dir: PathBuf,
}

/// Runs the command line in this process and gives its exit code. `arguments` are without the program's name, which help gives as
/// it was `called`.
pub fn main<I: IntoIterator<Item = T>, T: Into<OsString>>(
    called: Option<&str>,
    arguments: I,
) -> i32 {
    let arguments = std::iter::once(OsString::from(called.unwrap_or("headrace-node")))
        .chain(arguments.into_iter().map(Into::into));
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody to tell when standard output is closed.
            let _ = error.print();
            return error.exit_code();
        }
    };
    let out = Out {
        json: cli.common.json,
    };
    let quiet = matches!(cli.command, Command::Cp(_) | Command::Stdio(_));
    let log = cli.common.log.clone();
    let log = log.unwrap_or_else(|| if quiet { "error" } else { "info" }.to_owned());
    let exit = log_to_stderr(&log)
        .and_then(|()| run(cli, &out))
        .unwrap_or_else(|problem| {
            out.problem(&problem);
            exit_of(&problem)
        });
    exit as i32
}

fn run(cli: Cli, out: &Out) -> Result<Exit, Problem> {
    match cli.command {
        Command::Join(join) => {
            refuse_root(&cli.common)?;
            runtime()?.block_on(join.run(out))
        }
        Command::Run(run) => {
            refuse_root(&cli.common)?;
            runtime()?.block_on(run.run(out))
        }
        Command::Cp(cp) => runtime()?.block_on(cp.run(out)),
        Command::Listen(listen) => {
            refuse_root(&cli.common)?;
            runtime()?.block_on(listen.run(out))
        }
        Command::Stdio(stdio) => {
            let runtime = runtime()?;
            let exit = runtime.block_on(stdio.run());
            // Standard input is read by a thread that nobody can interrupt.
            runtime.shutdown_background();
            exit
        }
        Command::Root(root) => root.run(out),
        Command::Accounts(accounts) => accounts.run(out),
        Command::Keygen(keygen) => keygen.run(out),
        Command::Receipt(receipt) => receipt.run(out),
        Command::Lab(lab) => lab.run(out),
    }
}

/// What a command says.
struct Out {
    json: bool,
}

impl Out {
    /// A document for programs, or a sentence for people, which may hold names and words of others.
    fn say(&self, document: &Value, sentence: &str) {
        let mut stdout = std::io::stdout().lock();
        // Who closed our output does not want to know.
        let _ = if self.json {
            writeln!(stdout, "{document}")
        } else {
            sentence
                .lines()
                .try_for_each(|line| writeln!(stdout, "{}", visible(line)))
        };
        let _ = stdout.flush();
    }

    /// A sentence beside the result, for people.
    fn warn(said: &str) {
        let _ = writeln!(
            std::io::stderr(),
            "headrace-node: {}",
            visible(&without_number(said))
        );
    }

    fn problem(&self, problem: &Problem) {
        let said = without_number(&problem.to_string());
        let _ = writeln!(std::io::stderr(), "headrace-node: {}", visible(&said));
        if self.json {
            let Problem {
                code,
                message,
                retryable,
            } = problem;
            let document = json!({"code": code, "message": message, "retryable": retryable});
            let _ = writeln!(std::io::stdout(), "{document}");
        }
    }
}

/// What a problem says without the number of the system's error, whose words it has as well.
fn without_number(said: &str) -> String {
    let mut rest = said;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once(" (os error ") {
        plain.push_str(before);
        let digits = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        rest = digits.strip_prefix(')').unwrap_or(digits);
    }
    plain + rest
}

fn exit_of(problem: &Problem) -> Exit {
    match &*problem.code {
        "bad_argument" | "token_malformed" => Exit::Usage,
        "account_unmapped" | "account_unusable" | "destination_exists" | "join_refused"
        | "key_refused" | "permit_foreign" | "root_access" | "root_is_superuser"
        | "ticket_foreign" | "wrong_peer_key" => Exit::Refused,
        "hub_unreachable"
        | "join_timeout"
        | "no_data_path"
        | "node_unreachable"
        | "peer_unreachable"
        | "remote_program_missing"
        | "ssh_failed"
        | "ssh_missing" => Exit::Unreachable,
        _ => Exit::Failed,
    }
}

/// Writes what is logged in this process to standard error: `filter` is a level, or `target=level,...`.
///
/// # Errors
/// `bad_argument` when it is neither.
pub fn log_to_stderr(filter: &str) -> Result<(), Problem> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Problem::new(
            ControlCode::BadArgument,
            format!("`{filter}` is not a log filter: {error}"),
        )
    })?;
    // In a process that has a subscriber already (tests, a service), that one stays.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
    Ok(())
}

fn refuse_root(common: &Common) -> Result<(), Problem> {
    if common.allow_root || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let message =
        "this runs as root: use an account of its own, or say `--allow-root` if you mean it";
    Err(Problem::new(ControlCode::RootIsSuperuser, message))
}

fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| Problem::new(ControlCode::Internal, format!("no threads: {error}")))
}

fn default_state() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/headrace-node");
    }
    user_folder("XDG_STATE_HOME", ".local/state").join("headrace-node")
}

/// A folder of this person, as the XDG base directories have it.
fn user_folder(variable: &str, below_home: &str) -> PathBuf {
    let set = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    set.unwrap_or_else(|| {
        std::env::home_dir()
            .unwrap_or_else(|| PathBuf::from("/"))
            .join(below_home)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn wrong_usage_ends_with_2_and_help_with_0() {
        assert_eq!(main(None, ["--help"]), 0);
        assert_eq!(main(None, ["frobnicate"]), 2);
        assert_eq!(main(None, ["--log", "a=b=c", "keygen", "--show"]), 2);
        assert_eq!(
            main(None, ["join", "no-token", "--name", "x", "--allow-root"]),
            2
        );
    }
}
