"""Alembic's entry point: runs on the connection that `headrace.api.store.migrate` hands over."""

from alembic import context

from headrace.api.store import tables_site, tables_work
from headrace.api.store.base import Base

assert {tables_site.NodeRow, tables_work.PlanRow}  # noqa: S101 - importing the tables fills the metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
