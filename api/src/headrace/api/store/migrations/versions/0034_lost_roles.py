"""An identity keeps when its person lost the last role by signing in with it."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Say of nobody from before that it was so."""
    op.add_column("identities", sa.Column("lost_role", sa.String(length=24), nullable=True))
    op.create_index(op.f("ix_identities_lost_role"), "identities", ["lost_role"])
