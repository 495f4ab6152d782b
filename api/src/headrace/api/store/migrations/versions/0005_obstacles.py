"""Since when an obstacle keeps a transfer from moving."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the time."""
    op.add_column("transfers", sa.Column("blocked_since", sa.String(length=24), nullable=True))
