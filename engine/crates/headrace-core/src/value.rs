//! Small values of sealed documents: instants, digests, ids and decimal strings.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An instant in milliseconds since 1970-01-01T00:00:00Z; written `2026-11-25T14:30:00.123Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the epoch.
    #[must_use]
    pub const fn from_unix_ms(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn unix_ms(self) -> i64 {
        self.0
    }

    /// This instant moved by so many milliseconds; stays at the ends of the range.
    #[must_use]
    pub const fn plus_ms(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }
}

impl From<std::time::SystemTime> for Timestamp {
    fn from(time: std::time::SystemTime) -> Self {
        let milliseconds = match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        };
        Self(milliseconds)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(time) = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
        else {
            return write!(f, "{} ms", self.0);
        };
        let (date, clock) = (time.date(), time.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            clock.hour(),
            clock.minute(),
            clock.second(),
            clock.millisecond()
        )
    }
}

impl FromStr for Timestamp {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if !text.ends_with('Z') || text.as_bytes().get(10) != Some(&b'T') || text.len() > 30 {
            return Err(ValueError::Timestamp);
        }
        let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| ValueError::Timestamp)?;
        i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000_000))
            .map(Self)
            .map_err(|_| ValueError::Timestamp)
    }
}

/// A SHA-256 digest; written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(ValueError::Digest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = lower_hex_pair(pair[0], pair[1]).ok_or(ValueError::Digest)?;
        }
        Ok(Self(bytes))
    }
}

/// A random id with a type prefix, such as `tr_01J8…`: at most 64 bytes of letters, digits, `_` and `-`, so that it
/// is also a safe file name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// The text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Id {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let starts_well = text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !starts_well || text.len() > 64 || !text.bytes().all(safe) {
            return Err(ValueError::Id);
        }
        Ok(Self(text.into()))
    }
}

/// Text of a document that is only carried and shown: at most 256 bytes, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(Box<str>);

impl Label {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Label {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.len() > 256 || text.chars().any(char::is_control) {
            return Err(ValueError::Label);
        }
        Ok(Self(text.into()))
    }
}

/// Why a value of a document is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Not an RFC 3339 time in UTC.
    #[error("a time is not of the form `2026-11-25T14:30:00.123Z`")]
    Timestamp,
    /// Not 64 lower-case hexadecimal digits.
    #[error("a digest is not 64 lower-case hexadecimal digits")]
    Digest,
    /// Not at most 64 bytes in hexadecimal digits.
    #[error("a version is not at most 128 lower-case hexadecimal digits, two for each byte")]
    Version,
    /// Not a random id.
    #[error("an id is not 1 to 64 letters, digits, `_` and `-`")]
    Id,
    /// Too long, or with control characters.
    #[error("a text is longer than 256 bytes or holds control characters")]
    Label,
}

macro_rules! serde_as_text {
    ($($type:ty),+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}
pub(crate) use serde_as_text;

serde_as_text!(Timestamp, Digest, Id, Label);

/// Integers as decimal strings without sign, leading zeros or spaces (`#[serde(with = "decimal")]`).
pub mod decimal {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the decimal string.
    ///
    /// # Errors
    /// Only those of the serializer.
    pub fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    /// Reads the one decimal string that [`serialize`] writes for a value.
    ///
    /// # Errors
    /// When the text is anything else.
    pub fn deserialize<'de, T: FromStr + Display, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        parse(&String::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("not a decimal string in range"))
    }

    pub(super) fn parse<T: FromStr + Display>(text: &str) -> Option<T> {
        let value: T = text.parse().ok()?;
        (value.to_string() == text).then_some(value)
    }

    /// The same for values that may be `null`.
    pub mod option {
        use super::{Deserialize, Deserializer, Display, FromStr, Serializer, parse};
        use serde::de::Error as _;

        /// Writes the decimal string or `null`.
        ///
        /// # Errors
        /// Only those of the serializer.
        #[allow(clippy::ref_option, reason = "the signature serde asks for")]
        pub fn serialize<T: Display, S: Serializer>(
            value: &Option<T>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => serializer.collect_str(value),
                None => serializer.serialize_none(),
            }
        }

        /// Reads a decimal string or `null`.
        ///
        /// # Errors
        /// When the text is anything else.
        pub fn deserialize<'de, T: FromStr + Display, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<T>, D::Error> {
            Option::<String>::deserialize(deserializer)?
                .map(|text| {
                    parse(&text).ok_or_else(|| D::Error::custom("not a decimal string in range"))
                })
                .transpose()
        }
    }
}

/// The byte of two lower-case hexadecimal digits.
pub(crate) fn lower_hex_pair(high: u8, low: u8) -> Option<u8> {
    Some(lower_hex(high)? << 4 | lower_hex(low)?)
}

fn lower_hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_with_milliseconds_and_z() {
        let instant: Timestamp = "2026-11-25T14:30:00.123Z".parse().expect("a time");
        assert_eq!(instant.to_string(), "2026-11-25T14:30:00.123Z");
        assert_eq!(
            "2026-11-25T14:30:00Z"
                .parse::<Timestamp>()
                .expect("a time")
                .plus_ms(123),
            instant
        );
        for text in [
            "2026-11-25T14:30:00.123",
            "2026-11-25T14:30:00+00:00",
            "2026-11-25 14:30:00Z",
            "",
            "Z",
            "2026-02-30T00:00:00Z",
        ] {
            assert_eq!(
                text.parse::<Timestamp>(),
                Err(ValueError::Timestamp),
                "{text}"
            );
        }
    }

    #[test]
    fn decimal_strings_have_one_spelling() {
        assert_eq!(
            decimal::parse::<u64>("18446744073709551615"),
            Some(u64::MAX)
        );
        for text in ["", "+1", "01", "-0", "1 ", "1e3", "18446744073709551616"] {
            assert_eq!(decimal::parse::<u64>(text), None, "{text}");
        }
    }

    #[test]
    fn ids_are_safe_file_names() {
        assert!("tr_01J8-x".parse::<Id>().is_ok());
        for text in ["", "..", "_x", "-x", "a/b", "a.b", "ü", &"x".repeat(65)] {
            assert!(text.parse::<Id>().is_err(), "{text}");
        }
    }

    #[test]
    fn digests_are_lower_case() {
        let digest = Digest::of(b"");
        assert_eq!(
            digest.to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
    }
}
