"""The active policy has the signed statement of who published it; the next start adopts one of before."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the column, empty."""
    op.add_column("policies", sa.Column("statement", sa.Text(), nullable=False, server_default=""))
