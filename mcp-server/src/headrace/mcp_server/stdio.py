"""MCP over standard input and output: the process is the person's own, and acts with their login."""

import logging
import sys

from headrace.client import Headrace, HttpHeadrace, login
from headrace.mcp_server.server import make_server


class _Person:
    """The person's connection, made anew when they sign in again while an assistant keeps the process open."""

    def __init__(self) -> None:
        self._credentials: tuple[str, str | None] | None = None
        self._port: HttpHeadrace | None = None

    def port(self) -> Headrace:
        """Return the connection with the login as it is now."""
        now = login.credentials()
        if self._port is None or now != self._credentials:
            self._credentials, self._port = now, HttpHeadrace(*now)
        return self._port


def serve() -> None:
    """Serve until standard input ends."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    person = _Person()
    make_server(lambda _token: person.port()).run("stdio")
