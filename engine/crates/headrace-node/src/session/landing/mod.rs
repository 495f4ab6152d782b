//! The destination's side of a session: decides what is wanted, writes what arrives, makes it durable and gives it its name.
//!
//! It speaks [`Message`](headrace_core::message::Message)s and knows neither sockets nor threads: whoever drives it hands in what the source says
//! ([`Landing::handle`]), the content ([`Landing::open_unit`], [`Landing::batch`]), and runs an epoch when one is due
//! ([`Landing::epoch`]). The same code runs over the simulated target in the power-loss test.
//!
//! Order of things, which is what makes a name mean a whole file: content durable -> journal says so -> name given -> folder
//! durable -> journal says so -> the source is told.
//!
//! # Who imports from whom
//!
//! A module imports from those below its line only; `tests/pure/test_order_of_sessions.py` reads this order, and holds it.
//!
//! ```text
//! ill_disk, power_loss, stops                                 tests of a whole landing
//! open, messages                                              it begins; the source says something
//! decide, batch, share, finish                                what is wanted; what comes small, or is there; the end
//! epoch, unit, moved, same_place                              what comes in units; what is made durable; what may not be touched
//! durable, read_back, lists                                   syncs; reads; writes the lists
//! shared                                                      what all of these work on
//! intake, pending, resume                                     its parts
//! conflict, folders, incoming, places, stop, temporaries
//! tests_support
//! spec
//! ```

mod batch;
mod conflict;
mod decide;
mod durable;
mod epoch;
mod finish;
mod folders;
mod incoming;
mod intake;
mod lists;
mod messages;
mod moved;
mod open;
mod pending;
mod places;
mod read_back;
mod resume;
mod same_place;
mod share;
mod shared;
mod spec;
mod stop;
mod temporaries;
mod unit;

#[cfg(test)]
mod ill_disk;
#[cfg(test)]
mod power_loss;
#[cfg(test)]
mod stops;
#[cfg(test)]
pub(super) mod tests_support;

pub use self::finish::LAST_FAILED;
pub(crate) use self::read_back::READERS;
pub use self::shared::Landing;
pub use self::spec::{
    Answers, Content, DIRECT_FROM_BYTES, EpochRules, Finished, Geometry, LandingSpec, WINDOW,
};
pub(crate) use self::spec::{MAX_RESENDS, violation};
pub(super) use self::stop::{destination_failure, ends_attempt};
pub(super) use self::temporaries::remove_named;
pub use self::unit::{Accepted, UnitSink};
