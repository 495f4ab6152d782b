//! What may be done in a root, and on whose word.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sealed::{Document, DocumentError, PublicKey};
use crate::value::Timestamp;

/// What may be done; each includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// List and read.
    Read,
    /// Create, and replace what a ticket lists.
    Write,
    /// Delete what a ticket lists, or sources that were moved.
    Delete,
}

impl Access {
    /// The word used in settings and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose permits and tickets a root obeys, and how far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    /// The key that signs.
    pub key: PublicKey,
    /// What it may allow at most.
    pub access: Access,
    /// First instant at which it counts no more, when another key has come after it.
    #[serde(skip)]
    pub until: Option<Timestamp>,
}

/// What a root allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What may be done at most, whoever signs.
    pub access: Access,
    /// Who may sign.
    pub authorities: Vec<Authority>,
}

/// The roots of a node by name.
pub type Grants = BTreeMap<String, Grant>;

/// Checks that an authority of this root, whose time is not over, signed the document and may allow `needed`.
pub(crate) fn check(
    grants: &Grants,
    document: &Document,
    root: &str,
    needed: Access,
    now: Timestamp,
) -> Result<(), DocumentError> {
    let grant = grants.get(root).ok_or_else(|| DocumentError::RootUnknown {
        root: root.to_owned(),
    })?;
    let counts = |authority: &&Authority| authority.until.is_none_or(|until| now < until);
    let counting = || grant.authorities.iter().filter(counts);
    let keys: Vec<PublicKey> = counting().map(|authority| authority.key).collect();
    let signers = document.signers(&keys)?;
    let of_signers = counting().filter(|authority| signers.contains(&authority.key));
    let allowed = of_signers
        .map(|authority| authority.access.min(grant.access))
        .max();
    match allowed {
        Some(allowed) if allowed >= needed => Ok(()),
        allowed => Err(DocumentError::RootAccess {
            root: root.to_owned(),
            needed: needed.as_str(),
            allowed: allowed.map_or("nothing", Access::as_str),
        }),
    }
}
