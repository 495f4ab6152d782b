//! The keys of authority and hub have successors: a real hub tells them, and real nodes follow, or don't.

mod support;

use headrace_core::sealed::{Document, DocumentType, PublicKey, SigningKey};
use headrace_core::succession::FORMER_HUB_KEY_KEPT_MS;
use headrace_node::config::Config;
use headrace_node::hub::HubEvent;
use headrace_node::hub::keys::begin_succession;
use headrace_node::problem::ControlCode;
use headrace_node::state::StateDir;
use serde_json::json;
use support::{Site, TestNode, path};

const DAY_MS: i64 = 24 * 3_600_000;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

/// A succession that began so many days ago, for 30 days, sealed by these keys. Key 1 is the site's first authority.
fn sealed(site: &Site, (former, next): (u8, u8), days_ago: i64, keys: &[&SigningKey]) -> String {
    let from = site.clock.now().plus_ms(-days_ago * DAY_MS);
    let body = json!({
        "former": key(former).public(), "next": key(next).public(), "from": from,
        "until": from.plus_ms(30 * DAY_MS), "site": "",
    });
    let document = Document::seal(DocumentType::Succession, &body, keys);
    document.expect("a small body").text()
}

fn succession(site: &Site, former: u8, next: u8, days_ago: i64) -> String {
    let keys = [&key(former), &key(next)];
    sealed(site, (former, next), days_ago, &keys)
}

/// Which key comes after the hub's own, sealed by this authority; empty when none does.
fn hub_succession(site: &Site, by: u8) -> String {
    let seal = |said| Document::seal(DocumentType::HubSuccession, said, &[&key(by)]);
    let sealed = site.hub.succession().map(seal);
    sealed.map_or(String::new(), |sealed| sealed.expect("a small body").text())
}

/// Restarts the hub, which tells these successions from now on, and lets the node attach.
async fn restart(site: &mut Site, node: &TestNode, successions: Vec<String>) {
    site.restart_hub(&[]).await;
    site.hub.announce(successions, hub_succession(site, 1));
    site.hub.enroll(node.key);
}

async fn attached(site: &Site) {
    site.next(|event| {
        // One that asks for the other key of a hub that has two wants no other hub.
        let told = matches!(event, HubEvent::NodeRefused { problem, .. } if problem.is(ControlCode::WrongPeerKey));
        assert!(!told, "{event:?}");
        matches!(event, HubEvent::NodeAttached { .. })
    })
    .await;
}

/// The code with which the node does not stay, as the hub hears it and as the node says it.
async fn refusal(site: &Site, node: &TestNode) -> String {
    let event = site
        .next(|event| matches!(event, HubEvent::NodeRefused { .. }))
        .await;
    let HubEvent::NodeRefused { problem, .. } = event else {
        unreachable!("matched")
    };
    let code = problem.code.clone();
    node.attachment(|state| state.as_ref().is_err_and(|said| said.code == code))
        .await
        .expect_err("it is not attached");
    problem.code.into_owned()
}

/// What a permit of this key comes to: empty, or the code of its refusal.
async fn permitted(site: &mut Site, node: &TestNode, seed: u8) -> String {
    site.authority = key(seed);
    let permit = site.permit(node, "");
    let listed = site.hub.browse(&permit, &path(""), None, 10).await;
    listed
        .err()
        .map_or(String::new(), |problem| problem.code.into_owned())
}

#[tokio::test]
async fn a_node_follows_its_authority_key_to_the_next_and_lets_the_former_go() {
    let mut site = Site::start().await;
    let mut node = site.node("dtn1").await;
    let chain = vec![succession(&site, 1, 2, 1)];
    restart(&mut site, &node, chain).await;
    attached(&site).await;
    assert_eq!(permitted(&mut site, &node, 1).await, "");
    assert_eq!(permitted(&mut site, &node, 2).await, "");
    assert_eq!(permitted(&mut site, &node, 3).await, "permit_foreign");
    // Whoever writes the settings anew, as they were when it joined, takes no key away.
    let config = Config::load(&node.state).expect("read").expect("there");
    assert_eq!(config.authorities.len(), 1);
    config.save(&node.state).expect("saved");
    attached(&site).await;
    assert_eq!(permitted(&mut site, &node, 2).await, "");
    site.clock.forward(29 * DAY_MS);
    restart(&mut site, &node, Vec::new()).await;
    node.restart(&site.clock);
    attached(&site).await;
    assert_eq!(permitted(&mut site, &node, 1).await, "permit_foreign");
    assert_eq!(permitted(&mut site, &node, 2).await, "");
}

#[tokio::test]
async fn a_node_that_was_away_for_two_rotations_follows_both() {
    let mut site = Site::start().await;
    let node = site.node("dtn1").await;
    let chain = vec![succession(&site, 1, 2, 20), succession(&site, 2, 3, 5)];
    restart(&mut site, &node, chain).await;
    attached(&site).await;
    for seed in [1, 2, 3] {
        assert_eq!(permitted(&mut site, &node, seed).await, "", "{seed}");
    }
}

#[tokio::test]
async fn a_node_that_was_away_for_longer_than_two_keys_count_is_told_so_and_obeys_neither() {
    let mut site = Site::start().await;
    let mut node = site.node("dtn1").await;
    let chain = vec![succession(&site, 1, 2, 31)];
    restart(&mut site, &node, chain).await;
    assert_eq!(refusal(&site, &node).await, "authority_succeeded");
    // A service that hides the succession, and has the key that ended, gets nothing.
    restart(&mut site, &node, Vec::new()).await;
    node.restart(&site.clock);
    attached(&site).await;
    assert_eq!(permitted(&mut site, &node, 1).await, "permit_foreign");
    assert_eq!(permitted(&mut site, &node, 2).await, "permit_foreign");
}

