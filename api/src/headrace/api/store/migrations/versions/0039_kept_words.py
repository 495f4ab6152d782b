"""A transfer keeps who paused it, and who set its rate and class, so that no assistant takes that back."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """Nobody is known to have said so of those from before."""
    op.add_column("transfers", sa.Column("kept", sa.Text(), nullable=False, server_default="{}"))
