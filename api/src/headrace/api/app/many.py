"""One of several processes that are one site on one PostgreSQL database.

One process leads: it is the whole service, as where there is one process only. The others pass on to it what comes in
at them, and one of them leads as soon as it does not any more (docs/decisions/0022-one-process-leads.md).
"""

import asyncio
import logging
import os
import signal
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp

from headrace.api.app.answering import SHUTDOWN_S, Listeners, Ready, bootstrap, standing_halts
from headrace.api.app.heap import keep_for_good
from headrace.api.app.leader_file import Leader, begin_to_lead, seen
from headrace.api.app.listening import Address, Server, answering_monitoring, bracketed, listening, metrics_url
from headrace.api.app.service import Service
from headrace.api.app.start_trouble import in_words, may_pass, of_former_leader
from headrace.api.app.web import create_app
from headrace.api.errors import AuditUnwritable, CannotStart, ServiceError, StoreIsNewer
from headrace.api.http.connections import ConnectionLimits, counted
from headrace.api.http.guard import Guard
from headrace.api.http.operation import create_operation_app, create_relay_operation_app
from headrace.api.http.relay import TAKEOVER_S, Peer, PeerDoor, Relay, Switch
from headrace.api.settings import SettingError
from headrace.api.store.address import store_url
from headrace.api.store.leader_lock import UNKNOWN, LeaderLock, trouble_of_asking
from headrace.api.store.words import remedy, trouble_in_words
from headrace.engine import EngineError
from headrace.guardrails import SealError

if TYPE_CHECKING:
    from headrace.api.store_trouble import Trouble

_log = logging.getLogger(__name__)

_LOOK_S: Final = 0.25
"""How often a process that does not lead asks whether it may."""
_HELD_S: Final = 1.0
"""How often a leader looks whether it still leads."""
_ANSWER_S: Final = 5.0
_UNSURE_S: Final = 20.0
"""A leader that has not reached the database for so long leads no more: a host that is cut off is given up by the
database after half a minute, and then another one leads."""
_START_S: Final = 20.0
"""How long a new leader tries to start: the one before it may still be about to end."""
_AGAIN_S: Final = 5.0
"""How long a process that can't start the service lets others lead, before it asks again whether it may."""
_REMIND_S: Final = 60.0
"""How often the log says again why nobody leads."""
_CLOSE_S: Final = 30.0


