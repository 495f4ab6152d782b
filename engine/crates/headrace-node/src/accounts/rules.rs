//! The rules by which people have local accounts: a table, patterns, or both, in the order of the file.

use headrace_core::asker::Asker;
use serde::{Deserialize, Serialize};

/// Stands for the person's name, or for the part of it before `@` where the rule names a domain.
const NAME: &str = "{name}";
/// Most rules of one root.
const MAX_RULES: usize = 100_000;
/// Longest name of a local account that is made of a person's name.
const MAX_ACCOUNT_BYTES: usize = 32;

/// Which local accounts people have below a root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Accounts with a lower uid are refused: those of the system. Never less than 1; 1,000 unless it is said.
    #[serde(default = "lowest_uid")]
    pub lowest_uid: u32,
    /// Tried in this order; the first one that fits counts.
    #[serde(rename = "map")]
    pub rules: Vec<Rule>,
}

fn lowest_uid() -> u32 {
    1000
}

/// Whom a rule fits, and which account that gives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The service's id of one person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Who vouches for the name: `local` for the service's own people, otherwise the URL of the provider or `ad:` and the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Exactly this name; without it and `domain`, every name of the issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Names that end with `@` and this domain, in capitals or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Name of the local account, or `{name}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// In place of `account`: ids that no table of this machine has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Ids>,
}

/// The ids of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ids {
    /// User.
    pub uid: u32,
    /// Own group.
    pub gid: u32,
    /// Supplementary groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<u32>,
}

/// What a rule gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chosen<'m> {
    Named(String),
    Ids(&'m Ids),
}

impl Mapping {
    /// Says which rule can't be meant so.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.lowest_uid == 0 {
            return Err("`lowest_uid` is at least 1: nobody acts as the superuser".to_owned());
        }
        if self.rules.is_empty() || self.rules.len() > MAX_RULES {
            return Err(format!(
                "a mapping has 1 to {MAX_RULES} rules (`[[root.accounts.map]]`)"
            ));
        }
        let mut rules = self.rules.iter().enumerate();
        rules.try_for_each(|(index, rule)| {
            rule.check(self.lowest_uid)
                .map_err(|detail| format!("rule {} of the mapping: {detail}", index + 1))
        })
    }

    /// What the first rule that fits gives.
    ///
    /// # Errors
    /// In words, that none fits or that the name makes no account.
    pub(super) fn choose(&self, asker: &Asker) -> Result<Chosen<'_>, String> {
        let found = self
            .rules
            .iter()
            .find_map(|rule| Some((rule, rule.fits(asker)?)));
        let Some((rule, name)) = found else {
            return Err(
                "no rule of its mapping fits; add one to `[[root.accounts.map]]` in `node.toml` on the node"
                    .to_owned(),
            );
        };
        match (&rule.ids, rule.account.as_deref()) {
            (Some(ids), _) => Ok(Chosen::Ids(ids)),
            (None, Some(NAME)) if is_account_name(name) => Ok(Chosen::Named(name.to_owned())),
            (None, Some(NAME) | None) => Err(format!(
                "`{name}` can't be the name of a local account; give that person a rule of their own"
            )),
            (None, Some(account)) => Ok(Chosen::Named(account.to_owned())),
        }
    }
}

impl Rule {
    /// What stands for the name in the account, if the rule fits.
    fn fits<'a>(&self, asker: &'a Asker) -> Option<&'a str> {
        if let Some(person) = &self.person {
            return (person == asker.person()).then_some("");
        }
        let (issuer, name) = asker.known_as()?;
        if self.issuer.as_deref() != Some(issuer) {
            return None;
        }
        match (&self.name, &self.domain) {
            (Some(exactly), _) => (exactly == name).then_some(name),
            (None, Some(domain)) => {
                let (user, of) = name.rsplit_once('@')?;
                of.eq_ignore_ascii_case(domain).then_some(user)
            }
            (None, None) => Some(name),
        }
    }

    fn check(&self, lowest_uid: u32) -> Result<(), String> {
        let empty = [
            &self.person,
            &self.issuer,
            &self.name,
            &self.domain,
            &self.account,
        ];
        if empty.into_iter().flatten().any(String::is_empty) {
            return Err("it has an empty text".to_owned());
        }
        let one = match (&self.person, &self.issuer) {
            (Some(_), None) => self.name.is_none() && self.domain.is_none(),
            (None, Some(issuer)) => {
                !issuer.contains(' ') && (self.name.is_none() || self.domain.is_none())
            }
            _ => false,
        };
        if !one {
            return Err(
                "it says whom it is for by `person`, or by `issuer` with `name`, `domain` or neither"
                    .to_owned(),
            );
        }
        match (&self.account, &self.ids) {
            (Some(account), None) => self.check_account(account),
            (None, Some(ids)) if ids.uid < lowest_uid => Err(format!(
                "uid {} is below the root's `lowest_uid`, {lowest_uid}",
                ids.uid
            )),
            (None, Some(_)) if self.is_for_one() => Ok(()),
            (None, Some(_)) => Err("`ids` are for one person: name who it is".to_owned()),
            _ => Err("it gives either an `account` or `ids`".to_owned()),
        }
    }

    fn check_account(&self, account: &str) -> Result<(), String> {
        if account == NAME {
            return if self.issuer.is_some() && self.name.is_none() {
                Ok(())
            } else {
                Err(format!("`{NAME}` is for rules of many people"))
            };
        }
        if account.contains(['{', '}', ':', '/']) || account.chars().any(char::is_control) {
            return Err(format!(
                "`{account}` is neither the name of an account nor `{NAME}`"
            ));
        }
        if self.is_for_one() {
            return Ok(());
        }
        Err(format!(
            "it gives everybody whom it fits the account `{account}`: write `{NAME}`, or name one person"
        ))
    }

    /// Whether it fits one person only.
    fn is_for_one(&self) -> bool {
        self.person.is_some() || self.name.is_some()
    }
}

/// Whether a person's name may stand for an account: no number, which tools take for an id, nothing that a table or a path divides.
fn is_account_name(name: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let goes_on = |byte: u8| starts(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    name.len() <= MAX_ACCOUNT_BYTES
        && name.bytes().next().is_some_and(starts)
        && name.bytes().all(goes_on)
}
