//! Which units of a file are there, as a bitmap and as ranges.

use std::ops::Range;

use thiserror::Error;

use crate::codec::to_usize;

/// Most ranges in one message: a file whose missing units are more scattered is asked for in a coarser way.
pub const MAX_RANGES: usize = 4096;

/// A set of unit numbers below a fixed count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    count: u64,
    ones: u64,
    words: Vec<u64>,
}

impl Bitmap {
    /// The empty set of numbers below `count`; takes one bit per number.
    #[must_use]
    pub fn new(count: u64) -> Self {
        let words = to_usize(count.div_ceil(64));
        Self {
            count,
            ones: 0,
            words: vec![0; words],
        }
    }

    /// Add a number; `false` when it was there already or is not below the count.
    pub fn insert(&mut self, number: u64) -> bool {
        if number >= self.count {
            return false;
        }
        let (word, bit) = place(number);
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.ones += u64::from(fresh);
        fresh
    }

    /// Whether the number is in the set.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        number < self.count && self.words[word] & bit != 0
    }

    /// How many numbers are in the set.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ones
    }

    /// Whether no number is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ones == 0
    }

    /// Whether every number below the count is in the set.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.ones == self.count
    }

    /// The numbers below the count that are not in the set, as rising ranges. When there are more than [`MAX_RANGES`], the last one
    /// reaches over the rest, so that numbers of the set may lie in it.
    #[must_use]
    pub fn missing(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for number in (0..self.count).filter(|number| !self.contains(*number)) {
            if let Some(last) = ranges.last_mut().filter(|last| last.end == number) {
                last.end += 1;
            } else if ranges.len() < MAX_RANGES {
                ranges.push(number..number + 1);
            } else {
                break;
            }
        }
        if ranges.len() == MAX_RANGES
            && let Some(last) = ranges.last_mut()
        {
            let unlisted = (last.end..self.count)
                .rev()
                .find(|number| !self.contains(*number));
            last.end = unlisted.map_or(last.end, |number| number + 1);
        }
        ranges
    }
}

/// Checks that ranges from outside are rising, not empty, apart, and below `count`.
///
/// # Errors
/// [`RangeError`] for the first that is not.
pub fn check_ranges(ranges: &[Range<u64>], count: u64) -> Result<(), RangeError> {
    if ranges.len() > MAX_RANGES {
        return Err(RangeError::TooMany);
    }
    let mut end = 0;
    for (index, range) in ranges.iter().enumerate() {
        let apart = index == 0 || range.start > end;
        if range.start >= range.end || range.end > count || !apart {
            return Err(RangeError::Order {
                start: range.start,
                end: range.end,
            });
        }
        end = range.end;
    }
    Ok(())
}

/// Ranges that are not a set of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RangeError {
    /// More than [`MAX_RANGES`].
    #[error("more than {MAX_RANGES} ranges")]
    TooMany,
    /// Empty, out of order, or beyond the end.
    #[error("range `{start}..{end}` is empty, out of order or beyond the end")]
    Order {
        /// First number.
        start: u64,
        /// First number after it.
        end: u64,
    },
}

fn place(number: u64) -> (usize, u64) {
    (to_usize(number / 64), 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_missing_is_what_was_not_inserted(
            count in 1_u64..300,
            numbers in prop::collection::vec(0_u64..320, 0..200),
        ) {
            let mut bitmap = Bitmap::new(count);
            let mut model = BTreeSet::new();
            for number in numbers {
                prop_assert_eq!(bitmap.insert(number), number < count && model.insert(number));
            }
            let missing = bitmap.missing();
            prop_assert_eq!(check_ranges(&missing, count), Ok(()));
            let listed: BTreeSet<u64> = missing.into_iter().flatten().collect();
            for number in 0..count {
                prop_assert_eq!(bitmap.contains(number), model.contains(&number));
                prop_assert_eq!(listed.contains(&number), !model.contains(&number));
            }
            prop_assert_eq!(bitmap.len(), model.len() as u64);
            prop_assert_eq!(bitmap.is_full(), model.len() as u64 == count);
        }
    }

    #[test]
    fn scattered_gaps_are_bounded_and_covered() {
        let count = 4 * MAX_RANGES as u64;
        let mut bitmap = Bitmap::new(count);
        for number in (0..count).step_by(2) {
            bitmap.insert(number);
        }
        let missing = bitmap.missing();
        assert_eq!(missing.len(), MAX_RANGES);
        assert_eq!(check_ranges(&missing, count), Ok(()));
        let last = missing.last().expect("ranges");
        assert_eq!(last.end, count);
    }

    #[test]
    fn ranges_that_are_no_set_are_refused() {
        let wrong: [&[(u64, u64)]; 5] = [
            &[(3, 3)],
            &[(2, 4), (4, 5)],
            &[(4, 5), (1, 2)],
            &[(0, 11)],
            &[(5, 2)],
        ];
        for pairs in wrong {
            let ranges: Vec<Range<u64>> = pairs.iter().map(|(start, end)| *start..*end).collect();
            assert!(
                matches!(check_ranges(&ranges, 10), Err(RangeError::Order { .. })),
                "{ranges:?}"
            );
        }
        assert_eq!(
            check_ranges(&vec![0..1; MAX_RANGES + 1], 10),
            Err(RangeError::TooMany)
        );
    }
}
