"""Judges candidates: a rule first, then a strict model; an error is never an approval."""
