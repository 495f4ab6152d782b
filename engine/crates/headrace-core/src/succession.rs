//! Successions: the sealed word that a key comes after another one, and what a node makes of it.
//!
//! A service that replaces its authority key seals a succession with both keys. A node that has the former key takes up
//! the next one; both count until the overlap is over. The key that the service's hub answers with has successors as
//! well, which the authority seals.

use serde::{Deserialize, Serialize};

use crate::access::Authority;
use crate::sealed::{Document, DocumentError, DocumentType, MAX_CLOCK_SKEW_MS, PublicKey};
use crate::value::{Label, Timestamp};

/// Longest time in which two keys count, in milliseconds.
pub const MAX_OVERLAP_MS: i64 = 366 * 24 * 3_600_000;
/// How long a hub still answers with its former key when its time is over, to nodes that ask for it, in milliseconds: those that were away
/// all the time learn the next one then.
pub const FORMER_HUB_KEY_KEPT_MS: i64 = 7 * 24 * 3_600_000;
/// Most successions that a node is told at once.
pub const MAX_SUCCESSIONS: usize = 64;
/// Most that it keeps: those of 85 years when a key has a month.
const MAX_LEARNED: usize = 1024;
/// Most bytes of one of them as JSON: two keys, a time, and their names.
const MAX_LINK_BYTES: usize = 256;

const SUCCESSION: DocumentType = DocumentType::Succession;

/// What a succession says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Succession {
    /// The key that ends.
    pub former: PublicKey,
    /// The key that comes after it.
    pub next: PublicKey,
    /// Since when `next` counts.
    pub from: Timestamp,
    /// First instant at which `former` counts no more.
    pub until: Timestamp,
    /// Reserved.
    pub site: Label,
}

impl Succession {
    /// What a document claims; no signature is looked at.
    fn read(document: &Document) -> Result<Self, DocumentError> {
        let this: Self = document.claims()?;
        let Self { from, until, .. } = this;
        if this.former == this.next || until <= from || from.plus_ms(MAX_OVERLAP_MS) < until {
            return Err(malformed(
                "it names two keys, and two times at most 366 days apart".to_owned(),
            ));
        }
        Ok(this)
    }
}

/// Why a node does not follow a succession.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuccessionError {
    /// It is no succession, or not sealed by both its keys.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The key has another successor here, so somebody else holds it as well.
    #[error("key {former} has the successor {known} here, and is said to have {other} as well")]
    Second {
        /// The key that has two.
        former: PublicKey,
        /// The first that was learned.
        known: PublicKey,
        /// The second.
        other: PublicKey,
    },
}

/// A key that ended while this node was away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The key.
    pub key: PublicKey,
    /// When it ended.
    pub until: Timestamp,
}

/// The successions that a node has learned. It keeps them beside its settings, which name the first key of each chain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    links: Vec<Link>,
    /// Of the keys that the hub answers with.
    #[serde(default)]
    hub: Vec<Link>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    former: PublicKey,
    /// `None` when the time of `former` was over before this node heard of it: its holder may be anybody by then.
    next: Option<PublicKey>,
    until: Timestamp,
}

impl Learned {
    /// Most bytes of it as JSON: of its two lists, both full.
    pub const MAX_BYTES: u64 = (2 * MAX_LEARNED * MAX_LINK_BYTES) as u64;

    /// Takes up the successions, oldest first, of keys that the settings name (`roots`) or that were learned before; passes over
    /// those of other keys. Says which key ended unheard, when this node does not know the newest one.
    ///
    /// # Errors
    /// [`SuccessionError`]; what was learned by then is to be thrown away.
    pub fn learn(
        &mut self,
        documents: &[String],
        roots: &[PublicKey],
        now: Timestamp,
    ) -> Result<Option<Missed>, SuccessionError> {
        let mut missed = None;
        for text in documents {
            let document = Document::parse(text, SUCCESSION)?;
            let said = Succession::read(&document)?;
            if self.knows(roots, said.next) {
                missed = None;
            }
            if !self.knows(roots, said.former) {
                continue;
            }
            sealed_by_both(&document, &said)?;
            let link = follow(&mut self.links, &said, said.until, now)?;
            if link.next.is_none() && !self.knows(roots, said.next) {
                missed = Some(Missed {
                    key: link.former,
                    until: link.until,
                });
            }
        }
        Ok(missed)
    }

