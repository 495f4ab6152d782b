from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pure.guardrails.made import NODE_A, NOW, Asked, counts, destination, route, source

from headrace.guardrails import Rail, Refused, SurveyCounts, check_request, check_survey, execution_of, settle, shown
from headrace.guardrails.intents.limits import MAX_COUNT
from headrace.guardrails.rails.slots import TransferSlots


def rules(asked: TransferSlots, at: Any = None) -> set[str]:  # noqa: ANN401 - a route
    return {str(refusal.rule) for refusal in check_request(asked, at or route())}


def survey_rules(asked: Asked, found: SurveyCounts, at: Any = None) -> set[str]:  # noqa: ANN401 - a route
    execution = execution_of(asked, route()).surveyed(found)
    return {str(refusal.rule) for refusal in check_survey(execution, found, at or route())}


@pytest.mark.parametrize(
    "asked",
    [
        Asked(),
        Asked(action="sync", delete_extraneous=True),
        Asked(action="move"),
        Asked(action="move", verify="at-rest"),
        Asked(verify="in-transit"),
        Asked(verify="blake3"),
        Asked(encryption=False),
        Asked(include=("*.mrc", "a/**/b", "[0-9]*", "x..y"), exclude=("tmp/", "Ünïcode*")),
        Asked(min_size_bytes=1, max_size_bytes=1),
        Asked(rate_limit_bps=1),
        Asked(modified_after=NOW, modified_before=NOW + timedelta(seconds=1)),
        Asked(preserve=()),
    ],
    ids=repr,
)
def test_an_ordinary_request_meets_no_rail(asked: Asked) -> None:
    assert rules(asked) == set()


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        (Asked(verify="sha256"), Rail.UNSUPPORTED_CHECKSUM),
        (Asked(verify="md5"), Rail.UNSUPPORTED_CHECKSUM),
        (Asked(verify="none"), Rail.VERIFY_NONE),
        (Asked(action="sync", delete_extraneous=True, verify="none"), Rail.VERIFY_NONE),
        (Asked(action="move", verify="in-transit"), Rail.MOVE_NEEDS_AT_REST),
        (Asked(delete_extraneous=True), Rail.DELETE_NEEDS_SYNC),
        (Asked(action="move", delete_extraneous=True), Rail.DELETE_NEEDS_SYNC),
        (Asked(preserve=("xattrs",)), Rail.UNSUPPORTED_PRESERVE),
        (Asked(start=NOW), Rail.UNSUPPORTED_SLOT),
        (Asked(deadline=NOW), Rail.UNSUPPORTED_SLOT),
        (Asked(window=("22:00", "05:00")), Rail.UNSUPPORTED_SLOT),
        (Asked(repeat="FREQ=DAILY"), Rail.UNSUPPORTED_SLOT),
        (Asked(priority="high"), Rail.UNSUPPORTED_SLOT),
        (Asked(rate_limit_bps=0), Rail.NUMBER_OUT_OF_RANGE),
        (Asked(rate_limit_bps=-5), Rail.NUMBER_OUT_OF_RANGE),
        (Asked(rate_limit_bps=2**63), Rail.NUMBER_OUT_OF_RANGE),
        (Asked(rate_limit_bps=10**14 + 1), Rail.NUMBER_OUT_OF_RANGE),
        (Asked(min_size_bytes=0), Rail.NUMBER_OUT_OF_RANGE),
        (Asked(max_size_bytes=2**64), Rail.NUMBER_OUT_OF_RANGE),
        (Asked(min_size_bytes=2, max_size_bytes=1), Rail.EMPTY_RANGE),
        (Asked(modified_after=NOW, modified_before=NOW), Rail.EMPTY_RANGE),
        (Asked(modified_after=datetime(2026, 1, 1)), Rail.NUMBER_OUT_OF_RANGE),  # noqa: DTZ001 - that is the point
        (Asked(include=("",)), Rail.MALFORMED_GLOB),
        (Asked(exclude=("../*",)), Rail.MALFORMED_GLOB),
        (Asked(exclude=("a\0",)), Rail.MALFORMED_GLOB),
        (Asked(exclude=("a\nb",)), Rail.MALFORMED_GLOB),
        (Asked(include=("x" * 1025,)), Rail.MALFORMED_GLOB),
        (Asked(exclude=("x",) * 101), Rail.TOO_MANY_GLOBS),
    ],
    ids=str,
)
def test_a_request_that_can_not_be_kept_is_refused_by_its_rule(asked: Asked, rule: Rail) -> None:
    assert rules(asked) == {rule}
    with pytest.raises(Refused) as refused:
        execution_of(asked, route())
    assert refused.value.code == rule


def test_a_schedule_that_the_caller_keeps_itself_is_no_concern_of_the_rails() -> None:
    asked = Asked(start=NOW, deadline=NOW)
    assert [refusal.rule for refusal in check_request(asked, route(), frozenset({"start"}))] == [Rail.UNSUPPORTED_SLOT]
    assert execution_of(asked, route(), frozenset({"start", "deadline"}))
    assert execution_of(Asked(priority="low"), route(), frozenset({"priority"}))


def test_every_rail_that_was_met_is_said_at_once() -> None:
    asked = Asked(verify="sha256", rate_limit_bps=0, include=("",))
    assert rules(asked) == {"unsupported_checksum", "number_out_of_range", "malformed_glob"}


def same(*path: str) -> Any:  # noqa: ANN401 - a resolved endpoint
    return replace(destination(*path), node=NODE_A, root="krios1")


