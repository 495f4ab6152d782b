//! Attempts as hub and nodes steer them. What moves bytes is scripted here; it has tests of its own.

mod support;

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use headrace_core::list::{ListEntry, ListWriter};
use headrace_core::sealed::SigningKey;
use headrace_core::shares::{Links, TransferShare};
use headrace_core::statement::Role;
use headrace_core::ticket::VerifiedTicket;
use headrace_core::wishes::Wishes;
use headrace_node::convert::{Outcome, ProgressCounts};
use headrace_node::hub::HubEvent;
use headrace_node::node::mover::{Meet, MoveEnd};
use headrace_node::problem::{ControlCode, Problem};
use rustix::fs::{CWD, FileType};
use serde_json::json;
use support::{Site, TestClock, TestNode, attempt, id};
use tokio::task::LocalSet;

async fn start(site: &Site, ticket: &str, transfer: &str) -> Result<(), Problem> {
    let (lists, results) = site.folders(transfer);
    site.hub
        .start_attempt(ticket, (&lists, &results), "", Wishes::default())
        .await
}

async fn two(site: &Site) -> (TestNode, TestNode) {
    (site.node("from").await, site.node("to").await)
}

/// Wait for what another task does to a folder; it has to come within the time for everything.
async fn until(mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(support::WAIT, waiting)
        .await
        .expect("it comes in time");
}

/// Both ends complete, with this list of files.
fn complete(site: &Site, (from, to): (&TestNode, &TestNode), transfer: &str, files: &str) {
    from.mover
        .attempt(transfer)
        .complete(from.key, Role::Source, site.folder.path(), "");
    to.mover
        .attempt(transfer)
        .complete(to.key, Role::Destination, site.folder.path(), files);
}

#[tokio::test]
async fn an_attempt_runs_from_its_ticket_to_its_signed_end() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let ticket = site.ticket("tr_1", &from, &to);
    start(&site, &ticket, "tr_1").await.expect("started");
    assert_eq!(from.mover.attempt("tr_1").order.meet, Meet::Await);
    assert_eq!(
        to.mover.attempt("tr_1").order.meet,
        Meet::Dial(vec!["127.0.0.1:9".to_owned()])
    );
    assert_eq!(
        start(&site, &ticket, "tr_1")
            .await
            .expect_err("refused")
            .code,
        "already_running"
    );

    *to.mover.attempt("tr_1").progress.lock() = ProgressCounts {
        files_done: 3,
        ..ProgressCounts::default()
    };
    let done = |event: &HubEvent| matches!(event, HubEvent::Progress(id, counts) if *id == attempt("tr_1") && counts.files_done == 3);
    site.next(done).await;

    complete(&site, (&from, &to), "tr_1", "{\"a\":1}\n");
    let ended = site.end_of("tr_1").await;
    assert_eq!(
        (ended.outcome, ended.problem, ended.statements.len()),
        (Outcome::Complete, None, 2)
    );
    assert!(ended.statements[0].contains("destination"));
    let list = std::fs::read_to_string(ended.files_list.expect("a list")).expect("written");
    assert_eq!(list, "{\"a\":1}\n");
    // Acknowledged ends are not kept.
    for node in [&from, &to] {
        let kept = || {
            std::fs::read_dir(node.state.join("ends"))
                .expect("a folder")
                .count()
        };
        until(|| kept() == 0).await;
    }
}

#[tokio::test]
async fn what_is_free_below_roots_is_told_when_an_attempt_has_ended_there() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let ticket = site.ticket("tr_1", &from, &to);
    start(&site, &ticket, "tr_1").await.expect("started");
    complete(&site, (&from, &to), "tr_1", "");
    let mut told = Vec::new();
    while told.len() < 2 {
        let event = site
            .next(|event| matches!(event, HubEvent::NodeSpace { .. }))
            .await;
        let HubEvent::NodeSpace { node, roots } = event else {
            unreachable!("matched")
        };
        let [root] = &roots[..] else {
            panic!("{roots:?}")
        };
        assert_eq!(root.name, "data");
        assert!(0 < root.free_bytes && root.free_bytes <= root.total_bytes);
        told.push(node);
    }
    told.sort_unstable();
    let mut both = [from.key, to.key];
    both.sort_unstable();
    assert_eq!(told, both);
}

#[tokio::test]
async fn invariant_1_a_node_starts_only_what_a_good_ticket_allows() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let good = site.ticket("tr_1", &from, &to);
    let code = async |ticket: &str| {
        start(&site, ticket, "tr_1")
            .await
            .expect_err("refused")
            .code
            .into_owned()
    };
    assert_eq!(code(&good.replace("bulk", "fast")).await, "ticket_altered");
    let now = site.clock.now();
    let expired = site.ticket_with("tr_1", &from, &to, |body| {
        body["not_before"] = json!(now.plus_ms(-900_000));
        body["expires"] = json!(now.plus_ms(-1));
    });
    assert_eq!(code(&expired).await, "ticket_expired");
    let stranger = Site {
        authority: SigningKey::from_seed(&[2; 32]),
        ..Site::start().await
    };
    assert_eq!(
        code(&stranger.ticket("tr_1", &from, &to)).await,
        "ticket_foreign"
    );
    assert_eq!(code(&site.permit(&from, "")).await, "ticket_malformed");
    let elsewhere = site.ticket_with("tr_1", &from, &to, |body| {
        body["execution"]["source"]["root"] = json!("none");
    });
    assert_eq!(code(&elsewhere).await, "root_unknown");
    assert!(!from.mover.started("tr_1") && !to.mover.started("tr_1"));
    start(&site, &good, "tr_1")
        .await
        .expect("the good one starts");
}

