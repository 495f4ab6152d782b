"""A real Active Directory domain controller (Samba) for tests: on its own loopback address and folder."""

import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from ldap3 import MODIFY_ADD, MODIFY_DELETE, MODIFY_REPLACE, NONE, SUBTREE, Connection, Server
from tests.servers.private import private

from headrace.auth import DirectoryConfig
from headrace.auth.directory_ldap import CheckedTls

PASSWORD = "Us3r-Passw0rd!"  # noqa: S105 - of everybody here
ADMIN = "Adm1n-Passw0rd!"
START_S = 60
DOMAIN = "corp.test"
BASE_DN = "DC=corp,DC=test"
LOCK_AFTER = 3
GROUPS = {
    "xfer-users": ("alice", "bob", "disabled", "expired", "mustchange", "ended", "locked"),
    "xfer-admins": ("carol",),
    "lab-physics": ("alice",),
}
NESTED = {"all-labs": "lab-physics", "everyone-xfer": "all-labs"}
"""The second is a member of the first."""
PEOPLE = ("alice", "bob", "carol", "dave", "disabled", "expired", "mustchange", "ended", "locked", "svc-headrace")
_NORMAL, _DISABLED = 512, 514
_PEM = serialization.Encoding.PEM
_SMB_CONF = """
[global]
  netbios name = DC1
  realm = {realm}
  workgroup = {netbios}
  server role = active directory domain controller
  server services = ldap, cldap, kdc
  interfaces = {address}/8
  bind interfaces only = yes
  private dir = {folder}/private
  lock directory = {folder}
  state directory = {folder}/state
  cache directory = {folder}/cache
  pid directory = {folder}
  ncalrpc dir = {folder}/ncalrpc
  binddns dir = {folder}/bind-dns
  winbindd socket directory = {folder}/winbindd
  ntp signd socket directory = {folder}/ntp
  log file = {folder}/%m.log
  ldap server require strong auth = yes
  tls enabled = yes
  tls cafile = {folder}/ca.pem
  tls certfile = {folder}/dc.pem
  tls keyfile = {folder}/dc.key
"""


def config_of(*servers: str, ca: str, secret: str = PASSWORD, base: str = BASE_DN, **limits: int) -> DirectoryConfig:
    """How Headrace is told of this domain."""
    return DirectoryConfig(
        domain=DOMAIN, netbios="CORP", suffixes=frozenset({"site.test"}), servers=servers, ca=ca,
        account=f"svc-headrace@{DOMAIN}",
        secret=secret, base=base,
        **{"timeout_s": 5, "connections": 8, "waiting": 200, "attempts": 9, "attempts_window_s": 1800} | limits,
    )  # fmt: skip


