//! Tickets: a signed permission for two nodes to run one attempt of one plan, and the plan's execution part in it.

use serde::{Deserialize, Serialize};

use crate::access::{self, Access, Grants};
use crate::asker::Asker;
use crate::filter::{Filter, Filters};
use crate::list::ListDigest;
use crate::name::RelPath;
use crate::sealed::{Document, DocumentError, DocumentType, PublicKey, Validity};
use crate::trash::MAX_KEEP_DAYS;
use crate::value::{Digest, Id, Label, Timestamp, decimal};

/// Longest time of a leg of a probe.
pub const MAX_PROBE_SECONDS: u64 = 600;
/// Most bytes of a leg of a probe.
pub const MAX_PROBE_BYTES: u64 = 1 << 40;
/// Most files of a leg of a probe.
pub const MAX_PROBE_FILES: u64 = 16_384;

/// What a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Add what is missing.
    Copy,
    /// Copy, and with `delete_extraneous` remove what the source does not have.
    Sync,
    /// Copy, then delete each source file that arrived.
    Move,
}

/// What happens to a destination name that differs from its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// That file alone fails.
    Fail,
    /// It stays as it is.
    Skip,
    /// It is replaced when it is on the overwrite list, unchanged.
    Overwrite,
    /// As `Overwrite`; the list holds only those whose source is newer.
    Newer,
}

/// When two files count as identical.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// Same size and modification time.
    SizeMtime,
    /// Same content.
    Checksum,
}

/// Metadata that a copy keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preserve {
    /// Permission bits, without setuid and setgid.
    Mode,
    /// Modification time.
    Mtime,
}

/// How much is verified before a file counts as arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// What was written is what the source read.
    InTransit,
    /// The destination is also read back from its storage.
    AtRest,
}

/// Checksums computed besides BLAKE3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checksum {
    /// SHA-256.
    Sha256,
    /// SHA-1.
    Sha1,
    /// MD5.
    Md5,
    /// CRC-32C.
    Crc32c,
}

/// Whether data streams are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// TLS 1.3.
    Required,
    /// Authenticated and verified, but readable on the way.
    Off,
}

/// What is behind one end of a leg of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// Content is made when it is read, and dropped when it is written: no storage is touched.
    Memory,
    /// The storage of the root: what is there is read, and what is written never gets a name.
    Storage,
}

/// That a plan only measures: nothing it does leaves a name behind. Its ceilings limit each leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Seconds after which a leg stops, from its first byte.
    #[serde(with = "decimal")]
    pub max_seconds: u64,
}

/// That what a plan deletes is moved to the trash of its root, and kept there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trash {
    /// For so many days at least.
    #[serde(with = "decimal")]
    pub keep_days: u64,
}

/// The part of a probe that one attempt measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// Behind the source.
    pub reads: Medium,
    /// Behind the destination.
    pub writes: Medium,
}

/// One end of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The node.
    pub node: PublicKey,
    /// Its root.
    pub root: Label,
    /// Below the root; exact (a folder's content lands under the destination path).
    pub path: RelPath,
}

/// What a plan does, verbatim from the plan. A node applies it itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// What it is for.
    pub action: Action,
    /// From where.
    pub source: Place,
    /// To where.
    pub destination: Place,
    /// Which names.
    pub filters: Filters,
    /// What happens to names that differ.
    pub on_conflict: OnConflict,
    /// When files count as identical.
    pub compare: Compare,
    /// Metadata that is kept.
    pub preserve: Vec<Preserve>,
    /// How much is verified.
    pub verify: Verify,
    /// Further checksums; none so far.
    pub checksums: Vec<Checksum>,
    /// Whether data streams are encrypted.
    pub encryption: Encryption,
    /// Whether sources are deleted once they arrived; exactly when the action is `move`.
    pub delete_source: bool,
    /// Whether the names on the delete list are deleted; only when the action is `sync`.
    pub delete_extraneous: bool,
    /// Most files that may be copied.
    #[serde(with = "decimal")]
    pub max_files: u64,
    /// Most bytes that may be copied.
    #[serde(with = "decimal")]
    pub max_bytes: u64,
    /// Most names that the source may bring: files, folders, and what can't be copied.
    #[serde(with = "decimal")]
    pub max_entries: u64,
    /// The overwrite list.
    pub overwrites: ListDigest,
    /// The delete list.
    pub deletes: ListDigest,
    /// Highest rate that the plan allows, in bits per second.
    #[serde(with = "decimal::option")]
    pub rate_ceiling_bps: Option<u64>,
    /// The class whose share it gets.
    pub qos_class: Label,
    /// Set where nothing is to be copied and only speed is measured. Nodes of before refuse such a ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// Set where nothing that is deleted is gone at once. Nodes of before refuse such a ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash: Option<Trash>,
}

