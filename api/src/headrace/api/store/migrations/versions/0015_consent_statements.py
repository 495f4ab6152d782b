"""Signed statements of consent, and seals of passkeys; what is from before has none, and is given again."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the columns, empty."""
    for table in ("confirmations", "approvals"):
        op.add_column(table, sa.Column("statement", sa.Text(), nullable=False, server_default=""))
    op.add_column("passkeys", sa.Column("seal", sa.String(length=64), nullable=False, server_default=""))
