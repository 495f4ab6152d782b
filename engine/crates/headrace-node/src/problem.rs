//! What can go wrong in the control plane, as one value that crosses the wire and reaches people.

use std::borrow::Cow;

use headrace_core::sealed::DocumentError;
use headrace_core::shares::SharesError;
use headrace_core::succession::{Missed, SuccessionError};

use crate::proto;

macro_rules! codes {
    ($($variant:ident $text:literal $retryable:literal;)+) => {
        /// A stable code of the control plane; `docs/errors-engine.md` says what to do about each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ControlCode {
            $(#[doc = concat!("`", $text, "`")] $variant,)+
        }

        impl ControlCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code as people and programs see it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Whether doing the same again later may help.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable,)+ }
            }
        }
    };
}

codes! {
    AccountUnknownNow "account_unknown_now" true;
    AccountUnmapped "account_unmapped" false;
    AccountUnusable "account_unusable" false;
    AlreadyRunning "already_running" true;
    AttemptUnknown "attempt_unknown" false;
    AuthoritySucceeded "authority_succeeded" false;
    BadArgument "bad_argument" false;
    ClockSkew "clock_skew" true;
    ConfigInvalid "config_invalid" false;
    DestinationExists "destination_exists" false;
    DestinationMissing "destination_missing" false;
    DestinationNotDirectory "destination_not_directory" false;
    FolderUnreadable "folder_unreadable" true;
    HubBusy "hub_busy" true;
    HubClosed "hub_closed" false;
    HubUnreachable "hub_unreachable" true;
    Internal "internal" false;
    JoinRefused "join_refused" false;
    JoinTimeout "join_timeout" true;
    KeyRefused "key_refused" false;
    LabFailed "lab_failed" false;
    ListingLimit "listing_limit" false;
    NoDataPath "no_data_path" false;
    NoSpace "no_space" true;
    NodeBusy "node_busy" true;
    NodeLost "node_lost" true;
    NodeRestarted "node_restarted" true;
    NodeRevoked "node_revoked" false;
    NodeTimeout "node_timeout" true;
    NodeUnreachable "node_unreachable" true;
    NotEnrolled "not_enrolled" true;
    OutsidePermit "outside_permit" false;
    ProtocolViolation "protocol_violation" false;
    RemoteProgramMissing "remote_program_missing" false;
    ResultMismatch "result_mismatch" false;
    RootIsSuperuser "root_is_superuser" false;
    RootMissing "root_missing" true;
    SecondSuccessor "second_successor" false;
    SharesInvalid "shares_invalid" false;
    SourceMissing "source_missing" false;
    SourceUnsupported "source_unsupported" false;
    SshFailed "ssh_failed" true;
    SshMissing "ssh_missing" false;
    StateFailed "state_failed" true;
    Stopped "stopped" true;
    TicketNoRenewal "ticket_no_renewal" false;
    TokenMalformed "token_malformed" false;
    VersionUnsupported "version_unsupported" false;
    WrongPeerKey "wrong_peer_key" false;
}

/// Something that went wrong: a stable code, a sentence for people, and whether a retry helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Stable code, from this node or from another that may know more codes.
    pub code: Cow<'static, str>,
    /// What happened and where; at most [`Problem::MAX_MESSAGE_BYTES`].
    pub message: String,
    /// Whether doing the same again later may help.
    pub retryable: bool,
}

impl Problem {
    /// Longest message that is kept; more is cut off.
    pub const MAX_MESSAGE_BYTES: usize = 2048;
    const MAX_CODE_BYTES: usize = 64;

    /// Puts a code and its words together.
    #[must_use]
    pub fn new(code: ControlCode, message: impl Into<String>) -> Self {
        let retryable = code.retryable();
        Self {
            code: code.as_str().into(),
            message: cut(message.into(), Self::MAX_MESSAGE_BYTES),
            retryable,
        }
    }

    /// Whether this has the code.
    #[must_use]
    pub fn is(&self, code: ControlCode) -> bool {
        self.code == code.as_str()
    }

    /// A failure of the state folder; it is told far from this host.
    pub(crate) fn state(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(
            ControlCode::StateFailed,
            format!(
                "can't {what} `{}` on the host `{}`: {error}",
                path.display(),
                host_name()
            ),
        )
    }
}

impl From<DocumentError> for Problem {
    fn from(error: DocumentError) -> Self {
        let clock = match error {
            DocumentError::Expired { .. } => {
                "unless it came that late, the clock of this host is ahead of"
            }
            DocumentError::NotYetValid { .. } => "the clock of this host is behind",
            _ => "",
        };
        let message = if clock.is_empty() {
            error.to_string()
        } else {
            format!(
                "{error}: {clock} that of the host where it was signed; check the clock of `{}`, which is this host, with `timedatectl`, and \
                 then that of the service's host",
                host_name()
            )
        };
        Self {
            code: error.code().into(),
            message,
            // A later ticket or permit may be in time.
            retryable: !clock.is_empty(),
        }
    }
}

impl From<SharesError> for Problem {
    fn from(error: SharesError) -> Self {
        let message = format!(
            "what the service says of links and shares is refused, the node keeps what it had: {error}"
        );
        Self::new(ControlCode::SharesInvalid, message)
    }
}

impl From<SuccessionError> for Problem {
    fn from(error: SuccessionError) -> Self {
        match error {
            SuccessionError::Document(error) => error.into(),
            error => Self::new(ControlCode::SecondSuccessor, error.to_string()),
        }
    }
}

impl From<Missed> for Problem {
    fn from(Missed { key, until }: Missed) -> Self {
        let host = host_name();
        let message = format!(
            "this node knows the authority key {key}, which ended at {until} by the clock of `{host}`, this host, while the node was \
             away: check that clock; if it is right, join again with a token of `headrace ca rotate`"
        );
        Self::new(ControlCode::AuthoritySucceeded, message)
    }
}

impl From<Problem> for proto::Problem {
    fn from(problem: Problem) -> Self {
        let Problem {
            code,
            message,
            retryable,
        } = problem;
        Self {
            code: code.into_owned(),
            message,
            retryable,
        }
    }
}

/// Text from another node is cut, and control characters in it can't reach a terminal.
impl From<proto::Problem> for Problem {
    fn from(problem: proto::Problem) -> Self {
        let clean = |text: String, max| {
            let text: String = text
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect();
            cut(text, max)
        };
        Self {
            code: clean(problem.code, Self::MAX_CODE_BYTES).into(),
            message: clean(problem.message, Self::MAX_MESSAGE_BYTES),
            retryable: problem.retryable,
        }
    }
}

impl From<Problem> for tonic::Status {
    fn from(problem: Problem) -> Self {
        use prost::Message as _;
        let message = problem.message.clone();
        let details = proto::Problem::from(problem).encode_to_vec();
        Self::with_details(tonic::Code::FailedPrecondition, message, details.into())
    }
}

/// What a call to the other side ended with, whether it said a problem itself or the connection did.
impl From<tonic::Status> for Problem {
    fn from(status: tonic::Status) -> Self {
        use prost::Message as _;
        match proto::Problem::decode(status.details()) {
            Ok(problem) if !problem.code.is_empty() => problem.into(),
            _ => Self::new(
                ControlCode::HubUnreachable,
                format!("the control connection failed: {}", status.message()),
            ),
        }
    }
}

/// What this host is called.
pub(crate) fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

fn cut(mut text: String, max: usize) -> String {
    text.truncate(text.floor_char_boundary(max));
    text
}
