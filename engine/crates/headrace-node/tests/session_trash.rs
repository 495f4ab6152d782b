//! A ticket that keeps what is deleted: nothing is unlinked, and every name is found where the statement says.

mod session_support;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use headrace_core::code::Code;
use headrace_core::statement::KeptReason;
use headrace_core::ticket::{Action, Trash};
use headrace_core::trash::TrashFolder;
use headrace_core::value::Timestamp;
use headrace_node::session::{AttemptEnd, Outcome};
use session_support::{Pair, lines, put, tree};

const KEEP: Trash = Trash { keep_days: 30 };

fn mirroring() -> Pair {
    let mut pair = Pair::new();
    pair.ticket.execution.action = Action::Sync;
    pair.ticket.execution.delete_extraneous = true;
    pair.ticket.execution.trash = Some(KEEP);
    put(&pair.from(), "keep", b"1");
    pair
}

fn moving() -> Pair {
    let mut pair = Pair::new();
    pair.ticket.execution.action = Action::Move;
    pair.ticket.execution.delete_source = true;
    pair.ticket.execution.trash = Some(KEEP);
    pair
}

/// The folder in the trash of a root that the statement names.
fn trash_of(root: &Path, end: &AttemptEnd) -> PathBuf {
    let told = end.statement.as_ref().expect("a statement").trash.as_ref();
    let name = told.expect("it says where").as_str();
    let folder = TrashFolder::parse(name.as_bytes()).expect("a folder of a trash");
    let days = (folder.until.unix_ms() - Timestamp::from(std::time::SystemTime::now()).unix_ms())
        / 86_400_000;
    assert!((30..=32).contains(&days), "{days}");
    root.join(".headrace-trash").join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let found = tree(folder).into_keys();
    found
        .map(|name| String::from_utf8(name).expect("text"))
        .collect()
}