#[tokio::test]
async fn an_attempt_that_can_not_start_on_both_nodes_runs_on_neither() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let no_source = site.ticket_with("tr_1", &from, &to, |body| {
        body["execution"]["destination"]["root"] = json!("none");
    });
    assert_eq!(
        start(&site, &no_source, "tr_1")
            .await
            .expect_err("refused")
            .code,
        "root_unknown"
    );
    // The source had started and was stopped again: a good ticket starts.
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    let refused = start(&site, &site.ticket("tr_refused", &from, &to), "tr_refused")
        .await
        .expect_err("refused");
    assert_eq!((&*refused.code, refused.retryable), ("node_busy", true));
}

#[tokio::test]
async fn a_ticket_that_is_refused_for_its_time_says_which_clocks_to_check() {
    let site = Site::start().await;
    let (ahead, behind) = (TestClock::default(), TestClock::default());
    ahead.forward(50_000);
    behind.forward(-50_000);
    let from = site.node_with("from", &ahead, true).await;
    let to = site.node_with("to", &behind, true).await;
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let (own, now) = (format!("check the clock of `{host}`"), site.clock.now());
    let refused = async |transfer: &str, begins_ms: i64, ends_ms: i64| {
        let ticket = site.ticket_with(transfer, &from, &to, |body| {
            body["not_before"] = json!(now.plus_ms(begins_ms));
            body["expires"] = json!(now.plus_ms(ends_ms));
        });
        let refused = start(&site, &ticket, transfer).await.expect_err("refused");
        assert!(refused.message.contains(&own), "{refused}");
        refused
    };
    // Over for the one node, and not begun for the other.
    let late = refused("tr_1", -300_000, 20_000).await;
    assert_eq!(late.code, "ticket_expired");
    assert!(late.message.contains("s ahead of its own"), "{late}");
    let early = refused("tr_2", 30_000, 300_000).await;
    assert_eq!(early.code, "ticket_not_yet_valid");
    assert!(early.message.contains("s behind its own"), "{early}");
}

#[tokio::test]
async fn a_node_forgets_a_transfer_once_what_was_told_to_stop_has_ended() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let half = site.ticket_with("tr_deaf", &from, &to, |body| {
        body["execution"]["destination"]["root"] = json!("none");
    });
    let refused = start(&site, &half, "tr_deaf").await.expect_err("refused");
    assert_eq!(refused.code, "root_unknown");
    until(|| {
        let told = &from.mover.attempt("tr_deaf").asked_to_stop;
        told.load(Ordering::Relaxed)
    })
    .await;
    let (transfer, other) = (id("tr_deaf"), id("tr_other"));
    let ending = async {
        // What comes after it over the same stream is done: the node has heard of it.
        let forgotten = site.hub.forget(&other, &[from.key]).await;
        assert_eq!(*from.mover.forgotten.lock(), ["tr_other"]);
        complete(&site, (&from, &from), "tr_deaf", "");
        forgotten
    };
    let nodes = [from.key];
    let (forgotten, earlier) = tokio::join!(site.hub.forget(&transfer, &nodes), ending);
    forgotten.expect("forgotten");
    earlier.expect("forgotten");
    assert_eq!(*from.mover.forgotten.lock(), ["tr_other", "tr_deaf"]);
}

#[tokio::test]
async fn who_accepts_connections_is_dialled_and_a_pair_without_is_refused() {
    let site = Site::start().await;
    let closed = site.node_with("closed", &site.clock, false).await;
    let also_closed = site.node_with("closed2", &site.clock, false).await;
    let open = site.node("open").await;
    start(&site, &site.ticket("tr_1", &closed, &open), "tr_1")
        .await
        .expect("started");
    assert_eq!(open.mover.attempt("tr_1").order.meet, Meet::Await);
    assert!(matches!(
        closed.mover.attempt("tr_1").order.meet,
        Meet::Dial(_)
    ));
    let neither = start(&site, &site.ticket("tr_2", &closed, &also_closed), "tr_2")
        .await
        .expect_err("refused");
    assert_eq!(neither.code, "no_data_path");
    start(&site, &site.ticket("tr_3", &closed, &closed), "tr_3")
        .await
        .expect("started");
    assert_eq!(closed.mover.attempt("tr_3").order.meet, Meet::Local);
}

#[tokio::test]
async fn where_both_accept_connections_each_attempt_is_dialled_the_other_way() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    for attempt in 1..=3 {
        let ticket = site.ticket_with("tr_1", &from, &to, |body| {
            body["attempt"] = json!(attempt.to_string());
        });
        start(&site, &ticket, "tr_1").await.expect("started");
        let dials =
            [&from, &to].map(|node| matches!(node.mover.attempt("tr_1").order.meet, Meet::Dial(_)));
        assert_eq!(dials, [attempt % 2 == 0, attempt % 2 == 1], "{attempt}");
    }
}

#[tokio::test]
async fn the_lists_of_a_ticket_reach_the_destination() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let (lists, _) = site.folders("tr_1");
    let file = std::fs::File::create(lists.join("overwrites.jsonl")).expect("a file");
    let mut writer = ListWriter::new(std::io::BufWriter::new(file));
    for number in 0..10_000 {
        let path = support::path(&format!("{number:06}"));
        writer
            .push(&ListEntry {
                mtime_ns: 0,
                path,
                size: 1,
                kind: headrace_core::entry::Kind::File,
                version: headrace_core::version::Version::new(b"1").expect("short"),
            })
            .expect("written");
    }
    let sealed = writer.finish().expect("written").1;
    let ticket = site.ticket_with("tr_1", &from, &to, |body| {
        body["execution"]["on_conflict"] = json!("overwrite");
        body["execution"]["overwrites"] = json!(sealed);
    });
    start(&site, &ticket, "tr_1").await.expect("started");
    let script = to.mover.attempt("tr_1");
    assert_eq!(
        headrace_core::value::Digest::of(script.lists.0.as_bytes()),
        sealed.digest
    );
    assert!(script.lists.1.is_empty() && from.mover.attempt("tr_1").lists.0.is_empty());
}

