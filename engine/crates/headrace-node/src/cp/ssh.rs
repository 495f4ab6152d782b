//! ssh: starts our program on the other machine, and carries data when nothing else can.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use headrace_core::name::escape;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::problem::{ControlCode, Problem};
use crate::transport::Wire;

/// How long an ssh that lost its connection, or was told to end, may take to say why.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the rest of what an ssh that has ended said may take.
const HEAR_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a forwarded port may take to be there; a person may be asked for a password meanwhile.
const FORWARD_TRIES: u32 = 600;
const FORWARD_PAUSE: Duration = Duration::from_millis(100);
/// What is kept of what ssh said.
const MAX_SAID_BYTES: usize = 1000;
/// Longest line of it that is shown.
const MAX_LINE_BYTES: u64 = 4096;
/// Most bytes that `ssh -G` may print.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// How ssh is called.
#[derive(Debug, Clone)]
pub(crate) struct Ssh {
    /// `[user@]host`, or an alias of the configuration.
    pub(crate) host: String,
    /// Another configuration file than the person's own.
    pub(crate) config: Option<PathBuf>,
    /// The program there.
    pub(crate) remote_program: String,
}

/// An ssh that runs; it ends when this is dropped.
pub(crate) struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
    /// `None` once everything was heard.
    listening: Option<JoinHandle<()>>,
    ssh: Ssh,
}

impl Ssh {
    /// Starts our program on the other machine; gives its standard input and output.
    pub(crate) fn start(&self) -> Result<(Box<dyn Wire>, Running), Problem> {
        let mut command = self.command();
        command
            .args(["-T", "-x", "-a"])
            .args(["-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"])
            .arg("--")
            .arg(&self.host)
            .arg(format!("{} --stdio", quoted(&self.remote_program)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut running = self.spawn(command)?;
        let (Some(input), Some(output)) = (running.child.stdin.take(), running.child.stdout.take())
        else {
            return Err(Problem::new(ControlCode::Internal, "ssh has no pipes"));
        };
        Ok((Box::new(tokio::io::join(output, input)), running))
    }

    /// The name or address that ssh would connect to.
    pub(crate) async fn address(&self) -> Option<String> {
        let mut command = self.command();
        command.arg("-G").arg("--").arg(&self.host);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let mut settings = String::new();
        let mut output = child.stdout.take()?.take(MAX_SETTINGS_BYTES);
        timeout(END_TIMEOUT, output.read_to_string(&mut settings))
            .await
            .ok()?
            .ok()?;
        let address = settings
            .lines()
            .find_map(|line| line.strip_prefix("hostname "))?;
        Some(address.to_owned())
    }

    /// Forwards a port of this machine to a port of the other machine's loopback; gives ours.
    pub(crate) async fn forward(&self, port: u16) -> Result<(u16, Running), Problem> {
        let no_port = |error: std::io::Error| {
            Problem::new(ControlCode::SshFailed, format!("no port is free: {error}"))
        };
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(no_port)?;
        let ours = free.local_addr().map_err(no_port)?.port();
        drop(free);
        let mut command = self.command();
        command
            .args(["-T", "-x", "-a"])
            .args(["-o", "ExitOnForwardFailure=yes", "-o", "RemoteCommand=none"])
            .arg("-L")
            .arg(format!("127.0.0.1:{ours}:127.0.0.1:{port}"))
            .arg("--")
            .arg(&self.host)
            // Ends when its input does, so that nothing stays when this process is killed.
            .arg("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut running = self.spawn(command)?;
        for _ in 0..FORWARD_TRIES {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, ours))
                .await
                .is_ok()
            {
                return Ok((ours, running));
            }
            if !matches!(running.child.try_wait(), Ok(None)) {
                return Err(running.why().await);
            }
            tokio::time::sleep(FORWARD_PAUSE).await;
        }
        let message = format!("ssh to `{}` does not forward a port", self.host);
        Err(Problem::new(ControlCode::SshFailed, message))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(OsString::from("ssh"));
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        command.kill_on_drop(true);
        command
    }

    fn spawn(&self, mut command: Command) -> Result<Running, Problem> {
        let mut child =
            command
                .stderr(Stdio::piped())
                .spawn()
                .map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => Problem::new(
                        ControlCode::SshMissing,
                        "there is no `ssh` on this machine: install the OpenSSH client",
                    ),
                    _ => Problem::new(
                        ControlCode::SshFailed,
                        format!("ssh can't be started: {error}"),
                    ),
                })?;
        let said = Arc::default();
        let stderr = child.stderr.take();
        let listening = stderr.map(|stderr| tokio::spawn(listen(stderr, Arc::clone(&said))));
        Ok(Running {
            child,
            said,
            listening,
            ssh: self.clone(),
        })
    }
}

