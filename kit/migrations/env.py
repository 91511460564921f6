"""Run the migration scripts on the connection that the caller gives, inside the caller's transaction."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema=context.config.attributes["schema"],
)
context.run_migrations()
