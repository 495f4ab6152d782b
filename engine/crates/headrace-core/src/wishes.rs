//! What somebody set for a transfer instead of what its nodes choose.

use std::ops::RangeInclusive;

use crate::message::MAX_STREAMS;

/// Bytes that a unit may have; a power of two besides.
pub const UNIT_BYTES: RangeInclusive<u64> = 256 << 10..=1 << 30;

/// What was set for a transfer; what was not is for its nodes to choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wishes {
    streams: Option<u16>,
    unit_bytes: Option<u64>,
}

impl Wishes {
    /// Takes what was said: data connections, and bytes of a unit.
    ///
    /// # Errors
    /// A sentence about what is out of its limits: 1 to [`MAX_STREAMS`], a power of two in [`UNIT_BYTES`].
    pub fn new(streams: Option<u32>, unit_bytes: Option<u64>) -> Result<Self, String> {
        let streams = match streams {
            None => None,
            Some(count) => match u16::try_from(count) {
                Ok(few @ 1..=MAX_STREAMS) => Some(few),
                _ => return Err(format!("streams is {count}, not 1 to {MAX_STREAMS}")),
            },
        };
        if let Some(bytes) = unit_bytes.filter(|bytes| !is_unit(*bytes)) {
            return Err(format!(
                "unit_bytes is {bytes}, not a power of two from 256 KiB to 1 GiB"
            ));
        }
        Ok(Self {
            streams,
            unit_bytes,
        })
    }

    /// Data connections, from 1 to [`MAX_STREAMS`].
    #[must_use]
    pub const fn streams(self) -> Option<u16> {
        self.streams
    }

    /// Bytes of a unit.
    #[must_use]
    pub const fn unit_bytes(self) -> Option<u64> {
        self.unit_bytes
    }
}

/// Whether files may be cut into units of so many bytes.
#[must_use]
pub fn is_unit(bytes: u64) -> bool {
    bytes.is_power_of_two() && UNIT_BYTES.contains(&bytes)
}

#[cfg(test)]
mod tests {
    use super::Wishes;

    #[test]
    fn what_was_set_is_taken_within_its_limits_and_refused_by_name_beyond_them() {
        for (streams, unit_bytes) in [
            (None, None),
            (Some(1), Some(256 << 10)),
            (Some(64), Some(1 << 30)),
        ] {
            let taken = Wishes::new(streams, unit_bytes).expect("within the limits");
            assert_eq!(taken.streams().map(u32::from), streams);
            assert_eq!(taken.unit_bytes(), unit_bytes);
        }
        for streams in [0, 65, 65_537, u32::MAX] {
            let refused = Wishes::new(Some(streams), None).expect_err("too few or too many");
            assert_eq!(refused, format!("streams is {streams}, not 1 to 64"));
        }
        for bytes in [0, 1, 128 << 10, (4 << 20) + 1, 3 << 20, 1 << 31, u64::MAX] {
            let refused = Wishes::new(None, Some(bytes)).expect_err("no unit");
            assert!(refused.starts_with(&format!("unit_bytes is {bytes}, not")));
        }
    }
}
