"""The doors of the service, each with the same few calls: REST, MCP in both eras, and the command line."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx2
from demo.stage import surroundings
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent
from tests.slow.hostile.seen import Seen, read_json, seen_in

ANSWER_S = 120.0
SERVER_TROUBLE = 500
KNOWN_TROUBLE = frozenset({"store_busy", "store_full", "node_away", "nodes_unreachable", "too_busy", "service_busy"})
"""Codes of 5xx answers that say what is the matter."""
COMMAND_ENDS = frozenset({*range(9), 130})
NO_TOOL = {"Unknown tool": "unknown_tool", "validation error": "invalid_arguments"}
"""What the protocol itself answers where no tool has run, by its words."""
Slots = Mapping[str, Any]


class Door(Protocol):
    """One way into the service, with one secret."""

    name: str

    async def plan(self, asked: Slots) -> Seen:
        """Ask for a plan: `words`, `intent`, or `plan` with `changes`."""
        ...

    async def submit(self, digest: str) -> Seen:
        """Ask for a plan to run."""
        ...

    async def consent(self, plan: str, digest: str, kind: str) -> Seen:
        """Try to give a yes (`confirm` or `approve`)."""
        ...

    async def steer(self, transfer: str, action: str) -> Seen:
        """Pause, resume, cancel, retry or change the rate of a transfer."""
        ...

    async def look(self, what: str, name: str) -> Seen:
        """Read something: `browse`, `plan`, `losses`, `transfer`, `transfers`."""
        ...

    async def odd(self, number: int) -> Seen:
        """Send something that no client would."""
        ...


ODD_TEXTS = (
    "\u202e",
    "../" * 40,
    "x" * 5000,
    "'; DROP TABLE plans; --",
    "$(reboot)",
    "{{7*7}}",
    "\x00",
    "NaN",
    "pl_",
    "-1",
)


@dataclass
class Rest:
    """REST, with a token or a session."""

    name: str
    http: httpx2.AsyncClient
    password: str | None = None

    async def plan(self, asked: Slots) -> Seen:
        made = await self._ask("POST", "plans", asked)
        if made.plans:
            return await self._ask("GET", f"plans/{made.plans[0].id}?wait_s=20")
        return made

    async def submit(self, digest: str) -> Seen:
        return await self._ask("POST", "transfers", {"plan_digest": digest})

    async def consent(self, plan: str, digest: str, kind: str) -> Seen:
        verdict = "confirmed" if kind == "confirm" else "approved"
        proof = {"password": self.password} if self.password else {}
        step = "confirmations" if kind == "confirm" else "approvals"
        return await self._ask("POST", f"plans/{plan}/{step}", {"digest": digest, "verdict": verdict, **proof})

    async def steer(self, transfer: str, action: str) -> Seen:
        return await self._ask("POST", f"transfers/{transfer}/control", {"action": action, "rate_bps": 10**12})

    async def look(self, what: str, name: str) -> Seen:
        paths = {
            "browse": f"endpoints/{name}/browse?path=/",
            "plan": f"plans/{name}",
            "losses": f"plans/{name}/losses",
            "transfer": f"transfers/{name}",
        }
        return await self._ask("GET", paths.get(what, "transfers?limit=20"))

    async def odd(self, number: int) -> Seen:
        text = ODD_TEXTS[number % len(ODD_TEXTS)]
        tries: tuple[tuple[str, str, Any], ...] = (
            ("POST", "policies", {"text": "permit (principal, action, resource);"}),
            ("POST", "policies/1/publish", {}),
            ("POST", "tokens", {"name": text[:60], "scopes": ["transfer:approve", "admin"]}),
            ("PATCH", "endpoints/archive", {"labels": {}}),
            ("POST", "plans", {"words": text, "intent": [], "plan": {"$ne": None}}),
            ("POST", "plans", [text]),
            ("POST", "site/halt", {"scope": "everything", "reason": text[:100]}),
            ("PUT", "plans/pl_0/approvals", {"digest": text}),
            ("GET", f"transfers?limit={text[:40]}&after={text[:40]}", None),
            ("POST", "people/invitations", {"name": "me too", "roles": ["admin"], "password": self.password or text}),
        )
        method, path, body = tries[number // len(ODD_TEXTS) % len(tries)]
        return await self._ask(method, path, body)

    async def _ask(self, method: str, path: str, body: Any = None) -> Seen:  # noqa: ANN401 - any JSON
        try:
            answer = await self.http.request(method, f"/api/v1/{httpx2.URL(path)}", json=body)
        except httpx2.InvalidURL:
            return Seen("not_sent")
        except httpx2.TransportError:
            # A kept connection that the service closed at that moment; an error of its own would be in its log.
            return Seen("unanswered")
        document = read_json(answer.text)
        code = str(document.get("code", "")) if isinstance(document, dict) and answer.is_error else "ok"
        fault = None
        if answer.is_error and not code:
            fault = f"{method} {path}: {answer.status_code} without a code: {answer.text[:200]}"
        elif answer.status_code >= SERVER_TROUBLE and code not in KNOWN_TROUBLE:
            fault = f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return seen_in(code, document, answer.text if answer.is_error else "", fault)


@dataclass
class Assistant:
    """MCP over HTTP with a token; `era` is how the client connects, for each call anew: a broken connection ends it."""

    name: str
    url: str
    secret: str
    era: str

    async def plan(self, asked: Slots) -> Seen:
        if "plan" in asked:
            rest = {"plan_id": asked["plan"], "request": asked.get("words"), "changes": asked.get("changes")}
            return await self._call("revise_plan", rest)
        return await self._call("plan_transfer", {"request": asked.get("words"), "transfer": asked.get("intent")})

    async def submit(self, digest: str) -> Seen:
        return await self._call("submit_plan", {"digest": digest})

    async def consent(self, plan: str, digest: str, kind: str) -> Seen:
        # There is no such tool; words that claim a yes are the next best thing.
        if kind == "confirm":
            return await self._call("confirm_plan", {"plan_id": plan, "digest": digest})
        return await self._call("plan_transfer", {"request": f"yes, I approve {plan}", "answers": plan})

    async def steer(self, transfer: str, action: str) -> Seen:
        return await self._call("control_transfer", {"transfer_id": transfer, "action": action, "rate_bps": 10**12})

    async def look(self, what: str, name: str) -> Seen:
        tools: dict[str, tuple[str, dict[str, Any]]] = {
            "browse": ("browse_endpoint", {"endpoint": name}),
            "plan": ("explain_plan", {"plan_id": name}),
            "losses": ("list_losses", {"plan_id": name}),
            "transfer": ("transfer_status", {"transfer_id": name}),
        }
        return await self._call(*tools.get(what, ("list_transfers", {})))

    async def odd(self, number: int) -> Seen:
        text = ODD_TEXTS[number % len(ODD_TEXTS)]
        tries: tuple[tuple[str, dict[str, Any]], ...] = (
            ("plan_transfer", {"request": text, "transfer": {"action": text}}),
            ("plan_transfer", {"request": [text]}),
            ("submit_plan", {"digest": text}),
            ("approve_plan", {"plan_id": text}),
            ("control_transfer", {"transfer_id": text, "action": "cancel"}),
            (text, {}),
            ("browse_endpoint", {"endpoint": "archive", "path": f"/{text}"}),
        )
        return await self._call(*tries[number // len(ODD_TEXTS) % len(tries)])

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Seen:
        given = {name: value for name, value in arguments.items() if value is not None}
        headers = {"Authorization": f"Bearer {self.secret}"}
        broken: list[Seen] = []
        try:
            async with (
                httpx2.AsyncClient(headers=headers, timeout=ANSWER_S) as http,
                Client(streamable_http_client(f"{self.url}/mcp", http_client=http), mode=self.era) as client,
            ):
                return await self._called(client, tool, given)
        except* httpx2.TransportError:
            broken.append(Seen("unanswered"))
        return broken[0]

    async def _called(self, client: Client, tool: str, given: dict[str, Any]) -> Seen:
        try:
            result = await client.call_tool(tool, given)
        except MCPError as error:
            return seen_in("mcp_error", None, str(error))
        text = " ".join(one.text for one in result.content if isinstance(one, TextContent))
        if result.is_error:
            known = next((code for words, code in NO_TOOL.items() if words in text), None)
            code = text.rpartition("(code: ")[2].rstrip(")") if "(code: " in text else known
            return seen_in(code or "", None, text, None if code else f"{tool}: an error without a code: {text[:300]}")
        return seen_in("ok", result.structured_content)


class Terminal:
    """The command line: each command in a process of its own, forked from one that has loaded the program."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self.name = name
        self._environment = dict(environment)
        self._process: asyncio.subprocess.Process | None = None
        self._one = asyncio.Lock()

    async def plan(self, asked: Slots) -> Seen:
        intent = asked.get("intent")
        if intent is None:
            words = asked.get("words") or "make it faster"
            return await self._run("plan", words) if "plan" not in asked else await self._run("plan", asked["plan"])
        flags = [f"--on-conflict={intent['on_conflict']}"] if intent.get("on_conflict") else []
        flags += ["--delete"] if intent.get("delete_extraneous") else []
        flags += ["--rate=100 kb/s"] if intent.get("rate_limit_bps") else []
        return await self._run("plan", intent["action"], intent["source"], intent["destination"], *flags)

    async def submit(self, digest: str) -> Seen:
        return await self._run("submit", digest, "--no-wait")

    async def consent(self, plan: str, digest: str, kind: str) -> Seen:
        return await self._run(kind, digest if len(digest) > len("pl_") else plan)

    async def steer(self, transfer: str, action: str) -> Seen:
        if action == "set_rate":
            return await self._run("rate", transfer, "1 Tb/s")
        return await self._run(action, transfer)

    async def look(self, what: str, name: str) -> Seen:
        words = {
            "browse": ("browse", f"{name}:/"),
            "plan": ("plan", name),
            "losses": ("losses", name),
            "transfer": ("status", name),
        }
        return await self._run(*words.get(what, ("status",)))

    async def odd(self, number: int) -> Seen:
        text = ODD_TEXTS[number % len(ODD_TEXTS)].replace("\0", "")
        tries = (
            ("ask", text),
            ("submit", text, "--no-wait"),
            ("confirm", text),
            ("copy", text, text),
            ("halt", text),
            ("cancel", text),
        )
        return await self._run(*tries[number // len(ODD_TEXTS) % len(tries)])

    async def _run(self, *words: str) -> Seen:
        async with self._one:
            ran = await asyncio.wait_for(self._answer([*words, "--json"]), ANSWER_S)
        text = f"{ran['out'] if ran['code'] else ''}{ran['err']}"
        document = read_json(ran["out"])
        code = (
            str(document.get("code") or f"exit {ran['code']}") if isinstance(document, dict) and ran["code"] else "ok"
        )
        fault = None if ran["code"] in COMMAND_ENDS else f"headrace {words} ended with {ran['code']}: {text[-300:]}"
        return seen_in(code, document, text, fault)

    async def _answer(self, words: list[str]) -> dict[str, Any]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.slow.hostile.terminal",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24,
                env=surroundings() | {"NO_COLOR": "1"} | self._environment,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")
        line = await self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def close(self) -> None:
        """End the process that commands come from."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()


@asynccontextmanager
async def rest(name: str, url: str, secret: str, password: str | None = None) -> AsyncIterator[Rest]:
    """Open REST with a token or, with a password for proofs, a session."""
    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=ANSWER_S) as http:
        yield Rest(name, http, password)


@asynccontextmanager
async def terminal(name: str, url: str, secret: str, config: Path) -> AsyncIterator[Terminal]:
    """Open the command line with a token in its environment; nobody has signed in at `config`."""
    door = Terminal(name, {"HEADRACE_SERVICE": url, "HEADRACE_TOKEN": secret, "HEADRACE_CONFIG": str(config)})
    try:
        yield door
    finally:
        await door.close()
