use std::collections::BTreeMap;

use proptest::prelude::*;

use super::book::{refusal_in, remembered};
use super::*;

/// Accounts of a machine that a test makes up.
#[derive(Default)]
struct Written(BTreeMap<&'static str, (u32, Option<&'static str>)>);

impl Book for Written {
    fn find(&self, name: &str) -> Result<Option<Found>, String> {
        if name == "unreachable" {
            return Err("the directory does not answer".to_owned());
        }
        let found = self.0.get(name).map(|(uid, _)| Found {
            uid: *uid,
            gid: *uid,
            groups: vec![*uid, 50_000],
        });
        Ok(found)
    }

    fn refusal(&self, name: &str) -> Option<&'static str> {
        self.0.get(name)?.1
    }
}

fn machine() -> Written {
    Written(BTreeMap::from([
        ("alice", (40_001, None)),
        ("asmith", (40_002, None)),
        ("daemon", (1, None)),
        ("toor", (0, None)),
        ("locked", (40_003, Some("is locked"))),
    ]))
}

fn asker(person: &str, known_as: &str) -> Asker {
    let label = |text: &str| text.parse().expect("a label");
    Asker::new(&label(person), &label(known_as))
}

fn mapping(rules: &str) -> Mapping {
    toml::from_str(rules).expect("a mapping")
}

fn uid(mapping: &Mapping, asker: &Asker) -> Result<u32, String> {
    mapped(mapping, "data", asker, &machine())
        .map(|account| account.uid())
        .map_err(|problem| problem.code.into_owned())
}

const AD: &str = "ad:corp.example.org";

#[test]
fn an_account_that_was_there_and_is_not_found_is_not_said_to_be_gone() {
    let seen = parking_lot::Mutex::default();
    assert_eq!(remembered::<u32>(&seen, "alice", None), Ok(None));
    assert_eq!(remembered(&seen, "alice", Some(7)), Ok(Some(7)));
    let said = remembered::<u32>(&seen, "alice", None).expect_err("unknown");
    assert!(said.contains("was there before"), "{said}");
    assert_eq!(remembered::<u32>(&seen, "bob", None), Ok(None));
}

#[test]
fn the_first_rule_that_fits_gives_the_account() {
    let mapping = mapping(
        r#"
        map = [
            { person = "pe_7", account = "asmith" },
            { issuer = "local", name = "alice", account = "asmith" },
            { issuer = "local", name = "pipeline", ids = { uid = 40_009, gid = 40_009 } },
            { issuer = "ad:corp.example.org", domain = "Corp.example.org", account = "{name}" },
            { issuer = "local", account = "{name}" },
        ]
        "#,
    );
    for (person, known_as, expected) in [
        ("pe_7", "local alice", 40_002),
        ("pe_7", "", 40_002),
        ("pe_8", "local alice", 40_002),
        ("pe_8", "local pipeline", 40_009),
        ("pe_8", "local asmith", 40_002),
        ("pe_8", &format!("{AD} alice@corp.example.org"), 40_001),
    ] {
        assert_eq!(
            uid(&mapping, &asker(person, known_as)),
            Ok(expected),
            "{known_as}"
        );
    }
}

#[test]
fn a_name_of_another_issuer_or_domain_is_another_person() {
    let mapping = mapping(
        r#"
        map = [
            { issuer = "local", account = "{name}" },
            { issuer = "ad:corp.example.org", domain = "corp.example.org", account = "{name}" },
        ]
        "#,
    );
    for known_as in [
        "https://login.example.org alice",
        "ad:other.example.org alice@corp.example.org",
        &format!("{AD} alice@other.example.org"),
        &format!("{AD} alice"),
        "alice",
        "",
    ] {
        let refused = uid(&mapping, &asker("pe_1", known_as));
        assert_eq!(refused, Err("account_unmapped".to_owned()), "{known_as}");
    }
}

