"""Transfers as people see them: finding, listing, watching; and who may see which."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal, cast

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, case, func, or_, select

from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.events.broker import progress_of, wait_for
from headrace.api.paging import MAX_COUNTED, page_of
from headrace.api.planning.estimate import estimates_said
from headrace.api.planning.found import EVERYTHING, Columns, Found, Searched
from headrace.api.planning.plan_ways import KEPT, Rights, rights_of, visible_by
from headrace.api.planning.redaction import WITHHELD, Redaction, is_own, redacted, tells_places
from headrace.api.planning.whose import ANYBODYS, Narrowed, Narrowing
from headrace.api.policy.qos import node_keys
from headrace.api.private_words import without_private_words
from headrace.api.sites.halts import Halts
from headrace.api.store import Tx
from headrace.api.store.beginnings import begun_by
from headrace.api.store.dialects import as_json
from headrace.api.store.documents import stored
from headrace.api.store.tables_work import AttemptRow, PlanRow, ReceiptRow, TransferEventRow, TransferRow
from headrace.api.store.ways import Way, first_of, rows_of
from headrace.api.transfers.diagnosis import at_rest_diagnosis
from headrace.api.transfers.failed_list import FailedList
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.probe import judged, legs_of
from headrace.api.transfers.receipts import earlier_receipts, receipt_view, span_s, unknown_receipt
from headrace.api.transfers.scheduler import Scheduler
from headrace.api.transfers.state_machine import RETRIED_STATES, Wish
from headrace.api.transfers.transfer_steps import TransferStatus, kept_of
from headrace.api.transfers.verdict_after import verdict_after
from headrace.api.transfers.views import Live, event_view, transfer_view
from headrace.api.transfers.ways import ways_to
from headrace.client import models as m
from headrace.client.text import same_already
from headrace.guardrails import Unreleased

_PLAN_CEILING = as_json(PlanRow.card)["intent"]["rate_limit_bps"].as_integer().label("rate_limit_bps")
_MAY_WAIT = frozenset({m.TransferState.QUEUED, m.TransferState.WAITING, m.TransferState.PAUSED})
_LAST = timedelta(hours=1)
_PAGE = 200
_CEILING_EXCEEDED = "ceiling_exceeded"
_FACTS = select(PlanRow.id, PlanRow.deletes, PlanRow.obligations, PlanRow.expires, _PLAN_CEILING).where(
    PlanRow.id.in_(bindparam("of_plans", expanding=True))
)
_SHOWN: Final[Select[*tuple[Any, ...]]] = select(
    *(TransferRow.id, TransferRow.plan, TransferRow.plan_digest, TransferRow.state, TransferRow.state_reason),
    *(TransferRow.requester, TransferRow.requester_name, TransferRow.agent, TransferRow.action, TransferRow.source),
    *(TransferRow.destination, TransferRow.canonical_sentence, TransferRow.created, TransferRow.starts),
    *(TransferRow.started, TransferRow.ended, TransferRow.attempt, TransferRow.rate_ceiling_bps, TransferRow.progress),
    *(TransferRow.error, TransferRow.receipt, TransferRow.wish, TransferRow.qos_class, TransferRow.goes_on),
    *(TransferRow.hours, TransferRow.deadline, TransferRow.probe, TransferRow.tuning, TransferRow.paused_since),
    *(TransferRow.kept, TransferRow.promised, TransferRow.only_failed, TransferRow.project, TransferRow.deadline_told),
)
"""What a list shows of a transfer: no long texts, and few times, which take longest to read."""
_KEPT_PAGES: Final = 64
"""Statements that are kept made: one of 200 ways is large, and making one costs as much as ten rows."""
_SPANS = select(AttemptRow.transfer, AttemptRow.started, AttemptRow.ended).where(
    AttemptRow.transfer.in_(bindparam("of_transfers", expanding=True))
)


class Transfers:
    """Finds and shows transfers."""

    def __init__(self, parts: Parts, scheduler: Scheduler, redaction: Redaction, halts: Halts) -> None:
        """Show what is stored, the live progress of what `scheduler` runs, and no names that `redaction` withholds."""
        self._halts = halts
        self._parts = parts
        self._scheduler = scheduler
        self._redaction = redaction

    async def get(self, caller: Caller, transfer: str, *, wait_s: float = 0) -> m.Transfer:
        """Show a transfer by id, or by a prefix of at least four hexadecimal digits that fits just one.

        Waits up to `wait_s` seconds for it to end.
        """
        core, loop = self._parts.core, asyncio.get_running_loop()
        told, limit = core.broker.told, loop.time() + min(wait_s, core.settings.max_wait_s)

        def over(row: TransferRow) -> bool:
            return row.state in m.END_STATES or loop.time() >= limit or core.broker.closing

        row, shown = await self._shown_when(over, caller, transfer)
        if shown is not None:
            return shown
        with core.broker.subscribe(row.id, principal=caller.principal, told=told) as woken:
            while True:
                await wait_for(woken, limit - loop.time())
                woken.clear()
                row, shown = await self._shown_when(over, caller, row.id)
                if shown is not None:
                    return shown

    async def _shown_when(
        self, over: Callable[[TransferRow], bool], caller: Caller, transfer: str
    ) -> tuple[TransferRow, m.Transfer | None]:
        """Find a transfer that the caller may see, and show it when the wait for it is over."""

        async def look(tx: Tx) -> tuple[TransferRow, _Facts | None]:
            row = await self._row(tx, caller, transfer)
            return row, await self._facts(tx, caller, [row]) if over(row) else None

        row, facts = await self._parts.core.database.look(look)
        return row, self._shown(caller, facts)[0] if facts else None

    async def page(  # noqa: PLR0913 - each narrows the page
        self,
        caller: Caller,
        *,
        states: Sequence[m.TransferState] = (),
        whose: Narrowing = ANYBODYS,
        found: Found = EVERYTHING,
        newest: bool = True,
        limit: int,
        after: str | None,
    ) -> m.Page[m.Transfer]:
        """List transfers that the caller may see, newest (or oldest) first."""

        async def look(tx: Tx) -> "tuple[_Facts, bool]":
            last = await self._row(tx, caller, after) if after else None
            rights, known = rights_of(caller), await whose.known(tx)

            # With what is shown of a `TransferRow`: making such objects takes longer than finding the rows.
            async def read(ways: Sequence[Way[str]]) -> Sequence[TransferRow]:
                return await tx.named(rows_of(_SHOWN, TransferRow.id, ways, limit + 1, newest=newest))

            if last is None and found == EVERYTHING:
                rows: Sequence[TransferRow] = await tx.named(
                    _first_page(rights, known, tuple(states), limit + 1, newest)
                )
                edge = None
            else:
                ways = [found.made(way) for way in ways_to(rights, known, states)]
                if last is not None:
                    ways = [way.beyond(last.created, last.id, newest=newest) for way in ways]
                rows, edge = await found.read(
                    tx, _searched(caller), ways, read, lambda rows: len(rows) > limit, newest=newest
                )
            found.require_through(edge, len(rows), limit, newest=newest)
            return await self._facts(tx, caller, rows[:limit]), len(rows) > limit or edge is not None

        facts, more = await self._parts.core.database.look(look)
        shown = self._shown(caller, facts)
        return m.Page(items=shown, next=shown[-1].id if more else None)

    async def counts(
        self, caller: Caller, *, whose: Narrowing = ANYBODYS, found: Found = EVERYTHING
    ) -> m.TransferCounts:
        """Count the transfers that the caller may see by state: exactly up to 1,000, above that the newest 1,000.

        A search that looks at no more rows has no exact count either.
        """

        async def look(tx: Tx) -> tuple[dict[m.TransferState, int], datetime | None]:
            rights, known = rights_of(caller), await whose.known(tx)

            async def counted_by(count: Select[str, int]) -> Sequence[tuple[str, int]]:
                return [(state, number) for state, number in await tx.execute(count)]

            async def read(ways: Sequence[Way[str]]) -> Sequence[tuple[str, int]]:
                return await counted_by(_counted(ways))

            if found == EVERYTHING:
                counted: Sequence[tuple[str, int]] = await counted_by(_first_counted(rights, known))
                edge = None
            else:
                ways = [found.made(way) for way in ways_to(rights, known, ())]
                counted, edge = await found.read(
                    tx, _searched(caller), ways, read, lambda rows: sum(number for _, number in rows) > MAX_COUNTED
                )
            return {m.TransferState(state): number for state, number in counted}, edge

        by_state, edge = await self._parts.core.database.look(look)
        total = sum(by_state.values())
        return m.TransferCounts(
            by_state=by_state, total=min(total, MAX_COUNTED), exact=total <= MAX_COUNTED and edge is None
        )

    async def events(
        self, caller: Caller, transfer: str, *, after: int, limit: int, newest: bool = False
    ) -> m.Page[m.TransferEvent]:
        """List the history of a transfer in order, from the event after `after`.

        `newest`: the newest first, down from the event before `after` (0: from the last).
        """

        async def look(tx: Tx) -> tuple[Sequence[TransferEventRow], TransferRow, set[str]]:
            row = await self._row(tx, caller, transfer)
            found = await self._events_in(tx, row.id, after, limit + 1, newest=newest)
            return found, row, await self._hidden(tx, caller, [row])

        found, row, hidden = await self._parts.core.database.look(look)
        events = [event_view(event) for event in found]
        if caller.principal.agent is not None:
            events = [without_private_words(event) for event in events]
        if hidden:
            events = [redacted(event, own=is_own(caller, row)) for event in events]
        return page_of(events, limit, lambda event: event.sequence)

    async def watch(self, caller: Caller, transfer: str, after: int) -> AsyncGenerator[m.TransferEvent]:
        """Yield the history after `after`, then what happens, until the transfer or the caller's right to see it ends.

        Progress comes as events of kind `progress` under the number of the last kept event; only the newest is sent.
        The first event comes at once, whether there is news or not.
        """
        core, row = self._parts.core, await self.row(caller, transfer)
        loop, sent = asyncio.get_running_loop(), False
        heartbeat_s = core.settings.heartbeat_s
        look_again = loop.time() + heartbeat_s
        shown: m.Progress | None = None
        with core.broker.subscribe(row.id, progress_of(row.id), principal=caller.principal) as woken:
            while not core.broker.closing:
                woken.clear()
                if loop.time() >= look_again:
                    caller, look_again = await caller.renewed("watch"), loop.time() + heartbeat_s
                events = await self._events(row.id, after, _PAGE)
                # Read after the events, so that the state shown with them is never older than they are.
                row = await self.row(caller, row.id)
                view, withheld = await self.view(caller, row), await self._withheld(caller, row)
                for event in events:
                    after = event.sequence
                    kept = event_view(event, view if event is events[-1] else None)
                    if caller.principal.agent is not None:
                        kept = without_private_words(kept)
                    yield redacted(kept, own=is_own(caller, row)) if withheld else kept
                ended = row.state in m.END_STATES and after >= row.events
                if not events and (ended or not sent or view.progress != shown):
                    at = view.progress.at or core.clock()
                    yield m.TransferEvent(
                        sequence=after, at=at, kind=m.TransferEventKind.PROGRESS, message="", transfer=view
                    )
                if ended:
                    return
                sent, shown = True, view.progress
                if not events:
                    await wait_for(woken, look_again - loop.time())

    async def failed(self, caller: Caller, transfer: str, *, after: str | None, limit: int) -> m.Page[m.FailedFile]:
        """List the files that the newest attempt could not move; raises `invalid_request` for a made-up `after`."""
        row = await self.row(caller, transfer)
        query = select(AttemptRow.failed_list, AttemptRow.number).where(
            AttemptRow.transfer == row.id, AttemptRow.outcome.in_(("complete", "partial"))
        )
        async with self._parts.core.database.read() as tx:
            newest = (await tx.execute(query.order_by(AttemptRow.number.desc()).limit(1))).first()
        if newest is None or not newest.failed_list:
            return m.Page(items=[])
        withheld = await self._withheld(caller, row)
        failed = FailedList(self._parts.core.settings.data / newest.failed_list, newest.number, withheld)
        page = await asyncio.to_thread(failed.page, after, limit)
        if not withheld:
            return page
        return m.Page(items=[redacted(one, own=is_own(caller, row)) for one in page], next=page.next)

    async def receipt(self, caller: Caller, receipt: str) -> m.Receipt:
        """Show a receipt, by its id or its transfer's, of a transfer that the caller may see."""
        found, transfer = await self._receipt(caller, receipt)
        async with self._parts.core.database.read() as tx:
            earlier = await earlier_receipts(tx, transfer, found.created)
        shown = receipt_view(found, self._parts.signer.keys, earlier)
        if not is_own(caller, transfer) and await self._withheld(caller, transfer):
            # Its document holds the words and places.
            return shown.model_copy(update={"document": ""})
        return shown

    async def receipt_files(self, caller: Caller, receipt: str) -> ReceiptRow:
        """Return a receipt whose list of files the caller may see."""
        found, transfer = await self._receipt(caller, receipt)
        if await self._withheld(caller, transfer):
            raise ServiceError(Code.NAMES_WITHHELD, "these names are withheld from assistants; the requester sees them")
        return found

    async def diagnose(self, caller: Caller, transfer: str) -> m.Diagnosis:
        """Say what limits a transfer now, or what did in its last attempt; names no files."""
        row = await self.row(caller, transfer)
        state = m.TransferState(row.state)
        live = self._scheduler.diagnosis(row.id) if state is m.TransferState.RUNNING else None
        before = m.Diagnosis.model_validate_json(row.diagnosis) if row.diagnosis else None
        if live is not None:
            return live
        # By the view, which leaves out what people wrote for people.
        shown = await self.view(caller, row)
        if state in m.END_STATES:
            return verdict_after(shown, before)
        opens = shown.starts if shown.hours is not None and state is m.TransferState.QUEUED else None
        if opens is not None and opens > self._parts.core.clock():
            reason = f"its hours open at {opens:%Y-%m-%d %H:%M} UTC"
            return at_rest_diagnosis(row.id, row.state, reason, m.Limit.HOURS)
        limit = m.Limit.HOURS if shown.goes_on is not None else m.Limit.NOT_RUNNING
        return at_rest_diagnosis(row.id, row.state, shown.state_reason or "it has not begun to move", limit)

    async def measured(self, caller: Caller, transfer: str) -> m.Measured:
        """Show what was measured of a transfer's connections and stages; names no files."""
        row = await self.row(caller, transfer)
        live = self._scheduler.measured(row.id) if row.state == m.TransferState.RUNNING else None
        before = m.Measured.model_validate_json(row.measured) if row.measured else None
        found = live or before or m.Measured(transfer=row.id)
        async with self._parts.core.database.read() as tx:
            names = {key: name for name, key in (await node_keys(tx)).items()}
        source = found.source.model_copy(update={"node": names.get(row.source_node, "")})
        destination = found.destination.model_copy(update={"node": names.get(row.destination_node, "")})
        return found.model_copy(update={"source": source, "destination": destination})

    async def probed(self, caller: Caller, transfer: str) -> m.Probed:
        """Show what a probe has measured; names no files."""
        row = await self.row(caller, transfer)
        async with self._parts.core.database.read() as tx:
            plan = await tx.get_one(PlanRow, row.plan)
        bounds = m.Plan.model_validate_json(plan.card).probe
        legs = legs_of(row.probe) or []
        if await self._withheld(caller, row):
            # What nodes say of an error may name files.
            legs = [leg.model_copy(update={"error": leg.error and WITHHELD}) for leg in legs]
        return judged(row.id, m.TransferState(row.state), legs, bounds)

    async def throughput(
        self, caller: Caller, transfer: str, since: datetime | None, until: datetime | None
    ) -> m.Throughput:
        """Show how fast a transfer was, from its start to its end or now unless told otherwise."""
        row = await self.row(caller, transfer)
        until = until or row.ended or self._parts.core.clock()
        since = since or min(row.started or row.created, until)
        return await self._parts.throughput.show("transfer", row.id, since, until)

    async def node_throughput(
        self, node: str, direction: m.Direction, since: datetime | None, until: datetime | None
    ) -> m.Throughput:
        """Show how fast a node sent or received under its present key, in the last hour unless told otherwise."""
        async with self._parts.core.database.read() as tx:
            key, _ = await self._parts.nodes.key_of(tx, node)
        until = until or self._parts.core.clock()
        return await self._parts.throughput.show(direction, key, since or until - _LAST, until)

    async def _receipt(self, caller: Caller, receipt: str) -> tuple[ReceiptRow, TransferRow]:
        """Return a receipt that the caller may see, by its id or its transfer's, or by a unique beginning of either."""
        found = await self._parts.receipts.find(receipt)
        if found is None:
            async with self._parts.core.database.read() as tx:
                mine = select(TransferRow.id).where(TransferRow.id == ReceiptRow.transfer, visible_transfers(caller))
                query = select(ReceiptRow).where(mine.exists())
                found = await begun_by(
                    tx, query, ReceiptRow.id, receipt, prefix="rc_", things="receipts", unknown=Code.UNKNOWN_RECEIPT
                )
        try:
            row = await self.row(caller, found.transfer if found else receipt)
        except ServiceError as error:
            if error.code == Code.AMBIGUOUS_TRANSFER:
                raise
            raise unknown_receipt(receipt) from error
        found = found or await self._parts.receipts.find(row.id)
        if found is None:
            raise unknown_receipt(receipt)
        return found, row

    async def row(self, caller: Caller, transfer: str) -> TransferRow:
        """Return a transfer that the caller may see, by id or unique prefix; anything else is `unknown_transfer`."""
        return await self._parts.core.database.look(lambda tx: self._row(tx, caller, transfer))

    async def _row(self, tx: Tx, caller: Caller, transfer: str) -> TransferRow:
        wanted = transfer if transfer.startswith("tr_") else f"tr_{transfer}"
        exact = await tx.scalar(_visible_transfer(rights_of(caller)), {"named": wanted})
        if exact is not None:
            return exact
        found = await begun_by(
            tx,
            select(TransferRow).where(visible_transfers(caller)),
            TransferRow.id,
            transfer,
            prefix="tr_",
            things="transfers",
            unknown=Code.UNKNOWN_TRANSFER,
            code=Code.AMBIGUOUS_TRANSFER,
        )
        if found is None:
            raise ServiceError(
                Code.UNKNOWN_TRANSFER,
                f"there is no transfer `{transfer[:80]}`, or it is not yours to see; `headrace status` lists those "
                "that you see",
            )
        return found

    async def _events(self, transfer: str, after: int, limit: int) -> Sequence[TransferEventRow]:
        async with self._parts.core.database.read() as tx:
            return await self._events_in(tx, transfer, after, limit)

    async def _events_in(
        self, tx: Tx, transfer: str, after: int, limit: int, *, newest: bool = False
    ) -> Sequence[TransferEventRow]:
        event = TransferEventRow
        query = select(event).where(event.transfer == transfer).limit(limit)
        if newest:
            query = query.order_by(event.sequence.desc())
            query = query.where(event.sequence < after) if after else query
        else:
            query = query.order_by(event.sequence).where(event.sequence > after)
        return list(await tx.scalars(query))

    async def view(self, caller: Caller, row: TransferRow) -> m.Transfer:
        """Show a transfer, with the live progress of one that is under way."""
        facts = await self._parts.core.database.look(lambda tx: self._facts(tx, caller, [row]))
        [shown] = self._shown(caller, facts)
        return shown

    async def _facts(self, tx: Tx, caller: Caller, rows: Sequence[TransferRow]) -> "_Facts":
        """Read all that showing these transfers takes."""
        now = self._parts.core.clock()
        return _Facts(rows, await self._dependent(tx, rows, now), await self._hidden(tx, caller, rows))

    def _shown(self, caller: Caller, facts: "_Facts") -> list[m.Transfer]:
        """Show transfers, with the live progress of those that are under way."""
        held = self._parts.shares.in_force
        views = [
            transfer_view(row, self._status(row, facts.dependent), caller.principal, held, self._live(row))
            for row in facts.rows
        ]
        if caller.principal.agent is not None:
            views = [without_private_words(view) for view in views]
        return [
            redacted(view, own=is_own(caller, row)) if row.id in facts.hidden else view
            for view, row in zip(views, facts.rows, strict=True)
        ]

    def _live(self, row: TransferRow) -> Live:
        if row.state in m.END_STATES:
            return Live()
        return Live(self._scheduler.progress(row.id), self._parts.outlook.of(row.id))

    async def _hidden(self, tx: Tx, caller: Caller, rows: Sequence[TransferRow]) -> set[str]:
        """Return the transfers whose names are withheld from the caller."""
        if caller.principal.agent is None:
            return set()
        plans = list(await tx.scalars(select(PlanRow).where(PlanRow.id.in_([row.plan for row in rows]))))
        withheld = await self._redaction.withheld(tx, caller, plans)
        hidden = {plan.id for plan, hide in zip(plans, withheld, strict=True) if hide}
        told = {
            row.id
            for row in rows
            if not is_own(caller, row) and any(map(tells_places, (row.error or "", row.state_reason)))
        }
        return told | {row.id for row in rows if row.plan in hidden}

    async def _withheld(self, caller: Caller, row: TransferRow) -> bool:
        async with self._parts.core.database.read() as tx:
            return row.id in await self._hidden(tx, caller, [row])

    async def status(self, tx: Tx, row: TransferRow) -> TransferStatus:
        """Return what the next step of a transfer depends on."""
        return self._status(row, await self._dependent(tx, [row], self._parts.core.clock()))

    async def _dependent(self, tx: Tx, rows: Sequence[TransferRow], now: datetime) -> "_Dependent":
        # Only what can be tried again or resumed, or runs below a ceiling, depends on its plan.
        plans = [
            row.plan
            for row in rows
            if row.state in RETRIED_STATES
            or row.wish == Wish.PAUSE
            or (row.rate_ceiling_bps is not None and row.state not in m.END_STATES)
        ]
        facts = {plan.id: plan for plan in await tx.execute(_FACTS, {"of_plans": plans})} if plans else {}
        halted = await self._halts.of_transfers(tx, [row.id for row in rows if row.state not in m.END_STATES])
        active = await self._active(tx, rows, now)
        need_consent = [
            row for row in rows if row.state in RETRIED_STATES and row.plan in facts and facts[row.plan].obligations
        ]
        lacking = await self._parts.signer.missing_consents(tx, need_consent)
        return _Dependent(now, facts, halted, active, lacking, await self._expected(tx, rows))

    @staticmethod
    async def _expected(tx: Tx, rows: Sequence[TransferRow]) -> dict[str, m.Estimate]:
        """Return what plans of those that wait or have a deadline say of their time.

        A retry of what failed sends something else.
        """
        waiting = [
            row.plan
            for row in rows
            if (row.state in _MAY_WAIT and row.wish == Wish.RUN)
            or (row.state in m.OPEN_STATES and row.deadline is not None)
            if not row.only_failed
        ]
        return await estimates_said(tx, waiting)

    async def _active(self, tx: Tx, rows: Sequence[TransferRow], now: datetime) -> dict[str, float]:
        """Return how many seconds the attempts of each took; what had one, and no wait since, needs no look at it."""
        one = {row.id: row for row in rows if row.attempt == 1 and row.state not in _MAY_WAIT and row.started}
        found = {id_: span_s(row.started, row.ended or now) for id_, row in one.items() if row.started}
        several = [row.id for row in rows if row.id not in one and row.started]
        for transfer, started, ended in await tx.execute(_SPANS, {"of_transfers": several}) if several else ():
            found[transfer] = found.get(transfer, 0) + span_s(started, ended or now)
        return found

    def _status(self, row: TransferRow, dependent: "_Dependent") -> TransferStatus:
        plan, (failed, for_good) = dependent.plans.get(row.plan), _failed(row)
        consent_until = plan.expires if plan and plan.obligations else None
        copied, same = _copied(row)
        failed_with = stored(m.Problem, row.error).code if row.error is not None else ""
        return TransferStatus(
            id=row.id,
            state=m.TransferState(row.state),
            state_reason=self._scheduler.place(row.id) or row.state_reason,
            wish=cast("Literal['run', 'pause', 'cancel']", row.wish),
            requester=row.requester,
            requester_name=row.requester_name or row.requester,
            agent=row.agent,
            deletes=plan.deletes if plan else False,
            probe=row.probe is not None,
            copied=copied,
            same=same,
            failed=failed,
            failed_with=failed_with,
            outgrown=failed_with == _CEILING_EXCEEDED,
            for_good=for_good,
            active_s=dependent.active_s.get(row.id),
            plan_rate_ceiling_bps=plan.rate_limit_bps if plan else None,
            expected=dependent.expected.get(row.plan),
            retry_until=self._retry_until(row, consent_until) if row.state in RETRIED_STATES else None,
            paused_until=row.paused_since
            and row.paused_since + timedelta(seconds=self._parts.core.settings.pause_limit_s),
            halted=dependent.halted.get(row.id),
            kept=kept_of(row.kept),
            missing_consent=dependent.missing_consent.get(row.id),
            now=dependent.now,
        )

    def _retry_until(self, row: TransferRow, consent_until: datetime | None) -> datetime | None:
        """Return until when a retry may begin: a while after its end, and no longer than consent lasts."""
        if row.started is None:
            return consent_until
        limit = (row.ended or row.started) + timedelta(seconds=self._parts.core.settings.retry_valid_s)
        return min(limit, consent_until) if consent_until else limit


