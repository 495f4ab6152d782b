"""Traces calls over HTTP, where traces are on."""

from typing import TYPE_CHECKING

from opentelemetry.context import attach, detach
from opentelemetry.trace import set_span_in_context
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.api.http.operation import known_method, route_of

if TYPE_CHECKING:
    from headrace.api.tracing import Traces


class Traced:
    """Makes a span of each call, which ends when its answer begins: how long one is watched says nothing."""

    def __init__(self, app: ASGIApp, *, traces: "Traces") -> None:
        """Trace `app`."""
        self._app = app
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = known_method(scope)
        span = self._traces.begin_call(method, Headers(scope=scope))

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._traces.end_call(span, method, route_of(scope), message["status"])
            await send(message)

        token = attach(set_span_in_context(span))
        try:
            await self._app(scope, receive, noted)
        finally:
            detach(token)
