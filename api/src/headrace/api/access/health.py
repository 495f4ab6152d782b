"""Whether the service can work, and what is wrong when it can't.

Whether the store and the audit log take writes is known from the last write of each: most writes, such as those of a
transfer that runs, are no events. When one of them is older than `FRESH`, asking for the health makes a small one
first, so the answer is never about a disk or a lock of an hour ago.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from itertools import groupby
from typing import Final, TypeVar

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.access.patient import Patient
from headrace.api.access.people_health import PeopleHealth
from headrace.api.core import Core
from headrace.api.durable import place_in_words
from headrace.api.people.accounts import LEAVERS
from headrace.api.policy.qos import QosVersions
from headrace.api.signing.signer import Signer
from headrace.api.sites.endpoints import Endpoints
from headrace.api.sites.halts import Halts
from headrace.api.sites.nodes import Nodes
from headrace.api.sites.strange_nodes import at
from headrace.api.store.database import SMALL_WRITE
from headrace.api.store.tables_site import NodeRow
from headrace.api.store.words import remedy, trouble_in_words
from headrace.api.store_trouble import Trouble, trouble_of
from headrace.auth import Principal, Scope
from headrace.client import models as m
from headrace.client.text import plural
from headrace.guardrails import MAX_CLOCK_SKEW_MS

FRESH: Final = timedelta(seconds=10)
"""How old a write may be to say something of the next one."""
PATIENCE_S: Final = 5.0
"""How long a health answer waits for its own small write, and for what it reads; both go on without it."""
_LEAST_FREE_BYTES: Final = 1 << 20
_MOST_CAUSES: Final = 50
_MOST_GONE: Final = 5
"""How many roots that a node does not offer are told one by one."""
_CLOCK_SKEW: Final = "clock_skew"
"""The engine's code of a refusal."""
_AGAIN: Final = "it is tried again by itself; if that does not help, the service's log says more"
_LOOK: Final = (
    "it is tried again by itself; `headrace auth check` with the service's settings asks there and says what is wrong, "
    "and the service's log says more"
)
_LOOK_AT_RECEIVER: Final = "look at the syslog server, its certificate and the way there"
_MOST_BACK: Final = timedelta(milliseconds=MAX_CLOCK_SKEW_MS)
"""How far the clock may be behind what was noted: as far as it may be away from a node's."""
_SET_CLOCK: Final = (
    "set that host's clock right and keep it so (NTP, PTP). If the present time is right, because the clock was ahead "
    "before, restart the service until it is ready, at most twice"
)
_TOLD: Final = frozenset({Scope.NODE_WRITE, Scope.ADMIN, Scope.AUDIT_READ})
REASON_HIDDEN: Final = "the reason is shown to those who are signed in"
"""What strangers are told instead of why everything is halted: that it is halted is no secret."""
_Code = m.HealthCode
NOTICES: Final = frozenset({_Code.ROOT_MISSING, _Code.ROOTS_LEFT_OUT, _Code.NODE_STRANGE})
"""What is told and degrades nothing: a root may be gone on purpose, anybody can come by who is no node of ours, and one
node's roots are no trouble of the others."""
_STORE: Final = {
    Trouble.FULL: _Code.STORE_FULL,
    Trouble.BUSY: _Code.STORE_BUSY,
    Trouble.SILENT: _Code.STORE_BUSY,
}
_T = TypeVar("_T")


