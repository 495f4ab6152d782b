"""What the attempts of a transfer moved on the day of its reservation."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the count; what is settled was moved."""
    op.add_column("reservations", sa.Column("moved", sa.BigInteger(), server_default="0", nullable=False))
    op.execute(sa.text("UPDATE reservations SET moved = bytes WHERE settled"))
