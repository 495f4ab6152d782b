"""The networks from which one person has signed in have a limit of their own."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Leave those of before to nobody: each gets its person at the next sign-in from there."""
    op.add_column("sign_in_places", sa.Column("person", sa.String(length=40), nullable=False, server_default=""))
    op.create_index(op.f("ix_sign_in_places_person"), "sign_in_places", ["person", "seen"])
