//! Every code of the engine is produced by a test, which asserts it by name.

use std::path::{Path, PathBuf};

use headrace_core::code::Code;

/// Where each code is produced: a file of this crate, and a test in it. The file names the code.
const TESTS: &[(Code, &str, &str)] = &[
    (
        Code::ProbeOver,
        "tests/probes.rs",
        "a_leg_stops_when_its_time_is_over",
    ),
    (
        Code::SourceUnreadable,
        "tests/errors/storage.rs",
        "what_the_nodes_account_may_not_read_fails_by_name_and_the_rest_arrives",
    ),
    (
        Code::SourceChanged,
        "tests/errors/destination.rs",
        "a_file_that_keeps_changing_fails_as_changed",
    ),
    (
        Code::SourceVanished,
        "tests/errors/destination.rs",
        "a_file_that_vanished_since_it_was_listed_fails_as_vanished",
    ),
    (
        Code::SourceUnsupported,
        "tests/session_rules.rs",
        "bad_input_fails_by_name_and_the_rest_arrives",
    ),
    (
        Code::NoSpace,
        "tests/errors/storage.rs",
        "a_disk_that_fills_up_half_way_fails_what_does_not_fit_and_the_rest_arrives",
    ),
    (
        Code::ReadOnly,
        "tests/errors/storage.rs",
        "a_file_system_that_is_read_only_is_said_to_be",
    ),
    (
        Code::PermissionDenied,
        "tests/errors/storage.rs",
        "where_the_nodes_account_may_not_write_nothing_is_written_and_the_folder_is_named",
    ),
    (
        Code::NameTooLong,
        "tests/errors/storage.rs",
        "a_path_that_is_too_long_at_the_destination_fails_by_name",
    ),
    (
        Code::DestinationIsDirectory,
        "tests/session_rules.rs",
        "bad_input_fails_by_name_and_the_rest_arrives",
    ),
    (
        Code::DestinationNotDirectory,
        "tests/session_rules.rs",
        "a_folder_swapped_for_a_symlink_leads_nowhere",
    ),
    (
        Code::DestinationExists,
        "tests/session_rules.rs",
        "a_second_run_finds_everything_identical_and_a_differing_file_fails_alone",
    ),
    (
        Code::NotOnOverwriteList,
        "tests/session_rules.rs",
        "invariant_2_only_listed_names_are_replaced_and_only_while_they_are_as_confirmed",
    ),
    (
        Code::DestinationFailed,
        "src/session/landing/ill_disk.rs",
        "what_storage_answers_with_an_error_fails_and_gets_no_name",
    ),
    (
        Code::VerifyFailed,
        "tests/errors/source.rs",
        "content_that_arrives_altered_every_time_fails_its_file_by_name_and_never_gets_one",
    ),
    (
        Code::NotDeleted,
        "tests/errors/storage.rs",
        "what_can_not_be_deleted_is_listed_and_the_rest_is",
    ),
    (
        Code::SourceMissing,
        "tests/session_rules.rs",
        "a_source_that_does_not_exist_is_named",
    ),
    (
        Code::DestinationMissing,
        "tests/probes.rs",
        "a_leg_that_writes_where_no_folder_is_says_so_before_anything_moves",
    ),
    (
        Code::DestinationChanged,
        "tests/session_rules.rs",
        "invariant_2_only_listed_names_are_replaced_and_only_while_they_are_as_confirmed",
    ),
    (
        Code::ListAltered,
        "tests/session_rules.rs",
        "invariant_2_a_list_that_is_not_the_sealed_one_starts_nothing",
    ),
    (
        Code::CeilingExceeded,
        "tests/session_rules.rs",
        "ceilings_end_the_attempt",
    ),
    (
        Code::DestinationBusy,
        "tests/session_rules.rs",
        "a_destination_belongs_to_one_transfer_at_a_time",
    ),
    (
        Code::AttemptSuperseded,
        "tests/session_rules.rs",
        "an_earlier_attempt_is_refused_after_a_later_one",
    ),
    (
        Code::TicketExpired,
        "tests/session_rules.rs",
        "invariant_1_an_expired_ticket_stops_both_nodes_and_a_renewed_one_does_not",
    ),
    (
        Code::TicketForeign,
        "tests/session_rules.rs",
        "invariant_1_a_root_that_only_reads_is_not_written_and_a_foreign_plan_is_refused",
    ),
    (
        Code::RootAccess,
        "tests/session_rules.rs",
        "invariant_1_a_root_that_only_reads_is_not_written_and_a_foreign_plan_is_refused",
    ),
    (
        Code::PeerUnreachable,
        "tests/errors/storage.rs",
        "a_node_that_nobody_listens_for_is_unreachable",
    ),
    (
        Code::WrongPeerKey,
        "tests/errors/connection.rs",
        "another_node_that_answers_is_named_as_one",
    ),
    (
        Code::VersionUnsupported,
        "tests/errors/connection.rs",
        "a_node_of_another_version_is_told_so",
    ),
    (
        Code::ProtocolViolation,
        "tests/errors/source.rs",
        "frames_that_are_none_end_the_attempt",
    ),
    (
        Code::TooBusy,
        "tests/errors/storage.rs",
        "a_node_that_runs_as_many_attempts_as_it_may_is_too_busy",
    ),
    (
        Code::StateFailed,
        "tests/errors/storage.rs",
        "a_state_folder_that_can_not_be_written_starts_nothing",
    ),
    (
        Code::SamePlace,
        "tests/session_same_place.rs",
        "a_move_between_two_names_of_one_folder_deletes_nothing",
    ),
    (
        Code::Stopped,
        "tests/errors/storage.rs",
        "a_node_that_runs_as_many_attempts_as_it_may_is_too_busy",
    ),
];

/// What has no test: a fault of the engine itself, which nothing from outside brings about.
const UNTESTED: &[Code] = &[Code::Internal];

#[test]
fn every_code_has_a_test_that_produces_it() {
    for code in Code::ALL {
        let listed = TESTS.iter().filter(|(tested, _, _)| tested == code);
        let count = listed.count() + usize::from(UNTESTED.contains(code));
        assert_eq!(count, 1, "`{code}` has {count} entries in this table");
    }
}

#[test]
fn the_tests_of_the_table_exist_and_name_the_code() {
    for (code, file, test) in TESTS {
        let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(&path).expect(file);
        assert!(
            text.contains(&format!("#[test]\nfn {test}()")),
            "there is no `{test}` in {file}"
        );
        let named = [format!("Code::{code:?}"), format!("\"{code}\"")];
        assert!(
            named.iter().any(|name| text.contains(name)),
            "{file} does not name `{code}`"
        );
    }
}
