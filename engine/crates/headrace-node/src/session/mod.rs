//! Sessions: one attempt of a transfer between two nodes, or between two roots of one.
//!
//! # Threads
//!
//! ```text
//! data plane            headrace-listen accepts, headrace-greet shakes hands with one caller and hands it to its attempt (listener),
//!                       headrace-disk-n write (some for each file system), headrace-link keeps the time of one link
//!   attempt (run)       headrace-<transfer>: one session after the other, then the end; on it the session also hears messages
//!     source            lists (supply::list) | streams: read, hash, seal, send (supply::send) | beats (link)
//!     destination       streams: receive, verify, hand to the disk (landing::unit, batch) | commits: epochs and the end
//!                       (landing::epoch, finish) | reads back and compares (landing::read_back) | beats
//!     inside one node   lists | workers: read, verify, hand to the disk (local) | commits | reads back
//!     either end        gets together with the other node (connect), brings streams: dials or waits, replaces those that break (streams)
//! ```
//!
//! # Who imports from whom
//!
//! A module imports from those below its line only; `tests/pure/test_order_of_sessions.py` reads this order, and holds it.
//!
//! ```text
//! data_plane                                  a node's data plane, as its owner has it
//! listener, run, leftovers                    who dials comes in; an attempt, session by session; what is removed afterwards
//! destination, source, local                  one session, at either end or at both
//! streams                                     its data connections
//! connect                                     its first one, and how others join
//! context                                     what it works with
//! plane                                       what the attempts of a node share
//! attempt                                     what the threads of one share, and what its owner sees
//! link                                        messages and content on connections
//! supply                                      the source's end: lists, reads, removes
//! landing                                     the destination's end: decides, writes, commits
//! trash
//! shares
//! binding, diagnosis, fireflies, flows, ledger, lists, pace
//! counters, failures, tests_support
//! ```
//!
//! # Who owns what
//!
//! `Plane` has what transfers share: buffers, disk threads, descriptors, links, and who is running. `Shared` is an attempt as others may
//! touch it: ticket, rate, stop, counters. Threads of a session live in one scope and end with it; `Guard` says that it is over, hangs up on
//! its sockets and keeps the first failure. `Landing` and `Supply` are its two ends, and speak messages: one thread hears all messages of an
//! end, so that entries are decided about in order. A temporary belongs to its file (`landing::incoming`) until its content is whole, then to
//! the epoch that names it.
//!
//! # Order of locks
//!
//! Whoever holds one may take those to the right of it, and none to the left:
//!
//! * landing: a file's `state` | `intake` | `resume`, `folders`, `used` | `pending` | `active` | `ledger`, `totals`, `journal`, `drifted`,
//!   `read_back` | `failure`. (Deciding makes a file under `intake`, and locks its `state`; nobody else has that file yet.)
//! * supply: `active` | `queue` | `lanes`; a file's `state` and the `ledger` are held alone.
//! * links: a line's `state` | a claim's `share`. Pace: `sockets` | `state`. Plane: `attempts` | a `ticket`. Others are held alone.
//!
//! No lock is held while a message is sent, but that of the connection. Storage is waited for under `intake` (looking at what is there),
//! a file's `state` (making its temporary, or writing it where it is small) and `journal` (its sync).

mod attempt;
mod binding;
mod connect;
mod context;
pub mod counters;
mod data_plane;
mod destination;
mod diagnosis;
mod failures;
mod fireflies;
mod flows;
pub mod landing;
mod ledger;
mod leftovers;
mod link;
mod listener;
mod lists;
mod local;
pub mod pace;
mod plane;
mod run;
mod shares;
mod source;
mod streams;
pub mod supply;
pub mod trash;

pub use self::attempt::{
    AttemptEnd, AttemptHandle, AttemptSpec, Outcome, Peer, Progress, Role, StatementFields,
    StopReason, Tuning,
};
pub use self::counters::StageTimes;
pub use self::data_plane::{DataPlane, forget, start};
pub use self::failures::Permitted;
pub use self::fireflies::{Fireflies, OfClass};
pub use self::flows::Side;
pub use self::plane::Settings;
pub use headrace_io::flow::Flow;
pub use headrace_io::socket_memory::SocketMemory;

#[cfg(test)]
pub(crate) mod tests_support;
