"""An endpoint keeps by what lists order it and what a search looks at; tokens are listed by an index.

A page was cut from all endpoints, read and joined with their names.
"""

from collections import defaultdict

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"

_ENDPOINTS = sa.table(
    "endpoints", sa.column("pk"), sa.column("node_key"), sa.column("root"), sa.column("name_key"), sa.column("searched")
)
_NAMES = sa.table(
    "endpoint_names", sa.column("endpoint"), sa.column("name_key"), sa.column("name"), sa.column("main", sa.Boolean)
)
_NODES = sa.table("nodes", sa.column("key"), sa.column("name"))


def upgrade() -> None:
    """Write both for each endpoint that there is."""
    op.add_column("endpoints", sa.Column("name_key", sa.String(200), nullable=False, server_default=""))
    op.add_column("endpoints", sa.Column("searched", sa.Text(), nullable=False, server_default=""))
    connection = op.get_bind()
    names = defaultdict(list)
    by_main = sa.select(_NAMES.c.endpoint, _NAMES.c.name_key).order_by(_NAMES.c.main.desc(), _NAMES.c.name)
    for endpoint, key in connection.execute(by_main):
        names[endpoint].append(key)
    known = sa.select(_ENDPOINTS.c.pk, _ENDPOINTS.c.root, _NODES.c.name)
    rows = connection.execute(known.join_from(_ENDPOINTS, _NODES, _NODES.c.key == _ENDPOINTS.c.node_key)).all()
    written = [
        {"of": pk, "first": names[pk][0], "looked_at": "\n".join([*names[pk], root.casefold(), node.casefold()])}
        for pk, root, node in rows
        if names[pk]
    ]
    if written:
        change = sa.update(_ENDPOINTS).where(_ENDPOINTS.c.pk == sa.bindparam("of"))
        values = change.values(name_key=sa.bindparam("first"), searched=sa.bindparam("looked_at"))
        connection.execute(values, written)
    op.create_index("ix_endpoints_name_key", "endpoints", ["name_key"])
    op.create_index("ix_tokens_created", "tokens", ["created", "id"])
