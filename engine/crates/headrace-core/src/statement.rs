//! Statements: a node's signed word at the end of an attempt.

use serde::{Deserialize, Serialize};

use crate::sealed::{Document, DocumentError, DocumentType, PublicKey, SigningKey};
use crate::ticket::{Shard, Verify};
use crate::trash::TrashFolder;
use crate::value::{Digest, Id, Label, Timestamp, decimal};

/// Largest count in a statement, and of progress: what keeps them (databases) has signed numbers of 64 bits.
pub const MAX_COUNT: u64 = i64::MAX.cast_unsigned();

/// Most drifted names in one statement.
pub const MAX_CHANGED: usize = 100;

/// Which end speaks. The destination's word is the one that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The node that wrote.
    Destination,
    /// The node that read.
    Source,
}

/// Most names of sources that stayed in one statement.
pub const MAX_KEPT_NAMES: usize = 100;

/// Longest text that says why sources stayed, in bytes.
pub const MAX_DETAIL_BYTES: usize = 1024;

/// Whether everything arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Achieved {
    /// Every selected name arrived, or was there.
    Complete,
    /// Some did not; the list of failures names them.
    Partial,
}

/// Why a move left a source where it was, although the destination holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeptReason {
    /// It changed after it was copied.
    Changed,
    /// The destination holds other content than the source does now.
    Differs,
    /// The destination did not say what it holds.
    Unproven,
    /// The transfer was stopped, or its ticket ended, while the sources were deleted.
    Stopped,
    /// It could not be deleted.
    Failed,
}

/// Sources that a move left where they were, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Why.
    pub reason: KeptReason,
    /// Why, in words, for the first of them; at most [`MAX_DETAIL_BYTES`].
    pub detail: String,
    /// How many files and symlinks.
    #[serde(with = "decimal")]
    pub count: u64,
    /// The first of them, escaped; of all reasons at most [`MAX_KEPT_NAMES`].
    pub names: Vec<String>,
}

/// What a statement says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Which end speaks.
    pub role: Role,
    /// Its key.
    pub node: PublicKey,
    /// The plan.
    pub plan_digest: Digest,
    /// The transfer.
    pub transfer: Id,
    /// Its attempt.
    #[serde(with = "decimal")]
    pub attempt: u64,
    /// Which part of the plan.
    pub shard: Shard,
    /// Whether everything arrived.
    pub outcome: Achieved,
    /// Files that were copied.
    #[serde(with = "decimal")]
    pub files: u64,
    /// Bytes of those.
    #[serde(with = "decimal")]
    pub bytes: u64,
    /// Files that were the same already.
    #[serde(with = "decimal")]
    pub identical: u64,
    /// Names that did not arrive.
    #[serde(with = "decimal")]
    pub failed: u64,
    /// Names that were deleted.
    #[serde(with = "decimal")]
    pub deleted: u64,
    /// Bytes that were sent more than once.
    #[serde(with = "decimal")]
    pub resent_bytes: u64,
    /// SHA-256 of files.jsonl.
    pub list_digest: Digest,
    /// BLAKE3 of files.jsonl.
    pub root: Digest,
    /// How much was verified.
    pub verified: Verify,
    /// Whether data streams were encrypted.
    pub encrypted: bool,
    /// Name of the cipher suite; empty when nothing was encrypted.
    pub cipher: Label,
    /// Start of the attempt on this node.
    pub started: Timestamp,
    /// Its end.
    pub ended: Timestamp,
    /// Escaped names that changed between plan and copy, at most [`MAX_CHANGED`].
    pub changed: Vec<String>,
    /// Sources that stayed although they have arrived, one entry for each reason, in the order of [`KeptReason`]. Only the source's
    /// node says it, and only of a move, so that releases which do not know it read all other statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources_kept: Option<Vec<Kept>>,
    /// Name of the folder in the trash of its root that what was deleted was moved to. Only of a plan that says so, and only from the
    /// node that deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash: Option<Label>,
}

impl Statement {
    /// Signs the statement.
    ///
    /// # Errors
    /// When it is longer than a document may be.
    pub fn seal(&self, key: &SigningKey) -> Result<Document, DocumentError> {
        Document::seal(DocumentType::Statement, self, &[key])
    }

