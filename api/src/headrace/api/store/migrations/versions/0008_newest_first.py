"""Plans and transfers are listed, and searched, from the newest on."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the indexes by which lists go."""
    op.create_index("ix_transfers_created", "transfers", ["created", "id"])
    op.create_index("ix_plans_requester_created", "plans", ["requester", "created"])
