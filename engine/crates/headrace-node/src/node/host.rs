//! What the host of a node says of itself, for who judges it for fast transfers. Nothing is changed, and who asks chooses no file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use headrace_io::host::{groups, page_bytes};
use headrace_io::kernel;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;
use tokio::time::timeout;

use crate::blocking::blocking;
use crate::config::Roots;
use crate::problem::{ControlCode, Problem};

/// Most bytes of one file.
const FILE_BYTES: u64 = 64 << 10;
/// Most bytes that one program may print.
const PRINTED_BYTES: usize = 256 << 10;
/// Most bytes of all files.
const ALL_BYTES: usize = 1 << 20;
/// How long one program may take.
const TOOL_TIME: Duration = Duration::from_secs(5);
/// Most processors, NUMA nodes and interfaces that are looked at.
const MAX_DEVICES: usize = 4096;

const FILES: [&str; 22] = [
    "/proc/meminfo",
    "/proc/net/sockstat",
    "/proc/net/softnet_stat",
    "/proc/self/cgroup",
    "/proc/stat",
    "/proc/sys/fs/file-nr",
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_max",
    "/proc/sys/net/ipv4/tcp_available_congestion_control",
    "/proc/sys/net/ipv4/tcp_congestion_control",
    "/proc/sys/net/ipv4/tcp_mem",
    "/proc/sys/net/ipv4/tcp_moderate_rcvbuf",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/net/ipv4/tcp_sack",
    "/proc/sys/net/ipv4/tcp_slow_start_after_idle",
    "/proc/sys/net/ipv4/tcp_window_scaling",
    "/proc/sys/net/ipv4/tcp_wmem",
    "/proc/sys/net/netfilter/nf_conntrack_count",
    "/proc/sys/net/netfilter/nf_conntrack_max",
    "/proc/cpuinfo",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/online",
];
/// A folder, how names in it begin, and files below each of those.
const OF_EACH: [(&str, &str, &[&str]); 3] = [
    ("/sys/devices/system/node", "node", &["cpulist"]),
    (
        "/sys/devices/system/cpu",
        "cpu",
        &["cpufreq/scaling_governor"],
    ),
    (
        INTERFACES,
        "",
        &[
            "speed",
            "duplex",
            "device/numa_node",
            "statistics/rx_missed_errors",
            "statistics/rx_over_errors",
            "statistics/rx_fifo_errors",
        ],
    ),
];
const OF_A_GROUP: [&str; 9] = [
    "cpu.max",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.stat",
    "memory.max",
    "memory.limit_in_bytes",
    "memory.current",
    "memory.usage_in_bytes",
    "memory.stat",
];
const INTERFACES: &str = "/sys/class/net";

/// As `client.models.NodeHost` has it.
#[derive(Debug, Default, Serialize)]
struct Seen {
    files: BTreeMap<PathBuf, String>,
    tools: BTreeMap<String, String>,
    unread: BTreeMap<String, String>,
    page_bytes: u64,
    usable_processors: Vec<usize>,
    descriptors: Descriptors,
    roots: Vec<RootSeen>,
    #[serde(flatten)]
    calls: Option<Calls>,
}

/// What only system calls tell; what is missing is in `unread`.
#[derive(Debug, Default, Serialize)]
struct Calls {
    interfaces: BTreeMap<String, InterfaceSeen>,
    clock_synchronised: Option<bool>,
}

#[derive(Debug, Default, Serialize)]
struct InterfaceSeen {
    card: bool,
    rx_ring: Option<u32>,
    max_rx_ring: Option<u32>,
    offloads_off: Option<Vec<&'static str>>,
}

#[derive(Debug, Default, Serialize)]
struct Descriptors {
    soft: Option<u64>,
    hard: Option<u64>,
}

#[derive(Debug, Default, Serialize)]
struct RootSeen {
    name: String,
    file_system: Option<String>,
    options: Vec<String>,
    free_bytes: u64,
    total_bytes: u64,
    free_inodes: u64,
    inodes: u64,
}

/// Looks at this host, and at its route to `to`; JSON. `calls`: also at what only system calls tell.
pub(super) async fn look(roots: Roots, to: Option<IpAddr>, calls: bool) -> Result<String, Problem> {
    let looked = move || {
        let mut seen = Seen::of_this_host(&roots);
        if calls {
            seen.call(&within(Path::new(INTERFACES), ""));
        }
        seen
    };
    let mut seen = blocking(looked).await?;
    for words in tools(to) {
        let said = words.join(" ");
        match printed(&words).await {
            Ok(text) => seen.tools.insert(said, text),
            Err(error) => seen.unread.insert(said, error.to_string()),
        };
    }
    serde_json::to_string(&seen)
        .map_err(|error| Problem::new(ControlCode::Internal, error.to_string()))
}

