//! Permits: a short signed permission for a node to list one prefix.

use serde::{Deserialize, Serialize};

use crate::access::{self, Access, Grants};
use crate::asker::Asker;
use crate::name::RelPath;
use crate::sealed::{Document, DocumentError, DocumentType, PublicKey, Validity};
use crate::value::{Id, Label, Timestamp, decimal};

/// What a permit says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permit {
    /// `pm_…`.
    pub id: Id,
    /// For whom.
    pub person: Label,
    /// Which node may list.
    pub node: PublicKey,
    /// In which root.
    pub root: Label,
    /// This folder and what is below it.
    pub path: RelPath,
    /// Most names in one listing.
    #[serde(with = "decimal")]
    pub max_entries: u64,
    /// Longest time one listing may take, in seconds.
    #[serde(with = "decimal")]
    pub max_seconds: u64,
    /// Start of its validity.
    pub not_before: Timestamp,
    /// End of its validity.
    pub expires: Timestamp,
    /// Reserved.
    pub site: Label,
    /// Reserved.
    pub project: Label,
    /// How the person is known where people have names; [`Permit::asker`] reads it.
    pub local_account: Label,
}

impl Permit {
    /// Who asks, for nodes that act as people's local accounts.
    #[must_use]
    pub fn asker(&self) -> Asker {
        Asker::new(&self.person, &self.local_account)
    }
}

/// A permit that an authority of its root signed, for this node, and whose time it is.
#[derive(Debug, Clone)]
pub struct VerifiedPermit(Permit);

impl VerifiedPermit {
    /// Verifies the text of a permit for the node `me`.
    ///
    /// # Errors
    /// The first reason why it gives no permission.
    pub fn verify(
        text: &str,
        grants: &Grants,
        me: PublicKey,
        now: Timestamp,
    ) -> Result<Self, DocumentError> {
        const PERMIT: DocumentType = DocumentType::Permit;
        let document = Document::parse(text, PERMIT)?;
        let permit: Permit = document.claims()?;
        if permit.node != me {
            let detail = format!("it is for node {}, this is {me}", permit.node);
            return Err(DocumentError::Foreign {
                document: PERMIT,
                detail,
            });
        }
        access::check(grants, &document, permit.root.as_str(), Access::Read, now)?;
        Validity {
            not_before: permit.not_before,
            expires: permit.expires,
        }
        .check(PERMIT, now)?;
        Ok(Self(permit))
    }

    /// What it says.
    #[must_use]
    pub const fn permit(&self) -> &Permit {
        &self.0
    }

    /// Whether this path, relative to the root, may be listed. Nothing is by another spelling of a name that nodes keep for
    /// themselves: policy was not asked about where storage may find it.
    #[must_use]
    pub fn covers(&self, path: &RelPath) -> bool {
        path.starts_with(&self.0.path) && !path.is_disguised()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Authority, Grant};
    use crate::sealed::SigningKey;

    const NOW: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn permit() -> Permit {
        Permit {
            id: "pm_1".parse().expect("an id"),
            person: "ada".parse().expect("a label"),
            node: key(9).public(),
            root: "krios1".parse().expect("a label"),
            path: RelPath::from_bytes(b"raw/run42").expect("a path"),
            max_entries: 10,
            max_seconds: 5,
            not_before: NOW,
            expires: NOW.plus_ms(600_000),
            site: Label::default(),
            project: Label::default(),
            local_account: Label::default(),
        }
    }

    fn verify(permit: &Permit, signer: &SigningKey) -> Result<VerifiedPermit, &'static str> {
        let authority = Authority {
            key: key(1).public(),
            access: Access::Read,
            until: None,
        };
        let grant = Grant {
            access: Access::Delete,
            authorities: vec![authority],
        };
        let grants = Grants::from([("krios1".to_owned(), grant)]);
        let document =
            Document::seal(DocumentType::Permit, permit, &[signer]).expect("a small body");
        VerifiedPermit::verify(&document.text(), &grants, key(9).public(), NOW)
            .map_err(|error| error.code())
    }

    #[test]
    fn invariant_1_a_key_whose_time_is_over_opens_nothing() {
        let code = |until: Option<Timestamp>| {
            let authority = Authority {
                key: key(1).public(),
                access: Access::Read,
                until,
            };
            let grant = Grant {
                access: Access::Read,
                authorities: vec![authority],
            };
            let grants = Grants::from([("krios1".to_owned(), grant)]);
            let document = Document::seal(DocumentType::Permit, &permit(), &[&key(1)]);
            let text = document.expect("a small body").text();
            let verified = VerifiedPermit::verify(&text, &grants, key(9).public(), NOW);
            verified.map_or_else(|error| error.code(), |_| "")
        };
        assert_eq!(code(Some(NOW.plus_ms(1))), "");
        assert_eq!(code(Some(NOW)), "permit_foreign");
    }

    #[test]
    fn invariant_1_only_a_good_permit_opens_a_prefix() {
        let good = verify(&permit(), &key(1)).expect("a good permit");
        let path = |text: &str| RelPath::from_bytes(text.as_bytes()).expect("a path");
        assert!(good.covers(&path("raw/run42")) && good.covers(&path("raw/run42/x")));
        assert!(!good.covers(&path("raw/run42/.HEADRACE-TRASH/x")));
        assert!(!good.covers(&path("raw")) && !good.covers(&path("raw/run421")));

        let refused = |change: fn(&mut Permit)| {
            let mut changed = permit();
            change(&mut changed);
            verify(&changed, &key(1)).expect_err("refused")
        };
        assert_eq!(
            verify(&permit(), &key(2)).expect_err("refused"),
            "permit_foreign"
        );
        assert_eq!(
            refused(|permit| permit.node = key(8).public()),
            "permit_foreign"
        );
        assert_eq!(
            refused(|permit| permit.root = "other".parse().expect("a label")),
            "root_unknown"
        );
        assert_eq!(refused(|permit| permit.expires = NOW), "permit_expired");
        assert_eq!(
            refused(|permit| permit.not_before = NOW.plus_ms(60_001)),
            "permit_not_yet_valid"
        );
    }
}
