//! What came of a copy: the destination's word, what did not arrive, and the receipt.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;

use headrace_core::name::RelPath;
use headrace_core::sealed::{Document, DocumentType};
use headrace_core::statement::{Role, Statement};
use headrace_core::value::Id;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::call::Way;
use super::job::Plan;
use super::{Copying, sign};
use crate::hub::AttemptEnded;
use crate::problem::{ControlCode, Problem};
use crate::state::replace_durably;

/// Failed files that are named at most, and the longest line about one.
const MAX_FAILED: usize = 1000;
const MAX_FAILED_LINE_BYTES: u64 = 64 << 10;
/// The mode of a file that the user has named, less the umask: a receipt is no secret.
const READABLE: u32 = 0o666;

/// A copy that has come to its end.
pub(crate) struct Copied {
    pub(crate) transfer: Id,
    pub(crate) attempt: u64,
    /// The word of the destination.
    pub(crate) statement: Statement,
    pub(crate) seconds: f64,
    pub(crate) way: Way,
    /// Whether an earlier command had begun it.
    pub(crate) resumed: bool,
    pub(crate) failed: Vec<Failed>,
}

/// A file that did not arrive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) path: RelPath,
    pub(crate) error: String,
    pub(crate) message: String,
    pub(crate) retry: bool,
}

/// Writes the receipt and the list of files where they are wanted.
pub(super) fn write_receipt(
    copying: &Copying,
    plan: &Plan,
    ended: &AttemptEnded,
) -> Result<(), Problem> {
    if let Some(path) = &copying.receipt {
        let body = json!({
            "id": sign::id("rc")?, "transfer": plan.planned.transfer, "plan_digest": plan.digest,
            "source": plan.planned.source, "destination": plan.planned.destination,
            "person": copying.signer.person, "statements": ended.statements,
        });
        let receipt = Document::seal(DocumentType::Receipt, &body, &[&copying.signer.key])?;
        write_wanted(path, |file| file.write_all(receipt.text().as_bytes()))?;
    }
    if let (Some(path), Some(list)) = (&copying.files, &ended.files_list) {
        write_wanted(path, |file| {
            std::io::copy(&mut File::open(list)?, file).map(drop)
        })?;
    }
    Ok(())
}

/// Writes a file that the user has named. A new one is there whole and durable, or not at all; what is there already, which may be a
/// link, a terminal or what this program itself writes to, stays what it is and gets this content.
fn write_wanted(
    path: &Path,
    write: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> Result<(), Problem> {
    if std::fs::symlink_metadata(path).is_err() {
        return replace_durably(path, READABLE, write);
    }
    let written = File::create(path).and_then(|mut file| {
        write(&mut file)?;
        if file.metadata()?.is_file() {
            file.sync_all()?;
        }
        Ok(())
    });
    written.map_err(|error| Problem::state("write", path, &error))
}

/// What the destination states, under its signature.
pub(super) fn destination_word(plan: &Plan, ended: &AttemptEnded) -> Result<Statement, Problem> {
    let node = plan.planned.execution.destination.node;
    let verified = ended
        .statements
        .iter()
        .map(|text| Statement::verify(text, node));
    let word = verified
        .flatten()
        .find(|statement| statement.role == Role::Destination);
    word.ok_or_else(|| {
        Problem::new(
            ControlCode::ResultMismatch,
            "the destination states nothing",
        )
    })
}

/// What did not arrive, as far as it is named.
pub(super) fn read_failed(list: Option<&Path>) -> Result<Vec<Failed>, Problem> {
    let Some(path) = list else {
        return Ok(Vec::new());
    };
    let failed = |error: std::io::Error| Problem::state("read", path, &error);
    let mut lines = BufReader::new(std::fs::File::open(path).map_err(failed)?);
    let mut read = Vec::new();
    while read.len() < MAX_FAILED {
        let mut line = Vec::new();
        let limited = lines
            .by_ref()
            .take(MAX_FAILED_LINE_BYTES)
            .read_until(b'\n', &mut line);
        if limited.map_err(failed)? == 0 {
            break;
        }
        read.push(serde_json::from_slice(&line).map_err(|error| failed(error.into()))?);
    }
    Ok(read)
}
