//! A node: exports roots, stays attached to its hub, and obeys permits and tickets only.

mod attach;
mod attempts;
pub mod data_mover;
pub mod embedded;
mod host;
mod lister;
pub mod mover;
mod outage;
mod results;

use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use headrace_core::access::{Access, Authority};
use headrace_core::sealed::{PublicKey, SigningKey};
use headrace_core::succession::{Learned, MAX_SUCCESSIONS};
use headrace_core::value::Timestamp;
use headrace_io::trash::Swept;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::config::{Config, DataConfig, HubConfig, RootConfig, Roots};
use crate::convert::{root_out, violation};
use crate::problem::{ControlCode, Problem, host_name};
use crate::proto::control_client::ControlClient;
use crate::proto::{JoinRequest, VERSIONS};
use crate::state::{KeyOwner, StateDir, read_bounded, remove, write_durably};
use crate::token::JoinToken;
use crate::transport::{self, Clock, Wire};
use attempts::Attempts;
use mover::{Mover, StopCause};

/// Where a node keeps the successions that it has learned: not in its settings, which others may write anew.
const SUCCESSIONS: &str = "successions.json";
/// Longest wait for attempts to stop when a node is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How a node reaches its hub.
pub(crate) enum Dialer {
    /// Over TLS, as its settings say; again and again.
    Settings,
    /// Over a connection that is there, once.
    Once(Box<dyn Wire>),
    /// Not any more.
    Used,
}

/// What a node's tasks share.
pub(crate) struct Shared {
    key: SigningKey,
    clock: Clock,
    state: StateDir,
    settings: RwLock<Settings>,
    mover: Arc<dyn Mover>,
    attempts: Arc<Attempts>,
    /// Whether the stream is there, or why not.
    attached: watch::Sender<Result<(), Problem>>,
    reporting: tokio::sync::Mutex<()>,
    sweeping: Mutex<()>,
}

struct Settings {
    config: Config,
    roots: Roots,
    learned: Learned,
    /// Of the file the settings were read from.
    modified: Option<(SystemTime, u64)>,
}

/// A running node. Dropping it closes it; attempts end with the process.
pub struct Node {
    shared: Arc<Shared>,
    closing: watch::Sender<bool>,
    /// `None` once it has ended.
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Node {
    /// Starts a node that has joined, with the settings in its state folder.
    ///
    /// # Errors
    /// `config_invalid` when it has not joined or its settings can't be used, `state_failed`.
    pub fn start(state: &StateDir, clock: Clock, mover: Arc<dyn Mover>) -> Result<Self, Problem> {
        let config = Config::load(state)?
            .filter(|config| config.hub.is_some())
            .ok_or_else(|| {
                let message = format!(
                    "the node in `{}` has not joined a service: run `join` first",
                    state.path().display()
                );
                Problem::new(ControlCode::ConfigInvalid, message)
            })?;
        let key = node_key(state)?;
        Self::run(key, state, config, clock, mover, Dialer::Settings)
    }

    /// Starts a node with this key on a connection whose other end is known, with settings that are not kept. It ends
    /// with the connection.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start_over(
        wire: Box<dyn Wire>,
        key: SigningKey,
        state: &StateDir,
        config: Config,
        clock: Clock,
        mover: Arc<dyn Mover>,
    ) -> Result<Self, Problem> {
        Self::run(key, state, config, clock, mover, Dialer::Once(wire))
    }

    fn run(
        key: SigningKey,
        state: &StateDir,
        config: Config,
        clock: Clock,
        mover: Arc<dyn Mover>,
        dialer: Dialer,
    ) -> Result<Self, Problem> {
        let attempts = Attempts::open(state, key.clone(), Arc::clone(&clock), Arc::clone(&mover))?;
        let learned = load_learned(state)?;
        let mut roots = config.open_roots(&Roots::default());
        roots.follow(&learned);
        let not_yet = Problem::new(ControlCode::HubUnreachable, "not attached yet");
        let shared = Arc::new(Shared {
            key,
            clock,
            state: state.clone(),
            settings: RwLock::new(Settings {
                config,
                roots,
                learned,
                modified: modified(state),
            }),
            mover,
            attempts: Arc::new(attempts),
            attached: watch::Sender::new(Err(not_yet)),
            reporting: tokio::sync::Mutex::default(),
            sweeping: Mutex::default(),
        });
        let closing = watch::Sender::new(false);
        let task = tokio::spawn(attach::run(
            Arc::clone(&shared),
            dialer,
            closing.subscribe(),
        ));
        Ok(Self {
            shared,
            closing,
            task: Some(task),
        })
    }

