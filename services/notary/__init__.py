"""Keeps the decision log: what was decided, in an order that cannot be changed unnoticed."""
