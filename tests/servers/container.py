"""What a container runtime would do with deploy/container, as far as a test can without one.

A program runs as the account of its image, without capabilities, on a root that it can only read, with the volumes,
secrets, environment and temporary folders that the files give it, and with a network of its own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compose_spec import PyCompose
from dockerfile_parse import DockerfileParser

FOLDER: Final = Path(__file__).parents[2] / "deploy" / "container"
BESIDE: Final = Path(sys.executable).parent
INSTALLED: Final = {"/opt/headrace/bin/headrace": BESIDE / "headrace", "/opt/headrace/bin/python": BESIDE / "python"}
"""What stands in the image, and here."""
LIMIT_S: Final = 60
SETUP: Final = """
mount -t tmpfs tmpfs /run
for kept in {kept}; do mkdir -p "/run/kept$kept"; mount --bind "$kept" "/run/kept$kept"; done
for there in /var/lib /tmp /root; do mount -t tmpfs -o mode=755 tmpfs "$there"; done
for kept in {kept}; do mkdir -p "$kept"; mount --bind "/run/kept$kept" "$kept"; done
chmod 1777 /tmp
ip link set lo up
{binds}
mount -o remount,bind,ro /
mount -o remount,ro /run; mount -o remount,ro /var/lib
"""


@dataclass(frozen=True)
class Image:
    """One image of the Containerfile: what is said of it, instruction and value, in order."""

    said: tuple[tuple[str, str], ...]

    def all(self, instruction: str) -> list[str]:
        """Return what is said with an instruction."""
        return [value for name, value in self.said if name == instruction]

    def words(self, instruction: str) -> list[str]:
        """Return the words of an instruction in its form without a shell."""
        [said] = self.all(instruction)
        words: list[str] = json.loads(said[said.index("[") :])
        return words

    @property
    def account(self) -> str:
        """The number of its account, which is that of its group, too."""
        [said] = self.all("USER")
        user, _, group = said.partition(":")
        assert user == group
        return user

    @property
    def environment(self) -> dict[str, str]:
        """What its programs find there."""
        return dict(pair.split("=", 1) for said in self.all("ENV") for pair in said.split())


def images(text: str, scratch: Path) -> dict[str, Image]:
    """Read a Containerfile; its stages by name."""
    parser = DockerfileParser(path=str(scratch))
    parser.content = text
    found: dict[str, list[tuple[str, str]]] = {"": []}
    for one in parser.structure:
        if one["instruction"] == "FROM":
            found[one["value"].split()[-1]] = []
        found[list(found)[-1]].append((one["instruction"], one["value"]))
    return {name: Image(tuple(said)) for name, said in found.items() if name}


def composed(text: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Read a compose file with these values for its variables; refuses what such files can't say."""

    def value(found: re.Match[str]) -> str:
        name, kind, more = found.groups()
        given = values.get(name) or (more if kind == "-" else None)
        assert given, f"{name}: {more}"
        return given

    read = PyCompose.from_yaml(re.sub(r"\$\{(\w+)(?::([-?])([^}]*))?\}", value, text))
    read.validate()
    return dict(read.to_dict())


@dataclass(frozen=True)
class Container:
    """A program that runs as in a container, and others that run beside it there."""

    popen: "subprocess.Popen[str]"
    image: Image
    environment: Mapping[str, str]

    def beside(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the same container, as the same account."""
        within = ["nsenter", f"--target={self.popen.pid}", "--mount", "--net"]
        return subprocess.run(
            [*within, *_confined(self.image, self.environment, command)],
            check=False, capture_output=True, text=True, timeout=LIMIT_S, cwd="/",
        )  # fmt: skip


@contextmanager
def container(
    image: Image, environment: Mapping[str, str], binds: Mapping[str, Path], command: Sequence[str], log: Path
) -> Iterator[Container]:
    """Run a command as an image says, with folders of the test at the places of its volumes and secrets."""
    made = []
    for there, here in binds.items():
        at = there.replace("/var/run/", "/run/", 1)
        made.append(f"mkdir -p '{at}'; mount --bind '/run/kept{here}' '{at}'")
    kept = {sys.base_prefix, str(Path(__file__).parents[2]), *map(str, binds.values())}
    setup = SETUP.format(kept=" ".join(f"'{path}'" for path in sorted(kept)), binds="\n".join(made))
    confined = _confined(image, environment, command)
    ready, told = os.pipe()
    script = f'exec 3>&1 >&2 {setup}\necho ready >&3; exec 3>&-; exec "$@"'
    started = ["unshare", "--mount", "--net", "sh", "-ec", script, "sh", *confined]
    with (
        log.open("w") as written,
        subprocess.Popen(started, stdout=told, stderr=written, text=True) as popen,
    ):
        os.close(told)
        try:
            # A root is not made read-only while something beside writes there, be it the time of an access.
            with os.fdopen(ready) as waits:
                assert waits.read() == "ready\n", log.read_text()
            yield Container(popen, image, environment)
        finally:
            popen.terminate()
            popen.wait(LIMIT_S)


def _confined(image: Image, environment: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """Return how a command runs as the account of an image, with nothing that an account could do more."""
    own = ["setpriv", f"--reuid={image.account}", f"--regid={image.account}", "--clear-groups", "--no-new-privs"]
    own += ["--inh-caps=-all", "--bounding-set=-all", "env", "-i", "PATH=/usr/bin:/bin"]
    own += [f"{name}={value}" for name, value in {**image.environment, **environment}.items()]
    program, *words = command
    return [*own, str(INSTALLED.get(program, program)), *words]
