//! Invariant 6: a node needs few open files, however many it copies.

mod session_support;

use std::process::Command;
use std::sync::Arc;

use headrace_node::session::{Outcome, Role, start};
use rustix::process::{Resource, Rlimit, setrlimit};
use session_support::{Pair, content, put, tree};

/// Says to the child that it is one.
const CHILD: &str = "HEADRACE_TEST_OPEN_FILES";
const LIMIT: u64 = 1024;
/// How many files are copied; `HEADRACE_TEST_FILES=1000000` is the form for a machine with time.
const FILES: &str = "HEADRACE_TEST_FILES";

/// Run one test of this file in a process of its own that may have only [`LIMIT`] files open.
fn in_a_tight_process(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        let limit = Rlimit {
            current: Some(LIMIT),
            maximum: Some(LIMIT),
        };
        setrlimit(Resource::Nofile, limit).expect("a lower limit");
        return true;
    }
    let program = std::env::current_exe().expect("this program");
    let status = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .status();
    assert!(status.expect("it runs").success());
    false
}

/// Many small files, each hundred in a folder of its own, and some larger ones.
fn fill(pair: &Pair) -> u64 {
    let count = std::env::var(FILES).map_or(20_000, |count| count.parse().expect("a number"));
    let few = content(1000, 1);
    for number in 0..count {
        let name = format!("{:05}/{:02}", number / 100, number % 100);
        put(&pair.from(), name, &few[..number % 1000]);
    }
    for number in 0..40 {
        put(
            &pair.from(),
            format!("large/{number}"),
            &content(700_000, number),
        );
    }
    count as u64 + 40
}

#[test]
fn invariant_6_a_copy_between_two_nodes_needs_few_open_files() {
    if !in_a_tight_process("invariant_6_a_copy_between_two_nodes_needs_few_open_files") {
        return;
    }
    let pair = Pair::new();
    let count = fill(&pair);
    let (source, destination) = pair.run();
    assert_eq!(source.outcome, Outcome::Complete, "{source:?}");
    let totals = destination.statement.expect("a statement").totals;
    assert_eq!((totals.files, totals.failed), (count, 0));
    assert!(tree(&pair.from()) == tree(&pair.to()), "the trees differ");
}

#[test]
fn invariant_6_a_local_copy_needs_few_open_files() {
    if !in_a_tight_process("invariant_6_a_local_copy_needs_few_open_files") {
        return;
    }
    let mut pair = Pair::new();
    let count = fill(&pair);
    pair.ticket = session_support::ticket(1, 1);
    let root = Arc::clone(&pair.source.root);
    let mut spec = pair.source_spec();
    spec.role = Role::Local(Arc::clone(&root), root);
    let end = start(&pair.source.plane, spec).expect("it starts").wait();
    let totals = end.statement.as_ref().map(|statement| statement.totals);
    let totals = totals.unwrap_or_else(|| panic!("{end:?}"));
    assert_eq!((totals.files, totals.failed), (count, 0));
    assert!(
        tree(&pair.from()) == tree(&pair.source.data.join("to")),
        "the trees differ"
    );
}
