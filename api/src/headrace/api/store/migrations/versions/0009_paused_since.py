"""Since when the pause of a transfer is wished: a pause has a longest time."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the time; pauses from before are counted from now."""
    op.add_column("transfers", sa.Column("paused_since", sa.String(24)))
    if op.get_bind().dialect.name != "sqlite":
        return  # stores on PostgreSQL are younger than this
    now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    op.execute(sa.text(f"UPDATE transfers SET paused_since = {now} WHERE wish = 'pause'"))  # noqa: S608 - a constant
