//! Joining, attaching, and listing under permits, with a real hub and real nodes on loopback.

mod support;

use std::sync::Arc;

use headrace_core::access::{Access, Authority};
use headrace_core::name::Component;
use headrace_core::sealed::SigningKey;
use headrace_core::trash::TrashFolder;
use headrace_io::stream::{Patience, Records, TlsStream};
use headrace_io::tls::{ALPN_CONTROL, Identity, client_config};
use headrace_node::config::{Config, HubConfig, RootConfig};
use headrace_node::hub::{HubEvent, JoinAnswer};
use headrace_node::node::embedded::{self, Embedded};
use headrace_node::node::{Node, node_key};
use headrace_node::problem::ControlCode;
use serde_json::json;
use support::{Scripted, Site, TestClock, WAIT, execution, id, path, typed};

#[tokio::test]
async fn a_node_joins_once_and_tells_what_it_exports() {
    let site = Site::start().await;
    site.join("dtn1", "s3cret", |secret| {
        assert_eq!(secret, "s3cret");
        JoinAnswer::Accept {
            authority: site.authority.public(),
        }
    })
    .await
    .expect("joined");
    let state = site.state("dtn1");
    let node =
        Node::start(&state, site.clock.clock(), Arc::new(Scripted::new(true))).expect("a node");
    let event = site
        .next(|event| matches!(event, HubEvent::NodeAttached { .. }))
        .await;
    let HubEvent::NodeAttached {
        node: key,
        roots,
        data_addresses,
        clock_skew_ms,
        ..
    } = event
    else {
        unreachable!("matched")
    };
    assert_eq!(
        (key, roots.len(), roots[0].name.as_str()),
        (node.key(), 1, "data")
    );
    assert_eq!(data_addresses, ["127.0.0.1:9"]);
    assert!(roots[0].free_bytes > 0 && clock_skew_ms.abs() < 5000);
    node.close().await;
    site.next(|event| matches!(event, HubEvent::NodeDetached { node, .. } if *node == key))
        .await;
}

/// Connections to the hub that shake hands with these keys and then say nothing.
async fn silent(site: &Site, keys: Vec<SigningKey>) -> Vec<TlsStream> {
    let address = site.hub.address().parse().expect("an address");
    let hub = site.hub.key();
    let dial = move |key: &SigningKey| {
        let identity = Identity::new(key).expect("an identity");
        let config = client_config(&identity, hub, ALPN_CONTROL).expect("settings");
        let patience = Patience {
            connect: WAIT,
            stalled_after: WAIT,
            unsent_bytes: 1 << 16,
            records: Records::Own,
        };
        TlsStream::dial(address, &config, ALPN_CONTROL, patience, &mut || Ok(()))
            .expect("connected")
    };
    let dialling = tokio::task::spawn_blocking(move || keys.iter().map(dial).collect());
    dialling.await.expect("no panic")
}

#[tokio::test]
async fn invariant_6_strangers_with_keys_of_their_own_keep_no_node_out() {
    let site = Site::start().await;
    // More than there are places for anybody.
    let key = |number: u16| {
        SigningKey::from_seed(
            &[number.to_le_bytes(); 16].concat()[..]
                .try_into()
                .expect("32 bytes"),
        )
    };
    let mut strangers = silent(&site, (1000..1520).map(key).collect()).await;
    let node = site.node("dtn1").await;
    node.attachment(Result::is_ok).await.expect("attached");
    let first = strangers.swap_remove(0);
    assert!(is_closed(first).await, "the first made room for the last");
    drop(strangers);
}

/// Whether the hub closes this connection in time.
async fn is_closed(mut stream: TlsStream) -> bool {
    let end = tokio::task::spawn_blocking(move || {
        // The first frame of HTTP/2 may come before it is closed.
        let deadline = std::time::Instant::now() + WAIT;
        let mut byte = [0];
        let mut read = || stream.read_exact(&mut byte, &mut headrace_io::stream::until(deadline));
        while read().is_ok() {}
        std::time::Instant::now() < deadline
    });
    end.await.expect("no panic")
}

