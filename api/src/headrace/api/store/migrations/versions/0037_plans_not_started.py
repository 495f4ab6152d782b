"""Plans keep whether they were started, so that lists of those that were not pass over all others."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"

_BEFORE = (
    ("ix_plans_requester_state_created", ["requester", "state", "created", "id"]),
    ("ix_plans_state_expires", ["state", "expires"]),
    ("ix_plans_created", ["created", "id"]),
)
_NOW = (
    ("ix_plans_requester_state_unstarted_created", ["requester", "state", "unstarted", "created", "id"]),
    ("ix_plans_state_unstarted_expires", ["state", "unstarted", "expires"]),
    ("ix_plans_unstarted_created", ["unstarted", "created", "id"]),
)


def upgrade() -> None:
    """Mark the few that were not started: the rows of all others stay as they are, whatever their length."""
    op.add_column("plans", sa.Column("unstarted", sa.Boolean(), nullable=False, server_default=sa.false()))
    # By their ids, which an index has: the table itself is some 10 KB a plan.
    op.execute(
        "UPDATE plans SET unstarted = true WHERE id IN "
        "(SELECT plans.id FROM plans WHERE NOT EXISTS (SELECT 1 FROM transfers WHERE transfers.plan = plans.id))"
    )
    for name, _ in _BEFORE:
        op.drop_index(name, table_name="plans")
    for name, columns in _NOW:
        op.create_index(name, "plans", columns)