    /// The node's key.
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.shared.key.public()
    }

    /// Whether the node is attached, or why not, as it changes.
    #[must_use]
    pub fn attachment(&self) -> watch::Receiver<Result<(), Problem>> {
        self.shared.attached.subscribe()
    }

    /// Stops attempts at the next unit or batch, and leaves the hub. What ended and could not be told any more is told
    /// at the next start.
    pub async fn close(mut self) {
        self.shared.attempts.stop_all(&StopCause::Shutdown);
        if timeout(CLOSE_TIMEOUT, self.shared.attempts.idle())
            .await
            .is_err()
        {
            tracing::warn!("attempts did not stop within {} s", CLOSE_TIMEOUT.as_secs());
        }
        self.closing.send_replace(true);
        self.finished().await;
    }

    /// Waits until the connection of a node started over one is over.
    pub async fn finished(&mut self) {
        if let Some(task) = &mut self.task {
            // The task has nothing to give; should it have panicked, that was logged.
            let _ = task.await;
            self.task = None;
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.closing.send_replace(true);
    }
}

/// The key of the node in this state folder, made on first use.
///
/// # Errors
/// `state_failed` or `config_invalid`.
pub fn node_key(state: &StateDir) -> Result<SigningKey, Problem> {
    state.key("node.key", KeyOwner::Node)
}

/// What to do where a token's address is not reached.
const UNREACHED: &str = "the address is the token's: see that the service runs, and that this host reaches it there. For nodes on other hosts \
    the service needs an address that they reach (`headrace serve --hub-listen 0.0.0.0:8471 --hub-advertise HOST:8471`), and a new token \
    (`headrace node-token NAME`). This token is not used up";

/// Presents a join token and writes the node's settings.
///
/// # Errors
/// `token_malformed`, `hub_unreachable`, `join_refused`, `join_timeout`, `config_invalid` or `state_failed`.
pub async fn join(
    state: &StateDir,
    token: &JoinToken,
    name: &str,
    roots: Vec<RootConfig>,
    data: DataConfig,
) -> Result<(), Problem> {
    let key = node_key(state)?;
    let mut config = Config {
        name: name.to_owned(),
        hub: None,
        data,
        authorities: Vec::new(),
        roots,
    };
    // What can't be kept afterwards must not use up the token.
    config.save(state)?;
    let dialled = transport::dial_hub(&token.address, token.key, &key).await;
    let (wire, _) = dialled.map_err(|problem| {
        if problem.code != ControlCode::HubUnreachable.as_str() {
            return problem;
        }
        Problem {
            message: format!("{}; {UNREACHED}", problem.message),
            ..problem
        }
    })?;
    let mut client = ControlClient::new(transport::channel(wire).await?);
    let request = JoinRequest {
        secret: token.secret.clone(),
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roots: config
            .open_roots(&Roots::default())
            .info()
            .iter()
            .map(root_out)
            .collect(),
        versions: Some(VERSIONS),
    };
    let reply = client.join(request).await?.into_inner();
    let authority = reply.authority.parse().map_err(violation)?;
    // What came after other keys, of this or another service.
    remove(&state.join(SUCCESSIONS))?;
    config.hub = Some(HubConfig {
        address: token.address.clone(),
        key: token.key,
    });
    config.authorities = vec![Authority {
        key: authority,
        access: Access::Delete,
        until: None,
    }];
    config.save(state)
}

impl Dialer {
    async fn dial(&mut self, shared: &Shared) -> Result<(Box<dyn Wire>, Option<IpAddr>), Problem> {
        match std::mem::replace(self, Self::Used) {
            Self::Settings => {
                *self = Self::Settings;
                let hub = shared.with_settings(|config, _| config.hub.clone());
                let hub = hub.ok_or_else(|| {
                    Problem::new(ControlCode::ConfigInvalid, "the node has not joined")
                })?;
                shared.dial(&hub).await
            }
            Self::Once(wire) => Ok((wire, None)),
            Self::Used => Err(Problem::new(
                ControlCode::HubUnreachable,
                "the connection is over",
            )),
        }
    }
}

impl Shared {
    pub(crate) fn with_settings<T>(&self, read: impl FnOnce(&Config, &Roots) -> T) -> T {
        let settings = self.settings.read();
        read(&settings.config, &settings.roots)
    }

    /// Dials the hub, which answers with one of its keys.
    async fn dial(&self, hub: &HubConfig) -> Result<(Box<dyn Wire>, Option<IpAddr>), Problem> {
        let now = (self.clock)();
        let keys = self.settings.read().learned.hub_keys(hub.key, now);
        let ended = format!(
            "every key of the service that this node knows has ended by the clock of `{}`, this host, which shows {now}: check that \
             clock; if it is right, join again with a token of `headrace ca rotate`",
            host_name()
        );
        let mut tried = Err(Problem::new(ControlCode::WrongPeerKey, ended));
        for key in keys {
            let dialled = transport::dial_hub(&hub.address, key, &self.key).await;
            let other_key = dialled
                .as_ref()
                .is_err_and(|problem| problem.is(ControlCode::WrongPeerKey));
            tried = dialled.map(|(wire, local)| (wire, Some(local)));
            if !other_key {
                break;
            }
        }
        tried
    }

