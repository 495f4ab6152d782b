"""Lists are found by state, endpoint, person, assistant and approver without reading what does not belong to them."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

_INDEXES = (
    ("ix_plans_requester_created", "plans", ["requester", "created", "id"]),
    ("ix_plans_requester_state_created", "plans", ["requester", "state", "created", "id"]),
    ("ix_plans_state_expires", "plans", ["state", "expires"]),
    ("ix_plans_created", "plans", ["created", "id"]),
    ("ix_plans_base", "plans", ["base"]),
    ("ix_transfers_tidied_state", "transfers", ["tidied", "state"]),
    ("ix_transfers_state_created", "transfers", ["state", "created", "id"]),
    ("ix_transfers_requester_created", "transfers", ["requester", "created", "id"]),
    ("ix_transfers_requester_state_created", "transfers", ["requester", "state", "created", "id"]),
    ("ix_transfers_agent_created", "transfers", ["agent", "created", "id"]),
    (
        "ix_transfers_source_endpoint_state_created",
        "transfers",
        ["source_endpoint", "state", "created", "id"],
    ),
    (
        "ix_transfers_destination_endpoint_state_created",
        "transfers",
        ["destination_endpoint", "state", "created", "id"],
    ),
    ("ix_audit_at", "audit", ["at", "sequence"]),
    ("ix_audit_kind", "audit", ["kind", "at", "sequence"]),
    ("ix_audit_person", "audit", ["person", "at", "sequence"]),
    ("ix_audit_subject", "audit", ["subject", "at", "sequence"]),
    ("ix_people_created", "people", ["created", "id"]),
    ("ix_people_name", "people", ["name"]),
)
_REPLACED = (
    ("ix_plans_requester", "plans"),
    ("ix_plans_state", "plans"),
    ("ix_plans_requester_created", "plans"),
    ("ix_transfers_state", "transfers"),
    ("ix_transfers_requester_created", "transfers"),
    ("ix_audit_at", "audit"),
    ("ix_audit_kind", "audit"),
    ("ix_audit_person", "audit"),
    ("ix_audit_subject", "audit"),
)


def upgrade() -> None:
    """Add the columns and indexes, and fill them from what there is."""
    for table in ("plans", "transfers"):
        for end in ("source_endpoint", "destination_endpoint"):
            op.add_column(table, sa.Column(end, sa.String(40), nullable=False, server_default=""))
    op.create_table(
        "transfer_approvers",
        sa.Column("name", sa.String(1100), primary_key=True),
        sa.Column("created", sa.String(24), primary_key=True),
        sa.Column(
            "transfer",
            sa.String(40),
            sa.ForeignKey("transfers.id", name="fk_transfer_approvers_transfer"),
            primary_key=True,
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_transfer_approvers_transfer", "transfer_approvers", ["transfer"])
    _name_endpoints()
    _name_approvers()
    for name, table in _REPLACED:
        op.drop_index(name, table)
    for name, table, columns in _INDEXES:
        op.create_index(name, table, columns)


def _name_endpoints() -> None:
    """Say by which endpoints plans and transfers go, from their places (`endpoint:/path`).

    An endpoint that has another name since then is not found by lists of its older transfers.
    """
    connection = op.get_bind()
    names = connection.execute(sa.text("SELECT name, endpoint FROM endpoint_names")).all()
    for table in ("plans", "transfers"):
        for end in ("source", "destination"):
            # A prefix as a range: neither `%` nor `_` of a name is a pattern. `;` is the sign after `:`.
            update = sa.text(f"UPDATE {table} SET {end}_endpoint = :pk WHERE {end} >= :first AND {end} < :last")  # noqa: S608 - names of ours
            for name, pk in names:
                connection.execute(update, {"pk": pk, "first": f"{name}:", "last": f"{name};"})


def _name_approvers() -> None:
    """Say whose approvals the plans of transfers needed (`approval:NAME:COUNT`, one a line)."""
    connection = op.get_bind()
    insert = sa.text("INSERT INTO transfer_approvers (name, created, transfer) VALUES (:name, :created, :transfer)")
    needing = connection.execute(
        sa.text(
            "SELECT transfers.id, transfers.created, plans.obligations FROM transfers "
            "JOIN plans ON plans.id = transfers.plan WHERE plans.obligations <> ''"
        )
    ).all()
    for transfer, created, obligations in needing:
        needs = [line for line in obligations.split("\n") if line.startswith("approval:")]
        for name in {need.removeprefix("approval:").rpartition(":")[0] for need in needs}:
            connection.execute(insert, {"name": name, "created": created, "transfer": transfer})
