//! What a block device did, as the kernel counts it: says whether a storage that a thread waits for works or stands still.

use std::path::Path;

const SECTOR_BYTES: u64 = 512;
/// Sectors written are the seventh figure (Documentation/block/stat.rst).
const SECTORS_WRITTEN: usize = 6;

/// Bytes that were written to the device of a file system (`st_dev`) since it is there, by anybody. `None` where that is no block device, as
/// with network file systems.
#[must_use]
pub fn written_bytes(device: u64) -> Option<u64> {
    let numbers = format!(
        "{}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    let path = Path::new("/sys/dev/block").join(numbers).join("stat");
    parse(&std::fs::read_to_string(path).ok()?)
}

fn parse(stat: &str) -> Option<u64> {
    let sectors: u64 = stat
        .split_ascii_whitespace()
        .nth(SECTORS_WRITTEN)?
        .parse()
        .ok()?;
    sectors.checked_mul(SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told_in_bytes() {
        let stat = "  37  0  1184  4  9  11  72  8  0  12  12  0  0  0  0  3  2\n";
        assert_eq!(parse(stat), Some(72 * 512));
    }

    #[test]
    fn what_does_not_fit_is_not_told() {
        for stat in [
            "",
            "1 2 3",
            "1 2 3 4 5 6 x",
            "0 0 0 0 0 0 18446744073709551615",
        ] {
            assert_eq!(parse(stat), None, "{stat}");
        }
    }

    #[test]
    fn a_file_system_without_a_block_device_tells_nothing() {
        assert_eq!(written_bytes(0), None);
        let proc = rustix::fs::stat("/proc").expect("it is there");
        assert_eq!(written_bytes(proc.st_dev), None);
    }
}
