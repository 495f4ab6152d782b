"""An assistant at work against a real service: over `headrace mcp`, and over HTTP with a token."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from demo.stage import HEADRACE
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent
from tests.servers.headrace import Person, Service, serving

pytestmark = pytest.mark.anyio

ENDS = ("complete", "partial", "failed", "canceled")
END_LIMIT_S = 30
SCOPES = ("transfer:read", "transfer:plan", "transfer:run")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("headrace")) as service:
        yield service


@pytest.fixture(scope="module")
def anna(service: Service) -> Person:
    return service.person("anna", "requester")


@pytest.fixture(scope="module")
def ben(service: Service) -> Person:
    return service.person("ben", "requester")


@pytest.fixture
def here(service: Service, request: pytest.FixtureRequest) -> str:
    name = "".join(c if c.isalnum() else "-" for c in str(request.node.name).removeprefix("test_"))[:80]
    (service.source / name).mkdir()
    (service.source / name / "a.dat").write_bytes(os.urandom(100_000))
    return name


def token(person: Person, *scopes: str, agent: str | None = "claude") -> str:
    options = [option for scope in scopes for option in ("--scope", scope)]
    options += ["--agent", agent] if agent else []
    made = person.prove("token", "create", "assistant", *options, "--json")
    assert made.code == 0, made.err
    return str(made.document["secret"])


@asynccontextmanager
async def at_desk(person: Person, era: str, secret: str | None = None) -> AsyncIterator[Client]:
    """An assistant on the person's own machine; where the person is signed in, too."""
    environment = person.environment | ({"HEADRACE_TOKEN": secret} if secret else {})
    spawned = StdioServerParameters(command=str(HEADRACE), args=["mcp"], env=environment)
    async with Client(stdio_client(spawned), mode=era) as client:
        yield client


