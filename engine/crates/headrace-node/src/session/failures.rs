//! Failures that any thread of a session may have: of the node's own state folder, and of its own code.

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
