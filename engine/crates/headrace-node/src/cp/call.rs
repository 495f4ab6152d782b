//! Greets the program on the other machine and finds a way for the data.

use std::sync::Arc;
use std::time::Duration;

use headrace_core::name::escape;
use headrace_core::sealed::SigningKey;
use headrace_core::value::Id;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Copying;
use super::export::{self, Exported};
use super::far::PROBE_TIMEOUT;
use super::greeting::{Found, FromFar, Ready, Side, ToFar, Wish, receive, send};
use super::place::Place;
use super::show::note;
use super::ssh::{Running, Ssh};
use crate::config::DataConfig;
use crate::node::data_mover::DataMover;
use crate::node::mover::Mover as _;
use crate::problem::{ControlCode, Problem};
use crate::state::StateDir;
use crate::transport::{self, Wire};

/// How long the other machine may take to answer; a person may be asked for a password meanwhile.
const PATIENCE: Duration = Duration::from_mins(3);

/// How data gets from one machine to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Both ends are on this machine.
    Here,
    /// This machine dials the other.
    Dialled,
    /// The other machine dials this one.
    CalledBack,
    /// ssh forwards a port, because nothing else was reached, or because it was asked for.
    ThroughSsh,
}

impl Way {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Here => "local",
            Self::Dialled => "dialled",
            Self::CalledBack => "called-back",
            Self::ThroughSsh => "through-ssh",
        }
    }
}

/// The program on the other machine, which waits for `Go`.
pub(super) struct Called {
    pub(super) wire: Box<dyn Wire>,
    pub(super) ready: Ready,
    /// Name or address of the machine, for data.
    host: Option<String>,
    pub(super) ssh: Option<(Ssh, Running)>,
}

/// One end of a copy, found.
pub(super) enum Party {
    Here(Exported),
    There(Box<Called>),
}

/// How data will go, and what the node here needs for it.
pub(super) struct Path {
    pub(super) way: Way,
    pub(super) mover: Arc<DataMover>,
    pub(super) data: DataConfig,
    pub(super) forward: Option<Running>,
}

impl Party {
    /// What is at a source.
    pub(super) fn found(&self) -> Option<Found> {
        match self {
            Self::Here(exported) => exported.found.clone(),
            Self::There(called) => called.ready.found.clone(),
        }
    }
}

/// Finds one end of a copy, on this machine or by asking the program on the other.
pub(super) async fn party(
    copying: &Copying,
    job: &Id,
    side: Side,
    place: &Place,
    source: Option<Found>,
) -> Result<Party, Problem> {
    let (root, path) = match place {
        Place::Here(path) => (None, path.as_os_str()),
        Place::Ssh { path, .. } => (None, path.as_os_str()),
        Place::Node { root, path, .. } => (Some(root.clone()), path.as_os_str()),
    };
    let wish = Wish {
        side,
        root,
        path: escape(path.as_encoded_bytes()),
        source,
    };
    let (mut wire, host, ssh) = match place {
        Place::Here(_) => return Ok(Party::Here(export::find(&wish, None)?)),
        Place::Ssh { host, .. } => {
            let ssh = Ssh {
                host: host.clone(),
                config: copying.ssh_config.clone(),
                remote_program: copying.remote_program.clone(),
            };
            let (wire, running) = ssh.start()?;
            (wire, ssh.address().await, Some((ssh, running)))
        }
        Place::Node { address, .. } => {
            let wire = dial(address, copying).await?;
            let host = address.rsplit_once(':').map(|(host, _)| host.to_owned());
            (wire, host, None)
        }
    };
    let ask = ToFar::Ask {
        authority: copying.signer.key.public(),
        job: job.clone(),
        wish,
        loopback: copying.through_ssh,
    };
    let answer = async {
        send(&mut wire, &ask).await?;
        receive(&mut wire, PATIENCE).await
    };
    match (answer.await, ssh) {
        (Ok(answer), ssh) => {
            let answer: FromFar = answer;
            let named = |problem: Problem| Problem {
                message: format!("`{place}`: {}", problem.message),
                ..problem
            };
            let FromFar::Ready(ready) = answer.or_refused().map_err(named)? else {
                return Err(violation());
            };
            Ok(Party::There(Box::new(Called {
                wire,
                ready,
                host,
                ssh,
            })))
        }
        (Err(problem), Some((_, mut ssh))) if problem.is(ControlCode::NodeUnreachable) => {
            Err(ssh.why().await)
        }
        (Err(problem), _) => Err(problem),
    }
}

