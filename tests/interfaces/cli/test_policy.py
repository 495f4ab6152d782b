"""The commands about policy, against a real service and its nodes over REST."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.headrace import Person, Service, serving

OPEN = """
@id("anybody")
@reason("anybody may do anything")
permit (principal, action, resource);
"""
NO_RUN = """
@id("run-stays")
@reason("that run stays")
forbid (principal, action == Action::"copy", resource)
when { resource.source.within.contains("/run") };
"""
PLACES = '// example denied {"action": "copy", "source": "lab:/run"}\n'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("headrace")) as service:
        yield service


@pytest.fixture(scope="module")
def pia(service: Service) -> Person:
    return service.person("pia", "policy_admin", "requester")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "policy.cedar"
    file.write_text(OPEN + NO_RUN)
    return file


def test_a_check_suggests_examples_and_a_test_runs_them(pia: Person, text: Path) -> None:
    checked = pia.run("policy", "check", str(text), "--json").document
    [lacking] = checked["suggested"]
    text.write_text("\n".join([OPEN + NO_RUN, *lacking["lines"]]))
    tested = pia.run("policy", "test", str(text), "--json")
    assert (tested.code, [one["failure"] for one in tested.document["examples"]]) == (0, [None, None])
    text.write_text(OPEN + PLACES)
    failing = pia.run("policy", "test", str(text))
    assert failing.code != 0
    assert "this example must be denied" in failing.out.replace("\n", " ")


def test_what_a_token_proposes_is_listed_with_what_stands_against_it_and_a_person_withdraws_their_own(
    pia: Person, text: Path
) -> None:
    made = pia.prove("token", "create", "bot", "--scope", "policy:write", "--scope", "transfer:read", "--json").document
    draft = pia.run("policy", "propose", str(text), HEADRACE_TOKEN=made["secret"])
    assert "proposed with a token" in draft.err
    assert "Another person publishes it" not in draft.out
    assert "proposed with a token" in pia.run("policy", "list").err
    own = pia.run("policy", "propose", str(text), "--json").document
    assert own["against"] == ""
    assert pia.run("policy", "withdraw", own["version"], "--json").document["state"] == "withdrawn"


def test_a_simulation_and_a_question_say_what_a_policy_does(service: Service, pia: Person, text: Path) -> None:
    (service.source / "run").mkdir()
    (service.source / "run" / "a.dat").write_bytes(b"a")
    plan = pia.run("plan", "copy", "src:/run", "dst:/run", "--json").document
    found = pia.run("policy", "simulate", str(text), "--json").document
    assert [(one["plan"], one["was"], one["now"]) for one in found["flips"]] == [(plan["id"], "allowed", "denied")]
    who = pia.run("policy", "who", "copy", "--to", "dst:/run", "--json").items
    assert {one["name"]: one["outcome"] for one in who}["pia"] == "allowed"
    assert pia.run("policy", "explain", plan["id"], "--json").document == pia.run("why", plan["id"], "--json").document
