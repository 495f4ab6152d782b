"""A language model's endpoint on this host, which answers as a test says and keeps what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Markup = dict[str, list[dict[str, str]]]


def markup(background: list[str], **slots: str) -> Markup:
    """Write an answer in the form that is asked for."""
    return {
        "slots": [{"quote": quote, "role": role} for role, quote in slots.items()],
        "background": [{"quote": quote} for quote in background],
    }


def completion(content: object, **more: object) -> bytes:
    """Write a chat completion."""
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"} | more
    return json.dumps({"choices": [choice], "usage": {"total_tokens": 700}}).encode()


@dataclass
class ModelServer:
    """What it was asked, and how it answers."""

    url: str = ""
    answer: Callable[[BaseHTTPRequestHandler], None] = lambda _: None
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)

    def says(self, body: bytes | Markup, status: int = 200) -> None:
        """Answer every question with this."""
        content = body if isinstance(body, bytes) else completion(json.dumps(body))

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("content-length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)

        self.answer = answer

    def never_ends(self, pieces: bytes, between_s: float) -> None:
        """Answer with a body that goes on for as long as somebody listens."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.end_headers()
            while not self.ending.wait(between_s):
                handler.wfile.write(pieces)
                handler.wfile.flush()

        self.answer = answer

    def is_silent(self) -> None:
        """Take questions and say nothing."""

        def answer(_: BaseHTTPRequestHandler) -> None:
            self.ending.wait()

        self.answer = answer


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Run an endpoint for the block."""
    model = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            model.asked.append(json.loads(body) | {"path": self.path})
            model.keys.append(self.headers.get("authorization"))
            try:
                model.answer(self)
            except OSError:  # the service has hung up
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        model.ending.set()
        server.shutdown()
        server.server_close()
