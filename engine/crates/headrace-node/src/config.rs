//! A node's settings: `node.toml` in its state folder. Roots are declared here and never by the service.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headrace_core::access::{Access, Authority, Grant, Grants};
use headrace_core::asker::Asker;
use headrace_core::sealed::{DocumentError, PublicKey};
use headrace_core::succession::Learned;
use headrace_io::account::can_act;
use headrace_io::root::{Root, RootError};
use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};

use crate::accounts::Accounts;
use crate::convert::{MissingRoot, RootInfo, RootSpace};
use crate::problem::{ControlCode, Problem};
use crate::proto::{MAX_ADDRESSES, MAX_ROOTS};
use crate::session::{Fireflies, Settings};
use crate::state::{StateDir, read_bounded, write_durably};

const FILE: &str = "node.toml";
const MAX_BYTES: u64 = 1 << 20;

/// What a node is told by its administrator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What it calls itself.
    pub name: String,
    /// The service it belongs to; `None` before it joined.
    pub hub: Option<HubConfig>,
    /// Data connections.
    #[serde(default)]
    pub data: DataConfig,
    /// Whose permits and tickets its roots obey, unless a root says otherwise.
    #[serde(default, rename = "authority")]
    pub authorities: Vec<Authority>,
    /// What it exports.
    #[serde(default, rename = "root")]
    pub roots: Vec<RootConfig>,
}

/// The service that a node belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubConfig {
    /// host:port to dial.
    pub address: String,
    /// The key that must answer.
    pub key: PublicKey,
}

/// How data connections reach a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// host:port to accept data connections on; port 0 picks one, empty accepts none. A fixed port is what a firewall
    /// can let through.
    pub listen: String,
    /// host:port that other nodes shall dial, when it is not the address the node reaches its service from.
    #[serde(default)]
    pub advertise: Vec<String>,
    /// What data connections and copies may take of this machine; read when the node starts.
    #[serde(default)]
    pub limits: Settings,
    /// Where data connections are told of; `None` nowhere. Read when the node starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fireflies: Option<Fireflies>,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            listen: "0.0.0.0:0".to_owned(),
            advertise: Vec::new(),
            limits: Settings::default(),
            fireflies: None,
        }
    }
}

/// An exported folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootConfig {
    /// The name people and tickets use: 1 to 64 letters, digits, `-`, `_` or `.`.
    pub name: String,
    /// Where it is on this machine; absolute.
    pub path: PathBuf,
    /// What may be done there at most.
    pub access: Access,
    /// Whose word it obeys; `None` is those of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<Vec<Authority>>,
    /// As whom files are read and written there.
    #[serde(default, skip_serializing_if = "Accounts::is_node")]
    pub accounts: Accounts,
}

