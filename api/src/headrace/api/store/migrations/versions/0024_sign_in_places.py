"""The networks from which people have signed in are known again after a restart."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Begin with none: each is noted at the next sign-in from there."""
    op.create_table(
        "sign_in_places",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("seen", sa.String(length=24), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_sign_in_places")),
    )
    op.create_index(op.f("ix_sign_in_places_seen"), "sign_in_places", ["seen"])