@dataclass
class Domain:
    """A running domain; its administrator changes it while tests run."""

    folder: Path
    address: str
    name: str = DOMAIN

    @property
    def netbios(self) -> str:
        return self.name.partition(".")[0].upper()

    @property
    def base(self) -> str:
        return ",".join(f"DC={part}" for part in self.name.split("."))

    @property
    def url(self) -> str:
        return f"ldaps://{self.address}"

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    def dn(self, name: str) -> str:
        part = "Groups" if name in GROUPS or name in NESTED else "People"
        return f"CN={name},OU={part},{self.base}"

    @contextmanager
    def admin(self) -> Iterator[Connection]:
        """The administrator's connection."""
        tls = CheckedTls(ssl.create_default_context(cafile=str(self.ca)))
        server = Server(self.address, 636, use_ssl=True, tls=tls, get_info=NONE)
        connection = Connection(server, f"Administrator@{self.name}", ADMIN, raise_exceptions=True)
        connection.bind()
        try:
            yield connection
        finally:
            connection.unbind()

    def declared(self, folder: Path) -> Path:
        """Write the file by which a site knows the domain."""
        private(folder / "secret", PASSWORD + "\n")
        file = folder / "directories.toml"
        file.write_text(
            f"""
            [[directory]]
            domain = "{self.name}"
            netbios = "{self.netbios}"
            servers = ["{self.url}"]
            ca = "{self.ca}"
            account = "svc-headrace@{self.name}"
            secret_file = "secret"
            """,
            encoding="utf-8",
        )
        return file

    def sid(self, name: str) -> str:
        """The SID of somebody or of a group."""
        raw = self._raw(name, "objectSid")
        numbers = (int.from_bytes(raw[start : start + 4], "little") for start in range(8, len(raw), 4))
        return "-".join(("S", str(raw[0]), str(int.from_bytes(raw[2:8])), *map(str, numbers)))

    def subject(self, name: str) -> str:
        """The objectGUID of somebody."""
        return str(uuid.UUID(bytes_le=self._raw(name, "objectGUID")))

    def _raw(self, name: str, attribute: str) -> bytes:
        with self.admin() as admin:
            admin.search(self.base, f"(sAMAccountName={name})", SUBTREE, attributes=[attribute])
            found = [one for one in admin.response or () if one["type"] == "searchResEntry"]
            values: list[bytes] = found[0]["raw_attributes"][attribute]
            return values[0] if values else b""

    def number(self, name: str, attribute: str) -> int:
        """A number that the domain keeps of somebody, 0 where it keeps none."""
        return int(self._raw(name, attribute) or b"0")

    def set(self, name: str, **attributes: str) -> None:
        """Replace attributes of somebody."""
        changes = {attribute.replace("_", "-"): [(MODIFY_REPLACE, [value])] for attribute, value in attributes.items()}
        with self.admin() as admin:
            admin.modify(self.dn(name), changes)

    def set_rule(self, **numbers: int) -> None:
        """Change rules of the whole domain."""
        with self.admin() as admin:
            admin.modify(self.base, {name: [(MODIFY_REPLACE, [str(value)])] for name, value in numbers.items()})

    def enable(self, name: str, *, enabled: bool) -> None:
        self.set(name, userAccountControl=str(_NORMAL if enabled else _DISABLED))

    def join(self, name: str, group: str) -> None:
        with self.admin() as admin:
            admin.modify(self.dn(group), {"member": [(MODIFY_ADD, [self.dn(name)])]})

    def leave(self, name: str, group: str) -> None:
        with self.admin() as admin:
            admin.modify(self.dn(group), {"member": [(MODIFY_DELETE, [self.dn(name)])]})

    def add(self, name: str, **attributes: str) -> None:
        """Make an account with the password of everybody here."""
        with self.admin() as admin:
            _add_person(admin, self, name, attributes)

    def delete(self, name: str) -> None:
        with self.admin() as admin:
            admin.delete(self.dn(name))

    @contextmanager
    def renamed(self, name: str, new: str) -> Iterator[None]:
        """Give somebody or a group another name for the block."""
        part = self.dn(name).partition(",")[2]
        with self.admin() as admin:
            _rename(admin, self.dn(name), new)
            try:
                yield
            finally:
                _rename(admin, f"CN={new},{part}", name)

    def _fill(self) -> None:
        minutes = str(-30 * 60 * 10**7)
        with self.admin() as admin:
            rule = {
                "lockoutThreshold": str(LOCK_AFTER), "lockoutDuration": minutes, "lockOutObservationWindow": minutes,
                "minPwdAge": "0",
            }  # fmt: skip
            admin.modify(self.base, {name: [(MODIFY_REPLACE, [value])] for name, value in rule.items()})
            for part in ("People", "Groups"):
                admin.add(f"OU={part},{self.base}", "organizationalUnit")
            for name in PEOPLE:
                _add_person(admin, self, name, {})
            for name in (*GROUPS, *NESTED):
                members = [*map(self.dn, GROUPS.get(name, ()))] or [self.dn(NESTED[name])]
                admin.add(self.dn(name), "group", {"sAMAccountName": name, "member": members})
            admin.modify(self.dn("disabled"), {"userAccountControl": [(MODIFY_REPLACE, [str(_DISABLED)])]})
            admin.modify(self.dn("mustchange"), {"pwdLastSet": [(MODIFY_REPLACE, ["0"])]})
            long_ago = ticks(datetime(2020, 1, 1, tzinfo=UTC))
            admin.modify(self.dn("ended"), {"accountExpires": [(MODIFY_REPLACE, [long_ago])]})
            _let_expire(admin, self)

    def _grow_old(self, name: str) -> None:
        """Let somebody's password be nine days old, which no administrator can do from outside."""
        old = ticks(datetime.now(UTC) - timedelta(days=9))
        change = f"dn: {self.dn(name)}\nchangetype: modify\nreplace: pwdLastSet\npwdLastSet: {old}\n"
        bypass = "--controls=local_oid:1.3.6.1.4.1.7165.4.3.20:0"
        _run(["ldbmodify", "-H", str(self.folder / "private" / "sam.ldb"), bypass], change)


def _add_person(admin: Connection, domain: Domain, name: str, attributes: dict[str, str]) -> None:
    full = f"{name}@{domain.name}"
    given = {"sAMAccountName": name, "userPrincipalName": full, "mail": f"{name}@site.test"} | attributes
    secret = f'"{PASSWORD}"'.encode("utf-16-le")
    admin.add(domain.dn(name), "user", {**given, "unicodePwd": secret, "userAccountControl": str(_NORMAL)})


def _rename(admin: Connection, dn: str, new: str) -> None:
    admin.modify(dn, {"sAMAccountName": [(MODIFY_REPLACE, [new])]})
    admin.modify_dn(dn, f"CN={new}")


