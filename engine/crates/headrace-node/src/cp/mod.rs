//! `cp`: copies between a person's own machines, without a service.
//!
//! The program that is run holds a hub, the person's key signs permits and tickets, and a node at each end obeys them:
//! the same permit, survey, plan, ticket, attempt and statements as with a service, and no other way to a byte.

mod call;
mod export;
pub(crate) mod far;
pub(crate) mod fuzzing;
mod greeting;
mod job;
mod meet;
mod near;
mod outcome;
pub(crate) mod place;
mod show;
mod sign;
mod ssh;

use std::path::PathBuf;

use headrace_core::filter::Filters;
use headrace_core::sealed::PublicKey;
use headrace_core::ticket::Verify;
use serde::Serialize;

pub(crate) use near::run;
pub(crate) use outcome::{Copied, Failed};
use place::Place;
pub(crate) use show::note;
pub(crate) use sign::Signer;

use crate::state::StateDir;

/// What a person asked for.
pub(crate) struct Copying {
    pub(crate) source: Place,
    pub(crate) destination: Place,
    pub(crate) rules: Rules,
    pub(crate) signer: Signer,
    /// Bits per second, at most.
    pub(crate) rate_ceiling_bps: Option<u64>,
    /// Whether data goes through ssh even where it could go directly.
    pub(crate) through_ssh: bool,
    pub(crate) ssh_config: Option<PathBuf>,
    pub(crate) remote_program: String,
    /// The key of a standing node.
    pub(crate) pin: Option<PublicKey>,
    /// File for the receipt.
    pub(crate) receipt: Option<PathBuf>,
    /// File for the list of every file and its hash.
    pub(crate) files: Option<PathBuf>,
    /// Where plans and journals are kept until a copy is done.
    pub(crate) state: StateDir,
}

/// What decides which files are copied, and how; another set of rules is another copy.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rules {
    /// Whether files that differ are replaced.
    pub(crate) overwrite: bool,
    pub(crate) verify: Verify,
    pub(crate) filters: Filters,
}
