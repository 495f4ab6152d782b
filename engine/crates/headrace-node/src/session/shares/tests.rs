//! Threads that take from links.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Scope;

use headrace_io::sockopt;

use super::*;

const NEVER: &dyn Fn() -> bool = &|| false;

fn links(rate_bps: u64) -> Links {
    let rate = format!(
        r#"{{"name": "uplink", "rate_bps": {rate_bps}, "rest_percent": 10, "classes": []}}"#
    );
    let free = r#"{"name": "free", "rate_bps": null, "rest_percent": 10, "classes": []}"#;
    Links::parse(&format!(r#"{{"links": [{rate}, {free}]}}"#)).expect("links")
}

fn share(weight: u32, links: &[&str]) -> TransferShare {
    let names = serde_json::json!(links);
    let text = serde_json::json!({"class": "bulk", "weight": weight, "source_links": names, "destination_links": []});
    TransferShare::parse(&text.to_string()).expect("a share")
}

fn claim(links: &NodeLinks, weight: u32, names: &[&str]) -> Claim {
    let claim = Claim::new(links, Direction::Out);
    claim.set_share(Some(share(weight, names)));
    claim
}

/// Take blocks until `over`; counts them.
fn keep_taking<'scope>(
    scope: &'scope Scope<'scope, '_>,
    claim: &'scope Claim,
    (taken, over): (&'scope AtomicU64, &'scope AtomicBool),
) {
    scope.spawn(move || {
        while !over.load(Ordering::Relaxed) {
            claim.take(32 << 10, 0, &|| over.load(Ordering::Relaxed));
            taken.fetch_add(1, Ordering::Relaxed);
        }
    });
}

#[test]
fn who_is_on_no_link_of_this_node_and_who_is_on_one_without_a_rate_never_waits() {
    let node = NodeLinks::default();
    node.set(&links(1));
    for names in [&[][..], &["elsewhere"], &["free"]] {
        let claim = claim(&node, 1, names);
        (0..1000).for_each(|_| claim.take(1 << 20, 4096, NEVER));
        assert_eq!(claim.is_on_links(), !names.is_empty());
    }
    // It schedules what it sends, and has no part in this link as a receiver.
    let receiver = Claim::new(&node, Direction::In);
    receiver.set_share(Some(share(1, &["uplink"])));
    receiver.take(1 << 30, 0, NEVER);
}

#[test]
fn what_is_received_over_a_link_has_a_rate_of_its_own() {
    let node = NodeLinks::default();
    let text = r#"{"links": [{"name": "uplink", "rate_bps": 1000, "rest_percent": 10, "classes": [],
        "receive": {"rate_bps": null, "rest_percent": 10, "classes": []}}]}"#;
    node.set(&Links::parse(text).expect("links"));
    let names = serde_json::json!({"class": "bulk", "weight": 1, "destination_links": ["uplink"]});
    let receiver = Claim::new(&node, Direction::In);
    receiver.set_share(TransferShare::parse(&names.to_string()).ok());
    assert!(receiver.is_on_links());
    receiver.take(1 << 30, 0, NEVER);
}

#[test]
fn threads_of_transfers_share_a_link_by_weight_however_many_they_are() {
    let node = NodeLinks::default();
    node.set(&links(50_000_000));
    let claims = [1, 2, 4].map(|weight| claim(&node, weight, &["uplink", "free"]));
    let taken = [0; 3].map(AtomicU64::new);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (number, threads) in [8, 4, 6].into_iter().enumerate() {
            (0..threads).for_each(|_| keep_taking(scope, &claims[number], (&taken[number], &over)));
        }
        while taken
            .iter()
            .map(|one| one.load(Ordering::Relaxed))
            .sum::<u64>()
            < 700
        {
            std::thread::yield_now();
        }
        over.store(true, Ordering::Relaxed);
    });
    let [one, two, four] = taken.map(AtomicU64::into_inner);
    assert!(
        (93..=112).contains(&one) && (187..=215).contains(&two),
        "{one} {two} {four}"
    );
}

