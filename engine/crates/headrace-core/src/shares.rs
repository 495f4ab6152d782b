//! What the service tells a node of links, classes and shares: the texts (JSON) and their limits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Longest text of links and classes.
pub const MAX_LINKS_BYTES: usize = 1 << 20;
/// Longest text of one transfer's share.
pub const MAX_SHARE_BYTES: usize = 16 << 10;
/// Most links of a node, and most classes of a link.
pub const MAX_LINKS: usize = 64;
/// Highest priority.
pub const MAX_PRIORITY: u8 = 7;

const MAX_NAME_BYTES: usize = 64;
const MAX_WEIGHT: u32 = 1000;
const MAX_RATE_BPS: u64 = 100_000_000_000_000;
const MAX_PERCENT: u8 = 90;
const MAX_DSCP: u8 = 63;
const MAX_ALGORITHM_BYTES: usize = 15;

/// The links that a node schedules, by name. Fields that are not known here are passed over: they are of a later service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links(pub BTreeMap<String, LinkRules>);

/// How a link is shared, in each direction, where nothing else is said of what is received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRules {
    /// Its capacity; `None` holds nobody back.
    pub rate_bps: Option<u64>,
    /// What lower priorities together keep of what reaches them and the one above, whatever that wants.
    pub rest_percent: u8,
    /// Its classes, by name. One that is not among them has weight 1 and nothing else.
    #[serde(with = "by_name")]
    pub classes: BTreeMap<String, ClassRules>,
    /// What holds instead for what is received: a node's part of a link that it shares with others is not the same both ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive: Option<Box<Self>>,
}

/// What a class has on a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassRules {
    /// Its part of what floors and guarantees leave, against the weights of other classes.
    pub weight: u32,
    /// What it gets before others share, while it wants it.
    #[serde(default)]
    pub floor_bps: u64,
    /// What it gets at most.
    #[serde(default)]
    pub ceiling_bps: Option<u64>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: u8,
}

impl Default for ClassRules {
    fn default() -> Self {
        Self {
            weight: 1,
            floor_bps: 0,
            ceiling_bps: None,
            priority: 0,
        }
    }
}

/// What one transfer gets, and over which links it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferShare {
    /// Its class.
    pub class: String,
    /// Its part of what its class gets, against other transfers of that.
    pub weight: u32,
    /// Links that its source schedules, in what it sends.
    #[serde(default)]
    pub source_links: Vec<String>,
    /// Links that its destination schedules, in what it receives.
    #[serde(default)]
    pub destination_links: Vec<String>,
    /// What its deadline needs, before others share.
    #[serde(default)]
    pub guaranteed_bps: u64,
    /// Whose guarantee comes first where they do not fit together: the lowest.
    #[serde(default)]
    pub order: u64,
    /// Mark of its packets.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// How its connections react to loss and delay, as the kernel calls it; `None` is what the host has.
    #[serde(default)]
    pub congestion_control: Option<String>,
}

/// Why a text of links or of a share is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharesError {
    /// More bytes than any such text has.
    #[error("the text has {length} bytes, at most {most} are taken")]
    TooLong {
        /// How many it has.
        length: usize,
        /// How many it may have.
        most: usize,
    },
    /// It is not JSON of this form.
    #[error("the text is not of the form that is expected: {0}")]
    Malformed(String),
    /// A value that cannot be.
    #[error("`{field}` is {value}; it may be {allowed}")]
    OutOfRange {
        /// Which.
        field: &'static str,
        /// What it says.
        value: String,
        /// What it may say.
        allowed: String,
    },
    /// Two of one name.
    #[error("`{0}` stands there twice")]
    Twice(String),
}

#[derive(Serialize, Deserialize)]
struct LinksText {
    #[serde(with = "by_name")]
    links: BTreeMap<String, LinkRules>,
}

impl Links {
    /// Read a text.
    ///
    /// # Errors
    /// [`SharesError`]: nothing of it is taken.
    pub fn parse(text: &str) -> Result<Self, SharesError> {
        let LinksText { links } = read(text, MAX_LINKS_BYTES)?;
        within("links", links.len(), 0, MAX_LINKS)?;
        links.iter().try_for_each(|(name, link)| {
            check_name(name)?;
            link.check()
        })?;
        Ok(Self(links))
    }

    /// What holds for what is received.
    #[must_use]
    pub fn received(&self) -> Self {
        let received = |link: &LinkRules| link.receive.as_deref().unwrap_or(link).clone();
        let links = self.0.iter();
        Self(
            links
                .map(|(name, link)| (name.clone(), received(link)))
                .collect(),
        )
    }

