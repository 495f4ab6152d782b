//! What people see of a copy.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use headrace_core::name::RelPath;
use headrace_core::text::{bit_rate, byte_size, duration, visible};

use crate::convert::ProgressCounts;

/// Says one line to a person. It may hold words of the other side.
pub(crate) fn note(line: &str) {
    let line = visible(line);
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
        listed,
        ..
    } = counts;
    if *listed == Some(false) {
        // What is listed so far is not the whole: of that, no part and no time can be said.
        return format!(
            "{} and {files_done} files safe, {} of {files_total} files listed so far, {}",
            byte_size(*bytes_durable),
            byte_size(*bytes_total),
            bit_rate(*rate_bps),
        );
    }
    let percent = (bytes_durable * 100).checked_div(*bytes_total).unwrap_or(0);
    let left = bytes_total.saturating_sub(*bytes_durable) * 8;
    let time = left
        .checked_div(*rate_bps)
        .map_or(String::new(), |seconds| {
            format!(", {} left", duration(Duration::from_secs(seconds)))
        });
    format!(
        "{percent} % safe: {} of {}, {files_done} of {files_total} files, {}{time}",
        byte_size(*bytes_durable),
        byte_size(*bytes_total),
        bit_rate(*rate_bps),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_the_source_is_listed_no_part_and_no_time_are_said() {
        let counts = |listed| ProgressCounts {
            files_total: 40,
            files_done: 20,
            bytes_total: 8000,
            bytes_durable: 4000,
            rate_bps: 8000,
            listed,
            ..ProgressCounts::default()
        };
        let whole = "50 % safe: 4.00 kB of 8.00 kB, 20 of 40 files, 8.00 kb/s, 4 s left";
        assert_eq!(so_far(&counts(Some(true))), whole);
        assert_eq!(so_far(&counts(None)), whole);
        assert_eq!(
            so_far(&counts(Some(false))),
            "4.00 kB and 20 files safe, 8.00 kB of 40 files listed so far, 8.00 kb/s"
        );
    }
}
