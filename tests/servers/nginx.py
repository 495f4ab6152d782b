"""A real nginx with the site file of deploy/nginx, before a service or several processes of one."""

import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SITE: Final = Path(__file__).parents[2] / "deploy" / "nginx" / "headrace.conf"
TELLS: Final = "127.0.0.7"
"""Who calls from there tells nginx itself from where: this host has no two addresses of one IPv6 network."""
MAIN: Final = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off; set_real_ip_from {tells}; real_ip_header X-From;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {site}
}}
"""
ONE_PROCESS: Final = "server 127.0.0.1:8470 "
OTHER_HOSTS: Final = (
    "proxy_pass https://headrace;", "proxy_ssl_verify on;", "proxy_ssl_trusted_certificate", "proxy_ssl_name",
    "proxy_ssl_server_name on;", "proxy_ssl_protocols",
)  # fmt: skip
"""How the lines begin that are for processes on other hosts, and are commented out in the file."""


@dataclass(frozen=True)
class Certificate:
    """A certificate for `localhost` that signs itself, with its key."""

    chain: Path
    key: Path


def new_certificate(folder: Path) -> Certificate:
    """Make one with openssl."""
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    words = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=h -addext subjectAltName=DNS:localhost"
    )
    files = ["-out", str(made.chain), "-keyout", str(made.key)]
    subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True, timeout=30)
    return made


def written(
    folder: Path, listen: str, behind: Sequence[str], certificate: Certificate | None, *, other_hosts: bool = False
) -> Path:
    """Write the file as a site fills it in: its addresses, names and files; without a certificate it speaks plain HTTP.

    `other_hosts` takes the lines that are for processes on other hosts, which have the same certificate.
    """
    site = SITE.read_text(encoding="utf-8")
    [process] = [line for line in site.splitlines(keepends=True) if line.strip().startswith(ONE_PROCESS)]
    processes = "".join(process.replace("127.0.0.1:8470", address) for address in behind)
    filled = {process: processes, "headrace.example.org": "localhost", "listen 443 ssl": f"listen {listen} ssl"}
    if certificate is None:
        kept = [line for line in site.splitlines(keepends=True) if not line.strip().startswith("ssl_")]
        site, filled["listen 443 ssl"] = "".join(kept), f"listen {listen}"
    else:
        filled |= {"/etc/ssl/headrace.pem": str(certificate.chain), "/etc/ssl/headrace.key": str(certificate.key)}
    if other_hosts:
        assert certificate is not None
        filled |= {"        proxy_pass http://headrace;\n": "", "/etc/ssl/headrace-ca.pem": str(certificate.chain)}
        filled |= {f"# {line}": line for line in OTHER_HOSTS}
    for there, here in filled.items():
        assert there in site, there
        site = site.replace(there, here)
    configuration = folder / "nginx.conf"
    configuration.write_text(MAIN.format(folder=folder, site=site, tells=TELLS), encoding="utf-8")
    return configuration


def program() -> str:
    """Return where nginx is."""
    found = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    assert found is not None, "nginx is not installed: `make tools` installs it"
    return found


@contextmanager
def nginx_running(configuration: Path, listen: str) -> Iterator[None]:
    """Run nginx for the block."""
    command = [program(), "-p", str(configuration.parent), "-c", str(configuration)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as nginx:
        try:
            _wait_for(listen, nginx)
            yield
            assert nginx.poll() is None, nginx.stderr and nginx.stderr.read().decode()
        finally:
            nginx.terminate()
            nginx.wait(30)


def _wait_for(listen: str, nginx: "subprocess.Popen[bytes]") -> None:
    host, _, port = listen.partition(":")
    for _ in range(400):
        assert nginx.poll() is None, nginx.stderr and nginx.stderr.read().decode()
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except ConnectionRefusedError:
            try:
                nginx.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        else:
            return
    message = "nginx does not listen"
    raise AssertionError(message)
