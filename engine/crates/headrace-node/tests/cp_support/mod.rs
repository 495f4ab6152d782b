//! Two machines in one: the built program with folders of its own, and a real ssh server that lets it in.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_headrace-node");
/// Longest wait for anything.
const WAIT: Duration = Duration::from_mins(1);

/// A person's machine, and what the other one keeps.
pub(crate) struct Desk {
    pub(crate) folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The one JSON document it wrote.
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no document: {self:?}"))
    }

    /// The document of a copy that worked.
    pub(crate) fn done(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.document()
    }

    /// Exit code and error code of one that did not.
    pub(crate) fn refused(&self) -> (Option<i32>, String) {
        (
            self.code,
            self.document()["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command of the program on this machine.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .env("HEADRACE_NODE_STATE", self.path("near-state"))
            .env("XDG_CONFIG_HOME", self.path("near-config"))
            .env_remove("HEADRACE_LOG")
            .stdin(Stdio::null())
            .current_dir(self.folder.path());
        command
    }

    /// Runs `cp --json` to its end.
    pub(crate) fn cp(&self, arguments: &[&str]) -> Ran {
        finish(self.start_cp(arguments))
    }

    /// Starts `cp --json` in a process group of its own, as a shell does.
    pub(crate) fn start_cp(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(&["cp", "--json"]);
        command
            .args(arguments)
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// Makes a key; gives its public half.
    pub(crate) fn key(&self, name: &str) -> String {
        let file = self.path(name);
        let made = self
            .command(&["keygen", "--output"])
            .arg(&file)
            .output()
            .expect("the program starts");
        String::from_utf8(made.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    /// A tree with everything in it that is easily lost on the way.
    pub(crate) fn tree(&self, name: &str) -> PathBuf {
        let root = self.path(name);
        std::fs::create_dir_all(root.join("sub/empty")).expect("a folder");
        let put = |name: &[u8], content: &[u8]| {
            let path = root.join(OsStr::from_bytes(name));
            std::fs::write(&path, content).expect("a file");
            let long_ago = std::time::UNIX_EPOCH + Duration::new(1_234_567_890, 123_456_789);
            let file = std::fs::File::open(&path).expect("our file");
            file.set_modified(long_ago).expect("our file");
            path
        };
        put(b"sub/plain", b"hello");
        put(b"nothing", b"");
        put(b"not text \xff\xfe", b"x");
        put(b"new\nline %41 'quote\" $(echo) ;", b"y");
        put(b"-oProxyCommand=x", &vec![7; 3_000_000]);
        let script = put(b"sub/script", b"#!/bin/sh\n");
        std::fs::set_permissions(script, PermissionsExt::from_mode(0o750)).expect("our file");
        symlink("../nothing", root.join("sub/link")).expect("a link");
        symlink("/nowhere/at all", root.join("dangling")).expect("a link");
        root
    }

    /// So many files of 100 kB.
    pub(crate) fn many(&self, name: &str, count: u32) -> PathBuf {
        let root = self.path(name);
        std::fs::create_dir_all(&root).expect("a folder");
        for number in 0..count {
            let content = number.to_le_bytes().repeat(25_000);
            std::fs::write(root.join(format!("{number:04}")), content).expect("a file");
        }
        root
    }
}

/// Waits for the end of a command.
pub(crate) fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().expect("the program ends");
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Waits until something has happened.
pub(crate) fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT;
    while !happened() {
        assert!(Instant::now() < deadline, "{what}: not within {WAIT:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Everything below a folder, as it should arrive: kind and mode, time of files, content.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<PathBuf, (u32, i128, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("a name").path();
            let metadata = path.symlink_metadata().expect("it is there");
            let (mtime, content) = if metadata.is_dir() {
                folders.push(path.clone());
                (0, Vec::new())
            } else if metadata.is_symlink() {
                let target = std::fs::read_link(&path).expect("a link");
                (0, target.as_os_str().as_bytes().to_vec())
            } else {
                let mtime = i128::from(metadata.mtime()) * 1_000_000_000
                    + i128::from(metadata.mtime_nsec());
                (mtime, std::fs::read(&path).expect("a file"))
            };
            let name = path.strip_prefix(root).expect("below it").to_owned();
            found.insert(name, (metadata.mode(), mtime, content));
        }
    }
    found
}

/// A real ssh server on loopback with keys of its own, and a configuration for ssh that finds it.
pub(crate) struct Sshd {
    /// For `--ssh-config`. Hosts: `far`; `back`, which this machine can't dial, but which dials back; `away`, where
    /// neither works; `closed`, which lets nobody in.
    pub(crate) config: String,
    folder: PathBuf,
    sessions: Arc<AtomicUsize>,
}

impl Sshd {
    pub(crate) fn start(desk: &Desk) -> Self {
        let folder = desk.path("ssh");
        std::fs::create_dir(&folder).expect("a folder");
        let sshd = sshd();
        for name in ["host", "person", "stranger"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(name))
                .status();
            assert!(
                made.is_ok_and(|status| status.success()),
                "ssh-keygen: install `openssh-client`"
            );
        }
        let at = |name: &str| folder.join(name).display().to_string();
        let settings = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nLogLevel QUIET\n\
             SetEnv HEADRACE_NODE_STATE={}\n",
            at("host"),
            at("person.pub"),
            desk.path("far-state").display(),
        );
        std::fs::write(folder.join("sshd_config"), settings).expect("a file");
        let sessions = Arc::default();
        let port = serve(&sshd, &folder.join("sshd_config"), Arc::clone(&sessions));
        // Ends both halves of itself when ssh closes its input, however ssh ended.
        let pump = format!(
            "bash -c 'trap \"\" HUP; exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3 & cat >&3; kill $!'"
        );
        let straight = format!("{} -i -f {}", sshd.display(), at("sshd_config"));
        let user = std::env::var("USER").unwrap_or_else(|_| whoami());
        let text = format!(
            "Host far\n  HostName 127.0.0.1\n  Port {port}\n\
             Host back\n  HostName ::1\n  ProxyCommand {pump}\n\
             Host away\n  HostName ::1\n  ProxyCommand {straight}\n\
             Host closed\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n\
             Host far back away\n  IdentityFile {}\n\
             Host *\n  User {user}\n  IdentitiesOnly yes\n  BatchMode yes\n  LogLevel ERROR\n  \
             StrictHostKeyChecking no\n  UserKnownHostsFile {}\n",
            at("stranger"),
            at("person"),
            at("known_hosts"),
        );
        std::fs::write(folder.join("config"), text).expect("a file");
        Self {
            config: at("config"),
            folder,
            sessions,
        }
    }

    /// How many connections to the port are served now.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.load(Ordering::SeqCst)
    }

    /// The arguments of a copy that goes to or from this server.
    pub(crate) fn with<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let mut all = vec!["--ssh-config", self.config.as_str()];
        if !arguments.contains(&"--remote-program") {
            all.extend(["--remote-program", PROGRAM]);
        }
        all.extend(arguments);
        all
    }

    /// A program for the other machine that leaves its process id in a file before it becomes ours.
    pub(crate) fn traced_program(&self) -> (String, PathBuf) {
        let (script, pid) = (self.folder.join("traced"), self.folder.join("pid"));
        let text = format!(
            "#!/bin/sh\necho $$ > {0}.new && mv {0}.new {0}\nexec {PROGRAM} \"$@\"\n",
            pid.display()
        );
        std::fs::write(&script, text).expect("a file");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).expect("our file");
        (script.display().to_string(), pid)
    }
}