impl Execution {
    /// What the source root must allow.
    #[must_use]
    pub const fn source_access(&self) -> Access {
        if self.delete_source {
            Access::Delete
        } else {
            Access::Read
        }
    }

    /// What the destination root must allow.
    #[must_use]
    pub const fn destination_access(&self) -> Access {
        if self.delete_extraneous {
            Access::Delete
        } else {
            Access::Write
        }
    }

    /// Whether this metadata is kept.
    #[must_use]
    pub fn preserves(&self, what: Preserve) -> bool {
        self.preserve.contains(&what)
    }

    /// Says what contradicts itself or what a node does, if anything does.
    fn contradiction(&self) -> Option<&'static str> {
        let replaces = matches!(self.on_conflict, OnConflict::Overwrite | OnConflict::Newer);
        if self.delete_source != (self.action == Action::Move) {
            Some("`delete_source` goes with the action `move` and with no other")
        } else if self.delete_extraneous && self.action != Action::Sync {
            Some("`delete_extraneous` goes with the action `sync` only")
        } else if self.overwrites != ListDigest::empty() && !replaces {
            Some("there is an overwrite list, but `on_conflict` replaces nothing")
        } else if self.deletes != ListDigest::empty() && !self.delete_extraneous {
            Some("there is a delete list, but `delete_extraneous` is off")
        } else if !self.checksums.is_empty() {
            // A receipt would name what nobody computed.
            Some("it asks for checksums, and nodes compute none but BLAKE3 so far")
        } else if self.destination.path.has_part() {
            Some("its destination is in a name that nodes keep for themselves")
        } else if self.delete_source && self.source.path.has_part() {
            Some("what it moves is in a name that nodes keep for themselves")
        } else if self.source.path.is_disguised() {
            Some("its source is another spelling of a name that nodes keep for themselves")
        } else if self.trash.is_some() && !self.delete_source && !self.delete_extraneous {
            Some("`trash` goes with a plan that deletes, and with no other")
        } else if self
            .trash
            .is_some_and(|trash| !(1..=MAX_KEEP_DAYS).contains(&trash.keep_days))
        {
            Some("what is deleted is kept 1 to 366 days")
        } else if let Some(probe) = &self.probe {
            self.contradiction_of(*probe)
        } else {
            None
        }
    }

    /// Says what a probe may not be: it adds, replaces and deletes nothing, and ends.
    fn contradiction_of(&self, probe: Probe) -> Option<&'static str> {
        let only_adds = self.action == Action::Copy && self.on_conflict == OnConflict::Fail;
        if !only_adds || self.verify != Verify::InTransit {
            Some("a probe copies, fails where something is, and verifies in transit")
        } else if !(1..=MAX_PROBE_SECONDS).contains(&probe.max_seconds) {
            Some("each leg of a probe takes 1 to 600 seconds")
        } else if self.max_files > MAX_PROBE_FILES || self.max_bytes > MAX_PROBE_BYTES {
            Some("a leg of a probe reads 16384 files and 1 TiB at most")
        } else {
            None
        }
    }
}

/// Which part of a plan is meant, and who may work on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Rises each time the shard is given out: what knows of a later one refuses an earlier one.
    #[serde(with = "decimal")]
    pub fence: u64,
    /// From 0. All that a plan does is its shard 0, so far.
    #[serde(with = "decimal")]
    pub number: u64,
}

impl Shard {
    /// All of a plan, given out for the first time.
    pub const WHOLE: Self = Self {
        fence: 1,
        number: 0,
    };
}

