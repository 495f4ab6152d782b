"""Consent keeps that the access of whoever gave it has ended since."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Let what there is count as before."""
    for table in ("confirmations", "approvals"):
        op.add_column(table, sa.Column("taken_back", sa.Boolean(), server_default=sa.false(), nullable=False))
