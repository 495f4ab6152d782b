//! BLAKE3 of files that arrive in pieces and in any order.
//!
//! A file is cut into *blocks* of 256 KiB, and blocks into *units* of a power of two of blocks. Both are subtrees of BLAKE3's own
//! tree, so their chaining values merge into exactly the hash that `b3sum` prints, and every piece is hashed once, where it is.

use std::collections::HashMap;

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

/// Bytes of a verify block: fits the second-level cache together with its plaintext and record buffers.
pub const BLOCK_BYTES: u64 = 256 * 1024;

/// What is known of a piece: the chaining value of its subtree, or the file's hash when it is the only piece.
pub type PieceHash = [u8; 32];

/// The hash of the piece of a file of `file_size` bytes that starts at `offset`, a multiple of [`BLOCK_BYTES`]: the file's own hash
/// when the piece is all of it, the chaining value of its subtree otherwise.
///
/// The piece must be a whole block or unit (shorter only at the end of the file) and must not be empty unless the file is.
#[must_use]
pub fn piece_hash(file_size: u64, offset: u64, piece: &[u8]) -> PieceHash {
    if piece.len() as u64 == file_size {
        return *blake3::hash(piece).as_bytes();
    }
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(offset);
    hasher.update(piece);
    hasher.finalize_non_root()
}

/// Merges the block hashes of one unit, in order, into the unit's hash: the file's own hash when the unit is all of the file.
///
/// `None` for no blocks.
#[must_use]
pub fn unit_hash(blocks: &[PieceHash], is_whole_file: WholeFile) -> Option<PieceHash> {
    let count = blocks.len() as u64;
    let mut tree = HashTree::new(count, is_whole_file);
    for (index, block) in blocks.iter().enumerate() {
        tree.insert(index as u64, *block);
    }
    tree.top()
}

/// Whether the pieces of a tree are all there is of a file, so that its top is the file's hash and not a subtree's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WholeFile {
    /// The top is the file's hash.
    Yes,
    /// The top is the chaining value of a subtree.
    No,
}

/// Merges the hashes of equal pieces (the last may be shorter), inserted in any order, as early as it can: what is kept is one value
/// per gap, not one per piece.
#[derive(Debug, Clone)]
pub struct HashTree {
    count: u64,
    whole: WholeFile,
    /// By height above the pieces and index at that height.
    nodes: HashMap<(u8, u64), PieceHash>,
}

impl HashTree {
    /// A tree over `count` pieces.
    #[must_use]
    pub fn new(count: u64, whole: WholeFile) -> Self {
        Self {
            count,
            whole,
            nodes: HashMap::new(),
        }
    }

    /// Add the piece with this index. Each index is inserted once; one beyond the count is ignored.
    pub fn insert(&mut self, index: u64, hash: PieceHash) {
        if index >= self.count {
            return;
        }
        let (mut height, mut index, mut hash, mut width) = (0_u8, index, hash, self.count);
        while width > 1 {
            let sibling = index ^ 1;
            if sibling < width {
                let Some(other) = self.nodes.remove(&(height, sibling)) else {
                    break;
                };
                let (left, right) = if sibling < index {
                    (other, hash)
                } else {
                    (hash, other)
                };
                hash = if width == 2 && self.whole == WholeFile::Yes {
                    *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
                } else {
                    merge_subtrees_non_root(&left, &right, Mode::Hash)
                };
            }
            // Without a sibling this is the right edge, which moves up as it is.
            height += 1;
            index /= 2;
            width = width.div_ceil(2);
        }
        self.nodes.insert((height, index), hash);
    }

    /// The hash over all pieces, once all are there.
    #[must_use]
    pub fn top(&self) -> Option<PieceHash> {
        let mut height = 0_u8;
        let mut width = self.count;
        while width > 1 {
            height += 1;
            width = width.div_ceil(2);
        }
        self.nodes.get(&(height, 0)).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same arithmetic on small blocks: 1 KiB is BLAKE3's smallest subtree.
    fn hash_in_units(
        bytes: &[u8],
        block: usize,
        blocks_in_unit: usize,
        order: &[usize],
    ) -> PieceHash {
        let size = bytes.len() as u64;
        let unit = block * blocks_in_unit;
        let units = bytes.len().div_ceil(unit).max(1);
        let mut tree = HashTree::new(units as u64, WholeFile::Yes);
        let whole = if units == 1 {
            WholeFile::Yes
        } else {
            WholeFile::No
        };
        for index in order.iter().map(|index| index % units).chain(0..units) {
            let start = index * unit;
            let end = (start + unit).min(bytes.len());
            let blocks: Vec<PieceHash> = if bytes.is_empty() {
                vec![piece_hash(0, 0, b"")]
            } else {
                (start..end)
                    .step_by(block)
                    .map(|at| piece_hash(size, at as u64, &bytes[at..(at + block).min(end)]))
                    .collect()
            };
            if tree.top().is_none() && !inserted(&tree, index) {
                tree.insert(
                    index as u64,
                    unit_hash(&blocks, whole).expect("at least one block"),
                );
            }
        }
        tree.top().expect("every unit was inserted")
    }

    fn inserted(tree: &HashTree, index: usize) -> bool {
        let mut width = tree.count;
        let (mut height, mut index) = (0_u8, index as u64);
        loop {
            if tree.nodes.contains_key(&(height, index)) {
                return true;
            }
            if width <= 1 {
                return false;
            }
            height += 1;
            index /= 2;
            width = width.div_ceil(2);
        }
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_merge_into_the_hash_of_the_whole(
            length in 0_usize..70_000,
            blocks_in_unit in prop::sample::select(vec![1_usize, 2, 4, 8]),
            order in prop::collection::vec(0_usize..64, 0..64),
        ) {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251).to_le_bytes()[0]).collect();
            let merged = hash_in_units(&bytes, 1024, blocks_in_unit, &order);
            prop_assert_eq!(merged, *blake3::hash(&bytes).as_bytes());
        }
    }

    #[test]
    fn borders_of_blocks_and_units_hash_like_b3sum() {
        let block = crate::codec::to_usize(BLOCK_BYTES);
        for length in [
            0,
            1,
            1024,
            1025,
            block - 1,
            block,
            block + 1,
            4 * block,
            4 * block + 1,
            9 * block,
        ] {
            let bytes = vec![0xA5; length];
            assert_eq!(
                hash_in_units(&bytes, block, 4, &[]),
                *blake3::hash(&bytes).as_bytes(),
                "{length}"
            );
        }
    }

    #[test]
    fn a_tree_keeps_one_value_per_gap() {
        let mut tree = HashTree::new(1 << 20, WholeFile::Yes);
        for index in 0..(1 << 12) {
            tree.insert(index, [1; 32]);
        }
        assert_eq!(tree.nodes.len(), 1);
        assert_eq!(tree.top(), None);
    }
}