impl Config {
    /// Reads the settings; `None` when there are none yet.
    ///
    /// # Errors
    /// `state_failed` when they can't be read, `config_invalid` when they can't be understood.
    pub fn load(state: &StateDir) -> Result<Option<Self>, Problem> {
        let path = Self::path(state);
        let bytes = match read_bounded(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Problem::state("read", &path, &error)),
        };
        let invalid = |detail: &dyn std::fmt::Display| {
            Problem::new(
                ControlCode::ConfigInvalid,
                format!("`{}` can't be used: {detail}", path.display()),
            )
        };
        let config: Self = toml::from_slice(&bytes).map_err(|error| invalid(&error))?;
        config.check().map_err(|problem| invalid(&problem))?;
        Ok(Some(config))
    }

    /// Writes the settings.
    ///
    /// # Errors
    /// `config_invalid` or `state_failed`.
    pub fn save(&self, state: &StateDir) -> Result<(), Problem> {
        self.check()?;
        let text = toml::to_string_pretty(self).map_err(|error| {
            Problem::new(
                ControlCode::ConfigInvalid,
                format!("the settings can't be kept: {error}"),
            )
        })?;
        write_durably(&Self::path(state), text.as_bytes())
    }

    /// Where the settings are.
    #[must_use]
    pub fn path(state: &StateDir) -> PathBuf {
        state.join(FILE)
    }

    /// Opens the roots. One that can't be opened is left out and logged: the others go on. Where a file system was mounted `before`, one
    /// has to be mounted.
    #[must_use]
    pub fn open_roots(&self, before: &Roots) -> Roots {
        let mut roots = Roots {
            mounts: before.mounts.clone(),
            ..Roots::default()
        };
        for root in &self.roots {
            match root.open_on(&before.mounts) {
                Ok(open) => {
                    if open.is_mounted() {
                        roots.mounts.insert(root.path.clone());
                    }
                    let authorities = root
                        .authorities
                        .clone()
                        .unwrap_or_else(|| self.authorities.clone());
                    roots.grants.insert(
                        root.name.clone(),
                        Grant {
                            access: root.access,
                            authorities,
                        },
                    );
                    let accounts = Arc::new(root.accounts.clone());
                    roots.open.push((Arc::new(open), accounts));
                }
                Err(problem) => {
                    tracing::error!("a root is not exported: {problem}");
                    roots.missing.push(MissingRoot {
                        name: root.name.clone(),
                        reason: problem.message,
                    });
                }
            }
        }
        roots
    }

    /// The keys whose permits and tickets are obeyed somewhere here.
    pub(crate) fn authority_keys(&self) -> Vec<PublicKey> {
        let of_roots = self
            .roots
            .iter()
            .filter_map(|root| root.authorities.as_ref());
        let all = of_roots.flatten().chain(&self.authorities);
        all.map(|authority| authority.key).collect()
    }

    fn check(&self) -> Result<(), Problem> {
        let invalid = |message: String| Err(Problem::new(ControlCode::ConfigInvalid, message));
        if self.name.is_empty() || self.name.len() > 64 || self.name.chars().any(char::is_control) {
            return invalid("a node's name has 1 to 64 bytes and no control characters".to_owned());
        }
        if self.roots.len() > MAX_ROOTS || self.data.advertise.len() > MAX_ADDRESSES {
            return invalid(format!(
                "more than {MAX_ROOTS} roots or {MAX_ADDRESSES} addresses"
            ));
        }
        let fireflies = self.data.fireflies.as_ref();
        let checked = self.data.limits.check();
        if let Err(message) = checked.and_then(|()| fireflies.map_or(Ok(()), Fireflies::check)) {
            return invalid(message);
        }
        for (index, root) in self.roots.iter().enumerate() {
            if self.roots[..index]
                .iter()
                .any(|other| other.name == root.name)
            {
                return invalid(format!("two roots are named `{}`", root.name));
            }
            let obeyed = root.authorities.as_ref().unwrap_or(&self.authorities);
            if let Err(message) = root.accounts.check(obeyed.len()) {
                return invalid(format!("root `{}`: {message}", root.name));
            }
        }
        Ok(())
    }
}

impl RootConfig {
    /// Opens the folder.
    ///
    /// # Errors
    /// `config_invalid` says why it can't be exported.
    pub fn open(&self) -> Result<Root, Problem> {
        let invalid = |error: &dyn std::fmt::Display| {
            Problem::new(ControlCode::ConfigInvalid, error.to_string())
        };
        let opened = if self.accounts.is_node() {
            Root::open(&self.name, &self.path, self.access)
        } else {
            can_act().map_err(|error| invalid(&format!("root `{}`: {error}", self.name)))?;
            Root::open_for_accounts(&self.name, &self.path, self.access)
        };
        opened.map_err(|error| invalid(&error))
    }

    /// What to say of a root to which more may be done than this account can; nothing where people's own accounts write.
    #[must_use]
    pub fn unwritable(&self) -> Option<String> {
        if self.access == Access::Read || !self.accounts.is_node() {
            return None;
        }
        let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let denied =
            rustix::fs::accessat(rustix::fs::CWD, &self.path, wanted, AtFlags::EACCESS).err()?;
        Some(format!(
            "root `{}` exports `{}` as `{}`, and this account can't write there ({}): what is sent to it fails until the account \
             may write there, or the root is added with `:read`",
            self.name,
            self.path.display(),
            self.access,
            io::Error::from(denied)
        ))
    }

