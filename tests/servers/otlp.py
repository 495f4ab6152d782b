"""A receiver of traces (OTLP over HTTP) on this host, which keeps what it gets."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from gzip import decompress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

WAIT_S = 30


@dataclass
class Receiver:
    """What was received, in the order in which it came."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def take(self, body: bytes) -> None:
        """Keep what a request carries."""
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        with self.arrived:
            self.bodies.append(body)
            for of_resource in request.resource_spans:
                for of_scope in of_resource.scope_spans:
                    self.spans.extend(of_scope.spans)
            self.arrived.notify_all()

    def named(self, name: str) -> list[Span]:
        """Return the spans with this name, the oldest first."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)

    def wait_for(self, name: str, count: int = 1) -> list[Span]:
        """Wait until so many spans of a name are here."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.named(name)) >= count, WAIT_S), (
                name,
                [span.name for span in self.spans],
            )
        return self.named(name)


def said(span: Span) -> dict[str, str]:
    """Return the attributes of a span as texts."""
    return {one.key: one.value.string_value or str(one.value.int_value) for one in span.attributes}


@contextmanager
def otlp_receiver() -> Iterator[Receiver]:
    """Run a receiver for the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.take(decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
