"""Since when an issuer lets nobody in with an identity."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Take every identity from before as one that is."""
    op.add_column("identities", sa.Column("gone", sa.String(length=24)))