@pytest.mark.parametrize(
    ("from_", "to"),
    [(("a",), ("a",)), (("a",), ("a", "b")), (("a", "b"), ("a",)), ((), ("a",)), (("a",), ()), ((), ())],
)
def test_a_place_is_never_copied_onto_or_into_itself(from_: tuple[str, ...], to: tuple[str, ...]) -> None:
    at = settle(replace(source(*from_), into=True), replace(same(*to), into=False))
    assert rules(Asked(), at) == {"overlapping_places"}


def test_copying_a_file_into_the_folder_that_holds_it_is_seen_to_be_the_same_place() -> None:
    at = settle(source("a", "file"), replace(same("a"), into=True))
    assert rules(Asked(), at) == {"overlapping_places"}


@pytest.mark.parametrize(("from_", "to"), [(("a",), ("b",)), (("run4",), ("run42",)), (("a", "b"), ("a", "c"))])
def test_neighbours_on_one_root_may_be_copied_to_each_other(from_: tuple[str, ...], to: tuple[str, ...]) -> None:
    assert rules(Asked(), settle(source(*from_), same(*to))) == set()


def test_the_same_path_on_another_root_is_another_place() -> None:
    assert rules(Asked(), settle(source("a"), destination("a"))) == set()


def test_the_root_of_an_endpoint_may_be_copied_and_never_moved() -> None:
    at = settle(source(), destination("everything"))
    assert rules(Asked(), at) == set()
    assert rules(Asked(action="move"), at) == {"move_of_root"}


@pytest.mark.parametrize(
    ("asked", "from_", "to", "refused"),
    [
        (Asked(), "read", "write", False),
        (Asked(), "read", "read", True),
        (Asked(action="move"), "delete", "write", False),
        (Asked(action="move"), "write", "write", True),
        (Asked(action="sync"), "read", "write", False),
        (Asked(action="sync", delete_extraneous=True), "read", "write", True),
        (Asked(action="sync", delete_extraneous=True), "read", "delete", False),
    ],
)
def test_a_root_must_allow_what_is_to_be_done_there(asked: Asked, from_: Any, to: Any, refused: bool) -> None:  # noqa: ANN401, FBT001
    at = settle(source("a", access=from_), destination("b", access=to))
    assert rules(asked, at) == ({"access_too_low"} if refused else set())


def test_a_root_that_allows_too_little_is_refused_with_the_commands_that_change_it() -> None:
    at = settle(source("a", access="read"), destination("b", access="write"))
    [refusal] = check_request(Asked(action="sync", delete_extraneous=True), at)
    said = refusal.message
    root = at.destination.root
    assert f"run `headrace-node root add {root}=/path:delete` there, with the root's path, which a running node" in said
    assert f"`headrace serve ... --root {root}=/path:delete`" in said


@pytest.mark.parametrize("component", ["..", ".", "", "a/b", "%2F", "%00", "%2E%2E", "100%", "x" * 256])
def test_components_are_checked_wherever_they_come_from(component: str) -> None:
    at = settle(source("raw", component, into=True), destination("x"))
    assert rules(Asked(), at) <= {"malformed_path", "parent_component", "nul_in_path", "path_too_long"}
    assert rules(Asked(), at)


def test_a_look_alike_endpoint_name_is_refused() -> None:
    at = settle(replace(source("a"), endpoint="kr\u0456os1"), destination("b"))
    assert rules(Asked(), at) == {"endpoint_name"}


@pytest.mark.parametrize(
    ("asked", "found", "rule"),
    [
        (Asked(action="sync"), counts(source_kind="file"), Rail.SYNC_OF_FILE),
        (
            Asked(action="sync", delete_extraneous=True),
            counts(files=0, bytes=0, identical_files=0, deletes=3),
            Rail.DELETE_EMPTY_SOURCE,
        ),
        (Asked(), counts(bytes=11, destination_free_bytes=10), Rail.NOT_ENOUGH_SPACE),
        (Asked(), counts(files=-1), Rail.NUMBER_OUT_OF_RANGE),
        (Asked(), counts(bytes=MAX_COUNT, destination_free_bytes=2**64), Rail.NUMBER_OUT_OF_RANGE),
    ],
    ids=str,
)
def test_a_survey_that_meets_a_rail_is_refused(asked: Asked, found: SurveyCounts, rule: Rail) -> None:
    assert survey_rules(asked, found) == {rule}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (Asked(), counts()),
        (Asked(), counts(files=0, bytes=0, identical_files=0)),
        (Asked(), counts(source_kind="file", files=1)),
        (Asked(), counts(bytes=10, destination_free_bytes=10)),
        (Asked(), counts(case_collisions=3)),
        (Asked(action="sync", delete_extraneous=True), counts(files=0, bytes=0, identical_files=5, deletes=3)),
    ],
    ids=str,
)
def test_an_ordinary_survey_meets_no_rail(asked: Asked, found: SurveyCounts) -> None:
    assert survey_rules(asked, found) == set()


def test_names_that_differ_in_case_need_a_destination_that_tells_them_apart() -> None:
    at = settle(source("raw"), destination("run", case="insensitive"))
    assert survey_rules(Asked(), counts(case_collisions=1), at) == {"case_collision"}


@given(st.text(min_size=1), st.text(), st.integers())
def test_invariant_4_whatever_was_written_a_refusal_shows_nothing_invisible(name: str, glob: str, number: int) -> None:
    at = settle(replace(source(name), endpoint=name), destination("x"))
    asked = Asked(
        include=(glob,), rate_limit_bps=number, verify="sha1", modified_after=datetime(2020, 1, 1, tzinfo=UTC)
    )
    for refusal in check_request(asked, at):
        assert shown(refusal.message, limit=10_000) == refusal.message
        assert shown(refusal.words, limit=10_000) == refusal.words
        assert len(refusal.message) < 2000
