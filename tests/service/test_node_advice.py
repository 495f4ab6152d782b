"""What a host's administrator is told who starts a node with a wrong address, a wrong folder or too few rights."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.servers.site import Site
from tests.service.test_local_accounts import PROGRAM

pytestmark = pytest.mark.anyio
NOBODY = 65534


async def said(*arguments: str) -> tuple[int, str]:
    """Run the node's program as an account that owns nothing; returns how it ended, and what it said."""
    as_nobody = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups") if os.geteuid() == 0 else ()
    process = await asyncio.create_subprocess_exec(
        *(("setpriv", *as_nobody) if as_nobody else ()), *PROGRAM, *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def test_a_node_that_does_not_come_to_be_is_told_the_next_step(quiet_site: Site) -> None:
    token = quiet_site.service.whole.core.hub.join_token(secret="0" * 32, address="127.0.0.1:1")
    with TemporaryDirectory(prefix="headrace-node-") as name:
        if os.geteuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        state, folder = ("--state", str(Path(name) / "state")), Path(name) / "archive"
        code, told = await said("join", token, "--name", "far", "--root", f"archive={folder}:write", *state)
        assert code != 0
        assert f"there is no folder `{folder}`: make it (`mkdir -p`)" in told
        code, told = await said("join", token, "--name", "far", "--root", "etc=/etc:write", *state)
        assert code != 0
        assert "root `etc` exports `/etc` as `write`, and this account can't write there" in told
        assert "the service at `127.0.0.1:1` can't be reached: Connection refused" in told
        assert "`headrace serve --hub-listen 0.0.0.0:8471 --hub-advertise HOST:8471`" in told
        for root, warned in ((f"open={name}:write", False), ("etc=/etc:read", False), ("etc=/etc:delete", True)):
            code, told = await said("root", "add", root, *state)
            assert (code, "this account can't write there" in told) == (0, warned), told
