"""A node that works as the local account of whoever asked: the service, the node's program as root, two accounts."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from tests.servers.site import Person, Site
from tests.service.refusals import refused

from headrace.api.people.known_as import known_as
from headrace.api.people.sql_identities import SqlIdentityStore
from headrace.auth import Arrival, Role
from headrace.client import models as m

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can act as two accounts")
UIDS: Final = {"alice": 48301, "bob": 48302}
MAPPING: Final = """
[root.accounts]

[[root.accounts.map]]
issuer = "local"
name = "Robert Jones"
account = "bob"

[[root.accounts.map]]
issuer = "local"
account = "{name}"
"""
CORP: Final = "https://login.example.org/realms/lab"
PROGRAM: Final = (
    sys.executable,
    "-c",
    "import sys; from headrace.engine._native import main; sys.exit(main(sys.argv[1:]))",
)


@pytest.fixture
def people() -> Iterator[Path]:
    """A root with a closed folder of each account; everybody may go there, which pytest's own folders don't allow."""
    with TemporaryDirectory(prefix="headrace-people-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for account, uid in UIDS.items():
            own = folder / account
            own.mkdir()
            os.chown(own, uid, uid)
            own.chmod(0o700)
        yield folder


@pytest.fixture
async def mapped(site: Site, people: Path, tmp_path: Path) -> AsyncIterator[Site]:
    """The site with a third node, a program of its own, whose root `people` works as people's local accounts."""
    state, passwd = tmp_path / "mapped-state", tmp_path / "passwd"
    entries = "".join(f"{name}:x:{uid}:{uid}::/:/bin/false\n" for name, uid in UIDS.items())
    passwd.write_text(machines_accounts() + entries, encoding="utf-8")
    made = await site.ada.port.create_join_token(m.JoinTokenRequest(name="mapped"))
    root = f"people={people}:delete"
    where = ("--state", str(state), "--allow-root")
    join = ("join", made.token, "--name", "mapped", "--root", root, "--data-listen", "127.0.0.1:0", *where)
    async with running(site, passwd, *join):
        pass
    settings = state / "node.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + MAPPING, encoding="utf-8")
    async with running(site, passwd, "run", *where):
        yield site


def machines_accounts() -> str:
    return Path("/etc/passwd").read_text(encoding="utf-8")


@asynccontextmanager
async def running(site: Site, passwd: Path, *arguments: str) -> AsyncIterator[None]:
    """Run the node's program, with accounts that only it sees, as long as this lasts."""
    process = await asyncio.create_subprocess_exec(*within(passwd), *arguments)
    try:
        await site.until_nodes(lambda: site.use_cases.nodes.attached_count == len(site.nodes) + 1)
        yield
    finally:
        process.terminate()
        await process.wait()
    await site.until_nodes(lambda: site.use_cases.nodes.attached_count == len(site.nodes))


def within(passwd: Path) -> tuple[str, ...]:
    """Name the node's program in a mount namespace with its own table of accounts."""
    script = f"mount --bind '{passwd}' /etc/passwd && exec \"$@\""
    return "unshare", "--mount", "sh", "-c", script, "sh", *PROGRAM


