"""Transfers keep what was measured of their connections and stages."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Begin with nothing measured."""
    op.add_column("transfers", sa.Column("measured", sa.Text()))