    /// Takes up the keys that have come after those that this node knows. They are kept durably before anything that they signed is
    /// obeyed.
    fn learn(&self, successions: &[String], hub_succession: &str) -> Result<(), Problem> {
        if successions.len() > MAX_SUCCESSIONS {
            return Err(violation("too many successions"));
        }
        let (before, config) = {
            let settings = self.settings.read();
            (settings.learned.clone(), settings.config.clone())
        };
        let (mut learned, now) = (before.clone(), (self.clock)());
        let missed = learned.learn(successions, &config.authority_keys(), now)?;
        if let (Some(hub), None) = (&config.hub, missed)
            && !hub_succession.is_empty()
        {
            learned.learn_hub(hub_succession, hub.key, &config.authorities, now)?;
        }
        if learned != before {
            save_learned(&self.state, &learned)?;
            let mut settings = self.settings.write();
            settings.roots.follow(&learned);
            settings.learned = learned;
            tracing::info!("learned which key comes after which");
        }
        missed.map_or(Ok(()), |missed| Err(missed.into()))
    }

    /// Removes from the trashes of its roots what was kept long enough: by a time that the service is `sure` of, and by its own clock as
    /// well, for either may be ahead and what is removed is gone. Roots that it may not delete in, and those that map people to local
    /// accounts, have none.
    ///
    /// # Errors
    /// `node_busy` while it does that already: a file system may hang.
    fn sweep_trash(&self, sure: Timestamp) -> Result<(), Problem> {
        let _only_one = self.sweeping.try_lock().ok_or_else(|| {
            let message = "the node is still emptying its trashes";
            Problem::new(ControlCode::NodeBusy, message)
        })?;
        let until = sure.min((self.clock)());
        let roots = self.with_settings(|_, roots| roots.with_trash());
        for root in roots {
            match headrace_io::trash::sweep(&root, until) {
                Ok(Swept { removed: 0, .. }) => {}
                Ok(Swept { removed, kept }) => {
                    tracing::info!(
                        root = root.name(),
                        removed,
                        kept,
                        "the trash was emptied of what was kept long enough"
                    );
                }
                Err(error) => {
                    tracing::warn!(root = root.name(), %error, "the trash is not empty of what was kept long enough; trying again in an hour");
                }
            }
        }
        Ok(())
    }

    /// Takes up settings that were changed on disk, and roots that have vanished or are there again; says whether there were such. Bad
    /// settings are logged and left alone. A file system that hangs holds this up.
    fn reload(&self) -> bool {
        let now = modified(&self.state);
        if self.settings.read().modified == now {
            return self.look_after_roots();
        }
        match Config::load(&self.state) {
            Ok(Some(config)) => {
                let mut roots = self.with_settings(|_, before| config.open_roots(before));
                let mut settings = self.settings.write();
                roots.follow(&settings.learned);
                settings.config = config;
                settings.roots = roots;
                settings.modified = now;
                drop(settings);
                tracing::info!("settings were read again");
                true
            }
            Ok(None) => false,
            Err(problem) => {
                tracing::error!("changed settings are not used: {problem}");
                self.settings.write().modified = now;
                false
            }
        }
    }

    /// Opens the roots anew when one has vanished or is there again; says whether that was so. Attempts on what has vanished stop.
    fn look_after_roots(&self) -> bool {
        // Not under the lock: a disk may be slow.
        let (config, before) = self.with_settings(|config, roots| (config.clone(), roots.clone()));
        let vanished = before.vanished();
        if vanished.is_empty() && !before.is_one_back(&config) {
            return false;
        }
        let mut roots = config.open_roots(&before);
        let why = |name: &String| {
            let other = || format!("another folder stands at the path of root `{name}` now");
            roots.why_missing(name).map_or_else(other, str::to_owned)
        };
        let stopping: Vec<_> = vanished
            .iter()
            .map(|name| (name.clone(), why(name)))
            .collect();
        let mut settings = self.settings.write();
        roots.follow(&settings.learned);
        settings.roots = roots;
        drop(settings);
        tracing::info!(?vanished, "roots were opened anew");
        self.attempts.stop_on(&stopping);
        true
    }
}

fn load_learned(state: &StateDir) -> Result<Learned, Problem> {
    let path = state.join(SUCCESSIONS);
    match read_bounded(&path, Learned::MAX_BYTES) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("`{}` can't be used: {error}", path.display());
            Problem::new(ControlCode::ConfigInvalid, message)
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Learned::default()),
        Err(error) => Err(Problem::state("read", &path, &error)),
    }
}

fn save_learned(state: &StateDir, learned: &Learned) -> Result<(), Problem> {
    let path = state.join(SUCCESSIONS);
    let bytes = serde_json::to_vec(learned)
        .map_err(|error| Problem::state("write", &path, &error.into()))?;
    write_durably(&path, &bytes)
}

/// What tells one version of the settings from the next: they are replaced as a whole, so the inode differs even when the clock of the
/// file system has not moved on.
fn modified(state: &StateDir) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(Config::path(state)).ok()?;
    Some((metadata.modified().ok()?, metadata.ino()))
}