def _let_expire(admin: Connection, domain: Domain) -> None:
    """Give somebody a password policy of two days."""
    day, half_an_hour = 86_400 * 10**7, 1800 * 10**7
    policy = {
        "msDS-PasswordSettingsPrecedence": "1", "msDS-PasswordReversibleEncryptionEnabled": "FALSE",
        "msDS-PasswordHistoryLength": "0", "msDS-PasswordComplexityEnabled": "FALSE",
        "msDS-MinimumPasswordLength": "0", "msDS-MinimumPasswordAge": "0",
        "msDS-MaximumPasswordAge": str(-2 * day), "msDS-LockoutThreshold": "0",
        "msDS-LockoutObservationWindow": str(-half_an_hour), "msDS-LockoutDuration": str(-half_an_hour),
        "msDS-PSOAppliesTo": domain.dn("expired"),
    }  # fmt: skip
    container = f"CN=Password Settings Container,CN=System,{domain.base}"
    admin.add(f"CN=two-days,{container}", "msDS-PasswordSettings", policy)


def ticks(moment: datetime) -> str:
    """Write a moment as Windows does: in steps of 100 ns since 1601."""
    return str(int((moment - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7)


@contextmanager
def domain_running(name: str = DOMAIN, host: int = 10) -> Iterator[Domain]:
    """Run a domain for the block; of those that run at once, each has a `host` of its own."""
    samba = shutil.which("samba")
    assert samba is not None, "Samba's domain controller is not installed: `make tools` installs it"
    # In memory where that is possible: making a domain syncs thousands of times.
    folder = Path(tempfile.mkdtemp(prefix="headrace-ad-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))  # noqa: S108
    domain = Domain(folder, f"127.{os.getpid() % 200 + 20}.{os.getpid() // 200 % 250}.{host}", name)
    try:
        _run([
            "samba-tool", "domain", "provision", f"--targetdir={folder}", f"--realm={name.upper()}",
            f"--domain={domain.netbios}", "--server-role=dc", "--host-name=dc1", f"--host-ip={domain.address}",
            f"--adminpass={ADMIN}", "--dns-backend=NONE",
        ])  # fmt: skip
        Authority.make().certify(folder, domain.address, f"dc1.{name}")
        conf = folder / "etc" / "smb.conf"
        said = {"folder": folder, "address": domain.address, "realm": name.upper(), "netbios": domain.netbios}
        conf.write_text(_SMB_CONF.format(**said), encoding="utf-8")
        with (folder / "samba.log").open("wb") as log:
            server = subprocess.Popen(
                [samba, "-F", "--no-process-group", "-M", "single", "-s", str(conf)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_ENVIRONMENT,
            )  # fmt: skip
        try:
            _until_it_listens(domain, server)
            domain._fill()  # noqa: SLF001 - a part of making it
            domain._grow_old("expired")  # noqa: SLF001
            yield domain
        finally:
            server.terminate()
            server.wait(START_S)
    finally:
        shutil.rmtree(folder)


_ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONWARNINGS": "ignore"}


def _run(command: list[str], said: str = "") -> None:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=START_S, env=_ENVIRONMENT, input=said
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _until_it_listens(domain: Domain, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert server.poll() is None, (domain.folder / "samba.log").read_text()
        with suppress(OSError), socket.create_connection((domain.address, 636), timeout=1):
            return
        with suppress(subprocess.TimeoutExpired):
            server.wait(0.05)  # it has died, or is asked again
    raise TimeoutError


@dataclass
class Authority:
    """What signs certificates of servers."""

    key: ec.EllipticCurvePrivateKey
    pem: bytes

    @classmethod
    def make(cls) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        root = _certificate("Test AD CA").public_key(key.public_key())
        root = root.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        return cls(key, root.sign(key, hashes.SHA256()).public_bytes(_PEM))

    def certify(self, folder: Path, address: str, host: str = f"dc1.{DOMAIN}") -> None:
        """Write this authority's certificate, and the server's by it (RSA: Samba's GnuTLS takes no other)."""
        key = rsa.generate_private_key(65537, 2048)
        names = x509.SubjectAlternativeName([x509.DNSName(host), x509.IPAddress(IPv4Address(address))])
        own = _certificate(host).public_key(key.public_key()).add_extension(names, critical=False)
        plain = serialization.NoEncryption()
        (folder / "ca.pem").write_bytes(self.pem)
        (folder / "dc.pem").write_bytes(own.sign(self.key, hashes.SHA256()).public_bytes(_PEM))
        (folder / "dc.key").write_bytes(key.private_bytes(_PEM, serialization.PrivateFormat.TraditionalOpenSSL, plain))
        (folder / "dc.key").chmod(0o600)


def _certificate(name: str) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test AD CA")]))
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
    )
