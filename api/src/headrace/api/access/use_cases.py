"""Everything the service can do, by room; `Acting` calls these."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.api.access.change_feed import ChangeFeed
from headrace.api.access.change_limit import ChangeLimit
from headrace.api.access.health import Health
from headrace.api.access.metrics import Metrics
from headrace.api.audit.chain import Audit
from headrace.api.people.accounts import People
from headrace.api.people.passkeys import PersonPasskeys
from headrace.api.people.proofs import Proofs
from headrace.api.planning.consent import Consent
from headrace.api.planning.intake import Intake
from headrace.api.planning.locations import Locations
from headrace.api.planning.losses import Losses
from headrace.api.planning.model_reading import ModelReading
from headrace.api.planning.plan_queries import Plans
from headrace.api.planning.policy_questions import PolicyQuestions
from headrace.api.policy.qos import QosVersions
from headrace.api.policy.quotas import Quotas
from headrace.api.policy.versions import Policies
from headrace.api.sites.endpoints import Endpoints
from headrace.api.sites.halts import Halts
from headrace.api.sites.nodes import Nodes
from headrace.api.sites.trashes import Trashes
from headrace.api.transfers.cleanup import Cleanup
from headrace.api.transfers.control import Control
from headrace.api.transfers.outlook import Outlook
from headrace.api.transfers.promises import Promises
from headrace.api.transfers.queries import Transfers
from headrace.api.transfers.receipts import Receipts
from headrace.api.transfers.scheduler import Scheduler
from headrace.api.transfers.shares import Shares
from headrace.api.transfers.submit import Submissions

if TYPE_CHECKING:
    from headrace.api.tracing import Traces


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases of one service."""

    audit: Audit
    change_limit: ChangeLimit
    changes: ChangeFeed
    consent: Consent
    endpoints: Endpoints
    scheduler: Scheduler
    halts: Halts
    health: Health
    metrics: Metrics
    nodes: Nodes
    passkeys: PersonPasskeys
    people: People
    locations: Locations
    losses: Losses
    intake: Intake
    plans: Plans
    proofs: Proofs
    policies: Policies
    policy_questions: PolicyQuestions
    qos: QosVersions
    quotas: Quotas
    receipts: Receipts
    shares: Shares
    outlook: Outlook
    promises: Promises
    control: Control
    submissions: Submissions
    cleanup: Cleanup
    transfers: Transfers
    trashes: Trashes
    traces: "Traces | None" = None
    """Where traces are on."""
    model: ModelReading | None = None
    """Where a language model is asked."""
