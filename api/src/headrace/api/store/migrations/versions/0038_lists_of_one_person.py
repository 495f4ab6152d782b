"""Lists of an endpoint, of a person and an endpoint, and of an assistant read no row that does not fit.

So do lists of a person's plans for who may approve some of them.
"""

from collections.abc import Iterator, Mapping

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"

_AT_ONCE = 1000
_OPEN = ["state", "unstarted", "expires"]
_ENDS = ["source_endpoint", "destination_endpoint"]
_INDEXES = (
    ("ix_transfers_agent_created", "transfers", ["agent", "created", "id", "state", *_ENDS, "requester"]),
    ("ix_transfers_source_endpoint_created", "transfers", ["source_endpoint", "created", "id", "state"]),
    ("ix_transfers_destination_endpoint_created", "transfers", ["destination_endpoint", "created", "id", "state"]),
    ("ix_transfers_requester_source_endpoint", "transfers", ["requester", "source_endpoint", "created", "id", "state"]),
    (
        "ix_transfers_requester_destination_endpoint",
        "transfers",
        ["requester", "destination_endpoint", "created", "id", "state"],
    ),
    ("ix_transfers_requester_agent", "transfers", ["requester", "agent", "created", "id", "state", *_ENDS]),
    ("ix_plans_requester_source_endpoint", "plans", ["requester", "source_endpoint", "created", "id", *_OPEN]),
    (
        "ix_plans_requester_destination_endpoint",
        "plans",
        ["requester", "destination_endpoint", "created", "id", *_OPEN],
    ),
    ("ix_plans_requester_agent", "plans", ["requester", "agent", "created", "id", *_OPEN, *_ENDS]),
)


def upgrade() -> None:
    """Make the indexes, and say whose approvals plans need."""
    op.drop_index("ix_transfers_agent_created", table_name="transfers")
    for name, table, columns in _INDEXES:
        op.create_index(name, table, columns)
    approvers = op.create_table(
        "plan_approvers",
        sa.Column("name", sa.String(1100), primary_key=True),
        sa.Column("requester", sa.String(40), primary_key=True),
        sa.Column("created", sa.String(24), primary_key=True),
        sa.Column(
            "plan", sa.String(40), sa.ForeignKey("plans.id", name="fk_plan_approvers_plan_plans"), primary_key=True
        ),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    needing = sa.text("SELECT id, requester, created, obligations FROM plans WHERE obligations <> ''")
    # Row by row: at some sites every plan needs an approval.
    rows = connection.execute(needing, execution_options={"stream_results": True})
    for part in rows.partitions(_AT_ONCE):
        found = [one for plan in part for one in _approvers(*plan)]
        if found:
            connection.execute(sa.insert(approvers), found)
    op.create_index("ix_plan_approvers_plan", "plan_approvers", ["plan"])


def _approvers(plan: str, requester: str, created: str, obligations: str) -> Iterator[Mapping[str, str]]:
    """Yield who has to approve a plan, by its needs (`approval:NAME:COUNT`, one a line)."""
    needs = [line for line in obligations.split("\n") if line.startswith("approval:")]
    for name in {need.removeprefix("approval:").rpartition(":")[0] for need in needs}:
        yield {"name": name, "requester": requester, "created": created, "plan": plan}
