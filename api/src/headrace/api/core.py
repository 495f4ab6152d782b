"""What every use case stands on."""

from dataclasses import dataclass

from headrace.api.audit.chain import Audit
from headrace.api.audit.strangers import Strangers
from headrace.api.clock import Clock
from headrace.api.clock_doubt import ClockDoubt
from headrace.api.data_folder import OwnFolder
from headrace.api.events.broker import Broker
from headrace.api.events.outbox import Outbox
from headrace.api.events.reactions import Reactions
from headrace.api.jobs.port import Jobs
from headrace.api.settings import Settings
from headrace.api.store import Database
from headrace.api.underway import Underway
from headrace.engine import Hub


@dataclass(frozen=True, slots=True)
class Core:
    """The store, the audit chain, what strangers cause in it, the clock, settings, and the ways to everybody else."""

    database: Database
    audit: Audit
    strangers: Strangers
    clock: Clock
    steady: Clock
    """Measures waits; see `clock.steady`."""
    doubt: ClockDoubt
    """Asked before anything is removed or ended because of its age."""
    settings: Settings
    broker: Broker
    reactions: Reactions
    outbox: Outbox
    jobs: Jobs
    hub: Hub
    underway: Underway
    folder: OwnFolder
