"""A small reverse proxy: passes bytes on, and answers 502 by itself when what is behind it does not listen."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CHUNK_BYTES = 65_536
WAKE_S = 0.2
BAD_GATEWAY = (
    b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: 24\r\nconnection: close\r\n\r\n"
    b"<h1>502 Bad Gateway</h1>"
)


@dataclass
class Proxy:
    """Passes connections to `behind`, which may change or go away."""

    listener: socket.socket
    behind: tuple[str, int] | None = None
    silent: bool = False
    """Take connections and say nothing, as a half-open connection does."""
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        host, port = self.listener.getsockname()
        return f"http://{host}:{port}"

    def pass_to(self, address: str) -> None:
        """Pass what comes next to `host:port`."""
        host, _, port = address.partition(":")
        self.behind = (host, int(port))

    def run(self) -> None:
        """Take connections until `close`."""
        while not self._stop.is_set():
            if select.select([self.listener], [], [], WAKE_S)[0]:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def close(self) -> None:
        """End every connection soon."""
        self._stop.set()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if self.silent:
                self._wait_while_silent()
                return
            try:
                if self.behind is None:
                    raise ConnectionRefusedError
                server = socket.create_connection(self.behind)
            except OSError:
                client.recv(CHUNK_BYTES)
                client.sendall(BAD_GATEWAY)
                return
            with server:
                self._pass(client, server)

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        while not self._stop.is_set():
            for one in select.select([client, server], [], [], WAKE_S)[0]:
                data = one.recv(CHUNK_BYTES)
                if not data:
                    return
                if self.silent:
                    self._wait_while_silent()
                    return
                other[one].sendall(data)

    def _wait_while_silent(self) -> None:
        while self.silent and not self._stop.wait(WAKE_S):
            pass


@contextmanager
def open_proxy() -> Iterator[Proxy]:
    """Run a proxy on a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(listener)
        thread = threading.Thread(target=proxy.run, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.close()
            thread.join()
