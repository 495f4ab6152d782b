import json
from typing import Any, ClassVar, cast

import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents
from tests.interfaces.mcp.shown import Port, bound, endpoint, plan, refused, transfer

from headrace.client import Headrace
from headrace.client import models as m
from headrace.mcp_server import make_server

pytestmark = pytest.mark.anyio


def server(**answers: Any) -> Any:  # noqa: ANN401 - the SDK's server of anything
    return make_server(bound(Port(answers)))


async def read(client: Client, uri: str) -> dict[str, Any]:
    content = (await client.read_resource(uri)).contents[0]
    assert isinstance(content, TextResourceContents)
    found = json.loads(content.text)
    assert isinstance(found, dict)
    return found


async def test_endpoints_plans_and_transfers_are_resources(era: str) -> None:
    made = server(endpoints=m.Page(items=[endpoint("krios1")]), plan=[plan()], transfer=transfer())
    async with Client(made, mode=era) as client:
        assert (await read(client, "headrace://endpoints"))["endpoints"][0]["id"] == "krios1"
        assert (await read(client, "headrace://plans/pl_1"))["plan_id"] == "pl_1"
        assert (await read(client, "headrace://transfers/tr_1"))["state"] == "running"


async def test_an_unknown_resource_is_said_with_its_code(era: str) -> None:
    made = server(plan=[refused("unknown_plan", "There is no plan pl_9.", 404)])
    async with Client(made, mode=era) as client:
        with pytest.raises(MCPError, match=r"There is no plan pl_9\. \(code: unknown_plan\)") as caught:
            await client.read_resource("headrace://plans/pl_9")
    assert caught.value.code == -32602


async def test_three_prompts_lead_to_the_tools(era: str) -> None:
    async with Client(server(), mode=era) as client:
        assert {prompt.name for prompt in (await client.list_prompts()).prompts} == {
            "move_data", "why_is_it_slow", "what_can_i_do",
        }  # fmt: skip
        message = (await client.get_prompt("move_data", {"request": 'copy "a" to b'})).messages[0].content
    assert isinstance(message, TextContent)
    assert json.dumps('copy "a" to b') in message.text


async def test_endpoint_names_complete(era: str) -> None:
    made = server(
        endpoints=m.Page(items=[endpoint("krios1", aliases=["kr"]), endpoint("archive")]),
        transfers=m.Page(items=[transfer()]),
    )
    async with Client(made, mode=era) as client:
        found = await client.complete(PromptReference(name="move_data"), {"name": "endpoint", "value": "k"})
        ids = await client.complete(
            ResourceTemplateReference(uri="headrace://transfers/{transfer_id}"), {"name": "transfer_id", "value": "tr"}
        )
        nothing = await client.complete(PromptReference(name="move_data"), {"name": "request", "value": "k"})
    assert (found.completion.values, found.completion.total) == (["kr", "krios1"], 2)
    assert ids.completion.values == ["tr_1"]
    assert nothing.completion.values == []


async def test_nothing_is_offered_that_is_not_kept(era: str) -> None:
    """No change of a resource or of a list is ever told, so none can be subscribed to."""
    async with Client(server(), mode=era) as client:
        offered = client.server_capabilities
    assert offered is not None
    assert offered.resources is not None
    assert not offered.resources.subscribe
    kinds = (offered.resources, offered.tools, offered.prompts)
    assert not any(kind.list_changed for kind in kinds if kind is not None)


async def test_endpoint_names_complete_from_every_page(era: str) -> None:
    class Paged:
        """Two pages, of which the first holds what is asked for only in the middle of a name."""

        asked: ClassVar[list[tuple[str, str | None]]] = []

        async def endpoints(self, *, q: str, after: str | None = None) -> m.Page[m.Endpoint]:
            self.asked.append((q, after))
            if after is None:
                return m.Page(items=[endpoint("a krios")], next="a krios")
            return m.Page(items=[endpoint("krios1"), endpoint("krios2")])

    async def port_for(_token: object) -> Headrace:
        return cast("Headrace", Paged())

    async with Client(make_server(port_for), mode=era) as client:
        found = await client.complete(PromptReference(name="move_data"), {"name": "endpoint", "value": "kri"})
    assert (found.completion.values, found.completion.has_more) == (["krios1", "krios2"], False)
    assert Paged.asked == [("kri", None), ("kri", "a krios")]
    Paged.asked.clear()


async def test_more_endpoint_names_than_a_completion_holds_are_not_said_to_be_all(era: str) -> None:
    made = server(endpoints=m.Page(items=[endpoint(f"e{i:03}") for i in range(150)], next="e149"))
    async with Client(made, mode=era) as client:
        found = await client.complete(PromptReference(name="move_data"), {"name": "endpoint", "value": "e"})
    assert (len(found.completion.values), found.completion.total, found.completion.has_more) == (100, None, True)