@dataclass(frozen=True, slots=True)
class _Dependent:
    """What the next steps of some transfers depend on beside their rows, by transfer (or plan)."""

    now: datetime
    plans: Mapping[str, Row[str, bool, tuple[str, ...], datetime | None, int | None]]
    halted: Mapping[str, str]
    active_s: Mapping[str, float]
    missing_consent: Mapping[str, Unreleased]
    expected: Mapping[str, m.Estimate]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What transfers are shown from."""

    rows: Sequence[TransferRow]
    dependent: _Dependent
    hidden: set[str]
    """Those whose names are withheld from the caller."""


def _searched(caller: Caller) -> Searched:
    """Return what a search looks at: places, and the requester's name."""
    looked_at: Columns = [TransferRow.requester_name]
    agent = caller.principal.agent
    own = and_(TransferRow.requester == caller.principal.id, TransferRow.agent == agent)
    for place in (TransferRow.source, TransferRow.destination):
        # To an assistant, a hit in what it did not plan itself would tell a name that may be withheld.
        looked_at = [*looked_at, place if agent is None else case((own, place), else_="")]
    return Searched(TransferRow, "tr_", looked_at, indexed=agent is None)


@lru_cache(_KEPT_PAGES)
def _first_page(
    rights: Rights,
    known: Narrowed,
    states: tuple[m.TransferState, ...],
    limit: int,
    newest: bool,  # noqa: FBT001 - a part of what is asked for
) -> Select[*tuple[Any, ...]]:
    return rows_of(_SHOWN, TransferRow.id, ways_to(rights, known, states), limit, newest=newest)


