"""Everything the service can do, by room; `Acting` calls these."""

from dataclasses import dataclass

from headrace.api.audit import Audit
from headrace.api.consent import Consent
from headrace.api.endpoints import Endpoints
from headrace.api.executor import Executor
from headrace.api.health import Health
from headrace.api.nodes import Nodes
from headrace.api.people import People
from headrace.api.places import Places
from headrace.api.planner import Planner
from headrace.api.plans import Plans
from headrace.api.policies import Policies
from headrace.api.receipts import Receipts
from headrace.api.tidying import Tidying
from headrace.api.transfers import Transfers


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases of one service."""

    audit: Audit
    consent: Consent
    endpoints: Endpoints
    executor: Executor
    health: Health
    nodes: Nodes
    people: People
    places: Places
    planner: Planner
    plans: Plans
    policies: Policies
    receipts: Receipts
    tidying: Tidying
    transfers: Transfers
