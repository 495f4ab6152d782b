//! The mover: attach stream, data listener, sessions; and the hub that nodes attach to.

pub mod accounts;
mod blocking;
pub mod config;
pub mod convert;
mod cp;
pub mod hub;
pub mod node;
pub mod problem;
pub mod program;
mod proto;
pub mod session;
pub mod state;
mod strangers;
pub mod token;
pub mod transport;

/// Ways to private parsers, for `engine/fuzz` only.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::cp::fuzzing::greeting;
}
