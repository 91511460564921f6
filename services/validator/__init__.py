"""Validates candidates: by rules, by their sources, then by a model. An error is never an approval."""
