"""Debian's GridFTP with eight streams a file: plain, and private (the data channel encrypted) with a throw-away CA."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.measure import Run
from benchmarks.peers.ends import Ends, pull

PORT = 2811
STREAMS = 8
SUBJECT = "/O=Grid/CN=Bench host"
_CA = "/O=Grid/CN=Bench CA"


class GridFtp:
    """`globus-url-copy` pulls from `globus-gridftp-server`."""

    programs = ("globus-url-copy", "globus-gridftp-server", "openssl")

    def __init__(self, ends: Ends, *, private: bool) -> None:
        """Make keys for the private form."""
        self.name = f"GridFTP, {STREAMS} streams" + (", private" if private else "")
        self._ends, self._private = ends, private

    def takes(self, case: Case) -> bool:
        """Everything but a million files: each is opened with a connection's round trips."""
        return case.key != "tiny"

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Pull: one file with parallel streams, many with pipelined requests over eight connections."""
        ends = self._ends
        source, destination = ends.source / folder / case.reads, ends.destination / target / case.reads
        many = ["-r", "-cd", "-fast", "-pp", "-cc", "8"] if case.files > 1 else ["-cd", "-p", str(STREAMS)]
        server = ["globus-gridftp-server", "-p", str(PORT), "-allow-root", "-threads", "2"]
        end = "/" if case.files > 1 else ""
        if not self._private:
            server += ["-aa", "-anonymous-user", "root", "-home-dir", "/"]
            place = f"ftp://{ends.far.address}:{PORT}{source}{end}"
            environment: Mapping[str, str] = os.environ
        else:
            place = f"gsiftp://{ends.far.address}:{PORT}{source}{end}"
            many += ["-dcpriv", "-ss", SUBJECT]
            environment = os.environ | _keys(ends.work / "grid")
        server = [*self._named("far"), *server, "-data-interface", ends.far.address]
        client = [*self._named("near"), "globus-url-copy", *many, place, f"file://{destination}{end}"]
        return pull(ends, server, PORT, client, environment)

    def _named(self, name: str) -> list[str]:
        """Words before a command, which asks for names of addresses that only a file of its own has."""
        hosts = self._ends.work / "hosts"
        lines = ["127.0.0.1 localhost", f"{self._ends.near.address} near", f"{self._ends.far.address} far"]
        hosts.write_text("\n".join(lines) + "\n", encoding="ascii")
        script = f'mount --bind {hosts} /etc/hosts; export GLOBUS_HOSTNAME={name}; exec "$@"'
        return ["unshare", "--mount", "sh", "-ec", script, "sh"]


def _keys(folder: Path) -> Mapping[str, str]:
    """Make a CA, and one key that server and person share: nothing but the encryption is measured."""
    if not folder.exists():
        folder.mkdir()
        (folder / "certs").mkdir()
        make = "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem"
        uses = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        _openssl(folder, *make.split(), "-subj", _CA, *uses)
        short = _openssl(folder, *["x509", "-in", "ca.pem", "-noout", "-subject_hash"])
        (folder / "certs" / f"{short}.0").write_bytes((folder / "ca.pem").read_bytes())
        policy = f"access_id_CA X509 '{_CA}'\npos_rights globus CA:sign\ncond_subjects globus '\"*\"'\n"
        (folder / "certs" / f"{short}.signing_policy").write_text(policy, encoding="ascii")
        ask = "req -newkey rsa:2048 -nodes -keyout host.key -out host.csr"
        _openssl(folder, *ask.split(), "-subj", SUBJECT)
        sign = "x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out host.pem"
        _openssl(folder, *sign.split())
        (folder / "host.key").chmod(0o600)
        (folder / "grid-mapfile").write_text(f'"{SUBJECT}" root\n', encoding="ascii")
    return {
        "X509_CERT_DIR": str(folder / "certs"),
        "X509_USER_CERT": str(folder / "host.pem"),
        "X509_USER_KEY": str(folder / "host.key"),
        "GRIDMAP": str(folder / "grid-mapfile"),
    }


def _openssl(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["openssl", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()