    /// Takes up which key the hub answers with after the one that the settings pin, or after one that was learned before. One
    /// of `authorities` that counts has sealed it.
    ///
    /// # Errors
    /// [`SuccessionError`].
    pub fn learn_hub(
        &mut self,
        document: &str,
        pin: PublicKey,
        authorities: &[Authority],
        now: Timestamp,
    ) -> Result<(), SuccessionError> {
        let document = Document::parse(document, DocumentType::HubSuccession)?;
        let said = Succession::read(&document)?;
        let extended = self.extend(authorities);
        let counts = |authority: &&Authority| authority.until.is_none_or(|until| now < until);
        let keys: Vec<PublicKey> = extended.iter().filter(counts).map(|one| one.key).collect();
        document.signers(&keys)?;
        // The hub tells it no longer than that, so a node that hears it late has missed nothing.
        let last = said.until.plus_ms(FORMER_HUB_KEY_KEPT_MS);
        if now < last && self.hub_keys(pin, now).contains(&said.former) {
            follow(&mut self.hub, &said, last, now)?;
        }
        Ok(())
    }

    /// The keys that the hub may answer with, when the settings pin this one: the newest first.
    #[must_use]
    pub fn hub_keys(&self, pin: PublicKey, now: Timestamp) -> Vec<PublicKey> {
        let keys = chain(&self.hub, pin).into_iter();
        let counting = keys.filter(|(_, until)| until.is_none_or(|until| now < until));
        let mut keys: Vec<PublicKey> = counting.map(|(key, _)| key).collect();
        keys.reverse();
        keys
    }

    /// The authorities of a root with those that have come after them. Each is good until its own time is over.
    #[must_use]
    pub fn extend(&self, authorities: &[Authority]) -> Vec<Authority> {
        let mut all: Vec<Authority> = Vec::new();
        for first in authorities {
            for (key, until) in chain(&self.links, first.key) {
                let authority = Authority {
                    key,
                    access: first.access,
                    until,
                };
                if !all.contains(&authority) {
                    all.push(authority);
                }
            }
        }
        all
    }

    fn knows(&self, roots: &[PublicKey], key: PublicKey) -> bool {
        roots.contains(&key) || self.links.iter().any(|link| link.next == Some(key))
    }
}

/// Puts down what came after a key, or finds that it is down already. Who hears it from `last` on has heard it too late.
fn follow(
    links: &mut Vec<Link>,
    said: &Succession,
    last: Timestamp,
    now: Timestamp,
) -> Result<Link, SuccessionError> {
    let Succession {
        former,
        next,
        from,
        until,
        ..
    } = *said;
    if let Some(link) = link_of(links, former) {
        return match link.next {
            Some(known) if known != next => Err(SuccessionError::Second {
                former,
                known,
                other: next,
            }),
            _ => Ok(link),
        };
    }
    if now.plus_ms(MAX_CLOCK_SKEW_MS) < from {
        return Err(DocumentError::NotYetValid {
            document: SUCCESSION,
            not_before: from,
            now,
        }
        .into());
    }
    let link = Link {
        former,
        next: (now < last).then_some(next),
        until,
    };
    if links.len() >= MAX_LEARNED {
        return Err(malformed(format!("more than {MAX_LEARNED} were learned here")).into());
    }
    links.push(link);
    Ok(link)
}