#[tokio::test]
async fn a_second_successor_of_a_key_is_refused_by_a_node_that_knows_the_first() {
    let mut site = Site::start().await;
    let node = site.node("dtn1").await;
    let first = vec![succession(&site, 1, 2, 1)];
    restart(&mut site, &node, first.clone()).await;
    attached(&site).await;
    let second = vec![succession(&site, 1, 6, 0)];
    restart(&mut site, &node, second).await;
    assert_eq!(refusal(&site, &node).await, "second_successor");
    restart(&mut site, &node, first).await;
    attached(&site).await;
    assert_eq!(permitted(&mut site, &node, 2).await, "");
    assert_eq!(permitted(&mut site, &node, 6).await, "permit_foreign");
}

#[tokio::test]
async fn a_forged_succession_is_refused_and_changes_nothing() {
    let mut site = Site::start().await;
    let node = site.node("dtn1").await;
    for keys in [&[&key(6)][..], &[&key(2), &key(6)]] {
        let forged = vec![sealed(&site, (1, 2), 1, keys)];
        restart(&mut site, &node, forged).await;
        assert_eq!(refusal(&site, &node).await, "succession_foreign");
    }
    restart(&mut site, &node, Vec::new()).await;
    attached(&site).await;
    assert_eq!(permitted(&mut site, &node, 1).await, "");
    assert_eq!(permitted(&mut site, &node, 2).await, "permit_foreign");
}

/// Lets another key come after the hub's, which is stopped for it.
async fn replace_hub_key(site: &Site) -> PublicKey {
    site.hub.close().await;
    let state = StateDir::open(&site.folder.path().join("hub")).expect("a folder");
    let from = site.clock.now();
    let begun = begin_succession(&state, from, from.plus_ms(30 * DAY_MS));
    begun.expect("no other is on its way").next
}

#[tokio::test]
async fn a_node_learns_the_next_key_of_its_hub_from_the_former_one() {
    let mut site = Site::start().await;
    let (mut node, mut away) = (site.node("dtn1").await, site.node("dtn2").await);
    drop(away.node.take());
    let former = site.hub.key();
    let next = replace_hub_key(&site).await;
    restart(&mut site, &node, Vec::new()).await;
    attached(&site).await;
    assert_eq!(site.hub.key(), former);
    // The hub says that a node is attached before that one has taken its welcome.
    node.attachment(Result::is_ok).await.expect("attached");
    site.clock.forward(30 * DAY_MS);
    // The hub that runs answers with the next key, and so does one that starts then.
    for _ in 0..2 {
        assert_eq!(site.hub.key(), next);
        node.restart(&site.clock);
        attached(&site).await;
        restart(&mut site, &node, Vec::new()).await;
    }
    site.clock.forward(FORMER_HUB_KEY_KEPT_MS);
    for _ in 0..2 {
        away.restart(&site.clock);
        let refused = away
            .attachment(|state| {
                state
                    .as_ref()
                    .is_err_and(|problem| problem.code == "wrong_peer_key")
            })
            .await;
        assert!(refused.expect_err("refused").message.contains("join again"));
        // The hub that ran meanwhile keeps the former key no longer than one that starts then.
        restart(&mut site, &node, Vec::new()).await;
    }
}

#[tokio::test]
async fn a_node_that_was_away_while_its_hub_told_the_next_key_comes_back_within_a_week_after_that()
{
    let mut site = Site::start().await;
    let mut away = site.node("dtn1").await;
    drop(away.node.take());
    let next = replace_hub_key(&site).await;
    // The hub is started in the time of the former key, and again in the week after that; the node is not there.
    restart(&mut site, &away, Vec::new()).await;
    site.clock.forward(30 * DAY_MS);
    assert_eq!(site.hub.key(), next);
    assert_eq!(site.hub.join_token("s3cret", None).key, next);
    for started_again in [false, true] {
        if started_again {
            restart(&mut site, &away, Vec::new()).await;
        }
        site.clock.forward(3 * DAY_MS);
        // By the former key, and from then on by the next one: it keeps what it has learned over its own restart.
        away.restart(&site.clock);
        attached(&site).await;
        away.attachment(Result::is_ok).await.expect("attached");
        if !started_again {
            std::fs::remove_file(away.state.join("successions.json")).expect("it has learned");
        }
    }
    site.clock.forward(30 * DAY_MS);
    restart(&mut site, &away, Vec::new()).await;
    away.restart(&site.clock);
    attached(&site).await;
    assert_eq!(site.hub.key(), next);
}

#[tokio::test]
async fn a_successor_told_in_the_week_after_counts_by_the_word_of_an_authority_only() {
    let mut site = Site::start().await;
    let mut away = site.node("dtn1").await;
    drop(away.node.take());
    replace_hub_key(&site).await;
    site.clock.forward(31 * DAY_MS);
    site.restart_hub(&[]).await;
    site.hub.announce(Vec::new(), hub_succession(&site, 6));
    site.hub.enroll(away.key);
    away.restart(&site.clock);
    assert_eq!(refusal(&site, &away).await, "succession_foreign");
}

#[tokio::test]
async fn a_successor_of_the_hub_that_no_authority_of_the_node_sealed_is_refused() {
    let mut site = Site::start().await;
    let node = site.node("dtn1").await;
    replace_hub_key(&site).await;
    site.restart_hub(&[]).await;
    site.hub.announce(Vec::new(), hub_succession(&site, 6));
    site.hub.enroll(node.key);
    assert_eq!(refusal(&site, &node).await, "succession_foreign");
}