def owner(path: Path) -> tuple[int, int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def copied(person: Person, source: str, destination: str) -> m.Transfer:
    plan = await person.plan(source, destination)
    assert plan.state is m.PlanState.READY, plan.summary
    return await person.end_of(await person.submit(plan))


async def why_not(person: Person, source: str, destination: str) -> str:
    plan = await person.plan(source, destination)
    assert plan.state is m.PlanState.FAILED, plan
    return plan.summary or ""


@AS_ROOT
@pytest.mark.anyio
async def test_each_person_reads_and_writes_as_their_own_account_and_nobody_as_another(
    mapped: Site, people: Path
) -> None:
    (mapped.lab / "set" / "below").mkdir(parents=True)
    (mapped.lab / "set" / "below" / "file").write_bytes(b"1")
    (mapped.lab / "set" / "below" / "file").chmod(0o640)
    alice, robert = await mapped.person("alice", "requester"), await mapped.person("Robert Jones", "requester")
    for person, account in [(alice, "alice"), (robert, "bob")]:
        moved = await copied(person, "lab:/set", f"people:/{account}/in")
        assert moved.state is m.TransferState.COMPLETE, moved.state_reason
        uid, there = UIDS[account], people / account / "in"
        assert [owner(there)[:2], owner(there / "below")[:2]] == [(uid, uid)] * 2
        assert owner(there / "below" / "file") == (uid, uid, 0o640)
        back = await copied(person, f"people:/{account}/in", f"archive:/{account}")
        assert back.state is m.TransferState.COMPLETE, back.state_reason
        assert (mapped.archive / account / "below" / "file").read_bytes() == b"1"
        assert owner(mapped.archive / account)[0] == 0, "that root works as its node"

    # What alice keeps is closed to everybody else, the administrator of the service included, in either direction.
    assert "Permission denied" in await why_not(robert, "people:/alice/in", "archive:/stolen")
    assert "Permission denied" in await why_not(robert, "lab:/set", "people:/alice/in/below")
    with refused("folder_unreadable"):
        await robert.port.browse("people", "/alice", limit=10)
    shown = await alice.port.browse("people", "/alice", limit=10)
    assert [entry.name for entry in shown.items] == ["in"]


@AS_ROOT
@pytest.mark.anyio
async def test_who_has_no_account_there_is_refused_by_name(mapped: Site, people: Path) -> None:
    (mapped.lab / "set").mkdir()
    mallory, eve = await mapped.person("mallory", "requester"), await mapped.person("Eve Smith", "requester")
    for person, said in [
        (mallory, "there is no local account `mallory`"),
        (eve, "`Eve Smith` can't be the name of a local account"),
        (await mapped.person("root", "requester"), "local account `root` has uid 0"),
    ]:
        for source, destination in [("lab:/set", "people:/new"), ("people:/", "archive:/all")]:
            assert said in await why_not(person, source, destination)
    assert names_in(people) == sorted(UIDS)
    with refused("account_unmapped"):
        await eve.port.browse("people", "/", limit=10)
    with refused("account_unusable"):
        await mallory.port.browse("people", "/", limit=10)


@AS_ROOT
@pytest.mark.anyio
async def test_the_node_says_as_whom_it_would_work_and_keeps_to_it_when_a_root_is_added_anew(
    mapped: Site, people: Path, tmp_path: Path
) -> None:
    del mapped

    async def said(*arguments: str) -> tuple[int, str]:
        ask = (*within(tmp_path / "passwd"), *arguments, "--state", str(tmp_path / "mapped-state"))
        process = await asyncio.create_subprocess_exec(*ask, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        return process.returncode or 0, out.decode()

    def asked(*who: str) -> tuple[str, ...]:
        return "accounts", "--root", "people", *who

    code, document = await said(*asked("--name", "Robert Jones", "--json"))
    bob = UIDS["bob"]
    assert (code, json.loads(document)) == (
        0,
        {"root": "people", "account": {"name": "bob", "uid": bob, "gid": bob, "groups": [bob]}},
    )
    shown = "for `alice` of `local`, root `people` works as local account `alice`: "
    assert (await said(*asked("--name", "alice")))[1].startswith(shown)
    assert (await said(*asked("--name", "alice", "--issuer", CORP)))[0] == 4
    assert (await said(*asked("--name", "mallory")))[0] == 4
    assert (await said(*asked("--person", "pn_0")))[0] == 4
    for access in ("delete", "read"):
        listed = f"people={people}:{access}, as people's local accounts (rules: 2, lowest uid: 1000)\n"
        assert await said("root", "list") == (0, listed)
        await said("root", "add", f"people={people}:read")


@pytest.mark.anyio
async def test_a_person_is_known_by_the_name_here_or_by_what_an_administrator_elsewhere_gives(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    store = SqlIdentityStore(core.database, core.audit, core.reactions)
    await quiet_site.bind(
        m.GroupBinding(issuer=CORP, group="staff", roles=[Role.VIEWER], groups=[]),
        m.GroupBinding(issuer="ad:corp.example.org", group="S-1-5-21-1-2-3-1104", roles=[Role.VIEWER], groups=[]),
    )

    async def arrived(issuer: str, subject: str, name: str, person: str, *, later: int = 0) -> None:
        arrival = Arrival(issuer=issuer, subject=subject, name=name, groups=frozenset({"staff", "S-1-5-21-1-2-3-1104"}))
        await store.arrive(arrival, person, core.clock() + timedelta(seconds=later))

    async def known(person: str) -> str:
        async with core.database.read() as tx:
            return await known_as(tx, person)

    # A name that somebody chose at the provider is not theirs to have an account by.
    await arrived(CORP, "5f1c-77", "alice", "pn_oidc")
    await arrived("ad:corp.example.org", "0b2e", "Alice@corp.example.org", "pn_ad")
    await arrived(CORP, "x" * 255, "long", "pn_long")
    alice = await quiet_site.person("alice", "viewer")
    assert await known(alice.principal.id) == "local alice"
    assert await known("pn_oidc") == f"{CORP} 5f1c-77"
    assert await known("pn_ad") == "ad:corp.example.org alice@corp.example.org"
    assert (await known("pn_long"), await known("pn_nobody")) == ("", "")
    await quiet_site.ada.port.link_identity(alice.principal.id, m.IdentityLink(issuer=CORP, subject="other"))
    assert await known(alice.principal.id) == "local alice"
    # Two people of one name, such as the sign-in name of one and the account name of the other, are neither.
    await arrived("ad:corp.example.org", "77aa", "BOB@corp.example.org", "pn_bob")
    assert await known("pn_bob") == "ad:corp.example.org bob@corp.example.org"
    await arrived("ad:corp.example.org", "99cc", "bob@corp.example.org", "pn_other")
    assert (await known("pn_bob"), await known("pn_other")) == ("", "")
    # Capital letters are not those of ASCII alone.
    await arrived("ad:corp.example.org", "11dd", "Änne@corp.example.org", "pn_one")
    await arrived("ad:corp.example.org", "22ee", "änne@corp.example.org", "pn_two")
    assert (await known("pn_one"), await known("pn_two")) == ("", "")
    await store.renew("ad:corp.example.org", "0b2e", None, core.clock())
    assert await known("pn_ad") == ""