/// A key and those that have come after it, each with the end of its time.
fn chain(links: &[Link], first: PublicKey) -> Vec<(PublicKey, Option<Timestamp>)> {
    let mut keys = Vec::new();
    let mut key = Some(first);
    // Two keys may name each other.
    while let Some(named) = key
        && keys.len() <= links.len()
    {
        let link = link_of(links, named);
        keys.push((named, link.map(|link| link.until)));
        key = link.and_then(|link| link.next);
    }
    keys
}

fn link_of(links: &[Link], former: PublicKey) -> Option<Link> {
    links.iter().find(|link| link.former == former).copied()
}

fn malformed(detail: String) -> DocumentError {
    DocumentError::Malformed {
        document: SUCCESSION,
        detail,
    }
}

/// The next key signs as well: nobody makes somebody else's key a successor, or takes another's past for their own.
fn sealed_by_both(document: &Document, said: &Succession) -> Result<(), DocumentError> {
    let both = [said.former, said.next];
    let signers = document.signers(&both)?;
    if both.iter().all(|key| signers.contains(key)) {
        return Ok(());
    }
    Err(DocumentError::Foreign {
        document: SUCCESSION,
        detail: "it is not signed by both its keys".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::Access;
    use crate::sealed::SigningKey;

    const NOW: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);
    const DAY_MS: i64 = 24 * 3_600_000;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn named(seed: u8) -> PublicKey {
        key(seed).public()
    }

    fn said(former: u8, next: u8, from_day: i64) -> Succession {
        let from = NOW.plus_ms(from_day * DAY_MS);
        Succession {
            former: named(former),
            next: named(next),
            from,
            until: from.plus_ms(30 * DAY_MS),
            site: Label::default(),
        }
    }

    fn sealed(said: &Succession, keys: &[u8]) -> String {
        let keys: Vec<SigningKey> = keys.iter().map(|seed| key(*seed)).collect();
        let document = Document::seal(SUCCESSION, said, &keys.iter().collect::<Vec<_>>());
        document.expect("a small body").text()
    }

    /// A succession from day `from_day`, for 30 days.
    fn succession(former: u8, next: u8, from_day: i64) -> String {
        sealed(&said(former, next, from_day), &[former, next])
    }

    fn on_day(day: i64) -> Timestamp {
        NOW.plus_ms(day * DAY_MS)
    }

    /// Which keys a root that names key 1 obeys on a day.
    fn obeyed(learned: &Learned, day: i64) -> Vec<PublicKey> {
        let authority = Authority {
            key: named(1),
            access: Access::Write,
            until: None,
        };
        let all = learned.extend(&[authority]);
        assert!(all.iter().all(|one| one.access == Access::Write));
        let counts = |one: &&Authority| one.until.is_none_or(|until| on_day(day) < until);
        all.iter().filter(counts).map(|one| one.key).collect()
    }

    fn learn(
        learned: &mut Learned,
        documents: &[String],
        day: i64,
    ) -> Result<Option<PublicKey>, SuccessionError> {
        let missed = learned.learn(documents, &[named(1)], on_day(day))?;
        Ok(missed.map(|missed| missed.key))
    }

    #[test]
    fn both_keys_count_until_the_time_of_the_former_is_over() {
        let mut learned = Learned::default();
        assert_eq!(learn(&mut learned, &[succession(1, 2, 0)], 1), Ok(None));
        assert_eq!(obeyed(&learned, 29), [named(1), named(2)]);
        assert_eq!(obeyed(&learned, 30), [named(2)]);
        let before = learned.clone();
        assert_eq!(learn(&mut learned, &[succession(1, 2, 0)], 99), Ok(None));
        assert_eq!(learned, before);
    }

    #[test]
    fn a_chain_is_followed_one_key_after_the_other() {
        let chain = [
            succession(7, 1, -90),
            succession(1, 2, 0),
            succession(2, 3, 20),
        ];
        let mut learned = Learned::default();
        assert_eq!(learn(&mut learned, &chain, 25), Ok(None));
        assert_eq!(obeyed(&learned, 25), [named(1), named(2), named(3)]);
        assert_eq!(obeyed(&learned, 40), [named(2), named(3)]);
        assert_eq!(obeyed(&learned, 60), [named(3)]);
    }

    #[test]
    fn a_key_whose_time_was_over_leads_to_no_other() {
        let chain = [succession(1, 2, 0), succession(2, 3, 20)];
        let mut learned = Learned::default();
        assert_eq!(learn(&mut learned, &chain, 31), Ok(Some(named(1))));
        assert_eq!(obeyed(&learned, 31), []);
        // It stays so, whatever the clock shows.
        assert_eq!(learn(&mut learned, &chain, 1), Ok(Some(named(1))));
        assert_eq!(obeyed(&learned, 31), []);
        // Whose settings name the newest key has missed nothing.
        let told = learned.learn(&chain, &[named(1), named(3)], on_day(31));
        assert_eq!(told, Ok(None));
    }

    #[test]
    fn whatever_may_be_learned_fits_into_what_is_read() {
        let link = Link {
            former: named(1),
            next: Some(named(2)),
            until: Timestamp::from_unix_ms(253_402_300_799_999),
        };
        let full = Learned {
            links: vec![link; MAX_LEARNED],
            hub: vec![link; MAX_LEARNED],
        };
        let bytes = serde_json::to_vec(&full).expect("JSON");
        assert!((1 << 18..Learned::MAX_BYTES).contains(&(bytes.len() as u64)));
        let mut links = full.links;
        assert!(follow(&mut links, &said(3, 4, 0), NOW.plus_ms(1), NOW).is_err());
    }

    #[test]
    fn a_second_successor_of_a_key_is_refused() {
        let mut learned = Learned::default();
        assert_eq!(learn(&mut learned, &[succession(1, 2, 0)], 1), Ok(None));
        let refused = SuccessionError::Second {
            former: named(1),
            known: named(2),
            other: named(6),
        };
        assert_eq!(
            learn(&mut learned, &[succession(1, 6, 0)], 1),
            Err(refused.clone())
        );
        assert_eq!(
            learn(&mut learned, &[succession(1, 6, 50)], 60),
            Err(refused)
        );
        assert_eq!(obeyed(&learned, 1), [named(1), named(2)]);
    }

    #[test]
    fn a_succession_counts_with_the_signatures_of_both_its_keys() {
        let code = |keys: &[u8]| {
            let mut learned = Learned::default();
            match learn(&mut learned, &[sealed(&said(1, 2, 0), keys)], 1) {
                Err(SuccessionError::Document(error)) => error.code(),
                other => panic!("{other:?}"),
            }
        };
        for keys in [&[][..], &[6], &[1], &[2], &[2, 6], &[1, 1]] {
            assert_eq!(code(keys), "succession_foreign", "{keys:?}");
        }
        let altered = succession(1, 2, 0).replace(&named(2).to_string(), &named(6).to_string());
        let mut learned = Learned::default();
        let told = learn(&mut learned, &[altered], 1).map_err(|error| error.to_string());
        assert_eq!(
            told,
            Err("the succession was altered after it was signed".to_owned())
        );
    }

    #[test]
    fn a_succession_names_two_keys_and_at_most_a_year() {
        let code = |change: fn(&mut Succession)| {
            let mut changed = said(1, 2, 0);
            change(&mut changed);
            match learn(&mut Learned::default(), &[sealed(&changed, &[1, 2])], 1) {
                Err(SuccessionError::Document(error)) => error.code(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(code(|said| said.next = said.former), "succession_malformed");
        assert_eq!(code(|said| said.until = said.from), "succession_malformed");
        assert_eq!(
            code(|said| said.until = said.from.plus_ms(MAX_OVERLAP_MS + 1)),
            "succession_malformed"
        );
        assert_eq!(
            code(|said| said.from = on_day(1).plus_ms(MAX_CLOCK_SKEW_MS + 1)),
            "succession_not_yet_valid"
        );
    }

    #[test]
    fn a_hubs_next_key_counts_at_once_and_the_former_until_its_time_is_over() {
        let authority = |seed| Authority {
            key: named(seed),
            access: Access::Read,
            until: None,
        };
        let own = [authority(1), authority(2)];
        let hub = |former, next, by: u8| {
            let said = said(former, next, 0);
            let document = Document::seal(DocumentType::HubSuccession, &said, &[&key(by)]);
            document.expect("a small body").text()
        };
        let mut learned = Learned::default();
        // The time of key 2 is over on day 1.
        let ended = learned.learn(&[succession(2, 4, -29)], &[named(2)], on_day(0));
        assert_eq!(ended, Ok(None));
        let mut told = |document: String, day| {
            let learning = learned.learn_hub(&document, named(8), &own, on_day(day));
            let keys = |day| learned.hub_keys(named(8), on_day(day));
            (learning.is_ok(), keys(29), keys(30))
        };
        let nothing = vec![named(8)];
        // By nobody who counts, of another hub, too late.
        for (document, ok, day) in [
            (hub(8, 9, 3), false, 1),
            (hub(8, 9, 8), false, 1),
            (hub(8, 9, 2), false, 1),
            (hub(7, 9, 1), true, 1),
            (hub(8, 9, 1), true, 37),
        ] {
            assert_eq!(told(document, day), (ok, nothing.clone(), nothing.clone()));
        }
        let both = (vec![named(9), named(8)], vec![named(9)]);
        for (document, ok) in [(hub(8, 9, 1), true), (hub(8, 6, 1), false)] {
            assert_eq!(told(document, 1), (ok, both.0.clone(), both.1.clone()));
        }
    }

    #[test]
    fn a_hubs_next_key_is_learned_for_a_week_after_the_time_of_the_former() {
        let own = [Authority {
            key: named(1),
            access: Access::Read,
            until: None,
        }];
        let said = said(8, 9, 0);
        let document = Document::seal(DocumentType::HubSuccession, &said, &[&key(1)]);
        let document = document.expect("a small body").text();
        let keys = |day| {
            let mut learned = Learned::default();
            let learning = learned.learn_hub(&document, named(8), &own, on_day(day));
            learning.expect("sealed by the authority");
            learned.hub_keys(named(8), on_day(day))
        };
        assert_eq!(keys(29), [named(9), named(8)]);
        assert_eq!(keys(36), [named(9)]);
        assert_eq!(keys(37), [named(8)]);
    }

    #[test]
    fn keys_that_name_each_other_are_followed_once() {
        let chain = [succession(1, 2, 0), succession(2, 1, 1)];
        let mut learned = Learned::default();
        assert_eq!(learn(&mut learned, &chain, 2), Ok(None));
        assert_eq!(obeyed(&learned, 2), [named(1), named(2)]);
        assert_eq!(obeyed(&learned, 40), []);
    }

    proptest! {
        #[test]
        fn no_order_of_successions_lets_a_key_in_that_none_of_the_known_ones_named(
            pairs in proptest::collection::vec((1u8..7, 1u8..7, -40i64..40), 0..12)
        ) {
            let chain: Vec<String> = pairs
                .iter()
                .filter(|(former, next, _)| former != next)
                .map(|(former, next, day)| succession(*former, *next, *day))
                .collect();
            let mut learned = Learned::default();
            let _ = learned.learn(&chain, &[named(1)], NOW);
            for obeyed in obeyed(&learned, 0) {
                let named_by = |key: PublicKey| pairs.iter().any(|(_, next, _)| named(*next) == key);
                prop_assert!(obeyed == named(1) || named_by(obeyed));
            }
            let all = learned.extend(&learned.extend(&[Authority {
                key: named(1),
                access: Access::Read,
                until: None,
            }]));
            prop_assert!(all.len() <= 2 * pairs.len() + 1);
        }
    }
}
