"""What everything about transfers works with."""

from dataclasses import dataclass

from headrace.api.core import Core
from headrace.api.policy.quotas import Quotas
from headrace.api.signing.signer import Signer
from headrace.api.sites.nodes import Nodes
from headrace.api.transfers.history import History
from headrace.api.transfers.outlook import Outlook
from headrace.api.transfers.promises import Promises
from headrace.api.transfers.receipts import Receipts
from headrace.api.transfers.shares import Shares
from headrace.api.transfers.throughput import Throughput


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts."""

    core: Core
    nodes: Nodes
    signer: Signer
    history: History
    receipts: Receipts
    throughput: Throughput
    quotas: Quotas
    shares: Shares
    outlook: Outlook
    promises: Promises
