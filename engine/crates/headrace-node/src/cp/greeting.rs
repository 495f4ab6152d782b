//! What both programs of a `cp` say to each other before the control protocol begins: a line of JSON at a time.
//!
//! Nothing of it is ever an argument of a shell, and nothing that comes in is believed: it is a wish, and permits and
//! tickets decide.

use std::time::Duration;

use headrace_core::entry::Kind;
use headrace_core::name::RelPath;
use headrace_core::sealed::PublicKey;
use headrace_core::value::{Id, Label};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::problem::{ControlCode, Problem};
use crate::proto::{self, MAX_ADDRESSES};
use crate::transport::Wire;

/// Version of the greeting.
const PROTOCOL: u32 = 1;
/// How every line of ours begins; what the login scripts of a machine print does not.
const BEGINNING: &str = "{\"headrace\":";
const MAX_LINE_BYTES: usize = 64 << 10;
/// Lines of a login script that are passed over at most.
const MAX_FOREIGN_LINES: usize = 200;

/// Which end of the copy is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    Source,
    Destination,
}

impl Side {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
        }
    }
}

/// What is at the source: the destination has to know before it can say where that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) kind: Kind,
    /// Its last name, alone; empty for the top of a file system.
    pub(super) name: RelPath,
}

/// Which place is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wish {
    pub(super) side: Side,
    /// Name of a root of a standing node; `None` for any path of the account.
    pub(super) root: Option<String>,
    /// The path as it was typed, escaped.
    pub(super) path: String,
    /// For a destination.
    pub(super) source: Option<Found>,
}

/// From the program that a person runs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ToFar {
    Ask {
        /// Whose permits and tickets are to be obeyed in this session.
        authority: PublicKey,
        /// Names what is kept for a resume.
        job: Id,
        wish: Wish,
        /// Whether data connections come from the far machine itself only.
        loopback: bool,
    },
    /// Find out whether this machine is reached at that port.
    Probe { port: u16 },
    /// Begin the control protocol; the data listener is reached at these addresses, if at any.
    Go { advertise: Vec<String> },
}

/// From the program on the other machine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FromFar {
    Ready(Ready),
    Refused {
        code: String,
        message: String,
        retryable: bool,
    },
    /// The address that answered.
    Probed {
        address: Option<String>,
    },
}

/// A place that is ready to take part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ready {
    pub(super) node: PublicKey,
    pub(super) root: Label,
    pub(super) path: RelPath,
    /// For a source.
    pub(super) found: Option<Found>,
    pub(super) data_port: Option<u16>,
}

#[derive(Serialize)]
struct Line<'a, T> {
    headrace: u32,
    program: &'a str,
    say: &'a T,
}

#[derive(Deserialize)]
struct Heard {
    headrace: u32,
    program: String,
    say: serde_json::Value,
}

impl From<Problem> for FromFar {
    fn from(problem: Problem) -> Self {
        Self::Refused {
            code: problem.code.into_owned(),
            message: problem.message,
            retryable: problem.retryable,
        }
    }
}

impl FromFar {
    /// What was said, or the problem that was said instead.
    pub(super) fn or_refused(self) -> Result<Self, Problem> {
        match self {
            Self::Refused {
                code,
                message,
                retryable,
            } => Err(proto::Problem {
                code,
                message,
                retryable,
            }
            .into()),
            other => Ok(other),
        }
    }
}

/// Says something.
pub(super) async fn send(wire: &mut Box<dyn Wire>, say: &impl Serialize) -> Result<(), Problem> {
    let line = Line {
        headrace: PROTOCOL,
        program: env!("CARGO_PKG_VERSION"),
        say,
    };
    let mut text = serde_json::to_vec(&line).map_err(|error| violation(&error.to_string()))?;
    text.push(b'\n');
    let sent = async {
        wire.write_all(&text).await?;
        wire.flush().await
    };
    sent.await.map_err(|error| gone(&error.to_string()))
}

