//! As whom a node reads and writes below a root: as itself, or as the local account of whoever asked.
//!
//! The mapping stands in the node's own settings, root by root. Its rules are tried in order, and the first one that fits counts. What it
//! gives is looked up where the machine keeps its accounts, for every listing and every attempt.

mod book;
mod rules;

use std::fmt;

use headrace_core::asker::Asker;
use headrace_io::account::Account;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::book::{Book, Found, System};
use self::rules::Chosen;
pub use self::rules::{Ids, Mapping, Rule};
use crate::problem::{ControlCode, Problem};

/// The word for the node itself.
const NODE: &str = "node";

/// As whom files below a root are read and written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Accounts {
    /// As the account that the node runs under, whoever asks.
    #[default]
    Node,
    /// As the local account of whoever asks.
    Mapped(Mapping),
}

impl Accounts {
    /// Whether everything is done as the node.
    #[must_use]
    pub fn is_node(&self) -> bool {
        *self == Self::Node
    }

    /// What is wrong with it, for a root that obeys so many authorities.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn check(&self, authorities: usize) -> Result<(), String> {
        let Self::Mapped(mapping) = self else {
            return Ok(());
        };
        if authorities > 1 {
            // Each says by itself who people are: `alice` of one need not be `alice` of the other.
            return Err(format!(
                "it maps people to local accounts and obeys {authorities} authorities: let it obey one"
            ));
        }
        mapping.check()
    }

    /// The account of whoever asked for something in `root`; `None` is the node. May wait for another machine that knows accounts.
    ///
    /// # Errors
    /// `account_unmapped`, `account_unusable` or `account_unknown_now`.
    pub fn account_of(&self, root: &str, asker: &Asker) -> Result<Option<Account>, Problem> {
        match self {
            Self::Node => Ok(None),
            Self::Mapped(mapping) => mapped(mapping, root, asker, &System).map(Some),
        }
    }
}

impl fmt::Display for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("the node"),
            Self::Mapped(mapping) => write!(
                f,
                "people's local accounts (rules: {}, lowest uid: {})",
                mapping.rules.len(),
                mapping.lowest_uid
            ),
        }
    }
}

fn mapped(
    mapping: &Mapping,
    root: &str,
    asker: &Asker,
    book: &dyn Book,
) -> Result<Account, Problem> {
    let unmapped = |detail: &str| {
        let message = format!(
            "root `{root}` works as people's local accounts, and {} has none there: {detail}",
            said(asker)
        );
        Problem::new(ControlCode::AccountUnmapped, message)
    };
    if asker.person().is_empty() && asker.known_as().is_none() {
        return Err(unmapped(
            "the service does not say who asks; bring it to the release of this node",
        ));
    }
    let chosen = mapping.choose(asker).map_err(|detail| unmapped(&detail))?;
    let (name, found) = match chosen {
        Chosen::Ids(ids) => {
            let name = format!("uid {}", ids.uid);
            let found = Found {
                uid: ids.uid,
                gid: ids.gid,
                groups: ids.groups.clone(),
            };
            (name, found)
        }
        Chosen::Named(name) => {
            let found = find(&name, root, asker, book)?;
            (name, found)
        }
    };
    let unusable = |detail: String| unusable(root, asker, &detail);
    if found.uid < mapping.lowest_uid {
        return Err(unusable(format!(
            "local account `{name}` has uid {}, and the root's `lowest_uid` is {}",
            found.uid, mapping.lowest_uid
        )));
    }
    Account::new(&name, found.uid, found.gid, &found.groups)
        .map_err(|error| unusable(error.to_string()))
}

/// The account of this name, if it is there and neither locked nor expired.
fn find(name: &str, root: &str, asker: &Asker, book: &dyn Book) -> Result<Found, Problem> {
    let unknown_now = |error: String| {
        let message =
            format!("local account `{name}`, for root `{root}`, can't be looked up now: {error}");
        Problem::new(ControlCode::AccountUnknownNow, message)
    };
    let found = book.find(name).map_err(unknown_now)?;
    let found = found.ok_or_else(|| {
        unusable(
            root,
            asker,
            &format!("there is no local account `{name}` on this machine"),
        )
    })?;
    match book.refusal(name) {
        Some(refusal) => {
            let detail = format!("local account `{name}` {refusal}");
            Err(unusable(root, asker, &detail))
        }
        None => Ok(found),
    }
}

fn unusable(root: &str, asker: &Asker, detail: &str) -> Problem {
    let message = format!(
        "root `{root}` can't be used as the local account of {}: {detail}",
        said(asker)
    );
    Problem::new(ControlCode::AccountUnusable, message)
}

/// Who asks, for messages.
pub(crate) fn said(asker: &Asker) -> String {
    match (asker.known_as(), asker.person()) {
        (Some((issuer, name)), _) => format!("`{name}` of `{issuer}`"),
        (None, "") => "whoever asks".to_owned(),
        (None, person) => format!("person `{person}`"),
    }
}

impl Serialize for Accounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Node => serializer.serialize_str(NODE),
            Self::Mapped(mapping) => mapping.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Accounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand, so that a mistake in a rule is named.
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Accounts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`\"node\"`, or a table with `map`")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Accounts, E> {
                if word == NODE {
                    Ok(Accounts::Node)
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(word), &self))
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Accounts, A::Error> {
                let mapping = Mapping::deserialize(MapAccessDeserializer::new(map))?;
                mapping.check().map_err(A::Error::custom)?;
                Ok(Accounts::Mapped(mapping))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests;
