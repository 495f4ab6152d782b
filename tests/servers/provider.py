"""A real OpenID provider (the npm package oidc-provider) in a process of its own, and people who sign in there."""

import base64
import hashlib
import json
import re
import secrets
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx2
from tests.servers.private import private

FOLDER = Path(__file__).parent / "oidc"
SECRET = "of a client in a test"  # noqa: S105
PASSWORD = "of a person at the provider"  # noqa: S105
READY_S = 30
MOST_STEPS = 12
BACK = "http://127.0.0.1:9/back"
"""Where a program waits for the answer to its question for a token."""


@dataclass(frozen=True)
class OpenIdProvider:
    """A running provider."""

    url: str

    def administrate(self, what: str, **values: object) -> Any:  # noqa: ANN401 - a JSON document
        answer = httpx2.post(f"{self.url}/test/{what}", content=json.dumps(values))
        assert answer.status_code == HTTPStatus.OK, answer.text
        return answer.json()

    def client(self, name: str, service: str, issuer: str, **more: object) -> None:
        """Register the service under `service` as a client, as which it calls this provider `issuer`."""
        here = f"{service}/api/v1/sign-in/{issuer}"
        values = {
            "client_id": name,
            "client_secret": SECRET,
            "redirect_uris": [f"{here}/callback"],
            "grant_types": ["authorization_code"],
            "response_types": ["code"],
        }
        self.administrate("clients", **{**values, **more})

    def person(self, subject: str, **claims: object) -> None:
        """Make somebody who can sign in here, with these claims, or change them."""
        self.administrate("people", id=subject, secret=PASSWORD, claims=claims)

    def person_who_signed_in(self, subject: str, at: int | None = None, acr: str | None = None) -> None:
        """Let the provider say of each sign-in of somebody that it was then (seconds), and in this way."""
        self.administrate("people", id=subject, secret=PASSWORD, claims={}, signed_in_at=at, acr=acr or "any")

    def declared(self, folder: Path, issuer: str = "corp", client: str = "headrace", **more: object) -> Path:
        """Write the file of issuers that makes a service sign people in here."""
        private(folder / "client.secret", f"{SECRET}\n")
        values = {
            "id": issuer,
            "name": "Corporate account",
            "url": self.url,
            "client_id": client,
            "client_secret_file": "client.secret",
            "scopes": ["openid", "profile", "email", "groups"],
            **more,
        }
        file = folder / "issuers.toml"
        lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        file.write_text("\n".join(["[[issuer]]", *lines, ""]), encoding="utf-8")
        return file

    def token_for(self, resource: str, scope: str, user: str) -> dict[str, Any]:
        """The tokens of a program, `notebook`, in which somebody has signed in, for a resource."""
        self.administrate(
            "clients",
            client_id="notebook",
            client_secret=SECRET,
            redirect_uris=[BACK],
            grant_types=["authorization_code"],
            response_types=["code"],
        )
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "client_id": "notebook", "response_type": "code", "redirect_uri": BACK, "scope": f"openid {scope}",
            "resource": resource, "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }  # fmt: skip
        code = walk(f"{self.url}/auth?{urlencode(asked)}", BACK, user)["code"]
        return self.granted(
            "notebook", grant_type="authorization_code", code=code, code_verifier=verifier, redirect_uri=BACK,
            resource=resource,
        )  # fmt: skip

    def token_of(self, client: str, resource: str, scope: str) -> dict[str, Any]:
        """The token of a program that calls in its own name."""
        self.administrate(
            "clients",
            client_id=client,
            client_secret=SECRET,
            redirect_uris=[],
            grant_types=["client_credentials"],
            response_types=[],
        )
        return self.granted(client, grant_type="client_credentials", scope=scope, resource=resource)

    def granted(self, client: str, **request: str) -> dict[str, Any]:
        answer = httpx2.post(f"{self.url}/token", data=request, auth=(client, SECRET))
        assert answer.status_code == HTTPStatus.OK, answer.text
        found: dict[str, Any] = answer.json()
        return found


def walk(start: str, back: str, user: str, password: str = PASSWORD) -> dict[str, str]:
    """Sign in at a provider as a browser does, from `start` until it leads to an address that begins with `back`.

    Returns the provider's answer: the parameters of that address.
    """
    with httpx2.Client() as browser:
        answer = browser.get(start)
        for _ in range(MOST_STEPS):
            if answer.is_redirect:
                url = urljoin(str(answer.url), answer.headers["location"])
                if url.startswith(back):
                    return dict(parse_qsl(urlsplit(url).query))
                answer = browser.get(url)
            elif action := re.search(r'action="([^"]+)"', answer.text):
                url = urljoin(str(answer.url), action[1])
                answer = browser.post(url, data={"user": user, "secret": password})
            else:
                break
    raise AssertionError(answer.text)


@contextmanager
def open_provider() -> Iterator[OpenIdProvider]:
    """Start a provider on a free port; it ends with this process at the latest."""
    command = ["node", "provider.mjs"]
    with subprocess.Popen(command, cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            ready, _, _ = select.select([process.stdout], [], [], READY_S)
            url = process.stdout.readline().strip() if ready else ""
            assert url, "the provider did not start"
            yield OpenIdProvider(url)
        finally:
            process.stdin.close()
            process.wait(READY_S)
