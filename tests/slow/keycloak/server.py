"""A real Keycloak on loopback, with one realm; what is in it is gone with its process."""

import hashlib
import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from http import HTTPStatus
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urljoin, urlsplit
from zipfile import ZipFile

import httpx2
from tests.servers.ports import free_port

VERSION: Final = "26.7.0"
SHA256: Final = "e63bd0167199c0092b8a4d22cc137e6b7a70e0089070f6f7799b1be504b69a8a"
TOOLS: Final = Path(__file__).parents[3] / ".tools" / "keycloak"
PASSWORD: Final = "Us3r-Passw0rd!"  # noqa: S105 - of everybody here
START_S: Final = 300
DOWNLOAD_S: Final = 150
TRIES: Final = 2
MOST_STEPS: Final = 12
ENVIRONMENT: Final = os.environ | {"JAVA_OPTS_APPEND": "-XX:TieredStopAtLevel=1"}
"""Keycloak lives for seconds here: its code is compiled once, in half the processor time."""
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_GROUPS: Final = {
    "name": "groups",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-group-membership-mapper",
    "config": {"claim.name": "groups", "full.path": "false", "id.token.claim": "true", "access.token.claim": "true"},
}

_ROLES: Final = {
    "name": "realm roles in the ID token",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-usermodel-realm-role-mapper",
    "config": {
        "claim.name": "realm_access.roles", "multivalued": "true", "jsonType.label": "String", "id.token.claim": "true",
    },
}  # fmt: skip


@dataclass
class Keycloak:
    """A running Keycloak; its administrator changes it while checks run."""

    base: str
    _token: tuple[float, str] = field(default=(0.0, ""), repr=False)

    @property
    def url(self) -> str:
        """What its realm calls itself."""
        return f"{self.base}/realms/lab"

    def admin(self, method: str, path: str, **what: Any) -> Any:  # noqa: ANN401 - a JSON document
        if time.monotonic() > self._token[0]:
            given = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": "admin"}
            answer = httpx2.post(f"{self.base}/realms/master/protocol/openid-connect/token", data=given, timeout=60)
            self._token = (time.monotonic() + 30, answer.json()["access_token"])
        header = {"authorization": f"Bearer {self._token[1]}"}
        answer = httpx2.request(method, f"{self.base}/admin/realms{path}", headers=header, timeout=60, **what)
        assert answer.status_code < HTTPStatus.BAD_REQUEST, (path, answer.text)
        return answer.json() if answer.content else None

    def make_realm(self, service: str) -> None:
        """Make a realm with one group, and the clients of a service and of a program."""
        self.admin(
            "POST", "", json={"realm": "lab", "enabled": True, "sslRequired": "none", "groups": [{"name": "staff"}]}
        )
        scope = {
            "name": "transfer:read",
            "protocol": "openid-connect",
            "attributes": {"include.in.token.scope": "true"},
        }
        self.admin("POST", "/lab/client-scopes", json=scope)
        audience = {
            "name": "audience",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-audience-mapper",
            "config": {"included.custom.audience": service, "access.token.claim": "true"},
        }
        web = {
            "clientId": "headrace",
            "secret": "of a client in a test",
            "redirectUris": [f"{service}/api/v1/sign-in/corp/callback"],
            "attributes": {"pkce.code.challenge.method": "S256", "post.logout.redirect.uris": f"{service}/sign-in"},
            "protocolMappers": [_GROUPS, _ROLES],
        }
        program = {
            "clientId": "notebook",
            "secret": "of a client in a test",
            "standardFlowEnabled": False,
            "directAccessGrantsEnabled": True,
            "defaultClientScopes": ["basic"],
            "optionalClientScopes": ["transfer:read"],
            "protocolMappers": [audience],
        }
        for client in (web, program):
            self.admin("POST", "/lab/clients", json=client)

    def person(self, name: str, *groups: str) -> None:
        """Make somebody who can sign in."""
        said = {
            "username": name, "enabled": True, "email": f"{name}@corp.test", "emailVerified": True,
            "firstName": name.title(), "lastName": "Test", "groups": [f"/{group}" for group in groups],
            "credentials": [{"type": "password", "value": PASSWORD, "temporary": False}],
        }  # fmt: skip
        self.admin("POST", "/lab/users", json=said)

    def id_of(self, name: str) -> str:
        [found] = self.admin("GET", "/lab/users", params={"username": name, "exact": "true"})
        return str(found["id"])

    def enable(self, name: str, *, enabled: bool) -> None:
        self.admin("PUT", f"/lab/users/{self.id_of(name)}", json={"enabled": enabled})

    def leave(self, name: str, group: str) -> None:
        person = self.id_of(name)
        [found] = [one for one in self.admin("GET", f"/lab/users/{person}/groups") if one["name"] == group]
        self.admin("DELETE", f"/lab/users/{person}/groups/{found['id']}")

    def give_role(self, name: str, role: str) -> None:
        """Make a role of the realm, and give it to somebody."""
        self.admin("POST", "/lab/roles", json={"name": role})
        made = self.admin("GET", f"/lab/roles/{role}")
        self.admin("POST", f"/lab/users/{self.id_of(name)}/role-mappings/realm", json=[made])

    def rotate(self) -> None:
        """Sign with another key from now on."""
        realm = self.admin("GET", "/lab")["id"]
        config = {"priority": ["200"], "enabled": ["true"], "active": ["true"], "algorithm": ["RS256"]}
        key = {"name": "next", "providerId": "rsa-generated", "parentId": realm, "config": config}
        self.admin("POST", "/lab/components", json={**key, "providerType": "org.keycloak.keys.KeyProvider"})

    def tokens_of(self, name: str, scope: str) -> dict[str, Any]:
        """The tokens of a program that somebody has given their password."""
        given = {"grant_type": "password", "username": name, "password": PASSWORD, "scope": scope}
        auth = ("notebook", "of a client in a test")
        answer = httpx2.post(f"{self.url}/protocol/openid-connect/token", data=given, auth=auth, timeout=60)
        assert answer.status_code == HTTPStatus.OK, answer.text
        found: dict[str, Any] = answer.json()
        return found


