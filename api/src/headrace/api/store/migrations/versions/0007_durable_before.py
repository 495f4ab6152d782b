"""Durable bytes when the newest attempt of a transfer began."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the count; so far what was stored of the progress was that of the attempt before."""
    op.add_column("transfers", sa.Column("durable_before", sa.BigInteger(), server_default="0", nullable=False))
    if op.get_bind().dialect.name != "sqlite":
        return  # stores on PostgreSQL are younger than this
    counted = "coalesce(json_extract(progress, '$.bytes_durable'), 0)"
    op.execute(sa.text(f"UPDATE transfers SET durable_before = {counted}"))  # noqa: S608 - a constant
