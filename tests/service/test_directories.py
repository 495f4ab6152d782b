"""People of a real Active Directory sign in with its passwords: by any of their names, into what their groups give."""

import asyncio
import json
import socket
import sqlite3
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.identity_store_conformance import bind
from tests.servers.device import Device
from tests.servers.directory import LOCK_AFTER, PASSWORD, Authority, Domain, config_of, domain_running, ticks
from tests.servers.proxy import open_proxy
from tests.servers.site import PASSWORD as LOCAL
from tests.servers.site import Person, ShiftedClock, Site, started_site
from tests.service.refusals import refused
from tests.service.test_consent import plan_to_approve, publish
from tests.service.test_proofs import PASSKEY_FOR_PHI, added, wanted
from tests.service.test_transfers import SLOW_BPS, large_set, until
from typer.testing import CliRunner

from headrace.api.app.compose import _directories
from headrace.api.clock import utc_now
from headrace.api.errors import ServiceError
from headrace.api.jobs.local import LocalJobs
from headrace.api.people.auth_command import auth
from headrace.api.settings import SettingError, Settings
from headrace.auth import (
    Authenticator,
    AuthError,
    DirectoryAway,
    DirectoryRefused,
    GroupBinding,
    MemoryPeopleStore,
    Pepper,
    Role,
    SignedIn,
    TooManyAttempts,
    directory_watch,
    memory,
)
from headrace.auth.directory import LookedUp, Refusal, TypedName
from headrace.auth.directory_check import check_directory
from headrace.auth.directory_ldap import Entry, LdapDirectory
from headrace.auth.directory_sign_in import NAME_LIMIT
from headrace.auth.directory_watch import DirectoryWatch
from headrace.auth.leavers import FEW, Brake, Looked
from headrace.auth.store import every_identity, everybody
from headrace.client import models as m

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

CORP = "ad:corp.test"
HERE = "10.0.0.1"


class House:
    """An authenticator whose people come from the domain; requesters are who is in `xfer-users`."""

    def __init__(self, domain: Domain, *servers: str, **other: Any) -> None:  # noqa: ANN401 - what `config_of` takes
        self.clock = ShiftedClock()
        self.store = MemoryPeopleStore()
        config = config_of(*(servers or (domain.url,)), **({"ca": str(domain.ca)} | other))
        self.config = config
        self.directory = LdapDirectory(config)
        self.door = Authenticator(
            self.store,
            self.store,
            self.store,
            self.clock,
            Pepper(b"p" * 32),
            steady=self.clock.waits,
            directories=[self.directory],
        )

    async def bind(self, **roles: Role) -> None:
        """Give roles to groups, by their SIDs."""
        bindings = [GroupBinding(issuer=CORP, group=sid, roles=frozenset({role})) for sid, role in roles.items()]
        await bind(self.store, *bindings)

    async def sign_in(self, name: str, password: str = PASSWORD, address: str = HERE) -> SignedIn:
        return await self.door.sign_in(name, password, address)

    async def refusal(self, name: str, password: str = PASSWORD, address: str = HERE) -> AuthError:
        with pytest.raises(AuthError) as turned_away:
            await self.sign_in(name, password, address)
        return turned_away.value


@pytest.fixture
async def house(domain: Domain) -> AsyncIterator[House]:
    house = House(domain)
    await house.bind(**{domain.sid("xfer-users"): Role.REQUESTER})
    yield house
    await house.door.close()


async def test_a_person_of_the_directory_signs_in_by_any_of_their_names_as_one_person(
    house: House, domain: Domain
) -> None:
    names = ("alice@corp.test", "ALICE@Corp.Test", "CORP\\alice", "corp.test\\Alice", "alice@site.test")
    came = [await house.sign_in(name) for name in names]
    assert len({one.principal.id for one in came}) == 1
    alice = came[0].principal
    assert (alice.name, set(alice.roles), alice.session) == ("alice@corp.test", {Role.REQUESTER}, True)
    assert (alice.method, set(alice.factors), alice.issuer) == ("directory", {"pwd"}, CORP)
    [identity] = await house.store.identities()
    assert (identity.issuer, identity.subject) == (CORP, domain.subject("alice"))


async def test_nested_groups_and_the_primary_group_give_what_is_bound_to_them(house: House, domain: Domain) -> None:
    outermost, primary = domain.sid("everyone-xfer"), f"{domain.sid('alice').rpartition('-')[0]}-513"
    await house.bind(**{outermost: Role.OPERATOR, primary: Role.VIEWER})
    assert (await house.sign_in("alice@corp.test")).principal.roles == {Role.OPERATOR, Role.VIEWER}
    assert (await house.sign_in("bob@corp.test")).principal.roles == {Role.VIEWER}


async def test_who_is_in_no_bound_group_is_refused_and_not_kept(house: House) -> None:
    error = await house.refusal("dave@corp.test")
    assert error.code == "no_role"
    assert error.reason.startswith(
        f"{CORP}: no group of 'dave@corp.test' gives a role here; groups that came: 'S-1-5-21-"
    )
    assert (await house.store.people(), await house.store.identities()) == ((), ())


