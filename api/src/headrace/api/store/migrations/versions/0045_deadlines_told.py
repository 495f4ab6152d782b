"""Transfers know what was told last of their deadline: nothing, that it is at risk, or that it was missed."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    """Nothing was told of any; of those that have ended late, that stays so."""
    op.add_column("transfers", sa.Column("deadline_told", sa.String(8), nullable=False, server_default=""))
