"""The read model in PostgreSQL."""
