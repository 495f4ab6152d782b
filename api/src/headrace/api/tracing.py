"""What becomes of a request, as traces that OpenTelemetry sends: only where `HEADRACE_OTLP_TRACES` says where to.

One trace is one request, from its plan by decision and submission to the transfer and its attempts. Its id comes from
the plan's own id, so it goes on in the same trace after a restart, and nothing of it is stored. Spans are made of what
the audit chain notes, once that is committed. They hold ids, states and numbers: no words, paths, messages or people.
Each call over HTTP is a span of its caller's trace (`traceparent`), or of its own; what it began links to it.

This module is imported only where traces are on.
"""

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headrace.client import models as m

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_UNDER_WAY: Final = 10_000
"""What began and has not ended is remembered for so many; an older one seems to begin with its end."""
_EXPORT_S: Final = 5
_END: Final = frozenset({"complete", "partial", "failed", "canceled"})
_BEGINS: Final = frozenset({m.TransferEventKind.STARTED.value, m.TransferEventKind.ATTEMPT.value})
_FAILED: Final = "failed"
_SERVER_ERROR: Final = 500
_CARRIER: Final = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True)
class _Begun:
    """When something began, and the call that asked for it."""

    at: int
    links: tuple[Link, ...] = ()


class _Ids(RandomIdGenerator):
    """Gives the ids that were set for the span that is being made, and random ones otherwise."""

    trace: int | None = None
    span: int | None = None

    def generate_trace_id(self) -> int:
        """As in the base."""
        return self.trace or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """As in the base."""
        return self.span or super().generate_span_id()

    @contextmanager
    def being(self, trace: int | None, span: int | None) -> "Iterator[None]":
        """Give these ids in the block, which does not wait."""
        self.trace, self.span = trace, span
        try:
            yield
        finally:
            self.trace = self.span = None


class Traces:
    """Makes spans and sends them to a receiver, in a thread of its own; what can't be sent is dropped."""

    def __init__(self, receiver: str) -> None:
        """Send to the URL `receiver`; headers, certificates and sampling come from OpenTelemetry's own variables."""
        self._ids = _Ids()
        resource = Resource.create({SERVICE_NAME: "headrace", SERVICE_VERSION: version("headrace-api")})
        self._provider = TracerProvider(id_generator=self._ids, resource=resource, shutdown_on_exit=False)
        sender = BatchSpanProcessor(OTLPSpanExporter(endpoint=receiver, timeout=_EXPORT_S))
        self._provider.add_span_processor(sender)
        self._tracer = self._provider.get_tracer("headrace")
        self._under_way: OrderedDict[str, _Begun] = OrderedDict()

    def close(self) -> None:
        """Send what is left; takes some seconds when the receiver does not answer."""
        self._provider.shutdown()

    def begin_call(self, method: str, headers: Mapping[str, str]) -> Span:
        """Begin the span of a call over HTTP, in the trace that its caller names."""
        return self._tracer.start_span(method, _CARRIER.extract(headers, Context()), SpanKind.SERVER)

    def end_call(self, span: Span, method: str, route: str, status: int) -> None:
        """End the span of a call when its answer begins."""
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
        if status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def note(self, at: datetime, kind: m.AuditKind, subject: str, detail: Mapping[str, str]) -> None:
        """Make of an event of the audit chain what it says of a request; must not fail, for it is committed."""
        now = int(at.timestamp() * 1_000) * 1_000_000
        match kind:
            case m.AuditKind.ASKED:
                self._begin(subject, now)
            case m.AuditKind.DECIDED:
                said = {"headrace.outcome": detail["outcome"], "headrace.policy_version": str(detail["policy_version"])}
                self._child("decision", subject, _Begun(now), now, said)
            case m.AuditKind.PLANNING_ENDED:
                self._plan(subject, now, detail["state"])
            case m.AuditKind.SUBMITTED:
                self._begin(subject, now)
                self._child("submission", subject, self._under_way[subject], now, {})
            case m.AuditKind.TRANSFER_CHANGED:
                self._transfer(subject, now, detail)

    def _plan(self, plan: str, now: int, state: str) -> None:
        begun = self._under_way.pop(plan, _Begun(now))
        trace, root = _ids_of(plan)
        with self._ids.being(trace, root):
            span = self._tracer.start_span("plan", Context(), start_time=begun.at, links=begun.links)
        self._finish(span, now, {"headrace.plan": plan, "headrace.state": state})

    def _transfer(self, transfer: str, now: int, detail: Mapping[str, str]) -> None:
        event, attempt = detail["event"], f"{transfer} {detail['attempt']}"
        if event in _BEGINS:
            self._begin(attempt, now)
        elif event == m.TransferEventKind.RETRY:
            self._begin(transfer, now)
        elif event == m.TransferEventKind.ATTEMPT_ENDED:
            begun = self._under_way.pop(attempt, _Begun(now))
            said = {"headrace.attempt": detail["attempt"]}
            self._child("attempt", transfer, begun, now, said, parent=self._span_of(transfer, now))
        elif event in _END:
            span = self._span_of(transfer, now)
            begun = self._under_way.pop(transfer, _Begun(now))
            said = {"headrace.state": event, "headrace.attempts": detail["attempt"]}
            self._child("transfer", transfer, begun, now, said, own=span)

    def _begin(self, what: str, now: int) -> None:
        """Remember that something begins, and in which call."""
        call = get_current_span().get_span_context()
        self._under_way[what] = _Begun(now, (Link(call),) if call.is_valid else ())
        while len(self._under_way) > _MOST_UNDER_WAY:
            self._under_way.popitem(last=False)

    def _span_of(self, transfer: str, now: int) -> int:
        """Return the id of a transfer's span, of this run until its end: a retry has one of its own."""
        begun = self._under_way.get(transfer, _Begun(now))
        return _number(f"{transfer} {begun.at}", 8)

    def _child(  # noqa: PLR0913 - one for each field of a span
        self,
        name: str,
        subject: str,
        begun: _Begun,
        now: int,
        said: Mapping[str, str],
        *,
        own: int | None = None,
        parent: int | None = None,
    ) -> None:
        trace, root = _ids_of(subject)
        above = SpanContext(trace, parent or root, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        context = set_span_in_context(NonRecordingSpan(above), Context())
        with self._ids.being(None, own):
            span = self._tracer.start_span(name, context, start_time=begun.at, links=begun.links)
        kind = "headrace.plan" if subject.startswith("pl_") else "headrace.transfer"
        self._finish(span, now, {kind: subject, **said})

    @staticmethod
    def _finish(span: Span, now: int, said: Mapping[str, str]) -> None:
        span.set_attributes(dict(said))
        if said.get("headrace.state") == _FAILED:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end_time=now)


def _ids_of(subject: str) -> tuple[int, int]:
    """Return the ids of a request's trace and first span; a plan and its only transfer share what they come from."""
    request = subject.partition("_")[2]
    return _number(f"trace {request}", 16), _number(f"plan {request}", 8)


def _number(text: str, count: int) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:count])