#[test]
fn who_is_not_named_at_all_is_refused() {
    let mapping = mapping(r#"map = [{ issuer = "local", account = "{name}" }]"#);
    let problem = mapped(&mapping, "data", &asker("", ""), &machine()).expect_err("refused");
    assert_eq!(problem.code, "account_unmapped");
    assert!(
        problem.message.contains("does not say who asks"),
        "{problem}"
    );
}

#[test]
fn a_name_that_is_no_account_name_is_refused_and_goes_to_no_later_rule() {
    let mapping = mapping(
        r#"
        map = [
            { issuer = "local", account = "{name}" },
            { issuer = "local", name = "Alice Smith", account = "asmith" },
        ]
        "#,
    );
    for name in [
        "Alice Smith",
        "1001",
        "alice:x",
        "../alice",
        "-alice",
        "älice",
    ] {
        let refused = uid(&mapping, &asker("pe_1", &format!("local {name}")));
        assert_eq!(refused, Err("account_unmapped".to_owned()), "{name}");
    }
}

#[test]
fn accounts_that_are_missing_locked_of_the_system_or_the_superuser_are_refused() {
    let mapping = mapping(r#"map = [{ issuer = "local", account = "{name}" }]"#);
    for (name, said) in [
        ("nobody-here", "no local account"),
        ("locked", "is locked"),
        ("daemon", "`lowest_uid` is 1000"),
        ("toor", "`lowest_uid` is 1000"),
    ] {
        let asker = asker("pe_1", &format!("local {name}"));
        let problem = mapped(&mapping, "data", &asker, &machine()).expect_err("refused");
        assert_eq!(problem.code, "account_unusable", "{name}");
        assert!(problem.message.contains(said), "{problem}");
    }
    let away = mapped(
        &mapping,
        "data",
        &asker("pe_1", "local unreachable"),
        &machine(),
    );
    let away = away.expect_err("nobody knows");
    assert_eq!((&*away.code, away.retryable), ("account_unknown_now", true));
}

#[test]
fn nobody_acts_as_the_superuser_whatever_the_lowest_uid_is() {
    let mapping = Mapping {
        lowest_uid: 0,
        ..mapping(r#"map = [{ issuer = "local", account = "{name}" }]"#)
    };
    assert!(mapping.check().is_err());
    let refused = uid(&mapping, &asker("pe_1", "local toor"));
    assert_eq!(refused, Err("account_unusable".to_owned()));
}

#[test]
fn rules_that_can_not_be_meant_so_are_named() {
    for (rules, said) in [
        ("map = []", "1 to"),
        (
            "lowest_uid = 0\nmap = [{ person = 'p', account = 'a' }]",
            "superuser",
        ),
        ("map = [{ account = 'a' }]", "whom it is for"),
        ("map = [{ name = 'a', account = 'a' }]", "whom it is for"),
        (
            "map = [{ person = 'p', issuer = 'local', account = 'a' }]",
            "whom it is for",
        ),
        (
            "map = [{ issuer = 'local', name = 'n', domain = 'd', account = 'a' }]",
            "whom it is for",
        ),
        (
            "map = [{ issuer = 'a b', account = '{name}' }]",
            "whom it is for",
        ),
        ("map = [{ issuer = '', account = '{name}' }]", "empty"),
        ("map = [{ person = 'p' }]", "either"),
        (
            "map = [{ person = 'p', account = 'a', ids = { uid = 4000, gid = 1 } }]",
            "either",
        ),
        (
            "map = [{ person = 'p', ids = { uid = 0, gid = 1 } }]",
            "below",
        ),
        (
            "map = [{ person = 'p', ids = { uid = 999, gid = 1 } }]",
            "below",
        ),
        (
            "map = [{ issuer = 'local', ids = { uid = 4000, gid = 1 } }]",
            "one person",
        ),
        (
            "map = [{ issuer = 'local', account = 'everybody' }]",
            "everybody",
        ),
        (
            "map = [{ person = 'p', account = '{name}' }]",
            "many people",
        ),
        (
            "map = [{ issuer = 'local', account = 'x-{name}' }]",
            "neither",
        ),
    ] {
        let mapping: Mapping = toml::from_str(rules).expect(rules);
        let refused = mapping.check().expect_err(rules);
        assert!(refused.contains(said), "{rules}: {refused}");
    }
}

#[test]
fn a_mapping_is_written_as_it_was_read_and_a_mistake_in_it_is_named() {
    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    struct Holder {
        accounts: Accounts,
    }
    let text = "[accounts]\nlowest_uid = 2000\n\n[[accounts.map]]\nissuer = \"local\"\naccount = \"{name}\"\n";
    let read: Holder = toml::from_str(text).expect("a mapping");
    assert_eq!(toml::to_string(&read).expect("written"), text);
    let node: Holder = toml::from_str("accounts = 'node'").expect("a word");
    assert_eq!(node.accounts, Accounts::Node);
    for (text, said) in [
        ("accounts = 'nod'", "node"),
        ("accounts = { map = [{ isuer = 'local' }] }", "isuer"),
        ("accounts = { map = [{ issuer = 'local' }] }", "rule 1"),
        ("accounts = { lowest = 1 }", "lowest"),
    ] {
        let error = toml::from_str::<Holder>(text).expect_err(text);
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
}

#[test]
fn a_root_that_obeys_two_authorities_maps_nobody() {
    let mapped = Accounts::Mapped(mapping(
        r#"map = [{ issuer = "local", account = "{name}" }]"#,
    ));
    assert_eq!(mapped.check(1), Ok(()));
    assert!(
        mapped
            .check(2)
            .is_err_and(|said| said.contains("2 authorities"))
    );
    assert_eq!(Accounts::Node.check(2), Ok(()));
}

#[test]
fn the_table_of_passwords_says_who_is_locked_or_has_expired() {
    let shadow =
        b"root:*:19000:0:99999:7:::\nkey:!:19000:0:99999:7:::\nlocked:!$6$x:19000:0:99999:7:::\n\
        old:$6$x:19000:0:99999:7::19999:\nsoon:$6$x:19000:0:99999:7::20001:\nshort";
    for (name, refusal) in [
        ("root", None),
        ("key", None),
        ("locked", Some("is locked")),
        ("old", Some("has expired")),
        ("soon", None),
        ("short", None),
        ("absent", None),
        ("", None),
    ] {
        assert_eq!(refusal_in(shadow, name, 20_000), refusal, "{name}");
    }
}

proptest! {
    #[test]
    fn no_rule_and_no_name_gives_anybody_the_superuser(
        issuer in "[a-z: ]{0,6}", name in "(toor|daemon|alice|[ -~]{0,12})", lowest in 0_u32..3, ids in any::<u32>(),
    ) {
        let mapping = Mapping {
            lowest_uid: lowest,
            rules: vec![
                Rule { issuer: Some(issuer.clone()), account: Some("{name}".to_owned()), ..Rule::default() },
                Rule {
                    person: Some("pe_1".to_owned()),
                    ids: Some(Ids { uid: ids % 3, gid: 0, groups: vec![] }),
                    ..Rule::default()
                },
            ],
        };
        if let Ok(uid) = uid(&mapping, &asker("pe_1", &format!("{issuer} {name}"))) {
            prop_assert!(uid != 0 && uid >= lowest);
        }
    }

    #[test]
    fn no_text_makes_the_readers_fall_over(text in "\\PC{0,200}", shadow in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(mapping) = toml::from_str::<Mapping>(&text) {
            drop(mapping.check());
        }
        let known_as: String = text.chars().filter(|c| !c.is_control()).take(50).collect();
        let mapping = mapping(r#"map = [{ issuer = "local", domain = "d", account = "{name}" }]"#);
        drop(mapping.choose(&asker("pe_1", &format!("local {known_as}"))).map(|_| ()));
        refusal_in(&shadow, &known_as, 1);
    }
}
