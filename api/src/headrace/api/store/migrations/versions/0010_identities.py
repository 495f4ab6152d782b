"""Identities of people elsewhere, what their groups give, and how each session was begun."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Take what people have as granted, and sessions from before as begun with a password, when they were made."""
    for name in ("granted_roles", "granted_groups"):
        op.add_column("people", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    op.execute(sa.text("UPDATE people SET granted_roles = roles, granted_groups = groups"))
    op.drop_index(op.f("ix_sessions_person"), table_name="sessions")
    op.rename_table("sessions", "sessions_before")
    if op.get_bind().dialect.name != "sqlite":  # where a table's key is an index with a name of its own
        op.drop_constraint(op.f("pk_sessions"), "sessions_before")
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("expires", sa.String(length=24), nullable=False),
        sa.Column("last_used", sa.String(length=24), nullable=False),
        sa.Column("authenticated", sa.String(length=24), nullable=False),
        sa.Column("method", sa.String(length=16), nullable=False),
        sa.Column("factors", sa.Text(), nullable=False),
        sa.Column("issuer", sa.String(length=300)),
        sa.Column("sid", sa.String(length=300)),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_sessions_person")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_person"), "sessions", ["person"])
    op.execute(
        sa.text(
            "INSERT INTO sessions (hash, person, created, expires, last_used, authenticated, method, factors) "
            "SELECT hash, person, created, expires, last_used, created, 'password', 'pwd' FROM sessions_before"
        )
    )
    op.drop_table("sessions_before")
    op.create_table(
        "identities",
        sa.Column("issuer", sa.String(length=300), nullable=False),
        sa.Column("subject", sa.String(length=300), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("seen", sa.String(length=24)),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_identities_person")),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_identities")),
    )
    op.create_index(op.f("ix_identities_person"), "identities", ["person"])
    op.create_table(
        "group_bindings",
        sa.Column("issuer", sa.String(length=300), nullable=False),
        sa.Column("group_name", sa.String(length=300), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("issuer", "group_name", name=op.f("pk_group_bindings")),
    )
