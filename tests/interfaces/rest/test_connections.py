"""Silent, slow and deaf clients of a real service: they may not shut others out."""

import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from time import monotonic

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.servers.headrace import PASSWORD, Service, serving, started

from headrace.client import HttpHeadrace
from headrace.client import models as m

SILENT = 2000
HEAD = b"GET /api/v1/health HTTP/1.1\r\nHost: %s\r\n\r\n"
STRANGER, OTHER_STRANGER = "127.0.0.2", "127.0.0.3"
LIMIT_S = 30
"""How long a test waits for what the service has to do; it fails when that does not come."""


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that would wait for a request for as long as any test takes, and so has to make room."""
    with serving(tmp_path_factory.mktemp("patient"), receive_timeout_s=3600, request_timeout_s=3600) as service:
        yield service


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that waits for one second."""
    with serving(tmp_path_factory.mktemp("hasty"), receive_timeout_s=1) as service:
        yield service


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    """Let this process hold as many sockets as it may."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that signs itself, and its key."""
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "headrace.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(written)
    return folder / "cert.pem", folder / "key.pem"


def address_of(service: Service) -> tuple[str, int]:
    return address_in(service.url)


def address_in(url: str) -> tuple[str, int]:
    host, _, port = url.partition("://")[2].rpartition(":")
    return host, int(port)


def connected(service: Service, whence: str) -> socket.socket:
    return socket.create_connection(address_of(service), LIMIT_S, (whence, 0))


@contextmanager
def silent(service: Service, whence: str, count: int, begin: bytes = b"") -> Iterator[list[socket.socket]]:
    """Hold connections that say no more than `begin`."""
    with ExitStack() as held:
        found = []
        for _ in range(count):
            one = held.enter_context(closing(connected(service, whence)))
            if begin:
                one.send(begin)
            found.append(one)
        yield found


def health_from(service: Service, whence: str) -> int:
    transport = httpx2.HTTPTransport(local_address=whence)
    with httpx2.Client(transport=transport, timeout=LIMIT_S) as client:
        return client.get(f"{service.url}/api/v1/health").status_code


def was_closed(one: socket.socket) -> bool:
    """Wait until the service has ended a connection without a word."""
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.anyio
@pytest.mark.parametrize("begin", [b"", b"GET /api/v1/health HTTP/1.1\r\nHost:"])
async def test_others_work_while_a_stranger_holds_two_thousand_silent_connections(
    patient: Service, begin: bytes
) -> None:
    async with HttpHeadrace(patient.url) as headrace:
        session = await headrace.sign_in(m.SignIn(name="admin", password=PASSWORD))
    async with HttpHeadrace(patient.url, session.secret) as headrace:
        changes = headrace.changes()
        assert (await anext(changes)).kind == "now"
        with silent(patient, STRANGER, SILENT, begin):
            assert health_from(patient, "127.0.0.1") == 200
            assert {one.id for one in await headrace.endpoints()} == {"src", "dst"}
            await headrace.update_endpoint("src", m.EndpointUpdate(aliases=[f"s{len(begin)}"], password=PASSWORD))
            assert (await anext(changes)).kind == "endpoint"
        await changes.aclose()


def test_who_sends_a_request_gets_in_from_the_address_of_a_stranger_with_silent_connections(patient: Service) -> None:
    with silent(patient, STRANGER, SILENT) as held:
        assert health_from(patient, STRANGER) == 200
        assert was_closed(held[0])


def test_behind_a_proxy_whoever_comes_past_it_is_still_counted(tmp_path: Path) -> None:
    with (
        serving(tmp_path, trusted_proxies=OTHER_STRANGER, max_connections_of_one=5, receive_timeout_s=3600) as service,
        silent(service, STRANGER, 6) as past,
        silent(service, OTHER_STRANGER, 6) as through,
    ):
        assert was_closed(past[0])
        assert health_from(service, "127.0.0.1") == 200
        through[0].settimeout(0)
        with pytest.raises(BlockingIOError):
            through[0].recv(1)