    /// The text that says this.
    #[must_use]
    pub fn text(&self) -> String {
        let links = self.0.clone();
        serde_json::to_string(&LinksText { links }).unwrap_or_default()
    }
}

impl LinkRules {
    fn check(&self) -> Result<(), SharesError> {
        if let Some(rate) = self.rate_bps {
            within("rate_bps", rate, 1, MAX_RATE_BPS)?;
        }
        within("rest_percent", self.rest_percent, 0, MAX_PERCENT)?;
        within("classes", self.classes.len(), 0, MAX_LINKS)?;
        self.classes.iter().try_for_each(|(name, class)| {
            check_name(name)?;
            within("weight", class.weight, 1, MAX_WEIGHT)?;
            within("floor_bps", class.floor_bps, 0, MAX_RATE_BPS)?;
            if let Some(ceiling) = class.ceiling_bps {
                within("ceiling_bps", ceiling, 1, MAX_RATE_BPS)?;
            }
            within("priority", class.priority, 0, MAX_PRIORITY)
        })?;
        let Some(receive) = &self.receive else {
            return Ok(());
        };
        if receive.receive.is_some() {
            let allowed = "what holds for what is received, once";
            return Err(out_of_range("receive", "within `receive`", allowed));
        }
        receive.check()
    }
}

impl TransferShare {
    /// Read a text.
    ///
    /// # Errors
    /// [`SharesError`]: nothing of it is taken.
    pub fn parse(text: &str) -> Result<Self, SharesError> {
        let share: Self = read(text, MAX_SHARE_BYTES)?;
        check_name(&share.class)?;
        within("weight", share.weight, 1, MAX_WEIGHT)?;
        within("guaranteed_bps", share.guaranteed_bps, 0, MAX_RATE_BPS)?;
        for links in [&share.source_links, &share.destination_links] {
            within("links", links.len(), 0, MAX_LINKS)?;
            links.iter().try_for_each(|name| check_name(name))?;
            for (place, name) in links.iter().enumerate() {
                if links[..place].contains(name) {
                    return Err(SharesError::Twice(name.clone()));
                }
            }
        }
        if let Some(dscp) = share.dscp {
            within("dscp", dscp, 0, MAX_DSCP)?;
        }
        if let Some(name) = &share.congestion_control {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            within("congestion_control", name.len(), 1, MAX_ALGORITHM_BYTES)?;
            if !name.bytes().all(plain) {
                let allowed = "letters, digits, `_` and `-`";
                return Err(out_of_range(
                    "congestion_control",
                    name.escape_debug(),
                    allowed,
                ));
            }
        }
        Ok(share)
    }
}

fn read<'t, T: Deserialize<'t>>(text: &'t str, most: usize) -> Result<T, SharesError> {
    let length = text.len();
    if length > most {
        return Err(SharesError::TooLong { length, most });
    }
    serde_json::from_str(text).map_err(|error| SharesError::Malformed(error.to_string()))
}

fn check_name(name: &str) -> Result<(), SharesError> {
    within("name", name.len(), 1, MAX_NAME_BYTES)?;
    if name.chars().any(char::is_control) {
        return Err(out_of_range(
            "name",
            name.escape_debug(),
            "a text without control characters",
        ));
    }
    Ok(())
}

fn within<N: PartialOrd + Copy + std::fmt::Display>(
    field: &'static str,
    value: N,
    least: N,
    most: N,
) -> Result<(), SharesError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(out_of_range(field, value, format!("{least} to {most}")))
}

fn out_of_range(
    field: &'static str,
    value: impl std::fmt::Display,
    allowed: impl Into<String>,
) -> SharesError {
    SharesError::OutOfRange {
        field,
        value: value.to_string(),
        allowed: allowed.into(),
    }
}

/// Lists of things with a `name`, kept by it.
mod by_name {
    use std::collections::BTreeMap;

    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::{Map, Value};

