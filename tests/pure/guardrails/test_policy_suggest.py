"""Examples that a text lacks are made for it, and hold."""

import pytest

from headrace.guardrails import PolicySet, check_policy, suggested_examples

PERMIT = '@id("all") @reason("everybody may") permit (principal, action, resource);\n'


def policy(text: str) -> PolicySet:
    policies = check_policy(text)
    assert isinstance(policies, PolicySet), policies
    return policies


def rule(scope: str, condition: str, head: str = "forbid") -> str:
    return f'@id("phi") @reason("r") {head} ({scope}) when {{ {condition} }};\n'


ANY = 'principal, action == Action::"copy", resource'
MOVED = '// example denied {"action": "move", "groups": ["lab"], "source": "krios1:/raw/phi", '
MOVED += '"source_labels": {"a": "b"}}'
PHI = 'resource.source.within.contains("/raw/phi")'


@pytest.mark.parametrize(
    ("scope", "condition", "first"),
    [
        (ANY, PHI, '// example denied {"action": "copy", "source": "source:/raw/phi"}'),
        (
            'principal in Group::"lab", action in [Action::"move", Action::"sync"], resource',
            f'resource.source in Endpoint::"krios1" && resource.source.labels.contains("a=b") && {PHI}',
            MOVED,
        ),
        (
            'principal, action == Action::"browse", resource',
            'resource in Endpoint::"krios1" && resource.within.contains("/raw/phi")',
            '// example denied {"action": "browse", "source": "krios1:/raw/phi"}',
        ),
        (
            ANY,
            'context.files > 0 && resource.destination.within.contains("/raw/phi")',
            '// example denied {"action": "copy", "destination": "destination:/raw/phi"}',
        ),
    ],
)
def test_a_protected_place_gets_an_example_of_itself_and_of_what_contains_it(
    scope: str, condition: str, first: str
) -> None:
    text = PERMIT + rule(scope, condition)
    [found] = suggested_examples(policy(text))
    assert (found.rule, found.lines) == ("phi", (first, first.replace("/raw/phi", "/raw")))
    assert suggested_examples(policy("\n".join([text, *found.lines]))) == ()


def test_a_rule_that_no_example_was_found_for_is_named_all_the_same() -> None:
    [found] = suggested_examples(policy(PERMIT + rule(ANY, f"{PHI} && context.bytes > 99")))
    assert (found.rule, found.lines) == ("phi", ())


@pytest.mark.parametrize("head", ["permit", '@obligation("confirmation") forbid'])
def test_only_rules_that_deny_need_such_examples(head: str) -> None:
    assert suggested_examples(policy(PERMIT + rule(ANY, PHI, head))) == ()


def test_each_place_of_a_rule_and_each_rule_gets_its_examples() -> None:
    both = '["/raw/phi", "/home/keys"].containsAny(resource.source.within)'
    text = PERMIT + rule(ANY, both) + rule(ANY, PHI.replace("raw/phi", "new/open")).replace('"phi"', '"open"')
    found = {one.rule: one.lines for one in suggested_examples(policy(text))}
    wanted = {"phi": ("/home/keys", "/home", "/raw/phi", "/raw"), "open": ("/new/open", "/new")}
    assert found == {
        name: tuple(f'// example denied {{"action": "copy", "source": "source:{path}"}}' for path in paths)
        for name, paths in wanted.items()
    }