    /// Verifies that `node` signed this statement and speaks for itself in it.
    ///
    /// # Errors
    /// The first reason why it is not its word.
    pub fn verify(text: &str, node: PublicKey) -> Result<Self, DocumentError> {
        let document = Document::parse(text, DocumentType::Statement)?;
        document.signers(&[node])?;
        let statement: Self = document.claims()?;
        if statement.node != node {
            let detail = format!("it speaks for {}", statement.node);
            return Err(DocumentError::Foreign {
                document: DocumentType::Statement,
                detail,
            });
        }
        let Self {
            files,
            bytes,
            identical,
            failed,
            deleted,
            resent_bytes,
            ..
        } = statement;
        let counts = [files, bytes, identical, failed, deleted, resent_bytes];
        if counts.iter().any(|count| *count > MAX_COUNT) {
            return Err(DocumentError::Malformed {
                document: DocumentType::Statement,
                detail: format!("it counts more than {MAX_COUNT}"),
            });
        }
        statement
            .check_kept()
            .and_then(|()| statement.check_trash())
            .map_err(|detail| DocumentError::Malformed {
                document: DocumentType::Statement,
                detail,
            })?;
        Ok(statement)
    }

    /// Whether its trash is a folder of this transfer. People are shown the name in a command.
    fn check_trash(&self) -> Result<(), String> {
        let Some(name) = &self.trash else {
            return Ok(());
        };
        match TrashFolder::parse(name.as_str().as_bytes()) {
            Some(folder) if folder.transfer == self.transfer => Ok(()),
            _ => Err("its trash is not a folder of its own transfer".to_owned()),
        }
    }

