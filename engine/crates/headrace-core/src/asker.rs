//! Who asked, as tickets and permits say it, for nodes that act as people's local accounts.
//!
//! `person` is the service's own id of a person, `local_account` how the person is known where people have names: `ISSUER NAME`, with one
//! space between. `local` is the service itself; any other issuer is that of an identity provider or directory. Names of two issuers have
//! nothing to do with each other.

use serde::{Deserialize, Serialize};

use crate::value::Label;

/// Who asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Asker {
    /// The service's id of the person.
    #[serde(default)]
    person: Label,
    /// `ISSUER NAME`; empty when the service does not say.
    #[serde(default)]
    local_account: Label,
}

impl Asker {
    /// The asker of a document with these fields.
    #[must_use]
    pub fn new(person: &Label, local_account: &Label) -> Self {
        Self {
            person: person.clone(),
            local_account: local_account.clone(),
        }
    }

    /// The service's id of the person; empty when the document names none.
    #[must_use]
    pub fn person(&self) -> &str {
        self.person.as_str()
    }

    /// The issuer, and the person's name there; `None` when the document does not say both.
    #[must_use]
    pub fn known_as(&self) -> Option<(&str, &str)> {
        let (issuer, name) = self.local_account.as_str().split_once(' ')?;
        (!issuer.is_empty() && !name.is_empty()).then_some((issuer, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(person: &str, local_account: &str) -> Asker {
        let label = |text: &str| text.parse().expect("a label");
        Asker::new(&label(person), &label(local_account))
    }

    #[test]
    fn an_asker_is_known_by_an_issuer_and_a_name_there_or_not_at_all() {
        for (text, known_as) in [
            ("local alice", Some(("local", "alice"))),
            ("local Alice Smith", Some(("local", "Alice Smith"))),
            ("local  alice", Some(("local", " alice"))),
            ("", None),
            ("alice", None),
            (" alice", None),
            ("local ", None),
        ] {
            assert_eq!(asker("pe_1", text).known_as(), known_as, "{text:?}");
        }
    }
}