@lru_cache(_KEPT_PAGES)
def _first_counted(rights: Rights, known: Narrowed) -> Select[str, int]:
    return _counted(ways_to(rights, known, ()))


def _counted(ways: Sequence[Way[str]]) -> Select[str, int]:
    """Count the newest rows of all ways together by state."""
    newest = first_of(ways, MAX_COUNTED + 1, newest=True, columns=[TransferRow.state]).subquery()
    return select(newest.c.state, func.count()).group_by(newest.c.state)


def _copied(row: TransferRow) -> tuple[int, str]:
    """Return how many files a complete transfer copied, and what is to be said of those that were there already."""
    if row.state != m.TransferState.COMPLETE:
        return 0, ""
    progress = stored(m.Progress, row.progress)
    same = same_already(progress.files_identical, progress.identical_by)
    return progress.files_done - progress.files_identical, same


def _failed(row: TransferRow) -> tuple[int, int]:
    """Return how many files of a transfer that ended in part failed, and for how many a retry alone does not help."""
    if row.state != m.TransferState.PARTIAL:
        return 0, 0
    progress = stored(m.Progress, row.progress)
    return progress.files_failed, progress.files_failed_for_good


def visible_transfers(caller: Caller) -> ColumnElement[bool]:
    """Which transfers a caller may see: those of the plans that one may see."""
    return _visible_by(rights_of(caller))


@lru_cache(KEPT)
def _visible_by(rights: Rights) -> ColumnElement[bool]:
    if rights.agent is None and rights.oversees:
        return TransferRow.id.is_not(None)
    seen = select(PlanRow.id).where(PlanRow.id == TransferRow.plan, visible_by(rights))
    return seen.exists() if rights.agent else or_(TransferRow.requester == rights.person, seen.exists())


@lru_cache(KEPT)
def _visible_transfer(rights: Rights) -> Select[TransferRow]:
    return select(TransferRow).where(_visible_by(rights), TransferRow.id == bindparam("named"))
