"""nginx in front of a service, with the file of deploy/nginx."""

import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from tests.servers.headrace import PASSWORD, started
from tests.servers.ports import free_port

SITE: Final = Path(__file__).parents[3] / "deploy" / "nginx" / "headrace.conf"
TELLS: Final = "127.0.0.7"
"""Who calls from there tells nginx itself from where: this host has no two addresses of one IPv6 network."""
SPOOFED: Final = "203.0.113.9"
MAIN: Final = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off; set_real_ip_from 127.0.0.7; real_ip_header X-From;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {site}
}}
"""

pytestmark = pytest.mark.xdist_group("nginx")


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
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=h",
    ]
    made += ["-addext", "subjectAltName=DNS:localhost", "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(made, check=True, capture_output=True, timeout=30)
    port, behind = free_port(), free_port()
    url = f"https://localhost:{port}"
    (folder / "service").mkdir()
    settings = {"listen": f"127.0.0.1:{behind}", "public_url": url, "trusted_proxies": "127.0.0.1"}
    with started(folder / "service", **settings) as facts, _nginx(folder, port, behind):
        link = Path(facts["bootstrap_file"]).read_text(encoding="utf-8").strip()
        trusted = ssl.create_default_context(cafile=str(certificate))
        yield Front(url, f"http://127.0.0.1:{behind}", trusted, link.partition("#")[2])


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


@contextmanager
def _nginx(folder: Path, port: int, behind: int) -> Iterator[None]:
    site = SITE.read_text(encoding="utf-8")
    for there, here in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "server_name headrace.example.org": "server_name localhost",
        "/etc/ssl/headrace.pem": str(folder / "certificate.pem"),
        "/etc/ssl/headrace.key": str(folder / "key.pem"),
        "http://127.0.0.1:8470;": f"http://127.0.0.1:{behind};",
    }.items():
        assert there in site
        site = site.replace(there, here)
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder, site=site), encoding="utf-8")
    program: Any = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    with subprocess.Popen(
        [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.PIPE
    ) as nginx:
        try:
            _wait_for(port, nginx)
            yield
            assert nginx.poll() is None, nginx.stderr and nginx.stderr.read().decode()
        finally:
            nginx.terminate()
            nginx.wait(30)


def _wait_for(port: int, nginx: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert nginx.poll() is None, nginx.stderr and nginx.stderr.read().decode()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            try:
                nginx.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        else:
            return
    message = "nginx does not listen"
    raise AssertionError(message)
