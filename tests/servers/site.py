"""A whole site for tests: the real service in this process, two real nodes, people who sign in."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from argon2 import PasswordHasher

from headrace.api.access.acting import Acting
from headrace.api.access.use_cases import UseCases
from headrace.api.app.service import Service
from headrace.api.audit.chain import Wanted
from headrace.api.caller import Door
from headrace.api.clock import utc_now
from headrace.api.events.broker import wait_for
from headrace.api.settings import Settings
from headrace.api.sites.nodes import NODES
from headrace.api.store.address import store_url
from headrace.api.store.migrate import migrate
from headrace.auth import Principal, passwords
from headrace.client import models as m
from headrace.engine import Node

PASSWORD = "correct horse battery staple"  # noqa: S105
WAIT_S = 20
_QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""argon2id as in the product, at a thousandth of its cost: nobody attacks these passwords."""
new_database: Callable[[], str] = lambda: ""  # noqa: E731 - replaced by `pytest --store postgresql`
"""Makes the database of a site and returns its URL; empty: SQLite in the site's folder."""


class ShiftedClock:
    """The real clock, moved by as much as a test says: `shift` lets time pass, `jump` only sets the clock."""

    def __init__(self) -> None:
        self.shift = timedelta()
        self.jump = timedelta()

    def __call__(self) -> datetime:
        return self.waits() + self.jump

    def waits(self) -> datetime:
        return utc_now() + self.shift


@dataclass
class Person:
    """Somebody with an interactive session."""

    site: "Site"
    principal: Principal
    secret: str

    @property
    def port(self) -> Acting:
        return self.site.service.acting_for(self.principal, Door.CLI)

    async def token(self, *scopes: str, agent: str | None = None) -> tuple[str, Acting]:
        """An API token of this person, and the port it opens."""
        made = await self.port.create_token(m.TokenRequest(name="pipeline", scopes=list(scopes), agent=agent))
        assert made.secret is not None
        principal = await self.site.service.whole.use_cases.people.of_token(made.secret)
        return made.secret, self.site.service.acting_for(principal, Door.API)

    async def plan(self, source: str, destination: str, action: str = "copy", **slots: Any) -> m.Plan:  # noqa: ANN401 - checked by the model
        """Plan with typed slots and wait until that is done."""
        intent = m.TransferIntent.model_validate(
            {"action": action, "source": source, "destination": destination, **slots}
        )
        return await settled(self.port, await self.port.create_plan(m.PlanRequest(intent=intent)))

    async def ask(self, words: str, plan: str | None = None) -> m.Plan:
        """Plan with words and wait until that is done."""
        return await settled(self.port, await self.port.create_plan(m.PlanRequest(words=words, plan=plan)))

    async def submit(self, plan: m.Plan) -> m.Transfer:
        return await self.port.submit(m.SubmitRequest(plan_digest=digest_of(plan)))

    async def confirm(self, plan: m.Plan) -> m.Plan:
        return await self.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan)))

    async def approve(self, plan: m.Plan) -> m.Plan:
        return await self.port.approve_plan(plan.id, m.Approval(digest=digest_of(plan), verdict="approved"))

    async def end_of(self, transfer: m.Transfer) -> m.Transfer:
        """Wait until a transfer has ended."""
        return await self.port.transfer(transfer.id, wait_s=WAIT_S)