/// What a ticket says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ticket {
    /// `tk_…`; a renewal has its own.
    pub id: Id,
    /// The plan.
    pub plan_digest: Digest,
    /// `tr_…`.
    pub transfer: Id,
    /// From 1, rising.
    #[serde(with = "decimal")]
    pub attempt: u64,
    /// Which part of the plan.
    pub shard: Shard,
    /// Who asked.
    pub person: Label,
    /// Key of the source node.
    pub source_node: PublicKey,
    /// Key of the destination node.
    pub destination_node: PublicKey,
    /// What to do.
    pub execution: Execution,
    /// Highest rate of this attempt, in bits per second; the plan's ceiling holds besides.
    #[serde(with = "decimal::option")]
    pub rate_ceiling_bps: Option<u64>,
    /// Whether only files that failed in earlier attempts are copied.
    pub only_failed: bool,
    /// Start of its validity.
    pub not_before: Timestamp,
    /// End of its validity; unrenewed, nodes stop then.
    pub expires: Timestamp,
    /// Reserved.
    pub site: Label,
    /// Reserved.
    pub project: Label,
    /// How the person is known where people have names; [`Ticket::asker`] reads it.
    pub local_account: Label,
    /// Which leg of a probe this attempt measures; exactly when the plan is a probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg: Option<Leg>,
}

impl Ticket {
    /// Who asked, for nodes that act as people's local accounts.
    #[must_use]
    pub fn asker(&self) -> Asker {
        Asker::new(&self.person, &self.local_account)
    }

    /// The lower of both rate ceilings, in bits per second.
    #[must_use]
    pub fn rate_ceiling_bps(&self) -> Option<u64> {
        self.rate_ceiling_bps
            .into_iter()
            .chain(self.execution.rate_ceiling_bps)
            .min()
    }
}

/// Which end of a ticket a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// It reads.
    Source,
    /// It writes.
    Destination,
    /// It does both.
    Both,
}

/// A ticket that authorities of this node's roots signed, for this node, and whose time it is.
#[derive(Debug, Clone)]
pub struct VerifiedTicket {
    ticket: Ticket,
    part: Part,
    filter: Filter,
    text: String,
}

impl VerifiedTicket {
    /// Verifies the text of a ticket for the node `me`.
    ///
    /// # Errors
    /// The first reason why it gives no permission.
    pub fn verify(
        text: &str,
        grants: &Grants,
        me: PublicKey,
        now: Timestamp,
    ) -> Result<Self, DocumentError> {
        const TICKET: DocumentType = DocumentType::Ticket;
        let malformed = |detail: String| DocumentError::Malformed {
            document: TICKET,
            detail,
        };
        let document = Document::parse(text, TICKET)?;
        let ticket: Ticket = document.claims()?;
        let execution = &ticket.execution;
        if (ticket.source_node, ticket.destination_node)
            != (execution.source.node, execution.destination.node)
        {
            return Err(malformed(
                "its nodes are not those of its execution".to_owned(),
            ));
        }
        if let Some(contradiction) = execution.contradiction() {
            return Err(malformed(contradiction.to_owned()));
        }
        if ticket.leg.is_some() != execution.probe.is_some() {
            return Err(malformed(
                "a leg goes with a plan that is a probe, and with no other".to_owned(),
            ));
        }
        if ticket.leg.is_some() && ticket.only_failed {
            return Err(malformed("no file of a probe is tried again".to_owned()));
        }
        if ticket.attempt == 0 {
            return Err(malformed("attempts count from 1".to_owned()));
        }
        if ticket.shard.number != Shard::WHOLE.number {
            return Err(malformed(
                "it is for a shard, and nodes carry whole plans so far".to_owned(),
            ));
        }
        let part = match (ticket.source_node == me, ticket.destination_node == me) {
            (true, true) => Part::Both,
            (true, false) => Part::Source,
            (false, true) => Part::Destination,
            (false, false) => {
                let detail = format!(
                    "it is for {} and {}, this is {me}",
                    ticket.source_node, ticket.destination_node
                );
                return Err(DocumentError::Foreign {
                    document: TICKET,
                    detail,
                });
            }
        };
        if part != Part::Destination {
            access::check(
                grants,
                &document,
                execution.source.root.as_str(),
                execution.source_access(),
                now,
            )?;
        }
        if part != Part::Source {
            access::check(
                grants,
                &document,
                execution.destination.root.as_str(),
                execution.destination_access(),
                now,
            )?;
        }
        Validity {
            not_before: ticket.not_before,
            expires: ticket.expires,
        }
        .check(TICKET, now)?;
        let filter =
            Filter::new(&execution.filters).map_err(|error| malformed(error.to_string()))?;
        Ok(Self {
            part,
            filter,
            text: text.to_owned(),
            ticket,
        })
    }

    /// What it says.
    #[must_use]
    pub const fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Which end this node is.
    #[must_use]
    pub const fn part(&self) -> Part {
        self.part
    }