#[tokio::test]
async fn a_list_of_files_that_is_not_the_stated_one_makes_the_attempt_fail() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    from.mover
        .attempt("tr_1")
        .complete(from.key, Role::Source, site.folder.path(), "");
    let script = to.mover.attempt("tr_1");
    let list = site.folder.path().join("altered.jsonl");
    std::fs::write(&list, "other").expect("a file");
    script.finish(MoveEnd {
        outcome: Outcome::Complete,
        problem: None,
        statements: vec![script.statement(to.key, Role::Destination, "stated")],
        files_list: Some(list),
        failed_list: None,
    });
    let ended = site.end_of("tr_1").await;
    assert_eq!((ended.outcome, ended.files_list), (Outcome::Failed, None));
    assert_eq!(ended.problem.expect("a reason").code, "result_mismatch");
}

#[tokio::test]
async fn what_was_set_for_a_transfer_reaches_both_of_its_nodes() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let ticket = site.ticket("tr_1", &from, &to);
    let (lists, results) = site.folders("tr_1");
    let wishes = Wishes::new(Some(7), Some(1 << 20)).expect("within the limits");
    let started = site
        .hub
        .start_attempt(&ticket, (&lists, &results), "", wishes)
        .await;
    started.expect("started");
    for node in [&from, &to] {
        assert_eq!(node.mover.attempt("tr_1").order.wishes, wishes);
    }
}

#[tokio::test]
async fn links_and_shares_reach_nodes_which_hear_their_links_again_and_keep_what_they_had_when_told_nonsense()
 {
    const LINKS: &str =
        r#"{"links": [{"name": "uplink", "rate_bps": 1000, "rest_percent": 10, "classes": []}]}"#;
    const SHARE: &str = r#"{"class": "bulk", "weight": 1, "source_links": ["uplink"]}"#;
    let site = Site::start().await;
    let (mut from, to) = two(&site).await;
    site.hub.set_shares(from.key, LINKS).await.expect("told");
    let links = || Links::parse(LINKS).expect("links");
    assert_eq!(*from.mover.links.lock(), links());
    assert_eq!(*to.mover.links.lock(), Links::default());

    let ticket = site.ticket("tr_1", &from, &to);
    let (lists, results) = site.folders("tr_1");
    let started = site
        .hub
        .start_attempt(&ticket, (&lists, &results), SHARE, Wishes::default())
        .await;
    started.expect("started");
    let share = |weight| TransferShare {
        weight,
        ..TransferShare::parse(SHARE).expect("a share")
    };
    for node in [&from, &to] {
        assert_eq!(*node.mover.attempt("tr_1").share.lock(), Some(share(1)));
    }
    let heavier = SHARE.replace("\"weight\": 1", "\"weight\": 7");
    site.hub
        .set_share(&id("tr_1"), &heavier)
        .await
        .expect("told");
    for node in [&from, &to] {
        assert_eq!(*node.mover.attempt("tr_1").share.lock(), Some(share(7)));
    }
    let weightless = SHARE.replace("\"weight\": 1", "\"weight\": 0");
    let refused = site.hub.set_share(&id("tr_1"), &weightless).await;
    assert_eq!(refused.expect_err("nonsense").code, "shares_invalid");
    assert_eq!(*to.mover.attempt("tr_1").share.lock(), Some(share(7)));
    site.hub.set_share(&id("tr_1"), "").await.expect("told");
    assert_eq!(*to.mover.attempt("tr_1").share.lock(), None);
    let refused = site
        .hub
        .set_shares(from.key, &LINKS.replace("1000", "0"))
        .await;
    assert_eq!(refused.expect_err("nonsense").code, "shares_invalid");
    assert_eq!(*from.mover.links.lock(), links());

    site.hub
        .stop_attempt(&id("tr_1"), "enough")
        .await
        .expect("stopped");
    site.end_of("tr_1").await;
    from.restart(&site.clock);
    until(|| *from.mover.links.lock() == links()).await;
    // One that is away hears them when it comes.
    let gone = SigningKey::from_seed(&[77; 32]).public();
    site.hub.set_shares(gone, LINKS).await.expect("kept");
}

#[tokio::test]
async fn rate_stop_and_forget_reach_both_nodes() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let ticket = site.ticket_with("tr_1", &from, &to, |body| {
        body["rate_ceiling_bps"] = json!("1000");
    });
    start(&site, &ticket, "tr_1").await.expect("started");
    site.hub
        .set_rate(&id("tr_1"), Some(5000))
        .await
        .expect("set");
    assert_eq!(*from.mover.attempt("tr_1").rate.lock(), Some(1000));
    site.hub
        .set_rate(&id("tr_1"), Some(500))
        .await
        .expect("set");
    assert_eq!(*to.mover.attempt("tr_1").rate.lock(), Some(500));

    assert_eq!(
        site.hub
            .forget(&id("tr_1"), &[])
            .await
            .expect_err("refused")
            .code,
        "already_running"
    );
    site.hub
        .stop_attempt(&id("tr_1"), "lunch")
        .await
        .expect("stopped");
    let ended = site.end_of("tr_1").await;
    assert_eq!(
        (ended.outcome, ended.problem.expect("a reason").message),
        (Outcome::Stopped, "lunch".to_owned())
    );
    assert_eq!(
        site.hub
            .stop_attempt(&id("tr_1"), "")
            .await
            .expect_err("over")
            .code,
        "attempt_unknown"
    );

    let forgotten = site.hub.forget(&id("tr_1"), &[]).await;
    forgotten.expect("forgotten");
    assert_eq!(
        (
            from.mover.forgotten.lock().len(),
            to.mover.forgotten.lock().len()
        ),
        (1, 1)
    );
    // The hub knows nothing of it any more; the service still knows its nodes.
    let again = site.hub.forget(&id("tr_1"), &[to.key]).await;
    again.expect("forgotten again");
    assert_eq!(
        (
            from.mover.forgotten.lock().len(),
            to.mover.forgotten.lock().len()
        ),
        (1, 2)
    );
}

