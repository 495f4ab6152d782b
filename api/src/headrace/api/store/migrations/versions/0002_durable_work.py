"""Wishes and the fence as columns of transfers, requests kept whole, jobs, and the outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what lets work outlive the process that does it."""
    with op.batch_alter_table("plans") as plans:
        plans.add_column(sa.Column("request", sa.Text(), nullable=True))
    with op.batch_alter_table("transfers") as transfers:
        transfers.add_column(sa.Column("wish", sa.String(length=8), nullable=False, server_default="run"))
        transfers.add_column(sa.Column("wish_reason", sa.Text(), nullable=False, server_default=""))
        transfers.add_column(sa.Column("fence", sa.Integer(), nullable=False, server_default="1"))
        transfers.add_column(sa.Column("priority", sa.Integer(), nullable=False, server_default="0"))
        transfers.add_column(sa.Column("failures", sa.Integer(), nullable=False, server_default="0"))
        transfers.add_column(sa.Column("not_before", sa.String(length=24), nullable=True))
        transfers.add_column(sa.Column("away_since", sa.String(length=24), nullable=True))
        transfers.add_column(sa.Column("last_error", sa.Text(), nullable=False, server_default=""))
        transfers.add_column(sa.Column("resent_before", sa.BigInteger(), nullable=False, server_default="0"))
    # What was paused before wishes were columns stays paused.
    op.execute("UPDATE transfers SET wish = 'pause', wish_reason = state_reason WHERE state = 'paused'")
    op.create_table(
        "jobs",
        sa.Column("task", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=80), nullable=False),
        sa.Column("due", sa.String(length=24), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("task", "subject", name=op.f("pk_jobs")),
    )
    op.create_table(
        "outbox",
        sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.String(length=24), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=80), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_outbox")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_outbox_at"), "outbox", ["at"])
