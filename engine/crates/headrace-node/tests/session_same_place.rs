//! Source and destination that are one file or folder under two names: nothing that deletes touches it.

mod session_support;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use headrace_core::access::Access;
use headrace_core::code::Code;
use headrace_core::name::RelPath;
use headrace_core::ticket::Action;
use headrace_node::session::{AttemptEnd, Outcome, Role, start};
use session_support::{Pair, lines, put, root_of, ticket, tree};

fn path(text: &str) -> RelPath {
    RelPath::from_bytes(text.as_bytes()).expect("a path")
}

/// Two nodes whose roots are the same folder, as where they share a file system, and a transfer between two places in it.
fn sharing(from: &str, to: &str) -> Pair {
    let mut pair = Pair::new();
    pair.destination.root = Arc::clone(&pair.source.root);
    pair.ticket.execution.source.path = path(from);
    pair.ticket.execution.destination.path = path(to);
    pair
}

fn moving(mut pair: Pair) -> Pair {
    pair.ticket.execution.action = Action::Move;
    pair.ticket.execution.delete_source = true;
    pair
}

/// A transfer between two roots of one node.
fn run_local(pair: &mut Pair, from: &Path, to: &Path) -> AttemptEnd {
    let node = ticket(2, 2);
    pair.ticket.source_node = node.source_node;
    pair.ticket.execution.source.node = node.execution.source.node;
    let mut spec = pair.destination_spec();
    spec.role = Role::Local(root_of(from, Access::Delete), root_of(to, Access::Delete));
    let handle = start(&pair.destination.plane, spec).expect("it starts");
    handle.wait()
}

fn code(end: &AttemptEnd) -> Option<Code> {
    end.failure.as_ref().map(|failure| failure.code)
}

/// Name, code and reason of what failed by name.
fn failures(end: &AttemptEnd) -> Vec<(String, String, String)> {
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let line = |line: &serde_json::Value| {
        let name = line["path"].as_array().expect("a path").last().map(text);
        let reason = text(&line["message"]);
        (name.unwrap_or_default(), text(&line["error"]), reason)
    };
    let failed = lines(end.failed_list.as_ref());
    failed.iter().map(line).collect()
}

#[test]
fn a_move_between_two_names_of_one_folder_deletes_nothing() {
    for (from, to) in [("from", "from"), ("from", "from/new"), ("from/x", "from")] {
        let pair = moving(sharing(from, to));
        put(&pair.from(), "keep", b"precious");
        put(&pair.from(), "x/x/keep", b"precious");
        symlink("keep", pair.from().join("x/link")).expect("a symlink");
        std::fs::create_dir(pair.from().join("empty")).expect("a folder");
        let before = tree(&pair.from());
        let (source, destination) = pair.run();
        assert_eq!(code(&destination), Some(Code::SamePlace), "{from} {to}");
        assert_eq!(source.outcome, Outcome::Failed);
        assert!(source.statement.is_none() && destination.statement.is_none());
        assert!(tree(&pair.from()) == before, "{from} {to}");
    }
}

#[test]
fn a_move_of_a_folder_to_the_root_that_it_is_deletes_nothing() {
    let mut pair = moving(sharing("from", ""));
    put(&pair.from(), "keep", b"precious");
    pair.destination.root = root_of(&pair.from(), Access::Delete);
    let destination = pair.run().1;
    assert_eq!(code(&destination), Some(Code::SamePlace));
    assert!(pair.from().join("keep").exists());
}

#[test]
fn a_file_that_is_moved_to_another_name_of_itself_fails_by_name_and_stays() {
    let pair = moving(sharing("from/keep", "from/keep"));
    let file = put(&pair.from(), "keep", b"precious");
    let (source, destination) = pair.run();
    let reason = "`from/keep` in root `root` is the same file at source and destination; nothing was done to it";
    let expected = (String::new(), "same_place".to_owned(), reason.to_owned());
    assert_eq!(failures(&destination), [expected]);
    assert_eq!(source.outcome, Outcome::Partial);
    assert_eq!(source.statement.expect("a statement").sources_deleted, 0);
    assert_eq!(std::fs::read(file).expect("there"), b"precious");
}

#[test]
fn what_stands_at_the_destination_by_a_second_name_fails_by_name_and_the_rest_is_moved() {
    let pair = moving(sharing("from", "to"));
    let to = pair.source.data.join("to");
    put(&pair.from(), "sub/new", b"new");
    let file = put(&pair.from(), "file", b"precious");
    let alone = put(&pair.from(), "equal", b"equal");
    let link = pair.from().join("link");
    symlink("file", &link).expect("a symlink");
    put(&to, "equal", &std::fs::read(alone).expect("there"));
    for name in ["file", "link"] {
        std::fs::hard_link(pair.from().join(name), to.join(name)).expect("a second name");
    }
    let (source, destination) = pair.run();
    let failed: Vec<_> = failures(&destination)
        .into_iter()
        .map(|(name, code, _)| (name, code))
        .collect();
    let same = |name: &str| (name.to_owned(), "same_place".to_owned());
    assert_eq!(failed, [same("file"), same("link")]);
    assert_eq!(source.statement.expect("a statement").sources_deleted, 2);
    assert!(file.exists() && link.is_symlink());
    assert_eq!(tree(&pair.from()).len(), 2);
    assert_eq!(std::fs::read(to.join("sub/new")).expect("moved"), b"new");
}

#[test]
fn a_copy_between_two_names_of_one_folder_finds_everything_there() {
    let pair = sharing("from", "from");
    put(&pair.from(), "keep", b"precious");
    let before = tree(&pair.from());
    let destination = pair.run().1;
    assert_eq!(destination.outcome, Outcome::Complete);
    let totals = destination.statement.expect("a statement").totals;
    assert_eq!((totals.files, totals.identical), (0, 1));
    assert!(tree(&pair.from()) == before);
}

#[test]
fn a_sync_that_would_delete_its_source_as_superfluous_deletes_nothing() {
    for superfluous in [&["x", "x/keep"][..], &["x/keep"], &["extra", "x"]] {
        let mut pair = sharing("to/x", "to");
        pair.ticket.execution.action = Action::Sync;
        pair.ticket.execution.delete_extraneous = true;
        let to = pair.source.data.join("to");
        put(&to, "x/keep", b"precious");
        put(&to, "extra", b"1");
        let before = tree(&to);
        pair.list_deletes(superfluous);
        let destination = pair.run().1;
        assert_eq!(code(&destination), Some(Code::SamePlace), "{superfluous:?}");
        assert!(tree(&to) == before, "{superfluous:?}");
    }
}

#[test]
fn a_node_moves_nothing_between_two_roots_that_hold_the_same_folder() {
    // Roots, one in the other, and places in them: the same folder, one in the other, and one that is made anew in the source.
    for (from, to) in [
        ("ov", "raw/ov"),
        ("ov", "raw"),
        ("ov", "raw/ov/new/deep"),
        ("ov", ""),
    ] {
        for action in [Action::Move, Action::Sync] {
            let mut pair = sharing(from, to);
            pair.ticket.execution.action = action;
            pair.ticket.execution.delete_source = action == Action::Move;
            pair.ticket.execution.delete_extraneous = action == Action::Sync;
            let outer = pair.destination.data.clone();
            put(&outer, "raw/ov/keep", b"precious");
            let before = tree(&outer);
            let end = run_local(&mut pair, &outer.join("raw"), &outer);
            assert_eq!(code(&end), Some(Code::SamePlace), "{from} {to}");
            assert!(tree(&outer) == before, "{from} {to}");
        }
    }
}
