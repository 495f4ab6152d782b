"""The audit chain on another host: a real syslog server that is there, away, and not to be trusted."""

import asyncio
import json
import os
import select
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from tests.servers.site import Site, started_site
from tests.servers.syslog import Syslog, receiving
from tests.service.refusals import refused
from tests.service.test_metrics import asked, figures
from tests.service.test_transfers import until
from typer.testing import CliRunner

from headrace.api.audit import syslog as syslog_module
from headrace.api.audit.command import audit
from headrace.api.audit.elsewhere import CONFIRM_S, Elsewhere
from headrace.api.audit.syslog import Message, Receiver, SyslogLine
from headrace.api.errors import ServiceError
from headrace.api.settings import SettingError, Settings
from headrace.api.signing.signer import Signer
from headrace.api.store import Tx
from headrace.api.store.tables_work import TransferRow
from headrace.api.store.words import remedy, trouble_in_words
from headrace.api.store_trouble import Trouble
from headrace.client import models as m
from headrace.guardrails import Document, ReleasedPlan

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("syslog")]
LIMIT_S = 30
PARTS = (("cert", "pem"), ("key", "key"))


@pytest.fixture
def syslog(tmp_path: Path) -> Iterator[Syslog]:
    with receiving(tmp_path / "syslog") as running:
        yield running


@asynccontextmanager
async def site_that_sends(folder: Path, syslog: Syslog, **changed: Any) -> AsyncIterator[Site]:  # noqa: ANN401 - as the settings
    wanted = Settings(audit_syslog=f"localhost:{syslog.port}", audit_syslog_ca=str(syslog.ca))
    (folder / "site").mkdir()
    async with started_site(folder / "site", replace(wanted, **changed)) as site:
        (site.lab / "set").mkdir()
        (site.lab / "set" / "a.txt").write_text("a")
        yield site


def elsewhere_of(site: Site) -> Elsewhere:
    found = site.service.whole.core.audit.elsewhere
    assert found is not None
    return found


async def sent(site: Site, syslog: Syslog) -> list[tuple[str, str]]:
    """Send what is new until it counts, and return all that has been received, once the newest head has."""
    wanted = (await newest(site)).sequence
    async with asyncio.timeout(LIMIT_S):
        while max(heads(syslog), default=0) < wanted:
            await elsewhere_of(site).send()
            await asyncio.to_thread(syslog.pause)
    site.clock.shift += timedelta(seconds=CONFIRM_S)
    await elsewhere_of(site).send()
    assert elsewhere_of(site).away is None, elsewhere_of(site).away
    return syslog.received


def heads(syslog: Syslog) -> list[int]:
    """Of how many events each signed head is that has been received."""
    texts = (text for kind, text in syslog.received if kind == "audit-head")
    return [int(json.loads(json.loads(text)["body"])["sequence"]) for text in texts]


async def newest(site: Site) -> m.AuditEvent:
    return (await site.ada.port.audit(order="newest", limit=1)).items[0]


def forged(message: dict[str, Any]) -> str:
    """A line with another event under this one's number, and that event's own hash."""
    event = json.dumps({**message["event"], "kind": "forged"})
    return f'forged {{"event":{event},"hash":"{sha256(event.encode()).hexdigest()}"}}\n'


def verdict(syslog: Syslog, key: str, changed: str | None = None) -> m.AuditVerdict:
    """What `headrace audit verify-received` says."""
    file = syslog.folder / "received"
    if changed is not None:
        file = syslog.folder / "changed"
        file.write_text(changed, encoding="utf-8")
    found = CliRunner().invoke(audit, ["verify-received", str(file), "--key", key, "--json"])
    assert found.exit_code in {0, 1}, found.output
    return m.AuditVerdict.model_validate_json(found.stdout)


