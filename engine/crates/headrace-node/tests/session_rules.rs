//! What a ticket's execution part says is what happens: conflicts, lists, filters, ceilings, moves, and bad input.

mod session_support;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use headrace_core::access::Access;
use headrace_core::code::{Code, Failure};
use headrace_core::message::Totals;
use headrace_core::ticket::{Action, Compare, OnConflict, Preserve, Verify};
use headrace_node::session::{AttemptEnd, Outcome, Role, StopReason, start};
use session_support::{Pair, content, lines, put, root_of, tree};

fn code(end: &AttemptEnd) -> Option<Code> {
    end.failure.as_ref().map(|failure| failure.code)
}

/// Error code of each failed name.
fn failures(end: &AttemptEnd) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let path = |line: &serde_json::Value| {
        line["path"]
            .as_array()
            .expect("a path")
            .iter()
            .map(text)
            .collect::<Vec<_>>()
            .join("/")
    };
    lines(end.failed_list.as_ref())
        .iter()
        .map(|line| (path(line), text(&line["error"])))
        .collect()
}

fn set_mtime(path: &std::path::Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    std::fs::File::open(path)
        .expect("a file")
        .set_modified(time)
        .expect("a time");
}

#[test]
fn a_second_run_finds_everything_identical_and_a_differing_file_fails_alone() {
    let mut pair = Pair::new();
    put(&pair.from(), "same", b"same");
    put(&pair.from(), "sub/other", b"other");
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    put(&pair.to(), "same", b"changed there");
    pair.ticket.transfer = "tr_2".parse().expect("an id");
    let (source, destination) = pair.run();
    assert_eq!(
        (source.outcome, destination.outcome),
        (Outcome::Partial, Outcome::Partial)
    );
    assert_eq!(
        failures(&destination),
        [("same".to_owned(), "destination_exists".to_owned())]
    );
    let totals = destination.statement.expect("a statement").totals;
    assert_eq!((totals.files, totals.identical, totals.failed), (0, 1, 1));
    assert_eq!(
        std::fs::read(pair.to().join("same")).expect("there"),
        b"changed there"
    );
}

#[test]
fn invariant_2_only_listed_names_are_replaced_and_only_while_they_are_as_confirmed() {
    let mut pair = Pair::new();
    for name in ["listed", "unlisted"] {
        put(&pair.from(), name, b"new content");
        put(&pair.to(), name, b"old");
    }
    pair.ticket.execution.on_conflict = OnConflict::Overwrite;
    pair.list_overwrites(&["listed"]);
    let destination = pair.run().1;
    assert_eq!(
        failures(&destination),
        [("unlisted".to_owned(), "not_on_overwrite_list".to_owned())]
    );
    assert_eq!(
        std::fs::read(pair.to().join("listed")).expect("there"),
        b"new content"
    );
    assert_eq!(
        std::fs::read(pair.to().join("unlisted")).expect("there"),
        b"old"
    );

    let mut pair = Pair::new();
    put(&pair.from(), "listed", b"new content");
    put(&pair.to(), "listed", b"old");
    pair.ticket.execution.on_conflict = OnConflict::Overwrite;
    pair.list_overwrites(&["listed"]);
    put(&pair.to(), "listed", b"touched since");
    let destination = pair.run().1;
    assert_eq!(
        (destination.outcome, code(&destination)),
        (Outcome::Failed, Some(Code::DestinationChanged))
    );
    assert_eq!(
        std::fs::read(pair.to().join("listed")).expect("there"),
        b"touched since"
    );
}

#[test]
fn invariant_2_another_file_of_the_same_size_and_time_is_neither_replaced_nor_deleted() {
    for deletes in [false, true] {
        let mut pair = Pair::new();
        put(&pair.from(), "name", b"new content");
        put(&pair.to(), "name", b"old");
        put(&pair.to(), "extra", b"old");
        if deletes {
            pair.ticket.execution.action = Action::Sync;
            pair.ticket.execution.delete_extraneous = true;
            pair.list_deletes(&["extra"]);
        } else {
            pair.ticket.execution.on_conflict = OnConflict::Overwrite;
            pair.list_overwrites(&["name"]);
        }
        let changed = pair.to().join(if deletes { "extra" } else { "name" });
        let then = std::fs::metadata(&changed).expect("there");
        std::fs::write(&changed, b"own").expect("written");
        std::fs::File::options()
            .write(true)
            .open(&changed)
            .and_then(|file| file.set_modified(then.modified()?))
            .expect("set");
        let destination = pair.run().1;
        assert_eq!(code(&destination), Some(Code::DestinationChanged));
        assert_eq!(std::fs::read(&changed).expect("there"), b"own");
    }
}

