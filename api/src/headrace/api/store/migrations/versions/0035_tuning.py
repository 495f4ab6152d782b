"""A transfer keeps the streams and units that are set for it."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Nothing was set for those from before."""
    op.add_column("transfers", sa.Column("tuning", sa.Text(), nullable=False, server_default="{}"))
