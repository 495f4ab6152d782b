"""Keys that no node may join with again, and tokens with which a node takes another key."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add both; nodes that are revoked keep their rows until somebody removes them."""
    op.create_table(
        "retired_keys",
        sa.Column("key", sa.String(60), primary_key=True),
        sa.Column("node_name", sa.String(120), nullable=False),
        sa.Column("reason", sa.String(16), nullable=False),
        sa.Column("at", sa.String(24), nullable=False),
    )
    op.add_column("join_tokens", sa.Column("replaces", sa.String(40)))