#[tokio::test]
async fn an_attempt_that_can_not_start_leaves_what_is_known_of_the_one_before() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let first = site.ticket("tr_1", &from, &to);
    start(&site, &first, "tr_1").await.expect("started");
    site.hub
        .stop_attempt(&id("tr_1"), "lunch")
        .await
        .expect("stopped");
    assert_eq!(site.end_of("tr_1").await.outcome, Outcome::Stopped);
    let second = site.ticket_with("tr_1", &from, &to, |body| {
        body["attempt"] = json!("2");
        body["execution"]["destination"]["root"] = json!("none");
    });
    let refused = start(&site, &second, "tr_1").await.expect_err("refused");
    assert_eq!(refused.code, "root_unknown");

    // Its end is still told until it is stored, and its nodes are still known.
    site.hub.renew(&first).await.expect_err("it has ended");
    let ended = site.end_of("tr_1").await;
    assert_eq!((ended.id.attempt, ended.outcome), (1, Outcome::Stopped));
    site.hub.forget(&id("tr_1"), &[]).await.expect("forgotten");
    assert_eq!(
        (
            from.mover.forgotten.lock().len(),
            to.mover.forgotten.lock().len()
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn only_a_renewal_of_its_own_ticket_prolongs_an_attempt() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    site.clock.forward(600_000);
    let other = site.ticket_with("tr_1", &from, &to, |body| body["attempt"] = json!("2"));
    assert_eq!(
        site.hub.renew(&other).await.expect_err("refused").code,
        "ticket_no_renewal"
    );
    let wider = site.ticket_with("tr_1", &from, &to, |body| {
        body["execution"]["max_files"] = json!("101");
    });
    assert_eq!(
        site.hub.renew(&wider).await.expect_err("refused").code,
        "ticket_no_renewal"
    );
    site.hub
        .renew(&site.ticket("tr_1", &from, &to))
        .await
        .expect("renewed");
    assert!(
        from.mover.attempt("tr_1").renewed.lock().is_some()
            && to.mover.attempt("tr_1").renewed.lock().is_some()
    );
}

#[tokio::test]
async fn a_running_attempt_survives_a_restart_of_the_service() {
    let mut site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    site.restart_hub(&[from.key, to.key]).await;
    *to.mover.attempt("tr_1").progress.lock() = ProgressCounts {
        files_done: 7,
        ..ProgressCounts::default()
    };
    site.next(|event| matches!(event, HubEvent::Progress(_, counts) if counts.files_done == 7))
        .await;
    complete(&site, (&from, &to), "tr_1", "x");
    assert_eq!(site.end_of("tr_1").await.outcome, Outcome::Complete);
}

#[tokio::test]
async fn the_last_progress_before_the_end_is_what_the_destination_had_counted() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    let counted = ProgressCounts {
        files_done: 7,
        bytes_durable: 70,
        ..ProgressCounts::default()
    };
    *to.mover.attempt("tr_1").progress.lock() = counted.clone();
    *from.mover.attempt("tr_1").progress.lock() = ProgressCounts {
        files_done: 99,
        ..ProgressCounts::default()
    };
    complete(&site, (&from, &to), "tr_1", "x");
    let mut last = None;
    let end = site.next_with(|event| match event {
        HubEvent::Progress(id, counts) => {
            last = Some((id.clone(), (**counts).clone()));
            false
        }
        event => matches!(event, HubEvent::Ended(_)),
    });
    end.await;
    assert_eq!(last, Some((attempt("tr_1"), counted)));
}