async def test_every_event_and_a_signed_head_are_on_the_other_host_and_can_be_checked_there(
    tmp_path: Path, syslog: Syslog
) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        await site.start_both()
        ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))
        assert ended.state is m.TransferState.COMPLETE
        received = await sent(site, syslog)
        stored = (await site.ada.port.audit(limit=1000)).items
        arrived = [json.loads(text) for kind, text in received if kind != "audit-head"]
        assert [one["hash"] for one in arrived][: len(stored)] == [event.hash for event in stored][: len(arrived)]
        assert {kind for kind, _ in received} >= {"receipt_made", "ticketed", "audit-head"}
        key = (await site.ada.port.health()).key
        whole = verdict(syslog, key)
        assert (whole.intact, whole.events) == (True, len(arrived))
        lines = (syslog.folder / "received").read_text(encoding="utf-8").splitlines(keepends=True)
        of_events = [at for at, line in enumerate(lines) if '{"event":' in line]
        missing, last = of_events[3], of_events[-1]
        rewritten = [*lines[:last], forged(arrived[-1]), *lines[last + 1 :]]
        for changed, broken_at in (
            ([*lines[:missing], *lines[missing + 1 :]], 4),
            ([line.replace('"kind":"ticketed"', '"kind":"tampered"', 1) for line in lines], None),
            ([line for at, line in enumerate(lines) if at != last], whole.events),
            ([lines[at] for at in of_events], 1),
            ([*lines, forged(arrived[3])], 4),
            (rewritten, whole.events),
            ([line for line in lines if "audit-head" in line], whole.events),
            ([forged(arrived[0]), *lines[of_events[2] :]], 2),
            ([], 1),
        ):
            broken = verdict(syslog, key, "".join(changed))
            assert not broken.intact, broken
            assert broken_at in {None, broken.broken_at}, broken
        assert verdict(syslog, key, "".join(lines + lines)).intact, "what is sent twice is the same twice"
        late = [*lines[missing:], *lines]
        assert verdict(syslog, key, "".join(late)).intact, "and may come late"
        assert verdict(syslog, key, "".join(lines[of_events[2] :])).checked_before == 2
        made_up = forged({"event": {**arrived[-1]["event"], "sequence": str(whole.events + 1)}})
        more = verdict(syslog, key, "".join([*lines, made_up]))
        assert (more.intact, more.events) == (True, whole.events), "nobody vouches for what came after the last head"
        assert "1 events came after it" in more.detail
        assert not verdict(syslog, f"ed25519:{'A' * 43}", "".join(lines)).intact


async def test_what_happens_while_the_other_host_is_away_is_sent_when_it_is_back(
    tmp_path: Path, syslog: Syslog
) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        await sent(site, syslog)
        syslog.kill()
        await site.person("bob", "viewer")
        await elsewhere_of(site).send()
        [cause] = [one for one in (await site.ada.port.health()).causes if one.code == "audit_unsent"]
        assert "localhost" in cause.sentence
        await site.restart()
        await site.person("eve", "viewer")
        syslog.start()
        await elsewhere_of(site).send()
        assert elsewhere_of(site).away is not None, "until the server has kept the connection for a while"
        waiting = elsewhere_of(site).unsent
        assert waiting > 0
        assert (await figures(site))["headrace_audit_unsent"] == waiting
        await sent(site, syslog)
        assert (await figures(site))["headrace_audit_unsent"] == 0
        assert (await site.ada.port.health()).causes == []
        assert verdict(syslog, (await site.ada.port.health()).key).intact


async def test_a_server_that_is_back_is_not_said_to_be_away_because_something_happens_all_the_time(
    tmp_path: Path, syslog: Syslog
) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        syslog.kill()
        await elsewhere_of(site).send()
        syslog.start()
        await elsewhere_of(site).send()
        await site.person("bob", "viewer")
        site.clock.shift += timedelta(seconds=CONFIRM_S)
        await elsewhere_of(site).send()
        assert elsewhere_of(site).unsent > 0, "what has just happened is on its way"
        assert elsewhere_of(site).away is None
        assert (await site.ada.port.health()).causes == []


async def test_nothing_starts_while_too_much_waits_to_be_sent_and_then_it_does(tmp_path: Path, syslog: Syslog) -> None:
    async with site_that_sends(tmp_path, syslog, audit_most_unsent=40, transfer_concurrency=1) as site:
        await site.start_both()
        # It takes the only place for longer than a test may last. Holes would be held back by no rate.
        (site.lab / "set" / "large").write_bytes(os.urandom(16 << 20))
        await sent(site, syslog)
        slow = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/slow", rate_limit_bps=1_000_000))
        waiting = await site.ada.submit(await site.ada.plan("lab:/set/a.txt", "archive:/waiting"))
        plan = await site.ada.plan("lab:/set", "archive:/other")
        await sent(site, syslog)
        syslog.kill()
        for number in range(41):
            await site.ada.port.update_endpoint("lab", m.EndpointUpdate(aliases=[f"name{number}"]))
        with refused("audit_unsent"):
            await site.ada.submit(plan)
        await elsewhere_of(site).send()
        told = (await asked(site, "/ready")).json()
        assert (told["ready"], told["reasons"]) == (False, ["audit_unsent"])
        assert "no more than 40 (HEADRACE_AUDIT_MOST_UNSENT) may; nothing starts" in told["said"][0]
        sentences = [one.sentence for one in (await site.ada.port.health()).causes if one.code == "audit_unsent"]
        assert len(sentences) == 2, "why they can't be sent, and that nothing starts"
        assert "nothing starts until they are sent" in sentences[1]
        await site.ada.port.control(slow.id, m.ControlRequest(action="cancel"))
        async for event in site.ada.port.watch(waiting.id):
            if event.transfer is not None and "audit events wait" in event.transfer.state_reason:
                break
        syslog.start()
        await sent(site, syslog)
        assert (await asked(site, "/ready")).json()["ready"]
        site.use_cases.scheduler.wake(waiting.id)
        await until(site, waiting, "complete")


