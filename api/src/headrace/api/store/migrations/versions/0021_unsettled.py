"""What a person has running is found without reading all that they ever ran."""

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the index."""
    op.create_index("ix_reservations_person_settled", "reservations", ["person", "settled"])