#[tokio::test]
async fn an_end_without_a_hub_is_told_when_it_is_back() {
    let mut site = Site::start().await;
    let (from, mut to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    site.hub.close().await;
    from.attachment(Result::is_err).await.expect_err("detached");
    to.attachment(Result::is_err).await.expect_err("detached");
    complete(&site, (&from, &to), "tr_1", "x");
    until(|| to.state.join("ends/tr_1-1.json").exists()).await;
    // Not even the end of the node's process loses it.
    to.restart(&site.clock);
    site.restart_hub(&[from.key, to.key]).await;
    let ended = site.end_of("tr_1").await;
    assert_eq!(
        (ended.outcome, ended.statements.len()),
        (Outcome::Complete, 2)
    );
}

#[tokio::test]
async fn an_attempt_that_a_node_lost_ends_on_both() {
    let site = Site::start().await;
    let (mut from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    from.restart(&site.clock);
    let ended = site.end_of("tr_1").await;
    let problem = ended.problem.expect("a reason");
    assert_eq!(
        (ended.outcome, &*problem.code, problem.retryable),
        (Outcome::Stopped, "stopped", true)
    );
    start(
        &site,
        &site.ticket_with("tr_1", &from, &to, |body| body["attempt"] = json!("2")),
        "tr_1",
    )
    .await
    .expect("started");
}

#[tokio::test]
async fn the_end_of_a_lost_attempt_is_never_taken_for_that_of_the_next() {
    let site = Site::start().await;
    let (mut from, mut to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    from.restart(&site.clock);
    to.restart(&site.clock);
    for node in [&from, &to] {
        node.attachment(Result::is_ok).await.expect("attached");
    }
    // While the hub still finds out what the nodes have lost.
    let second = site.ticket_with("tr_1", &from, &to, |body| body["attempt"] = json!("2"));
    start(&site, &second, "tr_1").await.expect("started");
    complete(&site, (&from, &to), "tr_1", "x");
    let ended = async {
        loop {
            let ended = site.end_of("tr_1").await;
            if ended.id.attempt == 2 {
                return ended;
            }
        }
    };
    assert_eq!(ended.await.outcome, Outcome::Complete);
}

#[tokio::test]
async fn a_node_that_never_comes_back_does_not_keep_its_transfer() {
    let site = Site::start().await;
    let (from, mut to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    drop(to.node.take());
    site.next(|event| matches!(event, HubEvent::NodeDetached { .. }))
        .await;
    from.mover.attempt("tr_1").finish(MoveEnd {
        outcome: Outcome::Failed,
        problem: Some(Problem {
            code: "peer_unreachable".into(),
            message: "gone".to_owned(),
            retryable: true,
        }),
        statements: Vec::new(),
        files_list: None,
        failed_list: None,
    });
    site.clock.forward(961_000);
    let ended = site.end_of("tr_1").await;
    let problem = ended.problem.expect("a reason");
    assert_eq!(
        (ended.outcome, problem.is(ControlCode::NodeLost)),
        (Outcome::Failed, true)
    );
}

#[tokio::test]
async fn the_attempts_of_a_revoked_node_stop_at_both_ends() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    site.hub.revoke(to.key);
    let ended = site.end_of("tr_1").await;
    assert_eq!(ended.problem.expect("a reason").code, "node_revoked");
    // The other node is free for the next attempt.
    let other = site.node("other").await;
    start(&site, &site.ticket("tr_1", &from, &other), "tr_1")
        .await
        .expect("started");
}

#[tokio::test]
async fn a_later_attempt_takes_the_place_of_an_earlier_one() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let of =
        |number: &str| site.ticket_with("tr_1", &from, &to, |body| body["attempt"] = json!(number));
    start(&site, &of("2"), "tr_1").await.expect("started");
    assert_eq!(
        start(&site, &of("1"), "tr_1")
            .await
            .expect_err("refused")
            .code,
        "already_running"
    );
    start(&site, &of("3"), "tr_1").await.expect("started");
    complete(&site, (&from, &to), "tr_1", "x");
    let ended = site.end_of("tr_1").await;
    assert_eq!((ended.id.attempt, ended.outcome), (3, Outcome::Complete));
}

fn journal_of(site: &Site) -> PathBuf {
    site.folder.path().join("hub/attempts.jsonl")
}

/// What the hub's journal says last.
fn record_on_disk(site: &Site) -> String {
    let text = std::fs::read_to_string(journal_of(site)).expect("a journal");
    text.lines().next_back().unwrap_or_default().to_owned()
}

/// Leaves the only record, whose attempt is over, in a file of its own, with `over` in place of that.
fn as_an_earlier_release_kept_it(site: &Site, over: &str) -> PathBuf {
    let line: serde_json::Value = serde_json::from_str(&record_on_disk(site)).expect("JSON");
    let text = line["record"].to_string();
    assert!(text.contains("\"over\":true"), "{text}");
    std::fs::remove_file(journal_of(site)).expect("removed");
    let folder = site.folder.path().join("hub/attempts");
    std::fs::create_dir(&folder).expect("a folder");
    let path = folder.join("tr_1.json");
    std::fs::write(&path, text.replace("\"over\":true", over)).expect("written");
    path
}

#[tokio::test]
async fn an_end_is_told_again_until_the_service_has_stored_it() {
    let mut site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    complete(&site, (&from, &to), "tr_1", "x");
    let first = site.end_of("tr_1").await;
    // The service ends before it has stored what it was told.
    site.restart_hub(&[from.key, to.key]).await;
    let second = site.end_of("tr_1").await;
    assert_eq!(second.outcome, Outcome::Complete);
    assert_eq!(second.statements, first.statements);
    assert_eq!(second.files_list, first.files_list);
    // A service that asks for a running attempt learns that it has ended, and how.
    let renewed = site.hub.renew(&site.ticket("tr_1", &from, &to)).await;
    assert_eq!(renewed.expect_err("it is over").code, "attempt_unknown");
    assert_eq!(site.end_of("tr_1").await.statements, first.statements);

    site.hub.acknowledge(&attempt("tr_1")).await.expect("noted");
    site.hub.acknowledge(&attempt("tr_1")).await.expect("twice");
    until(|| !record_on_disk(&site).contains("\"record\":{")).await;
    site.restart_hub(&[from.key, to.key]).await;
    let next = site
        .next(|event| !matches!(event, HubEvent::Progress(..)))
        .await;
    assert!(matches!(next, HubEvent::NodeAttached { .. }), "{next:?}");
}

#[tokio::test]
async fn what_an_earlier_release_noted_as_stored_is_neither_told_nor_kept() {
    let mut site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    complete(&site, (&from, &to), "tr_1", "x");
    site.end_of("tr_1").await;
    site.hub.close().await;
    let record = as_an_earlier_release_kept_it(&site, "\"over\":true,\"stored\":true");
    site.restart_hub(&[from.key, to.key]).await;
    let next = site
        .next(|event| !matches!(event, HubEvent::Progress(..)))
        .await;
    assert!(matches!(next, HubEvent::NodeAttached { .. }), "{next:?}");
    assert!(!record.exists());
}

#[tokio::test]
async fn what_has_arrived_without_the_statement_of_its_source_is_asked_again_and_not_failed_for_good()
 {
    let site = Site::start().await;
    let (mut from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    to.mover
        .attempt("tr_1")
        .complete(to.key, Role::Destination, site.folder.path(), "x");
    until(|| {
        to.state
            .join("ends")
            .read_dir()
            .is_ok_and(|ends| ends.count() == 0)
    })
    .await;
    // Its connection breaks, and with its process the statement is gone.
    from.restart(&site.clock);
    let ended = site.end_of("tr_1").await;
    let problem = ended.problem.expect("a reason");
    assert_eq!(
        (ended.outcome, problem.retryable),
        (Outcome::Failed, true),
        "{problem}"
    );
}

#[tokio::test]
async fn the_statement_of_a_source_whose_connection_broke_is_waited_for() {
    let mut site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    to.mover
        .attempt("tr_1")
        .complete(to.key, Role::Destination, site.folder.path(), "x");
    until(|| {
        to.state
            .join("ends")
            .read_dir()
            .is_ok_and(|ends| ends.count() == 0)
    })
    .await;
    site.hub.close().await;
    from.attachment(Result::is_err).await.expect_err("detached");
    from.mover
        .attempt("tr_1")
        .complete(from.key, Role::Source, site.folder.path(), "");
    until(|| from.state.join("ends/tr_1-1.json").exists()).await;
    site.restart_hub(&[from.key, to.key]).await;
    let ended = site.end_of("tr_1").await;
    assert_eq!(
        (ended.outcome, ended.statements.len()),
        (Outcome::Complete, 2)
    );
}

#[tokio::test]
async fn a_stop_while_an_attempt_starts_reaches_the_node_that_starts_last() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let (heard, go) = from.mover.hold();
    // The end of the node that starts first would stop the other, too.
    let ticket = site.ticket("tr_deaf", &from, &to);
    let stopping = async {
        let heard = tokio::task::spawn_blocking(move || heard.recv_timeout(support::WAIT));
        heard.await.expect("no panic").expect("it starts");
        let stopped = site.hub.stop_attempt(&id("tr_deaf"), "lunch").await;
        stopped.expect("noted");
        go.send(()).expect("it waits");
    };
    let (started, ()) = tokio::join!(start(&site, &ticket, "tr_deaf"), stopping);
    started.expect("started");
    let last = to.mover.attempt("tr_deaf");
    until(|| last.asked_to_stop.load(Ordering::Relaxed)).await;
    from.mover.attempt("tr_deaf").finish(MoveEnd {
        outcome: Outcome::Stopped,
        problem: None,
        statements: Vec::new(),
        files_list: None,
        failed_list: None,
    });
    assert_eq!(site.end_of("tr_deaf").await.outcome, Outcome::Stopped);
}

#[tokio::test]
async fn a_stop_while_a_node_checks_lists_keeps_the_attempt_from_beginning() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let (heard, go) = from.mover.hold();
    let ticket = site.ticket("tr_asks", &from, &to);
    let stopping = async {
        let heard = tokio::task::spawn_blocking(move || heard.recv_timeout(support::WAIT));
        heard.await.expect("no panic").expect("it starts");
        let stopped = site.hub.stop_attempt(&id("tr_asks"), "lunch").await;
        stopped.expect("noted");
        go.send(()).expect("it waits");
    };
    let (started, ()) = tokio::join!(start(&site, &ticket, "tr_asks"), stopping);
    let problem = started.expect_err("stopped");
    assert_eq!((&*problem.code, &*problem.message), ("stopped", "lunch"));
    assert!(!from.mover.started("tr_asks") && !to.mover.started("tr_asks"));
    // Its place is free again.
    let again = start(&site, &ticket, "tr_asks").await;
    again.expect("nobody stops this one");
}

#[tokio::test]
async fn a_stop_while_a_list_comes_keeps_the_attempt_from_beginning() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let (lists, _) = site.folders("tr_1");
    // A list of which nothing comes.
    let list = lists.join("deletes.jsonl");
    let (owner, is_fifo) = (
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        FileType::Fifo,
    );
    rustix::fs::mknodat(CWD, &list, is_fifo, owner, 0).expect("a fifo");
    let ticket = site.ticket_with("tr_1", &from, &to, |body| {
        body["execution"]["action"] = json!("sync");
        body["execution"]["delete_extraneous"] = json!(true);
        body["execution"]["deletes"]["count"] = json!("1");
    });
    let stopping = async {
        // Opened when somebody wants to read it.
        let opened = move || std::fs::File::options().write(true).open(list);
        let opened = tokio::task::spawn_blocking(opened).await;
        let wanted = opened.expect("no panic").expect("a fifo");
        let stopped = site.hub.stop_attempt(&id("tr_1"), "lunch").await;
        stopped.expect("noted");
        wanted
    };
    let (started, wanted) = tokio::join!(start(&site, &ticket, "tr_1"), stopping);
    let problem = started.expect_err("stopped");
    assert_eq!((&*problem.code, &*problem.message), ("stopped", "lunch"));
    assert!(!to.mover.started("tr_1"));
    let kept = std::fs::read_dir(to.state.join("lists")).expect("a folder");
    assert_eq!(kept.count(), 0, "what had come of the list is gone");
    drop(wanted);
}

