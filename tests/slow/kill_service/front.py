"""nginx in front of several processes of the service, as people reach them."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.servers.ports import free_port

READY_S = 20.0
SITE: Final = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream headrace {{
        {servers}
    }}
    server {{
        listen {listen};
        client_max_body_size 1m;
        location / {{
            proxy_pass http://headrace;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_read_timeout 60s;
        }}
    }}
}}
"""


@dataclass(frozen=True)
class Front:
    """Where people come, where each process listens, and where nodes dial whoever leads."""

    url: str
    behind: Mapping[str, str]
    hub: str


@contextmanager
def front_of(folder: Path, names: list[str]) -> Iterator[Front]:
    """Run nginx for the block."""
    listen, behind = f"127.0.0.1:{free_port()}", {name: f"127.0.0.1:{free_port()}" for name in names}
    # A process that was killed is asked again a second later: kills here come that often.
    servers = " ".join(f"server {address} fail_timeout=1s;" for address in behind.values())
    (folder / "nginx.conf").write_text(SITE.format(folder=folder, listen=listen, servers=servers), encoding="utf-8")
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    assert program is not None, "nginx is not installed: `make tools` installs it"
    with subprocess.Popen([program, "-p", str(folder), "-c", str(folder / "nginx.conf")]) as nginx:
        try:
            _wait_for(listen)
            yield Front(f"http://{listen}", behind, f"127.0.0.1:{free_port()}")
        finally:
            nginx.terminate()
            nginx.wait(30)


def _wait_for(address: str) -> None:
    host, _, port = address.partition(":")
    limit = time.monotonic() + READY_S
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except ConnectionRefusedError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.05)
        else:
            return