/// Hears what the other side says.
pub(super) async fn receive<T: DeserializeOwned>(
    wire: &mut Box<dyn Wire>,
    within: Duration,
) -> Result<T, Problem> {
    let heard = timeout(within, read(wire)).await;
    let line =
        heard.map_err(|_| gone(&format!("it said nothing for {} s", within.as_secs())))??;
    let heard: Heard =
        serde_json::from_str(&line).map_err(|error| violation(&error.to_string()))?;
    if heard.headrace != PROTOCOL {
        let message = format!(
            "the program there is {} and speaks version {} of `cp`, this is {} and speaks {PROTOCOL}: bring both to the same release",
            headrace_core::name::escape(heard.program.as_bytes()),
            heard.headrace,
            env!("CARGO_PKG_VERSION"),
        );
        return Err(Problem::new(ControlCode::VersionUnsupported, message));
    }
    serde_json::from_value(heard.say).map_err(|error| violation(&error.to_string()))
}

/// Whether these may be advertised.
pub(super) fn check_addresses(addresses: &[String]) -> Result<(), Problem> {
    let good = |address: &String| address.len() <= 256 && !address.chars().any(char::is_control);
    if addresses.len() <= MAX_ADDRESSES && addresses.iter().all(good) {
        return Ok(());
    }
    Err(violation("addresses outside their limits"))
}

/// The next line of ours. Byte by byte, because what follows the last one belongs to the control protocol.
async fn read(wire: &mut Box<dyn Wire>) -> Result<String, Problem> {
    for _ in 0..MAX_FOREIGN_LINES {
        let mut line = Vec::new();
        loop {
            let byte = wire.read_u8().await;
            match byte.map_err(|error| gone(&error.to_string()))? {
                b'\n' => break,
                _ if line.len() >= MAX_LINE_BYTES => return Err(violation("a line is too long")),
                byte => line.push(byte),
            }
        }
        if let Ok(line) = String::from_utf8(line)
            && line.starts_with(BEGINNING)
        {
            return Ok(line);
        }
    }
    Err(violation("its login scripts print too much"))
}

fn gone(detail: &str) -> Problem {
    Problem::new(
        ControlCode::NodeUnreachable,
        format!("the program on the other machine is gone: {detail}"),
    )
}

fn violation(detail: &str) -> Problem {
    Problem::new(
        ControlCode::ProtocolViolation,
        format!("the program on the other machine can't be understood: {detail}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn heard(bytes: &[u8]) -> Result<FromFar, Problem> {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        far.write_all(bytes).await.expect("room");
        drop(far);
        let mut wire: Box<dyn Wire> = Box::new(near);
        receive(&mut wire, Duration::from_secs(5)).await
    }

    #[tokio::test]
    async fn what_login_scripts_print_is_passed_over_and_other_versions_are_named() {
        let (near, far) = tokio::io::duplex(1 << 10);
        let (mut near, mut far): (Box<dyn Wire>, Box<dyn Wire>) = (Box::new(near), Box::new(far));
        far.write_all(b"Welcome to \xff host!\n\n")
            .await
            .expect("room");
        send(&mut far, &FromFar::Probed { address: None })
            .await
            .expect("room");
        let heard_it = receive(&mut near, Duration::from_secs(5)).await;
        assert!(matches!(heard_it, Ok(FromFar::Probed { address: None })));

        let code = async |bytes: &[u8]| heard(bytes).await.expect_err("refused").code.into_owned();
        let newer = b"{\"headrace\":9,\"program\":\"7.0\",\"say\":{}}\n";
        assert_eq!(code(newer).await, "version_unsupported");
        assert_eq!(code(b"{\"headrace\":oops\n").await, "protocol_violation");
        assert_eq!(
            code(&vec![b'x'; MAX_LINE_BYTES + 1]).await,
            "protocol_violation"
        );
        assert_eq!(
            code(&b"hi\n".repeat(MAX_FOREIGN_LINES)).await,
            "protocol_violation"
        );
        assert_eq!(code(b"bye\n").await, "node_unreachable");
    }
}