@dataclass
class Browser:
    """Somebody's browser at Keycloak: it keeps cookies, so who has signed in stays so."""

    user: str
    passwords: int = 0
    """How often it was asked to sign in."""
    _kept: dict[str, str] = field(default_factory=dict, repr=False)

    def walk(self, start: str, back: str) -> dict[str, str]:
        """Go on from `start`, and sign in where that is asked, until an address that begins with `back`: its query."""
        answer = self._ask("GET", start)
        for _ in range(MOST_STEPS):
            if answer.is_redirect:
                url = urljoin(str(answer.url), answer.headers["location"])
                if url.startswith(back):
                    return dict(parse_qsl(urlsplit(url).query))
                answer = self._ask("GET", url)
            elif action := re.search(r'<form[^>]*action="([^"]+)"', answer.text):
                self.passwords += 1
                form = {"username": self.user, "password": PASSWORD}
                answer = self._ask("POST", urljoin(str(answer.url), unescape(action[1])), data=form)
            else:
                break
        raise AssertionError(answer.text)

    def _ask(self, method: str, url: str, **what: Any) -> httpx2.Response:  # noqa: ANN401 - the client's
        cookies = "; ".join(f"{name}={value}" for name, value in self._kept.items())
        answer = httpx2.request(method, url, headers={"cookie": cookies}, follow_redirects=False, timeout=60, **what)
        for line in answer.headers.get_list("set-cookie"):
            self._kept.update({name: one.value for name, one in SimpleCookie(line).items()})
        return answer


def installed() -> Path:
    """Return the folder of Keycloak, after it was downloaded and built."""
    folder = TOOLS / f"keycloak-{VERSION}"
    built = folder / ".built"
    if not built.exists():
        TOOLS.mkdir(parents=True, exist_ok=True)
        with ZipFile(_downloaded()) as packed:
            packed.extractall(TOOLS)
        (folder / "bin" / "kc.sh").chmod(0o755)
        command = [str(folder / "bin" / "kc.sh"), "build", "--db=dev-mem"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=ENVIRONMENT, timeout=START_S)
        assert done.returncode == 0, f"Keycloak can't be built:\n{done.stdout}{done.stderr}"
        built.touch()
    return folder


def _downloaded() -> Path:
    """Return Keycloak as it is published: from here, from what Maven keeps of earlier downloads, or anew."""
    file = TOOLS / f"keycloak-quarkus-dist-{VERSION}.zip"
    said = ""
    for _ in range(TRIES):
        if file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == SHA256:
            return file
        file.unlink(missing_ok=True)
        said = _maven(f"-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip", f"-DoutputDirectory={TOOLS}")
    found = hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "nothing"
    message = f"Keycloak {VERSION} could not be downloaded with Maven ({found} came instead of {SHA256}):\n{said}"
    raise AssertionError(message)


def _maven(*options: str) -> str:
    """Let Maven copy an artifact, and return what it says of why it can't; `-U` tries again what it could not find."""
    try:
        done = subprocess.run(
            ["mvn", "-q", "-B", "-U", _COPY, *options], check=False, capture_output=True, text=True, timeout=DOWNLOAD_S
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {DOWNLOAD_S} s"
    return (done.stdout + done.stderr)[-2000:]


@contextmanager
def keycloak_running() -> Iterator[Keycloak]:
    """Start Keycloak on free ports."""
    ports = [free_port(), free_port()]
    base = f"http://127.0.0.1:{ports[0]}"
    settings = {
        "KC_BOOTSTRAP_ADMIN_USERNAME": "admin", "KC_BOOTSTRAP_ADMIN_PASSWORD": "admin", "KC_HTTP_ENABLED": "true",
        "KC_HTTP_HOST": "127.0.0.1", "KC_HTTP_PORT": str(ports[0]), "KC_HTTP_MANAGEMENT_PORT": str(ports[1]),
        "KC_HOSTNAME": base, "KC_CACHE": "local", "JAVA_OPTS_KC_HEAP": "-Xms64m -Xmx512m",
    }  # fmt: skip
    command = [str(installed() / "bin" / "kc.sh"), "start", "--optimized"]
    with subprocess.Popen(
        command, env=ENVIRONMENT | settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        text=True,
    ) as process:  # fmt: skip
        said, listens = deque[str](maxlen=50), threading.Event()
        reader = threading.Thread(target=_read, args=(process, said, listens))
        reader.start()
        try:
            assert listens.wait(START_S), "".join(said)
            assert process.poll() is None, "".join(said)
            yield Keycloak(base)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            reader.join()


def _read(process: "subprocess.Popen[str]", said: deque[str], listens: threading.Event) -> None:
    """Read what Keycloak says until it ends; it listens when it says so."""
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if "Listening on:" in line:
            listens.set()
    listens.set()