#[tokio::test]
async fn an_end_inside_one_node_that_a_killed_hub_did_not_call_the_last_is_told() {
    let mut site = Site::start().await;
    let node = site.node("only").await;
    start(&site, &site.ticket("tr_1", &node, &node), "tr_1")
        .await
        .expect("started");
    let script = node.mover.attempt("tr_1");
    let list = site.folder.path().join("files.jsonl");
    std::fs::write(&list, "x").expect("a file");
    script.finish(MoveEnd {
        outcome: Outcome::Complete,
        problem: None,
        statements: [Role::Destination, Role::Source]
            .map(|role| script.statement(node.key, role, "x"))
            .to_vec(),
        files_list: Some(list),
        failed_list: None,
    });
    assert_eq!(site.end_of("tr_1").await.outcome, Outcome::Complete);
    until(|| std::fs::read_dir(node.state.join("ends")).is_ok_and(|ends| ends.count() == 0)).await;
    // As an earlier release left it that was killed between its two writes. The node has dropped its end.
    site.hub.close().await;
    as_an_earlier_release_kept_it(&site, "\"over\":false");
    site.restart_hub(&[node.key]).await;
    let ended = site.end_of("tr_1").await;
    assert_eq!(
        (ended.outcome, ended.statements.len()),
        (Outcome::Complete, 2)
    );
}

