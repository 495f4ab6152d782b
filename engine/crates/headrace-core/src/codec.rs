//! Little-endian fields in byte slices, for the wire and the journal: every read is checked, nothing is allocated on a peer's word.

use thiserror::Error;

use crate::name::{NameError, RelPath};

/// Bytes that are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes end in the middle of a field.
    #[error("it ends in the middle of `{field}`")]
    Short {
        /// Name of the field.
        field: &'static str,
    },
    /// Bytes are left over.
    #[error("{count} bytes too many")]
    Long {
        /// How many.
        count: usize,
    },
    /// A value that the field cannot have.
    #[error("`{field}` has the value {value}, which it cannot have")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// What it says.
        value: u64,
    },
    /// Text that is not UTF-8, or too long.
    #[error("`{field}` is not text of at most {max_bytes} bytes")]
    Text {
        /// Name of the field.
        field: &'static str,
        /// Its limit.
        max_bytes: usize,
    },
    /// A path that could leave its folder.
    #[error("a path is refused: {0}")]
    Path(#[from] NameError),
}

/// A length or count as `usize`: Headrace runs on 64-bit systems only, where nothing is lost.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "checked for the target below"
)]
pub const fn to_usize(value: u64) -> usize {
    const { assert!(usize::BITS >= 64, "Headrace needs a 64-bit system") };
    value as usize
}

/// Reads fields from the front of a slice.
#[derive(Debug, Clone)]
pub struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    /// Read from `bytes`.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// So many raw bytes.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn bytes(&mut self, count: usize, field: &'static str) -> Result<&'b [u8], CodecError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(CodecError::Short { field })?;
        self.rest = rest;
        Ok(taken)
    }

    /// An array of fixed size.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], CodecError> {
        let (taken, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(CodecError::Short { field })?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn u8(&mut self, field: &'static str) -> Result<u8, CodecError> {
        self.array(field).map(u8::from_le_bytes)
    }

    /// Two bytes.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn u16(&mut self, field: &'static str) -> Result<u16, CodecError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn u32(&mut self, field: &'static str) -> Result<u32, CodecError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn u64(&mut self, field: &'static str) -> Result<u64, CodecError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Nanoseconds since the epoch, sixteen bytes.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn i128(&mut self, field: &'static str) -> Result<i128, CodecError> {
        self.array(field).map(i128::from_le_bytes)
    }

    /// Bytes with a two-byte length before them.
    ///
    /// # Errors
    /// [`CodecError::Short`].
    pub fn sized(&mut self, field: &'static str) -> Result<&'b [u8], CodecError> {
        let length = self.u16(field)?;
        self.bytes(usize::from(length), field)
    }

    /// Text with a two-byte length before it.
    ///
    /// # Errors
    /// [`CodecError::Text`] when it is not UTF-8 or longer than `max_bytes`.
    pub fn text(&mut self, max_bytes: usize, field: &'static str) -> Result<&'b str, CodecError> {
        let bytes = self.sized(field)?;
        let text = std::str::from_utf8(bytes)
            .ok()
            .filter(|text| text.len() <= max_bytes);
        text.ok_or(CodecError::Text { field, max_bytes })
    }

    /// A path, checked.
    ///
    /// # Errors
    /// [`CodecError::Path`] for one that is no usable path.
    pub fn path(&mut self, field: &'static str) -> Result<RelPath, CodecError> {
        Ok(RelPath::from_bytes(self.sized(field)?)?)
    }

    /// All the rest.
    pub fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.rest)
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Nothing may be left.
    ///
    /// # Errors
    /// [`CodecError::Long`].
    pub fn end(&self) -> Result<(), CodecError> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(CodecError::Long { count }),
        }
    }
}

/// Appends fields to a vector.
pub trait Put {
    /// Bytes with a two-byte length before them; longer ones are cut at 65,535.
    fn put_sized(&mut self, bytes: &[u8]);
    /// Four bytes that hold a count; larger counts saturate (callers stay far below).
    fn put_count(&mut self, count: usize);
}

impl Put for Vec<u8> {
    fn put_sized(&mut self, bytes: &[u8]) {
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        self.extend_from_slice(&length.to_le_bytes());
        self.extend_from_slice(&bytes[..usize::from(length)]);
    }

    fn put_count(&mut self, count: usize) {
        self.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }
}
