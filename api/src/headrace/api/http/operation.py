"""What operators' machines ask, on a listener of its own: whether the service lives, is ready, and its figures.

No sign-in is needed there, and nothing can be changed; who may reach the address is the operator's to decide.
"""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from time import perf_counter

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.api.access.metrics import Metrics, figures_of_relay
from headrace.api.errors import Code
from headrace.api.http.relay import Relay

_OTHER = "other"
"""What requests are counted as that no route took: what strangers make up is no label."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def create_operation_app(metrics: Metrics) -> Starlette:
    """Make the application of the operators' listener."""

    async def live(_request: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(_request: Request) -> Response:
        reasons = await metrics.not_ready()
        return _readiness([reason.code for reason in reasons], [reason.said for reason in reasons])

    async def figures(_request: Request) -> Response:
        return Response(await metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return Starlette(routes=[Route("/live", live), Route("/ready", ready), Route("/metrics", figures)])


def create_relay_operation_app(relay: Relay, obstacle: Callable[[], str]) -> Starlette:
    """Make the application of the operators' listener of a process that passes requests on to the one that leads.

    `obstacle` says what keeps this process from leading; empty when nothing does but that another one leads.
    """

    async def live(_request: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(_request: Request) -> Response:
        not_reached = await relay.why_not_reached()
        # What keeps this process from leading comes alone: it is known, and nobody is told to end a process for it.
        said = [obstacle() or not_reached] if not_reached else []
        return _readiness([Code.NO_LEADER.value] if not_reached else [], said)

    async def figures(_request: Request) -> Response:
        return Response(figures_of_relay(ready=await relay.reaches_leader()), media_type=CONTENT_TYPE_LATEST)

    return Starlette(routes=[Route("/live", live), Route("/ready", ready), Route("/metrics", figures)])


def _readiness(reasons: Sequence[str], said: Sequence[str]) -> Response:
    """Answer: not ready for these reasons (codes); `said` is for people."""
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return JSONResponse({"ready": not reasons, "reasons": list(reasons), "said": list(said)}, status)


class Measured:
    """Counts requests by route, with the time until their answer began.

    Requests that ask to wait are left out: how long they take says nothing of the service.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        """Measure `app`."""
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = perf_counter()

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and b"wait_s=" not in scope["query_string"]:
                self._metrics.note_request(
                    known_method(scope), route_of(scope), message["status"], perf_counter() - begin
                )
            await send(message)

        await self._app(scope, receive, noted)


def known_method(scope: Scope) -> str:
    """Return the method of a request; what strangers make up is `other`."""
    return scope["method"] if scope["method"] in _METHODS else _OTHER


def route_of(scope: Scope) -> str:
    """Return the pattern of the route that took a request."""
    route = getattr(scope.get("route"), "path", None)
    if route is None and "endpoint" in scope and not scope.get("path_params"):
        route = scope["path"]  # a route without parameters is its own pattern
    return route or _OTHER
