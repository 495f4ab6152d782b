import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.guardrails import (
    PolicyProblem,
    PolicyProblems,
    PolicySet,
    check_policy,
    default_policy,
    default_policy_text,
    digest,
)

RULE = '@id("r1") @reason("why") permit (principal, action == Action::"browse", resource);'


def problems(text: str) -> list[PolicyProblem]:
    checked = check_policy(text)
    assert isinstance(checked, PolicyProblems), checked
    assert any(problem.severity == "error" for problem in checked.problems)
    return list(checked.problems)


def test_the_default_policy_is_whole_and_its_examples_hold() -> None:
    policies = check_policy(default_policy_text())
    assert policies == default_policy()
    assert isinstance(policies, PolicySet)
    assert policies.warnings == ()
    assert default_policy_text().count("// example ") > 8


def test_a_version_is_the_digest_of_the_text() -> None:
    policies = PolicySet.parse(RULE)
    assert isinstance(policies, PolicySet)
    assert policies.version == digest(RULE.encode())
    assert [(rule.id, rule.reason, rule.effect) for rule in policies.rules] == [("r1", "why", "permit")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1 to 1,000 rules"),
        ("permit (", "is not Cedar"),
        ("// nothing but a comment", "1 to 1,000 rules"),
        ("permit (principal, action, resource);", "needs `@id"),
        (RULE.replace('@id("r1")', '@id("")'), "needs `@id"),
        (RULE.replace("r1", "Two Words"), "needs `@id"),
        (RULE.replace("r1", "headrace-mine"), "not beginning with `headrace-`"),
        (RULE + RULE, "used by two rules"),
        (RULE.replace('@reason("why")', ""), "needs `@reason"),
        (RULE.replace("why", " "), "needs `@reason"),
        (RULE.replace("why", "a\\u{202e}b"), "needs `@reason"),
        (RULE.replace("why", "x" * 201), "needs `@reason"),
        (RULE.replace("@reason", '@obligaton("confirmation") @reason'), "`@obligaton` is unknown"),
        (RULE.replace("@reason", '@obligation("aproval:x:1") @reason'), "`@obligation` must be"),
        (RULE.replace("@reason", '@obligation("approval:x:0") @reason'), "`@obligation` must be"),
        (RULE.replace("@reason", '@obligation("approval:x:10") @reason'), "`@obligation` must be"),
        (RULE.replace("@reason", '@obligation("") @reason'), "`@obligation` must be"),
        (RULE.replace("@reason", "@obligation @reason"), "`@obligation` must be"),
        (RULE.replace("@reason", '@obligation("confirmation;") @reason'), "`@obligation` must be"),
        (RULE.replace("@reason", '@qos("Fast est") @reason'), "`@qos` stands on"),
        (RULE.replace("@reason", '@qos("bulk") @reason').replace("permit", "forbid"), "`@qos` stands on"),
        (RULE.replace("principal,", "principal == ?principal,"), "templates"),
        (RULE.replace("browse", "brwse"), "brwse"),
        (RULE.replace(";", " when { context.bytes > 1 };"), "bytes"),
        (RULE.replace(";", ' when { resource.source == "x" };'), "source"),
        (RULE.replace("principal,", 'principal in Team::"x",'), "Team"),
        (RULE.replace(";", " when { principal.agent == principal.agent };"), "agent"),
        (RULE + "\n// example allowed {", "an example is written"),
        (RULE + "\n// example maybe {}", "an example is written"),
        (RULE + "\n// example allowed {'a': 1}", "can't be read"),
        (RULE + '\n// example allowed {"colour": 1}', "unknown: colour"),
        (RULE + '\n// example allowed {"action": "fly"}', "the action is one of"),
        (RULE + '\n// example allowed {"facts": {"bites": 1}}', "`bites` is unknown"),
        (RULE + '\n// example allowed {"facts": {"bytes": "1"}}', "another type"),
        (RULE + '\n// example allowed {"facts": {"bytes": true}}', "another type"),
        (RULE + '\n// example allowed {"facts": []}', "is an object"),
        (RULE + '\n// example allowed {"source": "/x"}', "endpoint:/path"),
        (RULE + '\n// example allowed {"roles": "x"}', "not a list"),
        (RULE + '\n// example allowed {"person": 1}', "not a text"),
        (RULE + '\n// example allowed {"now": "yesterday"}', "can't be read"),
        (RULE + '\n// example allowed {"zone": "Moon/Base"}', "can't be read"),
        (RULE + '\n// example denied {"action": "browse"}', "must be denied, and is not. Allowed: why (r1)."),
        (RULE + '\n// example allowed {"action": "copy"}', "must be allowed, and is not. Denied: no rule"),
        (RULE + '\n// example allowed {"action": "browse"}' * 201, "at most 200 examples"),
        ("x" * 200_001, "at most 200,000 characters"),
    ],
    ids=lambda text: text[-60:],
)
def test_a_policy_text_with_a_mistake_is_no_policy_and_the_problem_says_what(text: str, message: str) -> None:
    assert any(message in problem.message for problem in problems(text))


