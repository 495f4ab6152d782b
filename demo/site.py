"""A service with an administrator, a requester and two joined nodes."""

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from demo.stage import NODE_PROGRAM, DemoError, Person, Stage, say

ATTACH_LIMIT_S = 30


@dataclass(frozen=True, slots=True)
class Site:
    """The running site: its people and the folders that its two nodes export."""

    service: str
    admin: Person
    ada: Person
    source: Path
    destination: Path


def open_site(
    stage: Stage, source: Path, destination: Path, programs: tuple[Path, Path] = (NODE_PROGRAM, NODE_PROGRAM)
) -> Site:
    """Start the service, sign in an administrator and a requester, and let two nodes join.

    Node `dtn-a` exports `source` for reading, `dtn-b` exports `destination` (made when it is not there) for writing;
    the endpoints are named after the folders. `programs` are what the two nodes run.
    """
    say("\n== 0. A service, two people, two nodes")
    ready = stage.service()
    url = str(ready["url"])
    link = Path(str(ready["bootstrap_file"])).read_text(encoding="utf-8").strip()
    password = secrets.token_urlsafe(18)
    admin = Person("root-admin", stage.folder / "config" / "admin", url, password)
    ada = Person("ada", stage.folder / "config" / "ada", url, password)
    admin.run("login", "--link", link, "--name", admin.name, "--password-stdin", typed=password + "\n")
    invitation = admin.proven("invite", ada.name, "--role", "requester")
    ada.run("login", "--link", str(invitation["link"]), "--password-stdin", typed=password + "\n")
    destination.mkdir(parents=True, exist_ok=True)
    both = (("dtn-a", source, "read"), ("dtn-b", destination, "write"))
    for (name, root, access), program in zip(both, programs, strict=True):
        token = str(admin.proven("node-token", name)["token"])
        words = ("join", token, "--name", name, "--root", f"{root.name}={root}:{access}")
        stage.node(name, *words, program=program)
    _wait_until_attached(admin, 2)
    say(admin.run("endpoints").rstrip())
    return Site(url, admin, ada, source, destination)


def _wait_until_attached(person: Person, count: int) -> None:
    limit = time.monotonic() + ATTACH_LIMIT_S
    while time.monotonic() < limit:
        nodes = person.listed("nodes")
        if sum(node["state"] == "attached" for node in nodes) >= count:
            return
    message = f"the nodes did not attach within {ATTACH_LIMIT_S} s"
    raise DemoError(message)