/// What Ctrl-C does: interrupts a program and whatever it has started.
pub(crate) fn interrupt(child: &Child) {
    kill("-INT", &format!("-{}", child.id()));
}

/// Sends a signal to one process, or to a group of them.
pub(crate) fn kill(signal: &str, pid: &str) {
    let sent = Command::new("kill")
        .args([signal, "--", pid.trim()])
        .status();
    assert!(sent.expect("kill").success());
}

/// Answers each connection with an ssh server of its own, as inetd does; gives the port.
fn serve(sshd: &Path, settings: &Path, sessions: Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (sshd, settings) = (sshd.to_owned(), settings.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let input = OwnedFd::from(stream.expect("a connection"));
            let output = input.try_clone().expect("a descriptor");
            let mut server = Command::new(&sshd);
            server.arg("-i").arg("-f").arg(&settings);
            let started = server
                .stdin(input)
                .stdout(output)
                .stderr(Stdio::null())
                .spawn();
            let mut server = started.expect("sshd starts");
            sessions.fetch_add(1, Ordering::SeqCst);
            let sessions = Arc::clone(&sessions);
            std::thread::spawn(move || {
                server.wait().expect("our child");
                sessions.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    port
}

fn sshd() -> PathBuf {
    let places = [
        "/usr/sbin/sshd",
        "/usr/local/sbin/sshd",
        "/sbin/sshd",
        "/usr/bin/sshd",
    ];
    let found = places.iter().map(Path::new).find(|path| path.exists());
    let found = found
        .expect("these tests copy through a real ssh server: install the package `openssh-server`");
    if rustix::process::geteuid().is_root() {
        // Where there is no service manager, nobody has made the folder that it wants.
        std::fs::create_dir_all("/run/sshd").expect("a folder for sshd");
    }
    found.to_owned()
}

fn whoami() -> String {
    let name = Command::new("id").arg("-un").output().expect("id");
    String::from_utf8(name.stdout)
        .expect("text")
        .trim()
        .to_owned()
}
