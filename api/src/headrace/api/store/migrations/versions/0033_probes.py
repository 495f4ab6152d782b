"""Transfers that are probes keep what their legs measured."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """None was a probe before."""
    op.add_column("transfers", sa.Column("probe", sa.Text()))