@pytest.mark.parametrize(
    ("name", "password", "code", "reason"),
    [
        ("alice@corp.test", "wrong", "sign_in_refused", Refusal.PASSWORD),
        ("disabled@corp.test", PASSWORD, "sign_in_refused", Refusal.DISABLED),
        ("disabled@corp.test", "wrong", "sign_in_refused", Refusal.PASSWORD),
        ("ended@corp.test", PASSWORD, "sign_in_refused", Refusal.ENDED),
        ("expired@corp.test", PASSWORD, "password_expired", Refusal.EXPIRED),
        ("expired@corp.test", "wrong", "sign_in_refused", Refusal.PASSWORD),
        ("mustchange@corp.test", PASSWORD, "password_expired", Refusal.MUST_CHANGE),
        ("nobody@corp.test", PASSWORD, "sign_in_refused", Refusal.UNKNOWN),
        ("CORP\\", PASSWORD, "sign_in_refused", "unknown name"),
        ("alice@other.test", PASSWORD, "sign_in_refused", "unknown name"),
        ("alice", PASSWORD, "sign_in_refused", "unknown name"),
        ("alice@corp.test", "", "sign_in_refused", Refusal.EMPTY),
        ("alice@corp.test", "\udcff", "sign_in_refused", Refusal.PASSWORD),
        ("*@corp.test", PASSWORD, "sign_in_refused", Refusal.UNKNOWN),
        ("ali*@corp.test", PASSWORD, "sign_in_refused", Refusal.UNKNOWN),
        ("CORP\\alice)(objectClass=*", PASSWORD, "sign_in_refused", Refusal.UNKNOWN),
        ("CORP\\*)(|(sAMAccountName=alice", PASSWORD, "sign_in_refused", Refusal.UNKNOWN),
        ("x@corp.test)(|(cn=*@corp.test", PASSWORD, "sign_in_refused", Refusal.UNKNOWN),
        ("alice@corp.test", "*)(uid=*", "sign_in_refused", Refusal.PASSWORD),
    ],
)
async def test_who_may_not_sign_in_hears_one_sentence_and_the_log_hears_why(
    house: House, name: str, password: str, code: str, reason: str
) -> None:
    error = await house.refusal(name, password)
    assert (error.code, error.reason.removeprefix(f"{CORP}: ")) == (code, reason)
    if code == "sign_in_refused":
        assert str(error) == str(await house.refusal("ada", PASSWORD))


async def test_only_who_knows_the_old_password_hears_that_it_has_expired(house: House) -> None:
    assert "has expired" in str(await house.refusal("expired@corp.test"))
    assert "has expired" not in str(await house.refusal("expired@corp.test", "wrong"))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("dave@corp.test", "no_role"),
        ("expired@corp.test", "password_expired"),
        ("mustchange@corp.test", "password_expired"),
    ],
)
async def test_whose_password_is_right_uses_up_nothing_however_often_they_hear_what_is_missing(
    house: House, domain: Domain, name: str, code: str
) -> None:
    heard = [(await house.refusal(name)).code for _ in range(NAME_LIMIT.attempts + 1)]
    assert set(heard) == {code}
    try:
        guesses = [(await house.refusal(name, "guess")).code for _ in range(4)]
        assert guesses == ["sign_in_refused"] * 3 + ["too_many_attempts"]
    finally:
        domain.set(name.partition("@")[0], lockoutTime="0")


async def test_whose_directory_password_expires_meanwhile_uses_up_no_proof(house: House, domain: Domain) -> None:
    bob = (await house.sign_in("bob@corp.test")).principal
    domain.set("bob", pwdLastSet="0")
    try:
        for _ in range(4):
            with pytest.raises(AuthError) as turned_away:
                await house.door.prove(bob, PASSWORD)
            assert turned_away.value.code == "password_expired"
    finally:
        domain.set("bob", pwdLastSet="-1")
    await house.door.prove(bob, PASSWORD)


async def test_a_locked_account_is_refused(house: House, domain: Domain) -> None:
    for number in range(LOCK_AFTER):
        await house.refusal("locked@corp.test", "wrong", f"10.1.0.{number}")
    house.clock.shift += timedelta(seconds=house.config.attempts_window_s)
    error = await house.refusal("locked@corp.test")
    assert (error.code, error.reason) == ("sign_in_refused", f"{CORP}: {Refusal.LOCKED}")
    assert domain.number("locked", "lockoutTime")


async def test_an_empty_password_is_not_even_sent(domain: Domain) -> None:
    account = await House(domain).directory.find("alice@corp.test")
    nowhere = House(domain, "ldaps://127.0.0.1:1").directory
    with pytest.raises(DirectoryRefused, match=Refusal.EMPTY):
        await nowhere.check(account, "")
    with pytest.raises(DirectoryAway):
        await nowhere.check(account, "x")


async def test_a_mail_address_of_two_people_is_nobodys_name_and_a_sign_in_name_comes_first(
    house: House, domain: Domain
) -> None:
    domain.add("twin", mail="bob@site.test")
    domain.add("mallory", mail="alice@corp.test")
    try:
        error = await house.refusal("bob@site.test")
        assert error.reason == f"{CORP}: {Refusal.AMBIGUOUS}"
        bob = await house.sign_in("bob@corp.test")
        alice = await house.sign_in("alice@corp.test")
        assert (bob.principal.name, alice.principal.name) == ("bob@corp.test", "alice@corp.test")
    finally:
        domain.delete("twin")
        domain.delete("mallory")


async def test_a_name_that_looks_like_a_filter_is_only_a_name(house: House, domain: Domain) -> None:
    domain.add("odd", userPrincipalName="o(d*d)@corp.test")
    domain.join("odd", "xfer-users")
    try:
        assert (await house.sign_in("o(d*d)@corp.test")).principal.name == "odd@corp.test"
        assert (await house.refusal("o(d*@corp.test")).reason == f"{CORP}: {Refusal.UNKNOWN}"
    finally:
        domain.delete("odd")


async def test_a_renamed_group_and_a_renamed_person_stay_who_they_are(house: House, domain: Domain) -> None:
    before = await house.sign_in("bob@corp.test")
    with domain.renamed("xfer-users", "movers"), domain.renamed("bob", "robert"):
        after = await house.sign_in("CORP\\robert")
    assert (after.principal.id, set(after.principal.roles)) == (before.principal.id, {Role.REQUESTER})


async def test_guessing_never_locks_an_account_and_never_shuts_its_person_out(house: House, domain: Domain) -> None:
    house = House(domain, attempts=LOCK_AFTER)
    await house.bind(**{domain.sid("xfer-users"): Role.REQUESTER})
    await house.sign_in("bob@corp.test")
    for number in range(20):
        name = ("bob@corp.test", "CORP\\bob", "bob@site.test")[number % 3]
        with pytest.raises(AuthError) as guessed:
            await house.sign_in(name, "guess", f"10.2.0.{number}")
        assert isinstance(guessed.value, TooManyAttempts) == (number > 0)
    assert domain.number("bob", "badPwdCount") == 1
    assert (await house.sign_in("bob@corp.test")).principal.name == "bob@corp.test"
    await house.refusal("bob@corp.test", "typo")
    assert domain.number("bob", "lockoutTime") == 0
    house.clock.shift += timedelta(seconds=house.config.attempts_window_s)
    await house.sign_in("bob@corp.test")


