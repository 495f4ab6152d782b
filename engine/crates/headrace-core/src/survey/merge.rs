//! Two listings side by side.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Peekable;

use super::SurveyError;
use crate::entry::Entry;
use crate::name::RelPath;

/// Which listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// That of the source.
    Source,
    /// That of the destination.
    Destination,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Destination => "destination",
        })
    }
}

/// One path with what stands there on each side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pair {
    /// Only the source has it.
    Source(Entry),
    /// Only the destination has it.
    Destination(Entry),
    /// Both have it: source, then destination.
    Both(Entry, Entry),
}

impl Pair {
    /// The path.
    #[must_use]
    pub const fn path(&self) -> &RelPath {
        match self {
            Self::Source(entry) | Self::Destination(entry) | Self::Both(entry, _) => &entry.path,
        }
    }
}

/// Pairs up two listings in path order. Ends after the first error.
pub fn merge<E>(
    source: impl Iterator<Item = Result<Entry, E>>,
    destination: impl Iterator<Item = Result<Entry, E>>,
) -> impl Iterator<Item = Result<Pair, SurveyError<E>>> {
    let mut source = Ordered {
        side: Side::Source,
        entries: source,
        last: None,
    }
    .peekable();
    let mut destination = Ordered {
        side: Side::Destination,
        entries: destination,
        last: None,
    }
    .peekable();
    let mut failed = false;
    std::iter::from_fn(move || {
        if failed {
            return None;
        }
        let next = next_pair(&mut source, &mut destination).transpose()?;
        failed = next.is_err();
        Some(next)
    })
}

type Item<E> = Result<Entry, SurveyError<E>>;

fn next_pair<E>(
    source: &mut Peekable<impl Iterator<Item = Item<E>>>,
    destination: &mut Peekable<impl Iterator<Item = Item<E>>>,
) -> Result<Option<Pair>, SurveyError<E>> {
    let order = match (source.peek(), destination.peek()) {
        (None, None) => return Ok(None),
        (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
        (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
        (Some(Ok(left)), Some(Ok(right))) => left.path.cmp(&right.path),
    };
    let left = if order.is_le() {
        source.next().transpose()?
    } else {
        None
    };
    let right = if order.is_ge() {
        destination.next().transpose()?
    } else {
        None
    };
    Ok(match (left, right) {
        (Some(left), Some(right)) => Some(Pair::Both(left, right)),
        (Some(left), None) => Some(Pair::Source(left)),
        (None, Some(right)) => Some(Pair::Destination(right)),
        (None, None) => None,
    })
}

/// Refuses a listing whose paths do not rise: a peer may be hostile, and a merge of it would be nonsense.
struct Ordered<I> {
    side: Side,
    entries: I,
    last: Option<RelPath>,
}

impl<E, I: Iterator<Item = Result<Entry, E>>> Iterator for Ordered<I> {
    type Item = Item<E>;

    fn next(&mut self) -> Option<Item<E>> {
        let entry = match self.entries.next()? {
            Ok(entry) => entry,
            Err(error) => return Some(Err(SurveyError::Listing(error))),
        };
        if self.last.as_ref().is_some_and(|last| *last >= entry.path) {
            return Some(Err(SurveyError::Unordered(self.side, entry.path)));
        }
        self.last = Some(entry.path.clone());
        Some(Ok(entry))
    }
}
