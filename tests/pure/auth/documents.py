"""What a provider serves and signs: its documents by a real HTTP server, and tokens as it would make them."""

import base64
import hmac
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from headrace.auth import Issuer

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
AT = int(NOW.timestamp())
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
LATER_KEY = ECKey.generate_key("P-256", {"kid": "two"})

Answer = tuple[int, Any]
"""A status, and JSON."""


class OwnClock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class Documents:
    """What a provider serves; `asked` counts requests for keys."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: Any = KeySet([KEY]).as_dict(private=False)
        self.changed: dict[str, object] = {}
        self.asked = 0
        self.away = False
        self.posted: list[str] = []
        self.answers: dict[str, Answer | Callable[[Mapping[str, str]], Answer]] = {}
        """By path, what a request with a body is answered; a function is given the fields of that body."""

    def of(self, path: str) -> Any:  # noqa: ANN401 - JSON
        if self.away:
            return None
        if path == "/keys":
            self.asked += 1
            return self.keys
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            **self.changed,
        }


@contextmanager
def served(tls: ssl.SSLContext | None = None) -> Iterator[Documents]:
    """Serve the documents of a provider by a real HTTP server, with `tls` by https."""
    documents = Documents()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = documents.of(self.path)
            self.send_response(503 if document is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def do_POST(self) -> None:
            fields = dict(parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode()))
            documents.posted.append(self.path)
            answer = documents.answers.get(self.path, (404, {"error": "nothing_here"}))
            status, document = answer(fields) if callable(answer) else answer
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls:
            # Each connection is greeted by the thread that answers it.
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        documents.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield documents
        finally:
            server.shutdown()
            thread.join()


def issuer_at(url: str) -> Issuer:
    return Issuer(id="corp", name="Corp", url=url, client_id="headrace")


def claims(documents: Documents, **changed: object) -> dict[str, Any]:
    given = {
        "iss": documents.url, "aud": "headrace", "sub": "pia", "nonce": "n", "iat": AT - 5, "exp": AT + 300,
        "auth_time": AT - 60, "name": "Pia", "groups": ["staff"], "amr": ["pwd", "otp"], "sid": "s1",
    } | changed  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def signed(given: dict[str, Any], key: Any = KEY, **header: str) -> str:  # noqa: ANN401 - any key
    return jwt.encode({"alg": "RS256", "kid": "one", **header}, given, key, algorithms=[header.get("alg", "RS256")])


def by_public_key(body: dict[str, Any], **header: str) -> str:
    """A token signed with HS256, whose key is the provider's public one."""
    head = {"alg": "HS256", "kid": "one", **header}
    text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, body))
    mac = hmac.digest(KEY.as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
