"""Halts: what operators have halted."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table of halts."""
    op.create_table(
        "halts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=120), nullable=False),
        sa.Column("subject_name", sa.String(length=120), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("at", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_halts_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_halts")),
        sa.UniqueConstraint("scope", "subject", name=op.f("uq_halts_scope_subject")),
    )
