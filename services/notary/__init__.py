"""Keeps the decision log: what was decided, in an order that nobody can change unnoticed."""
