"""What a request's head may be: everybody waits while one is read, and strangers send them."""

from http import HTTPStatus
from typing import Final

from starlette.types import Scope

from headrace.api.errors import Code
from headrace.api.problems import make
from headrace.client import models as m

MAX_TARGET: Final = 8_192
"""Bytes of path and query: the largest is a provider's answer at the sign-in."""
MAX_HEADERS: Final = 100
MAX_HEADER_BYTES: Final = 65_536
"""An access token has up to 16 KiB, and a browser sends cookies of every service on this host."""
COOKIES: Final = (b"headrace", b"__Host-headrace")
"""What names of this service's cookies begin with."""


def wrong_head(scope: Scope) -> m.Problem | None:
    """Return what is wrong with a request's head, before anything of it is parsed; `None`: nothing."""
    target = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
    if target > MAX_TARGET:
        return _too_large(f"the address is longer than {MAX_TARGET:,} bytes", HTTPStatus.REQUEST_URI_TOO_LONG)
    headers = scope["headers"]
    if len(headers) > MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        return _too_large(
            f"there are more than {MAX_HEADERS} headers, or {MAX_HEADER_BYTES:,} bytes of them",
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        )
    return None


def with_own_cookies(scope: Scope) -> Scope:
    """Leave out cookies of other services, and quoted values: ours have none, and reading one takes as the square.

    It is the same scope: what is found out further in, such as the route, is read from it further out.
    """
    headers = [(name, _own(value) if name == b"cookie" else value) for name, value in scope["headers"]]
    scope["headers"] = headers
    return scope


def _own(cookies: bytes) -> bytes:
    pairs = (pair.strip() for pair in cookies.split(b";"))
    return b"; ".join(pair for pair in pairs if pair.startswith(COOKIES) and b'"' not in pair)


def _too_large(what: str, status: HTTPStatus) -> m.Problem:
    return make(Code.INVALID_REQUEST, f"{what}; send less").model_copy(update={"status": status})
