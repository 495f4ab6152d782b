"""How much transfers and nodes moved over time."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Make the table; nothing was sampled before."""
    op.create_table(
        "throughput",
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("subject", sa.String(60), primary_key=True),
        sa.Column("step_s", sa.Integer(), primary_key=True),
        sa.Column("at_s", sa.BigInteger(), primary_key=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_throughput_step_at", "throughput", ["step_s", "at_s"])