class OneOfMany:
    """A process of a site that has several."""

    def __init__(self, place: Listeners, *, as_json: bool, recover_admin: bool) -> None:
        """Answer at `place`."""
        settings = replace(place.settings, data=place.settings.data.resolve())
        self._place, self._settings = place, settings
        self._as_json, self._recover_admin = as_json, recover_admin
        self._peer_address = Address.parse(settings.peer_listen, "HEADRACE_PEER_LISTEN")
        if self._peer_address.any:
            message = (
                f"`HEADRACE_PEER_LISTEN` is `{settings.peer_listen}`: other processes are told to ask there, so give "
                "one address of this host"
            )
            raise SettingError(message)
        self._lock = LeaderLock(store_url(settings.database, settings.data))
        self._leader = seen(settings.data)
        self._relay = Relay(
            self._known_leader,
            place.public_url,
            place.origins.origins,
            settings.request_timeout_s,
            self._why_nobody_leads,
        )
        self._passing_on: ASGIApp = Guard(
            self._relay,
            origins=place.origins,
            check_sender=None,
            max_body_bytes=settings.max_body_bytes,
            receive_s=settings.receive_timeout_s,
            timeout_s=settings.request_timeout_s + TAKEOVER_S,
        )
        self._front = Switch(self._passing_on)
        self._of_relay = create_relay_operation_app(self._relay, self._obstacle)
        self._monitoring = Switch(self._of_relay)
        self._ending = asyncio.Event()
        self._announced = False
        self._unknown: Trouble | None = None
        """Set while the database can't be asked who leads."""
        self._said, self._said_at = "", 0.0
        """Why it could not start the service when it last might have led, and when that was said."""
        self._trying = ""
        """Why it can't start the service yet, while it tries and lets no other process."""
        self._follows = ""
        """Whom this process was last said to follow."""
        self._looked_at = 0.0
        self._server: uvicorn.Server
        self._serving: asyncio.Task[None]

    async def run(self) -> None:
        """Lead or pass on until SIGTERM or SIGINT, then close cleanly."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._ending.set)
        self._server = Server(self._place.config(self._front, lifespan="off"), lambda: None)
        async with answering_monitoring(self._monitoring, self._place.for_monitoring):
            self._serving = asyncio.create_task(self._server.serve(sockets=[self._place.listener]), name="front")
            try:
                while await self._may_lead():
                    await self._lead()
            finally:
                await self._stop_answering()
                await self._relay.close()
                await self._lock.close()

    async def _stop_answering(self) -> None:
        self._server.should_exit = True
        await self._serving

    # -- passing on --

    def _known_leader(self) -> Peer | None:
        seen = self._leader()
        if seen is None:
            return None
        leader = seen.leader
        name = f"process {leader.pid} on the host `{leader.on}`"
        pid = leader.pid if leader.on == os.uname().nodename else None
        return Peer(f"https://{bracketed(leader.host)}:{leader.port}", seen.trusted, leader.secret, name, pid)

    def _why_nobody_leads(self) -> str:
        """Say it to everybody, as far as this process knows."""
        if self._unknown is not None:
            return f", because its database can't be asked which process may ({self._unknown})"
        return ", because none can start the service" if self._said else ""

    def _obstacle(self) -> str:
        """Say it to those who run the site."""
        if self._unknown is not None:
            url = store_url(self._settings.database, self._settings.data)
            return f"{trouble_in_words(url, self._unknown, 'asked who leads')}; {remedy(url, self._unknown)}"
        said = self._said or self._trying
        return f"this process may lead the site, and can't start the service: {said}" if said else ""

    async def _may_lead(self) -> bool:
        """Wait until this process may lead; `False` when it ends before."""
        while not self._ending.is_set():
            try:
                async with asyncio.timeout(_ANSWER_S):
                    leads = await self._lock.lead()
                if self._unknown is not None:
                    _log.info("the database can be asked again who leads")
                self._unknown = None
                if leads:
                    return True
                if asyncio.get_running_loop().time() - self._said_at > 2 * _REMIND_S:
                    self._said = ""  # another one has led since
            except UNKNOWN as error:
                before, self._unknown = self._unknown, trouble_of_asking(error)
                if before != self._unknown:
                    # What a driver says may hold the address with its password.
                    _log.warning("%s", self._obstacle())
            await self._look_at_leader()
            if not self._announced and await self._relay.reaches_leader():
                if self._recover_admin:
                    _log.warning("another process leads, so --recover-admin makes no link: end the others first")
                self._announce(Ready(self._place.public_url, None, None, metrics_url(self._place.for_monitoring)))
                self._say_whom()
            await _first(self._ending.wait(), asyncio.sleep(_LOOK_S))
        return False

    async def _look_at_leader(self) -> None:
        """Log once a minute that another process leads and does not answer: it holds the lock as long as it lives.

        Nothing of it while something else is known to keep this one from leading: that is in the log already.
        """
        now = asyncio.get_running_loop().time()
        if self._announced and not self._obstacle() and now - self._looked_at >= _REMIND_S:
            self._looked_at = now
            if why := await self._relay.why_not_reached():
                _log.warning("%s", why)
            else:
                self._say_whom()

    def _say_whom(self) -> None:
        """Log who leads, when that is another one than was said."""
        peer = self._known_leader()
        if peer is not None and not peer.is_this and peer.name != self._follows:
            self._follows = peer.name
            _log.info("%s leads the site; this one passes requests on to it", peer.name)

    def _announce(self, ready: Ready) -> None:
        if not self._announced:
            self._announced = True
            ready.say(as_json=self._as_json)

    # -- leading --

    async def _lead(self) -> None:
        """Lead as long as this process may and can; when it can't, say why, and let others try."""
        self._follows = ""
        try:
            service = await self._started()
            if service is None:
                _log.info("another process was first, or the database is away")
                return
            await self._lead_with(service)
            self._said = ""
        except (StoreIsNewer, _NotClosed):
            raise  # a process of a later version is to lead; or nobody knows what this one still does
        except _STANDS_AGAINST as error:
            # At its first start somebody looks whether it starts at all.
            if not (self._announced or may_pass(error)):
                raise
            await self._lock.close()
            self._say_why(in_words(self._settings, error))
            await _first(self._ending.wait(), asyncio.sleep(_AGAIN_S))

    def _say_why(self, said: str) -> None:
        now = asyncio.get_running_loop().time()
        if said != self._said or now - self._said_at >= _REMIND_S:
            self._said, self._said_at = said, now
            _log.error(
                "this process may lead the site, and can't start the service: %s. Until it can, it passes requests on, "
                "lets other processes try, and tries again every %.0f s",
                said,
                _AGAIN_S,
            )

    async def _lead_with(self, service: Service) -> None:
        try:
            app = create_app(service.gate, replace(self._place.origins, proxied=True))
            trouble: Exception | None = None
            async with app.router.lifespan_context(app):
                try:
                    await self._answer_as_leader(app, service)
                except _STANDS_AGAINST as error:
                    trouble = error  # the lifespan would put it into a group, which nobody looks into
            if trouble is not None:
                raise trouble
        finally:
            self._front.app, self._monitoring.app = self._passing_on, self._of_relay
            await self._close(service)
            await self._lock.close()

    async def _answer_as_leader(self, app: ASGIApp, service: Service) -> None:
        """Until this process is to end or may lead no longer."""
        async with self._letting_others_in(app) as leader:
            link = await bootstrap(service, recover=self._recover_admin and not self._announced)
            halted = await standing_halts(service)
            keep_for_good()
            leader.write(self._settings.data)
            _log.info("process %d leads the site from now on", os.getpid())
            self._front.app = app
            self._monitoring.app = create_operation_app(service.whole.use_cases.metrics)
            hub = self._place.settings.hub_told(service.whole.core.hub.address)
            metrics = metrics_url(self._place.for_monitoring)
            recovers = self._recover_admin
            self._announce(Ready(self._place.public_url, hub, link, metrics, recovers=recovers, halted=halted))
            await _first(self._ending.wait(), self._lost())
            service.whole.core.broker.close()  # watchers would hold up the end
            self._front.app, self._monitoring.app = self._passing_on, self._of_relay
            if self._ending.is_set():
                await self._stop_answering()

    async def _started(self) -> Service | None:
        """Start the service, whose last leader may still be about to end; nothing when another process leads first."""
        limit = asyncio.get_running_loop().time() + _START_S
        try:
            while True:
                try:
                    return await Service.start(self._settings, public_url=self._place.public_url)
                except (CannotStart, EngineError, SQLAlchemyError, AuditUnwritable) as error:
                    over = asyncio.get_running_loop().time() >= limit or self._ending.is_set()
                    if over or isinstance(error, StoreIsNewer) or not of_former_leader(error):
                        raise
                    if not await self._still_leads():
                        return None
                    if self._trying != (said := in_words(self._settings, error)):
                        self._trying = said
                        _log.info("%s. It goes on trying", self._obstacle())
                    await asyncio.sleep(_LOOK_S)
        finally:
            self._trying = ""

    async def _still_leads(self) -> bool:
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self._lock.lead()
        except UNKNOWN:
            return False

    async def _close(self, service: Service) -> None:
        try:
            async with asyncio.timeout(_CLOSE_S):
                await service.close()
        except (SQLAlchemyError, EngineError, OSError) as error:
            # What still runs could act as a leader's work: only its end makes sure that it does not.
            why = f" within {_CLOSE_S:.0f} s (does the database hang?)" if isinstance(error, TimeoutError) else ""
            message = (
                f"this process no longer leads, and could not end its work{why}. It ends, so that nothing of it goes "
                "on; start it again, if nothing does that by itself (systemd does)"
            )
            raise _NotClosed(message) from error

    @asynccontextmanager
    async def _letting_others_in(self, app: ASGIApp) -> AsyncIterator[Leader]:
        """Answer what other processes pass on, and give what they have to know for that."""
        listener = listening(self._peer_address)
        with listener:
            leader, tls = begin_to_lead(self._peer_address.host, listener.getsockname()[1])
            server = Server(self._config_for_others(app, leader, tls), lambda: None)
            answering = asyncio.create_task(server.serve(sockets=[listener]), name="other processes")
            try:
                yield leader
            finally:
                server.should_exit = True
                await answering

    def _config_for_others(self, app: ASGIApp, leader: Leader, tls: ssl.SSLContext) -> uvicorn.Config:
        settings = self._settings
        limits = ConnectionLimits(
            most=settings.max_connections,
            most_of_one=None,
            receive_s=settings.receive_timeout_s,
            take_s=settings.request_timeout_s,
        )
        return uvicorn.Config(
            PeerDoor(app, leader.secret, self._place.public_url.partition(":")[0]),
            http=counted(limits, tls),  # type: ignore[arg-type] # makes a protocol
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=SHUTDOWN_S,
        )

    async def _lost(self) -> None:
        """Wait until this process leads no more, or can't know that it does."""
        loop = asyncio.get_running_loop()
        known = loop.time()
        while True:
            await asyncio.sleep(_HELD_S)
            try:
                async with asyncio.timeout(_ANSWER_S):
                    if not await self._lock.lead():
                        _log.error("another process of the site leads now; this one passes requests on")
                        return
                known, self._unknown = loop.time(), None
            except UNKNOWN as error:
                self._unknown = trouble_of_asking(error)
                if loop.time() - known > _UNSURE_S:
                    _log.error(
                        "the database could not be asked for %.0f s who leads; this one no longer leads", _UNSURE_S
                    )
                    return


class _NotClosed(CannotStart):
    """A former leader that could not end what it did."""


_STANDS_AGAINST: Final = (CannotStart, SettingError, ServiceError, EngineError, SealError, SQLAlchemyError, OSError)
"""What can keep a process from starting the service."""


async def _first(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of these, and end the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