def test_a_problem_points_at_its_rule_and_at_its_example() -> None:
    text = RULE + '\n@id("r2") forbid (principal, action, resource);\n// example denied {"action": "browse"}'
    (problem,) = problems(text)
    assert problem.rule == "r2"
    assert text[problem.start : problem.end] == '@id("r2")'
    (problem,) = problems(text.replace("forbid", '@reason("r") permit'))[-1:]
    assert text.replace("forbid", '@reason("r") permit')[problem.start : problem.end].startswith("// example denied")


def test_a_rule_that_permits_everything_is_warned_about_and_allowed() -> None:
    policies = check_policy('@id("all") @reason("r") permit (principal, action, resource);')
    assert isinstance(policies, PolicySet)
    (warning,) = policies.warnings
    assert (warning.severity, warning.rule) == ("warning", "all")


def test_examples_can_say_everything_a_request_has() -> None:
    text = '@id("p") @reason("r") permit (principal in Group::"lab", action == Action::"copy", resource) when {'
    text += ' principal has agent && principal.agent == Agent::"a" && resource.source.labels.contains("c=phi") &&'
    text += ' resource.destination.within.contains("/proj") && resource.destination.kind == "s3" &&'
    text += " context.minute == 600 && context.weekday == 6 && context.max_bytes == 7 };\n"
    text += '// example allowed {"person":"p","groups":["lab"],"roles":[],"agent":"a","source_labels":{"c":"phi"},'
    text += '"destination":"x:/proj/y","destination_kind":"s3","now":"2026-11-28T16:00:00Z","zone":"America/Chicago",'
    text += '"facts":{"bytes":7}}\n// example denied {}'
    assert isinstance(check_policy(text), PolicySet)


OPEN = '@id("r1") @reason("why") permit (principal, action, resource) '
CHILD = """
import sys, threading
from headrace.guardrails import PolicyProblems, check_policy
text = sys.stdin.read()
found = []
thread = threading.Thread(target=lambda: found.append(check_policy(text)))  # as the service does
thread.start(); thread.join()
(checked,) = found
assert isinstance(checked, PolicyProblems), checked
first = checked.problems[0]
print(first.start, first.message)
"""


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("(" * 1000 + "true" + ")" * 1000, "brackets are nested"),
        ("(" * 49 + "true" + ")" * 49, "brackets are nested"),
        ("[" * 20_000, "brackets are nested"),
        ("{a:" * 1000 + "1" + "}" * 1000 + " == {}", "brackets are nested"),
        ("true && " * 20_000 + "true", "at most 600 operators"),
        ("1 + " * 20_000 + "1 == 2", "at most 600 operators"),
        ("resource" + ".a" * 20_000, "at most 600 operators"),
        ('resource["a"]' + '["a"]' * 20_000, "at most 600 operators"),
        ("if true then " * 3000 + "true " + "else false " * 3000, "at most 600 operators"),
        ("1 } when { " * 15_000 + "true", "at most 600 operators"),
        ("true && " * 590 + "true", "nested too deeply"),
        ("true && " * 100 + "true", "too long"),
        ('"' + '\\"' * 90_000, "no end"),
        ('"" == "\\\\" && ' + "(" * 1000 + "true" + ")" * 1000, "brackets are nested"),
        ('"//" == "" && ' + "(" * 1000 + "true" + ")" * 1000, "brackets are nested"),
        ('true // "\n && ' + "(" * 1000 + "true" + ")" * 1000, "brackets are nested"),
        ('true }; // example allowed {"roles": ' + "[" * 20_000 + "]" * 20_000 + "}\n//", "can't be read"),
    ],
    ids=lambda text: text[:20],
)
def test_a_text_that_would_exhaust_the_stack_is_a_problem_with_a_place_and_ends_no_process(
    condition: str, message: str
) -> None:
    text = OPEN + "when { " + condition + " };"
    if "example" in condition:
        text = text.replace("// example", "\n// example")
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=text, capture_output=True, text=True, timeout=50, check=False
    )
    assert child.returncode == 0, (child.returncode, child.stderr[-500:])
    start, _, said = child.stdout.partition(" ")
    assert message in said
    if "at most" in message or "nested at" in message:
        assert int(start) > len(OPEN)