impl Seen {
    fn of_this_host(roots: &Roots) -> Self {
        let limits = getrlimit(Resource::Nofile);
        let mut seen = Self {
            descriptors: Descriptors {
                soft: limits.current,
                hard: limits.maximum,
            },
            ..Self::default()
        };
        match page_bytes() {
            Ok(bytes) => seen.page_bytes = bytes,
            Err(error) => seen.miss("page size", &error),
        }
        match sched_getaffinity(None) {
            Ok(set) => {
                seen.usable_processors = (0..CpuSet::MAX_CPU)
                    .filter(|cpu| set.is_set(*cpu))
                    .collect();
            }
            Err(error) => seen.miss("usable processors", &error.into()),
        }
        for path in FILES {
            if let Err(error) = seen.add(Path::new(path)) {
                seen.miss(path, &error);
            }
        }
        // What follows is not on every host.
        for (folder, begins, names) in OF_EACH {
            for one in within(Path::new(folder), begins) {
                for name in names {
                    let _ = seen.add(&one.join(name));
                }
            }
        }
        let memberships = seen.files.get(Path::new("/proc/self/cgroup"));
        for folder in groups(&memberships.cloned().unwrap_or_default()) {
            for name in OF_A_GROUP {
                let _ = seen.add(&folder.join(name));
            }
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        seen.roots = of_roots(roots, &mounts);
        seen
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let held: usize = self.files.values().map(String::len).sum();
        if held > ALL_BYTES {
            return Err(io::Error::other("there is more than a host says at once"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_BYTES).read_to_end(&mut bytes)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if path == Path::new("/proc/cpuinfo") {
            // All processors have the instructions of the first.
            text.truncate(text.find("\n\n").unwrap_or(text.len()));
        }
        self.files.insert(path.to_owned(), text);
        Ok(())
    }

    /// Asks the kernel for what it writes into no file; `interfaces` are folders of /sys.
    fn call(&mut self, interfaces: &[PathBuf]) {
        let mut calls = Calls::default();
        match kernel::clock_is_synchronised() {
            Ok(synchronised) => calls.clock_synchronised = Some(synchronised),
            Err(error) => self.miss("clock", &error),
        }
        for folder in interfaces.iter().filter(|folder| folder.is_dir()) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            // Nothing leaves this host by it.
            if name == "lo" {
                continue;
            }
            let mut seen = InterfaceSeen {
                card: folder.join("device").exists(),
                ..InterfaceSeen::default()
            };
            match kernel::offloads_off(&name) {
                Ok(off) => seen.offloads_off = Some(off),
                Err(error) => self.miss(&format!("offloads of {name}"), &error),
            }
            if seen.card {
                match kernel::receive_ring(&name) {
                    Ok(ring) => {
                        seen.rx_ring = Some(ring.packets);
                        seen.max_rx_ring = Some(ring.max_packets);
                    }
                    Err(error) => self.miss(&format!("rings of {name}"), &error),
                }
            }
            calls.interfaces.insert(name.into_owned(), seen);
        }
        self.calls = Some(calls);
    }

    fn miss(&mut self, what: &str, error: &io::Error) {
        self.unread.insert(what.to_owned(), error.to_string());
    }
}

/// What to run: programs of iproute2, which print and change nothing.
fn tools(to: Option<IpAddr>) -> Vec<Vec<String>> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let route = match to {
        None => words("ip -j route show default"),
        Some(to) => {
            let family = if to.is_ipv4() { "-4" } else { "-6" };
            words(&format!("ip -j {family} route show to match {to}"))
        }
    };
    vec![
        route,
        words("ip -j -s link show"),
        words("tc -j qdisc show"),
        words("ss -Htin state established"),
    ]
}

async fn printed(words: &[String]) -> io::Result<String> {
    // Services often have no path to where these programs are.
    let path = format!(
        "{}:/usr/sbin:/sbin:/usr/bin:/bin",
        std::env::var("PATH").unwrap_or_default()
    );
    let program = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&words[0]))
        .find(|program| program.is_file())
        .ok_or_else(|| io::Error::other(format!("`{}` is not installed", words[0])))?;
    let mut command = tokio::process::Command::new(program);
    command
        .args(&words[1..])
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let Output {
        status,
        stdout,
        stderr,
    } = timeout(TOOL_TIME, command.output())
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let first = said.lines().next().unwrap_or("it failed");
        return Err(io::Error::other(
            first.chars().take(200).collect::<String>(),
        ));
    }
    if stdout.len() > PRINTED_BYTES {
        return Err(io::Error::other("it prints more than a host says at once"));
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

fn within(folder: &Path, begins: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let rest = name.strip_prefix(begins);
            rest.is_some_and(|rest| {
                begins.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit())
            })
        })
        .take(MAX_DEVICES)
        .collect();
    found.sort();
    found
}

