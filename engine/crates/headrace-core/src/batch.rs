//! Batch frames: several small files, each with its hash and its bytes.

use crate::codec::{Put, Reader};
use crate::integrity::PieceHash;
use crate::wire::WireError;

/// A frame is sent when its payload has reached this: small enough for the cache, large enough to hide its cost.
pub const BATCH_BYTES: usize = 256 * 1024;
/// Most files in a batch.
pub const MAX_BATCH_FILES: usize = 4096;
/// What one file takes besides its bytes.
pub const FILE_OVERHEAD_BYTES: usize = 8 + 2 + 1 + 32 + 4;

/// One file of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchFile<'b> {
    /// Number of the entry.
    pub file: u64,
    /// How often it was restarted.
    pub generation: u16,
    /// Whether it has holes at the source.
    pub sparse: Sparse,
    /// BLAKE3 of the bytes.
    pub hash: PieceHash,
    /// The content.
    pub bytes: &'b [u8],
}

/// Whether a file has holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sparse {
    /// Runs of zeros become holes again.
    Yes,
    /// Every byte takes space.
    No,
}

impl BatchFile<'_> {
    /// Append the file to a payload.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.file.to_le_bytes());
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.push(u8::from(self.sparse == Sparse::Yes));
        out.extend_from_slice(&self.hash);
        out.put_count(self.bytes.len());
        out.extend_from_slice(self.bytes);
    }
}

/// Read the files of a batch, without copying.
///
/// # Errors
/// [`WireError`] for anything but 1 to [`MAX_BATCH_FILES`] files.
pub fn read_batch(payload: &[u8]) -> Result<Vec<BatchFile<'_>>, WireError> {
    let mut reader = Reader::new(payload);
    let mut files = Vec::new();
    while reader.left() > 0 {
        if files.len() == MAX_BATCH_FILES {
            return Err(WireError::contradiction("too many files in a batch"));
        }
        let (file, generation) = (reader.u64("file")?, reader.u16("generation")?);
        let sparse = if reader.u8("sparse")? == 0 {
            Sparse::No
        } else {
            Sparse::Yes
        };
        let hash = reader.array("hash")?;
        let length = reader.u32("length")?;
        let bytes = reader.bytes(usize::try_from(length).unwrap_or(usize::MAX), "bytes")?;
        files.push(BatchFile {
            file,
            generation,
            sparse,
            hash,
            bytes,
        });
    }
    if files.is_empty() {
        Err(WireError::contradiction("a batch without files"))
    } else {
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn batches_survive_the_wire(files in prop::collection::vec(
            (any::<(u64, u16, bool, [u8; 32])>(), prop::collection::vec(any::<u8>(), 0..100)), 1..20,
        )) {
            let mut payload = Vec::new();
            let files: Vec<BatchFile<'_>> = files
                .iter()
                .map(|((file, generation, sparse, hash), bytes)| BatchFile {
                    file: *file,
                    generation: *generation,
                    sparse: if *sparse { Sparse::Yes } else { Sparse::No },
                    hash: *hash,
                    bytes,
                })
                .collect();
            for file in &files {
                file.put(&mut payload);
            }
            prop_assert_eq!(read_batch(&payload), Ok(files));
            prop_assert!(read_batch(&payload[..payload.len() - 1]).is_err());
        }

        #[test]
        fn any_bytes_are_a_batch_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            drop(read_batch(&bytes));
        }
    }
}
