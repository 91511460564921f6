"""Folds the log into the read model and keeps every fact in the ledger."""
