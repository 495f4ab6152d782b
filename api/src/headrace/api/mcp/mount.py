"""MCP at /mcp: the MCP server on this service's port, for whoever an API token or a provider's access token belongs to.

Which scope a tool needs is known before it is called, so that a client with an access token can ask for it (RFC 6750).
"""

import json
from contextlib import AbstractAsyncContextManager
from typing import Final

from mcp.server.auth.provider import AccessToken
from pydantic import ConfigDict, Field
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from headrace.api.access.acting import Acting
from headrace.api.access.gate import Gate
from headrace.api.caller import Door
from headrace.api.errors import Code
from headrace.api.http.answers import challenge, problem_response
from headrace.api.http.guard import Origins
from headrace.api.http.identity import MCP_PATH, is_token
from headrace.api.problems import make
from headrace.auth import AuthCode, AuthError, Principal, is_access_token
from headrace.auth import Scope as AuthScope
from headrace.client import HeadraceError
from headrace.mcp_server import SCOPE_OF_TOOL, HttpAuth, agent_needed, http_app, make_server, running

MAX_CALL: Final = 131_072
"""Bytes of a call: what is wrong with one is said of each of its fields, so the answer is larger by far."""


class VerifiedToken(AccessToken):
    """An API token of ours, with the principal that it stands for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    token: str = Field(repr=False)
    principal: Principal


class McpDoor:
    """The MCP server inside this service."""

    def __init__(self, gate: Gate, origins: Origins) -> None:
        """Open the door of `gate` under `origins`."""
        self._gate = gate
        public_url, issuers = gate.public_url, gate.use_cases.people.token_issuers
        self._resource = f"{public_url}{MCP_PATH}"
        auth = HttpAuth(verifier=self, public_url=public_url, issuer_url=issuers[0] if issuers else None)
        self._server = make_server(self._port_for, console_url=lambda: public_url, http_auth=auth)
        hosts, pages = sorted(origins.hosts), sorted(origins.origins)
        self._app = http_app(self._server, allowed_hosts=hosts, allowed_origins=pages)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which requests are answered."""
        return running(self._server)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to `MCP_PATH`."""
        if scope["method"] != "POST":
            # A stream of what the server says by itself, or the end of a session: this one has neither.
            refusal = make(Code.METHOD_NOT_ALLOWED, "MCP is spoken here by POST; there are no sessions and no streams")
            await problem_response(refusal, {"allow": "POST"})(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if int(headers.get("content-length", "0")) > MAX_CALL:
            refusal = make(Code.BODY_TOO_LARGE, f"a call of more than {MAX_CALL:,} bytes; no tool takes as much")
            await problem_response(refusal, {"connection": "close"})(scope, receive, send)
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and is_access_token(token):
            body, receive = await _read(receive)
            missing = await self._missing_scope(token, body)
            if missing is not None:
                await self._ask_for(missing)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _missing_scope(self, token: str, body: bytes) -> str | None:
        """Return the scope that an access token lacks for the tool that a request calls."""
        try:
            call = json.loads(body)
            tool = call["params"]["name"] if call["method"] == "tools/call" else None
        except (KeyError, TypeError, ValueError, RecursionError):
            return None  # the server says what is wrong with it
        needed = SCOPE_OF_TOOL.get(tool) if isinstance(tool, str) else None
        verified = await self.verify_token(token) if needed else None
        return needed if verified is not None and needed not in verified.scopes else None

    def _ask_for(self, scope: str) -> JSONResponse:
        refusal = make(
            Code.FORBIDDEN,
            f"your token may not {AuthScope(scope).in_words}; ask your provider for one with the scope `{scope}`",
        )
        wanted = " ".join(sorted({scope, SCOPE_OF_TOOL["list_endpoints"]}))
        asked = challenge(self._resource, error="insufficient_scope", scope=wanted)
        return problem_response(refusal, {"www-authenticate": asked})

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """Verify an API token or an access token made for MCP here; a password or session never passes MCP."""
        if not is_token(token):
            return None
        try:
            principal = await self._gate.use_cases.people.of_token(token, MCP_PATH)
        except AuthError:
            return None
        scopes = [str(scope) for scope in sorted(principal.scopes)]
        return VerifiedToken(
            token=token,
            client_id=principal.agent or principal.id,
            scopes=scopes,
            subject=principal.id,
            resource=self._resource,
            principal=principal,
        )

    async def _port_for(self, token: AccessToken | None) -> Acting:
        if not isinstance(token, VerifiedToken):
            raise AuthError(AuthCode.NOT_SIGNED_IN, "no verified token")
        if token.principal.agent is None:
            raise HeadraceError(make(Code.AGENT_NEEDED, agent_needed()))
        secret, people = token.token, self._gate.use_cases.people
        return self._gate.acting_for(token.principal, Door.MCP, again=lambda: people.of_token(secret, MCP_PATH))


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """Read a body, whose size the guard limits, and return what gives it once more."""
    messages = [await receive()]
    while messages[-1].get("more_body", False):
        messages.append(await receive())
    waiting = list(messages)

    async def again() -> Message:
        return waiting.pop(0) if waiting else await receive()

    return b"".join(message.get("body", b"") for message in messages), again