#[tokio::test]
async fn nodes_that_are_attached_take_no_place_of_those_that_come() {
    let site = Site::start().await;
    let mut keys = Vec::new();
    for number in 0..80 {
        let key = || SigningKey::from_seed(&[number; 32]);
        site.hub.enroll(key().public());
        keys.extend((0..7).map(|_| key()));
    }
    // More than there are places for strangers, open or on their way.
    let nodes = silent(&site, keys).await;
    let node = site.node("dtn1").await;
    node.attachment(Result::is_ok).await.expect("attached");
    drop(nodes);
}

#[tokio::test]
async fn invariant_6_a_node_has_eight_connections_and_no_more() {
    let site = Site::start().await;
    let key = || SigningKey::from_seed(&[77; 32]);
    site.hub.enroll(key().public());
    let mut streams = silent(&site, (0..9).map(|_| key()).collect()).await;
    let last = streams.pop().expect("nine");
    assert!(is_closed(last).await, "the ninth stays open");
    drop(streams);
}

#[tokio::test]
async fn an_embedded_node_dials_the_hub_where_it_listens_now() {
    let mut site = Site::start().await;
    let authority = site.authority.public();
    let joined = site.join("lab", "s3cret", |_| JoinAnswer::Accept { authority });
    let root = joined.await.expect("joined");
    let key = node_key(&site.state("lab")).expect("a key").public();
    site.move_hub(&[key]).await;
    let embedded = Embedded {
        state_dir: site.folder.path().join("lab-state"),
        name: "lab".to_owned(),
        roots: vec![("data".to_owned(), root, "read".to_owned())],
        data_listen: "127.0.0.1:0".to_owned(),
        join_token: None,
        hub_address: Some(site.hub.address().to_owned()),
    };
    let node = embedded::start(embedded).await.expect("a node");
    site.next(|event| matches!(event, HubEvent::NodeAttached { node, .. } if *node == key))
        .await;
    node.close().await;
}

#[tokio::test]
async fn a_token_that_the_service_has_seen_before_is_refused() {
    let site = Site::start().await;
    let authority = site.authority.public();
    site.join("first", "once", |_| JoinAnswer::Accept { authority })
        .await
        .expect("joined");
    let again = |_: &str| JoinAnswer::Refuse {
        reason: "the token was used".to_owned(),
    };
    let refused = site
        .join("second", "once", again)
        .await
        .expect_err("refused");
    assert_eq!(refused.code, "join_refused");
    assert!(refused.message.contains("the token was used"));
    let not_joined = Node::start(
        &site.state("second"),
        site.clock.clock(),
        Arc::new(Scripted::new(true)),
    );
    assert_eq!(not_joined.err().expect("refused").code, "config_invalid");
}

#[tokio::test]
async fn a_node_that_is_not_enrolled_stays_outside() {
    let site = Site::start().await;
    let state = site.state("stranger");
    let hub = HubConfig {
        address: site.hub.address().to_owned(),
        key: site.hub.key(),
    };
    let config = Config {
        name: "stranger".to_owned(),
        hub: Some(hub),
        ..Config::default()
    };
    config.save(&state).expect("saved");
    let node =
        Node::start(&state, site.clock.clock(), Arc::new(Scripted::new(true))).expect("a node");
    let mut attachment = node.attachment();
    let refused = |state: &Result<(), headrace_node::problem::Problem>| {
        state
            .as_ref()
            .is_err_and(|problem| problem.code == "not_enrolled")
    };
    drop(
        tokio::time::timeout(support::WAIT, attachment.wait_for(refused))
            .await
            .expect("in time"),
    );
    let told = site
        .next(|event| matches!(event, HubEvent::NodeRefused { .. }))
        .await;
    let HubEvent::NodeRefused {
        node: key, from, ..
    } = told
    else {
        unreachable!("matched")
    };
    assert_eq!(
        (key, from.map(|from| from.ip().is_loopback())),
        (Some(node.key()), Some(true))
    );
    // Enrolled at last, it gets in without being touched.
    site.hub.enroll(node.key());
    site.next(|event| matches!(event, HubEvent::NodeAttached { .. }))
        .await;
}

