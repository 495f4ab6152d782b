"""MCP at /mcp: the MCP server on this service's port, for whoever an API token belongs to."""

from contextlib import AbstractAsyncContextManager

from mcp.server.auth.provider import AccessToken
from pydantic import ConfigDict
from starlette.types import Receive, Scope, Send

from headrace.api.access.acting import Acting
from headrace.api.access.gate import Gate
from headrace.api.caller import Door
from headrace.api.errors import Code
from headrace.api.http.answers import problem_response
from headrace.api.http.guard import Origins
from headrace.api.http.identity import TOKEN_PREFIX
from headrace.api.problems import make
from headrace.auth import AuthCode, AuthError, Principal
from headrace.client import HeadraceError
from headrace.mcp_server import HttpAuth, agent_needed, http_app, make_server, running

MCP_PATHS = ("/mcp", "/.well-known/oauth-protected-resource/mcp")


class VerifiedToken(AccessToken):
    """An API token of ours, with the principal that it stands for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    principal: Principal


class McpDoor:
    """The MCP server inside this service."""

    def __init__(self, gate: Gate, origins: Origins) -> None:
        """Open the door of `gate` under `origins`."""
        self._gate = gate
        public_url = gate.public_url
        self._server = make_server(
            self._port_for, console_url=public_url, http_auth=HttpAuth(verifier=self, public_url=public_url)
        )
        hosts, pages = sorted(origins.hosts), sorted(origins.origins)
        self._app = http_app(self._server, allowed_hosts=hosts, allowed_origins=pages)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which requests are answered."""
        return running(self._server)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to one of `MCP_PATHS`."""
        if scope["path"] == MCP_PATHS[0] and scope["method"] != "POST":
            # A stream of what the server says by itself, or the end of a session: this one has neither.
            refusal = make(Code.METHOD_NOT_ALLOWED, "MCP is spoken here by POST; there are no sessions and no streams")
            await problem_response(refusal, {"allow": "POST"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """Verify an API token; sessions and everything else are refused (a password or session never passes MCP)."""
        if not token.startswith(TOKEN_PREFIX):
            return None
        try:
            principal = await self._gate.use_cases.people.of_token(token)
        except AuthError:
            return None
        scopes = [str(scope) for scope in sorted(principal.scopes)]
        return VerifiedToken(
            token=token,
            client_id=principal.agent or principal.id,
            scopes=scopes,
            subject=principal.id,
            principal=principal,
        )

    async def _port_for(self, token: AccessToken | None) -> Acting:
        if not isinstance(token, VerifiedToken):
            raise AuthError(AuthCode.NOT_SIGNED_IN, "no verified token")
        if token.principal.agent is None:
            raise HeadraceError(make(Code.AGENT_NEEDED, agent_needed()))
        secret, people = token.token, self._gate.use_cases.people
        return self._gate.acting_for(token.principal, Door.MCP, again=lambda: people.of_token(secret))
