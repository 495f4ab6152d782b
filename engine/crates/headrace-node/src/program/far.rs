//! The programs on the other machine of a `cp`: `--stdio` for one session over ssh, `listen` as a standing node.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use headrace_core::sealed::PublicKey;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use super::{Exit, Out, StateArgs};
use crate::config::{Config, DataConfig, RootConfig};
use crate::cp::far::{Far, Standing};
use crate::node::data_mover::DataMover;
use crate::node::mover::Mover as _;
use crate::node::node_key;
use crate::problem::{ControlCode, Problem};
use crate::state::StateDir;
use crate::transport::Acceptor;

/// Sessions at once; more wait.
const MAX_SESSIONS: usize = 16;

#[derive(Args)]
pub(super) struct Stdio {
    /// Serve only whoever signs with this personal key; again for more. For forced commands in `authorized_keys`.
    #[arg(long, value_name = "KEY")]
    accept: Vec<PublicKey>,
    #[command(flatten)]
    state: StateArgs,
}

#[derive(Args)]
pub(super) struct Listen {
    /// A folder to export, as `name=path[:read|write]`; again for more. Without the last part it is `read`.
    #[arg(long = "root", value_name = "NAME=PATH[:ACCESS]", required = true)]
    roots: Vec<String>,
    /// A personal public key (`keygen --show`) whose permits and tickets are obeyed; again for more.
    #[arg(long, value_name = "KEY", required = true)]
    accept: Vec<PublicKey>,
    /// host:port to listen on for `cp`; port 0 picks one.
    #[arg(
        long = "listen",
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8473"
    )]
    control: String,
    /// host:port to accept data connections on; port 0 picks one, an empty text accepts none.
    #[arg(
        long = "data-listen",
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8474"
    )]
    data: String,
    #[command(flatten)]
    state: StateArgs,
}

impl Stdio {
    pub(super) async fn run(self) -> Result<Exit, Problem> {
        let far = Far {
            state: StateDir::open(&self.state.dir)?,
            accept: Some(self.accept).filter(|keys| !keys.is_empty()),
            standing: None,
        };
        let pipe = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
        match far.serve(Box::new(pipe), ssh_client(), None).await {
            Ok(()) => Ok(Exit::Done),
            Err(problem) => {
                // The other side was told, where it could be; our error output would tell it again.
                tracing::debug!(code = %problem.code, "{problem}");
                Ok(Exit::Failed)
            }
        }
    }
}

impl Listen {
    pub(super) async fn run(self, out: &Out) -> Result<Exit, Problem> {
        let state = StateDir::open(&self.state.dir)?;
        refuse_site(&state)?;
        let roots = self
            .roots
            .iter()
            .map(|text| RootConfig::parse(text))
            .collect::<Result<Vec<_>, _>>()?;
        let bad = |error: std::io::Error| {
            let message = format!("can't listen on `{}`: {error}", self.control);
            Problem::new(ControlCode::BadArgument, message)
        };
        let listener = TcpListener::bind(&self.control).await.map_err(bad)?;
        let address = listener.local_addr().map_err(bad)?;
        let key = node_key(&state)?;
        let data = DataConfig {
            listen: self.data,
            ..DataConfig::default()
        };
        let mover = DataMover::start(&state, key.clone(), &data)?;
        let names: Vec<&str> = roots.iter().map(|root| root.name.as_str()).collect();
        let document = json!({
            "node": key.public(), "address": address.to_string(), "roots": names,
            "data_address": mover.data_address().map(|address| address.to_string()),
        });
        let sentence = format!(
            "listening on {address} and exporting {}: `headrace cp node://HOST:{}/{}/ DEST --pin {}`",
            names.join(", "),
            address.port(),
            names.first().unwrap_or(&"ROOT"),
            key.public(),
        );
        out.say(&document, &sentence);
        let acceptor = Acceptor::new(&[&key])?;
        let standing = Standing { roots, key, mover };
        let far = Arc::new(Far {
            state,
            accept: Some(self.accept),
            standing: Some(standing),
        });
        let no_signals = |error: std::io::Error| {
            Problem::new(ControlCode::Internal, format!("no signals: {error}"))
        };
        let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
        tokio::select! {
            () = accept(listener, acceptor, far) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(Exit::Done)
    }
}

async fn accept(listener: TcpListener, acceptor: Acceptor, far: Arc<Far>) {
    let places = Arc::new(Semaphore::new(MAX_SESSIONS));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, or the peer was gone already: neither gets better by hurrying.
                tracing::warn!("can't accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (acceptor, far) = (acceptor.clone(), Arc::clone(&far));
        tokio::spawn(async move {
            let served = match acceptor.accept((stream, from), place).await {
                Ok(wire) => {
                    let key = wire.peer();
                    far.serve(Box::new(wire), Some(from.ip()), Some(key)).await
                }
                Err(broken) => {
                    return tracing::info!(%from, "a handshake failed: {}", broken.error);
                }
            };
            if let Err(problem) = served {
                tracing::warn!(%from, code = %problem.code, "a session ended: {problem}");
            }
        });
    }
}

/// A node of a service obeys that service: its key and roots are nobody's own.
fn refuse_site(state: &StateDir) -> Result<(), Problem> {
    if Config::load(state)?.is_none() {
        return Ok(());
    }
    let message = format!(
        "`{}` is the state folder of a node that belongs to a service, whose roots never obey a personal key: give another \
         `--state` folder",
        state.path().display()
    );
    Err(Problem::new(ControlCode::ConfigInvalid, message))
}

/// Where ssh came from, as its server says.
fn ssh_client() -> Option<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split(' ').next()?.parse().ok()
}
