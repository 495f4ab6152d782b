//! Names that differ in case only: on a destination that folds case they would land on each other.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::name::RelPath;

/// Most names remembered at once; further ones are not looked at.
const MAX_NAMES: usize = 1 << 20;

/// Remembers, for each folder on the way to the current path, hashes of the folded names that have a form in upper
/// case. Upper case sorts first in ASCII, so names in lower case need not be remembered.
#[derive(Default)]
pub(super) struct Cases {
    levels: Vec<HashSet<u64>>,
    names: usize,
}

impl Cases {
    /// 1 when the last name of this path collides with an earlier one of its folder, 0 otherwise; paths rise.
    pub(super) fn collides(&mut self, path: &RelPath) -> u64 {
        let depth = path.depth();
        let left = self.levels.drain(depth.min(self.levels.len())..);
        self.names -= left.map(|names| names.len()).sum::<usize>();
        self.levels.resize_with(depth, HashSet::new);
        let (Some(level), Some(name)) = (self.levels.last_mut(), path.file_name()) else {
            return 0;
        };
        let Ok(name) = std::str::from_utf8(name) else {
            return 0;
        };
        let folded = name.to_lowercase();
        let mut hasher = DefaultHasher::new();
        folded.hash(&mut hasher);
        let hash = hasher.finish();
        let collides = level.contains(&hash);
        if folded != name && self.names < MAX_NAMES && level.insert(hash) {
            self.names += 1;
        }
        u64::from(collides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(paths: &[&str]) -> u64 {
        let mut cases = Cases::default();
        let path = |text: &&str| RelPath::from_bytes(text.as_bytes()).expect("a test path");
        paths.iter().map(|text| cases.collides(&path(text))).sum()
    }

    #[test]
    fn names_of_one_folder_that_differ_in_case_only_are_counted() {
        assert_eq!(count(&["A", "B", "a"]), 1);
        assert_eq!(count(&["README", "ReadMe", "readme"]), 2);
        assert_eq!(count(&["d", "d/A", "d/a", "e", "e/A", "f", "f/a"]), 1);
        assert_eq!(count(&["A", "A/x", "b", "b/a"]), 0);
        assert_eq!(count(&["Ä", "ä"]), 1);
    }
}
