"""Plans that are open have an index of their own, with all that tells for whom they wait.

An inbox read each open plan to pass it over or to count it, and a plan is some 10 KB.
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"

_NAME = "ix_plans_state_unstarted_expires"
_COLUMNS = ["state", "unstarted", "expires", "created", "id", "requester", "token_made_by", "policy_version"]


def upgrade() -> None:
    """Make it of those that were not started alone: few, among a million that were."""
    op.drop_index(_NAME, table_name="plans")
    op.create_index(
        _NAME,
        "plans",
        _COLUMNS,
        sqlite_where=sa.text("unstarted IS 1"),
        postgresql_where=sa.text("unstarted IS true"),
    )
