"""How the other processes of a site reach the one that leads: a file in the data folder that they share.

The leader makes a key and a certificate for its time as leader, and names the certificate here: whoever is asked under
that address shows it, or is asked nothing. The folder holds the site's keys, so whoever can write there can do more.
"""

import datetime as dt
import json
import os
import secrets
import ssl
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headrace.api.data_folder import LEADER
from headrace.api.durable import replace_file

_SECRET_BYTES = 32
_YEARS = 100
"""The certificate ends with its leader; clocks of hosts matter to nobody."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The process that leads."""

    host: str
    port: int
    certificate: str
    """PEM."""
    secret: str = field(repr=False)
    """What other processes of the site say with each request that they pass on."""
    pid: int
    on: str
    """The name of its host, for people."""

    @classmethod
    def read(cls, data: Path) -> Self | None:
        """Return who leads, as the data folder says; nothing when it says nothing that can be understood."""
        try:
            return cls(**json.loads((data / LEADER).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, data: Path) -> None:
        """Say in the data folder that this one leads."""
        replace_file(data / LEADER, json.dumps(asdict(self)).encode())

    def trust(self) -> ssl.SSLContext:
        """Return what trusts this leader and nobody else."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # it is known by its certificate, which nobody else has the key of
        context.load_verify_locations(cadata=self.certificate)
        return context


@dataclass(frozen=True, slots=True)
class SeenLeader:
    """The process that leads, as another one sees it."""

    leader: Leader
    trusted: ssl.SSLContext


def seen(data: Path) -> Callable[[], SeenLeader | None]:
    """Return what tells who leads; the file is read anew when it is another one."""
    known: SeenLeader | None = None
    version: tuple[int, int] | None = None

    def look() -> SeenLeader | None:
        nonlocal known, version
        try:
            found = (data / LEADER).stat()
        except OSError:
            return known
        if (found.st_ino, found.st_mtime_ns) != version:
            leader = Leader.read(data)
            known = SeenLeader(leader, leader.trust()) if leader else None
            version = (found.st_ino, found.st_mtime_ns)
        return known

    return look


def begin_to_lead(host: str, port: int) -> tuple[Leader, ssl.SSLContext]:
    """Make what a new leader is known by, and what it answers with."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "headrace leader")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=366))
        .not_valid_after(now + dt.timedelta(days=366 * _YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with TemporaryDirectory(prefix="headrace-leader-") as folder:  # for this account only; a key is read from a file
        both = Path(folder) / "leader.pem"
        both.write_bytes(private + chain)
        context.load_cert_chain(both)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return Leader(host, port, chain.decode(), secret, os.getpid(), os.uname().nodename), context