#[tokio::test]
async fn a_hub_with_another_key_is_not_obeyed() {
    let site = Site::start().await;
    let state = site.state("dtn1");
    site.hub.enroll(node_key(&state).expect("a key").public());
    let impostor = SigningKey::from_seed(&[7; 32]).public();
    let hub = HubConfig {
        address: site.hub.address().to_owned(),
        key: impostor,
    };
    Config {
        name: "dtn1".to_owned(),
        hub: Some(hub),
        ..Config::default()
    }
    .save(&state)
    .expect("saved");
    let node =
        Node::start(&state, site.clock.clock(), Arc::new(Scripted::new(true))).expect("a node");
    let mut attachment = node.attachment();
    let failed = |state: &Result<(), headrace_node::problem::Problem>| {
        state.as_ref().is_err_and(|problem| {
            problem.is(ControlCode::WrongPeerKey) && problem.message.contains("another key")
        })
    };
    drop(
        tokio::time::timeout(support::WAIT, attachment.wait_for(failed))
            .await
            .expect("in time"),
    );
    // The hub tells where somebody is that wants another one, whose key it never saw.
    let told = site
        .next(|event| matches!(event, HubEvent::NodeRefused { .. }))
        .await;
    let HubEvent::NodeRefused {
        node,
        from,
        problem,
    } = told
    else {
        unreachable!("matched")
    };
    assert_eq!(
        (node, from.map(|from| from.ip().is_loopback())),
        (None, Some(true))
    );
    assert!(problem.is(ControlCode::WrongPeerKey), "{problem:?}");
    assert!(
        problem.message.contains(&site.hub.key().to_string()),
        "{problem}"
    );
}

#[tokio::test]
async fn invariant_3_clocks_that_differ_by_more_than_a_minute_are_refused() {
    let site = Site::start().await;
    let late = TestClock::default();
    let node = site.node_with("dtn1", &late, true).await;
    late.forward(-61_000);
    let mut node = node;
    node.restart(&late);
    let problem = node
        .attachment(|state| {
            state
                .as_ref()
                .is_err_and(|problem| problem.code == "clock_skew")
        })
        .await;
    assert!(problem.expect_err("refused").message.contains("NTP"));
    let refused = |event: &HubEvent| matches!(event, HubEvent::NodeRefused { problem, .. } if problem.code == "clock_skew");
    site.next(refused).await;
    late.forward(2_000);
    node.attachment(Result::is_ok).await.expect("attached");
}

#[tokio::test]
async fn a_clock_that_steps_while_its_node_is_attached_is_told() {
    let site = Site::start().await;
    let clock = TestClock::default();
    let node = site.node_with("dtn1", &clock, true).await;
    node.attachment(Result::is_ok).await.expect("attached");
    for (step, from, to) in [(90_000, 85_000, 95_000), (-90_000, -5_000, 5_000)] {
        clock.forward(step);
        let told = |event: &HubEvent| matches!(event, HubEvent::NodeAttached { clock_skew_ms, .. } if (from..to).contains(clock_skew_ms));
        site.next(told).await;
    }
    node.attachment(Result::is_ok).await.expect("attached");
}

#[tokio::test]
async fn a_root_that_is_missing_is_told_and_exported_once_it_is_there() {
    let site = Site::start().await;
    let mut node = site.node("dtn1").await;
    let away = node.root.with_extension("away");
    std::fs::rename(&node.root, &away).expect("unmounted, so to say");
    node.restart(&site.clock);
    let missing = |event: &HubEvent| matches!(event, HubEvent::NodeAttached { roots, missing_roots, .. } if roots.is_empty() && missing_roots[0].name == "data");
    site.next(missing).await;
    std::fs::rename(&away, &node.root).expect("mounted again");
    let there = |event: &HubEvent| matches!(event, HubEvent::NodeAttached { roots, missing_roots, .. } if roots.len() == 1 && missing_roots.is_empty());
    site.next(there).await;
}

#[tokio::test]
async fn a_node_comes_back_after_the_service_restarted() {
    let mut site = Site::start().await;
    let node = site.node("dtn1").await;
    site.restart_hub(&[node.key]).await;
    site.next(|event| matches!(event, HubEvent::NodeAttached { .. }))
        .await;
    node.write("a", b"x");
    let page = site
        .hub
        .browse(&site.permit(&node, ""), &path(""), None, 10)
        .await
        .expect("listed");
    assert_eq!(page.entries.len(), 1);
}

