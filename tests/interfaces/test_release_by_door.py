"""What may not run does not run, by whichever door it is asked for: REST, MCP and the command line, over real nodes."""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent
from tests.servers.headrace import PASSWORD, Person, Service, serving

TOGETHER = 4
SCOPES = ("transfer:read", "transfer:plan", "transfer:run", "transfer:delete")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("headrace")) as service:
        yield service


@pytest.fixture(scope="module")
def anna(service: Service) -> "Asker":
    return Asker(service, service.person("anna", "requester"))


class Asker:
    """A person's assistant, with a token of its own, that plans over REST."""

    def __init__(self, service: Service, person: Person) -> None:
        options = [option for scope in SCOPES for option in ("--scope", scope)]
        made = person.prove("token", "create", "assistant", *options, "--agent", "claude", "--json")
        assert made.code == 0, made.err
        self.service, self.person, self.secret = service, person, str(made.document["secret"])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    def read(self, path: str) -> Any:  # noqa: ANN401 - a JSON document
        return (
            httpx2.get(f"{self.service.url}/api/v1/{path}", headers=self.headers, timeout=60).raise_for_status().json()
        )

    def plan(self, name: str, **slots: str | bool) -> dict[str, Any]:
        intent = {"action": "copy", "source": f"src:/{name}", "destination": f"dst:/{name}", **slots}
        return self.asked({"intent": intent})

    def asked(self, body: dict[str, Any]) -> dict[str, Any]:
        made = httpx2.post(
            f"{self.service.url}/api/v1/plans", json=body, headers=self.headers, timeout=60
        ).raise_for_status()
        return self.planned(made.json()["id"])

    def planned(self, plan_id: str) -> dict[str, Any]:
        plan: dict[str, Any] = self.read(f"plans/{plan_id}?wait_s=30")
        assert plan["digest"], plan["summary"]
        return plan

    def ended(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Wait until the one transfer of a plan has ended."""
        [transfer] = self.transfers_of(plan)
        found: dict[str, Any] = self.read(f"transfers/{transfer}?wait_s=30")
        return found

    def transfers_of(self, plan: dict[str, Any]) -> list[str]:
        return [one["id"] for one in self.read("transfers")["items"] if one["plan"] == plan["id"]]


def by_rest(asker: Asker, digest: str) -> str:
    body = {"plan_digest": digest}
    url = f"{asker.service.url}/api/v1/transfers"
    return httpx2.post(url, json=body, headers=asker.headers, timeout=60).text


def by_command(asker: Asker, digest: str) -> str:
    ran = asker.person.run("submit", digest, "--no-wait", "--json", HEADRACE_TOKEN=asker.secret)
    return ran.out + ran.err


def by_mcp(asker: Asker, digest: str) -> str:
    return call_tool(asker, "submit_plan", {"digest": digest})


def call_tool(asker: Asker, tool: str, arguments: dict[str, Any]) -> str:
    async def call() -> str:
        async with (
            httpx2.AsyncClient(headers=asker.headers, timeout=60) as http,
            Client(streamable_http_client(f"{asker.service.url}/mcp", http_client=http)) as client,
        ):
            [content, *_] = (await client.call_tool(tool, arguments)).content
            assert isinstance(content, TextContent)
            return content.text

    refused: list[str] = []
    try:
        return anyio.run(call)
    except* (httpx2.HTTPStatusError, MCPError) as group:
        refused.append(str(group.exceptions))
    return refused[0]


Door = Callable[[Asker, str], str]
DOORS = pytest.mark.parametrize("door", [by_rest, by_mcp, by_command])


def data(service: Service, name: str) -> str:
    (service.source / name).mkdir()
    (service.source / name / "a.dat").write_bytes(os.urandom(100_000))
    return name


@DOORS
def test_a_plan_that_is_submitted_again_and_by_many_at_once_runs_once(
    service: Service, anna: Asker, door: Door
) -> None:
    plan = anna.plan(data(service, f"once-{door.__name__}"))
    with ThreadPoolExecutor(TOGETHER) as pool:
        answers = list(pool.map(lambda _: door(anna, plan["digest"]), range(TOGETHER)))
    door(anna, plan["digest"])
    assert len(anna.transfers_of(plan)) == 1, answers
    assert not [answer for answer in answers if "internal" in answer]


@DOORS
def test_what_waits_for_a_yes_runs_by_no_digest(service: Service, anna: Asker, door: Door) -> None:
    name = data(service, f"waits-{door.__name__}")
    (service.destination / name).mkdir()
    (service.destination / name / "a.dat").write_bytes(b"older")
    waits = anna.plan(name, on_conflict="overwrite")
    harmless = anna.plan(data(service, f"harmless-{door.__name__}"))
    assert "confirm" in door(anna, waits["digest"])
    for digest in ("0" * 64, waits["digest"][:-1] + ("0" if waits["digest"][-1] != "0" else "1")):
        door(anna, digest)
    door(anna, harmless["digest"])  # a plan that may run lends its right to no other
    door(anna, waits["digest"])
    assert anna.transfers_of(waits) == []
    assert len(anna.transfers_of(harmless)) == 1
    assert (service.destination / name / "a.dat").read_bytes() == b"older"


@DOORS
def test_a_plan_of_another_person_runs_for_nobody_else(service: Service, anna: Asker, door: Door) -> None:
    ben = Asker(service, service.person(f"ben-{door.__name__}", "requester"))
    plan = anna.plan(data(service, f"other-{door.__name__}"))
    assert plan["id"] not in door(ben, plan["digest"])
    assert (anna.transfers_of(plan), ben.read("transfers")["items"]) == ([], [])


@DOORS
def test_a_plan_that_an_earlier_policy_decided_does_not_start(
    service: Service, anna: Asker, door: Door, tmp_path: Path
) -> None:
    plan = anna.plan(data(service, f"policy-{door.__name__}"))
    pia = service.person(f"pia-{door.__name__}", "policy_admin")
    text = tmp_path / "policy.cedar"
    text.write_text(pia.run("policy", "show", "--json").document["text"] + f"\n// {door.__name__}\n")
    version = pia.run("policy", "propose", str(text), "--json").document["version"]
    assert service.admin.prove("policy", "publish", version, "--json").document["state"] == "active"
    assert "policy has changed" in door(anna, plan["digest"])
    assert anna.transfers_of(plan) == []


@DOORS
def test_a_person_who_was_disabled_starts_nothing(service: Service, door: Door) -> None:
    carl = Asker(service, service.person(f"carl-{door.__name__}", "requester"))
    name = data(service, f"gone-{door.__name__}")
    plan = carl.plan(name)
    [person] = [one for one in service.admin.run("people", "--json").items if one["name"] == carl.person.name]
    assert service.admin.run("people", "disable", person["id"], "--yes", "--json").code == 0
    assert "tr_" not in door(carl, plan["digest"])
    assert not (service.destination / name).exists()


def says_yes(person: Person, plan: dict[str, Any], to: str, **yes: str) -> int:
    """Give a yes (`confirmations` or `approvals`) from a person's own session; return the status."""
    [session] = json.loads((person.config / "session.json").read_text()).values()
    body = {"digest": plan["digest"], "password": PASSWORD, **yes}
    url = f"{person.service}/api/v1/plans/{plan['id']}/{to}"
    headers = {"Authorization": f"Bearer {session['secret']}"}
    return httpx2.post(url, json=body, headers=headers, timeout=60).status_code


@DOORS
def test_an_approval_of_one_plan_starts_no_other_that_does_the_same(service: Service, anna: Asker, door: Door) -> None:
    name = data(service, f"swapped-{door.__name__}")
    there = service.destination / name
    there.mkdir()
    for number in range(12):
        (there / f"old-{number}").touch()
    one, other = (anna.plan(name, action="sync", delete_extraneous=True) for _ in range(2))
    bea = service.person(f"bea-{door.__name__}", "approver")
    for plan in (one, other):
        assert says_yes(anna.person, plan, "confirmations") == 200
    assert says_yes(bea, other, "approvals", verdict="approved", digest=one["digest"]) == 409
    assert says_yes(bea, one, "approvals", verdict="approved") == 200
    assert "approv" in door(anna, other["digest"])
    assert (anna.transfers_of(other), len(list(there.iterdir()))) == ([], 12)
    door(anna, one["digest"])
    assert anna.ended(one)["state"] == "complete"
    # What was approved has run, and its approval is used up.
    door(anna, other["digest"])
    assert anna.transfers_of(other) == []
    assert [file.name for file in there.iterdir()] == ["a.dat"]


def revised(asker: Asker, plan: dict[str, Any], door: Door) -> dict[str, Any]:
    """Change a plan; the command line has no such command, so its plan is changed over REST."""
    changes = {"exclude": ["*.tmp"]}
    if door is not by_mcp:
        return asker.asked({"plan": plan["id"], "changes": changes})
    card = json.loads(call_tool(asker, "revise_plan", {"plan_id": plan["id"], "changes": changes}))
    return asker.planned(card["plan_id"])


@DOORS
def test_a_plan_that_was_changed_does_not_keep_the_yes_to_the_one_before(
    service: Service, anna: Asker, door: Door
) -> None:
    name = data(service, f"revised-{door.__name__}")
    (service.destination / name).mkdir()
    (service.destination / name / "a.dat").write_bytes(b"older")
    plan = anna.plan(name, on_conflict="overwrite")
    assert says_yes(anna.person, plan, "confirmations") == 200
    changed = revised(anna, plan, door)
    assert (changed["id"] != plan["id"], changed["digest"] != plan["digest"]) == (True, True)
    assert (changed["intent"]["exclude"], changed["confirmed"]) == (["*.tmp"], False)
    assert "confirm" in door(anna, changed["digest"])
    assert says_yes(anna.person, changed, "confirmations", digest=plan["digest"]) == 409
    door(anna, changed["digest"])
    assert anna.transfers_of(changed) == []
    assert (service.destination / name / "a.dat").read_bytes() == b"older"
    assert says_yes(anna.person, changed, "confirmations") == 200
    door(anna, changed["digest"])
    assert anna.ended(changed)["state"] == "complete"


@DOORS
def test_a_yes_to_replace_a_file_replaces_no_other_that_has_come_in_its_place(
    service: Service, anna: Asker, door: Door
) -> None:
    name = data(service, f"drifted-{door.__name__}")
    there = service.destination / name / "a.dat"
    there.parent.mkdir()
    there.write_bytes(b"older")
    plan = anna.plan(name, on_conflict="overwrite")
    assert says_yes(anna.person, plan, "confirmations") == 200
    there.write_bytes(b"newer than the survey")
    door(anna, plan["digest"])
    ended = anna.ended(plan)
    assert (ended["state"], ended["error"]["code"]) == ("failed", "destination_changed")
    assert there.read_bytes() == b"newer than the survey"
