//! The program on the other machine: for one session it exports what is asked for and obeys one person's key.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use headrace_core::access::{Access, Authority};
use headrace_core::sealed::{PublicKey, SigningKey};
use headrace_core::value::Id;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::export::{self, Exported};
use super::greeting::{FromFar, Ready, ToFar, Wish, check_addresses, receive, send};
use super::job::Job;
use crate::accounts::Accounts;
use crate::config::{Config, DataConfig, RootConfig};
use crate::node::data_mover::DataMover;
use crate::node::mover::Mover as _;
use crate::node::{Node, node_key};
use crate::problem::{ControlCode, Problem};
use crate::state::StateDir;
use crate::transport::{Wire, system_clock};

/// How long the other side may take to say something; a person may be asked for a password meanwhile.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long an address may take to answer.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// What this program serves.
pub(crate) struct Far {
    /// Where journals are kept.
    pub(crate) state: StateDir,
    /// Whose word counts; `None` is whom ssh has let into this account.
    pub(crate) accept: Option<Vec<PublicKey>>,
    /// What a standing node exports; `None` is any path of this account, in a session over ssh.
    pub(crate) standing: Option<Standing>,
}

/// A node that is there before anybody asks.
pub(crate) struct Standing {
    pub(crate) roots: Vec<RootConfig>,
    pub(crate) key: SigningKey,
    pub(crate) mover: Arc<DataMover>,
}

/// A session that can begin.
struct Session {
    job: Job,
    key: SigningKey,
    mover: Arc<DataMover>,
    config: Config,
    ready: Ready,
}

impl Far {
    /// Serves one session to its end. `caller` is where the other program is, `proven` the key it proved to hold.
    ///
    /// # Errors
    /// Why it ended early; the other side was told.
    pub(crate) async fn serve(
        &self,
        mut wire: Box<dyn Wire>,
        caller: Option<IpAddr>,
        proven: Option<PublicKey>,
    ) -> Result<(), Problem> {
        let Session {
            job,
            key,
            mover,
            mut config,
            ready,
        } = match self.begin(&mut wire, proven).await {
            Ok(session) => session,
            Err(problem) => {
                send(&mut wire, &FromFar::from(problem.clone())).await?;
                return Err(problem);
            }
        };
        send(&mut wire, &FromFar::Ready(ready)).await?;
        config.data.advertise = loop {
            match receive(&mut wire, PATIENCE).await? {
                ToFar::Probe { port } => {
                    let address = reached(caller, port).await;
                    send(&mut wire, &FromFar::Probed { address }).await?;
                }
                ToFar::Go { advertise } => break advertise,
                ToFar::Ask { .. } => return Err(violation("it asks twice")),
            }
        };
        check_addresses(&config.data.advertise)?;
        if config.data.advertise.is_empty() {
            config.data.listen = String::new();
        }
        let mut node = Node::start_over(wire, key, &job.state, config, system_clock(), mover)?;
        node.finished().await;
        node.close().await;
        if nothing_left(&job) {
            job.remove();
        }
        Ok(())
    }

    async fn begin(
        &self,
        wire: &mut Box<dyn Wire>,
        proven: Option<PublicKey>,
    ) -> Result<Session, Problem> {
        let ToFar::Ask {
            authority,
            job,
            wish,
            loopback,
        } = receive(wire, PATIENCE).await?
        else {
            return Err(violation("it does not begin with what it wants"));
        };
        self.check(authority, proven)?;
        let roots = self
            .standing
            .as_ref()
            .map(|standing| standing.roots.clone());
        let wanted = wish.clone();
        let found =
            tokio::task::spawn_blocking(move || export::find(&wanted, roots.as_deref())).await;
        let found =
            found.map_err(|error| Problem::new(ControlCode::Internal, error.to_string()))??;
        self.session(authority, &job, &wish, found, loopback).await
    }

    /// Who asks is who signs, and this node obeys that key.
    fn check(&self, authority: PublicKey, proven: Option<PublicKey>) -> Result<(), Problem> {
        let accepted = self
            .accept
            .as_ref()
            .is_none_or(|keys| keys.contains(&authority));
        if accepted && proven.is_none_or(|proven| proven == authority) {
            return Ok(());
        }
        let message = format!(
            "this node does not obey the key {authority}: let it be started with `--accept {authority}`"
        );
        Err(Problem::new(ControlCode::KeyRefused, message))
    }