    /// The other node; `None` when both ends are this one.
    #[must_use]
    pub const fn peer(&self) -> Option<PublicKey> {
        match self.part {
            Part::Source => Some(self.ticket.destination_node),
            Part::Destination => Some(self.ticket.source_node),
            Part::Both => None,
        }
    }

    /// The plan's filters, compiled.
    #[must_use]
    pub const fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The document, as it was received.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// This ticket as it takes the place of `older`, which is for the same attempt of the same plan in every respect. The later
    /// of both ends counts: a service whose clock was set back takes no time away. `None` when it is no renewal.
    #[must_use]
    pub fn renewing(mut self, older: &Self) -> Option<Self> {
        let Ticket {
            id,
            rate_ceiling_bps,
            not_before,
            expires,
            ..
        } = older.ticket.clone();
        let same = Ticket {
            id,
            rate_ceiling_bps,
            not_before,
            expires,
            ..self.ticket.clone()
        } == older.ticket;
        self.ticket.expires = self.ticket.expires.max(expires);
        same.then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::access::{Authority, Grant};
    use crate::sealed::SigningKey;

    const NOW: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn body() -> Value {
        let (source, destination) = (key(8).public(), key(9).public());
        let empty = json!({"count": "0", "digest": Digest::of(b"")});
        json!({
            "id": "tk_1", "plan_digest": Digest::of(b"plan"), "transfer": "tr_1", "attempt": "1", "shard": {"fence": "1", "number": "0"}, "person": "ada",
            "source_node": source, "destination_node": destination,
            "execution": {
                "action": "copy",
                "source": {"node": source, "root": "krios1", "path": ["raw", "run42"]},
                "destination": {"node": destination, "root": "archive", "path": ["run42"]},
                "filters": {
                    "include": ["*.mrc"], "exclude": ["*.tmp"], "min_size": null, "max_size": "53687091200",
                    "modified_after_ns": null, "modified_before_ns": null
                },
                "on_conflict": "fail", "compare": "size-mtime", "preserve": ["mode", "mtime"], "verify": "in-transit",
                "checksums": [], "encryption": "required", "delete_source": false, "delete_extraneous": false,
                "max_files": "21000", "max_bytes": "1717986918", "max_entries": "30000", "overwrites": empty, "deletes": empty,
                "rate_ceiling_bps": null, "qos_class": "bulk"
            },
            "rate_ceiling_bps": null, "only_failed": false, "not_before": NOW, "expires": NOW.plus_ms(900_000),
            "site": "", "project": "", "local_account": ""
        })
    }

    fn grants() -> Grants {
        let grant = |access, allowed| Grant {
            access,
            authorities: vec![Authority {
                key: key(1).public(),
                access: allowed,
                until: None,
            }],
        };
        Grants::from([
            ("krios1".to_owned(), grant(Access::Read, Access::Delete)),
            ("archive".to_owned(), grant(Access::Delete, Access::Write)),
        ])
    }

    fn verify_as(
        body: &Value,
        signer: &SigningKey,
        me: u8,
    ) -> Result<VerifiedTicket, DocumentError> {
        let document = Document::seal(DocumentType::Ticket, body, &[signer]).expect("a small body");
        VerifiedTicket::verify(&document.text(), &grants(), key(me).public(), NOW)
    }

    fn with(pointer: &str, value: Value) -> Value {
        let mut body = body();
        *body.pointer_mut(pointer).expect("a field of a ticket") = value;
        body
    }

    fn refused(pointer: &str, value: Value) -> &'static str {
        verify_as(&with(pointer, value), &key(1), 9)
            .expect_err("refused")
            .code()
    }

    #[test]
    fn a_good_ticket_tells_each_node_its_part() {
        let source = verify_as(&body(), &key(1), 8).expect("a good ticket");
        assert_eq!(
            (source.part(), source.peer()),
            (Part::Source, Some(key(9).public()))
        );
        let destination = verify_as(&body(), &key(1), 9).expect("a good ticket");
        assert_eq!(
            (destination.part(), destination.peer()),
            (Part::Destination, Some(key(8).public()))
        );
        assert_eq!(
            destination.ticket().execution.filters.max_size,
            Some(53_687_091_200)
        );
    }

