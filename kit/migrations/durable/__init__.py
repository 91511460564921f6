"""Revisions of the tables that must never be lost: the ledger and the operator's own."""
