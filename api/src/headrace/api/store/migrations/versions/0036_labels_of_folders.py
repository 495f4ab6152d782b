"""An endpoint keeps the labels of folders in it."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """No folder has labels of its own yet."""
    op.add_column("endpoints", sa.Column("folder_labels", sa.Text(), nullable=False, server_default="{}"))
