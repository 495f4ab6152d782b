"""The web application: REST under /api/v1, MCP at /mcp, and the guard before both."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Route

from headrace.api.access.gate import Gate
from headrace.api.http import (
    event_routes,
    metadata_routes,
    people_routes,
    plan_routes,
    sign_in_routes,
    site_routes,
    transfer_routes,
)
from headrace.api.http.answers import PROBLEM_TYPE, install
from headrace.api.http.console_files import mount_console
from headrace.api.http.guard import Guard, Origins
from headrace.api.http.identity import MCP_PATH, check_sender
from headrace.api.http.mistakes import require_known_query
from headrace.api.http.operation import Measured
from headrace.api.mcp.mount import McpDoor

PREFIX = "/api/v1"

_PROBLEM = {
    "description": "What went wrong, where, and what to do (docs/errors.md lists the codes)",
    "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def create_app(gate: Gate, origins: Origins) -> FastAPI:
    """Make the application that serves `gate` under `origins`."""
    door = McpDoor(gate, origins)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with door.running():
            yield

    app = FastAPI(
        title="Headrace",
        version=version("headrace-api"),
        description="Moves data between storage sites: words or slots -> plan -> policy -> verified bytes.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation_id,
        lifespan=lifespan,
    )
    app.state.gate = gate
    app.state.origins = origins
    # What access tokens of providers are made for, where any count.
    app.state.token_resource = gate.public_url if gate.use_cases.people.token_issuers else None
    api = APIRouter(prefix=PREFIX, responses={"default": _PROBLEM})
    for routes in (people_routes, sign_in_routes, plan_routes, transfer_routes, event_routes, site_routes):
        # A provider sends people back to a sign-in with parameters of its own.
        strict = [] if routes is sign_in_routes else [Depends(require_known_query)]
        api.include_router(routes.router, dependencies=strict)
    app.include_router(api)
    install(app)
    app.router.routes.append(Route(MCP_PATH, door))
    app.include_router(metadata_routes.router)
    mount_console(app)
    limits = gate.settings
    app.add_middleware(
        Guard,
        origins=origins,
        check_sender=check_sender,
        max_body_bytes=limits.max_body_bytes,
        receive_s=limits.receive_timeout_s,
        timeout_s=limits.request_timeout_s,
    )
    app.add_middleware(Measured, metrics=gate.use_cases.metrics)
    if gate.use_cases.traces is not None:
        from headrace.api.http.traced import Traced  # noqa: PLC0415 - it needs what only traces need

        app.add_middleware(Traced, traces=gate.use_cases.traces)
    return app


def _operation_id(route: APIRoute) -> str:
    """Operations are named like the port's methods."""
    return route.name
