//! Walks the source and says what is there, never further ahead than the destination allows.

use std::io;
use std::sync::Arc;

use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::filter::{Picked, select};
use headrace_core::manifest::Item;
use headrace_core::message::Message;
use headrace_core::name::RelPath;
use headrace_core::version::Version;
use headrace_io::walk::{WalkError, WalkLimits, WalkProblem};

use super::outgoing::{Outgoing, unreadable};
use super::{POLL, Supply};
use crate::session::counters::add;
use crate::session::failures::state_failed;

/// Entries in one frame: enough to hide its cost, few enough that the first files are asked for soon.
const ITEMS_PER_FRAME: usize = 512;

impl Supply {
    /// Walk the source to its end, or until the session is over.
    ///
    /// # Errors
    /// [`Code::SourceMissing`] when there is nothing at the source path; [`Failure`] when the session cannot go on.
    pub fn list(&self) -> Result<(), Failure> {
        let filter = &self.spec.filter;
        let go_on = || {
            if self.is_over() {
                Err(io::ErrorKind::Interrupted.into())
            } else {
                Ok(())
            }
        };
        let limits = WalkLimits {
            go_on: &go_on,
            ..WalkLimits::default()
        };
        let mut walked = self.spec.origin.list(limits);
        let pruned = std::iter::from_fn(|| {
            let item = walked.next()?;
            if let Ok(entry) = &item
                && entry.kind == Kind::Dir
                && !filter.descends(&entry.path)
            {
                walked.prune();
            }
            Some(item)
        });
        let mut items = Vec::with_capacity(ITEMS_PER_FRAME);
        // The walk gives what is in the folder; what the folder itself is like is of use where the destination has to make it.
        let top = self.spec.origin.entry(&RelPath::root()).ok().flatten();
        if let Some(top) = top.filter(|top| top.kind == Kind::Dir) {
            items.push(Item::Entry(top));
        }
        let mut next = 0;
        for picked in select(filter, pruned) {
            if self.is_over() {
                return Ok(());
            }
            match picked {
                Ok(Picked::Selected(entry)) => items.push(Item::Entry(entry)),
                Ok(Picked::Special(entry)) => items.push(self.special(entry)),
                Ok(Picked::Excluded(_)) => {}
                Err(error) if self.is_moved_away(&error) => break,
                Err(error) => items.push(self.unlisted(error)?),
            }
            if items.len() == ITEMS_PER_FRAME {
                next = self.announce(next, std::mem::take(&mut items))?;
            }
        }
        if !items.is_empty() {
            next = self.announce(next, items)?;
        }
        if self.is_over() {
            Ok(())
        } else {
            self.orders.order(Message::ItemsEnd { count: next })
        }
    }

    /// Tell the destination about entries, once it has room for them; the number of the next one.
    fn announce(&self, first: u64, items: Vec<Item>) -> Result<u64, Failure> {
        let count = items.len() as u64;
        {
            let mut active = self.active.lock();
            while active.len() + items.len() > self.spec.window as usize {
                if self.is_over() {
                    return Ok(first);
                }
                self.settled.wait_for(&mut active, POLL);
            }
            for (id, item) in (first..).zip(&items) {
                active.insert(id, Arc::new(Outgoing::new(id, item.entry().clone())));
            }
        }
        let mut ledger = self.ledger.lock();
        for item in &items {
            if self.spec.delete_source {
                ledger.push(item).map_err(state_failed)?;
            }
            self.count(item);
        }
        drop(ledger);
        self.orders.order(Message::Items { first, items })?;
        Ok(first + count)
    }

    fn count(&self, item: &Item) {
        // Of a copy within one node, what takes the entries counts.
        if !self.spec.counts_totals {
            return;
        }
        add(&self.counters.looked_at, 1);
        if let Item::Entry(entry) = item
            && entry.kind != Kind::Dir
        {
            add(&self.counters.files_total, 1);
            if entry.kind == Kind::File {
                add(&self.counters.bytes_total, entry.size);
            }
        }
    }

    fn special(&self, entry: Entry) -> Item {
        let message = format!("{} is a socket, fifo or device", self.place(&entry.path));
        Item::Failed(entry, Failure::new(Code::SourceUnsupported, message))
    }

    /// What could not be listed.
    fn unlisted(&self, error: WalkError) -> Result<Item, Failure> {
        if is_nothing(&error) {
            return Err(Failure::new(
                Code::SourceMissing,
                format!("nothing is at {}", self.place(&error.path)),
            ));
        }
        let code = match &error.problem {
            WalkProblem::Name(_) => Code::NameTooLong,
            WalkProblem::Io(io) => unreadable(io),
            _ => Code::SourceUnreadable,
        };
        let failure = Failure::new(
            code,
            format!(
                "{} cannot be listed: {}",
                self.place(&error.path),
                error.problem
            ),
        );
        // A listing that ends early is no listing: what it left out would be missing without a word.
        let early = error.path.is_root() && !matches!(error.problem, WalkProblem::Name(_));
        if early || code == Code::TooBusy {
            return Err(failure);
        }
        let entry = Entry {
            path: error.path,
            kind: Kind::Other,
            size: 0,
            mtime_ns: 0,
            version: Version::UNKNOWN,
            mode: 0,
            target: None,
        };
        Ok(Item::Failed(entry, failure))
    }

    /// Whether nothing is there because an earlier session has begun to delete what it moved.
    fn is_moved_away(&self, error: &WalkError) -> bool {
        is_nothing(error) && self.spec.delete_source && self.removing().exists()
    }

    /// Where an entry is, for messages.
    pub(super) fn place(&self, path: &RelPath) -> String {
        let from = &self.spec.from;
        let full = from.path.join_path(path).unwrap_or_else(|_| path.clone());
        format!("`{full}` in root `{}`", from.root)
    }
}

/// Whether there is nothing at the source path.
fn is_nothing(error: &WalkError) -> bool {
    error.path.is_root()
        && matches!(&error.problem, WalkProblem::Io(io) if io.kind() == std::io::ErrorKind::NotFound)
}
