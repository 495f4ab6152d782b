//! What people see of a copy.

use std::io::{IsTerminal as _, Write as _};

use headrace_core::name::RelPath;

use crate::convert::ProgressCounts;

/// Says one line to a person.
pub(crate) fn note(line: &str) {
    let mut stderr = std::io::stderr().lock();
    // Who closed our output does not want to know.
    let _ = if stderr.is_terminal() {
        writeln!(stderr, "\r\x1b[K{line}")
    } else {
        writeln!(stderr, "{line}")
    };
}

/// Replaces the line that shows how far it is, where there is a terminal.
pub(crate) fn progress(line: &str) {
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\x1b[K{line}");
        let _ = stderr.flush();
    }
}

/// So many files.
pub(super) fn names(count: u64) -> String {
    if count == 1 {
        "1 file".to_owned()
    } else {
        format!("{count} files")
    }
}

/// The first few of so many names.
pub(super) fn list(sample: &[RelPath], count: u64) -> String {
    let shown: Vec<String> = sample
        .iter()
        .take(5)
        .map(|path| format!("`{path}`"))
        .collect();
    let more = count.saturating_sub(shown.len() as u64);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    shown.join(", ") + &rest
}

/// How far a copy is.
pub(super) fn so_far(counts: &ProgressCounts) -> String {
    let ProgressCounts {
        files_total,
        files_done,
        bytes_total,
        bytes_durable,
        rate_bps,
        ..
    } = counts;
    let percent = (bytes_durable * 100).checked_div(*bytes_total).unwrap_or(0);
    let left = bytes_total.saturating_sub(*bytes_durable) * 8;
    let time = left
        .checked_div(*rate_bps)
        .map_or(String::new(), |seconds| {
            format!(", {}:{:02} left", seconds / 60, seconds % 60)
        });
    format!(
        "{percent} % safe: {} of {}, {files_done} of {files_total} files, {}{time}",
        bytes(*bytes_durable),
        bytes(*bytes_total),
        scaled(*rate_bps, &["b/s", "kb/s", "Mb/s", "Gb/s"]),
    )
}

/// A number of bytes, for people.
pub(crate) fn bytes(count: u64) -> String {
    scaled(count, &["B", "kB", "MB", "GB", "TB", "PB"])
}

/// A number with the unit that fits, each a thousand times the one before it.
fn scaled(count: u64, units: &[&str]) -> String {
    let (mut unit, mut size) = (0, 1);
    while count / size >= 1000 && unit + 1 < units.len() {
        unit += 1;
        size *= 1000;
    }
    let name = units[unit];
    if unit == 0 {
        return format!("{count} {name}");
    }
    format!("{}.{} {name}", count / size, count % size / (size / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_the_unit_that_fits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1999), "1.9 kB");
        assert_eq!(bytes(20_000_000), "20.0 MB");
        assert_eq!(bytes(u64::MAX), "18446.7 PB");
    }
}