/// What is known of each root's file system; `mounts` is what `/proc/self/mountinfo` holds.
fn of_roots(roots: &Roots, mounts: &str) -> Vec<RootSeen> {
    roots
        .all()
        .map(|root| {
            let mount = root
                .device()
                .ok()
                .and_then(|device| mount_of(device, mounts));
            let (file_system, options) = mount.unzip();
            let space = root.space().unwrap_or_default();
            RootSeen {
                name: root.name().to_owned(),
                file_system,
                options: options.unwrap_or_default(),
                free_bytes: space.free_bytes,
                total_bytes: space.total_bytes,
                free_inodes: space.free_inodes,
                inodes: space.inodes,
            }
        })
        .collect()
}

/// Kind and options of the file system of a device.
fn mount_of(device: u64, mounts: &str) -> Option<(String, Vec<String>)> {
    let numbers = format!(
        "{}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    mounts.lines().rev().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let fields: Vec<&str> = before.split(' ').collect();
        let mut kinds = after.split(' ');
        let (kind, _, own) = (kinds.next()?, kinds.next()?, kinds.next()?);
        (*fields.get(2)? == numbers).then(|| {
            let options = fields[5].split(',').chain(own.split(','));
            (kind.to_owned(), options.map(str::to_owned).collect())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_says_what_the_kernel_says_and_names_what_it_can_not_read() {
        let seen = Seen::of_this_host(&Roots::default());
        let kernel = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").expect("a sysctl");
        assert_eq!(seen.files[Path::new("/proc/sys/net/ipv4/tcp_rmem")], kernel);
        assert!(seen.page_bytes.is_power_of_two() && seen.page_bytes >= 4096);
        assert!(!seen.usable_processors.is_empty());
        assert!(seen.descriptors.soft.is_none_or(|soft| soft > 0));
        let named = |path: &&str| {
            seen.files.contains_key(Path::new(path)) || seen.unread.contains_key(*path)
        };
        assert!(FILES.iter().all(named));
        assert!(!seen.files[Path::new("/proc/cpuinfo")].contains("\n\n"));
    }

    #[tokio::test]
    async fn a_hub_of_before_gets_nothing_that_it_does_not_know() {
        let look_for = async |calls| look(Roots::default(), None, calls).await.expect("JSON");
        let known = |said: &str| said.contains("interfaces") || said.contains("clock_synchronised");
        assert!(!known(&look_for(false).await));
        assert!(known(&look_for(true).await));
    }

    #[test]
    fn what_only_system_calls_tell_is_said_or_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let card = folder.path().join("card0");
        std::fs::create_dir_all(card.join("device")).expect("a card that the kernel does not know");
        let mut seen = Seen::of_this_host(&Roots::default());
        seen.call(&[card, PathBuf::from(INTERFACES).join("lo")]);
        for what in ["offloads of card0", "rings of card0"] {
            assert!(seen.unread.contains_key(what), "{what}");
        }
        let calls = seen.calls.as_ref().expect("they were made");
        assert!(calls.interfaces["card0"].card);
        assert_eq!(calls.interfaces.len(), 1, "nothing leaves by loopback");
        assert_eq!(
            calls.clock_synchronised.is_none(),
            seen.unread.contains_key("clock")
        );
        let said = serde_json::to_string(&seen).expect("JSON");
        assert!(
            said.contains(r#""interfaces":{"card0":{"card":true,"rx_ring":null"#),
            "{said}"
        );
    }

    #[test]
    fn the_mount_of_a_device_is_the_last_one_made() {
        let mounts = "22 1 8:1 / / rw,noatime - ext4 /dev/sda1 rw\n\
                      30 22 8:17 / /data ro,relatime shared:1 - xfs /dev/sdb1 rw,noquota\n\
                      31 22 8:17 /a /data/a rw - xfs /dev/sdb1 rw\n";
        let found = mount_of(rustix::fs::makedev(8, 17), mounts).expect("a mount");
        assert_eq!(
            found,
            ("xfs".to_owned(), vec!["rw".to_owned(), "rw".to_owned()])
        );
        assert_eq!(mount_of(rustix::fs::makedev(9, 9), mounts), None);
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let words = ["no-such-program-of-iproute2".to_owned()];
        let error = printed(&words).await.expect_err("nothing runs");
        assert!(error.to_string().contains("is not installed"), "{error}");
    }
}
