//! Folders of a trash: what a transfer deleted at a root is kept in one, and its name says how long.

use crate::value::{Id, Timestamp};

/// Most days that what is deleted is kept.
pub const MAX_KEEP_DAYS: u64 = 366;

const DAY_MS: i64 = 86_400_000;
/// Bytes of a day: `2026-12-26`.
const DAY_BYTES: usize = 10;
/// Midnight, as it follows a day in a time.
const MIDNIGHT: &str = "T00:00:00.000Z";

/// A folder below the trash of a root: `2026-12-27-tr_…`. What it holds may be removed from that day on, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashFolder {
    /// From then on it may be removed.
    pub until: Timestamp,
    /// The transfer whose deletes it holds.
    pub transfer: Id,
}

impl TrashFolder {
    /// The folder of a transfer that begins to delete `now`. A day is added, so that what it deletes last is kept whole `keep_days`, too.
    #[must_use]
    pub fn new(transfer: Id, now: Timestamp, keep_days: u64) -> Self {
        let days = i64::try_from(keep_days).unwrap_or(i64::MAX / DAY_MS / 4) + 2;
        let until = (now.unix_ms().div_euclid(DAY_MS) + days) * DAY_MS;
        Self {
            until: Timestamp::from_unix_ms(until),
            transfer,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        let until = self.until.to_string();
        format!(
            "{}-{}",
            until.get(..DAY_BYTES).unwrap_or(&until),
            self.transfer
        )
    }

    /// The reverse of [`TrashFolder::name`]; `None` for any other name.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let (day, rest) = name.split_at_checked(DAY_BYTES)?;
        Some(Self {
            until: format!("{day}{MIDNIGHT}").parse().ok()?,
            transfer: rest.strip_prefix('-')?.parse().ok()?,
        })
    }

    /// Whether what it holds may be removed.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_name_says_a_day_until_which_even_what_is_deleted_a_day_later_is_kept() {
        for now in ["2026-11-25T00:00:00Z", "2026-11-25T23:59:59.999Z"] {
            let folder = TrashFolder::new("tr_1".parse().expect("an id"), at(now), 30);
            assert_eq!(folder.name(), "2026-12-27-tr_1");
            let kept_ms = folder.until.unix_ms() - at(now).unix_ms();
            assert!(kept_ms > 31 * DAY_MS, "{now}");
            assert!(!folder.is_over(at("2026-12-26T23:59:59.999Z")));
            assert!(folder.is_over(at("2026-12-27T00:00:00Z")));
        }
    }

    #[test]
    fn a_name_is_read_as_it_was_written_and_nothing_else_is() {
        let name = b"2026-12-27-tr_1-x";
        let folder = TrashFolder::parse(name).expect("a folder");
        assert_eq!(folder.name().as_bytes(), name);
        for other in [
            &b""[..],
            b"2026-12-27",
            b"2026-12-27-",
            b"2026-13-27-tr_1",
            b"2026-12-27tr_1",
            b"2026-12-27-tr/1",
            b"expired-2026-12-27-tr_1",
            b"2026-12-2\xff-tr_1",
        ] {
            assert_eq!(TrashFolder::parse(other), None, "{other:?}");
        }
    }
}
