"""How refusals are answered: problem documents (RFC 9457), whatever raised them."""

from collections.abc import Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from headrace.api.errors import Code, Retry, ServiceError
from headrace.api.http.mistakes import mistakes_of
from headrace.api.problems import KNOWN, PASSES_AFTER_S, make, problem_of
from headrace.auth import TooManyAttempts
from headrace.client import HeadraceError
from headrace.client import models as m

UNSAFE_METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""What may change something."""
PROBLEM_TYPE = "application/problem+json"
RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource"
_CODES = {
    HTTPStatus.NOT_FOUND: (Code.NOT_FOUND, "there is nothing at this address; see /api/v1/openapi.json"),
    HTTPStatus.METHOD_NOT_ALLOWED: (Code.METHOD_NOT_ALLOWED, "this address does not take that method"),
    HTTPStatus.REQUEST_TIMEOUT: (Code.REQUEST_TIMEOUT, "the request's body did not come in in time; send it again"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (Code.BODY_TOO_LARGE, "the request's body is too large; a request is small"),
}


def problem_response(
    problem: m.Problem, headers: dict[str, str] | None = None, retry_after_s: int | Retry | None = None
) -> JSONResponse:
    """Answer with a problem document; `retry_after_s` where the refusal knows more of that than its code says."""
    more = dict(headers or {})
    after_s = PASSES_AFTER_S.get(problem.code) if retry_after_s is None else retry_after_s
    if after_s is not None and after_s is not Retry.NOT_BY_ITSELF:
        more["retry-after"] = str(after_s)
    if problem.status == HTTPStatus.UNAUTHORIZED:
        more.setdefault("www-authenticate", challenge())
    return JSONResponse(problem.model_dump(mode="json"), problem.status, headers=more, media_type=PROBLEM_TYPE)


def challenge(resource: str | None = None, **said: str) -> str:
    """Return a challenge (RFC 6750); it names the metadata of a `resource` whose tokens providers make (RFC 9728)."""
    parts = {"realm": "headrace", **said}
    if resource is not None:
        parts["resource_metadata"] = metadata_url(resource)
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items())


def metadata_url(resource: str) -> str:
    """Return where the metadata of a resource is (RFC 9728, 3.1)."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{RESOURCE_METADATA}{parts.path}"


def install(app: FastAPI) -> None:
    """Answer everything that is raised under `app` with problem documents."""

    @app.exception_handler(Exception)
    async def anything(request: Request, error: Exception) -> JSONResponse:
        problem = problem_of(error, changes=request.method in UNSAFE_METHODS)
        refusal = error.__cause__ if isinstance(error, HeadraceError) else error
        headers = dict[str, str]()
        after_s = refusal.retry_after_s if isinstance(refusal, TooManyAttempts | ServiceError) else None
        if problem.status == HTTPStatus.UNAUTHORIZED:
            failed = {"error": "invalid_token"} if "authorization" in request.headers else {}
            headers["www-authenticate"] = challenge(request.app.state.token_resource, **failed)
        elif isinstance(refusal, ServiceError) and refusal.scopes:
            headers["www-authenticate"] = challenge(
                request.app.state.token_resource, error="insufficient_scope", scope=refusal.scopes[0]
            )
        return problem_response(problem, headers, after_s)

    # A store that can't be used is in the log already: what no class is named for is raised again, and logged whole.
    for known in (*KNOWN, HeadraceError, SQLAlchemyError):
        app.add_exception_handler(known, anything)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        detail, names = mistakes_of(request, error)
        return problem_response(make(Code.INVALID_REQUEST, detail, fields=names))

    @app.exception_handler(HTTPException)
    async def from_framework(request: Request, error: HTTPException) -> JSONResponse:
        allowed: set[str] = set()
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = _allowed(request)
        return refusal_of(error, allowed)


def refusal_of(error: HTTPException, allowed: Collection[str] = ()) -> JSONResponse:
    """Answer with what the framework, or the guard in the middle of a body, refuses; `allowed` methods are named."""
    code, detail = _CODES.get(HTTPStatus(error.status_code), (Code.INVALID_REQUEST, str(error.detail)))
    problem = make(code, detail).model_copy(update={"status": error.status_code})
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if allowed:
        headers["allow"] = ", ".join(sorted(allowed))
    return problem_response(problem, headers)


def _allowed(request: Request) -> set[str]:
    """Return the methods of every route at the address; the framework names those of the first only."""
    return {
        method.upper()
        for template, operations in request.app.openapi()["paths"].items()
        if compile_path(template)[0].match(request.url.path)
        for method in operations
    }
