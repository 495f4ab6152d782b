//! The permits and tickets of a copy, signed by the person's own key.

use headrace_core::list::ListDigest;
use headrace_core::permit::Permit;
use headrace_core::sealed::{Document, DocumentType, SigningKey};
use headrace_core::ticket::{
    Action, Compare, Encryption, Execution, OnConflict, Place, Preserve, Shard, Ticket,
};
use headrace_core::value::{Id, Label, Timestamp};

use super::Rules;
use super::job::Plan;
use crate::problem::{ControlCode, Problem};
use crate::state::random_id;

/// How long a permit or ticket is good for; tickets are renewed before that.
const VALID_MS: i64 = 15 * 60 * 1000;
/// Names in one listing, and the time it may take.
const MAX_ENTRIES: u64 = 1_000_000_000;
const MAX_SECONDS: u64 = 24 * 3600;

/// Who signs, and for whom.
#[derive(Debug, Clone)]
pub(crate) struct Signer {
    pub(crate) key: SigningKey,
    /// Name of the person, for people.
    pub(crate) person: Label,
}

impl Signer {
    /// Permission to list what is at and below a place.
    pub(super) fn permit(&self, place: &Place) -> Result<String, Problem> {
        let (not_before, expires) = validity();
        let permit = Permit {
            id: id("pm")?,
            person: self.person.clone(),
            node: place.node,
            root: place.root.clone(),
            path: place.path.clone(),
            max_entries: MAX_ENTRIES,
            max_seconds: MAX_SECONDS,
            not_before,
            expires,
            site: Label::default(),
            project: Label::default(),
            local_account: Label::default(),
        };
        Ok(Document::seal(DocumentType::Permit, &permit, &[&self.key])?.text())
    }

    /// Permission for the current attempt of a plan; again, it is a renewal.
    pub(super) fn ticket(
        &self,
        plan: &Plan,
        rate_ceiling_bps: Option<u64>,
    ) -> Result<String, Problem> {
        let (not_before, expires) = validity();
        let execution = plan.planned.execution.clone();
        let ticket = Ticket {
            id: id("tk")?,
            plan_digest: plan.digest,
            transfer: plan.planned.transfer.clone(),
            attempt: plan.attempt,
            shard: Shard {
                fence: plan.attempt,
                ..Shard::WHOLE
            },
            person: self.person.clone(),
            source_node: execution.source.node,
            destination_node: execution.destination.node,
            execution,
            rate_ceiling_bps,
            only_failed: false,
            not_before,
            expires,
            site: Label::default(),
            project: Label::default(),
            local_account: Label::default(),
            leg: None,
        };
        Ok(Document::seal(DocumentType::Ticket, &ticket, &[&self.key])?.text())
    }
}

/// What is to be done, before a survey has said how much that is.
pub(super) fn draft(
    source: Place,
    destination: Place,
    rules: &Rules,
) -> Result<Execution, Problem> {
    Ok(Execution {
        action: Action::Copy,
        source,
        destination,
        filters: rules.filters.clone(),
        on_conflict: if rules.overwrite {
            OnConflict::Overwrite
        } else {
            OnConflict::Fail
        },
        compare: Compare::SizeMtime,
        preserve: vec![Preserve::Mode, Preserve::Mtime],
        verify: rules.verify,
        checksums: Vec::new(),
        encryption: Encryption::Required,
        delete_source: false,
        delete_extraneous: false,
        max_files: 0,
        max_bytes: 0,
        max_entries: 0,
        overwrites: ListDigest::empty(),
        deletes: ListDigest::empty(),
        rate_ceiling_bps: None,
        qos_class: label("bulk")?,
        probe: None,
        trash: None,
    })
}

/// A random id with this prefix.
pub(super) fn id(prefix: &str) -> Result<Id, Problem> {
    random_id(prefix)?.parse().map_err(internal)
}

fn label(text: &str) -> Result<Label, Problem> {
    text.parse().map_err(internal)
}

fn validity() -> (Timestamp, Timestamp) {
    let now = Timestamp::from(std::time::SystemTime::now());
    (now, now.plus_ms(VALID_MS))
}

fn internal(error: headrace_core::value::ValueError) -> Problem {
    Problem::new(ControlCode::Internal, error.to_string())
}
