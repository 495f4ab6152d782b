"""What limited the last attempt of a transfer."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column; nothing was measured so before."""
    op.add_column("transfers", sa.Column("diagnosis", sa.Text()))
