"""First tables. Text columns of 24 characters are times, lists of names are lines."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make every table."""
    _people()
    _site()
    _work()


def _people() -> None:
    """People and what they sign in with."""
    op.create_table(
        "people",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("name_key", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("name_key", name=op.f("uq_people_name_key")),
    )
    op.create_table(
        "invitations",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("expires", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_invitations_person")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_invitations")),
    )
    with op.batch_alter_table("invitations", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_invitations_person"), ["person"], unique=False)

    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("expires", sa.String(length=24), nullable=False),
        sa.Column("last_used", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_sessions_person")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_sessions")),
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sessions_person"), ["person"], unique=False)

    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("agent", sa.String(length=120), nullable=True),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("expires", sa.String(length=24), nullable=False),
        sa.Column("last_used", sa.String(length=24), nullable=True),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_tokens_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tokens_person"), ["person"], unique=False)


def _site() -> None:
    """Nodes, endpoints, policies, audit."""
    op.create_table(
        "audit",
        sa.Column("sequence", _SEQUENCE, nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_audit")),
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index("ix_audit_kind", ["kind"], unique=False)
        batch_op.create_index("ix_audit_person", ["person"], unique=False)

    op.create_table(
        "nodes",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("key", sa.String(length=60), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("version", sa.String(length=40), nullable=False),
        sa.Column("enrolled", sa.String(length=24), nullable=False),
        sa.Column("last_seen", sa.String(length=24), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
        sa.UniqueConstraint("key", name=op.f("uq_nodes_key")),
        sa.UniqueConstraint("name", name=op.f("uq_nodes_name")),
    )
    op.create_table(
        "policies",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("author", sa.String(length=40), nullable=False),
        sa.Column("publisher", sa.String(length=40), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("published", sa.String(length=24), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_policies")),
    )
    op.create_table(
        "endpoints",
        sa.Column("pk", sa.String(length=40), nullable=False),
        sa.Column("node_key", sa.String(length=60), nullable=False),
        sa.Column("root", sa.String(length=120), nullable=False),
        sa.Column("access", sa.String(length=8), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["node_key"], ["nodes.key"], name=op.f("fk_endpoints_node_key")),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_endpoints")),
        sa.UniqueConstraint("node_key", "root", name=op.f("uq_endpoints_node_key_root")),
    )
    op.create_table(
        "join_tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("made_by", sa.String(length=40), nullable=True),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("expires", sa.String(length=24), nullable=False),
        sa.Column("used_at", sa.String(length=24), nullable=True),
        sa.Column("used_by", sa.String(length=60), nullable=True),
        sa.ForeignKeyConstraint(["made_by"], ["people.id"], name=op.f("fk_join_tokens_made_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_join_tokens")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_join_tokens_secret_hash")),
    )
    op.create_table(
        "endpoint_names",
        sa.Column("name_key", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("endpoint", sa.String(length=40), nullable=False),
        sa.Column("main", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.pk"], name=op.f("fk_endpoint_names_endpoint")),
        sa.PrimaryKeyConstraint("name_key", name=op.f("pk_endpoint_names")),
    )
    with op.batch_alter_table("endpoint_names", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_endpoint_names_endpoint"), ["endpoint"], unique=False)


def _work() -> None:
    """Plans, consent, transfers, receipts."""
    op.create_table(
        "plans",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("requester", sa.String(length=40), nullable=False),
        sa.Column("agent", sa.String(length=120), nullable=True),
        sa.Column("door", sa.String(length=16), nullable=False),
        sa.Column("words", sa.Text(), nullable=True),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("base", sa.String(length=40), nullable=True),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("expires", sa.String(length=24), nullable=True),
        sa.Column("starts", sa.String(length=24), nullable=True),
        sa.Column("document", sa.Text(), nullable=True),
        sa.Column("card", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("source_node", sa.String(length=60), nullable=False),
        sa.Column("destination_node", sa.String(length=60), nullable=False),
        sa.Column("deletes", sa.Boolean(), nullable=False),
        sa.Column("obligations", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.String(length=80), nullable=True),
        sa.Column("decision_context", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["base"], ["plans.id"], name=op.f("fk_plans_base")),
        sa.ForeignKeyConstraint(["requester"], ["people.id"], name=op.f("fk_plans_requester")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plans")),
        sa.UniqueConstraint("digest", name=op.f("uq_plans_digest")),
    )
    with op.batch_alter_table("plans", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_plans_requester"), ["requester"], unique=False)
        batch_op.create_index(batch_op.f("ix_plans_state"), ["state"], unique=False)

    op.create_table(
        "approvals",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("plan", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("policy_version", sa.String(length=80), nullable=False),
        sa.Column("requester", sa.String(length=40), nullable=False),
        sa.Column("approver", sa.String(length=40), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("nonce", sa.String(length=32), nullable=False),
        sa.Column("at", sa.String(length=24), nullable=False),
        sa.Column("expires", sa.String(length=24), nullable=False),
        sa.Column("used_by", sa.String(length=40), nullable=True),
        sa.Column("used_at", sa.String(length=24), nullable=True),
        sa.CheckConstraint("approver <> requester", name=op.f("ck_approvals_never_the_requester")),
        sa.ForeignKeyConstraint(["approver"], ["people.id"], name=op.f("fk_approvals_approver")),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_approvals_plan")),
        sa.ForeignKeyConstraint(["requester"], ["people.id"], name=op.f("fk_approvals_requester")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("nonce", name=op.f("uq_approvals_nonce")),
        sa.UniqueConstraint("plan", "approver", name=op.f("uq_approvals_plan_approver")),
    )
    with op.batch_alter_table("approvals", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_approvals_plan"), ["plan"], unique=False)

    op.create_table(
        "confirmations",
        sa.Column("plan", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("at", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_confirmations_person")),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_confirmations_plan")),
        sa.PrimaryKeyConstraint("plan", name=op.f("pk_confirmations")),
    )
    op.create_table(
        "transfers",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("plan", sa.String(length=40), nullable=False),
        sa.Column("plan_digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("state_reason", sa.Text(), nullable=False),
        sa.Column("requester", sa.String(length=40), nullable=False),
        sa.Column("agent", sa.String(length=120), nullable=True),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("source_node", sa.String(length=60), nullable=False),
        sa.Column("destination_node", sa.String(length=60), nullable=False),
        sa.Column("canonical_sentence", sa.Text(), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("starts", sa.String(length=24), nullable=True),
        sa.Column("started", sa.String(length=24), nullable=True),
        sa.Column("ended", sa.String(length=24), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("only_failed", sa.Boolean(), nullable=False),
        sa.Column("tidied", sa.Boolean(), nullable=False),
        sa.Column("rate_ceiling_bps", sa.BigInteger(), nullable=True),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("receipt", sa.String(length=40), nullable=True),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_transfers_plan")),
        sa.ForeignKeyConstraint(["requester"], ["people.id"], name=op.f("fk_transfers_requester")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transfers")),
        sa.UniqueConstraint("plan", name=op.f("uq_transfers_plan")),
    )
    with op.batch_alter_table("transfers", schema=None) as batch_op:
        batch_op.create_index("ix_transfers_requester_created", ["requester", "created"], unique=False)
        batch_op.create_index(batch_op.f("ix_transfers_state"), ["state"], unique=False)

    op.create_table(
        "attempts",
        sa.Column("transfer", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started", sa.String(length=24), nullable=False),
        sa.Column("ended", sa.String(length=24), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("code", sa.String(length=60), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("statements", sa.Text(), nullable=False),
        sa.Column("failed_list", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["transfer"], ["transfers.id"], name=op.f("fk_attempts_transfer")),
        sa.PrimaryKeyConstraint("transfer", "number", name=op.f("pk_attempts")),
    )
    op.create_table(
        "receipts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("transfer", sa.String(length=40), nullable=False),
        sa.Column("plan_digest", sa.String(length=64), nullable=False),
        sa.Column("created", sa.String(length=24), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("files_list", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["transfer"], ["transfers.id"], name=op.f("fk_receipts_transfer")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_receipts")),
    )
    with op.batch_alter_table("receipts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_receipts_transfer"), ["transfer"], unique=False)

    op.create_table(
        "reservations",
        sa.Column("transfer", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("agent", sa.String(length=120), nullable=True),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name=op.f("fk_reservations_person")),
        sa.ForeignKeyConstraint(["transfer"], ["transfers.id"], name=op.f("fk_reservations_transfer")),
        sa.PrimaryKeyConstraint("transfer", name=op.f("pk_reservations")),
    )
    with op.batch_alter_table("reservations", schema=None) as batch_op:
        batch_op.create_index("ix_reservations_person_day", ["person", "day"], unique=False)

    op.create_table(
        "transfer_events",
        sa.Column("transfer", sa.String(length=40), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=24), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["transfer"], ["transfers.id"], name=op.f("fk_transfer_events_transfer")),
        sa.PrimaryKeyConstraint("transfer", "sequence", name=op.f("pk_transfer_events")),
    )
