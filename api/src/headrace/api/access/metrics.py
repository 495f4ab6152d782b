"""What a monitoring system reads of the service: figures in Prometheus' text form, made when they are asked for.

No figure names a person, an assistant, a path or a request; nodes, routes and kinds of work are named. FIGURES is the
list of them, which docs/operations/monitoring.md shows (a test compares).
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Final, Literal, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.access.health import PATIENCE_S, Health
from headrace.api.access.patient import Patient
from headrace.api.core import Core
from headrace.api.policy.versions import Policies
from headrace.api.sites.halts import Halts
from headrace.api.sites.nodes import Nodes
from headrace.api.store.tables_site import NodeRow
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.transfers.promises import Promises
from headrace.api.transfers.scheduler import Scheduler
from headrace.client import models as m

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_BITS_A_BYTE: Final = 8
_MS_A_SECOND: Final = 1000

_OPEN = (
    select(TransferRow.state, func.count().label("of_state"))
    .where(TransferRow.state.in_(m.OPEN_STATES))
    .group_by(TransferRow.state)
)
_AT_RISK = select(func.count()).where(
    TransferRow.state.in_(m.OPEN_STATES), TransferRow.deadline.is_not(None), TransferRow.deadline_told == "at_risk"
)
_SURVEYING = select(func.count()).where(PlanRow.state == m.PlanState.SURVEYING)
_NODES = select(NodeRow.key, NodeRow.name, NodeRow.state).where(NodeRow.state != "revoked")


class Figure(NamedTuple):
    """What one figure is."""

    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    meaning: str


FIGURES: Final[Mapping[str, Figure]] = {
    "headrace_info": Figure("gauge", ("version",), "1, with the version of the service"),
    "headrace_ready": Figure("gauge", (), "1 while the service can take work, as `/ready` says"),
    "headrace_leads": Figure(
        "gauge", (), "1 in the process that leads the site, 0 in one that passes requests on to it"
    ),
    "headrace_health_cause": Figure("gauge", ("code",), "things that are wrong now, by their code of docs/errors.md"),
    "headrace_event_loop_lag_seconds": Figure("gauge", (), "how long one turn of the event loop took just now"),
    "headrace_transfers": Figure("gauge", ("state",), "transfers that have not ended, by state"),
    "headrace_transfers_in_line": Figure("gauge", (), "transfers that wait for a free slot"),
    "headrace_transfer_rate_bytes": Figure("gauge", (), "bytes a second that become durable, of all transfers"),
    "headrace_transfer_bytes_total": Figure("counter", (), "bytes that became durable since the service started"),
    "headrace_promises_at_risk": Figure(
        "gauge", (), "transfers that have not ended and whose history says last that their deadline is at risk"
    ),
    "headrace_promises_missed_total": Figure(
        "counter", (), "deadlines that passed before their transfer ended, since the service started"
    ),
    "headrace_halts": Figure("gauge", ("scope",), "halts that stand, by what they halt; `everything` also by file"),
    "headrace_audit_unsent": Figure("gauge", (), "audit events that the syslog server does not have yet"),
    "headrace_plans_surveying": Figure("gauge", (), "plans whose folders are being listed, or wait for it"),
    "headrace_changes_total": Figure(
        "counter", ("kind", "state"), "changes of plans, transfers, nodes and others, by the state that they took"
    ),
    "headrace_node_attached": Figure("gauge", ("node",), "1 while the node is attached, else 0"),
    "headrace_node_running": Figure("gauge", ("node",), "transfers that run on the node"),
    "headrace_node_clock_skew_seconds": Figure(
        "gauge", ("node",), "how far the node's clock is ahead of the service's"
    ),
    "headrace_work_failing": Figure("gauge", ("task",), "pieces of work that failed when they were last tried"),
    "headrace_http_request_seconds": Figure(
        "histogram", ("method", "route", "status"), "time until an answer began; of one that is streamed, no more"
    ),
}
Found = Iterable[tuple[tuple[str, ...], float]]
"""Values of one figure by its labels."""


class NotReady(NamedTuple):
    """Why a service should get no requests now."""

    code: str
    """Of docs/errors.md."""
    said: str
    """What is the matter and what to do, for those who run it."""


class Metrics(Collector):
    """Makes the figures."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it looks at
        self,
        core: Core,
        nodes: Nodes,
        scheduler: Scheduler,
        promises: Promises,
        policies: Policies,
        health: Health,
        halts: Halts,
    ) -> None:
        """Look at these parts."""
        self._halts = halts
        self._core = core
        self._nodes = nodes
        self._scheduler = scheduler
        self._promises = promises
        self._policies = policies
        self._health = health
        self._found: dict[str, Found] = {}
        self._reading = Patient(self._of_store, PATIENCE_S)
        disable_created_metrics()  # type: ignore[no-untyped-call] # when it was first seen doubles every figure
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        requests = FIGURES["headrace_http_request_seconds"]
        self._requests = Histogram(
            "headrace_http_request_seconds",
            requests.meaning,
            requests.labels,
            buckets=_SECONDS,
            registry=self._registry,
        )

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    async def text(self) -> bytes:
        """Return all figures as Prometheus reads them; those of the store are left out while it can't be read."""
        lag_s = await _turn_s()
        reasons = await self.not_ready()
        running = self._scheduler.running_by_node()
        found: dict[str, Found] = {
            "headrace_info": [((version("headrace-api"),), 1)],
            "headrace_ready": [((), not reasons)],
            "headrace_leads": [((), 1)],
            "headrace_event_loop_lag_seconds": [((), lag_s)],
            "headrace_transfers_in_line": [((), self._scheduler.in_line)],
            "headrace_transfer_rate_bytes": [((), self._scheduler.rate_bps / _BITS_A_BYTE)],
            "headrace_transfer_bytes_total": [((), self._scheduler.moved_bytes)],
            "headrace_promises_missed_total": [((), self._promises.missed)],
            "headrace_changes_total": self._core.outbox.written.items(),
            "headrace_work_failing": _each(Counter(one.task for one in self._core.jobs.troubles.values())),
        }
        elsewhere = self._core.audit.elsewhere
        if elsewhere is not None:
            found["headrace_audit_unsent"] = [((), elsewhere.unsent)]
        causes, read = await asyncio.gather(
            self._health.causes(), _nothing() if self._health.silent else self._reading.value()
        )
        found["headrace_health_cause"] = _each(Counter(cause.code.value for cause in causes))
        # Where the store can't be read, or does not answer, `headrace_ready` tells it.
        of_store, nodes = read or ({}, {})
        found |= of_store
        attached = {key: self._nodes.attached(key) for key in nodes}
        found["headrace_node_attached"] = [((name,), attached[key] is not None) for key, name in nodes.items()]
        found["headrace_node_running"] = [((name,), running.get(key, 0)) for key, name in nodes.items()]
        found["headrace_node_clock_skew_seconds"] = [
            ((nodes[key],), live.clock_skew_ms / _MS_A_SECOND) for key, live in attached.items() if live is not None
        ]
        self._found = found
        return generate_latest(self._registry)

    async def not_ready(self) -> "list[NotReady]":
        """Return why the service should get no requests now; empty when it should. Takes a few seconds at most."""
        reasons = []
        if self._core.broker.closing:
            reasons.append(NotReady("shutting_down", "this process is about to end"))
        if self._policies.active is None and self._policies.unproven is None:
            reasons.append(NotReady("policy_missing", "there is no active policy, so nothing is allowed; publish one"))
        causes = [*await self._health.of_writes(), *self._health.of_clock(), *self._health.of_standstill()]
        return [*reasons, *(NotReady(cause.code.value, f"{cause.sentence}; {cause.what_to_do}") for cause in causes)]

    async def _of_store(self) -> tuple[dict[str, Found], dict[str, str]] | None:
        """Return the figures of the store, and the nodes' names by their keys; nothing when it can't be read."""
        try:
            async with self._core.database.read() as tx:
                open_ = dict.fromkeys(m.OPEN_STATES, 0) | {row.state: row.of_state for row in await tx.execute(_OPEN)}
                at_risk = await tx.scalar(_AT_RISK) or 0
                surveying = await tx.scalar(_SURVEYING) or 0
                nodes = {key: name for key, name, _ in await tx.execute(_NODES)}
                halts = await self._halts.counts(tx)
        except SQLAlchemyError:
            return None
        figures: dict[str, Found] = {
            "headrace_transfers": _each(open_),
            "headrace_promises_at_risk": [((), at_risk)],
            "headrace_plans_surveying": [((), surveying)],
            "headrace_halts": _each(halts),
        }
        return figures, nodes

    def collect(self) -> Iterator[Metric]:
        """Give what was found last to the library."""
        for name, values in self._found.items():
            figure = FIGURES[name]
            family = (
                CounterMetricFamily(name, figure.meaning, labels=figure.labels)
                if figure.kind == "counter"
                else GaugeMetricFamily(name, figure.meaning, labels=figure.labels)
            )
            for labels, value in values:
                family.add_metric(labels, float(value))
            yield family


def figures_of_relay(*, ready: bool) -> bytes:
    """Return the figures of a process that passes requests on to the one that leads."""
    registry = CollectorRegistry()
    values = {"headrace_ready": ready, "headrace_leads": False}
    for name, value in values.items():
        Gauge(name, FIGURES[name].meaning, registry=registry).set(value)
    Gauge("headrace_info", FIGURES["headrace_info"].meaning, FIGURES["headrace_info"].labels, registry=registry).labels(
        version("headrace-api")
    ).set(1)
    return generate_latest(registry)


def _each(counts: Mapping[str, int]) -> Found:
    return [((label,), count) for label, count in counts.items()]


async def _nothing() -> None:
    """Take no time."""


async def _turn_s() -> float:
    """Return how long the event loop takes for a turn now."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await asyncio.sleep(0)
    return loop.time() - begin