    /// Checks what does not depend on the folder, which may be there later.
    ///
    /// # Errors
    /// `config_invalid` for a name that no root can have.
    pub fn check_name(&self) -> Result<(), Problem> {
        match Root::open(&self.name, &self.path, self.access) {
            Err(error @ RootError::Name { .. }) => {
                Err(Problem::new(ControlCode::ConfigInvalid, error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// As [`Self::open`]; where a file system was mounted, an empty mount point is not the root.
    fn open_on(&self, mounts: &BTreeSet<PathBuf>) -> Result<Root, Problem> {
        let root = self.open()?;
        if mounts.contains(&self.path) && !root.is_mounted() {
            let message = format!(
                "the file system of root `{}` is not mounted at `{}` any more",
                self.name,
                self.path.display()
            );
            return Err(Problem::new(ControlCode::ConfigInvalid, message));
        }
        Ok(root)
    }

    /// Reads `name=path[:read|write|delete]`; without a last part it is `read`.
    ///
    /// # Errors
    /// `bad_argument` says what is missing, `config_invalid` that the folder can't be used.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let bad = |detail: &str| {
            Problem::new(
                ControlCode::BadArgument,
                format!("`{text}` is not a root: {detail}"),
            )
        };
        let (name, rest) = text
            .split_once('=')
            .ok_or_else(|| bad("write `name=path[:read|write|delete]`"))?;
        let (path, access) = match rest.rsplit_once(':') {
            Some((path, "read")) => (path, Access::Read),
            Some((path, "write")) => (path, Access::Write),
            Some((path, "delete")) => (path, Access::Delete),
            _ => (rest, Access::Read),
        };
        let path = Path::new(path).canonicalize().map_err(|error| {
            let wrong = path.rsplit_once(':').filter(|(folder, _)| Path::new(folder).is_dir());
            match wrong {
                Some((_, word)) if !word.is_empty() => bad(&format!(
                    "`:{word}` is not an access level: write `:read`, `:write` or `:delete`; without one, the root can only be read"
                )),
                _ if error.kind() == io::ErrorKind::NotFound => bad(&format!(
                    "there is no folder `{path}`: make it (`mkdir -p`), for the account that this node runs as, or name another"
                )),
                _ => bad(&error.to_string()),
            }
        })?;
        let root = Self {
            name: name.to_owned(),
            path,
            access,
            authorities: None,
            accounts: Accounts::Node,
        };
        root.open()?;
        Ok(root)
    }
}

/// The roots of a node, open, and what they allow.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    open: Vec<(Arc<Root>, Arc<Accounts>)>,
    missing: Vec<MissingRoot>,
    /// Paths of roots at which a file system was mounted.
    mounts: BTreeSet<PathBuf>,
    /// What permits and tickets are held against.
    pub grants: Grants,
}

impl Roots {
    /// The root of this name, as the one who asked has it: where it maps people to local accounts, everything below it is done by that
    /// account. May wait for other machines, which know accounts and folders.
    ///
    /// # Errors
    /// `root_unknown`; `account_unmapped`, `account_unusable` or `account_unknown_now` for who has no account there; `folder_unreadable` when
    /// the account may not go to the root's folder.
    pub fn open_for(&self, name: &str, asker: &Asker) -> Result<Arc<Root>, Problem> {
        let unknown = || DocumentError::RootUnknown {
            root: name.to_owned(),
        };
        let found = self.open.iter().find(|(root, _)| root.name() == name);
        let (root, accounts) = found.ok_or_else(unknown)?;
        let Some(account) = accounts.account_of(name, asker)? else {
            return Ok(Arc::clone(root));
        };
        let said = format!("`{}` (uid {})", account.name(), account.uid());
        let acting = root.acting_as(Arc::new(account)).map_err(|error| {
            let message = format!(
                "the folder of root `{name}` can't be entered by local account {said}: {error}; let that account go through \
                 every folder of its path"
            );
            Problem::new(ControlCode::FolderUnreadable, message)
        })?;
        Ok(Arc::new(acting))
    }

    /// Those that are declared and can't be opened now.
    #[must_use]
    pub fn missing(&self) -> &[MissingRoot] {
        &self.missing
    }

    /// Lets each root obey the keys that have come after those that it names.
    pub(crate) fn follow(&mut self, learned: &Learned) {
        for grant in self.grants.values_mut() {
            grant.authorities = learned.extend(&grant.authorities);
        }
    }

    /// Names of those whose folder is not at its path any more.
    pub(crate) fn vanished(&self) -> Vec<String> {
        let open = self.open.iter().map(|(root, _)| root);
        let vanished = open.filter(|root| !root.is_in_place());
        vanished.map(|root| root.name().to_owned()).collect()
    }

    /// Whether one that was missing can be opened again.
    pub(crate) fn is_one_back(&self, config: &Config) -> bool {
        let is_missing = |name: &str| self.missing.iter().any(|root| root.name == name);
        let mut declared = config.roots.iter().filter(|root| is_missing(&root.name));
        declared.any(|root| root.open_on(&self.mounts).is_ok())
    }

    /// Why a root can't be used.
    pub(crate) fn why_missing(&self, name: &str) -> Option<&str> {
        let missing = self.missing.iter().find(|root| root.name == name);
        missing.map(|root| root.reason.as_str())
    }

    /// Those that are open.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Root> {
        self.open.iter().map(|(root, _)| &**root)
    }

    /// Those that transfers may delete in and that have a trash: roots that map people to local accounts have none.
    pub(crate) fn with_trash(&self) -> Vec<Arc<Root>> {
        let is_own = |(root, accounts): &&(Arc<Root>, Arc<Accounts>)| {
            root.access() == Access::Delete && accounts.is_node()
        };
        let own = self.open.iter().filter(is_own);
        own.map(|(root, _)| Arc::clone(root)).collect()
    }

    /// What the service is told of them.
    #[must_use]
    pub fn info(&self) -> Vec<RootInfo> {
        let info = |root: &Arc<Root>| {
            let (free_bytes, total_bytes) = root
                .space()
                .map_or((0, 0), |space| (space.free_bytes, space.total_bytes));
            RootInfo {
                name: root.name().to_owned(),
                access: root.access(),
                free_bytes,
                total_bytes,
            }
        };
        self.open.iter().map(|(root, _)| info(root)).collect()
    }

    /// What is free below each, of those that can be measured now. A file system that hangs holds this up.
    pub(crate) fn spaces(&self) -> Vec<RootSpace> {
        let measured = |root: &Arc<Root>| {
            let space = root.space().ok()?;
            Some(RootSpace {
                name: root.name().to_owned(),
                free_bytes: space.free_bytes,
                total_bytes: space.total_bytes,
            })
        };
        let roots = self.open.iter().map(|(root, _)| root);
        roots.filter_map(measured).collect()
    }
}

#[cfg(test)]
mod tests {
    use headrace_io::stream::Records;

