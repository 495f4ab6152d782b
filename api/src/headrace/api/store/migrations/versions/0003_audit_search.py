"""Time and subject of audit events as columns, so that everything about one transfer can be asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns, filled from the events themselves, and their indexes."""
    with op.batch_alter_table("audit") as audit:
        audit.add_column(sa.Column("at", sa.String(length=24), nullable=False, server_default=""))
        audit.add_column(sa.Column("subject", sa.String(length=200), nullable=False, server_default=""))
    if op.get_bind().dialect.name == "sqlite":  # stores on PostgreSQL are younger than this
        op.execute("UPDATE audit SET at = json_extract(body, '$.at'), subject = json_extract(body, '$.subject')")
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_audit_subject", "audit", ["subject"])
