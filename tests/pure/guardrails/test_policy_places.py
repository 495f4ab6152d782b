"""A rule about a place holds for whatever contains it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pure.guardrails.made import AGENT, MOMENT, REQUESTER, destination, facts, source

from headrace.guardrails import (
    Caller,
    Decision,
    Filters,
    PolicyProblems,
    PolicySet,
    Route,
    check_policy,
    decide,
    explain,
    may_browse,
    may_plan,
    names_withheld,
    redecide,
    settle,
    why,
    without_places,
)
from headrace.guardrails.policy.places import MAX_PLACES, left_out

PERMIT_ALL = '@id("all") @reason("everybody may") permit (principal, action, resource);\n'


def policy(text: str) -> PolicySet:
    policies = PolicySet.parse(text)
    assert isinstance(policies, PolicySet), policies
    return policies


def forbid(condition: str, action: str = "copy", **annotations: str) -> str:
    more = "".join(f'@{name}("{value}") ' for name, value in annotations.items())
    scope = f'(principal, action == Action::"{action}", resource)'
    return f'@id("phi") @reason("phi stays") {more}forbid {scope} when {{ {condition} }};\n'


PHI = forbid('resource.source.within.contains("/raw/phi")')


def at(from_: str, to: str = "/x/y", exclude: tuple[str, ...] = ()) -> Route:
    parts = (tuple(part for part in path.split("/") if part) for path in (from_, to))
    route = settle(source(*next(parts), into=True), destination(*next(parts), into=True))
    return route.taking(Filters(exclude=exclude))


def copy(text: str, route: Route, **changes: Any) -> Decision:  # noqa: ANN401 - any fact
    return decide(policy(text), "copy", REQUESTER, route, facts(**changes))


@pytest.mark.parametrize("path", ["/raw/phi", "/raw/phi/2026", "/raw", "/"])
def test_a_rule_about_a_folder_holds_for_what_lies_in_it_and_for_what_contains_it(path: str) -> None:
    decided = copy(PERMIT_ALL + PHI, at(path))
    assert (decided.outcome, [rule.id for rule in decided.rules]) == ("denied", ["phi"])


@pytest.mark.parametrize("path", ["/raw/run42", "/raw/ph", "/raw/phi2", "/home"])
def test_a_rule_about_a_folder_says_nothing_of_what_is_beside_it(path: str) -> None:
    assert copy(PERMIT_ALL + PHI, at(path)).outcome == "allowed"


def test_the_reason_names_the_place_that_is_part_of_the_request() -> None:
    assert why(copy(PERMIT_ALL + PHI, at("/"))) == "Denied: phi stays, and krios1:/raw/phi is part of this (phi)."


def test_a_rule_about_a_place_at_the_destination_holds_for_a_copy_into_what_contains_it() -> None:
    locked = PERMIT_ALL + forbid('resource.destination.within.contains("/2026/locked")')
    assert copy(locked, at("/raw", "/2026")).outcome == "denied"
    assert "archive:/2026/locked is part of this" in why(copy(locked, at("/raw", "/")))
    assert copy(locked, at("/raw", "/2026/open")).outcome == "allowed"
    assert copy(locked, at("/raw", "/2026", exclude=("/locked",))).outcome == "allowed"


def test_a_place_that_a_permit_leaves_out_is_not_copied_along() -> None:
    text = '@id("p") @reason("r") permit (principal, action == Action::"copy", resource) '
    text += 'when { resource.source.within.contains("/raw") && !resource.source.within.contains("/raw/phi") };'
    assert copy(text, at("/raw/run42")).outcome == "allowed"
    assert [rule.id for rule in copy(text, at("/raw")).rules] == ["headrace-no-rule"]


def test_a_permit_for_a_folder_permits_nothing_that_contains_it() -> None:
    text = '@id("p") @reason("r") permit (principal, action == Action::"copy", resource) '
    assert copy(text + 'when { resource.source.within.contains("/raw") };', at("/")).outcome == "denied"


def test_what_a_place_needs_the_whole_needs_too() -> None:
    text = PERMIT_ALL + forbid('resource.source.within.contains("/raw/phi")', obligation="approval:stewards:2")
    text += (
        '@id("big") @reason("big") @obligation("confirmation") forbid (principal, action == Action::"copy", resource)'
    )
    text += "when { context.bytes > 9 };"
    decided = copy(text, at("/raw"), bytes=10)
    assert list(map(str, decided.obligations)) == ["confirmation", "approval:stewards:2"]
    assert (decided.outcome, [rule.id for rule in decided.rules]) == ("approve", ["big", "phi"])
    assert [rule.id for rule in decided.permitted_by] == ["all"]
    alone = copy(text, at("/raw"), bytes=1)
    assert (alone.outcome, [rule.id for rule in alone.permitted_by]) == ("approve", ["all"])


@pytest.mark.parametrize(
    ("whole", "place"), [("approval:stewards:2", "confirmation"), ("confirmation", "approval:stewards:2")]
)
def test_what_the_whole_needs_and_what_a_place_in_it_needs_are_both_needed(whole: str, place: str) -> None:
    in_it = 'resource.source.within.contains("/raw/phi")'
    text = PERMIT_ALL + forbid(in_it, obligation=place)
    text += forbid(f"!{in_it}", obligation=whole).replace("phi", "others", 1)
    decided = copy(text, at("/raw"))
    assert list(map(str, decided.obligations)) == ["confirmation", "approval:stewards:2"]
    assert (decided.outcome, {rule.id for rule in decided.rules}) == ("approve", {"others", "phi"})


def test_the_lowest_class_of_a_place_is_the_class_of_the_whole() -> None:
    text = '@id("p") @reason("r") @qos("priority") permit (principal, action, resource);'
    text += '@id("q") @reason("r") @qos("background") permit (principal, action == Action::"copy", resource) '
    text += 'when { resource.source.within.contains("/raw/cold") };'
    assert copy(text, at("/raw")).qos_class == "background"


def test_an_excluded_place_is_no_part_of_the_request() -> None:
    assert copy(PERMIT_ALL + PHI, at("/raw", exclude=("/phi",))).outcome == "allowed"
    assert copy(PERMIT_ALL + PHI, at("/", exclude=("raw/phi",))).outcome == "allowed"
    assert copy(PERMIT_ALL + PHI, at("/raw/phi", exclude=("phi",))).outcome == "denied"


@pytest.mark.parametrize("pattern", ["phi", "/phi", "raw", "/raw", "/raw/phi", "raw/phi", "raw/", "/raw/"])
def test_a_plain_pattern_leaves_out_a_place_and_all_below(pattern: str) -> None:
    rest = ("phi",) if pattern in {"phi", "/phi"} else ("raw", "phi")
    assert left_out(rest, [pattern])
    assert left_out((*rest, "deep"), [pattern])


@pytest.mark.parametrize(
    "pattern",
    ["ph", "phi2", "/phi", "phi/", "raw/phi/", "*", "ph*", "raw/**", "raw/ph?", "phi/x", "p%68i", "\\phi", ""],
)
def test_a_pattern_that_may_leave_a_place_in_does_not_count(pattern: str) -> None:
    assert not left_out(("raw", "phi"), [pattern])


@pytest.mark.parametrize("character", sorted("*?[]{}!\\%"))
def test_a_pattern_of_a_character_with_a_meaning_leaves_nothing_out_for_certain(character: str) -> None:
    name = f"p{character}i"
    assert not left_out(("raw", name), [name])
    assert not left_out(("raw", name, "deep"), [f"raw/{name}"])


@pytest.mark.parametrize("pattern", ["100%25", "/100%25", "100%"])
def test_a_place_whose_name_is_recorded_escaped_stays_part_of_the_request_beside_a_pattern_that_reads_like_it(
    pattern: str,
) -> None:
    # A folder `100%` is recorded as `100%25`; the pattern `100%25` leaves out a folder of that very name.
    stays = PERMIT_ALL + forbid('resource.source.within.contains("/raw/100%25")')
    assert copy(stays, at("/raw", exclude=(pattern,))).outcome == "denied"


def test_what_may_not_be_listed_is_not_surveyed_with_what_contains_it() -> None:
    policies = policy(PERMIT_ALL + forbid('resource.within.contains("/raw/phi")', "browse"))
    assert may_plan(policies, REQUESTER, at("/raw"), MOMENT).outcome == "denied"
    assert may_plan(policies, REQUESTER, at("/home", "/"), MOMENT).outcome == "denied"
    assert may_plan(policies, REQUESTER, at("/raw", exclude=("phi",)), MOMENT).outcome == "allowed"
    assert may_browse(policies, REQUESTER, source("raw"), MOMENT).outcome == "allowed"
    assert may_browse(policies, REQUESTER, source("raw", "phi"), MOMENT).outcome == "denied"


def test_more_places_than_can_be_looked_at_are_denied() -> None:
    def named(count: int) -> str:
        paths = ", ".join(f'"/raw/{number}"' for number in range(count))
        return PERMIT_ALL + forbid(f"[{paths}].containsAny(resource.destination.within)")

    assert copy(named(5), at("/raw")).outcome == "allowed"
    decided = copy(named(MAX_PLACES + 1), at("/raw"))
    assert (decided.outcome, decided.rules[0].id) == ("denied", "headrace-too-many-places")


_NAME = st.sampled_from(["a", "b", "c"])
_PATH = st.lists(_NAME, max_size=3).map(tuple)


@given(st.lists(_PATH, min_size=1, max_size=4), _PATH, st.lists(_NAME, max_size=3))
def test_nothing_in_a_folder_is_decided_more_strictly_than_the_folder(
    named: list[tuple[str, ...]], folder: tuple[str, ...], below: list[str]
) -> None:
    text = PERMIT_ALL
    for number, path in enumerate(named):
        end = ("source", "destination")[number % 2]
        text += forbid(f'resource.{end}.within.contains("/{"/".join(path)}")').replace('"phi"', f'"r{number}"')
    whole, part = ("/" + "/".join(path) for path in (folder, (*folder, *below)))
    if copy(text, at(whole, whole)).outcome == "allowed":
        assert copy(text, at(part, part)).outcome == "allowed"


# -- records of older forms, in plans sealed before 2026-11-22 (first), 11-23 (second), 11-24 (third), 11-25 (fourth),
# -- 11-27 (fifth); the sixth is in test_projects.py --

SINCE_FIFTH = ("credential", "deadline", "overwrite_share_percent", "move_share_percent")
SINCE_SIXTH = ("min_size_bytes", "max_size_bytes", "modified_after", "modified_before")


def before_the_sixth_form(decided: Decision) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(decided.context_json)
    del record["context"]["project"], record["context"]["origins"]["project"]
    for name in SINCE_SIXTH:
        del record["resource"][name]
    return record


def first_form(decided: Decision) -> dict[str, Any]:
    record = before_the_sixth_form(decided)
    del record["form"]
    for name in ("include", "exclude"):
        del record["resource"][name]
    since = ("factors", "start", "session", "largest_file_bytes", "on_conflict", "rate_limit_bps", "origins")
    for name in (*since, *SINCE_FIFTH):
        del record["context"][name]
    record["context"]["approvals"] = "0"
    return record


def test_a_record_of_the_first_form_is_still_decided() -> None:
    record = json.dumps(first_form(copy(PERMIT_ALL, at("/raw"))))
    assert redecide(policy(PERMIT_ALL), record).outcome == "allowed"
    assert redecide(policy(PERMIT_ALL + PHI), record).outcome == "denied"


@pytest.mark.parametrize(
    "condition",
    [
        'context.on_conflict == "overwrite"',
        "context.rate_limit_bps > 5",
        'resource.exclude.contains("x")',
        "context.session",
        'context.factors.contains("pwd")',
        "context.largest_file_bytes > 5",
        "context.start > context.now",
        'context.credential == "session"',
        "context has deadline",
        "context.move_share_percent > 5",
        'context.origins.assistant.contains(Slot::"delete_source")',
        "resource has max_size_bytes",
        "resource has modified_before",
    ],
)
def test_a_record_of_the_first_form_is_denied_by_a_policy_that_reads_what_it_lacks(condition: str) -> None:
    text = PERMIT_ALL + forbid(condition)
    assert copy(text, at("/raw")).outcome == "allowed"
    decided = redecide(policy(text), json.dumps(first_form(copy(text, at("/raw")))))
    assert (decided.outcome, decided.rules[0].id) == ("denied", "headrace-policy-error")


def test_a_record_that_mixes_the_forms_is_denied() -> None:
    record = first_form(copy(PERMIT_ALL, at("/raw")))
    record["context"]["session"] = True
    assert redecide(policy(PERMIT_ALL), json.dumps(record)).outcome == "denied"
    record = json.loads(copy(PERMIT_ALL, at("/raw")).context_json)
    for form in ("", "2", "3", "4", "5", "6", "8"):
        assert redecide(policy(PERMIT_ALL), json.dumps({**record, "form": form})).outcome == "denied"


def test_a_record_of_the_second_form_is_denied_by_a_policy_that_reads_factors_and_no_other() -> None:
    record = before_the_sixth_form(copy(PERMIT_ALL, at("/raw")))
    for name in ("factors", "origins", *SINCE_FIFTH):
        del record["context"][name]
    text = json.dumps({**record, "form": "2"})
    assert redecide(policy(PERMIT_ALL), text).outcome == "allowed"
    assert redecide(policy(PERMIT_ALL + forbid("context.session")), text).outcome == "allowed"
    decided = redecide(policy(PERMIT_ALL + forbid('context.factors.contains("pwd")')), text)
    assert decided.rules[0].id == "headrace-policy-error"


def test_a_record_of_the_third_form_is_denied_by_a_policy_that_reads_origins_and_no_other() -> None:
    record = before_the_sixth_form(copy(PERMIT_ALL, at("/raw")))
    for name in ("origins", *SINCE_FIFTH):
        del record["context"][name]
    text = json.dumps({**record, "form": "3"})
    assert redecide(policy(PERMIT_ALL + forbid('context.factors.contains("pwd")')), text).outcome == "allowed"
    decided = redecide(policy(PERMIT_ALL + forbid("!context.origins.typed.isEmpty()")), text)
    assert decided.rules[0].id == "headrace-policy-error"


@pytest.mark.parametrize(
    "condition", ["context has deadline", 'context.credential == "session"', "context.move_share_percent > 5"]
)
def test_a_record_of_the_fourth_form_is_denied_by_a_policy_that_reads_what_it_lacks_and_no_other(
    condition: str,
) -> None:
    record = before_the_sixth_form(copy(PERMIT_ALL, at("/raw")))
    for name in SINCE_FIFTH:
        del record["context"][name]
    text = json.dumps({**record, "form": "4"})
    assert redecide(policy(PERMIT_ALL + forbid("!context.origins.typed.isEmpty()")), text).outcome == "allowed"
    assert redecide(policy(PERMIT_ALL + forbid(condition)), text).rules[0].id == "headrace-policy-error"


# -- folders with labels --

LABELLED = PERMIT_ALL + forbid('resource.source.labels.contains("class=phi")')


def labelled(path: str, to: str = "/copy", **folders: str) -> Route:
    found = at(path, to)
    labels = {f"/{where.replace('_', '/')}": {"class": value} for where, value in folders.items()}
    return replace(found, source=replace(found.source, folder_labels=labels))


@pytest.mark.parametrize(
    ("path", "outcome"),
    [("/", "denied"), ("/raw", "denied"), ("/raw/phi", "denied"), ("/raw/phi/deep", "denied"), ("/raw/ph", "allowed"),
     ("/raw/phi2", "allowed"), ("/other", "allowed")],
)  # fmt: skip
def test_a_folders_label_holds_for_what_is_in_it_and_for_what_contains_it(path: str, outcome: str) -> None:
    decided = copy(LABELLED, labelled(path, raw_phi="phi", raw_open="public"))
    assert decided.outcome == outcome
    assert redecide(policy(LABELLED), decided.context_json) == decided


def test_what_is_excluded_of_labelled_folders_does_not_count() -> None:
    whole = labelled("/raw", raw_phi="phi", raw_open="public")
    assert copy(LABELLED, whole.taking(Filters(exclude=("phi",)))).outcome == "allowed"
    assert copy(LABELLED, whole.taking(Filters(exclude=("open",)))).outcome == "denied"


def test_a_folder_keeps_its_endpoints_labels_and_those_of_all_that_it_lies_in() -> None:
    place = source("raw", "phi", "deep")
    place = replace(
        place,
        labels={"site": "a", "class": "x"},
        folder_labels={"/raw": {"class": "y"}, "/raw/phi": {"class": "z"}, "/rawer": {"class": "w"}},
    )
    record = json.loads(may_browse(policy(PERMIT_ALL), REQUESTER, place, MOMENT).context_json)
    assert record["resource"]["labels"] == ["class=x", "class=y", "class=z", "site=a"]


@pytest.mark.parametrize(
    ("path", "named", "outcome"),
    [
        ("/raw", "/raw/phi", "denied"),
        ("/raw", "/raw/phi/deep", "denied"),
        ("/raw", "/raw/phi/deep/down", "denied"),
        ("/raw/phi", "/raw/phi/deep", "denied"),
        ("/raw", "/raw/phi2", "allowed"),
        ("/raw", "/raw/open", "allowed"),
    ],
)
@pytest.mark.parametrize("end", ["source", "destination"])
def test_a_place_in_the_folder_that_is_asked_for_has_the_labels_of_all_that_it_lies_in(
    path: str, named: str, outcome: str, end: str
) -> None:
    both = f'resource.{end}.labels.contains("class=phi") && resource.{end}.within.contains("{named}")'
    route = at(path, path)
    labels = {"/raw/phi": {"class": "phi"}, "/raw/open": {"class": "public"}}
    folder = replace(getattr(route, end), folder_labels=labels)
    assert copy(PERMIT_ALL + forbid(both), replace(route, **{end: folder})).outcome == outcome


def test_listing_the_names_beside_a_labelled_folder_is_not_listing_it() -> None:
    text = PERMIT_ALL + forbid('resource.labels.contains("class=phi")', action="browse")
    whole = labelled("/raw", raw_phi="phi")
    assert may_browse(policy(text), REQUESTER, whole.source, MOMENT).outcome == "allowed"
    assert may_plan(policy(text), REQUESTER, whole, MOMENT).outcome == "denied"
    inside = labelled("/raw/phi", raw_phi="phi")
    assert may_browse(policy(text), REQUESTER, inside.source, MOMENT).outcome == "denied"


def test_names_are_withheld_in_a_restricted_folder_and_of_what_contains_it() -> None:
    for path, here, below in ((("raw",), False, True), (("raw", "phi"), True, True), (("other",), False, False)):
        place = replace(source(*path), folder_labels={"/raw/phi": {"names": "restricted"}})
        assert names_withheld(AGENT, place) is here
        assert names_withheld(AGENT, place, below=True) is below
        assert not names_withheld(REQUESTER, place, below=True)


def test_names_are_withheld_in_the_trash_as_where_they_were() -> None:
    labels = {"/raw/phi": {"names": "restricted"}}
    for rest, withheld in ((("raw", "phi"), True), (("raw",), False)):
        place = replace(source(".headrace-trash", "2026-12-27-tr_1", *rest), folder_labels=labels)
        assert names_withheld(AGENT, place) is withheld
        assert names_withheld(AGENT, place, below=True)


@pytest.mark.parametrize("needs", [{}, {"obligation": "approval:approver:1"}])
def test_a_decision_does_not_tell_which_folder_in_it_has_a_label(needs: dict[str, str]) -> None:
    text = PERMIT_ALL + forbid('resource.source.labels.contains("class=phi")', **needs)
    policies, whole = policy(text), labelled("/raw", raw_john="phi")
    decided = copy(text, whole)
    assert decided.outcome == ("approve" if needs else "denied")
    assert ["a folder in it that has a label is part of this" in rule.reason for rule in decided.rules] == [True]
    told = explain(policies, decided)
    assert "john" not in f"{decided.rules}{told.alternatives}"
    # A place that a rule's own text names is told.
    named = PERMIT_ALL + forbid('resource.source.within.contains("/raw/john")', **needs)
    assert "john" in str(copy(named, whole).rules)


def test_an_example_can_say_which_folders_have_labels() -> None:
    example = '// example {} {{"source": "krios1:/raw", "source_folder_labels": {{"/raw/phi": {{"class": "phi"}}}}}}'
    assert isinstance(check_policy(LABELLED + example.format("denied")), PolicySet)
    assert isinstance(check_policy(LABELLED + example.format("allowed")), PolicyProblems)


@pytest.mark.parametrize(
    ("condition", "fields"),
    [
        (
            'resource.destination.labels.contains("class=phi")',
            '"destination": "archive:/in", "destination_folder_labels": {"/in/phi": {"class": "phi"}}',
        ),
        ('resource.exclude.contains("*.tmp")', '"exclude": ["*.tmp"]'),
        ('resource.include.contains("*.tmp")', '"include": ["*.tmp"]'),
    ],
)
def test_an_example_can_say_what_labels_folders_at_the_destination_have_and_which_files_are_left_out(
    condition: str, fields: str
) -> None:
    text = PERMIT_ALL + forbid(condition)
    assert isinstance(check_policy(f"{text}// example denied {{{fields}}}"), PolicySet)
    assert isinstance(check_policy(f"{text}// example allowed {{{fields}}}"), PolicyProblems)
    assert isinstance(check_policy(text + '// example allowed {"action": "copy"}'), PolicySet)


def test_a_record_that_does_not_say_which_folders_have_labels_is_denied() -> None:
    record = json.loads(copy(PERMIT_ALL, at("/raw")).context_json)
    del record["resource"]["source"]["labelled"]
    assert redecide(policy(LABELLED), json.dumps(record)).outcome == "denied"
    for name in SINCE_SIXTH:
        del record["resource"][name]
    del record["context"]["project"], record["context"]["origins"]["project"]
    assert redecide(policy(LABELLED), json.dumps({**record, "form": "5"})).outcome == "denied"
    older = {name: value for name, value in record["context"].items() if name not in SINCE_FIFTH}
    text = json.dumps({**record, "form": "4", "context": older})
    assert redecide(policy(LABELLED), text).outcome == "allowed"


HIDDEN = (
    '@id("no-looking") @reason("assistants stay out") forbid (principal, action == Action::"browse", resource) '
    'when { principal has agent && resource.within.contains("/raw/john") };\n'
)


@pytest.mark.parametrize("needs", [{}, {"obligation": "approval:approver:1"}])
@pytest.mark.parametrize(
    ("caller", "hidden", "told"), [(REQUESTER, HIDDEN, True), (AGENT, "", True), (AGENT, HIDDEN, False)]
)
def test_an_assistant_is_told_only_of_places_that_it_may_list(
    caller: Caller, hidden: str, needs: dict[str, str], *, told: bool
) -> None:
    policies = policy(PERMIT_ALL + hidden + forbid('resource.source.within.contains("/raw/john")', **needs))
    decided = decide(policies, "copy", caller, at("/raw"), facts())
    [rule] = decided.rules
    assert (rule.id, rule.advice) == ("phi", "phi stays")
    assert ("krios1:/raw/john is part of this" in rule.reason) is told
    assert ("a folder in it that a rule names is part of this" in rule.reason) is not told
    offered = explain(policies, decided).alternatives
    assert any("john" in one.words for one in offered) is told
    assert "john" not in why(without_places(decided))


def test_an_assistant_is_told_of_no_place_where_names_are_withheld_from_it() -> None:
    """It may list what is there, and gets counts instead of names: a reason names none, either."""
    policies = policy(PERMIT_ALL + forbid('resource.source.within.contains("/raw/john")'))
    folder = source("raw", into=True)
    for labels in ({"labels": {"names": "restricted"}}, {"folder_labels": {"/raw/john": {"names": "restricted"}}}):
        route = settle(replace(folder, **labels), destination("x", into=True))
        told = {caller: decide(policies, "copy", caller, route, facts()) for caller in (REQUESTER, AGENT)}
        assert "krios1:/raw/john is part of this" in why(told[REQUESTER])
        assert "john" not in why(told[AGENT])
        assert not any("john" in one.words for one in explain(policies, told[AGENT]).alternatives)


def test_an_assistant_that_may_not_look_into_a_folder_is_not_told_which_when_it_asks_for_what_contains_it() -> None:
    denied = may_plan(policy(PERMIT_ALL + HIDDEN), AGENT, at("/raw"), MOMENT)
    assert (
        why(denied) == "Denied: assistants stay out, and a folder in it that a rule names is part of this (no-looking)."
    )