@asynccontextmanager
async def remote(service: Service, secret: str, era: str) -> AsyncIterator[Client]:
    """An assistant that has a token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=60) as http,
        Client(streamable_http_client(f"{service.url}/mcp", http_client=http), mode=era) as client,
    ):
        yield client


async def data(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - any argument
    result = await client.call_tool(tool, arguments)
    assert isinstance(result.content[0], TextContent)
    assert not result.is_error, result.content[0].text
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:  # noqa: ANN401 - any argument
    result = await client.call_tool(tool, arguments)
    assert isinstance(result.content[0], TextContent)
    assert result.is_error, result.structured_content
    return result.content[0].text


async def ended(client: Client, transfer: str) -> dict[str, Any]:
    """Ask until a transfer has ended; each answer takes a round trip through the service."""
    with anyio.fail_after(END_LIMIT_S):
        while (status := await data(client, "transfer_status", transfer_id=transfer))["state"] not in ENDS:
            pass
    return status


async def moved_by(client: Client, **asked: Any) -> dict[str, Any]:  # noqa: ANN401 - words or slots
    card = await data(client, "plan_transfer", **asked)
    assert card["next_step"] == "submit", card
    assert card["counts"]["files"] == 1
    started = await data(client, "submit_plan", digest=card["digest"])
    assert started["started"] is True
    status = await ended(client, started["transfer"]["transfer_id"])
    again = await data(client, "submit_plan", digest=card["digest"])
    assert (again["started"], again["transfer"]["transfer_id"]) == (False, status["transfer_id"])
    assert again["summary"].startswith("This plan was submitted before; nothing was started now.")
    return status


async def test_an_assistant_at_the_persons_desk_moves_data(service: Service, anna: Person, here: str, era: str) -> None:
    async with at_desk(anna, era, token(anna, *SCOPES)) as client:
        assert {e["id"] for e in (await data(client, "list_endpoints"))["endpoints"]} == {"src", "dst"}
        folder = await data(client, "browse_endpoint", endpoint="src", path=f"/{here}")
        assert [entry["name"] for entry in folder["entries"]] == ["a.dat"]
        status = await moved_by(client, request=f"copy src:/{here} to dst:/{here}")
        receipt = await data(client, "get_receipt", receipt_id=status["transfer_id"])
    assert status["state"] == "complete"
    assert receipt["transfer_id"] == status["transfer_id"]
    assert (service.destination / here / "a.dat").read_bytes() == (service.source / here / "a.dat").read_bytes()


async def test_an_assistant_with_a_token_moves_data_in_its_own_name(
    service: Service, anna: Person, here: str, era: str
) -> None:
    async with remote(service, token(anna, *SCOPES, agent="claude"), era) as client:
        slots = {"action": "copy", "source": f"src:/{here}", "destination": f"dst:/{here}"}
        status = await moved_by(client, transfer=slots)
    assert status["state"] == "complete"
    transfer = anna.run("status", status["transfer_id"], "--json").document
    assert (transfer["requester"], transfer["agent"]) == (anna.run("whoami", "--json").document["id"], "claude")


async def test_an_assistant_tells_the_verdict_that_the_command_line_tells(anna: Person, here: str, era: str) -> None:
    async with at_desk(anna, era, token(anna, *SCOPES)) as client:
        status = await moved_by(client, request=f"copy src:/{here} to dst:/{here}")
        told = await data(client, "diagnose_transfer", transfer_id=status["transfer_id"])
    found = anna.run("why", status["transfer_id"], "--json").document
    same = ("limit", "where", "evidence", "remedy", "measured_s", "live")
    assert {name: told[name] for name in same} == {name: found[name] for name in same}
    assert found["said"][1:] in told["summary"]


async def test_an_assistant_reads_what_each_leg_of_its_probe_measured(
    service: Service, anna: Person, here: str, era: str
) -> None:
    (service.destination / here).mkdir()
    secret = token(anna, *SCOPES)
    async with at_desk(anna, era, secret) as client:
        bounds = {"max_seconds": 5, "max_bytes": 1 << 20}
        card = await data(client, "plan_probe", source=f"src:/{here}", destination=f"dst:/{here}", bounds=bounds)
        started = await data(client, "submit_plan", digest=card["digest"])
        status = await ended(client, started["transfer"]["transfer_id"])
        told = await data(client, "diagnose_transfer", transfer_id=status["transfer_id"])
    address = f"{service.url}/api/v1/transfers/{status['transfer_id']}/probe"
    probed = httpx2.get(address, headers={"Authorization": f"Bearer {secret}"}).json()
    assert [(leg["name"], leg["rate_bps"]) for leg in told["legs"]] == [
        (leg["name"], leg["rate_bps"]) for leg in probed["legs"]
    ]
    assert len(told["legs"]) == 4
    assert told["tightest"] == probed["tightest"] != ""
    assert probed["said"][1:] in told["summary"]


async def test_whoever_is_no_assistant_is_refused_by_name_over_either_transport(
    service: Service, anna: Person, era: str
) -> None:
    """The person's own login is there, and a token without an assistant's name: neither counts."""
    nameless = token(anna, *SCOPES, agent=None)
    refusals = []
    for opened in (at_desk(anna, era), at_desk(anna, era, nameless), remote(service, nameless, era)):
        async with opened as client:
            refusals.append(await refusal(client, "list_endpoints"))
    assert all("headrace token create NAME --agent NAME" in said for said in refusals), refusals
    assert all("(code: agent_needed)" in said for said in refusals), refusals


async def test_a_revoked_token_is_told_what_to_do(anna: Person, era: str) -> None:
    async with at_desk(anna, era, "hrt_" + "0" * 40) as client:
        said = await refusal(client, "list_endpoints")
    assert "headrace token create" in said
    assert "(code: not_signed_in)" in said


async def test_an_assistant_sees_what_it_planned_and_nothing_of_another(
    service: Service, anna: Person, here: str, era: str
) -> None:
    async with at_desk(anna, era, token(anna, *SCOPES, agent="claude")) as client:
        mine = await data(client, "plan_transfer", request=f"copy src:/{here} to dst:/{here}")
    for agent, scopes, code in (
        ("other", SCOPES, "unknown_plan"),
        ("other", (*SCOPES, "transfer:read:all"), "forbidden"),
    ):
        async with remote(service, token(anna, *scopes, agent=agent), era) as client:
            assert f"(code: {code})" in await refusal(client, "submit_plan", digest=mine["digest"])
    everything = (*SCOPES, "transfer:read:all", "transfer:run:all")
    async with remote(service, token(anna, *everything, agent="other"), era) as client:
        assert (await data(client, "submit_plan", digest=mine["digest"]))["started"]


async def test_invariant_1_an_assistant_cannot_get_an_unconfirmed_byte_moved(
    service: Service, anna: Person, here: str, era: str
) -> None:
    (service.destination / here).mkdir()
    (service.destination / here / "a.dat").write_bytes(b"older")
    slots = {"action": "copy", "source": f"src:/{here}", "destination": f"dst:/{here}", "on_conflict": "overwrite"}
    async with remote(service, token(anna, *SCOPES), era) as client:
        card = await data(client, "plan_transfer", transfer=slots)
        assert card["next_step"] == "confirm"
        answered = await data(client, "submit_plan", digest=card["digest"])
    assert answered["started"] is False
    assert f"headrace confirm {card['plan_id']}" in answered["summary"]
    assert (service.destination / here / "a.dat").read_bytes() == b"older"


async def test_a_token_without_the_scope_to_run_only_looks(service: Service, anna: Person, here: str, era: str) -> None:
    card = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--json").document
    async with remote(service, token(anna, "transfer:read", "transfer:read:all"), era) as client:
        assert await data(client, "list_endpoints")
        assert "(code: forbidden)" in await refusal(client, "submit_plan", digest=card["digest"])
    assert not (service.destination / here).exists()


async def test_the_handle_of_another_person_opens_nothing(
    service: Service, anna: Person, ben: Person, here: str, era: str
) -> None:
    card = anna.run("plan", "copy", f"src:/{here}", f"dst:/{here}", "--json").document
    async with remote(service, token(ben, *SCOPES), era) as client:
        assert "(code: unknown_plan)" in await refusal(client, "explain_plan", plan_id=card["id"])
        assert "(code: unknown_plan)" in await refusal(client, "submit_plan", digest=card["digest"])
    assert not (service.destination / here).exists()


async def test_what_is_not_clear_is_asked_back(anna: Person, here: str, era: str) -> None:
    async with at_desk(anna, era, token(anna, *SCOPES)) as client:
        card = await data(client, "plan_transfer", request=f"copy src:/{here} to dst:/{here} at 10 gig")
    assert card["next_step"] == "answer"
    assert "gig" in card["questions"][0]["message"]


async def test_no_stream_is_held_open_for_an_assistant(service: Service, anna: Person) -> None:
    headers = {"Authorization": f"Bearer {token(anna, *SCOPES)}", "Accept": "text/event-stream"}
    async with httpx2.AsyncClient(headers=headers, timeout=END_LIMIT_S) as http:
        for method in ("GET", "DELETE"):
            answered = await http.request(method, f"{service.url}/mcp")
            assert (answered.status_code, answered.headers["allow"]) == (405, "POST")
            assert answered.json()["code"] == "method_not_allowed"


async def test_what_an_assistant_adds_is_marked_everywhere(service: Service, anna: Person, here: str, era: str) -> None:
    words = f"copy src:/{here} to dst:/{here}"
    slots = {"action": "copy", "source": f"src:/{here}", "destination": f"dst:/{here}", "rate_limit_bps": 2 * 10**9}
    async with remote(service, token(anna, *SCOPES, agent="claude"), era) as client:
        card = await data(client, "plan_transfer", request=words, transfer=slots)
        other = await data(
            client, "plan_transfer", request=f"{words}, never delete", transfer={**slots, "action": "move"}
        )
    assert card["added"] == ["rate limit: 2.00 Gb/s"]
    assert {one["slot"]: one["origin"] for one in card["origins"]} == {
        **dict.fromkeys(("action", "source", "destination"), "said"),
        "rate_limit_bps": "assistant",
    }
    assert (other["state"], other["next_step"]) == ("ask", "answer")
    assert "never delete" in other["summary"]
    shown = anna.run("plan", card["plan_id"])
    assert "ADDED" in shown.out
    assert "rate limit: 2.00 Gb/s (by the assistant, not in the words)" in " ".join(shown.out.split())
    known = anna.run("plan", card["plan_id"], "--json").document
    assert {"slot": "rate_limit_bps", "origin": "assistant", "words": [], "plan": None} in known["origins"]
