"""The read model, built again from the ledger."""
