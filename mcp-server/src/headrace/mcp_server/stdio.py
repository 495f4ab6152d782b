"""MCP over standard input and output: the process is an assistant's, and acts with the token that names it."""

import asyncio
import logging
import sys
from contextlib import AsyncExitStack
from typing import Final

from headrace.client import Headrace, HeadraceError, HttpHeadrace, login
from headrace.client.models import Problem
from headrace.mcp_server.server import make_server
from headrace.mcp_server.tools import agent_needed

_FORBIDDEN = 403
_ENDS_WITH: Final = {"not_signed_in": 8, "agent_needed": 4}
"""The exit codes of `headrace` for a token that is not good, and for one that names no assistant."""
_SAID_WITHIN_S: Final = 3.0
"""How long a start waits to hear whether tools will work; a client that waits for the start gives up later."""


class _Assistant:
    """The assistant's connection. A person's own login is not used: it would make the assistant the person."""

    def __init__(self) -> None:
        self._port: HttpHeadrace | None = None
        self.console_url, _ = login.token()
        """Where people open the service in a browser; until it says so, where it is reached."""

    async def port(self) -> Headrace:
        """Return the connection, once the service has said that its token names an assistant."""
        if self._port is None:
            url, token = login.token()
            if token is None:
                raise _refused()
            port = HttpHeadrace(url, token)
            async with AsyncExitStack() as opened:
                opened.push_async_callback(port.aclose)
                me = await port.me()
                if me.agent is None:
                    raise _refused()
                self.console_url = me.console or url
                opened.pop_all()
            self._port = port
        return self._port

    async def aclose(self) -> None:
        """End the connection, if there is one."""
        if self._port is not None:
            await self._port.aclose()


def _refused() -> HeadraceError:
    return HeadraceError(Problem(title="agent needed", status=_FORBIDDEN, code="agent_needed", detail=agent_needed()))


async def _say_trouble() -> int:
    """Say on standard error why no tool will work, if so: an assistant hears of it only at its first call.

    Returns the exit code that a refused token leads to, else 0. A connection of its own, because this one's event loop
    ends here.
    """
    once = _Assistant()
    try:
        async with asyncio.timeout(_SAID_WITHIN_S):
            await once.port()
    except HeadraceError as error:
        problem = error.problem
        refused = problem.code == "not_signed_in"
        detail = f"{login.bad_token(login.token()[0])} {agent_needed()}" if refused else problem.detail
        sys.stderr.write(f"headrace mcp: {detail} [{problem.code}]\n")
        return _ENDS_WITH.get(problem.code, 0)
    except TimeoutError:
        sys.stderr.write("headrace mcp: the service has not answered yet; tools ask it again\n")
    finally:
        await once.aclose()
    return 0


def serve() -> None:
    """Serve until standard input ends; the exit code then says whether the token was refused."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    if sys.stdin.isatty():
        sys.stderr.write(
            "headrace mcp: this is for an assistant, which starts it and talks to it over standard input and output. "
            "To end it, press Ctrl-D\n"
        )
    assistant = _Assistant()
    ends_with = asyncio.run(_say_trouble())
    make_server(lambda _token: assistant.port(), console_url=lambda: assistant.console_url).run("stdio")
    # Not before: a client that finds the process gone tells its person less than the first refused tool does.
    sys.exit(ends_with)
