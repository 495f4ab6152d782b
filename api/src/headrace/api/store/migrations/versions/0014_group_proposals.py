"""What groups give is proposed by one administrator and published by another."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Begin with nothing proposed."""
    op.create_table(
        "group_proposals",
        sa.Column("id", sa.String(length=40), primary_key=True),
        sa.Column("author", sa.String(length=40), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("bindings", sa.Text(), nullable=False),
    )
