"""nginx in front of a service, with the file of deploy/nginx."""

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
import pytest
from tests.servers.headrace import PASSWORD, started
from tests.servers.nginx import TELLS, new_certificate, nginx_running, program, written
from tests.servers.ports import free_port

SPOOFED: Final = "203.0.113.9"

pytestmark = pytest.mark.xdist_group("nginx")


@pytest.mark.parametrize("other_hosts", [False, True], ids=["on this host", "on other hosts"])
@pytest.mark.parametrize("processes", [1, 3])
def test_nginx_understands_the_file_for_one_process_and_for_several(
    tmp_path: Path, processes: int, *, other_hosts: bool
) -> None:
    behind = [f"127.0.0.{1 + number}:8470" for number in range(processes)]
    certificate = new_certificate(tmp_path)
    configuration = written(tmp_path, "127.0.0.1:8443", behind, certificate, other_hosts=other_hosts)
    command = [program(), "-t", "-p", str(tmp_path), "-c", str(configuration)]
    understood = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    assert understood.returncode == 0, understood.stderr
    assert "warn" not in understood.stderr


@dataclass(frozen=True)
class Front:
    """nginx at `url`, before the service at `behind`."""

    url: str
    behind: str
    trusted: ssl.SSLContext
    token: str

    def client(self, address: str = "127.0.0.2") -> httpx2.Client:
        """Whoever calls nginx from another address than its own."""
        transport = httpx2.HTTPTransport(verify=self.trusted, local_address=address)
        return httpx2.Client(
            base_url=f"{self.url}/api/v1", transport=transport, headers={"origin": self.url}, timeout=30
        )


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("nginx")
    certificate = new_certificate(folder)
    port, behind = free_port(), f"127.0.0.1:{free_port()}"
    listen, url = f"127.0.0.1:{port}", f"https://localhost:{port}"
    (folder / "service").mkdir()
    settings = {"listen": behind, "public_url": url, "trusted_proxies": "127.0.0.1"}
    configuration = written(folder, listen, [behind], certificate)
    with started(folder / "service", **settings) as facts, nginx_running(configuration, listen):
        link = Path(facts["bootstrap_file"]).read_text(encoding="utf-8").strip()
        trusted = ssl.create_default_context(cafile=str(certificate.chain))
        yield Front(url, f"http://{behind}", trusted, link.partition("#")[2])


@pytest.fixture(scope="module")
def browser(front: Front) -> Iterator[httpx2.Client]:
    """A browser that has signed in through nginx, and says that it is somebody else's."""
    with front.client() as client:
        client.headers["x-forwarded-for"] = SPOOFED
        body = {"token": front.token, "name": "admin", "password": PASSWORD}
        answer = client.post("/invitations/accept", json=body)
        assert answer.status_code == 201, answer.text
        cookie = answer.headers["set-cookie"].lower()
        assert cookie.startswith("__host-headrace=hrs_")
        assert "; secure" in cookie
        yield client


def test_the_console_signs_in_and_stays_signed_in_behind_nginx(browser: httpx2.Client) -> None:
    answer = browser.get("/me")
    assert (answer.status_code, answer.json()["name"]) == (200, "admin")
    assert answer.headers["strict-transport-security"]
    assert (
        browser.post(
            "/sessions", json={"name": "x", "password": "y"}, headers={"origin": "https://evil.example"}
        ).status_code
        == 403
    )


def test_whoever_calls_is_known_by_what_the_proxy_saw_and_by_nothing_they_say(
    front: Front, browser: httpx2.Client
) -> None:
    wrong = {"name": "admin", "password": "not the password"}
    spoofed = {"x-forwarded-for": SPOOFED}
    with front.client("127.0.0.4") as client:
        assert client.post("/sessions", json=wrong, headers=spoofed).status_code == 401
    past = httpx2.HTTPTransport(local_address="127.0.0.3")
    with httpx2.Client(base_url=f"{front.behind}/api/v1", transport=past, timeout=30) as client:
        assert client.post("/sessions", json=wrong, headers=spoofed).status_code == 401
    with front.client("127.0.0.1") as client:
        assert client.post("/sessions", json=wrong, headers=spoofed).status_code == 401
    with httpx2.Client(base_url=f"{front.behind}/api/v1", timeout=30) as client:
        for made_up in ("no address", "::1%<b>"):
            assert client.post("/sessions", json=wrong, headers={"x-forwarded-for": made_up}).status_code == 401
    failed = browser.get("/audit", params={"kind": "sign_in_failed"}).json()["items"]
    known = ["127.0.0.4", "127.0.0.3", "127.0.0.1", "unknown", "::1"]
    assert [one["detail"]["address"] for one in failed] == known


@contextmanager
def _held(front: Front, address: str, *, said: Sequence[str]) -> Iterator[None]:
    """Hold a connection for each of these addresses, all from `address`."""
    host, _, port = front.url.partition("://")[2].partition(":")
    with ExitStack() as held:
        for one in said:
            made = socket.create_connection((host, int(port)), 30, (address, 0))
            secured = held.enter_context(front.trusted.wrap_socket(made, server_hostname=host))
            # A head without its body: nginx counts what it has begun to answer.
            head = ("POST /api/v1/sessions HTTP/1.1", f"Host: {host}:{port}", f"X-From: {one}", "Content-Length: 9")
            secured.sendall("\r\n".join((*head, "", "")).encode())
        yield


@pytest.mark.parametrize(
    ("said", "full", "free"),
    [
        # However an address is written: `::` stands for zeros of the network, of the host, or of both.
        (
            [*(f"2001:db8:0:5::{n:x}" for n in range(1, 126)), *(f"2001:db8:0:5:{n:x}::" for n in range(1, 126))],
            ["2001:db8:0:5:ffff:ffff:ffff:ffff", "2001:db8:0:5::"],
            ["2001:db8:0:6::1", "2001:db8:1:5::1", "2001:db8::1", "192.0.2.1"],
        ),
        (["::ffff:192.0.2.1"] * 250, ["::ffff:192.0.2.1"], ["::ffff:192.0.2.2"]),
    ],
    ids=["a network of IPv6", "an IPv4 address written as one of IPv6"],
)
def test_who_holds_many_addresses_of_a_network_has_as_many_connections_as_one_address(
    front: Front, said: list[str], full: list[str], free: list[str]
) -> None:
    with _held(front, TELLS, said=said), front.client(TELLS) as client:
        codes = {one: client.get("/health", headers={"x-from": one}).status_code for one in (*full, *free)}
    assert codes == dict.fromkeys(full, 429) | dict.fromkeys(free, 200)


def test_one_address_may_have_as_many_connections_through_nginx_as_past_it(front: Front) -> None:
    with _held(front, "127.0.0.5", said=[""] * 250):
        with front.client("127.0.0.5") as client:
            assert client.get("/health").status_code == 429
        with front.client("127.0.0.6") as client:
            assert client.get("/health").status_code == 200


def test_changes_come_through_nginx_as_they_happen(browser: httpx2.Client) -> None:
    with browser.stream("GET", "/events") as answer:
        assert answer.status_code == 200
        said = (json.loads(line.removeprefix("data:")) for line in answer.iter_lines() if line.startswith("data:"))
        assert next(said)["kind"] == "now"
        assert browser.patch("/endpoints/src", json={"aliases": ["source"], "password": PASSWORD}).status_code == 200
        assert next(said)["kind"] == "endpoint"
