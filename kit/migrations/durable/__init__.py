"""Revisions of what must never be lost: the ledger and the operator's own tables."""
