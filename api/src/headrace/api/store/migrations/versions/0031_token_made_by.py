"""Plans keep who made the token of a service account that asked for them."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Leave open who made the tokens of before; those plans live for days at most."""
    op.add_column("plans", sa.Column("token_made_by", sa.String(length=40), nullable=True))
