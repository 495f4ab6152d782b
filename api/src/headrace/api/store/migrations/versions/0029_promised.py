"""Transfers keep since when their deadlines stand against those of others."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Let what there is stand since it was submitted."""
    op.add_column("transfers", sa.Column("promised", sa.String(24)))
