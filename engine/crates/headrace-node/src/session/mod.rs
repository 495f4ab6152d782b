//! Sessions: one attempt of a transfer between two nodes, or between two roots of one.

mod attempt;
mod binding;
pub mod counters;
mod destination;
mod diagnosis;
mod flows;
pub mod landing;
mod ledger;
mod link;
mod lists;
mod local;
pub mod pace;
mod plane;
mod run;
mod shares;
mod source;
mod streams;
pub mod supply;

pub use self::attempt::{
    AttemptEnd, AttemptHandle, AttemptSpec, Outcome, Peer, Progress, Role, StatementFields,
    StopReason, Tuning,
};
pub use self::counters::StageTimes;
pub use self::flows::Side;
pub use self::plane::{DataPlane, Settings, forget, start};
pub use headrace_io::flow::Flow;

#[cfg(test)]
pub(crate) mod tests_support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use headrace_core::code::{Code, Failure};

/// Do `work`; that it panicked is a failure like others, so that nobody waits for what will not come.
pub(crate) fn contained<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let message = "a thread of the engine panicked";
        Err(Failure::new(Code::Internal, message))
    })
}

/// The node's own state folder does not work.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn state_failed(error: std::io::Error) -> Failure {
    Failure::new(
        Code::StateFailed,
        format!("the node's state folder cannot be used: {error}"),
    )
}
