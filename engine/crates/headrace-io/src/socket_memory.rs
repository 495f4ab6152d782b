//! What the kernel says of the memory of TCP sockets: what it dropped for lack of it, and how much it gives.
//!
//! Its counters are those of the whole network namespace: what other programs do there counts as well.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::host::{groups, page_bytes};

/// Counters of `/proc/net/netstat`, in the order of [`Rises`].
const COUNTERS: [&str; 9] = [
    "PruneCalled",
    "RcvPruned",
    "OfoPruned",
    "TCPRcvCollapsed",
    "TCPRcvQDrop",
    "TCPMemoryPressures",
    "TCPAbortOnMemory",
    "TCPZeroWindowDrop",
    "TCPBacklogDrop",
];
/// Most bytes of one file.
const FILE_BYTES: u64 = 64 << 10;
/// What limits the memory of sockets in a control group, and what they hold of it: of version 1 sockets alone, of version 2 all memory.
const OF_A_GROUP: [(&str, &str); 2] = [
    (
        "memory.kmem.tcp.limit_in_bytes",
        "memory.kmem.tcp.usage_in_bytes",
    ),
    ("memory.max", "memory.current"),
];
/// Limits from here on are none: the kernel writes the largest number of pages.
const NO_LIMIT_BYTES: u64 = 1 << 60;

/// How much counters of the kernel rose. What it does not count, or what went back meanwhile, is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rises {
    /// How often it looked for memory of a socket to give back.
    pub prune_called: Option<u64>,
    /// Packets that it dropped, since that found too little.
    pub receive_pruned: Option<u64>,
    /// Packets that had come too early and were dropped for it.
    pub early_pruned: Option<u64>,
    /// Packets that it joined, so that they take less.
    pub receive_collapsed: Option<u64>,
    /// Packets that came in order and were dropped, since no memory was left.
    pub receive_queue_drops: Option<u64>,
    /// How often the memory of all sockets of the host became scarce (`net.ipv4.tcp_mem`).
    pub memory_pressures: Option<u64>,
    /// Connections that it ended for lack of memory.
    pub aborts_on_memory: Option<u64>,
    /// Packets dropped as their receive window was shut.
    pub zero_window_drops: Option<u64>,
    /// Packets dropped as too many waited for a busy thread.
    pub backlog_drops: Option<u64>,
}

impl Rises {
    fn of(counts: [Option<u64>; COUNTERS.len()]) -> Self {
        let [
            prune_called,
            receive_pruned,
            early_pruned,
            receive_collapsed,
            receive_queue_drops,
            memory_pressures,
            aborts_on_memory,
            zero_window_drops,
            backlog_drops,
        ] = counts;
        Self {
            prune_called,
            receive_pruned,
            early_pruned,
            receive_collapsed,
            receive_queue_drops,
            memory_pressures,
            aborts_on_memory,
            zero_window_drops,
            backlog_drops,
        }
    }
}

/// What the kernel gives sockets, and what they hold. What it does not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The three figures of `net.ipv4.tcp_mem`, in pages; empty where this namespace does not show it.
    pub tcp_mem_pages: Vec<u64>,
    /// What TCP sockets of the whole host hold.
    pub tcp_held_pages: Option<u64>,
    /// Bytes of a page.
    pub page_bytes: Option<u64>,
    /// The tightest limit of this process's control groups, and in which file of the group that is set.
    pub group_limit_bytes: Option<u64>,
    /// What the group holds of it.
    pub group_held_bytes: Option<u64>,
    /// Name of that file.
    pub group_setting: String,
}

/// What one host says of the memory of its sockets since somebody began to watch it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SocketMemory {
    /// How much its counters rose since then.
    pub rises: Rises,
    /// What it gives sockets now.
    pub limits: Limits,
}

/// Watches the counters from its first look on.
#[derive(Debug, Default)]
pub struct Watch(Option<Counted>);

#[derive(Debug)]
struct Counted {
    first: [Option<u64>; COUNTERS.len()],
    last: [Option<u64>; COUNTERS.len()],
}

impl Watch {
    /// Look at this host now.
    pub fn look(&mut self) -> SocketMemory {
        SocketMemory {
            rises: self.note(counters(&text(Path::new("/proc/net/netstat")))),
            limits: limits(),
        }
    }

    /// Take over what the counters are now. One that went back says no more, as nobody knows how often it did.
    fn note(&mut self, now: [Option<u64>; COUNTERS.len()]) -> Rises {
        let counted = self.0.get_or_insert(Counted {
            first: now,
            last: now,
        });
        for ((first, last), now) in counted.first.iter_mut().zip(counted.last).zip(now) {
            if now < last {
                *first = None;
            }
        }
        counted.last = now;
        let mut rises = [None; COUNTERS.len()];
        for ((rise, first), last) in rises.iter_mut().zip(counted.first).zip(counted.last) {
            *rise = first
                .zip(last)
                .map(|(first, last)| last.saturating_sub(first));
        }
        Rises::of(rises)
    }
}