async def test_who_is_disabled_here_stays_out_whatever_the_directory_says(house: House) -> None:
    bob = await house.sign_in("bob@corp.test")
    await house.store.disable(bob.principal.id)
    error = await house.refusal("bob@corp.test")
    assert (error.code, error.person) == ("sign_in_refused", bob.principal.id)
    assert error.reason.endswith("is disabled"), error.reason


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"secret": "not this"}, "refuses svc-headrace@corp.test: wrong password"),
        ({"base": "OU=Nowhere,DC=corp,DC=test"}, "could not search in OU=Nowhere"),
        ({"base": "DC=elsewhere,DC=test"}, "could not search in DC=elsewhere"),
    ],
)
async def test_a_directory_that_cannot_be_asked_is_away_and_the_log_says_why(
    domain: Domain, other: dict[str, str], said: str
) -> None:
    error = await House(domain, **other).refusal("alice@corp.test")
    assert (error.code, said in error.reason) == ("directory_away", True), error.reason
    assert "svc-headrace" not in str(error)


async def test_a_server_without_the_sites_certificate_gets_no_password(domain: Domain, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(Authority.make().pem)
    error = await House(domain, ca=str(other)).refusal("alice@corp.test")
    assert (error.code, "CERTIFICATE_VERIFY_FAILED" in error.reason) == ("directory_away", True), error.reason
    assert error.reason.startswith(f"{domain.url}: socket ssl wrapping error: ["), (
        "and no text in brackets of a program"
    )


@pytest.mark.parametrize("scheme", ["ldaps", "ldap"])
async def test_a_server_of_another_host_name_gets_no_password(domain: Domain, scheme: str) -> None:
    with open_proxy() as proxy:
        proxy.pass_to(f"{domain.address}:{636 if scheme == 'ldaps' else 389}")
        error = await House(domain, proxy.url.replace("http", scheme)).refusal("alice@corp.test")
    assert (error.code, "certificate is not valid for" in error.reason) == ("directory_away", True), error.reason


async def test_a_referral_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    Authority.make().certify(tmp_path, "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.settimeout(0)
        url = f"ldap://127.0.0.1:{elsewhere.getsockname()[1]}/DC=corp,DC=test"
        with referring_server(tmp_path, url) as server:
            house = House(Domain(tmp_path, ""), server)
            error = await house.refusal("alice@corp.test")
        assert (error.code, "could not search" in error.reason) == ("directory_away", True), error.reason
        with pytest.raises(BlockingIOError):
            elsewhere.accept()


@pytest.mark.parametrize(
    "answer", [b"\x30\x03\x02\x01\x01", b"\x30\x84\xff\xff\xff\xff", b"HTTP/1.1 200 OK\r\n\r\n", b"\0" * 50, b""]
)
async def test_a_server_whose_answers_nobody_can_read_is_away(tmp_path: Path, answer: bytes) -> None:
    Authority.make().certify(tmp_path, "127.0.0.1")
    with answering_server(tmp_path, lambda _: answer) as server:
        error = await House(Domain(tmp_path, ""), server, timeout_s=1).refusal("alice@corp.test")
    assert error.code == "directory_away", error.reason


async def test_a_directory_whose_answers_never_end_holds_nobody_up_for_long_and_takes_no_place_for_ever(
    tmp_path: Path,
) -> None:
    Authority.make().certify(tmp_path, "127.0.0.1")
    with dripping_server(tmp_path) as server:
        house = House(Domain(tmp_path, ""), server, timeout_s=1, connections=1, waiting=1)
        async with asyncio.timeout(30):
            assert (await house.refusal("alice@corp.test")).reason == "corp.test has not answered for 4 s"
        # The one place is free again: what is asked next is asked at once.
        assert "has not answered" not in (await house.refusal("alice@corp.test")).reason
        await house.door.close()


@contextmanager
def dripping_server(folder: Path) -> Iterator[str]:
    """Run what lets in the first one, answers their search byte by byte without end, and hangs up on all others."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "dc.pem", folder / "dc.key")
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(listener.accept()[0], server_side=True) as client:
            client.sendall(replied(client.recv(4096), {0x60: BOUND}))
            client.recv(4096)
            client.sendall(b"\x30\x84\x00\x10\x00\x00")
            while not ended.wait(0.2):
                client.sendall(b"\x00")

    def serve(listener: socket.socket) -> None:
        drip(listener)
        with suppress(OSError):
            while not ended.is_set():
                listener.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve, args=(listener,))
        serving.start()
        try:
            yield f"ldaps://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()


@contextmanager
def referring_server(folder: Path, url: str) -> Iterator[str]:
    """Run what lets everybody in and answers every search with a referral; Samba makes none (RFC 4511, 4.1.10)."""
    there = bytes([4, len(url)]) + url.encode()
    done = bytes([0x0A, 1, 10, 4, 0, 4, 0, 0xA3, len(there)]) + there
    answers = {0x60: BOUND, 0x63: bytes([0x65, len(done)]) + done}
    with answering_server(folder, lambda message: replied(message, answers)) as server:
        yield server


BOUND = bytes([0x61, 7, 0x0A, 1, 0, 4, 0, 4, 0])
"""That somebody is let in."""


def replied(message: bytes, answers: Mapping[int, bytes]) -> bytes:
    """Answer a message by its kind (RFC 4511, 4.1.1)."""
    start = 2 + (message[1] & 0x7F if message[1] & 0x80 else 0)
    end = start + 2 + message[start + 1]
    body = message[start:end] + answers.get(message[end], b"")
    return bytes([0x30, len(body)]) + body


@contextmanager
def answering_server(folder: Path, answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """Run a server for one connection over TLS; without an answer it hangs up."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "dc.pem", folder / "dc.key")

    def serve(listener: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(listener.accept()[0], server_side=True) as client:
            while (message := client.recv(4096)) and (said := answer(message)):
                client.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"ldaps://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


async def test_start_tls_comes_before_every_password(domain: Domain) -> None:
    house = House(domain, f"ldap://{domain.address}")
    await house.bind(**{domain.sid("xfer-users"): Role.REQUESTER})
    assert (await house.sign_in("alice@corp.test")).principal.name == "alice@corp.test"


async def test_the_next_server_is_asked_when_one_is_down_and_stays_the_first(domain: Domain) -> None:
    house = House(domain, "ldaps://127.0.0.1:1", domain.url)
    await house.bind(**{domain.sid("xfer-users"): Role.REQUESTER})
    for _ in range(2):
        assert (await house.sign_in("alice@corp.test")).principal.name == "alice@corp.test"
    assert house.directory._servers[0] == domain.url  # noqa: SLF001 - what the next sign-in asks first


async def test_a_silent_directory_holds_nobody_up_for_long_and_counts_no_try(domain: Domain) -> None:
    with open_proxy() as proxy:
        proxy.silent = True
        house = House(domain, proxy.url.replace("http", "ldaps"), timeout_s=1, connections=2, waiting=2)
        asked = (house.directory.find("alice@corp.test") for _ in range(6))
        errors = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(error) for error in errors} == {DirectoryAway}
        assert len([error for error in errors if "are under way or wait already" in str(error)]) == 2
        assert (await house.refusal("alice@corp.test")).code == "directory_away"
        assert not len(house.door._directories._throttle)  # noqa: SLF001 - nothing is counted
        proxy.silent = False
    await house.door.close()


async def test_people_go_on_while_the_directory_is_down_and_sign_in_when_it_is_back(domain: Domain) -> None:
    with open_proxy() as proxy:
        proxy.pass_to(f"{domain.address}:636")
        house = House(domain, proxy.url.replace("http://127.0.0.1", "ldaps://localhost"))
        house.directory._context.check_hostname = False  # noqa: SLF001 - what stands between has another name
        await house.bind(**{domain.sid("xfer-users"): Role.REQUESTER})
        alice = await house.sign_in("alice@corp.test")
        proxy.pass_to("127.0.0.1:1")
        assert (await house.refusal("alice@corp.test")).code == "directory_away"
        assert await house.door.sessions.principal(alice.secret) == alice.principal
        proxy.pass_to(f"{domain.address}:636")
        assert (await house.sign_in("alice@corp.test")).principal.id == alice.principal.id


async def test_a_local_person_of_the_same_name_comes_first_and_others_are_not_asked(house: House) -> None:
    link = await house.door.accounts.bootstrap()
    assert link is not None
    await house.door.passwords.accept_invitation(link, LOCAL, "alice@corp.test", HERE)
    assert (await house.sign_in("alice@corp.test", LOCAL)).principal.method == "password"
    assert (await house.refusal("alice@corp.test")).code == "sign_in_refused"
    assert (await house.sign_in("CORP\\alice")).principal.method == "directory"


def settings(tmp_path: Path, domain: Domain) -> Settings:
    """The settings of a site that knows the domain by a file."""
    return Settings(directories=str(domain.declared(tmp_path)))


@pytest.fixture
async def strict(tmp_path: Path, domain: Domain) -> AsyncIterator[Site]:
    """A site that wants a proof with every yes."""
    async with started_site(tmp_path, settings(tmp_path, domain), proof="password") as site:
        bound = m.GroupBinding(issuer=CORP, group=domain.sid("xfer-users"), roles=["requester"])
        await site.bind(bound)
        yield site


@pytest.fixture
async def site(tmp_path: Path, domain: Domain) -> AsyncIterator[Site]:
    async with started_site(tmp_path, settings(tmp_path, domain)) as site:
        await site.start_both()
        bindings = [
            m.GroupBinding(issuer=CORP, group=domain.sid("xfer-users"), roles=["requester"]),
            m.GroupBinding(issuer=CORP, group=domain.sid("xfer-admins"), roles=["approver"]),
        ]
        await site.bind(*bindings)
        yield site


async def signed_in(site: Site, name: str, password: str = PASSWORD) -> Person:
    session = await site.use_cases.people.sign_in(m.SignIn(name=name, password=password), HERE)
    return Person(site, await site.use_cases.people.of_session(session.secret), session.secret)


async def test_people_of_two_domains_sign_in_each_at_their_own_and_one_that_is_away_shuts_nobody_else_out(
    tmp_path: Path, domain: Domain
) -> None:
    with ExitStack() as ending:
        partner = ending.enter_context(domain_running("partner.test", host=11))
        (tmp_path / "partner").mkdir()
        file, other = domain.declared(tmp_path), partner.declared(tmp_path / "partner")
        file.write_text(file.read_text() + other.read_text())
        bindings = [
            m.GroupBinding(issuer=f"ad:{one.name}", group=one.sid("xfer-users"), roles=["requester"])
            for one in (domain, partner)
        ]
        async with started_site(tmp_path, Settings(directories=str(file))) as site:
            await site.bind(*bindings)
            here = await signed_in(site, "alice@corp.test")
            there = await signed_in(site, "PARTNER\\alice")
            assert here.principal.id != there.principal.id
            assert (here.principal.name, there.principal.name) == ("alice@corp.test", "alice@partner.test")
            # A group of one domain gives nothing to people of another.
            await site.bind(bindings[0])
            with pytest.raises(AuthError) as roleless:
                await signed_in(site, "bob@partner.test")
            assert roleless.value.code == "no_role"
            await site.bind(*bindings)
            partner.enable("alice", enabled=False)
            await site.use_cases.people.look_for_leavers("ad:partner.test")
            with pytest.raises(AuthError):
                await site.use_cases.people.of_session(there.secret)
            assert (await site.use_cases.people.of_session(here.secret)).id == here.principal.id
            ending.close()
            with pytest.raises(AuthError) as away:
                await signed_in(site, "bob@partner.test")
            assert away.value.code == "directory_away"
            assert (await signed_in(site, "bob@corp.test")).principal.name == "bob@corp.test"


async def test_the_directorys_password_proves_a_yes_and_no_other_does(strict: Site) -> None:
    alice = await signed_in(strict, "alice@corp.test")
    wish = m.TokenRequest(name="pipeline", scopes=["transfer:read"])
    with refused("proof_needed"):
        await alice.port.create_token(wish)
    with refused("proof_refused"):
        await alice.port.create_token(wish.model_copy(update={"password": LOCAL}))
    made = await alice.port.create_token(wish.model_copy(update={"password": PASSWORD}))
    assert made.secret is not None
    [failed] = await strict.audited("proof_failed")
    assert failed.person == alice.principal.id
    with refused("not_allowed"):
        await alice.port.change_password(m.PasswordChange(password=PASSWORD, new_password="another " + LOCAL))


async def test_somebody_of_the_directory_uses_a_passkey_in_the_session_where_policy_wants_one(site: Site) -> None:
    device, alice = Device(), await signed_in(site, "alice@corp.test")
    elsewhere = await signed_in(site, "alice@corp.test")
    await added(alice, device, m.Proven(password=PASSWORD))
    (site.lab / "a.dat").write_text("a")
    await publish(site, PASSKEY_FOR_PHI)
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(labels={"class": "phi"}))
    assert (await alice.plan("lab:/a.dat", "archive:/a.dat")).state is m.PlanState.DENIED
    with refused("proof_needed"):
        await alice.port.use_passkey(m.Proven(password=PASSWORD))
    given = m.Proven(passkey=device.get(await wanted(alice.port.use_passkey())))
    await alice.port.use_passkey(given)
    with refused("passkey_refused"):
        await alice.port.use_passkey(given)
    people = site.use_cases.people
    alice = replace(alice, principal=await people.of_session(alice.secret))
    assert set(alice.principal.factors) == {"pwd", "mfa", "passkey", "pop"}
    ended = await alice.end_of(await alice.submit(await alice.plan("lab:/a.dat", "archive:/a.dat")))
    assert ended.state is m.TransferState.COMPLETE
    used = (await site.audited("signed_in"))[-1]
    assert (used.person, used.detail["method"], used.detail["issuer"]) == (alice.principal.id, "passkey", CORP)
    # It counts in that session alone.
    elsewhere = replace(elsewhere, principal=await people.of_session(elsewhere.secret))
    assert (await elsewhere.plan("lab:/a.dat", "archive:/b.dat")).state is m.PlanState.DENIED


async def test_sign_ins_at_the_directory_are_audited_with_person_method_and_address(strict: Site) -> None:
    alice = await signed_in(strict, "alice@corp.test")
    with pytest.raises(AuthError):
        await signed_in(strict, "alice@corp.test", "wrong")
    arrived = (await strict.audited("person_arrived"))[-1]
    came = (await strict.audited("signed_in"))[-1]
    [failed] = await strict.audited("sign_in_failed")
    assert {arrived.subject, came.person, failed.subject} == {alice.principal.id}
    assert (came.detail["method"], came.detail["issuer"], came.detail["address"]) == ("directory", CORP, HERE)
    assert (failed.detail["reason"], failed.detail["address"]) == (f"{CORP}: {Refusal.PASSWORD}", HERE)
    assert PASSWORD not in str([one.model_dump() for one in await strict.audited("")])


async def test_throttled_sign_ins_are_audited_with_person_and_network_up_to_ten_an_hour(
    strict: Site, domain: Domain
) -> None:
    domain.add("thea")
    domain.join("thea", "xfer-users")
    try:
        people, thea = strict.use_cases.people, await signed_in(strict, "thea@corp.test")
        guess = m.SignIn(name="thea@corp.test", password="guess")  # noqa: S106 - wrong
        for number in range(3 + 12):
            with pytest.raises(AuthError) as turned_away:
                await people.sign_in(guess, "10.9.0.1")
            assert isinstance(turned_away.value, TooManyAttempts) == (number >= 3)
    finally:
        domain.delete("thea")
    assert f"{CORP}: thea@corp.test, from 10.9.0.1: too many attempts" in turned_away.value.reason
    assert "thea" not in str(turned_away.value)
    told = [one for one in await strict.audited("sign_in_failed") if "too many attempts" in one.detail["reason"]]
    assert {(one.subject, one.detail["address"]) for one in told} == {(thea.principal.id, "10.9.0.1")}
    assert len(told) == 10
    local = m.SignIn(name="ada", password="guess")  # noqa: S106 - wrong
    for _ in range(11):
        with pytest.raises(AuthError):
            await people.sign_in(local, "10.9.0.2")
    last = (await strict.audited("sign_in_failed"))[-1]
    assert last.subject == strict.ada.principal.id
    assert f"person {last.subject}, from 10.9.0.2: too many attempts" in last.detail["reason"]


async def test_who_leaves_the_directory_or_its_groups_loses_everything_and_comes_back_with_nothing(
    site: Site, domain: Domain
) -> None:
    people = site.use_cases.people
    alice, carol, bob = [await signed_in(site, f"{name}@corp.test") for name in ("alice", "carol", "bob")]
    token, _ = await alice.token("transfer:read")
    large_set(site)
    (site.lab / "set").rename(site.lab / "large")
    plan = await plan_to_approve(site)
    await carol.approve(plan)
    running = await alice.submit(await alice.plan("lab:/large", "archive:/copy", rate_limit_bps=SLOW_BPS))
    operator = await site.person("otto", "operator")
    site.ada, ada = operator, site.ada
    await until(site, running, "running")
    domain.enable("alice", enabled=False)
    domain.leave("carol", "xfer-admins")
    try:
        await people.look_for_leavers(CORP)
        ended = await operator.end_of(running)
        assert ended.error is not None
        assert ended.error.code == "requester_inactive"
        for gone in (alice, carol):
            with pytest.raises(AuthError):
                await people.of_session(gone.secret)
        with pytest.raises(AuthError):
            await people.of_token(token)
        with refused("needs_approval"):
            await ada.submit(plan)
        assert (await people.of_session(bob.secret)).id == bob.principal.id
        [suspended] = await site.audited("person_suspended")
        assert (suspended.subject, suspended.detail["cause"]) == (alice.principal.id, f"what {CORP} says")
    finally:
        domain.enable("alice", enabled=True)
        domain.join("carol", "xfer-admins")
    await people.look_for_leavers(CORP)
    assert {one.state for one in await ada.port.people()} == {"active"}
    assert (await signed_in(site, "alice@corp.test")).principal.id == alice.principal.id
    with refused("needs_approval"):
        await ada.submit(plan)
    with pytest.raises(AuthError):
        await people.of_token(token)


async def test_plans_of_somebody_who_was_renamed_in_the_directory_start_no_more_and_new_ones_bear_the_new_name(
    site: Site, domain: Domain
) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.txt").write_text("a")
    domain.add("mary", userPrincipalName="mary.miller@corp.test")
    domain.join("mary", "xfer-users")
    try:
        mary = await signed_in(site, "mary.miller@corp.test")
        planned = await mary.plan("lab:/set", "archive:/before")
        domain.set("mary", userPrincipalName="mary.smith@corp.test")
        await site.use_cases.people.look_for_leavers(CORP)
        with refused("requester_renamed"):
            await mary.submit(planned)
        ended = await mary.end_of(await mary.submit(await mary.plan("lab:/set", "archive:/after")))
        assert (ended.state, ended.requester_name) == ("complete", "mary.smith@corp.test")
    finally:
        domain.delete("mary")


async def test_who_is_deleted_has_left_and_who_is_locked_out_or_must_change_the_password_has_not(
    house: House, domain: Domain
) -> None:
    domain.add("zoe")
    domain.add("lars")
    for name in ("zoe", "lars"):
        domain.join(name, "xfer-users")
    zoe, lars = await house.sign_in("zoe@corp.test"), await house.sign_in("lars@corp.test")
    for number in range(LOCK_AFTER):
        await house.refusal("lars@corp.test", "guess", f"10.3.0.{number}")
    domain.set("lars", pwdLastSet="0")
    domain.delete("zoe")
    try:
        assert (await house.door.directory_watch.look(CORP)).changed
        assert domain.number("lars", "lockoutTime")
        assert (await house.door.sessions.principal(lars.secret)).id == lars.principal.id
        with pytest.raises(AuthError):
            await house.door.sessions.principal(zoe.secret)
        assert not (await house.door.directory_watch.look(CORP)).changed
    finally:
        domain.delete("lars")


async def test_whoever_leaves_is_found_however_many_people_there_are(
    house: House, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.bind(**{domain.sid("xfer-users"): Role.REQUESTER, domain.sid("xfer-admins"): Role.APPROVER})
    for name in ("alice", "bob", "carol"):
        await house.sign_in(f"{name}@corp.test")
    monkeypatch.setattr(memory, "MAX_PEOPLE", 1)
    known = {one.subject async for one in every_identity(house.store)}
    assert len(known) == 3
    for name in ("alice", "bob", "carol"):
        domain.enable(name, enabled=False)
    try:
        assert (await house.door.directory_watch.look(CORP)).changed
        assert {one.state async for one in everybody(house.store)} == {"suspended"}
    finally:
        for name in ("alice", "bob", "carol"):
            domain.enable(name, enabled=True)


async def test_nobody_has_left_a_directory_that_is_away_or_answers_for_nobody(house: House, domain: Domain) -> None:
    alice = await house.sign_in("alice@corp.test")
    for other in ({"base": "OU=Nowhere,DC=corp,DC=test"}, {"secret": "not this"}):
        blind = House(domain, **other)
        watch = DirectoryWatch([blind.directory], house.store, Brake(house.store, house.store), house.clock)
        looked = await watch.look(CORP)
        assert (looked.changed, looked.troubles[0].partition(":")[0]) == (False, "nobody knows who has left corp.test")
    assert await house.door.sessions.principal(alice.secret) == alice.principal


async def test_a_directory_that_shows_nobody_any_more_ends_nobodys_work(house: House, domain: Domain) -> None:
    await house.bind(**{f"{domain.sid('alice').rpartition('-')[0]}-513": Role.VIEWER})
    guests = [f"guest{number}" for number in range(FEW - 3)]
    for name in guests:
        domain.add(name)
    try:
        here = [await house.sign_in(f"{name}@corp.test") for name in ("alice", "bob", "carol", "dave", *guests)]
        blind = House(domain, base="OU=Groups,DC=corp,DC=test")
        brake = Brake(house.store, house.store)
        looked = await DirectoryWatch([blind.directory], house.store, brake, house.clock).look(CORP)
        [said] = looked.troubles
        assert said.startswith(f"by what {CORP} answers now, 6 of 6 people would lose all access at once: alice@corp")
        assert not looked.changed
        for one in here:
            assert (await house.door.sessions.principal(one.secret)).id == one.principal.id
        assert (await house.door.directory_watch.look(CORP)) == Looked(changed=False, troubles=())
    finally:
        for name in guests:
            domain.delete(name)


async def test_accounts_end_by_the_clock_of_the_domain(house: House, domain: Domain) -> None:
    await house.sign_in("bob@corp.test")
    house.clock.jump += timedelta(days=366)
    try:
        domain.set("bob", accountExpires=ticks(utc_now() + timedelta(days=30)))
        assert not (await house.door.directory_watch.look(CORP)).changed
        domain.set("bob", accountExpires=ticks(utc_now() - timedelta(days=1)))
        assert (await house.door.directory_watch.look(CORP)).changed
    finally:
        domain.set("bob", accountExpires="0")


async def test_somebody_whose_groups_cannot_be_read_stays_is_named_and_keeps_nobody_else_in(
    house: House, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = await house.sign_in("alice@corp.test"), await house.sign_in("bob@corp.test")
    without_attribute(monkeypatch, "tokenGroups", domain.dn("bob"))
    domain.enable("alice", enabled=False)
    try:
        looked = await house.door.directory_watch.look(CORP)
    finally:
        domain.enable("alice", enabled=True)
    assert looked.changed
    [said] = looked.troubles
    assert said.startswith("nobody knows whether bob@corp.test has left corp.test: ")
    assert said.endswith(f"svc-headrace@corp.test may not read the groups (tokenGroups) of {domain.dn('bob')}")
    assert (await house.door.sessions.principal(bob.secret)).id == bob.principal.id
    with pytest.raises(AuthError):
        await house.door.sessions.principal(alice.secret)
    with pytest.raises(AuthError) as away:
        await house.door.prove(bob.principal, PASSWORD)
    assert away.value.code == "directory_away"


def without_attribute(monkeypatch: pytest.MonkeyPatch, attribute: str, dn: str) -> None:
    """Leave an attribute of one entry out of what the domain answers, as where the account may not read it."""
    search = LdapDirectory.search

    def without(self: LdapDirectory, *asked: Any, of: str | None = None) -> list[tuple[str, Entry]]:  # noqa: ANN401
        found = search(self, *asked, of=of)
        return [
            (name, {key: value for key, value in entry.items() if (key, of) != (attribute, dn)})
            for name, entry in found
        ]

    monkeypatch.setattr(LdapDirectory, "search", without)


async def test_people_are_looked_up_in_parts_and_one_part_without_an_answer_takes_none_from_the_others(
    house: House, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("alice", "bob", "carol")
    await house.bind(**{domain.sid("xfer-users"): Role.REQUESTER, domain.sid("xfer-admins"): Role.APPROVER})
    for name in names:
        await house.sign_in(f"{name}@corp.test")
    monkeypatch.setattr(directory_watch, "BATCH", 1)
    look_up, missed = house.directory.look_up, domain.subject("bob")

    async def asked(subjects: Collection[str]) -> LookedUp:
        if missed in subjects:
            raise DirectoryAway(missed)
        return await look_up(subjects)

    monkeypatch.setattr(house.directory, "look_up", asked)
    for name in names:
        domain.enable(name, enabled=False)
    try:
        looked = await house.door.directory_watch.look(CORP)
    finally:
        for name in names:
            domain.enable(name, enabled=True)
    assert looked == Looked(changed=True, troubles=(f"nobody knows who has left corp.test: {missed}",))
    assert {one.name async for one in everybody(house.store) if one.state == "active"} == {"bob@corp.test"}


async def test_a_look_takes_nothing_from_who_signs_in_while_it_goes_on(
    house: House, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.sign_in("bob@corp.test")
    house.clock.shift += timedelta(seconds=1)
    look_up, came = house.directory.look_up, list[SignedIn]()

    async def answered_late(subjects: Collection[str]) -> LookedUp:
        found = await look_up(subjects)
        domain.enable("bob", enabled=True)
        came.append(await house.sign_in("bob@corp.test"))
        return found

    monkeypatch.setattr(house.directory, "look_up", answered_late)
    domain.enable("bob", enabled=False)
    assert not (await house.door.directory_watch.look(CORP)).changed
    assert (await house.door.sessions.principal(came[0].secret)).id == came[0].principal.id


async def test_a_wrong_password_of_the_services_own_account_is_tried_once_in_a_while(
    house: House, domain: Domain
) -> None:
    await house.sign_in("bob@corp.test")
    before = domain.number("svc-headrace", "badPwdCount")
    blind = House(domain, secret="not this")  # noqa: S106 - wrong on purpose
    for _ in range(LOCK_AFTER + 1):
        error = await blind.refusal("alice@corp.test")
        assert "refuses svc-headrace@corp.test: wrong password; the one in `secret_file` is wrong" in error.reason
    assert domain.number("svc-headrace", "badPwdCount") == before + 1
    await house.sign_in("bob@corp.test")


async def test_an_identity_that_no_account_can_have_is_that_of_nobody(house: House) -> None:
    bob = await house.sign_in("bob@corp.test")
    await house.store.link(bob.principal.id, CORP, "bob", house.clock())
    assert (await house.door.directory_watch.look(CORP)).changed
    with pytest.raises(AuthError):
        await house.door.sessions.principal(bob.secret)


async def test_a_look_for_leavers_that_could_not_ask_a_directory_fails_so_that_health_tells_it(strict: Site) -> None:
    people = strict.use_cases.people
    await signed_in(strict, "alice@corp.test")
    await people.look_for_leavers(CORP)
    for directory in people._auth.directory_watch._directories.values():  # noqa: SLF001 - as if its servers had gone
        directory._servers = ("ldaps://127.0.0.1:1",)  # type: ignore[attr-defined] # noqa: SLF001
    with pytest.raises(DirectoryAway, match=r"nobody knows who has left corp\.test"):
        await people.look_for_leavers(CORP)


async def test_who_has_left_while_the_store_is_full_is_told_as_known_and_not_suspended(
    strict: Site, domain: Domain
) -> None:
    people = strict.use_cases.people
    alice = await signed_in(strict, "alice@corp.test")
    path = strict.settings.data / "headrace.sqlite"
    domain.enable("alice", enabled=False)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute(
                "CREATE TRIGGER full BEFORE UPDATE ON identities "
                "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            )
            with pytest.raises(ServiceError) as told:
                await people.look_for_leavers(CORP)
            assert told.value.code == "store_full"
            assert told.value.detail.startswith(f"who has left {CORP} may be known and could not be suspended")
            other.execute("DROP TRIGGER full")
        assert (await people.of_session(alice.secret)).id == alice.principal.id
        await people.look_for_leavers(CORP)
        with pytest.raises(AuthError):
            await people.of_session(alice.secret)
    finally:
        domain.enable("alice", enabled=True)


async def test_who_has_left_is_looked_for_twice_a_minute_and_however_long_that_takes(
    tmp_path: Path, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    periods: dict[str, float] = {}
    limits: dict[str, float | None] = {}
    every = LocalJobs.every

    def told(
        self: LocalJobs,
        name: str,
        period_s: float,
        run: Callable[[], Awaitable[None]],
        *,
        limit_s: float | None = 120,
    ) -> None:
        periods[name] = period_s
        limits[name] = limit_s
        every(self, name, period_s, run, limit_s=limit_s)

    monkeypatch.setattr(LocalJobs, "every", told)
    wanted = replace(settings(tmp_path, domain), directory_poll_s=17)
    async with started_site(tmp_path, wanted):
        assert periods["look who has left ad:corp.test"] == 17
        assert limits["look who has left ad:corp.test"] is None
    assert Settings().directory_poll_s * 2 <= 60


def checked(domain: Domain, name: str = "", *servers: str, **other: str | int) -> list[tuple[bool, str]]:
    config = replace(config_of(*(servers or (domain.url,)), ca=str(domain.ca), attempts=3), **other)  # type: ignore[arg-type] # by name
    return [(one.good, one.said) for one in check_directory(config, utc_now, TypedName.read(name))]


async def test_a_configuration_that_works_is_shown_with_who_somebody_is_and_in_which_groups(domain: Domain) -> None:
    domain.set_rule(lockoutThreshold=10)
    try:
        found = checked(domain, "alice@site.test")
    finally:
        domain.set_rule(lockoutThreshold=LOCK_AFTER)
    assert all(good for good, _ in found), found
    said = [text for _, text in found]
    assert said[0] == f"{domain.url}: signed in as svc-headrace@corp.test over TLSv1.3"
    assert "`alice` is alice@corp.test" in said[3]
    assert {f"group {domain.sid(name)}  {name}" for name in ("xfer-users", "everyone-xfer")} <= set(said)
    assert any(text.endswith("-513  Domain Users") for text in said)


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("", {"secret": "not this"}, "the password in `secret_file` is wrong"),
        ("", {}, f"the domain locks accounts after {LOCK_AFTER} wrong passwords, and `attempts` is 3"),
        ("", {}, "`attempts` can't be below 3, so only raising the domain's limit above that helps"),
        ("nobody@corp.test", {}, "`nobody`: no account of this name below DC=corp,DC=test"),
        ("alice@corp.test", {"base": "OU=Nowhere,DC=corp,DC=test"}, "the account can read no entry at `base`"),
    ],
)
async def test_a_configuration_that_does_not_work_is_said_in_words(
    domain: Domain, name: str, other: dict[str, str], said: str
) -> None:
    assert [text for good, text in checked(domain, name, **other) if not good and said in text]


async def test_a_limit_of_the_domain_that_leaves_room_says_below_what_attempts_helps(domain: Domain) -> None:
    domain.set_rule(lockoutThreshold=4)
    try:
        bad = [text for good, text in checked(domain, attempts=9) if not good]
    finally:
        domain.set_rule(lockoutThreshold=LOCK_AFTER)
    assert [text.endswith("set it below 4, or raise the domain's limit") for text in bad] == [True]


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("ldaps://127.0.0.1:1", "nothing listens there"),
        ("ldaps://no-such-host.invalid", "nobody knows a host of this name"),
    ],
)
async def test_a_server_that_is_not_there_is_said_in_words(domain: Domain, server: str, said: str) -> None:
    found = checked(domain, "", server, domain.url)
    assert (found[0][0], found[1][0], said in found[0][1]) == (False, True, True), found


async def test_a_server_that_may_not_be_trusted_is_said_in_words(domain: Domain, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(Authority.make().pem)
    assert "its certificate is not by the authority in `ca`" in checked(domain, ca=str(other))[0][1]
    with open_proxy() as proxy:
        proxy.pass_to(f"{domain.address}:636")
        found = checked(domain, "", proxy.url.replace("http", "ldaps"), domain.url)
    assert "its certificate is for another host name" in found[0][1]
    assert [good for good, _ in found][:2] == [False, True]


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_ca_that_cannot_be_used_is_named_and_the_other_domains_are_tried(
    tmp_path: Path, domain: Domain, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    file = domain.declared(tmp_path)
    working = file.read_text()
    broken = working.replace(str(domain.ca), str(tmp_path / "other.pem")).replace("corp.test", "broken.test")
    file.write_text(broken.replace('"CORP"', '"BROKEN"') + working)
    if text is not None:
        (tmp_path / "other.pem").write_text(text)
    monkeypatch.setenv("HEADRACE_DIRECTORIES", str(file))
    done = CliRunner().invoke(auth, ["check"])
    assert f"ad:broken.test\n  BAD  `ca`: `{tmp_path}/other.pem` can't be used" in done.output, done.output
    assert f"ad:corp.test\n  ok   {domain.url}: signed in" in done.output
    with pytest.raises(SettingError, match=rf"`ca` of `broken\.test`, `{tmp_path}/other\.pem`, can't be used"):
        _directories(Settings(directories=str(file)))


def test_a_lockout_threshold_that_cannot_be_read_is_not_taken_for_none(
    domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_attribute(monkeypatch, "lockoutThreshold", domain.base)
    [said] = [text for good, text in checked(domain) if not good]
    assert said.startswith("svc-headrace@corp.test can't read after how many wrong passwords the domain locks accounts")


async def test_a_wrong_clock_is_said(domain: Domain) -> None:
    late = lambda: utc_now() + timedelta(minutes=7)  # noqa: E731 - a clock
    config = config_of(domain.url, ca=str(domain.ca))
    assert [one.said for one in check_directory(config, late) if not one.good and "s apart" in one.said]


def test_the_command_checks_what_the_service_would_use(
    tmp_path: Path, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CliRunner()
    assert "no directories" in run.invoke(auth, ["check"]).output
    monkeypatch.setenv("HEADRACE_DIRECTORIES", settings(tmp_path, domain).directories)
    done = run.invoke(auth, ["check", "CORP\\alice"])
    assert (done.exit_code, f"ad:corp.test\n  ok   {domain.url}: signed in" in done.output) == (1, True), done.output
    assert "BAD  the domain locks accounts after" in done.output
    assert json.loads(run.invoke(auth, ["check", "--json"]).output)[CORP][0]["good"]
    assert "`alice` is not a name in a domain" in run.invoke(auth, ["check", "alice"]).output
    monkeypatch.setenv("HEADRACE_DIRECTORIES", str(tmp_path / "none.toml"))
    assert run.invoke(auth, ["check"]).exit_code == 2