    async fn session(
        &self,
        authority: PublicKey,
        job: &Id,
        wish: &Wish,
        found: Exported,
        loopback: bool,
    ) -> Result<Session, Problem> {
        let folder = self
            .state
            .dir("far")?
            .join(format!("{job}-{}", wish.side.as_str()));
        let job = Job::open(folder).await?;
        let data = DataConfig {
            listen: if loopback { "127.0.0.1:0" } else { "0.0.0.0:0" }.to_owned(),
            ..DataConfig::default()
        };
        let (key, mover) = if let Some(standing) = &self.standing {
            (standing.key.clone(), Arc::clone(&standing.mover))
        } else {
            let key = node_key(&job.state)?;
            (key.clone(), DataMover::start(&job.state, key, &data)?)
        };
        let Exported { root, path, found } = found;
        let ready = Ready {
            node: key.public(),
            root: root.name.parse().map_err(|_| violation("a root's name"))?,
            path,
            found,
            data_port: mover.data_address().map(|address| address.port()),
        };
        let config = Config {
            name: "cp".to_owned(),
            hub: None,
            data,
            authorities: vec![Authority {
                key: authority,
                access: Access::Write,
                until: None,
            }],
            roots: vec![RootConfig {
                authorities: None,
                accounts: Accounts::Node,
                ..root
            }],
        };
        Ok(Session {
            job,
            key,
            mover,
            config,
            ready,
        })
    }
}

/// The address at which the caller's machine answers on this port.
async fn reached(caller: Option<IpAddr>, port: u16) -> Option<String> {
    let address = SocketAddr::new(caller?, port);
    let answered = timeout(PROBE_TIMEOUT, TcpStream::connect(address)).await;
    matches!(answered, Ok(Ok(_))).then(|| address.to_string())
}

/// Whether no transfer may be resumed from what is kept.
fn nothing_left(job: &Job) -> bool {
    let kept = job.state.join("transfers").join("transfers");
    std::fs::read_dir(kept).map_or(true, |mut folders| folders.next().is_none())
}

fn violation(detail: &str) -> Problem {
    Problem::new(
        ControlCode::ProtocolViolation,
        format!("the program of the other machine can't be understood: {detail}"),
    )
}

#[cfg(test)]
mod tests {
    use headrace_core::name::escape;

    use super::super::greeting::Side;
    use super::*;

    #[tokio::test]
    async fn invariant_1_who_asks_has_to_be_who_signs() {
        let folder = tempfile::tempdir().expect("a folder");
        let key = |seed: u8| SigningKey::from_seed(&[seed; 32]).public();
        let code = async |accept: Option<Vec<PublicKey>>, proven: Option<PublicKey>| {
            let far = Far {
                state: StateDir::open(&folder.path().join("state")).expect("a folder"),
                accept,
                standing: None,
            };
            let (near_end, far_end) = tokio::io::duplex(1 << 16);
            let mut wire: Box<dyn Wire> = Box::new(near_end);
            let ask = ToFar::Ask {
                authority: key(1),
                job: "cp_1".parse().expect("an id"),
                wish: Wish {
                    side: Side::Source,
                    root: None,
                    path: escape(folder.path().as_os_str().as_encoded_bytes()),
                    source: None,
                },
                loopback: true,
            };
            send(&mut wire, &ask).await.expect("room");
            let serving = far.serve(Box::new(far_end), None, proven);
            let asking = async {
                let answer: FromFar = receive(&mut wire, PATIENCE).await.expect("an answer");
                drop(wire);
                answer
                    .or_refused()
                    .map_err(|problem| problem.code.into_owned())
            };
            let (_, answer) = tokio::join!(serving, asking);
            answer.map(|_| ())
        };
        let refused = || Err("key_refused".to_owned());
        assert_eq!(code(None, None).await, Ok(()));
        assert_eq!(code(Some(vec![key(2), key(1)]), Some(key(1))).await, Ok(()));
        assert_eq!(code(Some(vec![key(2)]), Some(key(1))).await, refused());
        assert_eq!(
            code(Some(vec![key(2), key(1)]), Some(key(2))).await,
            refused()
        );
    }
}
