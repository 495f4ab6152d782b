"""What another host has of the audit chain."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the table; nothing has been sent."""
    op.create_table(
        "audit_sent",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
    )
