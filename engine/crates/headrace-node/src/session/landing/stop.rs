//! What ends with a failure: one entry, or the attempt.

use std::io;

use headrace_core::code::{Code, Failure};
use headrace_io::descriptors::is_shortage;

use crate::session::failures::answered;

/// What ends with a failure: one entry, or the attempt.
pub(super) enum Stop {
    This(Failure),
    All(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        // Our own state failing is never the fault of one file, nor is that too much is open, or that somebody says stop.
        if matches!(failure.code, Code::StateFailed | Code::TooBusy) || ends_attempt(failure.code) {
            Self::All(failure)
        } else {
            Self::This(failure)
        }
    }
}

/// Whether this says that the attempt may not go on: it is asked about wherever work is long, also in that for one entry.
pub(in crate::session) fn ends_attempt(code: Code) -> bool {
    matches!(
        code,
        Code::Stopped | Code::TicketExpired | Code::ProbeOver | Code::PeerUnreachable
    )
}

/// What a storage error means for one name.
pub(in crate::session) fn destination_failure(
    error: &io::Error,
    place: &str,
    doing: &str,
) -> Failure {
    if let Some(failure) = answered(error) {
        return failure;
    }
    let code = match error.kind() {
        _ if is_shortage(error) => Code::TooBusy,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Code::NoSpace
        }
        io::ErrorKind::ReadOnlyFilesystem => Code::ReadOnly,
        io::ErrorKind::PermissionDenied => Code::PermissionDenied,
        io::ErrorKind::InvalidFilename => Code::NameTooLong,
        io::ErrorKind::IsADirectory => Code::DestinationIsDirectory,
        io::ErrorKind::NotADirectory => Code::DestinationNotDirectory,
        io::ErrorKind::AlreadyExists => Code::DestinationExists,
        // What a symlink in the place of a folder gives.
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Code::DestinationNotDirectory
        }
        _ => Code::DestinationFailed,
    };
    Failure::new(code, format!("{doing} {place}: {error}"))
}