/// Reads the counters; the file has two lines of each protocol: names, and their values in the same order.
fn counters(netstat: &str) -> [Option<u64>; COUNTERS.len()] {
    let mut found = [None; COUNTERS.len()];
    let mut lines = netstat
        .lines()
        .filter_map(|line| line.strip_prefix("TcpExt:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return found;
    };
    let pairs = names
        .split_ascii_whitespace()
        .zip(values.split_ascii_whitespace());
    for (name, value) in pairs {
        if let Some(place) = COUNTERS.iter().position(|known| *known == name) {
            found[place] = value.parse().ok();
        }
    }
    found
}

fn limits() -> Limits {
    let pages = text(Path::new("/proc/sys/net/ipv4/tcp_mem"));
    let pages: Vec<u64> = numbers(&pages).collect();
    let mut told = Limits {
        tcp_mem_pages: if pages.len() == 3 { pages } else { Vec::new() },
        tcp_held_pages: held_pages(&text(Path::new("/proc/net/sockstat"))),
        page_bytes: page_bytes().ok(),
        ..Limits::default()
    };
    for folder in groups(&text(Path::new("/proc/self/cgroup"))) {
        for (limit, held) in OF_A_GROUP {
            let number = |name| numbers(&text(&folder.join(name))).next();
            let found = number(limit).filter(|bytes| *bytes < NO_LIMIT_BYTES);
            if let Some(bytes) = found
                && told.group_limit_bytes.is_none_or(|least| bytes < least)
            {
                told.group_limit_bytes = Some(bytes);
                told.group_held_bytes = number(held);
                limit.clone_into(&mut told.group_setting);
            }
        }
    }
    told
}

/// Pages that TCP sockets hold: the last pair in the line of TCP is `mem` and their number.
fn held_pages(sockstat: &str) -> Option<u64> {
    let line = sockstat
        .lines()
        .find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split_ascii_whitespace()
        .map_while(|word| word.parse().ok())
}

/// A file as far as it is read; empty where there is none.
fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(FILE_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "TcpExt: SyncookiesSent PruneCalled OfoPruned TCPRcvQDrop";

    fn told(values: &str) -> [Option<u64>; COUNTERS.len()] {
        counters(&format!(
            "{NAMES}\nTcpExt: {values}\nIpExt: PruneCalled\nIpExt: 99\n"
        ))
    }

    #[test]
    fn counters_are_found_by_name_and_what_a_kernel_does_not_count_is_absent() {
        let mut watch = Watch::default();
        watch.note(told("7 10 20 30"));
        let rises = watch.note(told("9 13 20 36"));
        let expected = Rises {
            prune_called: Some(3),
            early_pruned: Some(0),
            receive_queue_drops: Some(6),
            ..Rises::default()
        };
        assert_eq!(rises, expected);
    }

    #[test]
    fn a_counter_that_went_back_or_vanished_says_no_more_and_the_others_do() {
        let mut watch = Watch::default();
        let mut note = |values| watch.note(told(values));
        note("0 10 20 30");
        note("0 18446744073709551615 21 31");
        let rises = note("0 3 22 18446744073709551616");
        assert_eq!((rises.prune_called, rises.early_pruned), (None, Some(2)));
        assert_eq!(rises.receive_queue_drops, None);
        // It may have gone round more than once.
        let rises = note("0 50 23 40");
        assert_eq!((rises.prune_called, rises.early_pruned), (None, Some(3)));
        assert_eq!(rises.receive_queue_drops, None);
    }

    #[test]
    fn a_kernel_that_shows_no_counters_has_none() {
        for text in ["", "TcpExt:", "TcpExt: PruneCalled", "PruneCalled\n1\n"] {
            assert_eq!(
                Watch::default().note(counters(text)),
                Rises::default(),
                "{text}"
            );
        }
    }

    #[test]
    fn this_host_tells_what_it_counts_and_gives() {
        let mut watch = Watch::default();
        let first = watch.look();
        assert_eq!(first.rises.prune_called, Some(0));
        assert!(first.limits.tcp_held_pages.is_some());
        assert!(first.limits.page_bytes.is_some_and(u64::is_power_of_two));
        assert!(matches!(first.limits.tcp_mem_pages.len(), 0 | 3));
        assert_eq!(
            first.limits.group_limit_bytes.is_some(),
            !first.limits.group_setting.is_empty()
        );
    }

    #[test]
    fn what_sockets_hold_is_read_from_the_line_of_tcp() {
        let sockstat =
            "sockets: used 22\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 17\nUDP: inuse 0 mem 3\n";
        assert_eq!(held_pages(sockstat), Some(17));
        assert_eq!(held_pages("UDP: inuse 0 mem 3\n"), None);
        assert_eq!(held_pages("TCP: mem\n"), None);
    }
}