@dataclass
class Site:
    """The service and its nodes; `lab` is a root of node `left`, `archive` one of node `right`."""

    folder: Path
    settings: Settings
    clock: ShiftedClock
    service: Service
    ada: Person = field(init=False)
    nodes: dict[str, Node] = field(default_factory=dict)
    _second: Person | None = None

    @property
    def lab(self) -> Path:
        return self.folder / "lab"

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    async def start_node(
        self, name: str, roots: list[tuple[str, str, str]], *, data_listen: str = "127.0.0.1:0"
    ) -> None:
        """Start a node (it joins the first time) and wait until it is attached; with an empty address it only dials."""
        state = self.folder / "state" / name
        token: str | None = None
        if not state.exists():
            state.parent.mkdir(exist_ok=True)
            made = await self.use_cases.nodes.create_join_token(None, m.JoinTokenRequest(name=name))
            token = made.token
        node = await Node.start(state_dir=str(state), name=name, roots=roots, data_listen=data_listen, join_token=token)
        self.nodes[name] = node
        await self.until_nodes(lambda: self.use_cases.nodes.attached(node.key) is not None)

    async def stop_node(self, name: str) -> None:
        """Close a node and wait until the service has noticed."""
        node = self.nodes.pop(name)
        key = node.key
        await node.close()
        await self.until_nodes(lambda: self.use_cases.nodes.attached(key) is None)

    async def start_both(self) -> None:
        """Start the two nodes."""
        await self.start_node("left", [("lab", str(self.lab), "delete")])
        await self.start_node("right", [("archive", str(self.archive), "delete")])

    async def until_nodes(self, holds: Callable[[], bool]) -> None:
        """Wait until nodes have come or gone as expected."""
        with self.service.whole.core.broker.subscribe(NODES) as woken:
            while not holds():
                woken.clear()
                if not holds():
                    assert await wait_for(woken, WAIT_S), "the nodes did not come or go in time"

    @property
    def use_cases(self) -> UseCases:
        return self.service.whole.use_cases

    async def person(self, name: str, *roles: str) -> Person:
        """Invite somebody, who accepts."""
        proof = PASSWORD if self.settings.consent_proof == "password" else None
        invited = await self.ada.port.invite(m.InvitationRequest(name=name, roles=list(roles), password=proof))
        return await self.accept(invited.link, None)

    async def accept(self, link: str, name: str | None) -> Person:
        """Accept a one-time link."""
        accepted = m.AcceptInvitation(token=link.partition("#")[2], password=PASSWORD, name=name)
        session = await self.use_cases.people.accept_invitation(accepted, "127.0.0.1")
        return Person(self, await self.use_cases.people.of_session(session.secret), session.secret)

    async def signed_in(self, name: str) -> Person:
        """Let somebody sign in who accepted before."""
        session = await self.use_cases.people.sign_in(m.SignIn(name=name, password=PASSWORD), "127.0.0.1")
        return Person(self, await self.use_cases.people.of_session(session.secret), session.secret)

    async def audited(self, kind: str) -> list[m.AuditEvent]:
        """Every audit event of a kind."""
        return (await self.use_cases.audit.events(Wanted(kinds=(kind,) if kind else ()), after=0, limit=1000)).items

    async def bind(self, *bindings: m.GroupBinding) -> list[m.RightsChange]:
        """Let groups of issuers give this, which takes two administrators; return whose rights that changed."""
        proof = m.Proven(password=PASSWORD if self.settings.consent_proof == "password" else None)
        asked = m.GroupBindingsRequest(bindings=list(bindings))
        proposed = (await self.ada.port.propose_group_bindings(asked)).proposed
        assert proposed is not None, "it holds already"
        if self._second is None:
            self._second = await self.person("second administrator", "admin")
        return (await self._second.port.publish_group_bindings(proposed.id, proof)).changes

    async def restart(self) -> None:
        """Close the service and start it again on the same data and the same hub address."""
        address = self.service.whole.core.hub.address
        await self.service.close()
        self.settings = replace(self.settings, hub_listen=address)
        self.service = await Service.start(
            self.settings, public_url="http://127.0.0.1", clock=self.clock, waits=self.clock.waits
        )

    async def close(self) -> None:
        """Close what runs."""
        for node in self.nodes.values():
            await node.close()
        await self.service.close()


@cache
def _migrated() -> bytes:
    """Return a store that the migrations have made: sites begin with a copy of it."""
    with TemporaryDirectory(prefix="headrace-store-") as folder:
        url = store_url("", Path(folder))
        migrate(url)
        return Path(url.database or "").read_bytes()


def _put_migrated_store(data: Path) -> None:
    data.mkdir(0o700)
    Path(store_url("", data).database or "").write_bytes(_migrated())


@asynccontextmanager
async def started_site(
    folder: Path,
    settings: Settings | None = None,
    *,
    proof: m.ProofStrength = "session",
    hub_listen: str = "127.0.0.1:0",
) -> AsyncIterator[Site]:
    """Start a service in `folder` with its first admin `ada`, and no nodes yet; or the one that was there before.

    `proof` is its `HEADRACE_CONSENT_PROOF`: most tests are about something else, and their people prove nothing.
    """
    clock = ShiftedClock()
    settings = settings or Settings()
    database = settings.database or new_database()
    settings = replace(settings, data=folder / "service", database=database, hub_listen=hub_listen, consent_proof=proof)
    if not database and not settings.data.exists():
        _put_migrated_store(settings.data)
    service = await Service.start(settings, public_url="http://127.0.0.1", clock=clock, waits=clock.waits)
    site = Site(folder, settings, clock, service)
    site.lab.mkdir(exist_ok=True)
    site.archive.mkdir(exist_ok=True)
    with patch.object(passwords, "_hasher", _QUICK):
        try:
            link = await site.use_cases.people.bootstrap_link()
            site.ada = await site.accept(link, "ada") if link else await site.signed_in("ada")
            yield site
        finally:
            await site.close()


async def settled(port: Acting, plan: m.Plan) -> m.Plan:
    """Wait until planning has ended."""
    # A site may end a single wait sooner.
    async with asyncio.timeout(WAIT_S):
        while (shown := await port.plan(plan.id, wait_s=WAIT_S)).state is m.PlanState.SURVEYING:
            pass
    return shown


def digest_of(plan: m.Plan) -> str:
    assert plan.digest is not None, plan.summary
    return plan.digest