def test_brackets_and_operators_in_strings_and_comments_do_not_count_and_bounds_are_of_one_rule() -> None:
    inside = "(" * 1000 + "&& " * 1000
    flat = " || ".join(['context.door == "x"'] * 40)
    whole = "(" * 40 + flat + ")" * 40 + f' && context.door != "{inside}"'
    rules = "".join(OPEN.replace("r1", f"r{one}") + f"when {{ {whole} }}; // {inside}\n" for one in range(20))
    assert isinstance(check_policy(rules), PolicySet)


@pytest.mark.parametrize(
    "fields",
    [
        '"now": "0001-01-01T00:00:00+14:00"',
        '"zone": "America"',
        '"zone": "' + "x" * 3000 + '"',
        '"facts": {"bytes": ' + "9" * 30 + "}",
        '"facts": {"door": "\\ud800"}',
        '"person": "\\ud800"',
        '"action": {}',
        '"roles": [[]]',
    ],
)
def test_an_example_that_no_request_could_be_is_a_problem(fields: str) -> None:
    assert problems(RULE + "\n// example allowed {" + fields + "}")


@given(st.text(max_size=300))
def test_any_text_is_a_policy_or_has_problems(text: str) -> None:
    checked = check_policy(text)
    assert isinstance(checked, PolicySet) or checked.problems


@given(st.data())
def test_a_policy_cut_anywhere_never_decides_with_half_a_rule(data: st.DataObject) -> None:
    text = default_policy_text()
    cut = text[: data.draw(st.integers(0, len(text)))]
    checked = PolicySet.parse(cut)
    if isinstance(checked, PolicySet):
        whole = {rule.id: rule for rule in default_policy().rules}
        assert all(whole[rule.id] == rule for rule in checked.rules)


ASSISTANT = """@id("r") @reason("r") @obligation("confirmation")
forbid (principal, action == Action::"copy", resource) when { context.origins.assistant.contains(Slot::"SLOT") };
"""


@pytest.mark.parametrize(
    ("outcome", "origins"),
    [("confirm", '{"rate_limit_bps": "assistant"}'), ("allowed", '{"rate_limit_bps": "said"}'), ("allowed", "{}")],
)
def test_an_example_says_where_slots_come_from(outcome: str, origins: str) -> None:
    text = RULE.replace("browse", "copy") + "\n" + ASSISTANT.replace("SLOT", "rate_limit_bps")
    assert isinstance(check_policy(f'{text}// example {outcome} {{"facts": {{"origins": {origins}}}}}'), PolicySet)


def test_a_slot_that_is_misspelt_is_a_problem_of_the_policy_and_of_an_example() -> None:
    assert problems(ASSISTANT.replace("SLOT", "rate_limit"))
    for origins in ('{"rate_limit": "assistant"}', '{"rate_limit_bps": "asistant"}', '"assistant"'):
        assert problems(f'{RULE}\n// example allowed {{"facts": {{"origins": {origins}}}}}')
