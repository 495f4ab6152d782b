"""Links, classes and calendars have versions, and plans and transfers say their class."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Begin without versions: the service makes the first; transfers of before are of the class that they ran in."""
    op.create_table(
        "qos_versions",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("author", sa.String(length=40), nullable=False),
        sa.Column("publisher", sa.String(length=40), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("published", sa.String(length=24), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_qos_versions")),
    )
    op.add_column("plans", sa.Column("qos_class", sa.String(length=64), nullable=False, server_default="bulk"))
    op.add_column("transfers", sa.Column("qos_class", sa.String(length=64), nullable=False, server_default="bulk"))
    op.execute("UPDATE transfers SET qos_class = 'background' WHERE priority < 0")
    op.execute("UPDATE transfers SET qos_class = 'priority' WHERE priority > 0")
