"""The two programs of the demo that are not a person at a keyboard: an MCP client, and an observer of progress."""

import asyncio
import time
from contextlib import aclosing

from mcp import Client, StdioServerParameters, stdio_client

from demo.stage import HEADRACE, DemoError, Person, say
from headrace.client import HttpHeadrace

LIMIT_S = 300


async def ask_over_mcp(person: Person, token: str, words: str) -> None:
    """Do what a chat assistant does: plan in the person's words, show the card, submit by digest, watch."""
    say(f"assistant: plan_transfer(request={words!r})")
    environment = person.environment | {"HEADRACE_TOKEN": token}
    server = StdioServerParameters(command=str(HEADRACE), args=["mcp"], env=environment)
    async with Client(stdio_client(server)) as client:
        plan = await _call(client, "plan_transfer", {"request": words})
        while plan["state"] == "surveying":
            plan = await _call(client, "explain_plan", {"plan_id": plan["plan_id"]})
        say(f"headrace:  {plan['summary']}")
        submitted = await _call(client, "submit_plan", {"digest": plan["digest"]})
        started = submitted["transfer"]
        if not isinstance(started, dict):
            message = f"the plan did not start: {submitted['summary']}"
            raise DemoError(message)
        transfer: dict[str, object] = started
        limit = time.monotonic() + LIMIT_S
        while transfer["state"] not in {"complete", "partial", "failed", "canceled"}:
            if time.monotonic() > limit:
                message = "the transfer asked for over MCP did not end in time"
                raise DemoError(message)
            await asyncio.sleep(0.5)
            transfer = await _call(client, "transfer_status", {"transfer_id": transfer["transfer_id"]})
        say(f"headrace:  {transfer['summary']}")
        if transfer["state"] != "complete":
            message = f"the transfer asked for over MCP ended {transfer['state']}"
            raise DemoError(message)


async def _call(client: Client, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or not isinstance(result.structured_content, dict):
        message = f"the MCP tool {tool} failed: {result.content}"
        raise DemoError(message)
    return result.structured_content


def follow(person: Person, share: float) -> float:
    """Watch the newest running transfer until `share` of its bytes are durable; returns the share reached."""
    return asyncio.run(_follow(person, share))


async def _follow(person: Person, share: float) -> float:
    async with HttpHeadrace(person.service, person.session) as headrace:
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            running = await headrace.transfers(state="running", limit=1)
            if not running:
                await asyncio.sleep(0.05)
                continue
            async with aclosing(headrace.watch(running[0].id)) as events:
                async for event in events:
                    transfer = event.transfer
                    if transfer is None or not transfer.progress.bytes_total:
                        continue
                    reached = transfer.progress.bytes_durable / transfer.progress.bytes_total
                    if share <= reached < 1:
                        return reached
            message = "the transfer ended before anything could be killed"
            raise DemoError(message)
    message = "no transfer started"
    raise DemoError(message)
