//! Stable codes of everything that can go wrong in a transfer, with what to do about it.

use std::fmt;

/// Whether the same thing may work later without anybody changing the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Trying again may help.
    MayHelp,
    /// Somebody has to change something first.
    NeedsChange,
}

macro_rules! codes {
    ($($variant:ident $text:literal $retry:ident $advice:literal;)+) => {
        /// A stable code. `docs/errors-engine.md` lists them all.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Code {
            $(#[doc = $advice] $variant,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code as it stands in lists, statements and messages.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Whether the same thing may work later.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry,)+ }
            }

            /// What to do, as one sentence.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice,)+ }
            }
        }
    };
}

codes! {
    // One file; the others go on.
    SourceUnreadable "source_unreadable" MayHelp "Let the account that the node works as read it, then retry the failed files.";
    SourceChanged "source_changed" MayHelp "It kept changing while it was read: retry when it is complete.";
    SourceVanished "source_vanished" NeedsChange "It was there when it was listed: make a new plan if it should be copied.";
    SourceUnsupported "source_unsupported" NeedsChange "Sockets, fifos and devices are not copied: exclude them.";
    NoSpace "no_space" MayHelp "Free space or quota at the destination, then retry the failed files.";
    ReadOnly "read_only" MayHelp "The destination file system is read-only: remount it writable, then retry.";
    PermissionDenied "permission_denied" MayHelp "Let the account that the node works as write there, then retry the failed files.";
    NameTooLong "name_too_long" NeedsChange "The destination cannot hold such a long name: rename it at the source.";
    DestinationIsDirectory "destination_is_directory" NeedsChange "A folder stands where a file should go: move it away or choose another destination.";
    DestinationNotDirectory "destination_not_directory" NeedsChange "A file or symlink stands where a folder should go: move it away or choose another destination.";
    DestinationExists "destination_exists" NeedsChange "A different file is there and the plan replaces nothing: make a plan that overwrites.";
    NotOnOverwriteList "not_on_overwrite_list" NeedsChange "It differs and was not on the confirmed overwrite list: make a new plan.";
    DestinationFailed "destination_failed" MayHelp "The destination storage answered with an error: check it, then retry the failed files.";
    VerifyFailed "verify_failed" MayHelp "What arrived is not what was sent: check memory and storage of both nodes, then retry.";
    NotDeleted "not_deleted" MayHelp "It could not be deleted: see the message, then retry or make a new plan.";
    // The whole attempt.
    SourceMissing "source_missing" NeedsChange "Nothing is at the source path: check the plan.";
    DestinationChanged "destination_changed" NeedsChange "Something on the confirmed list is no longer as it was: make a new plan.";
    ListAltered "list_altered" NeedsChange "A list is not the one that was sealed: start the attempt again with the right files.";
    CeilingExceeded "ceiling_exceeded" NeedsChange "The source grew beyond what was planned: make a new plan.";
    DestinationBusy "destination_busy" MayHelp "Another transfer writes there: wait until it has ended.";
    AttemptSuperseded "attempt_superseded" NeedsChange "A later attempt of this transfer was already started.";
    TicketExpired "ticket_expired" MayHelp "The ticket was not renewed in time: resume the transfer.";
    TicketForeign "ticket_foreign" NeedsChange "The ticket is for another node, transfer or plan.";
    RootAccess "root_access" NeedsChange "The root does not allow this: change what the node's settings allow, or the plan.";
    PeerUnreachable "peer_unreachable" MayHelp "The other node cannot be reached: check that it runs, its address and firewalls between.";
    WrongPeerKey "wrong_peer_key" NeedsChange "Another node answered than the ticket names: check addresses, or enrol the node again.";
    VersionUnsupported "version_unsupported" NeedsChange "The nodes share no protocol version: bring both to neighbouring releases.";
    ProtocolViolation "protocol_violation" MayHelp "The other node sent something it may not: bring both nodes to the same release.";
    TooBusy "too_busy" MayHelp "The node runs as many transfers as it may, or has too many files open: wait, or raise that limit.";
    StateFailed "state_failed" MayHelp "The node cannot write its state folder: check its disk and rights.";
    Stopped "stopped" MayHelp "It was stopped on request: resume it.";
    Internal "internal" MayHelp "The engine failed: report it with the node's log.";
    ProbeOver "probe_over" NeedsChange "The leg of a probe took its time: its result counts.";
    // One file, or the whole attempt; at the end, because the numbers of the others stay.
    SamePlace "same_place" NeedsChange "Source and destination are the same file or folder under two names, or one lies in the other: choose another destination.";
    DestinationMissing "destination_missing" NeedsChange "No folder is at the destination of the probe, which makes none: make it, or correct the path.";
}

impl Code {
    /// The reverse of [`Code::as_str`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// The number used on the wire and in the journal; stable only between neighbouring releases.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The reverse of [`Code::number`].
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A code with the words that say what happened and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The stable code.
    pub code: Code,
    /// What happened and where, for people.
    pub message: String,
}

impl Failure {
    /// Longest message kept; more is cut off.
    pub const MAX_MESSAGE_BYTES: usize = 1024;

    /// Put a code and its words together.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > Self::MAX_MESSAGE_BYTES {
            message.truncate(message.floor_char_boundary(Self::MAX_MESSAGE_BYTES));
        }
        Self { code, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_text_and_number() {
        for (number, code) in Code::ALL.iter().enumerate() {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
            assert_eq!(usize::from(code.number()), number);
            assert_eq!(Code::from_number(code.number()), Some(*code));
            assert!(code.advice().ends_with('.'));
        }
        assert_eq!(Code::parse("no_such_code"), None);
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let failure = Failure::new(Code::Internal, "é".repeat(Failure::MAX_MESSAGE_BYTES));
        assert_eq!(failure.message.len(), Failure::MAX_MESSAGE_BYTES);
    }
}
