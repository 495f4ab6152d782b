"""What every use case stands on."""

from dataclasses import dataclass

from headrace.api.audit.chain import Audit
from headrace.api.clock import Clock
from headrace.api.events.broker import Broker
from headrace.api.events.outbox import Outbox
from headrace.api.events.reactions import Reactions
from headrace.api.jobs.port import Jobs
from headrace.api.settings import Settings
from headrace.api.store import Database
from headrace.engine import Hub


@dataclass(frozen=True, slots=True)
class Core:
    """The store, its audit chain, the clock, settings, wake-ups, reactions, jobs, and the way to the nodes."""

    database: Database
    audit: Audit
    clock: Clock
    settings: Settings
    broker: Broker
    reactions: Reactions
    outbox: Outbox
    jobs: Jobs
    hub: Hub