#[tokio::test]
async fn a_stop_reaches_the_nodes_when_the_disk_of_the_service_takes_nothing() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    // Nothing can be written where the journal was.
    let (journal, aside) = (journal_of(&site), site.folder.path().join("aside"));
    std::fs::rename(&journal, &aside).expect("renamed");
    std::fs::create_dir(&journal).expect("a folder");
    let stopped = site.hub.stop_attempt(&id("tr_1"), "lunch").await;
    assert_eq!(stopped.expect_err("not kept").code, "state_failed");
    for node in [&from, &to] {
        until(|| node.state.join("ends/tr_1-1.json").exists()).await;
    }
    std::fs::remove_dir(&journal).expect("it is empty");
    std::fs::rename(&aside, &journal).expect("renamed");
    let ended = site.end_of("tr_1").await;
    assert_eq!(
        (ended.outcome, ended.problem.expect("a reason").message),
        (Outcome::Stopped, "lunch".to_owned())
    );
}

#[tokio::test]
async fn a_renewal_reaches_the_nodes_when_the_disk_of_the_service_takes_nothing() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    // Nothing can be written where the journal was.
    let journal = journal_of(&site);
    std::fs::remove_file(&journal).expect("removed");
    std::fs::create_dir(&journal).expect("a folder");
    let renewed = site.hub.renew(&site.ticket("tr_1", &from, &to)).await;
    assert_eq!(renewed.expect_err("not kept").code, "state_failed");
    for node in [&from, &to] {
        assert!(node.mover.attempt("tr_1").renewed.lock().is_some());
    }
}

#[tokio::test]
async fn a_renewal_while_the_lists_of_an_end_are_sent_is_no_unknown_attempt() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    // A list that takes as long to be read as the test likes.
    let list = site.folder.path().join("slow.jsonl");
    let (pipe, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &list, pipe, mode, 0).expect("a pipe");
    let script = to.mover.attempt("tr_1");
    script.finish(MoveEnd {
        outcome: Outcome::Complete,
        problem: None,
        statements: vec![script.statement(to.key, Role::Destination, "x\n")],
        files_list: Some(list.clone()),
        failed_list: None,
    });
    from.mover
        .attempt("tr_1")
        .complete(from.key, Role::Source, site.folder.path(), "");
    let mut writer = None;
    until(|| {
        let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
        // There is nobody to write to before the node reads.
        writer = rustix::fs::open(&list, flags, rustix::fs::Mode::empty()).ok();
        writer.is_some()
    })
    .await;
    let renewed = site.hub.renew(&site.ticket("tr_1", &from, &to)).await;
    renewed.expect("it has ended, and that is on its way");
    let mut writer = std::fs::File::from(writer.expect("open"));
    std::io::Write::write_all(&mut writer, b"x\n").expect("read");
    drop(writer);
    assert_eq!(site.end_of("tr_1").await.outcome, Outcome::Complete);
}

#[tokio::test]
async fn a_root_that_vanishes_stops_what_runs_on_it_and_starts_nothing_until_it_is_back() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    let away = to.root.with_extension("away");
    std::fs::rename(&to.root, &away).expect("unmounted, so to say");
    let missing = |event: &HubEvent| matches!(event, HubEvent::NodeAttached { node, missing_roots, .. } if *node == to.key && !missing_roots.is_empty());
    // In whichever order they come.
    let (mut is_told, mut stopped) = (false, None);
    site.next_with(|event| {
        is_told |= missing(event);
        if let HubEvent::Ended(ended) = event {
            stopped = Some(ended.clone());
        }
        is_told && stopped.is_some()
    })
    .await;
    let problem = stopped.and_then(|end| end.problem).expect("a reason");
    assert_eq!((&*problem.code, problem.retryable), ("root_missing", true));
    assert!(problem.message.contains("cannot open"), "{problem}");
    let again = start(&site, &site.ticket("tr_2", &from, &to), "tr_2").await;
    assert_eq!(again.expect_err("refused").code, "root_missing");
    std::fs::rename(&away, &to.root).expect("mounted again");
    let there = |event: &HubEvent| matches!(event, HubEvent::NodeAttached { node, missing_roots, .. } if *node == to.key && missing_roots.is_empty());
    site.next(there).await;
    start(&site, &site.ticket("tr_3", &from, &to), "tr_3")
        .await
        .expect("started");
}

