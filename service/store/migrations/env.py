"""Alembic's entry point; the connection comes from Database.migrate, which also holds the lock."""

from alembic import context

from service.store.tables import metadata

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("Run migrations with 'pearl serve'.")
context.configure(connection=connection, target_metadata=metadata, render_as_batch=connection.dialect.name == "sqlite")
with context.begin_transaction():
    context.run_migrations()