#[tokio::test]
async fn a_node_comes_back_soon_however_often_it_sought_the_service_in_vain() {
    let mut site = Site::start().await;
    let node = site.node("dtn1").await;
    // With pauses that grow without a limit, or up to 30 s, so many tries take longer than this waits.
    site.restart_hub_after(9, &[node.key]).await;
    site.next(|event| matches!(event, HubEvent::NodeAttached { .. }))
        .await;
}

#[tokio::test]
async fn a_revoked_node_is_out_at_once_and_for_good() {
    let site = Site::start().await;
    let node = site.node("dtn1").await;
    site.hub.revoke(node.key);
    site.next(|event| matches!(event, HubEvent::NodeDetached { reason, .. } if reason.contains("revoked"))).await;
    node.attachment(|state| {
        state
            .as_ref()
            .is_err_and(|problem| problem.code == "not_enrolled")
    })
    .await
    .expect_err("out");
    let listed = site
        .hub
        .browse(&site.permit(&node, ""), &path(""), None, 10)
        .await;
    assert_eq!(listed.expect_err("refused").code, "not_enrolled");
}

#[tokio::test]
async fn roots_changed_on_the_node_are_told_again() {
    let site = Site::start().await;
    let node = site.node("dtn1").await;
    let mut config = Config::load(&node.state).expect("read").expect("there");
    config.roots[0].name = "renamed".to_owned();
    config.save(&node.state).expect("saved");
    let told = |event: &HubEvent| matches!(event, HubEvent::NodeAttached { roots, .. } if roots[0].name == "renamed");
    site.next(told).await;
}

#[tokio::test]
async fn a_folder_is_listed_page_by_page() {
    let site = Site::start().await;
    let node = site.node("dtn1").await;
    for name in ["run/b", "run/a", "run/c/deep", "other"] {
        node.write(name, b"x");
    }
    let permit = site.permit(&node, "run");
    let first = site
        .hub
        .browse(&permit, &path("run"), None, 2)
        .await
        .expect("listed");
    let names: Vec<String> = first
        .entries
        .iter()
        .map(|entry| entry.path.escaped())
        .collect();
    assert_eq!(
        (names, first.more),
        (vec!["a".to_owned(), "b".to_owned()], true)
    );
    let after = Component::new(b"b").expect("a name");
    let second = site
        .hub
        .browse(&permit, &path("run"), Some(&after), 2)
        .await
        .expect("listed");
    assert_eq!((second.entries.len(), second.more), (1, false));
    let missing = site
        .hub
        .browse(&permit, &path("run/none"), None, 2)
        .await
        .expect_err("refused");
    assert_eq!(missing.code, "folder_unreadable");
}

#[tokio::test]
async fn invariant_1_a_node_lists_only_under_a_good_permit() {
    let site = Site::start().await;
    let (node, other) = (site.node("dtn1").await, site.node("dtn2").await);
    node.write("run/a", b"x");
    let code = async |permit: String, below: &str| {
        let listed = site.hub.browse(&permit, &path(below), None, 10).await;
        listed
            .err()
            .map(|problem| problem.code.into_owned())
            .unwrap_or_default()
    };
    let good = site.permit(&node, "run");
    assert_eq!(code(good.clone(), "run").await, "");
    assert_eq!(code(good.clone(), "").await, "outside_permit");
    assert_eq!(code(good.clone(), "running").await, "outside_permit");
    assert_eq!(
        code(good.replace("run", "ran"), "ran").await,
        "permit_altered"
    );
    assert_eq!(code("{}".to_owned(), "run").await, "permit_malformed");
    let now = site.clock.now();
    let expired = site.permit_with(&node, "run", |body| {
        body["not_before"] = json!(now.plus_ms(-600_000));
        body["expires"] = json!(now.plus_ms(-1));
    });
    assert_eq!(code(expired, "run").await, "permit_expired");
    let stranger = Site {
        authority: SigningKey::from_seed(&[2; 32]),
        ..Site::start().await
    };
    assert_eq!(
        code(stranger.permit(&node, "run"), "run").await,
        "permit_foreign"
    );
    // A ticket is no permit, however well it is signed.
    let ticket = site.ticket("tr_1", &node, &other);
    assert_eq!(code(ticket, "run").await, "permit_malformed");
    assert_eq!(
        code(
            site.permit_with(&node, "run", |body| body["root"] = json!("none")),
            "run"
        )
        .await,
        "root_unknown"
    );
}