#[tokio::test]
async fn a_node_that_serves_all_the_requests_it_can_still_stops_at_once() {
    const REQUESTS: usize = 64;
    let site = Rc::new(Site::start().await);
    let (from, to) = two(&site).await;
    start(&site, &site.ticket("tr_1", &from, &to), "tr_1")
        .await
        .expect("started");
    let tasks = LocalSet::new();
    for number in 0..REQUESTS {
        let (site, transfer) = (Rc::clone(&site), format!("tr_slow{number}"));
        let ticket = site.ticket(&transfer, &from, &to);
        tasks.spawn_local(async move { start(&site, &ticket, &transfer).await });
    }
    let steering = async {
        let mut slow = from.mover.slow.subscribe();
        let all = slow.wait_for(|count| *count == REQUESTS);
        let all = tokio::time::timeout(support::WAIT, all).await;
        drop(all.expect("they come in time"));
        let permit = site.permit(&from, "");
        let path = support::path("x");
        let browsed = site.hub.browse(&permit, &path, None, 1).await;
        assert_eq!(browsed.expect_err("busy").code, "node_busy");
        let renewed = site.hub.renew(&site.ticket("tr_1", &from, &to)).await;
        renewed.expect("renewed");
        let forgotten = site.hub.forget(&id("tr_old"), &[from.key]).await;
        forgotten.expect("forgotten");
        let stopped = site.hub.stop_attempt(&id("tr_1"), "lunch").await;
        stopped.expect("stopped");
        let ended = site.end_of("tr_1").await;
        assert_eq!(ended.outcome, Outcome::Stopped);
        from.mover.slow.send_replace(usize::MAX);
    };
    tasks.run_until(steering).await;
}

/// How many ends a node keeps to tell.
fn ends(node: &TestNode) -> usize {
    let kept = node.state.join("ends").read_dir().expect("a folder");
    kept.filter(|end| {
        let end = end.as_ref().expect("an end").path();
        end.extension().is_some_and(|kind| kind == "json")
    })
    .count()
}

/// The list of files of the end that a node keeps of the first attempt.
fn list_of(node: &TestNode, transfer: &str) -> PathBuf {
    let path = node.state.join("ends").join(format!("{transfer}-1.json"));
    let text = std::fs::read_to_string(path).expect("an end");
    let end: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    end["files_list"].as_str().expect("a list").into()
}

/// Two nodes on which `tr_1` and `tr_2` ended while the hub was away; with this list of files.
async fn two_with_ends_to_tell(site: &Site, files: &str) -> (TestNode, TestNode) {
    let (from, to) = two(site).await;
    let transfers = ["tr_1", "tr_2"];
    for transfer in transfers {
        start(site, &site.ticket(transfer, &from, &to), transfer)
            .await
            .expect("started");
    }
    site.hub.close().await;
    from.attachment(Result::is_err).await.expect_err("detached");
    to.attachment(Result::is_err).await.expect_err("detached");
    for transfer in transfers {
        complete(site, (&from, &to), transfer, files);
    }
    until(|| ends(&from) == 2 && ends(&to) == 2).await;
    (from, to)
}

#[tokio::test]
async fn an_end_whose_list_can_not_be_read_is_told_whole_later() {
    let mut site = Site::start().await;
    let (from, to) = two_with_ends_to_tell(&site, "{\"a\":1}\n").await;
    let keys = [from.key, to.key];
    let list = list_of(&to, "tr_1");
    std::fs::remove_file(&list).expect("removed");
    std::fs::create_dir(&list).expect("what is there and can't be read");
    site.restart_hub(&keys).await;
    // Told after the other.
    assert_eq!(site.end_of("tr_2").await.outcome, Outcome::Complete);
    // While nobody asks for it, or it is gone for a moment.
    site.hub.close().await;
    to.attachment(Result::is_err).await.expect_err("detached");
    std::fs::remove_dir(&list).expect("removed");
    std::fs::write(&list, "{\"a\":1}\n").expect("a list");
    site.restart_hub(&keys).await;
    let told = site.end_of("tr_1").await;
    let files = told.files_list.expect("a list");
    assert_eq!(
        std::fs::read_to_string(files).expect("a list"),
        "{\"a\":1}\n"
    );
    until(|| ends(&to) == 0).await;
}

#[tokio::test]
async fn an_end_whose_list_is_gone_holds_up_no_other_and_is_no_lie() {
    let mut site = Site::start().await;
    let (from, to) = two_with_ends_to_tell(&site, "x").await;
    std::fs::remove_file(list_of(&to, "tr_1")).expect("removed");
    site.restart_hub(&[from.key, to.key]).await;
    let mut ends_told = HashMap::new();
    while ends_told.len() < 2 {
        let event = site.next(|event| matches!(event, HubEvent::Ended(_))).await;
        if let HubEvent::Ended(end) = event {
            ends_told.insert(end.id.transfer.to_string(), end);
        }
    }
    assert_eq!(ends_told["tr_2"].outcome, Outcome::Complete);
    // Nobody can say how it ended: the node says just that, once, and another attempt is of use.
    let ended = &ends_told["tr_1"];
    let lost = ended.problem.as_ref().expect("a reason");
    assert_eq!(
        (ended.outcome, &*lost.code, lost.retryable),
        (Outcome::Failed, "state_failed", true)
    );
    assert!(lost.message.contains("is gone"), "{lost}");
    assert_eq!((ended.node, ends_told["tr_2"].node), (Some(to.key), None));
    until(|| ends(&to) == 0).await;
}

#[tokio::test]
async fn a_renewal_of_a_clock_that_was_set_back_takes_no_time_away() {
    let site = Site::start().await;
    let (from, to) = two(&site).await;
    let first = site.ticket("tr_1", &from, &to);
    start(&site, &first, "tr_1").await.expect("started");
    site.clock.forward(-600_000);
    let earlier = site.ticket_with("tr_1", &from, &to, |body| {
        body["rate_ceiling_bps"] = json!("1000");
    });
    site.hub.renew(&earlier).await.expect("taken");
    for node in [&from, &to] {
        let script = node.mover.attempt("tr_1");
        let renewed = script.renewed.lock().clone().expect("renewed");
        let ends = |ticket: &VerifiedTicket| ticket.ticket().expires;
        assert_eq!(ends(&renewed), ends(&script.order.ticket));
        assert_eq!(renewed.ticket().rate_ceiling_bps(), Some(1000));
    }
}
