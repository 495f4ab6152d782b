//! What tells one state of a file from another, in the words of the storage that holds it.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::{CodecError, Reader};
use crate::value::{ValueError, lower_hex_pair};

/// Longest version.
pub const MAX_VERSION_BYTES: usize = 64;

/// A state of a name: the storage that made it knows what it says, everybody else only keeps it and compares it. Two that are equal
/// stand for the same content. One without bytes is that of a name nobody could look at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    length: u8,
    bytes: [u8; MAX_VERSION_BYTES],
}

impl Version {
    /// That of a name nobody could look at.
    pub const UNKNOWN: Self = Self {
        length: 0,
        bytes: [0; MAX_VERSION_BYTES],
    };

    /// A version of these bytes; `None` when there are more than [`MAX_VERSION_BYTES`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut version = Self::UNKNOWN;
        version.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        version.length = u8::try_from(bytes.len()).ok()?;
        Some(version)
    }

    /// What the storage said.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Whether the storage said anything.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.length > 0
    }

    /// Append the version to a payload.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(self.length);
        out.extend_from_slice(self.as_bytes());
    }

    /// Read a version.
    ///
    /// # Errors
    /// [`CodecError`] for one that is too long.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let length = reader.u8("version")?;
        let bytes = reader.bytes(usize::from(length), "version")?;
        Self::new(bytes).ok_or(CodecError::Value {
            field: "version",
            value: length.into(),
        })
    }
}

impl Default for Version {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.as_bytes().iter();
        bytes.try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Version {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let digits = pairs.iter().map(|[high, low]| lower_hex_pair(*high, *low));
        let bytes: Option<Vec<u8>> = digits.collect();
        bytes
            .filter(|_| rest.is_empty())
            .and_then(|bytes| Self::new(&bytes))
            .ok_or(ValueError::Version)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn versions_survive_wire_and_text(bytes in prop::collection::vec(any::<u8>(), 0..=MAX_VERSION_BYTES)) {
            let version = Version::new(&bytes).expect("short");
            prop_assert_eq!(version.as_bytes(), &bytes[..]);
            let mut payload = Vec::new();
            version.put(&mut payload);
            prop_assert_eq!(Version::read(&mut Reader::new(&payload)), Ok(version));
            prop_assert_eq!(version.to_string().parse(), Ok(version));
        }
    }

    #[test]
    fn a_version_that_is_too_long_is_refused() {
        let long = [7; MAX_VERSION_BYTES + 1];
        assert_eq!(Version::new(&long), None);
        let payload = [&[65][..], &long].concat();
        assert!(Version::read(&mut Reader::new(&payload)).is_err());
        assert!(Version::from_str(&"07".repeat(65)).is_err());
        for text in ["0", "0G", "AB", "7 "] {
            assert!(Version::from_str(text).is_err(), "{text}");
        }
    }
}