#[tokio::test]
async fn invariant_1_a_permit_for_one_node_opens_nothing_on_another() {
    let site = Site::start().await;
    let real = site.node("dtn1").await;
    let (own, other) = (
        SigningKey::from_seed(&[5; 32]),
        SigningKey::from_seed(&[6; 32]),
    );
    // What the hub takes the node for: what it is, or another one, as a hub that was taken over would.
    for (number, taken_for, code) in [(0, own.public(), ""), (1, other.public(), "permit_foreign")]
    {
        let state = site.state(&format!("dtn2-{number}"));
        let root = RootConfig::parse(&format!("data={}:delete", real.root.display()));
        let config = Config {
            name: "dtn2".to_owned(),
            authorities: vec![Authority {
                key: site.authority.public(),
                access: Access::Delete,
                until: None,
            }],
            roots: vec![root.expect("a root")],
            ..Config::default()
        };
        let (hub_end, node_end) = tokio::io::duplex(64 << 10);
        site.hub.enroll(taken_for);
        let adopted = site.hub.adopt(Box::new(hub_end), taken_for).await;
        adopted.expect("the hub is open");
        let mover = Arc::new(Scripted::new(true));
        let node = Node::start_over(
            Box::new(node_end),
            own.clone(),
            &state,
            config,
            site.clock.clock(),
            mover,
        );
        let _node = node.expect("a node");
        site.next(
            |event| matches!(event, HubEvent::NodeAttached { node, .. } if *node == taken_for),
        )
        .await;
        let permit = site.permit_with(&real, "", |body| body["node"] = json!(taken_for));
        let browsed = site.hub.browse(&permit, &path(""), None, 10).await;
        let found = browsed.err().map(|problem| problem.code.into_owned());
        assert_eq!(found.unwrap_or_default(), code);
    }
}