impl Running {
    /// Waits until ssh has ended by itself, and says why.
    pub(crate) async fn ended(&mut self) -> Problem {
        let status = self.child.wait().await;
        self.heard_all().await;
        match status {
            Ok(status) => self.problem(status),
            Err(error) => Problem::new(
                ControlCode::SshFailed,
                format!("ssh can't be waited for: {error}"),
            ),
        }
    }

    /// Why the connection broke; an ssh that does not know is ended.
    pub(crate) async fn why(&mut self) -> Problem {
        match timeout(END_TIMEOUT, self.ended()).await {
            Ok(problem) => problem,
            Err(_) => Problem::new(
                ControlCode::SshFailed,
                format!("ssh to `{}` does not answer", self.ssh.host),
            ),
        }
    }

    /// Lets the program there end in its own time, but not for ever.
    pub(crate) async fn finish(mut self) {
        let _ = timeout(END_TIMEOUT, self.child.wait()).await;
        self.heard_all().await;
    }

    async fn heard_all(&mut self) {
        if let Some(listening) = self.listening.take() {
            // A background process that ssh left (a control master) may keep its error output open.
            let _ = timeout(HEAR_TIMEOUT, listening).await;
        }
    }

    fn problem(&self, status: ExitStatus) -> Problem {
        let Ssh {
            host,
            remote_program,
            ..
        } = &self.ssh;
        let said = self.said.lock().clone();
        let said = if said.is_empty() {
            "it said nothing".to_owned()
        } else {
            format!("it said: {said}")
        };
        let (code, message) = match status.code() {
            Some(255) => (
                ControlCode::SshFailed,
                format!("ssh to `{host}` failed: try `ssh {host}` by hand; {said}"),
            ),
            Some(126 | 127) => (
                ControlCode::RemoteProgramMissing,
                format!(
                    "`{host}` has no program `{remote_program}`: copy the one binary `headrace-node` there, into a folder \
                     of its PATH, or name it with `--remote-program PATH`; {said}"
                ),
            ),
            Some(2) => (
                ControlCode::VersionUnsupported,
                format!(
                    "`{remote_program}` on `{host}` is another release: bring both to the same; {said}"
                ),
            ),
            _ => (
                ControlCode::NodeUnreachable,
                format!("`{remote_program}` on `{host}` ended ({status}); {said}"),
            ),
        };
        Problem::new(code, message)
    }
}

/// Shows what ssh says as it comes, and keeps the end of it. It is text from outside.
async fn listen(stderr: ChildStderr, said: Arc<Mutex<String>>) {
    let mut lines = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let read = (&mut lines)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .await;
        if !matches!(read, Ok(count) if count > 0) {
            return;
        }
        let line = escape(line.trim_ascii_end());
        super::show::note(&line);
        let mut said = said.lock();
        if !said.is_empty() {
            said.push_str("; ");
        }
        said.push_str(&line);
        let surplus = said.len().saturating_sub(MAX_SAID_BYTES);
        let surplus = said.ceil_char_boundary(surplus);
        said.drain(..surplus);
    }
}

/// One word of a POSIX shell; `~/` at its beginning is still the home folder there.
fn quoted(word: &str) -> String {
    let (home, rest) = word
        .strip_prefix("~/")
        .map_or(("", word), |rest| ("~/", rest));
    format!("{home}'{}'", rest.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_any_name_is_one_word_of_a_shell() {
        assert_eq!(quoted("/opt/a b/headrace-node"), "'/opt/a b/headrace-node'");
        assert_eq!(quoted("~/bin/x y"), "~/'bin/x y'");
        assert_eq!(quoted("a'; rm -rf x"), "'a'\\''; rm -rf x'");
    }
}
