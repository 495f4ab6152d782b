"""Plans and transfers know which project they are for, and lists of one find them by indexes of these alone."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"

_ENDS = ["source_endpoint", "destination_endpoint"]
_INDEXES = (
    ("ix_plans_requester_project", "plans", ["requester", "project", "created", "id", "state", "unstarted", "expires"]),
    ("ix_transfers_project_created", "transfers", ["project", "created", "id", "state"]),
    ("ix_transfers_requester_project", "transfers", ["requester", "project", "created", "id", "state"]),
)


def upgrade() -> None:
    """Leave what there is to no project."""
    for table in ("plans", "transfers"):
        op.add_column(table, sa.Column("project", sa.String(120)))
    for name, table, columns in _INDEXES:
        last = ["requester"] if name == "ix_transfers_project_created" else []
        of_a_project = sa.text("project IS NOT NULL")
        op.create_index(
            name, table, [*columns, *_ENDS, *last], sqlite_where=of_a_project, postgresql_where=of_a_project
        )