class Health:
    """Says how the service is."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it looks at
        self,
        nodes: Nodes,
        endpoints: Endpoints,
        halts: Halts,
        signer: Signer,
        qos: QosVersions,
        people: PeopleHealth,
        core: Core,
    ) -> None:
        """Look at these parts."""
        self._qos = qos
        self._people = people
        self._audit = core.audit
        self._nodes = nodes
        self._endpoints = endpoints
        self._halts = halts
        self._signer = signer
        self._core = core
        self._measured: datetime | None = None
        """When the small write was last tried: where the store is away, it never comes to the audit log."""
        self._begun: dict[str, datetime] = {}
        """Since when what is looked at anew each time is wrong."""
        self._writing = Patient(self._write, PATIENCE_S)
        self._reading = Patient(self._of_rows, PATIENCE_S)

    async def report(self, caller: Principal | None, *, unsure: Trouble | None = None) -> m.Health:
        """Say whether the service can work; `caller` (`None`: a stranger) says whether the causes are told, too.

        `unsure` is why the store could not say who is asking: that is told, and not which store it is.
        """
        causes = (await self.causes())[:_MOST_CAUSES]
        halted = await self._halted()
        told = caller is not None and caller.agent is None and bool(_TOLD & caller.scopes)
        return m.Health(
            status="degraded" if unsure or any(cause.code not in NOTICES for cause in causes) else "ok",
            version=version("headrace-api"),
            nodes_attached=self._nodes.attached_count,
            nodes_away=await self._away() if caller is not None and Scope.TRANSFER_READ in caller.scopes else [],
            audit="unwritable" if self._audit.unwritable_since else "ok",
            key=self._signer.public,
            halted=halted if caller is not None or not halted else REASON_HIDDEN,
            causes=causes if told else [_nameless(unsure)] if unsure else [],
        )

    async def causes(self) -> list[m.HealthCause]:
        """Return all that is wrong."""
        await self._measure()
        of_service = (
            *self._of_store(),
            *self.of_clock(),
            *self._of_doubt(),
            *self._of_audit_elsewhere(),
            *self._of_key(),
            *self._of_policy(),
            *self._of_qos(),
            *self._people.of_issuers(),
            *self._of_jobs(),
        )
        # A store that does not answer is told already: what only it knows is not waited for.
        of_rows = None if self._writing.late else await self._reading.value()
        if of_rows is None and not self._writing.late:
            of_rows = [self._of_trouble(Trouble.SILENT, "read")]
        return [*of_service, *(of_rows or [])]

    async def of_writes(self) -> list[m.HealthCause]:
        """Return what keeps the service from writing, so that it could not take work."""
        await self._measure()
        return list(self._of_store())

    def of_standstill(self) -> list[m.HealthCause]:
        """Return what keeps all work from starting, though the service can write."""
        return [*self._of_standstill_elsewhere(), *self._of_key(), *self._of_policy(), *self._of_qos()]

    def of_clock(self) -> list[m.HealthCause]:
        """Return what shows that this host's clock is wrong: what was noted before, or several nodes that agree.

        Tickets, approvals and the audit log go by it. A node whose clock alone is away is told of elsewhere.
        """
        now, latest, skews_ms = self._core.clock(), self._audit.latest, self._nodes.clock_skews_ms
        found = []
        if latest is not None and latest - now > _MOST_BACK:
            behind = (latest - now) / timedelta(seconds=1)
            found.append(
                f"it is {now:%Y-%m-%d %H:%M:%S} UTC by the clock of the host `{os.uname().nodename}`, {behind:,.0f} s "
                f"before an event that is in the audit log already{_nodes_say(skews_ms)}"
            )
        if len(skews_ms) > 1 and (min(skews_ms) > MAX_CLOCK_SKEW_MS or max(skews_ms) < -MAX_CLOCK_SKEW_MS):
            least = min(skews_ms, key=abs)
            found.append(
                f"the clocks of all {len(skews_ms)} attached nodes are at least {abs(least) / 1000:,.0f} s "
                f"{'ahead of' if least > 0 else 'behind'} the clock of the host `{os.uname().nodename}`, so no node "
                "gets work"
            )
        return [m.HealthCause(code=_Code.CLOCK_WRONG, sentence=said, what_to_do=_SET_CLOCK) for said in found]

    def _of_doubt(self) -> Iterator[m.HealthCause]:
        """Tell what is held back because the clock may be ahead: the service can work all the same."""
        doubt = self._core.doubt.look() or self._core.doubt.of_waits()
        if doubt is not None:
            yield m.HealthCause(code=_Code.CLOCK_DOUBTED, sentence=doubt.sentence, what_to_do=doubt.what_to_do)

    @property
    def silent(self) -> bool:
        """Whether the store was asked for as long as it may take, and has not answered."""
        return self._writing.late

    async def _halted(self) -> str:
        return await self._unless_silent(self._halts.of_everything) or ""

    async def _away(self) -> list[str]:
        return list(await self._unless_silent(self._nodes.away) or ())

    async def _unless_silent(self, ask: Callable[[], Awaitable[_T]]) -> _T | None:
        """Return what the store says, unless it can't be read or does not answer, which the causes tell."""
        if self._writing.late or self._reading.late:
            return None
        try:
            return await ask()
        except SQLAlchemyError:
            return None

    # -- can the store be written? --

    async def _measure(self) -> None:
        """Make a small write unless store and log were tried lately; those who ask meanwhile wait for the same one."""
        if self._is_fresh(self._core.database.tried) and (
            self._is_fresh(self._audit.tried) or self._is_fresh(self._measured)
        ):
            return
        await self._writing.value()

    def _is_fresh(self, tried: datetime | None) -> bool:
        return tried is not None and abs(self._core.clock() - tried) < FRESH

    async def _write(self) -> None:
        try:
            async with self._core.database.write() as tx:
                await self._audit.measure(tx)
                await tx.execute(SMALL_WRITE)
        except SQLAlchemyError:
            pass  # the store has noted it
        self._measured = self._core.clock()

    # -- what is wrong --

    async def _of_rows(self) -> list[m.HealthCause]:
        """Return what only the store knows."""
        causes: list[m.HealthCause] = []
        try:
            causes += [cause async for cause in self._people.of_sign_ins()]
            causes += [cause async for cause in self._people.of_lost_settings()]
            causes += await self._of_nodes()
        except SQLAlchemyError as error:
            causes.append(self._of_trouble(trouble_of(error), "read"))
        return causes

    def _of_store(self) -> Iterator[m.HealthCause]:
        refused, since = self._core.database.refused, self._audit.unwritable_since
        silent = self._since("silent", holds=self._writing.late)
        if silent is not None:
            yield self._of_trouble(Trouble.SILENT, "written").model_copy(update={"since": silent})
        elif refused is not None:
            yield self._of_trouble(refused.trouble, "written").model_copy(update={"since": refused.since})
        yield from self._of_folder()
        if since is not None:
            trouble, url = self._audit.trouble or Trouble.OTHER, self._core.database.url
            yield m.HealthCause(
                code=_Code.AUDIT_UNWRITABLE,
                sentence="the audit log can't be written, so nothing can be changed or started: "
                f"{trouble_in_words(url, trouble, 'written')}",
                what_to_do=f"{remedy(url, trouble)}; then run `headrace audit verify`",
                since=since,
            )

    def _of_folder(self) -> Iterator[m.HealthCause]:
        """Yield what is the matter with the data folder, which a store on a server does not share."""
        wrong = self._wrong_with_folder()
        since = self._since("folder", holds=wrong is not None)
        if wrong is not None:
            yield wrong.model_copy(update={"since": since})

    def _wrong_with_folder(self) -> m.HealthCause | None:
        data = self._core.settings.data
        where = f"the data folder `{data}` on the host `{os.uname().nodename}`"
        if not self._core.folder.is_here:
            return m.HealthCause(
                code=_Code.STORE_FAILED,
                sentence=f"{where} is gone, or is not the one that the service started with, so everything is halted",
                what_to_do="mount its disk again; if that folder is another one now, restart the service",
            )
        try:
            found = os.statvfs(data)
        except OSError as error:
            return m.HealthCause(
                code=_Code.STORE_FAILED, sentence=f"{where} can't be read", what_to_do=place_in_words(error)
            )
        if found.f_bavail * found.f_frsize >= _LEAST_FREE_BYTES:
            return None
        return m.HealthCause(
            code=_Code.STORE_FULL,
            sentence=f"{where} is on a full disk (less than 1 MiB is left)",
            what_to_do="make room on that disk",
        )

    def _since(self, what: str, *, holds: bool) -> datetime | None:
        """Return since when it holds, as far as somebody asked; nothing where it does not."""
        if not holds:
            self._begun.pop(what, None)
            return None
        return self._begun.setdefault(what, self._core.clock())

    def _of_key(self) -> Iterator[m.HealthCause]:
        trouble = self._signer.key_trouble
        if trouble is not None:
            yield m.HealthCause(
                code=_Code.KEY_UNUSABLE,
                sentence=f"nothing can be signed, so nothing can be planned or started: {trouble.why}",
                what_to_do=self._signer.key_remedy,
                since=trouble.since,
            )

    def _of_policy(self) -> Iterator[m.HealthCause]:
        theirs = self._signer.other_policy
        if theirs is not None:
            yield m.HealthCause(
                code=_Code.POLICY_DIFFERS,
                sentence=f"the signer decides by policy {theirs}, which is not the active one, so no plan starts",
                what_to_do="publish the policy again, or give the signer the active one (`headrace signer policy`)",
            )

        unproven = self._signer.unproven_policy
        if unproven is not None:
            yield m.HealthCause(
                code=_Code.POLICY_UNPROVEN,
                sentence=f"the store calls policy version {unproven} active, but no signed statement says that it is "
                "the last one that was published, so nothing is allowed",
                what_to_do="read it; propose the right text and let another person publish it, or, with the data "
                "folder in hand, remove `policy.published` there and start again to take the stored one as it is",
            )

    def _of_qos(self) -> Iterator[m.HealthCause]:
        if self._qos.unreadable:
            yield m.HealthCause(
                code=_Code.QOS_UNREADABLE,
                sentence=f"{self._qos.unreadable}, so nothing new is planned or started; what runs goes on",
                what_to_do="propose a right text (`headrace qos propose FILE`) and let another person publish it",
            )

    def _of_audit_elsewhere(self) -> Iterator[m.HealthCause]:
        elsewhere = self._audit.elsewhere
        if elsewhere is None:
            return
        away, url = elsewhere.away, self._core.database.url
        if away is not None and away.said not in elsewhere.standstill:
            why = away.said if away.store is None else trouble_in_words(url, away.store)
            do = _LOOK_AT_RECEIVER if away.store is None else remedy(url, away.store)
            yield m.HealthCause(
                code=_Code.AUDIT_UNSENT,
                sentence=f"audit events can't be sent to `{elsewhere.name}`, and {elsewhere.unsent:,} wait: {why}",
                what_to_do=f"{do}; what waits is sent by itself (when too much waits, nothing starts)",
                since=away.since,
            )
        yield from self._of_standstill_elsewhere()

    def _of_standstill_elsewhere(self) -> Iterator[m.HealthCause]:
        """Tell that so much waits to be sent to the other host that nothing starts."""
        elsewhere = self._audit.elsewhere
        if elsewhere is None or not elsewhere.standstill:
            return
        yield m.HealthCause(
            code=_Code.AUDIT_UNSENT,
            sentence=elsewhere.standstill,
            what_to_do="find out who altered that table or laid an old copy there (`headrace audit verify`)"
            if elsewhere.is_ahead
            else f"{_LOOK_AT_RECEIVER}; once they are sent, work goes on by itself",
        )

    def _of_jobs(self) -> Iterator[m.HealthCause]:
        """One cause for each kind of work, however many of its subjects fail."""
        found = sorted(self._core.jobs.troubles.values(), key=lambda trouble: (trouble.task, trouble.since))
        for task, of_task in groupby(found, key=lambda trouble: trouble.task):
            first, *more = of_task
            others = f" and for {plural(len(more), 'other')}" if more else ""
            about = f" for `{first.subject}`" if first.subject else ""
            times = "once" if first.failures == 1 else f"{first.failures} times in a row"
            yield m.HealthCause(
                code=_Code.WORK_FAILING,
                sentence=f"the work `{task}` failed {times}{about}{others}: {first.said}",
                what_to_do=_LOOK if task.startswith(LEAVERS) else _AGAIN,
                since=first.since,
            )

    async def _of_nodes(self) -> list[m.HealthCause]:
        """Nodes that are refused or whose clock is off, and roots that an attached node does not offer any more."""
        async with self._core.database.read() as tx:
            rows = {row.key: row for row in await tx.scalars(select(NodeRow).where(NodeRow.state == "enrolled"))}
            known = await self._endpoints.registry(tx)
        causes = []
        for key, row in rows.items():
            live = self._nodes.attached(key)
            if live is None:
                refused = self._nodes.refused(key)
                if refused is not None:
                    skewed = refused.code == _CLOCK_SKEW
                    causes.append(
                        m.HealthCause(
                            code=_Code.NODE_CLOCK_SKEWED if skewed else _Code.NODE_REFUSED,
                            sentence=f"node `{row.name}`{at(refused.address)} can't attach: it is refused, because "
                            f"{refused.reason}",
                            what_to_do="set up time synchronisation on both"
                            if skewed
                            else "mend that on the node's host",
                            since=refused.since,
                        )
                    )
                continue
            if abs(live.clock_skew_ms) > MAX_CLOCK_SKEW_MS:
                causes.append(
                    m.HealthCause(
                        code=_Code.NODE_CLOCK_SKEWED,
                        sentence=f"the clock of node `{row.name}` is {live.clock_skew_ms / 1000:.0f} s away from the "
                        "service's, so it gets no work",
                        what_to_do="set up time synchronisation on both",
                        since=self._nodes.announced(key),
                    )
                )
            trouble = self._nodes.state_trouble(key)
            if trouble is not None:
                causes.append(
                    m.HealthCause(
                        code=_Code.NODE_STATE_FAILED,
                        sentence=f"node `{row.name}` can't use its state folder, so its transfers wait: "
                        f"{trouble.reason}",
                        what_to_do="on the node's host, free space on the disk of the node's state folder (`--state`), "
                        "or mend its rights; what waits goes on by itself",
                        since=trouble.since,
                    )
                )
            causes.extend(
                m.HealthCause(
                    code=_Code.ROOT_MISSING,
                    sentence=f"node `{row.name}` can't open its root `{root.name}`: {root.reason}",
                    what_to_do="mount or make its folder; the node looks for it every two seconds",
                    since=self._nodes.announced(key),
                )
                for root in live.missing_roots
            )
            offered = {root.name for root in live.roots} | {root.name for root in live.missing_roots}
            left = self._nodes.left_out(key)
            if left is not None:
                causes.append(
                    m.HealthCause(
                        code=_Code.ROOTS_LEFT_OUT,
                        sentence=f"node `{row.name}`: {left.reason}",
                        what_to_do=left.what_to_do,
                        since=left.since,
                    )
                )
            gone = [one for one in known if one.node_key == key and one.root not in offered]
            causes.extend(
                m.HealthCause(
                    code=_Code.ROOT_MISSING,
                    sentence=f"node `{row.name}` is attached and does not offer its root `{endpoint.root}` (endpoint "
                    f"`{endpoint.id}`){_and_more(len(gone) - _MOST_GONE) if number == _MOST_GONE else ''}",
                    what_to_do="mount it, and start the node again with that root; if it is gone for good, an "
                    "administrator removes the endpoint (`headrace endpoints remove ENDPOINT`)",
                    since=self._nodes.announced(key),
                )
                # One node with many does not push out what is told of the others.
                for number, endpoint in enumerate(gone[:_MOST_GONE], 1)
            )
        causes.extend(
            m.HealthCause(
                code=_Code.NODE_STRANGE,
                sentence=str(strange),
                what_to_do="if it is a node of this site, let it join again (`headrace ca rotate NODE`, or a token of "
                "`headrace ca issue NAME` for a new one); if not, find out what runs there",
                since=since,
            )
            for strange, since in self._nodes.strange.recent()
        )
        return causes

    def _of_trouble(self, trouble: Trouble, done: str) -> m.HealthCause:
        url = self._core.database.url
        return m.HealthCause(
            code=_STORE.get(trouble, _Code.STORE_FAILED),
            sentence=trouble_in_words(url, trouble, done),
            what_to_do=remedy(url, trouble),
        )


def _and_more(count: int) -> str:
    return f", and {count:,} more" if count > 0 else ""


def _nodes_say(skews_ms: Sequence[int]) -> str:
    """Say whether the clocks of nodes speak for the present time; one of this host speaks for nothing."""
    agree = sum(abs(skew_ms) <= MAX_CLOCK_SKEW_MS for skew_ms in skews_ms)
    return f"; {agree:,} of {len(skews_ms):,} attached nodes have the same time" if skews_ms else ""


def _nameless(trouble: Trouble) -> m.HealthCause:
    return m.HealthCause(
        code=_STORE.get(trouble, _Code.STORE_FAILED),
        sentence=f"the service's store can't say who you are: {trouble}",
        what_to_do="whoever runs the service finds in its log, and at `/ready`, which store it is and what to do",
    )
