//! What a process finds of its host in files of /proc: the control groups that it is in, and the size of a page.

use std::io;
use std::path::{Path, PathBuf};

const GROUPS: &str = "/sys/fs/cgroup";

/// The folders of the control groups of a process, each with those around it; `memberships` is what its `/proc/PID/cgroup` holds.
#[must_use]
pub fn groups(memberships: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let mut bases = if number == "0" {
            vec![GROUPS.to_owned()]
        } else {
            Vec::new()
        };
        bases.extend(
            names
                .split(',')
                .filter(|name| ["cpu", "memory"].contains(name))
                .map(|name| format!("{GROUPS}/{name}")),
        );
        for base in bases {
            let inner = Path::new(&base).join(path.trim_start_matches('/'));
            let around = inner
                .ancestors()
                .take_while(|folder| folder.starts_with(&base));
            found.extend(around.map(Path::to_owned));
        }
    }
    found
}

/// The size of a page of memory, from what the kernel told this process at its start: pairs of a kind and a value.
///
/// # Errors
/// It cannot be read, or does not say it.
pub fn page_bytes() -> io::Result<u64> {
    const PAGE_SIZE: usize = 6;
    const WORD: usize = size_of::<usize>();
    let told = std::fs::read("/proc/self/auxv")?;
    let word = |bytes: &[u8]| {
        bytes
            .try_into()
            .map(usize::from_ne_bytes)
            .unwrap_or_default()
    };
    told.chunks_exact(2 * WORD)
        .find(|pair| word(&pair[..WORD]) == PAGE_SIZE)
        .map(|pair| word(&pair[WORD..]) as u64)
        .ok_or_else(|| io::Error::other("the kernel did not say it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_named_with_those_around_them_and_none_above_their_base() {
        let memberships = "12:cpu,cpuacct:/a/b\n3:freezer:/c\n0::/d\n";
        let found = groups(memberships);
        let named: Vec<&str> = found.iter().filter_map(|path| path.to_str()).collect();
        let cpu = [
            "/sys/fs/cgroup/cpu/a/b",
            "/sys/fs/cgroup/cpu/a",
            "/sys/fs/cgroup/cpu",
        ];
        assert_eq!(named[..3], cpu);
        assert_eq!(named[3..], ["/sys/fs/cgroup/d", "/sys/fs/cgroup"]);
    }

    #[test]
    fn a_page_is_a_power_of_two() {
        let bytes = page_bytes().expect("the kernel says");
        assert!(bytes.is_power_of_two() && bytes >= 4096);
    }
}