    #[test]
    fn invariant_1_expired_altered_and_foreign_tickets_are_refused() {
        assert_eq!(
            verify_as(&body(), &key(2), 9).expect_err("refused").code(),
            "ticket_foreign"
        );
        assert_eq!(
            verify_as(&body(), &key(1), 7).expect_err("refused").code(),
            "ticket_foreign"
        );
        assert_eq!(refused("/expires", json!(NOW)), "ticket_expired");
        assert_eq!(
            refused("/not_before", json!(NOW.plus_ms(60_001))),
            "ticket_not_yet_valid"
        );

        let text = Document::seal(DocumentType::Ticket, &body(), &[&key(1)])
            .expect("a small body")
            .text();
        let altered = text.replace("run42", "run43");
        let result = VerifiedTicket::verify(&altered, &grants(), key(9).public(), NOW);
        assert_eq!(result.expect_err("refused").code(), "ticket_altered");
    }

    #[test]
    fn a_root_and_its_authority_both_limit_what_a_ticket_may_do() {
        let mut moving = with("/execution/action", json!("move"));
        moving["execution"]["delete_source"] = json!(true);
        let code = |body: &Value, me| {
            verify_as(body, &key(1), me)
                .map(|_| ())
                .map_err(|error| error.code())
        };
        assert_eq!(code(&moving, 8), Err("root_access"));
        assert_eq!(code(&moving, 9), Ok(()));

        let mut mirror = with("/execution/action", json!("sync"));
        mirror["execution"]["delete_extraneous"] = json!(true);
        assert_eq!(code(&mirror, 9), Err("root_access"));
        assert_eq!(
            code(&with("/execution/destination/root", json!("krios1")), 9),
            Err("root_access")
        );
        assert_eq!(
            code(&with("/execution/destination/root", json!("none")), 9),
            Err("root_unknown")
        );
    }

    #[test]
    fn tickets_that_contradict_themselves_are_refused() {
        let list = json!({"count": "1", "digest": Digest::of(b"x")});
        for (pointer, value) in [
            ("/source_node", json!(key(7).public())),
            ("/attempt", json!("0")),
            ("/attempt", json!(1)),
            ("/shard/number", json!("1")),
            ("/shard", json!({"number": "0"})),
            ("/execution/delete_source", json!(true)),
            ("/execution/delete_extraneous", json!(true)),
            ("/execution/overwrites", list.clone()),
            ("/execution/deletes", list),
            ("/execution/checksums", json!(["sha256"])),
            ("/execution/action", json!("erase")),
            ("/execution/preserve", json!(["acl"])),
            ("/execution/source/path", json!([".."])),
            ("/execution/filters/include", json!(["a["])),
            ("/execution/max_bytes", json!("-1")),
            ("/transfer", json!("../x")),
            ("/site", json!("x".repeat(257))),
        ] {
            assert_eq!(refused(pointer, value), "ticket_malformed", "{pointer}");
        }
        let mut unknown = body();
        unknown["execution"]["new_rule"] = json!(true);
        assert_eq!(
            verify_as(&unknown, &key(1), 9).expect_err("refused").code(),
            "ticket_malformed"
        );
    }

    fn keeping(days: &str) -> Value {
        let mut body = body();
        body["execution"]["action"] = json!("move");
        body["execution"]["delete_source"] = json!(true);
        body["execution"]["trash"] = json!({"keep_days": days});
        body
    }

    #[test]
    fn a_ticket_keeps_what_it_deletes_for_a_number_of_days_and_only_where_it_deletes() {
        let ticket = verify_as(&keeping("30"), &key(1), 9).expect("a good ticket");
        let trash = ticket.ticket().execution.trash.expect("a trash");
        assert_eq!(trash.keep_days, 30);
        let mut copies = keeping("30");
        copies["execution"]["action"] = json!("copy");
        copies["execution"]["delete_source"] = json!(false);
        for body in [keeping("0"), keeping("367"), copies] {
            let refused = verify_as(&body, &key(1), 9).expect_err("refused");
            assert_eq!(refused.code(), "ticket_malformed");
        }
    }

    #[test]
    fn no_ticket_writes_into_a_trash_or_moves_out_of_it() {
        let trash = || json!([".headrace-trash", "2026-12-27-tr_1", "run42"]);
        assert_eq!(
            refused("/execution/destination/path", trash()),
            "ticket_malformed"
        );
        let mut body = with("/execution/source/path", trash());
        assert!(verify_as(&body, &key(1), 8).is_ok());
        body["execution"]["action"] = json!("move");
        body["execution"]["delete_source"] = json!(true);
        let refused = verify_as(&body, &key(1), 9).expect_err("refused");
        assert_eq!(refused.code(), "ticket_malformed");
    }