    pub(super) fn serialize<S: Serializer, T: Serialize>(
        all: &BTreeMap<String, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let named = |(name, one): (&String, &T)| {
            let mut fields = match serde_json::to_value(one)? {
                Value::Object(fields) => fields,
                _ => Map::new(),
            };
            fields.insert("name".to_owned(), Value::from(name.as_str()));
            Ok(fields)
        };
        let list: Result<Vec<_>, serde_json::Error> = all.iter().map(named).collect();
        list.map_err(S::Error::custom)?.serialize(serializer)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>, T: DeserializeOwned>(
        deserializer: D,
    ) -> Result<BTreeMap<String, T>, D::Error> {
        let mut all = BTreeMap::new();
        for mut fields in Vec::<Map<String, Value>>::deserialize(deserializer)? {
            let Some(Value::String(name)) = fields.remove("name") else {
                return Err(D::Error::missing_field("name"));
            };
            let one = serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)?;
            let before = all.insert(name, one);
            if before.is_some() {
                return Err(D::Error::custom("a name stands there twice"));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: &str = r#"{"links": [{"name": "uplink", "rate_bps": 1000, "rest_percent": 10, "classes": [
        {"name": "bulk", "weight": 10, "floor_bps": 100, "ceiling_bps": null, "priority": 1, "later": 1}]}]}"#;
    const SHARE: &str = r#"{"class": "bulk", "weight": 1, "source_links": ["uplink"], "destination_links": [],
        "guaranteed_bps": 5, "order": 7, "dscp": 46, "congestion_control": "bbr"}"#;

    #[test]
    fn links_and_shares_are_read_as_the_service_writes_them() {
        let links = Links::parse(LINKS).expect("links");
        let bulk = &links.0["uplink"].classes["bulk"];
        assert_eq!((bulk.weight, bulk.floor_bps, bulk.priority), (10, 100, 1));
        assert_eq!(Links::parse(&links.text()), Ok(links));
        let share = TransferShare::parse(SHARE).expect("a share");
        assert_eq!((share.order, share.dscp), (7, Some(46)));
        assert_eq!(Links::parse(r#"{"links": []}"#), Ok(Links::default()));
    }

    #[test]
    fn what_is_received_goes_by_rules_of_its_own_where_there_are_any() {
        let receive = r#""rest_percent": 10, "receive": {"rate_bps": 700, "rest_percent": 20, "classes": []}, "classes""#;
        let text = LINKS.replace(r#""rest_percent": 10, "classes""#, receive);
        let links = Links::parse(&text).expect("links");
        assert_eq!(Links::parse(&links.text()).as_ref(), Ok(&links));
        let (sent, received) = (&links.0["uplink"], &links.received().0["uplink"]);
        assert_eq!((sent.rate_bps, received.rate_bps), (Some(1000), Some(700)));
        let same = Links::parse(LINKS).expect("links");
        assert_eq!(same.received(), same);
        for (right, wrong, says) in [
            ("700", "0", "`rate_bps` is 0"),
            (
                r#""classes": []"#,
                r#""classes": [], "receive": {"rate_bps": 1, "rest_percent": 1, "classes": []}"#,
                "once",
            ),
        ] {
            let error = Links::parse(&text.replace(right, wrong)).expect_err(wrong);
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn nonsense_is_refused_by_the_name_of_what_is_wrong() {
        let cases = [
            ("\"rate_bps\": 1000", "\"rate_bps\": 0", "`rate_bps` is 0"),
            (
                "\"rest_percent\": 10",
                "\"rest_percent\": 91",
                "`rest_percent` is 91",
            ),
            ("\"weight\": 10", "\"weight\": 0", "`weight` is 0"),
            ("\"weight\": 10", "\"weight\": -1", "not of the form"),
            ("\"priority\": 1", "\"priority\": 8", "`priority` is 8"),
            (
                "\"ceiling_bps\": null",
                "\"ceiling_bps\": 0",
                "`ceiling_bps` is 0",
            ),
            ("\"bulk\"", "\"\"", "`name` is 0"),
            ("\"bulk\"", "\"a\\nb\"", "`name` is a\\nb"),
            ("\"name\": \"bulk\", ", "", "missing field `name`"),
            (
                "}]}]}",
                "}, {\"name\": \"bulk\", \"weight\": 1}]}]}",
                "twice",
            ),
        ];
        for (right, wrong, says) in cases {
            assert!(LINKS.contains(right), "{right}");
            let error = Links::parse(&LINKS.replace(right, wrong)).expect_err(wrong);
            assert!(error.to_string().contains(says), "{error}");
        }
        let cases = [
            ("\"dscp\": 46", "\"dscp\": 64", "`dscp` is 64"),
            ("\"bbr\"", "\"b b\"", "letters, digits"),
            (
                "\"bbr\"",
                "\"cubic_and_more_of_it\"",
                "`congestion_control` is 20",
            ),
            (
                "[\"uplink\"]",
                "[\"uplink\", \"uplink\"]",
                "`uplink` stands there twice",
            ),
            ("\"weight\": 1", "\"weight\": 1001", "`weight` is 1001"),
        ];
        for (right, wrong, says) in cases {
            let error = TransferShare::parse(&SHARE.replace(right, wrong)).expect_err(wrong);
            assert!(error.to_string().contains(says), "{error}");
        }
        let long = " ".repeat(MAX_SHARE_BYTES + 1);
        let error = TransferShare::parse(&long).expect_err("too long");
        assert!(matches!(error, SharesError::TooLong { .. }));
    }
}