#[tokio::test]
async fn a_survey_merges_both_nodes_and_writes_the_lists() {
    let site = Site::start().await;
    let (from, to) = (site.node("from").await, site.node("to").await);
    for name in [
        "new",
        "same",
        "changed",
        "x.tmp",
        "deep/er/file",
        "raw/skipped/y",
    ] {
        from.write(name, b"1234");
    }
    to.write("changed", b"12345");
    to.write("gone", b"1");
    to.write("keep.tmp", b"1");
    std::fs::copy(from.root.join("same"), to.root.join("same")).expect("a copy");
    let modified = std::fs::metadata(from.root.join("same"))
        .expect("there")
        .modified()
        .expect("a time");
    std::fs::File::options()
        .write(true)
        .open(to.root.join("same"))
        .expect("there")
        .set_modified(modified)
        .expect("set");

    let mut execution = execution(&from, &to);
    execution["action"] = json!("sync");
    execution["delete_extraneous"] = json!(true);
    execution["on_conflict"] = json!("overwrite");
    execution["filters"]["exclude"] = json!(["*.tmp", "skipped"]);
    let (lists, _) = site.folders("tr_1");
    let permits = (site.permit(&from, ""), site.permit(&to, ""));
    let surveyed = site
        .hub
        .survey(&permits.0, &permits.1, &typed(&execution), &lists)
        .await
        .expect("surveyed");
    let counts = &surveyed.survey.counts;
    assert_eq!((counts.files, counts.bytes, counts.directories), (3, 12, 3));
    assert_eq!(
        (
            counts.identical_files,
            counts.excluded_files,
            counts.destination_files
        ),
        (1, 2, 4)
    );
    assert!(surveyed.destination_exists && surveyed.destination_free_bytes > 0);
    let overwrites = std::fs::read_to_string(lists.join("overwrites.jsonl")).expect("written");
    assert!(
        overwrites.contains(r#""path":["changed"],"size":"5","type":"file""#),
        "{overwrites}"
    );
    let deletes = std::fs::read_to_string(lists.join("deletes.jsonl")).expect("written");
    assert!(
        deletes.lines().count() == 1 && deletes.contains("gone"),
        "{deletes}"
    );
    assert_eq!(
        surveyed.survey.deletes.digest,
        headrace_core::value::Digest::of(deletes.as_bytes())
    );
    assert_eq!(std::fs::read_dir(&lists).expect("a folder").count(), 2);
}

#[tokio::test]
async fn a_survey_says_what_stands_in_its_way() {
    let site = Site::start().await;
    let (from, to) = (site.node("from").await, site.node("to").await);
    from.write("dir/a", b"1");
    from.write("dir/b", b"1");
    to.write("file", b"1");
    let code = async |source: &str, destination: &str, entries: &str| {
        let mut execution = execution(&from, &to);
        execution["source"]["path"] = json!(source.split('/').collect::<Vec<_>>());
        execution["destination"]["path"] = json!([destination]);
        let (lists, _) = site.folders("tr_1");
        let source = site.permit_with(&from, "", |body| body["max_entries"] = json!(entries));
        let surveyed = site
            .hub
            .survey(&source, &site.permit(&to, ""), &typed(&execution), &lists)
            .await;
        surveyed.map_or_else(
            |problem| problem.code.into_owned(),
            |done| done.survey.counts.files.to_string(),
        )
    };
    assert_eq!(code("none", "x", "10").await, "source_missing");
    assert_eq!(code("dir", "file", "10").await, "destination_not_directory");
    assert_eq!(code("dir", "x", "1").await, "listing_limit");
    assert_eq!(code("dir", "x", "2").await, "2");
    assert_eq!(code("dir/a", "x", "2").await, "1");
}

#[tokio::test]
async fn a_survey_of_many_names_flows_through_small_queues() {
    let site = Site::start().await;
    let (from, to) = (site.node("from").await, site.node("to").await);
    for number in 0..20_000 {
        if number % 1000 == 0 {
            std::fs::create_dir(from.root.join(format!("d{}", number / 1000))).expect("a folder");
        }
        std::fs::write(from.root.join(format!("d{}/{number}", number / 1000)), b"")
            .expect("a file");
    }
    let (lists, _) = site.folders("tr_1");
    let many = |node| site.permit_with(node, "", |body| body["max_entries"] = json!("100000"));
    let execution = typed(&execution(&from, &to));
    let surveyed = site
        .hub
        .survey(&many(&from), &many(&to), &execution, &lists)
        .await
        .expect("surveyed");
    assert_eq!(
        (
            surveyed.survey.counts.files,
            surveyed.survey.counts.directories
        ),
        (20_000, 20)
    );
}

#[tokio::test]
async fn a_trash_is_emptied_by_a_time_that_the_service_is_sure_of_and_never_by_the_node_alone() {
    let site = Site::start().await;
    let now = site.clock.now();
    let days = |days: i64| now.plus_ms(days * 86_400_000);
    let mut node = site.node("dtn1").await;
    // What is deleted now is kept for at least two days.
    let deleted = TrashFolder::new(id("tr_1"), now, 1).name();
    for folder in ["2020-01-01-tr_0", &deleted] {
        node.write(&format!(".headrace-trash/{folder}/a"), b"kept");
    }
    node.restart(&site.clock);
    let key = node.key;
    site.next(|event| matches!(event, HubEvent::NodeAttached { node, .. } if *node == key))
        .await;
    let left = async |until| {
        site.hub.empty_trash(key, until).await.expect("asked");
        let trash = std::fs::read_dir(node.root.join(".headrace-trash")).expect("a trash");
        trash.count()
    };
    let long_ago = "2019-12-31T00:00:00Z".parse().expect("a time");
    assert_eq!(left(long_ago).await, 2, "nobody is sure yet");
    assert_eq!(
        left(days(10)).await,
        1,
        "by its own clock that day has not come"
    );
    // The clock of the host is set ahead, that of the service and of the node alike.
    site.clock.forward(10 * 86_400_000);
    assert_eq!(left(now).await, 1, "the service doubts it");
    assert_eq!(left(days(10)).await, 0, "the doubt has ended");
}