    #[test]
    fn no_ticket_reads_or_writes_a_trash_by_another_spelling() {
        for end in ["source", "destination"] {
            let path = json!([".Headrace-Tra\u{17f}h", "2026-12-27-tr_1", "run42"]);
            let pointer = format!("/execution/{end}/path");
            assert_eq!(refused(&pointer, path), "ticket_malformed", "{end}");
        }
    }

    fn probing() -> Value {
        let mut body = body();
        body["execution"]["probe"] = json!({"max_seconds": "10"});
        body["execution"]["max_files"] = json!("16384");
        body["leg"] = json!({"reads": "memory", "writes": "storage"});
        body
    }

    #[test]
    fn a_ticket_of_a_probe_names_its_leg_and_changes_nothing_that_is_there() {
        let ticket = verify_as(&probing(), &key(1), 9).expect("a good ticket");
        let leg = ticket.ticket().leg.expect("a leg");
        assert_eq!((leg.reads, leg.writes), (Medium::Memory, Medium::Storage));
        for (pointer, value) in [
            ("/leg/reads", json!("nothing")),
            ("/only_failed", json!(true)),
            ("/execution/on_conflict", json!("overwrite")),
            ("/execution/verify", json!("at-rest")),
            ("/execution/action", json!("sync")),
            ("/execution/max_files", json!("16385")),
            ("/execution/max_bytes", json!("1099511627777")),
            ("/execution/probe/max_seconds", json!("0")),
            ("/execution/probe/max_seconds", json!("601")),
        ] {
            let mut body = probing();
            *body.pointer_mut(pointer).expect("a field") = value;
            let refused = verify_as(&body, &key(1), 9).expect_err("refused");
            assert_eq!(refused.code(), "ticket_malformed", "{pointer}");
        }
    }

    #[test]
    fn a_leg_and_a_plan_that_is_a_probe_go_together() {
        let mut no_leg = probing();
        no_leg.as_object_mut().expect("a ticket").remove("leg");
        let mut no_probe = body();
        no_probe["leg"] = probing()["leg"].clone();
        for body in [no_leg, no_probe] {
            let refused = verify_as(&body, &key(1), 9).expect_err("refused");
            assert_eq!(refused.code(), "ticket_malformed");
        }
    }

    #[test]
    fn a_ticket_that_is_no_probe_has_the_bytes_that_it_had_before_there_were_any() {
        let text = serde_json::to_string(verify_as(&body(), &key(1), 9).expect("good").ticket())
            .expect("a ticket");
        assert!(
            !["probe", "leg", "trash"]
                .iter()
                .any(|name| text.contains(name))
        );
    }

    #[test]
    fn a_renewal_changes_only_its_id_its_time_and_its_rate() {
        let ticket = verify_as(&body(), &key(1), 9).expect("a good ticket");
        let renewal = |pointer: &str, value: Value| {
            verify_as(&with(pointer, value), &key(1), 9)
                .expect("a good ticket")
                .renewing(&ticket)
                .map(|renewed| renewed.ticket().expires)
        };
        let expires = Some(ticket.ticket().expires);
        let later = NOW.plus_ms(901_000);
        assert_eq!(renewal("/id", json!("tk_2")), expires);
        assert_eq!(renewal("/expires", json!(later)), Some(later));
        assert_eq!(renewal("/rate_ceiling_bps", json!("1000")), expires);
        assert_eq!(renewal("/attempt", json!("2")), None);
        assert_eq!(renewal("/shard/fence", json!("2")), None);
        assert_eq!(renewal("/execution/max_files", json!("1")), None);
        assert_eq!(renewal("/expires", json!(NOW.plus_ms(899_000))), expires);
    }

    #[test]
    fn the_lower_ceiling_holds() {
        let mut both = with("/rate_ceiling_bps", json!("200"));
        assert_eq!(
            verify_as(&both, &key(1), 9)
                .expect("good")
                .ticket()
                .rate_ceiling_bps(),
            Some(200)
        );
        both["execution"]["rate_ceiling_bps"] = json!("100");
        assert_eq!(
            verify_as(&both, &key(1), 9)
                .expect("good")
                .ticket()
                .rate_ceiling_bps(),
            Some(100)
        );
    }
}