async fn dial(address: &str, copying: &Copying) -> Result<Box<dyn Wire>, Problem> {
    let Some(pin) = copying.pin else {
        let message = format!(
            "`node://{address}` needs `--pin KEY`: the key that `headrace-node listen` shows there"
        );
        return Err(Problem::new(ControlCode::BadArgument, message));
    };
    let dialled = transport::dial(address, pin, &copying.signer.key).await;
    let (wire, _) = dialled.map_err(|problem| {
        if problem.is(ControlCode::WrongPeerKey) {
            return problem;
        }
        let message = format!("no node with the key {pin} answers at `{address}`: {problem}");
        Problem::new(ControlCode::NodeUnreachable, message)
    })?;
    Ok(wire)
}

impl Path {
    /// A copy on this machine needs no connections.
    pub(super) fn here(state: &StateDir, key: &SigningKey) -> Result<Self, Problem> {
        Ok(Self {
            way: Way::Here,
            mover: DataMover::start(state, key.clone(), &silent())?,
            data: silent(),
            forward: None,
        })
    }
}

impl Called {
    /// Finds a way for the data and lets the other program begin.
    pub(super) async fn path(
        &mut self,
        copying: &Copying,
        state: &StateDir,
        key: &SigningKey,
    ) -> Result<Path, Problem> {
        let theirs = self
            .host
            .as_ref()
            .zip(self.ready.data_port)
            .map(|(host, port)| address(host, port));
        if !copying.through_ssh {
            if let Some(theirs) = theirs
                && matches!(
                    timeout(PROBE_TIMEOUT, TcpStream::connect(&theirs)).await,
                    Ok(Ok(_))
                )
            {
                let mover = DataMover::start(state, key.clone(), &silent())?;
                return self
                    .go(Way::Dialled, vec![theirs], mover, silent(), None)
                    .await;
            }
            let mut data = DataConfig::default();
            let mover = DataMover::start(state, key.clone(), &data)?;
            if let Some(ours) = self.calls_back(&mover).await? {
                data.advertise = vec![ours];
                return self
                    .go(Way::CalledBack, Vec::new(), mover, data, None)
                    .await;
            }
        }
        let (Some((ssh, _)), Some(port)) = (&self.ssh, self.ready.data_port) else {
            let message = "neither machine reaches a data port of the other: open the one that `--data-listen` names there";
            return Err(Problem::new(ControlCode::NoDataPath, message));
        };
        note(if copying.through_ssh {
            "data goes through ssh, as you asked"
        } else {
            "neither machine reaches a data port of the other: data goes through ssh, which is slower"
        });
        let (port, forward) = ssh.forward(port).await?;
        let mover = DataMover::start(state, key.clone(), &silent())?;
        let theirs = vec![address("127.0.0.1", port)];
        self.go(Way::ThroughSsh, theirs, mover, silent(), Some(forward))
            .await
    }

    /// Our address, when the other machine reaches it.
    async fn calls_back(&mut self, mover: &DataMover) -> Result<Option<String>, Problem> {
        let Some(ours) = mover.data_address() else {
            return Ok(None);
        };
        send(&mut self.wire, &ToFar::Probe { port: ours.port() }).await?;
        let answer: FromFar = receive(&mut self.wire, PATIENCE).await?;
        match answer.or_refused()? {
            FromFar::Probed { address } => Ok(address),
            _ => Err(violation()),
        }
    }

    async fn go(
        &mut self,
        way: Way,
        advertise: Vec<String>,
        mover: Arc<DataMover>,
        data: DataConfig,
        forward: Option<Running>,
    ) -> Result<Path, Problem> {
        send(&mut self.wire, &ToFar::Go { advertise }).await?;
        Ok(Path {
            way,
            mover,
            data,
            forward,
        })
    }
}

/// A node that accepts no data connections.
fn silent() -> DataConfig {
    DataConfig {
        listen: String::new(),
        ..DataConfig::default()
    }
}

fn address(host: &str, port: u16) -> String {
    let host = host.trim_matches(['[', ']']);
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

fn violation() -> Problem {
    let message = "the program on the other machine answers something else than it was asked";
    Problem::new(ControlCode::ProtocolViolation, message)
}