#[test]
fn who_waits_goes_on_when_it_is_over_when_the_link_goes_and_when_its_share_leaves_the_link() {
    let waits = |end: &dyn Fn(&NodeLinks, &Claim, &AtomicBool)| {
        let node = NodeLinks::default();
        // A byte in eight seconds.
        node.set(&links(1));
        let (claim, over) = (claim(&node, 1, &["uplink"]), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| claim.take(1 << 20, 0, &|| over.load(Ordering::Relaxed)));
            end(&node, &claim, &over);
            taken.join().expect("no panic");
        });
    };
    waits(&|_, _, over| over.store(true, Ordering::Relaxed));
    waits(&|node, _, _| node.set(&Links::default()));
    waits(&|node, _, _| node.set(&links(100_000_000_000)));
    waits(&|_, claim, over| {
        claim.set_share(Some(share(1, &["free"])));
        // It may not have begun to wait before.
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn who_is_told_to_stop_waits_no_longer() {
    let node = NodeLinks::default();
    node.set(&links(1));
    let claim = claim(&node, 1, &["uplink"]);
    let asked = std::cell::Cell::new(false);
    let over = || {
        assert!(!asked.replace(true), "it waits on after the stop");
        true
    };
    let share = || claim.share_of("uplink");
    node.out.lines(&["uplink".to_owned()])[0].take((claim.number, &share), 1 << 20, 0, &over);
}

#[test]
fn who_left_a_link_while_it_was_about_to_take_does_not_join_it_again() {
    let node = NodeLinks::default();
    node.set(&links(1));
    for gone in [None, Some(share(1, &["free"]))] {
        let claim = claim(&node, 1, &["uplink"]);
        let found = node.out.lines(&["uplink".to_owned()]);
        let share = || claim.share_of("uplink");
        assert!(found[0].has(claim.number));
        claim.set_share(gone);
        found[0].take((claim.number, &share), 1 << 20, 0, &|| true);
        assert!(!found[0].has(claim.number));
        // It waits on none.
        claim.take(1 << 20, 0, NEVER);
    }
}

#[test]
fn who_leaves_its_links_is_paced_by_none_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("its address");
    let socket = TcpStream::connect(address).expect("a socket");
    let pace = Pace::new(None);
    let _paced = pace.join(&socket).expect("joined");
    let paced = || sockopt::max_pacing(&socket).expect("the kernel says");
    let node = NodeLinks::default();
    node.set(&links(8_000_000));
    let claim = claim(&node, 1, &["uplink"]);
    for gone in [None, Some(share(1, &[]))] {
        claim.change_share(Some(share(1, &["uplink"])), &pace);
        pace.follow(8_000_000);
        claim.change_share(Some(share(2, &["uplink"])), &pace);
        assert_eq!(paced(), Some(1_250_000));
        claim.change_share(gone, &pace);
        assert_eq!(paced(), None);
    }
}

#[test]
fn sockets_are_paced_above_what_was_taken_and_never_above_the_link() {
    let node = NodeLinks::default();
    node.set(&links(800_000_000));
    let claim = claim(&node, 1, &["uplink", "free"]);
    let begin = claim.followed.lock().since;
    let at = |ms| begin + Duration::from_millis(ms);
    let take = |bytes| {
        let mut followed = claim.followed.lock();
        (followed.bytes, followed.waited) = (bytes, true);
    };
    assert_eq!(claim.pacing_bps(at(99)), None);
    take(1_000_000);
    assert_eq!(claim.pacing_bps(at(100)), Some(160_000_000));
    take(0);
    assert_eq!(claim.pacing_bps(at(200)), Some(50_000_000));
    take(9_000_000);
    assert_eq!(claim.pacing_bps(at(300)), Some(800_000_000));
    take(1_000_000);
    claim.set_share(Some(share(1, &["free"])));
    assert_eq!(claim.pacing_bps(at(400)), Some(u64::MAX));
}

#[test]
fn sockets_are_paced_only_while_turns_are_waited_for() {
    let node = NodeLinks::default();
    node.set(&links(100_000_000_000));
    let claim = claim(&node, 1, &["uplink"]);
    let begin = claim.followed.lock().since;
    let at = |ms| begin + Duration::from_millis(ms);
    claim.take(1 << 20, 0, NEVER);
    assert_eq!(claim.pacing_bps(at(100)), Some(u64::MAX));
    node.set(&links(80_000_000));
    // More than passes at once.
    claim.take(1 << 20, 0, NEVER);
    assert!(
        claim
            .pacing_bps(at(200))
            .is_some_and(|bps| bps <= 80_000_000)
    );
    // Nobody waits any more.
    assert_eq!(claim.pacing_bps(at(300)), Some(u64::MAX));
}
