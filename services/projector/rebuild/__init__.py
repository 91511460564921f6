"""Builds the read model again from the ledger."""
