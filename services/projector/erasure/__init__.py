"""Erases a root from tables, ledger, stream and blob store."""
