"""With what a provider is asked whether somebody is still there."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Watch people from their next sign-in on."""
    op.add_column("identities", sa.Column("grant_hidden", sa.Text()))