    use super::*;

    #[test]
    fn settings_survive_and_mistakes_in_them_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        assert_eq!(Config::load(&state), Ok(None));
        let authority = Authority {
            key: PublicKey::from_bytes([1; 32]),
            access: Access::Write,
            until: None,
        };
        let root =
            RootConfig::parse(&format!("data={}:write", folder.path().display())).expect("a root");
        let config = Config {
            name: "dtn1".to_owned(),
            hub: Some(HubConfig {
                address: "h:1".to_owned(),
                key: PublicKey::from_bytes([2; 32]),
            }),
            authorities: vec![authority.clone()],
            roots: vec![
                root.clone(),
                RootConfig {
                    name: "b".to_owned(),
                    authorities: Some(vec![]),
                    ..root.clone()
                },
            ],
            ..Config::default()
        };
        config.save(&state).expect("saved");
        assert_eq!(Config::load(&state), Ok(Some(config.clone())));
        let roots = config.open_roots(&Roots::default());
        assert_eq!(roots.grants["data"].authorities, [authority]);
        assert_eq!(roots.grants["b"].authorities, []);

        let twice = Config {
            roots: vec![root.clone(), root],
            ..config
        };
        assert_eq!(
            twice.save(&state).expect_err("refused").code,
            "config_invalid"
        );
        std::fs::write(Config::path(&state), "name = 'x'\nroots = 3").expect("own file");
        assert_eq!(
            Config::load(&state).expect_err("refused").code,
            "config_invalid"
        );
    }

