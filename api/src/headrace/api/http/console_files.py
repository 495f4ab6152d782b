"""Serve the console: files that `make web` built and compressed, under a strict content security policy.

The files are in the folder `console` of this package, put there by `make web` and not committed. Their names are
read once; a request is answered by an exact name or not at all, so no path reaches the file system.
"""

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fastapi import FastAPI, HTTPException, Request
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import FileResponse, PlainTextResponse, Response

from headrace.api.http.guard import NO_PERMISSIONS

BUILD: Final = Path(__file__).parents[1] / "console"

NOT_BUILT: Final = (
    "The Headrace service is running, without the console: it was not built.\n"
    "`make web` builds it; then restart the service. The command line does everything: headrace --help\n"
)

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Only the worker that lints policies compiles WebAssembly; a worker obeys the policy of its own answer.
WORKER_POLICY: Final = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"

PAGES: Final = frozenset(
    {
        "", "sign-in", "proven", "accept", "new", "transfers", "transfers/$transfer", "plans/$plan", "requests",
        "approvals", "policies", "qos", "endpoints", "halts", "audit", "people", "people/$person", "account", "tokens",
    }
)  # fmt: skip
"""The paths of the console's own router, as it writes them."""
_ENCODINGS: Final = (("br", ".br"), ("gzip", ".gz"))
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": NO_PERMISSIONS,
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One built file: its type, its compressed forms by encoding, and whether its name changes with its content."""

    path: Path
    media_type: str
    compressed: tuple[tuple[str, Path], ...]
    hashed: bool

    def answer(self, accepted: str) -> Response:
        """Answer with the smallest form that the browser accepts."""
        offered = {part.partition(";")[0].strip() for part in accepted.split(",")}
        policy = WORKER_POLICY if ".worker-" in self.path.name else PAGE_POLICY
        headers = _HEADERS | {
            "Content-Security-Policy": policy,
            "Cache-Control": "public, max-age=31536000, immutable" if self.hashed else "no-cache",
        }
        for encoding, path in self.compressed:
            if encoding in offered:
                return FileResponse(path, media_type=self.media_type, headers=headers | {"Content-Encoding": encoding})
        return FileResponse(self.path, media_type=self.media_type, headers=headers)


def mount_console(app: FastAPI, folder: Path = BUILD) -> None:
    """Serve the console on every path but those of the API, of MCP and `/.well-known`; call it before a mount at `/`.

    A path of the console's own router gets the page itself. What is none is not there, and browsers alone get the page
    with that, which says it to people: a program that left out `/api` is told so. Without a build `/` says so.
    """
    register_url_convertor("console", _ConsolePath())
    assets = _assets(folder)
    page = assets.get("index.html")

    async def console(request: Request, path: str) -> Response:
        if path.startswith("assets/") and path not in assets:
            raise HTTPException(404)
        encodings = request.headers.get("accept-encoding", "")
        if path in assets:
            return assets[path].answer(encodings)
        accepted = request.headers.get("accept", "*/*")
        known = _is_page(path)
        if "text/html" not in accepted and not (known and "*/*" in accepted):
            raise HTTPException(404)
        if page is None:
            return PlainTextResponse(NOT_BUILT, status_code=200 if path == "" else 404)
        found = page.answer(encodings)
        found.status_code = 200 if known else 404
        return found

    app.add_api_route("/{path:console}", console, methods=["GET", "HEAD"], include_in_schema=False)


def _is_page(path: str) -> bool:
    """Whether the console's router has a page for a path."""
    parts = path.strip("/").split("/")
    return any(
        len(known) == len(parts)
        and all(one == part or one.startswith("$") for one, part in zip(known, parts, strict=True))
        for known in (page.split("/") for page in PAGES)
    )


class _ConsolePath(Convertor[str]):
    """Any path that is not another door's."""

    regex = r"(?!(?:api|mcp|\.well-known)(?:/|$)).*"

    def convert(self, value: str) -> str:
        """Keep it as it is."""
        return value

    def to_string(self, value: str) -> str:
        """Keep it as it is."""
        return value


def _assets(folder: Path) -> dict[str, Asset]:
    """Read the names of the build; none when there is no build."""
    suffixes = tuple(suffix for _, suffix in _ENCODINGS)
    found: dict[str, Asset] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.endswith(suffixes):
            continue
        name = path.relative_to(folder).as_posix()
        compressed = tuple(
            (encoding, small)
            for encoding, suffix in _ENCODINGS
            if (small := path.with_name(path.name + suffix)).is_file()
        )
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        found[name] = Asset(path, media_type, compressed, hashed=name.startswith("assets/"))
    return found