    /// Whether what it says of sources that stayed can be so.
    fn check_kept(&self) -> Result<(), String> {
        let Some(kept) = &self.sources_kept else {
            return Ok(());
        };
        if self.role != Role::Source {
            return Err("it speaks of sources, which the destination does not delete".to_owned());
        }
        if !kept.is_sorted_by(|before, after| before.reason < after.reason) {
            return Err("it gives a reason twice, or out of order".to_owned());
        }
        let names: usize = kept.iter().map(|kept| kept.names.len()).sum();
        let counts = |kept: &Kept| {
            (1..=MAX_COUNT).contains(&kept.count) && kept.names.len() as u64 <= kept.count
        };
        let detailed = |kept: &Kept| kept.detail.len() <= MAX_DETAIL_BYTES;
        if names > MAX_KEPT_NAMES || !kept.iter().all(counts) || !kept.iter().all(detailed) {
            return Err("what it says of sources that stayed is beyond its limits".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(node: PublicKey) -> Statement {
        Statement {
            role: Role::Destination,
            node,
            plan_digest: Digest::of(b"plan"),
            transfer: "tr_1".parse().expect("an id"),
            attempt: 1,
            shard: Shard::WHOLE,
            outcome: Achieved::Complete,
            files: 2,
            bytes: MAX_COUNT,
            identical: 0,
            failed: 0,
            deleted: 0,
            resent_bytes: 0,
            list_digest: Digest::of(b"list"),
            root: Digest::of(b"root"),
            verified: Verify::AtRest,
            encrypted: true,
            cipher: "TLS13_AES_256_GCM_SHA384".parse().expect("a label"),
            started: Timestamp::from_unix_ms(0),
            ended: Timestamp::from_unix_ms(1),
            changed: vec!["a%0A".to_owned()],
            sources_kept: None,
            trash: None,
        }
    }

    #[test]
    fn a_node_names_a_folder_of_its_transfer_as_the_trash_and_nothing_else() {
        let key = SigningKey::from_seed(&[1; 32]);
        let checked = |name: &str| {
            let said = Statement {
                trash: Some(name.parse().expect("a label")),
                ..statement(key.public())
            };
            let text = said.seal(&key).expect("a small body").text();
            Statement::verify(&text, key.public()).map(|read| assert_eq!(read, said))
        };
        assert_eq!(checked("2026-12-27-tr_1"), Ok(()));
        for wrong in ["", "2026-12-27-tr_2", "2026-12-27-tr_1; rm -r /", "tr_1"] {
            let code = checked(wrong).expect_err("refused").code();
            assert_eq!(code, "statement_malformed", "{wrong}");
        }
    }

    fn kept(reason: KeptReason, count: u64) -> Kept {
        Kept {
            reason,
            detail: "it changed after it was copied".to_owned(),
            count,
            names: vec!["a".to_owned()],
        }
    }

    #[test]
    fn a_source_says_which_of_its_files_a_move_left_and_others_do_not() {
        let key = SigningKey::from_seed(&[1; 32]);
        let checked = |role: Role, kept: Vec<Kept>| {
            let said = Statement {
                role,
                sources_kept: Some(kept),
                ..statement(key.public())
            };
            let text = said.seal(&key).expect("a small body").text();
            Statement::verify(&text, key.public()).map(|read| assert_eq!(read, said))
        };
        let code = |checked: Result<(), DocumentError>| checked.expect_err("refused").code();
        let (changed, stopped) = (kept(KeptReason::Changed, 1), kept(KeptReason::Stopped, 7));
        assert_eq!(checked(Role::Source, vec![]), Ok(()));
        let both = vec![changed.clone(), stopped.clone()];
        assert_eq!(checked(Role::Source, both.clone()), Ok(()));
        assert_eq!(
            code(checked(Role::Destination, both)),
            "statement_malformed"
        );
        let twice = vec![stopped.clone(), stopped.clone()];
        let long = Kept {
            detail: "x".repeat(MAX_DETAIL_BYTES + 1),
            ..changed.clone()
        };
        let many = Kept {
            names: vec!["a".to_owned(); MAX_KEPT_NAMES],
            ..kept(KeptReason::Changed, 1000)
        };
        for wrong in [
            twice,
            vec![stopped.clone(), changed],
            vec![long],
            vec![kept(KeptReason::Changed, 0)],
            vec![kept(KeptReason::Changed, MAX_COUNT + 1)],
            vec![many, stopped],
        ] {
            assert_eq!(code(checked(Role::Source, wrong)), "statement_malformed");
        }
    }

    #[test]
    fn a_statement_that_says_nothing_of_sources_is_read_by_releases_that_do_not_know_them() {
        let key = SigningKey::from_seed(&[1; 32]);
        let text = statement(key.public()).seal(&key).expect("small").text();
        assert!(!text.contains("sources_kept"), "{text}");
    }

    #[test]
    fn a_statement_that_counts_more_than_can_be_kept_is_refused() {
        let key = SigningKey::from_seed(&[1; 32]);
        let counts: [fn(&mut Statement) -> &mut u64; 6] = [
            |said| &mut said.files,
            |said| &mut said.bytes,
            |said| &mut said.identical,
            |said| &mut said.failed,
            |said| &mut said.deleted,
            |said| &mut said.resent_bytes,
        ];
        for count in counts {
            let mut said = statement(key.public());
            *count(&mut said) = MAX_COUNT + 1;
            let text = said.seal(&key).expect("a small body").text();
            let refused = Statement::verify(&text, key.public()).expect_err("too many");
            assert_eq!(refused.code(), "statement_malformed");
        }
    }

    #[test]
    fn a_node_speaks_only_for_itself() {
        let (key, other) = (
            SigningKey::from_seed(&[1; 32]),
            SigningKey::from_seed(&[2; 32]),
        );
        let own = statement(key.public());
        let text = own.seal(&key).expect("a small body").text();
        assert_eq!(Statement::verify(&text, key.public()), Ok(own));
        let code = |text: &str, node| Statement::verify(text, node).expect_err("refused").code();
        assert_eq!(code(&text, other.public()), "statement_foreign");
        assert_eq!(
            code(
                &text
                    .replace("in-transit", "at-rest")
                    .replace("at-rest", "in-transit"),
                key.public()
            ),
            "statement_altered"
        );
        let of_other = statement(other.public())
            .seal(&key)
            .expect("a small body")
            .text();
        assert_eq!(code(&of_other, key.public()), "statement_foreign");
    }
}