    #[test]
    fn an_empty_mount_point_is_not_the_root_that_was_mounted_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let root =
            RootConfig::parse(&format!("data={}:write", folder.path().display())).expect("a root");
        let mounted = RootConfig::parse("processes=/proc").expect("a root");
        let config = Config {
            roots: vec![root.clone(), mounted],
            ..Config::default()
        };
        let mut before = config.open_roots(&Roots::default());
        assert_eq!(before.mounts, BTreeSet::from([PathBuf::from("/proc")]));
        assert!(before.missing().is_empty() && before.vanished().is_empty());
        before.mounts.insert(root.path);
        let now = config.open_roots(&before);
        let is_open = |name| now.open_for(name, &Asker::default()).is_ok();
        assert!(is_open("processes") && !is_open("data"));
        let why = now.why_missing("data").expect("a reason");
        assert!(why.contains("is not mounted at"), "{why}");
        assert!(!now.is_one_back(&config));
    }

    #[test]
    fn fireflies_are_off_until_they_are_set_and_their_settings_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        let load = |table: &str| {
            let text = format!("name = 'x'\n[data]\nlisten = ''\n{table}\n");
            std::fs::write(Config::path(&state), text).expect("own file");
            Config::load(&state)
        };
        let fireflies = |table: &str| load(table).expect("good").expect("settings").data.fireflies;
        assert_eq!(fireflies(""), None);
        let table = "[data.fireflies]\ncollector = 'c.example.org:10514'\nexperiment = 14\nactivity = 1\n\
                     [data.fireflies.classes.instrument]\nactivity = 9";
        let set = fireflies(table).expect("they are on");
        assert_eq!(
            (set.every_s, set.classes["instrument"].activity),
            (60, Some(9))
        );
        let config = load(table).expect("good").expect("settings");
        config.save(&state).expect("saved");
        assert_eq!(Config::load(&state).expect("good"), Some(config));
        let problem =
            load(&table.replace("experiment = 14", "experiment = 1024")).expect_err("refused");
        assert!(
            problem.message.contains("`fireflies.experiment` is 1024"),
            "{problem}"
        );
    }

    #[test]
    fn a_limit_that_cannot_be_used_is_named_with_its_range() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        let settings = |limit: &str| {
            let text = format!("name = 'x'\n[data]\nlisten = ''\n[data.limits]\n{limit}\n");
            std::fs::write(Config::path(&state), text).expect("own file");
            Config::load(&state)
        };
        let theirs = settings("records = 'rustls'").expect("good");
        assert_eq!(
            theirs.map(|config| config.data.limits.records),
            Some(Records::Rustls)
        );
        assert!(settings("records = 'openssl'").is_err());
        let small = settings("unsent_bytes = 65536").expect("good");
        assert_eq!(
            small.map(|config| config.data.limits),
            Some(Settings {
                unsent_bytes: 65536,
                ..Settings::default()
            })
        );
        for bad in [
            "unsent_bytes = 1",
            "disk_threads = 0",
            "max_attempts = 1000",
        ] {
            let name = bad.split(' ').next().expect("a name");
            let problem = settings(bad).expect_err("refused");
            assert_eq!(problem.code, "config_invalid");
            assert!(problem.message.contains(name), "{problem}");
        }
    }

    #[test]
    fn every_limit_is_documented_with_its_default() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/settings.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let limits = toml::Table::try_from(Settings::default()).expect("a table");
        for (name, value) in limits {
            let row = format!("| `{name}` | `{value}` |");
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn roots_are_read_from_the_command_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display();
        let access = |text: String| RootConfig::parse(&text).map(|root| root.access);
        assert_eq!(access(format!("a={path}")), Ok(Access::Read));
        assert_eq!(access(format!("a={path}:delete")), Ok(Access::Delete));
        for bad in [
            format!("{path}"),
            format!("a={path}/missing"),
            format!("a={path}:all"),
            format!("a/b={path}"),
        ] {
            assert!(access(bad.clone()).is_err(), "{bad}");
        }
        let said = access(format!("a={path}:rw")).expect_err("no access");
        assert!(
            said.message
                .contains("`:rw` is not an access level: write `:read`"),
            "{said}"
        );
    }
}