async def test_what_has_started_once_goes_on_while_too_much_waits_to_be_sent(
    tmp_path: Path, syslog: Syslog, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed, sign = asyncio.Queue[str](), Signer.ticket

    async def signs(self: Signer, tx: Tx, row: TransferRow, attempt: int, fence: int) -> tuple[Document, ReleasedPlan]:
        try:
            found = await sign(self, tx, row, attempt, fence)
        except ServiceError as error:
            signed.put_nowait(error.code)
            raise
        signed.put_nowait(f"attempt {attempt}")
        return found

    async with site_that_sends(tmp_path, syslog, audit_most_unsent=40) as site:
        await site.start_both()
        (site.lab / "set" / "large").write_bytes(os.urandom(16 << 20))
        slow = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/slow", rate_limit_bps=1_000_000))
        plan = await site.ada.plan("lab:/set", "archive:/other")
        await until(site, slow, "running")
        await sent(site, syslog)
        syslog.kill()
        for number in range(41):
            await site.ada.port.update_endpoint("lab", m.EndpointUpdate(aliases=[f"name{number}"]))
        with refused("audit_unsent"):
            await site.ada.submit(plan)
        monkeypatch.setattr(Signer, "ticket", signs)
        # Another rate is a ticket for the same attempt.
        await site.ada.port.control(slow.id, m.ControlRequest(action="set_rate", rate_bps=500_000))
        assert await asyncio.wait_for(signed.get(), LIMIT_S) == "attempt 1"
        await site.ada.port.control(slow.id, m.ControlRequest(action="pause"))
        await until(site, slow, "paused")
        while not signed.empty():
            assert signed.get_nowait() == "attempt 1"
        await site.ada.port.control(slow.id, m.ControlRequest(action="resume"))
        assert await asyncio.wait_for(signed.get(), LIMIT_S) == "attempt 2"
        await until(site, slow, "running")
        with refused("audit_unsent"):
            await site.ada.submit(plan)


async def test_nobody_else_gets_the_chain(tmp_path: Path, syslog: Syslog) -> None:
    stranger = str(syslog.folder / "nobody.pem")
    async with site_that_sends(tmp_path, syslog, audit_syslog_ca=stranger) as site:
        await elsewhere_of(site).send()
        away = elsewhere_of(site).away
        assert away is not None
        assert "certificate verify failed" in away.said
        assert syslog.received == []


@pytest.mark.parametrize("shown", ["", "nobody", "service"])
async def test_what_a_server_does_not_take_from_this_service_does_not_count_as_sent(tmp_path: Path, shown: str) -> None:
    with receiving(tmp_path / "strict", client="service") as strict:
        ours = {f"audit_syslog_{part}": str(strict.folder / f"{shown}.{end}") for part, end in PARTS} if shown else {}
        async with site_that_sends(tmp_path, strict, **ours) as site:
            if shown == "service":
                assert await sent(site, strict)
                return
            for _ in range(3):
                await elsewhere_of(site).send()
                await asyncio.to_thread(strict.pause)
                site.clock.shift += timedelta(seconds=CONFIRM_S)
            await elsewhere_of(site).send()
            away = elsewhere_of(site).away
            assert away is not None
            assert (await newest(site)).sequence == elsewhere_of(site).unsent, "nothing has arrived"
        assert strict.received == []


async def test_an_event_counts_only_after_the_server_has_kept_the_connection_for_a_while(
    tmp_path: Path, syslog: Syslog
) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        for waited, arrived in ((0, False), (CONFIRM_S - 1, False), (1, True)):
            site.clock.shift += timedelta(seconds=waited)
            for _ in range(2):
                await elsewhere_of(site).send()
            assert (elsewhere_of(site).unsent == 0) == arrived


async def test_what_arrived_while_the_store_took_nothing_is_noted_later_and_not_sent_twice(
    tmp_path: Path, syslog: Syslog
) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        await sent(site, syslog)
        await site.person("bob", "viewer")
        await elsewhere_of(site).send()
        site.clock.shift += timedelta(seconds=CONFIRM_S)
        store = site.service.whole.core.database
        refuse = "CREATE TRIGGER full BEFORE UPDATE ON audit_sent BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        async with store.write() as tx:
            await tx.execute(text(refuse))
        with pytest.raises(IntegrityError):
            await elsewhere_of(site).send()
        assert elsewhere_of(site).away is not None
        async with store.write() as tx:
            await tx.execute(text("DROP TRIGGER full"))
        for _ in range(2):
            await elsewhere_of(site).send()
        assert (elsewhere_of(site).away, elsewhere_of(site).unsent) == (None, 0)
        numbers = [json.loads(one)["event"]["sequence"] for kind, one in syslog.received if kind != "audit-head"]
        assert len(numbers) == len(set(numbers))


async def test_trouble_of_the_services_own_store_is_not_called_trouble_of_the_syslog_server(
    tmp_path: Path, syslog: Syslog
) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        await elsewhere_of(site).send()
        site.clock.shift += timedelta(seconds=CONFIRM_S)
        store = site.service.whole.core.database
        async with store.write() as tx:
            refuse = "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
            await tx.execute(text(f"CREATE TRIGGER full BEFORE INSERT ON audit_sent {refuse}"))
        with pytest.raises(IntegrityError):
            await elsewhere_of(site).send()
        [cause] = [one for one in (await site.ada.port.health()).causes if one.code == "audit_unsent"]
        assert trouble_in_words(store.url, Trouble.FULL) in cause.sentence
        assert remedy(store.url, Trouble.FULL) in cause.what_to_do
        assert "syslog server" not in cause.what_to_do


async def test_what_the_other_kernel_has_not_taken_is_not_sent(syslog: Syslog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syslog_module, "PATIENCE_S", 1)
    listener, context = listening(syslog, receive_buffer=4096)
    with listener:

        def shake_hands() -> ssl.SSLSocket:
            return context.wrap_socket(listener.accept()[0], server_side=True)

        shaking = asyncio.create_task(asyncio.to_thread(shake_hands))
        line = SyslogLine(Receiver("localhost", listener.getsockname()[1], str(syslog.ca)))
        messages = [Message("2026-11-23T06:00:00.000Z", "test", b"x" * 65_536)]
        with pytest.raises(TimeoutError):
            await asyncio.to_thread(line.send, messages)
        (await shaking).close()


async def test_what_a_server_takes_and_does_not_read_is_told_does_not_count_and_is_sent_again(
    tmp_path: Path, syslog: Syslog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(syslog_module, "PATIENCE_S", 1)
    listener, context = listening(syslog)
    later = replace(syslog, port=listener.getsockname()[1], process=None)
    hanging = asyncio.create_task(asyncio.to_thread(take_and_read_nothing, listener, context))
    try:
        async with site_that_sends(tmp_path, later) as site:
            async with asyncio.timeout(LIMIT_S):
                while "does not read it" not in getattr(elsewhere_of(site).away, "said", ""):
                    await elsewhere_of(site).send()
                    assert elsewhere_of(site).unsent > 0, "what nobody has read counts"
                    site.clock.shift += timedelta(seconds=CONFIRM_S)
            waiting = (await newest(site)).sequence
            for _ in range(2):  # it takes the next connection, too
                await elsewhere_of(site).send()
            [cause] = [one for one in (await site.ada.port.health()).causes if one.code == "audit_unsent"]
            assert f"{waiting:,} wait" in cause.sentence
            assert (await figures(site))["headrace_audit_unsent"] == waiting
            assert f"audit events can't be sent to localhost:{later.port}" in caplog.text
            monkeypatch.undo()
            hang_up(listener)
            for connection in await hanging:
                connection.close()
            syslog.kill()
            later.start()
            await sent(site, later)
            assert (await site.ada.port.health()).causes == []
            assert verdict(later, (await site.ada.port.health()).key).intact
    finally:
        hang_up(listener)
        later.kill()


def hang_up(listener: socket.socket) -> None:
    """End a listener for whoever waits there, too: they would not notice that it is closed, and wait for ever."""
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def take_and_read_nothing(listener: socket.socket, context: ssl.SSLContext) -> list[ssl.SSLSocket]:
    """Shake hands with everybody until the listener ends; return what was connected."""
    taken = []
    while True:
        try:
            taken.append(context.wrap_socket(listener.accept()[0], server_side=True))
        except ssl.SSLError:
            continue
        except OSError:
            return taken


def read_and_answer(connection: ssl.SSLSocket) -> None:
    while connection.recv(4096):
        pass
    connection.unwrap()


def read_and_go(connection: ssl.SSLSocket) -> None:
    while connection.recv(4096):
        pass


def go_without_reading(connection: ssl.SSLSocket) -> None:
    select.select([connection], [], [], LIMIT_S)


@pytest.mark.parametrize(
    ("does", "ends"),
    [
        (read_and_answer, nullcontext()),
        (read_and_go, nullcontext()),
        (go_without_reading, pytest.raises(ConnectionError)),
    ],
)
async def test_a_connection_ends_well_when_the_server_has_read_all_of_it(
    syslog: Syslog, does: Callable[[ssl.SSLSocket], None], ends: AbstractContextManager[object]
) -> None:
    listener, context = listening(syslog)
    with listener:

        def serve() -> None:
            with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
                does(connection)

        serving = asyncio.create_task(asyncio.to_thread(serve))
        line = SyslogLine(Receiver("localhost", listener.getsockname()[1], str(syslog.ca)))
        with ends:
            await asyncio.to_thread(line.send, [Message("2026-11-23T06:00:00.000Z", "test", b"said")])
            await asyncio.to_thread(line.finish)
        await serving
    assert not line.is_open()


def listening(syslog: Syslog, receive_buffer: int = 65_536) -> tuple[socket.socket, ssl.SSLContext]:
    """Somewhere to connect to with the certificate of the server, and with nothing behind it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(syslog.folder / "server.pem", syslog.folder / "server.key")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener, context


async def test_a_message_is_framed_with_its_length_and_is_of_the_facility_of_audits(syslog: Syslog) -> None:
    listener, context = listening(syslog)
    with listener:

        def take() -> bytes:
            with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
                return connection.recv(4096)

        taking = asyncio.create_task(asyncio.to_thread(take))
        line = SyslogLine(Receiver("localhost", listener.getsockname()[1], str(syslog.ca)))
        await asyncio.to_thread(line.send, [Message("2026-11-23T06:00:00.000Z", "test", b"said")])
        length, _, frame = (await taking).partition(b" ")
        line.close()
    assert int(length) == len(frame)
    # RFC 5424: facility 13 is "log audit", severity 6 informational.
    assert frame.startswith(b"<110>1 2026-11-23T06:00:00.000Z ")
    assert frame.endswith(b" headrace - test - said")


async def test_certificates_are_read_anew_for_each_connection(syslog: Syslog) -> None:
    ours = syslog.folder / "ours.pem"
    ours.write_bytes(syslog.ca.read_bytes())
    line = SyslogLine(Receiver("localhost", syslog.port, str(ours)))
    message = Message("2026-11-23T06:00:00.000Z", "test", b"said")
    await asyncio.to_thread(line.send, [message])
    line.close()
    ours.write_bytes((syslog.folder / "nobody.pem").read_bytes())
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.to_thread(line.send, [message])
    ours.write_bytes(syslog.ca.read_bytes())
    await asyncio.to_thread(line.send, [message])
    line.close()


async def test_a_position_beyond_the_chain_is_reported_and_lets_nothing_start(tmp_path: Path, syslog: Syslog) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        await site.start_both()
        plan = await site.ada.plan("lab:/set", "archive:/set")
        await sent(site, syslog)
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(text("UPDATE audit_sent SET sequence = 1000000000"))
        await elsewhere_of(site).send()
        [cause] = [one for one in (await site.ada.port.health()).causes if one.code == "audit_unsent"]
        assert "was altered" in cause.sentence
        with refused("audit_unsent"):
            await site.ada.submit(plan)


async def test_a_head_comes_every_minute_though_nothing_happens(tmp_path: Path, syslog: Syslog) -> None:
    async with site_that_sends(tmp_path, syslog) as site:
        await sent(site, syslog)
        before = len(heads(syslog))
        site.clock.shift += timedelta(minutes=1)
        await elsewhere_of(site).send()
        async with asyncio.timeout(LIMIT_S):
            while len(heads(syslog)) == before:
                await asyncio.to_thread(syslog.pause)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"audit_syslog": "there"}, "HEADRACE_AUDIT_SYSLOG"),
        ({"audit_syslog_ca": "/nowhere.pem"}, "_CA"),
        ({"audit_syslog": ""}, "HEADRACE_AUDIT_SYSLOG"),
        ({"audit_syslog_cert": "/some.pem"}, "_KEY"),
    ],
)
async def test_a_setting_that_can_not_be_used_is_named_at_the_start(
    tmp_path: Path, syslog: Syslog, changed: dict[str, Any], named: str
) -> None:
    with pytest.raises(SettingError, match=named):
        async with site_that_sends(tmp_path, syslog, **changed):
            pass
