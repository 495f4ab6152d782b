"""A signer in a process of its own, and the people whose passkeys it counts."""

import json
import os
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from demo.stage import HEADRACE
from tests.servers.device import Device
from typer.testing import CliRunner, Result

from headrace.api.app.signer_command import signer as signer_commands
from headrace.client import HeadraceError
from headrace.client import models as m

LIMIT_S = 60
AS_ANOTHER = """
import encodings.ascii, encodings.idna, os, pwd, sys
from headrace.api.app.signer_command import signer
account = pwd.getpwnam(sys.argv[1])
os.chdir("/"), os.umask(0o022), os.setgroups([]), os.setgid(account.pw_gid), os.setuid(account.pw_uid)
signer(sys.argv[2:])
"""
T = TypeVar("T")


@dataclass
class SignerOfTest:
    """`headrace signer run` in a folder of its own; `key` is its public key."""

    folder: Path
    account: str = ""
    """Under which account it runs, when not under that of the tests."""
    service_account: str = ""
    """Who may ask, when not the account of the tests."""
    key: str = ""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def socket(self) -> Path:
        return self.folder / "signer.sock"

    def start(self) -> None:
        account = self.service_account or pwd.getpwuid(os.geteuid()).pw_name
        command = [
            str(HEADRACE),
            "signer",
            "run",
            "--state",
            f"{self.folder}/state",
            "--socket",
            str(self.socket),
            "--json",
        ]
        more = ["--service-account", account, "--public-url", "http://127.0.0.1", "--socket-mode", "0666"]
        if self.account:
            # Its programs may lie where only the account of the tests reads: it becomes another one once all is loaded.
            command[:2] = [sys.executable, "-c", AS_ANOTHER, self.account]
        self.process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.key = json.loads(self.process.stdout.readline())["key"]

    def kill(self) -> None:
        """End it as `kill -9` does."""
        assert self.process is not None
        self.process.kill()
        self.process.communicate(timeout=LIMIT_S)
        self.process = None

    @contextmanager
    def without_room(self) -> Iterator[None]:
        """Let it write no byte into any file, as a disk without room does."""
        assert self.process is not None
        _, most = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (0, most))
        try:
            yield
        finally:
            resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (most, most))

    def run(self, *arguments: str) -> Result:
        """Run another command of the signer's owner (in this process: starting one takes a second)."""
        command, *others = arguments
        return CliRunner().invoke(signer_commands, [command, "--state", str(self.folder / "state"), *others])


@contextmanager
def running_signer(account: str = "", service_account: str = "") -> Iterator[SignerOfTest]:
    """Start a signer; its folder's path is short, because that of a socket has 107 characters at most."""
    folder = Path(tempfile.mkdtemp(prefix="signer-"))
    folder.chmod(0o711)
    if account:
        shutil.chown(folder, account)
    signer = SignerOfTest(folder, account, service_account)
    try:
        signer.start()
        yield signer
    finally:
        if signer.process is not None:
            signer.kill()
        shutil.rmtree(folder)


async def answer_to(call: Awaitable[object], device: Device) -> m.PasskeyAnswer:
    """Let a device answer what a call wants to be proven."""
    with pytest.raises(HeadraceError) as told:
        await call
    proof = told.value.problem.proof
    assert proof is not None, told.value.problem.detail
    assert proof.passkey is not None
    return device.get(proof.passkey)


async def proven(call: Callable[[m.PasskeyAnswer | None], Awaitable[T]], device: Device) -> T:
    """Make a call with the proof that it wants."""
    return await call(await answer_to(call(None), device))
