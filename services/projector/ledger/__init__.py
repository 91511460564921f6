"""The ledger: every fact, in a hash chain."""
