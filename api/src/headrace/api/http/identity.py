"""Who sent a request: a bearer secret, or the session cookie of a browser."""

from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends, Path, Query, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from pydantic import Field
from starlette.responses import Response
from starlette.types import Scope

from headrace.api.access.acting import Acting
from headrace.api.access.gate import Gate
from headrace.api.caller import Door
from headrace.api.errors import Code, ServiceError
from headrace.api.http.answers import UNSAFE_METHODS
from headrace.auth import AuthCode, AuthError, Principal, is_access_token
from headrace.client import models as m

TOKEN_PREFIX = "hrt_"  # noqa: S105 - what a token begins with
MCP_PATH = "/mcp"
_UNKNOWN_ADDRESS = "unknown"


def is_token(secret: str) -> bool:
    """Whether this is a program's: an API token, or an access token of a provider."""
    return secret.startswith(TOKEN_PREFIX) or is_access_token(secret)


def gate_of(request: Request) -> Gate:
    """Return the gate behind the app."""
    gate: Gate = request.app.state.gate
    return gate


def address_of(request: Request) -> str:
    """Return the network address of the caller, for throttling; what a proxy says that is none is unknown."""
    host = request.client.host if request.client else _UNKNOWN_ADDRESS
    try:
        # Without a zone (`%eth0`), which may be any text.
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        return _UNKNOWN_ADDRESS


def cookie_name(request: Request) -> str:
    """Return the session cookie's name: host-bound under TLS, plain on loopback http."""
    return "__Host-headrace" if request.app.state.origins.tls else "headrace"


def secret_of(request: Request) -> tuple[str, Door]:
    """Return the secret that came with a request, and by which door it came; raises `not_signed_in`."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credentials:
        return credentials.strip(), Door.API if is_token(credentials) else Door.CLI
    cookie = request.cookies.get(cookie_name(request))
    if not cookie:
        raise AuthError(AuthCode.NOT_SIGNED_IN, "no bearer secret and no cookie")
    # A browser says where an unsafe request comes from (`Guard` has checked it); without that it could be anybody's.
    if request.method in UNSAFE_METHODS and "origin" not in request.headers:
        raise ServiceError(
            Code.WRONG_ORIGIN, "a request with a cookie must say its Origin; other clients use a bearer secret"
        )
    return cookie, Door.CONSOLE


async def _gate_of(request: Request) -> Gate:
    """As `gate_of`. What routes depend on is a coroutine: FastAPI hands every other function to a thread."""
    return gate_of(request)


TheGate = Annotated[Gate, Depends(_gate_of)]

# Describe in the OpenAPI document what `secret_of` reads: routes that take a `Port` want one of the two.
_BEARER = HTTPBearer(
    scheme_name="bearer",
    description="An API token (`hrt_...`), a session's secret, or an access token of the site's provider",
    auto_error=False,
)
_COOKIE = APIKeyCookie(
    name="__Host-headrace",
    scheme_name="cookie",
    description="A browser's session (`headrace` without TLS); unsafe requests must say their Origin",
    auto_error=False,
)


async def credentials_of(
    _bearer: Annotated[object, Security(_BEARER)], _cookie: Annotated[object, Security(_COOKIE)]
) -> None:
    """Say that a route wants credentials, each of these or the other."""


async def check_sender(scope: Scope) -> None:
    """Check that a request comes from somebody who is signed in, at whichever interface; raises what is wrong."""
    request = Request(scope)
    secret, door = secret_of(request)
    people, path = gate_of(request).use_cases.people, scope["path"]
    await (people.of_token(secret, path if path == MCP_PATH else "") if door is Door.API else people.of_session(secret))


async def port_of(request: Request, gate: Gate) -> Acting:
    """Return the port for whoever sent the request."""
    secret, door = secret_of(request)
    people = gate.use_cases.people

    async def again() -> Principal:
        return await (people.of_token(secret) if door is Door.API else people.of_session(secret))

    return gate.acting_for(
        await again(), door, on_host=_from_this_host(request), again=again, address=address_of(request)
    )


async def _port(request: Request, gate: TheGate, _: Annotated[None, Depends(credentials_of)]) -> Acting:
    return await port_of(request, gate)


Port = Annotated[Acting, Depends(_port)]
Id = Annotated[str, Path(max_length=200)]
"""What a path names, or the beginning of its id."""
LastId = Annotated[str | None, Query(max_length=200, description="`next` of the page before")]
Sequence = Annotated[int, Field(ge=0, le=2**63 - 1)]


def _from_this_host(request: Request) -> bool:
    """Whether the caller is on the service's own host; behind a proxy nobody can tell."""
    if request.app.state.origins.proxied:
        return False
    address = address_of(request)
    return address != _UNKNOWN_ADDRESS and ip_address(address).is_loopback


def hand_out(request: Request, response: Response, session: m.Session) -> m.Session:
    """Give a browser its session as a cookie that no script can read, and everybody else as a secret."""
    if "origin" not in request.headers:
        return session
    hand_over(request, response, session)
    return session.model_copy(update={"secret": ""})


def hand_over(request: Request, response: Response, session: m.Session) -> None:
    """Give a browser its session as a cookie that no script can read, and that pages elsewhere never send."""
    response.set_cookie(
        cookie_name(request),
        session.secret,
        expires=session.expires,
        path="/",
        secure=request.app.state.origins.tls,
        httponly=True,
        samesite="strict",
    )