def test_silent_connections_from_many_addresses_give_way_the_oldest_first(patient: Service) -> None:
    with ExitStack() as all_held:
        held = [all_held.enter_context(silent(patient, f"127.0.1.{number}", 150)) for number in range(1, 9)]
        assert health_from(patient, OTHER_STRANGER) == 200
        assert was_closed(held[0][0])
        # The newest is still served.
        newest = held[-1][-1]
        newest.send(HEAD % "{}:{}".format(*address_of(patient)).encode())
        assert newest.recv(12) == b"HTTP/1.1 200"


def test_a_head_that_comes_byte_by_byte_is_ended(hasty: Service) -> None:
    with closing(connected(hasty, STRANGER)) as one:
        one.settimeout(0.05)
        assert ended_while_sending(one, b"GET / HTTP/1.1\r\nX-Slow: " + b"a" * 500)


def test_a_second_head_on_a_connection_has_no_more_time_than_the_first(hasty: Service) -> None:
    with closing(connected(hasty, STRANGER)) as one:
        one.send(HEAD % "{}:{}".format(*address_of(hasty)).encode())
        assert one.recv(65536).startswith(b"HTTP/1.1 200")
        one.settimeout(0.05)
        assert ended_while_sending(one, b"GET / HTTP/1.1\r\nX-Slow: " + b"a" * 500)


def ended_while_sending(one: socket.socket, text: bytes) -> bool:
    """Send byte by byte until the service has ended the connection."""
    for byte in text:
        try:
            one.send(bytes([byte]))
            if one.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


def test_a_body_that_does_not_come_is_answered_as_a_problem(hasty: Service) -> None:
    head = "POST /api/v1/sessions HTTP/1.1\r\nHost: {}:{}\r\nContent-Length: 99\r\n\r\n{{"
    with closing(connected(hasty, STRANGER)) as one, one.makefile("rb") as answer:
        one.send(head.format(*address_of(hasty)).encode())
        said = answer.read()  # to the end of the connection
    assert said.startswith(b"HTTP/1.1 408"), said
    assert b"application/problem+json" in said
    assert b'"code":"request_timeout"' in said


def test_what_is_no_http_is_answered_as_a_problem(hasty: Service) -> None:
    with closing(connected(hasty, STRANGER)) as one, one.makefile("rb") as answer:
        one.send(b"\x16\x03\x01 hello\r\n\r\n")
        said = answer.read()
    assert said.startswith(b"HTTP/1.1 400"), said
    assert b'"code":"invalid_request"' in said


def test_handshakes_that_never_come_shut_nobody_out_and_are_ended(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    trusting = ssl.create_default_context(cafile=cert)
    limits = {"receive_timeout_s": 5, "max_connections_of_one": 20}
    with started(tmp_path, tls_cert=str(cert), tls_key=str(key), **limits) as facts, ExitStack() as held:
        where = address_in(facts["url"])
        deaf = [held.enter_context(closing(socket.create_connection(where, LIMIT_S))) for _ in range(40)]
        with httpx2.Client(verify=trusting, timeout=LIMIT_S) as client:
            for _ in range(3):
                assert client.get(f"{facts['url']}/api/v1/health").status_code == 200
        assert was_closed(deaf[0])
        # Those that were let in wait no longer than they may.
        assert all(map(was_closed, deaf))


def test_a_client_that_does_not_take_its_answer_gives_way(tmp_path: Path) -> None:
    head = "GET {} HTTP/1.1\r\nHost: {}:{}\r\n\r\n"
    with started(tmp_path, max_connections_of_one=1, receive_timeout_s=3600, request_timeout_s=3600) as facts:
        where = address_in(facts["url"])
        with closing(socket.socket()) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(where)
            deaf.settimeout(LIMIT_S)
            deaf.send(head.format("/api/v1/openapi.json", *where).encode() * 200)
            # Others are turned away only until the buffers between the two are full.
            until = monotonic() + LIMIT_S
            while not answers(facts["url"]):
                assert monotonic() < until, "the deaf client does not give way"


def answers(url: str) -> bool:
    try:
        with httpx2.Client(timeout=LIMIT_S) as client:
            return client.get(f"{url}/api/v1/health").status_code == 200
    except httpx2.TransportError:
        return False
