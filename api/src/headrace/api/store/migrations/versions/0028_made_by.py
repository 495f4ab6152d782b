"""Links and tokens say who made them, and sessions with which passkey they were begun, so that they end with these."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Begin with nobody and none: what was made before says neither."""
    op.add_column("invitations", sa.Column("made_by", sa.String(length=40), nullable=True))
    op.add_column("tokens", sa.Column("made_by", sa.String(length=40), nullable=True))
    op.add_column("sessions", sa.Column("passkey", sa.Text(), nullable=True))
