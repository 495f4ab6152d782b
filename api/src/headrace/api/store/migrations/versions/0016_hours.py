"""Hours in which alone a transfer runs, when it goes on, and when it is to be done."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the columns; transfers from before have none of them."""
    op.add_column("transfers", sa.Column("goes_on", sa.String(24)))
    op.add_column("transfers", sa.Column("hours", sa.Text()))
    op.add_column("transfers", sa.Column("deadline", sa.String(24)))
