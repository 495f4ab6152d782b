"""Passkeys of people, and which proofs were used."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Begin with none."""
    op.create_table(
        "passkeys",
        sa.Column("id", sa.String(length=1400), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("last_used", sa.String(length=24)),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_passkeys_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkeys")),
    )
    op.create_index(op.f("ix_passkeys_person"), "passkeys", ["person"])
    op.create_table(
        "used_nonces",
        sa.Column("nonce", sa.String(length=80), nullable=False),
        sa.Column("until", sa.String(length=24), nullable=False),
        sa.PrimaryKeyConstraint("nonce", name=op.f("pk_used_nonces")),
    )
    op.create_index(op.f("ix_used_nonces_until"), "used_nonces", ["until"])