#[test]
fn invariant_2_what_a_sync_deletes_is_in_the_trash_with_the_path_that_it_had() {
    let mut pair = mirroring();
    for name in ["old/one", "old/two", "alone"] {
        put(&pair.to(), name, name.as_bytes());
    }
    symlink("nowhere", pair.to().join("link")).expect("a symlink");
    let shut = std::fs::Permissions::from_mode(0o500);
    std::fs::set_permissions(pair.to().join("old/one"), shut).expect("set");
    pair.list_deletes(&["alone", "link", "old", "old/one", "old/two"]);
    let (source, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert_eq!(names(&pair.to()), ["keep"]);
    let trash = trash_of(&pair.destination.data, &destination);
    assert_eq!(
        names(&trash),
        [
            "to",
            "to/alone",
            "to/link",
            "to/old",
            "to/old/one",
            "to/old/two"
        ]
    );
    let kept = std::fs::read(trash.join("to/old/one")).expect("kept");
    assert_eq!(kept, b"old/one");
    let top = std::fs::metadata(pair.destination.data.join(".headrace-trash")).expect("there");
    assert_eq!(top.permissions().mode() & 0o777, 0o700);
    let said = lines(destination.files_list.as_ref());
    let results: Vec<&str> = said
        .iter()
        .filter_map(|line| line["result"].as_str())
        .collect();
    assert_eq!(results.iter().filter(|word| **word == "trashed").count(), 5);
    assert!(!results.contains(&"deleted"));
    let told = source.statement.expect("a statement").trash;
    assert_eq!(told, None, "the source deleted nothing");
}

#[test]
fn the_sources_of_a_move_are_in_the_trash_of_their_own_root() {
    let pair = moving();
    put(&pair.from(), "a", b"one");
    put(&pair.from(), "deep/b", b"two");
    std::fs::create_dir_all(pair.from().join("empty")).expect("made");
    let (source, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert!(names(&pair.from()).is_empty());
    let trash = trash_of(&pair.source.data, &source);
    assert_eq!(
        names(&trash),
        ["from", "from/a", "from/deep", "from/deep/b", "from/empty"]
    );
    assert_eq!(destination.statement.expect("a statement").trash, None);
    let source = source.statement.expect("a statement");
    assert_eq!((source.sources_deleted, source.sources_kept.len()), (2, 0));
}

#[test]
fn a_later_attempt_uses_the_folder_of_the_first_and_keeps_all_of_it_longer() {
    let pair = moving();
    put(&pair.from(), "a", b"one");
    let trash = pair.source.data.join(".headrace-trash");
    put(&trash, "2026-01-01-tr_1/from/before", b"x");
    put(&trash, "2026-01-01-tr_2/from/other", b"x");
    let source = pair.run().0;
    let folder = trash_of(&pair.source.data, &source);
    assert_eq!(names(&folder), ["from", "from/a", "from/before"]);
    assert!(!trash.join("2026-01-01-tr_1").exists());
    assert!(trash.join("2026-01-01-tr_2/from/other").exists());
}

#[test]
fn a_name_that_the_trash_has_already_is_not_replaced_and_what_was_to_go_there_stays() {
    let pair = moving();
    put(&pair.from(), "a", b"now");
    let trash = pair.source.data.join(".headrace-trash");
    put(&trash, "2026-01-01-tr_1/from/a", b"before");
    let source = pair.run().0;
    let folder = trash_of(&pair.source.data, &source);
    assert_eq!(
        std::fs::read(folder.join("from/a")).expect("kept"),
        b"before"
    );
    assert_eq!(std::fs::read(pair.from().join("a")).expect("stays"), b"now");
    let kept = source.statement.expect("a statement").sources_kept;
    assert_eq!((kept[0].reason, kept[0].count), (KeptReason::Failed, 1));
}

#[test]
fn where_no_trash_can_be_made_everything_stays_and_says_so() {
    let mut pair = mirroring();
    put(&pair.to(), "old", b"x");
    pair.list_deletes(&["old"]);
    let outside = tempfile::tempdir().expect("a folder");
    let trash = pair.destination.data.join(".headrace-trash");
    symlink(outside.path(), &trash).expect("a symlink");
    let destination = pair.run().1;
    assert_eq!(destination.outcome, Outcome::Partial, "{destination:?}");
    assert!(pair.to().join("old").exists());
    assert!(names(outside.path()).is_empty());
    let failed = lines(destination.failed_list.as_ref());
    assert_eq!(failed[0]["error"], Code::NotDeleted.as_str());
    let said = failed[0]["message"].as_str().expect("words");
    assert!(
        said.contains("the trash can't be used, so it stays"),
        "{said}"
    );

    let pair = moving();
    put(&pair.from(), "a", b"x");
    symlink(outside.path(), pair.source.data.join(".headrace-trash")).expect("a symlink");
    let source = pair.run().0;
    assert!(pair.from().join("a").exists());
    let kept = &source.statement.expect("a statement").sources_kept;
    assert_eq!((kept[0].reason, kept[0].count), (KeptReason::Failed, 1));
}

#[test]
fn a_trash_is_neither_copied_along_nor_deleted_and_can_be_copied_from() {
    let mut pair = mirroring();
    pair.ticket.execution.trash = None;
    put(&pair.from(), ".headrace-trash/2026-01-01-tr_9/a", b"x");
    put(&pair.to(), ".headrace-trash/2026-01-01-tr_8/b", b"x");
    pair.list_deletes(&[]);
    let destination = pair.run().1;
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert!(pair.to().join(".headrace-trash/2026-01-01-tr_8/b").exists());
    assert!(!pair.to().join(".headrace-trash/2026-01-01-tr_9").exists());

    let mut pair = Pair::new();
    put(
        &pair.source.data,
        ".headrace-trash/2026-01-01-tr_9/from/a",
        b"kept",
    );
    let place = b".headrace-trash/2026-01-01-tr_9/from";
    pair.ticket.execution.source.path =
        headrace_core::name::RelPath::from_bytes(place).expect("a path");
    let destination = pair.run().1;
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert_eq!(std::fs::read(pair.to().join("a")).expect("back"), b"kept");
}
