"""Versions know whether their author proposed them in person, and on top of which version.

What was proposed before knows neither, so it is proposed again before anybody publishes it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    """Add both; nothing that was proposed before counts as a person's word."""
    for table in ("policies", "qos_versions"):
        op.add_column(table, sa.Column("in_person", sa.Boolean(), nullable=False, server_default=sa.false()))
        op.add_column(table, sa.Column("base", sa.Integer(), nullable=False, server_default="0"))
