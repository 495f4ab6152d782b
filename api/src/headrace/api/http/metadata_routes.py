"""Route: who makes access tokens for this service, and with which scopes (RFC 9728)."""

from fastapi import APIRouter, HTTPException
from starlette.responses import JSONResponse, Response

from headrace.api.http.answers import RESOURCE_METADATA
from headrace.api.http.identity import TheGate
from headrace.auth import TOKEN_SCOPES

router = APIRouter(include_in_schema=False)
RESOURCES = ("", "/mcp")
"""What tokens are made for, as paths below the service's URL: the API, and MCP."""


@router.get(RESOURCE_METADATA)
async def resource_metadata(gate: TheGate) -> Response:
    """Describe the API as a protected resource."""
    return _described(gate, "")


@router.get(f"{RESOURCE_METADATA}{{path:path}}")
async def resource_metadata_of(gate: TheGate, path: str) -> Response:
    """Describe one of the resources."""
    return _described(gate, path)


def _described(gate: TheGate, path: str) -> Response:
    issuers = gate.use_cases.people.token_issuers
    if path not in RESOURCES or not issuers:
        raise HTTPException(404)
    return JSONResponse(
        {
            "resource": f"{gate.public_url}{path}",
            "authorization_servers": list(issuers),
            "scopes_supported": sorted(TOKEN_SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Headrace",
        }
    )