#[test]
fn names_of_one_inode_are_replaced_deleted_and_moved_each() {
    let twice = |folder: &Path, names: [&str; 2]| {
        put(folder, names[0], b"old");
        std::fs::hard_link(folder.join(names[0]), folder.join(names[1])).expect("linked");
    };
    let mut pair = Pair::new();
    put(&pair.from(), "a", b"new a");
    put(&pair.from(), "b", b"new b");
    twice(&pair.to(), ["a", "b"]);
    twice(&pair.to(), ["gone1", "gone2"]);
    pair.ticket.execution.action = Action::Sync;
    pair.ticket.execution.delete_extraneous = true;
    pair.ticket.execution.on_conflict = OnConflict::Overwrite;
    pair.list_overwrites(&["a", "b"]);
    pair.list_deletes(&["gone1", "gone2"]);
    let destination = pair.run().1;
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert_eq!(tree(&pair.to()), tree(&pair.from()));

    let pair = moving();
    twice(&pair.from(), ["c", "d"]);
    let (source, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert_eq!(source.statement.expect("told").sources_deleted, 2);
    assert!(tree(&pair.from()).is_empty());
}

#[test]
fn invariant_2_a_list_that_is_not_the_sealed_one_starts_nothing() {
    let mut pair = Pair::new();
    put(&pair.from(), "a", b"new");
    put(&pair.to(), "a", b"old");
    pair.ticket.execution.on_conflict = OnConflict::Overwrite;
    pair.list_overwrites(&["a"]);
    std::fs::write(pair.overwrites.as_ref().expect("a list"), b"{}\n").expect("written");
    let refused = start(&pair.destination.plane, pair.destination_spec()).expect_err("refused");
    assert_eq!(refused.code, Code::ListAltered);
    pair.overwrites = None;
    let refused = start(&pair.destination.plane, pair.destination_spec()).expect_err("refused");
    assert_eq!(refused.code, Code::ListAltered);
}

#[test]
fn an_attempt_that_is_stopped_while_its_lists_are_checked_begins_nothing() {
    let mut pair = Pair::new();
    put(&pair.to(), "a", b"old");
    pair.ticket.execution.on_conflict = OnConflict::Overwrite;
    pair.list_overwrites(&["a"]);
    let mut spec = pair.destination_spec();
    spec.permitted = Arc::new(|| Err(Failure::new(Code::Stopped, "enough")));
    let refused = start(&pair.destination.plane, spec).expect_err("stopped");
    assert_eq!(refused, Failure::new(Code::Stopped, "enough"));
    assert!(!pair.destination.state.join("transfers").exists());
}

#[test]
fn deletes_are_what_is_listed_and_nothing_else() {
    let mut pair = Pair::new();
    put(&pair.from(), "keep", b"1");
    for name in ["old/one", "old/two", "stays/unlisted", "alone"] {
        put(&pair.to(), name, b"x");
    }
    pair.ticket.execution.action = Action::Sync;
    pair.ticket.execution.delete_extraneous = true;
    pair.list_deletes(&["alone", "old", "old/one", "old/two"]);
    let destination = pair.run().1;
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    let names: Vec<Vec<u8>> = tree(&pair.to()).into_keys().collect();
    assert_eq!(names, [&b"keep"[..], b"stays", b"stays/unlisted"]);
    assert_eq!(
        destination.statement.expect("a statement").totals.deleted,
        4
    );
    let deleted = lines(destination.files_list.as_ref());
    assert_eq!(
        deleted
            .iter()
            .filter(|line| line["result"] == "deleted")
            .count(),
        4
    );

    let mut pair = Pair::new();
    put(&pair.from(), "keep", b"1");
    put(&pair.to(), "a", b"x");
    put(&pair.to(), "b", b"x");
    pair.ticket.execution.action = Action::Sync;
    pair.ticket.execution.delete_extraneous = true;
    pair.list_deletes(&["a", "b"]);
    put(&pair.to(), "b", b"changed since");
    let destination = pair.run().1;
    assert_eq!(code(&destination), Some(Code::DestinationChanged));
    assert!(pair.to().join("a").exists() && pair.to().join("b").exists());
}

#[test]
fn checksums_decide_where_sizes_and_times_would_be_wrong() {
    let mut pair = Pair::new();
    pair.ticket.execution.compare = Compare::Checksum;
    for (name, ours, theirs) in [("same", b"aaaa", b"aaaa"), ("differs", b"aaaa", b"bbbb")] {
        set_mtime(&put(&pair.from(), name, ours), 1_000);
        set_mtime(
            &put(&pair.to(), name, theirs),
            if name == "same" { 2_000 } else { 1_000 },
        );
    }
    let destination = pair.run().1;
    assert_eq!(
        failures(&destination),
        [("differs".to_owned(), "destination_exists".to_owned())]
    );
    let files = lines(destination.files_list.as_ref());
    assert_eq!(files[0]["result"], "identical");
    assert_eq!(files[0]["blake3"], blake3::hash(b"aaaa").to_hex().as_str());
}

#[test]
fn a_move_deletes_what_has_arrived_and_nothing_else() {
    let mut pair = Pair::new();
    pair.ticket.execution.action = Action::Move;
    pair.ticket.execution.delete_source = true;
    put(&pair.from(), "sub/small", b"1");
    put(&pair.from(), "big", &content(3 << 20, 1));
    put(&pair.from(), "identical", b"same");
    put(&pair.to(), "identical", b"same");
    put(&pair.from(), "conflict", b"ours");
    put(&pair.to(), "conflict", b"their");
    symlink("big", pair.from().join("link")).expect("a symlink");
    let (source, destination) = pair.run();
    assert_eq!(
        failures(&destination),
        [("conflict".to_owned(), "destination_exists".to_owned())]
    );
    let left: Vec<Vec<u8>> = tree(&pair.from()).into_keys().collect();
    assert_eq!(left, [b"conflict".to_vec()]);
    assert_eq!(
        std::fs::read(pair.to().join("big")).expect("there"),
        content(3 << 20, 1)
    );
    let statement = source.statement.expect("a statement");
    assert_eq!(
        (statement.sources_deleted, statement.verified_at_rest),
        (4, true)
    );
}

/// A move of `from`, whose ends nobody hears of.
fn moving() -> Pair {
    let mut pair = Pair::new();
    pair.ticket.execution.action = Action::Move;
    pair.ticket.execution.delete_source = true;
    pair
}

fn totals(end: &AttemptEnd) -> Totals {
    end.statement.as_ref().expect("a statement").totals
}

#[test]
fn a_move_whose_end_was_lost_is_told_whole_by_the_next_attempt() {
    let mut pair = moving();
    let link = pair.from().join("sub/link");
    put(&pair.from(), "a", b"1");
    put(&pair.from(), "sub/b", &content(3 << 20, 1));
    symlink("b", &link).expect("a symlink");
    std::fs::create_dir(pair.from().join("empty")).expect("a folder");
    let first = totals(&pair.run().1);
    assert_eq!((first.files, tree(&pair.from()).len()), (3, 0));
    // Nobody has heard of that end: the node was killed when the sources were gone, or all but some.
    for left in [false, true, false] {
        pair.ticket.attempt += 1;
        if left {
            std::fs::create_dir_all(pair.from().join("empty")).expect("a folder");
            std::fs::create_dir_all(pair.from().join("sub")).expect("a folder");
            symlink("b", &link).expect("a symlink");
            put(&pair.from(), "a", b"1");
        }
        let (source, destination) = pair.run();
        for end in [&source, &destination] {
            let totals = totals(end);
            assert_eq!((totals.files, totals.bytes), (3, first.bytes));
            assert_eq!(totals.identical, 0);
            assert_eq!(totals.list_digest, first.list_digest);
        }
        assert_eq!(lines(destination.files_list.as_ref()).len(), 5);
        assert_eq!(tree(&pair.from()).len(), 0);
    }
}

#[test]
fn a_partial_move_proves_every_source_that_any_attempt_has_deleted() {
    let mut pair = moving();
    put(&pair.from(), "a", b"1");
    put(&pair.from(), "conflict", b"ours");
    put(&pair.from(), "z", b"222");
    put(&pair.to(), "conflict", b"their");
    let proven = |end: &AttemptEnd| {
        let Totals {
            files,
            bytes,
            failed,
            ..
        } = totals(end);
        (files, bytes, failed, lines(end.files_list.as_ref()).len())
    };
    assert_eq!(proven(&pair.run().1), (2, 4, 1, 2));
    for only_failed in [false, true] {
        pair.ticket.attempt += 1;
        pair.ticket.only_failed = only_failed;
        assert_eq!(proven(&pair.run().1), (2, 4, 1, 2));
    }
    std::fs::remove_file(pair.to().join("conflict")).expect("removed");
    for _ in 0..2 {
        pair.ticket.attempt += 1;
        assert_eq!(proven(&pair.run().1), (3, 8, 0, 3));
    }
}

#[test]
fn a_single_file_that_was_moved_when_its_node_died_ends_complete_and_proven() {
    let mut pair = moving();
    std::fs::write(pair.from(), b"the file").expect("a file");
    let first = totals(&pair.run().1);
    assert_eq!((first.files, pair.from().exists()), (1, false));
    pair.ticket.attempt = 2;
    let (source, destination) = pair.run();
    for end in [&source, &destination] {
        assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
        assert_eq!(totals(end).list_digest, first.list_digest);
    }
    assert_eq!(std::fs::read(pair.to()).expect("the file"), b"the file");
}

#[test]
fn a_move_of_nothing_is_missing_its_source() {
    let source = moving().run().0;
    assert_eq!(code(&source), Some(Code::SourceMissing));
}

#[test]
fn ceilings_end_the_attempt() {
    // The folder itself is a name, too.
    for (max_files, max_bytes, max_entries) in [(1, 1 << 40, 9), (10, 5, 9), (10, 1 << 40, 2)] {
        let mut pair = Pair::new();
        let execution = &mut pair.ticket.execution;
        (execution.max_files, execution.max_bytes) = (max_files, max_bytes);
        execution.max_entries = max_entries;
        put(&pair.from(), "a", b"123");
        put(&pair.from(), "b", b"456");
        let (source, destination) = pair.run();
        assert_eq!(
            code(&destination),
            Some(Code::CeilingExceeded),
            "{destination:?}"
        );
        assert_eq!(code(&source), Some(Code::CeilingExceeded), "{source:?}");
    }
}

#[test]
fn filters_are_applied_at_the_source() {
    let mut pair = Pair::new();
    pair.ticket.execution.filters.include = vec!["*.dat".to_owned()];
    pair.ticket.execution.filters.exclude = vec!["skip/".to_owned()];
    for name in ["a.dat", "b.txt", "sub/c.dat", "skip/d.dat", "empty/e.txt"] {
        put(&pair.from(), name, b"x");
    }
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    let names: Vec<Vec<u8>> = tree(&pair.to()).into_keys().collect();
    assert_eq!(names, [&b"a.dat"[..], b"sub", b"sub/c.dat"]);
}

#[test]
fn bad_input_fails_by_name_and_the_rest_arrives() {
    let pair = Pair::new();
    put(&pair.from(), "good", b"1");
    put(&pair.from(), "file over folder", b"1");
    std::fs::create_dir_all(pair.to().join("file over folder")).expect("a folder");
    put(&pair.from(), "folder over file/inner", b"1");
    put(&pair.to(), "folder over file", b"1");
    let fifo = pair.from().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a fifo");
    let (_, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Partial);
    let expected = [
        ("fifo", "source_unsupported"),
        ("file over folder", "destination_is_directory"),
        ("folder over file", "destination_not_directory"),
        ("folder over file/inner", "destination_not_directory"),
    ];
    assert_eq!(
        failures(&destination),
        expected.map(|(path, code)| (path.to_owned(), code.to_owned()))
    );
    assert_eq!(std::fs::read(pair.to().join("good")).expect("there"), b"1");
}

#[test]
fn a_source_that_does_not_exist_is_named() {
    let pair = Pair::new();
    let (source, destination) = pair.run();
    assert_eq!(code(&source), Some(Code::SourceMissing));
    assert_eq!(code(&destination), Some(Code::SourceMissing));
}

#[test]
fn a_single_file_lands_under_the_exact_name() {
    let mut pair = Pair::new();
    put(&pair.source.data, "from", b"just me");
    pair.ticket.execution.destination.path =
        headrace_core::name::RelPath::from_bytes(b"new/folder/name").expect("a path");
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    assert_eq!(
        std::fs::read(pair.destination.data.join("new/folder/name")).expect("there"),
        b"just me"
    );
}

#[test]
fn sparse_files_stay_sparse() {
    let pair = Pair::new();
    std::fs::create_dir_all(pair.from()).expect("a folder");
    let path = pair.from().join("sparse");
    let file = std::fs::File::create(&path).expect("a file");
    file.set_len(64 << 20).expect("a size");
    std::os::unix::fs::FileExt::write_all_at(&file, &content(10_000, 1), 40 << 20)
        .expect("written");
    drop(file);
    let (_, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    let copied = pair.to().join("sparse");
    assert!(tree(&pair.from()) == tree(&pair.to()));
    let blocks = std::fs::metadata(&copied).expect("metadata").blocks();
    assert!(blocks * 512 < 1 << 20, "{blocks} blocks");
}

#[test]
fn a_folder_swapped_for_a_symlink_leads_nowhere() {
    let pair = Pair::new();
    put(&pair.from(), "sub/file", b"secret");
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(pair.to()).expect("a folder");
    symlink(outside.path(), pair.to().join("sub")).expect("a symlink");
    let (_, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Partial);
    assert!(
        std::fs::read_dir(outside.path())
            .expect("a folder")
            .next()
            .is_none()
    );
    assert!(
        failures(&destination)
            .iter()
            .all(|(_, code)| code == "destination_not_directory"),
        "{destination:?}"
    );
}

#[test]
fn invariant_1_a_root_that_only_reads_is_not_written_and_a_foreign_plan_is_refused() {
    let mut pair = Pair::new();
    put(&pair.from(), "a", b"1");
    let mut spec = pair.destination_spec();
    spec.role = Role::Destination(root_of(&pair.destination.data, Access::Read));
    assert_eq!(
        start(&pair.destination.plane, spec)
            .expect_err("refused")
            .code,
        Code::RootAccess
    );

    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    pair.ticket.plan_digest = headrace_core::value::Digest([8; 32]);
    let refused = start(&pair.destination.plane, pair.destination_spec()).expect_err("refused");
    assert_eq!(refused.code, Code::TicketForeign);
}

#[test]
fn an_earlier_attempt_is_refused_after_a_later_one() {
    let mut pair = Pair::new();
    put(&pair.from(), "a", b"1");
    pair.ticket.attempt = 2;
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    pair.ticket.attempt = 1;
    let refused = start(&pair.destination.plane, pair.destination_spec()).expect_err("refused");
    assert_eq!(refused.code, Code::AttemptSuperseded);
}

#[test]
fn work_that_was_given_out_again_is_refused_to_who_had_it_before() {
    let mut pair = Pair::new();
    put(&pair.from(), "a", b"1");
    pair.ticket.shard.fence = 2;
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    pair.ticket.attempt = 2;
    pair.ticket.shard.fence = 1;
    let refused = start(&pair.destination.plane, pair.destination_spec()).expect_err("refused");
    assert_eq!(refused.code, Code::AttemptSuperseded);
}

#[test]
fn a_destination_belongs_to_one_transfer_at_a_time() {
    let mut pair = Pair::new();
    let waiting =
        start(&pair.destination.plane, pair.destination_spec()).expect("it waits for the source");
    for path in [&b"to"[..], b"to/below", b""] {
        pair.ticket.transfer = "tr_2".parse().expect("an id");
        pair.ticket.execution.destination.path =
            headrace_core::name::RelPath::from_bytes(path).expect("a path");
        let refused = start(&pair.destination.plane, pair.destination_spec()).expect_err("refused");
        assert_eq!(refused.code, Code::DestinationBusy);
        // Whoever waits may not know where the other writes, nor for whom.
        let own = headrace_core::name::RelPath::from_bytes(path).expect("a path");
        assert_eq!(
            refused.message,
            format!("another transfer writes to, above or below `{own}`")
        );
    }
    waiting.stop(StopReason::Requested);
    assert_eq!(waiting.wait().outcome, Outcome::Stopped);
}

#[test]
fn invariant_1_an_expired_ticket_stops_both_nodes_and_a_renewed_one_does_not() {
    let mut pair = Pair::new();
    put(&pair.from(), "a", &content(2 << 20, 1));
    let lasting = pair.ticket.expires;
    pair.ticket.rate_ceiling_bps = Some(8_000_000);
    pair.ticket.expires = headrace_core::value::Timestamp::from(SystemTime::now()).plus_ms(1500);
    let (source, destination) = pair.start();
    assert_eq!(code(&source.wait()), Some(Code::TicketExpired));
    assert_eq!(code(&destination.wait()), Some(Code::TicketExpired));
    assert!(!pair.to().join("a").exists());

    let (source, destination) = {
        pair.ticket.expires =
            headrace_core::value::Timestamp::from(SystemTime::now()).plus_ms(1500);
        pair.start()
    };
    pair.ticket.expires = lasting;
    source.renew(pair.verified(1)).expect("a renewal");
    destination.renew(pair.verified(2)).expect("a renewal");
    pair.ticket.attempt = 2;
    assert_eq!(
        source.renew(pair.verified(1)).expect_err("refused").code,
        Code::TicketForeign
    );
    source.set_rate(None);
    let end = destination.wait();
    assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
}

#[test]
fn reading_back_from_storage_is_said_only_when_it_was_done() {
    for (verify, at_rest) in [(Verify::InTransit, false), (Verify::AtRest, true)] {
        let mut pair = Pair::new();
        pair.ticket.execution.verify = verify;
        put(&pair.from(), "small", b"1");
        put(&pair.from(), "big", &content(20 << 20, 1));
        let end = pair.run().1;
        assert_eq!(end.outcome, Outcome::Complete);
        assert_eq!(
            end.statement.expect("a statement").verified_at_rest,
            at_rest
        );
        assert!(tree(&pair.from()) == tree(&pair.to()));
    }
}

#[test]
fn a_local_copy_keeps_the_same_promises() {
    let mut pair = Pair::new();
    pair.ticket = session_support::ticket(2, 2);
    let from = pair.destination.data.join("from");
    put(&from, "small", b"1");
    put(&from, "sub/big", &content((5 << 20) + 7, 1));
    std::fs::create_dir_all(from.join("empty")).expect("a folder");
    symlink("small", from.join("link")).expect("a symlink");
    let mut spec = pair.destination_spec();
    spec.role = Role::Local(
        Arc::clone(&pair.destination.root),
        Arc::clone(&pair.destination.root),
    );
    let handle = start(&pair.destination.plane, spec.clone()).expect("it starts");
    let end = handle.wait();
    assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
    assert!(tree(&from) == tree(&pair.to()));
    let progress = handle.progress();
    assert_eq!(
        (progress.files_total, progress.bytes_total),
        (3, 1 + (5 << 20) + 7)
    );
    let statement = end.statement.expect("a statement");
    assert_eq!((statement.totals.files, statement.encrypted), (3, false));
    assert_eq!(progress.bytes_received, progress.bytes_durable);
    let again = start(&pair.destination.plane, spec)
        .expect("it starts")
        .wait();
    assert_eq!(again.statement.expect("a statement").totals.failed, 0);
}

#[test]
fn a_copy_that_finds_everything_there_says_that_no_bytes_were_moved() {
    let mut pair = Pair::new();
    put(&pair.from(), "small", b"1");
    put(&pair.from(), "big", &content((5 << 20) + 7, 1));
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    pair.ticket.transfer = "tr_again".parse().expect("an id");
    pair.ticket.execution.on_conflict = OnConflict::Skip;
    let (source, destination) = pair.start();
    let (_, end) = (source.wait(), destination.wait());
    let totals = end.statement.expect("a statement").totals;
    assert_eq!((totals.identical, totals.bytes), (2, 0));
    let progress = destination.progress();
    assert_eq!((progress.files_total, progress.files_done), (2, 2));
    // A later attempt would do all of it again.
    assert_eq!((progress.listed, progress.own.durable_steps), (true, 0));
    assert_eq!(
        (
            progress.bytes_total,
            progress.bytes_received,
            progress.bytes_durable
        ),
        (0, 0, 0)
    );
}

#[test]
fn an_attempt_tells_what_it_deleted_and_counts_as_its_own_what_no_later_one_does_again() {
    let mut pair = Pair::new();
    put(&pair.from(), "empty", b"");
    for name in ["old/one", "old/two", "alone"] {
        put(&pair.to(), name, b"x");
    }
    pair.ticket.execution.action = Action::Sync;
    pair.ticket.execution.delete_extraneous = true;
    pair.list_deletes(&["alone", "old", "old/one", "old/two"]);
    let told = |pair: &Pair| {
        let (source, destination) = pair.start();
        let ends = [&source, &destination].map(|end| end.wait().outcome);
        assert_eq!(ends, [Outcome::Complete; 2]);
        let own = destination.progress().own;
        assert!(own.looked_at > own.deleted && own.stages.delete_us > 0);
        assert_eq!(source.progress().own.deleted, 0);
        (own.deleted, own.durable_steps)
    };
    assert_eq!(told(&pair), (4, 4 + 1), "the file without a byte counts");
    pair.ticket.attempt = 2;
    assert_eq!(
        told(&pair),
        (4, 0),
        "what is gone, it did not delete itself"
    );

    let pair = moving();
    put(&pair.from(), "moved", b"1");
    let (source, destination) = pair.start();
    let sources = source.wait().statement.expect("told").sources_deleted;
    assert_eq!(destination.wait().outcome, Outcome::Complete);
    let own = source.progress().own;
    assert!(sources > 0 && own.stages.delete_us > 0);
    assert_eq!((own.deleted, own.durable_steps), (sources, sources));
    assert_eq!(destination.progress().own.deleted, 0);
}

#[test]
fn modes_and_times_are_kept_only_on_request() {
    let mut pair = Pair::new();
    pair.ticket.execution.preserve = vec![Preserve::Mode];
    let file = put(&pair.from(), "file", b"1");
    set_mtime(&file, 1_000);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    let copied = std::fs::metadata(pair.to().join("file")).expect("metadata");
    assert_eq!(copied.permissions().mode() & 0o7777, 0o600);
    assert!(copied.mtime() > 1_000);
}

#[test]
fn only_what_failed_is_tried_again_on_request() {
    let mut pair = Pair::new();
    put(&pair.from(), "failed", b"1");
    put(&pair.from(), "fine", b"1");
    put(&pair.to(), "failed", b"in the way");
    assert_eq!(pair.run().1.outcome, Outcome::Partial);
    std::fs::remove_file(pair.to().join("failed")).expect("removed");
    put(&pair.from(), "new", b"1");
    pair.ticket.attempt = 2;
    pair.ticket.only_failed = true;
    let end = pair.run().1;
    assert_eq!(end.outcome, Outcome::Complete);
    let names: Vec<Vec<u8>> = tree(&pair.to()).into_keys().collect();
    assert_eq!(names, [&b"failed"[..], b"fine"]);
}

fn mode_of(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).expect("metadata");
    metadata.permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

#[test]
fn a_folder_that_was_there_keeps_its_mode_time_and_what_it_passes_on() {
    let pair = Pair::new();
    put(&pair.from(), "sub/file", b"1");
    set_mode(&pair.from().join("sub"), 0o700);
    set_mode(&pair.from(), 0o700);
    std::fs::create_dir_all(pair.to().join("sub")).expect("a folder");
    for folder in [pair.to(), pair.to().join("sub")] {
        set_mode(&folder, 0o2770);
    }
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    let modes = [pair.to(), pair.to().join("sub")].map(|folder| mode_of(&folder));
    assert_eq!(modes, [0o2770, 0o2770]);
}

#[test]
fn a_new_folder_is_complete_and_passes_on_what_the_one_above_does() {
    let mut pair = Pair::new();
    put(&pair.from(), "sub/file", b"1");
    set_mode(&pair.from().join("sub"), 0o550);
    set_mode(&pair.from(), 0o750);
    set_mtime(&pair.from(), 1_000);
    let above = pair.to().parent().expect("a folder").to_owned();
    set_mode(&above, 0o2755);
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    assert_eq!(mode_of(&pair.to()), 0o2750);
    assert_eq!(mode_of(&pair.to().join("sub")), 0o2550);
    assert_eq!(
        std::fs::metadata(pair.to()).expect("metadata").mtime(),
        1_000
    );

    // Folders on the way that the source knows nothing of are what any new folder is.
    pair.ticket.transfer = "tr_deep".parse().expect("an id");
    let deep = headrace_core::name::RelPath::from_bytes(b"new/deep").expect("a path");
    pair.ticket.execution.destination.path = deep;
    assert_eq!(pair.run().1.outcome, Outcome::Complete);
    let made = above.join("made by hand");
    std::fs::create_dir(&made).expect("a folder");
    assert_eq!(mode_of(&above.join("new")), mode_of(&made));
    assert_eq!(mode_of(&above.join("new/deep")), 0o2750);
}

#[test]
fn nothing_is_made_wider_than_its_source_whatever_is_kept() {
    for preserve in [vec![], vec![Preserve::Mtime], vec![Preserve::Mode]] {
        let mut pair = Pair::new();
        pair.ticket.execution.preserve = preserve;
        for (name, size, mode) in [
            ("secret", 10, 0o600),
            ("group", 10, 0o640),
            ("program", 10, 0o755),
            ("large", 5 << 20, 0o600),
        ] {
            set_mode(&put(&pair.from(), name, &content(size, 1)), mode);
        }
        put(&pair.from(), "closed/file", b"1");
        set_mode(&pair.from().join("closed"), 0o700);
        set_mode(&pair.from(), 0o700);
        assert_eq!(pair.run().1.outcome, Outcome::Complete);
        for name in ["", "secret", "group", "program", "large", "closed"] {
            let (ours, copy) = (
                mode_of(&pair.from().join(name)),
                mode_of(&pair.to().join(name)),
            );
            // The usual umask takes nothing away from these.
            assert_eq!(format!("{copy:o}"), format!("{ours:o}"), "{name}");
        }
    }
}

#[test]
fn invariant_2_what_changes_while_its_replacement_arrives_is_not_replaced() {
    for size in [200_000, 3 << 20] {
        let mut pair = Pair::new();
        put(&pair.from(), "first", &content(1 << 20, 1));
        put(&pair.from(), "listed", &content(size, 2));
        put(&pair.to(), "listed", b"old");
        pair.ticket.execution.on_conflict = OnConflict::Overwrite;
        pair.list_overwrites(&["listed"]);
        pair.ticket.rate_ceiling_bps = Some(8_000_000);
        let (source, destination) = pair.start();
        while destination.progress().files_total < 2 && destination.end().is_none() {
            std::thread::yield_now();
        }
        // It was decided about; its content takes seconds to arrive.
        put(&pair.to(), "listed", b"touched since");
        let (_, end) = (source.wait(), destination.wait());
        assert_eq!(code(&end), Some(Code::DestinationChanged), "{end:?}");
        let left = std::fs::read(pair.to().join("listed")).expect("there");
        assert_eq!(left, b"touched since");
    }
}

#[test]
fn strangers_who_say_nothing_keep_no_node_out() {
    let mut pair = Pair::new();
    put(&pair.from(), "file", b"content");
    // Shorter than silence is put up with.
    pair.tuning.reconnect = Duration::from_secs(8);
    let address = pair.destination.plane.address().expect("it listens");
    let silent: Vec<_> = (0..200)
        .map(|_| std::net::TcpStream::connect(address).expect("connected"))
        .collect();
    let (source, destination) = pair.run();
    assert_eq!((code(&source), code(&destination)), (None, None));
    drop(silent);
}
