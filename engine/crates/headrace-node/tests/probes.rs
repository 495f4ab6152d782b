//! Probes: legs of a plan that only measures. They move content between memory and storages, and leave no name anywhere.

mod session_support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use headrace_core::code::Code;
use headrace_core::ticket::{Leg, Medium, Probe};
use headrace_node::session::Outcome;
use session_support::{Pair, content, put, tree};

const MIB: u64 = 1 << 20;

/// Two nodes with the ticket of one leg; the folder that it writes to is there.
fn pair(reads: Medium, writes: Medium, max_bytes: u64) -> Pair {
    let mut pair = Pair::new();
    std::fs::create_dir_all(pair.to()).expect("a folder");
    std::fs::create_dir_all(pair.from()).expect("a folder");
    pair.ticket.execution.probe = Some(Probe { max_seconds: 30 });
    pair.ticket.execution.max_bytes = max_bytes;
    pair.ticket.execution.max_files = 1000;
    pair.ticket.leg = Some(Leg { reads, writes });
    pair
}

#[test]
fn each_leg_moves_what_it_may_and_leaves_nothing() {
    for (reads, writes) in [
        (Medium::Memory, Medium::Memory),
        (Medium::Storage, Medium::Memory),
        (Medium::Memory, Medium::Storage),
        (Medium::Storage, Medium::Storage),
    ] {
        let pair = pair(reads, writes, 70 * MIB);
        for number in 0..20 {
            put(
                &pair.from(),
                format!("sub/{number}"),
                &content(4 << 20, number),
            );
        }
        let before = tree(&pair.source.data);
        let below = tree(&pair.destination.data);
        let (source, destination) = pair.run();
        assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
        assert_eq!(source.outcome, Outcome::Complete, "{source:?}");
        let totals = destination.statement.expect("a statement").totals;
        assert_eq!(totals.bytes, 70 * MIB, "{reads:?} {writes:?}");
        assert!(tree(&pair.source.data) == before);
        assert!(tree(&pair.destination.data) == below);
    }
}

#[test]
fn a_leg_of_one_node_leaves_nothing_too() {
    let mut pair = pair(Medium::Memory, Medium::Storage, 70 * MIB);
    pair.ticket.destination_node = pair.ticket.source_node;
    pair.ticket.execution.destination.node = pair.ticket.source_node;
    let spec = headrace_node::session::AttemptSpec {
        ticket: session_support::verified(&pair.ticket, 1),
        role: headrace_node::session::Role::Local(
            pair.source.root.clone(),
            pair.destination.root.clone(),
        ),
        ..pair.source_spec()
    };
    let below = tree(&pair.destination.data);
    let end = headrace_node::session::start(&pair.source.plane, spec)
        .expect("it starts")
        .wait();
    assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
    assert!(tree(&pair.destination.data) == below);
}

#[test]
fn a_leg_that_writes_where_no_folder_is_says_so_before_anything_moves() {
    let refused = |pair: &Pair| {
        headrace_node::session::start(&pair.destination.plane, pair.destination_spec())
            .expect_err("nowhere to write")
            .code
    };
    let pair_to = |writes| pair(Medium::Memory, writes, MIB);
    let gone = pair_to(Medium::Storage);
    std::fs::remove_dir_all(gone.to()).expect("removed");
    assert_eq!(refused(&gone), Code::DestinationMissing);
    std::fs::write(gone.to(), "a file").expect("written");
    assert_eq!(refused(&gone), Code::DestinationNotDirectory);

    let memory = pair_to(Medium::Memory);
    std::fs::remove_dir_all(memory.to()).expect("removed");
    let (_, destination) = memory.run();
    assert_eq!(
        destination.outcome,
        Outcome::Complete,
        "it touches no storage"
    );
}

#[test]
fn a_leg_stops_when_its_time_is_over() {
    let mut pair = pair(Medium::Memory, Medium::Memory, 1 << 40);
    pair.ticket.execution.max_files = 16_384;
    pair.ticket.execution.probe = Some(Probe { max_seconds: 1 });
    let began = Instant::now();
    let (source, destination) = pair.run();
    assert!(began.elapsed() < Duration::from_secs(20));
    for end in [source, destination] {
        assert_eq!(end.outcome, Outcome::Stopped, "{end:?}");
        let failure = end.failure.expect("a reason");
        assert_eq!(failure.code, Code::ProbeOver, "{failure}");
    }
}

#[test]
fn nothing_of_the_storage_is_told_to_the_other_node() {
    let pair = pair(Medium::Storage, Medium::Memory, 70 * MIB);
    put(&pair.from(), "secret name", &content(1 << 20, 1));
    let (_, destination) = pair.run();
    let files = session_support::lines(destination.files_list.as_ref());
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(!format!("{files:?}").contains("secret"));
}

#[test]
fn a_leg_begins_anew_though_the_one_before_arrived() {
    let mut pair = pair(Medium::Memory, Medium::Memory, 70 * MIB);
    let totals = |pair: &Pair| {
        let (_, destination) = pair.run();
        destination.statement.expect("a statement").totals.bytes
    };
    assert_eq!(totals(&pair), 70 * MIB);
    pair.ticket.attempt += 1;
    pair.ticket.shard.fence += 1;
    assert_eq!(totals(&pair), 70 * MIB);
}

#[test]
fn a_killed_node_leaves_no_file() {
    let mut pair = pair(Medium::Memory, Medium::Storage, 1 << 40);
    pair.ticket.execution.max_files = 16_384;
    let below = tree(&pair.destination.data);
    let (source, destination) = pair.start();
    let deadline = Instant::now() + Duration::from_secs(30);
    while destination.progress().bytes_durable == 0 {
        assert!(Instant::now() < deadline, "nothing arrives");
        std::thread::yield_now();
    }
    // What a process leaves that is killed now is what has a name now.
    let now: BTreeMap<_, _> = tree(&pair.destination.data);
    source.stop(headrace_node::session::StopReason::Requested);
    destination.stop(headrace_node::session::StopReason::Requested);
    drop((source.wait(), destination.wait()));
    assert!(now == below, "names: {:?}", now.keys());
}

#[test]
fn a_probe_is_in_no_transfers_way() {
    let mut probe = pair(Medium::Memory, Medium::Storage, 1 << 40);
    probe.ticket.execution.max_files = 16_384;
    let (source, destination) = probe.start();
    let mut other = probe.destination_spec();
    let mut ticket = probe.ticket.clone();
    ticket.leg = None;
    ticket.execution.probe = None;
    ticket.transfer = "tr_other".parse().expect("an id");
    other.ticket = session_support::verified(&ticket, 2);
    let started = headrace_node::session::start(&probe.destination.plane, other);
    let started = started.expect("nobody is in its way");
    for handle in [started, source, destination] {
        handle.stop(headrace_node::session::StopReason::Requested);
        drop(handle.wait());
    }
}
