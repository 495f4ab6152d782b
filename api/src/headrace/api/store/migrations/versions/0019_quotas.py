"""Files that a reservation takes, and the quotas under which it counts."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add column and table; nothing was counted so before."""
    op.add_column("reservations", sa.Column("files", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "quota_keys",
        sa.Column("key", sa.String(1100), primary_key=True),
        sa.Column("transfer", sa.String(40), sa.ForeignKey("transfers.id"), primary_key=True),
    )
    op.create_index("ix_quota_keys_transfer", "quota_keys", ["transfer"])
