"""Revisions of the read model, which can be dropped and rebuilt from the log."""
